// Time, size and rate as 64-bit integer types that do not mix. Everybody includes this file.
//
// A picosecond is the unit of time because a byte takes exactly 40, 20 or 10 of them at 200, 400
// and 800 Gb/s. A point in time (`Instant`) is not a span (`Picoseconds`); what mixes them up does
// not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace strack {

__extension__ using Int128 = __int128;

/// a x b / c, truncated toward zero, exact for every product: 64-bit division where the product
/// fits.
[[nodiscard]] constexpr std::int64_t mul_div(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return static_cast<std::int64_t>(static_cast<Int128>(a) * b / c);
}

/// A fraction of two integers, for parameters such as 0.8 that must give the same bits everywhere.
struct Ratio {
  std::int64_t num = 0;
  std::int64_t den = 1;

  [[nodiscard]] constexpr std::int64_t of(std::int64_t value) const {
    return mul_div(value, num, den);
  }
  friend constexpr bool operator==(const Ratio&, const Ratio&) = default;
};

namespace detail {
/// What every quantity can do with its own kind; the tag keeps the kinds apart.
template <class Tag>
struct Quantity {
  std::int64_t value = 0;

  [[nodiscard]] constexpr std::int64_t count() const { return value; }

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator-(Quantity a) { return {-a.value}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t k) { return {a.value * k}; }
  friend constexpr Quantity operator*(std::int64_t k, Quantity a) { return {a.value * k}; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t k) { return {a.value / k}; }
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.value / b.value; }
  friend constexpr Quantity operator*(Ratio r, Quantity a) { return {r.of(a.value)}; }
  constexpr Quantity& operator+=(Quantity b) { return value += b.value, *this; }
  constexpr Quantity& operator-=(Quantity b) { return value -= b.value, *this; }
};
}  // namespace detail

using Picoseconds = detail::Quantity<struct PicosecondsTag>;
using Bytes = detail::Quantity<struct BytesTag>;
using BitsPerSecond = detail::Quantity<struct BitsPerSecondTag>;

/// A point on the host's clock. The core never reads a clock: instants are handed to it.
struct Instant {
  std::int64_t ps = 0;

  /// Nearly three hours before the clock's start: longer ago than any interval we compare with, and
  /// safe to subtract from every later instant. A host's clock starts at 0 and can run for a
  /// hundred days.
  [[nodiscard]] static constexpr Instant distant_past() { return {-10'000'000'000'000'000}; }
  /// The deadline that never comes.
  [[nodiscard]] static constexpr Instant never() {
    return {std::numeric_limits<std::int64_t>::max()};
  }

  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
  friend constexpr Instant operator+(Instant t, Picoseconds d) { return {t.ps + d.value}; }
  friend constexpr Instant operator-(Instant t, Picoseconds d) { return {t.ps - d.value}; }
  friend constexpr Picoseconds operator-(Instant a, Instant b) { return {a.ps - b.ps}; }
};

[[nodiscard]] constexpr Picoseconds ps(std::int64_t n) { return {n}; }
[[nodiscard]] constexpr Picoseconds ns(std::int64_t n) { return {n * 1'000}; }
[[nodiscard]] constexpr Picoseconds us(std::int64_t n) { return {n * 1'000'000}; }
[[nodiscard]] constexpr Picoseconds ms(std::int64_t n) { return {n * 1'000'000'000}; }
[[nodiscard]] constexpr Picoseconds seconds(std::int64_t n) { return {n * 1'000'000'000'000}; }
[[nodiscard]] constexpr Instant at(Picoseconds since_start) { return {since_start.value}; }

[[nodiscard]] constexpr Bytes bytes(std::int64_t n) { return {n}; }
[[nodiscard]] constexpr Bytes kb(std::int64_t n) { return {n * 1'000}; }
[[nodiscard]] constexpr Bytes kib(std::int64_t n) { return {n * 1'024}; }
[[nodiscard]] constexpr Bytes mb(std::int64_t n) { return {n * 1'000'000}; }

[[nodiscard]] constexpr BitsPerSecond mbps(std::int64_t n) { return {n * 1'000'000}; }
[[nodiscard]] constexpr BitsPerSecond gbps(std::int64_t n) { return {n * 1'000'000'000}; }

namespace detail {
inline constexpr std::int64_t kBitPicosecondsPerByteSecond = 8 * 1'000'000'000'000;
}

/// What a link carries in that time.
[[nodiscard]] constexpr Bytes operator*(BitsPerSecond rate, Picoseconds time) {
  return {mul_div(rate.value, time.value, detail::kBitPicosecondsPerByteSecond)};
}
/// How long a link needs for it: serialisation time.
[[nodiscard]] constexpr Picoseconds operator/(Bytes size, BitsPerSecond rate) {
  return {mul_div(size.value, detail::kBitPicosecondsPerByteSecond, rate.value)};
}

}  // namespace strack
