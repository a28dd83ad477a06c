#include "transports/uet/params.h"

#include <gtest/gtest.h>

namespace strack::core {
namespace {

UetParams on(BitsPerSecond rate, Picoseconds rtt, bool trimming, Bytes mtu = bytes(4'000)) {
  return UetParams::for_link(rate, rtt, mtu, trimming, kb(150)).value();
}

// [NSCC.constants] [NSCC.window.max] [NSCC.target] At the reference network, as published; with four times its BDP, four times
// as much.
TEST(UetParams, ScaleWithTheBdp) {
  const UetParams reference = on(gbps(100), us(12), false);
  EXPECT_EQ(reference.bdp, kb(150));
  EXPECT_EQ(reference.max_cwnd, kb(225));
  EXPECT_EQ(reference.target_qdelay, us(12));
  EXPECT_EQ(reference.alpha, 4 * reference.mtu);
  EXPECT_EQ(reference.fi, 5 * reference.mtu);
  EXPECT_EQ(reference.eta, bytes(600));
  EXPECT_EQ(reference.fi_scale.of(1'000), 250);

  const UetParams fast = on(gbps(400), us(12), false);
  EXPECT_EQ(fast.max_cwnd, kb(900));
  EXPECT_EQ(fast.alpha, 16 * fast.mtu);
  EXPECT_EQ(fast.fi, 20 * fast.mtu);
  EXPECT_EQ(fast.eta, bytes(2'400));
  EXPECT_EQ(fast.fi_scale.of(1'000), 1'000);
}

// [NSCC.target] [NSCC.constants] With trimming the target is lower, and alpha with it.
TEST(UetParams, TrimmingLowersTheTarget) {
  const UetParams p = on(gbps(100), us(12), true);
  EXPECT_EQ(p.target_qdelay, us(9));
  EXPECT_EQ(p.alpha, 3 * p.mtu);
  EXPECT_EQ(p.qa_threshold, us(36));
}

// [NSCC.adapt.delay] [SLEEK.probe] [UET.timeout] What waits for how long.
TEST(UetParams, Times) {
  const UetParams p = on(gbps(100), us(12), false);
  EXPECT_EQ(p.qa_threshold, us(48));
  EXPECT_EQ(p.probe_idle, us(24));
  EXPECT_EQ(p.probe_busy, us(36));
  EXPECT_EQ(p.probe_again, us(60));
  EXPECT_EQ(p.rto, us(15 + 6 * 12));
  // [UET.timeout] With short queues in a large network, two base RTTs.
  EXPECT_EQ(UetParams::for_link(gbps(100), us(100), bytes(4'000), true, kb(32)).value().rto,
            us(200));
  EXPECT_EQ(p.adjust_period, us(12));
  EXPECT_EQ(p.adjust_bytes, 8 * p.mtu);
}

// [D67] No window is larger than half of what a connection tracks.
TEST(UetParams, TheWindowIsTracked) {
  EXPECT_EQ(on(gbps(800), us(100), false).max_cwnd, 512 * bytes(4'000));
}

// [RCCC.pull.quantum] [RCCC.speculative] [RCCC.pacer] Four packets at a time, 1.5 BDP without credit, 99 % of the link.
TEST(UetParams, Credit) {
  const UetParams p = on(gbps(100), us(12), true);
  EXPECT_EQ(p.pull_quantum, 4u);
  EXPECT_EQ(p.speculative, 56u);
  EXPECT_EQ(p.pacer_rate, (Ratio{99, 100}));
}

// [NDP.pull] [NDP.first] [NDP.paths] [NDP.ack]
TEST(UetParams, Ndp) {
  UetParams p = on(gbps(100), us(12), true);
  p.become_ndp();
  EXPECT_EQ(p.pull_quantum, 1u);
  EXPECT_EQ(p.pacer_rate, (Ratio{1, 1}));
  EXPECT_EQ(p.speculative, 56u);
  EXPECT_EQ(p.ack_bytes, bytes(1));
  EXPECT_EQ(p.spray.policy, SprayPolicy::oblivious);
}

TEST(UetParams, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(UetParams::for_link(gbps(0), us(12), kb(4), false, kb(150)));
  EXPECT_FALSE(UetParams::for_link(gbps(100), us(0), kb(4), false, kb(150)));
  EXPECT_FALSE(UetParams::for_link(gbps(100), us(12), kb(0), false, kb(150)));
  UetParams p = on(gbps(100), us(12), false);
  EXPECT_TRUE(p.validated());
  p.max_cwnd = 1'025 * p.mtu;
  EXPECT_STREQ(p.validated().error().field, "max_cwnd");
  p = on(gbps(100), us(12), false);
  p.ewma_q16 = 0;
  EXPECT_STREQ(p.validated().error().field, "ewma_q16");
  p = on(gbps(100), us(12), false);
  p.spray.paths = 3;
  EXPECT_STREQ(p.validated().error().field, "paths");
  p = on(gbps(100), us(12), false);
  p.pull_quantum = 0;
  EXPECT_STREQ(p.validated().error().field, "pull_quantum");
}

// [NSCC.window.max] [NSCC.adapt.gate] [SLEEK.threshold] What does not scale; and where the BDP is less than a packet, a window is one.
TEST(UetParams, WhatDoesNotScale) {
  const UetParams p = on(gbps(1), us(1), false);
  EXPECT_EQ(p.max_cwnd, p.mtu);
  EXPECT_EQ(p.qa_gate, 3u);
  EXPECT_EQ(p.sleek_cwnd, (Ratio{3, 2}));
  EXPECT_EQ(p.sleek_min, 5u);
  EXPECT_EQ(p.spray.policy, SprayPolicy::mixed);
  EXPECT_EQ(p.spray.paths, 128u);
}

}  // namespace
}  // namespace strack::core
