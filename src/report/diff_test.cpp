// What `strack diff` finds, on summaries whose every figure is known.
#include "report/diff.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::report {
namespace {

/// A finished run of one flow of the workload.
DiffRun run(const std::string& file, std::uint64_t seed, std::int64_t max, const std::string& size,
            const std::string& scheme = "strack") {
  DiffRun one{file, {}};
  metrics::Summary& s = one.summary;
  s.run.name = "test";
  s.run.scheme = scheme;
  s.run.seed = seed;
  s.run.settings = {{"transport.scheme", scheme, {}, "given"},
                    {"workload.size", size, {}, "given"},
                    {"record.interval_us", file, {}, "given"},
                    {"run.seed", std::to_string(seed), {}, "given"}};
  s.state.status = metrics::RunStatus::finished;
  s.state.hash = file;
  s.finished = 1;
  s.max_fct = s.p99_fct = s.p50_fct = s.mean_fct = us(max);
  s.run.ideal_fct = us(10);
  s.counters.acked = mb(1);
  return one;
}

const DiffFigure& figure(const Diff& diff, const std::string& name, std::size_t pair = 0) {
  for (const DiffFigure& one : diff.pairs.at(pair).figures) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no figure " + name);
}

TEST(Diff, MoreThanTheSpreadIsTold) {
  const std::vector<DiffRun> a{run("a1", 1, 50, "2 MB"), run("a2", 2, 60, "2 MB"),
                               run("a3", 3, 55, "2 MB")};
  const std::vector<DiffRun> b{run("b1", 1, 80, "2 MB", "rocev2"),
                               run("b2", 2, 66, "2 MB", "rocev2")};
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  const Diff& d = made.value();
  ASSERT_EQ(d.settings.size(), 1U);
  EXPECT_EQ(d.settings[0].key, "transport.scheme");
  EXPECT_EQ(d.settings[0].a, "strack");
  EXPECT_EQ(d.settings[0].b, "rocev2");
  ASSERT_EQ(d.pairs.size(), 1U);
  const DiffFigure& max = figure(d, "max FCT");
  EXPECT_EQ(max.a.median, 55);
  EXPECT_EQ(max.a.low, 50);
  EXPECT_EQ(max.a.high, 60);
  EXPECT_EQ(max.b.median, 73);
  EXPECT_EQ(max.change, Change::beyond);
  EXPECT_DOUBLE_EQ(max.relative(), 18.0 / 55);
  EXPECT_DOUBLE_EQ(figure(d, "x ideal").a.median, 5.5);
  EXPECT_EQ(figure(d, "drops").change, Change::same);
  EXPECT_TRUE(d.differs());
  EXPECT_TRUE(d.pairs[0].notes.empty());
}

// What only one side has is a difference: a failure, say. In what order files were named is none.
TEST(Diff, WhatOnlyOneSideHasDiffers) {
  std::vector<DiffRun> a{run("a1", 1, 50, "2 MB"), run("a2", 1, 70, "4 MB")};
  std::vector<DiffRun> b{run("b1", 1, 90, "4 MB"), run("b2", 1, 60, "2 MB")};
  for (DiffRun& one : b)
    one.summary.run.settings.push_back({"failure.0.switch", "spine 3", {}, "given"});
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  ASSERT_EQ(made.value().settings.size(), 1U);
  EXPECT_EQ(made.value().settings[0].key, "failure.0.switch");
  EXPECT_EQ(made.value().settings[0].b, "spine 3");
}

TEST(Diff, WhatSeedsExplainIsNoDifference) {
  const std::vector<DiffRun> a{run("a1", 1, 50, "2 MB"), run("a2", 2, 60, "2 MB")};
  const std::vector<DiffRun> b{run("b1", 3, 58, "2 MB"), run("b2", 4, 70, "2 MB")};
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made.value().settings.empty());
  EXPECT_EQ(figure(made.value(), "max FCT").change, Change::within);
  EXPECT_FALSE(made.value().differs());
}

TEST(Diff, OneSeedLeavesTheSpreadOpen) {
  const std::vector<DiffRun> a{run("a1", 1, 50, "2 MB")};
  const std::vector<DiffRun> b{run("b1", 1, 51, "2 MB")};
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  EXPECT_EQ(figure(made.value(), "max FCT").change, Change::unknown);
  EXPECT_TRUE(made.value().differs());
  ASSERT_EQ(made.value().pairs[0].notes.size(), 1U);
  EXPECT_FALSE(made.value().pairs[0].identical);

  const auto same = diff(a, {run("a1", 1, 50, "2 MB")});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same.value().pairs[0].identical);
  EXPECT_FALSE(same.value().differs());
}

TEST(Diff, SweepsAreComparedPointByPoint) {
  const std::vector<DiffRun> a{run("a1", 1, 50, "2 MB"), run("a2", 1, 90, "4 MB"),
                               run("a3", 1, 20, "1 MB")};
  const std::vector<DiffRun> b{run("b1", 1, 92, "4 MB"), run("b2", 1, 50, "2 MB"),
                               run("b3", 1, 170, "8 MB")};
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  const Diff& d = made.value();
  ASSERT_EQ(d.pairs.size(), 2U);
  EXPECT_EQ(d.pairs[0].where,
            (std::vector<std::pair<std::string, std::string>>{{"workload.size", "2 MB"}}));
  EXPECT_EQ(figure(d, "max FCT", 0).change, Change::same);
  EXPECT_EQ(figure(d, "max FCT", 1).b.median, 92);
  EXPECT_EQ(d.alone, (std::vector<std::string>{"A only: workload.size 1 MB (1 run)",
                                               "B only: workload.size 8 MB (1 run)"}));
}

// What could not be compared is no agreement.
TEST(Diff, ARunWithoutAPartnerIsADifference) {
  const std::vector<DiffRun> a{run("a1", 1, 50, "2 MB"), run("a2", 1, 90, "4 MB")};
  const std::vector<DiffRun> b{run("a1", 1, 50, "2 MB"), run("b3", 1, 170, "8 MB")};
  const auto made = diff(a, b);
  ASSERT_TRUE(made);
  ASSERT_EQ(made.value().pairs.size(), 1U);
  EXPECT_EQ(figure(made.value(), "max FCT").change, Change::same);
  EXPECT_EQ(made.value().alone.size(), 2U);
  EXPECT_FALSE(made.value().beyond());
  EXPECT_TRUE(made.value().differs());
}

TEST(Diff, ExposedCommunicationAndCollectivesAreCompared) {
  DiffRun a = run("a", 1, 50, "2 MB");
  DiffRun b = run("b", 1, 50, "2 MB");
  for (DiffRun* one : {&a, &b}) {
    metrics::Summary& s = one->summary;
    s.workloads.emplace_back().info.name = "step";
    s.exposed.push_back({0, us(one == &a ? 50 : 60), us(40)});
    metrics::CommunicationSummary reduce{0, "AllReduce", 4, 8, mb(1), us(7), us(9), us(1)};
    if (one == &b) reduce.max_time = us(18);
    s.communications.push_back(reduce);
  }
  const auto made = diff({a}, {b});
  ASSERT_TRUE(made);
  EXPECT_EQ(figure(made.value(), "exposed communication").a.median, 10);
  EXPECT_EQ(figure(made.value(), "exposed communication").b.median, 20);
  EXPECT_EQ(figure(made.value(), "AllReduce, mean").change, Change::same);
  EXPECT_DOUBLE_EQ(figure(made.value(), "AllReduce, max").relative(), 1);
  EXPECT_EQ(figure(made.value(), "AllReduce, mean wait").a.median, 1);
}

TEST(Diff, WorkloadsAreComparedByName) {
  DiffRun a = run("a", 1, 50, "2 MB");
  DiffRun b = run("b", 1, 50, "2 MB");
  for (DiffRun* one : {&a, &b}) {
    for (const char* name : {"dense", "experts"}) {
      metrics::WorkloadSummary w;
      w.info.name = name;
      w.finished = 1;
      w.max_time = one == &a ? us(40) : us(44);
      one->summary.workloads.push_back(w);
    }
  }
  b.summary.workloads[1].info.name = "other";
  const auto made = diff({a}, {b});
  ASSERT_TRUE(made);
  const DiffFigure& max = figure(made.value(), "max");
  EXPECT_EQ(max.workload, "dense");
  EXPECT_DOUBLE_EQ(max.relative(), 0.1);
}

TEST(Diff, WhatCannotBeComparedSaysWhy) {
  const DiffRun flows = run("flows.db", 1, 50, "2 MB");
  DiffRun jobs = run("jobs.db", 1, 50, "2 MB");
  jobs.summary.jobs.finished = 1;
  auto made = diff({flows}, {jobs});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "flows.db is a run of flows, jobs.db one of jobs: their times mean different things. "
            "compare runs of one kind of workload");
  made = diff({flows, run("again.db", 1, 50, "2 MB")}, {flows});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "flows.db and again.db are the same settings and seed. name one of them: both would "
            "count as seeds");
  made = diff({flows, run("a.db", 1, 50, "4 MB")}, {run("b.db", 1, 1, "8 MB")});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("they were swept over workload.size"), std::string::npos);
}

}  // namespace
}  // namespace strack::report
