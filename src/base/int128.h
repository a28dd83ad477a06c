// 128-bit integers for processors of 32 bits, where GCC has none: there the core is compiled with `-include base/int128.h`.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace strack {

/// Two's complement in two words, with what the core asks of it: sums, products, quotients that are truncated toward zero. Wraps
/// around where it overflows.
struct PlainInt128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  constexpr PlainInt128() = default;
  constexpr PlainInt128(std::uint64_t lower, std::uint64_t upper) : low(lower), high(upper) {}
  // As a built-in integer does, it takes any narrower one unasked.
  constexpr PlainInt128(std::integral auto value)
      : low(static_cast<std::uint64_t>(value)), high(value < 0 ? ~std::uint64_t{0} : 0) {}

  constexpr explicit operator std::int64_t() const { return static_cast<std::int64_t>(low); }
  constexpr explicit operator std::uint64_t() const { return low; }
  [[nodiscard]] constexpr bool is_negative() const { return high >> 63 != 0; }

  /// The whole product of two words, from four of their halves.
  [[nodiscard]] static constexpr PlainInt128 product(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kHalf = 0xffff'ffff;
    const std::uint64_t low_low = (a & kHalf) * (b & kHalf);
    const std::uint64_t high_low = (a >> 32) * (b & kHalf);
    const std::uint64_t low_high = (a & kHalf) * (b >> 32);
    const std::uint64_t middle = (low_low >> 32) + (high_low & kHalf) + (low_high & kHalf);
    return {(low_low & kHalf) | (middle << 32),
            (a >> 32) * (b >> 32) + (high_low >> 32) + (low_high >> 32) + (middle >> 32)};
  }

  friend constexpr bool operator==(PlainInt128, PlainInt128) = default;
  friend constexpr std::strong_ordering operator<=>(PlainInt128 a, PlainInt128 b) {
    const auto upper = static_cast<std::int64_t>(a.high) <=> static_cast<std::int64_t>(b.high);
    return upper != 0 ? upper : a.low <=> b.low;
  }
  friend constexpr PlainInt128 operator+(PlainInt128 a, PlainInt128 b) {
    const std::uint64_t sum = a.low + b.low;
    return {sum, a.high + b.high + (sum < a.low ? 1 : 0)};
  }
  friend constexpr PlainInt128 operator-(PlainInt128 a) {
    return PlainInt128{~a.low, ~a.high} + PlainInt128{1, 0};
  }
  friend constexpr PlainInt128 operator-(PlainInt128 a, PlainInt128 b) { return a + -b; }
  friend constexpr PlainInt128 operator*(PlainInt128 a, PlainInt128 b) {
    PlainInt128 result = product(a.low, b.low);
    result.high += a.low * b.high + a.high * b.low;
    return result;
  }
  friend constexpr PlainInt128 operator/(PlainInt128 a, PlainInt128 b) {
    const PlainInt128 result = quotient(a.size(), b.size());
    return a.is_negative() != b.is_negative() ? -result : result;
  }
  friend constexpr PlainInt128 operator%(PlainInt128 a, PlainInt128 b) { return a - a / b * b; }

 private:
  [[nodiscard]] constexpr PlainInt128 size() const { return is_negative() ? -*this : *this; }
  /// Both without a sign. Bit by bit: it is rare that a product does not fit 64 bits.
  [[nodiscard]] static constexpr PlainInt128 quotient(PlainInt128 a, PlainInt128 b) {
    PlainInt128 rest;
    for (int i = 0; i < 128; ++i) {
      rest = {(rest.low << 1) | (a.high >> 63), (rest.high << 1) | (rest.low >> 63)};
      a = {a.low << 1, (a.high << 1) | (a.low >> 63)};
      if (rest.high > b.high || (rest.high == b.high && rest.low >= b.low)) {
        rest = rest - b;
        a.low |= 1;
      }
    }
    return a;
  }
};

}  // namespace strack

#ifndef __SIZEOF_INT128__
#define __int128 ::strack::PlainInt128
#endif
