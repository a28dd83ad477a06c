#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/paths/spray.h"

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(100));

SprayParams eight(SprayPolicy policy) {
  SprayParams params;
  params.policy = policy;
  params.paths = 8;
  return params;
}

template <class Paths>
std::vector<PathId> take(Paths& paths, const SprayParams& params, int count) {
  std::vector<PathId> taken;
  for (int i = 0; i < count; ++i) taken.push_back(paths.next(params, kNow));
  return taken;
}

// [PATHS.oblivious] A round has each entropy once, at its place xor the round's mask; each round has
// its own.
TEST(Paths, Oblivious_EachRoundIsItsOwnPermutation) {
  const SprayParams params = eight(SprayPolicy::oblivious);
  ObliviousPaths paths(params, 3);
  std::set<PathId> masks;
  for (int round = 0; round < 16; ++round) {
    const std::vector<PathId> taken = take(paths, params, 8);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(taken[i], taken[0] ^ i);
    masks.insert(taken[0]);
  }
  EXPECT_GT(masks.size(), 3u);
}

// [PATHS.oblivious] Whatever it hears.
TEST(Paths, Oblivious_LearnsNothing) {
  const SprayParams params = eight(SprayPolicy::oblivious);
  ObliviousPaths told(params, 3);
  ObliviousPaths untold(params, 3);
  for (PathId path = 0; path < 8; ++path) told.feedback(params, path, PathNews::timed_out, kNow);
  EXPECT_EQ(take(told, params, 40), take(untold, params, 40));
}

// [PATHS.random] Each packet draws: all entropies come, and not in turn.
TEST(Paths, Random_DrawsEachTime) {
  const SprayParams params = eight(SprayPolicy::random);
  RandomPaths paths(params, 3);
  std::array<int, 8> count{};
  bool repeats = false;
  PathId last = 8;
  for (const PathId path : take(paths, params, 8'000)) {
    ++count[path];
    repeats = repeats || path == last;
    last = path;
  }
  EXPECT_TRUE(repeats);
  for (const int times : count) EXPECT_NEAR(times, 1'000, 100);
}

// [PATHS.bit_reversed] 0 4 2 6 1 5 3 7, shifted, and again.
TEST(Paths, BitReversed_NeighboursAreFarApart) {
  const SprayParams params = eight(SprayPolicy::bit_reversed);
  BitReversedPaths paths(params, 3);
  const std::vector<PathId> taken = take(paths, params, 16);
  const std::array<PathId, 8> order{0, 4, 2, 6, 1, 5, 3, 7};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(taken[i], taken[0] ^ order[i % 8]);
}

/// A bitmap whose first round is 0, 1, 2 ...: of the seeds, the first that draws no mask.
BitmapPaths in_order(const SprayParams& params) {
  std::uint64_t seed = 0;
  while (Rotation(params, seed).current() != 0) ++seed;
  return {params, seed};
}

// [PATHS.bitmap.penalty] A mark counts 1, a trim 4, a timeout all; 15 is the most, and good news takes
// nothing away.
TEST(Paths, Bitmap_Penalties) {
  const SprayParams params = eight(SprayPolicy::bitmap);
  BitmapPaths paths(params, 0);
  paths.feedback(params, 1, PathNews::marked, kNow);
  paths.feedback(params, 2, PathNews::trimmed, kNow);
  paths.feedback(params, 3, PathNews::timed_out, kNow);
  paths.feedback(params, 1, PathNews::clean, kNow);
  EXPECT_EQ(paths.penalty(0), 0u);
  EXPECT_EQ(paths.penalty(1), 1u);
  EXPECT_EQ(paths.penalty(2), 4u);
  EXPECT_EQ(paths.penalty(3), 15u);
  for (int i = 0; i < 3; ++i) paths.feedback(params, 2, PathNews::trimmed, kNow);
  EXPECT_EQ(paths.penalty(2), 15u);
}

// [PATHS.bitmap.skip] [PATHS.bitmap.forgive] Those with penalties are passed over; only the first one that a
// packet passes is forgiven a point.
TEST(Paths, Bitmap_PassesOverPenalties) {
  const SprayParams params = eight(SprayPolicy::bitmap);
  BitmapPaths paths = in_order(params);
  paths.feedback(params, 1, PathNews::trimmed, kNow);
  paths.feedback(params, 2, PathNews::marked, kNow);
  EXPECT_EQ(take(paths, params, 6), (std::vector<PathId>{0, 3, 4, 5, 6, 7}));
  EXPECT_EQ(paths.penalty(1), 3u);
  EXPECT_EQ(paths.penalty(2), 1u);
}

// [PATHS.bitmap.skip] When all have one, a packet still goes out, and all are forgiven in the end.
TEST(Paths, Bitmap_AllPenalised) {
  const SprayParams params = eight(SprayPolicy::bitmap);
  BitmapPaths paths(params, 5);
  for (PathId path = 0; path < 8; ++path) paths.feedback(params, path, PathNews::marked, kNow);
  int points = 8;
  for (int i = 0; i < 200 && points > 0; ++i) {
    EXPECT_LT(paths.next(params, kNow), 8u);
    points = 0;
    for (PathId path = 0; path < 8; ++path) points += static_cast<int>(paths.penalty(path));
  }
  EXPECT_EQ(points, 0);
}

// [PATHS.reps.recycle] Clean paths come again once, the oldest first; marked and trimmed ones do not. [PATHS.reps.random]
// Then it draws.
TEST(Paths, Reps_RecyclesWhatWorked) {
  SprayParams params = eight(SprayPolicy::reps);
  params.paths = 65'536;
  RepsPaths paths(params, 1);
  paths.feedback(params, 5, PathNews::clean, kNow);
  paths.feedback(params, 6, PathNews::marked, kNow);
  paths.feedback(params, 7, PathNews::trimmed, kNow);
  paths.feedback(params, 9, PathNews::clean, kNow);
  EXPECT_EQ(take(paths, params, 2), (std::vector<PathId>{5, 9}));
  std::set<PathId> drawn;
  for (const PathId path : take(paths, params, 50)) drawn.insert(path);
  EXPECT_GT(drawn.size(), 45u);
}

// [PATHS.reps.recycle] It remembers eight.
TEST(Paths, Reps_TheOldestMakesRoom) {
  SprayParams params = eight(SprayPolicy::reps);
  params.paths = 64;
  RepsPaths paths(params, 1);
  for (PathId path = 10; path < 20; ++path) paths.feedback(params, path, PathNews::clean, kNow);
  EXPECT_EQ(take(paths, params, 8), (std::vector<PathId>{12, 13, 14, 15, 16, 17, 18, 19}));
}

// [PATHS.reps.freeze] [PATHS.reps.frozen] After a timeout it lives on what it has, used or not, and takes nothing in.
TEST(Paths, Reps_Freezes) {
  SprayParams params = eight(SprayPolicy::reps);
  params.paths = 64;
  RepsPaths paths(params, 1);
  for (PathId path = 10; path < 13; ++path) paths.feedback(params, path, PathNews::clean, kNow);
  EXPECT_EQ(take(paths, params, 2), (std::vector<PathId>{10, 11}));
  paths.feedback(params, 20, PathNews::timed_out, kNow);
  EXPECT_TRUE(paths.frozen());
  paths.feedback(params, 30, PathNews::clean, kNow + ms(10));
  EXPECT_EQ(take(paths, params, 5), (std::vector<PathId>{10, 11, 12, 10, 11}));
}

// [PATHS.reps.thaw] Good news after its time ends it: the ring is emptied, and 16 packets explore.
TEST(Paths, Reps_Thaws) {
  SprayParams params = eight(SprayPolicy::reps);
  params.paths = 65'536;
  RepsPaths paths(params, 1);
  paths.feedback(params, 10, PathNews::clean, kNow);
  paths.feedback(params, 20, PathNews::timed_out, kNow);
  paths.feedback(params, 30, PathNews::clean, kNow + ms(10) + ps(1));
  EXPECT_FALSE(paths.frozen());
  paths.feedback(params, 40, PathNews::timed_out, kNow);  // while it explores, nothing to live on
  EXPECT_FALSE(paths.frozen());
  for (const PathId path : take(paths, params, 16)) EXPECT_TRUE(path != 10 && path != 30);
  EXPECT_EQ(paths.next(params, kNow), 30);
  params.reps_freeze = ps(0);
  paths.feedback(params, 40, PathNews::timed_out, kNow);
  EXPECT_FALSE(paths.frozen());
}

// [PATHS.mixed.recycle] [PATHS.mixed.bitmap] Clean paths come again first; then the rotation goes on past penalties.
TEST(Paths, Mixed_RecyclesThenRotates) {
  const SprayParams params = eight(SprayPolicy::mixed);
  std::uint64_t seed = 0;
  while (Rotation(params, seed).current() != 0) ++seed;
  MixedPaths paths(params, seed);
  paths.feedback(params, 6, PathNews::clean, kNow);
  paths.feedback(params, 1, PathNews::marked, kNow);
  paths.feedback(params, 5, PathNews::clean, kNow);
  EXPECT_EQ(paths.penalty(1), 1u);
  EXPECT_EQ(take(paths, params, 5), (std::vector<PathId>{6, 5, 0, 2, 3}));
}

// [D52] It remembers 64; the oldest make room.
TEST(Paths, Mixed_TheNewestCount) {
  SprayParams params = eight(SprayPolicy::mixed);
  params.paths = 256;
  MixedPaths paths(params, 0);
  for (PathId path = 0; path < 70; ++path) paths.feedback(params, path, PathNews::clean, kNow);
  const std::vector<PathId> taken = take(paths, params, 64);
  for (PathId i = 0; i < 64; ++i) EXPECT_EQ(taken[i], i + 6);
}

// [PATHS.plb.round] [PATHS.plb.move] Five round trips in a row with half of the news bad: then it moves. [D53] What is
// said of the path that was left moves nothing.
TEST(Paths, Plb_MovesAfterCongestedRounds) {
  const SprayParams params = eight(SprayPolicy::plb);
  PlbPaths paths(params, 1);
  const PathId first = paths.next(params, kNow);
  Instant now = kNow;
  const auto round = [&](PathNews a, PathNews b) {
    paths.feedback(params, first, a, now);
    now = now + params.plb_round;
    paths.feedback(params, first, b, now);
  };
  for (int i = 0; i < 4; ++i) round(PathNews::marked, PathNews::clean);
  round(PathNews::clean, PathNews::clean);  // not in a row
  for (int i = 0; i < 4; ++i) round(PathNews::clean, PathNews::trimmed);
  EXPECT_EQ(paths.next(params, now), first);
  round(PathNews::marked, PathNews::marked);
  const PathId second = paths.next(params, now);
  EXPECT_NE(second, first);
  paths.feedback(params, first, PathNews::timed_out, now);
  EXPECT_EQ(paths.next(params, now), second);
}

// [PATHS.plb.timeout] A timeout moves it at once.
TEST(Paths, Plb_MovesAtATimeout) {
  const SprayParams params = eight(SprayPolicy::plb);
  PlbPaths paths(params, 1);
  const PathId first = paths.next(params, kNow);
  paths.feedback(params, first, PathNews::timed_out, kNow);
  EXPECT_NE(paths.next(params, kNow), first);
}

// [PATHS.flowlet.gap] [PATHS.flowlet.life] Only after a gap, and only on a path that has been kept long enough.
TEST(Paths, Flowlet_MovesAfterAGap) {
  SprayParams params = eight(SprayPolicy::flowlet);
  params.flowlet_gap = us(4);
  params.flowlet_life = us(50);
  FlowletPaths paths(params, 1);
  const PathId first = paths.next(params, kNow);
  EXPECT_EQ(paths.next(params, kNow + us(30)), first);  // a gap, too soon
  for (int t = 34; t <= 62; t += 4) EXPECT_EQ(paths.next(params, kNow + us(t)), first);
  const PathId second = paths.next(params, kNow + us(66) + ps(1));
  EXPECT_NE(second, first);
  EXPECT_EQ(paths.next(params, kNow + us(80)), second);
}

// [PATHS.single] Whatever happens.
TEST(Paths, Single_StaysOnOne) {
  const SprayParams params = eight(SprayPolicy::single);
  SinglePath paths(params, 1);
  const PathId path = paths.next(params, kNow);
  paths.feedback(params, path, PathNews::timed_out, kNow);
  EXPECT_EQ(paths.next(params, kNow + ms(1)), path);
}

template <class Paths>
void expect_same(SprayPolicy policy) {
  const SprayParams params = eight(policy);
  Spray spray(params, 9);
  Paths paths(params, 9);
  Rng rng(7);
  Instant now = kNow;
  for (int i = 0; i < 2'000; ++i) {
    now = now + us(rng.between(0, 6));
    const PathId path = spray.next(params, now);
    ASSERT_EQ(path, paths.next(params, now));
    ASSERT_LT(path, 8u);
    const auto about = static_cast<PathId>(rng.below(8));
    const auto news = static_cast<PathNews>(rng.below(4));
    spray.feedback(params, about, news, now);
    paths.feedback(params, about, news, now);
  }
}

// [D54] What senders own is the policy that the parameters ask for, choice by choice, from a seed.
TEST(Paths, Spray_IsThePolicyAskedFor) {
  expect_same<ObliviousPaths>(SprayPolicy::oblivious);
  expect_same<RandomPaths>(SprayPolicy::random);
  expect_same<BitReversedPaths>(SprayPolicy::bit_reversed);
  expect_same<BitmapPaths>(SprayPolicy::bitmap);
  expect_same<RepsPaths>(SprayPolicy::reps);
  expect_same<MixedPaths>(SprayPolicy::mixed);
  expect_same<PlbPaths>(SprayPolicy::plb);
  expect_same<FlowletPaths>(SprayPolicy::flowlet);
  expect_same<SinglePath>(SprayPolicy::single);
}

// One path is a choice of one, for all of them.
TEST(Paths, Spray_OnePath) {
  for (int policy = 0; policy <= static_cast<int>(SprayPolicy::single); ++policy) {
    SprayParams params;
    params.policy = static_cast<SprayPolicy>(policy);
    params.paths = 1;
    Spray spray(params);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(spray.next(params, kNow), 0);
      spray.feedback(params, 0, static_cast<PathNews>(i % 4), kNow);
    }
  }
}

TEST(Paths, Params_Fault) {
  SprayParams params = eight(SprayPolicy::reps);
  EXPECT_FALSE(params.fault());
  params.paths = 65'536;
  EXPECT_FALSE(params.fault());
  params.policy = SprayPolicy::mixed;
  EXPECT_STREQ(params.fault()->remedy, "at most 256 where each path has a penalty");
  params.paths = 24;
  EXPECT_STREQ(params.fault()->remedy, "a power of two from 1 to 65536");
  params.paths = 16;
  params.plb_rounds = 0;
  EXPECT_STREQ(params.fault()->field, "plb_rounds");
}

// [PATHS.bit_reversed] Where it begins is drawn.
TEST(Paths, BitReversed_BeginsAnywhere) {
  const SprayParams params = eight(SprayPolicy::bit_reversed);
  std::set<PathId> first;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    first.insert(BitReversedPaths(params, seed).next(params, kNow));
  EXPECT_GT(first.size(), 3u);
}

// [PATHS.plb.move] [PATHS.plb.timeout] What counted against a path that was left does not count against the next.
TEST(Paths, Plb_BeginsAnewAfterATimeout) {
  SprayParams params = eight(SprayPolicy::plb);
  params.plb_rounds = 2;
  PlbPaths paths(params, 3);
  Instant now = kNow;
  const auto congested_round = [&](PathId path) {
    paths.feedback(params, path, PathNews::marked, now);
    now = now + params.plb_round;
    paths.feedback(params, path, PathNews::marked, now);
  };
  const PathId first = paths.next(params, now);
  congested_round(first);
  paths.feedback(params, first, PathNews::timed_out, now);
  const PathId second = paths.next(params, now);
  EXPECT_NE(second, first);
  congested_round(second);
  EXPECT_EQ(paths.next(params, now), second);
  congested_round(second);
  EXPECT_NE(paths.next(params, now), second);
}

// [PATHS.reps.freeze] [PATHS.reps.frozen] Its eight entries in turn, from the first; another timeout makes it no longer.
TEST(Paths, Reps_FreezesAnew) {
  SprayParams params = eight(SprayPolicy::reps);
  params.paths = 128;
  params.reps_explore = 0;
  RepsPaths paths(params, 3);
  for (PathId path = 20; path < 30; ++path) paths.feedback(params, path, PathNews::clean, kNow);
  paths.feedback(params, 50, PathNews::timed_out, kNow);
  const std::vector<PathId> once = take(paths, params, 8);
  EXPECT_EQ(std::set<PathId>(once.begin(), once.end()),
            (std::set<PathId>{22, 23, 24, 25, 26, 27, 28, 29}));
  EXPECT_EQ(take(paths, params, 3), (std::vector<PathId>{once[0], once[1], once[2]}));
  paths.feedback(params, 50, PathNews::timed_out, kNow + params.reps_freeze / 2);
  const Instant thaw = kNow + params.reps_freeze + ps(1);
  paths.feedback(params, 60, PathNews::clean, thaw);
  EXPECT_FALSE(paths.frozen());
  paths.feedback(params, 61, PathNews::clean, thaw);
  paths.feedback(params, 50, PathNews::timed_out, thaw);
  EXPECT_EQ(take(paths, params, 3), (std::vector<PathId>{60, 61, 60}));
}

}  // namespace
}  // namespace strack::core
