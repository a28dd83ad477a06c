#include "sim/cluster/receiver_sweep.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/cluster.h"
#include "sim/net/switch.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using namespace testing;

constexpr std::uint32_t kFlows = 600;

/// Short flows, one after the other and beside each other, whose packets are lost and sent twice: queues are short, and one
/// way is so slow that what takes it is sent again before it arrives.
SimConfig troubled() {
  SimConfig config = cluster(4, 4, 4);
  config.switches.queue_limit = kb(40);
  Impairment slow;
  slow.link = {LinkRef::Tier::fabric, 1, 2};
  slow.rate = {1, 50};
  config.failures.impairments.push_back(slow);
  Impairment lossy;
  lossy.link = {LinkRef::Tier::fabric, 0, 1};
  lossy.loss = {1, 20};
  config.failures.impairments.push_back(lossy);
  return config;
}
workload::Workload short_flows() {
  workload::Flows flows;
  Rng rng(5);
  for (std::uint32_t f = 0; f < kFlows; ++f) {
    const auto src = static_cast<std::uint32_t>(rng.below(16));
    const auto dst = (src + 1 + static_cast<std::uint32_t>(rng.below(15))) % 16;
    flows.push_back(flow(src, dst, packets(1 + static_cast<std::int64_t>(rng.below(30))),
                         Instant{} + us(static_cast<std::int64_t>(rng.below(400)))));
  }
  return {std::move(flows), {}};
}

struct Swept {
  Ending ending{};
  std::uint64_t digest = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t receivers = 0;
};
Swept run_with(std::uint32_t sweep_after) {
  SimConfig config = troubled();
  config.sweep_after = sweep_after;
  ClusterOf<StrackProtocol, Switch> all(config, short_flows());
  testing::Recorder told;
  Swept swept;
  swept.ending = all.run(told, nullptr);
  Digest digest;
  for (const metrics::FlowRecord& record : told.flows) digest << record;
  swept.digest = (digest << all.counters()).value();
  swept.retransmissions = all.counters().retransmissions;
  swept.receivers = all.receivers();
  return swept;
}

// What is given back is missed by nobody, though late packets of finished flows were still on their way.
TEST(ReceiverSweep, ChangesNothing) {
  const Swept kept = run_with(std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(kept.ending, Ending::finished);
  EXPECT_EQ(kept.receivers, kFlows);
  EXPECT_GT(kept.retransmissions, 100u);
  const Swept swept = run_with(1);
  EXPECT_EQ(swept.ending, Ending::finished);
  EXPECT_EQ(swept.digest, kept.digest);
  EXPECT_LT(swept.receivers, kFlows / 4);
}

TEST(ReceiverSweep, IsDueWhenEnoughHasFinished) {
  const ReceiverSweep sweep(100);
  EXPECT_FALSE(sweep.due(99, 400));
  EXPECT_TRUE(sweep.due(100, 400));
  EXPECT_FALSE(sweep.due(100, 1'600));  // of many flows, an eighth
  EXPECT_TRUE(sweep.due(200, 1'600));
}

TEST(PacketsUnderWay, KnowsWhoWaitsForWhat) {
  PacketRing ring;
  ring.push(SimPacket::data({7, 3}, 1, 0));
  std::vector<Transit> held{{Instant{}, SimPacket::data({9, 4}, 1, 0)}};
  std::vector<std::vector<Transit>> nested{{}, {{Instant{}, SimPacket::data({2, 1}, 1, 0)}}};
  PacketsUnderWay packets;
  packets(ring, held);
  packets.fixed(nested);
  packets.note(SimPacket::pause(us(1)));
  packets.close();
  EXPECT_TRUE(packets.lead_to(7, 3));
  EXPECT_TRUE(packets.lead_to(9, 4));
  EXPECT_TRUE(packets.lead_to(2, 1));
  EXPECT_FALSE(packets.lead_to(7, 4));
  EXPECT_FALSE(packets.lead_to(0, 0));
}

}  // namespace
}  // namespace strack::sim
