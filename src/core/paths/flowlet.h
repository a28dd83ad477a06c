// Flowlets: a new path after a gap, which an old packet can no longer be overtaken across. And the
// policy of one path for ever.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/draws.h"
#include "core/paths/news.h"
#include "core/paths/params.h"

namespace strack::core {

class FlowletPaths {
 public:
  constexpr FlowletPaths(const SprayParams& params, std::uint64_t seed)
      : draws_(seed), path_(draws_.below(params.paths)) {}

  /// [PATHS.flowlet.gap] [PATHS.flowlet.life]
  constexpr PathId next(const SprayParams& params, Instant now) {
    if (!started_) {
      started_ = true;
      changed_ = now;
    } else if (now - sent_ > params.flowlet_gap && now - changed_ >= params.flowlet_life) {
      path_ = draws_.other_than(path_, params.paths);
      changed_ = now;
    }
    sent_ = now;
    return path_;
  }
  constexpr void feedback(const SprayParams& /*params*/, PathId /*path*/, PathNews /*news*/,
                          Instant /*now*/) {}

 private:
  Draws draws_;
  Instant sent_{};
  Instant changed_{};
  PathId path_;
  bool started_ = false;
};

/// [PATHS.single]
class SinglePath {
 public:
  constexpr SinglePath(const SprayParams& params, std::uint64_t seed)
      : path_(Draws(seed).below(params.paths)) {}

  constexpr PathId next(const SprayParams& /*params*/, Instant /*now*/) { return path_; }
  constexpr void feedback(const SprayParams& /*params*/, PathId /*path*/, PathNews /*news*/,
                          Instant /*now*/) {}

 private:
  PathId path_;
};

}  // namespace strack::core
