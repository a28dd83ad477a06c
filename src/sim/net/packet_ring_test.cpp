#include "sim/net/packet_ring.h"

#include <cstdint>
#include <deque>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::sim {
namespace {

SimPacket numbered(std::uint64_t number) {
  SimPacket packet;
  packet.w1 = number;
  return packet;
}

// Empty until something is pushed, and again once it is popped.
TEST(PacketRing, EmptyBeforeAndAfter) {
  PacketRing ring;
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.size(), 0u);
  ring.push(numbered(1));
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(ring.size(), 1u);
  ring.pop();
  EXPECT_TRUE(ring.empty());
}

// First in, first out, whole packets.
TEST(PacketRing, FirstInFirstOut) {
  PacketRing ring;
  SimPacket packet;
  packet.w0 = 1;
  packet.w1 = 2;
  packet.w2 = 3;
  packet.w3 = 4;
  ring.push(packet);
  ring.push(numbered(5));
  EXPECT_EQ(ring.front().w0, 1u);
  EXPECT_EQ(ring.front().w1, 2u);
  EXPECT_EQ(ring.front().w2, 3u);
  EXPECT_EQ(ring.front().w3, 4u);
  ring.pop();
  EXPECT_EQ(ring.front().w1, 5u);
}

// Growing while the contents lie across the end of the memory keeps their order.
TEST(PacketRing, GrowsWhileWrapped) {
  PacketRing ring;
  for (std::uint64_t i = 0; i < 16; ++i) ring.push(numbered(i));
  for (std::uint64_t i = 0; i < 10; ++i) ring.pop();
  for (std::uint64_t i = 16; i < 40; ++i) ring.push(numbered(i));
  EXPECT_EQ(ring.size(), 30u);
  for (std::uint32_t i = 0; i < 30; ++i) ASSERT_EQ(ring[i].w1, 10 + i);
  for (std::uint64_t i = 10; i < 40; ++i) {
    ASSERT_EQ(ring.front().w1, i);
    ring.pop();
  }
  EXPECT_TRUE(ring.empty());
}

// Room for several is made at once, across the end of the memory too, and others fill it in.
TEST(PacketRing, RoomForSeveralIsFilledInByPlace) {
  PacketRing ring;
  for (std::uint64_t i = 0; i < 14; ++i) ring.push(numbered(i));
  ring.pop(10);
  for (const std::uint32_t more : {5u, 30u}) {
    const std::uint32_t first = ring.size();
    ring.extend(more);
    ASSERT_EQ(ring.size(), first + more);
    for (std::uint32_t i = 0; i < more; ++i)
      ring.memory()[ring.place(first + i) & ring.place_mask()] = numbered(10 + first + i);
  }
  for (std::uint64_t i = 10; i < 49; ++i) {
    ASSERT_EQ(ring.front().w1, i);
    ring.pop();
  }
  EXPECT_TRUE(ring.empty());
}

// Against std::deque, through long random pushes and pops.
TEST(PacketRing, AgreesWithADeque) {
  PacketRing ring;
  std::deque<std::uint64_t> expected;
  Rng rng(3);
  std::uint64_t next = 0;
  for (int i = 0; i < 200'000; ++i) {
    // Long phases of growth and of shrinking.
    const bool push = rng.below(100) < ((i / 5'000) % 2 == 0 ? 60u : 40u);
    if (push || expected.empty()) {
      ring.push(numbered(next));
      expected.push_back(next++);
    } else {
      ASSERT_EQ(ring.front().w1, expected.front());
      ring.pop();
      expected.pop_front();
    }
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
  }
}

}  // namespace
}  // namespace strack::sim
