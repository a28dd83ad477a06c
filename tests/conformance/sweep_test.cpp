// Receiving ends that are given back while a run goes on are missed by no transport (sim/cluster/receiver_sweep.h).
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/any_transport.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "sim/testing.h"

namespace strack::conformance {
namespace {

/// Short flows beside a collective, through queues that mark and overflow, over a way that loses packets and one that is slow.
constexpr const char* kShortFlows = R"(
[topology]
hosts = 16
hosts_per_rack = 4
oversubscription = "2:1"
[switch]
queue_limit = "100 KB"
[[workload]]
kind = "random"
load = 0.6
flows = 300
size_min = "1 KB"
size_max = "60 KB"
[[workload]]
kind = "collective"
collective = "allreduce-ring"
ranks = 8
size = "100 KB"
[[impairment]]
rack = 0
uplink = 1
loss = 0.01
[[impairment]]
rack = 1
uplink = 0
rate = 0.05
)";

std::uint64_t told_with(const std::vector<std::string>& overrides, std::uint32_t sweep_after) {
  auto loaded = sim::load_text(kShortFlows, "sweep", {}, overrides);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
  if (!loaded) return 0;
  sim::SimConfig config = sim::make_config(loaded.value(), 1);
  config.sweep_after = sweep_after;
  const sim::testing::Outcome outcome =
      sim::testing::run_workload(config, sim::make_workload(loaded.value(), 1));
  EXPECT_EQ(outcome.ending, sim::Ending::finished);
  sim::testing::Digest digest;
  for (const metrics::FlowRecord& record : outcome.told.flows) digest << record;
  return (digest << outcome.counters).value();
}

TEST(Sweep, NobodyMissesWhatIsGivenBack) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(::testing::PrintToString(variant));
    EXPECT_EQ(told_with(variant.overrides(), 1),
              told_with(variant.overrides(), std::numeric_limits<std::uint32_t>::max()));
  }
}

}  // namespace
}  // namespace strack::conformance
