// What is noted for a port in a window: who comes when, and as much of each packet as a port decides by, so that it
// need not look at packets that lie anywhere in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <span>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/net/port.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

/// Two words: when, and by which port, which says all about the order; and where the packet lies, how large it is,
/// whether it is control and whether it is of a higher priority.
class Note {
 public:
  static constexpr int kPortBits = 16;
  static constexpr int kPlaceBits = 47;
  static constexpr std::int64_t kLarge = 0xffff;  ///< or larger
  static_assert(sizeof(void*) == 8 && kMaxPorts <= 1u << kPortBits);

  Note() = default;
  /// `end` is that of the window, which it comes before.
  Note(const Transit& transit, std::uint32_t ingress, std::int64_t size, Instant end)
      : order_((static_cast<std::uint64_t>(transit.time.ps - base(end)) << kPortBits) | ingress),
        what_(reinterpret_cast<std::uintptr_t>(&transit.packet) |
              (static_cast<std::uint64_t>(std::min(size, kLarge)) << kPlaceBits) |
              (transit.packet.is_control() ? kControl : 0) |
              (transit.packet.is_urgent() ? kUrgent : 0)) {}

  [[nodiscard]] Instant time(Instant end) const {
    return {static_cast<std::int64_t>(order_ >> kPortBits) + base(end)};
  }
  [[nodiscard]] const SimPacket* packet() const {
    return reinterpret_cast<const SimPacket*>(what_ & kPlace);
  }
  /// The port it came in by.
  [[nodiscard]] std::uint32_t ingress() const {
    return static_cast<std::uint32_t>(order_) & ((1u << kPortBits) - 1);
  }
  [[nodiscard]] bool is_control() const { return (what_ & kControl) != 0; }
  [[nodiscard]] bool is_urgent() const { return (what_ & kUrgent) != 0; }
  /// On the wire.
  [[nodiscard]] std::int64_t size(const PortRules& rules) const {
    const auto noted = static_cast<std::int64_t>((what_ & ~kControl) >> kPlaceBits);
    return noted < kLarge ? noted : rules.wire_size(*packet());
  }
  /// No two are equal: a link brings one packet at a time.
  friend bool operator<(const Note& a, const Note& b) { return a.order_ < b.order_; }

  friend void sort_together(Note* list, std::uint32_t size, const struct NearNotes& near,
                            bool goes_near);
  friend struct NearNote;

 private:
  static constexpr std::uint64_t kUrgent = 1;  // packets lie at even places
  static_assert(alignof(SimPacket) > kUrgent);
  static constexpr std::uint64_t kPlace = ((std::uint64_t{1} << kPlaceBits) - 1) & ~kUrgent;
  static constexpr std::uint64_t kControl = std::uint64_t{1} << 63;
  [[nodiscard]] static std::int64_t base(Instant end) {
    return end.ps - (std::int64_t{1} << (64 - kPortBits - 1));
  }

  std::uint64_t order_ = 0;
  std::uint64_t what_ = 0;
};

/// A note near its thread, where a port's window is gone through in order of time: when, as seen from the window's end,
/// and of the rest what is decided by, with the place in the port's list. One word.
struct NearNote {
  static constexpr std::uint32_t kPlaces = 64;
  static constexpr std::uint32_t kControl = 1u << 6;
  static constexpr int kSizeShift = 8;

  std::int32_t time = 0;
  std::uint32_t what = 0;

  NearNote() = default;
  /// Where that fits: who comes here has seen to it.
  NearNote(const Note& note, std::uint32_t place)
      : time(static_cast<std::int32_t>(static_cast<std::int64_t>(note.order_ >> Note::kPortBits) -
                                       (std::int64_t{1} << (64 - Note::kPortBits - 1)))),
        what(place | (note.is_control() ? kControl : 0) |
             static_cast<std::uint32_t>((note.what_ & ~Note::kControl) >> Note::kPlaceBits)
                 << kSizeShift) {}

  [[nodiscard]] std::uint32_t place() const { return what % kPlaces; }
  [[nodiscard]] bool is_control() const { return (what & kControl) != 0; }
  /// Or Note::kLarge.
  [[nodiscard]] std::uint32_t size() const { return what >> kSizeShift; }
};
static_assert(sizeof(NearNote) == 8);

/// Those of a thread's port, in order; neighbours' lie in turn.
struct NearNotes {
  static constexpr std::uint32_t kMost = 24;
  NearNote* first = nullptr;
  std::uint32_t stride = 1;

  [[nodiscard]] NearNote& operator[](std::uint32_t i) const { return first[i * stride]; }
};

inline void sort_notes(Note* list, std::uint32_t size) {
  constexpr std::uint32_t kFew = 48;
  if (size > kFew) {
    std::make_heap(list, list + size);
    std::sort_heap(list, list + size);
    return;
  }
  for (std::uint32_t i = 1; i < size; ++i) {
    const Note item = list[i];
    std::uint32_t j = i;
    for (; j > 0 && item < list[j - 1]; --j) list[j] = list[j - 1];
    list[j] = item;
  }
}

/// Those of all threads of a warp, who come together: one list after the other, a note or two to a thread, and the
/// place of each is how many come before it. The next list is on its way meanwhile. Long ones everybody sorts alone.
/// What fits into the thread's room near it is put in order there, where that `goes_near`, and the list stays as it is.
inline void sort_together(Note* list, std::uint32_t size, const NearNotes& near, bool goes_near) {
  constexpr std::uint32_t kMost = 2 * kLanes;
  static_assert(kLanes == 1 || NearNotes::kMost <= kLanes);
  struct Hand {
    Note* from;
    std::uint32_t count;
    Note first;
    Note second;
  };
  goes_near = goes_near && size <= NearNotes::kMost;
  const std::uint32_t a = lane();
  const std::uint32_t b = lane() + kLanes;
  const auto pick_up = [&](std::uint32_t lists) {
    const auto whose = static_cast<std::uint32_t>(std::countr_zero(lists));
    Note* const from = reinterpret_cast<Note*>(
        of_lane(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(list)), whose));
    const std::uint32_t count = of_lane(size, whose);
    return Hand{from, count, from[a < count ? a : 0], from[b < count ? b : 0]};
  };
  std::uint32_t lists = ballot(size > (goes_near ? 0 : 1) && size <= kMost && kLanes > 1);
  const std::uint32_t near_ones = ballot(goes_near);
  if (lists != 0) {
    Hand next = pick_up(lists);
    while (lists != 0) {
      const Hand hand = next;
      const auto whose = static_cast<std::uint32_t>(std::countr_zero(lists));
      lists &= lists - 1;
      if (lists != 0) next = pick_up(lists);
      std::uint32_t first_place = 0;
      std::uint32_t second_place = 0;
      if (hand.count <= kLanes) {
        STRACK_GPU_UNROLL_FOUR
        for (std::uint32_t i = 0; i < hand.count; ++i)
          first_place += of_lane(hand.first.order_, i) < hand.first.order_ ? 1u : 0u;
      } else {
        for (std::uint32_t i = 0; i < kLanes; ++i) {
          const std::uint64_t other = of_lane(hand.first.order_, i);
          first_place += other < hand.first.order_ ? 1 : 0;
          second_place += other < hand.second.order_ ? 1 : 0;
        }
        for (std::uint32_t i = kLanes; i < hand.count; ++i) {
          const std::uint64_t other = of_lane(hand.second.order_, i - kLanes);
          first_place += other < hand.first.order_ ? 1 : 0;
          second_place += other < hand.second.order_ ? 1 : 0;
        }
      }
      if ((near_ones >> whose & 1) != 0) {
        // The warp's rooms lie side by side: those of its first thread begin where this one's minus its number do.
        NearNote* const room = near.first + whose - lane();
        if (a < hand.count) room[first_place * near.stride] = NearNote(hand.first, a);
        continue;
      }
      if (a < hand.count) hand.from[first_place] = hand.first;
      if (b < hand.count) hand.from[second_place] = hand.second;
    }
  }
  if (size > kMost || kLanes == 1) sort_notes(list, size);
  for (std::uint32_t i = 0; kLanes == 1 && goes_near && i < size; ++i)
    near[i] = NearNote(list[i], i);
  wait_for_others();
}

/// The same as a port takes them, in the same place.
inline std::span<const PortArrival> arrivals_of(std::span<const Note> notes, Instant end) {
  static_assert(sizeof(PortArrival) == sizeof(Note) && alignof(PortArrival) == alignof(Note));
  if (notes.empty()) return {};
  PortArrival* first = nullptr;
  for (const Note& note : notes) {
    const PortArrival arrival{note.time(end), note.packet()};
    auto* place = new (const_cast<void*>(static_cast<const void*>(&note))) PortArrival(arrival);
    if (first == nullptr) first = place;
  }
  return {first, notes.size()};
}

}  // namespace strack::sim::gpu
