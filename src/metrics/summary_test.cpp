#include "metrics/summary.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::metrics {
namespace {

FlowRecord flow(std::uint32_t number, std::uint32_t src, std::uint32_t dst, Picoseconds fct) {
  FlowRecord record;
  record.flow = number;
  record.src = src;
  record.dst = dst;
  record.size = mb(1);
  record.start = at(us(100));
  record.end = record.start + fct;
  record.retransmissions = 2;
  record.path_changes = 5;
  return record;
}

RunInfo run_of(std::uint64_t flows) {
  RunInfo run;
  run.flows = flows;
  run.host_rate = gbps(400);
  return run;
}

TEST(Summarise, TakesPercentilesByNearestRank) {
  std::vector<FlowRecord> flows;
  for (std::uint32_t i = 0; i < 100; ++i) flows.push_back(flow(i, i, 100 + i, us(100 - i)));

  const Summary s = summarise(run_of(100), {}, flows, {});

  EXPECT_EQ(s.finished, 100u);
  EXPECT_EQ(s.unfinished, 0u);
  EXPECT_EQ(s.max_fct, us(100));
  EXPECT_EQ(s.p99_fct, us(99));
  EXPECT_EQ(s.p50_fct, us(50));
  EXPECT_EQ(s.mean_fct, ns(50'500));
  EXPECT_EQ(s.retransmissions, 200u);
  EXPECT_EQ(s.path_changes, 500u);
}

TEST(Summarise, OneFlowIsAllPercentiles) {
  const Summary s = summarise(run_of(1), {}, {flow(0, 0, 1, us(30))}, {});
  EXPECT_EQ(s.max_fct, us(30));
  EXPECT_EQ(s.p99_fct, us(30));
  EXPECT_EQ(s.p50_fct, us(30));
  EXPECT_EQ(s.mean_fct, us(30));
}

// 1 MB at 400 Gb/s takes 20 us.
TEST(Summarise, MeasuresUtilisationWhereTheTrafficMeets) {
  const Summary alone = summarise(run_of(1), {}, {flow(0, 0, 1, us(40))}, {});
  EXPECT_EQ(alone.utilisation_ppm, 500'000);

  const Summary incast =
      summarise(run_of(2), {}, {flow(0, 0, 9, us(30)), flow(1, 1, 9, us(50))}, {});
  EXPECT_EQ(incast.span, us(50));
  EXPECT_EQ(incast.utilisation_ppm, 800'000);

  const Summary pairs =
      summarise(run_of(2), {}, {flow(0, 0, 8, us(25)), flow(1, 1, 9, us(25))}, {});
  EXPECT_EQ(pairs.utilisation_ppm, 800'000);
}

TEST(Summarise, CountsUnfinishedFlowsWithAndWithoutARow) {
  FlowRecord stuck = flow(1, 1, 2, us(1));
  stuck.end = Instant::never();
  const Summary s = summarise(run_of(5), {}, {flow(0, 0, 1, us(30)), stuck}, {});
  EXPECT_EQ(s.finished, 1u);
  EXPECT_EQ(s.unfinished, 4u);
  EXPECT_EQ(s.max_fct, us(30));
  EXPECT_EQ(s.delivered, mb(1));
}

TEST(Summarise, NothingFinishedIsNoDivisionByZero) {
  const Summary s = summarise(run_of(3), {}, {}, {});
  EXPECT_EQ(s.unfinished, 3u);
  EXPECT_EQ(s.max_fct, ps(0));
  EXPECT_EQ(s.utilisation_ppm, 0);
}

TEST(Summarise, DropsAreOfEveryKind) {
  Counters counters;
  counters.queue_drops = 1;
  counters.failure_drops = 10;
  counters.error_drops = 100;
  counters.no_route_drops = 1000;
  EXPECT_EQ(summarise(run_of(0), {}, {}, counters).drops(), 1111u);
}

}  // namespace
}  // namespace strack::metrics
