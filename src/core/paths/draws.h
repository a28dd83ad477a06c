// Random numbers for policies of paths: eight bytes of state, the same bits everywhere.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "core/packet.h"

namespace strack::core {

class Draws {
 public:
  constexpr explicit Draws(std::uint64_t seed) : state_(mix64(seed)) {}

  /// Uniform in [0, bound).
  constexpr PathId below(std::uint32_t bound) {
    return static_cast<PathId>(((mix64(state_++) >> 32) * bound) >> 32);
  }
  /// Any of `paths` but this one, if there is another.
  constexpr PathId other_than(PathId path, std::uint32_t paths) {
    if (paths < 2) return path;
    const PathId drawn = below(paths - 1);
    return static_cast<PathId>(drawn < path ? drawn : drawn + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace strack::core
