#include "base/text.h"

#include <gtest/gtest.h>

#include "base/json_text.h"

namespace strack {
namespace {

TEST(Text, DecimalRoundsToTheNearest) {
  EXPECT_EQ(decimal(345'249'999, 1'000'000, 1), "345.2");
  EXPECT_EQ(decimal(345'250'000, 1'000'000, 1), "345.3");
  EXPECT_EQ(decimal(999'950, 1'000'000, 1), "1.0");
  EXPECT_EQ(decimal(50'000, 1'000'000, 3), "0.050");
  EXPECT_EQ(decimal(-1'500, 1'000, 1), "-1.5");
  EXPECT_EQ(decimal(7, 2, 0), "4");
  EXPECT_EQ(decimal(INT64_MAX, 1, 3), "9223372036854775807.000");
}

TEST(Text, UnitsSuitTheValue) {
  EXPECT_EQ(time_text(ps(0)), "0 ps");
  EXPECT_EQ(time_text(ps(81'920)), "81.92 ns");
  EXPECT_EQ(time_text(us(8)), "8 us");
  EXPECT_EQ(time_text(us(1'204)), "1.204 ms");
  EXPECT_EQ(time_text(seconds(3)), "3 s");
  EXPECT_EQ(size_text(bytes(64)), "64 B");
  EXPECT_EQ(size_text(mb(16)), "16 MB");
  EXPECT_EQ(size_text(bytes(400'120)), "400.1 KB");
  EXPECT_EQ(size_text(bytes(1'999'980)), "2 MB");
  EXPECT_EQ(rate_text(gbps(400)), "400 Gb/s");
  EXPECT_EQ(rate_text(mbps(2'500)), "2.5 Gb/s");
}

TEST(Text, RatioNeedsSomethingToCompare) {
  EXPECT_EQ(ratio_text(us(345), us(333)), "1.036");
  EXPECT_EQ(ratio_text(us(345), us(0)), "-");
  EXPECT_EQ(ratio_text(us(0), us(333)), "-");
}

TEST(Text, UtcIsIso8601) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 24u);
  EXPECT_EQ(now.substr(0, 2), "20");
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now[23], 'Z');
}

TEST(Text, JsonEscapes) {
  EXPECT_EQ(json_string("a \"b\"\\\n\t"), "\"a \\\"b\\\"\\\\\\n\\t\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
}

// What others wrote can neither move a cursor nor break a log: only what has a shape is shown as it is.
TEST(Text, Printable) {
  EXPECT_EQ(printable("a b \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80"),
            "a b \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80");
  EXPECT_EQ(printable("a\x1b[2J\n\x7f"), "a\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b\xc2\xa0"), "\\x9b\xc2\xa0");
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");           // longer than need be
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // cut short
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

}  // namespace
}  // namespace strack
