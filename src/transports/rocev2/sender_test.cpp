#include "transports/rocev2/sender.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "transports/rocev2/receiver.h"

namespace strack::core {
namespace {

/// What a sender told its watcher.
struct Log {
  struct Sample {
    Picoseconds rtt;
    Bytes acked;
  };
  struct Back {
    PathId qp;
    Psn from;
    bool timeout;
  };
  std::vector<RoceRare> reached;
  std::vector<Sample> samples;
  std::vector<Back> went_back;
  std::vector<RoceAck> rejected;
  std::vector<BitsPerSecond> rates;  // of packets sent
  std::vector<MessageId> completed;

  [[nodiscard]] auto count(RoceRare branch) const {
    return std::count(reached.begin(), reached.end(), branch);
  }
};

struct Sink {
  Log* log = nullptr;

  void on(const RoceReached& event) const { log->reached.push_back(event.branch); }
  void on(const RoceAckReceived& event) const { log->samples.push_back({event.rtt, event.acked}); }
  void on(const WentBack& event) const {
    log->went_back.push_back({event.qp, event.from, event.timeout});
  }
  void on(const RoceAckRejected& event) const { log->rejected.push_back(event.ack); }
  void on(const RocePacketSent& event) const { log->rates.push_back(event.rate); }
  void on(const MessageCompleted& event) const { log->completed.push_back(event.message_id); }
  template <class Event>
  void on(const Event& /*event*/) const {}
};

using TestSender = RoceSender<Sink>;

/// When most tests send their first packet.
constexpr Instant kStart = at(us(100));
constexpr Instant after_start(Picoseconds time) { return kStart + time; }
/// A full packet on the wire: 1064 bytes, 1 ns each.
constexpr Picoseconds kPacket = ns(1'064);

/// A link of 8 Gb/s with packets of 1000 bytes and 64 of headers, a timeout of 1 ms. Tests of
/// several QPs have four with stripes of two packets. Every test runs once per initial PSN, and
/// counts PSNs from there: the wrap at 2^32 falls before, inside and behind what it does. All of
/// them are the first of a round of stripes.
class RoceSenderTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  RoceSenderTest() { params.rto = ms(1); }

  [[nodiscard]] TestSender make() {
    return {params, slots, std::span(qps).first(params.qps_per_conn), psn(0), Sink{&log}};
  }
  /// Four QPs: packets 0 1 | 2 3 | 4 5 | 6 7, then the first again with 8 9.
  [[nodiscard]] TestSender make_striped() {
    params.qps_per_conn = 4;
    params.stripe_packets = 2;
    return make();
  }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  static void post(TestSender& sender, MessageId id, std::uint32_t length) {
    ASSERT_EQ(sender.on_message({id, length}, kStart), PostResult::accepted);
  }
  /// Everything that may go at this very instant.
  static std::vector<Packet> send(TestSender& sender, Instant now) {
    std::vector<Packet> packets;
    while (const auto packet = sender.poll_transmit(now)) packets.push_back(*packet);
    return packets;
  }
  /// Everything there is, each packet as soon as pacing lets it go; nothing waits 100 us here.
  static std::vector<Packet> send_all(TestSender& sender, Instant& now) {
    std::vector<Packet> packets = send(sender, now);
    while (sender.next_deadline() - now < us(100)) {
      now = sender.next_deadline();
      sender.on_timeout(now);
      for (const Packet& packet : send(sender, now)) packets.push_back(packet);
    }
    return packets;
  }
  [[nodiscard]] std::vector<std::int32_t> psns(const std::vector<Packet>& packets) const {
    std::vector<std::int32_t> result;
    for (const Packet& packet : packets) result.push_back(rel(packet.psn));
    return result;
  }
  /// A sender that has just sent one message of so many bytes; `now` is when the last packet went.
  [[nodiscard]] TestSender sending(std::uint32_t length) {
    TestSender sender = make();
    post(sender, 1, length);
    now = kStart;
    send_all(sender, now);
    return sender;
  }
  [[nodiscard]] TestSender sending_striped(std::uint32_t length) {
    params.qps_per_conn = 4;
    params.stripe_packets = 2;
    return sending(length);
  }
  static std::vector<MessageId> completions(TestSender& sender) {
    std::vector<MessageId> ids;
    while (const auto id = sender.poll_completion()) ids.push_back(*id);
    return ids;
  }

  [[nodiscard]] RoceAck ack(std::uint32_t epsn, PathId qp = 0) const {
    return {RoceAckKind::ack, qp, psn(epsn), Timestamp::of(kStart)};
  }
  [[nodiscard]] RoceAck nak(std::uint32_t epsn, PathId qp = 0) const {
    return {RoceAckKind::nak, qp, psn(epsn), Timestamp::of(kStart)};
  }
  [[nodiscard]] RoceAck cnp(PathId qp = 0) const {
    return {RoceAckKind::cnp, qp, Psn{0x1234'5678}, Timestamp::of(kStart)};
  }

  void expect_qp(const TestSender& sender, std::uint32_t qp, std::int32_t una, std::int32_t next,
                 std::int32_t high) const {
    EXPECT_EQ(rel(sender.qp(qp).una), una);
    EXPECT_EQ(rel(sender.qp(qp).next), next);
    EXPECT_EQ(rel(sender.qp(qp).high), high);
  }
  /// Counted as rejected, and nothing else changes, deadlines included.
  void expect_rejected(TestSender& sender, const RoceAck& ack) {
    const std::array<RoceSenderQp, kMaxQps> before = qps;
    const Bytes acked = sender.acked_bytes();
    const RoceSenderCounters counters = sender.counters();
    const std::size_t samples = log.samples.size();
    const Instant deadline = sender.next_deadline();
    log.rejected.clear();

    sender.on_receiving_ack(ack, now);

    EXPECT_EQ(log.rejected.size(), 1u);
    EXPECT_EQ(log.samples.size(), samples);
    EXPECT_EQ(sender.counters().acks_rejected, counters.acks_rejected + 1);
    EXPECT_EQ(sender.counters().cnps, counters.cnps);
    EXPECT_EQ(sender.counters().naks, counters.naks);
    EXPECT_EQ(sender.acked_bytes(), acked);
    EXPECT_EQ(sender.next_deadline(), deadline);
    for (std::uint32_t i = 0; i < params.qps_per_conn; ++i) {
      EXPECT_EQ(qps[i].una, before[i].una);
      EXPECT_EQ(qps[i].next, before[i].next);
      EXPECT_EQ(qps[i].high, before[i].high);
      EXPECT_EQ(qps[i].timeout_ts, before[i].timeout_ts);
      EXPECT_EQ(qps[i].dcqcn.ask_again(params), before[i].dcqcn.ask_again(params));
      EXPECT_EQ(qps[i].dcqcn.active(), before[i].dcqcn.active());
    }
  }

  RoceParams params = RoceParams::for_link(gbps(8), us(8), bytes(1'000)).value();
  std::array<MessageSlot, 4> slots{};
  std::array<RoceSenderQp, kMaxQps> qps{};
  Log log;
  Instant now = kStart;
};

INSTANTIATE_TEST_SUITE_P(FirstPsn, RoceSenderTest,
                         testing::Values(0u, 1'000u, 0x7fff'fff8u, 0xffff'ffe0u, 0xffff'fff0u,
                                         0xffff'fff8u));

// ---- Construction ----

// [R.roce.stripe] [D32] Each QP at its first packet, nothing to send, no deadline.
TEST_P(RoceSenderTest, New_IsIdle) {
  TestSender sender = make_striped();
  expect_qp(sender, 0, 0, 0, 0);
  expect_qp(sender, 1, 2, 2, 2);
  expect_qp(sender, 3, 6, 6, 6);
  EXPECT_TRUE(sender.idle());
  EXPECT_FALSE(sender.poll_transmit(kStart));
  EXPECT_FALSE(sender.poll_completion());
  EXPECT_EQ(sender.next_deadline(), Instant::never());
  EXPECT_EQ(rel(sender.epsn()), 0);
}

// [R.dcqcn.start] Every QP starts at the line's rate; together they have no more than that.
TEST_P(RoceSenderTest, New_AtLineRate) {
  TestSender sender = make_striped();
  for (std::uint32_t i = 0; i < 4; ++i) {
    Dcqcn limiter = sender.qp(i).dcqcn;
    EXPECT_EQ(limiter.rate(params, kStart), gbps(8));
  }
  EXPECT_EQ(sender.rate(kStart), gbps(8));
}

// ---- on_message ----

// [D20] Without a free slot a message is refused; a completion frees one.
TEST_P(RoceSenderTest, OnMessage_QueueFull) {
  TestSender sender = make();
  for (MessageId id = 1; id <= 4; ++id) post(sender, id, 1'000);
  EXPECT_FALSE(sender.idle());
  EXPECT_EQ(sender.on_message({5, 1'000}, kStart), PostResult::queue_full);
  EXPECT_EQ(log.count(RoceRare::message_queue_full), 1);

  EXPECT_EQ(send_all(sender, now).size(), 4u);
  sender.on_receiving_ack(ack(1), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1}));
  EXPECT_EQ(sender.on_message({5, 1'000}, now), PostResult::accepted);
}

// ---- poll_transmit: what is sent ----

// [D20] [D21] [D27] What a packet says.
TEST_P(RoceSenderTest, PollTransmit_FillsInThePacket) {
  TestSender sender = make();
  post(sender, 77, 2'500);
  const std::vector<Packet> packets = send_all(sender, now);
  ASSERT_EQ(packets.size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) {
    EXPECT_EQ(packets[n].type, PacketType::data);
    EXPECT_FALSE(packets[n].retransmission);
    EXPECT_EQ(rel(packets[n].psn), static_cast<std::int32_t>(n));
    EXPECT_EQ(packets[n].path_id, 0);
    EXPECT_EQ(packets[n].message_id, 77u);
    EXPECT_EQ(packets[n].message_length, 2'500u);
    EXPECT_EQ(packets[n].offset, 1'000 * n);
    EXPECT_EQ(packets[n].payload, n < 2 ? 1'000 : 500);
  }
  EXPECT_EQ(packets[0].timestamp, Timestamp::of(kStart));
  EXPECT_EQ(packets[2].timestamp, Timestamp::of(now));
}

// [D20] An empty message is one empty packet.
TEST_P(RoceSenderTest, PollTransmit_AnEmptyMessage) {
  TestSender sender = sending(0);
  expect_qp(sender, 0, 0, 1, 1);
  EXPECT_FALSE(sender.idle());
  sender.on_receiving_ack(ack(1), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1}));
  EXPECT_EQ(sender.acked_bytes(), bytes(0));
  EXPECT_TRUE(sender.idle());
}

// [R.roce.stripe] [D32] Two packets to each QP in turn, over several messages; the path is the
// QP's.
TEST_P(RoceSenderTest, PollTransmit_DealsStripesToQps) {
  TestSender sender = make_striped();
  post(sender, 1, 5'000);   // 0 .. 4
  post(sender, 2, 11'000);  // 5 .. 15
  const std::vector<Packet> packets = send_all(sender, now);
  ASSERT_EQ(packets.size(), 16u);
  for (const Packet& packet : packets) {
    EXPECT_EQ(packet.path_id, rel(packet.psn) / 2 % 4);
    EXPECT_EQ(packet.message_id, rel(packet.psn) < 5 ? 1u : 2u);
  }
  expect_qp(sender, 0, 0, 16, 16);
  expect_qp(sender, 3, 6, 22, 22);
}

// [R.roce.stripe] QPs take turns: one packet each, and the next poll goes on where the last ended.
TEST_P(RoceSenderTest, PollTransmit_QpsTakeTurns) {
  TestSender sender = make_striped();
  post(sender, 1, 12'000);  // QP 0: 0 1 8 9, QP 1: 2 3 10 11, QP 2: 4 5, QP 3: 6 7
  EXPECT_EQ(psns(send(sender, kStart)), (std::vector<std::int32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(psns(send(sender, after_start(kPacket))), (std::vector<std::int32_t>{8, 10}));
  EXPECT_EQ(psns(send(sender, after_start(2 * kPacket))), (std::vector<std::int32_t>{9, 11}));
}

// [R.roce.stripe] A QP that cannot is passed over, and it is then the turn of whoever follows.
TEST_P(RoceSenderTest, PollTransmit_PassesOverQpsWithNothingToSend) {
  TestSender sender = make_striped();
  post(sender, 1, 2'000);  // QP 0 only
  EXPECT_EQ(rel(sender.poll_transmit(kStart)->psn), 0);
  EXPECT_EQ(rel(sender.poll_transmit(kStart)->psn), 1);
  post(sender, 2, 8'000);  // 2 .. 9: each QP two
  EXPECT_EQ(rel(sender.poll_transmit(after_start(us(50)))->psn), 2);
  EXPECT_EQ(rel(sender.poll_transmit(after_start(us(50)))->psn), 4);
  EXPECT_EQ(rel(sender.poll_transmit(after_start(us(50)))->psn), 6);
  EXPECT_EQ(rel(sender.poll_transmit(after_start(us(50)))->psn), 8);
  EXPECT_EQ(rel(sender.poll_transmit(after_start(us(50)))->psn), 3);
}

// ---- poll_transmit: pacing ----

/// [R.roce.pacing] A sender on the beat: it sent a packet at kStart and the next is due one
/// packet's time later.
class RocePacingTest : public RoceSenderTest {
 protected:
  [[nodiscard]] TestSender on_the_beat(std::uint32_t length = 1'000'000) {
    TestSender sender = make();
    post(sender, 1, length);
    EXPECT_EQ(send(sender, kStart).size(), 2u);  // as after any long wait
    return sender;
  }
};
INSTANTIATE_TEST_SUITE_P(FirstPsn, RocePacingTest, testing::Values(0u, 0xffff'fff8u));

// [R.roce.pacing] At t = 0 nothing has been waited for: one packet, then one per 1064 ns, headers
// included.
TEST_P(RocePacingTest, FromTheStartOfTheClock) {
  TestSender sender = make();
  post(sender, 1, 10'000);
  EXPECT_EQ(send(sender, at(ps(0))).size(), 1u);
  EXPECT_TRUE(send(sender, at(kPacket - ps(1))).empty());
  EXPECT_EQ(send(sender, at(kPacket)).size(), 1u);
  EXPECT_TRUE(send(sender, at(2 * kPacket - ps(1))).empty());
  EXPECT_EQ(send(sender, at(2 * kPacket)).size(), 1u);
}

// [R.roce.pacing] A poll that pacing keeps empty says when to come again, to the picosecond.
TEST_P(RocePacingTest, AnEmptyPollSaysWhenToComeAgain) {
  TestSender sender = on_the_beat();
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket));
  EXPECT_FALSE(sender.poll_transmit(after_start(kPacket - ps(1))));
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket));
  sender.on_timeout(after_start(kPacket - ps(1)));  // early calls are harmless
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket));

  sender.on_timeout(after_start(kPacket));
  EXPECT_EQ(sender.next_deadline(), after_start(params.rto));  // the poll is up to the host
  EXPECT_TRUE(sender.poll_transmit(after_start(kPacket)));
  EXPECT_FALSE(sender.poll_transmit(after_start(kPacket)));
  EXPECT_EQ(sender.next_deadline(), after_start(2 * kPacket));
}

// [R.roce.pacing] Nothing left to send is nothing to come again for.
TEST_P(RocePacingTest, NoDeadlineWithNothingToSend) {
  TestSender sender = on_the_beat(2'000);
  EXPECT_EQ(sender.next_deadline(), after_start(params.rto));
}

// [R.roce.pacing] [D33] 500 ns late: the beat is kept, so the next follows 564 ns later.
TEST_P(RocePacingTest, ALatePacketIsMadeUpFor) {
  TestSender sender = on_the_beat();
  EXPECT_EQ(send(sender, after_start(kPacket + ns(500))).size(), 1u);
  EXPECT_EQ(sender.next_deadline(), after_start(2 * kPacket));
  EXPECT_EQ(send(sender, after_start(2 * kPacket)).size(), 1u);
}

// [R.roce.pacing] [D33] By no more than one packet's time: one picosecond less than that late, and
// the beat is kept; that late, and two go at once; much later, and two go at once, no more.
TEST_P(RocePacingTest, NoMoreThanOnePacketIsMadeUpFor) {
  TestSender just = on_the_beat();
  const Instant almost = after_start(2 * kPacket - ps(1));
  EXPECT_EQ(send(just, almost).size(), 1u);
  EXPECT_EQ(just.next_deadline(), after_start(2 * kPacket));

  TestSender one = on_the_beat();
  EXPECT_EQ(send(one, after_start(2 * kPacket)).size(), 2u);
  EXPECT_EQ(one.next_deadline(), after_start(3 * kPacket));

  TestSender long_wait = on_the_beat();
  EXPECT_EQ(send(long_wait, after_start(us(500))).size(), 2u);
  EXPECT_EQ(long_wait.next_deadline(), after_start(us(500) + kPacket));
}

// [R.roce.pacing] Each packet takes its own time: 564 ns for 500 bytes, 64 for none.
TEST_P(RocePacingTest, ShortPacketsTakeLessTime) {
  TestSender sender = on_the_beat(2'500);
  post(sender, 2, 0);
  post(sender, 3, 1'000);
  EXPECT_EQ(send(sender, after_start(kPacket)).size(), 1u);  // 500 bytes
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket + ns(564)));
  EXPECT_EQ(send(sender, after_start(kPacket + ns(564))).size(), 1u);  // none
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket + ns(564) + ns(64)));
}

// [R.roce.pacing] [R.dcqcn.cut] A cut to 4 Gb/s at 10 ns: the 1054 ns that were left become 2108,
// and the next packet takes 2128.
TEST_P(RocePacingTest, FollowsTheRate) {
  TestSender sender = on_the_beat();
  sender.on_receiving_ack(cnp(), after_start(ns(10)));
  const Instant due = after_start(ns(2'118));
  EXPECT_TRUE(send(sender, after_start(kPacket)).empty());
  EXPECT_EQ(sender.next_deadline(), due);
  EXPECT_TRUE(send(sender, due - ps(1)).empty());
  EXPECT_EQ(send(sender, due).size(), 1u);
  EXPECT_EQ(sender.next_deadline(), due + ns(2'128));
  EXPECT_EQ(log.rates.back(), gbps(4));
  EXPECT_EQ(sender.rate(due), gbps(4));
}

// [R.roce.pacing] [R.dcqcn.timer] An increase may let a packet go sooner: the sender asks to be
// polled when it comes. 300 us after the cut it is 6 Gb/s, and of 2128 ns the 1128 left become 752.
TEST_P(RocePacingTest, AnIncreaseLetsAPacketGoSooner) {
  TestSender sender = on_the_beat();
  sender.on_receiving_ack(cnp(), kStart);
  const Instant increase = after_start(us(300));
  EXPECT_EQ(send(sender, increase - ns(1'000)).size(), 2u);
  EXPECT_EQ(sender.next_deadline(), increase);
  sender.on_timeout(increase);
  EXPECT_TRUE(send(sender, increase).empty());
  EXPECT_EQ(sender.next_deadline(), increase + ns(752));
  EXPECT_EQ(send(sender, increase + ns(752)).size(), 1u);
}

// [R.roce.pacing] [R.dcqcn.timer] Looking at the rate changes nothing, and shows what it will be.
TEST_P(RocePacingTest, Rate_LooksAhead) {
  TestSender sender = on_the_beat();
  sender.on_receiving_ack(cnp(), kStart);
  EXPECT_EQ(sender.rate(after_start(us(300))), gbps(6));
  EXPECT_EQ(sender.rate(after_start(us(299))), gbps(4));
  EXPECT_EQ(sender.qp(0).dcqcn.timer_events(), 0u);
}

// [R.dcqcn.bytes] [R.roce.pacing] The byte counter counts the wire, headers included: 2128 are two
// packets, and the second's 2128 ns become 1418.666 at 6 Gb/s.
TEST_P(RocePacingTest, TheByteCounterCountsTheWire) {
  params.dcqcn.byte_counter = bytes(2'128);
  TestSender sender = on_the_beat();
  sender.on_receiving_ack(cnp(), kStart);
  EXPECT_EQ(send(sender, after_start(ns(2'128))).size(), 1u);
  EXPECT_EQ(sender.qp(0).dcqcn.byte_events(), 0u);
  EXPECT_EQ(send(sender, after_start(ns(4'256))).size(), 1u);
  EXPECT_EQ(sender.qp(0).dcqcn.byte_events(), 1u);
  EXPECT_EQ(sender.next_deadline(), after_start(ns(4'256) + ps(1'418'666)));
}

// [R.roce.pacing] [R.roce.stripe] Of several QPs the first that is due: QP 1 was cut, QP 0 was not.
TEST_P(RocePacingTest, TheEarliestQpIsTheDeadline) {
  params.qps_per_conn = 2;
  params.stripe_packets = 2;
  TestSender sender = make();
  post(sender, 1, 20'000);
  sender.on_receiving_ack(cnp(1), at(us(1)));
  EXPECT_EQ(send(sender, kStart).size(), 4u);
  EXPECT_EQ(sender.next_deadline(), after_start(kPacket));
  EXPECT_EQ(psns(send(sender, after_start(kPacket))), (std::vector<std::int32_t>{4}));
  EXPECT_EQ(psns(send(sender, after_start(2 * kPacket))), (std::vector<std::int32_t>{6, 5}));
}

// [R.dcqcn.start] [R.dcqcn.cut] A CNP cuts the QP that it names and no other.
TEST_P(RocePacingTest, ACnpIsForOneQp) {
  TestSender sender = make_striped();
  sender.on_receiving_ack(cnp(2), kStart);
  for (std::uint32_t i = 0; i < 4; ++i) {
    Dcqcn limiter = sender.qp(i).dcqcn;
    EXPECT_EQ(limiter.rate(params, kStart), i == 2 ? gbps(4) : gbps(8));
    EXPECT_EQ(limiter.active(), i == 2);
  }
  EXPECT_EQ(sender.counters().cnps, 1u);
  EXPECT_EQ(sender.rate(kStart), gbps(8));  // 28, but there is one line
}

// ---- poll_transmit: max_outstanding ----

// [R.roce.outstanding] [D34] Three packets and no more, however long it waits; an ACK of two lets
// two more go.
TEST_P(RoceSenderTest, MaxOutstanding_HoldsNewPacketsBack) {
  params.max_outstanding = 3;
  TestSender sender = sending(10'000);
  expect_qp(sender, 0, 0, 3, 3);
  EXPECT_GE(log.count(RoceRare::outstanding_full), 1);
  EXPECT_FALSE(sender.poll_transmit(after_start(us(900))));
  EXPECT_EQ(sender.next_deadline(), after_start(params.rto));  // not to be waited for by a poll

  now = after_start(us(900));
  sender.on_receiving_ack(ack(2), now);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{3, 4}));
}

// [R.roce.outstanding] [R.roce.stripe] It is each QP's own bound.
TEST_P(RoceSenderTest, MaxOutstanding_OfEachQp) {
  params.max_outstanding = 3;
  TestSender sender = sending_striped(32'000);
  expect_qp(sender, 0, 0, 9, 9);
  expect_qp(sender, 3, 6, 15, 15);
  sender.on_receiving_ack(ack(9, 0), now);
  now = now + us(10);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{9, 16, 17}));
}

// [R.roce.outstanding] [R.roce.go_back] What is sent again is not beyond the bound, and what
// follows is held to it.
TEST_P(RoceSenderTest, MaxOutstanding_HoldsAfterGoingBack) {
  params.max_outstanding = 3;
  TestSender sender = sending(10'000);
  now = now + us(10);
  sender.on_receiving_ack(nak(0), now);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{0, 1, 2}));
  now = now + us(10);
  sender.on_receiving_ack(nak(1), now);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{1, 2, 3}));
}

// ---- on_receiving_ack: ACKs ----

// [R.roce.ack] All before it are acknowledged; the message completes with its last packet.
TEST_P(RoceSenderTest, Ack_AcknowledgesAllBefore) {
  TestSender sender = sending(5'000);
  sender.on_receiving_ack(ack(3), after_start(us(20)));
  expect_qp(sender, 0, 3, 5, 5);
  EXPECT_EQ(rel(sender.epsn()), 3);
  EXPECT_EQ(sender.acked_bytes(), bytes(3'000));
  EXPECT_TRUE(completions(sender).empty());
  EXPECT_FALSE(sender.idle());

  sender.on_receiving_ack(ack(5), after_start(us(21)));
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1}));
  EXPECT_EQ(log.completed, (std::vector<MessageId>{1}));
  EXPECT_TRUE(sender.idle());
  EXPECT_EQ(sender.next_deadline(), Instant::never());
  ASSERT_EQ(log.samples.size(), 2u);
  EXPECT_EQ(log.samples[0].rtt, us(20));
  EXPECT_EQ(log.samples[0].acked, bytes(3'000));
  EXPECT_EQ(log.samples[1].acked, bytes(2'000));
}

// [D20] Acknowledged bytes are payload to the byte: short last packets, empty messages.
TEST_P(RoceSenderTest, Ack_CountsPayloadExactly) {
  TestSender sender = make();
  post(sender, 1, 1'500);  // 0: 1000, 1: 500
  post(sender, 2, 0);      // 2: 0
  post(sender, 3, 1);      // 3: 1
  post(sender, 4, 2'999);  // 4: 1000, 5: 1000, 6: 999
  EXPECT_EQ(send_all(sender, now).size(), 7u);
  const std::array<std::int64_t, 8> acked{0, 1'000, 1'500, 1'500, 1'501, 2'501, 3'501, 4'500};
  for (std::uint32_t epsn = 0; epsn <= 7; ++epsn) {
    TestSender copy = sender;
    const std::array<RoceSenderQp, kMaxQps> saved = qps;
    copy.on_receiving_ack(ack(epsn), now);
    EXPECT_EQ(copy.acked_bytes().count(), acked[epsn]) << epsn;
    qps = saved;
  }
  for (std::uint32_t epsn = 1; epsn <= 7; ++epsn) sender.on_receiving_ack(ack(epsn), now);
  EXPECT_EQ(sender.acked_bytes(), bytes(4'500));
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1, 2, 3, 4}));
}

// [D20] [R.roce.stripe] And so over several QPs: a short packet counts for the QP that had it.
TEST_P(RoceSenderTest, Ack_CountsPayloadOfEachQp) {
  TestSender sender = make_striped();
  post(sender, 1, 2'400);  // 0 1 | 2: 400
  post(sender, 2, 9'001);  // 3 | 4 5 | 6 7 | 8 9 | 10 11, 12: 1
  EXPECT_EQ(send_all(sender, now).size(), 13u);
  const auto acked_by = [&](std::uint32_t epsn, PathId qp) {
    const Bytes before = sender.acked_bytes();
    sender.on_receiving_ack(ack(epsn, qp), now);
    return (sender.acked_bytes() - before).count();
  };
  EXPECT_EQ(acked_by(16, 0), 4'000);  // 0 1 8 9
  EXPECT_EQ(acked_by(3, 1), 400);     // 2
  EXPECT_EQ(acked_by(18, 1), 3'000);  // 3 10 11
  EXPECT_EQ(acked_by(13, 2), 2'001);  // 4 5 12
  EXPECT_EQ(acked_by(14, 3), 2'000);  // 6 7
  EXPECT_EQ(sender.acked_bytes(), bytes(11'401));
  EXPECT_TRUE(sender.idle());
}

// [R.roce.ack] One that was overtaken says nothing new, and keeps no timeout away.
TEST_P(RoceSenderTest, Ack_AStaleOneIsIgnored) {
  TestSender sender = sending(5'000);
  sender.on_receiving_ack(ack(4), after_start(us(20)));
  sender.on_receiving_ack(ack(2), after_start(us(30)));
  expect_qp(sender, 0, 4, 5, 5);
  EXPECT_EQ(sender.acked_bytes(), bytes(4'000));
  EXPECT_EQ(sender.next_deadline(), after_start(us(20) + params.rto));
  EXPECT_EQ(log.count(RoceRare::stale_ack), 1);
  EXPECT_EQ(log.count(RoceRare::stale_nak), 0);
  EXPECT_EQ(log.samples.size(), 1u);
  EXPECT_EQ(sender.counters().acks_rejected, 0u);
}

// [R.roce.timeout] The same ACK again is no progress.
TEST_P(RoceSenderTest, Ack_ARepeatedOneIsNoProgress) {
  TestSender sender = sending(5'000);
  sender.on_receiving_ack(ack(4), after_start(us(20)));
  sender.on_receiving_ack(ack(4), after_start(us(30)));
  expect_qp(sender, 0, 4, 5, 5);
  EXPECT_EQ(sender.next_deadline(), after_start(us(20) + params.rto));
  EXPECT_TRUE(log.went_back.empty());
}

// [R.roce.go_back] What was to be sent again has arrived after all: it is not sent.
TEST_P(RoceSenderTest, Ack_OvertakesAResend) {
  TestSender sender = sending(8'000);
  now = now + us(10);
  sender.on_receiving_ack(nak(2), now);
  EXPECT_EQ(rel(sender.poll_transmit(now)->psn), 2);
  sender.on_receiving_ack(ack(6), now);
  expect_qp(sender, 0, 6, 6, 8);
  EXPECT_EQ(log.count(RoceRare::overtaken_by_ack), 1);
  now = now + us(10);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{6, 7}));

  sender.on_receiving_ack(ack(7), now);  // not ahead of what is sent: overtakes nothing
  EXPECT_EQ(log.count(RoceRare::overtaken_by_ack), 1);
}

// ---- on_receiving_ack: NAKs ----

// [R.roce.go_back] It acknowledges all before the packet it names; that one and all after it go
// again, flagged, then what was never sent, not flagged.
TEST_P(RoceSenderTest, Nak_SendsAgainFromThePacketNamed) {
  TestSender sender = make();
  post(sender, 1, 6'000);
  EXPECT_EQ(send_all(sender, now).size(), 6u);
  post(sender, 2, 1'000);
  now = now + us(10);
  sender.on_receiving_ack(nak(2), now);
  EXPECT_EQ(sender.acked_bytes(), bytes(2'000));
  expect_qp(sender, 0, 2, 2, 6);
  ASSERT_EQ(log.went_back.size(), 1u);
  EXPECT_EQ(log.went_back[0].qp, 0);
  EXPECT_EQ(rel(log.went_back[0].from), 2);
  EXPECT_FALSE(log.went_back[0].timeout);
  EXPECT_EQ(sender.counters().naks, 1u);

  const std::vector<Packet> packets = send_all(sender, now);
  EXPECT_EQ(psns(packets), (std::vector<std::int32_t>{2, 3, 4, 5, 6}));
  for (const Packet& packet : packets) {
    EXPECT_EQ(packet.retransmission, rel(packet.psn) < 6);
    EXPECT_EQ(packet.offset, packet.retransmission ? 1'000 * (packet.psn.value - GetParam()) : 0u);
  }
  EXPECT_EQ(sender.counters().retransmissions, 4u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
}

// [R.roce.go_back] For what is acknowledged already it is stale.
TEST_P(RoceSenderTest, Nak_AStaleOneIsIgnored) {
  TestSender sender = sending(6'000);
  sender.on_receiving_ack(ack(4), after_start(us(20)));
  sender.on_receiving_ack(nak(3), after_start(us(30)));
  expect_qp(sender, 0, 4, 6, 6);
  EXPECT_TRUE(log.went_back.empty());
  EXPECT_EQ(sender.counters().naks, 0u);
  EXPECT_EQ(log.count(RoceRare::stale_nak), 1);
  EXPECT_EQ(sender.next_deadline(), after_start(us(20) + params.rto));
}

// [R.roce.go_back] [R.roce.nak_repeat] The same one again, its resend lost: go back again.
TEST_P(RoceSenderTest, Nak_ARepeatedOneGoesBackAgain) {
  TestSender sender = sending(4'000);
  now = now + us(10);
  sender.on_receiving_ack(nak(1), now);
  EXPECT_EQ(send_all(sender, now).size(), 3u);
  now = now + us(10);
  sender.on_receiving_ack(nak(1), now);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(sender.counters().retransmissions, 6u);
  EXPECT_EQ(sender.acked_bytes(), bytes(1'000));
}

// [R.roce.go_back] [R.roce.stripe] Only the QP that it names goes back.
TEST_P(RoceSenderTest, Nak_IsForOneQp) {
  TestSender sender = sending_striped(16'000);
  now = now + us(10);
  sender.on_receiving_ack(nak(3, 1), now);
  expect_qp(sender, 1, 3, 3, 18);
  expect_qp(sender, 0, 0, 16, 16);
  const std::vector<Packet> packets = send_all(sender, now);
  EXPECT_EQ(psns(packets), (std::vector<std::int32_t>{3, 10, 11}));
  for (const Packet& packet : packets) EXPECT_EQ(packet.path_id, 1);
}

// ---- on_receiving_ack: what cannot be ----

// [R.roce.refuse] Up to what was sent next is fine; beyond is not. Nothing sent: nothing to name.
TEST_P(RoceSenderTest, Refuse_AnAckForWhatWasNotSent) {
  TestSender sender = make();
  post(sender, 1, 6'000);
  EXPECT_EQ(send(sender, kStart).size(), 2u);
  sender.on_receiving_ack(ack(0), now);  // clears the pacing deadline: the host polls anyway
  expect_rejected(sender, ack(3));
  expect_rejected(sender, nak(3));
  expect_rejected(sender, ack(0x7fff'ffff));
  sender.on_receiving_ack(ack(2), now);
  expect_qp(sender, 0, 2, 2, 2);
  EXPECT_EQ(sender.counters().acks_rejected, 3u);
}

// [R.roce.refuse] After going back, too, all that was once sent may be acknowledged.
TEST_P(RoceSenderTest, Refuse_CountsFromTheHighestSent) {
  TestSender sender = sending(6'000);
  sender.on_receiving_ack(nak(1), now);
  expect_rejected(sender, ack(7));
  sender.on_receiving_ack(ack(6), now);
  EXPECT_TRUE(sender.idle());
}

// [R.roce.refuse] A QP that does not exist, for all three kinds.
TEST_P(RoceSenderTest, Refuse_AQpThatDoesNotExist) {
  TestSender sender = sending_striped(16'000);
  for (const PathId qp : {PathId{4}, PathId{0xffff}}) {
    expect_rejected(sender, ack(8, qp));
    expect_rejected(sender, nak(8, qp));
    expect_rejected(sender, cnp(qp));
  }
  EXPECT_EQ(sender.counters().acks_rejected, 6u);
}

// [R.roce.refuse] [D32] A QP never expects a packet of another.
TEST_P(RoceSenderTest, Refuse_APacketOfAnotherQp) {
  TestSender sender = sending_striped(16'000);
  expect_rejected(sender, ack(8, 1));
  expect_rejected(sender, nak(3, 0));
  sender.on_receiving_ack(ack(8, 0), now);
  expect_qp(sender, 0, 8, 16, 16);
}

// ---- Completion over QPs ----

// [D21] [R.roce.stripe] A message is complete when all QPs have acknowledged their part.
TEST_P(RoceSenderTest, Completion_NeedsAllQps) {
  TestSender sender = sending_striped(8'000);
  sender.on_receiving_ack(ack(8, 0), now);
  sender.on_receiving_ack(ack(14, 3), now);
  sender.on_receiving_ack(ack(12, 2), now);
  sender.on_receiving_ack(ack(3, 1), now);
  EXPECT_TRUE(completions(sender).empty());
  EXPECT_EQ(rel(sender.epsn()), 3);
  sender.on_receiving_ack(ack(10, 1), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1}));
  EXPECT_TRUE(sender.idle());
  EXPECT_EQ(log.count(RoceRare::out_of_order_completion), 0);
}

// [D21] A later message, on other QPs, is complete before an earlier one; each is reported once.
TEST_P(RoceSenderTest, Completion_OutOfOrder) {
  TestSender sender = make_striped();
  post(sender, 1, 2'000);  // 0 1: QP 0
  post(sender, 2, 2'000);  // 2 3: QP 1
  post(sender, 3, 4'000);  // 4 5 | 6 7: QPs 2 and 3
  EXPECT_EQ(send_all(sender, now).size(), 8u);
  sender.on_receiving_ack(ack(12, 2), now);
  EXPECT_TRUE(completions(sender).empty());
  sender.on_receiving_ack(ack(14, 3), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{3}));
  sender.on_receiving_ack(ack(10, 1), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{2}));
  EXPECT_EQ(log.count(RoceRare::out_of_order_completion), 2);
  EXPECT_FALSE(sender.idle());
  sender.on_receiving_ack(ack(8, 0), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1}));
  EXPECT_TRUE(sender.idle());
}

// [D21] The same, polled only at the end.
TEST_P(RoceSenderTest, Completion_PolledLate) {
  TestSender sender = make_striped();
  post(sender, 1, 2'000);
  post(sender, 2, 2'000);
  EXPECT_EQ(send_all(sender, now).size(), 4u);
  sender.on_receiving_ack(ack(10, 1), now);
  sender.on_receiving_ack(ack(8, 0), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{1, 2}));
}

// [D21] [R.roce.go_back] A NAK acknowledges, and so completes, as well.
TEST_P(RoceSenderTest, Completion_ByANak) {
  TestSender sender = make_striped();
  post(sender, 1, 2'000);  // 0 1: QP 0
  post(sender, 2, 1'000);  // 2: QP 1
  post(sender, 3, 1'000);  // 3: QP 1
  EXPECT_EQ(send_all(sender, now).size(), 4u);
  sender.on_receiving_ack(nak(3, 1), now);
  EXPECT_EQ(completions(sender), (std::vector<MessageId>{2}));
}

// ---- on_timeout ----

// [R.roce.timeout] [D34] No progress for 1 ms, to the picosecond: all that is unacknowledged goes
// again.
TEST_P(RoceSenderTest, Timeout_SendsAgainWhatIsUnacknowledged) {
  TestSender sender = sending(5'000);
  sender.on_receiving_ack(ack(2), after_start(us(20)));
  const Instant deadline = after_start(us(20) + params.rto);
  EXPECT_EQ(sender.next_deadline(), deadline);

  sender.on_timeout(deadline - ps(1));
  EXPECT_EQ(sender.counters().timeouts, 0u);
  expect_qp(sender, 0, 2, 5, 5);
  sender.on_timeout(deadline);
  EXPECT_EQ(sender.counters().timeouts, 1u);
  expect_qp(sender, 0, 2, 2, 5);
  ASSERT_EQ(log.went_back.size(), 1u);
  EXPECT_TRUE(log.went_back[0].timeout);
  EXPECT_EQ(rel(log.went_back[0].from), 2);

  now = deadline;
  const std::vector<Packet> packets = send_all(sender, now);
  EXPECT_EQ(psns(packets), (std::vector<std::int32_t>{2, 3, 4}));
  for (const Packet& packet : packets) EXPECT_TRUE(packet.retransmission);
  EXPECT_EQ(sender.counters().retransmissions, 3u);
}

// [R.roce.timeout] It runs from the first packet sent, not from later ones.
TEST_P(RoceSenderTest, Timeout_StartsWithTheFirstPacket) {
  TestSender sender = sending(50'000);
  EXPECT_GT(now, kStart);
  EXPECT_EQ(sender.next_deadline(), after_start(params.rto));
}

// [R.roce.timeout] And anew with the first packet after everything was acknowledged.
TEST_P(RoceSenderTest, Timeout_StartsAnewAfterIdleness) {
  TestSender sender = sending(1'000);
  sender.on_receiving_ack(ack(1), after_start(us(20)));
  sender.on_timeout(after_start(ms(5)));
  EXPECT_EQ(sender.counters().timeouts, 0u);
  post(sender, 2, 1'000);
  EXPECT_EQ(sender.next_deadline(), Instant::never());
  EXPECT_EQ(send(sender, after_start(ms(5))).size(), 1u);
  EXPECT_EQ(sender.next_deadline(), after_start(ms(5) + params.rto));
}

// [R.roce.timeout] [D34] It does not back off.
TEST_P(RoceSenderTest, Timeout_DoesNotBackOff) {
  TestSender sender = sending(1'000);
  for (int n = 1; n <= 5; ++n) {
    now = after_start(params.rto * n);
    EXPECT_EQ(sender.next_deadline(), now);
    sender.on_timeout(now);
    EXPECT_EQ(send(sender, now).size(), 1u);
  }
  EXPECT_EQ(sender.counters().timeouts, 5u);
}

// [R.roce.timeout] [R.roce.go_back] Going back gives what is sent again its time.
TEST_P(RoceSenderTest, Timeout_StartsAnewWithANak) {
  TestSender sender = sending(3'000);
  sender.on_receiving_ack(nak(0), after_start(us(500)));
  EXPECT_EQ(sender.next_deadline(), after_start(us(500) + params.rto));
}

// [R.roce.timeout] [R.roce.stripe] Each QP has its own: progress on one does not help another.
TEST_P(RoceSenderTest, Timeout_OfEachQp) {
  TestSender sender = sending_striped(8'000);
  for (const PathId qp : {PathId{0}, PathId{1}, PathId{3}}) {
    sender.on_receiving_ack(ack(2u * qp + 1, qp), after_start(us(500)));
  }
  EXPECT_EQ(sender.next_deadline(), after_start(params.rto));
  sender.on_timeout(after_start(params.rto));
  EXPECT_EQ(sender.counters().timeouts, 1u);
  now = after_start(params.rto);
  EXPECT_EQ(psns(send_all(sender, now)), (std::vector<std::int32_t>{4, 5}));
}

// ---- Both ends ----

/// A sender and a receiver with a wire of 4 us between them that loses what it is told to.
class RoceWireTest : public RoceSenderTest {
 protected:
  RoceWireTest() {
    params.ack_bytes = bytes(4'000);
    params.ack_interval = us(32);
    params.nak_interval = us(50);
  }

  /// Sends everything that pacing allows within one microsecond, hands it over 4 us later, and the
  /// answers 4 us after that. Microsecond by microsecond until the sender is idle.
  void run(TestSender& sender, RoceReceiver<>& receiver, Picoseconds at_most) {
    struct Flying {
      Instant at;
      Packet packet;
    };
    struct Answer {
      Instant at;
      RoceAck ack;
    };
    std::vector<Flying> forth;
    std::vector<Answer> back;
    const Instant end = now + at_most;
    for (; now < end && !sender.idle(); now = now + us(1)) {
      while (!forth.empty() && forth.front().at <= now) {
        const Arrival arrival = receiver.on_packet(forth.front().packet, {}, now);
        delivered += arrival.delivered ? 1 : 0;
        forth.erase(forth.begin());
        while (const auto ack = receiver.poll_ack(now)) {
          if (!lose_answer(*ack)) back.push_back({now + us(4), *ack});
        }
      }
      while (!back.empty() && back.front().at <= now) {
        sender.on_receiving_ack(back.front().ack, now);
        back.erase(back.begin());
      }
      if (sender.next_deadline() <= now) sender.on_timeout(now);
      while (const auto packet = sender.poll_transmit(now)) {
        if (!lose_packet(*packet)) forth.push_back({now + us(4), *packet});
      }
      for (const MessageId id : completions(sender)) completed.push_back(id);
    }
  }
  [[nodiscard]] bool lose_packet(const Packet& packet) {
    const auto found = std::find(lost_packets.begin(), lost_packets.end(), rel(packet.psn));
    if (found == lost_packets.end()) return false;
    lost_packets.erase(found);
    return true;
  }
  [[nodiscard]] bool lose_answer(const RoceAck& ack) {
    if (ack.kind != lost_kind || lost_answers == 0) return false;
    --lost_answers;
    return true;
  }

  std::vector<std::int32_t> lost_packets;  ///< each entry is lost once
  RoceAckKind lost_kind = RoceAckKind::nak;
  int lost_answers = 0;
  int delivered = 0;
  std::vector<MessageId> completed;
  std::array<RoceReceiverQp, kMaxQps> receiver_qps{};
};
INSTANTIATE_TEST_SUITE_P(FirstPsn, RoceWireTest, testing::Values(0u, 0xffff'fff0u));

// [R.roce.nak] [R.roce.go_back] One packet lost in the middle: one NAK, no timeout.
TEST_P(RoceWireTest, ALostPacketIsRecoveredByANak) {
  TestSender sender = make();
  RoceReceiver<> receiver(params, std::span(receiver_qps).first(1), psn(0));
  post(sender, 1, 50'000);
  lost_packets = {10};
  run(sender, receiver, ms(1));
  EXPECT_EQ(completed, (std::vector<MessageId>{1}));
  EXPECT_EQ(delivered, 1);
  EXPECT_EQ(sender.counters().naks, 1u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
  EXPECT_EQ(sender.acked_bytes(), bytes(50'000));
}

// [R.roce.nak_repeat] The NAK is lost: as long as packets come, it is repeated, and again no
// timeout.
TEST_P(RoceWireTest, ALostNakIsRecoveredByItsRepetition) {
  TestSender sender = make();
  RoceReceiver<> receiver(params, std::span(receiver_qps).first(1), psn(0));
  post(sender, 1, 200'000);
  lost_packets = {10};
  lost_answers = 1;
  run(sender, receiver, ms(1));
  EXPECT_EQ(completed, (std::vector<MessageId>{1}));
  EXPECT_EQ(sender.counters().naks, 1u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
}

// [R.roce.timeout] The tail is lost, and nothing comes after it: the timeout brings it back.
TEST_P(RoceWireTest, ALostTailIsRecoveredByTheTimeout) {
  TestSender sender = make();
  RoceReceiver<> receiver(params, std::span(receiver_qps).first(1), psn(0));
  post(sender, 1, 20'000);
  lost_packets = {18, 19};
  run(sender, receiver, ms(3));
  EXPECT_EQ(completed, (std::vector<MessageId>{1}));
  EXPECT_EQ(delivered, 1);
  EXPECT_EQ(sender.counters().timeouts, 1u);
  EXPECT_EQ(sender.counters().naks, 0u);
}

// [R.roce.timeout] [R.roce.ack] All ACKs but the last attempt's are lost: duplicates are
// acknowledged.
TEST_P(RoceWireTest, LostAcksAreRecoveredByDuplicates) {
  TestSender sender = make();
  RoceReceiver<> receiver(params, std::span(receiver_qps).first(1), psn(0));
  post(sender, 1, 10'000);
  lost_kind = RoceAckKind::ack;
  lost_answers = 4;  // the first packet's, two by bytes, the last's
  run(sender, receiver, ms(3));
  EXPECT_EQ(completed, (std::vector<MessageId>{1}));
  EXPECT_EQ(delivered, 1);
  EXPECT_EQ(sender.counters().timeouts, 1u);
  EXPECT_EQ(sender.acked_bytes(), bytes(10'000));
}

// [R.roce.stripe] [R.roce.go_back] [R.roce.timeout] Losses on several QPs of one connection.
TEST_P(RoceWireTest, LossesOnSeveralQps) {
  TestSender sender = make_striped();
  RoceReceiver<> receiver(params, std::span(receiver_qps).first(4), psn(0));
  post(sender, 1, 30'500);
  post(sender, 2, 0);
  post(sender, 3, 33'000);
  lost_packets = {0, 3, 3, 21, 64};  // 64 is the last
  run(sender, receiver, ms(5));
  EXPECT_EQ(completed.size(), 3u);
  EXPECT_EQ(delivered, 3);
  EXPECT_EQ(sender.acked_bytes(), bytes(63'500));
  EXPECT_EQ(sender.counters().acks_rejected, 0u);
}

}  // namespace
}  // namespace strack::core
