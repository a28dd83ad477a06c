// Runs that are threads of one process: the same files as from single runs, and what becomes of one that fails.
#include "run/ensemble.h"

#include <stdlib.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/result_file.h"
#include "run/run.h"

namespace strack::run {
namespace {

namespace fs = std::filesystem;

class EnsembleTest : public ::testing::Test {
 protected:
  EnsembleTest() {
    std::string pattern = (fs::temp_directory_path() / "strack-ensemble-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "two-racks.toml")
        << "[topology]\nhosts = 8\nhosts_per_rack = 4\nspines = 2\n[workload]\nkind = "
           "\"permutation\"\nsize = \"100 KB\"\n";
    // The processor stands in the place of a GPU: what is tested is who runs what.
    options_.gpu_jobs = 3;
    options_.gpu_engine = "cpu";
    options_.gpu_shared = true;
    options_.gpu_only = true;
    options_.program = "/nonexistent";
  }
  ~EnsembleTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  PoolRun& add(std::uint64_t seed, std::vector<std::string> set = {}) {
    PoolRun& run = runs_.emplace_back();
    run.file = folder_ / "two-racks.toml";
    run.set = std::move(set);
    run.seed = seed;
    run.out = folder_ / ("s" + std::to_string(runs_.size()) + ".db");
    run.gpu_weight = 1;
    return run;
  }
  bool run_them() {
    std::vector<PoolRun*> all;
    for (PoolRun& run : runs_) all.push_back(&run);
    return run_all(options_, all, stop_);
  }
  [[nodiscard]] static std::string hash_of(const fs::path& file) {
    const auto opened = metrics::ResultReader::open(file);
    return opened ? opened.value()->state().hash : std::string();
  }

  fs::path folder_;
  PoolOptions options_;
  std::deque<PoolRun> runs_;
  std::atomic<bool> stop_{false};
};

TEST_F(EnsembleTest, RunsAreThoseThatWouldHaveBeenMadeOneByOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) add(seed);
  EXPECT_TRUE(run_them());
  for (const PoolRun& run : runs_) {
    EXPECT_TRUE(run.done) << run.failure;
    Request request;
    request.file = run.file;
    request.seed = run.seed;
    request.out = folder_ / "alone.db";
    request.force = true;
    const auto planned = plan(request);
    ASSERT_TRUE(planned);
    Watcher nobody;
    std::atomic<bool> never{false};
    ASSERT_TRUE(execute(planned.value(), nobody, never));
    EXPECT_EQ(hash_of(run.out), hash_of(request.out));
    EXPECT_NE(hash_of(run.out), "");
  }
}

TEST_F(EnsembleTest, AFailureIsTheRunsOwn) {
  add(1);
  PoolRun& bad = add(2, {"topology.hosts=7"});
  EXPECT_TRUE(run_them());
  EXPECT_TRUE(runs_.front().done);
  EXPECT_FALSE(bad.done);
  EXPECT_NE(bad.failure.find("topology"), std::string::npos) << bad.failure;
}

TEST_F(EnsembleTest, WhoIsToldToStopStopsThemAll) {
  add(1, {"workload.size=\"1 GB\""});
  stop_ = true;
  EXPECT_FALSE(run_them());
  EXPECT_FALSE(runs_.front().started);
  RunHere here(runs_.front(), "cpu");
  here.interrupt();
  std::optional<EndOfRun> end;
  while (!end) end = here.end();
  EXPECT_EQ(end->status, kInterruptedStatus);
}

TEST(GpuWeight, GoesByTheEngineAndByWhatAGpuIsWorth) {
  const sim::ExpectedTime lossless{100, std::nullopt};
  const sim::ExpectedTime large{100, 10};
  const sim::ExpectedTime small{1, 0.5};
  EXPECT_EQ(gpu_weight("cpu", large), std::nullopt);
  EXPECT_EQ(gpu_weight("auto", large), 10);
  EXPECT_EQ(gpu_weight("auto", small), std::nullopt);
  EXPECT_EQ(gpu_weight("auto", lossless), std::nullopt);
  EXPECT_EQ(gpu_weight("gpu", small), 0.5);
  EXPECT_EQ(gpu_weight("gpu", lossless), 100);  // as it was asked
  EXPECT_EQ(gpu_weight("emulated", lossless), std::nullopt);
}

}  // namespace
}  // namespace strack::run
