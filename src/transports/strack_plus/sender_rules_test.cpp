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

}  // namespace
}  // namespace strack::core
