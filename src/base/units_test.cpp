#include "base/units.h"

#include <cstdint>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// ---- What must not compile ----

template <class A, class B>
concept CanAdd = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept CanAddInPlace = requires(A a, B b) {
  a += b;
};
template <class A, class B>
concept CanSubtract = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept CanMultiply = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept CanDivide = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept CanCompare = requires(A a, B b) {
  a == b;
}
|| requires(A a, B b) { a < b; };

// Two of a kind can do all of it, or the absences below would prove nothing.
static_assert(CanAdd<Bytes, Bytes> && CanAddInPlace<Bytes, Bytes> && CanSubtract<Bytes, Bytes>);
static_assert(CanDivide<Bytes, Bytes> && CanCompare<Bytes, Bytes>);
static_assert(CanMultiply<Bytes, std::int64_t> && CanMultiply<std::int64_t, Bytes>);
static_assert(CanDivide<Bytes, std::int64_t> && CanMultiply<Ratio, Bytes>);
static_assert(CanAdd<Instant, Picoseconds> && CanSubtract<Instant, Picoseconds>);
static_assert(CanSubtract<Instant, Instant> && CanCompare<Instant, Instant>);
static_assert(CanMultiply<BitsPerSecond, Picoseconds> && CanDivide<Bytes, BitsPerSecond>);

template <class A, class B>
constexpr bool kStrangers =
    !CanAdd<A, B> && !CanAddInPlace<A, B> && !CanSubtract<A, B> && !CanCompare<A, B> &&
    !std::is_convertible_v<A, B> && !std::is_assignable_v<A&, B>;
template <class A, class B>
constexpr bool kStrangersBothWays = kStrangers<A, B>&& kStrangers<B, A>;

static_assert(kStrangersBothWays<Bytes, Picoseconds>);
static_assert(kStrangersBothWays<Bytes, BitsPerSecond>);
static_assert(kStrangersBothWays<Picoseconds, BitsPerSecond>);
static_assert(kStrangersBothWays<Instant, Bytes>);
static_assert(kStrangersBothWays<Instant, BitsPerSecond>);

// A plain number is of no kind.
static_assert(kStrangersBothWays<Bytes, std::int64_t>);
static_assert(kStrangersBothWays<Picoseconds, std::int64_t>);
static_assert(kStrangersBothWays<BitsPerSecond, std::int64_t>);
static_assert(kStrangersBothWays<Instant, std::int64_t>);

// A point in time is no span.
static_assert(!CanAdd<Instant, Instant> && !CanAdd<Picoseconds, Instant>);
static_assert(!CanSubtract<Picoseconds, Instant> && !CanCompare<Instant, Picoseconds>);
static_assert(!std::is_convertible_v<Instant, Picoseconds>);
static_assert(!std::is_convertible_v<Picoseconds, Instant>);

// Products and quotients exist only where they mean something.
static_assert(!CanMultiply<Bytes, Bytes> && !CanMultiply<Picoseconds, Picoseconds>);
static_assert(!CanMultiply<Bytes, Picoseconds> && !CanMultiply<Bytes, BitsPerSecond>);
static_assert(!CanDivide<Bytes, Picoseconds> && !CanDivide<Picoseconds, Bytes>);
static_assert(!CanDivide<BitsPerSecond, Bytes> && !CanDivide<std::int64_t, Bytes>);
static_assert(!CanMultiply<Instant, std::int64_t> && !CanDivide<Instant, std::int64_t>);

// ---- What must come out ----

static_assert(gbps(400) * us(8) == kb(400));
static_assert(gbps(100) * us(12) == kb(150));
static_assert(bytes(4'096) / gbps(400) == ps(81'920));
static_assert(bytes(1) / gbps(200) == ps(40));
static_assert(bytes(1) / gbps(400) == ps(20));
static_assert(bytes(1) / gbps(800) == ps(10));

static_assert(std::is_same_v<decltype(at(us(2)) - at(us(1))), Picoseconds>);
static_assert(std::is_same_v<decltype(at(us(2)) - us(1)), Instant>);
static_assert(std::is_same_v<decltype(kb(2) / kb(1)), std::int64_t>);
static_assert(sizeof(Bytes) == 8 && sizeof(Picoseconds) == 8 && sizeof(Instant) == 8);
static_assert(std::is_trivially_copyable_v<Bytes> && std::is_trivially_copyable_v<Instant>);

TEST(MulDiv, TruncatesTowardZero) {
  EXPECT_EQ(mul_div(7, 3, 2), 10);    // 10.5
  EXPECT_EQ(mul_div(-7, 3, 2), -10);  // -10.5
  EXPECT_EQ(mul_div(7, -3, 2), -10);
  EXPECT_EQ(mul_div(7, 3, -2), -10);
  EXPECT_EQ(mul_div(0, 3, 2), 0);
}

// The last product of 64 bits and the first that needs more give what real numbers give.
TEST(MulDiv, CrossesThe64BitBoundary) {
  constexpr std::int64_t kTwo62 = std::int64_t{1} << 62;
  EXPECT_EQ(mul_div(kMax, 1, 1), kMax);
  EXPECT_EQ(mul_div(kTwo62, 1, 2), kTwo62 / 2);  // 2^62: fits
  EXPECT_EQ(mul_div(kTwo62, 2, 2), kTwo62);      // 2^63: one too many
  EXPECT_EQ(mul_div(kTwo62, 3, 4), kTwo62 / 4 * 3);
  EXPECT_EQ(mul_div(-kTwo62, 2, 1), kMin);  // -2^63 fits
  EXPECT_EQ(mul_div(-kTwo62, 3, 4), -(kTwo62 / 4 * 3));
  EXPECT_EQ(mul_div(kMax, kMax, kMax), kMax);
  EXPECT_EQ(mul_div(kMin, kMax, kMax), kMin);
  EXPECT_EQ(mul_div(kMax, 10, 20), kMax / 2);
}

// (2^40 + 1) x 2^40 / 2^41 = (2^40 + 1) / 2 = 549755813888.5, and its negative.
TEST(MulDiv, TruncatesTowardZeroBeyond64Bits) {
  constexpr std::int64_t kTwo40 = std::int64_t{1} << 40;
  EXPECT_EQ(mul_div(kTwo40 + 1, kTwo40, 2 * kTwo40), 549'755'813'888);
  EXPECT_EQ(mul_div(-(kTwo40 + 1), kTwo40, 2 * kTwo40), -549'755'813'888);
}

// A product at compile time is the one at run time.
static_assert(mul_div(kMax, 10, 20) == kMax / 2);

TEST(Ratio, OfTruncates) {
  EXPECT_EQ((Ratio{4, 5}.of(1'000)), 800);
  EXPECT_EQ((Ratio{15, 100}.of(4'096)), 614);  // 614.4
  EXPECT_EQ((Ratio{1, 3}.of(-10)), -3);        // -3.3
  EXPECT_EQ((Ratio{2, 3}.of(kMax)), 6'148'914'691'236'517'204);
  EXPECT_EQ(Ratio{}.of(5), 0);
}

TEST(Ratio, EqualityIsOfTheTwoNumbersNotOfTheirQuotient) {
  EXPECT_EQ((Ratio{1, 2}), (Ratio{1, 2}));
  EXPECT_NE((Ratio{1, 2}), (Ratio{2, 4}));
  EXPECT_NE((Ratio{1, 2}), (Ratio{1, 3}));
}

TEST(Quantity, IsZeroUnlessToldOtherwise) {
  EXPECT_EQ(Bytes{}, bytes(0));
  EXPECT_EQ(Picoseconds{}.count(), 0);
  EXPECT_EQ(Instant{}, at(ps(0)));
}

TEST(Quantity, ArithmeticWithItsOwnKind) {
  EXPECT_EQ(kb(3) + kb(4), kb(7));
  EXPECT_EQ(kb(3) - kb(4), bytes(-1'000));
  EXPECT_EQ(-us(3), us(-3));
  Bytes sum = kb(1);
  sum += bytes(24);
  EXPECT_EQ(sum, kib(1));
  sum -= kib(1);
  EXPECT_EQ(sum, bytes(0));
}

TEST(Quantity, ScalesByNumbersAndRatios) {
  EXPECT_EQ(us(8) * 3, us(24));
  EXPECT_EQ(3 * us(8), us(24));
  EXPECT_EQ(kb(10) / 4, bytes(2'500));
  EXPECT_EQ(bytes(7) / 2, bytes(3));
  EXPECT_EQ(kb(10) / kb(3), 3);
  EXPECT_EQ((Ratio{4, 5} * kb(10)), kb(8));
}

TEST(Quantity, OrdersByValue) {
  EXPECT_LT(us(1), us(2));
  EXPECT_GT(us(2), us(1));
  EXPECT_LE(us(2), us(2));
  EXPECT_LT(bytes(-1), bytes(0));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST(Units, NamesStandForTheirMagnitudes) {
  EXPECT_EQ(ns(1).count(), 1'000);
  EXPECT_EQ(us(1).count(), 1'000'000);
  EXPECT_EQ(ms(1).count(), 1'000'000'000);
  EXPECT_EQ(seconds(1).count(), 1'000'000'000'000);
  EXPECT_EQ(kb(1).count(), 1'000);
  EXPECT_EQ(kib(1).count(), 1'024);
  EXPECT_EQ(mb(1).count(), 1'000'000);
  EXPECT_EQ(mbps(1).count(), 1'000'000);
  EXPECT_EQ(gbps(1).count(), 1'000'000'000);
}

TEST(Instant, DistancesAndShifts) {
  EXPECT_EQ(at(us(5)) - at(us(2)), us(3));
  EXPECT_EQ(at(us(2)) - at(us(5)), us(-3));
  EXPECT_EQ(at(us(5)) + us(2), at(us(7)));
  EXPECT_EQ(at(us(5)) - us(2), at(us(3)));
  EXPECT_LT(at(us(1)), at(us(2)));
}

// A hundred days into a run the difference still fits, and is longer than any interval that is
// compared with.
TEST(Instant, DistantPastIsLongAgoAndSafeToSubtract) {
  const Instant late = at(seconds(100 * 86'400));
  EXPECT_GT(at(ps(0)) - Instant::distant_past(), seconds(9'000));
  EXPECT_EQ(late - Instant::distant_past(), seconds(100 * 86'400 + 10'000));
}

TEST(Instant, NeverIsAfterEverything) {
  EXPECT_GT(Instant::never(), at(seconds(9'000'000)));
  EXPECT_EQ(Instant::never().ps, kMax);
}

// 3 bits in a nanosecond: 0.375 bytes. A started byte has not been carried.
TEST(Rate, TimesTimeTruncatesToWholeBytes) {
  EXPECT_EQ(gbps(3) * ns(1), bytes(0));
  EXPECT_EQ(gbps(3) * ns(3), bytes(1));  // 1.125
  EXPECT_EQ(gbps(400) * ps(19), bytes(0));
  EXPECT_EQ(gbps(400) * ps(20), bytes(1));
}

// 4e11 x 1e12 = 4e23 bit-picoseconds: far beyond 64 bits.
TEST(Rate, TimesTimeBeyond64Bits) {
  EXPECT_EQ(gbps(400) * seconds(1), bytes(50'000'000'000));
  EXPECT_EQ(gbps(100'000) * seconds(1), bytes(12'500'000'000'000));
}

// 8e12 / 3e9 = 2666.7 ps.
TEST(Rate, SerialisationTimeTruncatesToWholePicoseconds) {
  EXPECT_EQ(bytes(1) / gbps(3), ps(2'666));
  EXPECT_EQ(bytes(0) / gbps(3), ps(0));
}

// 50 GB x 8e12 = 4e23: far beyond 64 bits.
TEST(Rate, SerialisationTimeBeyond64Bits) {
  EXPECT_EQ(bytes(50'000'000'000) / gbps(400), seconds(1));
}

}  // namespace
}  // namespace strack
