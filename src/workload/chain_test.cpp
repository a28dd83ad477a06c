#include "workload/chain.h"

#include <gtest/gtest.h>

namespace strack::workload {
namespace {

Graph built(GraphBuilder& builder) {
  auto graph = builder.build();
  EXPECT_TRUE(graph.ok());
  return std::move(graph.value());
}

// Messages are free: what is left is the longest chain of computations and of times.
TEST(ComputationTime, IsTheLongestChain) {
  GraphBuilder builder(2);
  const NodeId first = builder.compute(0, us(3));
  const NodeId there = builder.message(0, 1, mb(1));
  const NodeId second = builder.compute(1, us(4));
  builder.compute(1, us(6));
  builder.wait(there, first, Moment::sent);
  builder.wait(second, there, Moment::received);
  EXPECT_EQ(computation_time(built(builder)), us(7));
}

TEST(ComputationTime, CountsTimesThatNodesWaitFor) {
  GraphBuilder builder(2);
  builder.not_before(builder.compute(0, us(1)), us(10));
  builder.compute(1, us(5));
  EXPECT_EQ(computation_time(built(builder)), us(11));
}

// Who waits for a computation to begin does not wait for its end.
TEST(ComputationTime, FollowsTheMomentThatIsAwaited) {
  GraphBuilder builder(2);
  const NodeId first = builder.compute(0, us(5));
  builder.wait(builder.compute(0, us(1)), first, Moment::started);
  EXPECT_EQ(computation_time(built(builder)), us(5));
}

// A trace may say anything: the sum does not overflow.
TEST(ComputationTime, HasAnEnd) {
  GraphBuilder builder(2);
  NodeId last = builder.compute(0, seconds(900'000));
  for (int i = 0; i < 20; ++i) {
    const NodeId next = builder.compute(0, ps(INT64_MAX));
    builder.wait(next, last, Moment::sent);
    last = next;
  }
  EXPECT_EQ(computation_time(built(builder)), kForever);
}

TEST(ExtentOf, CountsNodesAndWaits) {
  GraphBuilder builder(2);
  const NodeId a = builder.compute(0, us(1));
  const NodeId b = builder.message(0, 1, bytes(1));
  builder.wait(b, a, Moment::sent);
  builder.wait(b, a, Moment::started);
  const Extent extent = extent_of(built(builder));
  EXPECT_EQ(extent.nodes, 2u);
  EXPECT_EQ(extent.edges, 2u);
}

}  // namespace
}  // namespace strack::workload
