#include "transports/strack/receiver.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(100));

/// What a receiver told its watcher.
struct Log {
  std::vector<Rare> reached;
  std::vector<MessageId> delivered;
  std::vector<Sack> sacks;
  std::vector<bool> marks;  // of the packets that arrived

  [[nodiscard]] auto count(Rare branch) const {
    return std::count(reached.begin(), reached.end(), branch);
  }
};

struct Sink {
  Log* log = nullptr;

  void on(const Reached& event) const { log->reached.push_back(event.branch); }
  void on(const MessageDelivered& event) const { log->delivered.push_back(event.message_id); }
  void on(const SackSent& event) const { log->sacks.push_back(event.sack); }
  void on(const PacketArrived& event) const { log->marks.push_back(event.ecn); }
  template <class Event>
  void on(const Event& /*event*/) const {}
};

/// Packets of 1000 bytes; a SACK for 4000 of them, or for the expected packet. Every test runs once
/// per initial PSN, and counts PSNs from there: the wrap at 2^32 falls before, inside and behind
/// what it does.
class ReceiverTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  ReceiverTest() { params.sack_bytes = bytes(4'000); }

  [[nodiscard]] Receiver<Sink> make() { return {params, psn(0), Sink{&log}}; }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  /// A message of one packet.
  [[nodiscard]] Packet data(std::uint32_t n, std::uint16_t payload = 1'000) const {
    Packet packet;
    packet.psn = psn(n);
    packet.payload = payload;
    packet.message_length = payload;
    packet.message_id = 100 + n;
    packet.path_id = static_cast<PathId>(n % 256);
    packet.timestamp = {70'000 + n};
    return packet;
  }
  /// Packet `index` of a message that starts at PSN `first`.
  [[nodiscard]] Packet part(std::uint32_t first, std::uint32_t index, std::uint32_t length,
                            MessageId id) const {
    Packet packet = data(first + index);
    packet.message_id = id;
    packet.message_length = length;
    packet.offset = index * 1'000;
    packet.payload = static_cast<std::uint16_t>(std::min(1'000u, length - packet.offset));
    return packet;
  }
  [[nodiscard]] Packet probe(std::uint32_t base, std::uint16_t id = 1) const {
    Packet packet;
    packet.type = PacketType::probe;
    packet.psn = psn(base);
    packet.probe_id = id;
    packet.path_id = 7;
    packet.timestamp = {90'000};
    return packet;
  }
  /// Hands over unmarked one-packet messages and throws the SACKs away.
  void arrive(Receiver<Sink>& receiver, std::uint32_t from, std::uint32_t to) const {
    for (std::uint32_t n = from; n < to; ++n) {
      EXPECT_EQ(receiver.on_packet(data(n), {}, kNow).kind, ArrivalKind::accepted);
      (void)receiver.poll_ack(kNow);
    }
  }

  StrackParams params = StrackParams::for_link(gbps(8), us(8), bytes(1'000)).value();
  Log log;
};

INSTANTIATE_TEST_SUITE_P(FirstPsn, ReceiverTest,
                         testing::Values(0u, 1'000u, 0x7fff'ffffu, 0xffff'fc00u, 0xffff'ffbfu,
                                         0xffff'fffdu, 0xffff'ffffu));

// ---- Construction ----

// [D28] The first PSN is given at construction: a new receiver waits for it and has seen nothing.
TEST_P(ReceiverTest, New_WaitsForTheInitialPsn) {
  auto receiver = make();

  receiver.on_packet(probe(0), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.epsn), 0);
  EXPECT_EQ(rel(sack.sack_base), 0);
  EXPECT_EQ(sack.bitmap, 0u);
  EXPECT_EQ(sack.bytes_recvd, 0u);
  EXPECT_EQ(sack.ooo_count, 0);
  EXPECT_FALSE(receiver.has_arrived(psn(0)));
}

// ---- on_packet: when a SACK is due ----

// [R.sack.bytes] Bytes since the last SACK reach the threshold with the fourth packet, not with the
// third.
TEST_P(ReceiverTest, OnPacket_EnoughBytesTriggerASack) {
  auto receiver = make();

  for (const std::uint32_t n : {1u, 2u, 3u}) {
    receiver.on_packet(data(n), {}, kNow);
    EXPECT_FALSE(receiver.poll_ack(kNow));
  }
  receiver.on_packet(data(4), {}, kNow);

  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [R.sack.bytes] [D11] One byte below the threshold is not enough; the next byte is.
TEST_P(ReceiverTest, OnPacket_OneByteShortTriggersNothing) {
  auto receiver = make();

  for (const std::uint32_t n : {1u, 2u, 3u}) receiver.on_packet(data(n), {}, kNow);
  receiver.on_packet(data(4, 999), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  receiver.on_packet(data(5, 1), {}, kNow);

  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [R.sack.bytes] Every SACK starts the count afresh, whatever triggered it.
TEST_P(ReceiverTest, OnPacket_ByteCountStartsAfreshWithEachSack) {
  auto receiver = make();

  for (const std::uint32_t n : {1u, 2u, 3u}) receiver.on_packet(data(n), {}, kNow);
  receiver.on_packet(probe(0), {}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow));

  for (const std::uint32_t n : {4u, 5u, 6u}) {
    receiver.on_packet(data(n), {}, kNow);
    EXPECT_FALSE(receiver.poll_ack(kNow));
  }
  receiver.on_packet(data(7), {}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [D11] By default the threshold is one MTU: every full packet is answered, the expected one and
// any other.
TEST_P(ReceiverTest, OnPacket_DefaultAnswersEveryFullPacket) {
  params = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  EXPECT_TRUE(params.sack_on_epsn);
  EXPECT_EQ(params.sack_bytes, bytes(4'096));
  auto receiver = make();

  for (const std::uint32_t n : {1u, 3u, 2u, 0u}) {
    receiver.on_packet(data(n, 4'096), {}, kNow);
    EXPECT_TRUE(receiver.poll_ack(kNow));
  }
}

// [R.sack.epsn] [D11] The expected packet is answered at once; the one after it, come too early, is
// not.
TEST_P(ReceiverTest, OnPacket_ExpectedPacketTriggersASack) {
  auto receiver = make();

  receiver.on_packet(data(1), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  receiver.on_packet(data(0), {}, kNow);

  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [R.sack.epsn] [D11] With the rule off, packets in sequence are acknowledged by bytes alone.
TEST_P(ReceiverTest, OnPacket_WithoutTheEpsnRuleOnlyBytesTrigger) {
  params.sack_on_epsn = false;
  auto receiver = make();

  for (const std::uint32_t n : {0u, 1u, 2u}) {
    receiver.on_packet(data(n), {}, kNow);
    EXPECT_FALSE(receiver.poll_ack(kNow));
  }
  receiver.on_packet(data(3), {}, kNow);

  EXPECT_EQ(rel(receiver.poll_ack(kNow).value().epsn), 4);
}

// [R.sack.probe] [R.probe.reply] A probe is answered at once, with nothing else to tell.
TEST_P(ReceiverTest, OnPacket_ProbeTriggersASack) {
  auto receiver = make();

  EXPECT_EQ(receiver.on_packet(probe(0), {}, kNow).kind, ArrivalKind::probe);

  EXPECT_TRUE(receiver.poll_ack(kNow));
}

// [D11] [R.bitmap.receiver] A duplicate from below EPSN is answered at once and counts for nothing.
TEST_P(ReceiverTest, OnPacket_DuplicateBelowEpsnIsAcknowledgedAgain) {
  auto receiver = make();
  arrive(receiver, 0, 2);

  const Arrival arrival = receiver.on_packet(data(1), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(arrival.kind, ArrivalKind::duplicate);
  EXPECT_FALSE(arrival.delivered);
  EXPECT_EQ(rel(sack.epsn), 2);
  EXPECT_EQ(rel(sack.psn), 1);
  EXPECT_EQ(sack.bytes_recvd, 2'000u);
  EXPECT_EQ(receiver.duplicates(), 1u);
  EXPECT_EQ(log.count(Rare::duplicate_below_epsn), 1);
  EXPECT_EQ(log.count(Rare::duplicate_above_epsn), 0);
}

// [D11] [R.bitmap.receiver] So is one whose bit is set beyond EPSN.
TEST_P(ReceiverTest, OnPacket_DuplicateAboveEpsnIsAcknowledgedAgain) {
  auto receiver = make();
  receiver.on_packet(data(5), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow));

  const Arrival arrival = receiver.on_packet(data(5), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(arrival.kind, ArrivalKind::duplicate);
  EXPECT_FALSE(arrival.delivered);
  EXPECT_EQ(rel(sack.epsn), 0);
  EXPECT_EQ(sack.bitmap, 1u << 5);
  EXPECT_EQ(sack.bytes_recvd, 1'000u);
  EXPECT_EQ(sack.ooo_count, 1);
  EXPECT_EQ(receiver.duplicates(), 1u);
  EXPECT_EQ(log.count(Rare::duplicate_above_epsn), 1);
  EXPECT_EQ(log.count(Rare::duplicate_below_epsn), 0);
}

// [D26] The last PSN of the tracking window is taken; the next is dropped, counted and not
// answered.
TEST_P(ReceiverTest, OnPacket_DropsWhatLiesBeyondTheTrackingWindow) {
  auto receiver = make();
  params.sack_bytes = bytes(1);

  EXPECT_EQ(receiver.on_packet(data(1'024), {.ecn = true}, kNow).kind, ArrivalKind::beyond_window);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  EXPECT_EQ(receiver.beyond_window(), 1u);
  EXPECT_EQ(receiver.ooo_count(), 0);
  EXPECT_EQ(receiver.bytes_recvd(), 0u);

  EXPECT_EQ(receiver.on_packet(data(1'023), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_TRUE(receiver.poll_ack(kNow));
  EXPECT_EQ(receiver.ooo_count(), 1);
}

// [D48] A trimmed packet has not arrived: it changes nothing and is not answered.
TEST_P(ReceiverTest, OnPacket_ATrimmedPacketIsLost) {
  params.sack_bytes = bytes(1);
  auto receiver = make();

  EXPECT_EQ(receiver.on_packet(data(0), {.ecn = true, .trimmed = true}, kNow).kind,
            ArrivalKind::trimmed);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  EXPECT_FALSE(receiver.has_arrived(data(0).psn));
  EXPECT_EQ(receiver.bytes_recvd(), 0u);

  EXPECT_EQ(receiver.on_packet(data(0), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_FALSE(receiver.poll_ack(kNow)->ecn);
}

// [D26] A smaller window is kept just as well, and moves with EPSN.
TEST_P(ReceiverTest, OnPacket_SmallTrackingWindowMovesWithEpsn) {
  params.tracking_window = 16;
  auto receiver = make();

  EXPECT_EQ(receiver.on_packet(data(16), {}, kNow).kind, ArrivalKind::beyond_window);
  EXPECT_EQ(receiver.on_packet(data(15), {}, kNow).kind, ArrivalKind::accepted);
  arrive(receiver, 0, 1);

  EXPECT_EQ(receiver.on_packet(data(16), {}, kNow).kind, ArrivalKind::accepted);
  EXPECT_EQ(receiver.on_packet(data(17), {}, kNow).kind, ArrivalKind::beyond_window);
}

// [D26] The whole window can be held while EPSN is missing; then EPSN passes over all of it at
// once.
TEST_P(ReceiverTest, OnPacket_HoldsAWholeTrackingWindow) {
  auto receiver = make();
  arrive(receiver, 1, 1'024);
  EXPECT_EQ(receiver.ooo_count(), 1'023);

  receiver.on_packet(data(0), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.epsn), 1'024);
  EXPECT_EQ(sack.ooo_count, 0);
  EXPECT_EQ(sack.bitmap, 0u);
  EXPECT_EQ(receiver.arrived().count(), 0u);
}

// [R.bitmap.receiver] EPSN passes everything received in sequence and stops at the next hole.
TEST_P(ReceiverTest, OnPacket_EpsnPassesWhatIsHeldUpToTheNextHole) {
  auto receiver = make();
  for (const std::uint32_t n : {1u, 2u, 4u}) receiver.on_packet(data(n), {}, kNow);

  receiver.on_packet(data(0), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.epsn), 3);
  EXPECT_EQ(sack.ooo_count, 1);
  EXPECT_EQ(sack.bitmap, 0b10u);
  EXPECT_TRUE(receiver.has_arrived(psn(2)));
  EXPECT_FALSE(receiver.has_arrived(psn(3)));
  EXPECT_TRUE(receiver.has_arrived(psn(4)));
}

// [D21] [D20] [D25] What contradicts itself or names no path we know is dropped, counted and not
// answered.
TEST_P(ReceiverTest, OnPacket_DropsWhatContradictsItself) {
  params.max_paths = 4;
  params.sack_bytes = bytes(1);
  auto receiver = make();
  const auto with = [this](auto change) {
    Packet packet = part(0, 1, 2'500, 9);
    packet.path_id = 3;
    change(packet);
    return packet;
  };
  const std::vector<Packet> malformed{
      with([](Packet& p) { p.path_id = 4; }),
      with([](Packet& p) { p.offset = 999; }),
      with([](Packet& p) { p.payload = 999; }),
      with([](Packet& p) { p.payload = 1'001; }),
      with([](Packet& p) { p.offset = 2'000; }),          // only 500 bytes are left there
      with([](Packet& p) { p.message_length = 1'999; }),  // and only 999 here
      with([](Packet& p) { p.message_length = 1'000; }),  // starts where the message ends
      with([](Packet& p) {
        p.message_length = 1'000;
        p.payload = 0;
      }),
      with([](Packet& p) { p.message_length = 0; }),
      with([](Packet& p) {
        p.message_length = 0;
        p.payload = 0;
      }),
      with([](Packet& p) {
        p.message_length = 0;
        p.offset = 0;
      }),
      with([](Packet& p) {
        p.type = PacketType::probe;
        p.path_id = 4;
      }),
  };

  for (std::size_t i = 0; i < malformed.size(); ++i) {
    EXPECT_EQ(receiver.on_packet(malformed[i], {.ecn = true}, kNow).kind, ArrivalKind::malformed)
        << i;
    EXPECT_EQ(receiver.malformed_packets(), i + 1);
    EXPECT_FALSE(receiver.poll_ack(kNow)) << i;
  }
  EXPECT_EQ(receiver.ooo_count(), 0);
  EXPECT_EQ(receiver.bytes_recvd(), 0u);

  const Packet sound = with([](Packet&) {});
  EXPECT_EQ(receiver.on_packet(sound, {}, kNow).kind, ArrivalKind::accepted);
  Packet probe_on_last_path = probe(0);
  probe_on_last_path.path_id = 3;
  EXPECT_EQ(receiver.on_packet(probe_on_last_path, {}, kNow).kind, ArrivalKind::probe);
  EXPECT_EQ(receiver.malformed_packets(), malformed.size());
}

// A watcher sees every packet with its mark, even one that is dropped.
TEST_P(ReceiverTest, OnPacket_TellsOfEveryArrival) {
  auto receiver = make();

  receiver.on_packet(data(0), {.ecn = true}, kNow);
  receiver.on_packet(data(5'000), {}, kNow);
  receiver.on_packet(probe(0), {.ecn = true}, kNow);

  EXPECT_EQ(log.marks, (std::vector<bool>{true, false, true}));
}

// ---- on_packet: delivery ----

// [P.ooo_delivery] [D21] A message of one packet is delivered on arrival, whatever is missing
// before it.
TEST_P(ReceiverTest, OnPacket_DeliversOutOfOrder) {
  auto receiver = make();

  EXPECT_TRUE(receiver.on_packet(data(9), {}, kNow).delivered);
  EXPECT_EQ(log.count(Rare::out_of_order_delivery), 1);
  EXPECT_TRUE(receiver.on_packet(data(0), {}, kNow).delivered);

  EXPECT_EQ(log.delivered, (std::vector<MessageId>{109, 100}));
  EXPECT_EQ(log.count(Rare::out_of_order_delivery), 1);
}

// [D21] [D20] A message is delivered by the arrival of its last missing packet, wherever in it that
// is.
TEST_P(ReceiverTest, OnPacket_DeliversWithTheLastMissingPacket) {
  for (const std::uint32_t last : {0u, 1u, 2u}) {
    auto receiver = make();
    for (const std::uint32_t index : {0u, 1u, 2u}) {
      if (index == last) continue;
      EXPECT_FALSE(receiver.on_packet(part(0, index, 2'500, 9), {}, kNow).delivered);
    }

    EXPECT_TRUE(receiver.on_packet(part(0, last, 2'500, 9), {}, kNow).delivered);
    EXPECT_EQ(receiver.bytes_recvd(), 2'500u);
  }
}

// [D21] Behind a hole at EPSN too a message must be whole, its first and its last packet included.
TEST_P(ReceiverTest, OnPacket_DeliversBehindAHoleOnlyWhatIsWhole) {
  for (const std::uint32_t last : {0u, 1u, 2u}) {
    auto receiver = make();
    receiver.on_packet(data(7), {}, kNow);  // highest seen, and not part of it
    for (const std::uint32_t index : {0u, 1u, 2u}) {
      if (index == last) continue;
      EXPECT_FALSE(receiver.on_packet(part(2, index, 2'500, 9), {}, kNow).delivered);
    }

    EXPECT_TRUE(receiver.on_packet(part(2, last, 2'500, 9), {}, kNow).delivered);
  }
}

// [D21] A message that begins right at EPSN, its rest held already, is in order.
TEST_P(ReceiverTest, OnPacket_DeliveryAtEpsnIsInOrder) {
  auto receiver = make();

  receiver.on_packet(part(0, 1, 2'000, 9), {}, kNow);
  EXPECT_TRUE(receiver.on_packet(part(0, 0, 2'000, 9), {}, kNow).delivered);

  EXPECT_EQ(log.count(Rare::out_of_order_delivery), 0);
}

// [D21] What lies below EPSN has been received: only the rest of the message is looked for.
TEST_P(ReceiverTest, OnPacket_DeliversAMessageThatEpsnHasEntered) {
  auto receiver = make();

  EXPECT_FALSE(receiver.on_packet(part(0, 0, 4'000, 9), {}, kNow).delivered);
  EXPECT_FALSE(receiver.on_packet(part(0, 1, 4'000, 9), {}, kNow).delivered);
  EXPECT_FALSE(receiver.on_packet(part(0, 3, 4'000, 9), {}, kNow).delivered);
  EXPECT_TRUE(receiver.on_packet(part(0, 2, 4'000, 9), {}, kNow).delivered);

  EXPECT_EQ(log.delivered, (std::vector<MessageId>{9}));
}

// [D21] [D26] A message longer than the tracking window is not delivered by a part of it.
TEST_P(ReceiverTest, OnPacket_LongMessageIsNotDeliveredByAPart) {
  auto receiver = make();

  for (std::uint32_t index = 1'023; index > 0; --index) {
    EXPECT_FALSE(receiver.on_packet(part(0, index, 2'000'000, 9), {}, kNow).delivered);
  }
  EXPECT_FALSE(receiver.on_packet(part(0, 0, 2'000'000, 9), {}, kNow).delivered);

  EXPECT_EQ(rel(receiver.epsn()), 1'024);
}

// [D21] Exactly once: neither duplicates nor later arrivals of other messages deliver it again.
TEST_P(ReceiverTest, OnPacket_DeliversOnce) {
  auto receiver = make();
  receiver.on_packet(part(1, 0, 2'000, 9), {}, kNow);
  receiver.on_packet(part(1, 1, 2'000, 9), {}, kNow);

  EXPECT_FALSE(receiver.on_packet(part(1, 0, 2'000, 9), {}, kNow).delivered);
  EXPECT_FALSE(receiver.on_packet(part(1, 1, 2'000, 9), {}, kNow).delivered);
  receiver.on_packet(data(0), {}, kNow);
  EXPECT_FALSE(receiver.on_packet(part(1, 1, 2'000, 9), {}, kNow).delivered);

  EXPECT_EQ(log.delivered, (std::vector<MessageId>{9, 100}));
}

// [D20] [D21] An empty message is one packet without payload, delivered like any other.
TEST_P(ReceiverTest, OnPacket_DeliversAnEmptyMessage) {
  auto receiver = make();

  const Arrival arrival = receiver.on_packet(data(0, 0), {}, kNow);

  EXPECT_EQ(arrival.kind, ArrivalKind::accepted);
  EXPECT_TRUE(arrival.delivered);
  EXPECT_EQ(rel(receiver.epsn()), 1);
  EXPECT_EQ(receiver.bytes_recvd(), 0u);
}

// [D20] The largest message there is has 2^32 - 1 bytes; its last packet carries the odd rest.
TEST_P(ReceiverTest, OnPacket_TakesTheLastPacketOfTheLargestMessage) {
  auto receiver = make();
  Packet packet = data(3, 295);
  packet.message_length = 0xffff'ffff;
  packet.offset = 4'294'967'000;

  const Arrival arrival = receiver.on_packet(packet, {}, kNow);

  EXPECT_EQ(arrival.kind, ArrivalKind::accepted);
  EXPECT_FALSE(arrival.delivered);
}

// ---- poll_ack ----

// A SACK is sent once, and none without a reason.
TEST_P(ReceiverTest, PollAck_GivesEachSackOnce) {
  auto receiver = make();
  EXPECT_FALSE(receiver.poll_ack(kNow));

  receiver.on_packet(data(0), {}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow));
  EXPECT_FALSE(receiver.poll_ack(kNow));

  EXPECT_EQ(log.sacks.size(), 1u);
}

// [R.sack.echo] [D13] [D27] Path, mark, timestamp and PSN are the triggering packet's; the host
// fills the hold time.
TEST_P(ReceiverTest, PollAck_EchoesTheTriggeringPacket) {
  auto receiver = make();
  receiver.on_packet(data(1), {}, kNow);
  Packet trigger = data(0);
  trigger.path_id = 255;
  trigger.timestamp = {0xffff'fff0};

  receiver.on_packet(trigger, {.ecn = true}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(sack.path_id, 255);
  EXPECT_TRUE(sack.ecn);
  EXPECT_EQ(sack.timestamp.ns, 0xffff'fff0);
  EXPECT_EQ(rel(sack.psn), 0);
  EXPECT_FALSE(sack.for_probe);
  EXPECT_EQ(sack.hold_time_ns, 0u);
}

// [D13] A packet that triggers nothing leaves the echo of one that did.
TEST_P(ReceiverTest, PollAck_EchoIsNotTheLastPacketsButTheTriggers) {
  auto receiver = make();
  receiver.on_packet(data(0), {.ecn = true}, kNow);
  receiver.on_packet(data(2), {}, kNow);

  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.psn), 0);
  EXPECT_TRUE(sack.ecn);
}

// A SACK that was not polled is replaced by the next one.
TEST_P(ReceiverTest, PollAck_UnpolledSackIsReplaced) {
  auto receiver = make();
  receiver.on_packet(data(0), {.ecn = true}, kNow);
  receiver.on_packet(data(1), {}, kNow);

  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.psn), 1);
  EXPECT_FALSE(sack.ecn);
  EXPECT_EQ(rel(sack.epsn), 2);
  EXPECT_FALSE(receiver.poll_ack(kNow));
}

// [D13] With `trigger` the mark of a packet in between goes unseen.
TEST_P(ReceiverTest, PollAck_TriggerRuleIgnoresMarksInBetween) {
  auto receiver = make();
  receiver.on_packet(data(1), {.ecn = true}, kNow);
  receiver.on_packet(data(0), {}, kNow);

  EXPECT_FALSE(receiver.poll_ack(kNow).value().ecn);
}

// [D13] With `any_mark` it is echoed, on the path of the triggering packet, and by one SACK only.
TEST_P(ReceiverTest, PollAck_AnyMarkRuleEchoesMarksInBetween) {
  params.echo_rule = EchoRule::any_mark;
  auto receiver = make();
  receiver.on_packet(data(2), {.ecn = true}, kNow);
  receiver.on_packet(data(0), {}, kNow);

  const Sack marked = receiver.poll_ack(kNow).value();
  EXPECT_TRUE(marked.ecn);
  EXPECT_EQ(marked.path_id, 0);

  receiver.on_packet(data(1), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow).value().ecn);
}

// [D13] Under `any_mark` the mark of the triggering packet, of a duplicate and of a probe count
// too.
TEST_P(ReceiverTest, PollAck_AnyMarkRuleCountsEveryKindOfPacket) {
  params.echo_rule = EchoRule::any_mark;
  auto receiver = make();

  receiver.on_packet(data(0), {.ecn = true}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow).value().ecn);
  receiver.on_packet(data(0), {.ecn = true}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow).value().ecn);
  receiver.on_packet(probe(0), {.ecn = true}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow).value().ecn);

  receiver.on_packet(data(2), {.ecn = true}, kNow);
  receiver.on_packet(probe(0), {}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow).value().ecn);

  receiver.on_packet(probe(0), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow).value().ecn);
}

// [D13] [D26] A packet that is dropped leaves no mark behind.
TEST_P(ReceiverTest, PollAck_AnyMarkRuleIgnoresDroppedPackets) {
  params.echo_rule = EchoRule::any_mark;
  auto receiver = make();
  Packet malformed = data(1);
  malformed.payload = 1;

  receiver.on_packet(malformed, {.ecn = true}, kNow);
  receiver.on_packet(data(1'024), {.ecn = true}, kNow);
  receiver.on_packet(data(0), {}, kNow);

  EXPECT_FALSE(receiver.poll_ack(kNow).value().ecn);
}

// [R.sack.field.epsn] EPSN is the lowest PSN not yet received.
TEST_P(ReceiverTest, PollAck_CarriesEpsn) {
  auto receiver = make();
  arrive(receiver, 0, 5);
  receiver.on_packet(data(6), {}, kNow);

  receiver.on_packet(probe(0), {}, kNow);

  EXPECT_EQ(rel(receiver.poll_ack(kNow).value().epsn), 5);
}

// [R.sack.field.base] [R.sack.field.bitmap] Bit i stands for sack_base + i; the EPSN packet's own
// bit is 0.
TEST_P(ReceiverTest, PollAck_CarriesOneSegmentOfTheBitmap) {
  auto receiver = make();
  for (const std::uint32_t n : {1u, 3u, 63u, 64u}) receiver.on_packet(data(n), {}, kNow);

  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.sack_base), 0);
  EXPECT_EQ(sack.bitmap, 0x8000'0000'0000'000au);
}

// [R.sack.field.bytes_recvd] [D16] [D20] Payload bytes, each packet once however often it arrives.
TEST_P(ReceiverTest, PollAck_CarriesBytesWithoutDuplicates) {
  auto receiver = make();
  receiver.on_packet(data(0, 300), {}, kNow);
  receiver.on_packet(data(2, 500), {}, kNow);
  receiver.on_packet(data(2, 500), {}, kNow);
  receiver.on_packet(data(0, 300), {}, kNow);

  EXPECT_EQ(receiver.poll_ack(kNow).value().bytes_recvd, 800u);
}

// [R.sack.field.bytes_recvd] [D16] The count wraps at 2^32.
TEST_P(ReceiverTest, PollAck_BytesWrap) {
  params = StrackParams::for_link(gbps(400), us(8), bytes(65'535)).value();
  auto receiver = make();
  for (std::uint32_t n = 0; n < 65'537; ++n) receiver.on_packet(data(n, 65'535), {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow).value().bytes_recvd, 0xffff'ffffu);

  receiver.on_packet(data(65'537, 3), {}, kNow);

  EXPECT_EQ(receiver.poll_ack(kNow).value().bytes_recvd, 2u);
}

// [R.sack.field.ooo] [D14] The counter is of packets held beyond EPSN, holes not counted.
TEST_P(ReceiverTest, PollAck_CarriesTheOutOfOrderCount) {
  auto receiver = make();
  for (const std::uint32_t n : {2u, 4u, 100u, 900u}) receiver.on_packet(data(n), {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow).value().ooo_count, 4);

  receiver.on_packet(data(0), {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow).value().ooo_count, 4);
  receiver.on_packet(data(1), {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow).value().ooo_count, 3);
}

// [R.sack.segments] [R.sack.lpsn] [D12] The segment is the one of 64, counted from EPSN, that holds
// LPSN.
TEST_P(ReceiverTest, PollAck_ShowsTheSegmentOfLpsn) {
  struct Case {
    std::uint32_t lpsn;
    std::int32_t base;
  };
  for (const auto& [lpsn, base] : {Case{11, 10}, Case{73, 10}, Case{74, 74}, Case{137, 74},
                                   Case{138, 138}, Case{1'033, 970}}) {
    params.sack_bytes = bytes(1);
    auto receiver = make();
    arrive(receiver, 0, 10);

    receiver.on_packet(data(lpsn), {}, kNow);
    const Sack sack = receiver.poll_ack(kNow).value();

    EXPECT_EQ(rel(sack.sack_base), base) << lpsn;
    EXPECT_EQ(sack.bitmap, std::uint64_t{1} << (lpsn - static_cast<std::uint32_t>(base))) << lpsn;
  }
}

// [R.sack.lpsn] [D12] The segment is the one holding the lowest PSN received since the last SACK.
TEST_P(ReceiverTest, PollAck_LpsnIsTheLowestSinceTheLastSack) {
  auto receiver = make();
  for (const std::uint32_t n : {200u, 70u, 300u, 130u}) receiver.on_packet(data(n), {}, kNow);
  const Sack first = receiver.poll_ack(kNow).value();
  EXPECT_EQ(rel(first.sack_base), 64);
  EXPECT_EQ(first.bitmap, std::uint64_t{1} << 6);
  EXPECT_EQ(log.count(Rare::later_segment), 1);

  for (const std::uint32_t n : {500u, 501u, 400u, 502u}) receiver.on_packet(data(n), {}, kNow);

  EXPECT_EQ(rel(receiver.poll_ack(kNow).value().sack_base), 384);
}

// [R.sack.lpsn] A SACK for a probe starts LPSN afresh as well.
TEST_P(ReceiverTest, PollAck_ProbesSackStartsLpsnAfresh) {
  auto receiver = make();
  receiver.on_packet(data(70), {}, kNow);
  receiver.on_packet(probe(0), {}, kNow);
  EXPECT_TRUE(receiver.poll_ack(kNow));

  for (const std::uint32_t n : {200u, 201u, 202u, 203u}) receiver.on_packet(data(n), {}, kNow);

  EXPECT_EQ(rel(receiver.poll_ack(kNow).value().sack_base), 192);
}

// [R.sack.lpsn] [D11] A duplicate counts for LPSN: what it brings up again is what the sender does
// not know.
TEST_P(ReceiverTest, PollAck_DuplicateMovesTheSegment) {
  auto receiver = make();
  arrive(receiver, 130, 134);

  receiver.on_packet(data(131), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.sack_base), 128);
  EXPECT_EQ(sack.bitmap, 0b111100u);
}

// [D12] When EPSN has passed LPSN, the first segment is sent.
TEST_P(ReceiverTest, PollAck_LpsnBelowEpsnMeansTheFirstSegment) {
  params.sack_on_epsn = false;
  auto receiver = make();
  for (const std::uint32_t n : {0u, 200u, 201u, 202u}) receiver.on_packet(data(n), {}, kNow);

  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.epsn), 1);
  EXPECT_EQ(rel(sack.sack_base), 1);
  EXPECT_EQ(sack.bitmap, 0u);
  EXPECT_EQ(log.count(Rare::later_segment), 0);
}

// [D12] [R.sack.lpsn] So it is for a PSN that was half the circle below EPSN before EPSN moved on.
TEST_P(ReceiverTest, PollAck_LpsnFarBelowEpsnMeansTheFirstSegment) {
  for (const std::uint32_t distance : {0x7fff'ffffu, 0x8000'0000u}) {
    auto receiver = make();
    for (std::uint32_t n = 1; n < 4; ++n) receiver.on_packet(data(n), {}, kNow);

    EXPECT_EQ(receiver.on_packet(data(0u - distance), {}, kNow).kind, ArrivalKind::duplicate);
    receiver.on_packet(data(0), {}, kNow);  // without a poll in between
    receiver.on_packet(data(100), {}, kNow);
    const Sack sack = receiver.poll_ack(kNow).value();

    EXPECT_EQ(rel(sack.epsn), 4);
    EXPECT_EQ(rel(sack.sack_base), 4);
  }
}

// [R.probe.bit] [R.probe.reply] [D13] The answer to a probe says so, and echoes the probe.
TEST_P(ReceiverTest, PollAck_AnswersAProbeAsSuch) {
  auto receiver = make();

  receiver.on_packet(probe(0, 41), {.ecn = true}, kNow);
  const Sack answer = receiver.poll_ack(kNow).value();
  EXPECT_TRUE(answer.for_probe);
  EXPECT_EQ(answer.probe_id, 41);
  EXPECT_EQ(answer.path_id, 7);
  EXPECT_EQ(answer.timestamp.ns, 90'000u);
  EXPECT_TRUE(answer.ecn);

  receiver.on_packet(data(0), {}, kNow);
  EXPECT_FALSE(receiver.poll_ack(kNow).value().for_probe);
}

// [R.probe.base] [R.probe.reply] [D12] A probe gets exactly the base it asks for, aligned or not,
// LPSN or not.
TEST_P(ReceiverTest, PollAck_HonoursTheProbesBase) {
  auto receiver = make();
  receiver.on_packet(data(1), {}, kNow);
  receiver.on_packet(data(107), {}, kNow);

  receiver.on_packet(probe(100), {}, kNow);
  const Sack sack = receiver.poll_ack(kNow).value();

  EXPECT_EQ(rel(sack.epsn), 0);
  EXPECT_EQ(rel(sack.sack_base), 100);
  EXPECT_EQ(sack.bitmap, 1u << 7);
  EXPECT_EQ(log.count(Rare::probe_base_outside), 0);
}

// [R.probe.base] [D12] [D26] The last PSN of the window is a base; the next, or one below EPSN,
// becomes EPSN.
TEST_P(ReceiverTest, PollAck_ProbesBaseOutsideTheWindowBecomesEpsn) {
  for (const std::uint32_t window : {1u, 100u, 1'024u}) {
    params.tracking_window = window;
    auto receiver = make();
    arrive(receiver, 0, 10);
    log = {};

    receiver.on_packet(probe(10 + window - 1), {}, kNow);
    EXPECT_EQ(rel(receiver.poll_ack(kNow).value().sack_base), static_cast<int>(9 + window));
    EXPECT_EQ(log.count(Rare::probe_base_outside), 0);
    receiver.on_packet(probe(10 + window), {}, kNow);
    EXPECT_EQ(rel(receiver.poll_ack(kNow).value().sack_base), 10);
    EXPECT_EQ(log.count(Rare::probe_base_outside), 1);
    receiver.on_packet(probe(9), {}, kNow);
    EXPECT_EQ(rel(receiver.poll_ack(kNow).value().sack_base), 10);
    EXPECT_EQ(log.count(Rare::probe_base_outside), 2);
  }
}

// [R.sack.field.bitmap] [D12] [D26] From a base near the window's end, bits beyond the window are
// 0: the packets at its beginning, which share their place, do not show through.
TEST_P(ReceiverTest, PollAck_BitsBeyondTheWindowAreMasked) {
  auto receiver = make();
  arrive(receiver, 1, 64);
  arrive(receiver, 960, 1'024);
  const auto bitmap_from = [&](std::uint32_t base) {
    receiver.on_packet(probe(base), {}, kNow);
    return receiver.poll_ack(kNow).value().bitmap;
  };

  EXPECT_EQ(bitmap_from(960), ~std::uint64_t{0});
  EXPECT_EQ(bitmap_from(961), ~std::uint64_t{0} >> 1);
  EXPECT_EQ(bitmap_from(962), ~std::uint64_t{0} >> 2);
  EXPECT_EQ(bitmap_from(1'023), 1u);
  EXPECT_EQ(bitmap_from(950), ~std::uint64_t{0} << 10);
}

// ---- The timer it does not have ----

// A receiver acts on arrivals only.
TEST_P(ReceiverTest, NextDeadline_IsNever) {
  auto receiver = make();
  receiver.on_packet(data(1), {}, kNow);

  receiver.on_timeout(at(seconds(9)));

  EXPECT_EQ(receiver.next_deadline(), Instant::never());
  EXPECT_FALSE(receiver.poll_ack(at(seconds(9))));
}

// has_arrived knows what is below EPSN, in the bitmap, and nothing from beyond the window.
TEST_P(ReceiverTest, HasArrived_BelowInsideAndBeyondTheWindow) {
  auto receiver = make();
  arrive(receiver, 0, 4);
  arrive(receiver, 6, 7);

  EXPECT_TRUE(receiver.has_arrived(psn(3)));
  EXPECT_FALSE(receiver.has_arrived(psn(4)));
  EXPECT_TRUE(receiver.has_arrived(psn(6)));
  EXPECT_FALSE(receiver.has_arrived(psn(6 + 1'024)));
}

}  // namespace
}  // namespace strack::core
