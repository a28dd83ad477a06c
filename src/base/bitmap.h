// A fixed number of bits on a circle, worked on a word at a time.
//
// Position p means bit p mod N, so a window of at most N consecutive sequence numbers can slide
// over it for ever. Used for arrival bitmaps (positions are PSNs) and for the ECN bitmap (path
// ids). Every operation is O(N/64) at worst; the counts below never exceed N.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace strack {

template <std::uint32_t N>
class Bitmap {
  static_assert(N >= 64 && std::has_single_bit(N), "whole words, and positions wrap by masking");

 public:
  [[nodiscard]] constexpr bool test(std::uint32_t pos) const {
    return (word(pos) >> (pos % 64)) & 1;
  }
  constexpr void set(std::uint32_t pos) { word(pos) |= std::uint64_t{1} << (pos % 64); }
  constexpr void clear(std::uint32_t pos) { word(pos) &= ~(std::uint64_t{1} << (pos % 64)); }
  constexpr void clear_all() { words_.fill(0); }

  /// Clears [pos, pos + count).
  constexpr void clear_range(std::uint32_t pos, std::uint32_t count) {
    STRACK_DCHECK(count <= N);
    while (count > 0) {
      const std::uint32_t in_word = step(pos, count);
      word(pos) &= ~(low_bits(in_word) << (pos % 64));
      pos += in_word;
      count -= in_word;
    }
  }

  /// The 64 bits from pos on; bit 0 is pos.
  [[nodiscard]] constexpr std::uint64_t extract64(std::uint32_t pos) const {
    const std::uint32_t shift = pos % 64;
    if (shift == 0) return word(pos);
    return (word(pos) >> shift) | (word(pos + 64) << (64 - shift));
  }

  /// Sets the positions pos + i for which bit i is set, and returns those that were clear before.
  constexpr std::uint64_t merge64(std::uint32_t pos, std::uint64_t bits) {
    const std::uint64_t fresh = bits & ~extract64(pos);
    const std::uint32_t shift = pos % 64;
    word(pos) |= bits << shift;
    if (shift != 0) word(pos + 64) |= bits >> (64 - shift);
    return fresh;
  }

  /// Distance from pos to the first clear bit, or `limit` if there is none in [pos, pos + limit).
  [[nodiscard]] constexpr std::uint32_t next_clear(std::uint32_t pos, std::uint32_t limit) const {
    return find<false>(pos, limit);
  }
  /// Distance from pos to the first set bit, or `limit` if there is none in [pos, pos + limit).
  [[nodiscard]] constexpr std::uint32_t next_set(std::uint32_t pos, std::uint32_t limit) const {
    return find<true>(pos, limit);
  }
  [[nodiscard]] constexpr bool all_set(std::uint32_t pos, std::uint32_t count) const {
    return next_clear(pos, count) == count;
  }

  /// How many are set in all.
  [[nodiscard]] constexpr std::uint32_t count() const {
    std::uint32_t total = 0;
    for (const std::uint64_t w : words_) total += static_cast<std::uint32_t>(std::popcount(w));
    return total;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t low_bits(std::uint32_t n) {
    return n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  }
  /// How many of `count` positions from pos on lie in pos's word.
  [[nodiscard]] static constexpr std::uint32_t step(std::uint32_t pos, std::uint32_t count) {
    const std::uint32_t left = 64 - pos % 64;
    return count < left ? count : left;
  }
  [[nodiscard]] constexpr std::uint64_t& word(std::uint32_t pos) {
    return words_[(pos / 64) % (N / 64)];
  }
  [[nodiscard]] constexpr const std::uint64_t& word(std::uint32_t pos) const {
    return words_[(pos / 64) % (N / 64)];
  }

  template <bool kWanted>
  [[nodiscard]] constexpr std::uint32_t find(std::uint32_t pos, std::uint32_t limit) const {
    STRACK_DCHECK(limit <= N);
    std::uint32_t done = 0;
    while (done < limit) {
      const std::uint32_t in_word = step(pos + done, limit - done);
      const std::uint64_t w = kWanted ? word(pos + done) : ~word(pos + done);
      const std::uint64_t hits = (w >> ((pos + done) % 64)) & low_bits(in_word);
      if (hits != 0) return done + static_cast<std::uint32_t>(std::countr_zero(hits));
      done += in_word;
    }
    return limit;
  }

  std::array<std::uint64_t, N / 64> words_{};
};

}  // namespace strack
