#include "sim/cluster/partition.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing.h"

namespace strack::sim {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers switches(const Partition& part) { return {part.switches().begin(), part.switches().end()}; }
Numbers links(const Partition& part, std::uint32_t sw) {
  Numbers all;
  for (const Partition::Cut& cut : part.cuts(sw)) all.push_back(cut.link);
  return all;
}

// One rank has everything, and nothing leads anywhere else.
TEST(Partition, Alone) {
  const Topology topology(testing::cluster(4, 2, 2).topology);
  const Partition part(topology, 0, 1, true);
  EXPECT_TRUE(part.alone());
  EXPECT_EQ(part.first_host(), 0u);
  EXPECT_EQ(part.end_host(), 8u);
  EXPECT_EQ(switches(part), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(part.cuts(0).empty());
}

// Racks go to ranks in order. Spines are on both, in parts: a packet goes to its destination's.
TEST(Partition, RacksInOrderAndSpinesInParts) {
  const Topology topology(testing::cluster(5, 2, 2).topology);
  const Partition first(topology, 0, 2, true);
  const Partition second(topology, 1, 2, true);
  EXPECT_EQ(first.first_host(), 0u);
  EXPECT_EQ(first.end_host(), 6u);
  EXPECT_EQ(second.first_host(), 6u);
  EXPECT_EQ(second.end_host(), 10u);
  EXPECT_TRUE(second.has_host(6));
  EXPECT_FALSE(second.has_host(5));
  EXPECT_EQ(switches(first), (Numbers{0, 1, 2, 5, 6}));
  EXPECT_EQ(switches(second), (Numbers{3, 4, 5, 6}));
  // Both uplinks of a ToR here are cut; those of another's are its rank's business, and a spine has none.
  const auto& ports = topology.switches()[2].ports;
  EXPECT_EQ(links(first, 2), (Numbers{ports[2].link, ports[3].link}));
  EXPECT_TRUE(first.cuts(3).empty());
  EXPECT_TRUE(first.cuts(5).empty());
  const Partition::Cut cut = first.cuts(2)[0];
  for (std::uint32_t host = 0; host < 10; ++host)
    EXPECT_EQ(first.rank_of(cut.table, host), host < 6 ? 0u : 1u) << host;
  EXPECT_EQ(second.receiver(ports[3].link), 10u + 6u);
}

// Where ports do not work apart, a spine is on one rank, and both ways to and from it are cut.
TEST(Partition, WholeSpines) {
  const Topology topology(testing::cluster(4, 2, 2).topology);
  const Partition part(topology, 1, 2, false);
  EXPECT_EQ(switches(part), (Numbers{2, 3, 5}));
  const auto& tor = topology.switches()[2].ports;
  ASSERT_EQ(part.cuts(2).size(), 1u);
  EXPECT_EQ(part.cuts(2)[0].link, tor[2].link);  // to the other's spine
  EXPECT_EQ(part.cuts(2)[0].table, Partition::kWhole);
  EXPECT_EQ(part.cuts(2)[0].rank, 0u);
  const auto& spine = topology.switches()[5].ports;
  EXPECT_EQ(links(part, 5), (Numbers{spine[0].link, spine[1].link}));
}

// Pods stay together; cores are in parts, by the pod's aggregation switch that they are linked to.
TEST(Partition, Pods) {
  const Topology topology(testing::pods(2, 2).topology);  // 4 ToRs, 4 aggs, 4 cores
  const Partition part(topology, 1, 2, true);
  EXPECT_EQ(part.first_host(), 4u);
  EXPECT_EQ(switches(part), (Numbers{2, 3, 6, 7, 8, 9, 10, 11}));
  EXPECT_TRUE(part.cuts(2).empty());
  ASSERT_EQ(part.cuts(6).size(), 2u);
  EXPECT_EQ(part.rank_of(part.cuts(6)[0].table, 3), 0u);
  EXPECT_EQ(part.rank_of(part.cuts(6)[0].table, 4), 1u);
}

// More ranks than pods: its racks are on several, and so are its aggregation switches, whole.
TEST(Partition, APodOnTwoRanks) {
  const Topology topology(testing::pods(2, 2).topology);
  const Partition part(topology, 1, 4, true);
  EXPECT_EQ(part.first_host(), 2u);
  EXPECT_EQ(part.end_host(), 4u);
  EXPECT_EQ(switches(part), (Numbers{1, 5, 8, 9, 10, 11}));
  ASSERT_EQ(part.cuts(1).size(), 1u);  // the other agg of the pod
  EXPECT_EQ(part.cuts(1)[0].rank, 0u);
  ASSERT_EQ(part.cuts(5).size(), 3u);  // the other ToR, and two cores
  // A core's way to a rack is by the second aggregation switch of its pod, whoever has the rack.
  EXPECT_EQ(part.rank_of(part.cuts(5)[1].table, 0), 1u);
  EXPECT_EQ(part.rank_of(part.cuts(5)[1].table, 7), 3u);
}

}  // namespace
}  // namespace strack::sim
