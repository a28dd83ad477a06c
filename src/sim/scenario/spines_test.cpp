// The shipped scenarios of a dead and a degraded spine: what path health is worth at UDP's time scales
// [D39] [D41], and that it costs nothing where it has nothing to do.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "sim/testing.h"
#include "sim/transport.h"
#include "transports/strack/sim.h"

namespace strack::sim {
namespace {

using testing::Outcome;

constexpr Picoseconds kRtt = us(200);

Outcome run_shipped(const std::string& name, const std::vector<std::string>& overrides,
                    std::uint64_t seed = 1, bool intact = false) {
  const auto scenario = load(std::filesystem::path(STRACK_SCENARIOS) / (name + ".toml"), overrides);
  EXPECT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario.value().base_rtt, kRtt);
  SimConfig config = make_config(scenario.value(), seed);
  if (intact) config.failures = {};
  Outcome outcome = testing::run_workload(config, make_workload(scenario.value(), seed));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.finished(), 32u);
  return outcome;
}
const std::vector<std::string> kOn = {"transport.path_health=true"};
const std::vector<std::string> kOff = {"transport.path_health=false"};

/// In RTTs, fractions dropped.
std::int64_t slowest(const Outcome& outcome) {
  Picoseconds longest{0};
  for (const metrics::FlowRecord& record : outcome.told.flows)
    longest = std::max(longest, record.end - record.start);
  return longest / kRtt;
}

// [D39] The other spine could carry everything, so all that a flow takes longer than in the intact
// network is what it takes to find that out: half of them 10 RTTs, the slowest of eight seeds 20.
// Without path health they never do.
TEST(DeadSpine, IsFoundWithinTwentyFiveRtts) {
  for (const std::uint64_t seed : {1u, 2u}) {
    const Outcome intact = run_shipped("dead-spine", kOn, seed, true);
    const Outcome on = run_shipped("dead-spine", kOn, seed);
    const Outcome off = run_shipped("dead-spine", kOff, seed);
    EXPECT_GE(slowest(intact), 265) << seed;
    EXPECT_LE(slowest(intact), 266) << seed;
    EXPECT_GT(slowest(on), slowest(intact)) << seed;
    for (std::uint32_t flow = 0; flow < 32; ++flow)
      EXPECT_LE(on.fct(flow) - intact.fct(flow), 25 * kRtt) << seed << ": " << flow;
    EXPECT_GT(slowest(off), 5 * slowest(on)) << seed;
    EXPECT_LT(slowest(off), 10 * slowest(on)) << seed;
    EXPECT_LT(20 * on.counters.retransmissions, off.counters.retransmissions) << seed;
    EXPECT_GT(on.counters.failure_drops, 0u) << seed;
  }
}

// [D39] A spine at a tenth of its rate is not dead: its packets come, long after they were taken for lost.
TEST(DegradedSpine, SlowsFlowsLessWithPathHealth) {
  for (const std::uint64_t seed : {1u, 2u}) {
    const Outcome on = run_shipped("degraded-spine", kOn, seed);
    const Outcome off = run_shipped("degraded-spine", kOff, seed);
    EXPECT_GT(slowest(on), 360) << seed;
    EXPECT_LT(slowest(on), 400) << seed;
    EXPECT_GT(2 * slowest(off), 3 * slowest(on)) << seed;
    EXPECT_LT(slowest(off), 3 * slowest(on)) << seed;
    EXPECT_EQ(on.counters.queue_drops + on.counters.error_drops, 0u) << seed;
    EXPECT_LT(on.counters.retransmissions, off.counters.retransmissions) << seed;
  }
}

// [D41] Oblivious spray keeps to its rotation whatever happens, and a single path leaves no choice.
TEST(DeadSpine, OnlyAdaptiveSprayLearnsOfIt) {
  for (const std::string scheme : {"strack-oblivious", "strack-single-path"}) {
    const auto run = [&](const char* health) {
      return run_shipped("dead-spine", {"transport.scheme=" + scheme, "workload.size=4 MB",
                                        "switch.convergence_us=10000",
                                        std::string("transport.path_health=") + health});
    };
    const Outcome on = run("true");
    EXPECT_GT(on.counters.retransmissions, 0u) << scheme;
    EXPECT_EQ(on.counters.hash, run("false").counters.hash) << scheme;
  }
}

// [D39] Where nothing is lost there is nothing to avoid: the same packets at the same times.
TEST(PathHealthInTheSimulator, ChangesNothingWhereNothingIsLost) {
  const Outcome on = run_shipped("dead-spine", kOn, 1, true);
  const Outcome off = run_shipped("dead-spine", kOff, 1, true);
  EXPECT_EQ(on.counters.retransmissions, 0u);
  EXPECT_EQ(on.counters.hash, off.counters.hash);
}

// And any number of threads gives the same.
TEST(PathHealthInTheSimulator, IsTheSameForAnyNumberOfThreads) {
  std::vector<std::string> three = kOn;
  three.push_back("run.threads=3");
  EXPECT_EQ(run_shipped("dead-spine", three).counters.hash,
            run_shipped("dead-spine", kOn).counters.hash);
}

// Path health has its own kind of host, which the parameters choose; its memory is accounted for.
TEST(PathHealthInTheSimulator, IsPaidForWhereItIsOn) {
  const auto transport_of = [](const std::string& text) {
    return load_text("[transport]\n" + text, "x.toml", {}, {}).value().config.transport;
  };
  const auto is_guarded = [](const std::shared_ptr<const Transport>& transport) {
    return dynamic_cast<const TransportOf<GuardedStrackProtocol>*>(transport.get()) != nullptr;
  };
  const auto off = transport_of("");
  const auto on = transport_of("path_health = true");
  const auto small = transport_of("path_health = true\nmax_paths = 16\ntracking_window = 100");
  EXPECT_FALSE(is_guarded(off));
  EXPECT_FALSE(is_guarded(transport_of("delay_marks = true\nleast_rtt_us = 200")));
  EXPECT_TRUE(is_guarded(on));
  EXPECT_EQ(on->connection_state() - small->connection_state(),
            bytes(240 * sizeof(core::PathRecord) + 896 * sizeof(core::SentRecord)));
  EXPECT_EQ(on->connection_state() - off->connection_state(),
            bytes(256 * sizeof(core::PathRecord) + 1'024 * sizeof(core::SentRecord) +
                  sizeof(GuardedStrackProtocol::Records) +
                  sizeof(GuardedStrackProtocol::SendingEnd) - sizeof(StrackProtocol::SendingEnd)));
}

// [D42] What the core refuses is reported at its key.
TEST(SilentWindow, HoldsAPacket) {
  EXPECT_TRUE(load_text("[transport]\nsilent_window = \"1 MTU\"", "x.toml", {}, {}));
  const auto less = load_text("[transport]\nsilent_window = 4095", "x.toml", {}, {});
  ASSERT_FALSE(less);
  EXPECT_EQ(
      less.error().text(),
      "x.toml:2: silent_window would be 4095. it must be 0 for no limit, or at least one mtu");
}

}  // namespace
}  // namespace strack::sim
