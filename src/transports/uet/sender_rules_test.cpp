// Rules that only their absence shows: each test fails without one condition, statement or limit.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "transports/uet/sender_testing.h"

namespace strack::core {
namespace {
// [UET.timestamp] [D70] The low bits are enough when they have wrapped.
TEST_F(UetSenderTest, MeasuresRtts_LaterOn) {
  now = at(ms(40));
  post(10);
  send();
  UetAck a = ack(1);
  a.sack.timestamp = {Timestamp::of(now - us(10)).ns % (1u << 25)};
  hear(a);
  EXPECT_EQ(sender().window().base_rtt(), us(10));
}

// [NSCC.base_rtt] A NACK's RTT counts, too.
TEST_F(UetSenderTest, Nack_MeasuresRtts) {
  use(true);
  post(10);
  send();
  UetAck a = nack(3, 0);
  a.sack.timestamp = Timestamp::of(now - us(10));
  hear(a);
  EXPECT_EQ(sender().window().base_rtt(), us(10));
}

// [NSCC.ack] [NSCC.decrease] The window hears of a packet's mark and delay, but not of a probe's, and not where it is not used.
TEST_F(UetSenderTest, WhatTheWindowHears) {
  enum class Of { data, probe, other };
  for (const Of of : {Of::data, Of::probe, Of::other}) {
    params.ewma_q16 = 65'536;  // the average is the last delay
    params.nscc = of != Of::other;
    UetSender<> one(params, slots, records, Psn{0});
    ASSERT_EQ(one.on_message({1, 10 * kMtu}, now), PostResult::accepted);
    while (one.poll_transmit(now)) {
    }
    UetAck a = ack(1);
    a.sack.ecn = true;
    a.sack.for_probe = of == Of::probe;
    a.sack.timestamp = Timestamp::of(now - us(28));
    one.on_receiving_ack(a, now);
    EXPECT_EQ(one.window().cwnd(), of == Of::data ? bytes(180'000 + 600) : kb(225));
  }
}

// [NSCC.ack] An acknowledgement whose RTT is below the clock's tick leaves the window alone.
TEST_F(UetSenderTest, WhatTheWindowHears_Untimed) {
  use(true);
  post(100);
  send();
  hear(nack(3, 0));
  ASSERT_EQ(sender().window().cwnd(), kb(221));
  UetAck a = ack(1);
  a.sack.timestamp = Timestamp::of(now);
  hear(a);
  EXPECT_EQ(sender().window().cwnd(), kb(221));
}

// [NSCC.adapt.ignore] After a quick adapt marks of what was in flight then are ignored.
TEST_F(UetSenderTest, QuickAdapt_IgnoresWhatIsInFlight) {
  params.ewma_q16 = 65'536;
  post(100);
  send();
  hear(ack(1));  // the first period begins
  now = kStart + us(25);
  UetAck late = ack(6);
  late.sack.ecn = true;
  late.sack.timestamp = Timestamp::of(now - us(100));
  hear(late);
  EXPECT_EQ(sender().window().cwnd(), bytes(5 * kMtu));
  now = kStart + us(38);
  UetAck marked = ack(7);
  marked.sack.ecn = true;
  marked.sack.timestamp = Timestamp::of(now - us(28));
  hear(marked);
  EXPECT_EQ(sender().window().cwnd(), bytes(5 * kMtu));
}

// [NSCC.adapt.ignore] [NSCC.nack] And trims, where a trim was the reason.
TEST_F(UetSenderTest, QuickAdapt_IgnoresTrimsOfWhatIsInFlight) {
  use(true);
  post(56);
  send();
  hear(ack(1));  // the first period begins, of 21 us
  now = kStart + us(20);
  hear(ack(6));
  now = kStart + us(22);
  hear(nack(6, 6));
  EXPECT_EQ(sender().window().cwnd(), bytes(5 * kMtu));
  hear(nack(7, 6));
  EXPECT_EQ(sender().window().cwnd(), bytes(5 * kMtu));
  EXPECT_EQ(sender().waiting(), 2u);
}

// [NSCC.nack] Without credit a trim at the last hop takes its size off the window; a NACK of what has arrived does not.
TEST_F(UetSenderTest, Nack_AndTheWindow) {
  use(true);
  post(100);
  send();
  hear(ack(0, 0b1000));
  hear(nack(3, 0));
  EXPECT_EQ(sender().window().cwnd(), kb(225));
  hear(nack(4, 0, true));
  EXPECT_EQ(sender().window().cwnd(), kb(221));
}

// [NSCC.quadrants] [UET.nack.last_hop] The policy of paths hears of a mark, and of one on a packet that was trimmed at the last
// hop; but not of a probe's.
TEST_F(UetSenderTest, MarksAreToldToThePaths) {
  enum class Of { data, nack, probe };
  for (const Of of : {Of::data, Of::nack, Of::probe}) {
    params.spray.policy = SprayPolicy::bitmap;
    params.spray.paths = 8;
    UetSender<> one(params, slots, records, Psn{0});
    ASSERT_EQ(one.on_message({1, 100 * kMtu}, now), PostResult::accepted);
    std::vector<PathId> paths;
    while (const auto packet = one.poll_transmit(now)) paths.push_back(packet->path_id);
    ASSERT_EQ(paths.size(), 56u);  // seven rounds
    UetAck a = of == Of::nack ? nack(0, 0, true) : ack(1);
    a.sack.ecn = true;
    a.sack.path_id = paths[0];
    a.sack.for_probe = of == Of::probe;
    one.on_receiving_ack(a, now);
    one.on_receiving_ack(ack(20), now);
    std::vector<PathId> next;
    for (int i = 0; i < 7; ++i) next.push_back(one.poll_transmit(now).value().path_id);
    if (of == Of::probe) next.push_back(one.poll_transmit(now).value().path_id);
    std::sort(next.begin(), next.end());
    EXPECT_EQ(std::unique(next.begin(), next.end()), next.end());
    EXPECT_EQ(std::find(next.begin(), next.end(), paths[0]) != next.end(), of == Of::probe);
  }
}

// No more is sent than can be tracked.
TEST_F(UetSenderTest, TheTrackingWindow) {
  params.tracking_window = 10;
  post(100);
  EXPECT_EQ(send().size(), 10u);
}

// What is acknowledged is told by PSN and bitmap, an old one's too; the rest times out, and takes its size off the window.
// [D71] [NSCC.timeout]
TEST_F(UetSenderTest, Timeout_OfWhatIsMissing) {
  use(true);
  post(20);
  send();
  UetAck a = ack(5);
  a.sack.psn = Psn{7};
  a.sack.ooo_count = 1;
  a.sack.bytes_recvd += kMtu;
  hear(a);
  UetAck old = ack(2, 0b1'0000'0000);  // 10
  old.sack.psn = Psn{1};
  hear(old);
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().waiting(), 13u);
  EXPECT_EQ(sender().window().cwnd(), kb(225) - bytes(13 * kMtu));
}

// [D71] What was sent since is not lost.
TEST_F(UetSenderTest, Timeout_OfWhatIsOld) {
  use(true);
  post(10);
  send();
  now = kStart + us(50);
  post(5);
  send();
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().waiting(), 10u);
}

// [UET.timeout] The time doubles three times, and starts again with each, though nothing is sent.
TEST_F(UetSenderTest, Timeout_Doubles) {
  use(true);
  post(10);
  send();
  for (const std::int64_t times : {1, 2, 4, 8, 8}) {
    ASSERT_EQ(sender().next_deadline(), now + us(times * 87));
    now = now + us(times * 87);
    sender().on_timeout(now);
  }
  EXPECT_EQ(sender().counters().timeouts, 5u);
}

// [UET.timeout] And with the first unacknowledged packet, when that is sent again.
TEST_F(UetSenderTest, Timeout_StartsWithARetransmission) {
  use(true);
  post(10);
  send();
  now = kStart + us(50);
  hear(nack(0, 0));
  EXPECT_EQ(send().size(), 1u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(50 + 87));
}

// [NSCC.timeout] Without NSCC its window stays as it is.
TEST_F(UetSenderTest, Timeout_WithoutTheWindow) {
  use(true);
  params.nscc = false;
  post(10);
  send();
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().waiting(), 10u);
  EXPECT_EQ(sender().window().cwnd(), kb(225));
}

// A PSN's bits serve again when 1024 more have been sent.
TEST_F(UetSenderTest, AcknowledgementsAreForgotten) {
  use(true);
  post(1'100);
  send();
  hear(ack(0, 0b100));
  while (sender().psn_next() <= Psn{1'026}) {
    hear(ack(sender().psn_next().value));
    send();
  }
  const auto under_way = static_cast<std::uint32_t>(sender().psn_next() - sender().una());
  ASSERT_LE(sender().una(), Psn{1'026});
  now = sender().next_deadline();
  sender().on_timeout(now);
  EXPECT_EQ(sender().waiting(), under_way);
}

// A message may be whole before an earlier one.
TEST_F(UetSenderTest, CompletesEarly) {
  ASSERT_EQ(sender().on_message({1, 2 * kMtu}, now), PostResult::accepted);
  ASSERT_EQ(sender().on_message({2, kMtu}, now), PostResult::accepted);
  send();
  hear(ack(0, 0b100));
  EXPECT_EQ(sender().poll_completion(), 2u);
  EXPECT_FALSE(sender().poll_completion());
}

// [SLEEK.enter] Not where switches trim, nor for old news, nor while something waits already.
TEST_F(UetSenderTest, Sleek_Enters) {
  enum class When { trimming, old, waiting, due };
  for (const When when : {When::trimming, When::old, When::waiting, When::due}) {
    use(when == When::trimming);
    params.sleek_cwnd = {1, 8};  // 7 packets
    UetSender<> one(params, slots, records, Psn{0});
    ASSERT_EQ(one.on_message({1, 100 * kMtu}, now), PostResult::accepted);
    while (one.poll_transmit(now)) {
    }
    if (when == When::old) one.on_receiving_ack(ack(10), now);
    if (when == When::waiting) one.on_receiving_ack(nack(0, 0), now);
    one.on_receiving_ack(ack(0, 0b11111110), now);
    EXPECT_EQ(one.in_recovery(), when == When::due);
  }
}

// [SLEEK.threshold] [SLEEK.range] At least five packets; with a window of one, one at a time, from the first hole on.
TEST_F(UetSenderTest, Sleek_WithASmallWindow) {
  params.alpha = params.fi = params.eta = bytes(0);  // nothing but a quick adapt moves the window
  params.fast_delay = ps(0);
  post(100);
  send();
  hear(ack(0, 0b10));
  now = kStart + us(25);
  UetAck bad = ack(0, 0b110);
  bad.sack.ecn = true;
  bad.sack.timestamp = Timestamp::of(now - us(100));
  hear(bad);
  ASSERT_EQ(sender().window().cwnd(), bytes(kMtu));
  hear(ack(0, 0b11110));
  EXPECT_FALSE(sender().in_recovery());
  hear(ack(0, 0b111110));
  EXPECT_TRUE(sender().in_recovery());
  EXPECT_EQ(sender().waiting(), 1u);
  ASSERT_EQ(send().at(0).psn, Psn{0});
  hear(ack(6));
  EXPECT_EQ(sender().waiting(), 1u);
  EXPECT_EQ(send().at(0).psn, Psn{6});
}

// [SLEEK.paths] Those that have arrived are not.
TEST_F(UetSenderTest, Sleek_TellsOfNoOthers) {
  params.sleek_cwnd = {1, 8};
  params.spray.policy = SprayPolicy::bitmap;
  params.spray.paths = 8;
  post(100);
  send();
  hear(ack(1, 0b11111110));  // 1 is missing, and 9 and so on may be under way
  std::vector<PathId> next;
  for (int i = 0; i < 7; ++i) next.push_back(sender().poll_transmit(now).value().path_id);
  std::sort(next.begin(), next.end());
  EXPECT_EQ(std::unique(next.begin(), next.end()), next.end());
}

// [SLEEK.window] What it sends again uses up no credit.
TEST_F(UetSenderTest, Sleek_NeedsNoCredit) {
  params.nscc = false;
  params.rccc = true;
  params.sleek_cwnd = {1, 8};
  post(100);
  EXPECT_EQ(send().size(), 56u);
  hear(pull(10));
  hear(ack(0, 0b11111110));
  EXPECT_EQ(send().size(), 49u + 10u);
  EXPECT_EQ(sender().credit(), 0);
}

// [SLEEK.probe] Any acknowledgement ends the silence, a NACK as well, and so does the answer to a probe.
TEST_F(UetSenderTest, Probe_SilenceEnds) {
  post(10);
  send();
  now = kStart + us(20);
  hear(ack(0, 0b10));
  EXPECT_EQ(sender().next_deadline(), kStart + us(20 + 24));
  now = kStart + us(44);
  sender().on_timeout(now);
  ASSERT_EQ(send().size(), 1u);
  now = kStart + us(50);
  hear(ack(0, 0b110));
  EXPECT_EQ(sender().next_deadline(), kStart + us(50 + 24));
  now = kStart + us(60);
  hear(nack(0, 0));
  EXPECT_EQ(sender().next_deadline(), kStart + us(87));
  EXPECT_EQ(send().size(), 1u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(60 + 24));
}

// [SLEEK.probe.verdict] The newest probe's answer counts, once, for what was sent before it; where nothing is missing, or something was
// sent again since, it says nothing.
TEST_F(UetSenderTest, ProbeVerdict_OfWhat) {
  enum class Answer { whole, resent, again, older, good };
  for (const Answer answer :
       {Answer::whole, Answer::resent, Answer::again, Answer::older, Answer::good}) {
    now = kStart;
    UetSender<> one(params, slots, records, Psn{0});
    const auto poll_all = [&] {
      std::vector<Packet> sent;
      while (const auto packet = one.poll_transmit(now)) sent.push_back(*packet);
      return sent;
    };
    ASSERT_EQ(one.on_message({1, 10 * kMtu}, now), PostResult::accepted);
    poll_all();
    now = kStart + us(24);
    one.on_timeout(now);
    const Packet probe = poll_all().at(0);
    EXPECT_EQ(probe.psn, Psn{0});
    ASSERT_EQ(one.on_message({2, 5 * kMtu}, now), PostResult::accepted);
    EXPECT_EQ(poll_all().size(), 5u);
    UetAck a = ack(answer == Answer::whole ? 10 : 8);
    a.sack.for_probe = true;
    a.sack.probe_id = probe.probe_id;
    if (answer == Answer::resent) {
      one.on_receiving_ack(nack(8, 8), now);
      EXPECT_EQ(poll_all().size(), 1u);
    } else if (answer == Answer::again) {
      UetAck late = a;
      late.sack.timestamp = Timestamp::of(now - us(24));
      one.on_receiving_ack(late, now);
    } else if (answer == Answer::older) {
      now = kStart + us(84);
      one.on_timeout(now);
      EXPECT_EQ(poll_all().size(), 1u);
      a.sack.timestamp = Timestamp::of(now - us(12));
    }
    one.on_receiving_ack(a, now);
    EXPECT_EQ(one.counters().recoveries, answer == Answer::good ? 1u : 0u);
    EXPECT_EQ(one.waiting(), answer == Answer::good ? 2u : 0u);
  }
}

// [SLEEK.probe.verdict] [SLEEK.range] In a recovery it starts that over, and does not end it sooner.
TEST_F(UetSenderTest, ProbeVerdict_InARecovery) {
  params.sleek_cwnd = {1, 8};
  post(20);
  send();
  now = kStart + us(24);
  sender().on_timeout(now);
  Packet probe = send().at(0);
  post(10);
  send();
  hear(ack(0, 0b11111110));
  EXPECT_EQ(sender().waiting(), 23u);
  UetAck a = ack(0, 0b11111110);
  a.sack.for_probe = true;
  a.sack.probe_id = probe.probe_id;
  hear(a);
  EXPECT_EQ(sender().counters().recoveries, 2u);
  EXPECT_EQ(send().size(), 23u);
  now = now + us(24);
  sender().on_timeout(now);
  probe = send().at(0);
  a.sack.probe_id = probe.probe_id;
  a.sack.timestamp = Timestamp::of(now - us(12));
  hear(a);
  EXPECT_EQ(sender().waiting(), 23u);  // all of it once more
  hear(ack(25));
  EXPECT_TRUE(sender().in_recovery());
}

// [SLEEK.enter] Nor does one of a probe that left before much of it.
TEST_F(UetSenderTest, ProbeVerdict_DoesNotEndARecovery) {
  params.sleek_cwnd = {1, 8};
  post(20);
  send();
  now = kStart + us(24);
  sender().on_timeout(now);
  const Packet probe = send().at(0);
  post(10);
  send();
  hear(ack(0, 0b11111110));
  UetAck a = ack(0, 0b11111110);
  a.sack.for_probe = true;
  a.sack.probe_id = probe.probe_id;
  hear(a);
  hear(ack(25));
  EXPECT_TRUE(sender().in_recovery());
}

/// Credit alone, ten packets without.
struct UetCreditTest : UetSenderTest {
  UetCreditTest() {
    use(true);
    params.nscc = false;
    params.rccc = true;
    params.speculative = 10;
  }
};

// [RCCC.speculative] A pull ends it, though not all of it is used up.
TEST_F(UetCreditTest, APullEndsSpeculation) {
  post(100);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender().poll_transmit(now));
  hear(pull(4));
  EXPECT_EQ(send().size(), 4u);
}

// [RCCC.speculative] Credit that older packets asked for takes the place of as much of it.
TEST_F(UetCreditTest, OlderCreditTakesThePlace) {
  post(8);
  EXPECT_EQ(send().size(), 8u);
  hear(ack(1));
  post(20);  // three may go without
  hear(pull(2));
  EXPECT_EQ(sender().credit(), 2);
  ASSERT_TRUE(sender().poll_transmit(now));
  EXPECT_EQ(sender().credit(), 1);  // which is used first
  EXPECT_EQ(send().size(), 2u);
}

// [D69] A message that is posted while another waits does not.
TEST_F(UetCreditTest, NoSpeculationWhileOthersWait) {
  post(100);
  send();
  hear(pull(4));
  send();
  hear(ack(14));
  post(5);
  EXPECT_EQ(send().size(), 0u);
}

// [RCCC.pull] One that is older than another, or absurd, means nothing; nor does any without RCCC.
TEST_F(UetCreditTest, PullsThatMeanNothing) {
  post(100);
  send();
  hear(pull(10));
  hear(pull(4));
  EXPECT_EQ(sender().credit(), 10);
  hear(pull(11 + (1u << 16)));
  EXPECT_EQ(sender().credit(), 10);
  params.rccc = false;
  hear(pull(12));
  EXPECT_EQ(sender().credit(), 10);
}

// [RCCC.target] At most as far ahead as a target's bits can tell; and with more credit than packets, no less than was granted.
TEST_F(UetCreditTest, Target_Bounds) {
  params.max_cwnd = bytes(1'000 * kMtu);
  params.speculative = 1;
  post(1);
  EXPECT_EQ(send().at(0).note % UetNote::kTargetRange, 0);
  hear(pull(20));
  post(5);
  EXPECT_EQ(send().at(0).note % UetNote::kTargetRange, 20);
  hear(ack(6));
  post(2'000);
  EXPECT_EQ(send().at(0).note % UetNote::kTargetRange, (20u + 896u) % UetNote::kTargetRange);
}

// [RCCC.nscc] The target is at most NSCC's window and one.
TEST_F(UetCreditTest, Target_WithAWindow) {
  params.nscc = true;
  params.max_cwnd = bytes(10 * kMtu);
  params.speculative = 2;
  post(100);
  send();
  hear(nack(0, 0));
  hear(nack(1, 0));
  ASSERT_EQ(sender().window().cwnd(), bytes(8 * kMtu));
  hear(pull(1));
  EXPECT_EQ(send().at(0).note % UetNote::kTargetRange, 1 + 9 - 2);  // the receiver adds the trims
}

// [RCCC.trimmed] A probe tells of those, too; and what was trimmed is known to the receiver: nobody asks for it.
TEST_F(UetCreditTest, TrimsAreKnown) {
  params.speculative = 1;
  post(1);
  send();
  hear(nack(0, 0));
  EXPECT_EQ(send().size(), 0u);
  now = kStart + us(60);
  ASSERT_EQ(sender().next_deadline(), now);
  sender().on_timeout(now);
  EXPECT_EQ(send().at(0).note, 1 | UetNote::kAckBit);
}

// [RCCC.rts] Who may still speculate asks for nothing, though the window is full; nor does a timeout with credit.
TEST_F(UetCreditTest, AsksOnlyWithoutCredit) {
  params.nscc = true;
  params.max_cwnd = bytes(kMtu);
  post(1);
  EXPECT_EQ(send().size(), 1u);
  post(1);
  EXPECT_EQ(send().size(), 0u);
  hear(pull(5));
  now = kStart + us(87);
  sender().on_timeout(now);
  EXPECT_EQ(sender().counters().timeouts, 1u);
  const auto again = send();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].type, PacketType::data);
}

// [RCCC.again] It counts from the last packet, question or word of the receiver; and only where something waits without credit.
TEST_F(UetCreditTest, AsksAgain_SinceWhen) {
  params.speculative = 2;
  params.rto = ms(1);
  post(2);
  send();
  EXPECT_EQ(sender().next_deadline(), kStart + ms(1));  // nothing waits
  post(5);
  EXPECT_EQ(send().size(), 0u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(60));
  now = kStart + us(10);
  hear(pull(1));
  EXPECT_EQ(sender().next_deadline(), kStart + ms(1));  // there is credit
  now = kStart + us(30);
  EXPECT_EQ(send().size(), 1u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(30 + 60));
  now = kStart + us(40);
  hear(ack(1));
  EXPECT_EQ(sender().next_deadline(), kStart + us(40 + 60));
}

// [RCCC.again] From a question that was asked at once; and a connection that begins without credit from its beginning.
TEST_F(UetCreditTest, AsksAgain_SinceTheQuestion) {
  params.speculative = 0;
  params.rto = ms(1);
  post(5);
  EXPECT_EQ(sender().next_deadline(), kStart + us(60));
  now = kStart + us(10);
  ASSERT_EQ(send().size(), 1u);
  EXPECT_EQ(sender().next_deadline(), kStart + us(10 + 60));
}

// What cannot be true is refused whole, each by itself.
TEST_F(UetSenderTest, RefusesEachNonsense) {
  post(10);
  send();
  const auto refuses = [&](auto&& change) {
    UetAck a = ack(2, 0b1010);
    change(a.sack);
    const std::uint32_t before = sender().counters().acks_rejected;
    hear(a);
    return sender().counters().acks_rejected > before;
  };
  EXPECT_TRUE(refuses([](Sack& s) { s.epsn = s.sack_base = Psn{11}, s.bitmap = 0; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.epsn = s.sack_base = Psn{10}, s.bitmap = 0; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.sack_base = Psn{1}; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.sack_base = Psn{2 + 1'024}, s.bitmap = 0; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.ooo_count = 1'024; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.psn = s.epsn; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.bitmap = 0b1'0000'0000; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.bitmap = 0b11; }));
  EXPECT_TRUE(refuses([](Sack& s) { s.ooo_count = 1; }));
  EXPECT_EQ(sender().una(), Psn{0});
  EXPECT_FALSE(refuses([](Sack&) {}));
}

// [RCCC.speculative] What goes by credit takes nothing of what may be sent without.
TEST_F(UetSenderTest, Credit_LeavesSpeculationAsItWas) {
  use(true);
  params.nscc = false;
  params.rccc = true;
  params.speculative = 10;
  post(10);
  ASSERT_EQ(send().size(), 10u);  // none by credit
  hear(pull(9));
  hear(ack(10));
  post(5);
  ASSERT_EQ(send().size(), 5u);  // 4 of credit are left
  post(30);
  std::size_t data = 0;
  for (const Packet& packet : send()) data += packet.type == PacketType::data ? 1u : 0u;
  EXPECT_EQ(data, 4u + 10u);
}

// [SLEEK.paths] Of what waits to be sent again the paths hear once, whatever a timeout says of it.
TEST_F(UetSenderTest, Sleek_TellsOfEachOnce) {
  params.sleek_cwnd = {1, 8};
  params.spray.policy = SprayPolicy::bitmap;
  params.spray.paths = 8;
  post(100);
  const auto sent = send();
  UetAck a = ack(2, 0b101111110);  // 2 and 9 are missing
  a.sack.path_id = sent.at(10).path_id;
  hear(a);
  ASSERT_TRUE(sender().in_recovery());
  while (sender().counters().timeouts == 0) {
    now = sender().next_deadline();
    sender().on_timeout(now);
  }
  std::vector<PathId> next;
  while (const auto packet = sender().poll_transmit(now)) {
    if (packet->type == PacketType::data) next.push_back(packet->path_id);
  }
  // Four points each, of which a round takes one off the first that it passes over: these are neighbours.
  const auto first = [&](PathId path) {
    return std::find(next.begin(), next.end(), path) - next.begin();
  };
  EXPECT_EQ(first(sent[2].path_id), 26);
  EXPECT_EQ(first(sent[9].path_id), 42);
}

}  // namespace
}  // namespace strack::core
