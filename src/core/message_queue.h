// Posted messages and the sequence numbers they occupy, for any protocol. [D20] [D21]
//
// The memory is the host's: a power-of-two array of slots, handed over at construction, one slot
// per message from posting until every packet up to its last is acknowledged. A message takes
// consecutive PSNs, so any packet can be made again from its PSN alone: a retransmission needs no
// state of its own.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "core/packet.h"
#include "core/transport.h"

namespace strack::core {

/// [D21] A message can be whole, and known to be, before an earlier one is.
enum class SlotState : std::uint8_t { pending, complete, reported };

/// One posted message. Belongs to the host's memory; only the queue writes it.
struct MessageSlot {
  Message message;
  Psn first;
  std::uint32_t packets = 0;
  SlotState state = SlotState::pending;

  [[nodiscard]] constexpr Psn end() const { return first + packets; }
};

/// The part of a message that one packet carries.
struct Fragment {
  MessageId message_id;
  std::uint32_t message_length;
  std::uint32_t offset;
  std::uint16_t payload;
};

/// [D20] [D21] Do a data packet's offset, payload and length agree? Its message's PSNs are derived
/// from them.
[[nodiscard]] constexpr bool fits_its_message(const Packet& packet, std::uint32_t mtu) {
  if (packet.offset % mtu != 0) return false;
  if (packet.message_length == 0) return packet.offset == 0 && packet.payload == 0;
  return packet.offset < packet.message_length &&
         packet.payload == std::min(mtu, packet.message_length - packet.offset);
}

class MessageQueue {
 public:
  constexpr MessageQueue(std::span<MessageSlot> slots, Psn initial_psn)
      : slots_(slots.data()),
        mask_(static_cast<std::uint32_t>(slots.size()) - 1),
        next_free_(initial_psn) {
    STRACK_CHECK(std::has_single_bit(slots.size()));
    STRACK_CHECK(slots.size() <= std::size_t{1} << 31);
  }

  /// No slot is free, or the PSNs outstanding would no longer be comparable.
  [[nodiscard]] constexpr bool full() const {
    return tail_ - head_ == mask_ + 1 ||
           (tail_ != head_ && next_free_ - slots_[head_ & mask_].first > kMostOutstanding);
  }

  /// Assigns the next PSNs. The caller has checked full().
  constexpr void push(Message message, std::uint32_t mtu) {
    STRACK_CHECK(!full());
    const std::uint32_t packets = packet_count(message.length, mtu);
    slot(tail_++) = {message, next_free_, packets, SlotState::pending};
    next_free_ = next_free_ + packets;
  }

  /// One past the last PSN any posted message owns.
  [[nodiscard]] constexpr Psn end() const { return next_free_; }

  /// What the packet with this PSN carries. The PSN must belong to a message still in the queue.
  [[nodiscard]] constexpr Fragment fragment(Psn psn, std::uint32_t mtu) {
    return fragment_of(slot(find(psn)), psn, mtu);
  }

  /// Calls visit(slot) for each message that owns a PSN in [from, to), lowest first.
  template <class Visit>
  constexpr void for_each_between(Psn from, Psn to, Visit&& visit) {
    if (from >= to) return;
    for (std::uint32_t i = find(from); i != tail_ && slot(i).first < to; ++i) visit(slot(i));
  }

  /// All packets of this one are acknowledged, though not all before it.
  constexpr void complete_early(MessageSlot& whole) {
    STRACK_DCHECK(whole.state == SlotState::pending);
    whole.state = SlotState::complete;
    ++early_;
  }

  /// The next message that is complete, each once: those wholly below epsn, whose slots become
  /// free, then early ones.
  [[nodiscard]] constexpr std::optional<MessageId> pop_completed(Psn epsn) {
    while (head_ != tail_ && slot(head_).end() <= epsn) {
      const MessageSlot& done = slot(head_++);
      if (done.state == SlotState::complete) --early_;
      if (done.state != SlotState::reported) return done.message.id;
    }
    if (early_ == 0) return std::nullopt;
    std::uint32_t i = head_;
    while (slot(i).state != SlotState::complete) ++i;
    slot(i).state = SlotState::reported;
    --early_;
    return slot(i).message.id;
  }

  [[nodiscard]] static constexpr std::uint32_t packet_count(std::uint32_t length,
                                                            std::uint32_t mtu) {
    return length == 0 ? 1 : (length - 1) / mtu + 1;
  }
  [[nodiscard]] static constexpr Fragment fragment_of(const MessageSlot& slot, Psn psn,
                                                      std::uint32_t mtu) {
    const std::uint32_t offset = static_cast<std::uint32_t>(psn - slot.first) * mtu;
    const std::uint32_t payload = std::min(mtu, slot.message.length - offset);
    return {slot.message.id, slot.message.length, offset, static_cast<std::uint16_t>(payload)};
  }

 private:
  [[nodiscard]] constexpr MessageSlot& slot(std::uint32_t i) { return slots_[i & mask_]; }

  [[nodiscard]] static constexpr bool owns(const MessageSlot& slot, Psn psn) {
    return psn >= slot.first && psn < slot.end();
  }

  /// Binary search: O(log of the messages outstanding), one step for the usual one or two.
  [[nodiscard]] constexpr std::uint32_t find(Psn psn) {
    std::uint32_t low = head_;
    std::uint32_t high = tail_;
    STRACK_CHECK(low != high);
    // New data comes from one message for a long time: look there first.
    if (recent_ - head_ < tail_ - head_ && owns(slot(recent_), psn)) return recent_;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (slot(middle).first <= psn) {
        low = middle;
      } else {
        high = middle;
      }
    }
    STRACK_DCHECK(owns(slot(low), psn));
    recent_ = low;
    return low;
  }

  /// With one more message of 2^32 bytes in the smallest packets, still far from 2^31.
  static constexpr std::int32_t kMostOutstanding = 1 << 30;

  MessageSlot* slots_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t recent_ = 0;  ///< the slot found last
  std::uint32_t early_ = 0;   ///< complete, not reported
  Psn next_free_;
};

}  // namespace strack::core
