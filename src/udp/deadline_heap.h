// Who is to be called next: a heap of deadlines with one entry for each owner, which knows its
// place.
//
// An owner is a pointer to something with a `HeapEntry deadline`. Finding the next costs nothing,
// moving one O(log n). Memory grows when owners are added, never when they are moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace strack::udp {

struct HeapEntry {
  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
  Instant when = Instant::never();
  std::uint32_t place = kAbsent;
};

template <class Owner>
class DeadlineHeap {
 public:
  void add(Owner& owner, Instant when) {
    STRACK_CHECK(owner.deadline.place == HeapEntry::kAbsent);
    owner.deadline.when = when;
    heap_.push_back(&owner);
    sift_up(heap_.size() - 1);
  }
  void remove(Owner& owner) {
    const std::size_t place = owner.deadline.place;
    STRACK_CHECK(place < heap_.size() && heap_[place] == &owner);
    owner.deadline.place = HeapEntry::kAbsent;
    Owner* last = heap_.back();
    heap_.pop_back();
    if (last == &owner) return;
    put(place, last);
    sift_up(place);
    sift_down(last->deadline.place);
  }
  /// Both earlier and later.
  void move(Owner& owner, Instant when) {
    if (owner.deadline.when == when) return;
    const bool earlier = when < owner.deadline.when;
    owner.deadline.when = when;
    if (earlier) {
      sift_up(owner.deadline.place);
    } else {
      sift_down(owner.deadline.place);
    }
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] Instant next() const {
    return heap_.empty() ? Instant::never() : heap_.front()->deadline.when;
  }
  [[nodiscard]] Owner& top() const { return *heap_.front(); }
  void reserve(std::size_t owners) { heap_.reserve(owners); }

 private:
  void put(std::size_t place, Owner* owner) {
    heap_[place] = owner;
    owner->deadline.place = static_cast<std::uint32_t>(place);
  }
  void sift_up(std::size_t place) {
    Owner* moving = heap_[place];
    while (place > 0) {
      const std::size_t parent = (place - 1) / 4;
      if (heap_[parent]->deadline.when <= moving->deadline.when) break;
      put(place, heap_[parent]);
      place = parent;
    }
    put(place, moving);
  }
  void sift_down(std::size_t place) {
    Owner* moving = heap_[place];
    while (true) {
      const std::size_t first = 4 * place + 1;
      if (first >= heap_.size()) break;
      std::size_t best = first;
      for (std::size_t i = first + 1; i < first + 4 && i < heap_.size(); ++i) {
        if (heap_[i]->deadline.when < heap_[best]->deadline.when) best = i;
      }
      if (heap_[best]->deadline.when >= moving->deadline.when) break;
      put(place, heap_[best]);
      place = best;
    }
    put(place, moving);
  }

  std::vector<Owner*> heap_;
};

}  // namespace strack::udp
