// STrack+'s sending end, packet by packet: packets of 1000 bytes leave 100 ns apart, the base RTT is 8 us.
#include "transports/strack_plus/sender.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "transports/strack_plus/receiver.h"
#include "transports/strack_plus/sender_testing.h"

namespace strack::core {
namespace {

// [PLUS.cap] [PLUS.target] [PLUS.high] [PLUS.sack] [PLUS.probe.send] What follows from the link.
TEST(PlusParams, ForLink) {
  const PlusParams p = PlusParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  EXPECT_EQ(p.bdp, bytes(400'000));
  EXPECT_EQ(p.max_cwnd, bytes(540'000));  // 1.35 BDP
  EXPECT_EQ(p.target_qdelay, us(16));
  EXPECT_EQ(p.target_qhigh, us(24));
  EXPECT_EQ(p.tracking_window, 512u);
  EXPECT_EQ(p.rack, us(12));
  EXPECT_EQ(p.probe_interval, us(8));
  EXPECT_EQ(p.probe_margin, us(4));
  EXPECT_EQ(p.probe_tail, us(6));
  EXPECT_EQ(p.avoid_for, us(800));
  EXPECT_EQ(p.rto, us(200));
  EXPECT_FALSE(p.sack_on_epsn);
  EXPECT_EQ(p.stamp_shift, 9u);  // 512 ns
  // [PLUS.track] Small packets fill the tracking window first.
  EXPECT_EQ(PlusParams::for_link(gbps(400), us(8), bytes(1'000)).value().max_cwnd, bytes(512'000));
  // [PLUS.rack.time] 256 units are at most what a timestamp has.
  EXPECT_EQ(PlusParams::for_link(gbps(1), seconds(1), bytes(1'000)).value().stamp_shift, 24u);
  EXPECT_EQ(PlusParams::for_link(gbps(400), ns(10), bytes(1'000)).value().stamp_shift, 0u);
}

TEST(PlusParams, Refused) {
  const auto fault = [](auto change) {
    PlusParams p = params();
    change(p);
    return std::string(p.validated().error().field);
  };
  EXPECT_EQ(fault([](PlusParams& p) { p.tracking_window = 513; }), "tracking_window");
  EXPECT_EQ(fault([](PlusParams& p) { p.ring = 33; }), "ring");
  EXPECT_EQ(fault([](PlusParams& p) { p.avoid_for = ps(-1); }), "avoid_for");
  EXPECT_EQ(fault([](PlusParams& p) { p.rack = ps(-1); }), "rack");
  EXPECT_EQ(fault([](PlusParams& p) { p.probe_margin = ps(-1); }), "probe_margin");
  EXPECT_EQ(fault([](PlusParams& p) { p.probe_tail = ps(-1); }), "probe_tail");
  EXPECT_EQ(fault([](PlusParams& p) { p.sack_packets = 5; }), "sack_packets");
  EXPECT_EQ(fault([](PlusParams& p) { p.max_paths = 0; }), "max_paths");
  EXPECT_EQ(std::string(PlusParams::for_link(gbps(0), us(8), bytes(1'000)).error().field), "rate");
}

// [PLUS.window] A window goes out at once; four acknowledged packets let four follow, on their entropies.
TEST_F(PlusSenderTest, WindowAndRecycling) {
  post(100);
  EXPECT_EQ(send(), 40);
  EXPECT_EQ(sender().inflight_bytes(), bytes(40'000));
  EXPECT_EQ(sent[0].path_id, 1);
  EXPECT_EQ(sent[0].note, 0);
  wait_until(us(8));
  give(ack(4, {0, 1, 2, 3}));
  EXPECT_EQ(sender().acked_bytes(), bytes(4'000));
  EXPECT_EQ(send(), 4);
  EXPECT_EQ(sent[40].path_id, 1);  // [PLUS.sack.echo]
  EXPECT_EQ(sent[43].path_id, 4);
  PlusAck marked = ack(8, {4, 5, 6, 7});
  marked.echoes[1].ecn = true;
  wait_until(us(9));
  give(marked);
  EXPECT_EQ(send(), 4);
  EXPECT_EQ(sent[44].path_id, 5);
  EXPECT_EQ(sent[45].path_id, 7);
  EXPECT_EQ(sent[47].path_id, 41);  // the ring had but three
  EXPECT_TRUE(sender().paths().is_marked(6));
}

// What has arrived out of order is told by bitmap and echoes; a message may be complete before an earlier one.
TEST_F(PlusSenderTest, Arrivals) {
  post(2);
  post(2);
  EXPECT_EQ(send(), 4);
  wait_until(us(8));
  PlusAck a = ack(0, {3});
  a.bitmap = 0b100;
  give(a);
  EXPECT_TRUE(sender().is_acknowledged(Psn{2}));
  EXPECT_TRUE(sender().is_acknowledged(Psn{3}));
  EXPECT_FALSE(sender().is_acknowledged(Psn{1}));
  EXPECT_EQ(sender().inflight_bytes(), bytes(2'000));
  EXPECT_EQ(sender().poll_completion(), MessageId{1});
  EXPECT_EQ(sender().poll_completion(), std::nullopt);
  a = ack(2, {1});
  a.base = Psn{2};
  give(a);
  give(ack(4, {0}));
  EXPECT_EQ(sender().poll_completion(), MessageId{0});
  EXPECT_TRUE(sender().idle());
  EXPECT_EQ(sender().next_deadline(), Instant::never());
  sender().on_timeout(at(us(10'000)));
  EXPECT_EQ(sender().counters().timeouts, 0u);
}

// A late SACK whose bitmap begins below EPSN is read from there on.
TEST_F(PlusSenderTest, OldBitmap) {
  post(40);
  send();
  wait_until(us(8));
  give(ack(4, {3}));
  PlusAck old = ack(0, {1});
  old.bitmap = 0b1'0000'0010;  // 1 and 8
  give(old);
  EXPECT_TRUE(sender().is_acknowledged(Psn{8}));
  EXPECT_EQ(sender().inflight_bytes(), bytes(35'000));
}

// [PLUS.order] Lost, when a window of later ones has arrived; sent again before anything new, and asking.
TEST_F(PlusSenderTest, Order) {
  p.rack = ps(0);
  post(100);
  send();
  wait_until(us(8));
  for (std::uint32_t psn = 1; psn < 40; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(lost(), Psns{});
  EXPECT_EQ(send(), 39);
  wait_until(us(16));
  give(ack(0, {40}));
  EXPECT_EQ(lost(), Psns{0});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0], LossCause::out_of_order);
  EXPECT_EQ(send(), 2);
  EXPECT_EQ(sent[79].psn, Psn{0});
  EXPECT_TRUE(sent[79].retransmission);
  EXPECT_EQ(sent[79].note, kPlusAsks);  // [PLUS.sack.ask]
  EXPECT_EQ(sent[80].psn, Psn{79});
  EXPECT_EQ(sender().counters().retransmissions, 1u);
  give(ack(0, {42}));
  EXPECT_EQ(lost(), Psns{});  // it was sent twice: order says nothing
}

// [PLUS.order] It is PSNs that count, not arrivals: one that is a window higher is enough.
TEST_F(PlusSenderTest, Order_IsADistance) {
  p.rack = ps(0);
  p.ooo_cwnd = {1, 4};
  post(100);
  send();
  wait_until(us(8));
  give(ack(0, {9}));
  EXPECT_EQ(lost(), Psns{});
  give(ack(0, {11}));
  EXPECT_EQ(lost(), (Psns{0, 1}));
}

// [PLUS.order] Switched off, nothing is lost by order.
TEST_F(PlusSenderTest, NoOrder) {
  p.rack = ps(0);
  p.ooo_cwnd = {0, 1};
  post(100);
  send();
  wait_until(us(8));
  for (std::uint32_t psn = 1; psn < 40; ++psn) give(ack(0, {psn}));
  send();
  for (std::uint32_t psn = 40; psn < 79; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(lost(), Psns{});
}

// [PLUS.rack] [PLUS.again] Lost, when one that left 1.5 base RTTs later has arrived; and again, when it was sent again.
TEST_F(PlusSenderTest, Rack) {
  p.ooo_cwnd = {0, 1};
  post(200);
  send();  // 0 to 39, until 4 us
  wait_until(us(8));
  for (std::uint32_t psn = 4; psn < 40; ++psn) give(ack(0, {psn}));
  send();  // 40 to 75, from 8 us on
  wait_until(us(16));
  for (std::uint32_t psn = 40; psn < 76; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(lost(), Psns{});  // 8 us and more, not 12
  send();                     // 76 to 111, from 16 us on
  wait_until(us(24));
  give(ack(0, {76}));
  EXPECT_EQ(lost(), (Psns{0, 1, 2, 3}));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(send(), 5);  // these four, and a new one
  EXPECT_EQ(sent[112].psn, Psn{0});
  EXPECT_EQ(sent[116].psn, Psn{112});
  give(ack(0, {77, 78, 79, 80}));
  EXPECT_EQ(lost(), Psns{});
  send();
  wait_until(us(38));
  post(1);
  give(ack(0, {81, 82, 83, 84}));
  send();  // some leave at 38 us
  wait_until(us(46));
  give(ack(4, {3}));
  EXPECT_EQ(lost(), Psns{});
  EXPECT_EQ(sender().lost_packets(), 0u);
}

// [PLUS.rack] One that arrives though it was declared lost is acknowledged, and not sent again.
TEST_F(PlusSenderTest, OnlyLate) {
  post(200);
  send();
  wait_until(us(8));
  for (std::uint32_t psn = 1; psn < 40; ++psn) give(ack(0, {psn}));
  send();
  wait_until(us(16));
  give(ack(0, {40}));
  EXPECT_EQ(lost(), Psns{0});
  const Bytes inflight = sender().inflight_bytes();
  give(ack(41, {0}));
  EXPECT_EQ(lost(), Psns{});
  EXPECT_EQ(sender().inflight_bytes(), inflight);
}

// [PLUS.probe.send] [PLUS.probe.verdict] After a base RTT of silence a probe goes out. Whatever its RTT, what
// left half a base RTT before it and has not come is lost.
TEST_F(PlusSenderTest, Probe) {
  post(3);
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(8)));
  sender().on_timeout(at(us(7)));
  EXPECT_EQ(send(), 0);
  wait_until(us(8));
  sender().on_timeout(now);
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(sent[3].type, PacketType::probe);
  EXPECT_EQ(sender().counters().probes_sent, 1u);
  wait_until(us(66));
  give(answer(sent[3], 0));
  EXPECT_EQ(lost(), (Psns{0, 1, 2}));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0], LossCause::probe);
  EXPECT_EQ(send(), 3);
  sender().on_timeout(at(us(82)));  // silence again; what left 3.9 us before is not judged
  wait_until(us(70));
  EXPECT_EQ(send(), 1);
  wait_until(us(78));
  give(answer(sent[7], 0));
  EXPECT_EQ(lost(), Psns{});
}

// [PLUS.probe.verdict] Of what lies beyond its 56 bits an answer says nothing, unless that nothing of it has come.
TEST_F(PlusSenderTest, Probe_BeyondTheBitmap) {
  for (const bool none_beyond : {false, true}) {
    p = params(60);
    p.rack = ps(0);
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 60'000}, at(us(0))), PostResult::accepted);
    while (one.poll_transmit(at(us(0)))) {
    }
    one.on_timeout(at(us(16)));
    const Packet probe = one.poll_transmit(at(us(16))).value();
    PlusAck told = answer(probe, 0);
    told.none_beyond = none_beyond;
    one.on_receiving_ack(told, at(us(24)));
    EXPECT_EQ(one.lost_packets(), none_beyond ? 60u : 56u);
    EXPECT_EQ(one.is_lost(Psn{56}), none_beyond);
  }
}

// [PLUS.probe.where] What is known is not asked for again. In a window that is full of packets beyond an answer's bitmap
// nothing else could tell of them: they waited for the timeout.
TEST_F(PlusSenderTest, Probe_AsksForTheFirstUnknown) {
  for (const bool unknown : {true, false}) {
    p = params(60);
    p.rack = ps(0);
    p.probe_unknown = unknown;
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 60'000}, at(us(0))), PostResult::accepted);
    while (one.poll_transmit(at(us(0)))) {
    }
    one.on_timeout(at(us(16)));
    const Packet first = one.poll_transmit(at(us(16))).value();
    EXPECT_EQ(first.psn, Psn{0});
    PlusAck told = answer(first, 0);
    told.echoes[told.count++] = {Psn{58}, 1, false};
    one.on_receiving_ack(told, at(us(24)));  // 0 to 55 are lost
    one.on_timeout(at(us(32)));
    const Packet second = one.poll_transmit(at(us(32))).value();
    ASSERT_EQ(second.type, PacketType::probe);
    EXPECT_EQ(second.psn, unknown ? Psn{56} : Psn{0});
    if (!unknown) continue;
    told = answer(second, 0);
    told.base = Psn{56};
    told.bitmap = 0b100;
    told.none_beyond = true;
    one.on_receiving_ack(told, at(us(40)));
    EXPECT_EQ(one.lost_packets(), 59u);
    EXPECT_EQ(one.inflight_bytes(), bytes(0));
    one.on_timeout(at(us(48)));
    EXPECT_EQ(one.poll_transmit(at(us(48)))->psn, Psn{0});  // all is known
  }
}

// [PLUS.probe.verdict] Nor does an answer say anything of what lies below its bitmap.
TEST_F(PlusSenderTest, Probe_BelowTheBitmap) {
  p = params(60);
  post(60);
  send();
  wait_until(us(16));
  sender().on_timeout(now);
  send();
  wait_until(us(24));
  PlusAck told = answer(sent.back(), 0);
  told.base = Psn{56};
  give(told);
  EXPECT_EQ(lost(), (Psns{56, 57, 58, 59}));
}

// [PLUS.probe.again] Silence is a base RTT, but a probe is repeated only when its answer would have come.
TEST_F(PlusSenderTest, Probe_Patience) {
  for (const bool patience : {true, false}) {
    p.probe_patience = patience;
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 8'000}, at(us(0))), PostResult::accepted);
    const Packet first = one.poll_transmit(at(us(0))).value();
    while (one.poll_transmit(at(us(0)))) {
    }
    PlusAck told;
    told.epsn = told.base = Psn{1};
    told.echoes[told.count++] = {Psn{0}, first.path_id, false};
    told.path_id = first.path_id;
    one.on_receiving_ack(told, at(us(40)));
    EXPECT_EQ(one.next_deadline(), at(us(48)));
    one.on_timeout(at(us(48)));
    EXPECT_EQ(one.next_deadline(), patience ? at(us(88)) : at(us(56)));
  }
}

// [PLUS.probe.due] Fewer than four packets since the last SACK ask for none: as long as more may be sent, it is the
// port that is busy. A full window is silence.
TEST_F(PlusSenderTest, Probe_Due) {
  for (const bool due : {true, false}) {
    p.probe_due = due;
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 100'000}, at(us(0))), PostResult::accepted);
    const auto deadline_passes = [&one](Picoseconds t) {
      one.on_timeout(at(t));
      return one.next_deadline();
    };
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(one.poll_transmit(at(us(i))));
    EXPECT_EQ(deadline_passes(us(8)), at(us(16)));
    const Packet next = one.poll_transmit(at(us(9))).value();
    EXPECT_EQ(next.type, due ? PacketType::data : PacketType::probe);
    if (!due) continue;
    EXPECT_EQ(one.next_deadline(), at(us(17)));  // the fourth has left: a SACK is due
    EXPECT_EQ(deadline_passes(us(17)), at(us(25)));
    EXPECT_EQ(one.poll_transmit(at(us(17))).value().type, PacketType::probe);
    // A SACK begins the count anew, and a window that is full ends it.
    PlusAck told;
    told.epsn = told.base = Psn{1};
    told.echoes[told.count++] = {Psn{0}, 1, false};
    told.path_id = 1;
    one.on_receiving_ack(told, at(us(18)));
    EXPECT_EQ(deadline_passes(us(26)), at(us(34)));
    EXPECT_EQ(one.poll_transmit(at(us(27))).value().type, PacketType::data);
    while (one.poll_transmit(at(us(27)))) {
    }
    one.on_timeout(at(us(35)));
    EXPECT_EQ(one.poll_transmit(at(us(35))).value().type, PacketType::probe);
  }
}

// [PLUS.probe.tail] Three quarters of a base RTT after the last packet a probe follows it, whatever is heard meanwhile.
TEST_F(PlusSenderTest, Tail) {
  post(9);
  send();  // the last one at 0.8 us
  EXPECT_EQ(sender().next_deadline(), at(ns(6'800)));
  wait_until(us(6));
  give(ack(1, {0}));
  EXPECT_EQ(sender().next_deadline(), at(ns(6'800)));
  wait_until(ns(6'800));
  sender().on_timeout(now);
  give(ack(2, {1}));  // does not take its place
  EXPECT_EQ(send(), 1);
  const Packet probe = sent.back();
  EXPECT_EQ(probe.type, PacketType::probe);
  EXPECT_EQ(probe.psn, Psn{2});
  wait_until(ns(14'800));
  give(answer(probe, 8));
  EXPECT_EQ(lost(), Psns{8});
  EXPECT_EQ(send(), 1);  // sent again it is a tail, too
  EXPECT_EQ(sender().next_deadline(), at(ns(20'800)));
  give(ack(9, {8}));
  EXPECT_EQ(sender().next_deadline(), Instant::never());
  EXPECT_EQ(send(), 0);
}

// [PLUS.probe.tail] A few packets have none, nor does what is followed by more.
TEST_F(PlusSenderTest, Tail_None) {
  post(8);
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(8)));
  post(1);
  wait_until(us(1));
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(7)));
  post(40);
  wait_until(us(2));
  EXPECT_EQ(send(), 31);  // the window is full
  EXPECT_EQ(sender().next_deadline(), at(us(10)));
}

// [PLUS.probe.tail] Switched off, an end is a silence like any other.
TEST_F(PlusSenderTest, Tail_Off) {
  p.probe_tail = ps(0);
  post(9);
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(8)));
  wait_until(us(6));
  give(ack(1, {0}));
  EXPECT_EQ(sender().next_deadline(), at(us(14)));
}

// [PLUS.probe.verdict] Switched off it is the paper's rule: an answer that took 2 base RTTs proves nothing.
TEST_F(PlusSenderTest, AbsoluteProbe) {
  p.relative_probe = false;
  post(3);
  send();
  wait_until(us(16));
  sender().on_timeout(now);
  send();
  wait_until(us(32));
  give(answer(sent[3], 0));
  EXPECT_EQ(lost(), Psns{});
  sender().on_timeout(at(us(48)));
  wait_until(us(48));
  send();
  wait_until(us(56));
  give(answer(sent[4], 0));
  EXPECT_EQ(lost(), (Psns{0, 1, 2}));
}

// [PLUS.rack.time] Of what left 256 units ago or more nobody knows when: it waits for the timeout.
TEST_F(PlusSenderTest, TooLongAgo) {
  post(3);
  send();
  wait_until(us(16));
  sender().on_timeout(now);
  send();
  wait_until(us(146));
  give(answer(sent[3], 0));
  EXPECT_EQ(lost(), Psns{});
}

// [PLUS.timeout] After 25 base RTTs without progress all is lost, and nothing is believed of paths; the wait doubles.
TEST_F(PlusSenderTest, Timeout) {
  post(3);
  send();
  EXPECT_TRUE(sender().paths().is_unanswered(1));
  wait_until(us(200));
  sender().on_timeout(now);
  EXPECT_EQ(lost(), (Psns{0, 1, 2}));
  EXPECT_FALSE(sender().paths().is_unanswered(1));
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_EQ(causes.back(), LossCause::timeout);
  EXPECT_EQ(send(), 3);
  for (const int next : {600, 1'400, 3'000, 4'600}) {  // three doublings at most
    sender().on_timeout(at(us(next) - ns(1)));
    const std::uint32_t before = sender().counters().timeouts;
    sender().on_timeout(at(us(next)));
    EXPECT_EQ(sender().counters().timeouts, before + 1);
    wait_until(us(next));
    send();
  }
  give(ack(1, {0}));
  sender().on_timeout(at(us(4'800)));
  EXPECT_EQ(sender().counters().timeouts, 5u);
  sender().on_timeout(at(us(4'900)));
  EXPECT_EQ(sender().counters().timeouts, 6u);
}

// [PLUS.track] At most 512 packets lie between the expected and the newest.
TEST_F(PlusSenderTest, TrackingWindow) {
  p = params(500);
  p.rack = ps(0);
  post(600);
  EXPECT_EQ(send(), 500);
  wait_until(us(60));
  for (std::uint32_t psn = 1; psn < 401; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(send(), 12);
}

// [PLUS.sack.ask] While the window is below two SACKs' packets, each packet asks.
TEST_F(PlusSenderTest, SmallWindowsAsk) {
  p = params(7);
  post(8);
  EXPECT_EQ(send(), 7);
  EXPECT_EQ(sent[0].note, kPlusAsks);
}
// [PLUS.sack.ask] So does each where no more can be tracked: nobody would owe a SACK for three.
TEST_F(PlusSenderTest, SmallTrackingWindowsAsk) {
  p.tracking_window = 3;
  post(8);
  EXPECT_EQ(send(), 3);
  EXPECT_EQ(sent[2].note, kPlusAsks);
}

// [PLUS.refuse] What no honest receiver could have said changes nothing.
TEST_F(PlusSenderTest, Refuses) {
  post(10);
  send();
  wait_until(us(8));
  const PlusAck good = ack(4, {0, 1, 2, 3});
  std::vector<PlusAck> bad(9, good);
  bad[0].epsn = bad[0].base = Psn{11};
  bad[1].count = 5;
  bad[2].count = 0;
  bad[3].echoes[0].psn = Psn{10};
  bad[4].echoes[0].psn = Psn{4};
  bad[5].echoes[0].path_id = 256;
  bad[6].base = Psn{3};
  bad[7].bitmap = 1;
  bad[8].timestamp = {9'000};  // ahead
  PlusAck bits = good;
  bits.bitmap = 1u << 7;
  bad.push_back(bits);
  PlusAck far = good;
  far.base = Psn{516};
  bad.push_back(far);
  PlusAck path = good;
  path.path_id = 256;
  bad.push_back(path);
  for (const PlusAck& a : bad) give(a);
  EXPECT_EQ(sender().counters().acks_rejected, bad.size());
  EXPECT_EQ(sender().epsn(), Psn{0});
  EXPECT_EQ(sender().inflight_bytes(), bytes(10'000));
  give(good);
  EXPECT_EQ(sender().epsn(), Psn{4});
}

// A full queue says so.
TEST_F(PlusSenderTest, QueueFull) {
  for (int i = 0; i < 4; ++i) post(1);
  EXPECT_EQ(sender().on_message({9, 1}, now), PostResult::queue_full);
}

// What hosts in software need. Bursts go by one entropy.
TEST_F(PlusSenderTest, ABurstsEntropyIsTheHosts) {
  post(3);
  EXPECT_EQ(sender().poll_transmit(now)->path_id, 1);
  EXPECT_EQ(sender().poll_transmit(now, PathId{9})->path_id, 9);
  EXPECT_EQ(sender().poll_transmit(now)->path_id, 2);
  EXPECT_TRUE(sender().paths().is_unanswered(9));
}

// A host that held the packet up knows what of its age was the network's: queues are judged by that, losses by when
// packets left.
TEST_F(PlusSenderTest, TheNetworksPartOfAnAge) {
  post(3);
  send();  // at 0, 100 and 200 ns
  wait_until(us(30));
  const PlusAck a = ack(0, {2});
  sender().on_receiving_ack(a, us(30) - ns(200), us(9), now);
  EXPECT_EQ(sender().window().avg_qdelay(), ns(125));  // an eighth of 9 - 8 us
  EXPECT_EQ(lost(), Psns{});                           // they left 200 ns before, not 21 us
  sender().on_receiving_ack(a, us(-1), us(9), now);
  EXPECT_EQ(sender().counters().acks_rejected, 1u);
}

// [D42] After a timeout in silence few packets go, and probes ever less often; whatever is heard ends that.
TEST_F(PlusSenderTest, Silence) {
  p.silent_window = bytes(4'000);
  p.probe_backoff_max = 2;
  post(100);
  EXPECT_EQ(send(), 40);
  EXPECT_FALSE(sender().in_silence());
  std::vector<std::int64_t> probes;
  for (std::int64_t t = 1; t < 200; ++t) {
    wait_until(us(t));
    sender().on_timeout(now);
    if (const auto packet = sender().poll_transmit(now)) {
      EXPECT_EQ(packet->type, PacketType::probe);
      probes.push_back(t);
    }
  }
  // 8, 16, then 32 us apart
  EXPECT_EQ(probes, (std::vector<std::int64_t>{8, 16, 32, 64, 96, 128, 160, 192}));
  sender().on_peer_heard(now);  // by other means: asked again after 8 us
  EXPECT_EQ(sender().next_deadline(), at(us(200)));
  wait_until(us(200));
  sender().on_timeout(now);
  EXPECT_TRUE(sender().in_silence());
  EXPECT_EQ(send(), 4);
  give(ack(1, {0}));
  EXPECT_FALSE(sender().in_silence());
  EXPECT_GT(send(), 30);
}

// [D41] Where hosts look after paths, a timeout takes back what is known of them only if nothing was heard.
TEST_F(PlusSenderTest, WhatIsKnownOfPathsStaysWhileSomethingIsHeard) {
  for (const bool heard : {true, false}) {
    PlusParams careful = p;
    careful.path_health = true;
    std::array<MessageSlot, 4> room{};
    PlusSender<> one(careful, room, Psn{0});
    ASSERT_EQ(one.on_message({0, 3'000}, at(us(0))), PostResult::accepted);
    std::vector<Packet> left;
    while (const auto packet = one.poll_transmit(at(us(0)))) left.push_back(*packet);
    PlusAck a;
    a.epsn = a.base = Psn{0};
    a.count = 1;
    a.echoes[0] = {Psn{2}, left[2].path_id, true};
    a.path_id = left[2].path_id;
    a.ecn = true;
    a.timestamp = left[2].timestamp;
    if (heard) one.on_receiving_ack(a, at(us(8)));
    one.on_timeout(at(us(200)));
    EXPECT_EQ(one.counters().timeouts, 1u);
    EXPECT_EQ(one.paths().is_marked(left[2].path_id), heard);
    EXPECT_EQ(one.paths().is_unanswered(left[0].path_id), heard);
    EXPECT_NE(one.in_silence(), heard);
  }
}

}  // namespace
}  // namespace strack::core
