// Pools of runs: who runs what, and what becomes of runs that fail. A script stands in the place of the program.
#include "run/pool.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::run {
namespace {

namespace fs = std::filesystem;

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
    options_.jobs = 1;
    options_.gpu_jobs = 1;
    options_.program = folder_ / "program";
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A program that writes its scenario's name into the file `done`, or `gpu` where it is told of that engine.
  void program(const std::string& first) {
    std::ofstream(options_.program)
        << "#!/bin/sh\ncd '" << folder_.string() << "'\n"
        << first << "\ncase \"$*\" in *\"--engine gpu\"*) file=gpu;; *) file=done;; esac\n"
        << "echo \"$3\" >> $file\n";
    fs::permissions(options_.program, fs::perms::owner_all);
  }
  PoolRun& add(const std::string& name, double weight, std::optional<double> gpu_weight) {
    runs_.emplace_back();
    PoolRun& run = runs_.back();
    run.file = name;
    run.out = folder_ / (name + ".db");
    run.weight = weight;
    run.gpu_weight = gpu_weight;
    return run;
  }
  bool run_them() {
    std::vector<PoolRun*> all;
    for (PoolRun& run : runs_) all.push_back(&run);
    return run_all(options_, all, stop_);
  }
  /// The words of a file, with spaces between.
  [[nodiscard]] std::string told(const std::string& file) const {
    std::ifstream in(folder_ / file);
    std::string all;
    for (std::string word; in >> word;) all += (all.empty() ? "" : " ") + word;
    return all;
  }

  fs::path folder_;
  PoolOptions options_;
  std::deque<PoolRun> runs_;
  std::atomic<bool> stop_{false};
};

TEST_F(PoolTest, AGpuTakesWhatItCanRunAndProcessorsTheRest) {
  program("");
  add("a", 100, 1);
  add("b", 100, std::nullopt);
  add("c", 100, 1);
  add("d", 100, std::nullopt);
  add("there", 100, std::nullopt).there = true;
  PoolProgress last;
  options_.on_progress = [&last](const PoolProgress& progress) { last = progress; };
  EXPECT_TRUE(run_them());
  EXPECT_EQ(told("gpu"), "a c");
  EXPECT_EQ(told("done"), "b d");
  for (const PoolRun& run : runs_) EXPECT_EQ(run.done, !run.there) << run.file;
  EXPECT_EQ(last.done, 4u);
  EXPECT_EQ(last.missing, 4u);
  EXPECT_EQ(last.share, 1);
}

TEST_F(PoolTest, WithoutAGpuProcessorsTakeAllInOrder) {
  program("");
  options_.gpu_jobs = 0;
  add("a", 100, 1);
  add("b", 100, std::nullopt);
  EXPECT_TRUE(run_them());
  EXPECT_EQ(told("done"), "a b");
}

// A processor that has nothing else to do helps with what it has done before the GPU would come to it.
TEST_F(PoolTest, ProcessorsTakeFromTheGpusLineWhatIsShort) {
  program("");
  add("a", 0.5, 10);
  add("b", 0.5, 10);
  EXPECT_TRUE(run_them());
  EXPECT_EQ(told("gpu"), "a");
  EXPECT_EQ(told("done"), "b");
}

TEST_F(PoolTest, WhatAGpuFailsAtIsRunByAProcessor) {
  program("case \"$*\" in *\"--engine gpu\"*) echo 'error: its memory is full' >&2; exit 2;; esac");
  PoolRun& run = add("a", 100, 1);
  EXPECT_TRUE(run_them());
  EXPECT_EQ(told("done"), "a");
  EXPECT_TRUE(run.done);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.gpu_failure, "its memory is full");
}

TEST_F(PoolTest, AFailureIsInTheProgramsWords) {
  program(
      "case $3 in stalls) exit 1;; killed) kill -9 $$;; silent) exit 7;; esac; "
      "test $3 = good || { echo 'error: no such key' >&2; exit 2; }");
  add("good", 1, std::nullopt);
  add("bad", 1, std::nullopt);
  add("killed", 1, std::nullopt);
  add("silent", 1, std::nullopt);
  add("stalls", 1, std::nullopt);
  EXPECT_TRUE(run_them());
  EXPECT_EQ(runs_[0].failure, "");
  EXPECT_EQ(runs_[1].failure, "no such key");
  EXPECT_EQ(runs_[2].failure, runs_[2].out.string() + ": its process was killed by signal 9");
  EXPECT_EQ(runs_[3].failure, runs_[3].out.string() + ": its process ended with status 7");
  EXPECT_EQ(runs_[4].failure, "");
  EXPECT_TRUE(runs_[4].done);
}

TEST_F(PoolTest, NothingIsBegunThatWouldNotBeDoneInTime) {
  program("");
  options_.stop_after = std::chrono::minutes(1);
  add("long", 50, std::nullopt);  // with room for one that takes longer than it should
  add("short", 1, std::nullopt);
  EXPECT_FALSE(run_them());
  EXPECT_EQ(told("done"), "short");
  EXPECT_FALSE(runs_[0].started);
}

TEST_F(PoolTest, ToldToStopItInterruptsWhatRuns) {
  program("trap 'exit 130' INT; echo x > begun; while :; do sleep 0.01; done");
  add("a", 1, std::nullopt);
  options_.on_progress = [this](const PoolProgress&) {
    if (fs::exists(folder_ / "begun")) stop_ = true;
  };
  EXPECT_FALSE(run_them());
  EXPECT_FALSE(runs_[0].done);
  EXPECT_EQ(runs_[0].failure, "");
}

}  // namespace
}  // namespace strack::run
