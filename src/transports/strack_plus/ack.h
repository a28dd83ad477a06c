// What a STrack+ receiver says: what has arrived, and by which entropies since it last said something.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/packet.h"
#include "transports/strack_plus/params.h"

namespace strack::core {

/// A packet that has arrived.
struct PlusEcho {
  Psn psn;
  PathId path_id = 0;
  bool ecn = false;
};

struct PlusAck {
  /// [PLUS.sack.bitmap] Bits of the bitmap.
  static constexpr std::uint32_t kBits = 56;

  std::uint64_t bitmap = 0;  ///< arrivals from `base` on
  Psn epsn;                  ///< all before it have arrived
  Psn base;                  ///< the PSN of bitmap bit 0
  Timestamp timestamp;       ///< of the packet that triggered this: when it left
  std::array<PlusEcho, PlusParams::kEchoes> echoes{};  ///< [PLUS.sack.echo] since the last one
  std::uint8_t count = 0;
  bool for_probe = false;    ///< a probe triggered it; else the last echo did
  bool ecn = false;          ///< of what triggered it
  bool none_beyond = false;  ///< a probe's: nothing has arrived beyond the bitmap
  PathId path_id = 0;        ///< of what triggered it
};

/// [PLUS.sack.ask] In a data packet's note: it wants to be answered at once.
inline constexpr std::uint16_t kPlusAsks = 1;

/// [PLUS.refuse] What no honest receiver could have said is refused whole. `next`: the sender's next new packet. O(1).
[[nodiscard]] constexpr bool can_be_true(const PlusAck& ack, const PlusParams& params, Psn next) {
  constexpr std::uint32_t kOldest = 1u << 30;
  // A PSN more than a quarter of the circle back is one that was never sent.
  if (next.value - ack.epsn.value > kOldest) return false;
  if (ack.count > PlusParams::kEchoes || (ack.count == 0 && !ack.for_probe)) return false;
  for (std::uint32_t i = 0; i < ack.count; ++i) {
    const PlusEcho& echo = ack.echoes[i];
    if (next.value - 1 - echo.psn.value > kOldest) return false;
    if (echo.psn == ack.epsn) return false;  // arrived, and missing
    if (echo.path_id >= params.max_paths) return false;
  }
  const std::int32_t base = ack.base - ack.epsn;
  if (base < 0 || base >= static_cast<std::int32_t>(PlusParams::kTracked)) return false;
  if (ack.bitmap != 0) {
    const auto top = static_cast<std::uint32_t>(63 - std::countl_zero(ack.bitmap));
    if (ack.base + top >= next) return false;
    if (base == 0 && (ack.bitmap & 1) != 0) return false;
  }
  return ack.path_id < params.max_paths;
}

}  // namespace strack::core
