// A run as other programs start it: planned, watched, stopped, and read again.
#include "run/run.h"

#include <stdlib.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/summary.h"
#include "run/sweep.h"

namespace strack::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kScenario = R"(name = "two racks"
[topology]
hosts = 8
hosts_per_rack = 4
spines = 2
[workload]
kind = "permutation"
size = "100 KB"
)";

/// A folder of its own for each test, gone afterwards, with a scenario in it.
class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    std::string pattern = (fs::temp_directory_path() / "strack-run-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(file()) << kScenario;
  }
  ~RunTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] fs::path file() const { return folder_ / "two-racks.toml"; }
  [[nodiscard]] Request request() const {
    Request request;
    request.file = file();
    request.out = folder_ / "out.db";
    return request;
  }

  fs::path folder_;
};

struct Counting : Watcher {
  int reports = 0;
  sim::Progress last;
  void on_progress(const sim::Progress& progress) override {
    ++reports;
    last = progress;
  }
};

TEST_F(RunTest, Plan_DecidesEverything) {
  Request wanted = request();
  wanted.set = {"workload.size=\"200 KB\""};
  wanted.seed = 7;
  wanted.threads = 2;
  const auto planned = plan(wanted);
  ASSERT_TRUE(planned) << planned.error().message;
  const Plan& p = planned.value();
  EXPECT_EQ(p.config.seed, 7u);
  EXPECT_EQ(p.config.threads, 2u);
  EXPECT_EQ(p.info.threads, 2u);
  EXPECT_THAT(p.info.scenario, HasSubstr("\nthreads = 2\n"));
  EXPECT_EQ(p.seeds, 1u);
  EXPECT_EQ(p.info.name, "two racks");
  EXPECT_EQ(p.info.hosts, 8u);
  EXPECT_EQ(p.info.flows, 8u);
  EXPECT_EQ(p.info.bytes, kb(1'600));
  EXPECT_GT(p.info.ideal_fct, ps(0));
  EXPECT_EQ(p.out, folder_ / "out.db");
  EXPECT_FALSE(fs::exists(p.out));  // nothing is done yet
}

TEST_F(RunTest, Plan_NamesTheFileThatNobodyNamed) {
  Request wanted = request();
  wanted.out.clear();
  const auto planned = plan(wanted);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned.value().out,
            fs::path("results") / ("tworacks-" + planned.value().info.scheme + "-s1.db"));
}

TEST_F(RunTest, Plan_SaysWhatIsWrongWithTheScenario) {
  Request wanted = request();
  wanted.set = {"topology.hosts=0"};
  const auto planned = plan(wanted);
  ASSERT_FALSE(planned);
  EXPECT_THAT(planned.error().message, HasSubstr("hosts is 0"));
}

// A scenario that is no file: what it is called is in messages, and others are sought beside that.
TEST_F(RunTest, Plan_TakesATextInPlaceOfAFile) {
  Request wanted = request();
  wanted.file = folder_ / "nowhere.toml";
  wanted.text = kScenario;
  wanted.seed = 7;
  const auto planned = plan(wanted);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned.value().info.hosts, 8u);
  EXPECT_EQ(planned.value().config.seed, 7u);
  EXPECT_FALSE(fs::exists(wanted.file));
  wanted.text = "hosts = 8\n";
  const auto wrong = plan(wanted);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("nowhere.toml:1: "));
}

TEST_F(RunTest, Execute_WritesAFileThatCanBeSummarised) {
  const auto planned = plan(request());
  ASSERT_TRUE(planned);
  Counting watcher;
  std::atomic<bool> stop{false};
  const auto outcome = execute(planned.value(), watcher, stop);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome.value().status, metrics::RunStatus::finished);
  EXPECT_GE(watcher.reports, 1);
  EXPECT_EQ(watcher.last.flows_done, 8u);
  EXPECT_EQ(watcher.last.bytes_acked, 800'000u);
  const auto summary = metrics::summarise(planned.value().out);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary.value().counters.hash, outcome.value().counters.hash);
  EXPECT_NE(outcome.value().counters.hash, 0u);
}

TEST_F(RunTest, Execute_IsTheSameForAnyNumberOfThreads) {
  std::vector<std::uint64_t> hashes;
  for (const std::uint32_t threads : {1u, 2u}) {
    Request wanted = request();
    wanted.threads = threads;
    wanted.force = true;
    const auto planned = plan(wanted);
    ASSERT_TRUE(planned);
    Watcher nobody;
    std::atomic<bool> stop{false};
    const auto outcome = execute(planned.value(), nobody, stop);
    ASSERT_TRUE(outcome);
    hashes.push_back(outcome.value().counters.hash);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// What goes by links inside servers is counted apart: NICs carry the rest.
TEST_F(RunTest, Execute_CountsWhatStaysInsideServers) {
  Request wanted = request();
  wanted.set = {"topology.nics_per_server=2", "workload.kind=collective",
                "workload.collective=allreduce-ring", "workload.ranks=4",
                "workload.placement=packed"};
  const auto planned = plan(wanted);
  ASSERT_TRUE(planned) << planned.error().message;
  Watcher nobody;
  std::atomic<bool> stop{false};
  ASSERT_TRUE(execute(planned.value(), nobody, stop));
  const auto summary = metrics::summarise(wanted.out);
  ASSERT_TRUE(summary);
  // A ring through two servers of two NICs: every other of its four hops stays inside.
  const auto inside = summary.value().counted(metrics::kInsideServers);
  EXPECT_EQ(2 * inside, static_cast<std::uint64_t>(summary.value().delivered.count()));
}

TEST_F(RunTest, Execute_StopsWhenTold) {
  const auto planned = plan(request());
  ASSERT_TRUE(planned);
  Watcher nobody;
  std::atomic<bool> stop{true};
  const auto outcome = execute(planned.value(), nobody, stop);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome.value().status, metrics::RunStatus::interrupted);
  const auto read = metrics::ResultReader::open(planned.value().out);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value()->state().status, metrics::RunStatus::interrupted);
  EXPECT_EQ(read.value()->flows().value().size(), 8u);  // as far as they came
}

TEST_F(RunTest, Execute_ReplacesNothingUnasked) {
  const auto planned = plan(request());
  ASSERT_TRUE(planned);
  Watcher nobody;
  std::atomic<bool> stop{false};
  ASSERT_TRUE(execute(planned.value(), nobody, stop));
  const auto again = execute(planned.value(), nobody, stop);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("exists already"));
}

TEST_F(RunTest, SafeName_IsAFileName) {
  EXPECT_EQ(safe_name("a b/c:d"), "ab_c_d");
  EXPECT_EQ(safe_name(".x"), "_.x");
  EXPECT_EQ(safe_name(""), "_");
}

TEST_F(RunTest, PlanSweep_IsTheProductOfAxesAndSeeds) {
  const auto sweep = plan_sweep({file(),
                                 {"transport.max_paths=8,64", "workload.size=\"1 MB\",\"2 MB\""},
                                 "1-3",
                                 folder_ / "sweep",
                                 false});
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_EQ(sweep.value().runs.size(), 12u);
  EXPECT_EQ(sweep.value().axes.size(), 2u);
  EXPECT_EQ(sweep.value().runs[4].labels, (std::vector<std::string>{"8", "\"2 MB\"", "2"}));
  EXPECT_FALSE(sweep.value().runs[4].there);
  EXPECT_TRUE(fs::is_directory(folder_ / "sweep"));
}

// What changes none of the runs is told; what changes some of them is not.
TEST_F(RunTest, PlanSweep_KnowsWhatNobodyReads) {
  const auto sweep = plan_sweep({file(),
                                 {"transport.scheme=nscc,dctcp", "switch.kmin=1000,2000",
                                  "switch.kmax=\"1 BDP\"", "dctcp.kmax=\"1 BDP\""},
                                 "1",
                                 folder_ / "sweep",
                                 false});
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep.value().unread, (std::vector<std::string>{"switch.kmin", "switch.kmax"}));
}

TEST_F(RunTest, PlanSweep_FindsWhatIsThere) {
  const auto first = plan_sweep({file(), {}, "1-2", folder_ / "sweep", false});
  ASSERT_TRUE(first) << first.error().message;
  Request wanted = request();
  wanted.seed = 2;
  wanted.threads = 2;  // which decides no result
  wanted.out = first.value().runs[1].out;
  const auto planned = plan(wanted);
  ASSERT_TRUE(planned);
  Watcher nobody;
  std::atomic<bool> stop{false};
  ASSERT_TRUE(execute(planned.value(), nobody, stop));

  const auto second = plan_sweep({file(), {}, "1-2", folder_ / "sweep", false});
  ASSERT_TRUE(second);
  EXPECT_FALSE(second.value().runs[0].there);
  EXPECT_TRUE(second.value().runs[1].there);
  // Another scenario's result is in the way, unless everything is to be run again.
  std::ofstream(file(), std::ios::app) << "cross_rack = true\n";
  const auto other = plan_sweep({file(), {}, "1-2", folder_ / "sweep", false});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("holds a finished run of another scenario"));
  EXPECT_TRUE(plan_sweep({file(), {}, "1-2", folder_ / "sweep", true}));
}

TEST_F(RunTest, PlanSweep_FindsMistakesBeforeAnythingStarts) {
  const auto sweep = plan_sweep({file(), {"topology.hosts=8,9"}, "", folder_ / "sweep", false});
  ASSERT_FALSE(sweep);
  EXPECT_THAT(sweep.error().message, HasSubstr("hosts is 9"));
  EXPECT_FALSE(fs::exists(folder_ / "sweep"));
}

// Where a setting comes from is told as it is: a seed that nobody gave was not given.
TEST_F(RunTest, Plan_TellsWhereTheSeedComesFrom) {
  const auto origin = [this](std::optional<std::uint64_t> seed, std::vector<std::string> set) {
    Request wanted = request();
    wanted.seed = seed;
    wanted.set = std::move(set);
    const auto planned = plan(wanted);
    EXPECT_TRUE(planned) << planned.error().message;
    for (const metrics::Setting& setting : planned.value().info.settings) {
      if (setting.key == "run.seed") return setting.value + " " + setting.origin;
    }
    return std::string();
  };
  EXPECT_EQ(origin({}, {}), "1 default");
  EXPECT_EQ(origin(1, {}), "1 given");
  EXPECT_EQ(origin({}, {"run.seed=3"}), "3 given");
  EXPECT_EQ(origin({}, {"run.seeds=[4, 5]"}), "4 given");
}

// The run has gone on at least until its last flow ended.
TEST_F(RunTest, Execute_EndsNoSoonerThanItsFlows) {
  const auto planned = plan(request());
  ASSERT_TRUE(planned) << planned.error().message;
  Counting watcher;
  std::atomic<bool> stop{false};
  ASSERT_TRUE(execute(planned.value(), watcher, stop));
  const auto summary = metrics::summarise(request().out);
  ASSERT_TRUE(summary);
  EXPECT_GE(summary.value().state.now, summary.value().slowest_flow.end);
  EXPECT_GE(watcher.last.now, summary.value().slowest_flow.end);
}

// A key that is swept twice would be set to one value and labelled with two.
TEST_F(RunTest, Sweep_RefusesAKeyThatIsSetTwice) {
  const auto planned =
      plan_sweep({file(), {"workload.size=1KB,2KB", "workload.size=4KB"}, "", folder_, false});
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().message,
            "--set workload.size=4KB: workload.size is set twice. give all its values at once: "
            "--set workload.size=1KB,2KB,4KB");
}

}  // namespace
}  // namespace strack::run
