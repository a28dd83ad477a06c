#include "sim/cluster/placement.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/net/sim_packet.h"
#include "sim/simulation.h"
#include "workload/graph.h"

namespace strack::sim {
namespace {

// Slots are given in order, at either end by itself; each end knows the other's.
TEST(Placement, SlotsOfFlows) {
  const workload::Flows flows{{0, 2, kb(1), at(us(3))}, {1, 2, kb(2), {}}, {0, 1, kb(4), {}}};
  const Placement p = place({flows, {}}, 3, 16, 2);
  ASSERT_EQ(p.hosts.size(), 3u);
  ASSERT_EQ(p.hosts[0].outgoing.size(), 2u);
  ASSERT_EQ(p.hosts[2].incoming.size(), 2u);
  EXPECT_EQ(p.hosts[0].outgoing[0].dst, 2u);
  EXPECT_EQ(p.hosts[0].outgoing[0].dst_slot, 0u);
  EXPECT_EQ(p.hosts[0].outgoing[0].size, 1'000u);
  EXPECT_EQ(p.hosts[0].outgoing[0].start, at(us(3)));
  EXPECT_EQ(p.hosts[0].outgoing[0].job, kNoJob);
  EXPECT_EQ(p.hosts[1].outgoing[0].dst_slot, 1u);
  EXPECT_EQ(p.hosts[2].incoming[1].src, 1u);
  EXPECT_EQ(p.hosts[2].incoming[1].src_slot, 0u);
  EXPECT_EQ(p.hosts[0].outgoing[1].flow, 2u);
  EXPECT_EQ(p.hosts[1].incoming[0].src_slot, 1u);
  EXPECT_EQ(p.bytes, 7'000u);
  // Only the first two may be watched.
  ASSERT_EQ(p.senders.size(), 2u);
  EXPECT_EQ(p.senders[1].src, 1u);
  EXPECT_EQ(p.senders[1].dst, 2u);
  EXPECT_EQ(p.senders[1].slot, 0u);
}

// A job's channels are connections after the flows; what a rank waits for lies at its host, in the order
// in which it is to happen when times are equal.
TEST(Placement, ChannelsOfJobs) {
  workload::GraphBuilder builder(2);
  for (int i = 0; i < 5; ++i) builder.message(0, 1, kb(1));
  const workload::NodeId back = builder.message(1, 0, kb(3));
  builder.not_before(back, us(7));
  workload::Job job;
  job.graph = std::make_shared<const workload::Graph>(std::move(builder.build().value()));
  job.hosts = {2, 0};
  job.starts = {at(us(1)), at(us(2))};
  const Placement p = place({{{0, 2, kb(1), {}}}, {job}}, 3, 4, 10);

  ASSERT_EQ(p.jobs.size(), 1u);
  EXPECT_EQ(p.jobs[0].first_flow, 1u);
  EXPECT_EQ(p.jobs[0].src_slots, (std::vector<std::uint32_t>{0, 1}));
  const OutgoingFlow& there = p.hosts[2].outgoing[0];
  EXPECT_EQ(there.dst, 0u);
  EXPECT_EQ(there.dst_slot, 0u);
  EXPECT_EQ(there.job, 0u);
  EXPECT_EQ(there.slots, 4u);                      // five messages, but no more than four at once
  EXPECT_EQ(p.hosts[0].outgoing[1].dst_slot, 1u);  // after the flow's
  EXPECT_EQ(p.hosts[0].outgoing[1].slots, 1u);
  EXPECT_EQ(p.hosts[2].incoming[1].src_slot, 1u);
  ASSERT_EQ(p.hosts[2].dues.size(), 1u);
  EXPECT_EQ(p.hosts[2].dues[0].time, at(us(1)));
  EXPECT_EQ(p.hosts[2].dues[0].kind, JobDue::Kind::rank_begins);
  ASSERT_EQ(p.hosts[0].dues.size(), 2u);
  EXPECT_EQ(p.hosts[0].dues[1].time, at(us(9)));
  EXPECT_EQ(p.hosts[0].dues[1].kind, JobDue::Kind::time_has_come);
  EXPECT_EQ(p.hosts[0].dues[1].what, back);
  EXPECT_EQ(p.bytes, 9'000u);
  EXPECT_EQ(p.senders.size(), 3u);
  EXPECT_EQ(p.senders[1].job, 0u);
}

// [D116] A connection has the priority of the workload that its flow, or its job, is of.
TEST(Placement, Priorities) {
  workload::GraphBuilder builder(2);
  builder.message(0, 1, kb(1));
  workload::Job job;
  job.graph = std::make_shared<const workload::Graph>(std::move(builder.build().value()));
  job.hosts = {2, 0};
  job.starts = {Instant{}, Instant{}};
  workload::Workload work{{{0, 2, kb(1), {}}, {0, 1, kb(1), {}}}, {job, job}};
  work.parts.resize(3);
  work.parts[0].flows = 1;
  work.parts[0].priority = 2;
  work.parts[1].first_flow = 1;
  work.parts[1].flows = 1;
  work.parts[1].jobs = 1;
  work.parts[2].first_flow = 2;
  work.parts[2].first_job = 1;
  work.parts[2].jobs = 1;
  work.parts[2].priority = 3;
  const Placement p = place(work, 3, 4, 0);
  EXPECT_EQ(p.hosts[0].outgoing[0].priority, 2u);
  EXPECT_EQ(p.hosts[0].outgoing[1].priority, 0u);
  EXPECT_EQ(p.hosts[2].outgoing[0].priority, 0u);
  EXPECT_EQ(p.hosts[2].outgoing[1].priority, 3u);
}

// More connections at a host than a packet can name are found before a run.
TEST(Placement, OverfullHost) {
  workload::Workload workload;
  for (std::uint32_t i = 0; i < 4; ++i) workload.flows.push_back({i % 2, 2, kb(1), {}});
  EXPECT_FALSE(find_overfull_host(workload, 3, 4));
  const auto full = find_overfull_host(workload, 3, 3);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->host, 2u);
  EXPECT_EQ(full->connections, 4u);
  EXPECT_FALSE(find_overfull_host(workload, 3));
}

// What a packet cannot name is refused, not cut off.
TEST(PlacementDeathTest, TooManyHosts) {
  EXPECT_DEATH((void)place({}, SimPacket::kMaxHosts + 1, 16, 0), "1048577");
}

}  // namespace
}  // namespace strack::sim
