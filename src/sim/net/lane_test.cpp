#include "sim/net/lane.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::sim {
namespace {

/// Writes a packet that can be told by its number; says whether it was the window's first.
bool push(Lane& lane, std::uint64_t window, std::uint64_t number) {
  bool first = false;
  Transit& transit = lane.push(window, first);
  transit.time = at(ps(static_cast<std::int64_t>(number)));
  transit.packet.w1 = number;
  return first;
}

// Nothing was ever written: nothing arrives, from the first window on.
TEST(Lane, EmptyAtFirst) {
  const Lane lane;
  for (std::uint64_t window = 1; window < 5; ++window) EXPECT_TRUE(lane.arrivals(window).empty());
}

// What is written in window k arrives in window k + 1, in its order, and in no other.
TEST(Lane, ArrivesInTheNextWindowOnly) {
  Lane lane;
  push(lane, 7, 70);
  push(lane, 7, 71);
  EXPECT_TRUE(lane.arrivals(7).empty());
  ASSERT_EQ(lane.arrivals(8).size(), 2u);
  EXPECT_EQ(lane.arrivals(8)[0].packet.w1, 70u);
  EXPECT_EQ(lane.arrivals(8)[0].time, at(ps(70)));
  EXPECT_EQ(lane.arrivals(8)[1].packet.w1, 71u);
  EXPECT_TRUE(lane.arrivals(9).empty());
  EXPECT_TRUE(lane.arrivals(10).empty());
}

// While the receiver reads window k's packets in window k + 1, the sender writes the next ones
// elsewhere.
TEST(Lane, ReadAndWrittenInOneWindow) {
  Lane lane;
  push(lane, 1, 10);
  push(lane, 2, 20);
  ASSERT_EQ(lane.arrivals(2).size(), 1u);
  EXPECT_EQ(lane.arrivals(2)[0].packet.w1, 10u);
  ASSERT_EQ(lane.arrivals(3).size(), 1u);
  EXPECT_EQ(lane.arrivals(3)[0].packet.w1, 20u);
}

// A buffer is used again two windows later, without what it held.
TEST(Lane, BufferForgetsTwoWindowsLater) {
  Lane lane;
  push(lane, 1, 10);
  push(lane, 1, 11);
  push(lane, 3, 30);
  ASSERT_EQ(lane.arrivals(4).size(), 1u);
  EXPECT_EQ(lane.arrivals(4)[0].packet.w1, 30u);
}

// The window's first packet, and only that, is told to be so: the receiver gets mail once.
TEST(Lane, TellsTheFirstOfAWindow) {
  Lane lane;
  EXPECT_TRUE(push(lane, 1, 0));
  EXPECT_FALSE(push(lane, 1, 1));
  EXPECT_TRUE(push(lane, 2, 2));
  EXPECT_TRUE(push(lane, 3, 3));
  EXPECT_FALSE(push(lane, 3, 4));
}

// Growth keeps what is there already, far beyond the first allocation.
TEST(Lane, GrowthKeepsEverything) {
  Lane lane;
  for (std::uint64_t i = 0; i < 10'000; ++i) push(lane, 1, i);
  ASSERT_EQ(lane.arrivals(2).size(), 10'000u);
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(lane.arrivals(2)[i].packet.w1, i);
}

// What came from elsewhere is read where it lies: the lane has no room of its own for it, and frees none.
TEST(Lane, LooksAtWhatLiesElsewhere) {
  const std::vector<Transit> elsewhere(3, Transit{at(ps(5)), {1, 2, 3, 4}});
  Lane lane;
  lane.look_at(1, elsewhere.data(), 3);
  EXPECT_EQ(lane.arrivals(2).data(), elsewhere.data());
  EXPECT_EQ(lane.arrivals(2).size(), 3u);
  LaneStore store;
  lane.put_by(2, store);
  EXPECT_EQ(store.count(16), 0u);
  EXPECT_TRUE(lane.arrivals(4).empty());
  lane.look_at(3, elsewhere.data() + 1, 2);
  EXPECT_EQ(lane.arrivals(4).data(), elsewhere.data() + 1);
}

}  // namespace
}  // namespace strack::sim
