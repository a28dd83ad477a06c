// How times are spread, in fixed memory: buckets that are at most 1/64 of their value wide, so that a
// percentile is right within 1.6 %. The lowest and the highest are exact.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace strack::transfer {

class Histogram {
 public:
  void add(std::uint64_t value) {
    ++buckets_[index_of(value)];
    ++count_;
    sum_ += value;
    lowest_ = std::min(lowest_, value);
    highest_ = std::max(highest_, value);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t lowest() const { return count_ == 0 ? 0 : lowest_; }
  [[nodiscard]] std::uint64_t highest() const { return highest_; }
  [[nodiscard]] std::uint64_t mean() const { return count_ == 0 ? 0 : sum_ / count_; }

  /// The value that `per_mille` of 1000 are at or below; 0 where there are none.
  [[nodiscard]] std::uint64_t percentile(std::uint64_t per_mille) const {
    if (count_ == 0) return 0;
    const std::uint64_t rank = std::max<std::uint64_t>(1, (count_ * per_mille + 999) / 1000);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank) return std::clamp(highest_of(i), lowest_, highest_);
    }
    return highest_;
  }

 private:
  static constexpr unsigned kBits = 6;  ///< 64 buckets for each power of two
  static constexpr std::uint64_t kFew = std::uint64_t{1}
                                        << (kBits + 1);  ///< below: one bucket each

  [[nodiscard]] static std::size_t index_of(std::uint64_t value) {
    if (value < kFew) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static std::uint64_t highest_of(std::size_t index) {
    if (index < kFew) return index;
    const std::size_t shift = (index >> kBits) - 1;
    const std::uint64_t first = (index - (shift << kBits)) << shift;
    return first + ((std::uint64_t{1} << shift) - 1);
  }

  std::vector<std::uint64_t> buckets_ =
      std::vector<std::uint64_t>((64 - kBits) * (std::size_t{1} << kBits) + kFew);
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t lowest_ = ~std::uint64_t{0};
  std::uint64_t highest_ = 0;
};

}  // namespace strack::transfer
