// Protective load balancing: one path, left after several congested round trips or a timeout.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/draws.h"
#include "core/paths/news.h"
#include "core/paths/params.h"

namespace strack::core {

class PlbPaths {
 public:
  constexpr PlbPaths(const SprayParams& params, std::uint64_t seed)
      : draws_(seed), path_(draws_.below(params.paths)) {}

  constexpr PathId next(const SprayParams& /*params*/, Instant /*now*/) { return path_; }

  constexpr void feedback(const SprayParams& params, PathId path, PathNews news, Instant now) {
    if (path != path_) return;          // [D53] of a path that has been left
    if (news == PathNews::timed_out) {  // [PATHS.plb.timeout]
      move(params);
      return;
    }
    if (seen_ == 0) round_start_ = now;
    ++seen_;
    if (news != PathNews::clean) ++marked_;
    if (now - round_start_ < params.plb_round) return;
    // [PATHS.plb.round] [PATHS.plb.move]
    const bool congested = std::int64_t{marked_} * params.plb_marked.den >=
                           std::int64_t{seen_} * params.plb_marked.num;
    congested_ = congested ? congested_ + 1 : 0;
    seen_ = marked_ = 0;
    if (congested_ >= params.plb_rounds) move(params);
  }

 private:
  constexpr void move(const SprayParams& params) {
    path_ = draws_.other_than(path_, params.paths);
    seen_ = marked_ = congested_ = 0;
  }

  Draws draws_;
  Instant round_start_{};
  std::uint32_t seen_ = 0;
  std::uint32_t marked_ = 0;
  std::uint32_t congested_ = 0;  ///< rounds in a row
  PathId path_;
};

}  // namespace strack::core
