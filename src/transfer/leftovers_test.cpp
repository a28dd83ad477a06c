#include "transfer/leftovers.h"

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Leftovers::Clock::time_point kStart{};

TEST(Leftovers, AreGivenBackWhenMostHaveGoneForAWhile) {
  Leftovers leftovers;
  EXPECT_FALSE(leftovers.is_due(0, kStart));
  EXPECT_FALSE(leftovers.is_due(1'000, kStart + seconds(1)));
  EXPECT_FALSE(leftovers.is_due(126, kStart + seconds(10)));
  EXPECT_FALSE(leftovers.is_due(125, kStart + seconds(20)));
  EXPECT_FALSE(leftovers.is_due(100, kStart + milliseconds(21'999)));
  EXPECT_TRUE(leftovers.is_due(100, kStart + seconds(22)));
  EXPECT_FALSE(leftovers.is_due(100, kStart + seconds(30)));
  // And the rest when that has gone.
  EXPECT_FALSE(leftovers.is_due(0, kStart + seconds(31)));
  EXPECT_TRUE(leftovers.is_due(0, kStart + seconds(33)));
  EXPECT_FALSE(leftovers.is_due(0, kStart + seconds(60)));
}

TEST(Leftovers, AreKeptForThoseWhoComeAgain) {
  Leftovers leftovers;
  EXPECT_FALSE(leftovers.is_due(100, kStart));
  EXPECT_FALSE(leftovers.is_due(0, kStart + seconds(1)));
  EXPECT_FALSE(leftovers.is_due(90, kStart + seconds(2)));
  EXPECT_FALSE(leftovers.is_due(0, kStart + seconds(10)));
  EXPECT_FALSE(leftovers.is_due(0, kStart + seconds(11)));
  EXPECT_TRUE(leftovers.is_due(0, kStart + seconds(12)));
}

}  // namespace
}  // namespace strack::transfer
