#include "workload/formats/draw_schedule.h"

#include <algorithm>
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
std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// 5000 bytes at 400 Gb/s are 100 ns. One message at a time, and each waits for what it has to.
TEST(DrawSchedule, ModelsBytesThenLatency) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, bytes(5'000));
  const NodeId b = builder.message(0, 2, bytes(5'000));
  const NodeId c = builder.compute(1, ns(50));
  const NodeId d = builder.message(1, 2, bytes(0));
  const NodeId e = builder.message(0, 1, bytes(0));
  const NodeId f = builder.message(2, 0, bytes(0));
  builder.wait(c, a, Moment::received);
  builder.wait(d, c, Moment::sent);
  builder.wait(e, a, Moment::sent);
  builder.not_before(f, us(7));
  const auto times = model_schedule(built(builder), {.latency = us(1), .rate = gbps(400)});
  ASSERT_TRUE(times);
  const std::vector<DrawnNode>& t = times.value();
  EXPECT_EQ(t[a].start, ps(0));
  EXPECT_EQ(t[a].last_out, ns(100));
  EXPECT_EQ(t[a].done, ns(1'100));
  EXPECT_EQ(t[b].start, ns(100));
  EXPECT_EQ(t[b].done, ns(1'200));
  EXPECT_EQ(t[c].start, ns(1'100));
  EXPECT_EQ(t[c].done, ns(1'150));
  EXPECT_EQ(t[d].done, ns(2'150));
  EXPECT_EQ(t[e].start, ns(2'100));
  EXPECT_EQ(t[f].start, us(7));
}

TEST(DrawSchedule, DrawsEveryRankMessageAndComputation) {
  const auto schedule = import_goal(trace("pipeline3.goal"));
  ASSERT_TRUE(schedule);
  const auto drawing = draw_schedule(schedule.value().graph, {.title = "three stages"});
  ASSERT_TRUE(drawing);
  const std::string& svg = drawing.value().svg;
  EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "class=\"rank\""), 3u);
  EXPECT_EQ(count(svg, "class=\"arrow\" stroke="), 4u);
  EXPECT_EQ(count(svg, "<path class=\"work\""), 5u);
  EXPECT_EQ(count(svg, "messages, first to last"), 1u);
  EXPECT_EQ(count(svg, "computation</text>"), 1u);
  EXPECT_EQ(count(svg, "without bytes"), 0u);
  EXPECT_EQ(count(svg, "model: latency 1 us, 400 Gb/s"), 1u);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), svg.npos);
  EXPECT_EQ(count(svg, "message 1: 0 to 1, 65.536 KB, 5 us to 7.31 us"), 2u);
}

TEST(DrawSchedule, EscapesTheTitle) {
  GraphBuilder builder(2);
  builder.message(0, 1, bytes(0));
  const auto drawing =
      draw_schedule(built(builder), {.title = "<a href=\"x\"> & 'b' \x01\xff µ \xed\xa0\x80"});
  ASSERT_TRUE(drawing);
  const std::string& svg = drawing.value().svg;
  EXPECT_EQ(count(svg,
                  "&lt;a href=&quot;x&quot;&gt; &amp; &#39;b&#39; ?? µ ??"
                  "?<"),
            2u)
      << svg;
  EXPECT_EQ(count(svg, "without bytes"), 1u);
}

TEST(DrawSchedule, RefusesWhatNobodyCouldRead) {
  const auto error = [](const Graph& graph, const DrawParams& params) {
    const auto drawing = draw_schedule(graph, params);
    return drawing ? std::string("drawn") : drawing.error().message;
  };
  const auto large = make_collective({.ranks = 65, .size = mb(1)});
  ASSERT_TRUE(large);
  EXPECT_EQ(error(large.value().graph, {}),
            "65 ranks and 8320 messages and computations. a drawing has at most 64 and 2000: fewer "
            "ranks, or larger chunks");
  GraphBuilder builder(2);
  builder.message(0, 1, bytes(4'000'000'000));
  const Graph small = built(builder);
  EXPECT_EQ(error(small, {.rate = BitsPerSecond{0}}),
            "the rate is 0 b/s. it is at least 1 Mb/s, such as 400 Gb/s");
  EXPECT_EQ(error(small, {.latency = seconds(2)}),
            "the latency is 2000000000000 ps. it is from 0 to 1 s, such as 1 us");
  EXPECT_EQ(error(small, {.rate = mbps(1)}), "drawn");
  GraphBuilder late(2);
  late.not_before(late.compute(0, ps(1)), seconds(100'000));
  EXPECT_EQ(error(built(late), {}), "the schedule lasts longer than a day. draw a part of it");
}

}  // namespace
}  // namespace strack::workload
