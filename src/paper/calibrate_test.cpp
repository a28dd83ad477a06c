#include "paper/calibrate.h"

#include <cmath>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "paper/run_table.h"

namespace strack::paper {
namespace {

namespace fs = std::filesystem;

const Side kSide{"rocev2", {{"pfc.alpha", {"1/8", "1/16", "1/32"}}, {"rocev2.g", {"0.1", "0.2"}}}};

class CalibrateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string error(const std::string& text) const {
    const auto loaded = load_calibration(write("CALIBRATE", text));
    return loaded ? "loaded" : loaded.error().message;
  }
  fs::path folder_;
};

TEST_F(CalibrateTest, ReadsItsFileAndNamesMistakes) {
  const auto loaded = load_calibration(
      write("CALIBRATE",
            "# words\nheld-out P200 P800\nleave-out 4 KB | 64 MB\n\nside rocev2\n"
            "pfc.alpha = 1/8 | 1/16\nside strack\ntransport.max_cwnd = 1 BDP | 2 BDP\n"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded.value().held_out, (std::set<std::string>{"P200", "P800"}));
  EXPECT_EQ(loaded.value().leave_out, (std::set<std::string>{"4 KB", "64 MB"}));
  ASSERT_EQ(loaded.value().sides.size(), 2u);
  EXPECT_EQ(loaded.value().sides[1].keys[0].values, (std::vector<std::string>{"1 BDP", "2 BDP"}));
  EXPECT_EQ(error("pfc.alpha = 1 | 2"), "write `side NAME` above its keys");
  EXPECT_EQ(error("side a\nk = 1"), "k needs two values or more, such as `1 | 2`");
  EXPECT_EQ(error("side a"), "side a has no keys");
  EXPECT_EQ(error(""), "names no side");
  EXPECT_NE(error("sides a").find("\"sides a\" is none of"), std::string::npos);
  EXPECT_TRUE(load_calibration(fs::path(STRACK_PAPER_ROWS) / "CALIBRATE"));
}

// [D133] Points by name, runs that one side leaves out, and settings of a row in the search.
TEST_F(CalibrateTest, ReadsPointsAndSettings) {
  const auto loaded = load_calibration(
      write("CALIBRATE",
            "leave-out 4 KB\nset ISLQ topology.hosts=64 | topology.hosts_per_rack=8\nside rocev2\n"
            "leave-out 100 MB\npfc.alpha = 1/8 | 1/16\nrocev2.g = 1 | 2 | 3\n"
            "try rocev2.g = 3\ntry pfc.alpha=1/16 | rocev2.g=2\n"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  const Side& side = loaded.value().sides.front();
  EXPECT_EQ(side.named, (std::vector<Point>{{0, 2}, {1, 1}}));
  EXPECT_EQ(side.leave_out, std::set<std::string>{"100 MB"});
  EXPECT_EQ(loaded.value().leave_out, std::set<std::string>{"4 KB"});
  EXPECT_EQ(loaded.value().set.at("ISLQ"),
            (std::vector<std::string>{"topology.hosts=64", "topology.hosts_per_rack=8"}));
  EXPECT_EQ(error("try pfc.alpha=1/8"), "write `try` below the keys of its side");
  EXPECT_EQ(error("side a\nk = 1 | 2\ntry j=1"), "j=1 is no key of side a with a value");
  EXPECT_EQ(error("side a\nk = 1 | 2\ntry k=3"), "k=3 has no such value. it has 1, 2");
  EXPECT_NE(error("set ISLQ").find("a row and its settings"), std::string::npos);
}

// [D156] A search goes on from tables that any version has made; other commands ask for their own.
TEST_F(CalibrateTest, TablesOfAnyVersionCount) {
  // Each column that every run has, and a fingerprint; 1 is well in all that are not named.
  const auto line = [](const std::map<std::string, std::string>& cells) {
    std::string text;
    for (const std::string& name : base_columns())
      text += (text.empty() ? "" : ",") + (cells.contains(name) ? cells.at(name) : "1");
    return text + '\n';
  };
  std::map<std::string, std::string> names;
  for (const std::string& name : base_columns()) names[name] = name;
  const auto run = [&](const char* name, const char* scenario, const char* version) {
    return line({{"row", "P400"},
                 {"run", name},
                 {"scenario", scenario},
                 {"version", version},
                 {"status", "finished"}});
  };
  const fs::path table = write(
      "runs.csv", line(names) + run("strack-s1", "aa", "1/old") + run("rocev2-s1", "bb", "1/new"));
  const auto all = runs_in({table}, std::nullopt);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all.value().front().keys, (std::set<std::string>{run_key("P400", "strack-s1", "aa"),
                                                             run_key("P400", "rocev2-s1", "bb")}));
  const auto own = runs_in({table}, "1/new");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own.value().front().keys, std::set<std::string>{run_key("P400", "rocev2-s1", "bb")});
}

// Twelve points have each value of a key equally often, the same ones every time.
TEST_F(CalibrateTest, LatinHypercubeIsEven) {
  const std::vector<Point> points = latin_hypercube(kSide, 12, 1);
  ASSERT_EQ(points.size(), 12u);
  std::map<std::size_t, int> first;
  std::map<std::size_t, int> second;
  for (const Point& point : points) {
    ++first[point[0]];
    ++second[point[1]];
  }
  EXPECT_EQ(first, (std::map<std::size_t, int>{{0, 4}, {1, 4}, {2, 4}}));
  EXPECT_EQ(second, (std::map<std::size_t, int>{{0, 6}, {1, 6}}));
  EXPECT_EQ(latin_hypercube(kSide, 12, 1), points);
  EXPECT_NE(latin_hypercube(kSide, 12, 2), points);
}

TEST_F(CalibrateTest, NeighboursDifferByOneStep) {
  EXPECT_EQ(neighbours(kSide, {1, 0}), (std::vector<Point>{{0, 0}, {2, 0}, {1, 1}}));
  EXPECT_EQ(point_text(kSide, {2, 1}), "pfc.alpha = 1/32, rocev2.g = 0.2");
  EXPECT_EQ(point_text(kSide, {}), "defaults");
}

// A point's keys are set in its side's runs only; sizes that are left out are not run; what is held out
// is not there until it is asked for.
TEST_F(CalibrateTest, RowsAtAPoint) {
  const std::string row = R"(
[topology]
hosts = 16
hosts_per_rack = 4

[paper]
title = "T"
group = "G"
claim = "C"
section = "S"

[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"], "workload.size" = ["4 KB", "16 MB"]}
seeds = [1]

[[paper.check]]
says = "gain"
value = "SELECT r.max_us / s.max_us FROM runs s JOIN runs r USING (row) WHERE s.who = 'strack' AND r.who = 'rocev2'"
unit = "x"
paper = 3.0
rule = "ratio"
label = "l"
)";
  std::vector<Row> rows;
  for (const char* name : {"A.toml", "B.toml"}) rows.push_back(load_row(write(name, row)).value());
  Calibration what;
  what.held_out = {"B"};
  what.leave_out = {"4 KB"};
  what.sides = {kSide, {"strack", {{"transport.max_cwnd", {"1 BDP", "2 BDP"}}}}};
  const std::vector<Row> at = rows_at(rows, what, kSide, {2, 1}, false);
  ASSERT_EQ(at.size(), 1u);
  const auto planned = plan(at.front(), kFullScale);
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_EQ(planned.value().size(), 2u);
  EXPECT_EQ(planned.value()[0].name, "strack-16MB-s1");
  EXPECT_EQ(planned.value()[1].name, "rocev2-16MB-132-0.2-s1");
  EXPECT_EQ(rows_at(rows, what, kSide, {}, true).size(), 2u);
  // Words and other sides' numbers are not asked for.
  rows[1].checks.push_back(rows[1].checks[0]);
  rows[1].checks[1].paper.reset();
  EXPECT_EQ(rows_at(rows, what, kSide, {}, true)[1].checks.size(), 1u);
  // A larger network where the row needs one, and with it claims that the scale would leave out.
  rows[0].checks[0].full_only = true;
  rows[0].scales["quick"] = {{"topology.hosts=8"}, {}, {}, {}};
  EXPECT_TRUE(rows_at(rows, what, kSide, {2, 1}, false).front().checks[0].full_only);
  what.set["A"] = {"topology.hosts=64"};
  Side without = kSide;
  without.leave_out = {"strack"};
  const std::vector<Row> larger = rows_at(rows, what, without, {2, 1}, false);
  EXPECT_FALSE(larger.front().checks[0].full_only);
  const auto there = plan(larger.front(), "quick");
  ASSERT_TRUE(there) << there.error().text();
  ASSERT_EQ(there.value().size(), 1u);
  EXPECT_EQ(there.value()[0].hosts, 64u);
  what.set.clear();
  // The claim names both, and belongs to the first side, held out or not.
  EXPECT_TRUE(rows_at(rows, what, what.sides[1], {0}, false).empty());
  EXPECT_TRUE(rows_at(rows, what, what.sides[1], {0}, true).empty());
  const auto none = score(at, what, kSide, false, kFullScale, folder_ / "nowhere");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none.value().claims.empty());
}

// What is sent is the same for all schemes that are compared, and only collectives have chunks.
TEST_F(CalibrateTest, KeysOfTheWorkloadAreForAllSchemes) {
  const std::string row = R"(
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "KIND"
[paper]
title = "T"
group = "G"
claim = "C"
section = "S"
[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"]}
seeds = [1]
[[paper.check]]
says = "gain"
value = "SELECT max_us FROM runs WHERE who = 'rocev2'"
unit = "x"
paper = 3.0
rule = "ratio"
label = "l"
)";
  const auto with = [&](const std::string& kind) {
    std::string text = row;
    return load_row(write("A.toml", text.replace(text.find("KIND"), 4, kind))).value();
  };
  Calibration what;
  what.sides = {
      {"rocev2", {{"workload.chunks_in_flight", {"0", "1"}}, {"rocev2.g", {"0.1", "0.2"}}}}};
  const auto names = [&](const std::string& kind) {
    std::vector<std::string> found;
    for (const Row& one : rows_at({with(kind)}, what, what.sides[0], {1, 0}, false)) {
      const auto planned = plan(one, kFullScale);
      EXPECT_TRUE(planned) << planned.error().text();
      for (const PlannedRun& run : planned.value()) found.push_back(run.name);
    }
    return found;
  };
  EXPECT_EQ(names("collective"), (std::vector<std::string>{"strack-1-s1", "rocev2-1-0.1-s1"}));
  EXPECT_EQ(names("permutation"), (std::vector<std::string>{"strack-s1", "rocev2-0.1-s1"}));
}

// Two columns, the range of near-best points, and what no point reaches.
TEST_F(CalibrateTest, MarkdownHasBothColumns) {
  Found found;
  found.side = &kSide;
  const auto at = [](double ours, bool reached) {
    const double error = std::abs(std::log(ours / 3));
    return Score{error, {{"A", "gain", "x", 3, ours, error, reached}}};
  };
  found.standard = at(6, false);
  found.tried = {{{2, 1}, at(3.3, true)}, {{1, 1}, at(3.31, false)}, {{0, 0}, at(9, false)}};
  const std::string text = calibration_markdown({found}, 256);
  EXPECT_NE(
      text.find("3 points tried. Error of the defaults 0.69, of the best point 0.10: pfc.alpha = "
                "1/32, rocev2.g = 0.2. Within a tenth of it: pfc.alpha = 1/16 or 1/32; rocev2.g = "
                "0.2."),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("| A | gain | 3x | 6x | 3.3x | yes |"), std::string::npos) << text;
  EXPECT_EQ(text.find("At the paper's scale, one seed"), std::string::npos) << text;
  found.confirmed =
      Found::AtScale{at(4, false), at(2.5, true), {{{1, 1}, {}}, {{0, 0}, at(3, true)}}};
  EXPECT_NE(calibration_markdown({found}, 256)
                .find("At the paper's scale, one seed, as far as it was run. Error of the best "
                      "point 0.18 where "
                      "the defaults have 0.29 (1 of 1 claims). Point 1 is pfc.alpha = 1/16, "
                      "rocev2.g = 0.2: 0.00 "
                      "where the defaults have 0.00 (0 of 1 claims). Point 2 is pfc.alpha = 1/8, "
                      "rocev2.g = 0.1: "
                      "0.00 where the defaults have 0.29 (1 of 1 claims).\n\n| row | claim | paper "
                      "| defaults | "
                      "best point | point 1 | point 2 |\n|---|---|---|---|---|---|---|\n| A | gain "
                      "| 3x | 4x | "
                      "2.5x | | 3x |\n"),
            std::string::npos);
  EXPECT_NE(calibration_csv({found}).find(",best point at the paper's scale,"), std::string::npos);
  const report::Report page = calibration_page({found});
  ASSERT_EQ(page.sections.size(), 1u);
  const auto& bars = std::get<report::BarsFigure>(page.sections[0].figures[0]);
  EXPECT_EQ(bars.categories, std::vector<std::string>{"A: gain"});
  EXPECT_NEAR(bars.series[0].values[0], 2, 1e-9);
  EXPECT_NEAR(bars.series[1].values[0], 1.1, 1e-9);
  EXPECT_NE(calibration_csv({found}).find("rocev2,\"pfc.alpha = 1/32, rocev2.g = 0.2\",0.09531"),
            std::string::npos);

  // From its table another page says the same, and what no point reaches.
  found.held_out_standard = at(12, false);
  found.held_out = at(3, true);
  found.standard.claims.push_back({"B", "never", "x", 1, 5, 1.6, false});
  const auto sections = calibration_sections(write("points.csv", calibration_csv({found})));
  ASSERT_TRUE(sections) << sections.error().message;
  ASSERT_EQ(sections.value().size(), 1u);
  const report::Section& section = sections.value()[0];
  const auto& same = std::get<report::BarsFigure>(section.figures[0]);
  EXPECT_EQ(same.caption, bars.caption);
  ASSERT_EQ(same.categories, (std::vector<std::string>{"A: gain", "B: never"}));
  EXPECT_NEAR(same.series[0].values[0], 2, 1e-5);
  EXPECT_NEAR(same.series[1].values[0], 1.1, 1e-5);
  ASSERT_EQ(section.explanation.size(), 4u);
  EXPECT_EQ(section.explanation[1],
            "Error of the defaults 0.69, of the best point 0.10; of what was held out 1.39 and "
            "0.00.");
  EXPECT_EQ(section.explanation[2], "At the paper's scale, as far as it was run: 0.29 and 0.18.");
  EXPECT_EQ(section.explanation[3], "No point reaches: B: never.");
  EXPECT_FALSE(calibration_sections(write("other.csv", "row,run\n")));
}

}  // namespace
}  // namespace strack::paper
