#include "transports/strack/sender.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

/// What a sender told its watcher.
struct Log {
  struct Sample {
    Picoseconds rtt;
    Picoseconds qdelay;
    Bytes acked;
  };
  std::vector<SackFault> faults;
  std::vector<LossDeclared> losses;
  std::vector<Psn> recoveries_ended;
  std::vector<Rare> reached;
  std::vector<Sample> samples;
  std::vector<PacketSent> sent;
  std::vector<PathChosen> paths;
  std::vector<std::uint16_t> probes;
  std::vector<MessageId> completed;

  [[nodiscard]] auto count(Rare branch) const {
    return std::count(reached.begin(), reached.end(), branch);
  }
};

struct Sink {
  Log* log = nullptr;

  void on(const SackRejected& event) const { log->faults.push_back(event.fault); }
  void on(const LossDeclared& event) const { log->losses.push_back(event); }
  void on(const RecoveryEnded& event) const { log->recoveries_ended.push_back(event.epsn); }
  void on(const Reached& event) const { log->reached.push_back(event.branch); }
  void on(const SackReceived& event) const {
    log->samples.push_back({event.rtt, event.qdelay, event.acked});
  }
  void on(const PacketSent& event) const { log->sent.push_back(event); }
  void on(const PathChosen& event) const { log->paths.push_back(event); }
  void on(const ProbeSent& event) const { log->probes.push_back(event.probe_id); }
  void on(const MessageCompleted& event) const { log->completed.push_back(event.message_id); }
  template <class Event>
  void on(const Event& /*event*/) const {}
};

using TestSender = Sender<Sink>;

/// When most tests send their first packets. An RTT of 8 us has no queues in it.
constexpr Instant kStart = at(us(100));
constexpr Instant after_start(Picoseconds time) { return kStart + time; }

/// A link of 8 Gb/s and 8 us with packets of 1000 bytes: a window of 8 of them, a probe after 24
/// us, a timeout after 200. Every test runs once per initial PSN, and counts PSNs from there: the
/// wrap at 2^32 falls before, inside and behind what it does.
class SenderTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  [[nodiscard]] TestSender make() { return {params, slots, psn(0), Sink{&log}}; }
  [[nodiscard]] Psn psn(std::uint32_t n) const { return Psn{GetParam()} + n; }
  [[nodiscard]] std::int32_t rel(Psn p) const { return p - psn(0); }

  static void post(TestSender& sender, MessageId id, std::uint32_t length) {
    ASSERT_EQ(sender.on_message({id, length}, kStart), PostResult::accepted);
  }
  /// Everything that may go now.
  static std::vector<Packet> send(TestSender& sender, Instant now) {
    std::vector<Packet> packets;
    while (const auto packet = sender.poll_transmit(now)) packets.push_back(*packet);
    return packets;
  }
  [[nodiscard]] std::vector<std::int32_t> psns(const std::vector<Packet>& packets) const {
    std::vector<std::int32_t> result;
    for (const Packet& packet : packets) result.push_back(rel(packet.psn));
    return result;
  }
  /// A sender that has just sent one message of so many bytes.
  [[nodiscard]] TestSender sending(std::uint32_t length, Instant now = kStart) {
    TestSender sender = make();
    post(sender, 1, length);
    send(sender, now);
    return sender;
  }

  /// From a receiver that has all before `epsn` and what `bits` show from there on; all packets
  /// have 1000 bytes.
  [[nodiscard]] Sack sack(std::uint32_t epsn, std::uint64_t bits, Instant now,
                          Picoseconds rtt = us(8)) const {
    const auto held = static_cast<std::uint32_t>(std::popcount(bits));
    Sack sack;
    sack.epsn = psn(epsn);
    sack.sack_base = sack.epsn;
    sack.bitmap = bits;
    sack.bytes_recvd = 1'000 * (epsn + held);
    sack.psn = sack.epsn - 1u;
    sack.timestamp = Timestamp::of(now - rtt);
    sack.path_id = 200;
    sack.ooo_count = static_cast<std::uint16_t>(held);
    return sack;
  }
  [[nodiscard]] Sack answer(std::uint16_t probe_id, std::uint32_t epsn, std::uint64_t bits,
                            Instant now, Picoseconds rtt = us(8)) const {
    Sack answer = sack(epsn, bits, now, rtt);
    answer.for_probe = true;
    answer.probe_id = probe_id;
    answer.psn = answer.epsn;
    return answer;
  }

  /// Twelve packets are out; 0, 1 and 4 to 9 have arrived, so 2 and 3 are taken as lost. The probe
  /// deadline is 24 us and the timeout 200 us after kLoss.
  [[nodiscard]] TestSender losing_two_of_twelve() {
    params.max_cwnd = bytes(20'000);
    params.ooo_cwnd = {0, 1};
    TestSender sender = sending(12'000);
    sender.on_receiving_ack(sack(2, 0b1111'1100, kLoss), kLoss);
    return sender;
  }
  static constexpr Instant kLoss = after_start(us(8));

  static void expect_ledger(const TestSender& sender, std::int64_t sent, std::int64_t recvd,
                            std::int64_t claimed, std::int64_t inflight) {
    EXPECT_EQ(sender.bytes_sent(), bytes(sent));
    EXPECT_EQ(sender.bytes_recvd(), bytes(recvd));
    EXPECT_EQ(sender.bytes_claimed_retransmit(), bytes(claimed));
    EXPECT_EQ(sender.inflight_bytes(), bytes(inflight));
  }
  void expect_loss(std::size_t index, LossCause cause, std::int32_t from, std::int32_t high,
                   std::int64_t claimed) const {
    ASSERT_LT(index, log.losses.size());
    const LossDeclared& loss = log.losses[index];
    EXPECT_EQ(loss.cause, cause);
    EXPECT_EQ(rel(loss.from), from);
    EXPECT_EQ(rel(loss.high), high);
    EXPECT_EQ(loss.claimed, bytes(claimed));
  }

  /// All of a sender's memory but the count of rejected SACKs.
  static std::vector<unsigned char> memory_of(const TestSender& sender) {
    std::vector<unsigned char> memory(sizeof(sender));
    std::memcpy(memory.data(), &sender, sizeof(sender));
    const auto* start = reinterpret_cast<const unsigned char*>(&sender);
    const auto* count = reinterpret_cast<const unsigned char*>(&sender.counters().sacks_rejected);
    std::fill_n(memory.begin() + (count - start), sizeof(sender.counters().sacks_rejected),
                static_cast<unsigned char>(0));
    return memory;
  }
  void expect_rejected(TestSender& sender, const Sack& sack, Instant now, SackFault fault) {
    const std::vector<unsigned char> before = memory_of(sender);
    const std::uint32_t rejected = sender.counters().sacks_rejected;
    log = {};

    sender.on_receiving_ack(sack, now);

    ASSERT_EQ(log.faults.size(), 1u);
    EXPECT_EQ(log.faults[0], fault);
    EXPECT_EQ(sender.counters().sacks_rejected, rejected + 1);
    EXPECT_TRUE(memory_of(sender) == before);
  }
  void expect_accepted(TestSender& sender, const Sack& sack, Instant now) {
    const std::uint32_t rejected = sender.counters().sacks_rejected;
    log = {};

    sender.on_receiving_ack(sack, now);

    EXPECT_TRUE(log.faults.empty());
    EXPECT_EQ(log.samples.size(), 1u);
    EXPECT_EQ(sender.counters().sacks_rejected, rejected);
  }

  StrackParams params = StrackParams::for_link(gbps(8), us(8), bytes(1'000)).value();
  std::array<MessageSlot, 4> slots{};
  Log log;
};

// [R.probe.send] A SACK between the deadline and the poll ends the silence: no probe.
TEST_P(SenderTest, OnReceivingAck_CancelsAProbeNotYetSent) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));  // the port is busy: the host polls later

  sender.on_receiving_ack(sack(8, 0, after_start(us(25))), after_start(us(25)));

  EXPECT_FALSE(sender.poll_transmit(after_start(us(26))));
}

// [D25] EPSN is missing by definition: a SACK that says it has arrived contradicts itself.
// Believed, it would stop the packet from ever being sent again.
TEST_P(SenderTest, OnReceivingAck_RefusesASackThatAcknowledgesItsOwnEpsn) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack by_bitmap = sack(2, 0b1, now);
  Sack by_echo = sack(2, 0, now);
  by_echo.psn = psn(2);

  sender.on_receiving_ack(by_bitmap, now);
  sender.on_receiving_ack(by_echo, now);

  EXPECT_EQ(log.faults, (std::vector{SackFault::contradiction, SackFault::contradiction}));
  EXPECT_FALSE(sender.is_acknowledged(psn(2)));
}

// [D25] Nor can a bitmap show more than the counter counts; it may show less.
TEST_P(SenderTest, OnReceivingAck_RefusesMoreBitsThanTheCounter) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack more = sack(2, 0b110, now);
  more.ooo_count = 1;
  Sack fewer = sack(2, 0b110, now);
  fewer.ooo_count = 3;

  sender.on_receiving_ack(more, now);
  EXPECT_EQ(log.faults, std::vector{SackFault::contradiction});
  sender.on_receiving_ack(fewer, now);
  EXPECT_EQ(log.faults.size(), 1u);
}

// [D7] [D27] A hold time as long as the RTT or longer leaves no RTT, but what the SACK acknowledges
// counts.
TEST_P(SenderTest, OnReceivingAck_HoldTimeLongerThanTheRttIsNoSample) {
  TestSender sender = sending(8'000);
  Sack held = sack(2, 0, after_start(us(8)));
  held.hold_time_ns = 8'001;

  sender.on_receiving_ack(held, after_start(us(8)));

  EXPECT_EQ(sender.epsn(), psn(2));
  EXPECT_EQ(sender.window().base_rtt(), us(8));
}

// [D7] [D10] No RTT is no prompt answer: it gives no verdict.
TEST_P(SenderTest, OnReceivingAck_ProbeAnswerWithoutAnRttGivesNoVerdict) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  ASSERT_TRUE(sender.poll_transmit(after_start(us(24))));
  Sack held = answer(1, 0, 0, after_start(us(32)));
  held.hold_time_ns = 8'000;

  sender.on_receiving_ack(held, after_start(us(32)));

  EXPECT_FALSE(sender.in_recovery());
}

INSTANTIATE_TEST_SUITE_P(FirstPsn, SenderTest,
                         testing::Values(0u, 1'000u, 0x7fff'fffbu, 0xffff'ffb0u, 0xffff'fffau,
                                         0xffff'fffdu, 0xffff'ffffu));

// ---- on_message ----

// [D21] A full queue refuses a message until the first one is complete and has been polled for.
TEST_P(SenderTest, OnMessage_QueueIsFullUntilACompletionIsPolled) {
  TestSender sender = make();
  for (const MessageId id : {1u, 2u, 3u, 4u}) post(sender, id, 1'000);

  EXPECT_EQ(sender.on_message({5, 1'000}, kStart), PostResult::queue_full);
  EXPECT_EQ(log.count(Rare::message_queue_full), 1);
  EXPECT_EQ(psns(send(sender, kStart)), (std::vector{0, 1, 2, 3}));
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_EQ(sender.on_message({5, 1'000}, now), PostResult::queue_full);
  EXPECT_EQ(sender.poll_completion(), MessageId{1});

  EXPECT_EQ(sender.on_message({5, 1'000}, now), PostResult::accepted);
  const std::optional<Packet> packet = sender.poll_transmit(now);
  EXPECT_EQ(rel(packet.value().psn), 4);
  EXPECT_EQ(packet.value().message_id, 5u);
  EXPECT_EQ(sender.on_message({6, 1'000}, now), PostResult::queue_full);
}

// ---- poll_transmit ----

// [D28] The first packet has the PSN given at construction.
TEST_P(SenderTest, PollTransmit_StartsAtTheInitialPsn) {
  TestSender sender = make();
  EXPECT_FALSE(sender.poll_transmit(kStart));
  post(sender, 1, 1'000);

  EXPECT_EQ(sender.poll_transmit(kStart).value().psn.value, GetParam());
}

// [D20] [D21] [P.ooo_delivery] Messages take consecutive PSNs, an empty one takes one, and each
// packet says where it belongs.
TEST_P(SenderTest, PollTransmit_CutsMessagesIntoPackets) {
  TestSender sender = make();
  post(sender, 7, 2'500);
  post(sender, 8, 0);
  post(sender, 9, 1'000);
  struct Expected {
    MessageId id;
    std::uint32_t length;
    std::uint32_t offset;
    std::uint16_t payload;
  };
  constexpr std::array expected{Expected{7, 2'500, 0, 1'000}, Expected{7, 2'500, 1'000, 1'000},
                                Expected{7, 2'500, 2'000, 500}, Expected{8, 0, 0, 0},
                                Expected{9, 1'000, 0, 1'000}};

  const std::vector<Packet> packets = send(sender, kStart);

  ASSERT_EQ(packets.size(), expected.size());
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].type, PacketType::data);
    EXPECT_FALSE(packets[i].retransmission);
    EXPECT_EQ(rel(packets[i].psn), static_cast<int>(i));
    EXPECT_EQ(packets[i].message_id, expected[i].id);
    EXPECT_EQ(packets[i].message_length, expected[i].length);
    EXPECT_EQ(packets[i].offset, expected[i].offset);
    EXPECT_EQ(packets[i].payload, expected[i].payload);
  }
  EXPECT_EQ(sender.inflight_bytes(), bytes(3'500));
}

// [D27] The core stamps the time of the poll in nanoseconds, rounded down and modulo 2^32.
TEST_P(SenderTest, PollTransmit_StampsTheTimeOfThePoll) {
  TestSender sender = make();
  post(sender, 1, 2'000);

  EXPECT_EQ(sender.poll_transmit(at(ps(5'000'999))).value().timestamp.ns, 5'000u);
  EXPECT_EQ(sender.poll_transmit(at(seconds(5))).value().timestamp.ns, 705'032'704u);
}

// [A1.L1] [A1.L2] [D18] New data, probes and retransmissions each choose a path once, as they
// leave; a retransmission does not inherit one.
TEST_P(SenderTest, PollTransmit_EveryPacketChoosesItsPath) {
  TestSender sender = make();
  post(sender, 1, 3'000);
  std::vector<Packet> packets = send(sender, kStart);
  sender.on_timeout(after_start(us(24)));
  for (const Packet& packet : send(sender, after_start(us(24)))) packets.push_back(packet);
  sender.on_timeout(after_start(us(200)));
  for (const Packet& packet : send(sender, after_start(us(200)))) packets.push_back(packet);

  ASSERT_EQ(packets.size(), 7u);
  EXPECT_EQ(packets[3].type, PacketType::probe);
  EXPECT_TRUE(packets[4].retransmission);
  ASSERT_EQ(log.paths.size(), 7u);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].path_id, 1 + i);
    EXPECT_EQ(log.paths[i].path_id, 1 + i);
    EXPECT_FALSE(log.paths[i].recycled);
  }
}

// [A1.L2] [D18] A path remembered from a clean SACK serves the next packet, a probe as well as
// data.
TEST_P(SenderTest, PollTransmit_ReusesThePathOfACleanSack) {
  TestSender sender = sending(8'000);
  post(sender, 2, 2'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(2, 0, now), now);
  EXPECT_EQ(sender.poll_transmit(now).value().path_id, 200);
  EXPECT_EQ(sender.poll_transmit(now).value().path_id, 201 % 16);

  sender.on_receiving_ack(sack(2, 0, now), now);
  sender.on_timeout(now + us(24));
  const Packet probe = sender.poll_transmit(now + us(24)).value();

  EXPECT_EQ(probe.type, PacketType::probe);
  EXPECT_EQ(probe.path_id, 200);
}

// [R.inflight.window] [D19] A packet goes if it leaves inflight_bytes at cwnd, not if a byte above.
TEST_P(SenderTest, PollTransmit_FitFillsTheWindowExactly) {
  for (const std::int64_t spare : {0, -1}) {
    params.max_cwnd = bytes(8'500 + spare);
    TestSender sender = make();
    post(sender, 1, 8'000);
    post(sender, 2, 500);

    const std::vector<Packet> packets = send(sender, kStart);

    EXPECT_EQ(packets.size(), spare == 0 ? 9u : 8u);
    EXPECT_EQ(sender.inflight_bytes(), bytes(spare == 0 ? 8'500 : 8'000));
  }
}

// [R.inflight.window] [D19] What does not fit waits, even where something smaller behind it would
// fit.
TEST_P(SenderTest, PollTransmit_FitKeepsTheOrderOfMessages) {
  params.max_cwnd = bytes(8'500);
  TestSender sender = make();
  post(sender, 1, 9'000);
  post(sender, 2, 100);

  EXPECT_EQ(send(sender, kStart).size(), 8u);
}

// [D19] With `overshoot` a packet goes while inflight_bytes is below cwnd, by however little.
TEST_P(SenderTest, PollTransmit_OvershootSendsWhileBelowTheWindow) {
  params.window_rule = WindowRule::overshoot;
  for (const std::int64_t spare : {0, 1}) {
    params.max_cwnd = bytes(8'000 + spare);
    TestSender sender = make();
    post(sender, 1, 20'000);

    EXPECT_EQ(send(sender, kStart).size(), spare == 0 ? 8u : 9u);
  }
}

// [D19] [D20] An empty packet fits into a full window; `overshoot` still asks for room.
TEST_P(SenderTest, PollTransmit_EmptyPacketIntoAFullWindow) {
  for (const WindowRule rule : {WindowRule::fit, WindowRule::overshoot}) {
    params.window_rule = rule;
    TestSender sender = sending(8'000);
    post(sender, 2, 0);

    EXPECT_EQ(sender.poll_transmit(kStart).has_value(), rule == WindowRule::fit);
  }
}

// [R.inflight.window] A window that shrinks below what is in flight stops sending until that has
// drained.
TEST_P(SenderTest, PollTransmit_ShrunkWindowStopsSending) {
  params.max_cwnd = bytes(16'000);
  TestSender sender = sending(20'000);
  const Instant late = after_start(us(116));
  Sack congested = sack(1, 0, late, us(116));
  congested.ecn = true;
  sender.on_receiving_ack(congested, late);
  EXPECT_EQ(sender.window().cwnd(), bytes(1'008));
  EXPECT_EQ(sender.inflight_bytes(), bytes(15'000));
  EXPECT_FALSE(sender.poll_transmit(late));

  Sack drained = sack(15, 0, late + us(1));
  drained.ecn = true;
  sender.on_receiving_ack(drained, late + us(1));
  EXPECT_FALSE(sender.poll_transmit(late + us(1)));
  drained = sack(16, 0, late + us(2));
  drained.ecn = true;
  sender.on_receiving_ack(drained, late + us(2));

  EXPECT_EQ(sender.window().cwnd(), bytes(1'008));
  EXPECT_EQ(psns(send(sender, late + us(2))), std::vector{16});
}

// [D26] No PSN at or above EPSN + tracking_window is sent; selective acknowledgement makes no room.
TEST_P(SenderTest, PollTransmit_StopsAtTheTrackingWindow) {
  params.tracking_window = 4;
  TestSender sender = make();
  post(sender, 1, 8'000);
  EXPECT_EQ(psns(send(sender, kStart)), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(log.count(Rare::tracking_window_full), 1);

  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b1110, now), now);
  EXPECT_EQ(send(sender, now).size(), 0u);
  sender.on_receiving_ack(sack(1, 0b110, now), now);

  EXPECT_EQ(psns(send(sender, now)), std::vector{4});
}

// [D26] By default the tracking window holds 1024 packets.
TEST_P(SenderTest, PollTransmit_TracksAtMost1024Packets) {
  params.max_cwnd = bytes(2'000'000);
  TestSender sender = sending(1'100'000);

  EXPECT_EQ(rel(sender.psn_next()), 1'024);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1'000, 0, now), now);

  EXPECT_EQ(psns(send(sender, now)).back(), 1'099);
}

// [D26] [D20] Empty packets take no window, so the tracking window is what bounds them.
TEST_P(SenderTest, PollTransmit_TrackingWindowBoundsEmptyPackets) {
  params.tracking_window = 3;
  TestSender sender = make();
  for (const MessageId id : {1u, 2u, 3u, 4u}) post(sender, id, 0);

  EXPECT_EQ(send(sender, kStart).size(), 3u);
  EXPECT_EQ(sender.inflight_bytes(), bytes(0));
  EXPECT_TRUE(sender.has_unacknowledged());
}

// [R.recovery.retransmit] [D17] What was taken as lost goes first, lowest PSN first, each packet
// once; then new data.
TEST_P(SenderTest, PollTransmit_RetransmitsOnceAndBeforeNewData) {
  TestSender sender = losing_two_of_twelve();
  post(sender, 2, 2'000);

  const std::vector<Packet> packets = send(sender, kLoss);

  EXPECT_EQ(psns(packets), (std::vector{2, 3, 12, 13}));
  EXPECT_TRUE(packets[0].retransmission);
  EXPECT_EQ(packets[0].message_id, 1u);
  EXPECT_EQ(packets[0].offset, 2'000u);
  EXPECT_EQ(packets[0].payload, 1'000);
  EXPECT_EQ(packets[0].timestamp.ns, 108'000u);
  EXPECT_TRUE(packets[1].retransmission);
  EXPECT_FALSE(packets[2].retransmission);
  EXPECT_EQ(sender.counters().retransmissions, 2u);
  EXPECT_TRUE(sender.in_recovery());
}

// [R.inflight.window] [R.recovery.retransmit] Retransmissions wait for the window too, and nothing
// new overtakes them.
TEST_P(SenderTest, PollTransmit_RetransmissionsWaitForTheWindow) {
  params.max_cwnd = bytes(20'000);
  params.ooo_cwnd = {0, 1};
  params.ewma_q16 = 65'536;
  params.gamma = {1, 1};
  TestSender sender = sending(20'000);
  post(sender, 2, 500);
  const Instant late = after_start(us(116));
  Sack congested = sack(2, 0b1111'1100, late, us(116));
  congested.ecn = true;
  sender.on_receiving_ack(congested, late);
  expect_ledger(sender, 20'000, 8'000, 2'000, 10'000);
  EXPECT_EQ(sender.window().cwnd(), bytes(10'008));
  EXPECT_FALSE(sender.poll_transmit(late));

  Sack one_more = sack(2, 0b1'1111'1100, late + us(1));
  one_more.ecn = true;
  sender.on_receiving_ack(one_more, late + us(1));

  EXPECT_EQ(psns(send(sender, late + us(1))), std::vector{2});
  expect_ledger(sender, 21'000, 9'000, 2'000, 10'000);
}

// [A1.L1] A watcher sees each packet with what is in flight after it, beside the window.
TEST_P(SenderTest, PollTransmit_TellsOfEachPacket) {
  (void)sending(2'000);

  ASSERT_EQ(log.sent.size(), 2u);
  EXPECT_EQ(rel(log.sent[1].packet.psn), 1);
  EXPECT_EQ(log.sent[0].inflight, bytes(1'000));
  EXPECT_EQ(log.sent[1].inflight, bytes(2'000));
  EXPECT_EQ(log.sent[1].cwnd, bytes(8'000));
}

// ---- on_receiving_ack: what is refused ----

// [D25] SackFault::epsn_not_sent: EPSN may reach the next PSN to be sent, not pass it; nor may it
// lie more than a quarter of the circle back, which is the future too.
TEST_P(SenderTest, OnReceivingAck_RejectsAnEpsnNeverSent) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  const auto with_epsn = [&](std::uint32_t epsn) {
    Sack sack = this->sack(0, 0, now);
    sack.epsn = psn(epsn);
    sack.sack_base = psn(epsn);
    return sack;
  };

  expect_rejected(sender, with_epsn(9), now, SackFault::epsn_not_sent);
  expect_rejected(sender, with_epsn(8u + 0x8000'0000), now, SackFault::epsn_not_sent);
  expect_rejected(sender, with_epsn(8u - 0x4000'0001), now, SackFault::epsn_not_sent);
  expect_accepted(sender, with_epsn(8u - 0x4000'0000), now);
  EXPECT_EQ(rel(sender.epsn()), 0);
  expect_accepted(sender, sack(8, 0, now), now);
}

// [D25] [D13] SackFault::psn_not_sent: the echoed PSN must have been sent; a probe's answer echoes
// none.
TEST_P(SenderTest, OnReceivingAck_RejectsAnEchoOfAPsnNeverSent) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack echo = sack(2, 0, now);
  echo.bytes_recvd = 3'000;

  echo.psn = psn(7u - 0x4000'0001);
  expect_rejected(sender, echo, now, SackFault::psn_not_sent);
  echo.psn = psn(7u - 0x4000'0000);
  expect_accepted(sender, echo, now);
  echo.psn = psn(8);
  expect_rejected(sender, echo, now, SackFault::psn_not_sent);
  echo.for_probe = true;
  expect_accepted(sender, echo, now);
  echo.for_probe = false;
  echo.psn = psn(7);
  expect_accepted(sender, echo, now);
}

// [D25] SackFault::bits_not_sent: the highest bit set must stand for a packet that was sent.
TEST_P(SenderTest, OnReceivingAck_RejectsBitsOfPacketsNeverSent) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));

  expect_rejected(sender, sack(2, std::uint64_t{1} << 6, now), now, SackFault::bits_not_sent);
  expect_rejected(sender, sack(2, std::uint64_t{1} << 63, now), now, SackFault::bits_not_sent);
  expect_rejected(sender, sack(2, 0b111'1110, now), now, SackFault::bits_not_sent);
  expect_accepted(sender, sack(2, std::uint64_t{1} << 5, now), now);
}

// [D25] [D26] SackFault::base_outside_window: the base lies from EPSN up to the end of the tracking
// window.
TEST_P(SenderTest, OnReceivingAck_RejectsABaseOutsideTheWindow) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack shifted = sack(2, 0, now);

  shifted.sack_base = psn(1);
  expect_rejected(sender, shifted, now, SackFault::base_outside_window);
  shifted.sack_base = psn(2 + 1'024);
  expect_rejected(sender, shifted, now, SackFault::base_outside_window);
  shifted.sack_base = psn(2 + 1'023);
  expect_accepted(sender, shifted, now);
}

// [D25] [D16] SackFault::bytes_never_sent: no more bytes can be received than were sent,
// repetitions apart.
TEST_P(SenderTest, OnReceivingAck_RejectsBytesNeverSent) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(200)));
  const Instant now = after_start(us(208));
  send(sender, now);
  EXPECT_EQ(sender.bytes_sent(), bytes(16'000));
  Sack generous = sack(2, 0, now);

  generous.bytes_recvd = 8'001;
  expect_rejected(sender, generous, now, SackFault::bytes_never_sent);
  generous.bytes_recvd = 8'000;
  expect_accepted(sender, generous, now);
}

// [D25] SackFault::bytes_missing: who has every packet has every byte.
TEST_P(SenderTest, OnReceivingAck_RejectsEveryPacketWithoutEveryByte) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack all = sack(8, 0, now);

  all.bytes_recvd = 7'999;
  expect_rejected(sender, all, now, SackFault::bytes_missing);
  Sack all_but_one = sack(7, 0, now);
  all_but_one.bytes_recvd = 6'999;
  expect_accepted(sender, all_but_one, now);
  all.bytes_recvd = 8'000;
  expect_accepted(sender, all, now);
}

// [D25] [D26] SackFault::ooo_above_window: beyond EPSN at most 1023 packets can be held.
TEST_P(SenderTest, OnReceivingAck_RejectsAnOutOfOrderCountAboveTheWindow) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack many = sack(2, 0, now);

  many.ooo_count = 1'024;
  expect_rejected(sender, many, now, SackFault::ooo_above_window);
  many.ooo_count = 1'023;
  expect_accepted(sender, many, now);
}

// [D25] SackFault::unknown_path: the echoed path is one of ours.
TEST_P(SenderTest, OnReceivingAck_RejectsAnUnknownPath) {
  for (const std::uint32_t paths : {4u, 256u}) {
    params.max_paths = paths;
    TestSender sender = sending(8'000);
    const Instant now = after_start(us(8));
    Sack strange = sack(2, 0, now);

    strange.path_id = static_cast<PathId>(paths);
    expect_rejected(sender, strange, now, SackFault::unknown_path);
    strange.path_id = static_cast<PathId>(paths - 1);
    expect_accepted(sender, strange, now);
  }
}

// [D25] [D27] SackFault::timestamp_ahead: no echo from the future, nor from more than 2^31 ns ago.
TEST_P(SenderTest, OnReceivingAck_RejectsATimestampFromTheFuture) {
  const Instant now = at(seconds(3));
  TestSender sender = sending(8'000, now);
  Sack early = sack(2, 0, now);
  const std::uint32_t tick = Timestamp::of(now).ns;

  early.timestamp = {tick + 1};
  expect_rejected(sender, early, now, SackFault::timestamp_ahead);
  early.timestamp = {tick - 0x8000'0000};
  expect_rejected(sender, early, now, SackFault::timestamp_ahead);
  early.timestamp = {tick - 0x7fff'ffff};
  expect_accepted(sender, early, now);
  early.timestamp = {tick};
  expect_accepted(sender, early, now);
}

// ---- on_receiving_ack: path and delay ----

// [A1.L4] [A1.L5] [A1.L6] [A1.L7] Mark and path of the echo go into the ECN bitmap: a marked echo
// marks its path, a clean one clears it.
TEST_P(SenderTest, OnReceivingAck_UpdatesTheEcnBitmap) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack echo = sack(1, 0, now);
  echo.path_id = 5;
  echo.ecn = true;
  sender.on_receiving_ack(echo, now);
  EXPECT_TRUE(sender.paths().is_marked(5));
  EXPECT_EQ(sender.paths().marked_paths(), 1u);

  echo.ecn = false;
  sender.on_receiving_ack(echo, now);

  EXPECT_EQ(sender.paths().marked_paths(), 0u);
}

// [A1.L7] A marked path is passed over by the packets that follow.
TEST_P(SenderTest, OnReceivingAck_MarkedPathIsPassedOver) {
  TestSender sender = sending(9'000);
  const Instant now = after_start(us(8));
  Sack echo = sack(1, 0, now);
  echo.path_id = 9;
  echo.ecn = true;
  sender.on_receiving_ack(echo, now);

  EXPECT_EQ(sender.poll_transmit(now).value().path_id, 10);
}

// [D9] By default marks last: no time clears them.
TEST_P(SenderTest, OnReceivingAck_KeepsMarksForEver) {
  TestSender sender = sending(8'000);
  Sack echo = sack(1, 0, kStart);
  echo.path_id = 5;
  echo.ecn = true;
  sender.on_receiving_ack(echo, kStart);

  sender.on_receiving_ack(sack(1, 0, after_start(seconds(2))), after_start(seconds(2)));

  EXPECT_TRUE(sender.paths().is_marked(5));
  EXPECT_EQ(log.count(Rare::ecn_bitmap_reset), 0);
}

// [D9] With `ecn_bitmap_reset` the first SACK that finds the interval over clears all marks before
// it adds its own; the rotation goes on where it was.
TEST_P(SenderTest, OnReceivingAck_ResetsMarksWhenTheIntervalIsOver) {
  params.ecn_bitmap_reset = us(100);
  TestSender sender = sending(8'000);
  post(sender, 2, 1'000);
  const auto marked = [this](PathId path_id, Instant now) {
    Sack echo = sack(1, 0, now);
    echo.path_id = path_id;
    echo.ecn = true;
    return echo;
  };

  sender.on_receiving_ack(marked(5, kStart), kStart);
  EXPECT_EQ(log.count(Rare::ecn_bitmap_reset), 1);
  EXPECT_EQ(sender.paths().marked_paths(), 1u);
  const Instant almost = after_start(us(100) - ps(1));
  sender.on_receiving_ack(marked(6, almost), almost);
  EXPECT_EQ(sender.paths().marked_paths(), 2u);
  const Instant over = after_start(us(100));
  sender.on_receiving_ack(marked(7, over), over);

  EXPECT_EQ(log.count(Rare::ecn_bitmap_reset), 2);
  EXPECT_EQ(sender.paths().marked_paths(), 1u);
  EXPECT_TRUE(sender.paths().is_marked(7));
  EXPECT_EQ(sender.poll_transmit(over).value().path_id, 9);
}

// [D27] [A1.L4] The RTT is the time since the echoed timestamp, less the time the receiver held the
// SACK.
TEST_P(SenderTest, OnReceivingAck_MeasuresTheRttWithoutTheHoldTime) {
  TestSender sender = sending(8'000);
  Sack held = sack(2, 0, after_start(us(30)), us(30));
  held.hold_time_ns = 10'000;

  sender.on_receiving_ack(held, after_start(us(30)));

  ASSERT_EQ(log.samples.size(), 1u);
  EXPECT_EQ(log.samples[0].rtt, us(20));
  EXPECT_EQ(log.samples[0].qdelay, us(12));
  EXPECT_EQ(log.samples[0].acked, bytes(2'000));
}

// [D27] An RTT is measured right while the 32-bit timestamp wraps.
TEST_P(SenderTest, OnReceivingAck_MeasuresTheRttOverTheWrapOfTheTimestamp) {
  const Instant before = at(ns(0xffff'f000));
  TestSender sender = sending(8'000, before);
  const Instant now = before + us(8);
  EXPECT_LT(Timestamp::of(now).ns, Timestamp::of(before).ns);

  sender.on_receiving_ack(sack(2, 0, now), now);

  ASSERT_EQ(log.samples.size(), 1u);
  EXPECT_EQ(log.samples[0].rtt, us(8));
}

// [D7] An RTT of zero is no sample: base_rtt and window stay, what the SACK acknowledges counts.
TEST_P(SenderTest, OnReceivingAck_ZeroRttIsNoSample) {
  params.max_cwnd = bytes(16'000);
  TestSender sender = sending(20'000);
  const Instant late = after_start(us(116));
  Sack congested = sack(1, 0, late, us(116));
  congested.ecn = true;
  sender.on_receiving_ack(congested, late);
  const Picoseconds average = sender.window().avg_qdelay();

  sender.on_receiving_ack(sack(5, 0, late + us(20), us(0)), late + us(20));

  EXPECT_EQ(sender.window().base_rtt(), us(8));
  EXPECT_EQ(sender.window().cwnd(), bytes(1'008));
  EXPECT_EQ(sender.window().avg_qdelay(), average);
  EXPECT_EQ(rel(sender.epsn()), 5);
  EXPECT_EQ(sender.bytes_recvd(), bytes(5'000));

  sender.on_receiving_ack(sack(5, 0, late + us(20), ns(1)), late + us(20));
  EXPECT_EQ(sender.window().base_rtt(), ns(1));
}

// [A1.L12] Every accepted SACK, a probe's answer and a repetition too, moves the probe deadline; a
// rejected one does not.
TEST_P(SenderTest, OnReceivingAck_MovesTheProbeDeadline) {
  TestSender sender = sending(8'000);
  EXPECT_EQ(sender.next_deadline(), after_start(us(24)));

  Instant now = after_start(us(10));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(34)));
  now = after_start(us(12));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(36)));
  now = after_start(us(15));
  sender.on_receiving_ack(answer(0, 1, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(39)));
  now = after_start(us(20));
  sender.on_receiving_ack(sack(9, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(39)));
}

// ---- on_receiving_ack: bookkeeping ----

// [R.bitmap.sender] EPSN acknowledges what is below it, the segment what its bits say, nothing
// more.
TEST_P(SenderTest, OnReceivingAck_TakesInEpsnAndBits) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));

  sender.on_receiving_ack(sack(2, 0b10'0010, now), now);

  EXPECT_EQ(rel(sender.epsn()), 2);
  for (std::uint32_t n = 0; n < 10; ++n) {
    EXPECT_EQ(sender.is_acknowledged(psn(n)), n < 2 || n == 3 || n == 7) << n;
  }
}

// [R.bitmap.sender] The segments of several SACKs add up, whichever part of the bitmap they show.
TEST_P(SenderTest, OnReceivingAck_SegmentsAddUp) {
  params.max_cwnd = bytes(200'000);
  TestSender sender = sending(200'000);
  const Instant now = after_start(us(8));
  Sack later = sack(0, 0b11, now);
  later.sack_base = psn(130);
  sender.on_receiving_ack(later, now);
  sender.on_receiving_ack(sack(0, 0b10, now), now);

  for (const std::uint32_t n : {1u, 130u, 131u}) EXPECT_TRUE(sender.is_acknowledged(psn(n))) << n;
  for (const std::uint32_t n : {0u, 2u, 129u, 132u})
    EXPECT_FALSE(sender.is_acknowledged(psn(n))) << n;
  EXPECT_EQ(sender.acked().count(), 3u);
}

// [R.bitmap.sender] [D26] What EPSN has passed leaves no trace: the packet that takes its place in
// the bitmap, 1024 PSNs later, is unacknowledged.
TEST_P(SenderTest, OnReceivingAck_BitmapIsClearedBehindEpsn) {
  params.max_cwnd = bytes(2'000'000);
  TestSender sender = sending(1'100'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b1110, now), now);
  EXPECT_EQ(sender.acked().count(), 3u);

  sender.on_receiving_ack(sack(5, 0, now), now);
  EXPECT_EQ(sender.acked().count(), 0u);
  EXPECT_EQ(psns(send(sender, now)), (std::vector{1'024, 1'025, 1'026, 1'027, 1'028}));

  EXPECT_FALSE(sender.is_acknowledged(psn(1'025)));
}

// [D25] [R.bitmap.sender] A stale SACK takes nothing back: neither EPSN nor bits nor bytes. Its own
// bits count.
TEST_P(SenderTest, OnReceivingAck_StaleSackOnlyAdds) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(4, 0b10, now), now);
  Sack stale = sack(1, 0b10'0000, now);
  stale.path_id = 77;

  sender.on_receiving_ack(stale, now);

  EXPECT_EQ(log.count(Rare::stale_sack), 1);
  EXPECT_EQ(rel(sender.epsn()), 4);
  EXPECT_TRUE(sender.is_acknowledged(psn(5)));
  EXPECT_TRUE(sender.is_acknowledged(psn(6)));
  EXPECT_FALSE(sender.is_acknowledged(psn(4)));
  EXPECT_EQ(sender.bytes_recvd(), bytes(5'000));
  EXPECT_EQ(log.samples.back().acked, bytes(0));
  post(sender, 2, 1'000);
  EXPECT_EQ(sender.poll_transmit(now).value().path_id, 77);
}

// [R.bitmap.sender] Of a segment that EPSN has entered only the rest counts; of one it has passed,
// nothing.
TEST_P(SenderTest, OnReceivingAck_SegmentBehindEpsn) {
  params.max_cwnd = bytes(200'000);
  const Instant now = after_start(us(8));
  {
    TestSender sender = sending(200'000);
    sender.on_receiving_ack(sack(62, 0, now), now);
    sender.on_receiving_ack(sack(0, ~std::uint64_t{1} ^ (std::uint64_t{1} << 62), now), now);
    EXPECT_FALSE(sender.is_acknowledged(psn(62)));
    EXPECT_TRUE(sender.is_acknowledged(psn(63)));
    EXPECT_EQ(sender.acked().count(), 1u);
  }
  for (const std::uint32_t epsn : {64u, 65u, 128u}) {
    TestSender sender = sending(200'000);
    sender.on_receiving_ack(sack(epsn, 0, now), now);
    sender.on_receiving_ack(sack(0, ~std::uint64_t{1}, now), now);
    EXPECT_EQ(sender.acked().count(), 0u) << epsn;
  }
}

// [D25] [R.bitmap.sender] A SACK from half the circle away, where before and after look alike,
// acknowledges nothing.
TEST_P(SenderTest, OnReceivingAck_SackFromHalfTheCircleAwayTellsNothing) {
  for (const std::uint32_t distance : {0x7fff'ffffu, 0x8000'0000u, 0x8000'0001u}) {
    TestSender sender = sending(8'000);
    const Instant now = after_start(us(8));
    sender.on_receiving_ack(sack(8, 0, now), now);
    Sack far = answer(0, 8, 0, now);
    far.epsn = far.epsn + distance;
    far.sack_base = far.epsn;
    far.bitmap = 0b11;

    sender.on_receiving_ack(far, now);

    EXPECT_EQ(rel(sender.epsn()), 8);
    EXPECT_EQ(sender.acked().count(), 0u);
    post(sender, 2, 1'000);
    EXPECT_EQ(psns(send(sender, now)), std::vector{8});
    EXPECT_FALSE(sender.is_acknowledged(psn(8)));
  }
}

// [D13] [R.bitmap.sender] The echoed PSN has arrived, even where the segment does not reach it.
TEST_P(SenderTest, OnReceivingAck_EchoedPsnIsAcknowledged) {
  params.max_cwnd = bytes(200'000);
  TestSender sender = sending(100'000);
  const Instant now = after_start(us(8));
  Sack echo = sack(0, 0, now);
  echo.psn = psn(80);
  echo.bytes_recvd = 1'000;

  sender.on_receiving_ack(echo, now);

  EXPECT_TRUE(sender.is_acknowledged(psn(80)));
  EXPECT_EQ(sender.acked().count(), 1u);
}

// [D13] The answer to a probe echoes no PSN: what stands in the field acknowledges nothing.
TEST_P(SenderTest, OnReceivingAck_ProbesAnswerEchoesNoPsn) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack echo = answer(0, 0, 0, now);
  echo.psn = psn(5);

  sender.on_receiving_ack(echo, now);

  EXPECT_EQ(sender.acked().count(), 0u);
}

// [R.inflight.equation] What is in flight is sent less received less claimed, brought up to date by
// every SACK.
TEST_P(SenderTest, OnReceivingAck_UpdatesInflightBytes) {
  TestSender sender = sending(8'000);
  expect_ledger(sender, 8'000, 0, 0, 8'000);
  const Instant now = after_start(us(8));

  sender.on_receiving_ack(sack(2, 0b10, now), now);

  expect_ledger(sender, 8'000, 3'000, 0, 5'000);
  EXPECT_EQ(log.samples.back().acked, bytes(3'000));
}

// [D16] bytes_recvd only moves forward: an older count changes nothing.
TEST_P(SenderTest, OnReceivingAck_BytesNeverGoBack) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(4, 0, now), now);
  Sack older = sack(4, 0, now);
  older.bytes_recvd = 3'999;

  sender.on_receiving_ack(older, now);

  EXPECT_EQ(sender.bytes_recvd(), bytes(4'000));
  EXPECT_EQ(log.samples.back().acked, bytes(0));
}

// [D16] The 32 bits of a SACK's bytes_recvd are extended over their wrap.
TEST_P(SenderTest, OnReceivingAck_BytesWrap) {
  params = StrackParams::for_link(gbps(400), us(8), bytes(65'535)).value();
  TestSender sender = make();
  const auto all_until = [this](std::uint32_t epsn) {
    Sack sack = this->sack(epsn, 0, kStart);
    sack.bytes_recvd = 65'535 * epsn;
    return sack;
  };
  for (std::uint32_t n = 0; n < 65'540; ++n) {
    post(sender, n, 65'535);
    ASSERT_TRUE(sender.poll_transmit(kStart));
    sender.on_receiving_ack(all_until(n + 1), kStart);
    ASSERT_EQ(sender.poll_completion(), MessageId{n});
  }
  sender.on_receiving_ack(all_until(65'530), kStart);

  EXPECT_EQ(sender.counters().sacks_rejected, 0u);
  expect_ledger(sender, 65'535LL * 65'540, 65'535LL * 65'540, 0, 0);
}

// ---- on_receiving_ack: window ----

// [A1.L16] [A1.L17] The achieved BDP is updated before the window is adjusted: the window falls to
// what this very SACK completes.
TEST_P(SenderTest, OnReceivingAck_WindowSeesTheNewestAchievedBdp) {
  params.max_cwnd = bytes(16'000);
  TestSender sender = make();
  post(sender, 1, 500);
  post(sender, 2, 15'000);
  send(sender, kStart);
  const Instant late = after_start(us(116));
  Sack congested = sack(2, 0, late, us(116));
  congested.bytes_recvd = 1'500;
  congested.ecn = true;

  sender.on_receiving_ack(congested, late);

  EXPECT_EQ(sender.achieved().value(), bytes(1'500));
  EXPECT_EQ(sender.window().avg_qdelay(), ns(13'500));
  EXPECT_EQ(sender.window().cwnd(), bytes(1'500 + 8));
}

// [D29] [A1.L4] A probe's answer is a full SACK, echo and delay and all, but its bytes are in no
// achieved BDP.
TEST_P(SenderTest, OnReceivingAck_ProbesAnswerIsAFullSack) {
  params.max_cwnd = bytes(16'000);
  TestSender sender = sending(16'000);
  const Instant late = after_start(us(116));
  Sack congested = answer(0, 1, 0, late, us(116));
  congested.path_id = 5;
  congested.ecn = true;

  sender.on_receiving_ack(congested, late);

  EXPECT_TRUE(sender.paths().is_marked(5));
  EXPECT_EQ(sender.bytes_recvd(), bytes(1'000));
  EXPECT_EQ(log.samples.back().acked, bytes(1'000));
  EXPECT_EQ(sender.window().avg_qdelay(), ns(13'500));
  EXPECT_EQ(sender.achieved().value(), bytes(0));
  EXPECT_EQ(sender.window().cwnd(), bytes(1'000 + 8));
}

// [D29] The bytes a probe's answer newly acknowledges do enter the increase of Algorithm 3.
TEST_P(SenderTest, OnReceivingAck_ProbesAnswerGrowsTheWindow) {
  params.max_cwnd = bytes(16'000);
  TestSender sender = sending(16'000);
  const Instant late = after_start(us(116));
  Sack congested = sack(1, 0, late, us(116));
  congested.ecn = true;
  sender.on_receiving_ack(congested, late);
  EXPECT_EQ(sender.window().cwnd(), bytes(1'008));

  sender.on_receiving_ack(answer(0, 3, 0, late + us(1)), late + us(1));

  EXPECT_EQ(params.alpha, bytes(142));
  EXPECT_EQ(sender.window().cwnd(), bytes(1'008 + 142 * 2'000 / 1'008));
}

// [D22] The first packet after idle time starts the measurement of the achieved BDP afresh.
TEST_P(SenderTest, PollTransmit_StartsTheAchievedBdpAfreshAfterIdleTime) {
  TestSender sender = sending(1'000);
  Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_TRUE(sender.idle());

  post(sender, 2, 4'000);
  EXPECT_FALSE(sender.idle());
  send(sender, after_start(us(500)));
  now = after_start(us(516));
  sender.on_receiving_ack(sack(2, 0, now), now);
  EXPECT_EQ(sender.achieved().value(), bytes(0));
  now = after_start(us(516) + ps(1));
  sender.on_receiving_ack(sack(3, 0, now), now);

  EXPECT_EQ(sender.achieved().value(), bytes(2'000));
}

// ---- on_receiving_ack: out-of-order detection ----

// [R.ooo.threshold] [D14] With 8.999 packets in the window 8 held packets declare nothing; the
// ninth does.
TEST_P(SenderTest, OnReceivingAck_OooThresholdIsTheWindowInWholePackets) {
  params.max_cwnd = bytes(8'999);
  TestSender sender = sending(30'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b1111'1110, now), now);
  EXPECT_EQ(send(sender, now).size(), 7u);

  sender.on_receiving_ack(sack(0, 0b1'1111'1110, now), now);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_receiving_ack(sack(0, 0b11'1111'1110, now), now);

  EXPECT_TRUE(sender.in_recovery());
  expect_loss(0, LossCause::out_of_order, 0, 10, 1'000);
}

// [R.ooo.threshold] [D14] With a window of 3 packets it takes 6 held packets, not 5.
TEST_P(SenderTest, OnReceivingAck_OooThresholdIsAtLeastFive) {
  params.max_cwnd = bytes(3'000);
  TestSender sender = sending(30'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b110, now), now);
  send(sender, now);
  sender.on_receiving_ack(sack(0, 0b1'1110, now), now);
  send(sender, now);
  EXPECT_EQ(rel(sender.psn_next()), 7);

  sender.on_receiving_ack(sack(0, 0b11'1110, now), now);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_receiving_ack(sack(0, 0b111'1110, now), now);

  EXPECT_TRUE(sender.in_recovery());
}

// [D14] `ooo_cwnd` scales the window's part of the threshold, rounding down: half of 13 packets
// is 6.
TEST_P(SenderTest, OnReceivingAck_OooThresholdFollowsItsFactor) {
  params.max_cwnd = bytes(13'000);
  params.ooo_cwnd = {1, 2};
  TestSender sender = sending(13'000);
  const Instant now = after_start(us(8));

  sender.on_receiving_ack(sack(0, 0b111'1110, now), now);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_receiving_ack(sack(0, 0b1111'1110, now), now);

  EXPECT_TRUE(sender.in_recovery());
}

// [D14] `ooo_min` is the threshold's floor.
TEST_P(SenderTest, OnReceivingAck_OooThresholdFollowsItsFloor) {
  params.ooo_cwnd = {0, 1};
  params.ooo_min = 2;
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));

  sender.on_receiving_ack(sack(0, 0b110, now), now);
  EXPECT_FALSE(sender.in_recovery());
  sender.on_receiving_ack(sack(0, 0b1110, now), now);

  EXPECT_TRUE(sender.in_recovery());
}

// [A1.L18] [D61] With ooo_window = current the test comes last, by the window just set.
TEST_P(SenderTest, OnReceivingAck_OooThresholdUsesTheWindowJustSet) {
  params.max_cwnd = bytes(60'000);
  params.ooo_window = OooWindow::current;
  for (const std::uint16_t held : {std::uint16_t{6}, std::uint16_t{7}}) {
    TestSender sender = sending(20'000);
    const Instant late = after_start(us(116));
    Sack congested = sack(0, 0b111'1110, late, us(116));
    congested.ooo_count = held;
    congested.ecn = true;
    sender.on_receiving_ack(congested, late);

    EXPECT_EQ(sender.window().cwnd(), bytes(6'008));
    EXPECT_EQ(sender.in_recovery(), held == 7);
  }
}

// [A1.L18] And not the window before: one that grows from 6 to 15 packets forgives the seventh.
TEST_P(SenderTest, OnReceivingAck_OooThresholdIsNotOfTheWindowBefore) {
  params.max_cwnd = bytes(60'000);
  params.alpha = bytes(60'000);
  params.ooo_window = OooWindow::current;
  TestSender sender = sending(20'000);
  const Instant late = after_start(us(116));
  Sack congested = sack(0, 0b111'1110, late, us(116));
  congested.ecn = true;
  sender.on_receiving_ack(congested, late);
  EXPECT_EQ(sender.window().cwnd_packets(), 6u);

  sender.on_receiving_ack(sack(0, 0b1111'1110, late), late);

  EXPECT_EQ(sender.window().cwnd_packets(), 15u);
  EXPECT_FALSE(sender.in_recovery());
}

// [R.loss.enter] [R.ooo.range] [R.inflight.equation] Taken as lost is what is unacknowledged
// between EPSN and the highest PSN received; the rest stays in flight.
TEST_P(SenderTest, OnReceivingAck_OooClaimsUpToTheHighestReceived) {
  TestSender sender = losing_two_of_twelve();

  EXPECT_TRUE(sender.in_recovery());
  ASSERT_EQ(log.losses.size(), 1u);
  expect_loss(0, LossCause::out_of_order, 2, 10, 2'000);
  EXPECT_EQ(sender.counters().loss_episodes, 1u);
  expect_ledger(sender, 12'000, 8'000, 2'000, 2'000);
  EXPECT_EQ(sender.claimed_unsent(), bytes(2'000));
  EXPECT_EQ(sender.window().cwnd(), bytes(20'000));
}

// [R.ooo.range] [D13] The highest PSN received may be known from an echo, or from an earlier SACK.
TEST_P(SenderTest, OnReceivingAck_OooRangeReachesTheHighestEcho) {
  params.max_cwnd = bytes(100'000);
  params.ooo_cwnd = {0, 1};
  TestSender sender = sending(100'000);
  const Instant now = after_start(us(8));
  Sack early = sack(0, 0, now);
  early.psn = psn(80);
  early.bytes_recvd = 1'000;
  early.ooo_count = 1;
  sender.on_receiving_ack(early, now);
  Sack many = sack(0, 0b11'1110, now);
  many.bytes_recvd = 6'000;
  many.ooo_count = 6;

  sender.on_receiving_ack(many, now);

  expect_loss(0, LossCause::out_of_order, 0, 81, 75'000);
}

// [R.loss.enter] [D17] While an episode runs, the out-of-order test does not enter another.
TEST_P(SenderTest, OnReceivingAck_OooTestRestsDuringAnEpisode) {
  TestSender sender = losing_two_of_twelve();
  send(sender, kLoss);

  sender.on_receiving_ack(sack(2, 0b11'1111'1100, kLoss + us(1)), kLoss + us(1));

  EXPECT_EQ(log.losses.size(), 1u);
  expect_ledger(sender, 14'000, 10'000, 2'000, 2'000);
}

// [D17] [R.loss.enter] After its end the next loss is found like the first.
TEST_P(SenderTest, OnReceivingAck_OooTestResumesAfterTheEpisode) {
  TestSender sender = losing_two_of_twelve();
  post(sender, 2, 10'000);
  send(sender, kLoss);
  sender.on_receiving_ack(sack(10, 0, kLoss + us(8)), kLoss + us(8));
  EXPECT_FALSE(sender.in_recovery());

  sender.on_receiving_ack(sack(10, 0b111'1110, kLoss + us(9)), kLoss + us(9));

  EXPECT_EQ(log.losses.size(), 2u);
  expect_loss(1, LossCause::out_of_order, 10, 17, 1'000);
}

// [D25] [D14] The counter of a stale SACK speaks of the past and is not used.
TEST_P(SenderTest, OnReceivingAck_OooTestIgnoresAStaleCounter) {
  TestSender sender = sending(8'000);
  params.ooo_cwnd = {0, 1};
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1, 0, now), now);
  sender.on_receiving_ack(sack(0, 0b1111'1100, now), now);
  EXPECT_TRUE(sender.is_acknowledged(psn(7)));
  EXPECT_FALSE(sender.in_recovery());

  sender.on_receiving_ack(sack(1, 0b111'1110, now), now);
  EXPECT_TRUE(sender.in_recovery());
}

// [R.loss.enter] [R.ooo.range] A counter alone, with nothing known to be received beyond EPSN,
// declares nothing.
TEST_P(SenderTest, OnReceivingAck_OooTestNeedsARange) {
  params.ooo_cwnd = {0, 1};
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  Sack many = sack(2, 0, now);
  many.ooo_count = 6;

  sender.on_receiving_ack(many, now);

  EXPECT_FALSE(sender.in_recovery());
  EXPECT_EQ(sender.counters().loss_episodes, 0u);
}

// ---- on_receiving_ack: during recovery ----

// [R.recovery.update] [D16] A claim is withdrawn when a bit shows that the packet has arrived.
TEST_P(SenderTest, OnReceivingAck_ClaimWithdrawnByBitmap) {
  TestSender sender = losing_two_of_twelve();

  sender.on_receiving_ack(sack(2, 0b1111'1110, kLoss), kLoss);

  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
  expect_ledger(sender, 12'000, 9'000, 1'000, 2'000);
  EXPECT_EQ(psns(send(sender, kLoss)), std::vector{2});
  expect_ledger(sender, 13'000, 9'000, 1'000, 3'000);
}

// [R.recovery.update] [D16] Or when EPSN passes it.
TEST_P(SenderTest, OnReceivingAck_ClaimWithdrawnByEpsn) {
  TestSender sender = losing_two_of_twelve();

  sender.on_receiving_ack(sack(3, 0b111'1110, kLoss), kLoss);

  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
  expect_ledger(sender, 12'000, 9'000, 1'000, 2'000);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(psns(send(sender, kLoss)), std::vector{3});
}

// [R.recovery.update] [D16] [D13] Or when its PSN is echoed.
TEST_P(SenderTest, OnReceivingAck_ClaimWithdrawnByEcho) {
  TestSender sender = losing_two_of_twelve();
  Sack echo = sack(2, 0, kLoss);
  echo.psn = psn(3);
  echo.bytes_recvd = 9'000;

  sender.on_receiving_ack(echo, kLoss);

  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
  expect_ledger(sender, 12'000, 9'000, 1'000, 2'000);
  EXPECT_EQ(psns(send(sender, kLoss)), std::vector{2});
}

// [R.recovery.update] [D16] A claim ends once: told by echo, bit and EPSN, it is withdrawn by the
// first.
TEST_P(SenderTest, OnReceivingAck_ClaimWithdrawnOnce) {
  TestSender sender = losing_two_of_twelve();
  Sack both = sack(2, 0b1111'1110, kLoss);
  both.psn = psn(3);
  sender.on_receiving_ack(both, kLoss);
  sender.on_receiving_ack(both, kLoss);
  expect_ledger(sender, 12'000, 9'000, 1'000, 2'000);

  sender.on_receiving_ack(sack(12, 0, kLoss), kLoss);

  expect_ledger(sender, 12'000, 12'000, 0, 0);
  EXPECT_FALSE(sender.in_recovery());
}

// [D16] The claim of a packet that was sent again stays: the two transmissions are matched by a
// claim and a receipt.
TEST_P(SenderTest, OnReceivingAck_ClaimStaysAfterTheRetransmission) {
  TestSender sender = losing_two_of_twelve();
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 2);
  expect_ledger(sender, 13'000, 8'000, 2'000, 3'000);
  EXPECT_EQ(sender.claimed_unsent(), bytes(1'000));

  sender.on_receiving_ack(sack(3, 0b111'1110, kLoss), kLoss);
  expect_ledger(sender, 13'000, 9'000, 2'000, 2'000);
  EXPECT_EQ(log.count(Rare::claim_withdrawn), 0);
  sender.on_receiving_ack(sack(10, 0, kLoss), kLoss);
  expect_ledger(sender, 13'000, 10'000, 1'000, 2'000);
  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
}

// [R.recovery.update] [D16] The very next packet to be sent again can arrive before that, too.
TEST_P(SenderTest, OnReceivingAck_ClaimOfTheNextPacketWithdrawn) {
  TestSender sender = losing_two_of_twelve();
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 2);

  sender.on_receiving_ack(sack(2, 0b1111'1110, kLoss), kLoss);

  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
  expect_ledger(sender, 13'000, 9'000, 1'000, 3'000);
  EXPECT_EQ(send(sender, kLoss).size(), 0u);
}

// [R.recovery.update] [D16] Of two packets that one SACK shows, only the one not sent again has its
// claim withdrawn.
TEST_P(SenderTest, OnReceivingAck_OneClaimStaysAndOneIsWithdrawn) {
  params.max_cwnd = bytes(20'000);
  params.ooo_cwnd = {0, 1};
  TestSender sender = sending(12'000);
  sender.on_receiving_ack(sack(2, 0b1'1111'0100, kLoss), kLoss);
  expect_loss(0, LossCause::out_of_order, 2, 11, 3'000);
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 2);
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 3);
  expect_ledger(sender, 14'000, 8'000, 3'000, 3'000);

  sender.on_receiving_ack(sack(2, 0b1'1111'1110, kLoss), kLoss);

  expect_ledger(sender, 14'000, 10'000, 2'000, 2'000);
  EXPECT_EQ(log.count(Rare::claim_withdrawn), 1);
}

// [R.recovery.update] [D16] News of packets beyond the episode withdraws nothing.
TEST_P(SenderTest, OnReceivingAck_NewsFromBeyondTheEpisodeLeavesTheClaims) {
  TestSender sender = losing_two_of_twelve();

  sender.on_receiving_ack(sack(2, 0b11'1111'1100, kLoss), kLoss);

  expect_ledger(sender, 12'000, 10'000, 2'000, 0);
  EXPECT_EQ(log.count(Rare::claim_withdrawn), 0);
}

// [D16] Bytes that a SACK counts before a segment shows them are subtracted twice until then; the
// result does not fall below 0, and is exact again as soon as the segment comes.
TEST_P(SenderTest, OnReceivingAck_InflightIsFlooredUntilTheSegmentComes) {
  params.max_cwnd = bytes(100'000);
  params.ooo_cwnd = {0, 1};
  TestSender sender = sending(81'000);
  const Instant now = after_start(us(8));
  Sack first_segment = sack(0, ~std::uint64_t{1}, now);
  first_segment.psn = psn(80);
  first_segment.bytes_recvd = 80'000;
  first_segment.ooo_count = 80;
  sender.on_receiving_ack(first_segment, now);
  expect_loss(0, LossCause::out_of_order, 0, 81, 17'000);
  expect_ledger(sender, 81'000, 80'000, 17'000, 0);
  EXPECT_EQ(log.count(Rare::inflight_floored), 0);

  sender.on_receiving_ack(first_segment, now);
  EXPECT_EQ(log.count(Rare::inflight_floored), 1);
  Sack second_segment = first_segment;
  second_segment.sack_base = psn(64);
  second_segment.bitmap = 0x1'ffff;
  sender.on_receiving_ack(second_segment, now);

  expect_ledger(sender, 81'000, 80'000, 1'000, 0);
  EXPECT_EQ(sender.claimed_unsent(), bytes(1'000));
  EXPECT_EQ(log.count(Rare::inflight_floored), 1);
}

// [R.recovery.exit] [D17] The episode ends when EPSN reaches its end, and says so once.
TEST_P(SenderTest, OnReceivingAck_RecoveryEndsAtItsHighestPacket) {
  TestSender sender = losing_two_of_twelve();
  send(sender, kLoss);
  sender.on_receiving_ack(sack(3, 0b111'1110, kLoss), kLoss);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_TRUE(log.recoveries_ended.empty());

  sender.on_receiving_ack(sack(10, 0, kLoss), kLoss);

  EXPECT_FALSE(sender.in_recovery());
  ASSERT_EQ(log.recoveries_ended.size(), 1u);
  EXPECT_EQ(rel(log.recoveries_ended[0]), 10);
  sender.on_receiving_ack(sack(11, 0, kLoss), kLoss);
  EXPECT_EQ(log.recoveries_ended.size(), 1u);
}

// ---- on_receiving_ack: the probe test ----

// [A1.L13] [A1.L14] [R.probe.loss] [D10] [D17] The prompt and only answer to a probe declares lost
// all that was sent before it and is unacknowledged.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictClaimsWhatWasSentBeforeTheProbe) {
  TestSender sender = sending(8'000);
  post(sender, 2, 1'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 3, 0b10, now), now);

  expect_loss(0, LossCause::probe, 3, 8, 4'000);
  EXPECT_EQ(log.count(Rare::probe_verdict), 1);
  expect_ledger(sender, 8'000, 4'000, 4'000, 0);
  EXPECT_EQ(psns(send(sender, now)), (std::vector{3, 5, 6, 7, 8}));
  EXPECT_EQ(sender.window().cwnd(), bytes(8'000));
}

// [D17] [R.probe.loss] What was sent after the probe is no part of its verdict.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictLeavesWhatWasSentAfterIt) {
  TestSender sender = sending(4'000);
  sender.on_timeout(after_start(us(24)));
  EXPECT_EQ(sender.poll_transmit(after_start(us(24))).value().type, PacketType::probe);
  post(sender, 2, 2'000);
  EXPECT_EQ(psns(send(sender, after_start(us(24)))), (std::vector{4, 5}));
  const Instant now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 0, 0, now), now);

  expect_loss(0, LossCause::probe, 0, 4, 4'000);
  expect_ledger(sender, 6'000, 0, 4'000, 2'000);
}

// [D17] With `highest_received` the range ends at the highest PSN received.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictUpToTheHighestReceived) {
  params.probe_recovers = ProbeRecovers::highest_received;
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 3, 0b110, now), now);

  expect_loss(0, LossCause::probe, 3, 6, 1'000);
  expect_ledger(sender, 8'000, 5'000, 1'000, 2'000);
}

// [D17] With `highest_received` a lost tail gives the probe nothing to recover.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictUpToTheHighestReceivedMissesTheTail) {
  params.probe_recovers = ProbeRecovers::highest_received;
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 3, 0, now), now);

  EXPECT_TRUE(log.losses.empty());
  EXPECT_EQ(log.count(Rare::probe_verdict), 0);
}

// [A1.L13] [D10] An RTT of 2 net_base_rtt is not small; a nanosecond less is.
TEST_P(SenderTest, OnReceivingAck_ProbeAnswerMustBePrompt) {
  for (const Picoseconds rtt : {us(16), us(16) - ns(1)}) {
    log = {};
    TestSender sender = sending(8'000);
    sender.on_timeout(after_start(us(24)));
    send(sender, after_start(us(24)));
    const Instant now = after_start(us(24) + rtt);

    sender.on_receiving_ack(answer(1, 0, 0, now, rtt), now);

    EXPECT_EQ(log.losses.size(), rtt == us(16) ? 0u : 1u);
    EXPECT_EQ(log.count(Rare::probe_answer_late), rtt == us(16) ? 1 : 0);
  }
}

// [D10] A probe's answer is judged once: after a late one, a repetition that looks prompt decides
// nothing.
TEST_P(SenderTest, OnReceivingAck_ProbeAnswerIsJudgedOnce) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(44));
  sender.on_receiving_ack(answer(1, 0, 0, now, us(20)), now);

  sender.on_receiving_ack(answer(1, 0, 0, now), now);

  EXPECT_TRUE(log.losses.empty());
  EXPECT_EQ(log.count(Rare::probe_answer_overtaken), 1);
}

// [A1.L13] [D10] If another SACK came since the probe was sent, its answer decides nothing.
TEST_P(SenderTest, OnReceivingAck_ProbeAnswerMustBeTheOnlySack) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  Instant now = after_start(us(25));
  sender.on_receiving_ack(sack(0, 0, now), now);
  now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 0, 0, now), now);

  EXPECT_TRUE(log.losses.empty());
  EXPECT_EQ(log.count(Rare::probe_answer_overtaken), 1);
}

// [D10] [D25] A rejected SACK does not count as one that came since.
TEST_P(SenderTest, OnReceivingAck_RejectedSackLeavesTheProbeAlone) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  Instant now = after_start(us(25));
  sender.on_receiving_ack(sack(9, 0, now), now);
  EXPECT_EQ(sender.counters().sacks_rejected, 1u);
  now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 0, 0, now), now);

  EXPECT_EQ(log.losses.size(), 1u);
}

// [D10] The answer to an older probe decides nothing, and does not speak against the newest.
TEST_P(SenderTest, OnReceivingAck_OnlyTheNewestProbeIsJudged) {
  TestSender sender = sending(8'000);
  for (const Picoseconds time : {us(24), us(48)}) {
    sender.on_timeout(after_start(time));
    send(sender, after_start(time));
  }
  Instant now = after_start(us(50));
  sender.on_receiving_ack(answer(1, 0, 0, now), now);
  EXPECT_TRUE(log.losses.empty());
  now = after_start(us(56));

  sender.on_receiving_ack(answer(2, 0, 0, now), now);

  expect_loss(0, LossCause::probe, 0, 8, 8'000);
}

// [R.probe.bit] Only a SACK with the probe bit answers a probe, whatever its probe_id.
TEST_P(SenderTest, OnReceivingAck_OnlyTheProbeBitMakesAnAnswer) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(32));
  Sack plain = sack(0, 0, now);
  plain.probe_id = 1;

  sender.on_receiving_ack(plain, now);

  EXPECT_TRUE(log.losses.empty());
}

// [D10] [R.loss.enter] Before any probe was sent, nothing answers one.
TEST_P(SenderTest, OnReceivingAck_AnswerWithoutAProbe) {
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));

  sender.on_receiving_ack(answer(0, 0, 0, now), now);
  sender.on_receiving_ack(answer(1, 0, 0, now), now);

  EXPECT_TRUE(log.losses.empty());
}

// [R.loss.enter] [R.probe.loss] An answer that acknowledges everything declares nothing.
TEST_P(SenderTest, OnReceivingAck_ProbeAnswerWithNothingMissing) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(24)));
  send(sender, after_start(us(24)));
  const Instant now = after_start(us(32));

  sender.on_receiving_ack(answer(1, 8, 0, now), now);

  EXPECT_TRUE(log.losses.empty());
  EXPECT_EQ(log.count(Rare::probe_verdict), 0);
  EXPECT_EQ(sender.next_deadline(), Instant::never());
}

// [D10] [D17] A packet sent again after the probe could not be in its answer, which is therefore
// void.
TEST_P(SenderTest, OnReceivingAck_RetransmissionAfterTheProbeVoidsItsAnswer) {
  TestSender sender = losing_two_of_twelve();
  sender.on_timeout(kLoss + us(24));
  const std::vector<Packet> packets = send(sender, kLoss + us(24));
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].type, PacketType::probe);
  EXPECT_EQ(rel(packets[1].psn), 2);
  const Instant now = kLoss + us(32);

  sender.on_receiving_ack(answer(1, 2, 0b1111'1100, now), now);

  EXPECT_EQ(log.losses.size(), 1u);
  EXPECT_EQ(log.count(Rare::probe_answer_overtaken), 1);
  expect_ledger(sender, 14'000, 8'000, 2'000, 4'000);
}

// [R.probe.loss] [D17] [D16] A verdict restarts a running episode: what was sent again and is still
// missing is claimed once more, what was not claimed yet for the first time, and the ledger closes
// at zero.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictRestartsTheEpisode) {
  TestSender sender = losing_two_of_twelve();
  send(sender, kLoss);
  sender.on_timeout(kLoss + us(24));
  send(sender, kLoss + us(24));
  Instant now = kLoss + us(32);

  sender.on_receiving_ack(answer(1, 2, 0b1111'1100, now), now);

  expect_loss(1, LossCause::probe, 2, 12, 4'000);
  EXPECT_EQ(log.count(Rare::episode_restarted), 1);
  EXPECT_EQ(sender.counters().loss_episodes, 2u);
  expect_ledger(sender, 14'000, 8'000, 6'000, 0);
  EXPECT_EQ(psns(send(sender, now)), (std::vector{2, 3, 10, 11}));
  expect_ledger(sender, 18'000, 8'000, 6'000, 4'000);
  now = kLoss + us(40);
  sender.on_receiving_ack(sack(12, 0, now), now);
  expect_ledger(sender, 18'000, 12'000, 6'000, 0);
  EXPECT_FALSE(sender.in_recovery());
}

// [D17] [D16] Restarted halfway, an episode claims only what it had sent again: the rest is claimed
// already.
TEST_P(SenderTest, OnReceivingAck_ProbeVerdictRestartsTheEpisodeHalfway) {
  TestSender sender = losing_two_of_twelve();
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 2);
  sender.on_timeout(kLoss + us(24));
  EXPECT_EQ(sender.poll_transmit(kLoss + us(24)).value().type, PacketType::probe);
  const Instant now = kLoss + us(32);

  sender.on_receiving_ack(answer(1, 2, 0b1111'1100, now), now);

  expect_loss(1, LossCause::probe, 2, 12, 3'000);
  expect_ledger(sender, 13'000, 8'000, 5'000, 0);
  EXPECT_EQ(sender.claimed_unsent(), bytes(4'000));
  EXPECT_EQ(psns(send(sender, now)), (std::vector{2, 3, 10, 11}));
}

// [D17] A restart does not shorten the episode.
TEST_P(SenderTest, OnReceivingAck_RestartKeepsTheLongerRange) {
  params.probe_recovers = ProbeRecovers::highest_received;
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(200)));
  EXPECT_EQ(send(sender, after_start(us(200))).size(), 8u);
  sender.on_timeout(after_start(us(224)));
  send(sender, after_start(us(224)));
  const Instant now = after_start(us(232));

  sender.on_receiving_ack(answer(1, 2, 0b10, now), now);

  expect_loss(1, LossCause::probe, 2, 8, 5'000);
  EXPECT_EQ(psns(send(sender, now)), (std::vector{2, 4, 5, 6, 7}));
  expect_ledger(sender, 21'000, 3'000, 13'000, 5'000);
}

// ---- on_timeout: probes ----

// [R.probe.send] [R.probe.base] [D18] After 3 net_base_rtt without a SACK, and not a picosecond
// before, a probe goes out: no payload, no PSN, no regard to a full window.
TEST_P(SenderTest, OnTimeout_SendsAProbeAfterSilence) {
  TestSender sender = sending(9'000);
  sender.on_timeout(after_start(us(24) - ps(1)));
  EXPECT_FALSE(sender.poll_transmit(after_start(us(24) - ps(1))));
  EXPECT_EQ(sender.next_deadline(), after_start(us(24)));

  sender.on_timeout(after_start(us(24)));
  const Packet probe = sender.poll_transmit(after_start(us(24))).value();

  EXPECT_EQ(probe.type, PacketType::probe);
  EXPECT_EQ(probe.probe_id, 1);
  EXPECT_EQ(rel(probe.psn), 0);
  EXPECT_EQ(probe.payload, 0);
  EXPECT_FALSE(probe.retransmission);
  EXPECT_EQ(probe.path_id, 9);
  EXPECT_EQ(probe.timestamp.ns, 124'000u);
  EXPECT_EQ(rel(sender.psn_next()), 8);
  expect_ledger(sender, 8'000, 0, 0, 8'000);
  EXPECT_EQ(sender.counters().probes_sent, 1u);
  EXPECT_EQ(log.probes, std::vector<std::uint16_t>{1});
  EXPECT_FALSE(sender.poll_transmit(after_start(us(24))));
}

// [R.probe.base] A probe asks for the segment at EPSN.
TEST_P(SenderTest, OnTimeout_ProbeAsksForTheSegmentAtEpsn) {
  TestSender sender = sending(8'000);
  Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(3, 0b10, now), now);
  now = after_start(us(32));

  sender.on_timeout(now);

  EXPECT_EQ(rel(sender.poll_transmit(now).value().psn), 3);
}

// [R.probe.send] A probe goes before retransmissions and new data that wait.
TEST_P(SenderTest, OnTimeout_ProbeGoesFirst) {
  TestSender sender = losing_two_of_twelve();
  post(sender, 2, 1'000);
  sender.on_timeout(kLoss + us(24));

  const std::vector<Packet> packets = send(sender, kLoss + us(24));

  ASSERT_EQ(packets.size(), 4u);
  EXPECT_EQ(packets[0].type, PacketType::probe);
  EXPECT_EQ(rel(packets[1].psn), 2);
  EXPECT_EQ(rel(packets[3].psn), 12);
}

// [R.probe.send] After idle time the silence counts from the first packet.
TEST_P(SenderTest, OnTimeout_SilenceCountsFromTheFirstPacketAfterIdleTime) {
  TestSender sender = sending(1'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), Instant::never());
  post(sender, 2, 2'000);
  EXPECT_EQ(sender.next_deadline(), Instant::never());

  ASSERT_TRUE(sender.poll_transmit(after_start(us(1'000))));
  EXPECT_EQ(sender.next_deadline(), after_start(us(1'024)));
  ASSERT_TRUE(sender.poll_transmit(after_start(us(1'010))));

  EXPECT_EQ(sender.next_deadline(), after_start(us(1'024)));
}

// [R.probe.repeat] While the silence lasts a probe follows every 3 net_base_rtt, each with the next
// number.
TEST_P(SenderTest, OnTimeout_RepeatsProbes) {
  TestSender sender = sending(8'000);
  for (const std::uint16_t id : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
    const Instant now = after_start(us(24) * id);
    EXPECT_EQ(sender.next_deadline(), now);
    sender.on_timeout(now);
    EXPECT_EQ(sender.poll_transmit(now).value().probe_id, id);
    sender.on_timeout(now + us(23));
    EXPECT_FALSE(sender.poll_transmit(now + us(23)));
  }

  EXPECT_EQ(log.count(Rare::probe_lost), 2);
  EXPECT_TRUE(log.losses.empty());
}

// [R.probe.send] [R.timeout.timer] With nothing unacknowledged no time does anything.
TEST_P(SenderTest, OnTimeout_IdleSenderIsSilent) {
  TestSender sender = make();
  sender.on_timeout(at(seconds(1)));
  post(sender, 1, 1'000);
  sender.on_timeout(at(seconds(2)));
  EXPECT_EQ(sender.poll_transmit(at(seconds(2))).value().type, PacketType::data);
  const Instant now = at(seconds(2)) + us(8);
  sender.on_receiving_ack(sack(1, 0, now), now);
  sender.on_timeout(at(seconds(3)));

  EXPECT_FALSE(sender.poll_transmit(at(seconds(3))));
  EXPECT_EQ(sender.counters().probes_sent, 0u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
  EXPECT_EQ(sender.next_deadline(), Instant::never());
}

// ---- on_timeout: the retransmission timeout ----

// [R.timeout.value] [D15] By default the timeout is 25 net_base_rtt: hundreds of microseconds.
TEST_P(SenderTest, OnTimeout_DefaultIs25BaseRtts) {
  EXPECT_EQ(params.rto, us(200));
  EXPECT_EQ(StrackParams::for_link(gbps(400), us(12), bytes(4'096)).value().rto, us(300));
  params.probe_interval = seconds(1);

  EXPECT_EQ(sending(8'000).next_deadline(), after_start(us(200)));
}

// [R.timeout.value] [D15] The value is a parameter.
TEST_P(SenderTest, OnTimeout_ValueIsAParameter) {
  params.probe_interval = seconds(1);
  params.rto = us(70);

  EXPECT_EQ(sending(8'000).next_deadline(), after_start(us(70)));
}

// [R.timeout.loss] [R.loss.enter] [D15] [D17] [A1.L17] At the timeout, not before, all that is
// unacknowledged is lost and sent again; the window stays.
TEST_P(SenderTest, OnTimeout_ClaimsEverythingUnacknowledged) {
  params.probe_interval = seconds(1);
  TestSender sender = sending(8'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b10'1000, now), now);
  sender.on_timeout(after_start(us(200) - ps(1)));
  EXPECT_EQ(sender.counters().timeouts, 0u);

  sender.on_timeout(after_start(us(200)));

  EXPECT_EQ(sender.counters().timeouts, 1u);
  expect_loss(0, LossCause::timeout, 0, 8, 6'000);
  expect_ledger(sender, 8'000, 2'000, 6'000, 0);
  EXPECT_EQ(sender.window().cwnd(), bytes(8'000));
  EXPECT_EQ(psns(send(sender, after_start(us(200)))), (std::vector{0, 1, 2, 4, 6, 7}));
  expect_ledger(sender, 14'000, 2'000, 6'000, 6'000);
}

// [R.timeout.update] [R.timeout.timer] Whatever raises EPSN sets the timestamp; selective
// acknowledgements do not.
TEST_P(SenderTest, OnTimeout_CountsFromTheLastRiseOfEpsn) {
  params.probe_interval = seconds(1);
  TestSender sender = sending(8'000);
  EXPECT_EQ(sender.next_deadline(), after_start(us(200)));

  Instant now = after_start(us(50));
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(250)));
  now = after_start(us(60));
  sender.on_receiving_ack(sack(1, 0b10, now), now);
  EXPECT_EQ(sender.next_deadline(), after_start(us(250)));
  now = after_start(us(70));
  sender.on_receiving_ack(sack(0, 0, now), now);

  EXPECT_EQ(sender.next_deadline(), after_start(us(250)));
}

// [D15] [R.timeout.timer] Idle time does not count: the first packet after it starts the timeout
// afresh.
TEST_P(SenderTest, OnTimeout_StartsAfreshAfterIdleTime) {
  params.probe_interval = seconds(1);
  TestSender sender = sending(1'000);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(1, 0, now), now);
  post(sender, 2, 2'000);

  ASSERT_TRUE(sender.poll_transmit(after_start(us(1'000))));
  ASSERT_TRUE(sender.poll_transmit(after_start(us(1'010))));

  EXPECT_EQ(sender.next_deadline(), after_start(us(1'200)));
}

// [D15] [D28] Each consecutive timeout doubles the next, three times at most; a higher EPSN sets it
// back and the count to zero.
TEST_P(SenderTest, OnTimeout_BacksOff) {
  params.probe_interval = seconds(1);
  TestSender sender = sending(8'000);
  Instant now = kStart;
  std::uint32_t timeouts = 0;
  for (const std::int64_t wait : {200, 400, 800, 1'600, 1'600, 1'600}) {
    EXPECT_EQ(sender.next_deadline(), now + us(wait));
    sender.on_timeout(now + us(wait) - ps(1));
    EXPECT_EQ(sender.consecutive_timeouts(), timeouts);
    now = now + us(wait);
    sender.on_timeout(now);
    EXPECT_EQ(sender.consecutive_timeouts(), ++timeouts);
  }
  EXPECT_EQ(log.count(Rare::timeout_backoff_capped), 3);

  sender.on_receiving_ack(sack(0, 0b10, now), now);
  EXPECT_EQ(sender.consecutive_timeouts(), 6u);
  EXPECT_EQ(sender.next_deadline(), now + us(1'600));
  sender.on_receiving_ack(sack(2, 0, now), now);

  EXPECT_EQ(sender.consecutive_timeouts(), 0u);
  EXPECT_EQ(sender.next_deadline(), now + us(200));
  EXPECT_EQ(sender.counters().timeouts, 6u);
}

// [D15] Without doublings the timeout stays what it is.
TEST_P(SenderTest, OnTimeout_BackoffCanBeOff) {
  params.probe_interval = seconds(1);
  params.rto_backoff_max = 0;
  TestSender sender = sending(8'000);

  for (const std::int64_t n : {1, 2, 3}) {
    EXPECT_EQ(sender.next_deadline(), after_start(us(200) * n));
    sender.on_timeout(after_start(us(200) * n));
  }

  EXPECT_EQ(sender.consecutive_timeouts(), 3u);
}

// [R.timeout.loss] [R.probe.send] When both are due the timeout acts, and the silence counts from
// there.
TEST_P(SenderTest, OnTimeout_TimeoutComesBeforeTheProbe) {
  TestSender sender = sending(8'000);
  sender.on_timeout(after_start(us(200)));

  EXPECT_EQ(sender.poll_transmit(after_start(us(200))).value().type, PacketType::data);
  EXPECT_EQ(sender.counters().timeouts, 1u);
  EXPECT_EQ(sender.counters().probes_sent, 0u);
  EXPECT_EQ(sender.next_deadline(), after_start(us(224)));
}

// [R.timeout.loss] [D17] [D16] A timeout restarts a running episode, with an exact ledger.
TEST_P(SenderTest, OnTimeout_RestartsTheEpisode) {
  TestSender sender = losing_two_of_twelve();
  EXPECT_EQ(rel(sender.poll_transmit(kLoss).value().psn), 2);
  const Instant due = kLoss + us(200);

  sender.on_timeout(due);

  expect_loss(1, LossCause::timeout, 2, 12, 3'000);
  EXPECT_EQ(log.count(Rare::episode_restarted), 1);
  expect_ledger(sender, 13'000, 8'000, 5'000, 0);
  EXPECT_EQ(psns(send(sender, due)), (std::vector{2, 3, 10, 11}));
  expect_ledger(sender, 17'000, 8'000, 5'000, 4'000);
  EXPECT_EQ(sender.counters().retransmissions, 5u);

  sender.on_receiving_ack(sack(12, 0, due + us(8)), due + us(8));
  expect_ledger(sender, 17'000, 12'000, 5'000, 0);
  EXPECT_FALSE(sender.in_recovery());
}

// [R.timeout.loss] [D17] The first loss of all is no restart.
TEST_P(SenderTest, OnTimeout_FirstEpisodeIsNoRestart) {
  TestSender sender = sending(8'000);

  sender.on_timeout(after_start(us(200)));

  EXPECT_EQ(log.count(Rare::episode_restarted), 0);
  EXPECT_EQ(sender.counters().loss_episodes, 1u);
}

// ---- next_deadline ----

// [R.probe.send] [R.timeout.timer] The next deadline is the earlier of probe and timeout, and never
// without unacknowledged packets.
TEST_P(SenderTest, NextDeadline_IsTheEarlierOne) {
  EXPECT_EQ(make().next_deadline(), Instant::never());
  TestSender sender = sending(8'000);
  EXPECT_EQ(sender.next_deadline(), after_start(us(24)));

  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8}) sender.on_timeout(after_start(us(24) * n));
  EXPECT_EQ(sender.next_deadline(), after_start(us(200)));
  const Instant now = after_start(us(195));
  sender.on_receiving_ack(sack(8, 0, now), now);

  EXPECT_EQ(sender.next_deadline(), Instant::never());
}

// ---- poll_completion ----

// [D21] Messages complete when EPSN has passed them, in the order of posting, each once.
TEST_P(SenderTest, PollCompletion_InOrder) {
  TestSender sender = make();
  post(sender, 1, 2'000);
  post(sender, 2, 0);
  post(sender, 3, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  EXPECT_FALSE(sender.poll_completion());
  sender.on_receiving_ack(sack(1, 0, now), now);
  EXPECT_FALSE(sender.poll_completion());
  Sack two = sack(3, 0, now);
  two.bytes_recvd = 2'000;
  sender.on_receiving_ack(two, now);

  EXPECT_EQ(sender.poll_completion(), MessageId{1});
  EXPECT_EQ(sender.poll_completion(), MessageId{2});
  EXPECT_FALSE(sender.poll_completion());
  two = sack(4, 0, now);
  two.bytes_recvd = 3'000;
  sender.on_receiving_ack(two, now);
  EXPECT_EQ(sender.poll_completion(), MessageId{3});
  EXPECT_FALSE(sender.poll_completion());
  EXPECT_EQ(log.completed, (std::vector<MessageId>{1, 2, 3}));
  EXPECT_EQ(log.count(Rare::out_of_order_completion), 0);
}

// [D21] [P.ooo_delivery] A message is complete when all its packets are acknowledged, whatever is
// missing before it, and is reported once.
TEST_P(SenderTest, PollCompletion_OutOfOrder) {
  TestSender sender = make();
  post(sender, 1, 2'000);
  post(sender, 2, 2'000);
  post(sender, 3, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b100, now), now);
  EXPECT_FALSE(sender.poll_completion());

  sender.on_receiving_ack(sack(0, 0b1100, now), now);
  EXPECT_EQ(log.count(Rare::out_of_order_completion), 1);
  EXPECT_EQ(sender.poll_completion(), MessageId{2});
  EXPECT_FALSE(sender.poll_completion());
  sender.on_receiving_ack(sack(0, 0b1100, now), now);
  EXPECT_FALSE(sender.poll_completion());

  sender.on_receiving_ack(sack(4, 0, now), now);
  EXPECT_EQ(sender.poll_completion(), MessageId{1});
  EXPECT_FALSE(sender.poll_completion());
  sender.on_receiving_ack(sack(5, 0, now), now);
  EXPECT_EQ(sender.poll_completion(), MessageId{3});
  EXPECT_FALSE(sender.poll_completion());
}

// [D21] Complete out of order and passed by EPSN before anybody asked, a message is still reported
// once.
TEST_P(SenderTest, PollCompletion_OutOfOrderThenPassedByEpsn) {
  TestSender sender = make();
  for (const MessageId id : {1u, 2u, 3u, 4u}) post(sender, id, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b1010, now), now);
  sender.on_receiving_ack(sack(2, 0b10, now), now);

  EXPECT_EQ(sender.poll_completion(), MessageId{1});
  EXPECT_EQ(sender.poll_completion(), MessageId{2});
  EXPECT_EQ(sender.poll_completion(), MessageId{4});
  EXPECT_FALSE(sender.poll_completion());
  sender.on_receiving_ack(sack(4, 0, now), now);
  EXPECT_EQ(sender.poll_completion(), MessageId{3});
  EXPECT_FALSE(sender.poll_completion());
}

// [D21] [D13] Several messages can become complete by one SACK, by bits and by echo.
TEST_P(SenderTest, PollCompletion_SeveralOutOfOrder) {
  TestSender sender = make();
  post(sender, 1, 1'000);
  post(sender, 2, 1'000);
  post(sender, 3, 2'000);
  post(sender, 4, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  Sack most = sack(0, 0b1'0110, now);
  most.psn = psn(3);
  most.bytes_recvd = 4'000;

  sender.on_receiving_ack(most, now);

  EXPECT_EQ(sender.poll_completion(), MessageId{2});
  EXPECT_EQ(sender.poll_completion(), MessageId{3});
  EXPECT_EQ(sender.poll_completion(), MessageId{4});
  EXPECT_FALSE(sender.poll_completion());
}

// [D21] A message reported out of order is not reported again when its neighbours on both sides
// follow.
TEST_P(SenderTest, PollCompletion_OutOfOrderBetweenNeighbours) {
  TestSender sender = make();
  for (const MessageId id : {1u, 2u, 3u, 4u}) post(sender, id, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b100, now), now);
  EXPECT_EQ(sender.poll_completion(), MessageId{3});

  sender.on_receiving_ack(sack(0, 0b1110, now), now);

  EXPECT_EQ(sender.poll_completion(), MessageId{2});
  EXPECT_EQ(sender.poll_completion(), MessageId{4});
  EXPECT_FALSE(sender.poll_completion());
}

// [D21] A slot becomes free only when EPSN has passed its message: one complete out of order keeps
// it.
TEST_P(SenderTest, PollCompletion_OutOfOrderKeepsTheSlot) {
  TestSender sender = make();
  for (const MessageId id : {1u, 2u, 3u, 4u}) post(sender, id, 1'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  sender.on_receiving_ack(sack(0, 0b1110, now), now);
  while (sender.poll_completion()) {
  }
  EXPECT_EQ(log.completed, (std::vector<MessageId>{2, 3, 4}));
  EXPECT_EQ(sender.on_message({5, 1'000}, now), PostResult::queue_full);

  sender.on_receiving_ack(sack(4, 0, now), now);
  EXPECT_EQ(sender.poll_completion(), MessageId{1});
  EXPECT_FALSE(sender.poll_completion());
  for (const MessageId id : {5u, 6u, 7u, 8u}) post(sender, id, 1'000);
  EXPECT_EQ(send(sender, now).size(), 4u);
}

// [D21] [D26] A message longer than the tracking window is not complete while part of it is unsent.
TEST_P(SenderTest, PollCompletion_LongMessagePartlySent) {
  params.max_cwnd = bytes(2'000'000);
  TestSender sender = make();
  post(sender, 1, 1'000);
  post(sender, 2, 1'500'000);
  send(sender, kStart);
  const Instant now = after_start(us(8));
  for (std::uint32_t base = 0; base < 1'024; base += 64) {
    Sack segment = sack(0, base == 0 ? ~std::uint64_t{1} : ~std::uint64_t{0}, now);
    segment.sack_base = psn(base);
    segment.bytes_recvd = 1'023'000;
    segment.ooo_count = 1'023;
    sender.on_receiving_ack(segment, now);
  }
  EXPECT_EQ(sender.acked().count(), 1'023u);
  EXPECT_FALSE(sender.poll_completion());

  sender.on_receiving_ack(sack(1'024, 0, now), now);

  EXPECT_EQ(sender.poll_completion(), MessageId{1});
  EXPECT_FALSE(sender.poll_completion());
  EXPECT_EQ(psns(send(sender, now)).back(), 1'500);
}

}  // namespace
}  // namespace strack::core
