#include "transports/uet/nscc.h"

#include <gtest/gtest.h>

namespace strack::core {
namespace {

constexpr Instant kStart = at(us(1'000));
constexpr Bytes kMtu = bytes(4'000);

/// 100 Gb/s, 12 us, without trimming: a = b = 1, max_cwnd 225 KB, target 12 us.
struct NsccTest : testing::Test {
  UetParams params = UetParams::for_link(gbps(100), us(12), kMtu, false, kb(750)).value();
  NsccWindow window{params};
  Instant now = kStart;

  /// A window of this size, with nothing collected: a trim takes the rest away.
  void shrink_to(Bytes size) { window.on_loss(params, window.cwnd() - size); }
  /// The first acknowledgement begins quick adapt's first period and applies eta.
  void start() {
    window.on_ack(params, {.delay = us(12), .acked = bytes(0)}, now);
    now = now + us(1);
  }
  void ack(bool ecn, Picoseconds delay, Bytes acked, Picoseconds after = ns(1)) {
    now = now + after;
    window.on_ack(params, {.ecn = ecn, .delay = delay, .acked = acked}, now);
  }
};

// [NSCC.window.max] The first window is the largest.
TEST_F(NsccTest, StartsFull) { EXPECT_EQ(window.cwnd(), kb(225)); }

// [NSCC.base_rtt] A shorter RTT is the new base, and the largest window falls in proportion.
TEST_F(NsccTest, BaseRttIsTheLeast) {
  EXPECT_EQ(window.measured_delay(params, us(15)), us(3));
  EXPECT_EQ(window.measured_delay(params, us(8)), us(0));
  EXPECT_EQ(window.base_rtt(), us(8));
  EXPECT_EQ(window.max_cwnd(), kb(150));
  EXPECT_EQ(window.cwnd(), kb(150));
  EXPECT_EQ(window.measured_delay(params, us(12)), us(4));
}

// [NSCC.average] avg += 819/65536 of the difference. [NSCC.average.late] Late without a mark counts as a quarter of the base RTT.
TEST_F(NsccTest, Average) {
  ack(true, us(20), bytes(0));
  EXPECT_EQ(window.avg_delay(), ps(20'000'000LL * 819 >> 16));
  const Picoseconds before = window.avg_delay();
  ack(false, us(20), bytes(0));
  EXPECT_EQ(window.avg_delay(), before + ps(((us(3) - before).value * 819) >> 16));
  params.damp_late = false;
  const Picoseconds then = window.avg_delay();
  ack(false, us(20), bytes(0));
  EXPECT_EQ(window.avg_delay(), then + ps(((us(20) - then).value * 819) >> 16));
}

// [NSCC.increase.proportional] [NSCC.fulfil] Below target alpha x n x (target - delay) / target is collected, and applied over cwnd once more
// than 8 MTU have come.
TEST_F(NsccTest, ProportionalIncrease) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  ack(false, us(3), 8 * kMtu);
  EXPECT_EQ(window.cwnd(), before);  // not more than 8 MTU yet
  ack(false, us(6), kMtu);
  const std::int64_t collected = 16'000LL * 32'000 * 3 / 4 + 16'000LL * 4'000 / 2;
  EXPECT_EQ(window.cwnd(), before + bytes(collected / before.value));
}

// [NSCC.increase.fair] At or above target without a mark: fi x n.
TEST_F(NsccTest, FairIncrease) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  ack(false, us(12), 9 * kMtu);
  EXPECT_EQ(window.cwnd(), before + bytes(20'000LL * 36'000 / before.value));
}

// [NSCC.quadrants] Marked below target: the window does not move.
TEST_F(NsccTest, MarkedWithoutDelay) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  ack(true, us(11), 9 * kMtu);
  EXPECT_EQ(window.cwnd(), before);
}

// [NSCC.fulfil] [NSCC.eta] After a period the collected increase is applied however little has come, with eta once a period.
TEST_F(NsccTest, FulfilsOnceAPeriod) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  EXPECT_EQ(before, kb(100) + bytes(600));  // eta with the first
  ack(false, us(12), kMtu);
  EXPECT_EQ(window.cwnd(), before);
  ack(false, us(12), kMtu, us(12));
  EXPECT_EQ(window.cwnd(), before + bytes(20'000LL * 8'000 / before.value) + bytes(600));
}

// [NSCC.fast] No delay for more than a window's worth: then n / 4 at once, until a delay shows.
TEST_F(NsccTest, FastIncrease) {
  shrink_to(kb(20));
  start();
  params.adjust_bytes = mb(1);  // nothing else moves the window
  params.adjust_period = seconds(1);
  ack(false, ns(999), bytes(20'600));
  const Bytes before = window.cwnd();
  ack(false, ns(999), kMtu);
  EXPECT_EQ(window.cwnd(), before + bytes(1'000));
  ack(false, ns(999), kMtu);
  EXPECT_EQ(window.cwnd(), before + bytes(2'000));
  ack(false, us(1), kMtu);  // a delay ends it
  ack(false, ns(999), kMtu);
  EXPECT_EQ(window.cwnd(), before + bytes(2'000));
}

// [NSCC.decrease] Marked above target, and the average too: once per base RTT by gamma x the average's excess over itself.
TEST_F(NsccTest, Decrease) {
  params.ewma_q16 = 65'536;  // the average is the last delay
  start();
  params.adjust_period = seconds(1);  // nothing else moves the window
  ack(true, us(16), bytes(0));
  const Bytes once = kb(225) - bytes(mul_div(225'000, 4 * 4'000'000LL, 5 * 16'000'000LL));
  EXPECT_EQ(window.cwnd(), once);
  ack(true, us(16), bytes(0), us(12));  // too soon
  EXPECT_EQ(window.cwnd(), once);
  ack(true, us(16), bytes(0), ns(1));
  EXPECT_EQ(window.cwnd(), once - bytes(mul_div(once.value, 4 * 4, 5 * 16)));
  const Bytes twice = window.cwnd();
  params.qa_threshold = seconds(1);
  ack(true, us(100), bytes(0), us(13));  // at most by half
  EXPECT_EQ(window.cwnd(), twice / 2);
}

// [NSCC.decrease] An average below the target holds it back, and a mark ends a fast increase.
TEST_F(NsccTest, DecreaseWaitsForTheAverage) {
  start();
  ack(true, us(16), bytes(0));
  EXPECT_EQ(window.cwnd(), kb(225));
}

// [NSCC.adapt] [NSCC.adapt.period] [NSCC.adapt.gate] [NSCC.adapt.delay] After a whole period with a delay above the threshold and less than an eighth of the largest
// window delivered, the window is what was delivered.
TEST_F(NsccTest, QuickAdapt) {
  start();
  ack(true, us(50), kb(20));
  EXPECT_EQ(window.cwnd(), kb(225));  // the period is not over
  ack(true, us(50), kb(1), us(24));
  EXPECT_EQ(window.cwnd(), kb(21));
  // The next period starts from nothing.
  ack(false, us(50), kb(28), us(12));
  ack(false, us(50), kb(1), us(13));
  EXPECT_GT(window.cwnd(), kb(21));  // 29 KB are more than an eighth of 225
}

// [NSCC.adapt.delay] At the threshold itself it does not act.
TEST_F(NsccTest, QuickAdapt_WantsMoreThanTheThreshold) {
  start();
  ack(false, us(48), kb(1), us(25));
  EXPECT_EQ(window.cwnd(), kb(225));
}

// [NSCC.adapt.ignore] Marks and losses of what was in flight then are ignored.
TEST_F(NsccTest, QuickAdapt_IgnoresWhatWasInFlight) {
  params.ewma_q16 = 65'536;
  start();
  now = now + us(25);
  window.on_ack(params, {.ecn = true, .delay = us(50), .acked = kb(8), .inflight = kb(40)}, now);
  EXPECT_EQ(window.cwnd(), kb(8));
  now = now + us(13);
  window.on_ack(params, {.ecn = true, .delay = us(50), .acked = kb(39)}, now);
  window.on_nack(params, bytes(500), kb(1), false, now);
  EXPECT_EQ(window.cwnd(), kb(8));
  window.on_nack(params, kMtu, kb(1), false, now);  // 43.5 KB: no longer
  EXPECT_EQ(window.cwnd(), kMtu);
}

// [NSCC.nack] A trim takes its size off the window and feeds the average the network's RTT.
TEST_F(NsccTest, Nack) {
  start();
  window.on_nack(params, kMtu, kb(100), false, now);
  EXPECT_EQ(window.cwnd(), kb(221));
  EXPECT_GT(window.avg_delay(), us(0));
  window.on_nack(params, kMtu, kb(100), true, now);  // the receiver's business
  EXPECT_EQ(window.cwnd(), kb(221));
}

// [NSCC.nack] [NSCC.adapt] And it is reason enough for a quick adapt when the period ends.
TEST_F(NsccTest, Nack_TriggersQuickAdapt) {
  start();
  ack(false, us(1), kb(10));
  now = now + us(25);
  window.on_nack(params, kMtu, kb(100), false, now);
  EXPECT_EQ(window.cwnd(), kb(10));
}

// [NSCC.timeout] A loss takes its size off, but one packet is always left.
TEST_F(NsccTest, Loss) {
  window.on_loss(params, kMtu);
  EXPECT_EQ(window.cwnd(), kb(221));
  window.on_loss(params, kb(500));
  EXPECT_EQ(window.cwnd(), kMtu);
}

// [NSCC.ack] Bytes whose RTT is not known count for periods, and change nothing.
TEST_F(NsccTest, WithoutAnRtt) {
  shrink_to(kb(100));
  window.on_ack(params, {.timed = false, .acked = kb(100)}, now);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [NSCC.base_rtt] [NSCC.window.max] However short, the largest window is at least one MTU.
TEST_F(NsccTest, BaseRtt_LeavesAPacket) {
  window.measured_delay(params, ns(1));
  EXPECT_EQ(window.max_cwnd(), kMtu);
  EXPECT_EQ(window.cwnd(), kMtu);
}

// [NSCC.average.late] At the target it is not late.
TEST_F(NsccTest, Average_AtTheTarget) {
  ack(false, us(12), bytes(0));
  EXPECT_EQ(window.avg_delay(), ps(12'000'000LL * 819 >> 16));
}

// [NSCC.quadrants] Marked below target the window stays, though the average calls for less; at the target it falls.
TEST_F(NsccTest, MarkedWithoutDelay_WhateverTheAverage) {
  params.ewma_q16 = 65'536;  // the average is the last delay
  params.qa_threshold = seconds(1);
  start();
  params.adjust_period = seconds(1);  // nothing else moves the window
  ack(true, us(24), bytes(0));
  const Bytes once = kb(225) - bytes(mul_div(225'000, 4 * 12, 5 * 24));
  EXPECT_EQ(window.cwnd(), once);
  params.ewma_q16 = 1;
  ack(true, us(12) - ps(1), bytes(0), us(13));
  EXPECT_GT(window.avg_delay(), us(23));
  EXPECT_EQ(window.cwnd(), once);
  ack(true, us(12), bytes(0));
  EXPECT_LT(window.cwnd(), once);
}

// [NSCC.fulfil] Each increase is applied once, and the count of bytes starts again.
TEST_F(NsccTest, FulfilsEachIncreaseOnce) {
  shrink_to(kb(100));
  start();
  ack(false, us(12), 9 * kMtu);
  const Bytes before = window.cwnd();
  ack(false, us(12), 8 * kMtu);
  EXPECT_EQ(window.cwnd(), before);
  ack(false, us(12), kMtu);
  EXPECT_EQ(window.cwnd(), before + bytes(20'000LL * 36'000 / before.value));
}

// [NSCC.fulfil] Not before more than a period has passed.
TEST_F(NsccTest, FulfilsAfterAPeriod) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  ack(false, us(12), kMtu, us(11));  // 12 us after the first
  EXPECT_EQ(window.cwnd(), before);
  ack(false, us(12), bytes(0), ps(1));
  EXPECT_GT(window.cwnd(), before);
}

// [NSCC.fast] More than a window's worth, and nothing is collected besides; a mark with a delay ends it.
TEST_F(NsccTest, FastIncrease_IsNotCollected) {
  shrink_to(kb(20));
  start();
  params.adjust_bytes = mb(1);
  params.adjust_period = seconds(1);
  params.alpha = bytes(0);
  ack(false, ns(999), bytes(20'600));  // a window's worth, not more
  EXPECT_EQ(window.cwnd(), bytes(20'600));
  params.alpha = 4 * kMtu;
  ack(false, ns(999), kMtu);
  EXPECT_EQ(window.cwnd(), bytes(21'600));
  params.alpha = bytes(0);
  ack(true, us(12), bytes(0));
  ack(false, ns(999), kMtu);
  EXPECT_EQ(window.cwnd(), bytes(21'600));
  params.adjust_bytes = bytes(0);  // what was collected is nothing
  ack(true, us(1), bytes(1));
  EXPECT_EQ(window.cwnd(), bytes(21'600));
}

// [NSCC.decrease] An average below the target holds it back.
TEST_F(NsccTest, DecreaseWaitsForTheAverage_BelowTheLargestWindow) {
  shrink_to(kb(100));
  start();
  const Bytes before = window.cwnd();
  ack(true, us(16), bytes(0));
  EXPECT_EQ(window.cwnd(), before);
}

// [NSCC.adapt.period] Base RTT and target: at their end not yet.
TEST_F(NsccTest, QuickAdapt_Period) {
  start();
  ack(true, us(50), kb(20), us(23));  // 24 us after the first
  EXPECT_EQ(window.cwnd(), kb(225));
  ack(true, us(50), kb(1), ps(1));
  EXPECT_EQ(window.cwnd(), kb(21));
}

// [NSCC.adapt.gate] An eighth of the largest window is enough.
TEST_F(NsccTest, QuickAdapt_Gate) {
  for (const bool enough : {true, false}) {
    window = NsccWindow(params);
    start();
    ack(true, us(50), bytes(enough ? 28'125 : 28'124), us(25));
    EXPECT_EQ(window.cwnd(), enough ? kb(225) : bytes(28'124));
  }
}

// [NSCC.adapt] What was collected before is forgotten.
TEST_F(NsccTest, QuickAdapt_ForgetsIncreases) {
  start();
  params.adjust_period = seconds(1);
  ack(false, us(12), kMtu);
  ack(true, us(50), bytes(0), us(24));
  EXPECT_EQ(window.cwnd(), kMtu);
  ack(false, us(12), 8 * kMtu);
  EXPECT_EQ(window.cwnd(), kMtu);
  ack(false, us(12), bytes(1));
  EXPECT_EQ(window.cwnd(), kMtu + bytes(20'000LL * 32'001 / 4'000));
}

// [NSCC.adapt.ignore] What is not marked counts as ever.
TEST_F(NsccTest, QuickAdapt_IgnoresMarksOnly) {
  start();
  params.adjust_period = seconds(1);
  now = now + us(25);
  window.on_ack(params, {.ecn = true, .delay = us(50), .acked = kb(8), .inflight = kb(40)}, now);
  ack(false, us(12), 9 * kMtu);
  EXPECT_EQ(window.cwnd(), kb(8) + bytes(20'000LL * 36'000 / 8'000));
}

// [NSCC.adapt.delay] A trim within the period is reason enough at its end, whatever the delay; it counts for one period.
TEST_F(NsccTest, Nack_TriggersQuickAdaptLater) {
  params.alpha = params.fi = params.eta = bytes(0);  // nothing else moves the window
  params.fast_delay = ps(0);
  start();
  window.on_nack(params, kMtu, bytes(0), false, now);
  EXPECT_EQ(window.cwnd(), kb(221));
  ack(false, us(1), kb(5), us(25));
  EXPECT_EQ(window.cwnd(), kb(5));
  ack(false, us(1), kb(4), us(25));
  EXPECT_EQ(window.cwnd(), kb(5));
}

// [NSCC.nack] The average is fed the network's RTT; one packet is always left.
TEST_F(NsccTest, Nack_FeedsTheAverage) {
  shrink_to(kMtu);
  window.on_nack(params, kMtu, kb(100), false, now);
  EXPECT_EQ(window.avg_delay(), ps(12'000'000LL * 819 >> 16));
  EXPECT_EQ(window.cwnd(), kMtu);
}

}  // namespace
}  // namespace strack::core
