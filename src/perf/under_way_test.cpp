#include "perf/under_way.h"

#include <chrono>

#include <gtest/gtest.h>

namespace strack::perf {
namespace {

using std::chrono::nanoseconds;

UnderWay::Instant at(int ns) { return UnderWay::Instant(nanoseconds(ns)); }

TEST(UnderWay, IsMeasuredFromItsBeginning) {
  UnderWay messages(2);
  const std::uint32_t first = messages.next();
  messages.begin(at(10));
  const std::uint32_t second = messages.next();
  messages.begin(at(20));
  EXPECT_TRUE(messages.full());
  EXPECT_EQ(messages.end(second, at(25)), nanoseconds(5));
  EXPECT_EQ(messages.next(), second);
  EXPECT_EQ(messages.end(first, at(50)), nanoseconds(40));
}

// Whoever waits for a message that was lost with its connection has waited since it was first sent: the oldest are sent
// again first, however often, and new ones are new.
TEST(UnderWay, WhatWasLostHasBeenWaitedForAllTheTime) {
  UnderWay messages(3);
  messages.begin(at(10));
  const std::uint32_t done = messages.next();
  messages.begin(at(20));
  messages.begin(at(30));
  messages.end(done, at(40));
  messages.lose();
  EXPECT_FALSE(messages.full());
  messages.begin(at(100));
  messages.lose();
  const std::uint32_t oldest = messages.next();
  messages.begin(at(200));
  const std::uint32_t other = messages.next();
  messages.begin(at(200));
  const std::uint32_t fresh = messages.next();
  messages.begin(at(200));
  EXPECT_TRUE(messages.full());
  EXPECT_EQ(messages.end(oldest, at(210)), nanoseconds(200));
  EXPECT_EQ(messages.end(other, at(210)), nanoseconds(180));
  EXPECT_EQ(messages.end(fresh, at(210)), nanoseconds(10));
}

}  // namespace
}  // namespace strack::perf
