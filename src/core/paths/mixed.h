// Mixed: the entropies of clean acknowledgements first come, first used; without one, the bitmap's choice.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/bitmap.h"
#include "core/paths/news.h"
#include "core/paths/params.h"

namespace strack::core {

class MixedPaths {
 public:
  /// [D52] More than this many wait only when a window has just shrunk by more: then the newest count.
  static constexpr std::uint32_t kEntries = 64;

  constexpr MixedPaths(const SprayParams& params, std::uint64_t seed) : bitmap_(params, seed) {}

  constexpr PathId next(const SprayParams& params, Instant now) {
    if (waiting_ == 0) return bitmap_.next(params, now);        // [PATHS.mixed.bitmap]
    return queue_[(head_ + kEntries - waiting_--) % kEntries];  // [PATHS.mixed.recycle]
  }
  constexpr void feedback(const SprayParams& params, PathId path, PathNews news, Instant now) {
    bitmap_.feedback(params, path, news, now);
    if (news != PathNews::clean) return;
    queue_[head_] = path;
    head_ = (head_ + 1) % kEntries;
    if (waiting_ < kEntries) ++waiting_;
  }

  [[nodiscard]] constexpr std::uint32_t penalty(PathId path) const { return bitmap_.penalty(path); }

 private:
  BitmapPaths bitmap_;
  std::array<PathId, kEntries> queue_{};
  std::uint32_t head_ = 0;
  std::uint32_t waiting_ = 0;
};

}  // namespace strack::core
