// Four flows of one connection, packet by packet.
#include "transports/falcon_like/control.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(1'000);

/// 400 Gb/s, 8 us, packets of 1000 bytes: windows of 32 packets each, a RACK window of 2 us.
FalconParams params() { return FalconParams::for_link(gbps(400), us(8), kMtu).value(); }

AckNews ack(PathId path, Picoseconds rtt, Bytes acked = kMtu) {
  AckNews news;
  news.acked = acked;
  news.rtt = rtt;
  news.path_id = path;
  return news;
}

// [FALCON.start] [FALCON.window] [FALCON.tlp] Four windows of 32 packets; the connection's is their sum.
TEST(Falcon, Start) {
  const FalconParams p = params();
  const FalconControl control(p);
  EXPECT_EQ(control.cwnd(), bytes(128'000));
  EXPECT_EQ(control.flow_cwnd(3), bytes(32'000));
  EXPECT_EQ(p.probe_interval, us(50));
  EXPECT_EQ(p.rack_window, us(2));
}

// [FALCON.flows] Packets go to the flow with most room, in turn when all have as much; an entropy names its flow.
TEST(Falcon, MostRoomFirst) {
  const FalconParams p = params();
  FalconControl control(p);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const PathId path = control.next_path(p);
    EXPECT_EQ(path % 4, i % 4);
    EXPECT_EQ(path, control.flow_path(i % 4));
    control.on_sent(Psn{i}, kMtu, path, false, {});
  }
  EXPECT_EQ(control.flow_inflight(2), bytes(2'000));
  control.on_left(Psn{6}, kMtu, false);
  EXPECT_EQ(control.flow_inflight(2), bytes(1'000));
  EXPECT_EQ(control.next_path(p), control.flow_path(2));
}

// [FALCON.window.flow] An acknowledgement moves its own flow's window.
TEST(Falcon, WindowsAreTheirOwn) {
  const FalconParams p = params();
  FalconControl control(p);
  control.on_ack(p, ack(control.flow_path(1), us(8)), at(us(100)));
  EXPECT_EQ(control.flow_cwnd(1), bytes(32'031));
  control.on_ack(p, ack(control.flow_path(2), us(800)), at(us(900)));
  EXPECT_EQ(control.flow_cwnd(2), bytes(16'000));
  EXPECT_EQ(control.flow_cwnd(0), bytes(32'000));
}

// [FALCON.rack] A packet is lost when one that left more than 2 us later on its flow has arrived.
TEST(Falcon, Rack) {
  const FalconParams p = params();
  FalconControl control(p);
  const PathId path = control.flow_path(0);
  control.on_sent(Psn{0}, kMtu, path, false, at(us(100)));
  control.on_sent(Psn{1}, kMtu, control.flow_path(1), false, at(us(100)));
  control.on_sent(Psn{2}, kMtu, path, false, at(us(102)));
  control.on_sent(Psn{3}, kMtu, path, false, at(us(103)));
  EXPECT_EQ(control.fate_of(p, Psn{0}), PacketFate::recent);  // nothing has been heard
  control.on_ack(p, ack(path, us(8)), at(us(110)));           // of the third: 2 us
  EXPECT_EQ(control.fate_of(p, Psn{0}), PacketFate::recent);
  control.on_ack(p, ack(path, us(8)), at(us(111)));  // of the fourth: 3 us
  EXPECT_EQ(control.fate_of(p, Psn{0}), PacketFate::lost);
  EXPECT_EQ(control.fate_of(p, Psn{1}), PacketFate::open);  // another flow may be slower
  EXPECT_EQ(control.fate_of(p, Psn{2}), PacketFate::recent);
  control.on_sent(Psn{0}, kMtu, path, true, at(us(112)));
  EXPECT_EQ(control.fate_of(p, Psn{0}), PacketFate::open);  // later ones may have been sent before
}

// [FALCON.loss] A loss cuts the window of the flow that it was on.
TEST(Falcon, LossIsItsFlows) {
  const FalconParams p = params();
  FalconControl control(p);
  control.on_sent(Psn{0}, kMtu, control.flow_path(3), false, at(us(100)));
  control.on_left(Psn{0}, kMtu, true);
  control.on_loss(p, {.sign = LossSign::order, .lost = kMtu}, at(us(200)));
  EXPECT_EQ(control.flow_cwnd(3), bytes(16'000));
  EXPECT_EQ(control.flow_cwnd(0), bytes(32'000));
  EXPECT_EQ(control.flow_inflight(3), bytes(0));
}

// [FALCON.timeout] A timeout also moves it to another path; the flows that lost nothing stay.
TEST(Falcon, TimeoutMoves) {
  const FalconParams p = params();
  FalconControl control(p);
  const PathId before = control.flow_path(3);
  const PathId other = control.flow_path(0);
  control.on_sent(Psn{0}, kMtu, before, false, at(us(100)));
  control.on_left(Psn{0}, kMtu, true);
  control.on_loss(p, {.sign = LossSign::timeout, .lost = kMtu, .timeouts = 1}, at(us(300)));
  EXPECT_NE(control.flow_path(3), before);
  EXPECT_EQ(control.flow_path(3) % 4, 3);
  EXPECT_EQ(control.flow_path(0), other);
}

/// A window of acknowledgements, the first `late` packets of them 1.02 times the target late.
void round(const FalconParams& p, FalconControl& control, std::int64_t late) {
  const Bytes window = control.flow_cwnd(0);
  const Picoseconds target = SwiftControl(p).target_delay(p, 0);
  const PathId path = control.flow_path(0);
  const Picoseconds slow = Ratio{102, 100} * target;
  control.on_ack(p, ack(path, late > 0 ? slow : us(8), late * kMtu), at(us(100)));
  control.on_ack(p, ack(path, us(8), window - late * kMtu), at(us(100)));
}

FalconParams steady() {  // windows that stay
  FalconParams p = params();
  p.ai = {0, 1};
  p.ai_bytes = bytes(0);
  p.beta = {0, 1};
  return p;
}

// [FALCON.plb.late] [FALCON.plb.round] [FALCON.plb.move] Five windows in a row with half of their bytes later than 1.01
// times the target move a flow to another path.
TEST(Falcon, PlbMoves) {
  const FalconParams p = steady();
  FalconControl control(p);
  const PathId before = control.flow_path(0);
  for (int i = 0; i < 4; ++i) round(p, control, 16);
  EXPECT_EQ(control.flow_path(0), before);
  round(p, control, 16);
  EXPECT_NE(control.flow_path(0), before);
}

// [FALCON.plb.round] One with less in between starts the count again.
TEST(Falcon, PlbCountsRoundsInARow) {
  const FalconParams p = steady();
  FalconControl control(p);
  const PathId before = control.flow_path(0);
  for (int i = 0; i < 12; ++i) round(p, control, i % 4 == 3 ? 15 : 16);
  EXPECT_EQ(control.flow_path(0), before);
}

// [FALCON.pace] Windows that add up to less than a packet are paced.
TEST(Falcon, Paces) {
  FalconParams p = params();
  p.init_cwnd = bytes(50);
  FalconControl control(p);
  control.on_ack(p, ack(0, us(8), bytes(0)), at(us(100)));
  EXPECT_EQ(control.pacing(p, kMtu), us(40));
  EXPECT_EQ(FalconControl(params()).pacing(p, kMtu), ps(0));
}

// Each wrong value is named.
TEST(FalconParams, Faults) {
  const auto fault = [](auto&& change) {
    FalconParams wrong = params();
    change(wrong);
    const auto checked = wrong.validated();
    return std::string(checked ? "" : checked.error().field);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& w) { w.spray.paths = 2; }), "paths");
  EXPECT_EQ(fault([](auto& w) { w.plb_delay = {1, 2}; }), "plb_delay");
  EXPECT_EQ(fault([](auto& w) { w.plb_late = {-1, 2}; }), "plb_late");
  EXPECT_EQ(fault([](auto& w) { w.plb_rounds = 0; }), "plb_rounds");
  EXPECT_EQ(fault([](auto& w) { w.rack_window = ps(-1); }), "rack_window");
  EXPECT_EQ(fault([](auto& w) { w.beta = {2, 1}; }), "beta");
}

}  // namespace
}  // namespace strack::core
