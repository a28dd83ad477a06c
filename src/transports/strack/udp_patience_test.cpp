#include "transports/strack/udp_patience.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

constexpr Picoseconds kLeast = us(600);

// [D166] Who is asked in vain while it is away for 20 ms at a time is soon asked no sooner.
TEST(PatienceTest, FollowsAPeerThatIsAway) {
  Patience patience(kLeast);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(patience.on_sack(ms(20), true));
  EXPECT_GT(patience.wait(), ms(19));
  EXPECT_LE(patience.wait(), ms(20));
}

// [D166] What nobody had to ask for changes nothing, and one long wait does little and for a short time.
TEST(PatienceTest, OnceIsNotOften) {
  Patience patience(kLeast);
  EXPECT_FALSE(patience.on_sack(ms(20), false));
  EXPECT_FALSE(patience.on_sack(us(3), false));
  EXPECT_EQ(patience.wait(), kLeast);
  EXPECT_TRUE(patience.on_sack(ms(16), true));
  EXPECT_LT(patience.wait(), ms(9));
  for (int i = 0; i < 200; ++i) patience.on_sack(us(3), false);
  EXPECT_LT(patience.wait(), ms(1));
  while (patience.on_sack(us(3), false)) {
  }
  EXPECT_EQ(patience.wait(), kLeast);
}

// [D166] A peer may say what it likes, and is asked all the same.
TEST(PatienceTest, HasAnEnd) {
  Patience patience(kLeast);
  for (int i = 0; i < 100; ++i) patience.on_sack(seconds(4), true);
  EXPECT_LE(patience.wait(), Patience::kLongest);
  core::StrackParams params;
  SharedPatience(patience, kLeast).apply(params);
  EXPECT_EQ(params.probe_interval, patience.wait());
  EXPECT_LE(params.probe_interval * (std::int64_t{1} << params.probe_backoff_max),
            kLongestProbeWait);
  for (int i = 0; i < 100; ++i) patience.on_sack(ps(-5), true);
  EXPECT_GE(patience.wait(), kLeast);
}

// [D172] Of a thousand connections none alone hears enough of a peer that is busy with all; and none waits for less than its own.
TEST(PatienceTest, WhatOneLearnsAllKnow) {
  Patience all;
  SharedPatience first(all, kLeast);
  SharedPatience other(all, 2 * kLeast);
  core::StrackParams params;
  EXPECT_TRUE(first.on_sack(us(3), false)) << "it has applied nothing yet";
  first.apply(params);
  EXPECT_EQ(params.probe_interval, kLeast);
  EXPECT_FALSE(first.on_sack(us(3), false));
  EXPECT_TRUE(first.on_sack(ms(8), true));
  EXPECT_TRUE(other.on_sack(us(3), false));
  other.apply(params);
  EXPECT_GT(params.probe_interval, ms(4));
  EXPECT_EQ(params.probe_interval, all.wait());
  for (int i = 0; i < 2'000; ++i) static_cast<void>(first.on_sack(us(3), false));
  EXPECT_TRUE(other.on_sack(us(3), false));
  other.apply(params);
  EXPECT_EQ(params.probe_interval, 2 * kLeast);
  SharedPatience late(all, kLeast);
  late.apply(params);
  EXPECT_LT(params.probe_interval, 2 * kLeast);
}

}  // namespace
}  // namespace strack::udp
