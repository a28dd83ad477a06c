// Numbers that wrap: packet sequence numbers and 32-bit counters, compared by their distance.
#pragma once

#include <cstdint>

namespace strack {

/// A 32-bit number on a circle. `a - b` is the signed distance; comparisons follow it, so they hold
/// across the wrap at 2^32 for numbers less than 2^31 apart (ours are at most a window apart).
template <class Tag>
struct Serial {
  std::uint32_t value = 0;

  friend constexpr bool operator==(const Serial&, const Serial&) = default;
  friend constexpr std::int32_t operator-(Serial a, Serial b) {
    return static_cast<std::int32_t>(a.value - b.value);
  }
  friend constexpr bool operator<(Serial a, Serial b) { return a - b < 0; }
  friend constexpr bool operator>(Serial a, Serial b) { return a - b > 0; }
  friend constexpr bool operator<=(Serial a, Serial b) { return a - b <= 0; }
  friend constexpr bool operator>=(Serial a, Serial b) { return a - b >= 0; }
  friend constexpr Serial operator+(Serial a, std::uint32_t n) { return {a.value + n}; }
  friend constexpr Serial operator-(Serial a, std::uint32_t n) { return {a.value - n}; }
  constexpr Serial& operator++() { return ++value, *this; }
};

template <class Tag>
[[nodiscard]] constexpr Serial<Tag> max(Serial<Tag> a, Serial<Tag> b) {
  return a < b ? b : a;
}
template <class Tag>
[[nodiscard]] constexpr Serial<Tag> min(Serial<Tag> a, Serial<Tag> b) {
  return a < b ? a : b;
}

}  // namespace strack
