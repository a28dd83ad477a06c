#include "transfer/guests.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

using std::chrono::seconds;

Guests::Clock::time_point at(int second) { return Guests::Clock::time_point(seconds(second)); }

constexpr std::uint64_t kGreedy = 1;
constexpr std::uint64_t kModest = 2;

TEST(Guests, WhereThereIsRoomNobodyGoes) {
  Guests guests(3);
  for (Guests::Id id = 1; id <= 3; ++id) EXPECT_EQ(guests.enter(id, kGreedy, at(0)), std::nullopt);
  guests.leave(2);
  EXPECT_EQ(guests.enter(4, kModest, at(0)), std::nullopt);
  EXPECT_EQ(guests.size(), 3u);
}

// A source does not keep others out by doing nothing.
TEST(Guests, TheIdlestOfTheSourceWithMostGoesFirst) {
  Guests guests(3, seconds(4));
  for (Guests::Id id = 1; id <= 3; ++id) EXPECT_EQ(guests.enter(id, kGreedy, at(0)), std::nullopt);
  guests.heard(1, at(3));
  guests.heard(2, at(1));
  guests.heard(3, at(2));
  EXPECT_EQ(guests.enter(4, kModest, at(3)), 2u);
  EXPECT_EQ(guests.size(), 3u);
  // Now it is two to two, counting the newcomer, which is fair: nobody is idle, so it has to go itself.
  EXPECT_EQ(guests.enter(5, kModest, at(3)), 5u);
  EXPECT_EQ(guests.size(), 3u);
}

// Within its source's share: what it has done would be lost, and the newcomer can wait.
TEST(Guests, NobodyGoesWhoIsAtWork) {
  Guests guests(2, seconds(15));
  EXPECT_EQ(guests.enter(1, kGreedy, at(0)), std::nullopt);
  EXPECT_EQ(guests.enter(2, kModest, at(0)), std::nullopt);
  EXPECT_EQ(guests.enter(3, 12, at(14)), 3u);
  EXPECT_EQ(guests.enter(4, kGreedy, at(14)), 4u);
}

// Two that are busy with all places leave a third its share, and nothing moves once all have theirs.
TEST(Guests, PlacesAreSharedEvenly) {
  Guests guests(32, seconds(15));
  for (Guests::Id id = 1; id <= 32; ++id)
    EXPECT_EQ(guests.enter(id, id <= 16 ? 10 : 11, at(0)), std::nullopt);
  std::vector<Guests::Id> gone;
  Guests::Id next = 33;
  for (; next <= 64; ++next) {
    const auto leaves = guests.enter(next, 12, at(1));
    ASSERT_TRUE(leaves);
    if (*leaves == next) break;
    gone.push_back(*leaves);
  }
  // The newest go first, in turns; 11, 11 and 10 are fair.
  ASSERT_EQ(gone.size(), 10u);
  EXPECT_EQ(std::count_if(gone.begin(), gone.end(), [](Guests::Id id) { return id <= 16; }), 5);
  EXPECT_TRUE(std::find(gone.begin(), gone.end(), 16) != gone.end());
  EXPECT_TRUE(std::find(gone.begin(), gone.end(), 32) != gone.end());
  EXPECT_EQ(guests.enter(100, 10, at(1)), 100u);
  EXPECT_EQ(guests.enter(101, 11, at(1)), 101u);
  EXPECT_EQ(guests.enter(102, 12, at(1)), 102u);
}

// Whoever is idle goes, also where another source has more that are at work.
TEST(Guests, WhoIsAtWorkDoesNotHideTheIdle) {
  Guests guests(5, seconds(15));
  for (Guests::Id id = 1; id <= 3; ++id) EXPECT_EQ(guests.enter(id, kGreedy, at(0)), std::nullopt);
  for (Guests::Id id = 4; id <= 5; ++id) EXPECT_EQ(guests.enter(id, 12, at(0)), std::nullopt);
  for (Guests::Id id = 1; id <= 3; ++id) guests.heard(id, at(25));
  EXPECT_EQ(guests.enter(6, kModest, at(25)), 4u);
}

TEST(Guests, ASourceMakesRoomForItselfOnlyByItsOwnIdleOnes) {
  Guests guests(2, seconds(15));
  EXPECT_EQ(guests.enter(1, kModest, at(0)), std::nullopt);
  EXPECT_EQ(guests.enter(2, kGreedy, at(1)), std::nullopt);
  EXPECT_EQ(guests.enter(3, kGreedy, at(15)), 3u) << "14 s are not idle";
  EXPECT_EQ(guests.enter(4, kGreedy, at(16)), 2u) << "its own, though the other is idle for longer";
}

TEST(Guests, AmongEqualsTheIdleOneGoes) {
  Guests guests(2, seconds(15));
  EXPECT_EQ(guests.enter(1, 10, at(0)), std::nullopt);
  EXPECT_EQ(guests.enter(2, 11, at(5)), std::nullopt);
  EXPECT_EQ(guests.enter(3, 12, at(14)), 3u);
  EXPECT_EQ(guests.enter(4, 12, at(15)), 1u);
}

TEST(Guests, ASourceIsAHostWhateverItsPort) {
  EXPECT_EQ(source_of("192.0.2.7:1"), source_of("192.0.2.7:65000"));
  EXPECT_NE(source_of("192.0.2.7:1"), source_of("192.0.2.8:1"));
  // A host can take any address of its IPv6 network.
  EXPECT_EQ(source_of("[2001:db8::1]:1"), source_of("[2001:db8::ffff:1]:1"));
  EXPECT_NE(source_of("[2001:db8::1]:1"), source_of("[2001:db8:0:1::1]:1"));
}

}  // namespace
}  // namespace strack::transfer
