// [D117] A run that is stopped, and the same request once more: result files of the same rows, and what is not to be
// gone on with is refused in words.
#include "run/checkpoint.h"

#include <stdlib.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/sqlite.h"
#include "run/run.h"

namespace strack::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Flows that take two reports of progress, a job with communications behind them, all of it sampled.
constexpr const char* kScenario = R"(name = "long enough"
[topology]
hosts = 8
hosts_per_rack = 4
spines = 2
[[workload]]
kind = "permutation"
size = "{}"
[[workload]]
kind = "training"
model = "llama2-7b"
layers = 1
hidden = 256
ffn = 512
heads = 8
kv_heads = 8
vocab = 1000
dp = 8
sequence = 64
batch = 8
[record]
interval_us = {}
links = true
flows = 2
inspect = 1
)";

struct Notes final : Watcher {
  std::vector<std::string> notes;
  std::atomic<bool>* stop = nullptr;  ///< set by the first report of progress
  void on_note(const std::string& text) override { notes.push_back(text); }
  void on_progress(const sim::Progress& progress) override {
    if (stop != nullptr && progress.packet_hops > 0) stop->store(true);
  }
};

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// While it lives, nothing can be written to a file.
class NoRoom {
 public:
  NoRoom() : before_(signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit_), 0);
    const rlimit none{0, limit_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    std::string pattern = (fs::temp_directory_path() / "strack-checkpoint-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    write("1 MB", 5);
  }
  ~CheckpointTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void write(const std::string& size, int interval) const {
    std::ofstream(folder_ / "a.toml") << fmt::format(fmt::runtime(kScenario), size, interval);
  }
  [[nodiscard]] Plan planned(const std::string& out) const {
    Request request;
    request.file = folder_ / "a.toml";
    request.out = folder_ / out;
    request.checkpoint = {.every_seconds = every_, .least_seconds = 0, .fresh = fresh_};
    request.threads = threads_;
    auto made = plan(request);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return std::move(made).value();
  }
  /// Stopped before its first window.
  Outcome stopped(const std::string& out) const {
    std::atomic<bool> stop{true};
    Watcher nobody;
    return execute(planned(out), nobody, stop).value();
  }
  Outcome run(const std::string& out, Notes& notes) const {
    std::atomic<bool> stop{false};
    auto done = execute(planned(out), notes, stop);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return done ? done.value() : Outcome{};
  }
  [[nodiscard]] fs::path checkpoint() const { return checkpoint_path(folder_ / "a.db"); }

  /// All rows but the times of the clock on the wall.
  [[nodiscard]] std::vector<std::string> rows(const std::string& file) const {
    metrics::Database database;
    EXPECT_TRUE(database.open(folder_ / file, metrics::Database::Access::read, 1'000));
    std::vector<std::string> all;
    for (const char* select :
         {"settings", "workloads", "flows", "jobs", "links", "link_samples", "flow_samples",
          "channels", "flow_events", "communications", "computations", "counters",
          "(SELECT name, seed, scenario, source, hosts, flows, jobs, status, now_ps, hash FROM "
          "run)"}) {
      metrics::Statement statement;
      EXPECT_TRUE(statement.prepare(database, fmt::format("SELECT * FROM {}", select))) << select;
      while (statement.next()) {
        std::string row = select;
        for (int i = 0; i < statement.columns(); ++i) {
          std::string value;
          statement >> value;
          row += ' ' + value;
        }
        all.push_back(row);
      }
    }
    return all;
  }

  fs::path folder_;
  double every_ = 600;
  bool fresh_ = false;
  std::optional<std::uint32_t> threads_;
};

// [D117] Stopped in the middle and gone on with, by another number of threads: the same rows, and no checkpoint left.
TEST_F(CheckpointTest, GoesOnToTheSameRows) {
  write("250 MB", 500);
  every_ = 1e-9;  // also with each report of progress
  Notes notes;
  const Outcome whole = run("whole.db", notes);
  EXPECT_EQ(whole.status, metrics::RunStatus::finished);
  EXPECT_TRUE(notes.notes.empty());
  EXPECT_FALSE(fs::exists(checkpoint_path(folder_ / "whole.db")));
  {
    std::atomic<bool> stop{false};
    Notes watcher;
    watcher.stop = &stop;
    const auto first = execute(planned("a.db"), watcher, stop);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_EQ(first.value().status, metrics::RunStatus::interrupted);
    EXPECT_THAT(first.value().goes_on, HasSubstr("the same command goes on at "));
    EXPECT_TRUE(fs::exists(checkpoint()));
  }
  threads_ = 2;
  const Outcome rest = run("a.db", notes);
  EXPECT_EQ(rest.status, metrics::RunStatus::finished);
  EXPECT_EQ(rest.counters.hash, whole.counters.hash);
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_THAT(notes.notes[0], HasSubstr("goes on at "));
  EXPECT_THAT(notes.notes[0], HasSubstr(" of simulated time ("));
  EXPECT_TRUE(rows("a.db") == rows("whole.db"));
  EXPECT_FALSE(fs::exists(checkpoint()));
}

// [D117] Also from its very beginning, several times over.
TEST_F(CheckpointTest, GoesOnFromTheBeginning) {
  Notes notes;
  run("whole.db", notes);
  EXPECT_THAT(stopped("a.db").goes_on, HasSubstr("the same command goes on at 0"));
  EXPECT_EQ(stopped("a.db").status, metrics::RunStatus::interrupted);
  run("a.db", notes);
  EXPECT_TRUE(rows("a.db") == rows("whole.db"));
}

// [D117] What is damaged, of another scenario or of another result file is said to be, and the run starts anew.
TEST_F(CheckpointTest, StartsAnewWhereItCannotGoOn) {
  Notes whole;
  run("whole.db", whole);
  const auto expect_anew = [&](const std::string& why) {
    Notes notes;
    EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished) << why;
    ASSERT_EQ(notes.notes.size(), 1u) << why;
    EXPECT_THAT(notes.notes[0], HasSubstr(why + ". the run starts anew"));
    EXPECT_TRUE(rows("a.db") == rows("whole.db")) << why;
    EXPECT_FALSE(fs::exists(checkpoint()));
    fs::remove(folder_ / "a.db");
  };

  stopped("a.db");
  const std::string bytes = bytes_of(checkpoint());
  ASSERT_GT(bytes.size(), 1'000u);
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(checkpoint(), std::ios::binary) << damaged;
  expect_anew("is damaged");

  stopped("a.db");
  fs::resize_file(checkpoint(), bytes.size() - 1);
  expect_anew("is damaged");

  stopped("a.db");
  std::ofstream(checkpoint(), std::ios::binary) << "STRKCKP0, as it was in another version";
  expect_anew("is not a checkpoint of this version of strack");

  stopped("a.db");
  fs::remove(folder_ / "a.db");
  expect_anew("there is no such file");
}

// [D117] A result file that somebody keeps locked, and a disk without room, pass: the run does not start, both files stay
// as they were, and the same request goes on later.
TEST_F(CheckpointTest, WhatPassesLeavesBothFilesAlone) {
  Notes whole;
  run("whole.db", whole);
  stopped("a.db");
  const std::string result = bytes_of(folder_ / "a.db");
  const std::string kept = bytes_of(checkpoint());
  const auto expect_refused = [&](const std::string& why) {
    Notes notes;
    std::atomic<bool> stop{false};
    const auto refused = execute(planned("a.db"), notes, stop);
    ASSERT_FALSE(refused) << why;
    EXPECT_THAT(refused.error().message,
                HasSubstr("a.db.checkpoint: the run cannot go on with it"));
    EXPECT_THAT(refused.error().message, HasSubstr(why));
    EXPECT_TRUE(notes.notes.empty());
    EXPECT_TRUE(bytes_of(folder_ / "a.db") == result) << why;
    EXPECT_TRUE(bytes_of(checkpoint()) == kept) << why;
  };
  {
    metrics::Database other;
    ASSERT_TRUE(other.open(folder_ / "a.db", metrics::Database::Access::write, 0));
    ASSERT_TRUE(other.execute("BEGIN IMMEDIATE"));
    expect_refused("another program keeps it locked");
  }
  {
    const NoRoom full;
    expect_refused("the file has reached the largest size allowed here");
  }
  Notes notes;
  EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished);
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_THAT(notes.notes[0], HasSubstr("goes on at "));
  EXPECT_TRUE(rows("a.db") == rows("whole.db"));
}

// [D117] What is left of another run is not replaced unasked, however little it is.
TEST_F(CheckpointTest, AnotherRunsStays) {
  write("2 MB", 5);
  stopped("a.db");
  write("1 MB", 5);
  Notes notes;
  std::atomic<bool> stop{false};
  const auto refused = execute(planned("a.db"), notes, stop);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a.db: exists already"));
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_TRUE(notes.notes[0].ends_with(
      "a.db.checkpoint: is of another scenario, or of other settings or another seed"))
      << notes.notes[0];
  EXPECT_TRUE(fs::exists(checkpoint()));
  write("2 MB", 5);
  EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished);
  EXPECT_THAT(notes.notes[1], HasSubstr("goes on at "));
}

// [D117] What has the name and never was one is nobody's to take away.
TEST_F(CheckpointTest, AnotherFileOfItsNameStays) {
  std::ofstream(checkpoint(), std::ios::binary) << "something else altogether";
  Notes notes;
  EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished);
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_THAT(notes.notes[0], HasSubstr("is no checkpoint, and stays; this run keeps none"));
  EXPECT_EQ(fs::file_size(checkpoint()), 25u);
}

// [D117] One of another build is not read.
TEST_F(CheckpointTest, RefusesAnotherBuild) {
  stopped("a.db");
  ASSERT_EQ(write_checkpoint(checkpoint(),
                             [&](sim::Saver& a) {
                               CheckpointHead head = head_of(planned("a.db"));
                               head.program = "0.0.1 elsewhere";
                               a(head);
                             }),
            std::nullopt);
  Notes notes;
  EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished);
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_THAT(notes.notes[0],
              HasSubstr("is of another build of strack (0.0.1 elsewhere; this is "));
}

// [D117] Whoever wants to begins again, without a word about what is there.
TEST_F(CheckpointTest, Fresh) {
  stopped("a.db");
  fresh_ = true;
  Notes notes;
  EXPECT_EQ(run("a.db", notes).status, metrics::RunStatus::finished);
  EXPECT_TRUE(notes.notes.empty());
  EXPECT_FALSE(fs::exists(checkpoint()));
}

// [D124] Existing files may be replaced, and what was done is still gone on with.
TEST_F(CheckpointTest, ForceGoesOn) {
  const Outcome outcome = stopped("a.db");
  EXPECT_TRUE(outcome.kept);
  Plan forced = planned("a.db");
  forced.request.force = true;
  Notes notes;
  std::atomic<bool> stop{false};
  const auto done = execute(forced, notes, stop);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done.value().status, metrics::RunStatus::finished);
  EXPECT_FALSE(done.value().kept);
  ASSERT_EQ(notes.notes.size(), 1u);
  EXPECT_THAT(notes.notes[0], HasSubstr("goes on at "));
}

// [D117] A checkpoint that cannot be written costs nothing but itself: the result file is as ever.
TEST_F(CheckpointTest, CannotBeWritten) {
  fs::create_directories(folder_ / "a.db.checkpoint.new");
  const Outcome outcome = stopped("a.db");
  EXPECT_EQ(outcome.status, metrics::RunStatus::interrupted);
  EXPECT_THAT(outcome.goes_on, HasSubstr("the checkpoint could not be written: Is a directory"));
  EXPECT_FALSE(fs::exists(checkpoint()));
}

// [D117] A run that was short begins again, as ever.
TEST_F(CheckpointTest, ShortRunsHaveNone) {
  Plan brief = planned("a.db");
  brief.request.checkpoint.least_seconds = 1'000;
  std::atomic<bool> stop{true};
  Watcher nobody;
  EXPECT_EQ(execute(brief, nobody, stop).value().goes_on, "");
  EXPECT_FALSE(fs::exists(checkpoint()));
  const auto again = execute(brief, nobody, stop);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("exists already"));
}

}  // namespace
}  // namespace strack::run
