// HPCC's window, acknowledgement by acknowledgement.
#include "transports/hpcc/control.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

/// 400 Gb/s, 8 us, packets of 1000 bytes: W_AI is 160 bytes, eta 972/1024.
HpccParams params() { return HpccParams::for_link(gbps(400), us(8), bytes(1'000)).value(); }

class Loop {
 public:
  explicit Loop(HpccParams p = params()) : parameters(p), control(parameters) {}

  /// An acknowledgement within the round trip, or one that begins the next.
  void ack(std::uint16_t utilisation, bool next_rtt = false, PathId path = 0) {
    if (next_rtt) {
      epsn_ = psn_next_ + 1;
      psn_next_ = epsn_ + 400;
    }
    AckNews news;
    news.acked = bytes(1'000);
    news.utilisation = utilisation;
    news.path_id = path;
    news.epsn = epsn_;
    news.psn_next = psn_next_;
    control.on_ack(parameters, news, {});
  }

  HpccParams parameters;
  HpccControl control;

 private:
  Psn epsn_{0};
  Psn psn_next_{400};
};

// [HPCC.start] A BDP first. [HPCC.eta] [HPCC.ai] What follows from the link.
TEST(Hpcc, Start) {
  const HpccParams p = params();
  EXPECT_EQ(HpccControl(p).cwnd(), kb(400));
  EXPECT_EQ(p.full, 972);
  EXPECT_EQ(p.wai, bytes(160));
}

// [HPCC.mi] Above eta the window is the reference divided by how much above, and W_AI more.
TEST(Hpcc, MultiplicativeAdjustment) {
  Loop loop;
  loop.ack(1'944);
  EXPECT_EQ(loop.control.cwnd(), bytes(200'160));
  loop.ack(972);
  EXPECT_EQ(loop.control.cwnd(), bytes(400'000));  // 400'160 would be above a BDP
}

// [HPCC.reference] Within a round trip every step starts from the same window; the next takes over the last.
TEST(Hpcc, ReferenceOncePerRtt) {
  Loop loop;
  loop.ack(1'944);
  loop.ack(1'944);
  loop.ack(1'944);
  EXPECT_EQ(loop.control.cwnd(), bytes(200'160));
  EXPECT_EQ(loop.control.reference(), kb(400));
  loop.ack(1'944, true);
  EXPECT_EQ(loop.control.reference(), bytes(200'160));
  loop.ack(1'944);
  EXPECT_EQ(loop.control.cwnd(), bytes(100'240));
}

// [HPCC.reference] The first acknowledgement begins a round trip and ends none, wherever PSNs begin.
TEST(Hpcc, TheFirstRoundTripBeginsWithTheFirstAck) {
  const HpccParams p = params();
  HpccControl control(p);
  AckNews news;
  news.acked = bytes(1'000);
  news.utilisation = 1'944;
  news.epsn = Psn{101};
  news.psn_next = Psn{500};
  control.on_ack(p, news, {});
  EXPECT_EQ(control.cwnd(), bytes(200'160));
  EXPECT_EQ(control.reference(), kb(400));
}

// [HPCC.ai] [HPCC.stage] Below eta W_AI is added for five round trips, then the window jumps to eta.
TEST(Hpcc, AdditiveThenMultiplicative) {
  Loop loop;
  loop.ack(1'944);
  loop.ack(1'944, true);  // 200'160
  for (int rtt = 1; rtt <= 5; ++rtt) {
    loop.ack(486, true);
    EXPECT_EQ(loop.control.cwnd(), bytes(200'160 + 160 * rtt)) << rtt;
    EXPECT_EQ(loop.control.stage(), static_cast<std::uint32_t>(rtt));
  }
  loop.parameters.max_cwnd = bytes(1'000'000);
  loop.ack(486, true);
  EXPECT_EQ(loop.control.cwnd(), bytes(2 * 200'960 + 160));
  EXPECT_EQ(loop.control.stage(), 0u);
}

// [HPCC.stage] A multiplicative step starts the count again.
TEST(Hpcc, StageStartsAgain) {
  Loop loop;
  loop.ack(486);
  EXPECT_EQ(loop.control.stage(), 0u);
  loop.ack(486, true);
  loop.ack(486, true);
  EXPECT_EQ(loop.control.stage(), 2u);
  loop.ack(1'000, true);
  EXPECT_EQ(loop.control.stage(), 0u);
}

// [HPCC.paths] Spread over paths, the mean of each one's last value counts.
TEST(Hpcc, MeanOverPaths) {
  Loop loop;
  loop.ack(972, false, 3);
  loop.ack(2'916, false, 7);  // mean 1944
  EXPECT_EQ(loop.control.cwnd(), bytes(200'160));
  loop.ack(972, false, 7);
  EXPECT_EQ(loop.control.cwnd(), bytes(400'000));
}

// [HPCC.loss] Losses change nothing.
TEST(Hpcc, LossesChangeNothing) {
  Loop loop;
  loop.control.on_loss(loop.parameters, {.sign = LossSign::timeout, .first = true, .timeouts = 9},
                       {});
  EXPECT_EQ(loop.control.cwnd(), kb(400));
}

// [HPCC.bounds] From 1 Gb/s to a BDP.
TEST(Hpcc, Bounds) {
  Loop loop;
  loop.parameters.wai = bytes(0);
  for (int i = 0; i < 20; ++i) loop.ack(4'095, true);
  EXPECT_EQ(loop.control.cwnd(), bytes(1'000));
  for (int i = 0; i < 60; ++i) loop.ack(1, true);
  EXPECT_EQ(loop.control.cwnd(), kb(400));
}

// [HPCC.pace] Packets leave a window per base RTT.
TEST(Hpcc, Paces) {
  Loop loop;
  EXPECT_EQ(loop.control.pacing(loop.parameters, bytes(1'000)), ns(20));
  loop.ack(1'944);
  EXPECT_EQ(loop.control.pacing(loop.parameters, bytes(1'000)), ps(39'968));
}

// Each wrong value is named.
TEST(HpccParams, Faults) {
  const auto fault = [](auto&& change) {
    HpccParams wrong = params();
    change(wrong);
    wrong.full = wrong.eta.of(Signals::kFullUtilisation);
    const auto checked = wrong.validated();
    return std::string(checked ? "" : checked.error().field);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& w) { w.eta = {0, 1}; }), "eta");
  EXPECT_EQ(fault([](auto& w) { w.max_stage = 1'001; }), "max_stage");
  EXPECT_EQ(fault([](auto& w) { w.wai = bytes(-1); }), "wai");
  EXPECT_EQ(fault([](auto& w) { w.max_cwnd = bytes(1); }), "max_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.min_cwnd = bytes(0); }), "min_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.spray = {SprayPolicy::oblivious, 512}; }), "paths");
}

}  // namespace
}  // namespace strack::core
