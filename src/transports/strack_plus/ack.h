// What a STrack+ receiver says: what has arrived, and by which entropies since it last said something.
#pragma once

#include <array>
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

}  // namespace strack::core
