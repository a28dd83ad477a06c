// Swift's window, acknowledgement by acknowledgement.
#include "transports/swift/control.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(1'000);

/// 400 Gb/s, 8 us, packets of 1000 bytes: a target of 8 us, and what hops and flows add.
SwiftParams params() { return SwiftParams::for_link(gbps(400), us(8), kMtu).value(); }

SwiftParams with_window(Bytes cwnd) {
  SwiftParams p = params();
  p.init_cwnd = cwnd;
  return p;
}

AckNews ack(Picoseconds rtt, Bytes acked = kMtu) {
  AckNews news;
  news.acked = acked;
  news.rtt = rtt;
  return news;
}

// [SWIFT.target] [SWIFT.target.hops] The base, and so much for each link; a window of 100 packets and more
// adds nothing.
TEST(Swift, TargetByHops) {
  const SwiftParams p = params();
  const SwiftControl control(with_window(bytes(100'000)));
  EXPECT_EQ(control.target_delay(p, 0), us(8));
  EXPECT_EQ(control.target_delay(p, 4), ps(12'885'496));
}

// [SWIFT.target.flows] The smaller the window, the larger the target: fs_alpha / sqrt(cwnd) + fs_beta, from
// nothing at 100 packets to five bases at a tenth of one, and no more.
TEST(Swift, TargetByFlows) {
  const SwiftParams p = params();
  EXPECT_EQ(p.fs_alpha, ps(13'061'940));
  EXPECT_EQ(p.fs_beta, ps(-1'306'074));
  const auto target = [&](Bytes cwnd) {
    return SwiftControl(with_window(cwnd)).target_delay(p, 0);
  };
  EXPECT_EQ(target(bytes(25'000)), ps(9'306'274));
  EXPECT_EQ(target(bytes(1'000)), ps(19'755'866));
  EXPECT_EQ(target(bytes(100)), ps(47'999'999));
  EXPECT_EQ(target(bytes(10)), us(48));
}

// [SWIFT.start] [SWIFT.increase] Below the target a window's acknowledgements add one packet.
TEST(Swift, AdditiveIncrease) {
  const SwiftParams p = params();
  SwiftControl control(p);
  EXPECT_EQ(control.cwnd(), kb(400));
  SwiftControl small(with_window(bytes(10'000)));
  small.on_ack(p, ack(us(8)), {});
  EXPECT_EQ(small.cwnd(), bytes(10'100));
  small.on_ack(p, ack(us(8), bytes(2'000)), {});
  EXPECT_EQ(small.cwnd(), bytes(10'298));
}

// [SWIFT.increase.small] Below one packet, an acknowledged packet adds one.
TEST(Swift, IncreaseBelowAPacket) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(200)));
  control.on_ack(p, ack(us(8), bytes(500)), {});
  EXPECT_EQ(control.cwnd(), bytes(700));
}

// [SWIFT.decrease] Above it, by 0.8 of the delay's share above the target.
TEST(Swift, DecreaseByExcess) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_ack(p, ack(us(10)), at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(84'000));  // 0.8 x 2/10
}

// [SWIFT.decrease.most] By half at most.
TEST(Swift, DecreaseAtMostHalf) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_ack(p, ack(us(800)), at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(50'000));
}

// [SWIFT.decrease.once] Once per RTT, also of losses; increases are free.
TEST(Swift, DecreaseOncePerRtt) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_ack(p, ack(us(16)), at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(60'000));
  control.on_ack(p, ack(us(16)), at(us(115)));
  control.on_loss(p, {.sign = LossSign::order}, at(us(115)));
  EXPECT_EQ(control.cwnd(), bytes(60'000));
  control.on_ack(p, ack(us(7)), at(us(115)));
  EXPECT_EQ(control.cwnd(), bytes(60'016));
  control.on_loss(p, {.sign = LossSign::order}, at(us(116)));
  EXPECT_EQ(control.cwnd(), bytes(30'008));
}

// [SWIFT.loss] [SWIFT.timeout] A loss and a timeout halve the window.
TEST(Swift, LossHalves) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_loss(p, {.sign = LossSign::probe}, at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(50'000));
  control.on_loss(p, {.sign = LossSign::timeout, .timeouts = 4}, at(us(300)));
  EXPECT_EQ(control.cwnd(), bytes(25'000));
}

// [SWIFT.timeout.reset] [SWIFT.bounds] Five in a row leave the smallest window: a hundredth of a packet.
TEST(Swift, FiveTimeouts) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_loss(p, {.sign = LossSign::timeout, .timeouts = 5}, at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(10));
  for (int i = 0; i < 2'000; ++i) control.on_ack(p, ack(us(1), kb(400)), {});
  EXPECT_EQ(control.cwnd(), bytes(1'024'000));
}

// [SWIFT.pace] A window below a packet sends one each rtt/cwnd; above, nothing is paced.
TEST(Swift, PacesBelowAPacket) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(250)));
  EXPECT_EQ(control.pacing(p, kMtu), us(32));
  control.on_ack(p, ack(us(100), bytes(0)), {});
  EXPECT_EQ(control.pacing(p, kMtu), ps(100'000'000 * std::int64_t{1'000} / control.cwnd().value));
  EXPECT_EQ(SwiftControl(with_window(bytes(1'000))).pacing(p, kMtu), ps(0));
}

// An RTT below the clock's tick is no delay at all.
TEST(Swift, NoDelayNoNews) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(10'000)));
  control.on_ack(p, ack(ps(0)), {});
  EXPECT_EQ(control.cwnd(), bytes(10'000));
}

// [SWIFT.target.flows] A window above 100 packets takes nothing off.
TEST(Swift, TargetOfLargeWindows) {
  EXPECT_EQ(SwiftControl(with_window(kb(400))).target_delay(params(), 0), us(8));
}

// [SWIFT.target.hops] A packet that passed more links may take longer.
TEST(Swift, HopsOfAPacket) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  AckNews far = ack(us(10));
  far.hops = 4;
  control.on_ack(p, far, at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(100'010));
}

// [SWIFT.increase] As many packets per window as ai says.
TEST(Swift, IncreaseByTwoPackets) {
  SwiftParams p = with_window(bytes(10'000));
  p.ai = {2, 1};
  p.derive([](const char* /*key*/) { return true; });
  SwiftControl control(p);
  control.on_ack(p, ack(us(8)), {});
  EXPECT_EQ(control.cwnd(), bytes(10'200));
}

// [SWIFT.timeout.reset] It waits for no RTT; and other losses after many timeouts halve, as ever.
TEST(Swift, FiveTimeouts_AtOnce) {
  const SwiftParams p = params();
  SwiftControl control(with_window(bytes(100'000)));
  control.on_loss(p, {.sign = LossSign::order, .timeouts = 5}, at(us(100)));
  EXPECT_EQ(control.cwnd(), bytes(50'000));
  control.on_loss(p, {.sign = LossSign::timeout, .timeouts = 5}, at(us(101)));
  EXPECT_EQ(control.cwnd(), bytes(10));
}

TEST(Swift, IntegerSqrt) {
  EXPECT_EQ(integer_sqrt(-1), 0);
  EXPECT_EQ(integer_sqrt(1), 1);
  for (std::int64_t root = 1; root < 3'000'000'000; root = root * 3 + 1) {
    EXPECT_EQ(integer_sqrt(root * root), root);
    EXPECT_EQ(integer_sqrt(root * root + 2 * root), root);
  }
}

// Each wrong value is named.
TEST(SwiftParams, Faults) {
  const auto fault = [](auto&& change) {
    SwiftParams wrong = params();
    change(wrong);
    const auto checked = wrong.validated();
    return std::string(checked ? "" : checked.error().field);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& w) { w.base_target = ps(0); }), "base_target");
  EXPECT_EQ(fault([](auto& w) { w.hop_target = ps(-1); }), "hop_target");
  EXPECT_EQ(fault([](auto& w) { w.fs_range = ps(-1); }), "fs_range");
  EXPECT_EQ(fault([](auto& w) { w.fs_min = w.fs_max; }), "fs_min");
  EXPECT_EQ(fault([](auto& w) { w.ai = {-1, 1}; }), "ai");
  EXPECT_EQ(fault([](auto& w) { w.beta = {2, 1}; }), "beta");
  EXPECT_EQ(fault([](auto& w) { w.max_mdf = {2, 1}; }), "max_mdf");
  EXPECT_EQ(fault([](auto& w) { w.retx_reset = 0; }), "retx_reset");
  EXPECT_EQ(fault([](auto& w) { w.min_cwnd = bytes(0); }), "min_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.init_cwnd = bytes(1); }), "init_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.rto = ps(0); }), "rto");
}

}  // namespace
}  // namespace strack::core
