#include "paper/row.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace strack::paper {
namespace {

namespace fs = std::filesystem;

class RowTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

const std::string kScenario = R"([topology]
hosts = 64
hosts_per_rack = 8

[workload]
kind = "permutation"
size = "16 MB"

)";

TEST_F(RowTest, ReadsEverything) {
  const auto row = load_row(write("X1.toml", kScenario + R"([paper]
title = "T"
group = "G"
claim = "C"
section = "S"
explain = ["It is {gain} times."]

[paper.numbers]
gain = "SELECT 2"

[paper.measures]
m = "SELECT 1"

[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"], "workload.size" = ["4 KB", "2 MB"]}
seeds = [1, 2]

[paper.scale.quick]
title = "T, but small"
set = ["topology.hosts=16"]
axes = {"workload.size" = ["4 KB"]}
seeds = [7]

[[paper.check]]
says = "faster"
value = "SELECT 1"
unit = "x"
paper = 6.0
rule = "ratio"
label = "this: over that"

[[paper.check]]
says = "not slower"
value = "SELECT 1"
paper_text = "equal"
reproduced = [0, 1.1]

[[paper.figure]]
kind = "lines"
title = "F"
caption = "see"
)"));
  ASSERT_TRUE(row) << row.error().text();
  const Row& r = row.value();
  EXPECT_EQ(r.id, "X1");
  EXPECT_EQ(r.claim, "C");
  ASSERT_EQ(r.checks.size(), 2u);
  // From two thirds to one and a half of the paper's gain, and a third of it.
  EXPECT_NEAR(r.checks[0].reproduced.low, 1 + 10.0 / 3, 1e-9);
  EXPECT_NEAR(r.checks[0].reproduced.high, 8.5, 1e-9);
  ASSERT_TRUE(r.checks[0].partly);
  EXPECT_NEAR(r.checks[0].partly->low, 1 + 5.0 / 3, 1e-9);
  EXPECT_NEAR(r.checks[0].partly->high, 1 + 5.0 * 3, 1e-9);
  EXPECT_FALSE(r.checks[1].partly);
  EXPECT_EQ(r.figures.size(), 1u);

  const auto full = plan(r, kFullScale);
  ASSERT_TRUE(full) << full.error().text();
  ASSERT_EQ(full.value().size(), 8u);
  EXPECT_EQ(full.value().front().name, "strack-4KB-s1");
  EXPECT_EQ(full.value().front().axes.at("size"), "4 KB");
  // A hundredth of a second for its start, a thousandth for 100 hosts, 0.07 s for a GB.
  EXPECT_NEAR(full.value().front().seconds, 0.01 + 0.00064 + 0.07 * 64 * 4e-6, 1e-9);
  EXPECT_EQ(full.value().front().digest.size(), 16u);
  EXPECT_NE(full.value()[0].digest, full.value()[1].digest);
  EXPECT_EQ(r.title_at(kFullScale), "T");
  EXPECT_EQ(r.title_at("quick"), "T, but small");

  const auto quick = plan(r, "quick");
  ASSERT_TRUE(quick) << quick.error().text();
  ASSERT_EQ(quick.value().size(), 2u);
  EXPECT_EQ(quick.value().front().seed, 7u);
  EXPECT_NE(quick.value().front().scenario.find("hosts = 16"), std::string::npos);
}

TEST_F(RowTest, GroupsThatASmallerScaleMakesEqualAreRunOnce) {
  const auto row = load_row(write("X.toml", kScenario + R"([paper]
title = "T"
group = "G"

[[paper.runs]]
axes = {"workload.size" = ["4 KB"]}
seeds = [1, 2]

[[paper.runs]]
axes = {"workload.size" = ["2 MB"]}
seeds = [1]

[paper.scale.quick]
axes = {"workload.size" = ["4 KB"]}
seeds = [1]
)"));
  ASSERT_TRUE(row) << row.error().text();
  EXPECT_EQ(plan(row.value(), "quick").value().size(), 1u);
  EXPECT_EQ(plan(row.value(), kFullScale).value().size(), 3u);
}

struct Mistake {
  const char* text;
  const char* said;
};

TEST_F(RowTest, MistakesAreNamedWithTheirLine) {
  const Mistake mistakes[] = {
      {"title = \"T\"\ngroup = \"G\"\nclam = \"C\"", "unknown key clam"},
      {"group = \"G\"", "has no title"},
      {"title = 3\ngroup = \"G\"", "title is not a text"},
      {"title = \"T\"\ngroup = \"G\"\nclaim = \"C\"", "has no section"},
      {"title = \"T\"\ngroup = \"G\"\nclaim = \"C\"\nsection = \"S\"", "a claim needs checks"},
      {"title = \"T\"\ngroup = \"G\"\n[[paper.runs]]\naxes = {}", "seeds is a list"},
      {"title = \"T\"\ngroup = \"G\"\nclaim = \"C\"\nsection = \"S\"\n[[paper.check]]\nsays = "
       "\"s\"\nvalue = \"v\"",
       "needs the range reproduced"},
      {"title = \"T\"\ngroup = \"G\"\nclaim = \"C\"\nsection = \"S\"\n[[paper.check]]\nsays = "
       "\"s\"\nvalue = "
       "\"v\"\nreproduced = [3, 2]",
       "is a range"},
      {"title = \"T\"\ngroup = \"G\"\nclaim = \"C\"\nsection = \"S\"\n[[paper.check]]\nsays = "
       "\"s\"\nvalue = "
       "\"v\"\nrule = \"ratio\"",
       "needs paper"},
      {"title = \"T\"\ngroup = \"G\"\n[[paper.figure]]\nkind = \"pie\"\ntitle = \"t\"\ncaption = "
       "\"c\"",
       "no kind of figure \"pie\""},
  };
  for (const Mistake& mistake : mistakes) {
    const auto row = load_row(write("X.toml", kScenario + "[paper]\n" + mistake.text + "\n"));
    ASSERT_FALSE(row) << mistake.text;
    EXPECT_NE(row.error().message.find(mistake.said), std::string::npos) << row.error().text();
    EXPECT_GE(row.error().line, 9) << row.error().text();
  }
  EXPECT_FALSE(load_row(write("X.toml", kScenario)));
  EXPECT_FALSE(load_row(folder_ / "missing.toml"));
}

TEST_F(RowTest, AScenarioKeyThatDoesNotExistIsFoundWhenPlanning) {
  const auto row = load_row(write("X.toml", kScenario + R"([paper]
title = "T"
group = "G"

[[paper.runs]]
axes = {"workload.sice" = ["4 KB"]}
seeds = [1]
)"));
  ASSERT_TRUE(row);
  const auto planned = plan(row.value(), kFullScale);
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().text().find("sice"), std::string::npos);
}

TEST_F(RowTest, OrderNamesEveryRowOnce) {
  const std::string row = kScenario + "[paper]\ntitle = \"T\"\ngroup = \"G\"\n";
  write("A.toml", row);
  write("B.toml", row);
  EXPECT_FALSE(load_rows(folder_));  // no ORDER
  write("ORDER", "# first\nB\n");
  EXPECT_FALSE(load_rows(folder_));  // A is not named
  write("ORDER", "B\nA\nB\n");
  EXPECT_FALSE(load_rows(folder_));
  write("ORDER", "B\nA\n");
  const auto rows = load_rows(folder_);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows.value().front().id, "B");
}

/// The rows of the repository: all can be read and planned, at every scale, and each claim that the
/// paper makes in its evaluation has one.
TEST(PaperRows, AreWhole) {
  const auto rows = load_rows(STRACK_PAPER_ROWS);
  ASSERT_TRUE(rows) << rows.error().text();
  std::set<std::string> ids;
  for (const Row& row : rows.value()) {
    ids.insert(row.id);
    std::set<std::string> scales{kFullScale, "quick"};
    for (const auto& [name, scale] : row.scales) scales.insert(name);
    for (const std::string& scale : scales) {
      const auto planned = plan(row, scale);
      ASSERT_TRUE(planned) << planned.error().text();
      EXPECT_TRUE(row.runs.empty() || !planned.value().empty()) << row.id;
    }
    EXPECT_TRUE(row.runs.empty() || row.scales.contains("quick")) << row.id;
    for (const Check& check : row.checks) {
      EXPECT_TRUE(check.paper || !check.paper_text.empty()) << row.id << ": " << check.says;
    }
  }
  for (const char* id : {"P400",  "ISLQ", "P200",   "P800",    "OS4",      "OS8",     "LD64",
                         "LD256", "IN-Q", "IN-T",   "IN-FCT",  "IN-DEG",   "SIG",     "MOT",
                         "MOT-Q", "AR",   "AR-CDF", "A2A",     "AR-OS4",   "A2A-OS4", "A2A-CDF",
                         "WIN",   "LOSS", "VICTIM", "AR-RATE", "A2A-RATE", "A2A-TOR"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
}

/// [D132] [D155] A rule that nothing can fail says nothing: no amount is too much for none, and where the paper has a
/// number nothing at all is not that number.
TEST(PaperRows, EveryRuleCanFail) {
  const auto rows = load_rows(STRACK_PAPER_ROWS);
  ASSERT_TRUE(rows) << rows.error().text();
  std::size_t rules = 0;
  for (const Row& row : rows.value()) {
    for (const Check& check : row.checks) {
      SCOPED_TRACE(row.id + ": " + check.says);
      const auto fails = [&](double value) {
        return !check.reproduced.contains(value) &&
               !(check.partly && check.partly->contains(value));
      };
      const bool nothing = fails(0);
      const bool anything = fails(std::numeric_limits<double>::infinity());
      if (check.paper) {
        EXPECT_TRUE(nothing);
        EXPECT_TRUE(check.reproduced.contains(*check.paper));
      }
      EXPECT_TRUE(anything);
      // So many times as fast, as long or as much: never none.
      if (check.unit == "x") {
        EXPECT_TRUE(nothing);
      }
      if (check.partly) {
        EXPECT_LE(check.partly->low, check.reproduced.low);
        EXPECT_GE(check.partly->high, check.reproduced.high);
      }
      ++rules;
    }
  }
  EXPECT_GT(rules, 100u);
}

}  // namespace
}  // namespace strack::paper
