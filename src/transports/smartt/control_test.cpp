// SMaRTT's window, acknowledgement by acknowledgement.
#include "transports/smartt/control.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(1'000);

/// 400 Gb/s, 8 us, packets of 1000 bytes: a BDP of 400 KB, a target of 12 us.
SmarttParams params() { return SmarttParams::for_link(gbps(400), us(8), kMtu).value(); }

class Loop {
 public:
  explicit Loop(Bytes cwnd = kb(500)) : parameters(params()), control(start(parameters, cwnd)) {}

  void ack(Picoseconds rtt, bool ecn = false, Bytes acked = kMtu) {
    AckNews news;
    news.acked = acked;
    news.rtt = rtt;
    news.ecn = ecn;
    news.inflight = inflight;
    control.on_ack(parameters, news, now);
  }
  void trim(Bytes lost = kMtu) {
    control.on_loss(parameters, {.sign = LossSign::trimmed, .lost = lost, .inflight = inflight},
                    now);
  }
  /// Enough marks that decreases are allowed: what they do to the window is undone.
  void let_decrease() {
    for (int i = 0; i < 20; ++i) ack(us(13), true, bytes(0));
  }

  SmarttParams parameters;
  SmarttControl control;
  Instant now = at(us(100));
  Bytes inflight{0};

 private:
  static SmarttControl start(const SmarttParams& p, Bytes cwnd) {
    SmarttParams smaller = p;
    smaller.max_cwnd = cwnd;
    return SmarttControl(smaller);
  }
};

// [SMARTT.start] [SMARTT.target] [SMARTT.paths] What follows from the link.
TEST(Smartt, Start) {
  const SmarttParams p = params();
  EXPECT_EQ(SmarttControl(p).cwnd(), kb(500));
  EXPECT_EQ(p.target_rtt, us(12));
  EXPECT_EQ(p.adapt_period, us(12));
  EXPECT_EQ(p.spray.policy, SprayPolicy::reps);
  EXPECT_EQ(p.reorder_cwnd, (Ratio{1, 1}));
  EXPECT_TRUE(p.nacks);
}

// [SMARTT.increase.proportional] [SMARTT.increase.fair] Unmarked below the target: two packets per window times
// what is missing, and 0.02 BDP per window.
TEST(Smartt, IncreaseBelowTarget) {
  Loop loop(bytes(100'000));
  loop.ack(us(10));                                // 2'000 x 2/10 x 1/100 = 4, and 8'000 / 100 = 80
  EXPECT_EQ(loop.control.cwnd(), bytes(100'083));  // 8'000'000 / 100'004 = 79
}

// [SMARTT.increase.fair] Unmarked above it: only the latter.
TEST(Smartt, IncreaseAboveTarget) {
  Loop loop(bytes(100'000));
  loop.ack(us(20));
  EXPECT_EQ(loop.control.cwnd(), bytes(100'080));
}

// [SMARTT.wtd] Marks do nothing until more than 0.3 of the recent ones are: the eighth in a row.
TEST(Smartt, WaitsToDecrease) {
  Loop loop(bytes(400'000));
  for (int i = 0; i < 6; ++i) loop.ack(us(10), true);
  EXPECT_LT(loop.control.marks(), SmarttControl::kOne * 3 / 10);
  EXPECT_EQ(loop.control.cwnd(), bytes(400'000));
  loop.ack(us(10), true);  // 1 - 0.95^7 = 0.302
  EXPECT_EQ(loop.control.cwnd(), bytes(399'500));
}

// [SMARTT.decrease.fair] Marked below the target: half a packet at a BDP, in proportion to the window.
TEST(Smartt, DecreaseBelowTarget) {
  Loop loop(bytes(200'000));
  loop.let_decrease();
  loop.ack(us(10), true);
  EXPECT_EQ(loop.control.cwnd(), bytes(199'750));
}

// [SMARTT.decrease.multiplicative] Marked above it: besides, a packet times the delay's share above the target.
TEST(Smartt, DecreaseAboveTarget) {
  Loop loop(bytes(200'000));
  loop.let_decrease();
  loop.ack(us(16), true);
  EXPECT_EQ(loop.control.cwnd(), bytes(199'500));  // 250 and 4/16 of 1000
  loop.ack(us(1'200), true);
  EXPECT_EQ(loop.control.cwnd(), bytes(198'500));  // never more than what was acknowledged
}

// [SMARTT.fast] After a window without marks and queues each packet adds one.
TEST(Smartt, FastIncrease) {
  Loop loop(bytes(10'000));
  loop.parameters.proportional = {0, 1};
  loop.parameters.fair_increase = {0, 1};
  for (int i = 0; i < 10; ++i) loop.ack(us(9));
  EXPECT_EQ(loop.control.cwnd(), bytes(10'000));
  loop.ack(us(9));
  loop.ack(us(9));
  EXPECT_EQ(loop.control.cwnd(), bytes(12'000));
  // [SMARTT.fast.end] A queue, or a mark, ends it.
  loop.ack(ps(9'000'001));
  loop.ack(us(9));
  EXPECT_EQ(loop.control.cwnd(), bytes(12'000));
}

// [SMARTT.fast.end] A queue, or a mark, ends it: another window without has to pass.
TEST(Smartt, FastIncreaseEnds) {
  for (const bool ecn : {false, true}) {
    Loop loop(bytes(10'000));
    loop.parameters.proportional = {0, 1};
    loop.parameters.fair_increase = {0, 1};
    for (int i = 0; i < 11; ++i) loop.ack(us(8));
    EXPECT_EQ(loop.control.cwnd(), bytes(11'000));
    loop.ack(ecn ? us(8) : us(10), ecn);
    for (int i = 0; i < 11; ++i) loop.ack(us(8));
    EXPECT_EQ(loop.control.cwnd(), bytes(11'000));
    loop.ack(us(8));
    EXPECT_EQ(loop.control.cwnd(), bytes(12'000));
  }
}

// [SMARTT.trim] [SMARTT.loss] What was cut off or lost leaves the window.
TEST(Smartt, TrimTakesItsSize) {
  Loop loop(bytes(100'000));
  loop.trim();
  EXPECT_EQ(loop.control.cwnd(), bytes(99'000));
  loop.control.on_loss(loop.parameters, {.sign = LossSign::timeout, .lost = bytes(3'000)},
                       loop.now);
  EXPECT_EQ(loop.control.cwnd(), bytes(96'000));
}

// [SMARTT.adapt] At the end of the period, 1.5 base RTTs, the window is what was delivered in it.
TEST(Smartt, QuickAdapt) {
  Loop loop(bytes(100'000));
  loop.ack(us(20), true);  // the first period begins
  loop.trim();
  loop.ack(us(20), true, bytes(7'000));
  loop.now = at(us(112)) - ps(1);
  loop.ack(us(20), true, bytes(2'000));
  EXPECT_EQ(loop.control.cwnd(), bytes(99'000));
  loop.now = at(us(112));
  loop.ack(us(20), true, bytes(1'000));
  EXPECT_EQ(loop.control.cwnd(), bytes(10'000));
  loop.now = at(us(130));
  loop.ack(us(20), true, bytes(1'000));  // nothing was lost in the next period
  EXPECT_EQ(loop.control.cwnd(), bytes(10'000));
}

// [SMARTT.adapt.ignore] After it, marks of what was in flight then do not count.
TEST(Smartt, IgnoresMarksOfOldPackets) {
  Loop loop(bytes(400'000));
  loop.let_decrease();
  loop.trim();
  loop.now = at(us(112));
  loop.inflight = bytes(3'000);
  loop.ack(us(20), true, kb(100));
  EXPECT_EQ(loop.control.cwnd(), kb(100));
  for (int i = 0; i < 3; ++i) loop.ack(us(10), true);
  EXPECT_EQ(loop.control.cwnd(), kb(100));
  loop.ack(us(10), true);
  EXPECT_EQ(loop.control.cwnd(), bytes(99'875));
}

// [SMARTT.paths] Of 256 entropies.
TEST(Smartt, Paths) { EXPECT_EQ(params().spray.paths, 256u); }

// [SMARTT.wtd] Each one without a mark lowers their share.
TEST(Smartt, ForgetsMarks) {
  Loop loop;
  loop.ack(us(20), true);
  const std::int64_t once = SmarttControl::kOne / 20;
  EXPECT_EQ(loop.control.marks(), once);
  loop.ack(us(20));
  EXPECT_EQ(loop.control.marks(), once + (Ratio{1, 20}.of(-once)));
}

// [SMARTT.increase.proportional] Never more than what was acknowledged.
TEST(Smartt, IncreaseAtMostWhatWasAcknowledged) {
  Loop loop(bytes(100'000));
  loop.parameters.proportional = {1'000, 1};
  loop.parameters.fair_increase = {0, 1};
  loop.ack(us(10), false, bytes(100));  // 1'000'000 x 2/10 x 1/1000 would be 200
  EXPECT_EQ(loop.control.cwnd(), bytes(100'100));
}

// [SMARTT.fast] Nothing else is added meanwhile.
TEST(Smartt, FastIncreaseAlone) {
  Loop loop(bytes(10'000));
  for (int i = 0; i < 11; ++i) loop.ack(us(8), false, i < 10 ? bytes(1'000) : bytes(1));
  const Bytes before = loop.control.cwnd();
  loop.ack(us(8));
  EXPECT_EQ(loop.control.cwnd(), before + kMtu);
}

// [SMARTT.fast.end] A loss ends it, too.
TEST(Smartt, FastIncreaseEndsWithALoss) {
  Loop loop(bytes(10'000));
  loop.parameters.proportional = {0, 1};
  loop.parameters.fair_increase = {0, 1};
  for (int i = 0; i < 11; ++i) loop.ack(us(8));
  EXPECT_EQ(loop.control.cwnd(), bytes(11'000));
  loop.trim();
  for (int i = 0; i < 10; ++i) loop.ack(us(8));
  EXPECT_EQ(loop.control.cwnd(), bytes(10'000));
  loop.ack(us(8));
  EXPECT_EQ(loop.control.cwnd(), bytes(11'000));
}

// [SMARTT.fast.end] What acknowledges nothing does not.
TEST(Smartt, FastIncreaseGoesOnWithoutBytes) {
  Loop loop(bytes(10'000));
  loop.parameters.proportional = {0, 1};
  loop.parameters.fair_increase = {0, 1};
  for (int i = 0; i < 11; ++i) loop.ack(us(8));
  loop.ack(us(20), true, bytes(0));
  loop.ack(us(8));
  EXPECT_EQ(loop.control.cwnd(), bytes(12'000));
}

// [SMARTT.adapt] A loss after the period's end is reason and occasion at once.
TEST(Smartt, QuickAdaptByALoss) {
  Loop loop(bytes(100'000));
  loop.ack(us(20), true, bytes(0));  // the first period begins
  loop.ack(us(20), true, bytes(7'000));
  loop.now = at(us(112));
  loop.trim();
  EXPECT_EQ(loop.control.cwnd(), bytes(7'000));
}

// [SMARTT.adapt.ignore] What has no mark counts as ever; and each quick adapt ignores anew.
TEST(Smartt, IgnoresMarksOnly) {
  Loop loop(bytes(400'000));
  loop.let_decrease();
  for (const int start : {112, 130}) {
    loop.trim();
    loop.now = at(us(start));
    loop.inflight = bytes(3'000);
    loop.ack(us(20), true, start == 112 ? kb(100) : kb(97));  // with those of the period before
    EXPECT_EQ(loop.control.cwnd(), kb(100));
    loop.ack(us(20));
    EXPECT_EQ(loop.control.cwnd(), bytes(100'080));
    loop.ack(us(10), true);
    loop.ack(us(10), true);
    EXPECT_EQ(loop.control.cwnd(), bytes(100'080));
  }
}

// [SMARTT.bounds] From a packet to 1.25 BDP.
TEST(Smartt, Bounds) {
  Loop loop;
  for (int i = 0; i < 100; ++i) loop.ack(us(8), false, kb(400));
  EXPECT_EQ(loop.control.cwnd(), kb(500));
  loop.trim(mb(1));
  EXPECT_EQ(loop.control.cwnd(), bytes(1'000));
  EXPECT_EQ(SmarttControl::pacing(loop.parameters, kMtu), ps(0));
}

// Each wrong value is named.
TEST(SmarttParams, Faults) {
  const auto fault = [](auto&& change) {
    SmarttParams wrong = params();
    change(wrong);
    const auto checked = wrong.validated();
    return std::string(checked ? "" : checked.error().field);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& w) { w.target_rtt = ps(0); }), "target_rtt");
  EXPECT_EQ(fault([](auto& w) { w.wtd_weight = {2, 1}; }), "wtd_weight");
  EXPECT_EQ(fault([](auto& w) { w.wtd_threshold = {2, 1}; }), "wtd_threshold");
  EXPECT_EQ(fault([](auto& w) { w.fast_step = {-1, 1}; }), "fast_step");
  EXPECT_EQ(fault([](auto& w) { w.proportional = {-1, 1}; }), "proportional");
  EXPECT_EQ(fault([](auto& w) { w.fair_increase = {2, 1}; }), "fair_increase");
  EXPECT_EQ(fault([](auto& w) { w.multiplicative = {-1, 1}; }), "multiplicative");
  EXPECT_EQ(fault([](auto& w) { w.fair_decrease = {-1, 1}; }), "fair_decrease");
  EXPECT_EQ(fault([](auto& w) { w.adapt_period = ps(0); }), "adapt_period");
  EXPECT_EQ(fault([](auto& w) { w.min_cwnd = bytes(1); }), "min_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.max_cwnd = bytes(1); }), "max_cwnd");
}

}  // namespace
}  // namespace strack::core
