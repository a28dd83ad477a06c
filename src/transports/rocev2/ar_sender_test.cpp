// Each rule of docs/transports/roce-ar.md that is the sender's, with exact values.
#include "transports/rocev2/ar_sender.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "transports/rocev2/ar_sim.h"

namespace strack::core {
namespace {

constexpr Instant kStart = at(us(100));

/// A link of 8 Gb/s with packets of 1000 bytes and 64 of headers, so 1064 ns each; a timeout of 1 ms.
/// Every test runs once per initial PSN, and counts PSNs from there.
class ArSenderTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  ArSenderTest() { params.rto = ms(1); }

  [[nodiscard]] ArSender<> make() { return {params, slots, psn(0)}; }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  /// Everything there is to send, as pacing lets it go.
  std::vector<Packet> send_all(ArSender<>& sender) {
    std::vector<Packet> packets;
    while (true) {
      while (const auto packet = sender.poll_transmit(now)) packets.push_back(*packet);
      if (sender.next_deadline() - now > us(100)) return packets;
      now = sender.next_deadline();
      sender.on_timeout(now);
    }
  }
  [[nodiscard]] std::vector<std::int32_t> psns(const std::vector<Packet>& packets) const {
    std::vector<std::int32_t> result;
    for (const Packet& packet : packets) result.push_back(rel(packet.psn));
    return result;
  }
  /// A sender that has sent a message of so many packets.
  [[nodiscard]] ArSender<> sending(std::uint32_t count) {
    ArSender<> sender = make();
    EXPECT_EQ(sender.on_message({1, count * 1'000}, now), PostResult::accepted);
    EXPECT_EQ(send_all(sender).size(), count);
    return sender;
  }
  [[nodiscard]] ArAck ack(std::uint32_t epsn) const {
    ArAck a;
    a.epsn = psn(epsn);
    a.timestamp = Timestamp::of(now);
    return a;
  }
  [[nodiscard]] ArAck nak(std::uint32_t epsn, std::uint32_t from, std::uint64_t missing) const {
    ArAck a = ack(epsn);
    a.kind = RoceAckKind::nak;
    a.from = psn(from);
    a.missing = missing;
    return a;
  }

  RoceParams params =
      RoceParams::for_link(gbps(8), us(10), bytes(1'000), DcqcnSet::nic_default).value();
  std::array<MessageSlot, 8> slots{};
  Instant now = kStart;
};

// [AR.spray] [R.roce.pacing] All packets have one entropy, and leave at the rate, counted on the wire;
// after a silence two may go at once.
TEST_P(ArSenderTest, OneEntropyAtTheRate) {
  ArSender<> sender = make();
  ASSERT_EQ(sender.on_message({1, 3'500}, kStart), PostResult::accepted);
  std::vector<Instant> times;
  for (std::uint32_t n = 0; n < 4; ++n) {
    auto packet = sender.poll_transmit(now);
    if (!packet) {
      now = sender.next_deadline();
      packet = sender.poll_transmit(now);
    }
    ASSERT_TRUE(packet);
    times.push_back(now);
    EXPECT_EQ(rel(packet->psn), static_cast<std::int32_t>(n));
    EXPECT_EQ(packet->path_id, 0u);
    EXPECT_EQ(packet->payload, n < 3 ? 1'000u : 500u);
    EXPECT_FALSE(packet->retransmission);
  }
  EXPECT_EQ(times, (std::vector<Instant>{kStart, kStart, kStart + ns(1'064), kStart + ns(2'128)}));
  EXPECT_FALSE(sender.poll_transmit(kStart + ms(1) - ps(1)));
}

// [AR.repeat] What a NAK names is sent again, and nothing else, before anything new; what it acknowledges
// counts.
TEST_P(ArSenderTest, RepeatsWhatIsNamed) {
  ArSender<> sender = sending(8);
  ASSERT_EQ(sender.on_message({2, 1'000}, now), PostResult::accepted);
  sender.on_receiving_ack(nak(2, 3, 0b1'0101), now);
  EXPECT_EQ(sender.acked_bytes(), bytes(2'000));
  const auto packets = send_all(sender);
  EXPECT_EQ(psns(packets), (std::vector<std::int32_t>{3, 5, 7, 8}));
  EXPECT_TRUE(packets[0].retransmission && packets[2].retransmission);
  EXPECT_FALSE(packets[3].retransmission);
  EXPECT_EQ(packets[1].offset, 5'000u);
  EXPECT_EQ(sender.counters().retransmissions, 3u);
  EXPECT_EQ(sender.counters().naks, 1u);
}

// [AR.repeat] Named twice before it is sent, it is sent once; acknowledged before, not at all.
TEST_P(ArSenderTest, RepeatsOnceAndNotInVain) {
  ArSender<> sender = sending(8);
  sender.on_receiving_ack(nak(0, 1, 0b111), now);
  sender.on_receiving_ack(nak(0, 2, 0b11), now);
  sender.on_receiving_ack(ack(3), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{3}));
}

// [AR.repeat] A NAK that an ACK has overtaken still names what is missing beyond that.
TEST_P(ArSenderTest, RepeatsWhatAnOvertakenNakNames) {
  ArSender<> sender = sending(80);
  sender.on_receiving_ack(ack(3), now);
  sender.on_receiving_ack(nak(1, 1, 0b1'0111), now);
  EXPECT_EQ(rel(sender.epsn()), 3);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{3, 5}));
  sender.on_receiving_ack(ack(70), now);
  sender.on_receiving_ack(nak(3, 5, ~std::uint64_t{0}), now);  // up to 68: all have come
  EXPECT_TRUE(send_all(sender).empty());
  EXPECT_EQ(sender.counters().naks, 1u);
}

// [AR.timeout] Without progress for 1 ms all that is not acknowledged is sent again; progress puts it off.
TEST_P(ArSenderTest, Timeout) {
  ArSender<> sender = sending(4);
  const Instant acked = now + us(500);
  now = acked;
  sender.on_receiving_ack(ack(1), now);
  EXPECT_EQ(sender.next_deadline(), acked + ms(1));
  now = acked + ms(1) - ps(1);
  sender.on_timeout(now);
  EXPECT_FALSE(sender.poll_transmit(now));
  now = acked + ms(1);
  sender.on_timeout(now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(sender.counters().timeouts, 1u);
  EXPECT_EQ(sender.counters().retransmissions, 3u);
}

// [AR.window] 4096 packets are under way at most, or max_outstanding, if that is less.
TEST_P(ArSenderTest, Window) {
  ArSender<> sender = make();
  ASSERT_EQ(sender.on_message({1, 5'000'000}, now), PostResult::accepted);
  params.rto = seconds(1);
  EXPECT_EQ(send_all(sender).size(), 4'096u);
  sender.on_receiving_ack(ack(1), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{4'096}));
  params.max_outstanding = 16;
  ArSender<> small = make();
  ASSERT_EQ(small.on_message({1, 100'000}, now), PostResult::accepted);
  EXPECT_EQ(send_all(small).size(), 16u);
}

// [AR.window] A timeout with the whole window under way, also where the circle of bits wraps.
TEST_P(ArSenderTest, TimeoutOfAWholeWindow) {
  params.rto = seconds(1);
  ArSender<> sender = make();
  ASSERT_EQ(sender.on_message({1, 5'000'000}, now), PostResult::accepted);
  send_all(sender);
  sender.on_receiving_ack(ack(100), now);
  send_all(sender);
  now = now + seconds(1);
  sender.on_timeout(now);
  const auto packets = send_all(sender);
  ASSERT_EQ(packets.size(), 4'096u);
  for (std::int32_t i = 0; i < 4'096; ++i)
    ASSERT_EQ(rel(packets[static_cast<std::size_t>(i)].psn), 100 + i);
}

// [AR.cnp] The first CNP halves the rate: alpha is 1.
TEST_P(ArSenderTest, Cnp) {
  ArSender<> sender = sending(4);
  EXPECT_EQ(sender.rate(now), gbps(8));
  ArAck cnp;
  cnp.kind = RoceAckKind::cnp;
  sender.on_receiving_ack(cnp, now);
  EXPECT_EQ(sender.rate(now), gbps(4));
  EXPECT_EQ(sender.counters().cnps, 1u);
}

// [AR.refuse] What was never sent is neither acknowledged nor sent again, and a NAK that contradicts itself
// does nothing.
TEST_P(ArSenderTest, Refuses) {
  ArSender<> sender = sending(4);
  ArAck other = ack(2);
  other.qp = 1;
  const ArAck impossible[] = {ack(5),          other,        nak(5, 5, 1), nak(1, 4, 1),
                              nak(1, 3, 0b11), nak(1, 0, 1), nak(1, 2, 0), nak(1, 2, 0b10)};
  for (const ArAck& a : impossible) sender.on_receiving_ack(a, now);
  EXPECT_EQ(sender.counters().acks_rejected, 8u);
  EXPECT_EQ(rel(sender.epsn()), 0);
  EXPECT_TRUE(send_all(sender).empty());
  sender.on_receiving_ack(ack(4), now);
  sender.on_receiving_ack(ack(2), now);  // overtaken
  EXPECT_EQ(rel(sender.epsn()), 4);
  EXPECT_EQ(sender.poll_completion(), 1u);
  EXPECT_TRUE(sender.idle());
  EXPECT_EQ(sender.next_deadline(), Instant::never());
}

// [AR.repeat] [AR.timeout] One that lies before those sent again last is sent as well, and after a timeout all of them.
TEST_P(ArSenderTest, RepeatsWhatLiesBefore) {
  ArSender<> sender = sending(8);
  sender.on_receiving_ack(nak(0, 5, 0b1), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{5}));
  sender.on_receiving_ack(nak(0, 2, 0b1), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{2}));
  now = now + ms(1);
  sender.on_timeout(now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// [AR.repeat] Nor does it matter how long ago something was sent again.
TEST_P(ArSenderTest, RepeatsAWindowLater) {
  params.rto = seconds(1);
  ArSender<> sender = sending(1);
  sender.on_receiving_ack(nak(0, 0, 0b1), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{0}));
  sender.on_receiving_ack(ack(1), now);
  ASSERT_TRUE(sender.poll_completion());
  for (std::uint32_t from = 1; from < 5'001; from += 1'000) {
    ASSERT_EQ(sender.on_message({2, 1'000'000}, now), PostResult::accepted);
    ASSERT_EQ(send_all(sender).size(), 1'000u);
    if (from == 4'001) break;
    sender.on_receiving_ack(ack(from + 1'000), now);
    ASSERT_TRUE(sender.poll_completion());
  }
  sender.on_receiving_ack(nak(4'001, 4'500, 0b1), now);
  EXPECT_EQ(psns(send_all(sender)), (std::vector<std::int32_t>{4'500}));
}

// [AR.timeout] Its time begins with the first packet.
TEST_P(ArSenderTest, TimeoutBeginsWithTheFirstPacket) {
  ArSender<> sender = sending(1);
  sender.on_receiving_ack(ack(1), now);
  now = now + ms(5);
  ASSERT_EQ(sender.on_message({2, 1'000}, now), PostResult::accepted);
  ASSERT_TRUE(sender.poll_transmit(now));
  EXPECT_EQ(sender.next_deadline(), now + ms(1));
}

INSTANTIATE_TEST_SUITE_P(InitialPsn, ArSenderTest,
                         testing::Values(0u, 0x1234'5678u, ~0u, ~0u - 2, ~0u - 100));

// Each kind comes out as it went in, with every field at its largest.
TEST(ArPacking, RoundTripOfLargestValues) {
  for (const auto kind : {RoceAckKind::ack, RoceAckKind::nak, RoceAckKind::cnp}) {
    ArAck ack;
    ack.kind = kind;
    ack.epsn = Psn{~0u};
    ack.timestamp = {~0u};
    ack.from = Psn{~0u};
    ack.missing = ~std::uint64_t{0};
    const ArAck out = sim::ArProtocol::unpack_ack(sim::ArProtocol::pack_ack(ack, {5, 6}));
    EXPECT_EQ(out.kind, kind);
    EXPECT_EQ(out.qp, 0u);
    EXPECT_EQ(out.epsn, ack.epsn);
    EXPECT_EQ(out.timestamp, ack.timestamp);
    EXPECT_EQ(out.from, ack.from);
    EXPECT_EQ(out.missing, ack.missing);
  }
}

}  // namespace
}  // namespace strack::core
