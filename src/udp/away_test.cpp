// A process that did not run for some seconds: stopped, or on a machine that was suspended [D169].
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;

constexpr unsigned kMany = 100;  // more than one poll reads of what they all send meanwhile

EndpointOptions for_many(bool keyed) {
  EndpointOptions o = options(keyed);
  o.message_slots = 2;
  o.max_connections = 4 * kMany;
  return o;
}

/// Many connections, of which the listener has accepted all, and has heard of none since.
struct HalfOpen {
  explicit HalfOpen(bool keyed) : duo(for_many(keyed)) {
    for (unsigned i = 0; i < kMany; ++i)
      EXPECT_TRUE(duo.client().connect(duo.hosts[0]->address(), i));
    duo.run(us(35));  // hello, challenge, connect; an accept is on its way
    EXPECT_EQ(duo.server().connections_held(), kMany);
    EXPECT_TRUE(duo.of(0, Kind::accepted).empty());
  }
  void expect_all() {
    duo.run(seconds(2));
    EXPECT_EQ(duo.of(0, Kind::accepted).size(), kMany);
    EXPECT_EQ(duo.of(1, Kind::connected).size(), kMany);
    EXPECT_TRUE(duo.of(1, Kind::failed).empty());
    EXPECT_EQ(duo.server().statistics().refused_unknown, 0u);
  }
  Duo duo;
};

// [D169] The listener reads what came while it was stopped, all of it, before it forgets who was accepted and was not heard since.
TEST(Away, AListenerReadsBeforeItForgetsWhoWasAccepted) {
  for (const bool keyed : {false, true}) {
    for (const Picoseconds stopped : {seconds(3) + ms(20), seconds(4), seconds(8)}) {
      SCOPED_TRACE(stopped.count());
      HalfOpen all(keyed);
      all.duo.run(stopped, 1);
      all.expect_all();
    }
  }
}

// [D169] What did not fit its sockets' buffers comes again, and there is time for that; once.
TEST(Away, WhatWasLostMeanwhileComesAgain) {
  HalfOpen all(false);
  bool full = true;
  all.duo.world.filter = [&](const SimulatedWorld::Captured& packet) {
    return !full || !(packet.to == all.duo.hosts[0]->address());
  };
  all.duo.run(seconds(4), 1);
  full = false;
  all.expect_all();
}

// [D169] Who is not heard after all is forgotten a second later.
TEST(Away, WhoIsNotHeardIsForgotten) {
  HalfOpen all(false);
  all.duo.world.filter = [&](const SimulatedWorld::Captured& packet) {
    return !(packet.to == all.duo.hosts[0]->address());
  };
  all.duo.run(seconds(4), 1);
  all.duo.run(ms(900));
  EXPECT_EQ(all.duo.server().connections_held(), kMany);
  all.duo.run(ms(200));
  EXPECT_EQ(all.duo.server().connections_held(), 0u);
}

// [D169] Both sides are stopped, the second one after it has asked the first, which comes back: what it said is read before it is judged.
TEST(Away, ASilentPeersAnswersAreReadFirst) {
  for (const bool keyed : {false, true}) {
    Duo duo(for_many(keyed));
    for (unsigned i = 0; i < kMany; ++i)
      ASSERT_TRUE(duo.client().connect(duo.hosts[0]->address(), i));
    duo.run(seconds(1));
    ASSERT_EQ(duo.of(1, Kind::connected).size(), kMany);
    duo.run(ms(8'500), 1);
    duo.run(seconds(2), 0);
    duo.run(seconds(2));
    EXPECT_TRUE(duo.of(1, Kind::failed).empty());
    EXPECT_TRUE(duo.of(0, Kind::failed).empty());
  }
}

/// A client whose server is not there yet, and which is itself stopped for so long after it has asked for half a second.
struct Asking {
  explicit Asking(Picoseconds stopped) {
    duo.world.filter = [this](const SimulatedWorld::Captured& packet) {
      return !dead || !(packet.to == duo.hosts[0]->address());
    };
    EXPECT_TRUE(duo.client().connect(duo.hosts[0]->address(), 1));
    duo.run(ms(500));
    duo.run(stopped, 0);
  }
  bool dead = true;
  Duo duo;
};

// [D169] Time in which this process did not run is none in which nobody answered.
TEST(Away, WhoIsStoppedWhileItAsksHasItsPatienceLeft) {
  for (const Picoseconds stopped : {seconds(4), seconds(9) + ms(400), seconds(12), seconds(100)}) {
    SCOPED_TRACE(stopped.count());
    Asking one(stopped);
    one.duo.run(seconds(7));
    EXPECT_TRUE(one.duo.of(1, Kind::failed).empty());
    one.dead = false;
    one.duo.run(seconds(2));
    EXPECT_EQ(one.duo.of(1, Kind::connected).size(), 1u);
  }
}

// [D169] But no more than that: nobody is there, which it says as soon as if it had run all the time.
TEST(Away, PatienceEndsAfterTheTimeThatItRan) {
  Asking one(seconds(100));
  one.duo.run(seconds(12));
  EXPECT_EQ(one.duo.of(1, Kind::failed).size(), 1u);
}

// [D169] Nor for ever where a program looks now and then only.
TEST(Away, PatienceEndsWhereAProgramSeldomLooks) {
  Asking one(seconds(20));
  for (int i = 0; i < 20; ++i) {
    one.duo.run(ms(1));
    one.duo.run(seconds(20), 0);
  }
  one.duo.run(seconds(11));
  EXPECT_EQ(one.duo.of(1, Kind::failed).size(), 1u);
}

}  // namespace
}  // namespace strack::udp
