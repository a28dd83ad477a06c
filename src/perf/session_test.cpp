// Whole tests over loopback sockets, each side in a thread of its own; and peers that cost a server more than they
// may.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "perf/client.h"
#include "perf/server.h"

namespace strack::perf {
namespace {

udp::Endpoint open_endpoint(udp::EndpointOptions options) {
  options.user_data = kService;
  options.paths = 4;
  auto opened = udp::Endpoint::open(options);
  if (!opened) throw std::runtime_error(opened.error().text);
  return std::move(opened.value());
}

/// A server in a thread. Ends without a word to its clients but that it goes.
class ServerThread {
 public:
  explicit ServerThread(const std::string& listen, Server::Limits limits = {},
                        std::uint32_t threads = 0) {
    udp::EndpointOptions options;
    options.threads = threads;
    Server::prepare(options);
    options.listen = listen;
    endpoint_ = std::make_unique<udp::Endpoint>(open_endpoint(options));
    address = endpoint_->local_address();
    thread_ = std::thread([this, limits] {
      Server server(
          *endpoint_, [this](const ServerResult& one) { results.push_back(one); }, limits);
      std::array<udp::Completion, 64> taken;
      while (!stop_) {
        asleep = paused.load();
        if (asleep) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        endpoint_->wait(std::chrono::milliseconds(10));
        const auto now = Server::Clock::now();
        for (const udp::Completion& one : endpoint_->completions(taken)) {
          if (one.kind == udp::Kind::received && one.tag == kDataTag) ++messages;
          if (one.kind == udp::Kind::sent && one.tag == kDataTag) ++sent;
          server.on(one, now);
        }
        server.look_for_silence(now);
      }
    });
  }
  ~ServerThread() { stop(); }
  /// Afterwards `results` can be looked at.
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    endpoint_.reset();
  }

  std::string address;
  std::atomic<bool> paused{false};
  std::atomic<bool> asleep{false};  ///< it has seen that, and takes nothing
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> sent{0};
  std::vector<ServerResult> results;

 private:
  std::unique_ptr<udp::Endpoint> endpoint_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

Plan plan_for(const std::string& address, std::uint64_t count) {
  Plan plan;
  plan.size = 10'000;
  plan.count = count;
  plan.depth = 4;
  plan.servers = {address};
  return plan;
}

ClientResult run(const Plan& plan, const std::atomic<bool>& stop, Client::Events events = {},
                 std::uint32_t threads = 0, bool path_statistics = false) {
  udp::EndpointOptions settings;
  settings.path_statistics = path_statistics;
  settings.threads = threads;
  settings.user_data = kService;
  settings.paths = 4;
  Client::prepare(settings, plan);
  Client client(settings, plan, std::move(events));
  return client.run(stop);
}

// Few connections are looked at as often as figures may want, many no more often than 4000 times a second in all.
TEST(PerfSession, LookingAtManyConnectionsIsNoPartOfWhatIsMeasured) {
  EXPECT_EQ(Client::statistics_every(1), std::chrono::milliseconds(50));
  EXPECT_EQ(Client::statistics_every(200), std::chrono::milliseconds(50));
  EXPECT_EQ(Client::statistics_every(1'000), std::chrono::milliseconds(250));
}

// [D107] Threads move the packets of both sides; connections are spread over them.
TEST(PerfSession, ThreadsOnBothSides) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0", {}, 2);
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::write}) {
    Plan plan = plan_for(server.address, 20);
    plan.pattern = pattern;
    plan.connections = 6;
    const ClientResult result = run(plan, stop, {}, 2);
    EXPECT_TRUE(result.ok) << result.problem;
    EXPECT_EQ(result.messages, 120u);
    EXPECT_EQ(result.server_threads, 2u);
    EXPECT_EQ(result.endpoint.connections_made, 6u);
  }
  Plan both = plan_for(server.address, 20);
  both.direction = Direction::both;
  both.connections = 3;
  const ClientResult result = run(both, stop, {}, 3);
  EXPECT_TRUE(result.ok) << result.problem;
  EXPECT_EQ(result.received_messages, 60u);
}

// [D139] Both sides answer before they acknowledge, and have room for all that a test has under way.
TEST(PerfSession, AnswersGoFirst) {
  udp::EndpointOptions of_server;
  Server::prepare(of_server);
  EXPECT_TRUE(of_server.answers_first);
  udp::EndpointOptions of_client;
  of_client.max_receives = 10;
  Plan plan = plan_for("", 1);
  plan.connections = 3;
  Client::prepare(of_client, plan);
  EXPECT_TRUE(of_client.answers_first);
  EXPECT_EQ(of_client.message_slots, 8u);
  EXPECT_EQ(of_client.max_receives, 18u);
}

TEST(PerfSession, EveryPatternGoesToItsEnd) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::write}) {
    Plan plan = plan_for(server.address, 20);
    plan.pattern = pattern;
    plan.connections = 2;
    const ClientResult result = run(plan, stop);
    EXPECT_EQ(result.problem, "") << text(pattern);
    EXPECT_TRUE(result.ok);
    EXPECT_EQ(result.messages, 40u);
    EXPECT_EQ(result.bytes, 400'000u);
    EXPECT_EQ(result.reconnects, 0u);
  }
  server.stop();
  EXPECT_EQ(server.results.size(), 6u);
  for (const ServerResult& result : server.results) {
    EXPECT_TRUE(result.ok) << result.problem;
    EXPECT_EQ(result.messages, 20u) << text(result.pattern);
    EXPECT_EQ(result.bytes, 200'000u) << text(result.pattern);
  }
}

// The server sends: all of a count, or until the time is over, and both sides agree.
TEST(PerfSession, TheServerSends) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 20);
  plan.direction = Direction::server;
  plan.connections = 2;
  ClientResult result = run(plan, stop);
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.messages, 40u);
  EXPECT_EQ(result.bytes, 400'000u);
  EXPECT_EQ(result.server_bytes, 400'000u);
  EXPECT_EQ(result.server_messages, 40u);
  plan.count = 0;
  plan.time = std::chrono::milliseconds(50);
  result = run(plan, stop);
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.server_bytes, result.bytes);
  server.stop();
  ASSERT_EQ(server.results.size(), 4u);
  for (const ServerResult& one : server.results)
    EXPECT_TRUE(one.ok && one.direction == Direction::server) << one.problem;
}

// Both send: all of a count each way, or until the time is over, and both agree on either way.
TEST(PerfSession, BothSend) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 20);
  plan.direction = Direction::both;
  plan.connections = 2;
  ClientResult result = run(plan, stop);
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.messages, 40u);
  EXPECT_EQ(result.bytes, 400'000u);
  EXPECT_EQ(result.received_messages, 40u);
  EXPECT_EQ(result.received_bytes, 400'000u);
  EXPECT_EQ(result.server_bytes, 400'000u);
  EXPECT_EQ(result.server_messages, 40u) << "received";
  EXPECT_EQ(result.server_sent_messages, 40u);
  EXPECT_EQ(result.server_sent_bytes, 400'000u);
  EXPECT_EQ(result.times.count(), 40u);
  plan.count = 0;
  plan.time = std::chrono::milliseconds(50);
  result = run(plan, stop);
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.server_bytes, result.bytes);
  EXPECT_EQ(result.server_sent_bytes, result.received_bytes);
  EXPECT_GT(result.server_cpu_seconds, 0);
  server.stop();
  ASSERT_EQ(server.results.size(), 4u);
  for (const ServerResult& one : server.results)
    EXPECT_TRUE(one.ok && one.direction == Direction::both) << one.problem;
}

// Who sends knows its paths: the server tells of its own, if it is asked, with threads too.
TEST(PerfSession, TheServerTellsOfItsPaths) {
  const std::atomic<bool> stop{false};
  for (const std::uint32_t threads : {0u, 2u}) {
    ServerThread server("127.0.0.1:0", {}, threads);
    Plan plan = plan_for(server.address, 20);
    plan.connections = 2;
    plan.direction = Direction::server;
    ClientResult result = run(plan, stop, {}, 0, true);
    EXPECT_EQ(result.problem, "");
    EXPECT_TRUE(result.paths.empty());
    ASSERT_FALSE(result.server_paths.empty());
    EXPECT_LE(result.server_paths.size(), 4u);
    EXPECT_EQ(result.server_paths_of, 2u);
    std::uint64_t packets = 0;
    for (const udp::PathStatistics& one : result.server_paths) packets += one.packets;
    EXPECT_GE(packets, 40u);
    EXPECT_LE(
        packets,
        400u);  // of 40 messages, what is said about them, and what a busy machine has sent again
    EXPECT_TRUE(run(plan, stop).server_paths.empty()) << "unasked";
    plan.direction = Direction::both;
    result = run(plan, stop, {}, 0, true);
    EXPECT_FALSE(result.paths.empty());
    EXPECT_FALSE(result.server_paths.empty());
  }
}

// A server that was started again sends what is left of a count, and not all of it once more.
TEST(PerfSession, ACountThatTheServerSendsGoesOn) {
  const std::atomic<bool> stop{false};
  auto first = std::make_unique<ServerThread>("127.0.0.1:0");
  const std::string address = first->address;
  std::unique_ptr<ServerThread> second;
  Plan plan = plan_for(address, 2'000);
  plan.direction = Direction::server;
  plan.connections = 2;
  plan.reconnect = std::chrono::minutes(1);
  Client::Events events;
  events.lost = [&](const std::string&) { second = std::make_unique<ServerThread>(address); };
  // A round takes 256 of them at most, so that never all have come.
  events.round = [&] {
    if (first && first->sent > 10) first.reset();
  };
  const ClientResult result = run(plan, stop, std::move(events));
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.ok);
  EXPECT_GE(result.reconnects, 1u);
  EXPECT_EQ(result.messages, 4'000u);
}

// The second server knows nothing of the test, and gets the rest of it.
TEST(PerfSession, ATestGoesOnWithAServerThatWasStartedAgain) {
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong}) {
    std::atomic<bool> stop{false};
    auto first = std::make_unique<ServerThread>("127.0.0.1:0");
    const std::string address = first->address;
    std::unique_ptr<ServerThread> second;
    Plan plan = plan_for(address, 0);
    plan.pattern = pattern;
    plan.connections = 2;
    plan.reconnect = std::chrono::minutes(1);
    std::uint64_t lost = 0;
    Client::Events events;
    events.lost = [&](const std::string&) {
      ++lost;
      second = std::make_unique<ServerThread>(address);
    };
    events.round = [&] {
      // It goes when it listens no more, so that there are messages under way.
      if (first && first->messages > 10) first->paused = true;
      if (first && first->asleep) first.reset();
      // Ends the test as Ctrl-C does.
      if (second && second->messages > 10) stop = true;
    };
    const ClientResult result = run(plan, stop, std::move(events));
    EXPECT_EQ(result.problem, "");
    EXPECT_TRUE(result.interrupted);
    EXPECT_GE(result.reconnects, 1u);
    EXPECT_EQ(lost, 1u);
    EXPECT_EQ(result.times.count(), result.messages) << "those sent again once each";
    EXPECT_GT(result.messages, 20u);
    EXPECT_GT(result.server_messages, 10u) << "those of the second server";
    EXPECT_LT(result.server_messages, result.messages);
  }
}

// So it goes where the server is lost before anything was sent: the first connection was up, and nobody has said that all are ready.
TEST(PerfSession, AServerThatIsLostInSetUpIsAskedAgain) {
  for (const bool waits : {true, false}) {
    const std::atomic<bool> stop{false};
    udp::EndpointOptions options;
    options.listen = "127.0.0.1:0";
    std::optional<udp::Endpoint> first(open_endpoint(options));
    const std::string address = first->local_address();
    std::atomic<bool> gone{false};
    // It takes connections and says nothing.
    std::thread accepts([&] {
      std::array<udp::Completion, 64> taken;
      for (std::uint32_t accepted = 0; accepted < 2;) {
        first->wait(std::chrono::milliseconds(1));
        for (const udp::Completion& one : first->completions(taken))
          accepted += one.kind == udp::Kind::accepted ? 1 : 0;
      }
      first.reset();
      gone = true;
    });
    std::unique_ptr<ServerThread> second;
    Plan plan = plan_for(address, 20);
    plan.connections = 4;
    plan.reconnect = waits ? std::chrono::minutes(1) : std::chrono::minutes(0);
    std::uint64_t lost = 0;
    Client::Events events;
    events.lost = [&](const std::string&) {
      ++lost;
      accepts.join();
      second = std::make_unique<ServerThread>(address);
    };
    const ClientResult result = run(plan, stop, std::move(events));
    if (accepts.joinable()) accepts.join();
    EXPECT_TRUE(gone);
    EXPECT_EQ(result.ok, waits) << result.problem;
    EXPECT_EQ(lost, waits ? 1u : 0u);
    EXPECT_EQ(result.messages, waits ? 80u : 0u);
    EXPECT_EQ(result.reconnects, waits ? 1u : 0u);
  }
}

TEST(PerfSession, ALostServerIsAProblemWhereNobodyWantsToWait) {
  const std::atomic<bool> stop{false};
  auto server = std::make_unique<ServerThread>("127.0.0.1:0");
  const std::string address = server->address;
  Client::Events events;
  std::optional<Client::Clock::time_point> busy;
  events.round = [&] {
    if (!server || server->messages <= 10) return;
    if (!busy) busy = Client::Clock::now();
    if (Client::Clock::now() - *busy > std::chrono::milliseconds(150)) server.reset();
  };
  const ClientResult result = run(plan_for(address, 0), stop, std::move(events));
  EXPECT_FALSE(result.ok);
  EXPECT_GT(result.figures.packets, 0u) << "of the connection that was lost";
  EXPECT_GT(result.figures.paths, 0u);
  EXPECT_GT(result.endpoint.datagrams_sent, 0u);
  EXPECT_EQ(result.problem.substr(0, 18), "the connection to ");
  EXPECT_EQ(result.reconnects, 0u);
}

// When the time is over there is nothing to connect again for.
TEST(PerfSession, ATestWithoutAMessageIsAProblem) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 0);
  plan.size = kMaxSize;  // a second or so
  plan.depth = 1;
  plan.time = std::chrono::milliseconds(1);
  plan.grace = std::chrono::milliseconds(0);
  const ClientResult result = run(plan, stop);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.problem, "");
}

TEST(PerfSession, NobodyConnectsAgainAfterTheEnd) {
  const std::atomic<bool> stop{false};
  auto server = std::make_unique<ServerThread>("127.0.0.1:0");
  Plan plan = plan_for(server->address, 0);
  plan.time = std::chrono::milliseconds(100);
  plan.reconnect = std::chrono::minutes(1);
  std::uint64_t lost = 0;
  Client::Events events;
  events.lost = [&](const std::string&) { ++lost; };
  events.round = [&] {
    if (!server || server->messages <= 10) return;
    server.reset();
    std::this_thread::sleep_for(plan.time);
  };
  const ClientResult result = run(plan, stop, std::move(events));
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(result.reconnects, 0u);
}

// What is under way when the time is over is not waited for without end, and the figures are those until then.
TEST(PerfSession, TheEndIsNotWaitedForForEver) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 0);
  plan.time = std::chrono::milliseconds(500);
  plan.grace = std::chrono::milliseconds(50);
  Client::Events events;
  events.round = [&] {
    if (server.messages > 0) server.paused = true;
  };
  const ClientResult result = run(plan, stop, std::move(events));
  EXPECT_NE(result.problem.find(" not acknowledged within 0.05 s after the end"), std::string::npos)
      << result.problem;
  EXPECT_FALSE(result.ok);
  EXPECT_GE(result.messages, 1u);
}

// 20 messages of 10 KB a second and a quarter of a second: 5 of them, the first at the start. Nothing of
// a warm-up is in the figures, and the server has all of it.
TEST(PerfSession, ATargetRateAndAWarmUp) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 0);
  plan.connections = 2;
  plan.target_bps = 1'600'000;
  plan.time = std::chrono::milliseconds(250);
  const ClientResult slow = run(plan, stop);
  EXPECT_EQ(slow.problem, "");
  EXPECT_TRUE(slow.ok);
  EXPECT_GE(slow.messages, 1u);
  EXPECT_LE(slow.messages, 5u) << "however late this thread was";
  EXPECT_EQ(slow.warm_up_bytes, 0u);

  plan.target_bps = 0;
  plan.warm_up = plan.time = std::chrono::hours(1);
  std::atomic<bool> enough{false};
  Client::Events events;
  const std::uint64_t before = server.messages;
  events.round = [&] { enough = server.messages > before + 10; };
  const ClientResult warm = run(plan, enough, std::move(events));
  EXPECT_EQ(warm.problem, "");
  EXPECT_GT(warm.warm_up_bytes, 100'000u);
  // Its report may be too late for a client that was told to end.
  if (warm.server_bytes != 0) {
    EXPECT_EQ(warm.server_bytes, warm.warm_up_bytes);
  }
  EXPECT_EQ(warm.bytes, 0u);
  EXPECT_EQ(warm.times.count(), 0u);
}

// The first message goes at once and each of the others one interval later, whichever connection has it.
TEST(PerfSession, ATargetRateFromTheFirstMessageOn) {
  const std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 3);
  plan.connections = 2;
  plan.target_bps = 4'000'000;  // 20 ms each
  const ClientResult result = run(plan, stop);
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.messages, 6u);
  EXPECT_GE(result.seconds, 0.1);
}

// What was due in a pause of less than a tenth of a second goes at once after it, by all connections.
TEST(PerfSession, ATargetRateCatchesUp) {
  std::atomic<bool> stop{false};
  ServerThread server("127.0.0.1:0");
  Plan plan = plan_for(server.address, 0);
  plan.connections = 10;
  plan.target_bps = 80'000'000;  // 1 ms each
  Client::Events events;
  bool paused = false;
  events.round = [&] {
    stop = paused;
    if (paused || server.messages == 0) return;
    paused = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  };
  const ClientResult result = run(plan, stop, std::move(events));
  EXPECT_EQ(result.problem, "");
  EXPECT_GE(result.messages, 30u);
}

// Whoever comes by mistake, as `strack cp` does, is no test.
TEST(PerfSession, AMistakeIsNoTest) {
  ServerThread server("127.0.0.1:0");
  udp::EndpointOptions options;
  options.user_data = kService + 1;
  auto other = udp::Endpoint::open(options);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other.value().connect(server.address));
  std::array<udp::Completion, 8> taken;
  for (bool gone = false; !gone;) {
    other.value().wait(std::chrono::milliseconds(10));
    for (const udp::Completion& one : other.value().completions(taken))
      gone = gone || one.kind == udp::Kind::failed;
  }
  const std::atomic<bool> stop{false};
  EXPECT_TRUE(run(plan_for(server.address, 5), stop).ok);
  server.stop();
  ASSERT_EQ(server.results.size(), 2u);
  EXPECT_FALSE(server.results[0].tested);
  EXPECT_EQ(server.results[0].problem, "it is not `strack perf client`");
  EXPECT_TRUE(server.results[1].tested);
}

/// Connections that are there and say nothing.
class Idlers {
 public:
  Idlers(const std::string& from, const std::string& to, std::size_t count)
      : endpoint_(open_endpoint(bound(from))) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!endpoint_.connect(to)) throw std::runtime_error("no connection");
    }
  }
  void poll() {
    endpoint_.wait(std::chrono::milliseconds(1));
    std::array<udp::Completion, 16> taken;
    for (const udp::Completion& one : endpoint_.completions(taken)) {
      if (one.kind == udp::Kind::connected) ++up;
      if (one.kind == udp::Kind::failed) ++gone;
    }
  }
  std::size_t up = 0;
  std::size_t gone = 0;

 private:
  static udp::EndpointOptions bound(const std::string& from) {
    udp::EndpointOptions options;
    options.bind = from;
    return options;
  }
  udp::Endpoint endpoint_;
};

TEST(PerfSession, OneSourceDoesNotKeepOthersOut) {
  const std::atomic<bool> stop{false};
  Server::Limits limits;
  limits.most = 4;
  limits.patience = limits.silence = std::chrono::minutes(1);
  limits.idle = std::chrono::milliseconds(0);
  ServerThread server("127.0.0.1:0", limits);
  Idlers idlers("127.0.0.2:0", server.address, 4);
  while (idlers.up < 4) idlers.poll();
  EXPECT_TRUE(run(plan_for(server.address, 5), stop).ok);
  while (idlers.gone < 1) idlers.poll();
}

// [D145] Whoever has all that one source may have leaves a quarter, by the limits as they come.
TEST(PerfSession, OneSourceLeavesAQuarter) {
  udp::EndpointOptions options;
  Server::prepare(options);
  const std::size_t most = Server::Limits{}.most;
  EXPECT_GE(options.max_connections_per_source, 1'000u) << "as many as a client may ask for";
  EXPECT_LE(options.max_connections_per_source, most - most / 4);
  EXPECT_GE(options.max_connections, most);
}

TEST(PerfSession, WhoAsksForNothingIsSentAway) {
  Server::Limits limits;
  limits.patience = std::chrono::milliseconds(200);
  ServerThread server("127.0.0.1:0", limits);
  Idlers idlers("127.0.0.1:0", server.address, 2);
  while (idlers.gone < 2) idlers.poll();
  server.stop();
  EXPECT_TRUE(server.results.empty()) << "there was no test";
}

}  // namespace
}  // namespace strack::perf
