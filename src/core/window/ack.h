// What a receiver of the window-based transports says: one acknowledgement for each packet.
#pragma once

#include <cstdint>

#include "core/packet.h"

namespace strack::core {

enum class AckKind : std::uint8_t {
  data,   ///< the packet has arrived
  probe,  ///< it was a probe: `psn` says nothing
  nack,   ///< its payload was cut off on the way: it has not arrived
};

/// [WIN.ack.echo] What it echoes is the packet's that it answers.
struct WindowAck {
  std::uint64_t bitmap = 0;       ///< arrivals from sack_base on
  Psn epsn;                       ///< all before it have arrived
  Psn sack_base;                  ///< the PSN of bitmap bit 0
  Psn psn;                        ///< echo: the packet that this is about
  Timestamp timestamp;            ///< echo: when that went onto the wire
  std::uint16_t probe_id = 0;     ///< the probe it answers
  PathId path_id = 0;             ///< echo: the path it took
  std::uint16_t utilisation = 0;  ///< echo: the fullest link of that path (core/transport.h)
  std::uint8_t hops = 0;          ///< echo: links it passed
  AckKind kind = AckKind::data;
  bool ecn = false;  ///< echo: was it marked
};
static_assert(sizeof(WindowAck) <= 40);

}  // namespace strack::core
