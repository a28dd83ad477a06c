// All entropies in turn, past those that were reported congested or dead.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/news.h"
#include "core/paths/oblivious.h"
#include "core/paths/params.h"

namespace strack::core {

/// A penalty of 0 to 15 for each path, 16 to a word.
class Penalties {
 public:
  static constexpr std::uint32_t kLargest = 15;

  [[nodiscard]] constexpr std::uint32_t of(PathId path) const {
    return static_cast<std::uint32_t>(words_[path / 16] >> shift(path)) & kLargest;
  }
  constexpr void add(PathId path, std::uint32_t amount) {
    const std::uint32_t before = of(path);
    set(path, before + amount < kLargest ? before + amount : kLargest);
  }
  constexpr void forgive_one(PathId path) { set(path, of(path) - 1); }

 private:
  [[nodiscard]] static constexpr std::uint32_t shift(PathId path) { return path % 16 * 4; }
  constexpr void set(PathId path, std::uint32_t penalty) {
    std::uint64_t& word = words_[path / 16];
    word = (word & ~(std::uint64_t{kLargest} << shift(path))) |
           (std::uint64_t{penalty} << shift(path));
  }

  std::array<std::uint64_t, SprayParams::kMostPenalties / 16> words_{};
};

class BitmapPaths {
 public:
  constexpr BitmapPaths(const SprayParams& params, std::uint64_t seed) : rotation_(params, seed) {}

  /// [PATHS.bitmap.skip] The next path without a penalty. [PATHS.bitmap.forgive] Each choice takes one point
  /// off the first path that it passes over, so that a path is forgiven no faster than it is asked for.
  /// When all have one, it is the one whose turn it is after a whole round.
  constexpr PathId next(const SprayParams& params, Instant /*now*/) {
    PathId path = rotation_.current();
    if (penalties_.of(path) > 0) {
      penalties_.forgive_one(path);
      for (std::uint32_t passed = 0; passed < params.paths; ++passed) {
        rotation_.advance(params);
        path = rotation_.current();
        if (penalties_.of(path) == 0) break;
      }
    }
    rotation_.advance(params);
    return path;
  }

  /// [PATHS.bitmap.penalty] Good news takes no penalty away.
  constexpr void feedback(const SprayParams& /*params*/, PathId path, PathNews news,
                          Instant /*now*/) {
    switch (news) {
      case PathNews::clean:
        break;
      case PathNews::marked:
        penalties_.add(path, 1);
        break;
      case PathNews::trimmed:
        penalties_.add(path, 4);
        break;
      case PathNews::timed_out:
        penalties_.add(path, Penalties::kLargest);
        break;
    }
  }

  [[nodiscard]] constexpr std::uint32_t penalty(PathId path) const { return penalties_.of(path); }

 private:
  Rotation rotation_;
  Penalties penalties_{};
};

}  // namespace strack::core
