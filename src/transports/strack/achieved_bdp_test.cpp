#include "transports/strack/achieved_bdp.h"

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"

namespace strack::core {
namespace {

// base_rtt 8 us and target_qdelay 8 us: an interval is over after more than 16 us.
constexpr Picoseconds kBaseRtt = us(8);
constexpr Picoseconds kTarget = us(8);

Bytes ack(AchievedBdp& achieved, Bytes acked, Instant now) {
  return achieved.update(acked, kBaseRtt, kTarget, now);
}

// Nothing has been measured yet.
TEST(AchievedBdp, StartsAtZero) { EXPECT_EQ(AchievedBdp{}.value(), bytes(0)); }

// [A4.L1] [A4.L5] It returns what value() says, whether or not this ACK ended an interval.
TEST(AchievedBdp, Update_ReturnsTheNewestMeasurement) {
  AchievedBdp achieved;
  EXPECT_EQ(ack(achieved, kb(4), at(us(10))), bytes(0));
  EXPECT_EQ(achieved.value(), bytes(0));
  EXPECT_EQ(ack(achieved, kb(4), at(us(20))), kb(8));
  EXPECT_EQ(achieved.value(), kb(8));
}

// [A4.L2] [A4.L4] Exactly base_rtt + target_qdelay after it began, the interval goes on.
TEST(AchievedBdp, Update_AtExactlyTheIntervalNothingIsMeasured) {
  AchievedBdp achieved;
  EXPECT_EQ(ack(achieved, kb(4), at(us(16))), bytes(0));
}

// [A4.L2] [A4.L4] A picosecond later it is over.
TEST(AchievedBdp, Update_JustAfterTheIntervalItIsMeasured) {
  AchievedBdp achieved;
  EXPECT_EQ(ack(achieved, kb(4), at(us(16) + ps(1))), kb(4));
}

// [A4.L2] [D22] [D7] The interval is the sum of the flow's base RTT and the target, neither alone.
TEST(AchievedBdp, Update_IntervalIsTheSumOfBothTimes) {
  AchievedBdp short_target;
  EXPECT_EQ(short_target.update(kb(4), us(6), us(3), at(us(9))), bytes(0));
  EXPECT_EQ(short_target.update(kb(4), us(6), us(3), at(us(9) + ps(1))), kb(8));
  AchievedBdp short_rtt;
  EXPECT_EQ(short_rtt.update(kb(4), us(2), us(9), at(us(11))), bytes(0));
  EXPECT_EQ(short_rtt.update(kb(4), us(2), us(9), at(us(11) + ps(1))), kb(8));
}

// [A4.L3] Bytes add up over the interval, and the ACK that ends it counts in it.
TEST(AchievedBdp, Update_AddsUpTheInterval) {
  AchievedBdp achieved;
  ack(achieved, kb(1), at(us(4)));
  ack(achieved, kb(2), at(us(8)));
  EXPECT_EQ(ack(achieved, kb(4), at(us(17))), kb(7));
}

// [A4.L3] The answer to a probe adds nothing, but it can end an interval.
TEST(AchievedBdp, Update_ProbesAnswerAddsNothing) {
  AchievedBdp achieved;
  ack(achieved, kb(5), at(us(4)));
  EXPECT_EQ(ack(achieved, bytes(0), at(us(17))), kb(5));
}

// [A4.L4] [A4.L5] Between two ends the last measurement stands.
TEST(AchievedBdp, Update_KeepsTheLastMeasurement) {
  AchievedBdp achieved;
  ack(achieved, kb(5), at(us(17)));
  EXPECT_EQ(ack(achieved, kb(30), at(us(18))), kb(5));
  EXPECT_EQ(achieved.value(), kb(5));
}

// [A4.L6] The next interval counts from zero.
TEST(AchievedBdp, Update_NextIntervalCountsFromZero) {
  AchievedBdp achieved;
  ack(achieved, kb(5), at(us(17)));
  EXPECT_EQ(ack(achieved, kb(3), at(us(34))), kb(3));
}

// [A4.L5] [A4.L6] An interval in which only its last ACK said anything at all, and that nothing.
TEST(AchievedBdp, Update_MeasuresZero) {
  AchievedBdp achieved;
  ack(achieved, kb(5), at(us(17)));
  EXPECT_EQ(ack(achieved, bytes(0), at(us(34))), bytes(0));
}

// [A4.L7] The next interval begins with the ACK that ended the last, late as that was.
TEST(AchievedBdp, Update_NextIntervalBeginsNow) {
  AchievedBdp achieved;
  EXPECT_EQ(ack(achieved, kb(5), at(us(100))), kb(5));
  EXPECT_EQ(ack(achieved, kb(1), at(us(116))), kb(5));
  EXPECT_EQ(ack(achieved, kb(1), at(us(116) + ps(1))), kb(2));
}

// [D22] After a pause the interval begins afresh: its time ...
TEST(AchievedBdp, Restart_BeginsTheIntervalNow) {
  AchievedBdp achieved;
  achieved.restart(at(us(500)));
  EXPECT_EQ(ack(achieved, kb(4), at(us(516))), bytes(0));
  EXPECT_EQ(ack(achieved, kb(4), at(us(516) + ps(1))), kb(8));
}

// [D22] ... and its count, so that bytes from before the pause do not add to those after.
TEST(AchievedBdp, Restart_CountsFromZero) {
  AchievedBdp achieved;
  ack(achieved, kb(7), at(us(5)));
  achieved.restart(at(us(500)));
  EXPECT_EQ(ack(achieved, kb(4), at(us(517))), kb(4));
}

// [D22] What was measured before the pause stands until there is something newer.
TEST(AchievedBdp, Restart_KeepsTheLastMeasurement) {
  AchievedBdp achieved;
  ack(achieved, kb(7), at(us(17)));
  achieved.restart(at(us(500)));
  EXPECT_EQ(achieved.value(), kb(7));
}

}  // namespace
}  // namespace strack::core
