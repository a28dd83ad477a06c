#include "run/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run.h"

namespace strack::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SweepPlan, AxisSplitsAtCommasOutsideOfQuotesAndBrackets) {
  EXPECT_THAT(parse_axis("a.b=1, 2,x y").value().values, ElementsAre("1", "2", "x y"));
  EXPECT_THAT(parse_axis("a=[1,2],[3,4]").value().values, ElementsAre("[1,2]", "[3,4]"));
  EXPECT_THAT(parse_axis("a=\"1,2\",'3,4'").value().values, ElementsAre("\"1,2\"", "'3,4'"));
  EXPECT_THAT(parse_axis("a={x=1,y=2}").value().values, ElementsAre("{x=1,y=2}"));
  EXPECT_EQ(parse_axis("a.b.c=1").value().key, "a.b.c");
  EXPECT_EQ(parse_axis("a.b.c=1").value().short_name(), "c");
  EXPECT_EQ(parse_axis("c=1").value().short_name(), "c");
}

TEST(SweepPlan, AxisSaysWhatIsWrong) {
  EXPECT_THAT(parse_axis("a").error().message, HasSubstr("write key=v1,v2"));
  EXPECT_THAT(parse_axis("=1").error().message, HasSubstr("no key"));
  EXPECT_THAT(parse_axis("a=1,,2").error().message, HasSubstr("a value is missing"));
  EXPECT_THAT(parse_axis("a=").error().message, HasSubstr("a value is missing"));
  EXPECT_THAT(parse_axis("a=1,2,1").error().message, HasSubstr("1 is there twice"));
}

TEST(SweepPlan, SeedsAreNumbersAndRanges) {
  EXPECT_THAT(parse_seeds("1,2,5-8,2").value(), ElementsAre(1, 2, 5, 6, 7, 8));
  EXPECT_THAT(parse_seeds("18446744073709551615").value(), ElementsAre(UINT64_MAX));
  for (const char* bad : {"", "x", "3-1", "1-", "-1", "1,,2", "0-4000000000"}) {
    EXPECT_FALSE(parse_seeds(bad)) << bad;
  }
  EXPECT_EQ(parse_seeds("1,5-3").error().message, "--seeds 1,5-3: 5-3 goes down. write 3-5");
  EXPECT_EQ(parse_seeds("1-100001").error().message,
            "--seeds 1-100001: these are more than 100000 seeds");
  EXPECT_THAT(parse_seeds("1-99999,100001-100002").error().message, HasSubstr("more than 100000"));
  EXPECT_EQ(parse_seeds("1-100000").value().size(), 100'000u);
}

TEST(SweepPlan, ProductTakesTheLastAxisFastest) {
  const std::vector<Axis> axes{{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  EXPECT_THAT(product(axes), ElementsAre(ElementsAre("1", "x"), ElementsAre("1", "y"),
                                         ElementsAre("2", "x"), ElementsAre("2", "y")));
  EXPECT_EQ(product({}).size(), 1u);
}

TEST(SweepPlan, FileNamesAreSafe) {
  const std::vector<Axis> axes{{"a", {"16 MB", "2 MB"}}, {"b", {"x"}}, {"c", {"../e", "4:1"}}};
  EXPECT_EQ(file_part(axes, {"16 MB", "x", "4:1"}), "16MB-4_1");
  EXPECT_EQ(safe_name("../etc/passwd"), "_.._etc_passwd");
  EXPECT_EQ(safe_name("-rf"), "_-rf");
  EXPECT_EQ(safe_name(""), "_");
}

}  // namespace
}  // namespace strack::run
