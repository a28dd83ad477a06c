#include "sim/net/sim_packet.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"

namespace strack::sim {
namespace {

constexpr Address kLast{SimPacket::kMaxHosts - 1, SimPacket::kMaxSlots - 1};
constexpr std::uint64_t kAll = ~std::uint64_t{0};

/// A packet whose transport's words are all ones.
SimPacket filled(SimPacket packet) {
  packet.w1 = packet.w2 = kAll;
  packet.w3 |= packet.is_control() ? kAll : 0xffff'ffff;
  packet.set_flag(true);
  return packet;
}

// A data packet's fields at their largest, beside a transport that uses all that is its own.
TEST(SimPacket, Data_LargestValues) {
  const SimPacket p = filled(SimPacket::data(kLast, 65'535, 65'535));
  EXPECT_EQ(p.dst(), 1'048'575u);
  EXPECT_EQ(p.slot(), 1'048'575u);
  EXPECT_EQ(p.entropy(), 65'535);
  EXPECT_EQ(p.payload(), 65'535u);
  EXPECT_TRUE(p.is_whole());
  EXPECT_TRUE(p.flag());
  EXPECT_FALSE(p.is_bare() || p.is_control() || p.is_backward() || p.is_pause());
  EXPECT_FALSE(p.marked() || p.trimmed() || p.marked_last_hop() || p.trimmed_last_hop());
  EXPECT_FALSE(p.held() || p.victim());
  EXPECT_EQ(p.utilisation(), 0u);
}

// And at their smallest.
TEST(SimPacket, Data_Zeros) {
  const SimPacket p = SimPacket::data({0, 0}, 0, 0);
  EXPECT_EQ(p.dst(), 0u);
  EXPECT_EQ(p.slot(), 0u);
  EXPECT_EQ(p.entropy(), 0);
  EXPECT_EQ(p.payload(), 0u);
  EXPECT_TRUE(p.is_whole());
  EXPECT_FALSE(p.flag());
}

// [D18] A probe has no payload and travels with the data: only what receivers say is control.
TEST(SimPacket, Bare_WaitsWithTheData) {
  const SimPacket p = SimPacket::bare(kLast, 65'535);
  EXPECT_TRUE(p.is_bare());
  EXPECT_FALSE(p.is_whole() || p.is_control() || p.is_backward() || p.is_pause());
}

// What a receiver says goes ahead of data, and every bit of three words is the transport's.
TEST(SimPacket, Ack_IsControlAndTheTransports) {
  const SimPacket p = filled(SimPacket::ack(kLast, 65'535));
  EXPECT_TRUE(p.is_control() && p.is_backward() && p.is_bare());
  EXPECT_FALSE(p.is_whole() || p.is_pause() || p.marked() || p.trimmed());
  EXPECT_EQ(p.dst(), kLast.host);
  EXPECT_EQ(p.slot(), kLast.slot);
  EXPECT_EQ(p.entropy(), 65'535);
  EXPECT_EQ(p.w1 & p.w2 & p.w3, kAll);
}

// [R.pfc.frame] A pause frame is control, and carries its time.
TEST(SimPacket, Pause_RoundTrip) {
  const SimPacket p = SimPacket::pause(us(83));
  EXPECT_TRUE(p.is_pause() && p.is_control() && p.is_backward());
  EXPECT_EQ(p.pause_time(), us(83));
}

// Whatever destination, connection and entropy are together, none spills into another.
TEST(SimPacket, Address_RoundTripOfRandomValues) {
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const Address to{static_cast<std::uint32_t>(rng.below(SimPacket::kMaxHosts)),
                     static_cast<std::uint32_t>(rng.below(SimPacket::kMaxSlots))};
    const auto entropy = static_cast<core::PathId>(rng.below(65'536));
    const SimPacket p = filled(SimPacket::data(to, entropy, 1));
    ASSERT_EQ(p.dst(), to.host);
    ASSERT_EQ(p.slot(), to.slot);
    ASSERT_EQ(p.entropy(), entropy);
  }
}

// [D116] A priority is beside everything else, and no part of what is hashed.
TEST(SimPacket, Priority_RoundTrip) {
  for (std::uint32_t priority = 0; priority < SimPacket::kPriorities; ++priority) {
    SimPacket p = SimPacket::data(kLast, 65'535, 4'096);
    const SimPacket before = p;
    EXPECT_EQ(p.priority(), 0u);
    p.set_priority(priority);
    EXPECT_EQ(p.priority(), priority);
    EXPECT_EQ(p.is_urgent(), priority > 0);
    EXPECT_EQ(p.header(), before.header());
    EXPECT_EQ(p.dst(), kLast.host);
    EXPECT_EQ(p.slot(), kLast.slot);
    EXPECT_EQ(p.entropy(), 65'535);
    EXPECT_TRUE(p.is_whole());
  }
}

// What ports note on a packet touches neither what the transport wrote nor each other.
TEST(SimPacket, Notes_TouchNothingElse) {
  const SimPacket before = filled(SimPacket::data(kLast, 65'535, 65'535));
  SimPacket p = before;
  p.mark();
  EXPECT_TRUE(p.marked());
  EXPECT_FALSE(p.marked_last_hop() || p.trimmed());
  p.mark(true);
  EXPECT_TRUE(p.marked_last_hop());
  EXPECT_FALSE(p.trimmed_last_hop());
  p.trim(true);
  EXPECT_TRUE(p.trimmed() && p.trimmed_last_hop());
  EXPECT_FALSE(p.is_whole());
  EXPECT_FALSE(p.held() || p.victim());
  p.set_held(true);
  p.set_victim();
  p.note_utilisation(1'024);
  p.set_held(false);
  EXPECT_FALSE(p.held());
  EXPECT_TRUE(p.victim());
  EXPECT_EQ(p.utilisation(), 1'024u);
  EXPECT_EQ(p.payload(), 65'535u);
  EXPECT_EQ(p.header(), before.header());
  EXPECT_EQ(p.w1 & p.w2, kAll);
  EXPECT_EQ(p.w3 & 0xffff'ffff, 0xffff'ffffu);
  EXPECT_TRUE(p.flag());
  EXPECT_EQ(p.dst(), kLast.host);
  EXPECT_EQ(p.slot(), kLast.slot);
}

// [R.pfc.account] Where a packet came in is noted anew by each switch, and touches nothing that counts
// in a lossless network.
TEST(SimPacket, Ingress_TouchesNothingElse) {
  SimPacket p = filled(SimPacket::data(kLast, 65'535, 65'535));
  p.mark(true);
  p.set_held(true);
  p.set_victim();
  p.set_ingress(SimPacket::kMaxIngress - 1);
  EXPECT_EQ(p.ingress(), 8'191u);
  p.set_ingress(5);
  EXPECT_EQ(p.ingress(), 5u);
  EXPECT_TRUE(p.held() && p.victim() && p.marked() && p.marked_last_hop());
  EXPECT_FALSE(p.trimmed() || p.trimmed_last_hop());
  EXPECT_EQ(p.payload(), 65'535u);
  EXPECT_EQ(p.w3 & 0xffff'ffff, 0xffff'ffffu);
}

// A trim in the fabric is not one at the last hop.
TEST(SimPacket, Trim_InTheFabric) {
  SimPacket p = SimPacket::data({1, 1}, 0, 4'096);
  p.trim(false);
  EXPECT_TRUE(p.trimmed());
  EXPECT_FALSE(p.trimmed_last_hop());
  EXPECT_EQ(p.payload(), 4'096u);  // as it was
}

// [D51] The fullest link of the path counts, up to what 12 bits hold.
TEST(SimPacket, Utilisation_TheLargestCounts) {
  SimPacket p = SimPacket::data({1, 1}, 0, 65'535);
  p.note_utilisation(900);
  p.note_utilisation(300);
  EXPECT_EQ(p.utilisation(), 900u);
  p.note_utilisation(1'000'000);
  EXPECT_EQ(p.utilisation(), SimPacket::kMaxUtilisation);
  EXPECT_EQ(p.payload(), 65'535u);
}

// What a switch hashes is the same for a packet marked, trimmed or flagged: it must not change its
// path. Nor must a probe's, which asks about the path that data takes.
TEST(SimPacket, Header_IgnoresMarksAndFlags) {
  const std::uint64_t header = SimPacket::data({17, 4}, 300, 4'096).header();
  SimPacket p = SimPacket::data({17, 4}, 300, 1);
  p.mark(true);
  p.trim(true);
  p.set_flag(true);
  EXPECT_EQ(p.header(), header);
  EXPECT_EQ(SimPacket::bare({17, 4}, 300).header(), header);
}

// The key that recorded hashes were made with: destination, entropy from bit 24, direction at 33,
// connection from 37.
TEST(SimPacket, Header_IsTheRecordedKey) {
  EXPECT_EQ(SimPacket::data({0x2'3456, 0xa'bcde}, 0xfe, 1).header(),
            0x2'3456u | (std::uint64_t{0xfe} << 24) | (std::uint64_t{0xa'bcde} << 37));
  EXPECT_EQ(SimPacket::ack({0x2'3456, 0xa'bcde}, 0xfe).header(),
            0x2'3456u | (std::uint64_t{0xfe} << 24) | (std::uint64_t{1} << 33) |
                (std::uint64_t{0xa'bcde} << 37));
}

// Destination, connection, direction and every bit of the entropy tell headers apart.
TEST(SimPacket, Header_DependsOnDestinationSlotEntropyAndDirection) {
  const std::uint64_t header = SimPacket::data({17, 4}, 9, 1).header();
  EXPECT_NE(SimPacket::data({18, 4}, 9, 1).header(), header);
  EXPECT_NE(SimPacket::data({17, 5}, 9, 1).header(), header);
  EXPECT_NE(SimPacket::ack({17, 4}, 9).header(), header);
  for (int bit = 0; bit < 16; ++bit) {
    const auto other = static_cast<core::PathId>(9 ^ (1 << bit));
    EXPECT_NE(SimPacket::data({17, 4}, other, 1).header(), header) << bit;
  }
}

}  // namespace
}  // namespace strack::sim
