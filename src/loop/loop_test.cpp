// Closed loops: their times are those of the same work known before, to the picosecond.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "loop/closed_loop.h"
#include "loop/strack_sim.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "transports/registry.h"
#include "workload/graph.h"

namespace strack::loop {
namespace {

constexpr const char* kRing = R"(
[topology]
hosts = 8
hosts_per_rack = 4
[workload]
kind = "collective"
collective = "allreduce-ring"
size = "320 KB"
jobs = 1
ranks = 8
)";

class ClosedLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(::testing::TempDir()) /
            (std::string("loop_") + test->name() + ".toml");
    std::ofstream(file_) << kRing;
  }
  void TearDown() override { std::filesystem::remove(file_); }

  [[nodiscard]] sim::Scenario scenario(const std::vector<std::string>& settings = {}) const {
    auto loaded = sim::load(file_, settings);
    EXPECT_TRUE(loaded) << loaded.error().text();
    return std::move(loaded.value());
  }
  [[nodiscard]] std::string file() const { return file_.string(); }

  /// What the call says of its arguments.
  template <class Call>
  static std::string thrown_by(Call&& call) {
    try {
      call();
    } catch (const std::exception& wrong) {
      return wrong.what();
    }
    return "nothing";
  }

 private:
  std::filesystem::path file_;
};

struct Told : sim::Observer {
  std::vector<metrics::FlowRecord> flows;
  std::vector<metrics::JobRecord> jobs;
  void on_flow(const metrics::FlowRecord& flow) override { flows.push_back(flow); }
  void on_job(const metrics::JobRecord& job) override { jobs.push_back(job); }
};

constexpr int kRounds = 6;
constexpr std::int64_t kPing = 100'000;
constexpr std::int64_t kThink = 1'234'567;  // ps, before each answer

/// Between the hosts 0 and 5, each answering what it gets after a while; the times of arrivals.
std::vector<std::int64_t> ping_pong_by_graph(const sim::Scenario& scenario) {
  workload::GraphBuilder builder(2);
  workload::NodeId last = 0;
  for (int i = 0; i < kRounds; ++i) {
    const workload::Rank from = i % 2 == 0 ? 0 : 1;
    const workload::NodeId message = builder.message(from, 1 - from, bytes(kPing));
    if (i > 0) {
      const workload::NodeId think = builder.compute(from, ps(kThink));
      builder.wait(think, last, workload::Moment::received);
      builder.wait(message, think, workload::Moment::sent);
    }
    last = message;
  }
  workload::Job job;
  job.graph = std::make_shared<const workload::Graph>(std::move(builder.build().value()));
  job.hosts = {0, 5};
  job.starts.assign(2, Instant{});
  workload::Workload work;
  work.jobs.push_back(std::move(job));
  sim::SimConfig config = sim::make_config(scenario, 1);
  config.record.messages = true;
  Told told;
  sim::Simulation simulation(config, std::move(work));
  EXPECT_EQ(simulation.run(told), sim::Ending::finished);
  std::vector<std::int64_t> times;
  for (const metrics::FlowRecord& flow : told.flows) times.push_back(flow.delivered.ps);
  return times;
}

// [D108] To the picosecond.
TEST_F(ClosedLoops, APingPongTakesTheTimesOfTheSameGraph) {
  for (const char* scheme : {"strack", "rocev2"}) {
    const std::string setting = std::string("transport.scheme=") + scheme;
    ClosedLoop loop(file(), {setting});
    std::vector<std::int64_t> times;
    // Only one of the two is ever at work, so they may share.
    int round = 0;
    Received answer = [&](Host& at, const Message& message) {
      EXPECT_EQ(message.bytes, static_cast<std::uint64_t>(kPing));
      times.push_back(at.now());
      if (++round == kRounds) return;
      const std::uint32_t peer = message.from;
      at.compute(kThink, [&, peer](Host& later) {
        if (round + 1 < kRounds) later.receive(peer, 0, answer);
        later.send(peer, 0, kPing);
      });
    };
    loop.at_start(0, [&](Host& at) {
      at.receive(5, 0, answer);
      at.send(5, 0, kPing);
    });
    loop.at_start(5, [&](Host& at) { at.receive(0, 0, answer); });
    EXPECT_EQ(loop.run(), Ended::done) << loop.waiting_for();
    EXPECT_EQ(times, ping_pong_by_graph(scenario({setting}))) << scheme;
    EXPECT_EQ(times.size(), std::size_t{kRounds});
    EXPECT_EQ(loop.totals().messages, std::uint64_t{kRounds});
    EXPECT_EQ(loop.totals().bytes, std::uint64_t{kRounds * kPing});
  }
}

/// A ring AllReduce of 8 ranks: what came from the left goes on to the right, 14 times.
struct Ring {
  std::vector<std::uint32_t> hosts;
  std::uint64_t piece = 0;

  void begin(ClosedLoop& loop) {
    for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
      loop.at_start(hosts[rank], [this, rank](Host& at) {
        at.send(right(rank), 0, piece);
        take(at, rank, 1);
      });
    }
  }

 private:
  [[nodiscard]] std::uint32_t right(std::uint32_t rank) const {
    return hosts[(rank + 1) % hosts.size()];
  }
  void take(Host& at, std::uint32_t rank, std::uint32_t step) {
    const std::uint32_t left = hosts[(rank + hosts.size() - 1) % hosts.size()];
    at.receive(left, 0, [this, rank, step](Host& host, const Message&) {
      if (step == 2 * (hosts.size() - 1)) return;
      host.send(right(rank), 0, piece);
      take(host, rank, step + 1);
    });
  }
};

// [D108] Whatever the transport: the hosts' calls are the same ones in the same order.
TEST_F(ClosedLoops, ARingAllReduceEndsWithTheBuiltInOne) {
  for (const std::string_view scheme : transports::scheme_names()) {
    const std::string setting = "transport.scheme=" + std::string(scheme);
    const sim::Scenario built_in = scenario({setting});
    workload::Workload work = sim::make_workload(built_in, 1);
    const Ring ring{work.jobs.at(0).hosts, 40'000};
    const std::vector<workload::Channel> channels = work.jobs.at(0).graph->channels();
    Told told;
    sim::Simulation simulation(sim::make_config(built_in, 1), std::move(work));
    ASSERT_EQ(simulation.run(told), sim::Ending::finished) << scheme;

    ClosedLoop loop(file(), {setting});
    Ring driven = ring;
    // The same connections, in the same order: paths are drawn by them.
    for (const workload::Channel& channel : channels)
      loop.connect(ring.hosts[channel.from], ring.hosts[channel.to]);
    driven.begin(loop);
    EXPECT_EQ(loop.run(), Ended::done) << scheme;
    const Totals totals = loop.totals();
    EXPECT_EQ(totals.end, told.jobs.at(0).end.ps) << scheme;
    EXPECT_EQ(totals.messages, 8u * 14);
    EXPECT_EQ(totals.packets, simulation.counters().data_packets_sent) << scheme;
    EXPECT_EQ(totals.marks, simulation.counters().marks) << scheme;
  }
}

TEST_F(ClosedLoops, ComputationsEndToThePicosecondInOrder) {
  ClosedLoop loop(file());
  std::vector<std::pair<int, std::int64_t>> told;
  loop.at_start(2, [&](Host& at) {
    at.compute(5'000'001, [&](Host& later) {
      told.emplace_back(1, later.now());
      later.compute(0, [&](Host& same) { told.emplace_back(3, same.now()); });
    });
    at.compute(5'000'001, [&](Host& later) { told.emplace_back(2, later.now()); });
    at.compute(7, [&](Host& later) { told.emplace_back(0, later.now()); });
  });
  EXPECT_EQ(loop.run(), Ended::done);
  EXPECT_EQ(told, (std::vector<std::pair<int, std::int64_t>>{
                      {0, 7}, {1, 5'000'001}, {2, 5'000'001}, {3, 5'000'001}}));
  EXPECT_EQ(loop.totals().end, 5'000'001);
}

TEST_F(ClosedLoops, NothingToDoIsDoneAtOnce) {
  ClosedLoop loop(file());
  EXPECT_EQ(loop.hosts(), 8u);
  EXPECT_EQ(loop.lookahead(), scenario().config.topology.host_latency.count());
  EXPECT_EQ(loop.run(), Ended::done);
  EXPECT_EQ(loop.totals().end, 0);
}

// Whatever arrives first: a large message is overtaken by a small one behind it.
TEST_F(ClosedLoops, MessagesOfOneTagAreReceivedInTheOrderOfSending) {
  ClosedLoop loop(file());
  std::vector<std::uint64_t> sizes;
  std::vector<std::int64_t> times;
  const Received note = [&](Host& at, const Message& message) {
    sizes.push_back(message.bytes);
    times.push_back(at.now());
  };
  loop.at_start(0, [](Host& at) {
    for (const std::uint64_t size : {400'000U, 1U, 30'000U}) at.send(4, 9, size);
    at.send(4, 10, 2);
  });
  loop.at_start(4, [&](Host& at) {
    at.receive(0, 9, note);
    at.receive(0, 9, note);
    // The last is there long before somebody asks for it.
    at.compute(1'000'000'000, [&](Host& later) {
      later.receive(0, 9, note);
      EXPECT_EQ(sizes.size(), 2u);  // not from within
    });
    at.receive(0, 10, [](Host&, const Message& message) { EXPECT_EQ(message.bytes, 2u); });
  });
  EXPECT_EQ(loop.run(), Ended::done);
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes.back(), 30'000u);
  EXPECT_EQ(times.back(), 1'000'000'000);
  EXPECT_EQ(sizes[0] + sizes[1], 400'001u);
}

/// Every host sends to others as what it gets tells it to: thousands of messages that nobody knew before.
std::vector<std::vector<std::int64_t>> chatter(const std::string& file, std::uint32_t threads,
                                               Totals& totals) {
  ClosedLoop loop(file, {"topology.hosts=16"});
  loop.set_threads(threads);
  const std::uint32_t hosts = loop.hosts();
  std::vector<std::vector<std::int64_t>> times(hosts);
  std::vector<int> left(hosts, 40);
  std::function<void(Host&)> next = [&](Host& at) {
    const std::uint32_t self = at.number();
    if (left[self]-- <= 0) return;
    const auto drawn = static_cast<std::uint64_t>(at.now()) * 2'654'435'761 + self;
    const auto to = static_cast<std::uint32_t>((self + 1 + drawn % (hosts - 1)) % hosts);
    at.send(to, self, 1'000 + drawn % 60'000, [&](Host& host) {
      times[host.number()].push_back(host.now());
      host.compute(1 + host.now() % 1'000'000, next);
    });
  };
  for (std::uint32_t h = 0; h < hosts; ++h) loop.at_start(h, next);
  EXPECT_EQ(loop.run(), Ended::done);
  totals = loop.totals();
  return times;
}

// [D108]
TEST_F(ClosedLoops, TheNumberOfThreadsChangesNothing) {
  Totals one;
  const auto alone = chatter(file(), 1, one);
  for (const std::uint32_t threads : {2u, 5u}) {
    Totals several;
    EXPECT_EQ(chatter(file(), threads, several), alone) << threads;
    EXPECT_EQ(several.end, one.end);
    EXPECT_EQ(several.packets, one.packets);
    EXPECT_EQ(several.messages, 16u * 40);
  }
}

TEST_F(ClosedLoops, WhoeverWaitsInVainIsNamed) {
  ClosedLoop loop(file());
  loop.at_start(3, [](Host& at) { at.receive(1, 7); });
  loop.at_start(1, [](Host& at) { at.send(3, 8, 100); });
  EXPECT_EQ(loop.run(), Ended::waiting);
  EXPECT_EQ(loop.waiting_for(), "host 3 waits for a message from host 1 with tag 7");
}

TEST_F(ClosedLoops, CallbacksStopTheRun) {
  ClosedLoop loop(file());
  int rounds = 0;
  std::function<void(Host&)> again = [&](Host& at) {
    if (++rounds == 10) at.stop();
    at.compute(1'000'000, again);
  };
  loop.at_start(0, again);
  EXPECT_EQ(loop.run(), Ended::stopped);
  EXPECT_GE(rounds, 10);
  EXPECT_LT(rounds, 13);
}

TEST_F(ClosedLoops, TheScenariosTimeLimitHolds) {
  ClosedLoop loop(file(), {"run.end_ms=0.05"});
  std::function<void(Host&)> again = [&](Host& at) { at.compute(1'000'000, again); };
  loop.at_start(0, again);
  EXPECT_EQ(loop.run(), Ended::time_limit);
}

// A message without bytes is one packet: it comes, and is acknowledged.
TEST_F(ClosedLoops, AMessageOfNoBytesComesUnderEveryScheme) {
  for (const std::string_view scheme : transports::scheme_names()) {
    ClosedLoop loop(file(), {"transport.scheme=" + std::string(scheme)});
    std::int64_t received = 0;
    std::int64_t sent = 0;
    loop.at_start(0, [&](Host& at) { at.send(7, 1, 0, [&](Host& host) { sent = host.now(); }); });
    loop.at_start(7, [&](Host& at) {
      at.receive(0, 1, [&](Host& host, const Message& message) {
        received = host.now();
        EXPECT_EQ(message.bytes, 0u);
      });
    });
    EXPECT_EQ(loop.run(), Ended::done) << scheme;
    EXPECT_GT(received, 4 * loop.lookahead()) << scheme;  // four links
    EXPECT_LT(received, sent) << scheme;
    EXPECT_EQ(loop.totals().packets, 1u) << scheme;
  }
}

TEST_F(ClosedLoops, ServersWithSeveralNicsAreRefused) {
  EXPECT_EQ(thrown_by([&] { ClosedLoop(file(), {"topology.nics_per_server=2"}); }),
            file() +
                ": nics_per_server is 2. a closed loop drives hosts that are each a server: leave "
                "nics_per_server out, and what is inside servers to the caller");
}

// A host that somebody kept says whose turn it is not, and nothing happens; whatever threads do.
TEST_F(ClosedLoops, AHostIsUsedInItsOwnCallbacksOnly) {
  for (const std::uint32_t threads : {1u, 3u}) {
    ClosedLoop loop(file());
    loop.set_threads(threads);
    std::vector<Host*> kept(loop.hosts());
    std::vector<std::vector<std::string>> said(loop.hosts());
    for (std::uint32_t h = 0; h < loop.hosts(); ++h) {
      loop.at_start(h, [&, h](Host& at) {
        kept[h] = &at;
        at.send((h + 1) % 8, 0, 5'000);
        at.receive((h + 7) % 8, 0, [&, h](Host&, const Message& message) {
          Host& other = *kept[message.from];
          EXPECT_EQ(other.number(), message.from);
          said[h].push_back(thrown_by([&] { other.send(h, 0, 1); }));
          said[h].push_back(thrown_by([&] { other.receive(h, 0); }));
          said[h].push_back(thrown_by([&] { other.compute(1, {}); }));
          said[h].push_back(thrown_by([&] { other.stop(); }));
          said[h].push_back(thrown_by([&] { (void)other.now(); }));
        });
      });
    }
    EXPECT_EQ(loop.run(), Ended::done);
    for (std::uint32_t h = 0; h < 8; ++h) {
      EXPECT_EQ(said[h], std::vector<std::string>(5, "this is no callback of host " +
                                                         std::to_string((h + 7) % 8) +
                                                         "'s. it can be used in its own only"));
    }
    EXPECT_EQ(thrown_by([&] { kept[0]->send(1, 0, 1); }),
              "this is no callback of host 0's. it can be used in its own only");
    EXPECT_EQ(loop.totals().messages, 8u);
  }
}

TEST_F(ClosedLoops, NothingIsChangedOnceItRuns) {
  ClosedLoop loop(file());
  EXPECT_EQ(loop.totals().messages, 0u);
  loop.at_start(3, {});
  std::vector<std::string> said;
  loop.at_start(0, [&](Host& at) {
    at.send(1, 0, 1);
    said.push_back(thrown_by([&] { loop.run(); }));
    said.push_back(thrown_by([&] { loop.at_start(0, [](Host&) {}); }));
    said.push_back(thrown_by([&] { loop.connect(0, 1); }));
    said.push_back(thrown_by([&] { loop.set_threads(2); }));
    EXPECT_EQ(loop.totals().messages, 0u);  // of a run that is over
  });
  EXPECT_EQ(loop.run(), Ended::done);
  EXPECT_EQ(said,
            (std::vector<std::string>{"a closed loop runs once. make another",
                                      "a closed loop that has begun to run cannot be changed",
                                      "a closed loop that has begun to run cannot be changed",
                                      "a closed loop that has begun to run cannot be changed"}));
  EXPECT_EQ(loop.totals().messages, 1u);
}

TEST_F(ClosedLoops, WrongArgumentsSayWhatWouldWork) {
  EXPECT_NE(thrown_by([] { ClosedLoop("none.toml"); }).find("none.toml"), std::string::npos);
  EXPECT_NE(thrown_by([&] { ClosedLoop(file(), {"topology.hosts=x"}); }).find("--set"),
            std::string::npos);
  ClosedLoop loop(file());
  EXPECT_EQ(thrown_by([&] { loop.at_start(8, {}); }), "there is no host 8. they are 0 to 7");
  EXPECT_EQ(thrown_by([&] { loop.connect(3, 3); }),
            "host 3 cannot be connected to itself: nothing of that goes over the network");
  EXPECT_EQ(thrown_by([&] { loop.set_threads(0); }), "threads are 0. they are 1 to 1024");
  std::vector<std::string> said;
  loop.at_start(0, [&](Host& at) {
    said.push_back(thrown_by([&] { at.send(8, 0, 1); }));
    said.push_back(thrown_by([&] { at.send(0, 0, 1); }));
    said.push_back(thrown_by([&] { at.send(1, 0, std::uint64_t{1} << 32); }));
    said.push_back(thrown_by([&] { at.receive(0, 0); }));
    said.push_back(thrown_by([&] { at.compute(-1, {}); }));
  });
  EXPECT_EQ(loop.run(), Ended::done);
  EXPECT_EQ(said, (std::vector<std::string>{
                      "there is no host 8. they are 0 to 7",
                      "host 0 cannot send to itself: nothing of that goes over the network",
                      "a message has 4294967296 bytes. it has at most 4294967295: send several",
                      "host 0 cannot receive from itself: nothing of that goes over the network",
                      "a computation takes -1 ps. it takes 0 to 1000000000000000000"}));
  EXPECT_EQ(thrown_by([&] { loop.run(); }), "a closed loop runs once. make another");
}

TEST_F(ClosedLoops, WhereConnectionsAreNamedThereAreNoOthers) {
  ClosedLoop loop(file());
  loop.connect(0, 5);
  loop.connect(0, 5);
  std::string said;
  std::int64_t arrived = 0;
  loop.at_start(0, [&](Host& at) {
    said = thrown_by([&] { at.send(4, 0, 1); });
    at.send(5, 0, 1'000);
  });
  loop.at_start(5, [&](Host& at) {
    at.receive(0, 0, [&](Host& here, const Message&) { arrived = here.now(); });
  });
  EXPECT_EQ(loop.run(), Ended::done);
  EXPECT_EQ(said, "host 0 is not connected to host 4. call connect(0, 4) before the run");
  EXPECT_GT(arrived, 0);
  EXPECT_EQ(thrown_by([&] { loop.connect(0, 1); }),
            "a closed loop that has begun to run cannot be changed");
}

TEST_F(ClosedLoops, WhatACallbackThrowsComesOutOfTheRun) {
  for (const std::uint32_t threads : {1u, 3u}) {
    ClosedLoop loop(file());
    loop.set_threads(threads);
    for (const std::uint32_t host : {6u, 2u}) {
      loop.at_start(host, [host](Host& at) {
        at.compute(5, [host](Host&) { throw std::runtime_error("host " + std::to_string(host)); });
      });
    }
    EXPECT_EQ(thrown_by([&] { loop.run(); }), "host 2") << threads;
  }
}

TEST_F(ClosedLoops, OneMayRunInACallbackOfAnother) {
  ClosedLoop outer(file());
  std::int64_t inner_end = 0;
  outer.at_start(4, [&](Host& at) {
    ClosedLoop inner(file());
    inner.at_start(4, [](Host& here) { here.compute(99, {}); });
    EXPECT_EQ(inner.run(), Ended::done);
    inner_end = inner.totals().end;
    at.compute(7 + at.now(), {});
  });
  EXPECT_EQ(outer.run(), Ended::done);
  EXPECT_EQ(inner_end, 99);
  EXPECT_EQ(outer.totals().end, 7);
}

// ---- The same from C ----

struct Times {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t computed = 0;
  std::uint64_t bytes = 0;
};

TEST_F(ClosedLoops, TheCInterfaceTellsTheSame) {
  char why[200] = "?";
  strack_sim* sim = nullptr;
  const char* setting = "transport.scheme=strack";
  ASSERT_EQ(strack_sim_open(file().c_str(), &setting, 1, &sim, why, sizeof why), STRACK_SIM_OK);
  EXPECT_STREQ(why, "");
  EXPECT_EQ(strack_sim_hosts(sim), 8u);
  EXPECT_GT(strack_sim_lookahead(sim), 0);
  EXPECT_EQ(strack_sim_set_threads(sim, 0), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_set_threads(sim, 1), STRACK_SIM_OK);
  Times times;
  const auto begin = [](strack_sim_host* at, void* user) {
    EXPECT_EQ(strack_sim_number(at), 0u);
    EXPECT_EQ(strack_sim_send(at, 9, 0, 1, nullptr, nullptr), STRACK_SIM_INVALID);
    EXPECT_EQ(strack_sim_send(
                  at, 6, 3, 50'000,
                  [](strack_sim_host* here, void* all) {
                    static_cast<Times*>(all)->sent = strack_sim_now(here);
                  },
                  user),
              STRACK_SIM_OK);
    EXPECT_EQ(strack_sim_compute(
                  at, 77,
                  [](strack_sim_host* here, void* all) {
                    static_cast<Times*>(all)->computed = strack_sim_now(here);
                  },
                  user),
              STRACK_SIM_OK);
  };
  EXPECT_EQ(strack_sim_at_start(sim, 0, begin, &times), STRACK_SIM_OK);
  EXPECT_EQ(strack_sim_at_start(
                sim, 6,
                [](strack_sim_host* at, void* user) {
                  strack_sim_receive(
                      at, 0, 3,
                      [](strack_sim_host* here, const strack_sim_message* message, void* all) {
                        static_cast<Times*>(all)->received = strack_sim_now(here);
                        static_cast<Times*>(all)->bytes = message->bytes;
                      },
                      user);
                },
                &times),
            STRACK_SIM_OK);
  EXPECT_EQ(strack_sim_at_start(sim, 8, nullptr, nullptr), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_run(sim, why, sizeof why), STRACK_SIM_OK) << why;
  EXPECT_EQ(times.bytes, 50'000u);
  EXPECT_EQ(times.computed, 77);
  EXPECT_LT(times.received, times.sent);
  strack_sim_totals totals;
  EXPECT_EQ(strack_sim_get_totals(sim, &totals, sizeof totals), STRACK_SIM_OK);
  EXPECT_EQ(totals.end, times.sent);
  EXPECT_EQ(totals.messages, 1u);
  EXPECT_EQ(strack_sim_run(sim, why, sizeof why), STRACK_SIM_INVALID);
  EXPECT_STREQ(why, "a closed loop runs once. make another");
  strack_sim_close(sim);
  strack_sim_close(nullptr);
  EXPECT_EQ(strack_sim_set_threads(nullptr, 1), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_run(nullptr, why, sizeof why), STRACK_SIM_INVALID);
  EXPECT_STREQ(why, "the simulation is NULL");
  EXPECT_EQ(strack_sim_send(nullptr, 1, 0, 1, nullptr, nullptr), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_now(nullptr), -1);
  EXPECT_EQ(strack_sim_open(nullptr, nullptr, 0, &sim, why, sizeof why), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_open("none.toml", nullptr, 0, &sim, why, 12), STRACK_SIM_INVALID);
  EXPECT_EQ(std::string(why).size(), 11u);
}

// What is thrown through it becomes a status and a sentence; a host that was kept is refused.
TEST_F(ClosedLoops, TheCInterfaceHasAnAnswerToWhatIsWrong) {
  char why[200] = "?";
  strack_sim* sim = nullptr;
  ASSERT_EQ(strack_sim_open(file().c_str(), nullptr, 0, &sim, why, sizeof why), STRACK_SIM_OK);
  strack_sim_host* kept = nullptr;
  strack_sim_at_start(
      sim, 2,
      [](strack_sim_host* at, void* user) {
        *static_cast<strack_sim_host**>(user) = at;
        throw std::runtime_error("a bad day");
      },
      static_cast<void*>(&kept));
  EXPECT_EQ(strack_sim_run(sim, why, sizeof why), STRACK_SIM_FAILED);
  EXPECT_STREQ(why, "a bad day");
  EXPECT_EQ(strack_sim_send(kept, 1, 0, 1, nullptr, nullptr), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_stop(kept), STRACK_SIM_INVALID);
  EXPECT_EQ(strack_sim_now(kept), -1);
  EXPECT_EQ(strack_sim_number(kept), 2u);
  EXPECT_EQ(strack_sim_at_start(sim, 0, nullptr, nullptr), STRACK_SIM_INVALID);
  strack_sim_close(sim);

  ASSERT_EQ(strack_sim_open(file().c_str(), nullptr, 0, &sim, why, sizeof why), STRACK_SIM_OK);
  strack_sim_at_start(
      sim, 3, [](strack_sim_host* at, void*) { strack_sim_receive(at, 1, 7, nullptr, nullptr); },
      nullptr);
  EXPECT_EQ(strack_sim_run(sim, why, sizeof why), STRACK_SIM_WAITING);
  EXPECT_STREQ(why, "host 3 waits for a message from host 1 with tag 7");
  strack_sim_close(sim);
}

// Whatever it ends with, there are words for it.
TEST_F(ClosedLoops, EveryEndingSaysWhy) {
  const auto ending = [&](const std::vector<const char*>& settings, bool stops) {
    char why[300] = "?";
    strack_sim* sim = nullptr;
    EXPECT_EQ(
        strack_sim_open(file().c_str(), settings.data(), settings.size(), &sim, why, sizeof why),
        STRACK_SIM_OK)
        << why;
    if (sim == nullptr) return std::pair(STRACK_SIM_FAILED, std::string(why));
    strack_sim_at_start(
        sim, 0,
        [](strack_sim_host* at, void* user) {
          strack_sim_send(at, 4, 0, 100'000'000, nullptr, nullptr);
          if (user != nullptr) strack_sim_stop(at);
        },
        stops ? sim : nullptr);
    const strack_sim_status status = strack_sim_run(sim, why, sizeof why);
    strack_sim_close(sim);
    return std::pair(status, std::string(why));
  };
  const auto [stalled, cut] = ending({"failure.0.host=4", "failure.0.from_us=100"}, false);
  EXPECT_EQ(stalled, STRACK_SIM_STALLED);
  EXPECT_EQ(cut.substr(0, 56), "host 0 and host 4 have no way to each other since 100 us") << cut;
  EXPECT_EQ(ending({"run.end_ms=1"}, false),
            std::pair(STRACK_SIM_TIME_LIMIT,
                      std::string("run.end_ms is 1, and messages or computations were under way "
                                  "then")));
  EXPECT_EQ(ending({}, true), std::pair(STRACK_SIM_STOPPED, std::string("a callback stopped it")));
  EXPECT_EQ(ending({}, false), std::pair(STRACK_SIM_OK, std::string()));
}

}  // namespace
}  // namespace strack::loop
