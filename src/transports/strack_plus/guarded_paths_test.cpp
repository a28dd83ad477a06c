#include "transports/strack_plus/guarded_paths.h"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "transports/strack_plus/sender_testing.h"

namespace strack::core {
namespace {

constexpr std::uint32_t kPaths = 16;

struct GuardedPlusPathsTest : ::testing::Test {
  PlusParams p = [] {
    PlusParams made = params();
    made.avoid = false;
    made.max_paths = kPaths;
    return made;
  }();
  std::array<PathRecord, kPaths> records{};
  std::array<SentRecord, 512> packets{};
  PathKnowledge knowledge;
  PathHealth health{records, packets, knowledge};
  std::array<MessageSlot, 8> slots{};
  Instant now = at(seconds(1));
};

using Sender = PlusSender<NoEvents, GuardedPlusPaths>;

// [D131] The ring and the rotation propose, and what is known to lead nowhere is replaced by what is proven.
TEST_F(GuardedPlusPathsTest, WhatTheRingOffersMayBeDead) {
  GuardedPlusPaths paths(health);
  const auto next = [&] { return paths.next(p, {Purpose::news, 100, Psn{0}, 40, now}); };
  EXPECT_EQ(next(), 1);
  paths.feedback(p, 5, false);
  EXPECT_EQ(next(), 5) << "from the ring";
  paths.sent(5, {Purpose::news, 100, Psn{7}, 40, now});
  paths.lost(Psn{7}, now);
  EXPECT_EQ(paths.barred(), 1u);
  for (const PathId clean : {PathId{5}, PathId{9}}) paths.feedback(p, clean, false);
  EXPECT_EQ(paths.barred(), 0u) << "something came by it";
  paths.sent(9, {Purpose::news, 100, Psn{8}, 40, now});
  paths.lost(Psn{8}, now);
  EXPECT_EQ(next(), 5);
  EXPECT_EQ(next(), 10) << "the ring has 9, which is barred: the next after it";
  EXPECT_EQ(paths.marked(), 0u);
}

// [D131] [D39] A sender's losses and arrivals bar and clear the paths of their packets.
TEST_F(GuardedPlusPathsTest, TheSenderTellsOfItsPackets) {
  Sender sender(p, slots, Psn{0}, {}, GuardedPlusPaths(health));
  ASSERT_EQ(sender.on_message({0, 100'000}, now), PostResult::accepted);
  std::vector<Packet> sent;
  while (const auto packet = sender.poll_transmit(now)) {
    sent.push_back(*packet);
    if (sent.size() == 2) now = now + us(20);
  }
  ASSERT_EQ(sent.size(), 40u);
  EXPECT_EQ(health.payload(Psn{3}), 1'000);
  PlusAck ack;  // the last has come, and 2 to 38 with it
  ack.base = Psn{2};
  ack.bitmap = (std::uint64_t{1} << 37) - 1;
  ack.count = 1;
  ack.echoes[0] = {Psn{39}, sent[39].path_id, false};
  ack.path_id = sent[39].path_id;
  ack.timestamp = sent[39].timestamp;
  now = now + us(8);
  sender.on_receiving_ack(ack, now);
  ASSERT_EQ(sender.lost_packets(), 2u) << "0 and 1 are overdue";
  EXPECT_EQ(health.barred(), 2u);
  const auto again = sender.poll_transmit(now);
  ASSERT_TRUE(again && again->retransmission);
  EXPECT_NE(again->path_id, sent[0].path_id);
  EXPECT_NE(again->path_id, sent[1].path_id);
  ack.epsn = ack.base = Psn{40};
  ack.bitmap = 0;
  sender.on_receiving_ack(ack, now);
  EXPECT_EQ(health.barred(), 1u) << "0 was sent twice and says nothing of its first path";
}

// [D131] [D41] A timeout in which nothing was heard blames no path; one after something was heard does.
TEST_F(GuardedPlusPathsTest, SilenceBlamesNobody) {
  p.path_health = true;
  for (const bool heard : {false, true}) {
    PathHealth fresh(records, packets, knowledge);
    fresh.fall_silent();
    Sender sender(p, slots, Psn{0}, {}, GuardedPlusPaths(fresh));
    ASSERT_EQ(sender.on_message({0, 5'000}, now), PostResult::accepted);
    std::vector<Packet> sent;
    while (const auto packet = sender.poll_transmit(now)) sent.push_back(*packet);
    if (heard) {
      PlusAck ack;
      ack.base = Psn{1};
      ack.count = 1;
      ack.echoes[0] = {Psn{4}, sent[4].path_id, false};
      ack.path_id = sent[4].path_id;
      ack.timestamp = sent[4].timestamp;
      now = now + us(1);
      sender.on_receiving_ack(ack, now);
    }
    while (sender.counters().timeouts == 0) {
      now = sender.next_deadline();
      sender.on_timeout(now);
    }
    EXPECT_EQ(fresh.barred(), heard ? 4u : 0u);
    records = {};
    packets = {};
    knowledge = {};
  }
}

// [D120] The first question of a silence goes one way, those after it several, each another.
TEST_F(GuardedPlusPathsTest, QuestionsAfterTheFirstGoSeveralWays) {
  p.probe_copies = 4;
  p.probe_backoff_max = 3;
  p.probe_due = false;
  Sender sender(p, slots, Psn{0}, {}, GuardedPlusPaths(health));
  ASSERT_EQ(sender.on_message({0, 100'000}, now), PostResult::accepted);
  while (sender.poll_transmit(now)) {
  }
  const auto ask = [&] {
    now = sender.next_deadline();
    sender.on_timeout(now);
    std::set<PathId> paths;
    int probes = 0;
    while (const auto packet = sender.poll_transmit(now)) {
      EXPECT_EQ(packet->type, PacketType::probe);
      paths.insert(packet->path_id);
      ++probes;
    }
    EXPECT_EQ(paths.size(), static_cast<std::size_t>(probes));
    return probes;
  };
  EXPECT_EQ(ask(), 1);
  EXPECT_EQ(ask(), 4);
  EXPECT_EQ(ask(), 4);
  sender.on_peer_heard(now);
  EXPECT_EQ(ask(), 1) << "it is there";
}

}  // namespace
}  // namespace strack::core
