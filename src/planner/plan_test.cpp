// Plans: what is read, what is run, what it costs, and what is worth it.
#include "planner/plan.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "planner/plan_report.h"

namespace strack::planner {
namespace {

constexpr const char* kPlan = R"(
scenario = "step.toml"
schemes = ["strack", "rocev2"]
seeds = "1-2"
[cost]
switch_port = 10
host_port = 2.5
link = 1
[[network]]
name = "1:1"
[[network]]
name = "2:1"
set = ["topology.oversubscription=2:1"]
[[failure]]
name = "spine dead"
set = ["failure.0.switch=spine 0"]
)";

std::string error_of(const std::string& text) {
  const auto made = read_plan_text(text, "p.toml", "");
  return made ? std::string() : made.error().text();
}

TEST(PlanFile, IsReadWhole) {
  const auto made = read_plan_text(kPlan, "dir/p.toml", "dir");
  ASSERT_TRUE(made) << made.error().text();
  const Plan& plan = made.value();
  EXPECT_EQ(plan.name, "p");
  EXPECT_EQ(plan.scenario, "dir/step.toml");
  EXPECT_EQ(plan.schemes, (std::vector<std::string>{"strack", "rocev2"}));
  EXPECT_EQ(plan.seeds, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(plan.prices.host_port, 2.5);
  ASSERT_EQ(plan.networks.size(), 2U);
  EXPECT_TRUE(plan.networks[0].set.empty());
  EXPECT_EQ(plan.networks[1].set, (std::vector<std::string>{"topology.oversubscription=2:1"}));
  ASSERT_EQ(plan.failures.size(), 1U);
}

TEST(PlanFile, WrongOnesSayWhatWouldWork) {
  const std::string top = "scenario = \"s\"\nschemes = [\"strack\"]\n";
  const std::string head = top + "[[network]]\nname = \"a\"\n";
  EXPECT_EQ(error_of(head), "");
  EXPECT_EQ(error_of(head + "set = []\n"), "") << "the scenario as it is";
  EXPECT_EQ(error_of("scenario = \"s\"\nschemes = []\n"),
            "p.toml:2: schemes is empty. name one or more, such as schemes = [\"strack\"]");
  EXPECT_EQ(error_of("scenario = 5\n"),
            "p.toml:1: scenario is 5. it names a scenario, such as scenario = \"step.toml\"");
  EXPECT_EQ(error_of("scenario = \"s\"\nschemes = [\"strak\"]\n").substr(0, 44),
            "p.toml:2: there is no scheme strak. the sche");
  EXPECT_EQ(error_of("scenario = \"s\"\nschemes = [\"strack\", \"strack\"]\n"),
            "p.toml:2: schemes has strack twice. once will do");
  EXPECT_EQ(error_of("scenario = \"s\"\nschemes = [1]\n"),
            "p.toml:2: an item of schemes is 1. it is a list, such as schemes = [\"strack\"]");
  EXPECT_EQ(error_of(top + "seeds = 1.5\n"),
            "p.toml:3: seeds is 1.5. it is such as seeds = 1 or seeds = \"1-3\"");
  EXPECT_EQ(error_of("\ncolour = 1\n"),
            "p.toml:2: there is no key colour in a plan. there are scenario, schemes, seeds, cost, "
            "network, failure");
  EXPECT_EQ(error_of("colour 1\n").substr(0, 9), "p.toml:1:");
  EXPECT_EQ(error_of(top + "[cost]\nlink = -1\n"),
            "p.toml:4: link is -1. a price is a number from 0 to 1e15");
  EXPECT_EQ(error_of(top + "[cost]\nlink = true\n"),
            "p.toml:4: link is true. a price is a number from 0 to 1e15");
  EXPECT_EQ(error_of(top + "[cost]\nlink = 1e16\n"),
            "p.toml:4: link is 1e+16. a price is a number from 0 to 1e15");
  EXPECT_EQ(error_of(top + "[cost]\nlink = inf\n"),
            "p.toml:4: link is inf. a price is a number from 0 to 1e15");
  EXPECT_EQ(error_of(top + "[cost]\nrack = 1\n"),
            "p.toml:4: there is no key rack in [cost]. there are switch, switch_port, host_port, "
            "link");
  EXPECT_EQ(error_of(top + "[network]\nname = \"a\"\n"),
            "p.toml:3: [network] is one of several: it is written [[network]]");
  EXPECT_EQ(error_of("schemes = [\"strack\"]\n"),
            "p.toml: a plan names its job mix, such as scenario = \"step.toml\"");
  EXPECT_EQ(error_of(top),
            "p.toml: a plan has at least one [[network]], with a name and what it sets");
  EXPECT_EQ(error_of(top + "[[network]]\n"), "p.toml:3: a [[network]] has a name: name = \"...\"");
  EXPECT_EQ(error_of(head + "[[network]]\nname = \"a\"\n"),
            "p.toml:5: two networks are called \"a\". names tell them apart");
  EXPECT_EQ(
      error_of(head + "[[failure]]\nname = \"f\"\n"),
      "p.toml:5: the failure \"f\" sets nothing. give it set = [\"failure.0.switch=spine 0\"]");
  EXPECT_EQ(error_of(head + "[[failure]]\nname = \"f\"\nset = [\"a=b\"]\nnetworks = [\"b\"]\n"),
            "p.toml:8: there is no network \"b\". there are \"a\"");
  const std::string twice = "[[failure]]\nname = \"f\"\nset = [\"a=b\"]\n";
  EXPECT_EQ(error_of(head + twice + twice),
            "p.toml:8: the failure \"f\" is there twice for the network \"a\". give it another "
            "name, or networks = [...] that differ");
}

// Transports and seeds are the plan's own to vary.
TEST(PlanFile, NetworksSetNoSchemeAndNoSeed) {
  const std::string head = "scenario = \"s\"\nschemes = [\"strack\"]\n[[network]]\nname = \"a\"\n";
  EXPECT_EQ(
      error_of(head + "set = [\"topology.spines=2\",\n\"transport.scheme = rocev2\"]\n"),
      "p.toml:6: set has transport.scheme, which a plan decides for all. name it in schemes = "
      "... at the plan's beginning");
  for (const char* key : {"run.seed", "run.seeds"}) {
    EXPECT_EQ(error_of(head + "set = [\"" + key + "=7\"]\n"),
              std::string("p.toml:5: set has ") + key +
                  ", which a plan decides for all. name it in seeds = ... at the plan's beginning");
  }
  EXPECT_EQ(error_of(head + "[[failure]]\nname = \"f\"\nset = [\"run.seed=7\"]\n").substr(0, 26),
            "p.toml:7: set has run.seed");
}

// Networks call their switches differently: one failure may be several ways to bring it about.
TEST(PlanFile, AFailureMayDifferByNetwork) {
  const auto made = read_plan_text(std::string(kPlan) + R"(
[[failure]]
name = "a link dead"
networks = ["2:1"]
set = ["x=1"]
)",
                                   "p.toml", "");
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made.value().failures.size(), 2U);
  const Failure& failure = made.value().failures[1];
  ASSERT_EQ(failure.ways.size(), 2U);
  EXPECT_FALSE(failure.ways[0]);
  EXPECT_EQ(failure.ways[1]->set, (std::vector<std::string>{"x=1"}));
}

TEST(PlanCost, PortsAndLinksAreCounted) {
  // 4 hosts below 2 ToRs, 2 spines: 4 host links and 4 others, each two directions.
  metrics::RunInfo run;
  run.hosts = 4;
  run.switches = 4;
  run.links = 16;
  EXPECT_EQ(cost_of({100, 10, 2.5, 1}, run), 100 * 4 + 10 * 12 + 2.5 * 4 + 8);
}

DoneRun done(const PlannedRun& run, std::int64_t time, std::uint64_t links) {
  DoneRun one{&run, {}};
  one.summary.run.hosts = 4;
  one.summary.run.links = links;
  one.summary.finished = 1;
  one.summary.max_fct = us(time);
  for (const char* name : {"a", "b"}) {
    metrics::WorkloadSummary& part = one.summary.workloads.emplace_back();
    part.info.name = name;
    part.max_time = us(*name == 'a' ? time : 1);
  }
  return one;
}

TEST(PlanOptions, TheFrontIsOfThoseThatNoneBeatsInBoth) {
  const auto made = read_plan_text(kPlan, "p.toml", "");
  ASSERT_TRUE(made);
  const Plan& plan = made.value();
  std::vector<PlannedRun> runs(5);
  runs[1].scheme = 1;
  runs[2].network = 1;
  runs[3].network = 1;
  runs[3].scheme = 1;
  runs[4].broken = 0;
  std::vector<DoneRun> all{done(runs[0], 50, 16), done(runs[1], 80, 16), done(runs[2], 70, 12),
                           done(runs[3], 90, 12), done(runs[4], 100, 16)};
  all[3].summary.unfinished = 1;
  all[3].summary.state.status = metrics::RunStatus::time_limit;
  runs[3].seed = 7;
  const std::vector<Option> options = options_of(plan, all);
  ASSERT_EQ(options.size(), 4U);
  EXPECT_EQ(options[0].time.median, 50);
  EXPECT_EQ(options[0].failing.at(0).median, 100);
  EXPECT_EQ(options[0].cost, cost_of(plan.prices, all[0].summary.run));
  EXPECT_TRUE(options[0].best);
  EXPECT_FALSE(options[1].best);
  EXPECT_TRUE(options[2].best);
  EXPECT_FALSE(options[3].best);
  EXPECT_EQ(options[3].time.count, 0U);
  ASSERT_EQ(options[0].parts.size(), 2U);
  EXPECT_EQ(options[0].parts[0].workload, "a");
  EXPECT_EQ(options[0].parts[0].time.median, 50);
  EXPECT_EQ(options[0].parts[1].time.median, 1);
  const report::Report page = plan_report(plan, options);
  const auto& figure = std::get<report::XyFigure>(page.sections.at(0).figures.at(0));
  ASSERT_EQ(figure.series.size(), 3U);
  EXPECT_EQ(figure.series[2].points.size(), 2U);
  EXPECT_LT(figure.series[2].points[0].x, figure.series[2].points[1].x);
  ASSERT_EQ(figure.marks.size(), 2U);
  EXPECT_EQ(figure.marks[0].label, "2:1");
  EXPECT_EQ(figure.marks[0].at, options[2].cost);
  ASSERT_EQ(page.notices.size(), 1U);
  EXPECT_EQ(
      page.notices[0].text,
      "2:1, RoCEv2, all well, seed 7: time limit. not all flows and jobs were done, so it has no "
      "step time");
  ASSERT_EQ(page.sections[0].tables.size(), 2U);
  const auto& bars = std::get<report::BarsFigure>(page.sections.at(0).figures.at(1));
  EXPECT_EQ(bars.categories.front(), "1:1, STrack");
  EXPECT_EQ(bars.series.at(0).values.front(), 2);
  EXPECT_FALSE(within_spread(options[0], 0)) << "one seed has none";
}

TEST(PlanOptions, WhatAFailureCostsIsToldWithItsSpread) {
  Option option;
  option.time = {600, 490, 749, 2};
  option.failing = {{354, 340, 500, 2}, {1'200, 1'100, 1'300, 2}};
  EXPECT_TRUE(within_spread(option, 0));
  EXPECT_FALSE(within_spread(option, 1));
  // Numbers stay numbers; which of them may be chance stands beside them.
  Plan plan;
  plan.schemes = {"strack"};
  plan.networks = {{"1:1", {}}};
  plan.failures = {{"flap"}, {"spine dead"}};
  const report::Table table = plan_table(plan, {option});
  ASSERT_EQ(table.columns.size(), 10U);
  EXPECT_EQ(table.columns[9].name, "within the spread of seeds");
  EXPECT_EQ(std::get<double>(table.rows[0][7].value), 354.0 / 600);
  EXPECT_EQ(std::get<double>(table.rows[0][8].value), 2);
  EXPECT_EQ(std::get<std::string>(table.rows[0][9].value), "flap");
  const report::Spread times = times_as_long(option, 1);
  EXPECT_EQ(times.median, 2);
  EXPECT_EQ(times.low, 1'100.0 / 749);
  EXPECT_EQ(times.high, 1'300.0 / 490);
}

}  // namespace
}  // namespace strack::planner
