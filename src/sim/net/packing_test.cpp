#include "sim/net/packing.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/host/window_protocol.h"

namespace strack::sim {
namespace {

using core::Packet;
using core::PacketType;
using core::Psn;

constexpr Address kLast{SimPacket::kMaxHosts - 1, SimPacket::kMaxSlots - 1};
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

Packet largest_data() {
  Packet p;
  p.type = PacketType::data;
  p.retransmission = true;
  p.payload = 65'535;
  p.path_id = 65'535;
  p.psn = Psn{kMax32};
  p.message_id = kMax32;
  p.offset = kMax32;
  p.message_length = kMax32;
  p.timestamp = {kMax32};
  return p;
}

// A graph has paths of up to 200 links.
TEST(Packing, WindowAck_RoundTripOfLargestValues) {
  core::WindowAck ack;
  ack.kind = core::AckKind::nack;
  ack.utilisation = 4'095;
  ack.hops = 200;
  ack.ecn = true;
  const core::WindowAck back = unpack_window_ack(pack(ack, kLast));
  EXPECT_EQ(back.kind, core::AckKind::nack);
  EXPECT_EQ(back.utilisation, 4'095);
  EXPECT_EQ(back.hops, 200);
  EXPECT_TRUE(back.ecn);
}

// A data packet comes out as it went in, with every field at its largest.
TEST(Packing, Data_RoundTripOfLargestValues) {
  const SimPacket packed = pack(largest_data(), kLast);
  expect_same(unpack_packet(packed), largest_data());
  EXPECT_EQ(packed.dst(), kLast.host);
  EXPECT_EQ(packed.slot(), kLast.slot);
  EXPECT_EQ(packed.payload(), 65'535u);
  EXPECT_TRUE(packed.is_whole());
}

// And with every field at its smallest.
TEST(Packing, Data_RoundTripOfZeros) {
  expect_same(unpack_packet(pack(Packet{}, {0, 0})), Packet{});
}

// A probe keeps its id, its wanted base and its time.
TEST(Packing, Probe_RoundTrip) {
  Packet p;
  p.type = PacketType::probe;
  p.probe_id = 65'535;
  p.psn = Psn{kMax32};
  p.path_id = 65'535;
  p.timestamp = {kMax32};
  const SimPacket packed = pack(p, kLast);
  expect_same(unpack_packet(packed), p);
  EXPECT_TRUE(packed.is_bare());
}

// What the network notes on the way changes nothing that the receiver unpacks.
TEST(Packing, Data_SurvivesWhatPortsNote) {
  SimPacket packed = pack(largest_data(), kLast);
  packed.mark(true);
  packed.trim(true);
  packed.set_held(true);
  packed.set_victim();
  packed.note_utilisation(SimPacket::kMaxUtilisation);
  expect_same(unpack_packet(packed), largest_data());
}

// Whatever the fields are together, none spills into another.
TEST(Packing, Data_RoundTripOfRandomValues) {
  Rng rng(7);
  const auto u32 = [&] { return static_cast<std::uint32_t>(rng.next()); };
  const auto u16 = [&] { return static_cast<std::uint16_t>(rng.next()); };
  for (int i = 0; i < 20'000; ++i) {
    Packet p = largest_data();
    p.retransmission = rng.below(2) == 1;
    p.payload = u16();
    p.path_id = u16();
    p.psn = Psn{u32()};
    p.message_id = u32();
    p.offset = u32();
    p.message_length = u32();
    p.timestamp = {u32()};
    expect_same(unpack_packet(pack(p, {1, 2})), p);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace strack::sim
