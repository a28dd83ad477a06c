#include "base/int128.h"

#include <array>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

Wide built_in(PlainInt128 value) {
  return static_cast<Wide>((static_cast<UnsignedWide>(value.high) << 64) | value.low);
}
PlainInt128 plain(Wide value) {
  return {static_cast<std::uint64_t>(value),
          static_cast<std::uint64_t>(static_cast<UnsignedWide>(value) >> 64)};
}

/// Everything that the one can do, the other does as well.
void expect_same(Wide a, Wide b) {
  const PlainInt128 x = plain(a);
  const PlainInt128 y = plain(b);
  const auto unsigned_a = static_cast<UnsignedWide>(a);
  const auto unsigned_b = static_cast<UnsignedWide>(b);
  EXPECT_TRUE(built_in(x) == a);
  EXPECT_TRUE(built_in(x + y) == static_cast<Wide>(unsigned_a + unsigned_b));
  EXPECT_TRUE(built_in(x - y) == static_cast<Wide>(unsigned_a - unsigned_b));
  EXPECT_TRUE(built_in(x * y) == static_cast<Wide>(unsigned_a * unsigned_b));
  EXPECT_TRUE(built_in(-x) == static_cast<Wide>(-unsigned_a));
  EXPECT_EQ(x < y, a < b);
  EXPECT_EQ(x <= y, a <= b);
  EXPECT_EQ(x == y, a == b);
  EXPECT_EQ(static_cast<std::int64_t>(x), static_cast<std::int64_t>(a));
  if (b == 0 || b == -1) return;  // the smallest number has no opposite
  EXPECT_TRUE(built_in(x / y) == a / b);
  EXPECT_TRUE(built_in(x % y) == a % b);
}

TEST(Int128, PlainOneComputesAsTheCompilersDoes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::array<Wide, 14> edges{0,
                                   1,
                                   -1,
                                   2,
                                   -7,
                                   0xffff'ffff,
                                   0x1'0000'0000,
                                   kMost,
                                   kLeast,
                                   static_cast<Wide>(kMost) + 1,
                                   static_cast<Wide>(kMost) * kMost,
                                   static_cast<Wide>(kLeast) * kMost,
                                   static_cast<Wide>(~UnsignedWide{0} >> 1),
                                   static_cast<Wide>(UnsignedWide{1} << 127)};
  for (const Wide a : edges) {
    for (const Wide b : edges) expect_same(a, b);
  }
  Rng rng(1);
  const auto any = [&] {
    const Wide value =
        static_cast<Wide>((static_cast<UnsignedWide>(rng.next()) << 64) | rng.next());
    return value >> rng.below(128);
  };
  for (int i = 0; i < 2'000; ++i) expect_same(any(), any());
}

TEST(Int128, PlainOneTakesAnyInteger) {
  EXPECT_TRUE(PlainInt128(-5) == plain(-5));
  EXPECT_TRUE(PlainInt128(~std::uint64_t{0}) == plain(static_cast<Wide>(~std::uint64_t{0})));
  EXPECT_TRUE(PlainInt128(std::int64_t{-1}) * 3 + 4 == 1);
  EXPECT_EQ(static_cast<std::uint64_t>(PlainInt128(7)), 7u);
}

TEST(Int128, ProductOfTwoWordsIsWhole) {
  EXPECT_EQ(PlainInt128::product(~0ull, ~0ull).high, ~0ull - 1);
  EXPECT_EQ(PlainInt128::product(~0ull, ~0ull).low, 1u);
}

}  // namespace
}  // namespace strack
