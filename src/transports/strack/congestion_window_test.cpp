#include "transports/strack/congestion_window.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "core/events.h"
#include "transports/strack/params.h"

namespace strack::core {
namespace {

// 400 Gb/s, 8 us, 4 KiB: target_qdelay 8 us, target_qhigh 24 us, beta 54613, alpha 29127, eta 1638,
// min_cwnd 4096, max_cwnd 400000. An eighth of that is 50000.
const StrackParams kParams = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();

/// The same without the fairness increase, to see one branch at a time.
StrackParams without_shuffle() {
  StrackParams params = kParams;
  params.eta = bytes(0);
  return params;
}
const StrackParams kQuiet = without_shuffle();

/// Remembers what the window tells.
struct Recorder {
  std::vector<WindowChanged> changes;
  void on(const WindowChanged& event) { changes.push_back(event); }
};

void adjust(CongestionWindow& window, const StrackParams& params, const AckSample& ack,
            Instant now) {
  NoEvents events;
  window.adjust_cwnd(params, ack, now, events);
}

/// A window of this size and average that has just been decreased and shuffled, at t = 0. Gets
/// there by parameters of its own: a weight of 1 sets the average, a huge max_cwnd lets line 11 set
/// any size.
CongestionWindow settled_window(Bytes cwnd, Picoseconds avg_qdelay) {
  StrackParams setup = kQuiet;
  setup.ewma_q16 = 65'536;
  setup.max_cwnd = mb(1'000);
  CongestionWindow window(kParams);
  adjust(window, setup, {.ecn = true, .qdelay = us(100), .acked = bytes(0), .achieved_bdp = cwnd},
         at(ps(0)));
  adjust(window, setup,
         {.ecn = true, .qdelay = avg_qdelay, .acked = bytes(0), .achieved_bdp = cwnd}, at(ps(0)));
  EXPECT_EQ(window.cwnd(), cwnd);
  EXPECT_EQ(window.avg_qdelay(), avg_qdelay);
  return window;
}

// More than base_rtt after t = 0, so that a decrease and a shuffle are allowed again; and not more.
constexpr Instant kLater = at(us(9));
constexpr Instant kSoon = at(us(1));

// An achieved BDP of no interest: line 10 asks for less than 50000.
constexpr Bytes kPlenty = kb(400);

AckSample clean(Picoseconds qdelay, Bytes acked = bytes(4'096)) {
  return {.ecn = false, .qdelay = qdelay, .acked = acked, .achieved_bdp = kPlenty};
}
AckSample marked(Picoseconds qdelay, Bytes achieved_bdp = kPlenty) {
  return {.ecn = true, .qdelay = qdelay, .acked = bytes(4'096), .achieved_bdp = achieved_bdp};
}

// ---- The largest window of the last RTT ----

// [D61] It counts for the RTT of the ACK that cut it, here 8 + 30 us, and not longer where it is cut again
// in that time. A cut after that counts anew.
TEST(CongestionWindow, LargestPackets_OutlivesACutByOneRtt) {
  CongestionWindow window(kQuiet);
  EXPECT_EQ(window.largest_packets(at(ps(0))), 97u);
  StrackParams params = kQuiet;
  params.ewma_q16 = 65'536;
  adjust(window, params, marked(us(30), kb(40)), at(us(100)));
  EXPECT_EQ(window.cwnd_packets(), 9u);
  EXPECT_EQ(window.largest_packets(at(us(138) - ps(1))), 97u);
  EXPECT_EQ(window.largest_packets(at(us(138))), 9u);

  adjust(window, params, marked(us(30), kb(20)), at(us(120)));
  EXPECT_EQ(window.cwnd_packets(), 4u);
  EXPECT_EQ(window.largest_packets(at(us(138) - ps(1))), 97u);
  EXPECT_EQ(window.largest_packets(at(us(138))), 4u);

  adjust(window, params, marked(us(30), kb(12)), at(us(140)));
  EXPECT_EQ(window.cwnd_packets(), 2u);
  EXPECT_EQ(window.largest_packets(at(us(178) - ps(1))), 4u);
  EXPECT_EQ(window.largest_packets(at(us(178))), 2u);
}

// ---- The beginning ----

// [P.window] [D8] One window, which starts at its maximum: the BDP.
TEST(CongestionWindow, Init_StartsAtMaxCwnd) {
  EXPECT_EQ(CongestionWindow(kParams).cwnd(), kb(400));
}

// [D7] base_rtt starts at net_base_rtt, before any sample.
TEST(CongestionWindow, Init_BaseRttIsNetBaseRtt) {
  EXPECT_EQ(CongestionWindow(kParams).base_rtt(), us(8));
}

// [A3.L4] The average starts at zero.
TEST(CongestionWindow, Init_AverageIsZero) {
  EXPECT_EQ(CongestionWindow(kParams).avg_qdelay(), ps(0));
}

// ---- measured_qdelay ----

// [A1.L8] [A1.L11] [D7] A longer RTT leaves base_rtt alone; the rest of it is queueing delay.
TEST(CongestionWindow, MeasuredQdelay_IsWhatExceedsBaseRtt) {
  CongestionWindow window(kParams);
  EXPECT_EQ(window.measured_qdelay(us(20)), us(12));
  EXPECT_EQ(window.base_rtt(), us(8));
}

// [A1.L8] [A1.L11] An equal one has no queueing delay.
TEST(CongestionWindow, MeasuredQdelay_OfBaseRttItselfIsZero) {
  CongestionWindow window(kParams);
  EXPECT_EQ(window.measured_qdelay(us(8)), ps(0));
  EXPECT_EQ(window.base_rtt(), us(8));
}

// [A1.L9] [A1.L11] [D7] A shorter one becomes base_rtt at once, and its own queueing delay is zero.
TEST(CongestionWindow, MeasuredQdelay_ShorterRttBecomesBaseRtt) {
  CongestionWindow window(kParams);
  EXPECT_EQ(window.measured_qdelay(us(8) - ps(1)), ps(0));
  EXPECT_EQ(window.base_rtt(), us(8) - ps(1));
  EXPECT_EQ(window.measured_qdelay(us(5)), ps(0));
  EXPECT_EQ(window.base_rtt(), us(5));
}

// [A1.L9] [A1.L11] [D7] It never rises again.
TEST(CongestionWindow, MeasuredQdelay_BaseRttNeverRises) {
  CongestionWindow window(kParams);
  window.measured_qdelay(us(5));
  EXPECT_EQ(window.measured_qdelay(us(7)), us(2));
  EXPECT_EQ(window.base_rtt(), us(5));
}

// ---- Lines 1 to 4 ----

// [A3.L1] Every ACK is a step of its own, from the window the last one left, even at the same
// moment: 29127 x 4096 / 100000 = 1193.04, then 29127 x 4096 / 101193 = 1178.97.
TEST(CongestionWindow, AdjustCwnd_IsOneStepPerAck) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(0)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(101'193));
  adjust(window, kQuiet, clean(us(0)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(102'371));
  EXPECT_EQ(window.avg_qdelay(), ns(12'250));  // 16 x 7/8 x 7/8
}

// [A3.L2] The first decrease needs no wait, not even at t = 0.
TEST(CongestionWindow, AdjustCwnd_FirstDecreaseNeedsNoWait) {
  CongestionWindow window(kQuiet);
  adjust(window, kQuiet, marked(us(100), kb(12)), at(ps(0)));  // average 12.5 us
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L2] Exactly base_rtt after a decrease is too soon for the next.
TEST(CongestionWindow, AdjustCwnd_NoDecreaseAtExactlyBaseRtt) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, marked(us(16)), at(us(8)));
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L2] A picosecond more will do: 1 - 0.8 x (16 - 8)/16 = 0.6.
TEST(CongestionWindow, AdjustCwnd_DecreaseJustAfterBaseRtt) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, marked(us(16)), at(us(8) + ps(1)));
  EXPECT_EQ(window.cwnd(), kb(60));
}

// [A3.L2] [D7] It is this flow's base_rtt that counts, 5 us here, not the network's.
TEST(CongestionWindow, AdjustCwnd_DecreaseWaitsForTheFlowsOwnBaseRtt) {
  CongestionWindow window = settled_window(kb(100), us(16));
  window.measured_qdelay(us(5));
  adjust(window, kQuiet, marked(us(16)), at(us(5)));
  EXPECT_EQ(window.cwnd(), kb(100));
  adjust(window, kQuiet, marked(us(16)), at(us(5) + ps(1)));
  EXPECT_EQ(window.cwnd(), kb(60));
}

// [A3.L3] [A3.L18] The first fairness increase needs no wait.
TEST(CongestionWindow, AdjustCwnd_FirstShuffleNeedsNoWait) {
  CongestionWindow window(kParams);
  adjust(window, kParams, marked(us(100), kb(12)), at(ps(0)));
  EXPECT_EQ(window.cwnd(), bytes(12'000 + 1'638));
}

// [A3.L3] [A3.L18] Exactly base_rtt after the last one is too soon.
TEST(CongestionWindow, AdjustCwnd_NoShuffleAtExactlyBaseRtt) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  adjust(window, kParams, marked(us(1)), at(us(8)));
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L3] [A3.L18] [A3.L19] A picosecond more will do.
TEST(CongestionWindow, AdjustCwnd_ShuffleJustAfterBaseRtt) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  adjust(window, kParams, marked(us(1)), at(us(8) + ps(1)));
  EXPECT_EQ(window.cwnd(), bytes(101'638));
}

// [A3.L3] [D7] Here too it is the flow's base_rtt.
TEST(CongestionWindow, AdjustCwnd_ShuffleWaitsForTheFlowsOwnBaseRtt) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  window.measured_qdelay(us(5));
  adjust(window, kParams, marked(us(1)), at(us(5)));
  EXPECT_EQ(window.cwnd(), kb(100));
  adjust(window, kParams, marked(us(1)), at(us(5) + ps(1)));
  EXPECT_EQ(window.cwnd(), bytes(101'638));
}

// [A3.L4] [T1.ewma] [D23] One eighth of the way: 16 + (8 - 16)/8 = 15, 15 + (23 - 15)/8 = 16.
TEST(CongestionWindow, AdjustCwnd_AverageMovesAnEighthOfTheWay) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, marked(us(8)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), us(15));
  adjust(window, kQuiet, marked(us(23)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), us(16));
}

// [A3.L4] The average moves whatever the branches do, on clean ACKs as on marked ones.
TEST(CongestionWindow, AdjustCwnd_AverageMovesOnEveryAck) {
  CongestionWindow low = settled_window(kb(100), us(16));
  adjust(low, kQuiet, clean(us(0)), kSoon);
  EXPECT_EQ(low.avg_qdelay(), us(14));
  CongestionWindow high = settled_window(kb(100), us(16));
  adjust(high, kQuiet, clean(us(48)), kSoon);
  EXPECT_EQ(high.avg_qdelay(), us(20));
}

// [A3.L4] [D23] The step rounds down: from 0 to 100 ps it is 12.5, cut to 12; it stops 7 ps short.
TEST(CongestionWindow, AdjustCwnd_RisingAverageStops7PsShort) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  adjust(window, kQuiet, marked(ps(100)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), ps(12));
  for (int i = 0; i < 100; ++i) adjust(window, kQuiet, marked(ps(100)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), ps(93));
}

// [A3.L4] [D23] Down from 100 ps to 0 it is -12.5, which rounds to -13; it arrives exactly.
TEST(CongestionWindow, AdjustCwnd_FallingAverageArrives) {
  CongestionWindow window = settled_window(kb(100), ps(100));
  adjust(window, kQuiet, marked(ps(0)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), ps(87));
  for (int i = 0; i < 100; ++i) adjust(window, kQuiet, marked(ps(0)), kSoon);
  EXPECT_EQ(window.avg_qdelay(), ps(0));
}

// [A3.L4] [A3.L9] This very sample is in the average the decrease looks at: 7.9 us alone would not
// do.
TEST(CongestionWindow, AdjustCwnd_AverageIsUpdatedBeforeTheBranches) {
  CongestionWindow window = settled_window(kb(100), ns(7'900));
  adjust(window, kQuiet, marked(us(100), kb(12)), kLater);
  EXPECT_EQ(window.cwnd(), kb(12));
}

// ---- Lines 5 to 8: increases ----

// [A3.L5] [A3.L6] [D3] [Q4] Late but unmarked: 54613 x 4096 / 100000 = 2236.9.
TEST(CongestionWindow, AdjustCwnd_QueueDrainedAddsBeta) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(30)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(102'236));
}

// [A3.L5] [D5] At exactly target_qhigh it is not late enough ...
TEST(CongestionWindow, AdjustCwnd_AtExactlyTargetQhighNothingIsAdded) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(24)), kSoon);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L5] [D5] ... and a picosecond later it is.
TEST(CongestionWindow, AdjustCwnd_JustAboveTargetQhighAddsBeta) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(24) + ps(1)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(102'236));
}

// [A3.L5] [A3.L9] [Q4] The increase comes first, however high the average and the time for a
// decrease.
TEST(CongestionWindow, AdjustCwnd_QueueDrainedWinsOverDecrease) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet,
         {.ecn = false, .qdelay = us(60), .acked = bytes(4'096), .achieved_bdp = bytes(0)}, kLater);
  EXPECT_EQ(window.cwnd(), bytes(102'236));
}

// [A3.L5] [Q3] With a mark it is no increase.
TEST(CongestionWindow, AdjustCwnd_LateAndMarkedAddsNothing) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, marked(us(30)), kSoon);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L6] [D3] Twice the bytes acknowledged, twice the increase: 54613 x 8192 / 100000 = 4473.9.
TEST(CongestionWindow, AdjustCwnd_BetaIsForEachWindowOfAckedBytes) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(30), bytes(8'192)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(104'473));
}

// [A3.L6] [D3] A whole window acknowledged is worth all of beta.
TEST(CongestionWindow, AdjustCwnd_WholeWindowAckedAddsBeta) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(30), kb(100)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(154'613));
}

// [A3.L6] [A3.L8] [D3] acked_bytes: an ACK of nothing new adds nothing.
TEST(CongestionWindow, AdjustCwnd_NothingAckedAddsNothing) {
  CongestionWindow late = settled_window(kb(100), us(16));
  adjust(late, kQuiet, clean(us(30), bytes(0)), kSoon);
  EXPECT_EQ(late.cwnd(), kb(100));
  CongestionWindow early = settled_window(kb(100), us(16));
  adjust(early, kQuiet, clean(us(0), bytes(0)), kSoon);
  EXPECT_EQ(early.cwnd(), kb(100));
}

// [A3.L6] [A3.L8] [D3] per_ack: every ACK counts as one MTU, whatever it acknowledges.
// 54613 x 4096 / 100000 = 2236.9 and 29127 x 4096 / 100000 = 1193.04.
TEST(CongestionWindow, AdjustCwnd_PerAckCountsOneMtu) {
  StrackParams params = kQuiet;
  params.increase_rule = IncreaseRule::per_ack;
  for (const Bytes acked : {bytes(0), kb(16)}) {
    CongestionWindow late = settled_window(kb(100), us(16));
    adjust(late, params, clean(us(30), acked), kSoon);
    EXPECT_EQ(late.cwnd(), bytes(102'236));
    CongestionWindow early = settled_window(kb(100), us(16));
    adjust(early, params, clean(us(0), acked), kSoon);
    EXPECT_EQ(early.cwnd(), bytes(101'193));
  }
}

// [A3.L7] [A3.L8] [D3] [Q1] No queue at all: 29127 x 4096 / 100000 = 1193.04.
TEST(CongestionWindow, AdjustCwnd_EmptyQueueAddsAllOfAlpha) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(0)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(101'193));
}

// [A3.L8] [T1.alpha] [D7] [D23] A quarter below: 29127 x 2/8 = 7281.75 cut to 7281; x 4096 / 100000
// = 298.2. Three quarters: 21845.25 cut to 21845; 894.8.
TEST(CongestionWindow, AdjustCwnd_GainIsProportionalToTheDistanceBelowTarget) {
  CongestionWindow quarter = settled_window(kb(100), us(16));
  adjust(quarter, kQuiet, clean(us(6)), kSoon);
  EXPECT_EQ(quarter.cwnd(), bytes(100'298));
  CongestionWindow three = settled_window(kb(100), us(16));
  adjust(three, kQuiet, clean(us(2)), kSoon);
  EXPECT_EQ(three.cwnd(), bytes(100'894));
}

// [A3.L8] [D7] The gain is per net_base_rtt, although this flow's base_rtt is 2 us.
TEST(CongestionWindow, AdjustCwnd_GainDoesNotFollowTheFlowsBaseRtt) {
  CongestionWindow window = settled_window(kb(100), us(16));
  window.measured_qdelay(us(2));
  adjust(window, kQuiet, clean(us(6)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(100'298));
}

// [A3.L8] [D3] The gain follows the bytes acknowledged: 29127 x 16384 / 100000 = 4772.2.
TEST(CongestionWindow, AdjustCwnd_AlphaIsForEachWindowOfAckedBytes) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(0), bytes(16'384)), kSoon);
  EXPECT_EQ(window.cwnd(), bytes(104'772));
}

// [A3.L7] Just below the target it is an increase: 29127 x 0.1/8 = 364.1; x 100000 / 100000.
TEST(CongestionWindow, AdjustCwnd_JustBelowTargetIncreases) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(ns(7'900), kb(100)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(100'364));
}

// [A3.L7] [A3.L13] At exactly the target no branch moves the window.
TEST(CongestionWindow, AdjustCwnd_AtExactlyTheTargetNothingMoves) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(8), kb(100)), kLater);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L7] [A3.L9] [Q1] Below the target it is an increase, however high the average.
TEST(CongestionWindow, AdjustCwnd_BelowTargetWinsOverDecrease) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet, clean(us(0)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(101'193));
}

// [A3.L7] [Q2] Below the target but marked: the path is left, the window stays, even though the
// average is above the target and a decrease would be allowed.
TEST(CongestionWindow, AdjustCwnd_MarkAtLowDelayLeavesTheWindow) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet, marked(us(2), bytes(0)), kLater);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L6] [A3.L8] [A3.L22] [D8] [Q1] An increase ends at max_cwnd.
TEST(CongestionWindow, AdjustCwnd_IncreaseEndsAtMaxCwnd) {
  CongestionWindow window = settled_window(bytes(399'990), us(16));
  adjust(window, kQuiet, clean(us(0)), kSoon);
  EXPECT_EQ(window.cwnd(), kb(400));
  adjust(window, kQuiet, clean(us(0)), kSoon);
  adjust(window, kQuiet, clean(us(30)), kSoon);
  EXPECT_EQ(window.cwnd(), kb(400));
}

// ---- Lines 9 to 15: decreases ----

// [A3.L9] With the average at exactly the target there is no decrease. (25 - 5.571429)/8
// = 2.428571.
TEST(CongestionWindow, AdjustCwnd_NoDecreaseWithTheAverageAtTarget) {
  CongestionWindow window = settled_window(kb(100), ps(5'571'429));
  adjust(window, kQuiet, marked(us(25), kb(12)), kLater);
  EXPECT_EQ(window.avg_qdelay(), us(8));
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L9] A picosecond above it there is.
TEST(CongestionWindow, AdjustCwnd_DecreaseWithTheAverageJustAboveTarget) {
  CongestionWindow window = settled_window(kb(100), ps(5'571'430));
  adjust(window, kQuiet, marked(us(25), kb(12)), kLater);
  EXPECT_EQ(window.avg_qdelay(), us(8) + ps(1));
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L9] [Q3] A single high sample in quiet times changes nothing: the average is 4 us.
TEST(CongestionWindow, AdjustCwnd_OneHighSampleIsNotEnough) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  adjust(window, kQuiet, marked(us(32), bytes(0)), kLater);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L9] [A3.L13] [A3.L14] [Q4] Unmarked between the targets is treated like marked: factor 0.6.
TEST(CongestionWindow, AdjustCwnd_UnmarkedBetweenTheTargetsDecreases) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, clean(us(16)), kLater);
  EXPECT_EQ(window.cwnd(), kb(60));
}

// [A3.L10] [A3.L11] [Q3] Far above target with little delivered, the window becomes what was
// delivered.
TEST(CongestionWindow, AdjustCwnd_DeepIncastFallsToAchievedBdp) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kQuiet, marked(us(60), kb(12)), kLater);
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L10] [D5] At exactly target_qhigh line 14 decides: the average is 24 us, 0.8 x 16/24 = 0.533,
// capped at one half.
TEST(CongestionWindow, AdjustCwnd_AtExactlyTargetQhighItDoesNotFallToAchievedBdp) {
  CongestionWindow window = settled_window(kb(100), us(24));
  adjust(window, kQuiet, marked(us(24), kb(12)), kLater);
  EXPECT_EQ(window.cwnd(), kb(50));
}

// [A3.L10] [D5] A picosecond above it line 11 does.
TEST(CongestionWindow, AdjustCwnd_JustAboveTargetQhighItFallsToAchievedBdp) {
  CongestionWindow window = settled_window(kb(100), us(24));
  adjust(window, kQuiet, marked(us(24) + ps(1), kb(12)), kLater);
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L10] An eighth of max_cwnd delivered is enough not to fall to it: half of 400000 instead.
TEST(CongestionWindow, AdjustCwnd_AchievedAnEighthOfMaxCwndIsEnough) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kQuiet, marked(us(60), bytes(50'000)), kLater);
  EXPECT_EQ(window.cwnd(), kb(200));
}

// [A3.L10] A byte less is not.
TEST(CongestionWindow, AdjustCwnd_AchievedJustBelowAnEighthIsTooLittle) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kQuiet, marked(us(60), bytes(49'999)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(49'999));
}

// [A3.L11] It is an assignment: a window already below what was delivered rises to it.
TEST(CongestionWindow, AdjustCwnd_AchievedBdpMayBeAboveTheWindow) {
  CongestionWindow window = settled_window(kb(10), us(60));
  adjust(window, kQuiet, marked(us(60), kb(20)), kLater);
  EXPECT_EQ(window.cwnd(), kb(20));
}

// [A3.L11] [A3.L22] [D8] Nothing delivered leaves one packet.
TEST(CongestionWindow, AdjustCwnd_NothingAchievedLeavesMinCwnd) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kQuiet, marked(us(60), bytes(0)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(4'096));
}

// [A3.L12] [Q3] The fall counts as a decrease: the next waits for base_rtt from here.
TEST(CongestionWindow, AdjustCwnd_FallToAchievedBdpIsADecrease) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kQuiet, marked(us(60), kb(30)), at(us(100)));
  adjust(window, kQuiet, marked(us(60), kb(12)), at(us(108)));
  EXPECT_EQ(window.cwnd(), kb(30));
  adjust(window, kQuiet, marked(us(60), kb(12)), at(us(108) + ps(1)));
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L13] A sample at exactly the target does not decrease, however high the average.
TEST(CongestionWindow, AdjustCwnd_SampleAtTargetDoesNotDecrease) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet, marked(us(8)), kLater);
  EXPECT_EQ(window.cwnd(), kb(100));
}

// [A3.L13] A picosecond above it does. The average is 60 - 6.5 = 53.5 us: 0.8 x 45.5/53.5 is over a
// half.
TEST(CongestionWindow, AdjustCwnd_SampleJustAboveTargetDecreases) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet, marked(us(8) + ps(1)), kLater);
  EXPECT_EQ(window.cwnd(), kb(50));
}

// [A3.L13] [A3.L15] What did not decrease is no decrease: the next sample may, at the same moment.
TEST(CongestionWindow, AdjustCwnd_SampleAtTargetIsNotRecordedAsADecrease) {
  CongestionWindow window = settled_window(kb(100), us(60));
  adjust(window, kQuiet, marked(us(8)), kLater);
  adjust(window, kQuiet, marked(us(16)), kLater);
  EXPECT_EQ(window.cwnd(), kb(50));
}

// [A3.L14] [T1.gamma] [Q3] The average is 20 us: 1 - 0.8 x 12/20 = 0.52.
TEST(CongestionWindow, AdjustCwnd_MultiplicativeDecrease) {
  CongestionWindow window = settled_window(kb(100), us(20));
  adjust(window, kQuiet, marked(us(20)), kLater);
  EXPECT_EQ(window.cwnd(), kb(52));
}

// [A3.L14] It is the average that sets the amount, not the sample: 20 + (12 - 20)/8 = 19 us,
// 100000 x 0.8 x 11/19 = 46315.8.
TEST(CongestionWindow, AdjustCwnd_DecreaseFollowsTheAverage) {
  CongestionWindow window = settled_window(kb(100), us(20));
  adjust(window, kQuiet, marked(us(12)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(100'000 - 46'315));
}

// [A3.L14] [D23] What is taken off is truncated: 100000 x 0.8 x 4/12 = 26666.7.
TEST(CongestionWindow, AdjustCwnd_CutIsTruncated) {
  CongestionWindow window = settled_window(kb(100), us(12));
  adjust(window, kQuiet, marked(us(12)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(73'334));
}

// [A3.L14] No more than one half at once: 0.8 x 15/23 would be 0.522.
TEST(CongestionWindow, AdjustCwnd_CutIsAtMostHalf) {
  CongestionWindow window = settled_window(kb(100), us(23));
  adjust(window, kQuiet, marked(us(23)), kLater);
  EXPECT_EQ(window.cwnd(), kb(50));
}

// [A3.L14] [D23] Half of an odd window is rounded in its favour.
TEST(CongestionWindow, AdjustCwnd_HalfOfAnOddWindow) {
  CongestionWindow window = settled_window(bytes(100'001), us(60));
  adjust(window, kQuiet, marked(us(60)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(50'001));
}

// [A3.L14] [T1.gamma] gamma is a parameter: 1/2 x 8/16 takes a quarter, 0 takes nothing.
TEST(CongestionWindow, AdjustCwnd_GammaIsAParameter) {
  StrackParams params = kQuiet;
  params.gamma = {1, 2};
  CongestionWindow half = settled_window(kb(100), us(16));
  adjust(half, params, marked(us(16)), kLater);
  EXPECT_EQ(half.cwnd(), kb(75));
  params.gamma = {0, 1};
  CongestionWindow zero = settled_window(kb(100), us(16));
  adjust(zero, params, marked(us(16)), kLater);
  EXPECT_EQ(zero.cwnd(), kb(100));
}

// [A3.L14] [A3.L22] [D8] A cut ends at one packet.
TEST(CongestionWindow, AdjustCwnd_CutEndsAtMinCwnd) {
  CongestionWindow window = settled_window(bytes(5'000), us(60));
  adjust(window, kQuiet, marked(us(60)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(4'096));
}

// [A3.L15] [Q3] The cut counts as a decrease: the next waits for base_rtt from here.
TEST(CongestionWindow, AdjustCwnd_CutIsADecrease) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kQuiet, marked(us(16)), at(us(100)));
  EXPECT_EQ(window.cwnd(), kb(60));
  adjust(window, kQuiet, marked(us(16)), at(us(108)));
  EXPECT_EQ(window.cwnd(), kb(60));
  adjust(window, kQuiet, marked(us(16)), at(us(108) + ps(1)));
  EXPECT_EQ(window.cwnd(), kb(36));
}

// ---- Lines 18 to 22: fairness, and the result ----

// [A3.L18] [A3.L19] [T1.eta] [Q1] [Q2] [Q4] It comes on top of whatever the branches did.
TEST(CongestionWindow, AdjustCwnd_ShuffleAddsToEveryBranch) {
  CongestionWindow low = settled_window(kb(100), us(4));
  adjust(low, kParams, clean(us(0)), kLater);
  EXPECT_EQ(low.cwnd(), bytes(101'193 + 1'638));
  CongestionWindow marked_low = settled_window(kb(100), us(4));
  adjust(marked_low, kParams, marked(us(2)), kLater);
  EXPECT_EQ(marked_low.cwnd(), bytes(100'000 + 1'638));
  CongestionWindow drained = settled_window(kb(100), us(4));
  adjust(drained, kParams, clean(us(30)), kLater);
  EXPECT_EQ(drained.cwnd(), bytes(102'236 + 1'638));
}

// [A3.L18] [A3.L19] [Q3] After a decrease too, by whichever line.
TEST(CongestionWindow, AdjustCwnd_ShuffleFollowsADecrease) {
  CongestionWindow cut = settled_window(kb(100), us(16));
  adjust(cut, kParams, marked(us(16)), kLater);
  EXPECT_EQ(cut.cwnd(), bytes(60'000 + 1'638));
  CongestionWindow fallen = settled_window(kb(400), us(60));
  adjust(fallen, kParams, marked(us(60), kb(12)), kLater);
  EXPECT_EQ(fallen.cwnd(), bytes(12'000 + 1'638));
}

// [A3.L20] Its time is recorded: the next waits for base_rtt from here.
TEST(CongestionWindow, AdjustCwnd_ShuffleOncePerBaseRtt) {
  CongestionWindow window = settled_window(kb(100), ps(0));
  adjust(window, kParams, marked(us(2)), at(us(100)));
  EXPECT_EQ(window.cwnd(), bytes(101'638));
  adjust(window, kParams, marked(us(2)), at(us(108)));
  EXPECT_EQ(window.cwnd(), bytes(101'638));
  adjust(window, kParams, marked(us(2)), at(us(108) + ps(1)));
  EXPECT_EQ(window.cwnd(), bytes(103'276));
}

// [A3.L20] [A3.L12] The two times are kept apart: a decrease does not put off the shuffle ...
TEST(CongestionWindow, AdjustCwnd_DecreaseDoesNotDelayTheShuffle) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kParams, clean(us(8)), at(us(100)));  // shuffles, does not decrease
  EXPECT_EQ(window.cwnd(), bytes(101'638));
  adjust(window, kQuiet, marked(us(60), kb(12)), at(us(105)));  // decreases, too soon to shuffle
  EXPECT_EQ(window.cwnd(), kb(12));
  adjust(window, kParams, clean(us(8)),
         at(us(109)));  // 9 us after the shuffle, 4 after the decrease
  EXPECT_EQ(window.cwnd(), bytes(13'638));
}

// [A3.L20] [A3.L15] ... nor the shuffle a decrease.
TEST(CongestionWindow, AdjustCwnd_ShuffleDoesNotDelayADecrease) {
  CongestionWindow window = settled_window(kb(100), us(16));
  adjust(window, kParams, clean(us(8)), at(us(100)));
  adjust(window, kParams, marked(us(60), kb(12)), at(us(101)));
  EXPECT_EQ(window.cwnd(), kb(12));
}

// [A3.L19] [A3.L22] [D8] The shuffle ends at max_cwnd.
TEST(CongestionWindow, AdjustCwnd_ShuffleEndsAtMaxCwnd) {
  CongestionWindow window = settled_window(bytes(399'000), ps(0));
  adjust(window, kParams, marked(us(2)), kLater);
  EXPECT_EQ(window.cwnd(), kb(400));
}

// [A3.L22] [D8] The bounds hold after every step, not only at the end: 0 becomes 4096, then eta.
TEST(CongestionWindow, AdjustCwnd_BoundsHoldBetweenTheSteps) {
  CongestionWindow window = settled_window(kb(400), us(60));
  adjust(window, kParams, marked(us(60), bytes(0)), kLater);
  EXPECT_EQ(window.cwnd(), bytes(4'096 + 1'638));
}

// [A3.L22] [D8] Both bounds are parameters.
TEST(CongestionWindow, AdjustCwnd_BoundsAreParameters) {
  StrackParams params = kQuiet;
  params.min_cwnd = kb(20);
  params.max_cwnd = kb(200);
  CongestionWindow low = settled_window(kb(100), us(60));
  adjust(low, params, marked(us(60), bytes(0)), kLater);
  EXPECT_EQ(low.cwnd(), kb(20));
  CongestionWindow high = settled_window(bytes(199'990), us(60));
  adjust(high, params, clean(us(0)), kLater);
  EXPECT_EQ(high.cwnd(), kb(200));
}

// [D24] The window in packets is rounded down: 400000 / 4096 = 97.7; 12287 is one byte short of 3.
TEST(CongestionWindow, CwndPackets_RoundsDown) {
  EXPECT_EQ(CongestionWindow(kParams).cwnd_packets(), 97U);
  EXPECT_EQ(settled_window(bytes(12'287), us(60)).cwnd_packets(), 2U);
  EXPECT_EQ(settled_window(bytes(12'288), us(60)).cwnd_packets(), 3U);
  EXPECT_EQ(settled_window(bytes(4'096), us(60)).cwnd_packets(), 1U);
}

// ---- Events ----

// [A3.L6] [A3.L8] [A3.L11] [A3.L14] [A3.L19] Each change says from where, to where, and which line.
TEST(CongestionWindow, Events_NameTheLine) {
  Recorder events;
  CongestionWindow window = settled_window(kb(100), us(16));
  window.adjust_cwnd(kQuiet, clean(us(30)), kSoon, events);
  window.adjust_cwnd(kQuiet, clean(us(0)), kSoon, events);
  window.adjust_cwnd(kParams, marked(us(60)), at(us(100)), events);
  window.adjust_cwnd(kQuiet, marked(us(60), kb(12)), at(us(200)), events);
  ASSERT_EQ(events.changes.size(), 5U);
  EXPECT_EQ(events.changes[0].before, kb(100));
  EXPECT_EQ(events.changes[0].after, bytes(102'236));
  EXPECT_EQ(events.changes[0].reason, WindowReason::queue_drained);
  EXPECT_EQ(events.changes[1].reason, WindowReason::below_target);
  EXPECT_EQ(events.changes[2].reason, WindowReason::multiplicative);
  EXPECT_EQ(events.changes[3].before, events.changes[2].after);
  EXPECT_EQ(events.changes[3].after, events.changes[3].before + bytes(1'638));
  EXPECT_EQ(events.changes[3].reason, WindowReason::fairness_shuffle);
  EXPECT_EQ(events.changes[4].after, kb(12));
  EXPECT_EQ(events.changes[4].reason, WindowReason::achieved_bdp);
}

// [A3.L22] What changes nothing says nothing: at max_cwnd neither increase nor shuffle is an event.
TEST(CongestionWindow, Events_OnlyWhenTheWindowChanges) {
  Recorder events;
  CongestionWindow window(kParams);
  window.adjust_cwnd(kParams, clean(us(0)), at(us(100)), events);
  window.adjust_cwnd(kParams, clean(us(30)), at(us(200)), events);
  EXPECT_TRUE(events.changes.empty());
}

// [A3.L2] A host that has been up for long can still decrease for the first time.
TEST(CongestionWindow, AdjustCwnd_FirstDecreaseAfterAHundredDays) {
  const StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(4096)).value();
  CongestionWindow window(params);
  NoEvents none;
  window.adjust_cwnd(params, {true, us(100), bytes(0), kb(12)}, at(seconds(100 * 86'400)), none);
  EXPECT_EQ(window.cwnd(), kb(12) + params.eta);
}

}  // namespace
}  // namespace strack::core
