#include "base/bitmap.h"

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <gtest/gtest.h>

namespace strack {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};

template <std::uint32_t N>
constexpr Bitmap<N> with(std::initializer_list<std::uint32_t> positions) {
  Bitmap<N> bitmap;
  for (const std::uint32_t pos : positions) bitmap.set(pos);
  return bitmap;
}

static_assert(sizeof(Bitmap<64>) == 8 && sizeof(Bitmap<256>) == 32 && sizeof(Bitmap<1024>) == 128);
static_assert(std::is_trivially_copyable_v<Bitmap<256>>);

TEST(Bitmap, StartsEmpty) {
  const Bitmap<256> bitmap;
  EXPECT_EQ(bitmap.count(), 0U);
  EXPECT_FALSE(bitmap.test(0));
  EXPECT_FALSE(bitmap.test(255));
}

TEST(Bitmap, SetTouchesOneBit) {
  const auto bitmap = with<256>({64});
  EXPECT_TRUE(bitmap.test(64));
  EXPECT_FALSE(bitmap.test(63));
  EXPECT_FALSE(bitmap.test(65));
  EXPECT_FALSE(bitmap.test(0));
  EXPECT_EQ(bitmap.count(), 1U);
}

TEST(Bitmap, SetTwiceIsSetOnce) {
  const auto bitmap = with<256>({7, 7});
  EXPECT_EQ(bitmap.count(), 1U);
}

TEST(Bitmap, ClearTouchesOneBit) {
  auto bitmap = with<256>({63, 64, 65});
  bitmap.clear(64);
  EXPECT_TRUE(bitmap.test(63));
  EXPECT_FALSE(bitmap.test(64));
  EXPECT_TRUE(bitmap.test(65));
}

TEST(Bitmap, PositionsWrapAtTheSize) {
  const auto bitmap = with<256>({256 + 5});
  EXPECT_TRUE(bitmap.test(5));
  EXPECT_TRUE(bitmap.test(0xffff'ff05));
}

TEST(Bitmap, ClearAllClearsEveryWord) {
  auto bitmap = with<1024>({0, 500, 1023});
  bitmap.clear_all();
  EXPECT_EQ(bitmap.count(), 0U);
}

TEST(Bitmap, ClearRangeLeavesItsNeighbours) {
  auto bitmap = with<256>({9, 10, 19, 20});
  bitmap.clear_range(10, 10);
  EXPECT_TRUE(bitmap.test(9));
  EXPECT_FALSE(bitmap.test(10));
  EXPECT_FALSE(bitmap.test(19));
  EXPECT_TRUE(bitmap.test(20));
}

TEST(Bitmap, ClearRangeCrossesWordsAndTheWrap) {
  auto bitmap = with<256>({199, 200, 255, 0, 63, 64, 65});
  bitmap.clear_range(200, 256 - 200 + 65);  // to 64 inclusive
  EXPECT_TRUE(bitmap.test(199));
  EXPECT_TRUE(bitmap.test(65));
  EXPECT_EQ(bitmap.count(), 2U);
}

TEST(Bitmap, ClearRangeOfNothingAndOfEverything) {
  auto bitmap = with<64>({0, 31, 63});
  bitmap.clear_range(31, 0);
  EXPECT_EQ(bitmap.count(), 3U);
  bitmap.clear_range(31, 64);
  EXPECT_EQ(bitmap.count(), 0U);
}

TEST(Bitmap, Extract64OnAWordBoundary) {
  const auto bitmap = with<256>({63, 64, 127, 128});
  EXPECT_EQ(bitmap.extract64(64), (std::uint64_t{1} << 63) | 1);
}

TEST(Bitmap, Extract64AcrossTwoWordsAndTheWrap) {
  const auto bitmap = with<256>({250, 255, 0, 57, 58});
  // From 250: bits 0 (250), 5 (255), 6 (0), 63 (57); 58 is one too far.
  EXPECT_EQ(bitmap.extract64(250),
            1U | (std::uint64_t{1} << 5) | (std::uint64_t{1} << 6) | (std::uint64_t{1} << 63));
}

TEST(Bitmap, Extract64OfOneWordIsARotation) {
  const auto bitmap = with<64>({0, 10});
  EXPECT_EQ(bitmap.extract64(10), 1U | (std::uint64_t{1} << 54));
}

TEST(Bitmap, Merge64SetsAndTellsWhatWasNew) {
  auto bitmap = with<256>({101});
  EXPECT_EQ(bitmap.merge64(100, 0b111), 0b101U);
  EXPECT_EQ(bitmap.extract64(100), 0b111U);
  EXPECT_EQ(bitmap.merge64(100, 0b111), 0U);
  EXPECT_EQ(bitmap.count(), 3U);
}

TEST(Bitmap, Merge64AcrossTwoWordsAndTheWrap) {
  Bitmap<256> bitmap;
  EXPECT_EQ(bitmap.merge64(255, (std::uint64_t{1} << 63) | 3), (std::uint64_t{1} << 63) | 3);
  EXPECT_TRUE(bitmap.test(255));
  EXPECT_TRUE(bitmap.test(0));
  EXPECT_TRUE(bitmap.test(62));
  EXPECT_EQ(bitmap.count(), 3U);
}

TEST(Bitmap, Merge64KeepsWhatWasThere) {
  auto bitmap = with<256>({3, 64});
  bitmap.merge64(0, 1);
  EXPECT_TRUE(bitmap.test(3));
  EXPECT_TRUE(bitmap.test(64));
}

TEST(Bitmap, NextSetFindsTheNearest) {
  const auto bitmap = with<256>({5, 70, 200});
  EXPECT_EQ(bitmap.next_set(5, 10), 0U);
  EXPECT_EQ(bitmap.next_set(6, 256), 64U);
  EXPECT_EQ(bitmap.next_set(201, 256), 60U);  // over the wrap, to 5
}

TEST(Bitmap, NextSetStopsAtTheLimit) {
  const auto bitmap = with<256>({70});
  EXPECT_EQ(bitmap.next_set(10, 60), 60U);  // 70 is just outside
  EXPECT_EQ(bitmap.next_set(10, 61), 60U);  // and here the last one inside
  EXPECT_EQ(bitmap.next_set(66, 2), 2U);    // outside, though in the same word
  EXPECT_EQ(bitmap.next_set(70, 0), 0U);
  EXPECT_EQ(Bitmap<256>{}.next_set(10, 256), 256U);
}

TEST(Bitmap, NextClearFindsTheNearest) {
  Bitmap<256> bitmap;
  bitmap.merge64(100, kAllOnes);
  EXPECT_EQ(bitmap.next_clear(99, 256), 0U);
  EXPECT_EQ(bitmap.next_clear(100, 256), 64U);
  EXPECT_EQ(bitmap.next_clear(130, 256), 34U);
}

TEST(Bitmap, NextClearStopsAtTheLimit) {
  Bitmap<256> bitmap;
  for (std::uint32_t pos = 0; pos < 256; ++pos) bitmap.set(pos);
  EXPECT_EQ(bitmap.next_clear(77, 256), 256U);
  EXPECT_EQ(bitmap.next_clear(77, 3), 3U);
  EXPECT_EQ(bitmap.next_clear(77, 0), 0U);
  bitmap.clear(76);
  EXPECT_EQ(bitmap.next_clear(77, 256), 255U);
  EXPECT_EQ(bitmap.next_clear(77, 255), 255U);
}

TEST(Bitmap, NextClearNearTheTopOfThePositions) {
  auto bitmap = with<64>({62, 63, 0});
  EXPECT_EQ(bitmap.next_clear(0xffff'fffe, 64), 3U);  // 62, 63, 0 are set, 1 is not
}

TEST(Bitmap, AllSetNeedsEveryOne) {
  auto bitmap = with<256>({255, 0, 1});
  EXPECT_TRUE(bitmap.all_set(255, 3));
  EXPECT_FALSE(bitmap.all_set(255, 4));
  EXPECT_FALSE(bitmap.all_set(254, 2));
  EXPECT_TRUE(bitmap.all_set(9, 0));
}

TEST(Bitmap, CountAddsAllWords) { EXPECT_EQ(with<1024>({0, 64, 128, 999}).count(), 4U); }

// All of it works at compile time.
static_assert(with<256>({3, 250}).next_set(4, 256) == 246);

#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
TEST(BitmapDeathTest, NoMoreThanOnceRoundTheCircle) {
  Bitmap<64> bitmap;
  EXPECT_DEATH(bitmap.clear_range(0, 65), "check failed: count <= N");
  EXPECT_DEATH(static_cast<void>(bitmap.next_set(0, 65)), "check failed: limit <= N");
}
#endif

}  // namespace
}  // namespace strack
