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
  patience.apply(params);
  EXPECT_EQ(params.probe_interval, patience.wait());
  EXPECT_LE(params.probe_interval * (std::int64_t{1} << params.probe_backoff_max),
            kLongestProbeWait);
  for (int i = 0; i < 100; ++i) patience.on_sack(ps(-5), true);
  EXPECT_GE(patience.wait(), kLeast);
}

}  // namespace
}  // namespace strack::udp
