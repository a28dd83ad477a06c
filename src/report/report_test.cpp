// The report's parts against small result files whose every row is known.
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/csv.h"
#include "report/figures.h"
#include "report/model.h"
#include "report/run_report.h"
#include "report/save.h"
#include "report/time_bins.h"

namespace strack::report {
namespace {

namespace fs = std::filesystem;
using metrics::FlowEvent;
using metrics::FlowRecord;
using metrics::FlowSample;
using metrics::LinkSample;
using metrics::ResultReader;
using metrics::ResultWriter;
using metrics::RunInfo;
using metrics::RunStatus;
using nlohmann::json;

/// Gives one key of a run's scenario a value.
RunInfo with(RunInfo run, const std::string& key, const std::string& value,
             std::optional<std::int64_t> amount = {}, const std::string& origin = "given") {
  const auto same = [&](const metrics::Setting& setting) { return setting.key == key; };
  std::erase_if(run.settings, same);
  run.settings.push_back({key, value, amount, origin});
  return run;
}

RunInfo info() {
  RunInfo run;
  run.name = "test";
  run.scheme = "strack";
  run.settings = {{"name", "test", {}, "given"},
                  {"topology.hosts", "4", {}, "given"},
                  {"topology.host_gbps", "400", 400'000'000'000, "derived"},
                  {"transport.scheme", "strack", {}, "default"},
                  {"transport.max_paths", "256", {}, "derived"},
                  {"transport.target_qdelay_us", "1 RTT", 8'000'000, "default"},
                  {"rocev2.qps_per_conn", "1", {}, "default"},
                  {"workload.kind", "permutation", {}, "given"},
                  {"workload.size", "2 MB", 2'000'000, "given"},
                  {"record.interval_us", "5", 5'000'000, "given"},
                  {"record.queue_threshold", "0", 0, "default"},
                  {"record.tier", "all", {}, "default"},
                  {"run.seed", "1", {}, "given"}};
  run.seed = 1;
  run.version = "0.1.0";
  run.hosts = 4;
  run.flows = 2;
  run.bytes = mb(4);
  run.mtu = bytes(4096);
  run.host_rate = gbps(400);
  run.base_rtt = us(8);
  run.bdp = kb(400);
  run.ideal_fct = us(48);
  return run;
}

FlowRecord flow(std::uint32_t number, Picoseconds start, Picoseconds end) {
  FlowRecord row;
  row.flow = number;
  row.src = number;
  row.dst = number + 10;
  row.size = mb(2);
  row.start = at(start);
  row.end = at(end);
  row.delivered = row.end;
  return row;
}

LinkSample sample(Picoseconds time, std::uint32_t link, Bytes carried, Picoseconds qdelay) {
  LinkSample row;
  row.time = at(time);
  row.link = link;
  row.carried = carried;
  row.arrived = carried;
  row.qdelay_max = qdelay;
  return row;
}

class ReportTest : public testing::Test {
 protected:
  ReportTest() {
    std::string name = (fs::temp_directory_path() / "strack_report_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ReportTest() override { fs::remove_all(folder_); }

  template <class Fill>
  fs::path write(const std::string& name, const RunInfo& run, Fill fill,
                 std::optional<RunStatus> status = RunStatus::finished,
                 const metrics::Counters& counters = {}) {
    const fs::path path = folder_ / name;
    const auto writer = ResultWriter::create(path, run);
    EXPECT_TRUE(writer) << path;
    fill(*writer.value());
    writer.value()->tick(at(us(60)));
    if (status) {
      const auto error = writer.value()->finish(*status, at(us(60)), counters, 1, 0.5);
      EXPECT_FALSE(error) << error->message;
    }
    return path;
  }
  fs::path two_flows(const std::string& name, const RunInfo& run,
                     std::optional<RunStatus> status = RunStatus::finished) {
    return write(
        name, run,
        [](ResultWriter& out) {
          out.add(flow(0, us(0), us(50)));
          out.add(flow(1, us(10), us(80)));
        },
        status);
  }
  /// Two ToRs, two spines, two hosts: links 0 and 1 to hosts, 2 to 5 up, 6 to 9 down.
  static void add_links(ResultWriter& out) {
    out.add(metrics::LinkInfo{0, "tor 0", "host 0", gbps(400), us(1), false});
    out.add(metrics::LinkInfo{1, "tor 1", "host 1", gbps(400), us(1), false});
    for (std::uint32_t tor = 0; tor < 2; ++tor) {
      for (std::uint32_t spine = 0; spine < 2; ++spine) {
        const std::string from = fmt::format("tor {}", tor);
        const std::string to = fmt::format("spine {}", spine);
        const bool down = tor == 1 && spine == 0;
        out.add(metrics::LinkInfo{2 + tor * 2 + spine, from, to, gbps(400), us(1), down});
        out.add(metrics::LinkInfo{6 + tor * 2 + spine, to, from, gbps(400), us(1), down});
      }
    }
    out.add(metrics::LinkInfo{10, "host 0", "tor 0", gbps(400), us(1), false});
  }
  static std::shared_ptr<ResultReader> open(const fs::path& path) {
    auto reader = ResultReader::open(path);
    EXPECT_TRUE(reader);
    return reader.value();
  }
  void spit(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string slurp(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  fs::path folder_;
};

const XyFigure& xy(const Figure& figure) { return std::get<XyFigure>(figure); }

/// The figure of a report whose id ends so.
const Figure* find(const Report& report, const std::string& ending) {
  for (const Section& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (head_of(figure).id.ends_with(ending)) return &figure;
    }
  }
  return nullptr;
}

std::vector<std::pair<double, double>> points(const Series& series) {
  std::vector<std::pair<double, double>> all;
  for (const Point& point : series.points) all.emplace_back(point.x, point.y);
  return all;
}
using Points = std::vector<std::pair<double, double>>;

// --- JSON and the page

TEST(Json, HostileTextCannotLeaveItsScript) {
  Report report;
  report.title = "</script><script>alert(1)</script> <!-- \" \\ \n\x01";
  const std::string text = to_json(report);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(json::parse(text)["title"], report.title);
}

TEST(Json, WhatIsNotUtf8IsReplaced) {
  Report report;
  report.title = "a\xff\xc3(b";
  const std::string text = to_json(report);
  EXPECT_EQ(json::parse(text)["title"], "a\xef\xbf\xbd\xef\xbf\xbd(b");
}

TEST(Json, NumbersAreExactAndUnknownOnesNull) {
  Report report;
  Section section;
  section.id = "s";
  XyFigure figure;
  figure.id = "f";
  figure.series.push_back({{"a", "strack"},
                           "line",
                           true,
                           {{0.1, 1e-9}, {3, kUnknown}, {4, 5, 4.5, 1.0 / 3}, {HUGE_VAL, -2}}});
  section.figures.emplace_back(figure);
  report.sections.push_back(section);
  const json read = json::parse(to_json(report))["sections"][0]["figures"][0]["series"][0];
  EXPECT_EQ(read["points"].dump(), "[[0.1,1e-09],[3,null],[4,5,4.5,0.3333333333333333],[null,-2]]");
  EXPECT_EQ(read["dashed"], true);
  EXPECT_EQ(read["role"], "strack");
}

TEST(Json, HasEverythingTheFormatNames) {
  Report report;
  report.lead = {"one"};
  report.made = {"1", "abc", "now", "strack report"};
  report.notices.push_back({"warning", "w"});
  Section section;
  section.id = "s";
  section.verdict = "partly";
  section.checks.push_back({"says", "6x", "5x", "", "partly", "rule"});
  FabricFigure fabric_figure;
  fabric_figure.id = "fabric";
  fabric_figure.variants.push_back(
      {"run", 1, 2, {5, 10}, {{"up-use", "l", "share", 1, {0, 255, 127, 1}}}, {{0, 1}}});
  section.figures.emplace_back(fabric_figure);
  FlowFigure flows;
  flows.id = "flows";
  flows.flows.push_back({});
  section.figures.emplace_back(flows);
  XyFigure categories;
  categories.id = "c";
  categories.x = {"x", "", "category", {"a", "b"}};
  categories.series.push_back({{"s", "other"}, "points", false, {{1, 2}}});
  section.figures.emplace_back(categories);
  section.tables.push_back({"t", "T", {{"a", "left"}, {"b", "right"}}, {{"x", 1.5}, {Cell(), 2}}});
  report.sections.push_back(section);
  const json read = json::parse(to_json(report));
  EXPECT_EQ(read["format"], 1);
  EXPECT_EQ(read["made"]["commit"], "abc");
  EXPECT_EQ(read["notices"][0]["level"], "warning");
  const json& s = read["sections"][0];
  EXPECT_EQ(s["verdict"], "partly");
  EXPECT_TRUE(s["claim"].is_null());
  EXPECT_EQ(s["checks"][0]["ours"], "5x");
  EXPECT_EQ(s["figures"][0]["variants"][0]["layers"][0]["data"], "AP9/AQ==");
  EXPECT_EQ(s["figures"][0]["variants"][0]["down"].dump(), "[[0,1]]");
  EXPECT_TRUE(s["figures"][1]["flows"][0]["events"].is_null());
  EXPECT_TRUE(s["figures"][1]["flows"][0]["base_rtt"].is_null());
  EXPECT_EQ(s["figures"][2]["series"][0]["points"].dump(), R"([["b",2]])");
  EXPECT_EQ(s["tables"][0]["rows"].dump(), R"([["x",1.5],[null,2]])");
}

TEST(Page, HoldsDataTitleAndMaker) {
  Report report;
  report.title = "a <b> & c\xff";
  const std::string page = html(report, page_template());
  EXPECT_TRUE(is_our_page(std::string_view(page).substr(0, 4'096)));
  EXPECT_FALSE(is_our_page(page_template()));
  EXPECT_NE(page.find("<title>a &lt;b> &amp; c\xef\xbf\xbd</title>"), std::string::npos);
  EXPECT_NE(page.find(R"(type="application/json">{"format":1,)"), std::string::npos);
  EXPECT_EQ(page.find("REPORT_DATA"), std::string::npos);
}

TEST(Page, IdsAreSafe) {
  EXPECT_EQ(safe_id("STrack, 2 MB: \"x\"/../y"), "STrack-2-MB-x-..-y");
  EXPECT_EQ(safe_id("..hidden"), "_..hidden");
  EXPECT_EQ(safe_id("\xff\xfe"), "_");
  EXPECT_EQ(safe_id(""), "_");
}

// --- Words

TEST(Words, ScenarioValuesAreFound) {
  const RunInfo run = info();
  EXPECT_EQ(scenario_value(run, "name"), "test");
  EXPECT_EQ(scenario_value(run, "topology.host_gbps"), "400");
  EXPECT_EQ(scenario_value(run, "transport.max_paths"), "256");
  EXPECT_EQ(scenario_value(run, "workload.size"), "2 MB");
  EXPECT_EQ(scenario_value(run, "transport.size"), "");
  EXPECT_EQ(scenario_size(run, "workload.size"), mb(2));
  EXPECT_EQ(scenario_time(run, "transport.target_qdelay_us"), us(8));
  EXPECT_EQ(scenario_time(run, "record.interval_us"), us(5));
  EXPECT_EQ(scenario_size(run, "workload.kind"), std::nullopt);
}

TEST(Words, SchemesHaveNamesAndColours) {
  RunInfo run = info();
  EXPECT_EQ(label_of(run), (Label{"STrack", "strack"}));
  run.scheme = "strack-oblivious";
  EXPECT_EQ(label_of(run), (Label{"STrack, oblivious", "oblivious"}));
  run.scheme = "strack-single-path";
  EXPECT_EQ(label_of(run), (Label{"STrack, single path", "single-path"}));
  run.scheme = "rocev2";
  EXPECT_EQ(label_of(run), (Label{"RoCEv2", "rocev2"}));
  run = with(run, "rocev2.qps_per_conn", "4");
  EXPECT_EQ(label_of(run), (Label{"RoCEv2, 4 QPs", "rocev2-4qp"}));
}

TEST(Words, AmountsAreShort) {
  EXPECT_EQ(size_text(mb(16)), "16 MB");
  EXPECT_EQ(size_text(bytes(400'100)), "400.1 KB");
  EXPECT_EQ(size_text(bytes(0)), "0 B");
  EXPECT_EQ(time_text(ns(345'200)), "345.2 us");
  EXPECT_EQ(what_is_sent(info()), "2 flows, 2 MB each");
  RunInfo uneven = info();
  uneven.bytes = mb(5);
  EXPECT_EQ(what_is_sent(uneven), "2 flows, 5 MB in all");
  RunInfo jobs =
      with(with(info(), "workload.collective", "alltoall"), "workload.size", "1 MB", 1'000'000);
  jobs.flows = 0;
  jobs.jobs = 3;
  EXPECT_EQ(what_is_sent(jobs), "3 jobs of alltoall, 1 MB each");
}

TEST(Words, SpreadIsMedianAndEnds) {
  const Spread three = spread_of({5, kUnknown, 1, 9});
  EXPECT_EQ(three.median, 5);
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 9);
  EXPECT_EQ(three.count, 3U);
  EXPECT_EQ(spread_of({1, 2}).median, 1.5);
  EXPECT_TRUE(std::isnan(spread_of({}).median));
}

// --- Completion times

TEST(Figures, FctBySizeHasMedianSpreadAndIdeal) {
  const Label strack{"STrack", "strack"};
  const Label roce{"RoCEv2", "rocev2"};
  const std::vector<SizedRun> runs{{strack, mb(16), 400, 333},
                                   {strack, kb(4), 9, 8},
                                   {strack, mb(16), 380, 333},
                                   {strack, mb(16), 390, 333},
                                   {roce, mb(16), 2000, 333}};
  const XyFigure figure = fct_by_size({"id", "t", "", {}}, runs);
  ASSERT_EQ(figure.series.size(), 3U);
  EXPECT_EQ(figure.x.scale, "log");
  EXPECT_EQ(figure.series[0].label, strack);
  EXPECT_EQ(points(figure.series[0]), (Points{{4'000, 9}, {16'000'000, 390}}));
  EXPECT_TRUE(std::isnan(figure.series[0].points[0].low));
  EXPECT_EQ(figure.series[0].points[1].low, 380);
  EXPECT_EQ(figure.series[0].points[1].high, 400);
  EXPECT_EQ(points(figure.series[1]), (Points{{16'000'000, 2000}}));
  EXPECT_EQ(figure.series[2].label.role, "ideal");
  EXPECT_EQ(points(figure.series[2]), (Points{{4'000, 8}, {16'000'000, 333}}));
}

TEST(Figures, CdfRisesToOneAndCountsTiesOnce) {
  const std::vector<Times> times{{{"a", "strack"}, {3, 1, 2, 2}, 1}};
  const XyFigure figure = cdf({"id", "t", "", {}}, times);
  ASSERT_EQ(figure.series.size(), 1U);
  EXPECT_EQ(points(figure.series[0]), (Points{{1, 0}, {1, 0.25}, {2, 0.75}, {3, 1}}));
  ASSERT_EQ(figure.notices.size(), 1U);
  EXPECT_EQ(figure.notices[0], "a: 1 unfinished, and not among those shown");
}

TEST(Figures, ALongCdfKeepsItsEndsAndItsTail) {
  Times times{{"a", "strack"}, {}, 0};
  for (int i = 100'000; i > 0; --i) times.us.push_back(i);
  const XyFigure figure = cdf({"id", "t", "", {}}, std::span(&times, 1));
  const auto drawn = points(figure.series[0]);
  EXPECT_LE(drawn.size(), kCdfPoints + 1);
  EXPECT_EQ(drawn[1], (std::pair{1.0, 1e-5}));
  EXPECT_EQ(drawn.back(), (std::pair{100'000.0, 1.0}));
  EXPECT_EQ(drawn[drawn.size() - 50].first, 99'951);
  for (std::size_t i = 1; i < drawn.size(); ++i) EXPECT_EQ(drawn[i].second, drawn[i].first / 1e5);
}

TEST(Figures, BarsLeaveGapsForWhatIsMissing) {
  const Label a{"a", "strack"};
  const Label b{"b", "rocev2"};
  const std::vector<BarValue> values{
      {"DBT", a, 10}, {"DBT", a, 12}, {"DBT", a, 11}, {"ring", b, 7}, {"ring", a, kUnknown}};
  const BarsFigure figure = bars({"id", "t", "", {}}, {"time", "us", "linear", {}}, values);
  EXPECT_EQ(figure.categories, (std::vector<std::string>{"DBT", "ring"}));
  ASSERT_EQ(figure.series.size(), 2U);
  EXPECT_EQ(figure.series[0].values[0], 11);
  EXPECT_EQ(figure.series[0].low[0], 10);
  EXPECT_EQ(figure.series[0].high[0], 12);
  EXPECT_TRUE(std::isnan(figure.series[0].values[1]));
  EXPECT_TRUE(std::isnan(figure.series[1].values[0]));
  EXPECT_EQ(figure.series[1].values[1], 7);
  EXPECT_TRUE(figure.series[1].low.empty());
}

TEST_F(ReportTest, TimesAreOfFinishedFlowsAndJobs) {
  RunInfo run = info();
  run.flows = 3;
  run.jobs = 2;
  const fs::path path = write("a.db", run, [](ResultWriter& out) {
    out.add(flow(0, us(0), us(50)));
    out.add(flow(1, us(10), us(80)));
    out.add(metrics::JobRecord{0, "ring", 4, 10, mb(1), at(us(1)), at(us(31)), us(20)});
  });
  const auto reader = open(path);
  const auto flows = flow_times(*reader);
  ASSERT_TRUE(flows);
  EXPECT_EQ(flows.value().us, (std::vector<double>{50, 70}));
  EXPECT_EQ(flows.value().unfinished, 1U);
  const auto jobs = job_times(*reader);
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs.value().us, (std::vector<double>{30}));
  EXPECT_EQ(jobs.value().unfinished, 1U);
}

// --- Links over time

TEST(TimeBinsTest, WidthDoublesAndNothingIsLost) {
  struct Sum {
    int count = 0;
    void merge(Sum&& later) { count += later.count; }
  };
  TimeBins<Sum> bins(us(5), 4);
  for (int i = 1; i <= 21; ++i) bins.at(at(us(5 * i))).count += 1;
  // 21 intervals in bins of 8.
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_EQ(bins.intervals(), 8U);
  EXPECT_EQ(bins[0].count, 8);
  EXPECT_EQ(bins[1].count, 8);
  EXPECT_EQ(bins[2].count, 5);
  EXPECT_EQ(bins.end(0), at(us(40)));
  EXPECT_EQ(bins.end(2), at(us(105)));
  EXPECT_EQ(bins.span(2), us(25));
  // Far away, and back.
  bins.at(Instant::never()).count += 1;
  bins.at(at(us(3))).count += 1;
  EXPECT_LE(bins.size(), 4U);
  int all = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) all += bins[i].count;
  EXPECT_EQ(all, 23);
}

TEST_F(ReportTest, QueueDelayHasPointsLargestAndMean) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    add_links(out);
    out.add(sample(us(5), 2, kb(100), us(1)));
    out.add(sample(us(5), 3, kb(100), us(3)));
    out.add(sample(us(5), 10, kb(100), ps(0)));  // a host's own: it has no queue that counts
    out.add(sample(us(15), 0, kb(100), us(20)));
    out.add(sample(us(17), 0, kb(10), us(2)));  // the last interval is shorter
  });
  const auto series = read_links(*open(path));
  ASSERT_TRUE(series);
  EXPECT_EQ(series.value().interval, us(5));
  EXPECT_EQ(series.value().links, 10U);
  EXPECT_EQ(series.value().samples, 4U);
  EXPECT_EQ(series.value().deepest_link, "tor 0 to host 0");
  const XyFigure figure = queue_delay({"id", "t", "", {}}, std::span(&series.value(), 1));
  ASSERT_EQ(figure.series.size(), 3U);
  EXPECT_EQ(figure.series[0].draw, "points");
  EXPECT_EQ(points(figure.series[0]), (Points{{5, 3}, {5, 1}, {15, 20}, {17, 2}}));
  EXPECT_EQ(points(figure.series[1]), (Points{{5, 3}, {10, 0}, {15, 20}, {17, 2}}));
  EXPECT_EQ(points(figure.series[2]), (Points{{5, 0.4}, {10, 0}, {15, 2}, {17, 0.2}}));
  ASSERT_EQ(figure.marks.size(), 1U);
  EXPECT_EQ(figure.marks[0].at, 8);
  EXPECT_TRUE(figure.notices.empty());
  // One tier of them.
  const auto up = read_links(*open(path), {.tier = LinkTier::up});
  ASSERT_TRUE(up);
  EXPECT_EQ(up.value().links, 4U);
  EXPECT_EQ(up.value().samples, 2U);
  EXPECT_EQ(up.value().bins[0].qdelay_mean, 1.0);
}

TEST_F(ReportTest, QueuesThatWereNotRecordedAreMentioned) {
  RunInfo run = with(info(), "record.queue_threshold", "100 KB", 100'000);
  const auto fill = [](ResultWriter& out) {
    add_links(out);
    out.add(sample(us(5), 2, kb(100), us(3)));
  };
  const auto series = read_links(*open(write("a.db", run, fill)));
  const XyFigure figure = queue_delay({"id", "t", "", {}}, std::span(&series.value(), 1));
  ASSERT_EQ(figure.notices.size(), 1U);
  EXPECT_EQ(figure.notices[0],
            "STrack: queues of up to 100 KB were not recorded, and count as empty");
  const std::vector<LinkSeries> both{series.value(), series.value()};
  EXPECT_EQ(
      queue_delay({"id", "t", "", {}}, both).notices,
      std::vector<std::string>{"queues of up to 100 KB were not recorded, and count as empty"});
  // Every link that carries something has a row.
  run = with(run, "record.links", "true");
  const auto busy = read_links(*open(write("b.db", run, fill)));
  EXPECT_TRUE(queue_delay({"id", "t", "", {}}, std::span(&busy.value(), 1)).notices.empty());
}

TEST_F(ReportTest, ManySamplesAreThinnedAndTheDeepestStay) {
  constexpr int kTimes = 3'000;
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    add_links(out);
    for (int i = 1; i <= kTimes; ++i) {
      for (std::uint32_t link = 0; link < 10; ++link) {
        const bool peak = i == 1'777 && link == 7;
        out.add(sample(us(5 * i), link, kb(1), peak ? us(999) : ns(link * 100)));
      }
    }
  });
  const auto series = read_links(*open(path));
  ASSERT_TRUE(series);
  EXPECT_EQ(series.value().samples, 30'000U);
  EXPECT_LE(series.value().bins.size(), 600U);
  EXPECT_GE(series.value().bins.size(), 300U);
  EXPECT_LE(series.value().drawn, 6'000U);
  const XyFigure figure = queue_delay({"id", "t", "", {}}, std::span(&series.value(), 1));
  EXPECT_NE(figure.caption.find("Of 30000 samples"), std::string::npos);
  const auto drawn = points(figure.series[0]);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), std::pair{8'885.0, 999.0}), 1);
  double largest = 0;
  for (const Point& point : figure.series[1].points) largest = std::max(largest, point.y);
  EXPECT_EQ(largest, 999);
  EXPECT_NEAR(figure.series[2].points[0].y, 0.45, 1e-12);
  // The ends of the run are there, and the same points come every time.
  EXPECT_EQ(figure.series[1].points.back().x, 15'000);
  const auto again = read_links(*open(path));
  EXPECT_EQ(points(queue_delay({"id", "t", "", {}}, std::span(&again.value(), 1)).series[0]),
            drawn);
}

TEST_F(ReportTest, TheFabricIsReplayed) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    add_links(out);
    // 400 Gb/s carry 250 KB in 5 us.
    out.add(sample(us(5), 2, kb(250), us(1)));
    out.add(sample(us(5), 9, kb(125), us(2)));
    out.add(sample(us(10), 3, kb(50), us(4)));
  });
  const auto series = read_links(*open(path));
  ASSERT_TRUE(series);
  ASSERT_TRUE(series.value().replay);
  const FabricFigure figure = fabric({"id", "t", "", {}}, std::span(&series.value(), 1));
  ASSERT_EQ(figure.variants.size(), 1U);
  const FabricVariant& run = figure.variants[0];
  EXPECT_EQ(run.tors, 2U);
  EXPECT_EQ(run.spines, 2U);
  EXPECT_EQ(run.times, (std::vector<double>{5, 10}));
  ASSERT_EQ(run.layers.size(), 4U);
  using Data = std::vector<std::uint8_t>;
  EXPECT_EQ(run.layers[0].id, "up-use");
  EXPECT_EQ(run.layers[0].data, (Data{255, 0, 0, 0, 0, 51, 0, 0}));
  EXPECT_EQ(run.layers[1].id, "up-queue");
  EXPECT_EQ(run.layers[1].max, 4);
  EXPECT_EQ(run.layers[1].data, (Data{64, 0, 0, 0, 0, 255, 0, 0}));
  EXPECT_EQ(run.layers[2].data, (Data{0, 0, 0, 128, 0, 0, 0, 0}));
  EXPECT_EQ(run.layers[3].data, (Data{0, 0, 0, 128, 0, 0, 0, 0}));
  EXPECT_EQ(run.down, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}}));
}

TEST_F(ReportTest, ALongReplayHasFewFramesAndKeepsSumsAndPeaks) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    add_links(out);
    for (int i = 1; i <= 1'000; ++i) {
      out.add(sample(us(5 * i), 2, kb(125), i == 500 ? us(9) : us(1)));
    }
  });
  const auto series = read_links(*open(path), {.frames = 100});
  ASSERT_TRUE(series);
  const LinkSeries::Replay& replay = *series.value().replay;
  EXPECT_LE(replay.times.size(), 100U);
  EXPECT_EQ(replay.times.back(), 5'000);
  float peak = 0;
  for (std::size_t i = 0; i < replay.up_use.size(); i += 4) {
    EXPECT_NEAR(replay.up_use[i], 0.5, 1e-6);
    peak = std::max(peak, replay.up_queue[i]);
  }
  EXPECT_EQ(peak, 9);
  // As small as asked for.
  const auto tiny = read_links(*open(path), {.replay_bytes = 160});
  EXPECT_LE(tiny.value().replay->times.size(), 10U);
}

TEST_F(ReportTest, NamesThatMakeNoGridMakeNoReplay) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(metrics::LinkInfo{0, "tor 4000000000", "spine 4000000000", gbps(1), us(1), false});
    out.add(metrics::LinkInfo{1, "tor -1", "spine", gbps(0), us(1), false});
    out.add(metrics::LinkInfo{2, "", "", gbps(0), us(1), false});
    for (std::uint32_t link = 0; link < 5; ++link) out.add(sample(us(5), link, kb(1), us(1)));
  });
  const auto series = read_links(*open(path));
  ASSERT_TRUE(series);
  EXPECT_FALSE(series.value().replay);
  EXPECT_EQ(series.value().samples, 5U);
}

TEST_F(ReportTest, OneLinkIsShownInFull) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    add_links(out);
    LinkSample row = sample(us(5), 0, kb(250), us(3));
    row.arrived = kb(500);
    row.drops = 7;
    out.add(row);
    out.add(sample(us(10), 2, kb(1), us(1)));
    row = sample(us(15), 0, kb(125), us(1));
    row.paused = us(1);
    out.add(row);
  });
  const auto trace = read_link(*open(path));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace.value().link, "tor 0 to host 0");
  const auto figures = last_hop({"hop", "Hop", "", {}}, std::span(&trace.value(), 1));
  ASSERT_EQ(figures.size(), 4U);
  EXPECT_EQ(points(xy(figures[0]).series[0]), (Points{{5, 3}, {10, 0}, {15, 1}}));
  EXPECT_EQ(points(xy(figures[1]).series[0]), (Points{{5, 800}, {10, 0}, {15, 200}}));
  EXPECT_EQ(points(xy(figures[1]).series[1]), (Points{{5, 400}, {10, 0}, {15, 200}}));
  EXPECT_EQ(head_of(figures[2]).id, "hop-drops");
  EXPECT_EQ(points(xy(figures[2]).series[0]), (Points{{5, 7}, {10, 0}, {15, 0}}));
  EXPECT_EQ(points(xy(figures[3]).series[0]), (Points{{5, 0}, {10, 0}, {15, 0.2}}));
  const auto named =
      read_link(*open(path), std::pair{std::string("tor 0"), std::string("spine 0")});
  ASSERT_TRUE(named);
  EXPECT_EQ(named.value().bins[1].qdelay_max, us(1));
  const auto none = read_link(*open(path), std::pair{std::string("tor 9"), std::string("host 0")});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("there is no link from tor 9 to host 0"), std::string::npos);
}

// --- Flows over time

FlowSample flow_sample(Picoseconds time, std::uint32_t number, Bytes acked) {
  FlowSample row;
  row.time = at(time);
  row.flow = number;
  row.cwnd = kb(400);
  row.rtt = us(9);
  row.avg_qdelay = us(1);
  row.acked = acked;
  row.ecn_marks = 2;
  return row;
}

TEST_F(ReportTest, ThroughputIsAcknowledgedBytesPerTime) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(flow(0, us(0), us(17)));
    for (std::uint32_t f = 0; f < 3; ++f) {
      out.add(flow_sample(us(5), f, kb(250)));
      out.add(flow_sample(us(10), f, kb(125)));
      out.add(flow_sample(us(17), f, kb(100)));  // the last one, 2 us after the one before
    }
  });
  const auto series = read_flows(*open(path), {.flows = 2});
  ASSERT_TRUE(series);
  EXPECT_EQ(series.value().recorded, 3U);
  const XyFigure figure = throughput({"id", "t", "", {}}, std::span(&series.value(), 1));
  ASSERT_EQ(figure.series.size(), 2U);
  EXPECT_EQ(figure.series[0].label.name, "flow 0: host 0 to host 10, 2 MB");
  EXPECT_EQ(figure.series[1].label.name, "flow 1");
  EXPECT_EQ(points(figure.series[0]), (Points{{5, 400}, {10, 200}, {15, 0}, {17, 400}}));
  EXPECT_NE(figure.caption.find("the first 2 of 3 recorded flows"), std::string::npos);
  // In bins of a given width.
  const auto wide = read_flows(*open(path), {.bin = us(8)});  // 10: whole intervals
  const XyFigure coarse = throughput({"id", "t", "", {}}, std::span(&wide.value(), 1));
  ASSERT_EQ(coarse.series.size(), 3U);
  EXPECT_EQ(coarse.series[0].points[0].x, 10);
  EXPECT_EQ(coarse.series[0].points[0].y, 300);
  EXPECT_EQ(coarse.series[0].points[1].x, 17);
  EXPECT_NEAR(coarse.series[0].points[1].y, 100e3 * 8 / 7e-6 / 1e9, 1e-9);
}

TEST_F(ReportTest, AFlowIsInspected) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(flow(0, us(0), us(17)));
    out.add(flow_sample(us(5), 0, kb(250)));
    out.add(flow_sample(us(5), 1, kb(250)));
    FlowEvent sent;
    sent.time = at(ps(1'234'567));
    sent.kind = metrics::EventKind::sent;
    sent.psn = 0;
    sent.path = 17;
    sent.cwnd = kb(400);
    out.add(sent);
    FlowEvent ack;
    ack.time = at(us(9));
    ack.kind = metrics::EventKind::ack;
    ack.psn = 1;
    ack.path = 17;
    ack.ecn = true;
    ack.rtt = us(8);
    ack.cwnd = kb(399);
    out.add(ack);
    FlowEvent loss;
    loss.time = at(us(10));
    loss.kind = metrics::EventKind::loss;
    loss.psn = 3;
    loss.cause = metrics::LossCause::timeout;
    out.add(loss);
    loss.cause = metrics::LossCause::out_of_order;
    out.add(loss);
  });
  const auto series = read_flows(*open(path));
  ASSERT_TRUE(series);
  const FlowFigure figure = inspector({"id", "t", "", {}}, std::span(&series.value(), 1));
  ASSERT_EQ(figure.flows.size(), 1U);  // the other has no events
  const InspectedFlow& one = figure.flows[0];
  EXPECT_EQ(one.label.name, "flow 0: host 0 to host 10, 2 MB, STrack");
  EXPECT_EQ(one.base_rtt, 8);
  EXPECT_EQ(one.target, 16);
  EXPECT_EQ(one.samples.t, (std::vector<double>{5}));
  EXPECT_EQ(one.samples.gbps, (std::vector<double>{400}));
  EXPECT_EQ(one.samples.cwnd, (std::vector<double>{400'000}));
  EXPECT_EQ(one.samples.rtt, (std::vector<double>{9}));
  EXPECT_EQ(one.samples.ecn, (std::vector<double>{2}));
  EXPECT_TRUE(one.samples.rate.empty());
  ASSERT_TRUE(one.events);
  EXPECT_EQ(one.events->t, (std::vector<double>{1.235, 9, 10, 10}));
  std::vector<std::string> kinds;
  for (const std::uint32_t kind : one.events->kind) kinds.push_back(one.kinds[kind]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"sent", "ack", "timeout", "loss"}));
  EXPECT_EQ(one.events->path[1], 17);
  EXPECT_TRUE(std::isnan(one.events->path[2]));
  EXPECT_EQ(one.events->ecn[1], 1);
  EXPECT_EQ(one.events->rtt[1], 8);
  EXPECT_FALSE(one.truncated);
  const auto cut = read_flows(*open(path), {.events = 2});
  const FlowFigure shorter = inspector({"id", "t", "", {}}, std::span(&cut.value(), 1));
  EXPECT_TRUE(shorter.flows[0].truncated);
  EXPECT_EQ(shorter.flows[0].events->t.size(), 2U);
  ASSERT_EQ(shorter.notices.size(), 1U);
  EXPECT_NE(shorter.notices[0].find("only the first 2 events"), std::string::npos);
}

TEST_F(ReportTest, AConnectionOfAJobHasItsName) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(metrics::ChannelInfo{3, 1, 5, 6});
    out.add(flow_sample(us(5), 3, kb(250)));
  });
  const auto series = read_flows(*open(path));
  ASSERT_TRUE(series);
  ASSERT_EQ(series.value().flows.size(), 1U);
  EXPECT_EQ(series.value().flows[0].name, "connection 3 of job 1: host 5 to host 6");
}

TEST_F(ReportTest, ManyFlowSamplesAreThinned) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    for (int i = 1; i <= 1'000; ++i) {
      FlowSample row = flow_sample(us(5 * i), 0, kb(125));
      if (i == 333) row.rtt = us(77);
      out.add(row);
    }
  });
  const auto series = read_flows(*open(path), {.bins = 100, .samples = 100});
  ASSERT_TRUE(series);
  const FlowColumns& columns = series.value().flows[0].inspected.samples;
  EXPECT_LE(columns.t.size(), 100U);
  EXPECT_EQ(columns.t.back(), 5'000);
  EXPECT_EQ(*std::max_element(columns.rtt.begin(), columns.rtt.end()), 77);
  for (const double rate : columns.gbps) EXPECT_NEAR(rate, 200, 1e-9);
  const XyFigure figure = throughput({"id", "t", "", {}}, std::span(&series.value(), 1));
  for (const Point& point : figure.series[0].points) {
    EXPECT_NEAR(point.y, 200, 1e-9);
  }
}

// --- Reports on files

TEST_F(ReportTest, OneRunInFull) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(flow(0, us(0), us(50)));
    out.add(flow(1, us(10), us(80)));
    add_links(out);
    out.add(sample(us(5), 2, kb(250), us(1)));
    out.add(flow_sample(us(5), 0, kb(250)));
  });
  const RunReport made = report_on({path});
  EXPECT_EQ(made.read, 1U);
  EXPECT_TRUE(made.unreadable.empty());
  EXPECT_TRUE(made.report.notices.empty());
  ASSERT_EQ(made.report.sections.size(), 1U);
  const Section& section = made.report.sections[0];
  EXPECT_EQ(section.title, "test: STrack, 2 MB, seed 1");
  EXPECT_EQ(section.scale, "4 hosts, 2 flows, 2 MB each, seed 1");
  std::vector<std::string> ids;
  for (const Figure& figure : section.figures) ids.push_back(head_of(figure).id);
  EXPECT_EQ(ids, (std::vector<std::string>{"test-cdf", "test-queues", "test-deepest-queue",
                                           "test-deepest-rate", "test-throughput", "test-fabric",
                                           "test-flows"}));
  ASSERT_EQ(made.report.runs.size(), 1U);
  EXPECT_EQ(made.report.runs[0].max_us, 70);
  EXPECT_EQ(made.report.runs[0].mean_us, 60);
  EXPECT_EQ(made.report.runs[0].ideal_us, 48);
  EXPECT_DOUBLE_EQ(made.report.runs[0].slowdown, 70.0 / 48);
  EXPECT_EQ(made.report.runs[0].cpu_s, 0.5);
  EXPECT_TRUE(json::accept(to_json(made.report)));
}

TEST_F(ReportTest, SchemesAreComparedAndParametersNamed) {
  RunInfo run = info();
  const fs::path a = two_flows("a.db", run);
  run.seed = 2;
  const fs::path b = two_flows("b.db", run);
  run.scheme = "rocev2";
  run = with(run, "transport.scheme", "rocev2");
  const fs::path c = two_flows("c.db", run);
  run = with(info(), "transport.max_paths", "8");
  const fs::path d = two_flows("d.db", run);
  RunInfo other = with(info(), "workload.kind", "incast");
  other.name = "other";
  const fs::path e = two_flows("e.db", other);
  const RunReport made = report_on({a, b, c, d, e}, "Mine");
  EXPECT_EQ(made.report.title, "Mine");
  ASSERT_EQ(made.report.sections.size(), 2U);
  EXPECT_EQ(made.report.sections[0].scale, "4 hosts, seeds 1-2");
  EXPECT_EQ(made.report.sections[1].title, "other: STrack, 2 MB, seed 1");
  const Figure* figure = find(made.report, "test-bars");
  ASSERT_NE(figure, nullptr);
  const auto& compared = std::get<BarsFigure>(*figure);
  EXPECT_EQ(compared.categories, (std::vector<std::string>{"max", "p99", "mean"}));
  std::vector<Label> labels;
  for (const BarSeries& series : compared.series) labels.push_back(series.label);
  EXPECT_EQ(labels, (std::vector<Label>{{"STrack, max_paths 256", "strack"},
                                        {"STrack, max_paths 8", "other"},
                                        {"RoCEv2", "rocev2"},
                                        {"ideal", "ideal"}}));
  EXPECT_EQ(compared.series[0].values, (std::vector<double>{70, 70, 60}));
  EXPECT_EQ(compared.series[3].values[0], 48);
}

TEST_F(ReportTest, SizesMakeACurve) {
  RunInfo run = info();
  const fs::path a = two_flows("a.db", run);
  run = with(run, "workload.size", "16 MB", 16'000'000);
  run.ideal_fct = us(333);
  const fs::path b = two_flows("b.db", run);
  const RunReport made = report_on({a, b});
  ASSERT_EQ(made.report.sections.size(), 1U);
  const Figure* figure = find(made.report, "-by-size");
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(points(xy(*figure).series[0]), (Points{{2e6, 70}, {16e6, 70}}));
  EXPECT_EQ(points(xy(*figure).series[1]), (Points{{2e6, 48}, {16e6, 333}}));
}

TEST_F(ReportTest, OfManyRunsTheFirstAreShownInDetail) {
  std::vector<fs::path> files;
  for (int i = 0; i < 14; ++i) {
    RunInfo run = info();
    run.seed = static_cast<std::uint64_t>(i);
    files.push_back(write(fmt::format("{}.db", i), run, [](ResultWriter& out) {
      out.add(flow(0, us(0), us(50)));
      add_links(out);
      out.add(sample(us(5), 2, kb(250), us(1)));
    }));
  }
  const RunReport made = report_on(files);
  EXPECT_EQ(made.report.runs.size(), 14U);
  EXPECT_EQ(made.report.sections.size(), 1U + 12U);
  const Figure* replay = find(made.report, "test-fabric");
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(std::get<FabricFigure>(*replay).variants.size(), 12U);
  ASSERT_FALSE(made.report.notices.empty());
  EXPECT_NE(made.report.notices.back().text.find("shown of 12 runs"), std::string::npos);
}

TEST_F(ReportTest, TheSameFileTwiceIsOneAndTheSameRunTwiceIsSaid) {
  const fs::path a = two_flows("a.db", info());
  const fs::path b = two_flows("b.db", info());
  EXPECT_EQ(report_on({a, folder_ / "." / "a.db"}).report.runs.size(), 1U);
  const RunReport made = report_on({a, b});
  ASSERT_EQ(made.report.notices.size(), 1U);
  EXPECT_EQ(made.report.notices[0].level, "info");
  EXPECT_NE(made.report.notices[0].text.find("b.db: the same scheme"), std::string::npos);
}

TEST_F(ReportTest, PartialFilesAreShownAndSaySo) {
  RunInfo run = info();
  run.flows = 5;
  const fs::path cut = two_flows("cut.db", run, RunStatus::interrupted);
  run.seed = 2;
  const fs::path dead = two_flows("dead.db", run, std::nullopt);
  const RunReport made = report_on({cut, dead});
  EXPECT_EQ(made.read, 2U);
  ASSERT_EQ(made.report.notices.size(), 2U);
  EXPECT_EQ(made.report.notices[0].text,
            cut.string() +
                ": partial: the run was interrupted at 60 us; 3 of 5 flows are unfinished, and the "
                "figures are of the others");
  EXPECT_EQ(made.report.notices[1].text,
            dead.string() +
                ": partial: the program that wrote it died at or after 60 us; its totals (drops, "
                "marks) are missing; 3 of 5 flows are unfinished, and the figures are of the "
                "others");
  EXPECT_TRUE(made.report.runs[0].partial);
  EXPECT_EQ(made.report.runs[0].drops, 0);
  EXPECT_TRUE(std::isnan(made.report.runs[1].drops));
  EXPECT_EQ(made.report.runs[1].max_us, 70);
  EXPECT_EQ(made.report.runs[1].status, "partial: the program died");
}

TEST_F(ReportTest, ARunningFileCanBeShown) {
  const auto writer = ResultWriter::create(folder_ / "live.db", info());
  ASSERT_TRUE(writer);
  const RunReport made = report_on({folder_ / "live.db"});
  EXPECT_EQ(made.read, 1U);
  ASSERT_EQ(made.report.notices.size(), 1U);
  EXPECT_NE(made.report.notices[0].text.find("the run is still going on"), std::string::npos);
  EXPECT_TRUE(std::isnan(made.report.runs[0].max_us));
  EXPECT_TRUE(json::accept(to_json(made.report)));
}

TEST_F(ReportTest, FilesThatCannotBeReadAreNamedAndTheOthersShown) {
  const fs::path good = two_flows("good.db", info());
  std::string image = slurp(good);
  // SQLite's header says the version of the tables at byte 60.
  std::string newer = image;
  newer[63] = 99;
  spit("newer.db", newer);
  std::string older = image;
  older[63] = 1;
  spit("older.db", older);
  std::string foreign = image;
  foreign[68] = 0;
  spit("foreign.db", foreign);
  std::string corrupt = image;
  for (std::size_t i = 4'096; i < corrupt.size(); ++i) corrupt[i] = '\x5a';
  spit("corrupt.db", corrupt);
  spit("short.db", image.substr(0, 5'000));
  spit("empty.db", "");
  spit("text.db",
       "this is not a database, but a text that is long enough to look like one "
       "at first glance, or so one would think\n");
  const std::vector<std::pair<std::string, std::string>> bad{
      {"newer.db", "was written by a newer strack"},
      {"older.db", "was written by an older strack"},
      {"foreign.db", "is not a result file of strack"},
      {"corrupt.db", "is damaged"},
      {"short.db", "is damaged"},
      {"empty.db", "is empty"},
      {"text.db", "is not a result file of strack"},
      {"missing.db", "there is no such file"},
      {".", "is a folder"}};
  std::vector<fs::path> files;
  for (const auto& [name, says] : bad) files.push_back(folder_ / name);
  files.push_back(good);
  const RunReport made = report_on(files);
  EXPECT_EQ(made.read, 1U);
  ASSERT_EQ(made.unreadable.size(), bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_TRUE(made.unreadable[i].starts_with((folder_ / bad[i].first).string()))
        << made.unreadable[i];
    EXPECT_NE(made.unreadable[i].find(bad[i].second), std::string::npos) << made.unreadable[i];
    EXPECT_EQ(made.report.notices[i].text, made.unreadable[i]);
  }
  EXPECT_EQ(made.report.runs.size(), 1U);
  EXPECT_EQ(report_on({folder_ / "missing.db"}).read, 0U);
}

TEST_F(ReportTest, DamageInTheSamplesLeavesTheRest) {
  const fs::path path = write("a.db", info(), [](ResultWriter& out) {
    out.add(flow(0, us(0), us(50)));
    add_links(out);
    for (int i = 1; i < 20'000; ++i) out.add(sample(us(5 * i), 2, kb(1), us(1)));
  });
  std::string image = slurp(path);
  // Far behind everything but the samples.
  for (std::size_t i = image.size() / 2; i < image.size() / 2 + 40'960; ++i) image[i] = '\x5a';
  spit("b.db", image);
  const RunReport made = report_on({folder_ / "b.db"});
  EXPECT_EQ(made.read, 1U);
  EXPECT_NE(find(made.report, "-cdf"), nullptr);
  EXPECT_EQ(find(made.report, "-queues"), nullptr);
  ASSERT_FALSE(made.report.notices.empty());
  EXPECT_NE(made.report.notices.back().text.find("b.db: is damaged"), std::string::npos);
  EXPECT_NE(made.report.notices.back().text.find("is not shown"), std::string::npos);
}

TEST_F(ReportTest, HostileNamesStayText) {
  RunInfo run = with(info(), "workload.size", "</script>\"\xff", -1);
  run.name = "</script><img src=x onerror=alert(1)>\xff\n";
  run.scheme = "\"<b>";
  const fs::path a = two_flows("a <b>,\"c\".db", run);
  run.seed = 2;
  const fs::path b = two_flows("b.db", run);
  RunReport made = report_on({a, b});
  EXPECT_EQ(made.read, 2U);
  const std::string page = html(made.report, page_template());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  const json read = json::parse(to_json(made.report));
  EXPECT_EQ(read["runs"][0]["scheme"], "\"<b>");
  for (const json& section : read["sections"]) {
    const auto id = section["id"].get<std::string>();
    EXPECT_EQ(id, safe_id(id));
  }
  const auto count = save_csv(made.report, folder_ / "csv");
  ASSERT_TRUE(count);
  EXPECT_NE(slurp(folder_ / "csv" / "runs.csv").find("b>,\"\"c\"\".db\","), std::string::npos);
}

// --- Files

TEST(CsvTest, QuotesWhatNeedsQuotes) {
  const Table table{"t",
                    "T",
                    {{"a,b", "left"}, {"c", "right"}},
                    {{"say \"hi\"\r\n", 0.1}, {"plain", kUnknown}, {Cell(), 12345678901.0}}};
  EXPECT_EQ(csv(table), "\"a,b\",c\r\n\"say \"\"hi\"\"\r\n\",0.1\r\nplain,\r\n,12345678901\r\n");
}

TEST(ModelTest, BarsMayLie) {
  BarsFigure chart;
  chart.id = "chart";
  chart.categories = {"a", "b"};
  chart.series.push_back({{"the paper", "paper"}, {1, 2}, {}, {}});
  Report report;
  report.sections.emplace_back().figures.emplace_back(chart);
  EXPECT_EQ(to_json(report).find("horizontal"), std::string::npos);
  EXPECT_EQ(picture_height(chart), 600U);
  EXPECT_EQ(picture_height(XyFigure{}), 600U);

  chart.horizontal = true;
  report.sections[0].figures[0] = chart;
  EXPECT_NE(to_json(report).find(R"("horizontal":true)"), std::string::npos);
  EXPECT_EQ(picture_height(chart), 320U);  // never less
  chart.categories.resize(20);
  EXPECT_EQ(picture_height(chart), 200U + 20 * 34);
  chart.series.resize(5);
  EXPECT_EQ(picture_height(chart), 200U + 20 * (6 + 5 * 14));
}

TEST(CsvTest, FiguresAreRows) {
  XyFigure figure;
  figure.x = {"size", "B", "log", {}};
  figure.y = {"FCT", "us", "log", {}};
  figure.series.push_back(
      {{"STrack, x", "strack"}, "line", false, {{4096, 9.5, 9, 10}, {8192, 11}}});
  EXPECT_EQ(csv(Figure(figure)),
            "series,size (B),FCT (us),low,high\r\n\"STrack, x\",4096,9.5,9,10\r\n"
            "\"STrack, x\",8192,11,,\r\n");
  BarsFigure chart;
  chart.categories = {"a", "b"};
  chart.y = {"t", "us", "linear", {}};
  chart.series.push_back({{"s", "other"}, {1, kUnknown}, {}, {}});
  EXPECT_EQ(csv(Figure(chart)), "category,series,t (us),low,high\r\na,s,1,,\r\nb,s,,,\r\n");
  FabricFigure grid;
  grid.variants.push_back({"r", 1, 2, {5}, {{"up-use", "", "share", 1, {0, 51}}}, {}});
  EXPECT_EQ(csv(Figure(grid)),
            "run,time (us),tor,spine,up utilisation,up queue (us),down utilisation,down queue "
            "(us)\r\nr,5,0,1,0.2,,,\r\n");
}

TEST_F(ReportTest, PagesReplaceOnlyPages) {
  Report report;
  report.title = "one";
  const fs::path page = folder_ / "deep" / "report.html";
  ASSERT_FALSE(save_page(report, page));
  report.title = "two";
  ASSERT_FALSE(save_page(report, page));
  EXPECT_NE(slurp(page).find("<title>two</title>"), std::string::npos);
  spit("mine.html", "<html>mine</html>");
  const auto refused = save_page(report, folder_ / "mine.html");
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("mine.html: exists already, and is not a report"),
            std::string::npos);
  EXPECT_EQ(slurp(folder_ / "mine.html"), "<html>mine</html>");
  ASSERT_FALSE(save_page(report, folder_ / "mine.html", {.force = true}));
  EXPECT_TRUE(is_our_page(slurp(folder_ / "mine.html").substr(0, 4'096)));
  const auto folder = save_page(report, folder_, {.force = true});
  ASSERT_TRUE(folder);
  EXPECT_NE(folder->message.find("is a folder"), std::string::npos);
  const auto below = save_page(report, folder_ / "mine.html" / "x.html");
  ASSERT_TRUE(below);
  EXPECT_EQ(names(), (std::vector<std::string>{"deep", "mine.html"}));
}

TEST_F(ReportTest, AFileThatDoesNotFitLeavesNothing) {
  spit("old.html", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1'000;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto error = write_file(folder_ / "old.html", std::string(5'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("old.html: the file has reached the largest size"),
            std::string::npos);
  EXPECT_EQ(slurp(folder_ / "old.html"), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"old.html"}));
}

TEST_F(ReportTest, ABrowserThatHangsOrFailsIsSaid) {
  const char* before = std::getenv("CHROMIUM");
  const std::string kept = before != nullptr ? before : "";
  Report report;
  Section section;
  XyFigure figure;
  figure.id = "f";
  section.figures.emplace_back(figure);
  report.sections.push_back(section);

  setenv("CHROMIUM", "/nonexistent/browser", 1);
  const auto none = save_png(report, folder_ / "page.html", folder_ / "png");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("$CHROMIUM is /nonexistent/browser"), std::string::npos);

  spit("browser", "#!/bin/sh\necho 'no display' >&2\nexit 3\n");
  fs::permissions(folder_ / "browser", fs::perms::owner_all);
  setenv("CHROMIUM", (folder_ / "browser").c_str(), 1);
  const auto failed = save_png(report, folder_ / "page.html", folder_ / "png");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("could not draw figure f: no display"), std::string::npos);

  // Asked to stop: its processes are gone, and it is said.
  spit("browser", "#!/bin/sh\nsleep 1000 &\nsleep 1000\n");
  const std::atomic<bool> stop = true;
  const auto stopped = save_png(report, folder_ / "page.html", folder_ / "png", &stop);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("interrupted"), std::string::npos);

  if (before != nullptr) {
    setenv("CHROMIUM", kept.c_str(), 1);
  } else {
    unsetenv("CHROMIUM");
  }
}

}  // namespace
}  // namespace strack::report
