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
  record.cnps = 3;
  record.naks = 1;
  record.victim_packets = number % 2 == 0 ? 4 : 0;
  return record;
}

RunInfo run_of(std::uint64_t flows) {
  RunInfo run;
  run.flows = flows;
  run.host_rate = gbps(400);
  return run;
}

// Each workload's own rows: the first ten flows, the other flows, and the second of two jobs.
TEST(Summarise, SeparatesWorkloads) {
  RunInfo run = run_of(30);
  run.jobs = 2;
  run.workloads.resize(3);
  run.workloads[0].flows = 10;
  run.workloads[1].first_flow = 10;
  run.workloads[1].flows = 20;
  run.workloads[2].first_job = 1;
  run.workloads[2].jobs = 1;
  run.workloads[2].iterations = 4;
  run.workloads[2].compute = us(10);
  std::vector<FlowRecord> flows;
  for (std::uint32_t i = 0; i < 30; ++i) flows.push_back(flow(i, i, 100 + i, us(1 + i)));
  flows[29].end = Instant::never();
  std::vector<JobRecord> jobs(2);
  jobs[0].start = at(us(1));
  jobs[0].end = at(us(1'000));
  jobs[1].job = 1;
  jobs[1].start = at(us(5));
  jobs[1].end = at(us(75));

  const Summary s = summarise(run, {}, flows, {}, jobs);

  ASSERT_EQ(s.workloads.size(), 3u);
  EXPECT_EQ(s.workloads[0].finished, 10u);
  EXPECT_EQ(s.workloads[0].max_time, us(10));
  EXPECT_EQ(s.workloads[0].mean_time, ns(5'500));
  EXPECT_EQ(s.workloads[0].start, at(us(100)));
  EXPECT_EQ(s.workloads[0].end, at(us(110)));
  EXPECT_EQ(s.workloads[1].finished, 19u);
  EXPECT_EQ(s.workloads[1].unfinished, 1u);
  EXPECT_EQ(s.workloads[1].max_time, us(29));
  EXPECT_EQ(s.workloads[1].p50_time, us(20));
  EXPECT_EQ(s.workloads[2].max_time, us(70));
  EXPECT_EQ(s.workloads[2].mean_iteration(), us(10));  // 4 of them, and 3 times 10 us between
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
  EXPECT_EQ(s.cnps, 300u);
  EXPECT_EQ(s.naks, 100u);
  EXPECT_EQ(s.victim_packets, 200u);
  EXPECT_EQ(s.victim_flows, 50u);
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

JobRecord job(std::uint32_t number, Picoseconds time, Picoseconds ideal) {
  JobRecord record;
  record.job = number;
  record.ranks = 4;
  record.bytes = mb(4);
  record.start = at(us(100));
  record.end = record.start + time;
  record.ideal = ideal;
  return record;
}
RunInfo run_of_jobs(std::uint64_t jobs) {
  RunInfo run = run_of(0);
  run.jobs = jobs;
  return run;
}

TEST(Summarise, JobsHaveTimesAndASpread) {
  Counters counters;
  counters.retransmissions = 7;
  counters.cnps = 8;
  counters.naks = 9;
  counters.own = {{"pulls", 11}};
  counters.victim_packets = 10;
  counters.victim_flows = 11;
  const Summary s =
      summarise(run_of_jobs(3), {}, {}, counters,
                {job(0, us(40), us(20)), job(1, us(50), us(25)), job(2, us(60), us(24))});
  EXPECT_TRUE(s.has_jobs());
  EXPECT_EQ(s.finished, 0u);
  EXPECT_EQ(s.unfinished, 0u);
  EXPECT_EQ(s.jobs.finished, 3u);
  EXPECT_EQ(s.jobs.unfinished, 0u);
  EXPECT_EQ(s.jobs.min_time, us(40));
  EXPECT_EQ(s.jobs.p50_time, us(50));
  EXPECT_EQ(s.jobs.mean_time, us(50));
  EXPECT_EQ(s.jobs.p99_time, us(60));
  EXPECT_EQ(s.jobs.max_time, us(60));
  EXPECT_EQ(s.jobs.spread_ppm, 500'000);
  EXPECT_EQ(s.jobs.slowest, 2u);
  EXPECT_EQ(s.jobs.slowest_ideal, us(24));
  EXPECT_EQ(s.span, us(60));
  EXPECT_EQ(s.delivered, mb(12));
  // 12 MB through 12 ports in 60 us, each of which could have carried 3 MB.
  EXPECT_EQ(s.utilisation_ppm, 333'333);
  // Their connections have no rows; the totals know.
  EXPECT_EQ(s.retransmissions, 7u);
  EXPECT_EQ(s.cnps, 8u);
  EXPECT_EQ(s.naks, 9u);
  EXPECT_EQ(s.counted("cnps"), 8u);
  EXPECT_EQ(s.counted("naks"), 9u);
  EXPECT_EQ(s.counted("pulls"), 11u);
  EXPECT_EQ(s.counted("credits"), 0u);
  EXPECT_EQ(s.victim_packets, 10u);
  EXPECT_EQ(s.victim_flows, 11u);
}

TEST(Summarise, SaysWhetherOneIdealHoldsForAll) {
  FlowRecord large = flow(1, 2, 3, us(40));
  large.size = mb(2);
  EXPECT_TRUE(summarise(run_of(1), {}, {flow(0, 0, 1, us(30))}, {}).same_ideals);
  EXPECT_FALSE(summarise(run_of(2), {}, {flow(0, 0, 1, us(30)), large}, {}).same_ideals);
  const RunInfo run = run_of_jobs(2);
  const auto of_jobs = [&](Picoseconds ideal) {
    return summarise(run, {}, {}, {}, {job(0, us(40), us(20)), job(1, us(50), ideal)}).same_ideals;
  };
  EXPECT_TRUE(of_jobs(us(20)));
  EXPECT_FALSE(of_jobs(us(25)));
}

// Messages of jobs have rows where they are recorded: flows beside them have the figures of flows to themselves.
TEST(Summarise, MessagesAreNoFlows) {
  RunInfo run = run_of_jobs(1);
  run.flows = 2;
  const std::vector<JobRecord> jobs{job(0, us(90), us(20))};
  const std::vector<FlowRecord> flows{flow(0, 0, 1, us(10)), flow(1, 2, 3, us(20))};
  const Summary plain = summarise(run, {}, flows, {}, jobs);
  EXPECT_EQ(plain.messages, 0u);
  EXPECT_EQ(plain.max_fct, us(20));
  EXPECT_EQ(plain.flow_delivered, mb(2));
  EXPECT_EQ(plain.jobs.delivered, mb(4));
  EXPECT_EQ(plain.delivered, mb(6));
  EXPECT_EQ(plain.flow_span, us(20));
  EXPECT_EQ(plain.jobs.span, us(90));

  std::vector<FlowRecord> all = flows;
  all.push_back(flow(2, 0, 1, us(80)));
  all.push_back(flow(3, 0, 1, us(5)));
  all.back().end = Instant::never();
  const Summary recorded = summarise(run, {}, all, {}, jobs);
  EXPECT_EQ(recorded.messages, 2u);
  EXPECT_EQ(recorded.finished, plain.finished);
  EXPECT_EQ(recorded.unfinished, 0u);
  EXPECT_EQ(recorded.max_fct, plain.max_fct);
  EXPECT_EQ(recorded.mean_fct, plain.mean_fct);
  EXPECT_EQ(recorded.slowest_flow.flow, 1u);
  EXPECT_EQ(recorded.delivered, plain.delivered);
  EXPECT_EQ(recorded.utilisation_ppm, plain.utilisation_ppm);
  EXPECT_TRUE(recorded.all_done());

  // Where there are none but messages, those are what flows' figures are of.
  run.flows = 0;
  EXPECT_EQ(summarise(run, {}, {all[2]}, {}, jobs).finished, 1u);
}

// What goes by links inside servers uses no port.
TEST(Summarise, UtilisationLeavesOutWhatStaysInsideServers) {
  Counters counters;
  const std::vector<JobRecord> jobs{job(0, us(80), us(20))};
  // 4 MB through 4 ports in 80 us, each of which could have carried 4 MB.
  EXPECT_EQ(summarise(run_of_jobs(1), {}, {}, counters, jobs).utilisation_ppm, 250'000);
  counters.own.push_back({std::string(kInsideServers), 3'000'000});
  EXPECT_EQ(summarise(run_of_jobs(1), {}, {}, counters, jobs).utilisation_ppm, 62'500);
}

TEST(Summarise, CountsUnfinishedJobsWithAndWithoutARow) {
  JobRecord stuck = job(1, us(1), us(1));
  stuck.end = Instant::never();
  JobRecord never_began = job(2, us(1), us(1));
  never_began.start = never_began.end = Instant::never();
  const Summary s =
      summarise(run_of_jobs(5), {}, {}, {}, {job(0, us(30), us(20)), stuck, never_began});
  EXPECT_EQ(s.jobs.finished, 1u);
  EXPECT_EQ(s.jobs.unfinished, 4u);
  EXPECT_EQ(s.jobs.max_time, us(30));
  EXPECT_EQ(s.jobs.spread_ppm, 0);
  EXPECT_EQ(s.delivered, mb(4));
}

// A run that was stopped before any job was done has used its network all the same.
TEST(Summarise, UtilisationOfJobsThatAreNotDone) {
  JobRecord stuck = job(0, us(1), us(1));
  stuck.end = Instant::never();
  Counters counters;
  counters.acked = mb(3);
  RunState state;
  state.now = at(us(160));
  const Summary s = summarise(run_of_jobs(2), state, {}, counters, {stuck});
  // 3 MB through 4 ports in 60 us, each of which could have carried 3 MB.
  EXPECT_EQ(s.utilisation_ppm, 250'000);
  EXPECT_TRUE(s.utilisation_known());
  EXPECT_EQ(s.span, ps(0));
  EXPECT_FALSE(summarise(run_of_jobs(2), state, {}, {}, {stuck}).utilisation_known());

  FlowRecord flow_under_way = flow(0, 0, 1, us(1));
  flow_under_way.start = at(us(100));
  flow_under_way.end = Instant::never();
  EXPECT_EQ(summarise(run_of(1), state, {flow_under_way}, counters).utilisation_ppm, 1'000'000);
}

TEST(Summarise, NoJobFinishedIsNoDivisionByZero) {
  const Summary s = summarise(run_of_jobs(2), {}, {}, {});
  EXPECT_TRUE(s.has_jobs());
  EXPECT_EQ(s.jobs.unfinished, 2u);
  EXPECT_EQ(s.jobs.mean_time, ps(0));
  EXPECT_EQ(s.utilisation_ppm, 0);
  // A job with nothing to do takes no time.
  const Summary empty = summarise(run_of_jobs(1), {}, {}, {}, {job(0, ps(0), ps(0))});
  EXPECT_EQ(empty.jobs.finished, 1u);
  EXPECT_EQ(empty.jobs.spread_ppm, 0);
  EXPECT_EQ(empty.utilisation_ppm, 0);
}

TEST(Summarise, DropsAreOfEveryKind) {
  Counters counters;
  counters.queue_drops = 1;
  counters.failure_drops = 10;
  counters.error_drops = 100;
  counters.no_route_drops = 1000;
  counters.lossless_violations = 10000;
  EXPECT_EQ(summarise(run_of(0), {}, {}, counters).drops(), 11111u);
}

// A file may say anything.
TEST(Summary, NoIterationsAreOne) {
  WorkloadSummary w;
  w.info.iterations = 0;
  w.mean_time = us(7);
  EXPECT_EQ(w.mean_iteration(), us(7));
}

}  // namespace
}  // namespace strack::metrics
