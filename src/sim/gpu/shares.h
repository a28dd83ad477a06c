// How many items a warp of the GPU gets: as few as fill it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace strack::sim::gpu {

inline constexpr unsigned kWarp = 32;

/// Of a GPU that runs share.
struct Chip {
  unsigned processors = 1;
  unsigned company = 1;  ///< runs that share it

  static constexpr unsigned kRoomForWarps = 16;  ///< of ports, in a multiprocessor

  /// As few items to a warp as fill the GPU, with those of the runs that share it: threads of a warp take turns where
  /// their ways part. Or else so many, where there are more than it has room for at once: what a thread has near it is
  /// taken from the first cache. A variable of the environment goes before.
  [[nodiscard]] unsigned per_warp(const char* setting, std::uint32_t items,
                                  unsigned warps_per_processor, unsigned where_full = kWarp) const {
    if (const char* set = std::getenv(setting)) {
      const int value = std::atoi(set);
      if (value >= 1 && value <= static_cast<int>(kWarp)) return static_cast<unsigned>(value);
    }
    const unsigned warps = processors * warps_per_processor;
    const std::uint64_t all = std::uint64_t{items} * company;
    if (all > std::uint64_t{processors} * kRoomForWarps * kWarp) return where_full;
    return static_cast<unsigned>(std::clamp<std::uint64_t>((all + warps - 1) / warps, 1, kWarp));
  }
};

}  // namespace strack::sim::gpu
