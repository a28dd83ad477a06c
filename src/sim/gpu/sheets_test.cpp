// When a window ends, worked out by the machine itself, and what surely is in the next one.
#include "sim/gpu/sheets.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/units.h"

namespace strack::sim::gpu {
namespace {

TEST(Course, WhatSurelyIsInTheNextWindowIsInItWhateverComes) {
  Rng rng(5);
  int cut = 0;
  int goes_on = 0;
  for (int i = 0; i < 20'000; ++i) {
    Pace pace;
    pace.lookahead = ps(static_cast<std::int64_t>(1 + rng.below(1'000)));
    if (rng.below(2) == 0) pace.interval = ps(static_cast<std::int64_t>(1 + rng.below(5'000)));
    if (rng.below(2) == 0) pace.end = {static_cast<std::int64_t>(20'000)};
    const auto end = static_cast<std::int64_t>(rng.below(21'000));
    Tally tally;
    tally.next = end + static_cast<std::int64_t>(rng.below(3'000));
    const Instant surely = surely_in_next(pace, {end});
    EXPECT_LE(surely, Instant{end} + pace.lookahead);
    EXPECT_LE(surely, pace.end);
    if (surely < Instant{end} + pace.lookahead) ++cut;
    const Course next = course_after(pace, 7, end, tally);
    if (!next.goes_on) continue;
    ++goes_on;
    EXPECT_EQ(next.window, 8u);
    EXPECT_LE(surely.ps, next.end);
  }
  EXPECT_GT(cut, 1'000);
  EXPECT_GT(goes_on, 1'000);
}

// A window that ends where a sample is due: what comes after it waits for that.
TEST(Course, NothingIsSureBeyondASample) {
  Pace pace;
  pace.lookahead = ps(100);
  pace.interval = ps(1'000);
  EXPECT_EQ(surely_in_next(pace, {2'000}).ps, 2'000);
  EXPECT_EQ(surely_in_next(pace, {1'950}).ps, 2'000);
  EXPECT_EQ(surely_in_next(pace, {1'800}).ps, 1'900);
}

}  // namespace
}  // namespace strack::sim::gpu
