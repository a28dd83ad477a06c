// What a run is expected to take, where NICs have something of their own.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "transports/uet/sim_rccc.h"

namespace strack::sim {
namespace {

Scenario with_scheme(const std::string& scheme) {
  auto scenario = load_text("[transport]\nscheme = \"" + scheme + "\"\n", "x.toml", {}, {});
  EXPECT_TRUE(scenario) << scenario.error().text();
  return std::move(scenario).value();
}

// Connections that share nothing take nothing beside their own; a pacer is there once for each NIC.
TEST(MemoryEstimate, CountsWhatTheConnectionsOfANicShare) {
  const Scenario alone = with_scheme("nscc");
  const Scenario shared = with_scheme("rccc");
  EXPECT_EQ(alone.config.transport->nic_state(), bytes(0));
  EXPECT_EQ(shared.config.transport->nic_state(), bytes(sizeof(core::PullPacer)));
  ASSERT_EQ(shared.config.transport->connection_state(),
            alone.config.transport->connection_state());
  EXPECT_EQ(memory_estimate(shared) - memory_estimate(alone),
            std::int64_t{shared.config.topology.hosts()} * bytes(sizeof(core::PullPacer)));
}

}  // namespace
}  // namespace strack::sim
