// Messages of one connection that are under way, each in a slot, and since when somebody waits for them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace strack::perf {

class UnderWay {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  UnderWay() = default;
  explicit UnderWay(std::uint32_t depth) : since_(depth) { free_all(); }

  [[nodiscard]] bool full() const { return free_.empty(); }
  /// The slot of the next message, while there is one.
  [[nodiscard]] std::uint32_t next() const { return free_.back(); }

  /// The next message has been sent; in the place of one that was lost, it has been waited for since then.
  void begin(Instant now) {
    since_[next()] = lost_.empty() ? now : lost_.front();
    if (!lost_.empty()) lost_.pop_front();
    free_.pop_back();
  }
  [[nodiscard]] bool has(std::uint32_t slot) const { return slot < since_.size(); }
  /// It is done, after this long.
  std::chrono::nanoseconds end(std::uint32_t slot, Instant now) {
    free_.push_back(slot);
    return now - since_[slot];
  }

  /// The connection is lost: what was under way, and what was still to be sent in the place of others, is to be sent again.
  void lose() {
    std::vector<bool> is_free(since_.size());
    for (const std::uint32_t slot : free_) is_free[slot] = true;
    for (std::size_t slot = 0; slot < is_free.size(); ++slot) {
      if (!is_free[slot]) lost_.push_back(since_[slot]);
    }
    std::sort(lost_.begin(), lost_.end());
    free_.clear();
    free_all();
  }

 private:
  void free_all() {
    for (auto slot = static_cast<std::uint32_t>(since_.size()); slot-- > 0;) free_.push_back(slot);
  }

  std::vector<Instant> since_;  ///< by slot
  std::vector<std::uint32_t> free_;
  std::deque<Instant> lost_;
};

}  // namespace strack::perf
