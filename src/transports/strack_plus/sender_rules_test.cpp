// Rules that only their absence shows: each test fails without one condition, statement or limit.
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
// [PLUS.probe.again] [PLUS.probe.due] Both are on where a link is all that is known.
TEST(PlusParams, ForLink_Probes) {
  const PlusParams p = params();
  EXPECT_TRUE(p.probe_patience);
  EXPECT_TRUE(p.probe_due);
}

// [PLUS.probe.send] A SACK that comes before a probe has left takes its place.
TEST_F(PlusSenderTest, Probe_NotAfterASack) {
  post(3);
  send();
  wait_until(us(8));
  sender().on_timeout(now);
  give(ack(1, {0}));
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(sender().next_deadline(), at(us(16)));
}

// A probe's answer tells of its path, and of no bytes.
TEST_F(PlusSenderTest, Probe_AnswerAndPaths) {
  post(3);
  send();
  wait_until(us(8));
  sender().on_timeout(now);
  send();
  const PathId path = sent[3].path_id;
  EXPECT_TRUE(sender().paths().is_unanswered(path));
  PlusAck a = answer(sent[3], 0);
  a.ecn = true;
  wait_until(us(16));
  give(a);
  EXPECT_FALSE(sender().paths().is_unanswered(path));
  EXPECT_TRUE(sender().paths().is_marked(path));
}

// [PLUS.window] An RTT below the clock's tick is no news to it.
TEST_F(PlusSenderTest, WindowWithoutAnRtt) {
  post(3);
  send();
  wait_until(us(8));
  sender().on_receiving_ack(ack(1, {0}), us(8), ps(0), now);
  EXPECT_EQ(sender().window().base_rtt(), us(8));
  EXPECT_EQ(sender().epsn(), Psn{1});
}

// [PLUS.probe.due] A port is busy no longer when something is lost, nothing more can be tracked, or the window is full;
// nor after the next SACK.
TEST_F(PlusSenderTest, Probe_DueWithMoreToSend) {
  p.tracking_window = 3;
  post(8);
  EXPECT_EQ(send(), 3);
  wait_until(us(8));
  sender().on_timeout(now);
  EXPECT_EQ(sender().poll_transmit(now).value().type, PacketType::probe);
}
TEST_F(PlusSenderTest, Probe_DueWithAFullWindow) {
  p = params(3);
  post(8);
  EXPECT_EQ(send(), 3);
  wait_until(us(8));
  sender().on_timeout(now);
  EXPECT_EQ(sender().poll_transmit(now).value().type, PacketType::probe);
}
TEST_F(PlusSenderTest, Probe_DueAfterASack) {
  post(100);
  for (int i = 0; i < 3; ++i) sent.push_back(sender().poll_transmit(now).value());
  wait_until(us(8));
  sender().on_timeout(now);  // the port is busy
  EXPECT_EQ(sender().next_deadline(), at(us(16)));
  give(ack(1, {0}));
  wait_until(us(10));
  ASSERT_TRUE(sender().poll_transmit(now));
  EXPECT_EQ(sender().next_deadline(), at(us(16)));  // and is not any more
}

// [D42] A SACK ends the backing off of probes; what is heard otherwise has the next one come soon.
TEST_F(PlusSenderTest, Silence_ProbesBegin) {
  for (const bool sack : {true, false}) {
    p.probe_backoff_max = 2;
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 3'000}, at(us(0))), PostResult::accepted);
    const Packet first = one.poll_transmit(at(us(0))).value();
    while (one.poll_transmit(at(us(0)))) {
    }
    for (const int t : {8, 16, 32}) {
      EXPECT_EQ(one.next_deadline(), at(us(t)));
      one.on_timeout(at(us(t)));
      ASSERT_TRUE(one.poll_transmit(at(us(t))));
    }
    EXPECT_EQ(one.next_deadline(), at(us(64)));
    if (sack) {
      PlusAck a;
      a.epsn = a.base = Psn{1};
      a.count = 1;
      a.echoes[0] = {Psn{0}, first.path_id, false};
      a.path_id = first.path_id;
      a.timestamp = Timestamp::of(at(us(32)));
      one.on_receiving_ack(a, at(us(40)));
    } else {
      one.on_peer_heard(at(us(40)));
    }
    EXPECT_EQ(one.next_deadline(), at(us(48)));
    one.on_timeout(at(us(48)));
    EXPECT_EQ(one.next_deadline(), at(us(56)));
  }
}

// [D42] What was heard before a timeout, or before EPSN moved, is not heard after it.
TEST_F(PlusSenderTest, Silence_SinceWhen) {
  post(3);
  send();
  wait_until(us(8));
  give(ack(0, {2}));
  wait_until(us(200));
  sender().on_timeout(now);
  EXPECT_FALSE(sender().in_silence());
  send();
  wait_until(us(600));
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 2u);
  EXPECT_TRUE(sender().in_silence());
}
TEST_F(PlusSenderTest, Silence_SinceProgress) {
  post(3);
  send();
  wait_until(us(8));
  give(ack(1, {0}));
  wait_until(us(208));
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_TRUE(sender().in_silence());
}

// [PLUS.timeout] After idleness its time begins with the first packet; a probe waits as long as ever after it.
TEST_F(PlusSenderTest, Timeout_AfterIdleness) {
  p.probe_interval = us(300);  // none comes before
  post(3);
  send();
  wait_until(us(8));
  give(ack(3, {0, 1, 2}));
  wait_until(us(500));
  post(1);
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(700)));
  wait_until(us(700));
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_EQ(sender().next_deadline(), at(us(1'000)));  // the probe
}

// [PLUS.probe.again] After idleness nobody knows how long an answer takes.
TEST_F(PlusSenderTest, Probe_PatienceAfterIdleness) {
  post(1);
  send();
  wait_until(us(40));
  give(ack(1, {0}));
  post(1);
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(48)));
  wait_until(us(48));
  sender().on_timeout(now);
  EXPECT_EQ(sender().next_deadline(), at(us(56)));
}

// [PLUS.probe.tail] With its probe a tail is done: then silence is a base RTT.
TEST_F(PlusSenderTest, Tail_Once) {
  post(9);
  send();
  wait_until(ns(6'800));
  sender().on_timeout(now);
  EXPECT_EQ(send(), 1);
  wait_until(us(8));
  give(ack(1, {0}));
  EXPECT_EQ(sender().next_deadline(), at(us(16)));
}

// [PLUS.again] The lowest first, though all have been sent again already.
TEST_F(PlusSenderTest, TheLowestIsSentAgainFirst) {
  post(3);
  send();
  for (const int next : {200, 600}) {
    wait_until(us(next));
    sender().on_timeout(now);
    for (std::uint32_t psn = 0; psn < 3; ++psn)
      EXPECT_EQ(sender().poll_transmit(now)->psn, Psn{psn});
  }
}

// [PLUS.order] At least ooo_min packets.
TEST_F(PlusSenderTest, Order_Least) {
  p.rack = ps(0);
  p.ooo_cwnd = {1, 40};  // one packet
  post(100);
  send();
  wait_until(us(8));
  give(ack(0, {p.ooo_min - 1}));
  EXPECT_EQ(lost(), Psns{});
  give(ack(0, {p.ooo_min}));
  EXPECT_EQ(lost(), Psns{0});
}

// [PLUS.rack] One that was sent again says nothing of those above it: they are judged by their own times.
TEST_F(PlusSenderTest, Rack_PastOneSentAgain) {
  p.ooo_cwnd = {0, 1};
  post(200);
  send();  // 0 to 39, until 4 us
  wait_until(us(8));
  for (std::uint32_t psn = 8; psn < 40; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(send(), 32);  // 40 to 71
  wait_until(us(16));
  for (std::uint32_t psn = 41; psn < 72; ++psn) give(ack(0, {psn}));
  EXPECT_EQ(send(), 31);  // 72 to 102
  wait_until(us(24));
  give(ack(0, {72}));
  EXPECT_EQ(lost(), (Psns{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(sender().poll_transmit(now)->psn, Psn{0});
  EXPECT_EQ(sender().poll_transmit(now)->psn, Psn{1});
  send();
  EXPECT_EQ(lost(), Psns{});
  wait_until(us(32));
  give(ack(0, {102}));
  EXPECT_EQ(lost(), Psns{});
  send();
  wait_until(us(40));
  give(ack(0, {sent.back().psn.value}));
  EXPECT_TRUE(sender().is_lost(Psn{40}));  // from 8 us, though those below left at 24
  EXPECT_FALSE(sender().is_lost(Psn{0}));
}

// [PLUS.probe.tail] A tail's probe goes out though more waits by then, and few have left since a SACK.
TEST_F(PlusSenderTest, Tail_ThoughMoreWaits) {
  post(9);
  send();
  wait_until(us(6));
  give(ack(1, {0}));
  post(5);
  wait_until(ns(6'800));
  sender().on_timeout(now);
  EXPECT_EQ(sender().poll_transmit(now).value().type, PacketType::probe);
}

// [PLUS.probe.tail] What is sent again is a tail only if nothing else is to be.
TEST_F(PlusSenderTest, Tail_TheLastOneSentAgain) {
  p.rack = ps(0);
  p.ooo_cwnd = {1, 4};
  post(20);
  send();
  wait_until(us(7));
  give(ack(0, {11}));
  EXPECT_EQ(lost(), (Psns{0, 1}));
  ASSERT_TRUE(sender().poll_transmit(now));
  EXPECT_EQ(sender().next_deadline(), at(us(15)));
  ASSERT_TRUE(sender().poll_transmit(now));
  EXPECT_EQ(sender().next_deadline(), at(us(13)));
}

// [PLUS.probe.due] Where something is lost the port is not what a SACK waits for. What is lost already is not lost again.
TEST_F(PlusSenderTest, Probe_DueWithALoss) {
  p.rack = ps(0);
  p.ooo_cwnd = {1, 4};
  post(100);
  send();
  wait_until(us(8));
  give(ack(0, {11}));
  EXPECT_EQ(lost(), (Psns{0, 1}));
  wait_until(us(16));
  sender().on_timeout(now);
  EXPECT_EQ(sender().poll_transmit(now).value().type, PacketType::probe);
  wait_until(us(200));
  sender().on_timeout(now);
  EXPECT_EQ(sender().lost_packets(), 39u);
  EXPECT_EQ(sender().inflight_bytes(), bytes(0));
}

// [D42] What is heard while nothing is under way says nothing of what follows.
TEST_F(PlusSenderTest, Silence_AfterIdleness) {
  post(1);
  send();
  wait_until(us(8));
  give(ack(1, {0}));
  give(ack(1, {0}));
  post(1);
  send();
  wait_until(us(208));
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_TRUE(sender().in_silence());
}

// [PLUS.track] A PSN's bit serves again when 512 more have been sent.
TEST_F(PlusSenderTest, ArrivalsAreForgotten) {
  post(600);
  send();
  wait_until(us(8));
  give(ack(0, {2}));
  while (sender().psn_next() <= Psn{514}) {
    const std::uint32_t all = sender().psn_next().value;
    give(ack(all, {all - 1}));
    ASSERT_GT(send(), 0);
  }
  ASSERT_LE(sender().epsn(), Psn{514});
  EXPECT_FALSE(sender().is_acknowledged(Psn{514}));
}

// [PLUS.window] What a probe's answer tells of is not what the network carried since: it is nobody's achievement.
TEST_F(PlusSenderTest, Achieved_CountsNoProbesAnswers) {
  post(3);
  send();
  wait_until(us(8));
  sender().on_timeout(now);
  send();
  ASSERT_EQ(sent.back().type, PacketType::probe);
  wait_until(us(30));
  give(answer(sent.back(), 1));
  EXPECT_EQ(sender().epsn(), Psn{1});
  EXPECT_EQ(sender().achieved().value(), bytes(0));
  wait_until(us(60));
  give(ack(2, {1}));
  EXPECT_EQ(sender().achieved().value(), bytes(1'000));
}

// [PLUS.window] [D22] The first packet after idle time starts that measurement afresh.
TEST_F(PlusSenderTest, Achieved_StartsAfreshAfterIdleTime) {
  post(1);
  send();
  wait_until(us(8));
  give(ack(1, {0}));
  wait_until(us(500));
  post(2);
  send();
  wait_until(us(524));  // a base RTT and the target
  give(ack(2, {1}));
  EXPECT_EQ(sender().achieved().value(), bytes(0));
  now = now + ns(1);
  give(ack(3, {2}));
  EXPECT_EQ(sender().achieved().value(), bytes(2'000));
}

// [PLUS.late] [PLUS.ring.sparse] [PLUS.ring.delay] [PLUS.target.full] [PLUS.cut] [PLUS.probe.self] What a link is given.
TEST(PlusParams, ForLink_Crowds) {
  const PlusParams p = params();
  EXPECT_EQ(p.late, us(32));
  EXPECT_EQ(p.late_for, us(800));
  EXPECT_EQ(p.late_after, 2u);
  EXPECT_EQ(p.ring_sparse, 16u);
  EXPECT_EQ(p.target_full, us(14));
  EXPECT_TRUE(p.ring_delay);
  EXPECT_TRUE(p.cut_once);
  EXPECT_EQ(p.probe_self, (Ratio{5, 2}));
}

// [PLUS.late] Packets that were called lost come: then 1.5 base RTTs and a window are not enough for some time. Here one will do.
class PlusLateTest : public PlusSenderTest {
 protected:
  PlusLateTest() { p.late_after = 1; }
  /// 0 is called lost, by order, at 16 us, and comes at 17.
  void be_late() {
    post(400);
    send();  // 0 to 39
    wait_until(us(8));
    for (std::uint32_t psn = 1; psn < 40; ++psn) give(ack(0, {psn}));
    send();  // 40 to 78
    wait_until(us(16));
    give(ack(0, {40}));
    ASSERT_EQ(lost(), Psns{0});
    wait_until(us(17));
    give(ack(41, {0}));
    ASSERT_EQ(lost(), Psns{});
  }
  /// What is lost when 41, which left at 8 us, does not come, and all others to `last` do.
  Psns lost_by(std::uint32_t last) {
    for (std::uint32_t psn = 42; psn < last; ++psn) {
      if (psn >= sender().psn_next().value) send();
      give(ack(41, {psn}));
    }
    send();
    now = now + us(8);
    give(ack(41, {last}));
    return lost();
  }
};
TEST_F(PlusLateTest, OrderTakesTwoWindows) {
  be_late();
  EXPECT_EQ(lost_by(41 + 79), Psns{});
  send();
  give(ack(41, {41 + 80}));
  EXPECT_EQ(lost(), Psns{41});
}
TEST_F(PlusLateTest, OrderTakesOneWindow_Off) {
  p.late = ps(0);
  be_late();
  EXPECT_EQ(lost_by(41 + 40), Psns{41});
}
TEST_F(PlusLateTest, OneIsNotBelieved) {
  p.late_after = 2;
  be_late();
  EXPECT_EQ(lost_by(41 + 40), Psns{41});
}
/// Whether a packet is called lost when one has come that left so much later, some time after two others were late.
class PlusLateTime : public PlusSenderTest {
 protected:
  bool is_lost_after(Picoseconds later) {
    p.ooo_cwnd = {0, 1};
    PlusSender<> one(p, slots(), Psn{0});
    EXPECT_EQ(one.on_message({1, 200'000}, at(us(0))), PostResult::accepted);
    std::vector<Packet> out;
    const auto send_two = [&](Picoseconds t) {  // which share a stamp
      for (int i = 0; i < 2; ++i) out.push_back(one.poll_transmit(at(t)).value());
    };
    const auto sack = [&](std::uint32_t epsn, std::uint32_t psn, Picoseconds t) {
      PlusAck a;
      a.epsn = a.base = Psn{epsn};
      a.count = 1;
      a.echoes[0] = {Psn{psn}, out[psn].path_id, false};
      a.path_id = out[psn].path_id;
      a.timestamp = out[psn].timestamp;
      one.on_receiving_ack(a, at(t));
    };
    send_two(us(0));
    send_two(us(14));
    sack(0, 2, us(22));  // left 14 us later: 0 and 1 are lost
    EXPECT_EQ(one.lost_packets(), 2u);
    sack(3, 1, us(23));  // they were not
    EXPECT_EQ(one.lost_packets(), 0u);
    send_two(us(24));  // 4 and 5
    send_two(us(24) + later);
    sack(4, 6, us(32) + later);
    EXPECT_EQ(one.is_lost(Psn{4}), one.is_lost(Psn{5}));
    return one.is_lost(Psn{4});
  }
};
// Stamps are of 512 ns, and the doubt is the packet's.
TEST_F(PlusLateTime, TakesFourBaseRtts) {
  EXPECT_FALSE(is_lost_after(us(32)));
  EXPECT_TRUE(is_lost_after(us(33)));
}
TEST_F(PlusLateTime, TakesOneAndAHalf_Later) {
  p.late_for = us(15);  // until 38 us
  EXPECT_FALSE(is_lost_after(us(12)));
  EXPECT_TRUE(is_lost_after(us(13)));
}
TEST_F(PlusLateTime, TakesOneAndAHalf_Off) {
  p.late = ps(0);
  EXPECT_FALSE(is_lost_after(us(12)));
  EXPECT_TRUE(is_lost_after(us(13)));
}
// [PLUS.late] The first copy comes after the packet was sent again: its time says so. A second copy says nothing.
TEST_F(PlusLateTest, FirstCopy) {
  for (const bool first : {true, false}) {
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 400'000}, at(us(0))), PostResult::accepted);
    std::vector<Packet> out;
    const auto send_all = [&](Picoseconds t) {
      while (const auto packet = one.poll_transmit(at(t))) out.push_back(*packet);
    };
    const auto sack = [&](std::uint32_t epsn, const Packet& by, Picoseconds t) {
      PlusAck a;
      a.epsn = a.base = Psn{epsn};
      a.count = 1;
      a.echoes[0] = {by.psn, by.path_id, false};
      a.path_id = by.path_id;
      a.timestamp = by.timestamp;
      one.on_receiving_ack(a, at(t));
    };
    send_all(us(0));  // 0 to 39
    for (std::uint32_t psn = 1; psn < 40; ++psn) sack(0, out[psn], us(8));
    send_all(us(8));  // 40 to 78
    sack(0, out[40], us(16));
    send_all(us(16));
    ASSERT_EQ(one.counters().retransmissions, 1u);
    const Packet again = out[79];
    ASSERT_EQ(again.psn, Psn{0});
    sack(41, first ? out[0] : again, us(24));
    for (std::uint32_t psn = 42; psn < 79; ++psn) sack(41, out[psn], us(24));
    send_all(us(24));
    ASSERT_GT(one.psn_next(), Psn{90});
    for (std::uint32_t psn = 79; psn < 90; ++psn) {
      for (const Packet& packet : out) {
        if (packet.psn == Psn{psn}) sack(41, packet, us(28));
      }
    }
    EXPECT_EQ(one.is_lost(Psn{41}), !first);
  }
}

// [PLUS.late] The same where a SACK tells of another after it: what was sent again asks for its own, so this is the first copy. It was
// sent again, if it left less than a base RTT ago; else nobody knows whether it was.
TEST_F(PlusLateTest, FirstCopy_AmongOthers) {
  for (const Picoseconds comes : {us(20), us(26)}) {
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 400'000}, at(us(0))), PostResult::accepted);
    std::vector<Packet> out;
    const auto send_all = [&](Picoseconds t) {
      while (const auto packet = one.poll_transmit(at(t))) out.push_back(*packet);
    };
    const auto sack = [&](std::uint32_t epsn, std::vector<std::uint32_t> psns, Picoseconds t) {
      PlusAck a;
      a.epsn = a.base = Psn{epsn};
      for (const std::uint32_t psn : psns) {
        for (const Packet& packet : out) {
          if (packet.psn != Psn{psn} || packet.retransmission) continue;
          a.path_id = packet.path_id;
          a.timestamp = packet.timestamp;
        }
        a.echoes[a.count++] = {Psn{psn}, a.path_id, false};
      }
      one.on_receiving_ack(a, at(t));
    };
    send_all(us(0));  // 0 to 39
    for (std::uint32_t psn = 1; psn < 40; ++psn) sack(0, {psn}, us(8));
    send_all(us(8));  // 40 to 78
    sack(0, {40}, us(16));
    send_all(us(16));
    ASSERT_EQ(one.counters().retransmissions, 1u);
    sack(41, {0, 42}, comes);
    for (std::uint32_t psn = 43; psn < 79; ++psn) sack(41, {psn}, comes + us(4));
    send_all(comes + us(4));
    ASSERT_GT(one.psn_next(), Psn{90});
    for (std::uint32_t psn = 79; psn < 90; ++psn) sack(41, {psn}, comes + us(12));
    EXPECT_EQ(one.is_lost(Psn{41}), comes == us(26));
  }
}
// [PLUS.late] What was late longer ago than it is believed for counts no more.
TEST_F(PlusLateTest, TheCountBeginsAnew) {
  p.late_after = 2;
  p.late_for = us(10);
  p.rack = ps(0);
  be_late();  // at 17 us
  wait_until(us(30));
  send();
  for (std::uint32_t psn = 42; psn < 79; ++psn) give(ack(41, {psn}));
  send();
  give(ack(41, {81}));
  ASSERT_EQ(lost(), Psns{41});
  give(ack(79, {41}));  // the first that is late, once more
  for (std::uint32_t psn = 82; psn < 119; ++psn) {
    send();
    give(ack(79, {psn}));
  }
  EXPECT_EQ(lost(), Psns{});
  send();
  give(ack(79, {119}));
  EXPECT_EQ(lost(), Psns{79});
}

// [PLUS.ring.sparse] With few packets under way and more to send, the ring has one place.
TEST_F(PlusSenderTest, Ring_Sparse) {
  for (const std::uint32_t under_way : {16u, 17u}) {
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 100'000}, at(us(0))), PostResult::accepted);
    PlusAck a;
    a.epsn = a.base = Psn{4};
    for (std::uint32_t psn = 0; psn < under_way + 4; ++psn) {
      const Packet packet = one.poll_transmit(at(us(0))).value();
      if (psn < 4) a.echoes[a.count++] = {Psn{psn}, packet.path_id, false};
    }
    a.path_id = a.echoes[3].path_id;
    one.on_receiving_ack(a, at(us(8)));
    EXPECT_EQ(one.paths().waiting(), under_way == 16 ? 1u : 4u);
  }
}
TEST_F(PlusSenderTest, Ring_NotSparseAtTheEnd) {
  post(8);
  send();
  wait_until(us(8));
  give(ack(4, {0, 1, 2, 3}));
  EXPECT_EQ(sender().paths().waiting(), 4u);
}
TEST_F(PlusSenderTest, Ring_SparseWithRoomInTheWindow) {
  p = params(8);
  post(100);
  send();
  wait_until(us(8));
  give(ack(0, {4, 5, 6, 7}));
  EXPECT_EQ(sender().paths().waiting(), 1u);
}
TEST_F(PlusSenderTest, Ring_NotSparseWithAFullWindow) {
  p = params(8);
  post(100);
  send();
  wait_until(us(8));
  const PlusAck first = ack(4, {0, 1, 2, 3});
  give(first);
  ASSERT_EQ(send(), 4);  // of few packets, but no more may leave
  give(first);           // it comes twice: the window stays full
  EXPECT_EQ(sender().paths().waiting(), 4u);
}

// [PLUS.ring.delay] Of a SACK that tells of marked packets only the last counts as clean if its delay is below the average,
// which is 5 us here; its neighbours do not, nor any if one of the four is clean, or in a probe's answer.
TEST_F(PlusSenderTest, Ring_Delay) {
  struct Marks {
    std::vector<bool> of;
    std::uint32_t waiting;
  };
  const auto after = [this](Picoseconds delay, std::uint32_t marked, bool probe = false) {
    PlusSender<> one(p, slots(), Psn{0});
    Instant t = at(us(0));
    PlusAck a;
    const auto four = [&](Picoseconds late, std::uint32_t from) {
      EXPECT_EQ(one.on_message({a.epsn.value, 4'000}, t), PostResult::accepted);
      for (a.count = 0; a.count < 4; ++a.count) {
        const Packet packet = one.poll_transmit(t).value();
        a.echoes[a.count] = {packet.psn, packet.path_id, a.count >= from};
        a.path_id = packet.path_id;
        a.timestamp = packet.timestamp;
      }
      a.epsn = a.base = a.epsn + 4u;
      a.ecn = true;
      t = t + us(8) + late;
      one.on_receiving_ack(a, t);
    };
    four(us(40), 0);
    EXPECT_EQ(one.window().avg_qdelay(), us(5));
    EXPECT_EQ(one.paths().waiting(), 0u);
    a.for_probe = probe;
    four(delay, 4 - marked);
    Marks marks{{}, one.paths().waiting()};
    for (const PlusEcho& echo : a.echoes) marks.of.push_back(one.paths().is_marked(echo.path_id));
    return marks;
  };
  const Marks below = after(us(5) - ns(1), 4);
  EXPECT_EQ(below.waiting, 1u);
  EXPECT_EQ(below.of, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(after(us(5), 4).of, (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(after(us(4), 3).of, (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(after(us(4), 4, true).waiting, 0u);
  p.ring_delay = false;
  EXPECT_EQ(after(us(4), 4).waiting, 0u);
}

// [PLUS.target.full] The target is 2 base RTTs for a window of nothing and 1.75 for the largest, in proportion: at a delay in
// between windows fall until it is their target, at a quarter of the way to three quarters of the largest window.
TEST_F(PlusSenderTest, TargetFallsWithTheWindow) {
  const auto settles_at = [this](Picoseconds delay) {
    PlusSender<> one(p, slots(), Psn{0});
    EXPECT_EQ(one.on_message({1, 2'000'000}, at(us(0))), PostResult::accepted);
    Instant t = at(us(0));
    for (std::uint32_t psn = 0; psn < 1'000; ++psn) {
      const Packet packet = one.poll_transmit(t).value();
      PlusAck a;
      a.epsn = a.base = Psn{psn + 1};
      a.count = 1;
      a.echoes[0] = {Psn{psn}, packet.path_id, true};
      a.path_id = packet.path_id;
      a.ecn = true;
      a.timestamp = packet.timestamp;
      t = t + us(8) + delay;
      one.on_receiving_ack(a, t);
    }
    return static_cast<double>(one.window().cwnd().count());
  };
  p = params(400);
  p.eta = bytes(0);  // nothing but the target holds it
  EXPECT_NEAR(settles_at(ns(14'500)), 300'000, 200);
  EXPECT_NEAR(settles_at(us(15)), 200'000, 200);
  EXPECT_NEAR(settles_at(ns(15'500)), 100'000, 200);
  EXPECT_EQ(settles_at(us(14)), 400'000);
  EXPECT_EQ(settles_at(us(16)), 400'000);  // beyond a small window's target it is that for all
  p.target_full = ps(0);
  EXPECT_EQ(settles_at(us(15)), 400'000);
}

// [PLUS.cut] After a cut the next is due to a packet that left later; until then it deepens with the average. The fall to what
// was delivered waits for a base RTT alone.
TEST_F(PlusSenderTest, CutOnceInAnRtt) {
  struct Cuts {
    Psns by;
    std::vector<std::int64_t> to;
  };
  // Packets that leave 1 us apart; beyond the 20th the queue may be another.
  const auto cuts = [this](Picoseconds then) {
    PlusSender<> one(p, slots(), Psn{0});
    EXPECT_EQ(one.on_message({1, 100'000}, at(us(0))), PostResult::accepted);
    std::vector<Packet> packets;
    for (int i = 0; i < 100; ++i) packets.push_back(one.poll_transmit(at(us(i))).value());
    Cuts found;
    for (const Packet& packet : packets) {
      const std::uint32_t psn = packet.psn.value;
      PlusAck a;
      a.epsn = a.base = packet.psn + 1u;
      a.count = 1;
      a.echoes[0] = {packet.psn, packet.path_id, true};
      a.path_id = packet.path_id;
      a.ecn = true;
      a.timestamp = packet.timestamp;
      const Bytes before = one.window().cwnd();
      one.on_receiving_ack(a, at(us(psn)) + us(8) + (psn > 20 ? then : us(20)));
      if (one.window().cwnd() == before) continue;
      found.by.push_back(psn);
      found.to.push_back(one.window().cwnd().value);
    }
    return found;
  };
  p = params(100);
  p.eta = bytes(0);
  p.cut_once = false;
  const Cuts often = cuts(us(20));
  EXPECT_EQ(often.by, (Psns{12, 21, 30, 39, 48, 57, 66, 75, 84, 93}));
  EXPECT_GT(often.to.front(), 95'000);  // the average is hardly above the target
  EXPECT_LT(often.to.back(), 25'000);
  p.cut_once = true;
  const Cuts once = cuts(us(20));
  ASSERT_GT(once.by.size(), 41u - 12u);
  EXPECT_EQ(once.by[0], 12u);
  EXPECT_EQ(once.by[41 - 12], 41u);  // every one in between deepens it
  EXPECT_EQ(once.to[0], often.to[0]);
  EXPECT_NEAR(static_cast<double>(once.to[40 - 12]), 84'000, 500);  // 4/5 of 4 us in 20
  EXPECT_NEAR(static_cast<double>(once.to[41 - 12]), 71'000, 500);
  p = params(240);  // an eighth of it is more than what is delivered in 24 us
  p.eta = bytes(0);
  const Cuts far = cuts(us(60));
  std::int64_t least = 240'000;
  for (std::size_t i = 0; i < far.by.size(); ++i) {
    if (far.by[i] < 40) least = far.to[i];  // the 40th comes 68 us after the cut
  }
  EXPECT_LT(least, 30'000);
}

// [PLUS.probe.self] Where the window is one packet, it is sent again after 2.5 RTTs; no probe goes before it. What is
// under way besides, or an RTT that is not known, is asked for.
TEST_F(PlusSenderTest, Probe_Self) {
  for (const bool self : {true, false}) {
    p = params(1);
    if (!self) p.probe_self = {0, 1};
    PlusSender<> one(p, slots(), Psn{0});
    ASSERT_EQ(one.on_message({1, 3'000}, at(us(0))), PostResult::accepted);
    const Packet first = one.poll_transmit(at(us(0))).value();
    EXPECT_EQ(one.next_deadline(), at(us(8)));  // nothing was heard yet
    PlusAck a;
    a.epsn = a.base = Psn{1};
    a.count = 1;
    a.echoes[0] = {Psn{0}, first.path_id, false};
    a.path_id = first.path_id;
    a.timestamp = first.timestamp;
    one.on_receiving_ack(a, at(us(24)));
    ASSERT_TRUE(one.poll_transmit(at(us(30))));
    ASSERT_EQ(one.next_deadline(), self ? at(us(90)) : at(us(38)));
    one.on_timeout(one.next_deadline());
    if (self) {
      EXPECT_TRUE(one.is_lost(Psn{1}));
      const auto again = one.poll_transmit(at(us(90)));
      ASSERT_TRUE(again);
      EXPECT_TRUE(again->retransmission);
      EXPECT_EQ(one.next_deadline(), at(us(150)));
      EXPECT_EQ(one.counters().probes_sent, 0u);
    } else {
      EXPECT_EQ(one.poll_transmit(at(us(38))).value().type, PacketType::probe);
    }
  }
}
TEST_F(PlusSenderTest, Probe_SelfNotWithTwo) {
  p = params(2);
  post(5);
  send();
  wait_until(us(24));
  give(ack(1, {0}));
  send();
  EXPECT_EQ(sender().next_deadline(), at(us(32)));
}

// [PLUS.first.share] Until the first SACK the window is the largest one's part, by how many connections of the host send just
// then, but at least first_cwnd and a packet; then it stays what it was, whoever sends besides.
TEST_F(PlusSenderTest, FirstWindowIsShared) {
  const auto first_flight = [this](std::uint32_t connections) {
    PlusHost host{connections - 1};
    PlusSender<> one(p, slots(), Psn{0}, {}, {}, &host);
    EXPECT_EQ(one.on_message({1, 100'000}, at(us(0))), PostResult::accepted);
    int count = 0;
    while (one.poll_transmit(at(us(0)))) ++count;
    EXPECT_EQ(host.sending, connections);
    return count;
  };
  p.first_cwnd = bytes(10'000);
  EXPECT_EQ(first_flight(1), 40);
  EXPECT_EQ(first_flight(2), 20);
  EXPECT_EQ(first_flight(3), 13);
  EXPECT_EQ(first_flight(4), 10);
  EXPECT_EQ(first_flight(500), 10);
  p.first_cwnd = bytes(0);
  EXPECT_EQ(first_flight(8), 5);
  EXPECT_EQ(first_flight(500), 1);
  p.first_cwnd = kLargestStep;
  EXPECT_EQ(first_flight(8), 40);
}
TEST_F(PlusSenderTest, FirstWindowEndsWithTheFirstSack) {
  p.first_cwnd = bytes(1'000);
  PlusHost host{7};
  PlusSender<> one(p, slots(), Psn{0}, {}, {}, &host);
  ASSERT_EQ(one.on_message({1, 12'000}, at(us(0))), PostResult::accepted);
  std::vector<Packet> packets;
  const auto flight = [&] {
    int count = 0;
    for (; const auto packet = one.poll_transmit(now); ++count) packets.push_back(*packet);
    return count;
  };
  const auto acknowledge = [&](std::uint32_t end) {
    PlusAck a;
    a.epsn = a.base = Psn{end};
    for (a.count = 0; a.count < 4; ++a.count) {
      const Packet& packet = packets[end - 4 + a.count];
      a.echoes[a.count] = {packet.psn, packet.path_id, true};
      a.path_id = packet.path_id;
      a.timestamp = packet.timestamp;
    }
    a.ecn = true;  // it does not grow
    one.on_receiving_ack(a, now);
  };
  EXPECT_EQ(flight(), 5);
  host.sending = 4;  // some of the others are done
  EXPECT_EQ(flight(), 5);
  EXPECT_EQ(one.window().cwnd(), bytes(40'000));  // its own is not known yet
  p.eta = bytes(0);
  now = at(us(8));
  acknowledge(4);
  EXPECT_EQ(one.window().cwnd(), bytes(10'000));
  host.sending = 40;
  EXPECT_EQ(flight(), 2);
  acknowledge(8);
  EXPECT_EQ(host.sending, 40u);
  acknowledge(12);
  EXPECT_EQ(host.sending, 39u);  // it has nothing more to send
  EXPECT_TRUE(one.idle());
  acknowledge(12);
  EXPECT_EQ(host.sending, 39u);
  ASSERT_EQ(one.on_message({2, 1'000}, now), PostResult::accepted);
  ASSERT_EQ(one.on_message({3, 1'000}, now), PostResult::accepted);
  EXPECT_EQ(host.sending, 40u);
}

// [PLUS.first.delay] The average begins with half of the first queueing delay, and that one counts with its eighth besides.
TEST_F(PlusSenderTest, AverageBeginsWithTheFirstDelay) {
  const auto after = [this](Ratio part, Picoseconds first, Picoseconds second) {
    p.first_delay = part;
    PlusSender<> one(p, slots(), Psn{0});
    EXPECT_EQ(one.on_message({1, 10'000}, at(us(0))), PostResult::accepted);
    for (std::uint32_t psn = 0; psn < 2; ++psn) {
      const Packet packet = one.poll_transmit(at(us(0))).value();
      PlusAck a;
      a.epsn = a.base = Psn{psn + 1};
      a.count = 1;
      a.echoes[0] = {Psn{psn}, packet.path_id, false};
      a.path_id = packet.path_id;
      a.timestamp = packet.timestamp;
      one.on_receiving_ack(a, at(us(8)) + (psn == 0 ? first : second));
    }
    return one.window().avg_qdelay();
  };
  EXPECT_EQ(after({1, 2}, us(16), us(9)), us(9));  // 8 us, and an eighth of the way to 16
  EXPECT_EQ(after({0, 1}, us(16), us(2)), us(2));
  EXPECT_EQ(after({1, 1}, us(16), us(16)), us(16));
  EXPECT_EQ(after({1, 2}, us(0), us(16)), us(2));  // none is one, too
  EXPECT_EQ(PlusParams::for_link(gbps(400), us(8), bytes(4'096)).value().first_delay,
            (Ratio{1, 2}));
}

}  // namespace
}  // namespace strack::core
