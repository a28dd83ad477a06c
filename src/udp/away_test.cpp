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

}  // namespace
}  // namespace strack::udp
