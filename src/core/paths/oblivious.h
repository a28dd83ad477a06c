// Policies that learn nothing: all entropies in turn, at random, or in bit-reversed order.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/draws.h"
#include "core/paths/news.h"
#include "core/paths/params.h"

namespace strack::core {

/// [PATHS.oblivious] All entropies once, in an order that is drawn anew for each round: i xor mask. With a
/// power of two of them that is a permutation, and two rounds have no order in common.
class Rotation {
 public:
  constexpr Rotation(const SprayParams& params, std::uint64_t seed)
      : draws_(seed), mask_(draws_.below(params.paths)) {}

  [[nodiscard]] constexpr PathId current() const { return static_cast<PathId>(index_ ^ mask_); }
  constexpr void advance(const SprayParams& params) {
    if (++index_ < params.paths) return;
    index_ = 0;
    mask_ = draws_.below(params.paths);
  }

 private:
  Draws draws_;
  std::uint32_t index_ = 0;
  PathId mask_;
};

class ObliviousPaths {
 public:
  constexpr ObliviousPaths(const SprayParams& params, std::uint64_t seed)
      : rotation_(params, seed) {}

  constexpr PathId next(const SprayParams& params, Instant /*now*/) {
    const PathId path = rotation_.current();
    rotation_.advance(params);
    return path;
  }
  constexpr void feedback(const SprayParams& /*params*/, PathId /*path*/, PathNews /*news*/,
                          Instant /*now*/) {}

 private:
  Rotation rotation_;
};

/// [PATHS.random]
class RandomPaths {
 public:
  constexpr RandomPaths(const SprayParams& /*params*/, std::uint64_t seed) : draws_(seed) {}

  constexpr PathId next(const SprayParams& params, Instant /*now*/) {
    return draws_.below(params.paths);
  }
  constexpr void feedback(const SprayParams& /*params*/, PathId /*path*/, PathNews /*news*/,
                          Instant /*now*/) {}

 private:
  Draws draws_;
};

/// [PATHS.bit_reversed] The van der Corput sequence, shifted by a drawn constant: any run of packets is
/// spread over the entropies as evenly as a run of its length can be.
class BitReversedPaths {
 public:
  constexpr BitReversedPaths(const SprayParams& params, std::uint64_t seed)
      : shift_(Draws(seed).below(params.paths)) {}

  constexpr PathId next(const SprayParams& params, Instant /*now*/) {
    std::uint32_t reversed = 0;
    std::uint32_t index = index_++;
    for (std::uint32_t size = params.paths; size > 1; size >>= 1) {
      reversed = (reversed << 1) | (index & 1);
      index >>= 1;
    }
    return static_cast<PathId>(reversed ^ shift_);
  }
  constexpr void feedback(const SprayParams& /*params*/, PathId /*path*/, PathNews /*news*/,
                          Instant /*now*/) {}

 private:
  std::uint32_t index_ = 0;
  PathId shift_;
};

}  // namespace strack::core
