// What a RoCEv2 receiver tells its sender. A struct beside core/packet.h's, for this protocol only.
#pragma once

#include <cstdint>

#include "core/packet.h"

namespace strack::core {

enum class RoceAckKind : std::uint8_t {
  ack,  ///< all of this QP's packets before `epsn` have arrived
  nak,  ///< and a later one came instead of `epsn`: go back to it
  cnp,  ///< a packet of this QP was marked; `epsn` says nothing
};

struct RoceAck {
  RoceAckKind kind = RoceAckKind::ack;
  PathId qp = 0;        ///< which of the connection's queue pairs
  Psn epsn;             ///< the packet this QP expects next
  Timestamp timestamp;  ///< echo: when the packet that triggered this went onto the wire
};
static_assert(sizeof(RoceAck) == 12);

}  // namespace strack::core
