// Timers of a host's connections: of sending ends, and of receiving ends where a transport's act by themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"

namespace strack::sim {

/// A connection by its slot, and when it wants to be asked.
struct Deadline {
  Instant time;
  std::uint32_t slot;

  friend bool operator>(const Deadline& a, const Deadline& b) {
    return a.time != b.time ? a.time > b.time : a.slot > b.slot;
  }
};

class DeadlineHeap {
 public:
  void push(const Deadline& deadline) {
    heap_.push_back(deadline);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }
  Deadline pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Deadline first = heap_.back();
    heap_.pop_back();
    return first;
  }
  /// The earliest; never, where there is none.
  [[nodiscard]] Instant earliest() const {
    return heap_.empty() ? Instant::never() : heap_.front().time;
  }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(heap_);
  }

 private:
  std::vector<Deadline> heap_;
};

/// Where receivers never have a deadline.
struct NoDeadlines {
  template <class Archive>
  void state(Archive& /*a*/) {}
};

/// Connections that run, each with a lower bound of its deadline: deadlines mostly move away before they come. A heap
/// that knows where everybody is, so that a host with thousands of connections looks at those alone that are due.
/// Whoever moves is told of its new place: moved(slot, place).
class RunningHeap {
 public:
  struct Entry {
    Instant time;
    std::uint32_t slot = 0;
    std::uint32_t turn = 0;  ///< in which they started to run: those due at one time take turns so
  };

  /// The earliest; never, where there is none.
  [[nodiscard]] Instant earliest() const {
    return heap_.empty() ? Instant::never() : heap_.front().time;
  }
  [[nodiscard]] Instant time(std::uint32_t place) const { return heap_[place].time; }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(heap_, turns_);
    static_assert(sizeof(RunningHeap) == 56, "list what is new");
  }

  template <class Moved>
  void add(Instant time, std::uint32_t slot, Moved&& moved) {
    heap_.push_back({time, slot, turns_++});
    rise(heap_.size() - 1, moved);
  }
  template <class Moved>
  void remove(std::uint32_t place, Moved&& moved) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    heap_[place] = last;
    settle(place, moved);
  }
  /// Its time is another now.
  template <class Moved>
  void change(std::uint32_t place, Instant time, Moved&& moved) {
    heap_[place].time = time;
    settle(place, moved);
  }
  /// Calls visit(slot) for those whose time has come, in the order of their turns. It may change their times,
  /// and no others.
  template <class Visit>
  void for_each_due(Instant now, Visit&& visit) {
    if (earliest() > now) return;
    if (heap_.size() == 1) [[likely]] {
      visit(heap_.front().slot);
      return;
    }
    // Those due are at the heap's top, together.
    due_.clear();
    due_.push_back(0);
    for (std::size_t i = 0; i < due_.size(); ++i) {
      const std::size_t child = 2 * std::size_t{due_[i]} + 1;
      for (std::size_t c = child; c < child + 2 && c < heap_.size(); ++c) {
        if (heap_[c].time <= now) due_.push_back(static_cast<std::uint32_t>(c));
      }
    }
    std::sort(due_.begin(), due_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return heap_[a].turn < heap_[b].turn; });
    for (std::uint32_t& due : due_) due = heap_[due].slot;
    for (const std::uint32_t slot : due_) visit(slot);
  }

 private:
  template <class Moved>
  void settle(std::size_t place, Moved&& moved) {
    const Instant time = heap_[place].time;
    if (place > 0 && time < heap_[(place - 1) / 2].time) {
      rise(place, moved);
    } else {
      sink(place, moved);
    }
  }
  template <class Moved>
  void rise(std::size_t place, Moved&& moved) {
    const Entry entry = heap_[place];
    for (; place > 0 && entry.time < heap_[(place - 1) / 2].time; place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2], moved);
    put(place, entry, moved);
  }
  template <class Moved>
  void sink(std::size_t place, Moved&& moved) {
    const Entry entry = heap_[place];
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].time < heap_[child].time) ++child;
      if (heap_[child].time >= entry.time) break;
      put(place, heap_[child], moved);
      place = child;
    }
    put(place, entry, moved);
  }
  template <class Moved>
  void put(std::size_t place, const Entry& entry, Moved&& moved) {
    heap_[place] = entry;
    moved(entry.slot, static_cast<std::uint32_t>(place));
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> due_;
  std::uint32_t turns_ = 0;
};

}  // namespace strack::sim
