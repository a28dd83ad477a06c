// What STrack+'s sender tells of itself.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "transports/strack_plus/ack.h"

namespace strack::core {

struct PlusCounters {
  std::uint32_t retransmissions = 0;
  std::uint32_t probes_sent = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t acks_rejected = 0;
};

struct PlusAckReceived {
  const PlusAck& ack;
  Picoseconds rtt;
  Bytes acked;
};

}  // namespace strack::core
