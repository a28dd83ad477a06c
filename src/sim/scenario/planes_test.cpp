// The shipped scenario of NICs with a port in each of two planes, one of which is down for a while.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using testing::Outcome;

Outcome run_planes(std::vector<std::string> overrides, bool intact = false) {
  overrides.emplace_back("workload.size=4 MB");
  const auto scenario = load(std::filesystem::path(STRACK_SCENARIOS) / "planes.toml", overrides);
  EXPECT_TRUE(scenario) << scenario.error().text();
  SimConfig config = make_config(scenario.value(), 1);
  if (intact) config.failures.failures.clear();
  config.record.interval = ms(10);
  config.record.links = true;
  Outcome outcome = testing::run_workload(config, make_workload(scenario.value(), 1));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.finished(), 32u);
  return outcome;
}
Picoseconds slowest(const Outcome& outcome) {
  Picoseconds longest{0};
  for (const metrics::FlowRecord& record : outcome.told.flows)
    longest = std::max(longest, record.end - record.start);
  return longest;
}

// [MRC.planes] [D112] Entropies go round, so both ports of a NIC have the same to send, but for those that marks skip.
TEST(Planes, AreFilledEvenly) {
  const Outcome intact = run_planes({}, true);
  EXPECT_EQ(intact.counters.retransmissions, 0u);
  for (const std::uint32_t host : {0u, 13u, 31u}) {
    const std::string nic = "nic" + std::to_string(host);
    const std::string leaf = "leaf" + std::to_string(host / 8);
    const Bytes first = intact.carried(intact.link(nic, "p0" + leaf));
    const Bytes second = intact.carried(intact.link(nic, "p1" + leaf));
    EXPECT_LE(std::max(first, second) - std::min(first, second), kb(100)) << host;
    EXPECT_GT(first + second, mb(4)) << host;
  }
}

// [MRC.plane.down] [MRC.plane.probe] [MRC.routes] The other plane carries all, and both do once it is back: half of the rate is gone for
// 100 us, and the round trips until that is found out. Entropy by entropy it takes much longer.
TEST(Planes, OneThatIsDownIsLeftOut) {
  const Outcome intact = run_planes({}, true);
  const Outcome down = run_planes({});
  const Outcome unknown = run_planes({"mrc.planes=1"});
  EXPECT_LT(slowest(down), slowest(intact) + us(110));
  EXPECT_GT(slowest(unknown), slowest(intact) + us(200));
  EXPECT_LT(4 * down.counters.failure_drops, 3 * unknown.counters.failure_drops);
  EXPECT_EQ(down.counters.timeouts, 0u);
}

TEST(Planes, AreTheSameForAnyNumberOfThreads) {
  EXPECT_EQ(run_planes({"run.threads=3"}).counters.hash, run_planes({}).counters.hash);
}

}  // namespace
}  // namespace strack::sim
