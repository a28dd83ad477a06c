#include "cli/summary_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strack::cli {
namespace {

using metrics::RunStatus;
using metrics::Summary;
using testing::HasSubstr;
using testing::Not;

Summary finished(const std::string& scheme) {
  Summary s;
  s.run.name = "perm";
  s.run.scheme = scheme;
  s.run.seed = 1;
  s.run.ideal_fct = us(100);
  s.state.status = RunStatus::finished;
  s.finished = 8;
  s.max_fct = us(200);
  return s;
}

Summary lossless() {
  Summary s = finished("rocev2");
  s.run.pfc = true;
  s.cnps = 300;
  s.naks = 1;
  s.victim_flows = 2;
  s.victim_packets = 40;
  s.counters.pause_frames = 12;
  s.counters.ports_paused = 1;
  s.counters.paused = us(345);
  s.counters.buffer_max = mb(12);
  return s;
}

// A run without PFC and rates says nothing of either.
TEST(RunText, OfStrackHasNoPausesAndNoRates) {
  const std::string text = run_text(finished("strack"));
  EXPECT_THAT(text, Not(HasSubstr("pauses")));
  EXPECT_THAT(text, Not(HasSubstr("rate control")));
  EXPECT_THAT(text, Not(HasSubstr("buffer")));
  EXPECT_THAT(text, HasSubstr("0 without a route\n"));
}

TEST(RunText, OfRoceHasBoth) {
  const std::string text = run_text(lossless());
  EXPECT_THAT(text, HasSubstr("\nrate control   300 CNPs, 1 NAK\n"));
  EXPECT_THAT(text, HasSubstr("\npauses         12 frames; 1 port held, 345 us together; 2 victim "
                              "flows with 40 packets\n"));
  EXPECT_THAT(text, HasSubstr("\nfullest buffer 12 MB of the shared part\n"));
  EXPECT_THAT(text, HasSubstr(" without a route, 0 headroom full\n"));
}

TEST(RunText, OfStrackWithPfcHasPausesOnly) {
  Summary s = finished("strack");
  s.run.pfc = true;
  EXPECT_THAT(run_text(s), HasSubstr("\npauses         0 frames; 0 ports held, "));
  EXPECT_THAT(run_text(s), Not(HasSubstr("rate control")));
  EXPECT_THAT(run_text(s), Not(HasSubstr("fullest buffer")));
}

// Where each has its own ideal, the slowest is held against its own; a median is of nobody, and has none.
TEST(RunText, OfDifferentIdealsComparesTheSlowestAlone) {
  Summary s = finished("strack");
  s.p99_fct = us(190);
  s.p50_fct = us(80);
  s.mean_fct = us(90);
  EXPECT_THAT(run_text(s), HasSubstr("p50 FCT          80.0    0.800\n"));
  s.same_ideals = false;
  EXPECT_THAT(run_text(s), HasSubstr("max FCT         200.0    2.000\n"
                                     "p99 FCT         190.0        -\n"
                                     "p50 FCT          80.0        -\n"
                                     "mean FCT         90.0        -\n"
                                     "ideal FCT       100.0    1.000\n"));
  s.finished = 0;
  s.jobs.finished = 2;
  s.jobs.max_time = us(120);
  s.jobs.slowest_ideal = us(60);
  s.jobs.min_time = us(110);
  EXPECT_THAT(run_text(s), HasSubstr("max job         120.0    2.000\n"));
  EXPECT_THAT(run_text(s), HasSubstr("min job         110.0        -\n"));
}

// The columns are there as soon as one row needs them.
TEST(TableText, HasColumnsForRatesAndPausesWhereNeeded) {
  EXPECT_THAT(table_text({"scheme"}, {{{"strack"}, finished("strack")}}), Not(HasSubstr("CNPs")));
  const std::string text =
      table_text({"scheme"}, {{{"strack"}, finished("strack")}, {{"rocev2"}, lossless()}}, true);
  EXPECT_THAT(text, HasSubstr("util %  CNPs  pauses  x strack\n"));
  EXPECT_THAT(text, HasSubstr("0.0     -       -     1.000\n"));
  EXPECT_THAT(text, HasSubstr("0.0   300      12     1.000\n"));
}

// Who leaves flows behind has no slowest one yet, and is not faster for it.
TEST(TableText, WhatIsNotFinishedIsNotCompared) {
  Summary left = finished("rocev2");
  left.max_fct = us(50);
  left.unfinished = 1;
  const std::string text = table_text(
      {"scheme", "seed"}, {{{"strack", "1"}, finished("strack")}, {{"rocev2", "1"}, left}}, true);
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +1 +8 of 9 +50.0 .* 100.0 +- .* -\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +0 +- +- +- +- +- +-\n"));
  EXPECT_THAT(json_text("x.db", left), HasSubstr("\"slowdown\": null"));
  EXPECT_THAT(json_text("x.db", finished("strack")), HasSubstr("\"slowdown\": 2.000000"));
}

TEST(TableText, HasAColumnForTrimsWhereThereAreAny) {
  Summary s = finished("ndp");
  s.counters.trims = 7;
  EXPECT_THAT(table_text({"scheme"}, {{{"ndp"}, s}}), HasSubstr("drops  trims  marks"));
  EXPECT_THAT(table_text({"scheme"}, {{{"a"}, finished("strack")}}), Not(HasSubstr("trims")));
}

// Each seed is compared with the same seed: seed 2 has other flows than seed 1.
TEST(TableText, ComparesSeedBySeed) {
  const auto row = [](const char* scheme, const char* size, const char* seed, Picoseconds max) {
    Summary s = finished(scheme);
    s.max_fct = max;
    return SummaryRow{{scheme, size, seed}, s};
  };
  const std::string text =
      table_text({"scheme", "size", "seed"},
                 {row("strack", "1MB", "1", us(100)), row("strack", "1MB", "2", us(200)),
                  row("rocev2", "1MB", "1", us(300)), row("rocev2", "1MB", "2", us(400)),
                  row("rocev2", "2MB", "2", us(400))},
                 true);
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +1MB +1 .* 3\\.000\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +1MB +2 .* 2\\.000\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +2MB +2 .* -\n"));
  EXPECT_THAT(text,
              HasSubstr("\nof the slowest, over seeds; ratios are of runs with the same seed\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("scheme +size +seeds +median us +from +to +median x strack "
                                     "+from +to\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("strack +1MB +2 +150.0 +100.0 +200.0 +1.000 +1.000 +1.000\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("rocev2 +1MB +2 +350.0 +300.0 +400.0 +2.500 +2.000 +3.000\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rocev2 +2MB +1 +400.0 +400.0 +400.0 +- +- +-\n"));
}

using Settings = std::vector<metrics::Setting>;

SummaryRow row_of(const char* scheme, Settings settings) {
  Summary s = finished(scheme);
  s.run.settings = std::move(settings);
  return {{}, s};
}

TEST(Differences, AreWhatWasSwept) {
  const Differences swept =
      differences({row_of("strack", {{"name", "a", {}, "given"},
                                     {"workload.size", "2 MB", {}, "given"},
                                     {"pfc.enabled", "false", {}, "derived"},
                                     {"failure.0.rack", "1", {}, "given"}}),
                   row_of("strack", {{"name", "b", {}, "given"},
                                     {"workload.size", "4 MB", {}, "given"},
                                     {"pfc.enabled", "false", {}, "derived"},
                                     {"failure.0.rack", "2", {}, "given"}}),
                   row_of("rocev2", {{"workload.size", "4 MB", {}, "given"},
                                     {"pfc.enabled", "true", {}, "derived"}})});
  EXPECT_EQ(swept.keys, (std::vector<std::string>{"size", "failure.0.rack"}));
  EXPECT_EQ(swept.values,
            (std::vector<std::vector<std::string>>{{"2 MB", "1"}, {"4 MB", "2"}, {"4 MB", "-"}}));
}

// Between two schemes, too, what was asked of one is a difference; what each of them brings along is
// not, nor are parameters that the other does not read.
TEST(Differences, OfSchemesAreWhatWasAskedFor) {
  const Differences swept =
      differences({row_of("strack", {{"transport.mtu", "8192", {}, "given"},
                                     {"transport.max_paths", "64", {}, "given"},
                                     {"switch.kmin", "0.25 BDP", {}, "default"}}),
                   row_of("rocev2", {{"transport.mtu", "4096", {}, "default"},
                                     {"transport.max_paths", "256", {}, "default"},
                                     {"switch.kmin", "1 BDP", {}, "default"}})});
  EXPECT_EQ(swept.keys, (std::vector<std::string>{"mtu"}));
  EXPECT_EQ(swept.values, (std::vector<std::vector<std::string>>{{"8192"}, {"4096"}}));
}

TEST(RunText, SaysWhatIsSent) {
  Summary s = finished("strack");
  s.run.settings = {{"workload.kind", "incast", {}, "given"},
                    {"workload.size", "2 MB", {}, "given"}};
  EXPECT_THAT(run_text(s), HasSubstr("\nworkload       incast, 2 MB\n"));
  EXPECT_THAT(
      json_text("a.db", s),
      HasSubstr("\"settings\": {\"workload.kind\": \"incast\", \"workload.size\": \"2 MB\"}"));
}

// A job is done or not; its bytes are, one by one.
TEST(RunText, OfAnInterruptedJobSaysHowMuchWasDone) {
  Summary s;
  s.run.bytes = mb(100);
  s.jobs.unfinished = 2;
  s.state.status = RunStatus::interrupted;
  s.state.now = Instant{} + us(70);
  s.counters.acked = mb(12);
  EXPECT_THAT(
      run_text(s),
      HasSubstr("\njobs           0 of 2 finished; 12 MB of 100 MB acknowledged until 70 us\n"));
  EXPECT_THAT(json_text("a.db", s), HasSubstr("\"bytes\": 100000000, \"acked_bytes\": 12000000, "));
}

Summary with_jobs() {
  Summary s = finished("strack");
  s.finished = 0;
  s.max_fct = ps(0);
  s.run.jobs = 4;
  s.jobs.finished = 4;
  s.jobs.max_time = us(300);
  s.jobs.p99_time = us(300);
  s.jobs.p50_time = us(210);
  s.jobs.mean_time = us(225);
  s.jobs.min_time = us(200);
  s.jobs.spread_ppm = 500'000;
  s.jobs.slowest = 3;
  s.jobs.slowest_ideal = us(90);
  s.same_ideals = false;
  s.delivered = s.jobs.delivered = mb(12);
  s.span = s.jobs.span = us(300);
  return s;
}

TEST(RunText, OfJobsHasTheirTimesAndNoFlows) {
  const std::string text = run_text(with_jobs());
  EXPECT_THAT(text, HasSubstr("\njobs           4 of 4 finished, 12 MB in 300 us\n"));
  EXPECT_THAT(text, HasSubstr("\nmax job         300.0    3.333\n"
                              "p99 job         300.0        -\n"
                              "p50 job         210.0        -\n"
                              "mean job        225.0        -\n"
                              "min job         200.0        -\n"
                              "ideal job       100.0    1.000\n"
                              "slowest job    job 3, 3.333 x its own ideal, 50.0 % longer than the "
                              "fastest\n"));
  EXPECT_THAT(text, Not(HasSubstr("FCT")));
  EXPECT_THAT(text, Not(HasSubstr("flows  ")));
  EXPECT_THAT(run_text(finished("strack")), Not(HasSubstr("job")));
}

// Flows and jobs have each their own bytes and time; what only some of them did is no bound for all.
TEST(RunText, FlowsBesideJobsHaveTheirOwnBytes) {
  Summary s = with_jobs();
  s.run.flows = 8;
  s.finished = 8;
  s.max_fct = us(20);
  s.flow_delivered = mb(3);
  s.flow_span = us(40);
  s.delivered = mb(15);
  EXPECT_THAT(run_text(s), HasSubstr("\nflows          8 of 8 finished, 3 MB in 40 us\n"
                                     "jobs           4 of 4 finished, 12 MB in 300 us\n"));
  s.unfinished = 2;
  s.state.now = Instant{} + us(500);
  EXPECT_THAT(run_text(s), HasSubstr("\nflows          8 of 10 finished, 3 MB until 500 us\n"));
}

// Those left behind may be the slowest.
TEST(RunText, WhatIsNotFinishedIsNotCompared) {
  Summary left = finished("strack");
  left.max_fct = us(50);
  EXPECT_THAT(run_text(left), HasSubstr("\nmax FCT          50.0    0.500\n"));
  left.unfinished = 1;
  EXPECT_THAT(run_text(left), testing::ContainsRegex("\nmax FCT +50.0 +-\n"));
}

TEST(RunText, OfJobsThatAreNotDoneHasNoFigures) {
  Summary s;
  s.run.jobs = 2;
  s.jobs.unfinished = 2;
  EXPECT_THAT(
      run_text(s),
      HasSubstr(
          "\njobs           0 of 2 finished; an unknown part of 0 B acknowledged until 0 ps\n"));
  EXPECT_THAT(run_text(s), HasSubstr("\nmax job           -        -\n"));
  EXPECT_THAT(run_text(s), Not(HasSubstr("slowest")));
  EXPECT_EQ(warnings_text("a.db", with_jobs()), "");
  EXPECT_THAT(
      warnings_text("a.db", s),
      HasSubstr("!! a.db: 2 of 2 jobs are UNFINISHED; the figures are those of the others\n"));
  EXPECT_THAT(json_text("a.db", s), HasSubstr("\"max_job_ps\": null"));
  EXPECT_THAT(json_text("a.db", s), HasSubstr("\"slowdown\": null"));
}

TEST(TableText, OfJobsHasColumnsOfItsOwn) {
  Summary twice = with_jobs();
  twice.jobs.max_time = us(600);
  twice.jobs.unfinished = 1;
  EXPECT_EQ(table_text({"scheme"}, {{{"strack"}, with_jobs()}, {{"other"}, twice}}, true),
            "scheme    jobs  max job us  mean job us  p50 job us  p99 job us  ideal us  x ideal  "
            "spread %  drops  marks  resent  util %  x strack\n"
            "strack       4       300.0        225.0       210.0       300.0     100.0    3.333  "
            "    50.0      0      0       0     0.0     1.000\n"
            "other   4 of 5       600.0        225.0       210.0       300.0     100.0        -  "
            "    50.0      0      0       0     0.0         -\n");
}

// What has different figures has a table of its own.
TEST(TableText, KeepsFlowsAndJobsApart) {
  const std::string text =
      table_text({"scheme"}, {{{"a"}, with_jobs()}, {{"b"}, finished("strack")}});
  EXPECT_THAT(text, HasSubstr("scheme  flows  max us"));
  EXPECT_THAT(text, HasSubstr("\n\nscheme  jobs  max job us"));
  EXPECT_LT(text.find("\nb "), text.find("\na "));
}

TEST(JsonText, HasEveryFigureOfJobs) {
  const std::string text = json_text("a.db", with_jobs());
  EXPECT_THAT(text, HasSubstr("\"max_fct_ps\": null"));
  EXPECT_THAT(text,
              HasSubstr("\"jobs_finished\": 4, \"jobs_unfinished\": 0, \"max_job_ps\": 300000000, "
                        "\"mean_job_ps\": 225000000, \"min_job_ps\": 200000000, \"p50_job_ps\": "
                        "210000000, \"p99_job_ps\": 300000000, \"slowest_job_ideal_ps\": 90000000, "
                        "\"job_spread\": 0.500000, \"slowdown\": 3.333333"));
}

TEST(WarningsText, IsEmptyWhereAllIsWell) { EXPECT_EQ(warnings_text("a.db", lossless()), ""); }

TEST(WarningsText, ALossInALosslessNetworkIsLoud) {
  Summary s = lossless();
  s.counters.lossless_violations = 3;
  EXPECT_EQ(warnings_text("a.db", s),
            "!! a.db: LOSSLESS VIOLATED: 3 packets dropped though PFC was on: a port's headroom "
            "was full. leave [pfc] headroom out, or make it larger\n");
  EXPECT_EQ(s.drops(), 3u);
}

TEST(WarningsText, ARingOfPausesIsLoud) {
  Summary s = lossless();
  s.counters.pause_loops = 1;
  EXPECT_EQ(warnings_text("a.db", s),
            "!! a.db: PAUSE LOOP: 1 ring of ports seen that wait for each other: a deadlock while "
            "it lasts\n");
}

TEST(JsonText, HasEveryFigureOfPausesAndRates) {
  Summary s = lossless();
  s.counters.lossless_violations = 3;
  s.counters.pause_loops = 4;
  const std::string text = json_text("a.db", s);
  EXPECT_THAT(text, HasSubstr("\"pfc\": true, \"cnps\": 300, \"naks\": 1, \"pause_frames\": 12, "
                              "\"paused_ps\": 345000000, \"ports_paused\": 1, "
                              "\"lossless_violations\": 3, \"victim_flows\": 2, "
                              "\"victim_packets\": 40, \"pause_loops\": 4, "
                              "\"buffer_max_bytes\": 12000000"));
}

}  // namespace
}  // namespace strack::cli
