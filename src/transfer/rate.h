// How fast bytes go, in words, and how fast they have gone lately: what a progress line shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include <fmt/format.h>

namespace strack::transfer {

/// "9.412 Gb/s", "12.000 Mb/s", "880 b/s": whatever is slow is told in a unit that shows it.
[[nodiscard]] inline std::string rate_text(std::uint64_t bytes, double seconds) {
  const double bps = seconds > 0 ? static_cast<double>(bytes) * 8 / seconds : 0;
  if (bps >= 1e9) return fmt::format("{:.3f} Gb/s", bps / 1e9);
  if (bps >= 1e6) return fmt::format("{:.3f} Mb/s", bps / 1e6);
  if (bps >= 1e3) return fmt::format("{:.3f} kb/s", bps / 1e3);
  return fmt::format("{:.0f} b/s", bps);
}

/// A count of bytes as it was during the last seconds.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kWindow{3};
  /// So long without a byte, and that is said in place of a rate.
  static constexpr std::chrono::seconds kStalled{2};

  void note(std::uint64_t bytes, Clock::time_point now) {
    if (samples_.empty() || bytes != samples_.back().bytes) moved_ = now;
    samples_.push_back({now, bytes});
    while (samples_.size() > 2 && now - samples_[1].at >= kWindow) samples_.pop_front();
  }
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  /// "9.412 Gb/s", or "nothing for 12 s".
  [[nodiscard]] std::string text() const {
    if (samples_.empty()) return rate_text(0, 0);
    const Sample& last = samples_.back();
    if (last.at - moved_ >= kStalled)
      return fmt::format(
          "nothing for {} s",
          std::chrono::duration_cast<std::chrono::seconds>(last.at - moved_).count());
    return rate_text(recent_bytes(), recent_seconds());
  }
  /// In the window.
  [[nodiscard]] std::uint64_t recent_bytes() const {
    // An attempt that began anew has fewer.
    const bool more = !samples_.empty() && samples_.back().bytes > samples_.front().bytes;
    return more ? samples_.back().bytes - samples_.front().bytes : 0;
  }
  [[nodiscard]] double recent_seconds() const {
    if (samples_.empty()) return 0;
    return std::chrono::duration<double>(samples_.back().at - samples_.front().at).count();
  }

 private:
  struct Sample {
    Clock::time_point at;
    std::uint64_t bytes;
  };
  std::deque<Sample> samples_;
  Clock::time_point moved_{};
};

}  // namespace strack::transfer
