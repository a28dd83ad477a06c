// What a receiver that places packets in any order tells its sender: what RoCEv2's does, and which
// packets are to be sent again.
#pragma once

#include <cstdint>

#include "core/packet.h"
#include "transports/rocev2/ack.h"

namespace strack::core {

/// Packets that one connection has under way at most: what its bitmaps hold. [D73]
inline constexpr std::uint32_t kArWindow = 4'096;
/// How many packets one NAK can name.
inline constexpr std::uint32_t kArNakBits = 64;

struct ArAck : RoceAck {
  Psn from;                   ///< a NAK's: the PSN of bit 0; it is missing
  std::uint64_t missing = 0;  ///< [AR.nak] to be sent again: from + i, where bit i is set
};

}  // namespace strack::core
