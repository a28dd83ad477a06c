#include "paper/evidence.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "paper/csv_table.h"
#include "paper/own_rows.h"
#include "paper/paper_report.h"
#include "paper/run_table.h"
#include "sim/scenario/files.h"

namespace strack::paper {
namespace {

namespace fs = std::filesystem;

const std::string kRow = R"(
[topology]
hosts = 16
hosts_per_rack = 4

[workload]
kind = "permutation"
size = "16 MB"

[paper]
title = "Title"
group = "Group"
claim = "Claim"
section = "S"
explain = ["The gain is {gain}.", "With 64 MB it is {large}."]

[paper.numbers]
gain = "SELECT avg(r.max_us / s.max_us) FROM runs s JOIN runs r USING (row, seed, size) WHERE s.who = 'strack' AND r.who = 'rocev2'"

large = "SELECT max_us FROM runs WHERE size = 64e6"

[paper.measures]
slow = "SELECT count(*) FROM flows WHERE end_ps > 200000000"

[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"], "workload.size" = ["4 KB", "16 MB"]}
seeds = [1, 2]

[[paper.check]]
says = "gain at 16 MB"
value = "SELECT s.seed, r.max_us / s.max_us FROM runs s JOIN runs r USING (row, seed, size) WHERE s.who = 'strack' AND r.who = 'rocev2' AND size = 16e6"
unit = "x"
paper = 3.0
rule = "ratio"
label = "small: over RoCEv2"

[[paper.figure]]
kind = "lines"
title = "By size"
caption = "see"
)";

class EvidenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_ / "rows");
    std::ofstream(folder_ / "rows" / "X.toml") << kRow;
    auto row = load_row(folder_ / "rows" / "X.toml");
    ASSERT_TRUE(row) << row.error().text();
    rows_.push_back(row.value());
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Writes the result of a planned run, with two flows; the slower takes `us`.
  void result(const PlannedRun& run, std::int64_t us,
              metrics::RunStatus status = metrics::RunStatus::finished) {
    metrics::RunInfo info;
    info.name = "X";
    info.scheme = run.axes.at("scheme");
    info.scenario = run.scenario;
    info.seed = run.seed;
    info.version = version_;
    info.hosts = 16;
    info.flows = 2;
    info.ideal_fct = strack::us(50);
    const auto writer =
        metrics::ResultWriter::create(folder_ / "r" / "X" / (run.name + ".db"), info);
    ASSERT_TRUE(writer) << writer.error().message;
    for (std::uint32_t i = 0; i < 2; ++i) {
      metrics::FlowRecord flow;
      flow.flow = i;
      flow.size = bytes(1'000);
      flow.end = Instant{} + (i == 0 ? strack::us(us) : strack::us(us / 2));
      writer.value()->add(flow);
    }
    ASSERT_FALSE(writer.value()->finish(status, Instant{} + strack::us(us), {}, 1, 2.5));
  }

  fs::path folder_;
  std::vector<Row> rows_;
  std::string version_ = "1";
};

TEST_F(EvidenceTest, JudgesByTheRule) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  for (const PlannedRun& run : planned.value()) {
    const bool roce = run.axes.at("scheme") == "rocev2";
    result(run, roce ? (run.seed == 1 ? 300 : 340) : 100);
  }
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_TRUE(evidence.value()->problems().empty());
  EXPECT_EQ(evidence.value()->count("X").done, 8u);
  EXPECT_DOUBLE_EQ(evidence.value()->count("X").cpu_s, 20);
  const auto found = judge(*evidence.value(), rows_);
  ASSERT_TRUE(found) << found.error().message;
  const RowFinding& row = found.value().front();
  ASSERT_EQ(row.findings.front().values.size(), 2u);
  EXPECT_NEAR(row.findings.front().median, 3.2, 1e-9);
  EXPECT_NEAR(row.findings.front().low, 3.0, 1e-9);
  EXPECT_NEAR(row.findings.front().high, 3.4, 1e-9);
  EXPECT_EQ(row.verdict, Verdict::reproduced);
  // What speaks of runs that this scale does not have is left out.
  EXPECT_EQ(row.explanation, std::vector<std::string>{"The gain is 3.2."});
  // Measures are columns: only RoCEv2's slower flow ends after 200 us.
  EXPECT_EQ(evidence.value()->values("SELECT sum(slow) FROM runs").value().front(), 4);

  const auto page = make_report(*evidence.value(), found.value());
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page.value().runs.size(), 8u);
  ASSERT_EQ(page.value().sections.size(), 2u);
  const auto& figure = std::get<report::XyFigure>(page.value().sections.back().figures.front());
  ASSERT_EQ(figure.series.size(), 3u);  // two schemes and the ideal
  EXPECT_EQ(figure.series[2].label.role, "ideal");
  EXPECT_DOUBLE_EQ(figure.series[1].points.front().x, 4e3);
  EXPECT_DOUBLE_EQ(figure.series[1].points.front().y, 320);
  EXPECT_DOUBLE_EQ(figure.series[1].points.front().low, 300);

  // The table alone leads to the same words.
  const auto markdown = make_markdown(*evidence.value(), found.value());
  ASSERT_TRUE(markdown);
  std::ofstream(folder_ / "runs.csv") << evidence.value()->to_csv();
  const auto again = Evidence::read_csv(rows_, kFullScale, folder_ / "runs.csv");
  ASSERT_TRUE(again) << again.error().message;
  const auto judged = judge(*again.value(), rows_);
  ASSERT_TRUE(judged);
  EXPECT_EQ(make_markdown(*again.value(), judged.value()).value(), markdown.value());
}

// What one machine has made and what another has are one set: each run once, and none of a row that has
// changed since. Notes above a table are for readers.
TEST_F(EvidenceTest, TablesOfOtherMachinesAddWhatIsMissing) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  const std::vector<PlannedRun>& runs = planned.value();
  for (std::size_t i = 0; i < 5; ++i) result(runs[i], 100);
  const auto there = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(there) << there.error().message;
  const fs::path table = folder_ / "there.csv";
  std::ofstream(table) << "# Made yesterday.\n" << there.value()->to_csv();
  fs::remove_all(folder_ / "r");
  for (std::size_t i = 3; i < 8; ++i) result(runs[i], 100);

  const auto all = Evidence::read(rows_, kFullScale, folder_ / "r", {table});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all.value()->count("X").done, 8u);
  EXPECT_TRUE(all.value()->problems().empty());
  EXPECT_EQ(all.value()->notes(), std::vector<std::string>{"Made yesterday."});
  const auto known = runs_in({table}, "1");
  ASSERT_TRUE(known) << known.error().message;
  const RunsElsewhere& found = known.value().front();
  EXPECT_EQ(found.keys.size(), 5u);
  EXPECT_TRUE(found.keys.contains(run_key("X", runs[0].name, runs[0].digest)));
  EXPECT_FALSE(found.keys.contains(run_key("X", runs[5].name, runs[5].digest)));
  const auto none = runs_in({table}, "2");
  EXPECT_TRUE(none.value().front().keys.empty());
  EXPECT_EQ(none.value().front().other_version, 5u);

  std::ofstream(rows_.front().file, std::ios::app) << "\n[run]\nthreads = 2\nend_ms = 99\n";
  const auto changed = Evidence::read(rows_, kFullScale, {}, {table});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed.value()->count("X").done, 0u);
  ASSERT_EQ(changed.value()->problems().size(), 1u);
  EXPECT_NE(changed.value()->problems()[0].find("5 runs of X are of other scenarios"),
            std::string::npos);
}

// A few runs made anew, beside a table that was kept without fingerprints: the new ones count, all have the
// places they would have if run at once, and the page says what is of which version.
TEST_F(EvidenceTest, NewRunsBesideAnOldTable) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  for (const PlannedRun& run : planned.value()) result(run, 100);
  const fs::path old = folder_ / "old.csv";
  std::string text = Evidence::read(rows_, kFullScale, folder_ / "r").value()->to_csv();
  for (const PlannedRun& run : planned.value())
    text.erase(text.find("," + run.digest), run.digest.size() + 1);
  text.erase(text.find(",scenario"), std::string(",scenario").size());
  std::ofstream(old) << "# Kept.\n" << text;
  version_ = "2";
  for (const std::size_t i : {5u, 2u}) {
    fs::remove(folder_ / "r" / "X" / (planned.value()[i].name + ".db"));
    result(planned.value()[i], 300);
  }
  const auto fresh = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh.value()->problems().size(), 1u);  // two versions in one folder
  for (const std::size_t i : {0u, 1u, 3u, 4u, 6u, 7u})
    fs::remove(folder_ / "r" / "X" / (planned.value()[i].name + ".db"));
  const fs::path part = folder_ / "part.csv";
  std::ofstream(part) << Evidence::read(rows_, kFullScale, folder_ / "r").value()->to_csv();

  const auto all = Evidence::read(rows_, kFullScale, {}, {part, old});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_TRUE(all.value()->problems().empty());
  EXPECT_EQ(all.value()->values("SELECT max_us FROM runs ORDER BY rowid").value(),
            (std::vector<double>{100, 100, 300, 100, 100, 300, 100, 100}));
  const auto found = judge(*all.value(), rows_);
  ASSERT_TRUE(found);
  const auto page = make_markdown(*all.value(), found.value());
  ASSERT_TRUE(page);
  EXPECT_EQ(page.value().find("the numbers of every run"), std::string::npos);
  EXPECT_NE(make_markdown(*all.value(), found.value(), "q.csv")
                .value()
                .find("the numbers of every run in `q.csv`."),
            std::string::npos);
  EXPECT_NE(page.value().find("version 1, 2 (2 runs: X)."), std::string::npos) << page.value();
  // The next one reads what this one leaves.
  const std::string merged = all.value()->to_csv();
  EXPECT_TRUE(merged.starts_with("# Kept.\nrow,run,seed,")) << merged.substr(0, 100);
  std::ofstream(part) << merged;
  const auto again = Evidence::read(rows_, kFullScale, {}, {part});
  ASSERT_TRUE(again);
  EXPECT_EQ(again.value()->to_csv(), merged);
}

// The program carries the rows of the repository to the byte.
TEST_F(EvidenceTest, OwnRowsAreTheRepositorys) {
  ASSERT_FALSE(write_own_rows(folder_ / "own"));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(STRACK_PAPER_ROWS)) {
    const auto own = sim::read_file(folder_ / "own" / entry.path().filename());
    ASSERT_TRUE(own) << entry.path();
    EXPECT_EQ(own.value(), sim::read_file(entry.path()).value()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 30u);
}

TEST_F(EvidenceTest, OpenUntilEveryRunOfASeedIsThere) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  for (const PlannedRun& run : planned.value()) {
    if (run.axes.at("size") == "16 MB") result(run, run.axes.at("scheme") == "rocev2" ? 300 : 100);
  }
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence);
  const auto found = judge(*evidence.value(), rows_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().front().verdict, Verdict::open);
  EXPECT_EQ(found.value().front().findings.front().verdict, Verdict::reproduced);
}

TEST_F(EvidenceTest, PartialForeignAndDamagedResultsAreLeftOutAndNamed) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  result(planned.value()[0], 100, metrics::RunStatus::interrupted);
  PlannedRun other = planned.value()[1];
  other.scenario += "# changed\n";
  result(other, 100);
  std::ofstream(folder_ / "r" / "X" / (planned.value()[2].name + ".db")) << "not a database at all";
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence.value()->count("X").done, 0u);
  ASSERT_EQ(evidence.value()->problems().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NE(evidence.value()->problems()[i].find(planned.value()[i].name), std::string::npos);
  }
}

/// Results do not depend on the number of threads, so those that `--threads` has made are the row's.
TEST_F(EvidenceTest, AnyNumberOfThreadsIsTheSameRun) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  PlannedRun other = planned.value()[0];
  const std::size_t line = other.scenario.find("threads = 1\n");
  ASSERT_NE(line, std::string::npos);
  other.scenario.replace(line, 12, "threads = 2\n");
  result(other, 100);
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence.value()->count("X").done, 1u);
  EXPECT_TRUE(evidence.value()->problems().empty());
}

TEST_F(EvidenceTest, ABrokenQueryIsAnErrorThatNamesTheFile) {
  rows_.front().checks.front().value = "SELECT nonsense FROM runs";
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence);
  const auto found = judge(*evidence.value(), rows_);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("X.toml"), std::string::npos);
  EXPECT_NE(found.error().message.find("nonsense"), std::string::npos);
}

// Half of a seed waits for the other half, wherever it came from; the table has it nevertheless.
TEST_F(EvidenceTest, ARowIsJudgedBySeedsThatAreWhole) {
  const auto planned = plan(rows_.front(), kFullScale);
  ASSERT_TRUE(planned);
  std::size_t of_second = 0;
  for (const PlannedRun& run : planned.value()) {
    if (run.seed == 2 && ++of_second == 4) continue;
    result(run, run.axes.at("scheme") == "rocev2" ? (run.seed == 1 ? 300 : 900) : 100);
  }
  const auto judged = [&](Evidence& evidence) {
    EXPECT_EQ(evidence.count("X").done, 7u);
    EXPECT_EQ(evidence.count("X").seeds, std::vector<std::uint64_t>{1});
    EXPECT_EQ(
        evidence.problems(),
        std::vector<std::string>{"X: seed 2 has 3 of its 4 runs, and counts when it has all"});
    const auto findings = judge(evidence, rows_);
    ASSERT_TRUE(findings);
    EXPECT_EQ(findings.value().front().verdict, Verdict::reproduced);
    EXPECT_EQ(findings.value().front().findings.front().values, std::vector<double>{3});
  };
  const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
  ASSERT_TRUE(evidence) << evidence.error().message;
  judged(*evidence.value());
  std::ofstream(folder_ / "t.csv") << evidence.value()->to_csv();
  const auto again = Evidence::read_csv(rows_, kFullScale, folder_ / "t.csv");
  ASSERT_TRUE(again) << again.error().message;
  judged(*again.value());
}

/// A table of all runs as lines of cells, to be changed and read again.
class TableTest : public EvidenceTest {
 protected:
  void SetUp() override {
    EvidenceTest::SetUp();
    const auto planned = plan(rows_.front(), kFullScale);
    ASSERT_TRUE(planned);
    for (const PlannedRun& run : planned.value())
      result(run, run.axes.at("scheme") == "rocev2" ? 300 : 100);
    const auto evidence = Evidence::read(rows_, kFullScale, folder_ / "r");
    ASSERT_TRUE(evidence);
    std::ofstream(file_) << "# A note.\n" << evidence.value()->to_csv();
    const auto table = read_csv_table(file_);
    ASSERT_TRUE(table);
    lines_.push_back(table.value().names);
    for (const CsvTable::Line& line : table.value().lines) lines_.push_back(line.cells);
  }
  std::string& cell(std::size_t line, const std::string& name) {
    const auto at = std::find(lines_[0].begin(), lines_[0].end(), name) - lines_[0].begin();
    return lines_[line].at(static_cast<std::size_t>(at));
  }
  void remove_column(const std::string& name) {
    const auto at = std::find(lines_[0].begin(), lines_[0].end(), name) - lines_[0].begin();
    for (auto& line : lines_) line.erase(line.begin() + at);
  }
  void write() {
    std::ofstream out(file_);
    out << "# A note.\n";
    for (const auto& line : lines_) {
      for (std::size_t i = 0; i < line.size(); ++i) out << (i > 0 ? "," : "") << line[i];
      out << '\n';
    }
  }
  Result<std::shared_ptr<Evidence>, FileError> read() {
    write();
    return Evidence::read(rows_, kFullScale, {}, {file_});
  }
  /// Without the file's name, which every error begins with.
  std::string error() {
    const auto evidence = read();
    if (evidence) return "none";
    const std::string& said = evidence.error().message;
    EXPECT_TRUE(said.starts_with(file_.string() + ":")) << said;
    return said.substr(file_.string().size() + 1);
  }
  /// Of one cell's being so, in the table's fourth line.
  std::string error_of(const std::string& name, const std::string& value) {
    std::string& changed = cell(2, name);
    const std::string before = changed;
    changed = value;
    const std::string said = error();
    changed = before;
    return said;
  }

  fs::path file_ = fs::path(::testing::TempDir()) / "table_of_runs.csv";
  std::vector<std::vector<std::string>> lines_;  ///< the names first
};

// What no run gives is no result: file, line, value and what would be one.
TEST_F(TableTest, RefusesWhatNoRunGives) {
  EXPECT_EQ(error(), "none");
  EXPECT_EQ(error_of("max_us", "-382"), "4: max_us is \"-382\". it is a number above 0");
  EXPECT_EQ(error_of("max_us", "0"), "4: max_us is \"0\". it is a number above 0");
  EXPECT_EQ(error_of("max_us", ""), "4: max_us is \"\". every run has one");
  EXPECT_EQ(error_of("mean_us", "nan"), "4: mean_us is \"nan\". it is a number above 0");
  EXPECT_EQ(error_of("cpu_s", "1e999"), "4: cpu_s is \"1e999\". it is a number from 0 on");
  EXPECT_EQ(error_of("drops", "1.5"), "4: drops is \"1.5\". it is a whole number from 0 on");
  EXPECT_EQ(error_of("hosts", "many"), "4: hosts is \"many\". it is a whole number from 0 on");
  EXPECT_EQ(error_of("slow", "-1"), "4: slow is \"-1\". it is a number from 0 on");
  EXPECT_EQ(error_of("slow", "inf"), "4: slow is \"inf\". it is a number from 0 on");
  EXPECT_EQ(error_of("slow", "much"), "4: slow is \"much\". a measure is a number from 0 on");
  EXPECT_EQ(error_of("who", ""), "4: who is \"\". every run has one");
  EXPECT_EQ(error_of("row", "PXXX"), "4: there is no row PXXX. the rows are X");
  EXPECT_EQ(error_of("status", "fine"),
            "4: status is \"fine\". there are running, finished, time limit, stalled, partial: "
            "interrupted, partial: disk full, partial: failed");
  // The run's name says what it was.
  EXPECT_EQ(error_of("seed", "2"), "4: seed is \"2\", where the run strack-16MB-s1 of X has 1");
  EXPECT_EQ(error_of("size", "4000"),
            "4: size is \"4000\", where the run strack-16MB-s1 of X has 16000000");
  EXPECT_EQ(error(), "none");
}

TEST_F(TableTest, RefusesWhatLacksAColumn) {
  const auto whole = lines_;
  remove_column("max_us");
  EXPECT_EQ(error(),
            "2: there is no column max_us. a table of runs is what `strack paper run --table` "
            "writes");
  lines_ = whole;
  remove_column("slow");
  EXPECT_EQ(
      error(),
      "3: there is no column slow, which X measures. take out the lines of X, or run it again");
  // What a run's name says needs no column.
  lines_ = whole;
  remove_column("size");
  const auto evidence = read();
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(evidence.value()->values("SELECT count(*) FROM runs WHERE size = 16e6").value().front(),
            4);
}

// A run that left flows unfinished would look fast: in tables as in result files.
TEST_F(TableTest, LeavesOutAndCountsWhatHasNotFinished) {
  for (const std::size_t line : {1u, 2u, 3u}) cell(line, "status") = "stalled";
  cell(4, "status") = "time limit";
  cell(4, "max_us") = "";
  const auto evidence = read();
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(evidence.value()->count("X").done, 4u);
  EXPECT_EQ(evidence.value()->problems(),
            (std::vector<std::string>{
                file_.string() + ": 3 runs are not finished (stalled), so they are left out",
                file_.string() + ": a run is not finished (time limit), so it is left out"}));
  const auto known = runs_in({file_}, std::nullopt);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known.value().front().lines, 8u);
  EXPECT_EQ(known.value().front().unfinished, 4u);
  EXPECT_EQ(known.value().front().keys.size(), 4u);
}

// A seed without a number is said, where the others have one.
TEST_F(TableTest, ASeedThatDropsOutIsSaid) {
  rows_.front().checks.front().value =
      "SELECT seed, CASE WHEN seed > 1 THEN 3 END FROM runs GROUP BY seed";
  const auto evidence = read();
  ASSERT_TRUE(evidence) << evidence.error().message;
  ASSERT_TRUE(judge(*evidence.value(), rows_));
  EXPECT_EQ(evidence.value()->problems(),
            std::vector<std::string>{
                "X: \"gain at 16 MB\" has no number of seed 1, so it is judged without"});
}

// --have needs tables of runs, with fingerprints.
TEST_F(TableTest, RunsElsewhereAreInTablesOfRuns) {
  const auto refused = [&](const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    const auto runs = runs_in({file_}, std::nullopt);
    return runs ? "none" : runs.error().message.substr(file_.string().size());
  };
  const std::string writes = ". a table of runs is what `strack paper run --table` writes";
  EXPECT_EQ(refused(""), ": holds no table" + writes);
  EXPECT_EQ(refused(std::string("\x7f"
                                "ELF\0\1,\n\n,,",
                                11)),
            ":1: there is no column row" + writes);
  EXPECT_EQ(refused("garbage,here\n"), ":1: there is no column row" + writes);
  remove_column("scenario");
  write();
  const auto runs = runs_in({file_}, std::nullopt);
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().message.find(":2: there is no column scenario"), std::string::npos);
  EXPECT_EQ(error(), "none");  // names count then
}

TEST(ValueText, HasAsManyDigitsAsMatter) {
  EXPECT_EQ(value_text(6.3, "x"), "6.3x");
  EXPECT_EQ(value_text(6.254, "x"), "6.25x");
  EXPECT_EQ(value_text(370.4, "us"), "370 us");
  EXPECT_EQ(value_text(12.34, "%"), "12.3 %");
  EXPECT_EQ(value_text(1, ""), "1");
  Check check;
  check.unit = "x";
  check.reproduced = {4.8, 7.5};
  check.partly = Range{2, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(rule_text(check), "reproduced from 4.8x to 7.5x, partly from 2x");
}

TEST(ValueText, AValueDoesNotLookLikeTheLimitThatItMisses) {
  Check check;
  check.unit = "x";
  check.reproduced = {1.12, 1.267};
  check.partly = Range{1.06, 1.534};
  EXPECT_EQ(digits_apart(check, 1.3), 0);
  EXPECT_EQ(digits_apart(check, 1.267), 0);  // the limit itself is within
  ASSERT_EQ(digits_apart(check, 1.2735), 1);
  EXPECT_EQ(value_text(1.2735, "x", 1), "1.274x");
  EXPECT_EQ(rule_text(check, 1), "reproduced from 1.12x to 1.267x, partly from 1.06x to 1.534x");
  EXPECT_EQ(digits_apart(check, 1.2666), 0);        // and so is this
  EXPECT_EQ(digits_apart(check, 1.2670000001), 3);  // enough is enough
}

/// The rows of the repository: every query is SQL that the table of runs understands.
TEST(PaperRows, QueriesAreSound) {
  const auto rows = load_rows(STRACK_PAPER_ROWS);
  ASSERT_TRUE(rows) << rows.error().text();
  const auto evidence = Evidence::read(rows.value(), kFullScale, "/nonexistent");
  ASSERT_TRUE(evidence) << evidence.error().message;
  const auto found = judge(*evidence.value(), rows.value());
  ASSERT_TRUE(found) << found.error().message;
  for (const RowFinding& row : found.value()) {
    EXPECT_TRUE(row.row->checks.empty() || row.verdict == Verdict::open) << row.row->id;
  }
  EXPECT_TRUE(make_report(*evidence.value(), found.value()));
}

}  // namespace
}  // namespace strack::paper
