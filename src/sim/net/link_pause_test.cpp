#include "sim/net/link_pause.h"

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

// [R.pfc.hold] [R.pfc.expiry] From the frame's arrival, for its time, to the picosecond.
TEST(LinkPause, Xoff_HoldsForItsTime) {
  LinkPause pause;
  EXPECT_FALSE(pause.holds(t(0)));
  EXPECT_EQ(pause.until(), Instant::never());
  EXPECT_FALSE(pause.on_frame(ps(1'000), t(500)));
  EXPECT_TRUE(pause.holds(t(500)));
  EXPECT_TRUE(pause.holds(t(1'499)));
  EXPECT_FALSE(pause.holds(t(1'500)));
  EXPECT_EQ(pause.until(), t(1'500));
  EXPECT_FALSE(pause.expire(t(1'499)));
  EXPECT_TRUE(pause.expire(t(1'500)));
  EXPECT_FALSE(pause.expire(t(1'500)));
  EXPECT_EQ(pause.total(t(9'000)), ps(1'000));
}

// [R.pfc.xon] An XON ends it early; one for nothing does nothing.
TEST(LinkPause, Xon_EndsIt) {
  LinkPause pause;
  EXPECT_FALSE(pause.on_frame(ps(0), t(10)));
  pause.on_frame(ps(1'000), t(500));
  EXPECT_TRUE(pause.on_frame(ps(0), t(700)));
  EXPECT_FALSE(pause.holds(t(700)));
  EXPECT_EQ(pause.total(t(700)), ps(200));
  EXPECT_EQ(pause.frames(), 3u);
}

// [R.pfc.expiry] A refresh counts from its own arrival, also when it is shorter, also in the very
// instant of the expiry; after that it is a new pause.
TEST(LinkPause, Xoff_Refreshed) {
  LinkPause pause;
  pause.on_frame(ps(1'000), t(0));
  pause.on_frame(ps(1'000), t(600));
  EXPECT_EQ(pause.until(), t(1'600));
  pause.on_frame(ps(1'000), t(1'600));
  EXPECT_TRUE(pause.holds(t(2'599)));
  EXPECT_EQ(pause.total(t(2'000)), ps(2'000));
  pause.on_frame(ps(100), t(2'000));
  EXPECT_EQ(pause.until(), t(2'100));
  pause.on_frame(ps(50), t(3'000));
  EXPECT_EQ(pause.total(t(3'050)), ps(2'150));
}

// [R.pfc.hold] Time held, cut at the ends of intervals though the pause goes on.
TEST(LinkPause, Interval_CutsAPause) {
  LinkPause pause;
  pause.on_frame(ps(1'000), t(500));
  LinkPause::Interval interval = pause.take_interval(t(800));
  EXPECT_EQ(interval.paused, ps(300));
  EXPECT_EQ(interval.frames, 1u);
  interval = pause.take_interval(t(2'000));
  EXPECT_EQ(interval.paused, ps(700));
  EXPECT_EQ(interval.frames, 0u);
  pause.expire(t(2'000));
  interval = pause.take_interval(t(3'000));
  EXPECT_EQ(interval.paused, ps(0));
}

}  // namespace
}  // namespace strack::sim
