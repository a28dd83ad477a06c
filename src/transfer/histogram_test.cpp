#include "transfer/histogram.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::transfer {
namespace {

TEST(Histogram, NothingIsZero) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.lowest(), 0u);
  EXPECT_EQ(empty.highest(), 0u);
  EXPECT_EQ(empty.mean(), 0u);
  EXPECT_EQ(empty.percentile(999), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t i = 1; i <= 100; ++i) histogram.add(i);
  EXPECT_EQ(histogram.percentile(500), 50u);
  EXPECT_EQ(histogram.percentile(900), 90u);
  EXPECT_EQ(histogram.percentile(990), 99u);
  EXPECT_EQ(histogram.percentile(999), 100u);
  EXPECT_EQ(histogram.percentile(0), 1u);
  EXPECT_EQ(histogram.mean(), 50u);
}

TEST(Histogram, TheHighestIsExactWhateverItsSize) {
  Histogram histogram;
  histogram.add(3);
  histogram.add(~std::uint64_t{0});
  EXPECT_EQ(histogram.highest(), ~std::uint64_t{0});
  EXPECT_EQ(histogram.percentile(1000), ~std::uint64_t{0});
  EXPECT_EQ(histogram.lowest(), 3u);
}

// Against the sorted values themselves, over all magnitudes.
TEST(Histogram, PercentilesAreWithinAFewPercent) {
  Rng rng(1);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t value = rng.next() >> (rng.next() % 50);
    values.push_back(value);
    histogram.add(value);
  }
  std::sort(values.begin(), values.end());
  for (const std::uint64_t per_mille : {1u, 10u, 250u, 500u, 900u, 990u, 999u}) {
    const std::uint64_t exact = values[(values.size() * per_mille + 999) / 1000 - 1];
    const std::uint64_t found = histogram.percentile(per_mille);
    EXPECT_GE(found, exact) << per_mille;
    EXPECT_LE(found - exact, exact / 64) << per_mille;
  }
}

}  // namespace
}  // namespace strack::transfer
