// STrack+'s receiver: when it says something, and what.
#include "transports/strack_plus/receiver.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

PlusParams params() { return PlusParams::for_link(gbps(400), us(8), bytes(1'000)).value(); }

/// Packet `psn` of one message of 1000 packets, by an entropy of the same number.
Packet data(std::uint32_t psn, std::uint32_t packets = 1'000) {
  Packet p;
  p.psn = Psn{psn};
  p.path_id = static_cast<PathId>(psn % 256);
  p.payload = 1'000;
  p.offset = psn * 1'000;
  p.message_length = packets * 1'000;
  p.timestamp = {psn * 100};
  return p;
}
Packet probe() {
  Packet p;
  p.type = PacketType::probe;
  p.path_id = 77;
  p.timestamp = {9'000};
  return p;
}

class PlusReceiverTest : public ::testing::Test {
 protected:
  std::optional<PlusAck> give(const Packet& packet, bool ecn = false) {
    Signals signals;
    signals.ecn = ecn;
    last = receiver.on_packet(packet, signals, {});
    return receiver.poll_ack({});
  }

  PlusParams p = params();
  PlusReceiver receiver{p, Psn{0}};
  Arrival last;
};

// [PLUS.sack] [PLUS.sack.echo] One SACK for four packets, with the entropy and mark of each.
TEST_F(PlusReceiverTest, OneForFour) {
  EXPECT_FALSE(give(data(0)));
  EXPECT_FALSE(give(data(2), true));
  EXPECT_FALSE(give(data(1)));
  const auto ack = give(data(5));
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->epsn, Psn{3});
  EXPECT_EQ(ack->base, Psn{3});
  EXPECT_EQ(ack->bitmap, 0b100u);
  ASSERT_EQ(ack->count, 4);
  EXPECT_EQ(ack->echoes[1].psn, Psn{2});
  EXPECT_EQ(ack->echoes[1].path_id, 2);
  EXPECT_TRUE(ack->echoes[1].ecn);
  EXPECT_EQ(ack->echoes[3].psn, Psn{5});
  EXPECT_EQ(ack->path_id, 5);
  EXPECT_EQ(ack->timestamp.ns, 500u);
  EXPECT_FALSE(ack->ecn);
  EXPECT_FALSE(ack->for_probe);
  EXPECT_FALSE(give(data(3)));  // counted anew
}

// [PLUS.sack] With sack_packets = 1 each is answered, with sack_on_epsn the expected one.
TEST_F(PlusReceiverTest, Switches) {
  p.sack_packets = 1;
  EXPECT_TRUE(give(data(1)));
  p.sack_packets = 4;
  p.sack_on_epsn = true;
  EXPECT_FALSE(give(data(2)));
  const auto ack = give(data(0));
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->epsn, Psn{3});
  EXPECT_EQ(ack->bitmap, 0u);
}

// [PLUS.sack.ask] A packet that asks is answered.
TEST_F(PlusReceiverTest, Asked) {
  Packet asks = data(0);
  asks.note = kPlusAsks;
  const auto ack = give(asks);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->count, 1);
}

// [PLUS.sack.end] The packet that makes a message whole is answered, whichever it is.
TEST_F(PlusReceiverTest, MessageEnd) {
  EXPECT_FALSE(give(data(2, 3)));
  EXPECT_FALSE(give(data(0, 3)));
  EXPECT_FALSE(last.delivered);
  const auto ack = give(data(1, 3));
  ASSERT_TRUE(ack);
  EXPECT_TRUE(last.delivered);
  EXPECT_EQ(ack->epsn, Psn{3});
}

// [PLUS.sack.duplicate] What has come before is answered at once, and tells of its path.
TEST_F(PlusReceiverTest, Duplicates) {
  give(data(0));
  give(data(2));
  const auto below = give(data(0));
  ASSERT_TRUE(below);
  EXPECT_EQ(last.kind, ArrivalKind::duplicate);
  EXPECT_EQ(below->count, 3);
  EXPECT_EQ(below->bitmap, 0b10u);
  ASSERT_TRUE(give(data(2)));
  EXPECT_EQ(last.kind, ArrivalKind::duplicate);
}

// [PLUS.probe.answer] A probe is answered at once, and brings along what was not said yet.
TEST_F(PlusReceiverTest, Probe) {
  give(data(1), true);
  const auto ack = give(probe());
  ASSERT_TRUE(ack);
  EXPECT_EQ(last.kind, ArrivalKind::probe);
  EXPECT_TRUE(ack->for_probe);
  EXPECT_EQ(ack->count, 1);
  EXPECT_TRUE(ack->echoes[0].ecn);
  EXPECT_EQ(ack->path_id, 77);
  EXPECT_FALSE(ack->ecn);
  EXPECT_EQ(ack->timestamp.ns, 9'000u);
  EXPECT_EQ(ack->bitmap, 0b10u);
}

// [PLUS.probe.verdict] The answer says whether anything has come beyond its 56 bits.
TEST_F(PlusReceiverTest, Probe_BeyondTheBitmap) {
  give(data(55));
  EXPECT_TRUE(give(probe())->none_beyond);
  give(data(56));
  EXPECT_FALSE(give(probe())->none_beyond);
  give(data(0));  // the bitmap begins one later
  EXPECT_TRUE(give(probe())->none_beyond);
  give(data(300), true);
  EXPECT_FALSE(give(probe())->none_beyond);
}

// [PLUS.probe.where] Its 56 bits are those around the PSN that the probe asks for, wherever that is.
TEST_F(PlusReceiverTest, Probe_Where) {
  give(data(60));
  give(data(70));
  Packet asks = probe();
  asks.psn = Psn{58};
  const auto ack = give(asks);
  EXPECT_EQ(ack->epsn, Psn{0});
  EXPECT_EQ(ack->base, Psn{56});
  EXPECT_EQ(ack->bitmap, std::uint64_t{1} << 4 | std::uint64_t{1} << 14);
  EXPECT_TRUE(ack->none_beyond);
  asks.psn = Psn{100'000};
  EXPECT_EQ(give(asks)->base, Psn{504});
  EXPECT_EQ(give(asks)->bitmap, 0u);
  asks.psn = Psn{0} - 1u;
  EXPECT_EQ(give(asks)->base, Psn{0});
  EXPECT_FALSE(give(asks)->none_beyond);
}

// [PLUS.sack.bitmap] Its 56 bits are those around the packet, counted from the expected one.
TEST_F(PlusReceiverTest, Segments) {
  p.sack_packets = 1;
  give(data(55));
  const auto second = give(data(60));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->base, Psn{56});
  EXPECT_EQ(second->bitmap, 0b10000u);
  const auto first = give(data(3));
  EXPECT_EQ(first->base, Psn{0});
  EXPECT_EQ(first->bitmap, (std::uint64_t{1} << 55) | 0b1000u);
  const auto end = give(data(511));  // the circle's last eight, not the window's first
  EXPECT_EQ(end->base, Psn{504});
  EXPECT_EQ(end->bitmap, 0b1000'0000u);
}

// [PLUS.track] Beyond 512 packets it keeps nothing; what contradicts itself or was cut off is no arrival.
TEST_F(PlusReceiverTest, Refused) {
  EXPECT_FALSE(give(data(512)));
  EXPECT_EQ(last.kind, ArrivalKind::beyond_window);
  Packet odd = data(1);
  odd.offset = 7;
  EXPECT_FALSE(give(odd));
  EXPECT_EQ(last.kind, ArrivalKind::malformed);
  Packet nowhere = data(1);
  nowhere.path_id = 256;
  EXPECT_FALSE(give(nowhere));
  EXPECT_EQ(last.kind, ArrivalKind::malformed);
  Signals trimmed;
  trimmed.trimmed = true;
  EXPECT_EQ(receiver.on_packet(data(1), trimmed, {}).kind, ArrivalKind::trimmed);
  receiver.on_timeout({});
  EXPECT_EQ(receiver.next_deadline(), Instant::never());
  EXPECT_EQ(receiver.epsn(), Psn{0});
}

// An unpolled SACK's last place is taken by the next packet.
TEST_F(PlusReceiverTest, Unpolled) {
  for (std::uint32_t psn = 0; psn < 5; ++psn) receiver.on_packet(data(psn), {}, {});
  const auto ack = receiver.poll_ack({});
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->count, 4);
  EXPECT_EQ(ack->echoes[3].psn, Psn{4});
}

// [PLUS.sack.echo] A SACK has the mark of what triggered it; only a probe's says that nothing lies beyond.
TEST_F(PlusReceiverTest, WhatTriggeredIt) {
  Packet asks = data(0);
  asks.note = kPlusAsks;
  const auto marked = give(asks, true);
  ASSERT_TRUE(marked);
  EXPECT_TRUE(marked->ecn);
  EXPECT_FALSE(marked->none_beyond);
  const auto answer = give(probe(), true);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ecn);
  EXPECT_TRUE(answer->none_beyond);
}

// [PLUS.sack.echo] It is full with four echoes, if it is owed.
TEST_F(PlusReceiverTest, Full) {
  Packet asks = data(0);
  asks.note = kPlusAsks;
  receiver.on_packet(asks, {}, {});
  EXPECT_FALSE(receiver.full());
  for (std::uint32_t psn = 1; psn < 4; ++psn) receiver.on_packet(data(psn), {}, {});
  EXPECT_TRUE(receiver.full());
}

}  // namespace
}  // namespace strack::core
