// How connections end when nobody uses them, and how messages that nobody receives are held back.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/rdm_testing.h"

namespace strack::fabric {
namespace {

using std::chrono::milliseconds;

/// Bytes that say which message they are.
std::vector<std::byte> numbered(std::size_t size, std::uint32_t number) {
  std::vector<std::byte> bytes(size, static_cast<std::byte>(number));
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::uint32_t number_of(const std::vector<std::byte>& bytes) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// [D103] Nobody is left connected to those that it no longer talks to, and whoever talks again is connected anew.
TEST(Idle, ConnectionsCloseAndOpenAgain) {
  Pair pair(Limits{.idle = milliseconds(20)});
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (const std::size_t from : {0u, 1u}) {
      for (const std::size_t size : {8u, 100'000u}) {  // unasked, and offered
        auto sent = numbered(size, round);
        std::vector<std::byte> place(size);
        for (Told& host : pair.hosts) host.all.clear();
        ASSERT_EQ(pair.receive(1 - from, place, 7), 0);
        ASSERT_EQ(pair.send(from, sent, 7), 0);
        EXPECT_TRUE(pair.until([&] {
          return pair.well(from, Counted::send, 1) && pair.well(1 - from, Counted::receive, 1);
        }));
        EXPECT_EQ(place, sent);
      }
    }
    EXPECT_TRUE(pair.until([&] { return pair.connections() == 0; }));
  }
  for (const auto& one : pair.both) {
    EXPECT_GE(one->endpoint().statistics().connections_made, 3u);
    EXPECT_EQ(one->endpoint().statistics().connections_failed, 0u);
  }
}

// [D103] A connection with something under way stays, however long that takes; whoever has parted from it answers.
TEST(Idle, WhatIsUnderWayKeepsAConnection) {
  Pair pair(Limits{.idle = milliseconds(4)});
  auto sent = numbered(100'000, 5);
  ASSERT_EQ(pair.send(0, sent, 7), 0);
  EXPECT_TRUE(pair.until([&] { return pair.both[1]->connections() == 1; }));
  EXPECT_TRUE(pair.until([&] { return pair.both[1]->parted() == 1; }));
  EXPECT_EQ(pair.both[0]->parted(), 0u);
  EXPECT_EQ(pair.connections(), 2u);
  std::vector<std::byte> place(sent.size());
  ASSERT_EQ(pair.receive(1, place, 7), 0);
  EXPECT_TRUE(pair.until(
      [&] { return pair.well(0, Counted::send, 1) && pair.well(1, Counted::receive, 1); }));
  EXPECT_EQ(place, sent);
  EXPECT_TRUE(pair.until([&] { return pair.connections() == 0; }));
}

// [D162] Whoever is told that there is no room stays connected until there is: a new connection could fill more.
TEST(Idle, NobodyPartsWhoseMessagesFillThePeer) {
  Pair pair(Limits{.idle = milliseconds(4), .unexpected = 1});
  auto sent = numbered(100, 5);
  ASSERT_EQ(pair.send(0, sent, 7), 0);
  ASSERT_TRUE(pair.until([&] { return pair.both[1]->unexpected() > 0; }));
  const auto end = std::chrono::steady_clock::now() + milliseconds(100);
  EXPECT_TRUE(pair.until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(pair.connections(), 2u);
  EXPECT_EQ(pair.both[0]->parted() + pair.both[1]->parted(), 0u);
  std::vector<std::byte> place(sent.size());
  ASSERT_EQ(pair.receive(1, place, 7), 0);
  EXPECT_TRUE(pair.until([&] { return pair.connections() == 0; }));
}

// [D159] What is kept is delivered; where there is no room the bytes wait here, so that even the shortest message is
// delivered with its receive alone.
TEST(Unexpected, DeliveryToWhoIsFullWaitsForTheReceive) {
  Pair pair(Limits{.unexpected = 1});
  std::array<std::vector<std::byte>, 2> sent{numbered(100, 1), numbered(100, 2)};
  ASSERT_EQ(pair.send(0, sent[0], 7, FI_DELIVERY_COMPLETE), 0);
  EXPECT_TRUE(pair.until([&] { return pair.well(0, Counted::send, 1) && pair.both[1]->idle(); }));
  pair.both[0]->progress();
  ASSERT_EQ(pair.send(0, sent[1], 7, FI_DELIVERY_COMPLETE), 0);
  for (int i = 0; i < 2'000; ++i) {
    for (auto& one : pair.both) one->progress();
  }
  EXPECT_TRUE(pair.well(0, Counted::send, 1));
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::byte> place(100);
    ASSERT_EQ(pair.receive(1, place, 7), 0);
    EXPECT_TRUE(pair.until([&] { return pair.well(1, Counted::receive, i + 1); }));
    EXPECT_EQ(place, sent[i]);
  }
  EXPECT_TRUE(pair.until([&] { return pair.well(0, Counted::send, 2); }));
}

// [D104] A message that was claimed is still kept, until it is received or discarded.
TEST(Unexpected, ClaimedMessagesCount) {
  constexpr std::size_t kMessages = 3;
  constexpr std::size_t kEach = kept_for(4'000);
  Pair pair(Limits{.unexpected = kMessages * kEach - 1});
  auto sent = numbered(4'000, 1);
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(pair.send(0, sent, 7), 0);
  ASSERT_TRUE(pair.until([&] { return pair.both[1]->unexpected() == kMessages * kEach; }));
  std::array<int, kMessages> names{};
  const auto claim = [&](std::size_t i, std::span<std::byte> into, std::uint64_t flags) {
    Request request = pair.request(1, into, 7, FI_CLAIM | flags);
    request.context = &names[i];
    return pair.both[1]->probe(request);
  };
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(claim(i, {}, FI_PEEK), 0);
  EXPECT_EQ(pair.both[1]->unexpected(), kMessages * kEach);
  ASSERT_TRUE(pair.until([&] { return pair.both[1]->idle(); }));  // the peer knows that it is full
  pair.both[0]->progress();
  ASSERT_EQ(pair.send(0, sent, 8), 0);
  ASSERT_TRUE(pair.until([&] {
    return pair.both[1]->probe(pair.request(1, {}, 8, FI_PEEK)) == 0 &&
           pair.hosts[1].all.back().error == 0;
  }));
  EXPECT_EQ(pair.both[1]->unexpected(), kMessages * kEach) << "it is only offered";
  std::vector<std::byte> place(4'000);
  EXPECT_EQ(claim(0, {}, FI_DISCARD), 0);
  EXPECT_EQ(claim(1, place, 0), 0);
  EXPECT_EQ(place, sent);
  EXPECT_EQ(pair.both[1]->unexpected(), kEach);
  ASSERT_TRUE(pair.until([&] { return pair.both[1]->idle(); }));
  pair.both[0]->progress();
  ASSERT_EQ(pair.send(0, sent, 9), 0);
  EXPECT_TRUE(pair.until([&] { return pair.both[1]->unexpected() == 2 * kEach; })) << "room again";
}

// [D104] Messages that no receive was posted for are kept up to a bound; then their senders wait. None is lost, and
// their order holds. Whoever has just been connected to knows no RTT yet and cannot send, so that it says late that it
// is full; it is bounded nevertheless.
TEST(Unexpected, MessagesHaveABound) {
  constexpr std::size_t kBytes = 4'000;
  constexpr std::size_t kBound = 100'000;
  constexpr std::size_t kUncounted = 64 * kept_for(kBytes);
  constexpr std::uint32_t kMessages = 400;
  Pair pair(Limits{.outstanding = 64, .unexpected = kBound, .uncounted = kUncounted});
  std::uint32_t sent = 0;
  std::vector<std::vector<std::byte>> all;
  for (std::uint32_t i = 0; i < kMessages; ++i) all.push_back(numbered(kBytes, i));
  const auto send_some = [&] {  // every other one injected: its bytes are copied
    while (sent < kMessages && pair.send(0, all[sent], 7, sent % 2 == 0 ? FI_INJECT : 0) == 0) {
      if (sent % 2 == 0) std::fill(all[sent].begin(), all[sent].end(), std::byte{0});
      ++sent;
    }
  };
  EXPECT_TRUE(pair.until([&] {
    send_some();
    return pair.both[1]->unexpected() > kBound;
  }));
  // Until nothing moves any more.
  for (std::uint32_t before = sent, still = 0; still < 2'000; ++still) {
    send_some();
    for (auto& one : pair.both) one->progress();
    if (std::exchange(before, sent) != sent) still = 0;
  }
  EXPECT_LT(sent, kMessages);
  EXPECT_GT(pair.both[1]->unexpected(), kBound);
  EXPECT_LE(pair.both[1]->unexpected(), kBound + kept_for(kBytes) + kUncounted);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> place(kBytes);
    ASSERT_EQ(pair.receive(1, place, 7), 0);
    ASSERT_TRUE(pair.until([&] {
      send_some();
      return pair.well(1, Counted::receive, i + 1);
    }));
    ASSERT_EQ(number_of(place), i);
    ASSERT_EQ(place, numbered(kBytes, i));
  }
  EXPECT_TRUE(pair.until([&] { return pair.well(0, Counted::send, kMessages); }));
  EXPECT_EQ(pair.both[1]->unexpected(), 0u);
  // There is room again: a message comes unasked.
  auto last = numbered(kBytes, 1);
  ASSERT_EQ(pair.send(0, last, 7), 0);
  EXPECT_TRUE(pair.until([&] { return pair.both[1]->unexpected() > kBytes; }));
}

}  // namespace
}  // namespace strack::fabric
