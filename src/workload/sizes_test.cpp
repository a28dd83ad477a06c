#include "workload/sizes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"
#include "base/units.h"

namespace strack::workload {
namespace {

TEST(SizeDistribution, FixedIsFixed) {
  const auto sizes = SizeDistribution::fixed(mb(16));
  Rng rng(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sizes.draw(rng), mb(16));
  EXPECT_EQ(sizes.mean(), mb(16));
}

TEST(SizeDistribution, UniformStaysInRangeAndMeetsItsMean) {
  const auto sizes = SizeDistribution::uniform(bytes(1'000), bytes(3'000));
  EXPECT_EQ(sizes.mean(), bytes(2'000));
  Rng rng(1);
  std::int64_t sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Bytes size = sizes.draw(rng);
    ASSERT_GE(size, bytes(1'000));
    ASSERT_LE(size, bytes(3'000));
    sum += size.count();
  }
  EXPECT_NEAR(static_cast<double>(sum) / 100'000, 2'000, 10);
}

TEST(SizeDistribution, UniformOfOneSizeIsFixed) {
  const auto sizes = SizeDistribution::uniform(bytes(7), bytes(7));
  Rng rng(1);
  EXPECT_EQ(sizes.draw(rng), bytes(7));
}

// Half of the flows have 100 bytes, the rest lies on a line up to 300.
TEST(SizeDistribution, PointsAreJoinedByLines) {
  const auto sizes =
      SizeDistribution::from_points({{bytes(100), kCertain / 2}, {bytes(300), kCertain}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes.value().mean(), bytes(150));
  Rng rng(3);
  int smallest = 0;
  int upper_half = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Bytes size = sizes.value().draw(rng);
    smallest += size == bytes(100) ? 1 : 0;
    upper_half += size > bytes(200) ? 1 : 0;
  }
  EXPECT_NEAR(smallest, 50'125, 800);  // and the first half byte of the line
  EXPECT_NEAR(upper_half, 25'000, 600);
}

TEST(SizeDistribution, DrawsAreTheSameEverywhere) {
  const auto sizes = SizeDistribution::uniform(bytes(1), bytes(1'000'000));
  Rng rng = Rng(42).stream("sizes");
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 4; ++i) drawn.push_back(sizes.draw(rng).count());
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{725'210, 784'240, 924'933, 431'756}));
}

std::string points_error(std::vector<CdfPoint> points) {
  const auto sizes = SizeDistribution::from_points(std::move(points));
  if (sizes) return "accepted";
  return std::to_string(sizes.error().point) + ": " + sizes.error().message;
}

TEST(SizeDistribution, FromPoints_SaysWhatCannotBe) {
  EXPECT_EQ(points_error({}),
            "0: there are no points. a distribution needs at least one: a size and the probability "
            "1");
  EXPECT_EQ(points_error({{bytes(0), kCertain}}),
            "0: the size is 0 bytes. a flow has 1 to 1099511627776 bytes");
  EXPECT_EQ(points_error({{bytes(9), 0}, {bytes(9), kCertain}}),
            "1: the size is 9 bytes after 9. sizes must increase");
  EXPECT_EQ(points_error({{bytes(9), 2 * kCertain}}),
            "0: the probability is 2. a probability is from 0 to 1");
  EXPECT_EQ(points_error({{bytes(1), kCertain / 2}, {bytes(2), kCertain / 4}}),
            "1: the probability is 0.25 after 0.5. cumulative probabilities must not fall");
  EXPECT_EQ(points_error({{bytes(1), 0}, {bytes(2), kCertain / 2}}),
            "1: the last probability is 0.5. the last one must be 1");
}

TEST(ParseCdf, ReadsLines) {
  const auto sizes = parse_cdf("# web search\n1000 0.25\n\n10KB  0.5 # half\r\n1MB 1\n");
  ASSERT_TRUE(sizes) << sizes.error().message;
  EXPECT_EQ(sizes.value().points(),
            (std::vector<CdfPoint>{
                {bytes(1'000), kCertain / 4}, {kb(10), kCertain / 2}, {mb(1), kCertain}}));
}

std::string cdf_error(std::string_view text) {
  const auto sizes = parse_cdf(text);
  if (sizes) return "accepted";
  return std::to_string(sizes.error().line) + ": " + sizes.error().message;
}

TEST(ParseCdf, SaysWhichLineCannotBe) {
  EXPECT_EQ(cdf_error(""),
            "0: there are no points. a distribution needs at least one: a size and the probability "
            "1");
  EXPECT_EQ(cdf_error("1000 0.5 7\n"),
            "1: 3 fields. a point is two, bytes and cumulative probability, such as 10000 0.5");
  EXPECT_EQ(
      cdf_error("\n1x 0.5\n"),
      "2: the size is \"1x\". a size is a number of bytes or carries a unit, such as 10000 or "
      "10KB");
  EXPECT_EQ(cdf_error("10 50%\n"),
            "1: the probability is \"50%\". a probability is from 0 to 1, such as 0.5");
  EXPECT_EQ(cdf_error("10 1.5\n"),
            "1: the probability is \"1.5\". a probability is from 0 to 1, such as 0.5");
  EXPECT_EQ(cdf_error("10 0.5\n# more\n5 1\n"),
            "3: the size is 5 bytes after 10. sizes must increase");
}

}  // namespace
}  // namespace strack::workload
