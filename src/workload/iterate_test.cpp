#include "workload/iterate.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/collectives.h"

namespace strack::workload {
namespace {

using Nodes = std::vector<NodeId>;
Nodes list(std::span<const NodeId> nodes) { return {nodes.begin(), nodes.end()}; }

/// Rank 0 sends to 1, which sends it on to 2.
Graph relay() {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, bytes(100));
  const NodeId b = builder.message(1, 2, bytes(200));
  builder.wait(b, a, Moment::received);
  return std::move(builder.build().value());
}

TEST(Iterate, OnceIsTheSame) {
  const Graph once = iterate(relay(), 1, us(5));
  EXPECT_EQ(once.size(), 2u);
  EXPECT_EQ(once.channels().size(), 2u);
  EXPECT_EQ(list(once.after(Moment::received, 0)), (Nodes{1}));
  EXPECT_EQ(list(once.roots(0)), (Nodes{0}));
}

// Nodes 0 and 1, a computation of each rank, 2 to 4, and 5 and 6 on the same channels.
TEST(Iterate, EachRankComputesInBetween) {
  const Graph twice = iterate(relay(), 2, us(5));
  ASSERT_EQ(twice.size(), 7u);
  EXPECT_EQ(twice.messages(), 4u);
  EXPECT_EQ(twice.bytes(), bytes(600));
  EXPECT_EQ(twice.channels().size(), 2u);
  for (const Rank rank : {0u, 1u, 2u}) {
    EXPECT_TRUE(twice.node(2 + rank).computes);
    EXPECT_EQ(twice.node(2 + rank).rank, rank);
    EXPECT_EQ(twice.node(2 + rank).amount, us(5).count());
  }
  // Rank 0 is done when its message is acknowledged, rank 1 when it has received and sent.
  EXPECT_EQ(list(twice.after(Moment::sent, 0)), (Nodes{2}));
  EXPECT_EQ(list(twice.after(Moment::received, 0)), (Nodes{1, 3}));
  EXPECT_EQ(list(twice.after(Moment::sent, 1)), (Nodes{3}));
  EXPECT_EQ(list(twice.after(Moment::received, 1)), (Nodes{4}));
  // The second round: rank 1 has computed, too, before it passes on what it got.
  EXPECT_EQ(list(twice.after(Moment::sent, 2)), (Nodes{5}));
  EXPECT_EQ(list(twice.after(Moment::sent, 3)), (Nodes{6}));
  EXPECT_EQ(list(twice.after(Moment::received, 5)), (Nodes{6}));
  EXPECT_EQ(twice.waits(), (std::vector<std::uint32_t>{0, 1, 1, 2, 1, 1, 2}));
}

// A time of its own counts from the iteration's beginning: a wait that comes after the computation.
TEST(Iterate, TimesCountFromTheIteration) {
  GraphBuilder builder(2);
  builder.not_before(builder.message(0, 1, bytes(1)), us(7));
  const Graph twice = iterate(builder.build().value(), 2, us(5));
  ASSERT_EQ(twice.timed().size(), 1u);
  ASSERT_EQ(twice.size(), 5u);  // the message, two computations, the message again, its delay
  EXPECT_EQ(twice.node(4).amount, us(7).count());
  EXPECT_EQ(list(twice.after(Moment::sent, 4)), (Nodes{3}));
  EXPECT_EQ(list(twice.after(Moment::sent, 1)), (Nodes{3, 4}));
}

TEST(Iterate, CollectivesKeepTheirChannels) {
  const auto ring = make_collective(
      {.collective = Collective::allreduce_ring, .ranks = 4, .size = kib(64), .chunk = kib(16)});
  const Graph& one = ring.value().graph;
  const Graph five = iterate(one, 5, ps(0));
  EXPECT_EQ(five.channels().size(), one.channels().size());
  EXPECT_EQ(five.messages(), 5 * one.messages());
  EXPECT_EQ(five.size(), 5 * one.size() + 4 * 4);
}

}  // namespace
}  // namespace strack::workload
