#include "cli/copy_attempts.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "transfer/names.h"
#include "transfer/session_testing.h"
#include "transfer/tree.h"

namespace strack::cli {
namespace {

udp::PathStatistics path(std::uint32_t number, std::uint64_t packets) {
  udp::PathStatistics one;
  one.path = number;
  one.packets = packets;
  return one;
}

// [D161] 8 MB a second; of ten packets the paths have carried one, two and seven, and one has carried none lately.
TEST(PathPace, TellsTheSlowestAndTheFastest) {
  const PathPace::Clock::time_point start{};
  transfer::Pace pace;
  PathPace paths;
  pace.note(0, start);
  EXPECT_EQ(paths.text(256, pace).text, "");
  paths.note({path(3, 500), path(4, 20)}, start);
  EXPECT_EQ(paths.text(256, pace).text, "");
  pace.note(8'000'000, start + std::chrono::seconds(1));
  paths.note({path(3, 500), path(4, 120), path(5, 200), path(9, 700)},
             start + std::chrono::seconds(1));
  EXPECT_EQ(paths.text(256, pace).text, "3 of 256 paths, 6.400 Mb/s to 44.800 Mb/s each");
  EXPECT_EQ(paths.text(256, pace).brief, "3 paths, 6.4 to 44.8 Mb/s");
}

// What was before the window does not count, as in the rate.
TEST(PathPace, ForgetsWhatIsLongAgo) {
  transfer::Pace pace;
  PathPace paths;
  for (std::uint64_t second = 0; second <= 10; ++second) {
    const PathPace::Clock::time_point now{std::chrono::seconds(second)};
    pace.note(second * 1'000'000, now);
    paths.note({path(0, std::min<std::uint64_t>(second, 5) * 10), path(1, second * 10)}, now);
  }
  EXPECT_EQ(paths.text(8, pace).text, "1 of 8 paths, 8.000 Mb/s to 8.000 Mb/s each");
}

// The same of what has come.
TEST(PathPace, OfASideThatReceives) {
  const PathPace::Clock::time_point start{};
  transfer::Pace pace;
  PathPace paths;
  pace.note(0, start);
  paths.note(std::vector<std::uint64_t>{0, 0, 0, 50}, start);
  pace.note(8'000'000, start + std::chrono::seconds(1));
  paths.note(std::vector<std::uint64_t>{0, 10, 30, 50}, start + std::chrono::seconds(1));
  EXPECT_EQ(paths.text(4, pace).text, "2 of 4 paths, 16.000 Mb/s to 48.000 Mb/s each");
}

TEST(ProgressText, HasABar) {
  EXPECT_EQ(bar_text(0), "[>                   ]");
  EXPECT_EQ(bar_text(0.5), "[==========>         ]");
  EXPECT_EQ(bar_text(1), "[====================]");
  transfer::Pace pace, stalled;
  // The first line tells the rate since the beginning.
  EXPECT_EQ(progress_lines(25, 100, 2, "", pace).front(),
            "[=====>              ] 25.0 %  25 B of 100 B  100 b/s  about 6 s left");
  EXPECT_EQ(progress_lines(0, 100, 2, "", stalled).front(),
            "[>                   ] 0.0 %  0 B of 100 B  nothing for 2 s  no estimate yet");
}

// However narrow the terminal: where 80 columns are left, the time and the rates of paths are among what is told, and where
// less, the time is the last that goes.
TEST(ProgressText, KeepsTimeAndPathsWhereThereIsLittleRoom) {
  transfer::Pace pace;
  const PathText paths{"256 of 256 paths, 112.345 Mb/s to 131.072 Mb/s each",
                       "256 paths, 112 to 131 Mb/s"};
  const auto lines =
      progress_lines(1'234'000'000, 5'678'000'000, 60, "1234 of 5678 files", pace, paths);
  const auto at = [&](std::size_t columns) { return fitting_line(lines, columns); };
  EXPECT_EQ(
      at(200),
      "[====>               ] 21.7 %  1.2 GB of 5.7 GB  1234 of 5678 files  164.533 Mb/s  about "
      "4 min left  "
      "256 of 256 paths, 112.345 Mb/s to 131.072 Mb/s each");
  EXPECT_EQ(
      at(120),
      "[==>       ] 21.7 %  1.2 GB of 5.7 GB  1234 of 5678 files  164.533 Mb/s  about 4 min left  "
      "256 paths, 112 to 131 Mb/s");
  EXPECT_EQ(at(79),
            "[==>       ] 21.7 %  164.533 Mb/s  about 4 min left  256 paths, 112 to 131 Mb/s");
  EXPECT_EQ(at(58), "21.7 %  164.533 Mb/s  about 4 min left");
  EXPECT_EQ(at(30), "21.7 %  about 4 min left");
  EXPECT_EQ(at(4), "21.7");
}

Attempt attempt(std::uint64_t sent, std::uint64_t again, std::uint64_t kept) {
  Attempt one;
  one.progress.files = 1;
  one.progress.sent_bytes = sent;
  one.progress.again_bytes = again;
  one.progress.kept_bytes = kept;
  return one;
}

// What is said to be copied is the file, whatever it took.
TEST(Totals, BytesAreCountedOnce) {
  constexpr std::uint64_t kMega = 1'000'000;
  Totals once;
  once.add(attempt(200 * kMega, 0, 0));
  EXPECT_EQ(once.text(1, 0), "copied 1 file, 200 MB in 1.0 s, 1.600 Gb/s");
  Totals in_vain;
  in_vain.add(attempt(365 * kMega, 165 * kMega, 0));
  EXPECT_EQ(in_vain.text(1, 0), "copied 1 file, 200 MB in 1.0 s, 1.600 Gb/s; 165 MB sent twice");
  Totals resumed;
  resumed.add(attempt(150 * kMega, 0, 50 * kMega));
  EXPECT_EQ(resumed.text(1, 0),
            "copied 1 file, 150 MB in 1.0 s, 1.200 Gb/s; 50 MB did not have to be sent");
  Totals lost;
  lost.add(attempt(70 * kMega, 0, 0));
  lost.last.files = lost.copied = 0;
  lost.add(attempt(140 * kMega, 0, 60 * kMega));
  EXPECT_EQ(lost.text(1, 0),
            "copied 1 file, 200 MB in 1.0 s, 1.600 Gb/s; 10 MB sent twice; connected again 1 time");
}

// What is zeros and takes no room is no part of what was sent, and is said to be there; also where an earlier attempt brought it.
TEST(Totals, HolesAreTold) {
  constexpr std::uint64_t kMega = 1'000'000;
  Attempt sparse = attempt(0, 0, 0);
  sparse.progress.hole_bytes = 5'000 * kMega;
  Totals once;
  once.add(sparse);
  EXPECT_EQ(once.text(1, 0), "copied 1 file, 0 B and 5 GB of holes in 1.0 s, 0 b/s");
  Totals twice;
  sparse.progress.sent_bytes = 2 * kMega;
  twice.add(sparse);
  twice.last.files = twice.copied = 0;
  twice.add(attempt(7 * kMega, 0, 5'002 * kMega));
  EXPECT_EQ(twice.text(1, 0),
            "copied 1 file, 9 MB and 5 GB of holes in 1.0 s, 72.000 Mb/s; connected again 1 time");
}

TEST(Totals, WhatIsMissingIsCounted) {
  Totals totals;
  totals.add(attempt(1'000'000, 0, 0));
  totals.last.refused = 2;
  totals.last.not_begun = 3;
  totals.last.skipped = 1;
  EXPECT_EQ(totals.text(1, 4),
            "copied 1 file, 1 MB in 1.0 s, 8.000 Mb/s; 2 refused; 3 not begun; 5 skipped");
  EXPECT_EQ(Totals{}.text(1, 101, true),
            "copied 0 files, 0 B in 1.0 s, 0 b/s; at least 101 skipped");
}

using AttemptsTest = transfer::testing::SessionTest;

// The first time the receiver hears the hello, and nothing after it while this side gets no processor.
TEST_F(AttemptsTest, WhoWasNotHeardAfterTheHelloComesAgain) {
  transfer::Receiver::Limits limits = patient();
  limits.patience = std::chrono::seconds(1);
  open_receiver(limits);
  transfer::testing::write_file(out("f"), "content");
  std::atomic<bool> stop{false};
  std::mutex mutex;  // the hello is seen here before its answer is
  std::thread there([&] {
    while (!stop.load()) {
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      turn();
    }
  });
  const auto tree = transfer::scan({out("f").string()}, transfer::parse_destination("h:").value());
  std::size_t attempts = 0;
  Course course;
  course.reconnect = std::chrono::seconds(60);
  course.settings.user_data = transfer::kService;
  course.settings.paths = 4;
  course.addresses = [&] {
    return Result<std::vector<std::string>, std::string>(std::vector<std::string>{address()});
  };
  course.attempt = [&](transfer::Dialled& dialled, bool /*again*/) {
    transfer::Worker worker;
    transfer::Sender sender(dialled.endpoint, dialled.connected.connection, worker, tree.value(),
                            {});
    sender.on(dialled.connected);
    const bool first = attempts++ == 0;
    auto busy_at = std::chrono::steady_clock::now();
    for (bool held_up = false; !sender.over();) {
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      held_up = held_up || (first && receiver_->active() > 0);
      if (held_up && receiver_->active() > 0) continue;
      cli::turn(dialled.endpoint, worker, sender, busy_at, std::chrono::milliseconds(0));
    }
    return Attempt{false, sender.finished(), sender.problem(), sender.lost(), sender.progress()};
  };
  Totals totals;
  ::testing::internal::CaptureStderr();
  const auto status = attempt_until_done(course, totals, stop);
  const std::string said = ::testing::internal::GetCapturedStderr();
  stop.store(true);
  there.join();
  EXPECT_EQ(status, std::nullopt);
  EXPECT_GE(attempts, 2u);
  // The receiver's words and the end of its connection come one after the other, and either may be seen first.
  EXPECT_NE(said.find("for up to 60 s\n"), std::string::npos) << said;
  EXPECT_EQ(transfer::testing::read_file(in("f")), "content");
}

}  // namespace
}  // namespace strack::cli
