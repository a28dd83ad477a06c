// What a section says about its scenario, and which runs stand for many.
#include "report/scenario.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "report/csv.h"
#include "report/seeds.h"

namespace strack::report {
namespace {

using metrics::RunInfo;

RunInfo two_tiers() {
  RunInfo run;
  run.name = "test";
  run.scheme = "strack";
  run.hosts = 128;
  run.flows = 128;
  run.bytes = mb(256);
  run.host_rate = gbps(400);
  run.base_rtt = us(8);
  run.settings = {{"topology.tiers", "2", {}, "default"},
                  {"topology.hosts", "128", {}, "given"},
                  {"topology.hosts_per_rack", "16", {}, "given"},
                  {"topology.oversubscription", "2:1", {}, "given"},
                  {"topology.spines", "4", {}, "derived"},
                  {"topology.links_per_spine", "2", {}, "given"},
                  {"topology.host_gbps", "400", 400'000'000'000, "derived"},
                  {"topology.fabric_gbps", "400", 400'000'000'000, "derived"},
                  {"transport.scheme", "strack", {}, "default"},
                  {"rocev2.qps_per_conn", "4", {}, "given"},
                  {"workload.kind", "permutation", {}, "given"},
                  {"workload.size", "2 MB", 2'000'000, "given"},
                  {"run.seed", "1", {}, "given"}};
  return run;
}

RunInfo three_tiers() {
  RunInfo run = two_tiers();
  run.settings = {
      {"topology.tiers", "3", {}, "given"},           {"topology.hosts", "1024", {}, "given"},
      {"topology.hosts_per_rack", "16", {}, "given"}, {"topology.racks_per_pod", "8", {}, "given"},
      {"topology.aggs_per_pod", "4", {}, "given"},    {"topology.cores_per_agg", "2", {}, "given"}};
  run.hosts = 1024;
  return run;
}

void add(RunInfo& run, const std::string& key, const std::string& value,
         std::optional<std::int64_t> amount = {}) {
  run.settings.push_back({key, value, amount, "given"});
}

std::vector<std::string> texts(const RunInfo& run) {
  std::vector<std::string> all;
  for (const Breakage& b : breakages(run)) all.push_back(b.trouble.text);
  return all;
}

TEST(ScenarioText, EveryKindOfBreakageHasWords) {
  RunInfo run = two_tiers();
  add(run, "failure.0.switch", "spine 3");
  add(run, "failure.0.from_us", "20", 20'000'000);
  add(run, "failure.0.until_us", "60", 60'000'000);
  add(run, "failure.1.rack", "2");
  add(run, "failure.1.uplink", "5");
  add(run, "failure.1.from_us", "10", 10'000'000);
  add(run, "failure.1.until_us", "50", 50'000'000);
  add(run, "failure.1.period_us", "20", 20'000'000);
  add(run, "failure.1.duty", "1/4");
  add(run, "failure.2.host", "17");
  add(run, "failure.2.from_us", "0", 0);
  add(run, "failure.3.random_links", "4");
  add(run, "failure.3.racks", "2");
  add(run, "failure.3.from_us", "30", 30'000'000);
  add(run, "impairment.0.rack", "5");
  add(run, "impairment.0.uplink", "0");
  add(run, "impairment.0.rate", "0.25");
  add(run, "impairment.0.loss", "0.001");
  add(run, "impairment.0.way", "up");
  EXPECT_EQ(texts(run),
            (std::vector<std::string>{
                "spine 3: down from 20 us to 60 us",
                "tor 2 to spine 2: down for 5 us of every 20 us from 10 us to 50 us",
                "host 17 to tor 1: down throughout",
                "4 links of 2 racks, drawn by the seed: down from 30 us on",
                "tor 5 to spine 0: 25 % of its rate, loses 0.1 % of packets, up only throughout"}));
}

TEST(ScenarioText, LinksOfThreeTiersAreNamedByTheirEnds) {
  RunInfo run = three_tiers();
  add(run, "failure.0.rack", "9");
  add(run, "failure.0.uplink", "3");
  add(run, "failure.1.agg", "6");
  add(run, "failure.1.uplink", "1");
  const std::vector<Breakage> all = breakages(run);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].who, "tor 9 to agg 7");
  EXPECT_EQ(all[1].who, "agg 6 to core 5");
}

TEST(ScenarioText, SpansAreClippedNamedOnceAndWithoutWhatLastsThroughout) {
  RunInfo run = two_tiers();
  add(run, "failure.0.switch", "spine 3");
  add(run, "failure.0.from_us", "20", 20'000'000);
  add(run, "failure.1.switch", "spine 2");
  add(run, "failure.1.from_us", "20", 20'000'000);
  add(run, "failure.2.switch", "spine 1");
  add(run, "failure.2.from_us", "0", 0);
  add(run, "failure.3.switch", "spine 0");
  add(run, "failure.3.from_us", "100", 100'000'000);
  const std::vector<TimeSpan> spans = spans_of(breakages(run), us(100));
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].from, 20);
  EXPECT_TRUE(std::isnan(spans[0].until));
  EXPECT_EQ(spans[0].label, "spine 3 and 1 other down");
}

TEST(ScenarioText, WhatFlapsTooOftenIsOneSpan) {
  RunInfo run = two_tiers();
  add(run, "failure.0.switch", "spine 3");
  add(run, "failure.0.from_us", "0", 0);
  add(run, "failure.0.period_us", "1", 1'000'000);
  EXPECT_EQ(spans_of(breakages(run), us(50)).size(), 50U);
  const std::vector<TimeSpan> many = spans_of(breakages(run), us(1'000));
  ASSERT_EQ(many.size(), 1U);
  EXPECT_EQ(many[0].label, "spine 3 flapping: more than 200 times");
  EXPECT_TRUE(std::isnan(many[0].until));
  // What else happens is still told.
  add(run, "failure.1.switch", "spine 2");
  add(run, "failure.1.from_us", "300", 300'000'000);
  add(run, "failure.1.until_us", "400", 400'000'000);
  const std::vector<TimeSpan> two = spans_of(breakages(run), us(1'000));
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].from, 300);
  EXPECT_EQ(two[1].until, 400);
  EXPECT_EQ(two[1].label, "spine 2 down");
  // Asked for all, they are all there, and the number is known.
  EXPECT_EQ(breakages(run, 5'000)[0].times.size(), 5'000U);
  EXPECT_TRUE(breakages(run, 5'000)[0].more);
  EXPECT_EQ(spans_of(breakages(run, 5'000), us(1'000))[0].label, "spine 3 flapping: 1000 times");
}

TEST(ScenarioText, TheNetworkIsDrawnFromTheSettings) {
  RunInfo run = two_tiers();
  add(run, "failure.0.random_links", "1");
  const std::vector<metrics::LinkInfo> links{{0, "tor 0", "spine 1", gbps(400), us(1), false},
                                             {1, "tor 1", "spine 2", gbps(400), us(1), true},
                                             {2, "spine 2", "tor 1", gbps(400), us(1), true},
                                             {3, "tor 2", "spine 0", gbps(100), us(1), false}};
  const auto figure = topology({"net", "The network", "", {}}, run, links);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->racks, 8U);
  EXPECT_EQ(figure->uppers, 4U);
  EXPECT_EQ(figure->parallel, 2U);
  EXPECT_EQ(figure->pods, 0U);
  ASSERT_EQ(figure->troubles.size(), 3U);
  EXPECT_EQ(figure->troubles[1].text,
            "tor 1 to spine 2: down when the run began, drawn by the seed");
  EXPECT_EQ(figure->troubles[2].text, "tor 2 to spine 0: slow, drawn by the seed");
  EXPECT_EQ(csv(Figure(*figure)),
            "what,count or ends,note\r\nhosts,128,\r\nracks,8,\r\nspines,4,\r\n"
            "failure,,\"1 link of 16 racks, drawn by the seed: down throughout\"\r\n"
            "failure,tor 1 to spine 2,\"tor 1 to spine 2: down when the run began, drawn by the "
            "seed\"\r\n"
            "impairment,tor 2 to spine 0,\"tor 2 to spine 0: slow, drawn by the seed\"\r\n");
  const auto pods = topology({"net", "", "", {}}, three_tiers(), {});
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->pods, 8U);
  const RunInfo three = three_tiers();
  EXPECT_EQ(scenario_text(std::vector<const RunInfo*>{&three}, {"STrack"}, true).at(0),
            "1024 hosts in 64 racks of 16, 8 pods of 8 racks and 4 aggregation switches below 8 "
            "cores; hosts send at 400 Gb/s, base RTT 8 us. Workload: 128 flows, 256 MB in all. "
            "Transport: STrack.");
  EXPECT_FALSE(topology({"net", "", "", {}}, RunInfo{}, {}));
}

TEST(ScenarioText, OneParagraphSaysWhatWasRun) {
  const RunInfo run = two_tiers();
  RunInfo other = two_tiers();
  other.scheme = "rocev2";
  const std::vector<const RunInfo*> one{&run};
  EXPECT_EQ(scenario_text(one, {"STrack"}, false),
            (std::vector<std::string>{
                "128 hosts in 8 racks of 16 below 4 spines, oversubscribed 2:1; hosts send at 400 "
                "Gb/s, base RTT 8 us. Workload: permutation, 128 flows, 2 MB each. Transport: "
                "STrack."}));
  const Table table = given_settings("s", std::vector<const RunInfo*>{&run, &other});
  std::vector<std::string> rows;
  for (const auto& row : table.rows)
    rows.push_back(std::get<std::string>(row[0].value) + "=" + std::get<std::string>(row[1].value));
  // RoCEv2's parameter means nothing to STrack.
  EXPECT_EQ(rows,
            (std::vector<std::string>{"topology.hosts=128", "topology.hosts_per_rack=16",
                                      "topology.oversubscription=2:1", "topology.links_per_spine=2",
                                      "workload.kind=permutation", "workload.size=2 MB",
                                      "rocev2.qps_per_conn=-, 4"}));
}

TEST(WorthShowing, TheMiddleOfEachConfigurationComesFirst) {
  const std::vector<Candidate> runs{{"a", 5, true}, {"a", 9, true}, {"a", 7, true},
                                    {"a", 6, true}, {"b", 3, true}, {"b", kUnknown, true},
                                    {"c", 1, false}};
  EXPECT_EQ(worth_showing(runs, 12), (std::vector<std::size_t>{3, 4, 1, 5, 0, 2, 6}));
}

TEST(WorthShowing, OfTooManyConfigurationsAnEvenChoiceComesFirst) {
  std::vector<Candidate> runs;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) runs.push_back({name, 1, true});
  EXPECT_EQ(worth_showing(runs, 3), (std::vector<std::size_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_TRUE(worth_showing({}, 3).empty());
}

TEST(SeedTable, HasMediansAndTheRange) {
  std::vector<LabelledSummary> runs;
  for (const std::int64_t time : {70, 50, 90}) {
    LabelledSummary one{{"STrack", "strack"}, {}};
    one.summary.run = two_tiers();
    one.summary.state.status = metrics::RunStatus::finished;
    one.summary.finished = 1;
    one.summary.max_fct = us(time);
    runs.push_back(one);
  }
  const Table table = seed_table("t", "Medians over seeds", runs);
  ASSERT_EQ(table.rows.size(), 1U);
  const auto number = [&](std::size_t i) { return std::get<double>(table.rows[0][i].value); };
  EXPECT_EQ(number(2), 3);
  EXPECT_EQ(number(3), 70);
  EXPECT_EQ(number(4), 50);
  EXPECT_EQ(number(5), 90);
}

// A network from a file has no tiers: it is named, its links by their ends.
TEST(Scenario, ANetworkFromAFileIsNamed) {
  RunInfo run = two_tiers();
  run.settings = {{"topology.file", "dragonfly.net", {}, "given"},
                  {"topology.hosts", "72", {}, "given"},
                  {"topology.hosts_per_rack", "2", {}, "given"},
                  {"topology.nics_per_server", "4", {}, "given"},
                  {"failure.0.link", "router1-router2", {}, "given"},
                  {"failure.0.from_us", "0", 0, "default"}};
  run.hosts = 72;
  run.switches = 36;
  run.links = 324;
  EXPECT_EQ(texts(run), (std::vector<std::string>{"router1-router2: down throughout"}));
  EXPECT_FALSE(topology({"net", "", "", {}}, run, {}));
  const auto all = scenario_text(std::vector<const RunInfo*>{&run}, {"STrack"}, true);
  EXPECT_NE(all.front().find("72 hosts in the network of dragonfly.net: 36 switches and 162 links, "
                             "18 servers of 4 NICs with links of their own inside; hosts send at"),
            std::string::npos)
      << all.front();
}

}  // namespace
}  // namespace strack::report
