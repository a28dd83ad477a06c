// What a UET receiver says to its sender: an acknowledgement, the news of a trimmed packet, or credit.
#pragma once

#include <cstdint>

#include "core/packet.h"

namespace strack::core {

struct UetAck {
  enum class Kind : std::uint8_t {
    ack,   ///< `sack`: what has arrived
    nack,  ///< `sack.psn` came without its payload, by `sack.path_id`; `sack.epsn` as ever
    pull,  ///< `pulled` only
  };
  Sack sack;
  std::uint32_t pulled = 0;  ///< [RCCC.pull] packets granted since the start, wrapping
  Kind kind = Kind::ack;
  bool last_hop = false;  ///< nack: cut by the queue of the receiver's own link
};

/// What a data packet or a probe tells the receiver besides its payload, in Packet::note.
///
/// [UET.ack.request] The top bit asks for an acknowledgement. [RCCC.target] The rest is how many packets the
/// sender wants to have been granted in all: the low 10 bits of that number, as the network leaves no
/// more room. [D68]
struct UetNote {
  static constexpr std::uint16_t kAckBit = 1u << 15;
  static constexpr std::uint32_t kTargetRange = 1'024;
  /// A target may lie so far ahead; what looks further away is an old packet's.
  static constexpr std::uint32_t kFarthestTarget = 896;
};

}  // namespace strack::core
