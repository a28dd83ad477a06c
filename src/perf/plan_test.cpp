#include "perf/plan.h"

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PlanWords words() {
  PlanWords words;
  words.server = "127.0.0.1:5";
  return words;
}

Plan plan_of(const PlanWords& words) {
  const auto plan = make_plan(words, {});
  EXPECT_TRUE(plan.ok());
  return plan ? plan.value() : Plan{};
}

TEST(PerfPlan, TimeOrCount) {
  EXPECT_EQ(plan_of(words()).time, seconds(5));
  EXPECT_EQ(plan_of(words()).count, 0u);
  PlanWords counted = words();
  counted.count = 7;
  EXPECT_EQ(plan_of(counted).time, seconds(0));
  EXPECT_EQ(plan_of(counted).count, 7u);
  counted.seconds = "2.5";
  EXPECT_EQ(plan_of(counted).time, milliseconds(2'500));
}

TEST(PerfPlan, TargetRateAndWarmUp) {
  EXPECT_EQ(plan_of(words()).target_bps, 0u);
  PlanWords paced = words();
  paced.target_rate = "1.5Gb/s";
  paced.warm_up = "500ms";
  EXPECT_EQ(plan_of(paced).target_bps, 1'500'000'000u);
  EXPECT_EQ(plan_of(paced).warm_up, milliseconds(500));
  paced.count = 3;
  EXPECT_FALSE(make_plan(paced, {}).ok()) << "what counts would be over before it began";
  PlanWords wrong = words();
  wrong.target_rate = "fast";
  EXPECT_EQ(make_plan(wrong, {}).error(),
            "--target-rate fast is not a rate. write one such as 1Gb/s or 20Mb/s");
  wrong = words();
  wrong.warm_up = "soon";
  EXPECT_EQ(make_plan(wrong, {}).error(),
            "--warm-up soon is not a time. write one such as 1s or 500ms");
}

TEST(PerfPlan, OnlyStreamsGoInReverse) {
  PlanWords reverse = words();
  reverse.reverse = true;
  EXPECT_EQ(plan_of(reverse).direction, Direction::server);
  reverse.pattern = "write";
  EXPECT_EQ(make_plan(reverse, {}).error(), "--reverse is for streams, and --pattern is write");
  reverse.pattern = "stream";
  reverse.target_rate = "1Gb/s";
  EXPECT_FALSE(make_plan(reverse, {}).ok());
  reverse.both = true;
  EXPECT_EQ(make_plan(reverse, {}).error(),
            "--reverse and --both contradict each other: give one of them");
  reverse.reverse = false;
  EXPECT_EQ(plan_of(reverse).direction, Direction::both);
  reverse.pattern = "pingpong";
  EXPECT_EQ(make_plan(reverse, {}).error(), "--both is for streams, and --pattern is pingpong");
}

TEST(PerfPlan, DepthFollowsFromTheSize) {
  for (const auto& [size, depth] :
       {std::pair{"64", 256u}, {"64KiB", 64u}, {"1MiB", 4u}, {"1GiB", 2u}}) {
    PlanWords sized = words();
    sized.size = size;
    EXPECT_EQ(plan_of(sized).depth, depth) << size;
  }
  PlanWords pingpong = words();
  pingpong.pattern = "pingpong";
  EXPECT_EQ(plan_of(pingpong).depth, 1u);
  pingpong.depth = 8;
  EXPECT_EQ(plan_of(pingpong).depth, 8u);
}

TEST(PerfPlan, MistakesAreNamed) {
  const auto mistake = [](auto change) {
    PlanWords wrong = words();
    change(wrong);
    const auto plan = make_plan(wrong, {});
    return plan ? std::string("none") : plan.error();
  };
  EXPECT_EQ(mistake([](PlanWords& w) { w.depth = 1025; }),
            "--depth 1025 is out of range. 1 to 1024 are possible");
  EXPECT_EQ(mistake([](PlanWords& w) { w.count = 0; }), "--count 0 sends nothing. give at least 1");
  EXPECT_EQ(mistake([](PlanWords& w) { w.seconds = "0"; }),
            "--seconds 0 is not a time. write one such as 10 or 500ms");
  EXPECT_EQ(mistake([](PlanWords& w) {
              w.pattern = "write";
              w.size = "0";
            }),
            "--size 0 leaves nothing to write. give at least 1");
}

}  // namespace
}  // namespace strack::perf
