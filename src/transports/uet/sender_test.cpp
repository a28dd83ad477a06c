#include "transports/uet/sender.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "transports/uet/sender_testing.h"

namespace strack::core {
namespace {

// [NSCC.send] A packet goes while inflight and a whole MTU fit into the window.
TEST_F(UetSenderTest, TheWindow) {
  post(100);
  EXPECT_EQ(send().size(), 56u);
  EXPECT_EQ(sender().inflight(), bytes(224'000));
  hear(ack(1));
  EXPECT_EQ(send().size(), 1u);
}

// [UET.ack.request] The packet that fills the window asks for an acknowledgement, and the last one; with a window below what
// triggers one, each does.
TEST_F(UetSenderTest, AsksForAcknowledgements) {
  post(60);
  const auto first = send();
  for (std::size_t i = 0; i < 55; ++i) EXPECT_EQ(first[i].note, 0) << i;
  EXPECT_EQ(first[55].note, UetNote::kAckBit);
  hear(ack(10));
  const auto rest = send();
  ASSERT_EQ(rest.size(), 4u);
  EXPECT_EQ(rest[2].note, 0);
  EXPECT_EQ(rest[3].note, UetNote::kAckBit);
}
TEST_F(UetSenderTest, AsksAlwaysWithASmallWindow) {
  params.max_cwnd = bytes(16'000);
  post(10);
  for (const Packet& packet : send()) EXPECT_EQ(packet.note, UetNote::kAckBit);
}

// [UET.timestamp] [D70] The RTT is the echoed timestamp's age, whole or the low bits of it.
TEST_F(UetSenderTest, MeasuresRtts) {
  post(10);
  send();
  UetAck a = ack(1);
  a.sack.timestamp = {Timestamp::of(now - us(10)).ns % (1u << 25)};
  hear(a);
  EXPECT_EQ(sender().window().base_rtt(), us(10));
}

// [UET.nack.resend] What was trimmed is sent again, before anything new, once for each NACK. [UET.resend.first]
TEST_F(UetSenderTest, SendsAgainWhatWasTrimmed) {
  use(true);
  post(100);
  send();
  hear(nack(3, 0));
  hear(nack(5, 0));
  hear(nack(3, 0));
  EXPECT_EQ(sender().inflight(), bytes(54 * kMtu));
  EXPECT_EQ(sender().window().cwnd(), kb(225 - 8));
  EXPECT_EQ(send().size(), 0u);  // the window fell with them
  hear(ack(3));
  const auto again = send();
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].psn, Psn{3});
  EXPECT_TRUE(again[0].retransmission);
  EXPECT_EQ(again[0].note, UetNote::kAckBit);
  EXPECT_EQ(again[1].psn, Psn{5});
  EXPECT_EQ(again[2].psn, Psn{56});
  EXPECT_EQ(sender().counters().nacks, 3u);
}

// [UET.nack.last_hop] The path of a packet that was trimmed is passed over, but not if that was at the last hop.
TEST_F(UetSenderTest, TrimsAreToldToThePaths) {
  for (const bool last_hop : {false, true}) {
    use(true);
    params.spray.policy = SprayPolicy::bitmap;
    params.spray.paths = 8;
    UetSender<> one(params, slots, records, Psn{0});
    ASSERT_EQ(one.on_message({1, 100 * kMtu}, now), PostResult::accepted);
    std::vector<PathId> paths;
    while (const auto packet = one.poll_transmit(now)) paths.push_back(packet->path_id);
    ASSERT_EQ(paths.size(), 56u);  // seven rounds
    UetAck cut = nack(3, 0, last_hop);
    cut.sack.path_id = paths[3];
    one.on_receiving_ack(cut, now);
    UetAck rest = ack(3);
    rest.sack.path_id = paths[2];
    one.on_receiving_ack(rest, now);
    one.on_receiving_ack(ack(20), now);
    std::vector<PathId> next;
    for (int i = 0; i < 7; ++i) next.push_back(one.poll_transmit(now).value().path_id);
    std::sort(next.begin(), next.end());
    EXPECT_EQ(std::unique(next.begin(), next.end()), next.end());
    EXPECT_EQ(std::find(next.begin(), next.end(), paths[3]) != next.end(), last_hop);
  }
}

// A NACK of what has arrived since, or by another way, means nothing; and what arrives waits no longer.
TEST_F(UetSenderTest, WithdrawsWhatHasArrived) {
  use(true);
  post(100);
  send();
  hear(nack(3, 0));
  hear(nack(4, 0));
  EXPECT_EQ(sender().waiting(), 2u);
  hear(ack(1, 0b100));  // 3
  EXPECT_EQ(sender().waiting(), 1u);
  hear(ack(6));
  EXPECT_EQ(sender().waiting(), 0u);
  hear(nack(4, 6));
  EXPECT_EQ(sender().waiting(), 0u);
  EXPECT_EQ(sender().inflight(), bytes(50 * kMtu));
}

// [SLEEK.threshold] [SLEEK.enter] [SLEEK.range] When 56 packets (the largest window, as 1.5 of this one are more) have overtaken the missing one, it is sent
// again, and what else is missing of a window from there.
TEST_F(UetSenderTest, Sleek) {
  params.sleek_cwnd = {1, 8};  // 7 packets
  post(100);
  send();
  hear(ack(2, 0b1111110));
  EXPECT_FALSE(sender().in_recovery());
  hear(ack(2, 0b101111110));
  EXPECT_TRUE(sender().in_recovery());
  // Of [2, 2 + 56) all but those: the highest sent is 58 by now.
  const auto again = send();
  EXPECT_EQ(again[0].psn, Psn{2});
  EXPECT_EQ(again[1].psn, Psn{9});
  EXPECT_EQ(again[2].psn, Psn{11});
  EXPECT_EQ(sender().counters().recoveries, 1u);
  // Each once in an episode.
  hear(ack(2, 0b101111110));
  for (const Packet& packet : send()) EXPECT_FALSE(packet.retransmission);
  hear(ack(56));
  EXPECT_FALSE(sender().in_recovery());
}

// [SLEEK.paths] The paths of what has been overtaken are passed over.
TEST_F(UetSenderTest, Sleek_IsToldToThePaths) {
  params.sleek_cwnd = {1, 8};
  params.spray.policy = SprayPolicy::bitmap;
  params.spray.paths = 8;
  post(100);
  const auto sent = send();
  UetAck a = ack(2, 0b101111110);  // 2 and 9 are missing, and 11 and so on may be under way
  a.sack.path_id = sent.at(10).path_id;
  hear(a);
  const auto again = send();
  ASSERT_EQ(again.at(6).psn, Psn{15});
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(again[i].path_id, sent[2].path_id);
    EXPECT_NE(again[i].path_id, sent[9].path_id);
  }
}

// [SLEEK.threshold] 1.5 windows, at most the largest window, and at least five packets.
TEST_F(UetSenderTest, Sleek_Threshold) {
  post(400);
  send();
  hear(ack(1, ~std::uint64_t{1} << 9 >> 1 >> 8));  // 55 from 2 on
  UetAck a = ack(1);
  for (std::uint32_t held = 1; held <= 57; ++held) {
    a.sack.ooo_count = static_cast<std::uint16_t>(held);
    if (sender().in_recovery()) break;
    hear(a);
    EXPECT_EQ(sender().in_recovery(), held >= 56) << held;
  }
}

// [SLEEK.window] What SLEEK sends again is not held back by the window.
TEST_F(UetSenderTest, Sleek_IgnoresTheWindow) {
  params.sleek_cwnd = {1, 8};
  post(100);
  send();
  hear(ack(0, 0b11111110));
  EXPECT_EQ(sender().inflight(), bytes(0));  // all the rest of the window is declared lost
  now = now + us(25);
  UetAck bad = ack(0, 0b11111110);
  bad.sack.ecn = true;
  bad.sack.timestamp = Timestamp::of(now - us(100));
  hear(bad);
  EXPECT_EQ(sender().window().cwnd(), bytes(kMtu));  // a quick adapt
  EXPECT_EQ(send().size(), 49u);
}

// [SLEEK.probe] Silence: a probe, after base_rtt + target with nothing left to send, 3 base_rtt otherwise, and 5 base_rtt after another.
TEST_F(UetSenderTest, Probe) {
  post(10);
  send();
  EXPECT_EQ(sender().next_deadline(), kStart + us(24));
  now = kStart + us(24);
  sender().on_timeout(now);
  const auto probe = send();
  ASSERT_EQ(probe.size(), 1u);
  EXPECT_EQ(probe[0].type, PacketType::probe);
  EXPECT_EQ(sender().next_deadline(), kStart + us(24 + 60));
}
TEST_F(UetSenderTest, Probe_WithMoreToSend) {
  post(100);
  send();
  EXPECT_EQ(sender().next_deadline(), kStart + us(36));
}

// [SLEEK.probe.verdict] Its answer comes through empty queues and tells of holes: all that was sent before it is lost. [SLEEK.probe.late] After a delay it says nothing.
TEST_F(UetSenderTest, ProbeVerdict) {
  for (const bool late : {true, false}) {
    if (late) post(10);
    send();
    now = sender().next_deadline();
    sender().on_timeout(now);
    const Packet probe = send().at(0);
    now = now + us(12);
    UetAck a = ack(8);
    a.sack.for_probe = true;
    a.sack.probe_id = probe.probe_id;
    if (late) a.sack.timestamp = Timestamp::of(now - us(24));
    hear(a);
    EXPECT_EQ(sender().in_recovery(), !late);
    const auto again = send();
    EXPECT_EQ(again.size(), late ? 0u : 2u);
    if (late) continue;
    EXPECT_EQ(again[0].psn, Psn{8});
  }
}

// [UET.timeout] [D71] [NSCC.timeout] Without progress for 87 us all that was sent before is lost, one packet's size of window each; the next
// time takes twice as long.
TEST_F(UetSenderTest, Timeout) {
  use(true);
  post(10);
  send();
  EXPECT_EQ(sender().next_deadline(), kStart + us(87));
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().window().cwnd(), kb(225) - bytes(10 * kMtu));
  EXPECT_EQ(sender().inflight(), bytes(0));
  EXPECT_EQ(send().size(), 10u);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_EQ(sender().next_deadline(), now + us(2 * 87));
  hear(ack(1));
  EXPECT_EQ(sender().next_deadline(), now + us(87));
}

// [UET.timeout] The policy of paths hears of each: REPS freezes, PLB moves.
TEST_F(UetSenderTest, TimeoutIsToldToThePaths) {
  use(true);
  params.spray.policy = SprayPolicy::plb;
  post(2);
  const PathId before = send().at(0).path_id;
  now = sender().next_deadline();
  sender().on_timeout(now);
  EXPECT_NE(send().at(0).path_id, before);
}

// [SLEEK.timeout] In a recovery a timeout starts it over.
TEST_F(UetSenderTest, TimeoutInARecovery) {
  params.sleek_cwnd = {1, 8};
  post(56);
  send();
  hear(ack(0, 0b11111110));
  EXPECT_EQ(send().size(), 49u);
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_EQ(send().size(), 49u);
  EXPECT_EQ(sender().window().cwnd(), kb(225));
}

// [RCCC.speculative] [RCCC.send] [RCCC.pull] Without credit 56 packets go, until the first word of the receiver; then credit counts.
TEST_F(UetSenderTest, Credit) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(100);
  EXPECT_EQ(send().size(), 10u);
  hear(pull(4));
  EXPECT_EQ(send().size(), 4u);
  hear(pull(4));  // the same again
  EXPECT_EQ(send().size(), 0u);
  hear(pull(6));
  EXPECT_EQ(send().size(), 2u);
}
TEST_F(UetSenderTest, Credit_TheFirstWordEndsSpeculation) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(100);
  ASSERT_TRUE(sender().poll_transmit(now));
  hear(ack(1));
  EXPECT_EQ(send().size(), 0u);
}

// [D69] A connection that was idle may speculate again.
TEST_F(UetSenderTest, Credit_SpeculatesAgainAfterIdleness) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(2);
  send();
  hear(ack(2));
  while (sender().poll_completion()) {
  }
  post(20);
  EXPECT_EQ(send().size(), 10u);
}

// [D69] [RCCC.rts] What is posted while others are unacknowledged and all credit is used up: the receiver knows nothing of it,
// so it may speculate with what is left of the first window, and asks where nothing is.
TEST_F(UetSenderTest, Credit_PostedWhileOthersAreUnderWay) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(8);
  EXPECT_EQ(send().size(), 8u);
  hear(ack(1));  // ends speculation
  hear(pull(7));
  post(20);
  hear(ack(3));                   // of what is older: it may still speculate
  EXPECT_EQ(send().size(), 10u);  // what was asked for and not used; and of 10, seven are under way
  hear(pull(17));                 // as the last of them asked
  EXPECT_EQ(send().size(), 10u);
  hear(ack(24));
  post(9);
  const auto more = send();
  ASSERT_EQ(more.size(), 6u);  // of 10, four are under way
  EXPECT_EQ(more[5].type, PacketType::data);
  EXPECT_EQ(more[5].note % UetNote::kTargetRange, 17 + 3);
  post(1);  // what waits will tell of it
  EXPECT_EQ(send().size(), 0u);
}
TEST_F(UetSenderTest, Credit_AsksWhereNothingCanTellOfIt) {
  use(false);  // with SLEEK, which takes answers to its own probes for a verdict
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(10);
  send();
  hear(pull(9));
  post(9);
  EXPECT_EQ(send().size(), 9u);
  post(30);  // 19 under way
  const auto asked = send();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].type, PacketType::probe);
  EXPECT_EQ(asked[0].note % UetNote::kTargetRange, 9 + 30);
  EXPECT_EQ(send().size(), 0u);  // once
  // Its answer is no verdict on what is under way.
  UetAck answer = ack(2);
  answer.sack.for_probe = true;
  answer.sack.probe_id = asked[0].probe_id;
  hear(answer);
  EXPECT_EQ(sender().waiting(), 0u);
}

// [RCCC.again] Where no credit comes for 5 base RTTs it asks again, by another path, and then more and more seldom.
TEST_F(UetSenderTest, Credit_AsksAgain) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 2;
  post(100);
  send();
  hear(ack(2));
  PathId last = 0;
  for (const std::int64_t wait : {60, 120, 240, 480, 480}) {
    ASSERT_EQ(sender().next_deadline(), now + us(wait));
    now = now + us(wait);
    sender().on_timeout(now);
    const auto asked = send();
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].type, PacketType::probe);
    EXPECT_NE(asked[0].path_id, last);
    last = asked[0].path_id;
  }
  EXPECT_EQ(sender().counters().timeouts, 0u);
  hear(pull(2));
  send();
  EXPECT_EQ(sender().next_deadline(), now + us(60));
}

// [RCCC.again] The same after a question that a new message made it ask at once: that is not the first repeat.
TEST_F(UetSenderTest, Credit_AsksAgainAfterAQuestion) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(10);
  send();
  hear(pull(9));
  post(9);
  send();
  post(30);
  ASSERT_EQ(send().size(), 1u);
  hear(ack(19));
  for (const std::int64_t wait : {60, 120, 240}) {
    ASSERT_EQ(sender().next_deadline(), now + us(wait));
    now = now + us(wait);
    sender().on_timeout(now);
    EXPECT_EQ(send().size(), 1u);
  }
}

// [RCCC.target] Each packet says how many the sender wants to have been granted: what is left, at most a window, beyond what it has.
TEST_F(UetSenderTest, Target) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 2;
  post(30);
  const auto sent = send();
  EXPECT_EQ(sent[0].note % UetNote::kTargetRange, 29);
  EXPECT_EQ(sent[1].note, 28 | UetNote::kAckBit);
  hear(pull(4));
  const auto more = send();
  EXPECT_EQ(more[0].note % UetNote::kTargetRange, 4 + 27 - 3);
  EXPECT_EQ(more[3].note % UetNote::kTargetRange, 4 + 24);
  hear(nack(0, 0));
  hear(pull(5));
  EXPECT_EQ(send().at(0).note % UetNote::kTargetRange, 5 + 24 - 1);  // the receiver adds the trim
}

// [RCCC.nscc] With NSCC, not more than its window and one; and a trim at the last hop leaves the window alone.
TEST_F(UetSenderTest, CreditAndWindow) {
  use(true);
  params.rccc = true;
  params.max_cwnd = bytes(10 * kMtu);
  params.speculative = 2;
  post(100);
  const auto sent = send();
  EXPECT_EQ(sent[0].note % UetNote::kTargetRange, 10);
  hear(nack(0, 0, true));
  EXPECT_EQ(sender().window().cwnd(), bytes(10 * kMtu));
  hear(nack(1, 0, false));
  EXPECT_EQ(sender().window().cwnd(), bytes(9 * kMtu));
  EXPECT_EQ(send().size(), 0u);
  hear(pull(20));
  EXPECT_EQ(send().size(), 9u);
}

// [RCCC.rts] Without credit a timeout asks for some, whatever is to be sent again.
TEST_F(UetSenderTest, AsksForCredit) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 2;
  post(100);
  send();
  now = kStart + us(60);
  sender().on_timeout(now);
  EXPECT_EQ(send().size(), 1u);
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  const auto asked = send();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].type, PacketType::probe);
  EXPECT_EQ(asked[0].note % UetNote::kTargetRange, 56);
}

// [UET.timeout] [SLEEK.probe] [RCCC.again] Whatever is due at once is done by one call.
TEST_F(UetSenderTest, NothingStaysDue) {
  params.rto = us(84);  // a probe is due after 24 us, and again 60 us later
  post(10);
  send();
  now = kStart + us(24);
  sender().on_timeout(now);
  EXPECT_EQ(send().size(), 1u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(84));
  now = kStart + us(84);
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  EXPECT_EQ(sender().next_deadline(), now + us(60));
  EXPECT_EQ(send().size(), 10u);  // and no probe among them
}
TEST_F(UetSenderTest, NothingStaysDue_ProbeAndCredit) {
  params.nscc = false;
  params.rccc = true;
  params.speculative = 2;
  params.probe_busy = params.probe_again;
  post(10);
  send();
  now = kStart + us(60);
  ASSERT_EQ(sender().next_deadline(), now);
  sender().on_timeout(now);
  EXPECT_GT(sender().next_deadline(), now);
  EXPECT_EQ(send().size(), 1u);
}

// What cannot be true is refused whole.
TEST_F(UetSenderTest, RefusesNonsense) {
  post(10);
  send();
  UetAck a = ack(11);
  hear(a);
  a = ack(2, 0b1'0000'0000);
  hear(a);
  a = ack(2);
  a.sack.bytes_recvd = 11 * kMtu;
  hear(a);
  a = ack(2);
  a.sack.path_id = 128;
  hear(a);
  a = nack(10, 0);
  hear(a);
  EXPECT_EQ(sender().counters().acks_rejected, 5u);
  EXPECT_EQ(sender().una(), Psn{0});
  EXPECT_EQ(sender().inflight(), bytes(10 * kMtu));
}

}  // namespace
}  // namespace strack::core
