#include "sim/net/lane_store.h"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "sim/net/lane.h"

namespace strack::sim {
namespace {

// What was put by last is near: it is given first, and only what has the size that is asked for.
TEST(LaneStore, GivesWhatWasPutByLast) {
  LaneStore store;
  Transit* const first = store.take(16);
  Transit* const second = store.take(16);
  Transit* const large = store.take(64);
  EXPECT_NE(first, second);
  store.put(first, 16);
  store.put(large, 64);
  store.put(second, 16);
  EXPECT_EQ(store.count(16), 2u);
  EXPECT_EQ(store.take(16), second);
  EXPECT_EQ(store.take(16), first);
  EXPECT_EQ(store.count(16), 0u);
  EXPECT_EQ(store.take(64), large);
  store.put(first, 16);
  store.put(second, 16);
  store.put(large, 64);
}

// Whoever has much more than the others gives; nothing is lost.
TEST(LaneStore, EvensOutBetweenWindows) {
  std::array<LaneStore, 3> each;
  const std::vector<LaneStore*> stores{&each[0], &each[1], &each[2]};
  std::set<Transit*> all;
  for (int i = 0; i < 1'200; ++i) all.insert(each[0].take(32));
  for (Transit* room : all) each[1].put(room, 32);
  LaneStore::even_out(stores);
  for (const LaneStore& store : each) {
    EXPECT_GE(store.count(32), 398u);
    EXPECT_LE(store.count(32), 401u);
  }
  std::set<Transit*> found;
  for (LaneStore& store : each) {
    while (store.count(32) > 0) found.insert(store.take(32));
  }
  EXPECT_EQ(found, all);
  for (Transit* room : all) each[2].put(room, 32);
}

TEST(LaneStore, ALittleMoreStaysWhereItIs) {
  std::array<LaneStore, 2> each;
  const std::vector<LaneStore*> stores{&each[0], &each[1]};
  for (int i = 0; i < 200; ++i) each[0].put(LaneStore::room(nullptr, 16), 16);
  LaneStore::even_out(stores);
  EXPECT_EQ(each[0].count(16), 200u);
  EXPECT_EQ(each[1].count(16), 0u);
}

void push(Lane& lane, std::uint64_t window, std::uint64_t number, LaneStore* store) {
  bool first = false;
  lane.push(window, first, store).packet.w1 = number;
}

// What one lane's receiver has read, the next lane's sender writes; and a lane asks for what it needed before.
TEST(LaneStore, RoomGoesFromLaneToLane) {
  LaneStore store;
  Lane one;
  Lane other;
  for (std::uint64_t i = 0; i < 20; ++i) push(one, 1, i, &store);
  EXPECT_EQ(store.count(16), 1u);  // it grew
  const Transit* const room = one.arrivals(2).data();
  one.put_by(2, store);
  EXPECT_TRUE(one.arrivals(2).empty());
  EXPECT_EQ(store.count(32), 1u);
  push(other, 2, 7, &store);
  EXPECT_EQ(store.count(16), 0u);
  push(one, 3, 8, &store);
  EXPECT_EQ(one.arrivals(4).data(), room);
  EXPECT_EQ(other.arrivals(3).size(), 1u);
  EXPECT_EQ(other.arrivals(3)[0].packet.w1, 7u);
  // Nothing was written there in the window before: there is nothing to put by.
  one.put_by(3, store);
  other.put_by(5, store);
  EXPECT_EQ(store.count(16) + store.count(32), 0u);
}

}  // namespace
}  // namespace strack::sim
