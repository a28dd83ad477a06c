// A time axis of at most so many bins, for series whose length is not known before they are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace strack::report {

/// Bins of `width`, which doubles, two bins becoming one, whenever there would be more than
/// `limit`. A Bin starts empty and has merge(Bin&& later). A sample's time is the end of its
/// interval, so the first bin holds what comes after 0 and until `width`.
template <class Bin>
class TimeBins {
 public:
  TimeBins(Picoseconds width, std::size_t limit)
      : width_(std::max(width, ps(1))), limit_(std::max<std::size_t>(limit, 1)) {}

  /// The bin of an interval that ends then; valid until the next call.
  [[nodiscard]] Bin& at(Instant time) {
    last_ = std::max(last_, time);
    const auto interval =
        static_cast<std::size_t>(std::max<std::int64_t>(time.ps - 1, 0) / width_.count());
    while (interval >> doublings_ >= limit_) halve();
    const std::size_t index = interval >> doublings_;
    if (index >= bins_.size()) bins_.resize(index + 1);
    return bins_[index];
  }

  [[nodiscard]] std::size_t size() const { return bins_.size(); }
  [[nodiscard]] const Bin& operator[](std::size_t i) const { return bins_[i]; }
  [[nodiscard]] Bin& operator[](std::size_t i) { return bins_[i]; }
  /// Of the first bins' intervals; how many there are in one bin.
  [[nodiscard]] std::size_t intervals() const { return std::size_t{1} << doublings_; }
  [[nodiscard]] Picoseconds width() const { return ps(saturated(1)); }

  [[nodiscard]] Instant begin(std::size_t i) const { return Instant{saturated(i)}; }
  /// The last bin ends with the last sample.
  [[nodiscard]] Instant end(std::size_t i) const {
    const Instant whole{saturated(i + 1)};
    return i + 1 == bins_.size() ? std::min(whole, last_) : whole;
  }
  [[nodiscard]] Picoseconds span(std::size_t i) const { return std::max(end(i) - begin(i), ps(1)); }

 private:
  [[nodiscard]] std::int64_t saturated(std::size_t bins) const {
    const Int128 value = (static_cast<Int128>(bins) << doublings_) * width_.count();
    return static_cast<std::int64_t>(std::min<Int128>(value, Instant::never().ps));
  }
  void halve() {
    for (std::size_t i = 0; i + 1 < bins_.size(); i += 2) bins_[i].merge(std::move(bins_[i + 1]));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < bins_.size(); i += 2, ++kept) {
      if (kept != i) bins_[kept] = std::move(bins_[i]);
    }
    bins_.resize(kept);
    ++doublings_;
  }

  Picoseconds width_;
  std::size_t limit_;
  unsigned doublings_ = 0;
  Instant last_{};
  std::vector<Bin> bins_;
};

}  // namespace strack::report
