#include "sim/net/sim_packet.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"

namespace strack::sim {
namespace {

using core::Packet;
using core::PacketType;
using core::Psn;
using core::Sack;

constexpr std::uint32_t kLastHost = SimPacket::kMaxHosts - 1;
constexpr std::uint32_t kLastSlot = SimPacket::kMaxSlots - 1;
constexpr std::uint32_t kMax32 = std::numeric_limits<std::uint32_t>::max();

void expect_same(const Packet& a, const Packet& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.retransmission, b.retransmission);
  EXPECT_EQ(a.payload, b.payload);
  EXPECT_EQ(a.path_id, b.path_id);
  EXPECT_EQ(a.probe_id, b.probe_id);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.message_id, b.message_id);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.message_length, b.message_length);
  EXPECT_EQ(a.timestamp.ns, b.timestamp.ns);
}

void expect_same(const Sack& a, const Sack& b) {
  EXPECT_EQ(a.bitmap, b.bitmap);
  EXPECT_EQ(a.epsn, b.epsn);
  EXPECT_EQ(a.sack_base, b.sack_base);
  EXPECT_EQ(a.bytes_recvd, b.bytes_recvd);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.timestamp.ns, b.timestamp.ns);
  EXPECT_EQ(a.hold_time_ns, b.hold_time_ns);
  EXPECT_EQ(a.path_id, b.path_id);
  EXPECT_EQ(a.ooo_count, b.ooo_count);
  EXPECT_EQ(a.probe_id, b.probe_id);
  EXPECT_EQ(a.for_probe, b.for_probe);
  EXPECT_EQ(a.ecn, b.ecn);
}

Packet largest_data() {
  Packet p;
  p.type = PacketType::data;
  p.retransmission = true;
  p.payload = 65'535;
  p.path_id = 255;
  p.psn = Psn{kMax32};
  p.message_id = kMax32;
  p.offset = kMax32;
  p.message_length = kMax32;
  p.timestamp = {kMax32};
  return p;
}

/// A SACK in answer to data, with every field at its largest.
Sack largest_sack() {
  Sack s;
  s.bitmap = ~std::uint64_t{0};
  s.epsn = Psn{kMax32 - 5};
  s.sack_base = s.epsn + 15 * 64;
  s.bytes_recvd = kMax32;
  s.psn = s.epsn + 1023;
  s.timestamp = {kMax32};
  s.path_id = 255;
  s.ooo_count = 1023;
  s.ecn = true;
  return s;
}

// A data packet comes out as it went in, with every field at its largest.
TEST(SimPacket, Data_RoundTripOfLargestValues) {
  const SimPacket packed = SimPacket::from(largest_data(), kLastHost, kLastSlot);
  expect_same(packed.to_packet(), largest_data());
  EXPECT_EQ(packed.dst(), kLastHost);
  EXPECT_EQ(packed.slot(), kLastSlot);
  EXPECT_EQ(packed.path(), 255);
  EXPECT_EQ(packed.payload(), 65'535u);
  EXPECT_EQ(packed.kind(), PacketKind::data);
  EXPECT_FALSE(packed.is_control());
  EXPECT_FALSE(packed.marked());
}

// And with every field at its smallest.
TEST(SimPacket, Data_RoundTripOfZeros) {
  const SimPacket packed = SimPacket::from(Packet{}, 0, 0);
  expect_same(packed.to_packet(), Packet{});
  EXPECT_EQ(packed.dst(), 0u);
  EXPECT_EQ(packed.slot(), 0u);
  EXPECT_EQ(packed.path(), 0);
}

// A probe keeps its id, its wanted base and its time.
TEST(SimPacket, Probe_RoundTrip) {
  Packet p;
  p.type = PacketType::probe;
  p.probe_id = 65'535;
  p.psn = Psn{kMax32};
  p.path_id = 255;
  p.timestamp = {kMax32};
  const SimPacket packed = SimPacket::from(p, kLastHost, kLastSlot);
  expect_same(packed.to_packet(), p);
  EXPECT_EQ(packed.kind(), PacketKind::probe);
}

// [D18] Probes travel with the data: only SACKs are control to a queue.
TEST(SimPacket, Probe_IsNotControl) {
  Packet p;
  p.type = PacketType::probe;
  EXPECT_FALSE(SimPacket::from(p, 1, 1).is_control());
}

// A SACK comes out as it went in, across the wrap of PSNs, from the last segment, with 1023 out of
// order.
TEST(SimPacket, Sack_RoundTripOfLargestValues) {
  const SimPacket packed = SimPacket::from(largest_sack(), kLastHost, kLastSlot);
  expect_same(packed.to_sack(), largest_sack());
  EXPECT_EQ(packed.dst(), kLastHost);
  EXPECT_EQ(packed.slot(), kLastSlot);
  EXPECT_EQ(packed.path(), 255);
  EXPECT_EQ(packed.kind(), PacketKind::ack);
  EXPECT_TRUE(packed.is_control());
  EXPECT_FALSE(packed.marked());
}

// A triggering PSN below EPSN tells the sender nothing: it comes out as the one just below.
TEST(SimPacket, Sack_PsnBelowEpsnBecomesTheOneJustBelow) {
  Sack s = largest_sack();
  s.epsn = s.sack_base = Psn{3};
  s.psn = Psn{kMax32 - 10};
  EXPECT_EQ(SimPacket::from(s, 1, 1).to_sack().psn, Psn{2});
}

// The usual SACK, for the packet just below EPSN, also where EPSN has just wrapped to 0.
TEST(SimPacket, Sack_PsnJustBelowAWrappedEpsn) {
  Sack s;
  s.epsn = s.sack_base = Psn{0};
  s.psn = Psn{kMax32};
  expect_same(SimPacket::from(s, 1, 1).to_sack(), s);
}

// Each distance beyond EPSN that a tracking window allows is kept.
TEST(SimPacket, Sack_EveryPsnBeyondEpsn) {
  for (std::uint32_t ahead = 1; ahead < 1024; ++ahead) {
    Sack s = largest_sack();
    s.psn = s.epsn + ahead;
    ASSERT_EQ(SimPacket::from(s, 1, 1).to_sack().psn, s.psn);
  }
}

// Each of the sixteen segments is kept, beside the extremes of its neighbours in the word.
TEST(SimPacket, Sack_EverySegment) {
  for (std::uint32_t segment = 0; segment < 16; ++segment) {
    Sack s = largest_sack();
    s.sack_base = s.epsn + segment * 64;
    s.ooo_count = 0;
    s.psn = s.epsn - 1u;
    expect_same(SimPacket::from(s, 1, 1).to_sack(), s);
  }
}

// A probe's SACK keeps the largest probe id. [R.probe.bit] Its PSN says nothing.
TEST(SimPacket, Sack_ForProbeKeepsItsId) {
  Sack s = largest_sack();
  s.for_probe = true;
  s.probe_id = 65'535;
  s.sack_base = s.epsn;
  s.psn = Psn{0};
  expect_same(SimPacket::from(s, kLastHost, kLastSlot).to_sack(), s);
}

// Whatever the fields are together, none spills into another.
TEST(SimPacket, RoundTripOfRandomValues) {
  Rng rng(7);
  const auto u32 = [&] { return static_cast<std::uint32_t>(rng.next()); };
  const auto u16 = [&] { return static_cast<std::uint16_t>(rng.next()); };
  for (int i = 0; i < 20'000; ++i) {
    const auto dst = static_cast<std::uint32_t>(rng.below(SimPacket::kMaxHosts));
    const auto slot = static_cast<std::uint32_t>(rng.below(SimPacket::kMaxSlots));
    Packet p = largest_data();
    p.retransmission = rng.below(2) == 1;
    p.payload = u16();
    p.path_id = static_cast<core::PathId>(rng.below(256));
    p.psn = Psn{u32()};
    p.message_id = u32();
    p.offset = u32();
    p.message_length = u32();
    p.timestamp = {u32()};
    const SimPacket data = SimPacket::from(p, dst, slot);
    expect_same(data.to_packet(), p);
    EXPECT_EQ(data.dst(), dst);
    EXPECT_EQ(data.slot(), slot);

    Sack s;
    s.bitmap = rng.next();
    s.epsn = Psn{u32()};
    s.sack_base = s.epsn + 64 * static_cast<std::uint32_t>(rng.below(16));
    s.bytes_recvd = u32();
    s.psn = s.epsn + static_cast<std::uint32_t>(1 + rng.below(1023));
    s.timestamp = {u32()};
    s.path_id = static_cast<core::PathId>(rng.below(256));
    s.ooo_count = static_cast<std::uint16_t>(rng.below(1024));
    s.ecn = rng.below(2) == 1;
    const SimPacket sack = SimPacket::from(s, dst, slot);
    expect_same(sack.to_sack(), s);
    EXPECT_EQ(sack.dst(), dst);
    EXPECT_EQ(sack.slot(), slot);
    ASSERT_FALSE(HasFailure());
  }
}

// A mark is seen on the packet, and changes nothing that its receiver reads.
TEST(SimPacket, Mark_TouchesNothingElse) {
  SimPacket packed = SimPacket::from(largest_data(), kLastHost, kLastSlot);
  packed.mark();
  EXPECT_TRUE(packed.marked());
  expect_same(packed.to_packet(), largest_data());
  EXPECT_EQ(packed.dst(), kLastHost);
  EXPECT_EQ(packed.slot(), kLastSlot);
}

// An echoed mark is not a mark on the SACK itself.
TEST(SimPacket, Mark_IsNotTheEcho) {
  Sack s = largest_sack();
  s.ecn = false;
  SimPacket packed = SimPacket::from(s, 1, 1);
  packed.mark();
  EXPECT_FALSE(packed.to_sack().ecn);
}

// [R.pfc.account] [R.pfc.victim] What a lossless switch notes on a packet touches nothing else, and
// nothing of it is left when it is noted anew.
TEST(SimPacket, Ingress_TouchesNothingElse) {
  core::Packet packet;
  packet.psn = core::Psn{~0u};
  packet.message_length = ~0u;
  packet.payload = 0xffff;
  const SimPacket before = SimPacket::from(packet, 1, 2);
  SimPacket p = before;
  p.set_held(true);
  p.set_victim();
  p.set_ingress(SimPacket::kMaxPorts - 1);
  EXPECT_EQ(p.ingress(), SimPacket::kMaxPorts - 1);
  p.set_ingress(5);
  EXPECT_EQ(p.ingress(), 5u);
  EXPECT_TRUE(p.held());
  EXPECT_TRUE(p.victim());
  EXPECT_EQ(p.payload(), 0xffffu);
  EXPECT_EQ(p.to_packet().message_length, ~0u);
  EXPECT_EQ(p.header(), before.header());
  p.set_held(false);
  EXPECT_FALSE(p.held());
  EXPECT_TRUE(p.victim());
  EXPECT_EQ(p.ingress(), 5u);
}

// [R.pfc.frame] A pause frame is control, and carries its time.
TEST(SimPacket, Pause_RoundTrip) {
  const SimPacket p = SimPacket::pause(us(83));
  EXPECT_EQ(p.kind(), PacketKind::pause);
  EXPECT_TRUE(p.is_control());
  EXPECT_EQ(p.pause_time(), us(83));
}

// What a switch hashes is the same for a packet marked or sent again: it must not change its path.
TEST(SimPacket, Header_IgnoresMarksAndFlags) {
  Packet p = largest_data();
  SimPacket packed = SimPacket::from(p, 17, 4);
  const std::uint64_t header = packed.header();
  packed.mark();
  EXPECT_EQ(packed.header(), header);
  p.retransmission = false;
  EXPECT_EQ(SimPacket::from(p, 17, 4).header(), header);

  Sack s = largest_sack();
  const std::uint64_t sack_header = SimPacket::from(s, 17, 4).header();
  s.ecn = false;
  EXPECT_EQ(SimPacket::from(s, 17, 4).header(), sack_header);
  s.for_probe = true;
  s.sack_base = s.epsn;
  EXPECT_EQ(SimPacket::from(s, 17, 4).header(), sack_header);
}

// A probe takes the way that data on its path takes: it asks about that path.
TEST(SimPacket, Header_OfAProbeIsThatOfData) {
  Packet p;
  p.path_id = 9;
  const std::uint64_t header = SimPacket::from(p, 17, 4).header();
  p.type = PacketType::probe;
  EXPECT_EQ(SimPacket::from(p, 17, 4).header(), header);
}

// Destination, connection, path and direction each tell headers apart.
TEST(SimPacket, Header_DependsOnDestinationSlotPathAndDirection) {
  Packet p;
  p.path_id = 9;
  const std::uint64_t header = SimPacket::from(p, 17, 4).header();
  EXPECT_NE(SimPacket::from(p, 18, 4).header(), header);
  EXPECT_NE(SimPacket::from(p, 17, 5).header(), header);
  Packet other = p;
  other.path_id = 8;
  EXPECT_NE(SimPacket::from(other, 17, 4).header(), header);
  Sack s;
  s.path_id = 9;
  EXPECT_NE(SimPacket::from(s, 17, 4).header(), header);
}

}  // namespace
}  // namespace strack::sim
