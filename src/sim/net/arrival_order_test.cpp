#include "sim/net/arrival_order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"

namespace strack::sim {
namespace {

struct Item {
  Instant time;
  std::uint32_t place;
  friend bool operator==(const Item&, const Item&) = default;
};

/// A list of that many times drawn below `spread`, and the end of its window.
void expect_stable_order(std::size_t size, std::int64_t spread, Instant end, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Item> list;
  for (std::uint32_t i = 0; i < size; ++i)
    list.push_back(
        {end - ps(1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(spread)))),
         i});
  std::vector<Item> expected = list;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Item& a, const Item& b) { return a.time < b.time; });
  std::vector<Item> scratch;
  const std::span<const Item> sorted = sort_arrivals(list, scratch, end);
  ASSERT_EQ(std::vector<Item>(sorted.begin(), sorted.end()), expected)
      << size << " within " << spread;
}

// Every length up to several runs; times far apart, close together and mostly equal: by time, and at
// one time as they came.
TEST(ArrivalOrder, AsAStableSort) {
  for (std::size_t size = 0; size <= 140; ++size) {
    for (const std::int64_t spread : {1ll, 3ll, 1'000'000ll, 60'000'000ll})
      expect_stable_order(size, spread, at(ms(3)), size);
  }
}

// In windows longer than 67 us too, some or all of whose times are out of a key's reach.
TEST(ArrivalOrder, LongWindows) {
  for (std::size_t size = 0; size <= 140; ++size) {
    for (const std::int64_t spread : {67'108'865ll, 100'000'000ll, 1'000'000'000'000ll})
      expect_stable_order(size, spread, at(seconds(2)), size);
  }
}

// The earliest and the latest time that a key holds.
TEST(ArrivalOrder, EdgesOfAKey) {
  const Instant end = at(ms(1));
  std::vector<Item> list{{end - ps(1), 0},
                         {end - ps(67'108'864), 1},
                         {end - ps(1), 2},
                         {end - ps(67'108'864), 3},
                         {end - ps(5), 4}};
  std::vector<Item> scratch;
  const std::span<const Item> sorted = sort_arrivals(list, scratch, end);
  const std::vector<Item> expected{{end - ps(67'108'864), 1},
                                   {end - ps(67'108'864), 3},
                                   {end - ps(5), 4},
                                   {end - ps(1), 0},
                                   {end - ps(1), 2}};
  EXPECT_EQ(std::vector<Item>(sorted.begin(), sorted.end()), expected);
}

#if STRACK_COUNTS_WIDE
// Processors that count eight at once come to the same as those that count four.
TEST(ArrivalOrder, WideCountsAsNarrow) {
  if (!detail::kCountsWide) GTEST_SKIP() << "no AVX2";
  Rng rng(1);
  for (std::size_t padded = 8; padded <= detail::kRun; padded += 8) {
    std::array<std::int32_t, detail::kRun> keys{};
    for (std::int32_t& key : keys) key = static_cast<std::int32_t>(rng.next());
    std::array<std::int32_t, detail::kRun> narrow{};
    std::array<std::int32_t, detail::kRun> wide{};
    detail::count_smaller(keys.data(), narrow.data(), padded);
    detail::count_smaller_wide(keys.data(), wide.data(), padded);
    EXPECT_EQ(wide, narrow) << padded;
  }
}
#endif

}  // namespace
}  // namespace strack::sim
