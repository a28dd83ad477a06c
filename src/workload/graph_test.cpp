#include "workload/graph.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::workload {
namespace {

std::vector<NodeId> list(std::span<const NodeId> nodes) { return {nodes.begin(), nodes.end()}; }
using Nodes = std::vector<NodeId>;

TEST(Graph, Build_KeepsWhatItWasTold) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, bytes(100));
  const NodeId think = builder.compute(1, us(5));
  const NodeId b = builder.message(1, 2, bytes(200));
  const NodeId c = builder.message(0, 1, bytes(300));
  builder.wait(think, a, Moment::received);
  builder.wait(b, think, Moment::sent);
  builder.wait(c, a, Moment::sent);
  const auto built = builder.build();
  ASSERT_TRUE(built.ok());
  const Graph& graph = built.value();
  EXPECT_EQ(graph.ranks(), 3u);
  EXPECT_EQ(graph.size(), 4u);
  EXPECT_EQ(graph.messages(), 3u);
  EXPECT_EQ(graph.bytes(), bytes(600));
  EXPECT_EQ(graph.node(b).amount, 200);
  EXPECT_TRUE(graph.node(think).computes);
  EXPECT_EQ(graph.sender(b), 1u);
  EXPECT_EQ(graph.receiver(b), 2u);
  EXPECT_EQ(graph.node(a).channel, graph.node(c).channel);
  EXPECT_EQ(graph.channels().size(), 2u);
  EXPECT_EQ(graph.waits(), (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(list(graph.after(Moment::received, a)), (Nodes{think}));
  EXPECT_EQ(list(graph.after(Moment::sent, a)), (Nodes{c}));
  EXPECT_EQ(list(graph.after(Moment::sent, think)), (Nodes{b}));
  EXPECT_TRUE(graph.after(Moment::started, a).empty());
  EXPECT_EQ(list(graph.roots(0)), (Nodes{a}));
  EXPECT_TRUE(graph.roots(1).empty());
}

// A node with a time of its own is no root: its time is one more thing it waits for.
TEST(Graph, Build_TimedNodesAreNoRoots) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(1));
  const NodeId b = builder.message(0, 1, bytes(1));
  builder.not_before(b, us(3));
  const auto built = builder.build();
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(list(built.value().roots(0)), (Nodes{a}));
  EXPECT_EQ(built.value().waits()[b], 1u);
  ASSERT_EQ(built.value().timed().size(), 1u);
  EXPECT_EQ(built.value().timed()[0].time, us(3));
}

TEST(Graph, Message_MayHaveAChannelOfItsOwn) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(1));
  const NodeId own = builder.message(0, 1, bytes(1), true);
  const NodeId b = builder.message(0, 1, bytes(1));
  const auto built = builder.build();
  ASSERT_TRUE(built.ok());
  EXPECT_NE(built.value().node(own).channel, built.value().node(a).channel);
  EXPECT_EQ(built.value().node(b).channel, built.value().node(a).channel);
}

TEST(Graph, Build_RefusesARing) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(1));
  const NodeId b = builder.message(1, 0, bytes(1));
  builder.wait(a, b, Moment::received);
  builder.wait(b, a, Moment::received);
  const auto built = builder.build();
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().find("2 of 2 nodes wait for each other in a ring"), std::string::npos)
      << built.error();
}

// What happens at one rank cannot be waited for at another.
TEST(Graph, Build_RefusesToWaitForWhatHappensElsewhere) {
  for (const Moment moment : {Moment::sent, Moment::started}) {
    GraphBuilder builder(2);
    const NodeId a = builder.message(0, 1, bytes(1));
    const NodeId b = builder.message(1, 0, bytes(1));
    builder.wait(b, a, moment);
    EXPECT_FALSE(builder.build().ok());
  }
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(1));
  const NodeId b = builder.message(0, 1, bytes(1));
  builder.wait(b, a, Moment::received);
  EXPECT_FALSE(builder.build().ok());
}

TEST(Graph, Build_RefusesToReceiveAComputation) {
  GraphBuilder builder(2);
  const NodeId a = builder.compute(0, us(1));
  const NodeId b = builder.message(0, 1, bytes(1));
  builder.wait(b, a, Moment::received);
  EXPECT_FALSE(builder.build().ok());
}

// [D91] From 4 GiB on a message is several, which wait and are waited for together.
TEST(Graph, LargeMessagesAreSeveral) {
  GraphBuilder builder(2);
  const NodeId before = builder.message(1, 0, bytes(1));
  const NodeId large = builder.message(0, 1, bytes((std::int64_t{5} << 31) + 7));
  const NodeId after = builder.message(1, 0, bytes(2));
  builder.wait(large, before, Moment::received);
  builder.wait(after, large, Moment::received);
  builder.not_before(large, us(3));
  const Graph graph = std::move(builder.build().value());
  EXPECT_EQ(graph.messages(), 8u);
  EXPECT_EQ(graph.bytes(), bytes((std::int64_t{5} << 31) + 10));
  EXPECT_EQ(after, large + 6);
  EXPECT_EQ(graph.node(large + 5).amount, 7);
  EXPECT_EQ(graph.waits()[after], 6u);
  EXPECT_EQ(graph.waits()[large + 5], 2u);  // the one before, and the time
  EXPECT_EQ(graph.timed().size(), 6u);
  EXPECT_EQ(graph.after(Moment::received, before).size(), 6u);
}

// Two large ones, 512 messages each: the first of the second waits for all, and the others for its start.
TEST(Graph, LargeMessagesWaitForEachOtherWithFewWaits) {
  GraphBuilder builder(2);
  const NodeId one = builder.message(0, 1, bytes(std::int64_t{1} << 40));
  const NodeId two = builder.message(1, 0, bytes(std::int64_t{1} << 40));
  builder.wait(two, one, Moment::received);
  const Graph graph = std::move(builder.build().value());
  EXPECT_EQ(two, one + 512);
  EXPECT_EQ(graph.waits()[two], 512u);
  EXPECT_EQ(graph.waits()[two + 511], 1u);
  EXPECT_EQ(graph.after(Moment::started, two).size(), 511u);
}

}  // namespace
}  // namespace strack::workload
