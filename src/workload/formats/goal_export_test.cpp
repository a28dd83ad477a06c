#include "workload/formats/goal_export.h"

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
std::string written(const Graph& graph, Picoseconds unit = ns(1)) {
  const auto schedule = export_goal(graph, unit);
  return schedule ? schedule.value().text : "error: " + schedule.error().message;
}
Graph read(std::string_view text, Picoseconds unit = ns(1)) {
  const auto schedule = import_goal(text, unit);
  EXPECT_TRUE(schedule) << schedule.error().line << ": " << schedule.error().message;
  return schedule ? schedule.value().graph : Graph{};
}

TEST(GoalExport, WritesEveryKindOfWait) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(10));
  const NodeId b = builder.message(1, 0, bytes(20));
  const NodeId c = builder.compute(1, us(2));
  builder.wait(b, a, Moment::received);
  builder.wait(b, c, Moment::sent);
  builder.wait(c, a, Moment::received);
  const NodeId d = builder.message(1, 0, bytes(30));
  builder.wait(d, b, Moment::started);
  EXPECT_EQ(written(built(builder)),
            "num_ranks 2\n"
            "\nrank 0 {\n"
            "m0: send 10b to 1 tag 0\n"
            "r1: recv 20b from 1 tag 1\n"
            "r3: recv 30b from 1 tag 3\n"
            "}\n"
            "\nrank 1 {\n"
            "m1: send 20b to 0 tag 1\n"
            "c2: calc 2000\n"
            "m3: send 30b to 0 tag 3\n"
            "r0: recv 10b from 0 tag 0\n"
            "m1 requires r0\n"
            "m1 requires c2\n"
            "c2 requires r0\n"
            "m3 irequires m1\n"
            "}\n");
}

// Two times of one rank follow one another, so the later one is its difference to the earlier.
TEST(GoalExport, WritesTimesAsComputations) {
  GraphBuilder builder(2);
  builder.not_before(builder.message(0, 1, bytes(10)), us(5));
  builder.not_before(builder.message(0, 1, bytes(20)), us(2));
  const std::string text = written(built(builder));
  EXPECT_NE(text.find("t0: calc 2000 cpu 1\nt1: calc 3000 cpu 1\nt1 requires t0\n"
                      "m1 requires t0\nm0 requires t1\n"),
            std::string::npos)
      << text;
}

TEST(GoalExport, RoundTripsCollectivesAndTheExample) {
  for (int i = 0; i < 7; ++i) {
    const auto made = make_collective(
        {.collective = static_cast<Collective>(i), .ranks = 8, .size = mb(2), .parallel = 2});
    ASSERT_TRUE(made);
    // Tags are the messages' numbers, and they are read so: nothing changes, connections neither.
    const Graph& graph = made.value().graph;
    const Graph once = read(written(graph));
    EXPECT_EQ(describe(once), describe(graph)) << i;
    ASSERT_EQ(once.channels().size(), graph.channels().size()) << i;
    for (NodeId id = 0; id < graph.size(); ++id)
      ASSERT_EQ(once.node(id).channel, graph.node(id).channel) << i << " " << id;
  }
  const Graph example = read(trace("pipeline3.goal"));
  EXPECT_EQ(describe(read(written(example))), describe(example));
}

TEST(GoalExport, SaysWhichTimeIsNoMultiple) {
  GraphBuilder builder(1);
  builder.compute(0, ps(1'500));
  const Graph graph = built(builder);
  EXPECT_EQ(written(graph),
            "error: the time of node 0 is 1.5 ns, no multiple of 1 ns, the time of calc 1. take 1 "
            "ps");
  EXPECT_EQ(describe(read(written(graph, ps(1)), ps(1))), "0: 0 computes 1500 ps\n");
  GraphBuilder empty(1);
  EXPECT_EQ(written(built(empty)), "error: no operations. a schedule has at least one");
}

}  // namespace
}  // namespace strack::workload
