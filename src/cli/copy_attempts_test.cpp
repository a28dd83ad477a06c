#include "cli/copy_attempts.h"

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

udp::PathStatistics path(std::uint32_t number, std::uint64_t packets) {
  udp::PathStatistics one;
  one.path = number;
  one.packets = packets;
  return one;
}

// 8 MB a second; of ten packets the paths have carried one, two and seven, and one has carried none lately.
TEST(PathPace, TellsTheSlowestAndTheFastest) {
  const PathPace::Clock::time_point start{};
  transfer::Pace pace;
  PathPace paths;
  pace.note(0, start);
  EXPECT_EQ(paths.text(256, pace), "");
  paths.note({path(3, 500), path(4, 20)}, start);
  EXPECT_EQ(paths.text(256, pace), "");
  pace.note(8'000'000, start + std::chrono::seconds(1));
  paths.note({path(3, 500), path(4, 120), path(5, 200), path(9, 700)},
             start + std::chrono::seconds(1));
  EXPECT_EQ(paths.text(256, pace), "  3 of 256 paths, 6.400 Mb/s to 44.800 Mb/s each");
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
  EXPECT_EQ(paths.text(8, pace), "  1 of 8 paths, 8.000 Mb/s to 8.000 Mb/s each");
}

}  // namespace
}  // namespace strack::cli
