#include "transports/rocev2/receiver.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(100));
constexpr Instant later(Picoseconds time) { return kNow + time; }

/// What a receiver told its watcher.
struct Log {
  std::vector<RoceRare> reached;
  std::vector<MessageId> delivered;
  std::vector<RoceAck> acks;
  std::vector<bool> marks;  // of the packets that arrived

  [[nodiscard]] auto count(RoceRare branch) const {
    return std::count(reached.begin(), reached.end(), branch);
  }
};

struct Sink {
  Log* log = nullptr;

  void on(const RoceReached& event) const { log->reached.push_back(event.branch); }
  void on(const MessageDelivered& event) const { log->delivered.push_back(event.message_id); }
  void on(const RoceAckSent& event) const { log->acks.push_back(event.ack); }
  void on(const PacketArrived& event) const { log->marks.push_back(event.ecn); }
  template <class Event>
  void on(const Event& /*event*/) const {}
};

using TestReceiver = RoceReceiver<Sink>;

/// Packets of 1000 bytes; an ACK for 4000 of them or after 30 us, a NAK again after 50 us, a CNP
/// every 20 us. Tests of several QPs have four with stripes of two packets. Every test runs once
/// per initial PSN, and counts PSNs from there: the wrap at 2^32 falls before, inside and behind
/// what it does. All of them are the first of a round of stripes.
class RoceReceiverTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  RoceReceiverTest() {
    params.ack_bytes = bytes(4'000);
    params.ack_interval = us(30);
    params.nak_interval = us(50);
    params.dcqcn.cnp_interval = us(20);
  }

  [[nodiscard]] TestReceiver make() {
    return {params, std::span(qps).first(params.qps_per_conn), psn(0), Sink{&log}};
  }
  /// Four QPs: packets 0 1 | 2 3 | 4 5 | 6 7, then the first again with 8 9.
  [[nodiscard]] TestReceiver make_striped() {
    params.qps_per_conn = 4;
    params.stripe_packets = 2;
    return make();
  }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  /// Packet `index` of a message that starts at packet `first`.
  [[nodiscard]] Packet part(std::uint32_t first, std::uint32_t index, std::uint32_t length,
                            MessageId id) const {
    Packet packet;
    packet.psn = psn(first + index);
    packet.path_id =
        static_cast<PathId>((first + index) / params.stripe_packets % params.qps_per_conn);
    packet.message_id = id;
    packet.message_length = length;
    packet.offset = index * 1'000;
    packet.payload = static_cast<std::uint16_t>(std::min(1'000u, length - packet.offset));
    packet.timestamp = {70'000 + first + index};
    return packet;
  }
  /// A packet of a message of a hundred full packets from packet 0 on.
  [[nodiscard]] Packet data(std::uint32_t n) const { return part(0, n, 100'000, 7); }
  /// A message of one packet.
  [[nodiscard]] Packet single(std::uint32_t n, std::uint32_t length = 1'000) const {
    return part(n, 0, length, 100 + n);
  }

  /// Everything owed now.
  static std::vector<RoceAck> poll(TestReceiver& receiver, Instant now = kNow) {
    std::vector<RoceAck> acks;
    while (const auto ack = receiver.poll_ack(now)) acks.push_back(*ack);
    return acks;
  }
  /// Hands over a packet, unmarked; what it made the receiver say.
  static std::vector<RoceAck> arrive(TestReceiver& receiver, const Packet& packet,
                                     Instant now = kNow, bool ecn = false) {
    receiver.on_packet(packet, {.ecn = ecn}, now);
    return poll(receiver, now);
  }
  /// Packets [from, to) in order, and an ACK of the last at kNow: from here on nothing is owed.
  void settle(TestReceiver& receiver, std::uint32_t to) {
    for (std::uint32_t n = 0; n < to; ++n) {
      ASSERT_EQ(receiver.on_packet(data(n), {}, kNow).kind, ArrivalKind::accepted);
    }
    poll(receiver);
  }
  void expect_one(const std::vector<RoceAck>& acks, RoceAckKind kind, std::int32_t epsn,
                  PathId qp = 0) const {
    ASSERT_EQ(acks.size(), 1u);
    EXPECT_EQ(acks[0].kind, kind);
    EXPECT_EQ(acks[0].qp, qp);
    EXPECT_EQ(rel(acks[0].epsn), epsn);
  }

  RoceParams params = RoceParams::for_link(gbps(8), us(8), bytes(1'000)).value();
  std::array<RoceReceiverQp, kMaxQps> qps{};
  Log log;
};

INSTANTIATE_TEST_SUITE_P(FirstPsn, RoceReceiverTest,
                         testing::Values(0u, 1'000u, 0x7fff'fff8u, 0xffff'ffe0u, 0xffff'fff0u,
                                         0xffff'fff8u));

// ---- Construction ----

// [R.roce.stripe] [D32] Each QP expects its first packet; nothing is owed, and no timer runs.
TEST_P(RoceReceiverTest, New_ExpectsTheFirstPacketOfEachQp) {
  TestReceiver receiver = make_striped();
  EXPECT_EQ(rel(receiver.qp(0).expected), 0);
  EXPECT_EQ(rel(receiver.qp(1).expected), 2);
  EXPECT_EQ(rel(receiver.qp(2).expected), 4);
  EXPECT_EQ(rel(receiver.qp(3).expected), 6);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  EXPECT_EQ(receiver.next_deadline(), Instant::never());
}

// [R.roce.stripe] [D32] An initial PSN in the middle of a stripe: QP 0 has half a stripe left.
TEST_P(RoceReceiverTest, New_MayStartWithinAStripe) {
  params.qps_per_conn = 4;
  params.stripe_packets = 2;
  TestReceiver receiver(params, std::span(qps).first(4), psn(1), Sink{&log});
  EXPECT_EQ(rel(receiver.qp(0).expected), 1);
  EXPECT_EQ(rel(receiver.qp(1).expected), 2);
  EXPECT_EQ(rel(receiver.qp(3).expected), 6);

  TestReceiver in_second(params, std::span(qps).first(4), psn(3), Sink{&log});
  EXPECT_EQ(rel(in_second.qp(0).expected), 8);
  EXPECT_EQ(rel(in_second.qp(1).expected), 3);
}

// The memory handed over may have been another connection's.
TEST_P(RoceReceiverTest, New_ForgetsWhatWasInItsMemory) {
  qps[0].nak_sent = true;
  qps[0].nak_ts = kNow;
  qps[0].ack_due = true;
  qps[0].bytes_since_ack = 3'999;
  TestReceiver receiver = make();
  expect_one(arrive(receiver, data(3)), RoceAckKind::nak, 0);
}

// ---- on_packet: order ----

// [R.roce.order] Exactly the expected one, then the next.
TEST_P(RoceReceiverTest, OnPacket_TakesPacketsInOrder) {
  TestReceiver receiver = make();
  for (std::uint32_t n = 0; n < 20; ++n) {
    EXPECT_EQ(receiver.on_packet(data(n), {}, kNow).kind, ArrivalKind::accepted);
    EXPECT_EQ(rel(receiver.qp(0).expected), static_cast<std::int32_t>(n) + 1);
  }
  EXPECT_EQ(receiver.duplicates(), 0u);
  EXPECT_EQ(receiver.out_of_order(), 0u);
  EXPECT_EQ(receiver.malformed_packets(), 0u);
}

// [R.roce.order] A later one is dropped: it must come again after the one that was missing.
TEST_P(RoceReceiverTest, OnPacket_DropsALaterPacket) {
  TestReceiver receiver = make();
  receiver.on_packet(data(0), {}, kNow);
  EXPECT_EQ(receiver.on_packet(data(2), {}, kNow).kind, ArrivalKind::out_of_order);
  EXPECT_EQ(receiver.out_of_order(), 1u);
  EXPECT_EQ(receiver.on_packet(data(1), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(rel(receiver.qp(0).expected), 2);
  EXPECT_EQ(receiver.on_packet(data(2), {}, kNow).kind, ArrivalKind::accepted);
}

// [R.roce.order] An earlier one is a duplicate and moves nothing.
TEST_P(RoceReceiverTest, OnPacket_AnEarlierPacketIsADuplicate) {
  TestReceiver receiver = make();
  settle(receiver, 5);
  EXPECT_EQ(receiver.on_packet(data(4), {}, kNow).kind, ArrivalKind::duplicate);
  EXPECT_EQ(receiver.on_packet(data(0), {}, kNow).kind, ArrivalKind::duplicate);
  EXPECT_EQ(receiver.duplicates(), 2u);
  EXPECT_EQ(log.count(RoceRare::duplicate), 2);
  EXPECT_EQ(rel(receiver.qp(0).expected), 5);
}

// [D48] A trimmed packet has not arrived: neither an ACK nor a NAK nor a CNP follows.
TEST_P(RoceReceiverTest, OnPacket_ATrimmedPacketIsLost) {
  TestReceiver receiver = make();
  settle(receiver, 5);
  for (const std::uint32_t n : {5u, 7u}) {
    EXPECT_EQ(receiver.on_packet(data(n), {.ecn = true, .trimmed = true}, kNow).kind,
              ArrivalKind::trimmed);
    EXPECT_FALSE(receiver.poll_ack(kNow));
  }
  EXPECT_EQ(rel(receiver.qp(0).expected), 5);
}

// [R.roce.order] [R.roce.stripe] The order is the QP's own: another QP's packets may come first.
TEST_P(RoceReceiverTest, OnPacket_KeepsTheOrderOfEachQpAlone) {
  TestReceiver receiver = make_striped();
  EXPECT_EQ(receiver.on_packet(data(6), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(receiver.on_packet(data(2), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(receiver.on_packet(data(8), {}, kNow).kind, ArrivalKind::out_of_order);
  EXPECT_EQ(receiver.on_packet(data(0), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(receiver.on_packet(data(1), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(receiver.on_packet(data(8), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(rel(receiver.qp(0).expected), 9);
  EXPECT_EQ(rel(receiver.qp(1).expected), 3);
  EXPECT_EQ(rel(receiver.qp(2).expected), 4);
  EXPECT_EQ(rel(receiver.qp(3).expected), 7);
}

// ---- on_packet: ACKs ----

// [R.roce.ack] Nothing has been acknowledged for longer than any interval: the first packet is.
TEST_P(RoceReceiverTest, Ack_TheFirstPacketIsAcknowledged) {
  TestReceiver receiver = make();
  expect_one(arrive(receiver, data(0)), RoceAckKind::ack, 1);
}

// [R.roce.ack] [D33] 4000 bytes since the last ACK: with the fourth packet, not with the third.
TEST_P(RoceReceiverTest, Ack_AfterEnoughBytes) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  EXPECT_TRUE(arrive(receiver, data(1)).empty());
  EXPECT_TRUE(arrive(receiver, data(2)).empty());
  EXPECT_TRUE(arrive(receiver, data(3)).empty());
  expect_one(arrive(receiver, data(4)), RoceAckKind::ack, 5);
  EXPECT_TRUE(arrive(receiver, data(5)).empty());  // and the count starts over
}

// [R.roce.ack] [D33] One byte less is not enough.
TEST_P(RoceReceiverTest, Ack_CountsBytesNotPackets) {
  params.ack_bytes = bytes(3'001);
  TestReceiver receiver = make();
  settle(receiver, 1);
  EXPECT_TRUE(arrive(receiver, data(1)).empty());
  EXPECT_TRUE(arrive(receiver, data(2)).empty());
  EXPECT_TRUE(arrive(receiver, data(3)).empty());
  expect_one(arrive(receiver, data(4)), RoceAckKind::ack, 5);
}

// [R.roce.ack] [D33] With the first packet after the interval, to the picosecond; never by itself.
TEST_P(RoceReceiverTest, Ack_WithTheFirstPacketAfterTheInterval) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  EXPECT_TRUE(arrive(receiver, data(1), later(us(30) - ps(1))).empty());
  receiver.on_timeout(later(us(30)));
  EXPECT_TRUE(poll(receiver, later(us(30))).empty());
  expect_one(arrive(receiver, data(2), later(us(30))), RoceAckKind::ack, 3);
  EXPECT_TRUE(arrive(receiver, data(3), later(us(60) - ps(1))).empty());  // from the last ACK on
}

// [R.roce.ack] [D33] The last packet of a message is acknowledged at once.
TEST_P(RoceReceiverTest, Ack_WithTheLastPacketOfAMessage) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  EXPECT_TRUE(arrive(receiver, data(1)).empty());
  expect_one(arrive(receiver, single(2)), RoceAckKind::ack, 3);
  expect_one(arrive(receiver, single(3, 0)), RoceAckKind::ack, 4);
  EXPECT_TRUE(arrive(receiver, part(4, 0, 1'001, 9)).empty());
  expect_one(arrive(receiver, part(4, 1, 1'001, 9)), RoceAckKind::ack, 6);
}

// [R.roce.ack] [R.roce.stripe] And so is the last on each QP: of packets 8 to 16, those are 16, 11,
// 13 and 15.
TEST_P(RoceReceiverTest, Ack_WithTheLastPacketOfAMessageOnEachQp) {
  TestReceiver receiver = make_striped();
  settle(receiver, 8);
  std::vector<std::uint32_t> acknowledged;
  for (std::uint32_t n = 8; n < 17; ++n) {
    if (!arrive(receiver, part(8, n - 8, 9'000, 9)).empty()) acknowledged.push_back(n);
  }
  EXPECT_EQ(acknowledged, (std::vector<std::uint32_t>{11, 13, 15, 16}));
}

// [R.roce.ack] A duplicate counts like any packet: by its bytes, by time, as the last of its
// message.
TEST_P(RoceReceiverTest, Ack_OfDuplicates) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  arrive(receiver, single(1));
  EXPECT_TRUE(arrive(receiver, data(0)).empty());
  EXPECT_TRUE(arrive(receiver, data(0)).empty());
  EXPECT_TRUE(arrive(receiver, data(0)).empty());
  expect_one(arrive(receiver, data(0)), RoceAckKind::ack, 2);
  expect_one(arrive(receiver, single(1)), RoceAckKind::ack, 2);
  expect_one(arrive(receiver, data(0), later(us(30))), RoceAckKind::ack, 2);
}

// [R.roce.ack] A sender that heard nothing sends its last packets again, and hears.
TEST_P(RoceReceiverTest, Ack_ARepeatedTailIsAcknowledged) {
  TestReceiver receiver = make();
  for (std::uint32_t n = 0; n < 3; ++n) arrive(receiver, part(0, n, 2'500, 9));
  EXPECT_TRUE(arrive(receiver, part(0, 1, 2'500, 9)).empty());
  expect_one(arrive(receiver, part(0, 2, 2'500, 9)), RoceAckKind::ack, 3);
  EXPECT_EQ(log.delivered, (std::vector<MessageId>{9}));
}

// [R.roce.ack] Bytes and intervals are each QP's own.
TEST_P(RoceReceiverTest, Ack_OfEachQpAlone) {
  TestReceiver receiver = make_striped();
  expect_one(arrive(receiver, data(0)), RoceAckKind::ack, 1, 0);
  expect_one(arrive(receiver, data(2)), RoceAckKind::ack, 3, 1);
  for (const std::uint32_t n : {1u, 8u, 9u, 3u, 10u, 11u}) {
    EXPECT_TRUE(arrive(receiver, data(n)).empty()) << n;
  }
  expect_one(arrive(receiver, data(16)), RoceAckKind::ack, 17, 0);
  expect_one(arrive(receiver, data(18)), RoceAckKind::ack, 19, 1);
}

// [R.roce.ack] It echoes the stamp of the packet that triggered it.
TEST_P(RoceReceiverTest, Ack_EchoesTheTrigger) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  for (std::uint32_t n = 1; n < 4; ++n) receiver.on_packet(data(n), {}, kNow);
  receiver.on_packet(data(4), {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow)->timestamp, Timestamp{70'004});
  EXPECT_EQ(log.acks.back().timestamp, Timestamp{70'004});
}

// [R.roce.ack] The interval runs from when the ACK is polled.
TEST_P(RoceReceiverTest, Ack_TheIntervalRunsFromThePoll) {
  TestReceiver receiver = make();
  receiver.on_packet(data(0), {}, kNow);
  poll(receiver, later(us(5)));
  EXPECT_TRUE(arrive(receiver, data(1), later(us(35) - ps(1))).empty());
  EXPECT_FALSE(arrive(receiver, data(2), later(us(35))).empty());
}

// ---- on_packet: NAKs ----

// [R.roce.nak] A packet beyond the expected one: a NAK that names the latter. It is all that is
// said.
TEST_P(RoceReceiverTest, Nak_NamesTheExpectedPacket) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  const auto said = arrive(receiver, data(3));
  expect_one(said, RoceAckKind::nak, 2);
  EXPECT_EQ(said[0].timestamp, Timestamp{70'003});
}

// [R.roce.nak] Once for each expected packet, whatever else comes beyond it in the meantime.
TEST_P(RoceReceiverTest, Nak_IsSentOnce) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  arrive(receiver, data(3));
  for (std::uint32_t n = 4; n < 20; ++n) {
    EXPECT_TRUE(arrive(receiver, data(n), later(us(50) - ps(1))).empty());
  }
  EXPECT_EQ(log.count(RoceRare::nak_suppressed), 16);
  EXPECT_EQ(log.count(RoceRare::nak_repeated), 0);
}

// [R.roce.nak_repeat] When packets still come after the interval, again; and then not before the
// next interval is over.
TEST_P(RoceReceiverTest, Nak_IsRepeatedAfterTheInterval) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  arrive(receiver, data(3));
  expect_one(arrive(receiver, data(4), later(us(50))), RoceAckKind::nak, 2);
  EXPECT_EQ(log.count(RoceRare::nak_repeated), 1);
  EXPECT_TRUE(arrive(receiver, data(5), later(us(100) - ps(1))).empty());
  expect_one(arrive(receiver, data(6), later(us(100))), RoceAckKind::nak, 2);
}

// [R.roce.nak_repeat] Only when packets keep coming: time alone repeats nothing.
TEST_P(RoceReceiverTest, Nak_IsNotRepeatedByTimeAlone) {
  TestReceiver receiver = make();
  arrive(receiver, data(3));
  receiver.on_timeout(later(ms(10)));
  EXPECT_TRUE(poll(receiver, later(ms(10))).empty());
}

// [R.roce.nak] As soon as another packet is expected, it has a NAK of its own at once.
TEST_P(RoceReceiverTest, Nak_ForANewExpectedPacketAtOnce) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  expect_one(arrive(receiver, data(4)), RoceAckKind::nak, 2);
  arrive(receiver, data(2));
  expect_one(arrive(receiver, data(4)), RoceAckKind::nak, 3);
  EXPECT_EQ(log.count(RoceRare::nak_repeated), 0);
}

// [R.roce.nak] Duplicates are no reason for a NAK, and do not make room for another.
TEST_P(RoceReceiverTest, Nak_NotForDuplicates) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  arrive(receiver, data(3));
  EXPECT_TRUE(arrive(receiver, data(1)).empty());
  EXPECT_TRUE(arrive(receiver, data(3)).empty());
}

// [R.roce.nak] [R.roce.ack] A NAK tells what an ACK would: it takes its place and starts its bytes
// and interval over.
TEST_P(RoceReceiverTest, Nak_ReplacesTheAck) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  receiver.on_packet(data(1), {}, later(us(30)));  // owes an ACK, not polled yet
  expect_one(arrive(receiver, data(3), later(us(30))), RoceAckKind::nak, 2);
  EXPECT_TRUE(arrive(receiver, data(2), later(us(60) - ps(1))).empty());
  EXPECT_TRUE(arrive(receiver, data(3), later(us(60) - ps(1))).empty());
  EXPECT_TRUE(arrive(receiver, data(4), later(us(60) - ps(1))).empty());
  expect_one(arrive(receiver, data(5), later(us(60) - ps(1))), RoceAckKind::ack, 6);
}

// [R.roce.nak] [R.roce.stripe] One QP's gap is not another's.
TEST_P(RoceReceiverTest, Nak_OfEachQpAlone) {
  TestReceiver receiver = make_striped();
  expect_one(arrive(receiver, data(1)), RoceAckKind::nak, 0, 0);
  expect_one(arrive(receiver, data(7)), RoceAckKind::nak, 6, 3);
  EXPECT_TRUE(arrive(receiver, data(8)).empty());
  expect_one(arrive(receiver, data(4)), RoceAckKind::ack, 5, 2);
}

// ---- on_packet: CNPs ----

// [R.dcqcn.cnp] A marked packet: a CNP for its QP, and before the ACK that it also triggers.
TEST_P(RoceReceiverTest, Cnp_BeforeTheAck) {
  TestReceiver receiver = make_striped();
  const auto said = arrive(receiver, data(2), kNow, true);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].kind, RoceAckKind::cnp);
  EXPECT_EQ(said[0].qp, 1);
  EXPECT_EQ(said[0].timestamp, Timestamp{70'002});
  EXPECT_EQ(said[1].kind, RoceAckKind::ack);
  EXPECT_EQ(said[1].qp, 1);
  EXPECT_EQ(rel(said[1].epsn), 3);
  EXPECT_EQ(log.marks, (std::vector<bool>{true}));
}

// [R.dcqcn.cnp] A CNP alone does not count as an ACK.
TEST_P(RoceReceiverTest, Cnp_IsNoAck) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  arrive(receiver, data(1));
  expect_one(arrive(receiver, data(2), kNow, true), RoceAckKind::cnp, 3);
  EXPECT_TRUE(arrive(receiver, data(3)).empty());
  expect_one(arrive(receiver, data(4)), RoceAckKind::ack, 5);
}

// [R.dcqcn.cnp] At most one in the interval, to the picosecond, and by the clock of the last CNP.
TEST_P(RoceReceiverTest, Cnp_OncePerInterval) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  EXPECT_EQ(arrive(receiver, data(1), kNow, true).size(), 1u);
  EXPECT_TRUE(arrive(receiver, data(2), later(us(10)), true).empty());
  EXPECT_TRUE(arrive(receiver, data(3), later(us(20) - ps(1)), true).empty());
  EXPECT_EQ(log.count(RoceRare::cnp_suppressed), 2);
  const auto said = arrive(receiver, data(4), later(us(20)), true);
  ASSERT_EQ(said.size(), 2u);  // 4000 bytes are due an ACK, too
  EXPECT_EQ(said[0].kind, RoceAckKind::cnp);
}

// [R.dcqcn.cnp] What was suppressed is not made up for: an unmarked packet brings no CNP.
TEST_P(RoceReceiverTest, Cnp_OnlyForAMark) {
  TestReceiver receiver = make();
  settle(receiver, 1);
  arrive(receiver, data(1), kNow, true);
  arrive(receiver, data(2), later(us(10)), true);
  EXPECT_TRUE(arrive(receiver, data(3), later(us(21)), false).empty());
}

// [R.dcqcn.cnp] 0: for every mark.
TEST_P(RoceReceiverTest, Cnp_WithoutAnIntervalForEveryMark) {
  params.dcqcn.cnp_interval = ps(0);
  TestReceiver receiver = make();
  settle(receiver, 1);
  for (std::uint32_t n = 1; n < 4; ++n) {
    const auto said = arrive(receiver, data(n), kNow, true);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].kind, RoceAckKind::cnp);
  }
}

// [D31] Without rate control there is nobody to tell.
TEST_P(RoceReceiverTest, Cnp_NoneWithoutRateControl) {
  params.dcqcn = DcqcnParams::named(DcqcnSet::off, params.line_rate);
  TestReceiver receiver = make();
  expect_one(arrive(receiver, data(0), kNow, true), RoceAckKind::ack, 1);
}

// [R.dcqcn.cnp] Each QP has an interval of its own.
TEST_P(RoceReceiverTest, Cnp_OfEachQpAlone) {
  TestReceiver receiver = make_striped();
  EXPECT_EQ(arrive(receiver, data(0), kNow, true)[0].kind, RoceAckKind::cnp);
  EXPECT_EQ(arrive(receiver, data(2), kNow, true)[0].kind, RoceAckKind::cnp);
  EXPECT_TRUE(arrive(receiver, data(1), kNow, true).empty());
}

// [R.dcqcn.cnp] A mark is a mark on whatever packet: duplicate or out of order.
TEST_P(RoceReceiverTest, Cnp_ForDuplicatesAndLaterPacketsToo) {
  TestReceiver receiver = make();
  settle(receiver, 2);
  expect_one(arrive(receiver, data(0), kNow, true), RoceAckKind::cnp, 2);
  const auto said = arrive(receiver, data(5), later(us(20)), true);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].kind, RoceAckKind::cnp);
  EXPECT_EQ(said[1].kind, RoceAckKind::nak);
}

// ---- on_packet: delivery ----

// [D21] One QP: with the last packet.
TEST_P(RoceReceiverTest, Delivery_WithTheLastPacket) {
  TestReceiver receiver = make();
  EXPECT_FALSE(receiver.on_packet(part(0, 0, 2'001, 9), {}, kNow).delivered);
  EXPECT_FALSE(receiver.on_packet(part(0, 1, 2'001, 9), {}, kNow).delivered);
  EXPECT_TRUE(receiver.on_packet(part(0, 2, 2'001, 9), {}, kNow).delivered);
  EXPECT_TRUE(receiver.on_packet(single(3, 0), {}, kNow).delivered);
  EXPECT_EQ(log.delivered, (std::vector<MessageId>{9, 103}));
  EXPECT_EQ(log.count(RoceRare::out_of_order_delivery), 0);
}

// [D21] Not by a duplicate, and not by one that was dropped.
TEST_P(RoceReceiverTest, Delivery_OnlyOnce) {
  TestReceiver receiver = make();
  EXPECT_FALSE(receiver.on_packet(single(1), {}, kNow).delivered);
  EXPECT_TRUE(receiver.on_packet(single(0), {}, kNow).delivered);
  EXPECT_FALSE(receiver.on_packet(single(0), {}, kNow).delivered);
  EXPECT_EQ(log.delivered, (std::vector<MessageId>{100}));
}

// [D21] [R.roce.stripe] Over several QPs: with the last one missing, whichever QP brings it.
TEST_P(RoceReceiverTest, Delivery_AcrossQps) {
  for (const std::uint32_t last : {3u, 5u, 7u, 9u}) {
    log = {};
    TestReceiver receiver = make_striped();
    for (std::uint32_t n = 0; n < 10; ++n) {
      if (n == last) continue;
      EXPECT_FALSE(receiver.on_packet(part(0, n, 10'000, 9), {}, kNow).delivered);
    }
    EXPECT_TRUE(receiver.on_packet(part(0, last, 10'000, 9), {}, kNow).delivered) << last;
    EXPECT_EQ(log.delivered, (std::vector<MessageId>{9}));
    EXPECT_EQ(log.count(RoceRare::out_of_order_delivery), 0);
  }
}

// [D21] [R.roce.stripe] A later message is whole before an earlier one on another QP.
TEST_P(RoceReceiverTest, Delivery_OutOfOrderBetweenMessages) {
  TestReceiver receiver = make_striped();
  EXPECT_TRUE(receiver.on_packet(part(2, 0, 1'000, 2), {}, kNow).delivered);  // QP 1
  EXPECT_EQ(log.count(RoceRare::out_of_order_delivery), 1);
  EXPECT_FALSE(receiver.on_packet(part(0, 0, 2'000, 1), {}, kNow).delivered);  // QP 0
  EXPECT_TRUE(receiver.on_packet(part(0, 1, 2'000, 1), {}, kNow).delivered);
  EXPECT_EQ(log.delivered, (std::vector<MessageId>{2, 1}));
}

// ---- on_packet: what cannot be ----

// [R.roce.refuse] Counted, and nothing else: not taken, not answered, not even its mark or its
// stamp.
TEST_P(RoceReceiverTest, Refuse_MalformedPackets) {
  TestReceiver receiver = make_striped();
  std::vector<Packet> bad;
  bad.push_back(data(0));
  bad.back().type = PacketType::probe;
  bad.push_back(data(0));
  bad.back().path_id = 1;  // another QP's
  bad.push_back(data(0));
  bad.back().path_id = 4;  // nobody's
  bad.push_back(data(0));
  bad.back().path_id = 0xffff;
  bad.push_back(data(0));
  bad.back().psn = psn(2);  // its path says QP 0
  bad.push_back(data(1));
  bad.back().offset = 999;
  bad.push_back(data(0));
  bad.back().payload = 999;
  bad.push_back(data(0));
  bad.back().message_length = 0;  // with a payload
  bad.push_back(data(0));
  bad.back().offset = 100'000;  // beyond its message

  for (const Packet& packet : bad) {
    const Arrival arrival = receiver.on_packet(packet, {.ecn = true}, kNow);
    EXPECT_EQ(arrival.kind, ArrivalKind::malformed);
    EXPECT_FALSE(arrival.delivered);
    EXPECT_TRUE(poll(receiver).empty());
  }
  EXPECT_EQ(receiver.malformed_packets(), bad.size());
  EXPECT_EQ(rel(receiver.qp(0).expected), 0);
  EXPECT_EQ(receiver.qp(0).echo, Timestamp{});
  EXPECT_EQ(receiver.out_of_order(), 0u);
  EXPECT_EQ(receiver.duplicates(), 0u);
}

// ---- poll_ack ----

// Nothing more is said than was owed, lowest QP first.
TEST_P(RoceReceiverTest, PollAck_EachOnceLowestQpFirst) {
  TestReceiver receiver = make_striped();
  receiver.on_packet(data(6), {.ecn = true}, kNow);
  receiver.on_packet(data(1), {}, kNow);
  receiver.on_packet(data(4), {}, kNow);
  const auto said = poll(receiver);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[0].kind, RoceAckKind::nak);
  EXPECT_EQ(said[0].qp, 0);
  EXPECT_EQ(said[1].kind, RoceAckKind::ack);
  EXPECT_EQ(said[1].qp, 2);
  EXPECT_EQ(said[2].kind, RoceAckKind::cnp);
  EXPECT_EQ(said[2].qp, 3);
  EXPECT_EQ(said[3].kind, RoceAckKind::ack);
  EXPECT_EQ(said[3].qp, 3);
  EXPECT_EQ(log.acks.size(), 4u);
}

// [R.roce.stripe] All sixteen QPs can owe something at once.
TEST_P(RoceReceiverTest, PollAck_OfSixteenQps) {
  params.qps_per_conn = 16;
  params.stripe_packets = 1;
  const Psn first{GetParam() & ~15u};
  TestReceiver receiver(params, qps, first, Sink{&log});
  for (std::uint32_t n = 0; n < 16; ++n) {
    Packet packet = single(0);
    packet.psn = first + n;
    packet.path_id = static_cast<PathId>(n);
    EXPECT_EQ(receiver.on_packet(packet, {}, kNow).kind, ArrivalKind::accepted);
  }
  EXPECT_EQ(poll(receiver).size(), 16u);
}

}  // namespace
}  // namespace strack::core
