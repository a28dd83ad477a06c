#include "workload/formats/cm_export.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/collectives.h"
#include "workload/formats/goal_import.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

Graph built(GraphBuilder& builder) {
  const auto graph = builder.build();
  EXPECT_TRUE(graph) << graph.error();
  return graph.value();
}
std::string written(const Graph& graph, CmTime unit = CmTime::picoseconds) {
  const auto matrix = export_cm(graph, unit);
  return matrix ? matrix.value().text : "error: " + matrix.error().message;
}
Graph read(std::string_view text, CmTime unit = CmTime::picoseconds) {
  const auto matrix = import_cm(text, unit);
  EXPECT_TRUE(matrix) << matrix.error().line << ": " << matrix.error().message << "\n" << text;
  return matrix ? matrix.value().graph : Graph{};
}

TEST(CmExport, WritesWaitsAsTriggers) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, bytes(10));
  const NodeId b = builder.message(2, 1, bytes(20));
  const NodeId c = builder.message(1, 0, bytes(30));
  const NodeId d = builder.message(0, 2, bytes(0));
  builder.not_before(b, ns(1'500));
  builder.wait(c, a, Moment::received);
  builder.wait(c, b, Moment::received);
  builder.wait(d, a, Moment::sent);
  const Graph graph = built(builder);
  EXPECT_EQ(written(graph),
            "Nodes 3\nConnections 4\nTriggers 2\n"
            "0->1 id 1 start 0 size 10 send_done_trigger 2 recv_done_trigger 1\n"
            "2->1 id 2 start 1500000 size 20 recv_done_trigger 1\n"
            "1->0 id 3 trigger 1 size 30\n"
            "0->2 id 4 trigger 2 size 1\n"
            "trigger id 1 barrier count 2\n"
            "trigger id 2 oneshot\n");
  EXPECT_EQ(export_cm(graph, CmTime::picoseconds).value().words, 1u);
  EXPECT_NE(written(graph, CmTime::microseconds).find("2->1 id 2 start 1.5 size 20"),
            std::string::npos);
}

// Read, written and read again, the messages and their waits are the same.
TEST(CmExport, RoundTripsTheExample) {
  const Graph graph = read(trace("relay4.cm"));
  for (const CmTime unit : {CmTime::picoseconds, CmTime::microseconds})
    EXPECT_EQ(describe(read(written(graph, unit), unit)), describe(graph));
}

TEST(CmExport, RoundTripsCollectives) {
  for (const Collective collective :
       {Collective::allreduce_ring, Collective::allreduce_double_binary_tree,
        Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
        Collective::alltoall}) {
    const auto made = make_collective({.collective = collective, .ranks = 6, .size = mb(2)});
    ASSERT_TRUE(made);
    EXPECT_EQ(describe(read(written(made.value().graph))), describe(made.value().graph))
        << name_of(collective);
  }
}

// Messages of one channel are told apart by msg and share it when they are read again.
TEST(CmExport, WritesSharedConnections) {
  GraphBuilder builder(2);
  builder.message(0, 1, bytes(10));
  builder.message(1, 0, bytes(20));
  builder.message(0, 1, bytes(30));
  const Graph graph = built(builder);
  const std::string text = written(graph);
  EXPECT_EQ(text,
            "Nodes 2\nConnections 3\n"
            "0->1 id 1 msg 1 start 0 size 10\n"
            "1->0 id 2 start 0 size 20\n"
            "0->1 id 1 msg 2 start 0 size 30\n");
  EXPECT_EQ(read(text).channels().size(), 2u);

  const auto own = export_cm(graph, CmTime::picoseconds, CmConnections::own);
  ASSERT_TRUE(own);
  EXPECT_EQ(own.value().text,
            "Nodes 2\nConnections 3\n"
            "0->1 id 1 start 0 size 10\n"
            "1->0 id 2 start 0 size 20\n"
            "0->1 id 3 start 0 size 30\n");
  EXPECT_EQ(read(own.value().text).channels().size(), 3u);
}

// A join without length says nothing that its waits do not say.
TEST(CmExport, LooksThroughStartsAndEmptyComputations) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(10));
  const NodeId join = builder.compute(1, ps(0));
  const NodeId b = builder.message(1, 0, bytes(20));
  const NodeId c = builder.message(1, 0, bytes(30));
  builder.wait(join, a, Moment::received);
  builder.wait(b, join, Moment::sent);
  builder.wait(c, b, Moment::started);
  EXPECT_EQ(describe(read(written(built(builder)))),
            "0: 0->1 10 B\n1: 1->0 20 B [0 received]\n2: 1->0 30 B [0 received]\n");
}

TEST(CmExport, SaysWhatTheFormatCannot) {
  {
    GraphBuilder builder(2);
    builder.message(0, 1, bytes(10));
    builder.compute(1, us(3));
    EXPECT_EQ(written(built(builder)),
              "error: node 1 computes for 3 us at rank 1. a connection matrix has no computations; "
              "GOAL has");
  }
  {
    GraphBuilder builder(2);
    const NodeId a = builder.message(0, 1, bytes(10));
    const NodeId b = builder.message(1, 0, bytes(10));
    builder.wait(b, a, Moment::received);
    builder.not_before(b, us(3));
    EXPECT_EQ(
        written(built(builder)),
        "error: message 1 has a time, 3 us, and waits for others too. a connection has either "
        "a start or a trigger");
  }
  {
    GraphBuilder builder(2);
    const NodeId a = builder.message(0, 1, bytes(10));
    const NodeId b = builder.message(0, 1, bytes(10));
    const NodeId c = builder.message(1, 0, bytes(10));
    const NodeId d = builder.message(1, 0, bytes(10));
    builder.wait(c, a, Moment::received);
    builder.wait(d, a, Moment::received);
    builder.wait(d, b, Moment::received);
    EXPECT_EQ(written(built(builder)),
              "error: message 3 waits for message 0 to be received, and another one waits for that "
              "and for something else. a connection fires one trigger when it is received");
  }
  {
    GraphBuilder builder(2);
    builder.compute(0, ps(0));
    EXPECT_EQ(written(built(builder)),
              "error: no messages. a connection matrix has at least one, between two nodes");
  }
}

}  // namespace
}  // namespace strack::workload
