// Turns a fuzzer's bytes into numbers. For harnesses only.
//
// When the bytes run out every further number is the lowest of its range, so each input has a
// meaning and a harness that loops `while (!input.empty())` ends.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace strack {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  bool flag() { return (byte() & 1) != 0; }

  /// A number in [low, high], from no more bytes than the range needs.
  template <std::integral T>
  T in_range(T low, T high) {
    STRACK_CHECK(low <= high);
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    std::uint64_t value = 0;
    for (std::uint64_t left = range; left != 0; left >>= 8) value = (value << 8) | byte();
    if (range != ~std::uint64_t{0}) value %= range + 1;
    return static_cast<T>(static_cast<std::uint64_t>(low) + value);
  }

  /// A number in [low, high] of any magnitude: small ones are as likely as large ones.
  template <std::integral T>
  T spread(T low, T high) {
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t reach = range >> (byte() % 64);
    return static_cast<T>(static_cast<std::uint64_t>(low) + in_range<std::uint64_t>(0, reach));
  }

  /// One of the values given: for thresholds and their neighbours.
  template <class T, class... More>
  T one_of(T first, More... more) {
    const T values[] = {first, static_cast<T>(more)...};
    return values[byte() % (1 + sizeof...(more))];
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace strack
