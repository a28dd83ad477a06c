#include "run/batch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::run {
namespace {

namespace fs = std::filesystem;

// The longest first; a task is full when the next does not fit any more.
TEST(Pack, ByTheTimeThatRunsTake) {
  std::vector<PoolRun> runs(5);
  const double weights[] = {10, 70, 20, 30, 10};
  std::vector<PoolRun*> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].weight = weights[i];
    all.push_back(&runs[i]);
  }
  const auto tasks = pack(all, 60);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0], (std::vector<PoolRun*>{&runs[1]}));  // alone, though it is too long
  EXPECT_EQ(tasks[1], (std::vector<PoolRun*>{&runs[3], &runs[2], &runs[0]}));
  EXPECT_EQ(tasks[2], (std::vector<PoolRun*>{&runs[4]}));
  EXPECT_EQ(pack(all, 0).size(), 5u);
  EXPECT_TRUE(pack({}, 60).empty());
}

TEST(Quoted, IsOneWordForAShell) {
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
}

/// Programs of Slurm's names, which do all that is asked at once; `strack` writes its arguments into a file.
class BatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("strack_batch_") + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "bin");
    path_ = std::getenv("PATH");
    setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
    program(
        "sbatch",
        "for w in \"$@\"; do case $w in --array=0-*) n=${w#--array=0-};; esac; last=$w; done\n"
        "echo \"$*\" >>" +
            (folder_ / "sbatch").string() +
            "\n"
            "i=0; while [ $i -le $n ]; do SLURM_ARRAY_TASK_ID=$i sh \"$last\"; i=$((i+1)); done\n"
            "echo '17;cluster'");
    program("squeue", "exit 0");
    program("scancel", "echo \"$1\" >>" + (folder_ / "scancelled").string());
    options_.kind = BatchKind::slurm;
    options_.folder = folder_ / "results";
    options_.program = folder_ / "bin/strack";
    options_.poll = std::chrono::milliseconds(1);
    fs::create_directories(options_.folder);
    program("strack", "echo ran >>" + (folder_ / "ran").string());
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  void program(const std::string& name, const std::string& lines) {
    const fs::path file = folder_ / "bin" / name;
    std::ofstream(file) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }
  PoolRun& add(const std::string& name, double weight = 10) {
    PoolRun& run = runs_.emplace_back();
    run.file = name + ".toml";
    run.out = options_.folder / (name + ".db");
    run.weight = weight;
    return run;
  }
  Result<bool, Problem> make() {
    std::vector<PoolRun*> all;
    for (PoolRun& run : runs_) all.push_back(&run);
    return run_batch(options_, all, stop_);
  }
  static std::string text(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t times_ran() const {
    const std::string lines = text(folder_ / "ran");
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  fs::path folder_;
  std::string path_;
  BatchOptions options_;
  std::list<PoolRun> runs_;
  std::atomic<bool> stop_{false};
};

// What is not there is made, in one array job, and its end is noted.
TEST_F(BatchTest, TasksOfAnArrayJob) {
  PoolRun& a = add("a");
  PoolRun& b = add("b");
  add("c").there = true;
  options_.task_seconds = 15;
  options_.threads = 4;
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made.value());
  EXPECT_TRUE(a.done && b.done);
  EXPECT_EQ(times_ran(), 2u);
  const std::string asked = text(folder_ / "sbatch");
  EXPECT_NE(asked.find("--array=0-1 --cpus-per-task=4 --time=11 "), std::string::npos) << asked;
}

// Slurm takes arrays of so many tasks and no more: more are several jobs, and all of them one to who waits or cancels.
TEST_F(BatchTest, NoArrayIsLargerThanSlurmTakes) {
  program("scontrol", "echo 'Configuration data as of today'; echo 'MaxArraySize            = 2'");
  program("squeue", "echo \"$*\" >>" + (folder_ / "asked").string());
  for (const char* name : {"a", "b", "c", "d", "e"}) add(name);
  options_.task_seconds = 0;
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  for (const PoolRun& run : runs_) EXPECT_TRUE(run.done) << run.out;
  EXPECT_EQ(times_ran(), 5u);
  const std::string asked = text(folder_ / "sbatch");
  EXPECT_EQ(std::count(asked.begin(), asked.end(), '\n'), 3) << asked;
  EXPECT_NE(asked.find("--array=0-1 "), std::string::npos) << asked;
  EXPECT_NE(asked.find("--array=0-0 "), std::string::npos) << asked;
  EXPECT_EQ(text(options_.folder / ".batch/job"), "17,17,17\n");
  EXPECT_NE(text(folder_ / "asked").find("--jobs 17,17,17 "), std::string::npos);
}

// Under mpirun, too: a run is no rank of what started the sweep.
TEST(WordsOf, ARunNamesItsEngine) {
  PoolRun run;
  run.file = "a.toml";
  run.out = "a.db";
  run.seed = 3;
  const std::vector<std::string> cpu{"strack",   "sim",   "run",       "a.toml",  "--seed",
                                     "3",        "--out", "a.db",      "--force", "--quiet",
                                     "--engine", "cpu",   "--threads", "2"};
  EXPECT_EQ(words_of("strack", run, 2), cpu);
  EXPECT_EQ(words_of("strack", run, std::nullopt, "gpu").back(), "gpu");
}

// A run that fails says why; one whose task never came to it is named.
TEST_F(BatchTest, FailuresAreTold) {
  program(
      "strack",
      "case \"$*\" in *a.toml*) echo 'error: no room' >&2; exit 2;; *) kill $PPID; sleep 1;; esac");
  PoolRun& a = add("a", 20);
  PoolRun& b = add("b", 10);
  ASSERT_TRUE(make());
  EXPECT_EQ(a.failure, "no room");
  EXPECT_NE(b.failure.find("b.db: its task ended without it"), std::string::npos) << b.failure;
}

// A job of an earlier command that is still at work is waited for, and nothing is done twice.
TEST_F(BatchTest, AJobThatIsStillThereIsWaitedFor) {
  fs::create_directories(options_.folder / ".batch");
  std::ofstream(options_.folder / ".batch/job") << "5\n";
  std::ofstream(options_.folder / ".batch/a.db.ended") << "0\n";
  // Twice it is there.
  program("squeue", "echo x >>" + (folder_ / "asked").string() + "; [ $(wc -l <" +
                        (folder_ / "asked").string() + ") -gt 2 ] || echo 5_0");
  PoolRun& a = add("a");
  PoolRun& b = add("b");
  ASSERT_TRUE(make());
  EXPECT_TRUE(a.done && b.done);
  EXPECT_EQ(times_ran(), 1u);  // b
}

TEST_F(BatchTest, ToldToStopItCancelsTheJob) {
  program("sbatch", "echo 17");
  program("squeue", "[ -e " + (folder_ / "scancelled").string() + " ] || echo 17_0");
  add("a");
  stop_ = true;
  const auto made = make();
  ASSERT_TRUE(made);
  EXPECT_FALSE(made.value());
  EXPECT_EQ(text(folder_ / "scancelled"), "17\n");
}

// What Slurm still has in its queue is not taken from under it by another way to run.
TEST_F(BatchTest, SshLeavesAJobThatIsQueuedAlone) {
  options_.kind = BatchKind::ssh;
  fs::create_directories(options_.folder / ".batch");
  std::ofstream(options_.folder / ".batch/job") << "5\n";
  std::ofstream(options_.folder / ".batch/task-0.sh") << "exit 0\n";
  add("a");
  for (const char* answer : {"echo 5_0", "exit 127", "echo 'slurm is busy' >&2; exit 1"}) {
    program("squeue", answer);
    const auto refused = make();
    ASSERT_FALSE(refused) << answer;
    EXPECT_NE(refused.error().message.find("Slurm's job 5 is still to write there"),
              std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(fs::exists(options_.folder / ".batch/task-0.sh"));
  }
  EXPECT_EQ(times_ran(), 0u);
}

TEST_F(BatchTest, WhatSlurmRefusesIsToldOnce) {
  program("sbatch", "echo 'sbatch: error: invalid partition' >&2; exit 1");
  add("a");
  const auto refused = make();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "sbatch says: sbatch: error: invalid partition");
}

// Nothing is made for a batch that cannot be.
TEST_F(BatchTest, WhatIsNotHereIsNamed) {
  EXPECT_FALSE(batch_is_missing(BatchKind::none));
  EXPECT_FALSE(batch_is_missing(BatchKind::slurm));
  add("a");
  setenv("PATH", (folder_ / "nothing").c_str(), 1);
  for (const auto& [kind, word] :
       {std::pair{BatchKind::slurm, "no sbatch here"}, {BatchKind::ssh, "no GNU parallel here"}}) {
    options_.kind = kind;
    const auto made = make();
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find(word), std::string::npos) << made.error().message;
    EXPECT_FALSE(fs::exists(options_.folder / ".batch"));
  }
}

// By GNU parallel: each run is a command of its own, and machines are as it takes them.
TEST_F(BatchTest, BySsh) {
  options_.kind = BatchKind::ssh;
  options_.hosts = "a,8/b";
  program("parallel",
          "[ \"$1\" = --version ] && { echo GNU parallel; exit; }\n"
          "echo \"$*\" >" +
              (folder_ / "parallel").string() +
              "\n"
              "for w in \"$@\"; do [ \"$last\" = --arg-file ] && sh \"$w\"; last=$w; done; exit 0");
  PoolRun& a = add("a");
  PoolRun& b = add("b");
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(a.done && b.done);
  EXPECT_EQ(times_ran(), 2u);
  EXPECT_EQ(text(folder_ / "parallel").substr(0, 35), "--will-cite --sshlogin a,8/b --arg-");
}

}  // namespace
}  // namespace strack::run
