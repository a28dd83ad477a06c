#include "udp/silence_budget.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

constexpr Instant kStart = at(seconds(1));

/// Packets that may go until then when somebody always wants to send one.
int sent_until(SilenceBudget& budget, Instant end) {
  int n = 0;
  for (Instant t = kStart; t < end; t = budget.take(t)) ++n;
  return n - 1;  // the last place is at the end or later
}

// [D55] Eight at once, then one after another; 64 at each distance.
TEST(SilenceBudget, PlacesLieFurtherAndFurtherApart) {
  SilenceBudget budget;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(budget.take(kStart), kStart) << i;
  for (int i = 1; i <= 56; ++i) EXPECT_EQ(budget.take(kStart), kStart + i * us(250)) << i;
  // The first place at the next distance lies where the last one's distance ends.
  for (int i = 1; i <= 64; ++i)
    EXPECT_EQ(budget.take(kStart), kStart + ms(14) + i * us(500) - us(250)) << i;
}

// [D55] What all connections to one host send together while it is silent.
TEST(SilenceBudget, BoundsWhatGoesOutInTenSeconds) {
  SilenceBudget budget;
  EXPECT_EQ(sent_until(budget, kStart + seconds(10)), 661);
  SilenceBudget longer;
  EXPECT_EQ(sent_until(longer, kStart + seconds(1'000)), 25'411);  // 25 in each further second
}

TEST(SilenceBudget, AnAnswerStartsItAnew) {
  SilenceBudget budget;
  EXPECT_FALSE(budget.is_strained());
  for (int i = 0; i < 256; ++i) (void)budget.take(kStart);
  EXPECT_TRUE(budget.is_strained());
  EXPECT_FALSE(budget.take_now(kStart));
  budget.answered();
  EXPECT_FALSE(budget.is_strained());
  EXPECT_TRUE(budget.take_now(kStart));
}

// Who comes late takes no more than a burst of what was not used.
TEST(SilenceBudget, ARestSavesABurst) {
  SilenceBudget budget;
  for (int i = 0; i < 1'000; ++i) (void)budget.take(kStart);
  int at_once = 0;
  while (budget.take_now(kStart + seconds(100))) ++at_once;
  EXPECT_EQ(at_once, 8);
}

}  // namespace
}  // namespace strack::udp
