// One run by several ranks, which are threads here: one file, by the first; and what is said when one is missing.
#include <stdlib.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/summary.h"
#include "run/run.h"
#include "sim/engine/thread_ranks.h"

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

class RanksTest : public ::testing::Test {
 protected:
  RanksTest() {
    std::string pattern = (fs::temp_directory_path() / "strack-ranks-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "two-racks.toml") << kScenario;
  }
  ~RanksTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// What came of it at each of two ranks; `change` is made to what a rank asks for.
  struct Ended {
    std::optional<Outcome> outcome;
    Problem problem;
  };
  std::array<Ended, 2> run_two(const std::function<void(Request&)>& change) {
    std::array<Ended, 2> ended;
    sim::testing::run_ranks(2, [&](sim::Ranks& here) {
      Request wanted;
      wanted.file = folder_ / "two-racks.toml";
      wanted.out = out();
      wanted.engine = sim::Engine::mpi;
      wanted.ranks = &here;
      change(wanted);
      const auto planned = plan(wanted);
      ASSERT_TRUE(planned) << planned.error().message;
      Watcher nobody;
      std::atomic<bool> stop{false};
      const auto outcome = execute(planned.value(), nobody, stop);
      Ended& mine = ended[here.rank()];
      if (outcome) {
        mine.outcome = outcome.value();
      } else {
        mine.problem = outcome.error();
      }
    });
    return ended;
  }
  [[nodiscard]] fs::path out() const { return folder_ / "out.db"; }
  [[nodiscard]] metrics::RunStatus status() const {
    return metrics::summarise(out()).value().state.status;
  }

  fs::path folder_;
};

// [D80] The file is what one process would have written.
TEST_F(RanksTest, OneFile) {
  Request alone;
  alone.file = folder_ / "two-racks.toml";
  alone.out = folder_ / "alone.db";
  const auto planned = plan(alone);
  ASSERT_TRUE(planned);
  Watcher nobody;
  std::atomic<bool> stop{false};
  const auto wanted = execute(planned.value(), nobody, stop);
  ASSERT_TRUE(wanted);
  const auto ended = run_two([](Request&) {});
  ASSERT_TRUE(ended[0].outcome && ended[1].outcome);
  EXPECT_EQ(ended[0].outcome->counters.hash, wanted.value().counters.hash);
  EXPECT_EQ(ended[0].outcome->counters.packet_hops, wanted.value().counters.packet_hops);
  EXPECT_EQ(ended[1].outcome->status, metrics::RunStatus::finished);
  EXPECT_EQ(status(), metrics::RunStatus::finished);
}

// The first says what is wrong, once, and nobody waits for anybody.
TEST_F(RanksTest, AFileThatIsThereIsKept) {
  ASSERT_TRUE(run_two([](Request&) {})[0].outcome);
  const auto ended = run_two([](Request&) {});
  EXPECT_THAT(ended[0].problem.message, HasSubstr("out.db"));
  EXPECT_EQ(ended[1].problem.message, "");
  EXPECT_FALSE(ended[0].problem.fatal || ended[1].problem.fatal);
}

TEST_F(RanksTest, RanksWithDifferentScenarios) {
  const auto ended = run_two([](Request& wanted) {
    if (wanted.ranks->rank() == 1) wanted.set = {"workload.size=\"90 KB\""};
  });
  EXPECT_THAT(ended[0].problem.message, HasSubstr("other ranks read another scenario"));
  EXPECT_EQ(ended[1].problem.message, "");
  EXPECT_EQ(status(), metrics::RunStatus::failed);
}

TEST_F(RanksTest, WhatTheyCannotShare) {
  const auto ended = run_two([](Request& wanted) { wanted.set = {"pfc.enabled=true"}; });
  EXPECT_THAT(ended[0].problem.message, HasSubstr("the MPI engine has no lossless switches"));
  EXPECT_EQ(ended[1].problem.message, "");
  EXPECT_EQ(status(), metrics::RunStatus::failed);
}

// One that dies leaves a file that says so, and the others are to be ended.
TEST_F(RanksTest, ARankThatIsLost) {
  Problem problem;
  sim::testing::run_ranks(2, [&](sim::Ranks& here) {
    if (here.rank() == 1) {
      here.abort();
      return;
    }
    Request wanted;
    wanted.file = folder_ / "two-racks.toml";
    wanted.out = out();
    wanted.ranks = &here;
    const auto planned = plan(wanted);
    ASSERT_TRUE(planned);
    Watcher nobody;
    std::atomic<bool> stop{false};
    const auto outcome = execute(planned.value(), nobody, stop);
    ASSERT_FALSE(outcome);
    problem = outcome.error();
  });
  EXPECT_TRUE(problem.fatal);
  EXPECT_THAT(problem.message, HasSubstr("another rank does not answer"));
  EXPECT_EQ(status(), metrics::RunStatus::failed);
}

}  // namespace
}  // namespace strack::run
