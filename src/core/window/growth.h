// Additive increase by bytes: so much for each window that is acknowledged.
#pragma once

#include "base/units.h"

namespace strack::core {

/// [WIN.growth] Keeps what division leaves over, so that a whole window's acknowledgements add up to the whole step.
class WindowGrowth {
 public:
  /// What the window grows by for `acked` bytes, when `per_window` is the step for all of `cwnd`.
  constexpr Bytes take(Bytes per_window, Bytes acked, Bytes cwnd) {
    const std::int64_t whole = per_window.value * acked.value + rest_;
    const std::int64_t step = whole / cwnd.value;
    rest_ = whole - step * cwnd.value;
    return bytes(step);
  }

 private:
  std::int64_t rest_ = 0;
};

}  // namespace strack::core
