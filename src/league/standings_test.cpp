#include "league/standings.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace strack::league {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Outcome outcome(const char* of, const char* scheme, std::uint64_t seed, double time_us,
                double bound_us = 100) {
  Outcome one;
  one.of = of;
  one.scheme = scheme;
  one.label = scheme;
  one.fabric = "lossy";
  one.seed = seed;
  one.ending = Ending::finished;
  one.time_us = time_us;
  one.bound_us = bound_us;
  return one;
}

Outcome unfinished(const char* of, const char* scheme, std::uint64_t seed, Ending ending,
                   double time_us, const char* why) {
  Outcome one = outcome(of, scheme, seed, time_us);
  one.ending = ending;
  one.why = why;
  return one;
}

// [D59]
TEST(Ranks, CountThoseWhoAreFasterByMoreThanOnePercent) {
  EXPECT_EQ(ranks({2.0, 1.0, 1.005, 1.5}), (std::vector<std::size_t>{4, 1, 1, 3}));
  // 1.012 is more than 1 % behind 1, but not behind 1.005.
  EXPECT_EQ(ranks({1.0, 1.005, 1.012}), (std::vector<std::size_t>{1, 1, 2}));
}

TEST(Ranks, WhoeverDoesNotFinishIsLastOfAll) {
  EXPECT_EQ(ranks({kNever, 1.0, kNever, 9.0}), (std::vector<std::size_t>{4, 1, 4, 2}));
  EXPECT_TRUE(ranks({}).empty());
}

TEST(Judge, MedianAndWorstOverSeeds) {
  const Standings s = judge({outcome("perm-2MB", "a", 1, 110), outcome("perm-2MB", "a", 2, 150),
                             outcome("perm-2MB", "a", 3, 120)});
  ASSERT_EQ(s.rows.size(), 1u);
  const Cell& cell = s.rows[0].cells[0];
  EXPECT_DOUBLE_EQ(cell.median, 1.2);
  EXPECT_DOUBLE_EQ(cell.worst, 1.5);
  EXPECT_DOUBLE_EQ(cell.median_us, 120);
  EXPECT_DOUBLE_EQ(cell.worst_us, 150);
  EXPECT_EQ(cell.seeds, 3u);
  EXPECT_EQ(s.seeds, 3u);
  EXPECT_EQ(s.bound_us, std::vector<double>{100});
}

TEST(Judge, TheMedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  const Standings s = judge({outcome("perm-2MB", "a", 1, 110), outcome("perm-2MB", "a", 2, 130),
                             outcome("perm-2MB", "b", 1, 110),
                             unfinished("perm-2MB", "b", 2, Ending::stalled, 700, "stuck"),
                             unfinished("perm-2MB", "c", 1, Ending::stalled, 700, "stuck"),
                             unfinished("perm-2MB", "c", 2, Ending::stalled, 700, "stuck")});
  EXPECT_DOUBLE_EQ(s.rows[0].cells[0].median, 1.2);
  EXPECT_DOUBLE_EQ(s.rows[0].cells[0].median_us, 120);
  EXPECT_EQ(s.rows[1].cells[0].median, kNever);
  EXPECT_EQ(s.rows[2].cells[0].median, kNever);
}

TEST(Judge, WhatWasLeftIsTheRangeOverSeeds) {
  const auto why = [](const std::vector<const char*>& reasons) {
    std::vector<Outcome> all;
    for (const char* reason : reasons)
      all.push_back(unfinished("blackhole", "a", all.size(), Ending::time_limit, 100'000, reason));
    return judge(all).rows[0].cells[0].why;
  };
  EXPECT_EQ(why({"9 of 128 flows left", "13 of 128 flows left", "12 of 128 flows left"}),
            "9 to 13 of 128 flows left");
  EXPECT_EQ(why({"9 of 128 flows left"}), "9 of 128 flows left");
  EXPECT_EQ(why({"9 of 128 flows left", "2 of 4 jobs left"}), "2 of 4 jobs left");
  EXPECT_EQ(why({"killed by a signal", "9 of 128 flows left"}), "9 of 128 flows left");
}

// [D59] Headers differ; the least bound holds for all.
TEST(Judge, AllAreHeldAgainstTheLeastBound) {
  const Standings s =
      judge({outcome("incast", "a", 1, 200, 100), outcome("incast", "b", 1, 200, 110)});
  EXPECT_DOUBLE_EQ(s.rows[0].cells[0].median, 2);
  EXPECT_DOUBLE_EQ(s.rows[1].cells[0].median, 2);
  EXPECT_EQ(s.rows[1].cells[0].rank, 1u);
}

TEST(Judge, RowsStandByMeanRank) {
  const Standings s = judge({
      outcome("perm-2MB", "slow", 1, 300),
      outcome("perm-2MB", "fast", 1, 110),
      outcome("incast", "slow", 1, 400),
      outcome("incast", "fast", 1, 100),
      outcome("mice", "slow", 1, 100),
      outcome("mice", "fast", 1, 200),
  });
  ASSERT_EQ(s.rows.size(), 2u);
  EXPECT_EQ(s.rows[0].scheme, "fast");
  EXPECT_DOUBLE_EQ(s.rows[0].mean_rank, 4.0 / 3);
  EXPECT_EQ(s.rows[0].firsts, 2u);
  EXPECT_NEAR(s.rows[0].mean, std::cbrt(1.1 * 1.0 * 2.0), 1e-12);
  EXPECT_DOUBLE_EQ(s.rows[0].worst, 2);
  EXPECT_DOUBLE_EQ(s.rows[1].mean_rank, 5.0 / 3);
  // In the order of the table of cases, whatever order runs are in.
  ASSERT_EQ(s.cases.size(), 3u);
  EXPECT_EQ(s.cases[0]->id, "perm-2MB");
  EXPECT_EQ(s.cases[1]->id, "incast");
}

TEST(Judge, ARunThatIsNotFinishedIsInfinitelySlowAndSaysWhy) {
  const Standings s = judge({
      outcome("blackhole", "a", 1, 120),
      unfinished("blackhole", "a", 2, Ending::time_limit, 100'000, "1 of 128 flows left"),
      unfinished("blackhole", "a", 3, Ending::time_limit, 100'000, "1 of 128 flows left"),
      outcome("blackhole", "b", 1, 300),
      outcome("blackhole", "b", 2, 310),
      unfinished("blackhole", "b", 3, Ending::stalled, 700, "2 of 128 flows left"),
      unfinished("blackhole", "c", 1, Ending::failed, 0, "check failed"),
      unfinished("blackhole", "d", 1, Ending::cannot, 0, "needs three tiers"),
  });
  const auto cell = [&](const char* scheme) {
    for (const Standing& row : s.rows) {
      if (row.scheme == scheme) return row.cells[0];
    }
    return Cell{};
  };
  EXPECT_EQ(s.rows[0].scheme, "b");
  EXPECT_DOUBLE_EQ(cell("b").median, 3.1);
  EXPECT_EQ(cell("b").worst, kNever);
  EXPECT_EQ(cell("b").unfinished, 1u);
  EXPECT_EQ(cell("a").median, kNever);
  EXPECT_EQ(cell_text(cell("a")), ">1000");
  EXPECT_EQ(cell("a").why, "1 of 128 flows left");
  EXPECT_EQ(cell_text(cell("c")), "fails");
  EXPECT_EQ(cell_text(cell("d")), "cannot");
  for (const char* last : {"a", "c", "d"}) EXPECT_EQ(cell(last).rank, 4u) << last;
}

// Nobody wins what nobody finishes, and who leaves a case out has no better worst case for it.
TEST(Judge, WhoDoesNotFinishIsLastAndNeverFirst) {
  const Standings s = judge({
      outcome("perm-2MB", "a", 1, 110),
      unfinished("blackhole", "a", 1, Ending::time_limit, 100'000, "1 of 128 flows left"),
      outcome("perm-2MB", "b", 1, 200),
      unfinished("blackhole", "b", 1, Ending::stalled, 700, "2 of 128 flows left"),
  });
  ASSERT_EQ(s.rows[0].scheme, "a");
  EXPECT_EQ(s.rows[0].cells[1].rank, 2u);
  EXPECT_EQ(s.rows[1].cells[1].rank, 2u);
  EXPECT_EQ(s.rows[0].firsts, 1u);
  EXPECT_EQ(s.rows[1].firsts, 0u);
  EXPECT_EQ(s.rows[0].worst, kNever);
  EXPECT_EQ(mean_text(s.rows[0]), "1.10 (1 of 2)");
  const Standings alone =
      judge({unfinished("blackhole", "a", 1, Ending::stalled, 700, "2 of 128 flows left")});
  EXPECT_EQ(alone.rows[0].firsts, 0u);
  EXPECT_EQ(mean_text(alone.rows[0]), "-");
}

TEST(Judge, WhatWasNotRunHasNoRankAndNoText) {
  const Standings s = judge({outcome("perm-2MB", "a", 1, 110), outcome("perm-2MB", "b", 1, 120),
                             outcome("incast", "a", 1, 110)});
  const Cell& cell = s.rows[1].cells[1];
  EXPECT_EQ(cell.seeds, 0u);
  EXPECT_EQ(cell.rank, 0u);
  EXPECT_EQ(cell_text(cell), "");
  EXPECT_DOUBLE_EQ(s.rows[1].mean_rank, 2);
  EXPECT_EQ(s.rows[1].ran, 1u);
}

TEST(Judge, CostsArePerPacketOverAllRuns) {
  Outcome one = outcome("perm-2MB", "a", 1, 110);
  one.packets = 1000;
  one.drops = 10;
  one.pauses = 4;
  one.deepest_queue = 500;
  Outcome two = outcome("incast", "a", 1, 110);
  two.packets = 3000;
  two.trims = 40;
  two.deepest_queue = 200;
  const Cost cost = judge({one, two}).rows[0].cost;
  EXPECT_DOUBLE_EQ(cost.drops, 0.0025);
  EXPECT_DOUBLE_EQ(cost.trims, 0.01);
  EXPECT_DOUBLE_EQ(cost.pauses, 1);
  EXPECT_DOUBLE_EQ(cost.deepest_queue, 500);
}

TEST(TimesText, HasThreeDigits) {
  EXPECT_EQ(times_text(1.0), "1.00");
  EXPECT_EQ(times_text(12.345), "12.3");
  EXPECT_EQ(times_text(137.4), "137");
  EXPECT_EQ(times_text(9.996), "10.0");
  EXPECT_EQ(times_text(99.96), "100");
  EXPECT_EQ(times_text(kNever), "never");
}

}  // namespace
}  // namespace strack::league
