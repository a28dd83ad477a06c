// [D48] [D49] Whole clusters over switches that trim.
#include <cstdint>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using namespace testing;

// Where a queue one byte too short would drop one packet, it trims that one: the header arrives, the
// receiver has no use for it, and the sender sends the packet again.
TEST(TrimmingRun, OnePacketAtTheVeryByte) {
  SimConfig config = cluster(1, 3, 1);
  config.switches.queue_limit = bytes(9 * 4'160 - 1);
  config.switches.trimming = {true, bytes(64), kb(10)};
  const Outcome outcome = run(config, {flow(0, 2, packets(8)), flow(1, 2, packets(8))});
  EXPECT_EQ(outcome.counters.trims, 1u);
  EXPECT_EQ(outcome.counters.queue_drops, 0u);
  EXPECT_EQ(outcome.counters.retransmissions, 1u);
  EXPECT_EQ(outcome.counters.data_packets_sent, 17u);
  EXPECT_EQ(outcome.counters.data_packets_delivered, 16u);
  EXPECT_EQ(outcome.finished(), 2u);
}

// Trimming that never has to is no trimming.
TEST(TrimmingRun, NothingToTrim) {
  SimConfig config = cluster(2, 4, 2);
  const workload::Flows flows{flow(0, 4, packets(50)), flow(1, 4, packets(50))};
  const std::uint64_t hash = run(config, flows).counters.hash;
  config.switches.trimming = {true, bytes(64), kb(10)};
  const Outcome outcome = run(config, flows);
  EXPECT_EQ(outcome.counters.hash, hash);
  EXPECT_EQ(outcome.counters.trims, 0u);
}

// An incast that trims by the hundred: every message arrives, some headers find no room, and the number
// of threads does not show.
TEST(TrimmingRun, Incast) {
  SimConfig config = cluster(3, 8, 4);
  config.switches.queue_limit = bytes(20 * 4'160);
  config.switches.trimming = {true, bytes(64), bytes(64 * 20)};
  workload::Flows flows;
  for (std::uint32_t src = 8; src < 24; ++src) flows.push_back(flow(src, 0, packets(100)));
  const Outcome one = run(config, flows);
  EXPECT_EQ(one.finished(), 16u);
  EXPECT_GT(one.counters.trims, 100u);
  EXPECT_GT(one.counters.queue_drops, 0u);
  config.threads = 3;
  const Outcome three = run(config, flows);
  EXPECT_EQ(three.counters.hash, one.counters.hash);
  EXPECT_EQ(three.counters.trims, one.counters.trims);
}

// [D50] Without ECN at the last hop an incast inside a rack goes unmarked.
TEST(TrimmingRun, NoMarksAtTheLastHop) {
  SimConfig config = cluster(1, 3, 1);
  config.switches.kmin = config.switches.kmax = bytes(5 * 4'160);
  const workload::Flows flows{flow(0, 2, packets(8)), flow(1, 2, packets(8))};
  EXPECT_EQ(run(config, flows).counters.marks, 7u);
  config.switches.ecn_last_hop = false;
  EXPECT_EQ(run(config, flows).counters.marks, 0u);
}

}  // namespace
}  // namespace strack::sim
