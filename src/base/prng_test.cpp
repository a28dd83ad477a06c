#include "base/prng.h"

#include <array>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack {
namespace {

// The published outputs of splitmix64 for seed 0: call n mixes n times the golden constant.
TEST(Mix64, IsSplitmix64) {
  constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;
  EXPECT_EQ(mix64(0), 0xe220'a839'7b1d'cdafU);
  EXPECT_EQ(mix64(kGolden), 0x6e78'9e6a'a1b9'65f4U);
  EXPECT_EQ(mix64(2 * kGolden), 0x06c4'5d18'8009'454fU);
  EXPECT_EQ(mix64(3 * kGolden), 0xf88b'b8a8'724c'81ecU);
}

// The published outputs of xoshiro256++ when splitmix64 fills its state from seed 0.
TEST(Rng, IsXoshiro256PlusPlus) {
  Rng rng(0);
  constexpr std::array<std::uint64_t, 6> kExpected{
      5'987'356'902'031'041'503U, 7'051'070'477'665'621'255U, 6'633'766'593'972'829'180U,
      211'316'841'551'650'330U,   9'136'120'204'379'184'874U, 379'361'710'973'160'858U};
  for (const std::uint64_t expected : kExpected) EXPECT_EQ(rng.next(), expected);
}

// Works at compile time, so the bits cannot depend on the machine.
static_assert(Rng(0).next() == 5'987'356'902'031'041'503U);

TEST(Rng, SameSeedSameNumbers) {
  Rng one(42);
  Rng two(42);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(one.next(), two.next());
}

TEST(Rng, OtherSeedOtherNumbers) { EXPECT_NE(Rng(42).next(), Rng(43).next()); }

TEST(Rng, StreamsDependOnSeedAndName) {
  EXPECT_EQ(Rng(1).stream("ecmp").next(), Rng(1).stream("ecmp").next());
  EXPECT_NE(Rng(1).stream("ecmp").next(), Rng(1).stream("loss").next());
  EXPECT_NE(Rng(1).stream("ecmp").next(), Rng(2).stream("ecmp").next());
  EXPECT_NE(Rng(1).stream("ecmp").next(), Rng(1).next());
  EXPECT_NE(Rng(1).stream("").next(), Rng(1).next());
}

TEST(Rng, StreamDoesNotDependOnWhatWasDrawn) {
  Rng rng(7);
  const std::uint64_t before = rng.stream("ecmp").next();
  rng.next();
  EXPECT_EQ(rng.stream("ecmp").next(), before);
}

TEST(Rng, StreamsOfStreamsDependOnTheWholeWay) {
  const Rng rng(7);
  EXPECT_NE(rng.stream("a").stream("b").next(), rng.stream("b").stream("a").next());
}

TEST(Rng, BelowReachesAllAndOnlyWhatIsBelow) {
  Rng rng(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(rng.below(5));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST(Rng, BelowOneIsZero) {
  Rng rng(3);
  EXPECT_EQ(rng.below(1), 0U);
}

// The upper half of the product, so that the draw's leading bits decide.
TEST(Rng, BelowScalesTheNextNumber) {
  EXPECT_EQ(Rng(0).below(std::uint64_t{1} << 32), 5'987'356'902'031'041'503U >> 32);
  EXPECT_EQ(Rng(0).below(~std::uint64_t{0}), 5'987'356'902'031'041'502U);
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(rng.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.between(9, 9), 9);
}

TEST(Rng, ChanceOfNothingAndOfEverything) {
  Rng rng(3);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_FALSE(rng.chance(Ratio{0, 10}));
    ASSERT_TRUE(rng.chance(Ratio{10, 10}));
  }
}

// 100000 draws at 3/10 have a standard deviation of 145; five of those either way.
TEST(Rng, ChanceIsAsLikelyAsItSays) {
  Rng rng(3);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += rng.chance(Ratio{3, 10}) ? 1 : 0;
  EXPECT_GT(hits, 30'000 - 725);
  EXPECT_LT(hits, 30'000 + 725);
}

TEST(RngDeathTest, NothingIsBelowZero) {
  Rng rng(3);
  EXPECT_DEATH(rng.below(0), "check failed: bound > 0");
}

}  // namespace
}  // namespace strack
