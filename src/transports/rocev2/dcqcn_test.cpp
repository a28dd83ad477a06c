#include "transports/rocev2/dcqcn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

constexpr std::int64_t kOne = Dcqcn::kOne;  // 2^30: alpha = 1

/// What a limiter told its watcher.
struct Log {
  std::vector<RateChanged> rates;
  std::vector<RoceRare> reached;

  [[nodiscard]] auto count(RoceRare branch) const {
    return std::count(reached.begin(), reached.end(), branch);
  }
};
struct Sink {
  Log* log = nullptr;

  void on(const RateChanged& event) const { log->rates.push_back(event); }
  void on(const RoceReached& event) const { log->reached.push_back(event.branch); }
};

/// [D35] hpcc-ns3 at 100 Gb/s: g 1/256, alpha every 1 us, cuts 4 us apart, an increase every 300
/// us, no byte counter, F 1, 20 and 200 Mb/s, at least 250 Mb/s.
const RoceParams kNic =
    RoceParams::for_link(gbps(100), us(8), bytes(1'000), DcqcnSet::hpcc_ns3).value();
/// [D35] The 2015 paper at 40 Gb/s: g 1/256, alpha and increase every 55 us, 10 MB, F 5, 40 and 400
/// Mb/s, at least 10 Mb/s.
const RoceParams kPaper =
    RoceParams::for_link(gbps(40), us(8), bytes(1'000), DcqcnSet::paper2015).value();

/// To see one rule at a time: 100 Gb/s, alpha always 1 so that every cut halves, an increase every
/// 100 us, cuts 10 us apart, F 2, 1 and 10 Gb/s, at least 1 Gb/s.
RoceParams halving(DcqcnVariant variant) {
  RoceParams params = kNic;
  params.dcqcn.variant = variant;
  params.dcqcn.g = {0, 1};
  params.dcqcn.decrease_interval = us(10);
  params.dcqcn.increase_timer = us(100);
  params.dcqcn.fast_recovery = 2;
  params.dcqcn.rate_ai = gbps(1);
  params.dcqcn.rate_hai = gbps(10);
  params.dcqcn.min_rate = gbps(1);
  EXPECT_TRUE(params.validated().ok());
  return params;
}

/// When the first CNP comes. Times of a test count from there.
constexpr Instant kFirst = at(us(1'000));
constexpr Instant after(Picoseconds time) { return kFirst + time; }

/// A limiter whose first CNP has just come.
Dcqcn cut_once(const RoceParams& params) {
  Dcqcn limiter(params.line_rate);
  limiter.on_cnp(params, kFirst);
  return limiter;
}

void expect_rates(Dcqcn& limiter, const RoceParams& params, Instant now, BitsPerSecond rate,
                  BitsPerSecond target) {
  EXPECT_EQ(limiter.rate(params, now), rate);
  EXPECT_EQ(limiter.target(), target);
}

// ---- Before and at the first CNP ----

// [R.dcqcn.start] [D64] The first cut is by half of the initial alpha, which may be less than one.
TEST(Dcqcn, OnCnp_FirstCutFollowsTheInitialAlpha) {
  RoceParams params = kPaper;
  EXPECT_EQ(cut_once(params).rate(params, kFirst), gbps(20));
  params.dcqcn.initial_alpha = {1, 2};
  EXPECT_EQ(cut_once(params).rate(params, kFirst), gbps(30));
  params.dcqcn.initial_alpha = {0, 1};
  EXPECT_EQ(cut_once(params).rate(params, kFirst), gbps(40));
}

// [R.dcqcn.start] Line rate, and neither time nor bytes count before the first CNP.
TEST(Dcqcn, New_SendsAtLineRate) {
  for (const RoceParams& params : {kNic, kPaper}) {
    Dcqcn limiter(params.line_rate);

    limiter.on_sent(params, mb(1'000), at(seconds(1)));

    expect_rates(limiter, params, at(seconds(2)), params.line_rate, params.line_rate);
    EXPECT_FALSE(limiter.active());
    EXPECT_EQ(limiter.alpha(), kOne);
    EXPECT_EQ(limiter.timer_events(), 0u);
    EXPECT_EQ(limiter.byte_events(), 0u);
  }
}

// [D31] Switched off, a CNP changes nothing.
TEST(Dcqcn, Off_IgnoresCnps) {
  RoceParams params = kNic;
  params.dcqcn.variant = DcqcnVariant::off;
  Dcqcn limiter(params.line_rate);

  limiter.on_cnp(params, kFirst);

  EXPECT_FALSE(limiter.active());
  expect_rates(limiter, params, kFirst, gbps(100), gbps(100));
}

// [R.dcqcn.start] [R.dcqcn.cut] The first CNP finds alpha = 1: half the rate, at once, and the
// target is the rate before.
TEST(Dcqcn, OnCnp_TheFirstHalvesTheRate) {
  Dcqcn nic = cut_once(kNic);
  expect_rates(nic, kNic, kFirst, gbps(50), gbps(100));
  EXPECT_EQ(nic.alpha(), kOne);
  EXPECT_TRUE(nic.active());
  EXPECT_FALSE(nic.cut_pending());

  Dcqcn paper = cut_once(kPaper);
  expect_rates(paper, kPaper, kFirst, gbps(20), gbps(40));
  EXPECT_EQ(paper.alpha(), kOne);  // 1 - 1/256 + 1/256
}

// [R.dcqcn.start] What was sent before does not count towards the byte counter.
TEST(Dcqcn, OnCnp_TheFirstStartsTheByteCounter) {
  Dcqcn limiter(kPaper.line_rate);
  limiter.on_sent(kPaper, mb(9), kFirst);

  limiter.on_cnp(kPaper, kFirst);
  limiter.on_sent(kPaper, mb(9), kFirst);

  EXPECT_EQ(limiter.byte_events(), 0u);
}

// [R.dcqcn.target] A first cut is not a second one.
TEST(Dcqcn, OnCnp_TheFirstIsNotReportedAsKeepingTheTarget) {
  Log log;
  Dcqcn limiter(kNic.line_rate);
  limiter.on_cnp(kNic, kFirst, Sink{&log});
  EXPECT_EQ(log.count(RoceRare::target_kept), 0);
}

// ---- The paper's variant ----

// [R.dcqcn.cut] [D31] Every CNP cuts, however soon, and each time the target follows: 20, then 10
// Gb/s.
TEST(Dcqcn, Paper_EveryCnpCuts) {
  Dcqcn limiter = cut_once(kPaper);

  limiter.on_cnp(kPaper, after(ps(1)));
  expect_rates(limiter, kPaper, after(ps(1)), gbps(10), gbps(20));

  limiter.on_cnp(kPaper, after(us(50)));
  expect_rates(limiter, kPaper, after(us(50)), gbps(5), gbps(10));
}

// [R.dcqcn.alpha] [R.dcqcn.cut] [D31] 112 us later: two increases (20 -> 30 -> 35 Gb/s) and two
// steps down of alpha, 2^30 - 2^22 = 1069547520 and 1069547520 - 4177920 = 1065369600. The cut
// takes 35e9 x 1065369600 / 2^31 = 17363548278.8, truncated; only then alpha rises, by (2^30 -
// 1065369600) / 256 = 32704.
TEST(Dcqcn, Paper_CutsWithAlphaAsItWasAndThenRaisesIt) {
  Dcqcn limiter = cut_once(kPaper);

  limiter.on_cnp(kPaper, after(us(112)));

  expect_rates(limiter, kPaper, after(us(112)), BitsPerSecond{17'636'451'722}, gbps(35));
  EXPECT_EQ(limiter.alpha(), 1'065'402'304);
}

// [R.dcqcn.alpha] A CNP starts alpha's period over: 54 + 54 us without a whole period of silence.
TEST(Dcqcn, Paper_ACnpRestartsAlphasPeriod) {
  Dcqcn limiter = cut_once(kPaper);
  limiter.on_cnp(kPaper, after(us(54)));
  limiter.on_cnp(kPaper, after(us(108)));
  EXPECT_EQ(limiter.alpha(), kOne);
}

// [R.dcqcn.alpha] A period ends with its last picosecond.
TEST(Dcqcn, Paper_AlphaFallsAfterAWholePeriodOfSilence) {
  Dcqcn before = cut_once(kPaper);
  before.on_cnp(kPaper, after(us(55) - ps(1)));
  EXPECT_EQ(before.alpha(), kOne);

  Dcqcn whole = cut_once(kPaper);
  whole.on_cnp(kPaper, after(us(55)));  // 1069547520 + (2^30 - 1069547520) / 256
  EXPECT_EQ(whole.alpha(), 1'069'563'904);
}

// [R.dcqcn.target] [R.dcqcn.cut] Only the NICs' variant keeps a target: here it follows each cut.
TEST(Dcqcn, Paper_DoesNotKeepTheTarget) {
  Log log;
  Dcqcn limiter = cut_once(kPaper);
  limiter.on_cnp(kPaper, after(us(1)), Sink{&log});
  EXPECT_EQ(limiter.target(), gbps(20));
  EXPECT_EQ(log.count(RoceRare::target_kept), 0);
}

// ---- The NICs' variant: alpha ----

// [R.dcqcn.alpha] [D31] The first period saw the first CNP and leaves alpha at 1; nine more saw
// none.
TEST(Dcqcn, Nic_AlphaFallsWithEachPeriodWithoutACnp) {
  Dcqcn limiter = cut_once(kNic);
  std::int64_t alpha = kOne;
  for (int period = 0; period < 9; ++period) alpha -= alpha / 256;

  limiter.on_cnp(kNic, after(us(10)));

  EXPECT_EQ(limiter.alpha(), alpha);
  EXPECT_EQ(limiter.alpha(), 1'036'577'569);
}

// [R.dcqcn.alpha] The CNP at 10 us is seen by the period that begins there, which raises alpha by
// (2^30 - 1036577569) / 256 = 145172; the next lowers it by 1036722741 / 256 = 4049698.
TEST(Dcqcn, Nic_AlphaRisesWithAPeriodThatSawACnp) {
  Dcqcn limiter = cut_once(kNic);
  limiter.on_cnp(kNic, after(us(10)));

  Dcqcn one_period = limiter;
  one_period.on_cnp(kNic, after(us(11)));
  EXPECT_EQ(one_period.alpha(), 1'036'722'741);

  Dcqcn two_periods = limiter;
  two_periods.on_cnp(kNic, after(us(13) - ps(1)));
  EXPECT_EQ(two_periods.alpha(), 1'032'673'043);
}

// [R.dcqcn.alpha] However many CNPs come in it, a period moves alpha once, and not before it ends.
TEST(Dcqcn, Nic_AlphaDoesNotMoveWithinAPeriod) {
  Dcqcn limiter = cut_once(kNic);
  limiter.on_cnp(kNic, after(us(10)));
  for (int n = 1; n < 10; ++n) limiter.on_cnp(kNic, after(us(10) + ns(100) * n));
  EXPECT_EQ(limiter.alpha(), 1'036'577'569);
}

// [R.dcqcn.alpha] [D31] Fifty periods at once are fifty periods one by one: 49 of them saw no CNP.
TEST(Dcqcn, Nic_ManyPeriodsAtOnce) {
  Dcqcn limiter = cut_once(kNic);
  limiter.on_cnp(kNic, after(us(50)));
  EXPECT_EQ(limiter.alpha(), 886'360'553);
}

// [R.dcqcn.alpha] In integers alpha stops where 1/256 of it is nothing.
TEST(Dcqcn, Nic_AlphaEndsAboveZero) {
  Dcqcn limiter = cut_once(kNic);
  limiter.on_cnp(kNic, after(seconds(1)));
  EXPECT_EQ(limiter.alpha(), 255);
}

// ---- The NICs' variant: cuts ----

// [R.dcqcn.cut_interval] A CNP 1 us after a cut: the rate stays until 4 us after it, to the
// picosecond. By then the two periods after the CNP's have lowered alpha to 1065369600: 50e9 x
// 1065369600 / 2^31 = 24805068969.7 less.
TEST(Dcqcn, Nic_ACnpTooSoonCutsWhenTheIntervalIsOver) {
  Log log;
  Dcqcn limiter = cut_once(kNic);
  limiter.on_cnp(kNic, after(us(1)), Sink{&log});
  EXPECT_EQ(log.count(RoceRare::cut_deferred), 1);
  EXPECT_TRUE(limiter.cut_pending());

  expect_rates(limiter, kNic, after(us(4) - ps(1)), gbps(50), gbps(100));
  EXPECT_TRUE(limiter.cut_pending());
  expect_rates(limiter, kNic, after(us(4)), BitsPerSecond{25'194'931'031}, gbps(100));
  EXPECT_FALSE(limiter.cut_pending());
  EXPECT_EQ(limiter.alpha(), 1'065'369'600);

  limiter.on_cnp(kNic, after(us(6)));  // no CNP in the two periods since: 1061208000, 1057062657
  EXPECT_EQ(limiter.alpha(), 1'057'062'657);
}

// [R.dcqcn.cut_interval] Five CNPs in an interval are one cut.
TEST(Dcqcn, Nic_SeveralCnpsInAnIntervalAreOneCut) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Log log;
  Dcqcn limiter = cut_once(params);
  for (int n = 1; n <= 5; ++n) limiter.on_cnp(params, after(us(n)), Sink{&log});

  expect_rates(limiter, params, after(us(10)), gbps(25), gbps(100));
  expect_rates(limiter, params, after(us(50)), gbps(25), gbps(100));
  EXPECT_EQ(log.count(RoceRare::cut_deferred), 1);
}

// [R.dcqcn.cut_interval] The interval's last picosecond still defers, its end does not.
TEST(Dcqcn, Nic_ACnpAtTheEndOfTheIntervalCutsAtOnce) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn soon = cut_once(params);
  soon.on_cnp(params, after(us(10) - ps(1)));
  EXPECT_TRUE(soon.cut_pending());
  EXPECT_EQ(soon.rate(params, after(us(10) - ps(1))), gbps(50));

  Dcqcn late = cut_once(params);
  late.on_cnp(params, after(us(10)));
  EXPECT_FALSE(late.cut_pending());
  EXPECT_EQ(late.rate(params, after(us(10))), gbps(25));
}

// [R.dcqcn.cut_interval] [D31] A deferred cut counts from when it was due, 10 us, though the CNP at
// 13 us is the first to notice; the next is due at 20.
TEST(Dcqcn, Nic_ADeferredCutCountsFromWhenItWasDue) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(1)));

  limiter.on_cnp(params, after(us(13)));

  expect_rates(limiter, params, after(us(20) - ps(1)), gbps(25), gbps(100));
  expect_rates(limiter, params, after(us(20)), BitsPerSecond{12'500'000'000}, gbps(100));
}

// [R.dcqcn.cut_interval] A CNP at the instant of a deferred cut is of the next interval.
TEST(Dcqcn, Nic_ACnpAtTheInstantOfADeferredCutWaitsInItsTurn) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(1)));

  limiter.on_cnp(params, after(us(10)));

  EXPECT_TRUE(limiter.cut_pending());
  expect_rates(limiter, params, after(us(10)), gbps(25), gbps(100));
}

// [R.dcqcn.cut_interval] Without an interval every CNP cuts.
TEST(Dcqcn, Nic_NoIntervalNoDeferral) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.decrease_interval = ps(0);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, kFirst);
  expect_rates(limiter, params, kFirst, gbps(25), gbps(100));
}

// [R.dcqcn.target] Two cuts with no increase between them aim at the rate before the first; after
// an increase (50 -> 75 Gb/s at 100 us) a cut aims at what that had reached.
TEST(Dcqcn, Nic_KeepsTheTargetUnlessThereWasAnIncrease) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Log log;
  Dcqcn without = cut_once(params);
  without.on_cnp(params, after(us(99)), Sink{&log});
  expect_rates(without, params, after(us(99)), gbps(25), gbps(100));
  EXPECT_EQ(log.count(RoceRare::target_kept), 1);

  Dcqcn with = cut_once(params);
  with.on_cnp(params, after(us(101)), Sink{&log});
  expect_rates(with, params, after(us(101)), BitsPerSecond{37'500'000'000}, gbps(75));
  EXPECT_EQ(log.count(RoceRare::target_kept), 1);

  with.on_cnp(params, after(us(111)));  // and again none since
  expect_rates(with, params, after(us(111)), BitsPerSecond{18'750'000'000}, gbps(75));
}

// [R.dcqcn.target] [R.dcqcn.bytes] [D31] An increase by bytes (50 -> 75) does not count: the cut
// leaves the target alone. One by the timer does, whatever the bytes did since.
TEST(Dcqcn, Nic_AnIncreaseByBytesKeepsTheTarget) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.byte_counter = kb(10);
  Log log;
  Dcqcn by_bytes = cut_once(params);
  by_bytes.on_sent(params, kb(10), after(us(1)));
  by_bytes.on_cnp(params, after(us(10)), Sink{&log});
  expect_rates(by_bytes, params, after(us(10)), BitsPerSecond{37'500'000'000}, gbps(100));
  EXPECT_EQ(log.count(RoceRare::target_kept), 1);

  Dcqcn by_both = cut_once(params);
  (void)by_both.rate(params, after(us(100)));          // 75
  by_both.on_sent(params, kb(10), after(us(101)));     // 87.5
  by_both.on_cnp(params, after(us(102)), Sink{&log});  // 43.75
  expect_rates(by_both, params, after(us(102)), BitsPerSecond{43'750'000'000},
               BitsPerSecond{87'500'000'000});
  EXPECT_EQ(log.count(RoceRare::target_kept), 1);
}

// [D31] Deferred cut and increase at one instant: the cut comes first and starts the timer over.
TEST(Dcqcn, Nic_ADeferredCutComesBeforeAnIncreaseAtTheSameInstant) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.decrease_interval = params.dcqcn.increase_timer;
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(1)));

  expect_rates(limiter, params, after(us(100)), gbps(25), gbps(100));
  EXPECT_EQ(limiter.timer_events(), 0u);
  expect_rates(limiter, params, after(us(200) - ps(1)), gbps(25), gbps(100));
  expect_rates(limiter, params, after(us(200)), BitsPerSecond{62'500'000'000}, gbps(100));
}

// [D31] Worked off late but in order: increases at 4 and 8 us (50 -> 75 -> 87.5), the deferred cut
// at 10 (43.75), the next increase 4 us after that.
TEST(Dcqcn, Nic_IncreasesAndADeferredCutInOrderOfTime) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.increase_timer = us(4);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(1)));

  expect_rates(limiter, params, after(us(14) - ps(1)), BitsPerSecond{43'750'000'000},
               BitsPerSecond{87'500'000'000});
  expect_rates(limiter, params, after(us(14)), BitsPerSecond{65'625'000'000},
               BitsPerSecond{87'500'000'000});
}

// ---- Increase ----

// [R.dcqcn.timer] [R.dcqcn.fast] The first event comes one period after the cut; F of them halve
// the distance to the target: 50, 75, 87.5.
TEST(Dcqcn, Timer_FastRecovery) {
  for (const DcqcnVariant variant : {DcqcnVariant::nic, DcqcnVariant::paper}) {
    const RoceParams params = halving(variant);
    Dcqcn limiter = cut_once(params);

    expect_rates(limiter, params, after(us(100) - ps(1)), gbps(50), gbps(100));
    expect_rates(limiter, params, after(us(100)), gbps(75), gbps(100));
    EXPECT_EQ(limiter.timer_events(), 1u);
    expect_rates(limiter, params, after(us(200) - ps(1)), gbps(75), gbps(100));
    expect_rates(limiter, params, after(us(200)), BitsPerSecond{87'500'000'000}, gbps(100));
    EXPECT_EQ(limiter.timer_events(), 2u);
  }
}

/// Cut from 100 to 12.5 Gb/s by three CNPs, the last at kFirst: far from the line's rate.
Dcqcn cut_thrice(const RoceParams& params) {
  Dcqcn limiter(params.line_rate);
  for (int n = -2; n <= 0; ++n) limiter.on_cnp(params, after(us(10) * n));
  return limiter;
}

// [R.dcqcn.additive] [R.dcqcn.hyper] [R.dcqcn.fast] [D31] Paper, one counter, F 2, target 25: two
// fast (18.75, 21.875), one additive (26, 23.9375), then R_HAI (36, 29.96875), then twice as much
// (56, 42.984375), then three times (86, 64.4921875).
TEST(Dcqcn, Paper_FastAdditiveHyperByTheTimerAlone) {
  const RoceParams params = halving(DcqcnVariant::paper);
  Log log;
  Dcqcn limiter = cut_thrice(params);
  (void)limiter.rate(params, after(us(600)), Sink{&log});

  const std::vector<std::array<std::int64_t, 2>> expected{
      {18'750'000'000, 25'000'000'000}, {21'875'000'000, 25'000'000'000},
      {23'937'500'000, 26'000'000'000}, {29'968'750'000, 36'000'000'000},
      {42'984'375'000, 56'000'000'000}, {64'492'187'500, 86'000'000'000}};
  ASSERT_EQ(log.rates.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(log.rates[i].rate.count(), expected[i][0]) << i;
    EXPECT_EQ(log.rates[i].target.count(), expected[i][1]) << i;
  }
  EXPECT_EQ(log.count(RoceRare::hyper_increase), 3);
}

// [R.dcqcn.additive] [R.dcqcn.hyper] [R.dcqcn.target] NIC: 12.5 Gb/s aims at 100 as before the
// first cut; let it aim at 18.75 by an increase and a cut. Two fast, one additive, then R_HAI each
// time.
TEST(Dcqcn, Nic_FastAdditiveHyperByTheTimerAlone) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.rate_hai = gbps(4);
  Dcqcn limiter(params.line_rate);
  limiter.on_cnp(params, kFirst);
  limiter.on_cnp(params, after(us(100)));  // 75 -> 37.5
  limiter.on_cnp(params, after(us(200)));  // 56.25 -> 28.125
  expect_rates(limiter, params, after(us(200)), BitsPerSecond{28'125'000'000},
               BitsPerSecond{56'250'000'000});

  // 28.125 + 56.25 = 84.375 / 2, + 56.25 = 98.4375 / 2; 57.25; 61.25; 65.25
  expect_rates(limiter, params, after(us(300)), BitsPerSecond{42'187'500'000},
               BitsPerSecond{56'250'000'000});
  expect_rates(limiter, params, after(us(400)), BitsPerSecond{49'218'750'000},
               BitsPerSecond{56'250'000'000});
  expect_rates(limiter, params, after(us(500)), BitsPerSecond{53'234'375'000},
               BitsPerSecond{57'250'000'000});
  expect_rates(limiter, params, after(us(600)), BitsPerSecond{57'242'187'500},
               BitsPerSecond{61'250'000'000});
  expect_rates(limiter, params, after(us(700)), BitsPerSecond{61'246'093'750},
               BitsPerSecond{65'250'000'000});
}

// [R.dcqcn.bytes] [R.dcqcn.fast] An event with the last byte of each 10 MB, and what is over counts
// for the next.
TEST(Dcqcn, Bytes_AnEventWithEachByteCounter) {
  Dcqcn limiter = cut_once(kPaper);
  limiter.on_sent(kPaper, mb(10) - bytes(1), after(us(1)));
  expect_rates(limiter, kPaper, after(us(1)), gbps(20), gbps(40));

  limiter.on_sent(kPaper, bytes(1), after(us(2)));
  expect_rates(limiter, kPaper, after(us(2)), gbps(30), gbps(40));
  EXPECT_EQ(limiter.byte_events(), 1u);

  limiter.on_sent(kPaper, mb(25), after(us(3)));  // two events, 5 MB over
  expect_rates(limiter, kPaper, after(us(3)), BitsPerSecond{37'500'000'000}, gbps(40));
  limiter.on_sent(kPaper, mb(5) - bytes(1), after(us(4)));
  EXPECT_EQ(limiter.byte_events(), 3u);
  limiter.on_sent(kPaper, bytes(1), after(us(4)));
  EXPECT_EQ(limiter.byte_events(), 4u);
  EXPECT_EQ(limiter.timer_events(), 0u);
}

// [R.dcqcn.bytes] 0 means never.
TEST(Dcqcn, Bytes_NoCounterNoEvents) {
  Dcqcn limiter = cut_once(kNic);
  limiter.on_sent(kNic, mb(1'000), after(us(1)));
  expect_rates(limiter, kNic, after(us(1)), gbps(50), gbps(100));
  EXPECT_EQ(limiter.byte_events(), 0u);
}

// [R.dcqcn.bytes] [R.dcqcn.cut_interval] [D31] A deferred cut that was due before these bytes comes
// before them: its counter starts from nothing, and they count.
TEST(Dcqcn, Bytes_CountAfterWhatWasDueBefore) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.byte_counter = kb(10);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(1)));
  limiter.on_sent(params, kb(9), after(us(9)));

  limiter.on_sent(params, kb(9), after(us(11)));
  EXPECT_EQ(limiter.byte_events(), 0u);
  EXPECT_FALSE(limiter.cut_pending());
  limiter.on_sent(params, kb(1), after(us(11)));
  EXPECT_EQ(limiter.byte_events(), 1u);
  expect_rates(limiter, params, after(us(11)), BitsPerSecond{62'500'000'000}, gbps(100));
}

// [R.dcqcn.cut] [R.dcqcn.bytes] [R.dcqcn.timer] A cut starts everything over: both counts, the
// bytes, the timer.
TEST(Dcqcn, Cut_StartsTheIncreaseOver) {
  Dcqcn limiter = cut_once(kPaper);
  limiter.on_sent(kPaper, mb(19), after(us(60)));
  EXPECT_EQ(limiter.timer_events(), 1u);
  EXPECT_EQ(limiter.byte_events(), 1u);

  limiter.on_cnp(kPaper, after(us(100)));
  const BitsPerSecond rate = limiter.rate(kPaper, after(us(100)));
  EXPECT_EQ(limiter.timer_events(), 0u);
  EXPECT_EQ(limiter.byte_events(), 0u);
  limiter.on_sent(kPaper, mb(9), after(us(101)));  // 9 of 10 MB, not 18
  EXPECT_EQ(limiter.byte_events(), 0u);
  EXPECT_EQ(limiter.rate(kPaper, after(us(155) - ps(1))), rate);  // not at 110 us
  EXPECT_GT(limiter.rate(kPaper, after(us(155))), rate);
}

/// Paper's rules with both counters, after three cuts: 12.5 Gb/s, aiming at 25; 1 MB is an event.
class BothCounters : public testing::Test {
 protected:
  BothCounters() : params(halving(DcqcnVariant::paper)) {
    params.dcqcn.byte_counter = mb(1);
    limiter = cut_thrice(params);
  }
  void by_bytes(int events) {
    for (; events > 0; --events) limiter.on_sent(params, mb(1), now);
  }
  void by_timer(int events) {
    now = now + us(100) * events;
    (void)limiter.rate(params, now);
  }
  /// How much the next event, by bytes, raises the target.
  BitsPerSecond next_raise() {
    const BitsPerSecond before = limiter.target();
    by_bytes(1);
    return limiter.target() - before;
  }

  RoceParams params;
  Dcqcn limiter{gbps(100)};
  Instant now = kFirst;
};

// [R.dcqcn.fast] It is the larger count that ends fast recovery: 1 and 1 is still fast ...
TEST_F(BothCounters, OneAndOneOfTwoIsFast) {
  by_bytes(1);
  by_timer(1);
  EXPECT_EQ(next_raise(), gbps(0));
}

// [R.dcqcn.fast] [R.dcqcn.additive] ... two of one kind and none of the other is not.
TEST_F(BothCounters, TwoOfEitherEndFastRecovery) {
  by_bytes(2);
  EXPECT_EQ(next_raise(), gbps(1));
}
TEST_F(BothCounters, TwoOfTheTimerEndFastRecoveryToo) {
  by_timer(2);
  EXPECT_EQ(next_raise(), gbps(1));
}

// [R.dcqcn.hyper] It is the smaller count that decides on hyper increase: 10 and 2 are additive, 10
// and 3 hyper, once; 10 and 5 three times.
TEST_F(BothCounters, TheSmallerCountDecidesOnHyperIncrease) {
  by_timer(2);
  by_bytes(9);
  EXPECT_EQ(next_raise(), gbps(1));
  by_timer(1);  // by 1: the count before it was 2
  EXPECT_EQ(next_raise(), gbps(10));
}
TEST_F(BothCounters, HyperIncreaseGrowsWithTheSmallerCount) {
  params.dcqcn.rate_hai = mbps(10);
  by_timer(5);
  by_bytes(9);
  EXPECT_EQ(next_raise(), mbps(30));
}
// [R.dcqcn.hyper] The NICs' variant adds R_HAI, however large the count.
TEST_F(BothCounters, HyperIncreaseOfTheNicsDoesNotGrow) {
  params.dcqcn.variant = DcqcnVariant::nic;
  params.dcqcn.rate_hai = mbps(10);
  by_timer(5);
  by_bytes(9);
  EXPECT_EQ(next_raise(), mbps(10));
}

// ---- Bounds ----

// [R.dcqcn.bounds] 100 Gb/s halved seven times would be 0.78; 1 is the least. The target stays
// above.
TEST(Dcqcn, Bounds_NotBelowTheLeastRate) {
  const RoceParams params = halving(DcqcnVariant::paper);
  Log log;
  Dcqcn limiter(params.line_rate);
  for (int n = 0; n < 6; ++n) limiter.on_cnp(params, kFirst, Sink{&log});
  EXPECT_EQ(log.count(RoceRare::least_rate), 0);
  expect_rates(limiter, params, kFirst, BitsPerSecond{1'562'500'000}, BitsPerSecond{3'125'000'000});

  limiter.on_cnp(params, kFirst, Sink{&log});
  expect_rates(limiter, params, kFirst, gbps(1), BitsPerSecond{1'562'500'000});
  EXPECT_EQ(log.count(RoceRare::least_rate), 1);
  limiter.on_cnp(params, kFirst, Sink{&log});
  expect_rates(limiter, params, kFirst, gbps(1), gbps(1));
}

// [R.dcqcn.bounds] Additive or hyper, the target ends at the line's rate.
TEST(Dcqcn, Bounds_TheTargetEndsAtTheLineRate) {
  RoceParams params = halving(DcqcnVariant::paper);
  params.dcqcn.rate_ai = gbps(80);
  params.dcqcn.rate_hai = gbps(100);
  Dcqcn limiter = cut_thrice(params);
  (void)limiter.rate(params, after(us(300)));
  EXPECT_EQ(limiter.target(), gbps(100));  // 25 + 80
  (void)limiter.rate(params, after(us(400)));
  EXPECT_EQ(limiter.target(), gbps(100));
}

// [R.dcqcn.bounds] [D31] A long silence brings the rate back to the line's but for the last bit
// that halving loses, and time goes on being counted: 10 s are 100000 periods of 100 us.
TEST(Dcqcn, Bounds_ALongSilence) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);

  expect_rates(limiter, params, after(seconds(10) - ps(1)), gbps(100) - BitsPerSecond{1},
               gbps(100));
  EXPECT_EQ(limiter.timer_events(), 99'999u);
  (void)limiter.rate(params, after(seconds(10)));
  EXPECT_EQ(limiter.timer_events(), 100'000u);
  (void)limiter.rate(params, after(seconds(10) + us(100) - ps(1)));
  EXPECT_EQ(limiter.timer_events(), 100'000u);

  limiter.on_cnp(params, after(seconds(10) + us(100)));
  expect_rates(limiter, params, after(seconds(10) + us(100)), gbps(50),
               gbps(100) - BitsPerSecond{1});
}

// [R.dcqcn.target] [D31] The increases passed over in a silence are increases.
TEST(Dcqcn, Bounds_ALongSilenceCountsAsAnIncrease) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);
  (void)limiter.rate(params, after(seconds(1)));
  EXPECT_EQ(limiter.target(), gbps(100));

  limiter.on_cnp(params, after(seconds(2)));

  EXPECT_EQ(limiter.target(), gbps(100) - BitsPerSecond{1});  // the rate, not the target, before it
}

// [D31] [R.dcqcn.timer] Where no increase can gain anything, an hour of nanoseconds costs no time,
// and nobody is asked to come again for one.
TEST(Dcqcn, Bounds_ALongSilenceWithNothingToGain) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.rate_ai = gbps(0);
  params.dcqcn.rate_hai = gbps(0);
  params.dcqcn.increase_timer = us(20);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(us(20)));  // 75 -> 37.5, aims at 75
  params.dcqcn.increase_timer = ns(1);
  expect_rates(limiter, params, after(seconds(3'600)), gbps(75) - BitsPerSecond{1}, gbps(75));

  limiter.on_sent(params, mb(1), after(seconds(3'600)));
  limiter.on_sent(params, mb(1), after(seconds(3'600)));
  EXPECT_EQ(limiter.ask_again(params), limiter.ready(params, after(seconds(3'600))));
}

// Counts end at 2^20, where they make no difference any more.
TEST(Dcqcn, Bounds_CountsEnd) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.byte_counter = bytes(1);
  Dcqcn limiter = cut_once(params);
  limiter.on_sent(params, bytes((1 << 20) + 5), after(us(1)));
  EXPECT_EQ(limiter.byte_events(), 1u << 20);
  (void)limiter.rate(params, after(seconds(200)));
  EXPECT_EQ(limiter.timer_events(), 1u << 20);
}

// ---- Pacing: 1000 bytes take 80 ns at 100 Gb/s, 160 at 50 ----

// [R.roce.pacing] With or without rate control: one packet per packet's time.
TEST(Dcqcn, Pacing_APacketsTimeAfterAPacket) {
  for (const DcqcnVariant variant : {DcqcnVariant::off, DcqcnVariant::paper, DcqcnVariant::nic}) {
    const RoceParams params = halving(variant);
    Dcqcn limiter(params.line_rate);
    EXPECT_EQ(limiter.ready(params, at(ps(0))), at(ps(0)));
    limiter.on_sent(params, kb(1), at(ps(0)));
    EXPECT_EQ(limiter.ready(params, at(ps(0))), at(ns(80)));
    EXPECT_EQ(limiter.ask_again(params), at(ns(80)));
    limiter.on_sent(params, kb(1), at(ns(80)));
    EXPECT_EQ(limiter.ready(params, at(ns(80))), at(ns(160)));
  }
}

// [R.roce.pacing] [D33] Lateness is made up for, up to this packet's time.
TEST(Dcqcn, Pacing_MakesUpForOnePacketsTime) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter(params.line_rate);
  limiter.on_sent(params, kb(1), at(ps(0)));  // the next is due at 80

  Dcqcn late = limiter;
  late.on_sent(params, kb(1), at(ns(110)));
  EXPECT_EQ(late.ready(params, at(ns(110))), at(ns(160)));

  Dcqcn by_one = limiter;
  by_one.on_sent(params, kb(1), at(ns(160)));
  EXPECT_EQ(by_one.ready(params, at(ns(160))), at(ns(160)));

  Dcqcn by_more = limiter;
  by_more.on_sent(params, kb(1), at(ns(161)));
  EXPECT_EQ(by_more.ready(params, at(ns(161))), at(ns(161)));

  Dcqcn short_packet = limiter;
  short_packet.on_sent(params, bytes(100), at(ns(161)));
  EXPECT_EQ(short_packet.ready(params, at(ns(161))), at(ns(161)));
}

// [R.roce.pacing] [R.dcqcn.cut] A cut 20 ns into a wait of 80 doubles the 60 that are left.
TEST(Dcqcn, Pacing_ACutLengthensTheWait) {
  const RoceParams params = halving(DcqcnVariant::paper);
  Dcqcn limiter(params.line_rate);
  limiter.on_sent(params, kb(1), kFirst);  // after a long wait: the next may follow at once
  limiter.on_sent(params, kb(1), kFirst);
  EXPECT_EQ(limiter.ready(params, kFirst), after(ns(80)));

  limiter.on_cnp(params, after(ns(20)));
  EXPECT_EQ(limiter.ready(params, after(ns(20))), after(ns(140)));
  limiter.on_cnp(params, after(ns(100)));  // and 40 left at 50 Gb/s are 80 at 25
  EXPECT_EQ(limiter.ready(params, after(ns(100))), after(ns(180)));
}

// [R.roce.pacing] [R.dcqcn.cut_interval] [D31] A deferred cut at 10 us does, too, from its own time
// on, whenever that is noticed: 15 KB at 50 Gb/s sent at 8 us are 2400 ns, of which 400 are left.
TEST(Dcqcn, Pacing_ADeferredCutLengthensTheWait) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);
  limiter.on_sent(params, kb(1), after(us(1)));  // nothing left to make up for but one packet
  limiter.on_cnp(params, after(us(1)));
  limiter.on_sent(params, bytes(15'000), after(us(8)));
  EXPECT_EQ(limiter.ready(params, after(us(8))), after(us(8)));
  limiter.on_sent(params, bytes(15'000), after(us(8)));
  EXPECT_EQ(limiter.ready(params, after(us(10) - ps(1))), after(us(8) + ns(2'400)));
  EXPECT_EQ(limiter.ready(params, after(us(11))), after(us(10) + ns(800)));
}

// [R.roce.pacing] [R.dcqcn.timer] An increase (50 -> 75 at 100 us) shortens what is left, 60 us of
// a wait that began at 90, to 40; and until then it is the time to ask again.
TEST(Dcqcn, Pacing_AnIncreaseShortensTheWait) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter = cut_once(params);
  limiter.on_sent(params, bytes(437'500), after(us(90)));
  limiter.on_sent(params, bytes(437'500), after(us(90)));  // 70 us at 50 Gb/s
  EXPECT_EQ(limiter.ready(params, after(us(90))), after(us(160)));
  EXPECT_EQ(limiter.ask_again(params), after(us(100)));
  EXPECT_EQ(limiter.ready(params, after(us(100) - ps(1))), after(us(160)));
  EXPECT_EQ(limiter.ready(params, after(us(100))), after(us(140)));
  EXPECT_EQ(limiter.ask_again(params), after(us(140)));
}

// [R.roce.pacing] [R.dcqcn.bytes] The packet that makes the byte counter full waits at the rate
// that gives: 160 ns at 50 are 106.666 at 75.
TEST(Dcqcn, Pacing_AnIncreaseByBytesShortensTheWait) {
  RoceParams params = halving(DcqcnVariant::nic);
  params.dcqcn.byte_counter = kb(2);
  Dcqcn limiter = cut_once(params);
  limiter.on_sent(params, kb(1), kFirst);
  limiter.on_sent(params, kb(1), kFirst);
  EXPECT_EQ(limiter.ready(params, kFirst), after(ps(106'666)));
}

// [R.roce.pacing] What is past is not changed by a new rate.
TEST(Dcqcn, Pacing_ACutDoesNotMoveWhatIsDueAlready) {
  const RoceParams params = halving(DcqcnVariant::paper);
  Dcqcn limiter = cut_once(params);
  limiter.on_sent(params, kb(1), kFirst);
  limiter.on_sent(params, kb(1), kFirst);  // due at 160
  limiter.on_cnp(params, after(ns(170)));
  EXPECT_EQ(limiter.ready(params, after(ns(200))), after(ns(160)));
}

// [R.roce.pacing] [D31] Nobody who comes when ask_again() says comes too late, though a cut so
// small that it does not matter (alpha is 255 / 2^30 at 10 ms) and the increases after it come in
// between.
TEST(Dcqcn, Pacing_AskAgainIsNeverTooLate) {
  RoceParams params = kNic;
  params.dcqcn.decrease_interval = ms(10);
  params.dcqcn.increase_timer = us(1);
  Dcqcn limiter = cut_once(params);
  limiter.on_cnp(params, after(ms(1)));  // its cut is due at 10 ms; the rate is the line's by then
  const Instant now = after(ms(10) - ns(500));
  limiter.on_sent(params, mb(1), now);
  limiter.on_sent(params, mb(1), now);

  const Instant again = limiter.ask_again(params);
  EXPECT_GT(again, now);
  EXPECT_GE(limiter.ready(params, again - ps(1)), again);
}

// ---- What watchers are told ----

// [R.dcqcn.cut] [R.dcqcn.timer] Each change of the rate, with the target.
TEST(Dcqcn, Events_TellEachChange) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Log log;
  Dcqcn limiter(params.line_rate);
  limiter.on_cnp(params, kFirst, Sink{&log});
  (void)limiter.rate(params, after(us(100)), Sink{&log});
  (void)limiter.rate(params, after(us(101)), Sink{&log});

  ASSERT_EQ(log.rates.size(), 2u);
  EXPECT_EQ(log.rates[0].rate, gbps(50));
  EXPECT_EQ(log.rates[0].target, gbps(100));
  EXPECT_EQ(log.rates[1].rate, gbps(75));
}

// ---- Many limiters and a queue ----

/// [D31] Limiters that share one port: a queue with RED marking, CNPs `delay` later and at most one
/// per flow in the CNP interval. Gives each flow's mean rate over the second half and the mean
/// marking probability.
struct SharedPort {
  std::vector<double> shares;  ///< of the port's rate
  double marking = 0;
};

SharedPort share_a_port(const RoceParams& params, std::size_t flows, Picoseconds duration,
                        Picoseconds delay, Picoseconds stagger) {
  constexpr double kKmin = 5e3;
  constexpr double kKmax = 200e3;
  constexpr double kPmax = 0.01;
  struct Flow {
    Dcqcn limiter;
    Instant next;
    Instant last_cnp = Instant::distant_past();
    double sent = 0;
  };
  struct Cnp {
    Instant at;
    std::size_t flow;
  };
  const Bytes size = params.mtu;
  const Picoseconds service = size / params.line_rate;
  const Instant half = at(duration / 2);
  std::vector<Flow> all;
  for (std::size_t i = 0; i < flows; ++i) {
    all.push_back({Dcqcn(params.line_rate), at(stagger * static_cast<std::int64_t>(i))});
  }
  std::deque<Cnp> cnps;
  std::mt19937_64 rng(20'150'817);
  Instant busy_until{};  // the queue, as the time that it takes to drain
  double marking = 0;
  double packets = 0;
  while (true) {
    auto flow = std::min_element(all.begin(), all.end(),
                                 [](const Flow& a, const Flow& b) { return a.next < b.next; });
    const Instant now = flow->next;
    if (now >= at(duration)) break;
    if (!cnps.empty() && cnps.front().at <= now) {
      Flow& told = all[cnps.front().flow];
      told.limiter.on_cnp(params, cnps.front().at);
      told.next = std::max(told.next, told.limiter.ask_again(params));
      cnps.pop_front();
      continue;
    }
    if (flow->limiter.ready(params, now) > now) {
      flow->next = flow->limiter.ask_again(params);
      continue;
    }
    busy_until = std::max(busy_until, now) + service;
    const auto queue = static_cast<double>((params.line_rate * (busy_until - now)).count());
    const double p = queue < kKmin   ? 0.0
                     : queue < kKmax ? kPmax * (queue - kKmin) / (kKmax - kKmin)
                                     : 1.0;
    const double draw = static_cast<double>(rng() >> 11) * 0x1p-53;
    if (draw < p && now - flow->last_cnp >= params.dcqcn.cnp_interval) {
      flow->last_cnp = now;
      cnps.push_back({now + delay, static_cast<std::size_t>(flow - all.begin())});
    }
    if (now >= half) {
      flow->sent += static_cast<double>(size.count());
      marking += p;
      ++packets;
    }
    flow->limiter.on_sent(params, size, now);
    flow->next = std::max(now, flow->limiter.ask_again(params));
  }
  SharedPort result;
  const auto capacity = static_cast<double>((params.line_rate * (at(duration) - half)).count());
  for (const Flow& flow : all) result.shares.push_back(flow.sent / capacity);
  result.marking = marking / packets;
  return result;
}

// [D31] [R.dcqcn.cut] [R.dcqcn.alpha] The fluid model's fixed point (Zhu et al. 2015): N flows have
// C/N each, whenever they start, and the port is full. Its marking probability is about the cube
// root of R_AI N^2 / (tau C^2) x (1/B + N/(T C))^2 with tau the CNP interval and T the increase
// timer, in packets and seconds.
TEST(Dcqcn, SharedPort_ConvergesToTheFixedPoint) {
  for (const std::size_t flows : {2u, 4u, 8u}) {
    const SharedPort port = share_a_port(kPaper, flows, ms(200), us(5), us(300));

    const auto n = static_cast<double>(flows);
    double total = 0;
    double squares = 0;
    for (const double share : port.shares) {
      total += share;
      squares += share * share;
      EXPECT_NEAR(share * n, 1.0, 0.1) << flows << " flows";
    }
    EXPECT_NEAR(total, 1.0, 0.01) << flows << " flows";
    EXPECT_GT(total * total / (n * squares), 0.99) << flows << " flows";

    const double c = 40e9 / 8 / 1'000;
    const double r_ai = 40e6 / 8 / 1'000;
    const double per_packet = 1.0 / 10'000 + n / (55e-6 * c);
    const double fixed_point = std::cbrt(r_ai * n * n / (50e-6 * c * c) * per_packet * per_packet);
    EXPECT_NEAR(port.marking / fixed_point, 1.0, 0.15) << flows << " flows";
  }
}

// [R.dcqcn.cut_interval] The first CNP cuts at once, however early it comes.
TEST(Dcqcn, Nic_TheFirstCutWaitsForNothing) {
  const RoceParams params = halving(DcqcnVariant::nic);
  Dcqcn limiter(params.line_rate);
  limiter.on_cnp(params, at(us(1)));
  EXPECT_EQ(limiter.rate(params, at(us(1))), gbps(50));
  EXPECT_FALSE(limiter.cut_pending());
}

// [D118] News of a shared alpha is told once.
TEST(Dcqcn, Shared_NewsIsToldOnce) {
  RoceParams params = kNic;
  params.dcqcn.shared_alpha = us(10);
  Dcqcn limiter(params.line_rate);
  limiter.on_cnp(params, at(us(1)));
  (void)limiter.ready(params, at(us(5)));  // four periods, one of them with a CNP
  const AlphaNews news = limiter.take_news();
  EXPECT_EQ(news.rises, 1);
  EXPECT_EQ(news.falls, 3);
  const AlphaNews none = limiter.take_news();
  EXPECT_EQ(none.rises, 0);
  EXPECT_EQ(none.falls, 0);
}

}  // namespace
}  // namespace strack::core
