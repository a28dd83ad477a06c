#include "transports/uet/receiver.h"

#include <gtest/gtest.h>

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(10));
constexpr std::uint32_t kMtu = 4'000;

struct UetReceiverTest : testing::Test {
  UetParams params = UetParams::for_link(gbps(100), us(12), bytes(kMtu), true, kb(150)).value();
  UetReceiver receiver{params, Psn{0}};

  /// Of a message of 100 packets.
  static Packet packet(std::uint32_t psn, bool asks = false) {
    Packet p;
    p.psn = Psn{psn};
    p.offset = psn * kMtu;
    p.message_length = 100 * kMtu;
    p.payload = kMtu;
    p.path_id = static_cast<PathId>(psn % 7);
    p.timestamp = {1'000 + psn};
    p.note = asks ? UetNote::kAckBit : 0;
    return p;
  }
  Arrival arrive(const Packet& p, const Signals& signals = {}) {
    return receiver.on_packet(p, signals, kNow);
  }
  /// The first packet, whose acknowledgement is taken.
  void begin() {
    arrive(packet(0));
    ASSERT_TRUE(receiver.poll_ack(kNow));
  }
};

// [UET.ack.first] The first packet is acknowledged at once, [UET.ack.bytes] then each 16384 bytes: of 4000, every fifth.
TEST_F(UetReceiverTest, AcknowledgesTheFirstAndThenByBytes) {
  EXPECT_EQ(arrive(packet(0)).kind, ArrivalKind::accepted);
  const auto first = receiver.poll_ack(kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, UetAck::Kind::ack);
  EXPECT_EQ(first->sack.epsn, Psn{1});
  EXPECT_EQ(first->sack.bytes_recvd, kMtu);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  for (std::uint32_t psn = 1; psn < 5; ++psn) {
    arrive(packet(psn));
    EXPECT_FALSE(receiver.poll_ack(kNow)) << psn;
  }
  arrive(packet(5));
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->sack.epsn, Psn{6});
  EXPECT_EQ(ack->sack.psn, Psn{5});
  EXPECT_EQ(ack->sack.path_id, 5);
  EXPECT_EQ(ack->sack.timestamp.ns, 1'005u);
}

// [UET.ack.mark] A marked packet is acknowledged at once, with its mark.
TEST_F(UetReceiverTest, AcknowledgesMarks) {
  begin();
  arrive(packet(1), {.ecn = true});
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_TRUE(ack->sack.ecn);
}

// [UET.ack.request] So is one that asks.
TEST_F(UetReceiverTest, AcknowledgesOnRequest) {
  begin();
  arrive(packet(1, true));
  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [UET.ack.duplicate] And one that has come before, trimmed or not.
TEST_F(UetReceiverTest, AcknowledgesDuplicates) {
  begin();
  arrive(packet(2));
  EXPECT_FALSE(receiver.poll_ack(kNow));
  EXPECT_EQ(arrive(packet(2)).kind, ArrivalKind::duplicate);
  EXPECT_TRUE(receiver.poll_ack(kNow));
  EXPECT_EQ(arrive(packet(0), {.trimmed = true}).kind, ArrivalKind::duplicate);
  EXPECT_EQ(receiver.poll_ack(kNow)->kind, UetAck::Kind::ack);
}

// [D72] And one that makes a message whole, though it asks for nothing: the last packet may have overtaken it.
TEST_F(UetReceiverTest, AcknowledgesAWholeMessage) {
  Packet first = packet(0);
  Packet second = packet(1);
  Packet third = packet(2, true);
  first.message_length = second.message_length = third.message_length = 3 * kMtu;
  arrive(first);
  receiver.poll_ack(kNow);
  EXPECT_FALSE(arrive(third).delivered);
  EXPECT_TRUE(receiver.poll_ack(kNow));
  EXPECT_TRUE(arrive(second).delivered);
  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [UET.ack.bitmap] The bitmap starts with the lowest that came since the last acknowledgement.
TEST_F(UetReceiverTest, Bitmap) {
  begin();
  arrive(packet(90));
  arrive(packet(70));
  arrive(packet(72, true));
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->sack.epsn, Psn{1});
  EXPECT_EQ(ack->sack.sack_base, Psn{70});
  EXPECT_EQ(ack->sack.bitmap, (std::uint64_t{1} << 20) | 0b101);
  EXPECT_EQ(ack->sack.ooo_count, 3);
  arrive(packet(1, true));
  EXPECT_EQ(receiver.poll_ack(kNow)->sack.sack_base, Psn{2});
}

// [UET.nack] A trimmed packet is asked for again, with its path, and where it was cut.
TEST_F(UetReceiverTest, Nack) {
  begin();
  EXPECT_EQ(arrive(packet(5), {.trimmed = true, .trimmed_last_hop = true}).kind,
            ArrivalKind::trimmed);
  const auto nack = receiver.poll_ack(kNow);
  ASSERT_TRUE(nack);
  EXPECT_EQ(nack->kind, UetAck::Kind::nack);
  EXPECT_EQ(nack->sack.psn, Psn{5});
  EXPECT_EQ(nack->sack.path_id, 5);
  EXPECT_TRUE(nack->last_hop);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  arrive(packet(6), {.trimmed = true});
  EXPECT_FALSE(receiver.poll_ack(kNow)->last_hop);
  EXPECT_EQ(receiver.ooo_count(), 0);
}

// [SLEEK.probe.answer] A probe is answered at once.
TEST_F(UetReceiverTest, Probe) {
  begin();
  Packet probe;
  probe.type = PacketType::probe;
  probe.probe_id = 7;
  EXPECT_EQ(arrive(probe).kind, ArrivalKind::probe);
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_TRUE(ack->sack.for_probe);
  EXPECT_EQ(ack->sack.probe_id, 7);
}

TEST_F(UetReceiverTest, RefusesNonsense) {
  Packet p = packet(0);
  p.path_id = 128;
  EXPECT_EQ(arrive(p).kind, ArrivalKind::malformed);
  p = packet(0);
  p.payload = 1;
  EXPECT_EQ(arrive(p).kind, ArrivalKind::malformed);
  p = packet(0);
  p.psn = Psn{1'024};
  EXPECT_EQ(arrive(p).kind, ArrivalKind::beyond_window);
  EXPECT_FALSE(receiver.poll_ack(kNow));
}

// [UET.ack.bytes] As many bytes are enough.
TEST_F(UetReceiverTest, AcknowledgesAtTheThreshold) {
  params.ack_bytes = bytes(2 * kMtu);
  begin();
  arrive(packet(1));
  EXPECT_FALSE(receiver.poll_ack(kNow));
  arrive(packet(2));
  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [UET.ack.bytes] [UET.nack] A NACK is no acknowledgement: bytes count on. What follows it is of no hop.
TEST_F(UetReceiverTest, Nack_AcknowledgesNothing) {
  begin();
  arrive(packet(1));
  arrive(packet(2));
  arrive(packet(5), {.trimmed = true, .trimmed_last_hop = true});
  EXPECT_EQ(receiver.poll_ack(kNow)->kind, UetAck::Kind::nack);
  arrive(packet(3));
  arrive(packet(4));
  EXPECT_FALSE(receiver.poll_ack(kNow));
  arrive(packet(6));
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->kind, UetAck::Kind::ack);
  EXPECT_FALSE(ack->last_hop);
}

// [UET.ack.bitmap] Where the circle of bits ends, those of its beginning are not shown.
TEST_F(UetReceiverTest, Bitmap_EndsWithTheCircle) {
  const auto of_many = [](std::uint32_t psn) {
    Packet p = packet(psn, true);
    p.message_length = 2'000 * kMtu;
    return p;
  };
  arrive(of_many(0));
  arrive(of_many(10));
  ASSERT_TRUE(receiver.poll_ack(kNow));
  arrive(of_many(1'001));
  const auto ack = receiver.poll_ack(kNow);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->sack.sack_base, Psn{1'001});
  EXPECT_EQ(ack->sack.bitmap, 1u);
}

// [RCCC.repeat] Without a pacer there is nothing to repeat.
TEST_F(UetReceiverTest, Probe_WithoutCredit) {
  Packet probe;
  probe.type = PacketType::probe;
  arrive(probe);
  EXPECT_TRUE(receiver.poll_ack(kNow));
  EXPECT_FALSE(receiver.poll_ack(kNow));
}

}  // namespace
}  // namespace strack::core
