// REPS: what has just worked is used once more; after a timeout nothing else is.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/draws.h"
#include "core/paths/news.h"
#include "core/paths/params.h"

namespace strack::core {

class RepsPaths {
 public:
  static constexpr std::uint32_t kEntries = 8;

  constexpr RepsPaths(const SprayParams& /*params*/, std::uint64_t seed) : draws_(seed) {}

  constexpr PathId next(const SprayParams& params, Instant /*now*/) {
    if (explore_ > 0) {  // [PATHS.reps.thaw]
      --explore_;
      return draws_.below(params.paths);
    }
    if (frozen_ && filled_ > 0) {  // [PATHS.reps.frozen] all entries in turn, used or not
      const PathId path = ring_[turn_];
      turn_ = static_cast<std::uint8_t>((turn_ + 1u) % filled_);
      return path;
    }
    if (frozen_ || fresh_ == 0) return draws_.below(params.paths);  // [PATHS.reps.random]
    return ring_[(head_ + kEntries - fresh_--) % kEntries];         // [PATHS.reps.recycle]
  }

  constexpr void feedback(const SprayParams& params, PathId path, PathNews news, Instant now) {
    // [PATHS.reps.freeze] Not while it explores: then it knows too little to live on.
    if (news == PathNews::timed_out && !frozen_ && explore_ == 0 && params.reps_freeze > ps(0)) {
      frozen_ = true;
      thaw_ = now + params.reps_freeze;
      turn_ = 0;
    }
    if (news != PathNews::clean) return;
    if (frozen_) {
      if (now <= thaw_) return;
      frozen_ = false;  // [PATHS.reps.thaw]
      head_ = fresh_ = filled_ = 0;
      explore_ = params.reps_explore;
    }
    ring_[head_] = path;  // [PATHS.reps.recycle] the oldest entry makes room
    head_ = static_cast<std::uint8_t>((head_ + 1u) % kEntries);
    if (fresh_ < kEntries) ++fresh_;
    if (filled_ < kEntries) ++filled_;
  }

  [[nodiscard]] constexpr bool frozen() const { return frozen_; }

 private:
  Draws draws_;
  Instant thaw_{};
  std::array<PathId, kEntries> ring_{};
  std::uint32_t explore_ = 0;
  std::uint8_t head_ = 0;    ///< where the next entry goes
  std::uint8_t fresh_ = 0;   ///< entries that have not been used
  std::uint8_t filled_ = 0;  ///< entries there are
  std::uint8_t turn_ = 0;    ///< while frozen: the next one
  bool frozen_ = false;
};

}  // namespace strack::core
