// One seed per run, one named stream per use: adding a draw in one place moves nothing elsewhere.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/units.h"

namespace strack {

/// Spreads a seed over 64 bits; consecutive inputs give unrelated outputs (splitmix64's finaliser).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// xoshiro256++: small, fast, the same bits everywhere. Not for secrets.
class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed) : seed_(seed) {
    for (std::uint64_t i = 0; i < state_.size(); ++i)
      state_[i] = mix64(seed + i * 0x9e3779b97f4a7c15);
  }

  /// An independent generator for one named use of this one's seed.
  [[nodiscard]] constexpr Rng stream(std::string_view name) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return Rng(mix64(seed_ ^ hash));
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), without bias that could matter: the product's upper half.
  constexpr std::uint64_t below(std::uint64_t bound) {
    STRACK_CHECK(bound > 0);
    __extension__ using Uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Uint128>(next()) * bound) >> 64);
  }
  /// Uniform in [low, high].
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// True with this probability.
  constexpr bool chance(Ratio probability) {
    return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(probability.den))) <
           probability.num;
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace strack
