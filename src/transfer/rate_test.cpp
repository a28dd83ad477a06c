#include "transfer/rate.h"

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

Pace::Clock::time_point at(double seconds) {
  return Pace::Clock::time_point(
      std::chrono::duration_cast<Pace::Clock::duration>(std::chrono::duration<double>(seconds)));
}

TEST(Rate, IsToldInAUnitThatShowsIt) {
  EXPECT_EQ(rate_text(1'250'000'000, 1), "10.000 Gb/s");
  EXPECT_EQ(rate_text(125'000, 1), "1.000 Mb/s");
  EXPECT_EQ(rate_text(1'000, 1), "8.000 kb/s");
  EXPECT_EQ(rate_text(10, 1), "80 b/s");
  EXPECT_EQ(rate_text(10, 0), "0 b/s");
}

// Not since the beginning: on a link that is down there is no rate to be told.
TEST(Pace, IsThatOfTheLastSeconds) {
  Pace pace;
  EXPECT_EQ(pace.text(), "0 b/s");
  for (int i = 0; i <= 10; ++i) pace.note(125'000u * static_cast<unsigned>(i), at(i));
  EXPECT_EQ(pace.text(), "1.000 Mb/s");
  pace.note(1'250'000, at(11));
  EXPECT_EQ(pace.text(), "666.667 kb/s") << "two of three seconds";
  pace.note(1'250'000, at(12.5));
  EXPECT_EQ(pace.text(), "nothing for 2 s");
  pace.note(1'250'000, at(19));
  EXPECT_EQ(pace.text(), "nothing for 9 s");
  pace.note(1'375'000, at(20));
  EXPECT_EQ(pace.text(), "133.333 kb/s");
  pace.note(0, at(20.5));
  EXPECT_EQ(pace.text(), "0 b/s") << "it was begun anew";
}

}  // namespace
}  // namespace strack::transfer
