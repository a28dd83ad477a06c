#include "league/results.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "league/league_report.h"
#include "league/standings.h"
#include "metrics/result_file.h"
#include "run/build_info.h"
#include "run/ideal_fct.h"
#include "sim/scenario/scenario.h"

namespace strack::league {
namespace {

namespace fs = std::filesystem;

class Store : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("league_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Request request() const {
    const std::string first(transports::scheme_names().front());
    return {Scale::quick, {"perm-4KB", "victims"}, {first}, 1, folder_ / "results"};
  }
  [[nodiscard]] std::vector<PlannedRun> planned() const {
    auto made = plan(request());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(made.value());
  }
  static std::optional<Problem> keep(const run::PoolRun& run) {
    std::vector<run::PoolRun> one(1);
    one[0].out = run.out;
    one[0].failure = run.failure;
    one[0].done = run.done;
    return keep_failures(one);
  }
  /// A result file as a run would leave it.
  static void write_result(const PlannedRun& of, metrics::RunStatus status,
                           const std::vector<metrics::FlowRecord>& flows) {
    metrics::RunInfo info;
    info.scheme = of.who.scheme->name;
    info.scenario = of.run.scenario;
    info.seed = of.run.seed;
    info.version = run::kBuildInfo.version;
    info.source = run::kBuildInfo.source;
    info.hosts = 128;
    info.pfc = true;
    info.flows = flows.size();
    info.ideal_fct = us(10);
    info.settings = {{"pfc.enabled", "true", std::nullopt, "derived"},
                     {"pfc.headroom", "54 KB", 54'000, "derived"},
                     {"switch.routing", "\"drill\"", std::nullopt, "derived"}};
    const auto writer = metrics::ResultWriter::create(of.run.out, info, {.force = true});
    ASSERT_TRUE(writer) << writer.error().message;
    for (const metrics::FlowRecord& flow : flows) writer.value()->add(flow);
    metrics::Counters counters;
    counters.data_packets_sent = 7;
    counters.trims = 2;
    ASSERT_FALSE(writer.value()->finish(status, at(us(20)), counters, 0.1, 0.1));
  }
  static metrics::FlowRecord flow(std::uint32_t number, Bytes size, Instant start, Instant end) {
    metrics::FlowRecord record;
    record.flow = number;
    record.src = 100 + number;
    record.dst = number;
    record.size = size;
    record.start = start;
    record.end = end;
    return record;
  }

  fs::path folder_;
};

TEST_F(Store, PlansEverySchemeOverTheCasesOfAPart) {
  Request all = request();
  all.cases = {"incast", "victims"};
  all.schemes.clear();
  all.seeds = 2;
  const auto made = plan(all);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made.value().size(), 2 * transports::scheme_names().size() * 2);
  for (const PlannedRun& one : made.value()) {
    EXPECT_TRUE(fs::exists(one.run.file));
    // A scheme that does not take a case says why; whoever takes it has something to send.
    EXPECT_EQ(one.run.scenario.empty(), !one.cannot.empty()) << one.cannot;
    // By what it takes, in seconds, runs are packed into tasks of a batch.
    if (one.cannot.empty()) {
      EXPECT_GT(one.run.weight, 0) << one.run.out;
      EXPECT_LT(one.run.weight, 60) << one.run.out;
    }
  }
  all.cases = {"jobs"};
  all.schemes = {std::string(transports::all().front()->name)};
  all.seeds = 1;
  const auto jobs = plan(all);
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(jobs.value().size(), 5u);
}

TEST_F(Store, AMistakeNamesWhatThereIs) {
  Request wrong = request();
  wrong.cases = {"nothing"};
  EXPECT_NE(plan(wrong).error().message.find("there is no part or case nothing. they are sizes"),
            std::string::npos);
  wrong = request();
  wrong.schemes = {"pigeons"};
  EXPECT_NE(plan(wrong).error().message.find("there is no transport or scheme pigeons"),
            std::string::npos);
}

TEST_F(Store, ReadsFinishedRunsAndCountsWhatIsMissing) {
  const auto runs = planned();
  ASSERT_EQ(runs.size(), 2u);
  write_result(runs[0], metrics::RunStatus::finished,
               {flow(0, bytes(4096), Instant{}, at(us(12)))});
  const Results results = read(runs);
  EXPECT_EQ(results.problems,
            std::vector<std::string>{
                "1 of 2 runs are not there: ranks and means are over those that are"});
  EXPECT_EQ(results.planned, 2u);
  ASSERT_EQ(results.outcomes.size(), 1u);
  const Outcome& one = results.outcomes[0];
  EXPECT_EQ(one.of, "perm-4KB");
  EXPECT_EQ(one.ending, Ending::finished);
  EXPECT_DOUBLE_EQ(one.time_us, 12);
  EXPECT_DOUBLE_EQ(one.bound_us, 10);
  EXPECT_DOUBLE_EQ(one.packets, 7);
  EXPECT_DOUBLE_EQ(one.trims, 2);
  EXPECT_EQ(one.fabric, "lossless, drill");
  EXPECT_DOUBLE_EQ(one.headroom, 54'000);
}

// A user's Ctrl-C or a full disk is not the transport's failure.
TEST_F(Store, WhatWasInterruptedIsLeftOut) {
  const auto runs = planned();
  write_result(runs[0], metrics::RunStatus::interrupted, {});
  write_result(runs[1], metrics::RunStatus::disk_full, {});
  const Results results = read(runs);
  EXPECT_TRUE(results.outcomes.empty());
  ASSERT_EQ(results.problems.size(), 3u);
  EXPECT_NE(results.problems[0].find("so it is left out. `strack league run` makes it again"),
            std::string::npos)
      << results.problems[0];
  EXPECT_EQ(results.problems[2],
            "2 of 2 runs are not there: ranks and means are over those that are");
}

// Only the victims count, and their bound is theirs: 1 MB alone.
TEST_F(Store, AMeasureLeavesOutTheOthers) {
  const auto runs = planned();
  const PlannedRun& victims = runs[1];
  ASSERT_EQ(victims.of->id, "victims");
  write_result(victims, metrics::RunStatus::finished,
               {flow(0, mb(4), Instant{}, at(us(900))), flow(1, mb(1), at(us(100)), at(us(150))),
                flow(2, mb(1), at(us(100)), at(us(140)))});
  const Results results = read(runs);
  ASSERT_EQ(results.outcomes.size(), 1u) << (results.problems.empty() ? "" : results.problems[0]);
  EXPECT_DOUBLE_EQ(results.outcomes[0].time_us, 50);
  EXPECT_GT(results.outcomes[0].bound_us,
            20.3 + 7);  // the bytes and the headers at 400 Gb/s, an RTT
  EXPECT_LT(results.outcomes[0].bound_us, 20.3 + 8.1);
}

TEST_F(Store, WhatIsNotFinishedSaysSo) {
  auto runs = planned();
  write_result(runs[0], metrics::RunStatus::time_limit,
               {flow(0, bytes(4096), Instant{}, Instant::never())});
  runs[1].run.failure = "check failed: a > b\nand more";
  ASSERT_FALSE(keep(runs[1].run));
  Results results = read(runs);
  ASSERT_EQ(results.outcomes.size(), 2u);
  EXPECT_EQ(results.outcomes[0].ending, Ending::time_limit);
  EXPECT_EQ(results.outcomes[0].why, "1 of 1 flows left after 20 us");
  EXPECT_EQ(results.outcomes[1].ending, Ending::failed);
  EXPECT_EQ(results.outcomes[1].why, "check failed: a > b");
  // A run that was made after all takes its old words back.
  runs[1].run.failure.clear();
  runs[1].run.done = true;
  ASSERT_FALSE(keep(runs[1].run));
  EXPECT_EQ(read(runs).outcomes.size(), 1u);
  // A scheme that does not take the scenario is a line too.
  runs[1].cannot = "needs three tiers";
  results = read(runs);
  EXPECT_EQ(results.outcomes[1].ending, Ending::cannot);
  EXPECT_EQ(results.outcomes[1].why, "needs three tiers");
}

TEST_F(Store, ResultsOfAnotherScenarioAreLeftOutAndNamed) {
  auto runs = planned();
  runs.resize(1);
  const std::string now = runs[0].run.scenario;
  runs[0].run.scenario = "another";
  write_result(runs[0], metrics::RunStatus::finished, {});
  runs[0].run.scenario = now;
  const Results results = read(runs);
  EXPECT_TRUE(results.outcomes.empty());
  ASSERT_EQ(results.problems.size(), 2u);
  EXPECT_NE(results.problems[0].find("holds another scenario"), std::string::npos);
}

TEST_F(Store, TheTableComesBackAsItWas) {
  Outcome one;
  one.of = "incast";
  one.scheme = "x";
  one.label = "X, with a comma";
  one.fabric = "trimming";
  one.seed = 3;
  one.ending = Ending::time_limit;
  one.why = "1 of 2 flows left";
  one.time_us = 1234.5678901;
  one.bound_us = 0.1;
  one.pauses = 5;
  one.version = "0.1.0/abc";
  fs::create_directories(folder_);
  const fs::path file = folder_ / "league.csv";
  std::ofstream(file) << to_csv({one, one});
  const auto again = read_csv(file);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again.value().outcomes, (std::vector<Outcome>{one, one}));
  EXPECT_EQ(again.value().planned, 2u);

  std::ofstream(file) << "case,seed\nincast,many\n";
  EXPECT_NE(read_csv(file).error().message.find("league.csv:2: seed is \"many\""),
            std::string::npos);
  std::ofstream(file) << "case,seed\nincast\n";
  EXPECT_NE(read_csv(file).error().message.find("1 cells under 2 names"), std::string::npos);
  EXPECT_FALSE(read_csv(folder_ / "nothing.csv"));
}

TEST(Measured, ByNearestRank) {
  std::vector<Picoseconds> times;
  for (int i = 200; i > 0; --i) times.push_back(us(i));
  EXPECT_EQ(measured({}, times), us(200));
  EXPECT_EQ(measured({.percentile = 99}, times), us(198));
  EXPECT_EQ(measured({.percentile = 99}, {us(5)}), us(5));
  EXPECT_EQ(measured({}, {}), ps(0));
}

TEST(Bound, OfFlowsThatCount) {
  const auto loaded =
      sim::load_text("topology.hosts = 32\ntopology.hosts_per_rack = 8\n", "b.toml");
  const sim::SimConfig config = sim::make_config(loaded.value(), 1);
  const workload::Flow near{0, 1, bytes(10'000), Instant{}};
  const workload::Flow far{0, 9, bytes(10'000), Instant{}};
  const workload::Flow large{2, 9, mb(1), Instant{}};
  const Measure mice{.percentile = 99, .largest = bytes(10'000)};
  // A mouse that leaves its rack takes longer; its own sender's other mouse is no part of the bound.
  EXPECT_EQ(bound(mice, config, {near, far, large}), run::ideal_fct(config, {far}));
  workload::Flows many(99, near);
  many.push_back(far);
  EXPECT_EQ(bound(mice, config, many), run::ideal_fct(config, {near}));
  // The slowest of several: all of them share what they share.
  const Measure slowest{.largest = bytes(10'000)};
  EXPECT_EQ(bound(slowest, config, {far, far, large}), run::ideal_fct(config, {far, far}));
  EXPECT_GT(run::ideal_fct(config, {far, far}), run::ideal_fct(config, {far}));
}

TEST(Report, HasAHeatMapAndALineForEveryScheme) {
  Outcome fast;
  fast.of = "incast";
  fast.scheme = "fast";
  fast.label = "Fast";
  fast.fabric = "lossy";
  fast.seed = 1;
  fast.ending = Ending::finished;
  fast.time_us = 110;
  fast.bound_us = 100;
  Outcome lost = fast;
  lost.scheme = "lost";
  lost.label = "Lost";
  lost.ending = Ending::time_limit;
  lost.time_us = 100'000;
  lost.why = "3 of 32 flows left";
  const Results results{{fast, lost}, 3, {}};
  const Standings standings = judge(results.outcomes);
  const report::Report made = make_report(Scale::quick, results, standings);
  const auto& heat = std::get<report::HeatFigure>(made.sections.at(0).figures.at(0));
  ASSERT_EQ(heat.rows.size(), 2u);
  EXPECT_EQ(heat.rows[0].name, "Fast");
  EXPECT_EQ(heat.columns, std::vector<std::string>{"incast 32:1"});
  EXPECT_DOUBLE_EQ(heat.cells[0][0].value, 1.1);
  EXPECT_EQ(heat.cells[0][0].text, "1.10");
  EXPECT_TRUE(std::isnan(heat.cells[1][0].value));
  EXPECT_EQ(heat.cells[1][0].text, ">1000");
  ASSERT_EQ(made.notices.size(), 1u);
  EXPECT_NE(made.notices[0].text.find("1 of 3 runs are missing"), std::string::npos);

  const std::string text = make_markdown(Scale::quick, results, standings);
  EXPECT_NE(text.find("| incast 32:1 | 100 us | 1.10 | >1000 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| Lost | incast 32:1 | 1 of 1 | time limit | 3 of 32 flows left |"),
            std::string::npos);
  const std::string json = make_json(Scale::quick, results, standings);
  EXPECT_NE(json.find("\"median\": 1.1"), std::string::npos);
  EXPECT_NE(json.find("\"median\": null"), std::string::npos);
}

}  // namespace
}  // namespace strack::league
