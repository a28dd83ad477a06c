#include "base/serial.h"

#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack {
namespace {

using Psn = Serial<struct PsnTag>;
using Other = Serial<struct OtherTag>;

constexpr Psn kLast{0xffff'ffff};

template <class A, class B>
concept CanSubtract = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept CanCompare = requires(A a, B b) {
  a == b;
}
|| requires(A a, B b) { a < b; };
template <class A, class B>
concept CanAdd = requires(A a, B b) {
  a + b;
};

// Serials of different kinds, and serials and plain numbers, do not mix.
static_assert(CanSubtract<Psn, Psn> && CanCompare<Psn, Psn> && CanAdd<Psn, std::uint32_t>);
static_assert(!CanSubtract<Psn, Other> && !CanCompare<Psn, Other>);
static_assert(!CanAdd<Psn, Psn> && !CanCompare<Psn, std::uint32_t>);
static_assert(!std::is_convertible_v<Psn, Other> && !std::is_convertible_v<std::uint32_t, Psn>);
static_assert(sizeof(Psn) == 4);

TEST(Serial, StartsAtZero) { EXPECT_EQ(Psn{}.value, 0U); }

TEST(Serial, DistanceIsSigned) {
  EXPECT_EQ((Psn{7} - Psn{5}), 2);
  EXPECT_EQ((Psn{5} - Psn{7}), -2);
  EXPECT_EQ((Psn{5} - Psn{5}), 0);
}

TEST(Serial, DistanceHoldsAcrossTheWrap) {
  EXPECT_EQ((Psn{2} - kLast), 3);
  EXPECT_EQ((kLast - Psn{2}), -3);
}

TEST(Serial, DistanceReachesToHalfTheCircle) {
  EXPECT_EQ((Psn{0x7fff'ffff} - Psn{0}), 0x7fff'ffff);
  EXPECT_EQ((Psn{0} - Psn{0x7fff'ffff}), -0x7fff'ffff);
  EXPECT_LT(Psn{0}, Psn{0x7fff'ffff});
  EXPECT_GT(Psn{0}, Psn{0x8000'0001});  // the shorter way round is backwards
}

TEST(Serial, EveryComparisonFollowsTheDistance) {
  const Psn early = kLast;
  const Psn late{1};
  EXPECT_TRUE(early < late);
  EXPECT_TRUE(early <= late);
  EXPECT_FALSE(early > late);
  EXPECT_FALSE(early >= late);
  EXPECT_TRUE(late > early);
  EXPECT_TRUE(late >= early);
  EXPECT_FALSE(late < early);
  EXPECT_FALSE(late <= early);
  EXPECT_TRUE(early != late);
}

TEST(Serial, EqualOnesAreNeitherBeforeNorAfter) {
  EXPECT_TRUE(kLast == kLast);
  EXPECT_TRUE(kLast <= kLast);
  EXPECT_TRUE(kLast >= kLast);
  EXPECT_FALSE(kLast < kLast);
  EXPECT_FALSE(kLast > kLast);
}

TEST(Serial, StepsAcrossTheWrap) {
  EXPECT_EQ(kLast + 1U, Psn{0});
  EXPECT_EQ(kLast + 5U, Psn{4});
  EXPECT_EQ(Psn{4} - 5U, kLast);
  Psn psn = kLast;
  EXPECT_EQ(++psn, Psn{0});
  EXPECT_EQ(psn, Psn{0});
}

TEST(Serial, MaxAndMinFollowTheDistance) {
  EXPECT_EQ(max(kLast, Psn{1}), Psn{1});
  EXPECT_EQ(max(Psn{1}, kLast), Psn{1});
  EXPECT_EQ(min(kLast, Psn{1}), kLast);
  EXPECT_EQ(min(Psn{1}, kLast), kLast);
  EXPECT_EQ(max(Psn{3}, Psn{3}), Psn{3});
  EXPECT_EQ(min(Psn{3}, Psn{3}), Psn{3});
}

// All of it works at compile time.
static_assert(Psn{2} - kLast == 3 && kLast < Psn{0} && max(kLast, Psn{1}) == Psn{1});

}  // namespace
}  // namespace strack
