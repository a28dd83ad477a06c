#include "workload/amount.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"

namespace strack::workload {
namespace {

TEST(ParseDecimal, KeepsDigits) {
  const auto number = parse_decimal("0.250");
  ASSERT_TRUE(number);
  EXPECT_EQ(number->digits, 250);
  EXPECT_EQ(number->scale, 3);
  EXPECT_EQ(parse_decimal("-12")->digits, -12);
  EXPECT_EQ(parse_decimal("999999999999999999")->digits, 999'999'999'999'999'999);
  EXPECT_EQ(parse_decimal("0000000000000000000000007")->digits, 7);
}

TEST(ParseDecimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", ".", "1.", ".5", "1.2.3", "1e3", "0x10", " 1", "1 ", "+1",
                           "1000000000000000000", "0.0000000000000000001", "--1", "1-"}) {
    EXPECT_FALSE(parse_decimal(text)) << text;
  }
}

TEST(ParseAmount, SplitsNumberAndUnit) {
  const auto amount = parse_amount("  16.5\tMB ");
  ASSERT_TRUE(amount);
  EXPECT_EQ(amount->number.digits, 165);
  EXPECT_EQ(amount->unit, "MB");
  EXPECT_EQ(parse_amount("7")->unit, "");
  EXPECT_FALSE(parse_amount("MB"));
  EXPECT_FALSE(parse_amount("1.5.2 MB"));
}

TEST(Units, AreWhatTheyAre) {
  EXPECT_EQ(size_unit("MB"), 1'000'000);
  EXPECT_EQ(size_unit("MiB"), 1 << 20);
  EXPECT_EQ(size_unit("kB"), size_unit("KB"));
  EXPECT_EQ(time_unit("us"), 1'000'000);
  EXPECT_EQ(time_unit("µs"), 1'000'000);
  EXPECT_EQ(rate_unit("Gb/s"), rate_unit("Gbps"));
  // Bits are not bytes, and the case says which.
  EXPECT_FALSE(size_unit("Mb"));
  EXPECT_FALSE(size_unit("us"));
  EXPECT_FALSE(time_unit("US"));
  EXPECT_FALSE(rate_unit("GB/s"));
}

TEST(Products, AreExactOrNot) {
  EXPECT_EQ(exact_product({85, 1}, 1'000'000), 8'500'000);
  EXPECT_EQ(exact_product({15, 1}, 1), std::nullopt);
  EXPECT_EQ(whole_product({15, 1}, 1), 1);
  EXPECT_EQ(exact_product({10'000'000, 0}, 1'000'000'000'000), std::nullopt);  // 2^63 is passed
  EXPECT_EQ(exact_product({9'000'000, 0}, 1'000'000'000'000), 9'000'000'000'000'000'000);
}

TEST(ToRatio, IsInLowestTerms) {
  EXPECT_EQ(to_ratio({80, 2}), (Ratio{4, 5}));
  EXPECT_EQ(to_ratio({0, 5}), (Ratio{0, 1}));
  EXPECT_EQ(to_ratio({4, 0}), (Ratio{4, 1}));
  EXPECT_EQ(to_ratio({1, 12}), (Ratio{1, 1'000'000'000'000}));
  EXPECT_EQ(to_ratio({1, 13}), std::nullopt);
}

TEST(ParseSize, TakesBytesAndUnits) {
  EXPECT_EQ(parse_size("4096"), bytes(4'096));
  EXPECT_EQ(parse_size("16MB"), mb(16));
  EXPECT_EQ(parse_size("16 KiB"), kib(16));
  EXPECT_EQ(parse_size("1.5 KB"), bytes(1'500));
  EXPECT_FALSE(parse_size("1.5"));
  EXPECT_FALSE(parse_size("-1"));
  EXPECT_FALSE(parse_size("16 us"));
  EXPECT_FALSE(parse_size("10000000 TB"));
}

TEST(ParseTime, NeedsAUnit) {
  EXPECT_EQ(parse_time("10us"), us(10));
  EXPECT_EQ(parse_time("0"), ps(0));
  EXPECT_EQ(parse_time("0.5 ns"), ps(500));
  EXPECT_FALSE(parse_time("10"));
  EXPECT_FALSE(parse_time("0.5 ps"));
  EXPECT_FALSE(parse_time("-1 us"));
}

TEST(Format, PicksTheUnit) {
  EXPECT_EQ(format_size(mb(16)), "16 MB");
  EXPECT_EQ(format_size(bytes(4'096)), "4.096 KB");
  EXPECT_EQ(format_size(bytes(1'234'567)), "1234.567 KB");
  EXPECT_EQ(format_size(bytes(999)), "999 B");
  EXPECT_EQ(format_size(bytes(0)), "0 B");
  EXPECT_EQ(format_time(us(8)), "8 us");
  EXPECT_EQ(format_time(ns(8'500)), "8.5 us");
  EXPECT_EQ(format_time(ps(337'920)), "337.92 ns");
  EXPECT_EQ(format_time(ps(8'000'004)), "8000.004 ns");
  EXPECT_EQ(format_time(ps(0)), "0 ps");
}

// What is formatted reads back as the same.
TEST(Format, RoundTrips) {
  for (std::int64_t value = 1; value < 1'000'000'000'000'000'000; value = value * 7 + 3) {
    EXPECT_EQ(parse_size(format_size(bytes(value))), bytes(value));
    EXPECT_EQ(parse_time(format_time(ps(value))), ps(value));
  }
}

}  // namespace
}  // namespace strack::workload
