// Timers of a host's receiving ends: a heap, for those of transports whose receivers act by themselves.
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

 private:
  std::vector<Deadline> heap_;
};

/// Where receivers never have a deadline.
struct NoDeadlines {};

}  // namespace strack::sim
