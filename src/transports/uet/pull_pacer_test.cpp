#include "transports/uet/pull_pacer.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "transports/uet/receiver.h"

namespace strack::core {
namespace {

constexpr Instant kNow = at(us(100));

struct PullPacerTest : testing::Test {
  PullPacerTest() {
    params.header = bytes(96);
    params.pacer_rate = {1, 2};
    pacer.set_up(params, gbps(100));
    for (std::uint32_t i = 0; i < accounts.size(); ++i) accounts[i].slot = i;
  }
  void want(std::uint32_t slot, std::uint32_t packets) {
    accounts[slot].target = accounts[slot].granted + packets;
    pacer.request(accounts[slot]);
  }

  UetParams params = UetParams::for_link(gbps(100), us(12), bytes(4'000), true, kb(150)).value();
  PullPacer pacer;
  std::array<PullAccount, 3> accounts{};
};

// [RCCC.pacer] Four packets of 4096 bytes take 1310.72 ns at 100 Gb/s, twice as long at half the rate.
TEST_F(PullPacerTest, KeepsTheRate) {
  want(0, 10);
  EXPECT_EQ(pacer.poll(kNow)->ack.pulled, 4u);
  EXPECT_FALSE(pacer.poll(kNow));
  EXPECT_EQ(pacer.next_deadline(), kNow + ps(2'621'440));
  EXPECT_FALSE(pacer.poll(kNow + ps(2'621'439)));
  EXPECT_EQ(pacer.poll(kNow + ps(2'621'440))->ack.pulled, 8u);
  // [RCCC.target] Nobody gets more than it wants, and what it gets is what it pays for.
  EXPECT_EQ(pacer.poll(kNow + us(10))->ack.pulled, 10u);
  EXPECT_EQ(pacer.next_deadline(), Instant::never());
  want(1, 1);
  EXPECT_EQ(pacer.next_deadline(), kNow + us(10) + ps(1'310'720));
}

// [RCCC.turns] [RCCC.pull.quantum] All who want credit get it in turn, four packets at a time.
TEST_F(PullPacerTest, TakesTurns) {
  want(0, 6);
  want(1, 9);
  want(2, 1);
  pacer.request(accounts[0]);  // it is in the queue already
  std::vector<std::pair<std::uint32_t, std::uint32_t>> given;
  Instant now = kNow;
  while (pacer.next_deadline() != Instant::never()) {
    now = std::max(now, pacer.next_deadline());
    const auto pull = pacer.poll(now);
    given.emplace_back(pull->slot, pull->ack.pulled);
  }
  EXPECT_EQ(given, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                       {0, 4}, {1, 4}, {2, 1}, {0, 6}, {1, 8}, {1, 9}}));
}

// [RCCC.target] [D68] A target's low bits stand for the next such number; what seems too far ahead is old news.
TEST_F(PullPacerTest, Targets) {
  PullAccount account;
  account.granted = account.target = 0xffff'fff0;
  account.note_target(20, false);
  EXPECT_EQ(account.target, 20u);
  EXPECT_EQ(account.wanted(), 36);
  account.note_target(10, false);  // older
  EXPECT_EQ(account.target, 20u);
  account.granted = 20;
  account.note_target(1'000, false);  // far behind
  EXPECT_EQ(account.target, 20u);
  account.note_target(916, false);
  EXPECT_EQ(account.target, 916u);
}

// [RCCC.trimmed] A trim that the sender had not heard of when it told its target is wanted besides; a probe's target has them all.
TEST_F(PullPacerTest, TrimsComeOnTop) {
  PullAccount account;
  account.note_target(5, false);
  account.note_trimmed();
  EXPECT_EQ(account.wanted(), 6);
  account.note_target(9, false);  // sent before the NACK arrived
  EXPECT_EQ(account.wanted(), 10);
  account.note_target(10, true);
  EXPECT_EQ(account.wanted(), 10);
  account.note_target(11, true);
  EXPECT_EQ(account.wanted(), 11);
}

// [RCCC.target] [RCCC.trimmed] A receiver takes targets from packets, and one more packet for each that was trimmed.
TEST_F(PullPacerTest, ReceiverAsksThePacer) {
  UetReceiver receiver(params, Psn{0}, &pacer, 2);
  Packet packet;
  packet.payload = 4'000;
  packet.message_length = 400'000;
  packet.note = 3;
  receiver.on_packet(packet, {}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 3);
  packet.psn = Psn{1};
  packet.offset = 4'000;
  receiver.on_packet(packet, {.trimmed = true}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 4);
  // [RCCC.rts] A probe tells of a target, too.
  packet.type = PacketType::probe;
  packet.note = 9;
  receiver.on_packet(packet, {}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 9);
  EXPECT_EQ(pacer.poll(kNow)->slot, 2u);
}

// [RCCC.path] Pulls begin with the path of the last packet that came, and no two go by the same.
TEST_F(PullPacerTest, PullsChangePaths) {
  UetReceiver receiver(params, Psn{0}, &pacer, 0);
  Packet packet;
  packet.payload = 4'000;
  packet.message_length = 400'000;
  packet.note = 10;
  packet.path_id = 126;
  receiver.on_packet(packet, {}, kNow);
  ASSERT_TRUE(receiver.poll_ack(kNow));
  std::vector<PathId> paths;
  for (Instant now = kNow; pacer.next_deadline() != Instant::never(); now = now + us(10))
    paths.push_back(pacer.poll(now)->ack.sack.path_id);
  EXPECT_EQ(paths, (std::vector<PathId>{126, 127, 0}));
  packet.type = PacketType::probe;
  packet.path_id = 9;
  receiver.on_packet(packet, {}, kNow);
  ASSERT_TRUE(receiver.poll_ack(kNow));
  EXPECT_EQ(receiver.poll_ack(kNow)->sack.path_id, 9);
}

// [RCCC.repeat] A probe is also told what was granted before: the pull may have been lost.
TEST_F(PullPacerTest, ReceiverRepeatsWhatWasGranted) {
  UetReceiver receiver(params, Psn{0}, &pacer, 0);
  Packet packet;
  packet.payload = 4'000;
  packet.message_length = 400'000;
  packet.note = 3;
  receiver.on_packet(packet, {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow)->kind, UetAck::Kind::ack);
  EXPECT_FALSE(receiver.poll_ack(kNow));
  EXPECT_EQ(pacer.poll(kNow)->ack.pulled, 3u);
  packet.type = PacketType::probe;
  receiver.on_packet(packet, {}, kNow);
  EXPECT_EQ(receiver.poll_ack(kNow)->kind, UetAck::Kind::ack);
  const auto again = receiver.poll_ack(kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, UetAck::Kind::pull);
  EXPECT_EQ(again->pulled, 3u);
  EXPECT_FALSE(receiver.poll_ack(kNow));
}

// [RCCC.trimmed] What has come before needs no credit when it comes trimmed; a data packet's target leaves trims out.
TEST_F(PullPacerTest, ReceiverCountsTrims) {
  UetReceiver receiver(params, Psn{0}, &pacer, 2);
  Packet packet;
  packet.payload = 4'000;
  packet.message_length = 400'000;
  packet.note = 3;
  receiver.on_packet(packet, {}, kNow);
  receiver.on_packet(packet, {.trimmed = true}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 3);
  packet.psn = Psn{1};
  packet.offset = 4'000;
  receiver.on_packet(packet, {.trimmed = true}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 4);
  packet.psn = Psn{2};
  packet.offset = 8'000;
  packet.note = 5;
  receiver.on_packet(packet, {}, kNow);
  EXPECT_EQ(receiver.account().wanted(), 6);
}

// [D117] Who leaves a queue that is forgotten can join it again.
TEST_F(PullPacerTest, ReceiverJoinsAgain) {
  UetReceiver receiver(params, Psn{0}, &pacer, 2);
  Packet packet;
  packet.payload = 4'000;
  packet.message_length = 400'000;
  packet.note = 3;
  receiver.on_packet(packet, {}, kNow);
  pacer.forget_queue();
  EXPECT_EQ(pacer.next_deadline(), Instant::never());
  receiver.leave_queue();
  receiver.join_queue();
  const auto pull = pacer.poll(kNow);
  ASSERT_TRUE(pull);
  EXPECT_EQ(pull->slot, 2u);
  EXPECT_EQ(pull->ack.pulled, 3u);
}

}  // namespace
}  // namespace strack::core
