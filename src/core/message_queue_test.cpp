#include "core/message_queue.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "core/packet.h"
#include "core/transport.h"

namespace strack::core {
namespace {

constexpr std::uint32_t kMtu = 4'096;

/// A queue of four slots whose first PSN is 100.
class FourSlots {
 public:
  explicit FourSlots(Psn initial_psn = Psn{100}) : queue(slots_, initial_psn) {}

  void push(MessageId id, std::uint32_t length) { queue.push({.id = id, .length = length}, kMtu); }

  /// Ids of the messages that own a PSN in [from, to).
  std::vector<MessageId> between(std::uint32_t from, std::uint32_t to) {
    std::vector<MessageId> ids;
    queue.for_each_between(Psn{from}, Psn{to},
                           [&](const MessageSlot& slot) { ids.push_back(slot.message.id); });
    return ids;
  }
  void complete_early(Psn psn) {
    queue.for_each_between(psn, psn + 1, [&](MessageSlot& slot) { queue.complete_early(slot); });
  }

 private:
  std::array<MessageSlot, 4> slots_{};

 public:
  MessageQueue queue;
};

using Ids = std::vector<MessageId>;

// ---- packet_count ----

// [D20] A message takes ceil(length / MTU) packets.
TEST(MessageQueue, PacketCount_IsTheLengthInMtusRoundedUp) {
  EXPECT_EQ(MessageQueue::packet_count(1, kMtu), 1U);
  EXPECT_EQ(MessageQueue::packet_count(4'095, kMtu), 1U);
  EXPECT_EQ(MessageQueue::packet_count(4'096, kMtu), 1U);
  EXPECT_EQ(MessageQueue::packet_count(4'097, kMtu), 2U);
  EXPECT_EQ(MessageQueue::packet_count(8'192, kMtu), 2U);
}

// [D20] An empty message takes one packet, too.
TEST(MessageQueue, PacketCount_OfNothingIsOne) {
  EXPECT_EQ(MessageQueue::packet_count(0, kMtu), 1U);
}

// [D20] 2^32 - 1 bytes: 2^20 packets of 4 KiB, 2^26 of 64 bytes.
TEST(MessageQueue, PacketCount_OfTheLongestMessage) {
  EXPECT_EQ(MessageQueue::packet_count(0xffff'ffff, kMtu), 1'048'576U);
  EXPECT_EQ(MessageQueue::packet_count(0xffff'ffff, 64), 67'108'864U);
}

// ---- push, end, full ----

// [D20] Messages take consecutive PSNs from the first one given.
TEST(MessageQueue, Push_AssignsConsecutivePsns) {
  FourSlots four;
  EXPECT_EQ(four.queue.end(), Psn{100});
  four.push(1, 10'000);  // 100, 101, 102
  EXPECT_EQ(four.queue.end(), Psn{103});
  four.push(2, 0);  // 103
  EXPECT_EQ(four.queue.end(), Psn{104});
}

// [D26] PSNs are comparable while less than half the circle is outstanding: the queue is full long
// before.
TEST(MessageQueue, Full_WhenAQuarterOfTheCircleIsPosted) {
  std::array<MessageSlot, 128> slots{};
  MessageQueue queue(slots, Psn{0});
  MessageId id = 0;
  while (!queue.full()) queue.push({id++, 0xffff'ffff}, 64);  // 2^26 packets each
  EXPECT_EQ(id, 17U);
  EXPECT_EQ(queue.fragment(Psn{1U << 26}, 64).message_id, 1U);
  EXPECT_EQ(queue.pop_completed(Psn{1U << 26}), 0U);
  EXPECT_FALSE(queue.full());
}

// One slot per message, from posting on.
TEST(MessageQueue, Full_WhenEverySlotIsTaken) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) {
    EXPECT_FALSE(four.queue.full());
    four.push(id, 1);
  }
  EXPECT_TRUE(four.queue.full());
}

// [D21] A slot is free again once its message, whole and below EPSN, has been popped; not before.
TEST(MessageQueue, Full_UntilACompletedMessageIsPopped) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), 1U);
  EXPECT_FALSE(four.queue.full());
  four.push(5, 1);
  EXPECT_TRUE(four.queue.full());
  EXPECT_EQ(four.queue.fragment(Psn{104}, kMtu).message_id, 5U);
}

// [D21] A message reported early keeps its slot: an earlier one is still open.
TEST(MessageQueue, Full_ThoughAMessageWasReportedEarly) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  four.complete_early(Psn{102});
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), 3U);
  EXPECT_TRUE(four.queue.full());
}

// A queue of one slot works.
TEST(MessageQueue, Full_WithASingleSlot) {
  std::array<MessageSlot, 1> slot{};
  MessageQueue queue(slot, Psn{0});
  EXPECT_FALSE(queue.full());
  queue.push({.id = 7, .length = 1}, kMtu);
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.pop_completed(Psn{1}), 7U);
  EXPECT_FALSE(queue.full());
}

// ---- fragment ----

// [D20] Every packet but the last carries a whole MTU; offsets are multiples of it.
TEST(MessageQueue, Fragment_FullPacketsThenTheRest) {
  FourSlots four;
  four.push(9, 10'000);
  const Fragment first = four.queue.fragment(Psn{100}, kMtu);
  EXPECT_EQ(first.message_id, 9U);
  EXPECT_EQ(first.message_length, 10'000U);
  EXPECT_EQ(first.offset, 0U);
  EXPECT_EQ(first.payload, 4'096U);
  EXPECT_EQ(four.queue.fragment(Psn{101}, kMtu).offset, 4'096U);
  EXPECT_EQ(four.queue.fragment(Psn{101}, kMtu).payload, 4'096U);
  EXPECT_EQ(four.queue.fragment(Psn{102}, kMtu).offset, 8'192U);
  EXPECT_EQ(four.queue.fragment(Psn{102}, kMtu).payload, 1'808U);
}

// [D20] A multiple of the MTU ends with a whole packet.
TEST(MessageQueue, Fragment_LastPacketMayBeFull) {
  FourSlots four;
  four.push(9, 8'192);
  EXPECT_EQ(four.queue.fragment(Psn{101}, kMtu).payload, 4'096U);
}

// [D20] The packet of an empty message carries nothing.
TEST(MessageQueue, Fragment_OfAnEmptyMessage) {
  FourSlots four;
  four.push(9, 0);
  const Fragment fragment = four.queue.fragment(Psn{100}, kMtu);
  EXPECT_EQ(fragment.message_id, 9U);
  EXPECT_EQ(fragment.message_length, 0U);
  EXPECT_EQ(fragment.offset, 0U);
  EXPECT_EQ(fragment.payload, 0U);
}

// [D20] Offsets use all of 32 bits: 2^20 - 1 packets of 4096 bytes, then 4095.
TEST(MessageQueue, Fragment_OfTheLongestMessage) {
  FourSlots four;
  four.push(9, 0xffff'ffff);
  const Fragment last = four.queue.fragment(Psn{100} + 1'048'575U, kMtu);
  EXPECT_EQ(last.offset, 4'294'963'200U);
  EXPECT_EQ(last.payload, 4'095U);
}

// A PSN leads to its message wherever that is in the queue.
TEST(MessageQueue, Fragment_FindsTheMessageOfAPsn) {
  FourSlots four;
  four.push(1, 10'000);  // 100 to 102
  four.push(2, 1);       // 103
  four.push(3, 8'192);   // 104, 105
  four.push(4, 5'000);   // 106, 107
  const Ids expected{1, 1, 1, 2, 3, 3, 4, 4};
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(four.queue.fragment(Psn{100 + i}, kMtu).message_id, expected[i]) << "psn " << 100 + i;
  }
  EXPECT_EQ(four.queue.fragment(Psn{107}, kMtu).offset, 4'096U);
}

// In any order: what was looked up before does not lead astray, not even when it is gone.
TEST(MessageQueue, Fragment_FindsTheMessageInAnyOrder) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  for (const std::uint32_t psn : {103U, 100U, 102U, 101U, 101U, 100U}) {
    EXPECT_EQ(four.queue.fragment(Psn{psn}, kMtu).message_id, psn - 99);
  }
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), 1U);
  EXPECT_EQ(four.queue.fragment(Psn{101}, kMtu).message_id, 2U);
}

// And across the wrap of the PSN.
TEST(MessageQueue, Fragment_AcrossTheWrap) {
  FourSlots four(Psn{0xffff'fffe});
  four.push(1, 4 * 4'096);  // fffffffe, ffffffff, 0, 1
  four.push(2, 1);          // 2
  EXPECT_EQ(four.queue.end(), Psn{3});
  EXPECT_EQ(four.queue.fragment(Psn{0xffff'ffff}, kMtu).offset, 4'096U);
  EXPECT_EQ(four.queue.fragment(Psn{1}, kMtu).offset, 3U * 4'096U);
  EXPECT_EQ(four.queue.fragment(Psn{2}, kMtu).message_id, 2U);
}

// And when the slots in use wrap around the array.
TEST(MessageQueue, Fragment_AcrossTheEndOfTheArray) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 1U);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 2U);
  four.push(5, 1);
  four.push(6, 1);
  for (std::uint32_t psn = 102; psn <= 105; ++psn) {
    EXPECT_EQ(four.queue.fragment(Psn{psn}, kMtu).message_id, psn - 99);
  }
}

// ---- for_each_between ----

// A message is visited if it owns any PSN of the range, once, lowest first.
TEST(MessageQueue, ForEachBetween_VisitsWhoOwnsAPsnInRange) {
  FourSlots four;
  four.push(1, 10'000);  // 100 to 102
  four.push(2, 1);       // 103
  four.push(3, 8'192);   // 104, 105
  EXPECT_EQ(four.between(100, 106), (Ids{1, 2, 3}));
  EXPECT_EQ(four.between(102, 104), (Ids{1, 2}));
  EXPECT_EQ(four.between(103, 104), (Ids{2}));
  EXPECT_EQ(four.between(103, 105), (Ids{2, 3}));
  EXPECT_EQ(four.between(101, 102), (Ids{1}));
}

// An empty range has nobody, even where nothing was ever posted.
TEST(MessageQueue, ForEachBetween_OfAnEmptyRangeVisitsNobody) {
  FourSlots four;
  EXPECT_EQ(four.between(100, 100), Ids{});
  four.push(1, 10'000);
  EXPECT_EQ(four.between(101, 101), Ids{});
  EXPECT_EQ(four.between(102, 101), Ids{});
}

// A lookup from before a slot was taken again does not lead to the slot's new message.
TEST(MessageQueue, ForEachBetween_AfterSlotsAreReused) {
  std::array<MessageSlot, 2> slots{};
  MessageQueue queue(slots, Psn{100});
  queue.push({.id = 1, .length = 1}, kMtu);
  EXPECT_EQ(queue.fragment(Psn{100}, kMtu).message_id, 1U);
  EXPECT_EQ(queue.pop_completed(Psn{101}), 1U);
  queue.push({.id = 2, .length = 1}, kMtu);
  queue.push({.id = 3, .length = 1}, kMtu);  // where message 1 was
  Ids visited;
  queue.for_each_between(Psn{102}, Psn{103},
                         [&](const MessageSlot& slot) { visited.push_back(slot.message.id); });
  EXPECT_EQ(visited, (Ids{3}));
}

// ---- pop_completed ----

// [D21] Nothing is complete while a packet of it is missing.
TEST(MessageQueue, PopCompleted_NeedsTheWholeMessage) {
  FourSlots four;
  four.push(1, 10'000);  // 100 to 102
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), std::nullopt);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), std::nullopt);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), 1U);
}

// [D21] Each message is reported once, in the order posted where EPSN passed several.
TEST(MessageQueue, PopCompleted_ReportsEachOnce) {
  FourSlots four;
  four.push(1, 1);
  four.push(2, 1);
  four.push(3, 1);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 1U);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 2U);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), std::nullopt);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), 3U);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), std::nullopt);
}

// An empty queue has nothing to report.
TEST(MessageQueue, PopCompleted_OfAnEmptyQueue) {
  FourSlots four;
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), std::nullopt);
}

// [D21] A message wholly acknowledged is reported although an earlier one is open.
TEST(MessageQueue, PopCompleted_ReportsAnEarlyOne) {
  FourSlots four;
  four.push(1, 1);
  four.push(2, 1);
  four.complete_early(Psn{101});
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), 2U);
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), std::nullopt);
}

// [D21] What was reported early is not reported again when EPSN passes it.
TEST(MessageQueue, PopCompleted_EarlyOneIsNotReportedAgain) {
  FourSlots four;
  four.push(1, 1);
  four.push(2, 1);
  four.push(3, 1);
  four.complete_early(Psn{101});
  EXPECT_EQ(four.queue.pop_completed(Psn{100}), 2U);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), 1U);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), 3U);
  EXPECT_EQ(four.queue.pop_completed(Psn{103}), std::nullopt);
}

// [D21] Complete early but not asked for in time: reported once, in its turn.
TEST(MessageQueue, PopCompleted_EarlyOneOvertakenByEpsn) {
  FourSlots four;
  four.push(1, 1);
  four.push(2, 1);
  four.complete_early(Psn{101});
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 1U);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), 2U);
  EXPECT_EQ(four.queue.pop_completed(Psn{102}), std::nullopt);
}

// [D21] Those below EPSN come first, then early ones, lowest first.
TEST(MessageQueue, PopCompleted_InOrderThenEarly) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  four.complete_early(Psn{103});
  four.complete_early(Psn{102});
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), 1U);
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), 3U);
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), 4U);
  EXPECT_EQ(four.queue.pop_completed(Psn{101}), std::nullopt);
}

// A slot taken again starts as pending, whatever its last message was.
TEST(MessageQueue, PopCompleted_ReusedSlotStartsAfresh) {
  std::array<MessageSlot, 2> slots{};
  MessageQueue queue(slots, Psn{0});
  queue.push({.id = 1, .length = 1}, kMtu);
  queue.push({.id = 2, .length = 1}, kMtu);
  queue.for_each_between(Psn{1}, Psn{2}, [&](MessageSlot& slot) { queue.complete_early(slot); });
  EXPECT_EQ(queue.pop_completed(Psn{0}), 2U);
  EXPECT_EQ(queue.pop_completed(Psn{2}), 1U);
  EXPECT_EQ(queue.pop_completed(Psn{2}), std::nullopt);
  queue.push({.id = 3, .length = 1}, kMtu);
  queue.push({.id = 4, .length = 1}, kMtu);
  EXPECT_EQ(queue.pop_completed(Psn{2}), std::nullopt);
  EXPECT_EQ(queue.pop_completed(Psn{4}), 3U);
  EXPECT_EQ(queue.pop_completed(Psn{4}), 4U);
}

// [D21] EPSN and the ends of messages compare by distance.
TEST(MessageQueue, PopCompleted_AcrossTheWrap) {
  FourSlots four(Psn{0xffff'fffe});
  four.push(1, 3 * 4'096);  // fffffffe, ffffffff, 0
  EXPECT_EQ(four.queue.pop_completed(Psn{0xffff'ffff}), std::nullopt);
  EXPECT_EQ(four.queue.pop_completed(Psn{0}), std::nullopt);
  EXPECT_EQ(four.queue.pop_completed(Psn{1}), 1U);
}

// ---- Our own mistakes ----

TEST(MessageQueueDeathTest, SlotsMustBeAPowerOfTwo) {
  std::array<MessageSlot, 3> slots{};
  EXPECT_DEATH(MessageQueue(slots, Psn{0}), "check failed: std::has_single_bit");
  EXPECT_DEATH(MessageQueue(std::span<MessageSlot>{}, Psn{0}), "check failed: std::has_single_bit");
}

TEST(MessageQueueDeathTest, PushNeedsAFreeSlot) {
  FourSlots four;
  for (MessageId id = 1; id <= 4; ++id) four.push(id, 1);
  EXPECT_DEATH(four.push(5, 1), "check failed: !full");
}

TEST(MessageQueueDeathTest, FragmentNeedsAMessage) {
  FourSlots four;
  EXPECT_DEATH(static_cast<void>(four.queue.fragment(Psn{100}, kMtu)), "check failed: low != high");
}

#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
TEST(MessageQueueDeathTest, FragmentNeedsAPsnInTheQueue) {
  FourSlots four;
  four.push(1, 1);
  EXPECT_DEATH(static_cast<void>(four.queue.fragment(Psn{101}, kMtu)), "check failed: owns");
  EXPECT_DEATH(static_cast<void>(four.queue.fragment(Psn{99}, kMtu)), "check failed: owns");
}

TEST(MessageQueueDeathTest, CompleteEarlyOnlyOnce) {
  FourSlots four;
  four.push(1, 1);
  four.push(2, 1);
  four.complete_early(Psn{101});
  EXPECT_DEATH(four.complete_early(Psn{101}), "check failed: whole.state");
}
#endif

}  // namespace
}  // namespace strack::core
