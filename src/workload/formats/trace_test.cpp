#include "workload/formats/trace.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

Graph built(GraphBuilder& builder) {
  const auto graph = builder.build();
  EXPECT_TRUE(graph) << graph.error();
  return graph.value();
}
std::vector<TraceFile> files(const std::vector<std::string>& names) {
  std::vector<TraceFile> all;
  for (const std::string& name : names) all.push_back({name, trace(name)});
  return all;
}
std::string error_of(const std::vector<TraceFile>& all, TraceFormat format) {
  const auto read = import_trace(all, {.format = format});
  if (read) return "read";
  return read.error().file + ":" + std::to_string(read.error().line) + ": " + read.error().message;
}

TEST(Trace, FormatsByName) {
  EXPECT_EQ(trace_format_of("a/b.cm"), TraceFormat::cm);
  EXPECT_EQ(trace_format_of("b.goal"), TraceFormat::goal);
  EXPECT_EQ(trace_format_of("b.bin"), TraceFormat::goal);
  EXPECT_EQ(trace_format_of("b.0.et"), TraceFormat::chakra);
  EXPECT_EQ(trace_format_of("b.0.json"), TraceFormat::chakra);
  EXPECT_EQ(trace_format_of("b.txt"), std::nullopt);
  EXPECT_EQ(name_of(TraceFormat::chakra), "chakra");
}

TEST(Trace, ReadsEveryFormat) {
  const auto cm = import_trace(files({"relay4.cm"}), {.format = TraceFormat::cm});
  ASSERT_TRUE(cm);
  EXPECT_EQ(cm.value().graph.ranks(), 4u);
  EXPECT_EQ(cm.value().failures.size(), 1u);
  EXPECT_EQ(cm.value().notes.size(), 1u);
  const auto goal = import_trace(files({"pipeline3.goal"}), {.format = TraceFormat::goal});
  ASSERT_TRUE(goal);
  EXPECT_EQ(goal.value().graph.ranks(), 3u);
  const auto chakra =
      import_trace(files({"step.0.et", "step.1.et"}), {.format = TraceFormat::chakra});
  ASSERT_TRUE(chakra);
  EXPECT_EQ(chakra.value().graph.ranks(), 2u);
}

TEST(Trace, ErrorsNameFileAndPlace) {
  EXPECT_EQ(error_of({{"a.cm", "Nodes 2\nfly"}}, TraceFormat::cm).find("a.cm:2: "), 0u);
  EXPECT_EQ(error_of({{"a.goal", "num_ranks 2\nfly"}}, TraceFormat::goal).find("a.goal:2: "), 0u);
  EXPECT_EQ(error_of({{"a.et", "\x7f"}}, TraceFormat::chakra).find("a.et:0: byte "), 0u);
  EXPECT_EQ(
      error_of(files({"relay4.cm", "relay4.cm"}), TraceFormat::cm),
      "relay4.cm:0: a second file. only Chakra's traces have a file for each rank, and this is cm");
}

TEST(Trace, Figures) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, bytes(10));
  const NodeId work = builder.compute(1, us(3));
  const NodeId joint = builder.compute(1, ps(0));
  const NodeId b = builder.message(1, 2, bytes(30));
  const NodeId c = builder.message(0, 2, bytes(25));
  builder.wait(work, a, Moment::received);
  builder.wait(joint, work, Moment::sent);
  builder.wait(b, joint, Moment::sent);
  builder.not_before(c, ns(7));
  const GraphFigures figures = figures_of(built(builder));
  EXPECT_EQ(figures.computations, 1u);
  EXPECT_EQ(figures.computing, us(3));
  EXPECT_EQ(figures.top_sender, 0u);
  EXPECT_EQ(figures.most_sent, bytes(35));
  EXPECT_EQ(figures.top_receiver, 2u);
  EXPECT_EQ(figures.most_received, bytes(55));
  EXPECT_EQ(figures.longest_chain, 3u);
  EXPECT_EQ(figures.last_start, ns(7));
}

// Each of all that decides a run shows.
TEST(Trace, FingerprintsTellGraphsApart) {
  const auto print = [](Rank ranks, std::int64_t size, bool own, bool waits, Picoseconds start) {
    GraphBuilder builder(ranks);
    const NodeId a = builder.message(0, 1, bytes(size));
    const NodeId b = builder.message(0, 1, bytes(5), own);
    if (waits) builder.wait(b, a, Moment::sent);
    if (start > ps(0)) builder.not_before(a, start);
    return fingerprint(built(builder));
  };
  const std::uint64_t plain = print(2, 5, false, false, ps(0));
  EXPECT_EQ(print(2, 5, false, false, ps(0)), plain);
  EXPECT_NE(print(3, 5, false, false, ps(0)), plain);
  EXPECT_NE(print(2, 6, false, false, ps(0)), plain);
  EXPECT_NE(print(2, 5, true, false, ps(0)), plain);
  EXPECT_NE(print(2, 5, false, true, ps(0)), plain);
  EXPECT_NE(print(2, 5, false, false, ps(1)), plain);
}

}  // namespace
}  // namespace strack::workload
