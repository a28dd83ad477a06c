// DCTCP's window, acknowledgement by acknowledgement.
#include "transports/dctcp/control.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(1'000);
constexpr std::int64_t kOne = DctcpControl::kOne;

DctcpParams params() { return DctcpParams::for_link(gbps(400), us(8), kMtu).value(); }

/// A window with the PSNs that go with it: each round acknowledges all that was sent before it.
class Rounds {
 public:
  explicit Rounds(DctcpParams p = params()) : parameters(p), control(parameters) {}

  /// One acknowledgement of a packet.
  void ack(bool ecn = false) {
    ++epsn_;
    if (psn_next_ < epsn_) psn_next_ = epsn_;
    AckNews news;
    news.acked = kMtu;
    news.ecn = ecn;
    news.epsn = epsn_;
    news.psn_next = psn_next_;
    control.on_ack(parameters, news, {});
  }
  /// So many packets are in flight.
  void send(std::uint32_t count) { psn_next_ = epsn_ + count; }
  /// `count` packets are sent, then acknowledged, the first `marked` of them with a mark. The first of them
  /// is past the window before, and closes it.
  void round(std::uint32_t count, std::uint32_t marked) {
    send(count);
    for (std::uint32_t i = 0; i < count; ++i) ack(i < marked);
  }
  void lose(LossSign sign, bool first = true) {
    control.on_loss(parameters, {.sign = sign, .lost = kMtu, .first = first}, {});
  }

  DctcpParams parameters;
  DctcpControl control;

 private:
  Psn epsn_{0};
  Psn psn_next_{0};
};

// [DCTCP.start] [DCTCP.slow_start] Ten packets first; until the first mark each acknowledged byte adds a byte.
TEST(Dctcp, SlowStart) {
  Rounds r;
  EXPECT_EQ(r.control.cwnd(), bytes(10'000));
  r.round(10, 0);
  EXPECT_EQ(r.control.cwnd(), bytes(20'000));
}

// [DCTCP.slow_start.end] [DCTCP.increase.marked] The first mark ends that; a marked one adds nothing.
TEST(Dctcp, MarkEndsSlowStart) {
  Rounds r;
  r.send(20);
  r.ack();
  EXPECT_EQ(r.control.cwnd(), bytes(11'000));
  r.ack(true);  // alpha is 15/16 by now
  EXPECT_EQ(r.control.cwnd(), bytes(5'844));
  r.ack();
  EXPECT_EQ(r.control.cwnd(), bytes(6'015));
  r.ack(true);
  EXPECT_EQ(r.control.cwnd(), bytes(6'015));
}

// [DCTCP.slow_start.end] After a timeout too, where the last cut is not over yet.
TEST(Dctcp, MarkEndsSlowStartAfterATimeout) {
  Rounds r;
  r.send(20);
  r.ack(true);
  r.lose(LossSign::timeout);
  r.ack();
  EXPECT_EQ(r.control.cwnd(), bytes(2'000));
  r.ack(true);
  EXPECT_EQ(r.control.cwnd(), bytes(2'000));
  EXPECT_EQ(r.control.ssthresh(), bytes(2'000));
}

// [DCTCP.increase] After it, a window's acknowledgements add one packet.
TEST(Dctcp, AdditiveIncrease) {
  Rounds r;
  r.lose(LossSign::order);  // 5'000
  r.round(5, 0);
  EXPECT_EQ(r.control.cwnd(), bytes(5'930));  // 200, 192, 185, 180, 173 as the window grows
}

// [DCTCP.alpha] [DCTCP.alpha.start] [DCTCP.window] Alpha starts at one; once per window it takes a sixteenth
// of that window's share of marked bytes.
TEST(Dctcp, AlphaFollowsTheShareOfMarks) {
  Rounds r;
  EXPECT_EQ(r.control.alpha(), kOne);
  r.send(8);
  r.ack();  // nothing was acknowledged before: it closes the first window
  const std::int64_t first = kOne - kOne / 16;
  EXPECT_EQ(r.control.alpha(), first);
  for (int i = 0; i < 7; ++i) r.ack(i < 3);
  EXPECT_EQ(r.control.alpha(), first);
  r.send(8);
  r.ack();  // eight bytes' worth, three of them marked
  EXPECT_EQ(r.control.alpha(), first + kOne * 3 / 8 / 16 - first / 16);
}

// [DCTCP.window] Wherever PSNs begin, the first acknowledgement closes a window.
TEST(Dctcp, TheFirstWindowIsThatOfTheFirstAck) {
  for (const std::uint32_t first : {1u, 0x9000'0000u}) {
    const DctcpParams p = params();
    DctcpControl control(p);
    AckNews news;
    news.acked = kMtu;
    news.epsn = Psn{first};
    news.psn_next = Psn{first} + 8u;
    control.on_ack(p, news, {});
    EXPECT_EQ(control.alpha(), kOne - kOne / 16) << first;
  }
}

// [DCTCP.decrease] [DCTCP.decrease.once] [DCTCP.echo] A mark cuts the window by half of alpha; no other does
// before all is acknowledged that was in flight then.
TEST(Dctcp, CutsByAlpha) {
  Rounds r;
  r.parameters.init_cwnd = bytes(100'000);
  r.parameters.initial_alpha = {1, 2};
  r.parameters.g = {0, 1};  // alpha stays
  r.control = DctcpControl(r.parameters);
  r.round(100, 100);
  EXPECT_EQ(r.control.cwnd(), bytes(75'000));  // by the first
  r.send(50);
  r.ack();
  EXPECT_EQ(r.control.cwnd(), bytes(75'013));
  r.ack(true);
  EXPECT_EQ(r.control.cwnd(), bytes(56'260));
  r.ack(true);
  EXPECT_EQ(r.control.cwnd(), bytes(56'260));
}

// [DCTCP.loss] A loss halves the window, once per episode, to two packets at least.
TEST(Dctcp, LossHalves) {
  Rounds r;
  r.lose(LossSign::order);
  EXPECT_EQ(r.control.cwnd(), bytes(5'000));
  r.lose(LossSign::order, false);
  EXPECT_EQ(r.control.cwnd(), bytes(5'000));
  r.lose(LossSign::probe);
  EXPECT_EQ(r.control.cwnd(), bytes(2'500));
  r.lose(LossSign::probe);
  EXPECT_EQ(r.control.cwnd(), bytes(2'000));
}

// [DCTCP.timeout] [DCTCP.floor] A timeout leaves one packet, and slow start to half of what was.
TEST(Dctcp, TimeoutStartsOver) {
  Rounds r;
  r.lose(LossSign::timeout, false);
  EXPECT_EQ(r.control.cwnd(), bytes(1'000));
  EXPECT_EQ(r.control.ssthresh(), bytes(5'000));
  r.round(4, 0);
  EXPECT_EQ(r.control.cwnd(), bytes(5'000));
  r.ack();
  EXPECT_EQ(r.control.cwnd(), bytes(5'200));
}

// Nothing is paced, and the window never leaves its bounds.
TEST(Dctcp, Bounds) {
  Rounds r;
  EXPECT_EQ(DctcpControl::pacing(r.parameters, kMtu), ps(0));
  for (int i = 0; i < 12; ++i) r.round(1'024, 0);
  EXPECT_EQ(r.control.cwnd(), bytes(1'024'000));
  for (int i = 0; i < 100; ++i) r.round(2, 2);
  EXPECT_EQ(r.control.cwnd(), bytes(1'000));
}

// Each wrong value is named.
TEST(DctcpParams, Faults) {
  const auto fault = [](auto&& change) {
    DctcpParams wrong = params();
    change(wrong);
    const auto checked = wrong.validated();
    return std::string(checked ? "" : checked.error().field);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& w) { w.g = {2, 1}; }), "g");
  EXPECT_EQ(fault([](auto& w) { w.initial_alpha = {-1, 1}; }), "initial_alpha");
  EXPECT_EQ(fault([](auto& w) { w.min_cwnd = bytes(1); }), "min_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.init_cwnd = bytes(1); }), "init_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.increase = bytes(-1); }), "increase");
  EXPECT_EQ(fault([](auto& w) { w.rto = ps(0); }), "rto");
}

}  // namespace
}  // namespace strack::core
