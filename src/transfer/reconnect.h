// When to try again after a connection was lost: soon at first, then less and less often, for a limited time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "udp/endpoint.h"

namespace strack::transfer {

class Reconnect {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kFirst{100};
  static constexpr std::chrono::milliseconds kLongest{5'000};

  /// `limit`: from the loss until it gives up; 0: at once. `seed`: who waits at the same time as others does
  /// not come back at the same time.
  Reconnect(std::chrono::milliseconds limit, std::uint64_t seed) : limit_(limit), rng_(seed) {}

  /// Whether another attempt can go better than one that ended so.
  [[nodiscard]] static bool worthwhile(udp::Status status);

  /// It was lost, or did not come back: how long to wait before the next attempt, between half of a time that
  /// doubles and all of it. Nothing when the limit is reached.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next(Clock::time_point now);
  /// More was done than ever before: the next loss has all the time again.
  void progressed() { lost_at_.reset(); }
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }

 private:
  std::chrono::milliseconds limit_;
  Rng rng_;
  std::optional<Clock::time_point> lost_at_;
  std::chrono::milliseconds wait_{0};
};

}  // namespace strack::transfer
