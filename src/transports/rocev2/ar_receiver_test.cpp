// Each rule of docs/transports/roce-ar.md that is the receiver's, with exact values.
#include "transports/rocev2/ar_receiver.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(100));
constexpr Instant later(Picoseconds time) { return kNow + time; }

/// Packets of 1000 bytes; an ACK for 4000 of them or after 30 us, overdue after 10 us, asked for again
/// after 50, a CNP every 20. Every test runs once per initial PSN, and counts PSNs from there: the wrap
/// at 2^32 falls before, inside and behind what it does.
class ArReceiverTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  ArReceiverTest() {
    params.ack_bytes = bytes(4'000);
    params.ack_interval = us(30);
    params.reorder_time = us(10);
    params.nak_interval = us(50);
    params.dcqcn.cnp_interval = us(20);
  }

  [[nodiscard]] ArReceiver<> make() const { return {params, psn(0)}; }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  /// Packet `n` of one long message, or `index` of one of `packets` that starts at `n - index`.
  [[nodiscard]] Packet part(std::uint32_t n, std::uint32_t index, std::uint32_t packets) const {
    Packet packet;
    packet.psn = psn(n);
    packet.message_id = n - index;
    packet.message_length = packets * 1'000;
    packet.offset = index * 1'000;
    packet.payload = 1'000;
    packet.timestamp = {n};
    return packet;
  }
  Arrival take(ArReceiver<>& r, std::uint32_t n, Instant now = kNow) const {
    return r.on_packet(part(n, n, 100'000), {}, now);
  }
  /// Everything owed.
  static std::vector<ArAck> acks(ArReceiver<>& r, Instant now = kNow) {
    std::vector<ArAck> all;
    while (const auto ack = r.poll_ack(now)) all.push_back(*ack);
    return all;
  }
  /// The PSNs that NAKs name.
  [[nodiscard]] std::vector<std::int32_t> named(const std::vector<ArAck>& all) const {
    std::vector<std::int32_t> psns;
    for (const ArAck& ack : all) {
      if (ack.kind != RoceAckKind::nak) continue;
      for (std::uint32_t i = 0; i < 64; ++i) {
        if (((ack.missing >> i) & 1) != 0) psns.push_back(rel(ack.from + i));
      }
    }
    return psns;
  }

  RoceParams params =
      RoceParams::for_link(gbps(8), us(10), bytes(1'000), DcqcnSet::nic_default).value();
};

// [AR.place] In whatever order they come, each is accepted once; EPSN is the first that is missing.
TEST_P(ArReceiverTest, PlacesInAnyOrder) {
  ArReceiver<> r = make();
  for (const std::uint32_t n : {2u, 0u, 3u}) EXPECT_EQ(take(r, n).kind, ArrivalKind::accepted);
  EXPECT_EQ(rel(r.epsn()), 1);
  EXPECT_EQ(take(r, 1).kind, ArrivalKind::accepted);
  EXPECT_EQ(rel(r.epsn()), 4);
}

// [AR.duplicate] A packet that has come already, before EPSN or beyond, is not placed again and has an ACK
// sent: the sender does not know.
TEST_P(ArReceiverTest, DuplicatesAreAcknowledged) {
  ArReceiver<> r = make();
  take(r, 0);
  take(r, 2);
  acks(r);
  for (const std::uint32_t n : {0u, 2u}) {
    EXPECT_EQ(take(r, n, later(us(1))).kind, ArrivalKind::duplicate);
    const auto said = acks(r, later(us(1)));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].kind, RoceAckKind::ack);
    EXPECT_EQ(rel(said[0].epsn), 1);
  }
  EXPECT_EQ(r.duplicates(), 2u);
}

// [AR.deliver] [D21] A message is delivered with the last of its packets to come, whatever is missing before.
TEST_P(ArReceiverTest, DeliversWholeMessages) {
  ArReceiver<> r = make();  // messages of packets 0, 1-3 and 4
  EXPECT_TRUE(r.on_packet(part(4, 0, 1), {}, kNow).delivered);
  EXPECT_FALSE(r.on_packet(part(3, 2, 3), {}, kNow).delivered);
  EXPECT_FALSE(r.on_packet(part(1, 0, 3), {}, kNow).delivered);
  EXPECT_TRUE(r.on_packet(part(2, 1, 3), {}, kNow).delivered);
  EXPECT_TRUE(r.on_packet(part(0, 0, 1), {}, kNow).delivered);
  EXPECT_EQ(rel(r.epsn()), 5);
}

// [AR.ack] An ACK for every 4000 bytes, with the first packet 30 us after the last, and with a whole
// message; it echoes the newest packet.
TEST_P(ArReceiverTest, Acks) {
  ArReceiver<> r = make();
  take(r, 0);
  EXPECT_EQ(acks(r).size(), 1u);  // the last was long ago
  take(r, 1, later(us(1)));
  take(r, 3, later(us(2)));
  take(r, 2, later(us(3)));
  EXPECT_TRUE(acks(r, later(us(3))).empty());
  take(r, 4, later(us(4)));
  const auto fourth = acks(r, later(us(4)));
  ASSERT_EQ(fourth.size(), 1u);
  EXPECT_EQ(fourth[0].kind, RoceAckKind::ack);
  EXPECT_EQ(rel(fourth[0].epsn), 5);
  EXPECT_EQ(fourth[0].timestamp.ns, 4u);
  take(r, 5, later(us(4) + us(30) - ps(1)));
  EXPECT_TRUE(acks(r, later(us(34) - ps(1))).empty());
  take(r, 6, later(us(34)));
  EXPECT_EQ(acks(r, later(us(34))).size(), 1u);
  EXPECT_TRUE(r.on_packet(part(7, 0, 1), {}, later(us(35))).delivered);
  EXPECT_EQ(acks(r, later(us(35))).size(), 1u);
}

// [AR.cnp] A mark makes a CNP, 20 us after the last at the earliest; none where rates are not controlled.
TEST_P(ArReceiverTest, Cnps) {
  const auto kinds = [&](ArReceiver<>& r, std::uint32_t n, Instant now) {
    r.on_packet(part(n, n, 100'000), {.ecn = true}, now);
    const auto all = acks(r, now);
    return std::count_if(all.begin(), all.end(),
                         [](const ArAck& a) { return a.kind == RoceAckKind::cnp; });
  };
  ArReceiver<> r = make();
  EXPECT_EQ(kinds(r, 0, kNow), 1);
  EXPECT_EQ(kinds(r, 1, later(us(20) - ps(1))), 0);
  EXPECT_EQ(kinds(r, 2, later(us(20))), 1);
  params.dcqcn.variant = DcqcnVariant::off;
  EXPECT_EQ(kinds(r, 3, later(us(60))), 0);
}

// [AR.overdue] [AR.nak] [D73] What is missing is asked for when a packet that was sent after it has been there
// for 10 us, not before, with the timer alone; what comes in time is not.
TEST_P(ArReceiverTest, AsksForWhatIsOverdue) {
  ArReceiver<> r = make();
  EXPECT_EQ(r.next_deadline(), Instant::never());
  take(r, 3);
  take(r, 5, later(us(2)));  // 4 is missing since then only
  acks(r);
  EXPECT_EQ(r.next_deadline(), later(us(10)));
  take(r, 1, later(us(9)));
  r.on_timeout(later(us(10) - ps(1)));
  EXPECT_TRUE(named(acks(r, later(us(10) - ps(1)))).empty());
  r.on_timeout(later(us(10)));
  const auto asked = acks(r, later(us(10)));
  EXPECT_EQ(named(asked), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(rel(asked[0].epsn), 0);
  EXPECT_EQ(rel(asked[0].from), 0);
  EXPECT_EQ(asked[0].missing, 0b101u);
  // 4 is looked at with the next round.
  EXPECT_EQ(r.next_deadline(), later(us(20)));
  r.on_timeout(later(us(20)));
  EXPECT_EQ(named(acks(r, later(us(20)))), (std::vector<std::int32_t>{4}));
}

// [AR.overdue] In order, or with gaps that close in time, nothing is ever asked for.
TEST_P(ArReceiverTest, AsksForNothingThatComes) {
  ArReceiver<> r = make();
  for (std::uint32_t n = 0; n < 200; n += 2) {
    take(r, n + 1, later(us(n)));
    r.on_timeout(later(us(n)));
    take(r, n, later(us(n + 1)));
    EXPECT_TRUE(named(acks(r, later(us(n + 1)))).empty());
    EXPECT_EQ(r.next_deadline(), Instant::never());
  }
}

// [AR.nak] 64 packets to a NAK, so that many take several.
TEST_P(ArReceiverTest, ManyMissingTakeSeveralNaks) {
  ArReceiver<> r = make();
  take(r, 200);
  acks(r);
  r.on_timeout(later(us(10)));
  const auto asked = acks(r, later(us(10)));
  EXPECT_EQ(asked.size(), 4u);
  const auto psns = named(asked);
  ASSERT_EQ(psns.size(), 200u);
  for (std::int32_t i = 0; i < 200; ++i) EXPECT_EQ(psns[static_cast<std::size_t>(i)], i);
}

// [AR.again] Asked for in vain, all that is still overdue is asked for again after 50 us in which
// EPSN has not moved.
TEST_P(ArReceiverTest, AsksAgain) {
  ArReceiver<> r = make();
  take(r, 3);
  r.on_timeout(later(us(10)));
  EXPECT_EQ(named(acks(r, later(us(10)))), (std::vector<std::int32_t>{0, 1, 2}));
  take(r, 0, later(us(30)));  // EPSN moves
  r.on_timeout(later(us(80) - ps(1)));
  EXPECT_TRUE(named(acks(r, later(us(80) - ps(1)))).empty());
  take(r, 2, later(us(79)));
  EXPECT_LE(r.next_deadline(), later(us(80)));
  r.on_timeout(later(us(80)));
  EXPECT_EQ(named(acks(r, later(us(80)))), (std::vector<std::int32_t>{1}));
}

// [AR.window] What lies 4096 packets or more beyond EPSN is dropped and counted.
TEST_P(ArReceiverTest, BeyondTheWindow) {
  ArReceiver<> r = make();
  EXPECT_EQ(take(r, 4'095).kind, ArrivalKind::accepted);
  EXPECT_EQ(take(r, 4'096).kind, ArrivalKind::beyond_window);
  EXPECT_EQ(r.beyond_window(), 1u);
  take(r, 0);
  EXPECT_EQ(take(r, 4'096).kind, ArrivalKind::accepted);
}

// [AR.refuse] What contradicts itself changes nothing; a trimmed packet is a loss.
TEST_P(ArReceiverTest, Refuses) {
  ArReceiver<> r = make();
  Packet packet = part(0, 0, 4);
  packet.path_id = 1;
  EXPECT_EQ(r.on_packet(packet, {}, kNow).kind, ArrivalKind::malformed);
  packet = part(0, 0, 4);
  packet.payload = 999;
  EXPECT_EQ(r.on_packet(packet, {}, kNow).kind, ArrivalKind::malformed);
  packet = part(0, 0, 4);
  packet.type = PacketType::probe;
  EXPECT_EQ(r.on_packet(packet, {}, kNow).kind, ArrivalKind::malformed);
  EXPECT_EQ(r.malformed_packets(), 3u);
  EXPECT_EQ(r.on_packet(part(0, 0, 4), {.trimmed = true}, kNow).kind, ArrivalKind::trimmed);
  EXPECT_TRUE(acks(r).empty());
  EXPECT_EQ(rel(r.epsn()), 0);
}

// [AR.overdue] A packet that comes then is occasion enough.
TEST_P(ArReceiverTest, OverdueWithAPacket) {
  ArReceiver<> r = make();
  take(r, 1);
  acks(r);
  take(r, 2, later(us(10)));
  EXPECT_EQ(named(acks(r, later(us(10)))), (std::vector<std::int32_t>{0}));
}

// [AR.nak] [AR.ack] A NAK tells what an ACK would; and one that would name nothing is not sent.
TEST_P(ArReceiverTest, NaksAreAcks) {
  ArReceiver<> r = make();
  for (std::uint32_t n = 1; n <= 101; ++n) take(r, n);
  acks(r);
  take(r, 102, later(us(10)));
  EXPECT_EQ(named(acks(r, later(us(10)))), (std::vector<std::int32_t>{0}));
  for (std::uint32_t n = 103; n <= 105; ++n) take(r, n, later(us(11)));
  take(r, 106, later(us(20)));  // 4000 bytes since, and a period
  auto said = acks(r, later(us(20)));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].kind, RoceAckKind::ack);  // 1 to 101 have come
  take(r, 107, later(us(60)));                // both an ACK and a NAK are due
  said = acks(r, later(us(60)));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].kind, RoceAckKind::nak);
  EXPECT_EQ(named(said), (std::vector<std::int32_t>{0}));
}

INSTANTIATE_TEST_SUITE_P(InitialPsn, ArReceiverTest,
                         testing::Values(0u, 0x1234'5678u, ~0u, ~0u - 2, ~0u - 100));

}  // namespace
}  // namespace strack::core
