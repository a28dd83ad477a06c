// What the RoCEv2 core tells whoever watches it, beside core/events.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "core/events.h"
#include "core/packet.h"
#include "transports/rocev2/ack.h"

namespace strack::core {

struct RocePacketSent {
  const Packet& packet;
  BitsPerSecond rate;  ///< of its QP
};
struct RoceAckReceived {
  const RoceAck& ack;
  Picoseconds rtt;  ///< of the packet that triggered it; ACKs and NAKs only
  Bytes acked;
};
struct RoceAckRejected {
  RoceAck ack;
};
struct RoceAckSent {
  const RoceAck& ack;
};
struct RateChanged {
  BitsPerSecond rate;
  BitsPerSecond target;
};
/// Everything from `from` on is sent again.
struct WentBack {
  PathId qp;
  Psn from;
  bool timeout;  ///< or a NAK
};

/// Branches so rare that a test campaign must prove it has been there.
enum class RoceRare : std::uint8_t {
  cut_deferred,  ///< a CNP came too soon after a cut
  target_kept,   ///< two cuts without an increase by the timer between them
  least_rate,    ///< a cut below the least rate
  hyper_increase,
  message_queue_full,
  outstanding_full,         ///< new packets wait for acknowledgements
  stale_ack,                ///< overtaken by a newer one
  stale_nak,                ///< for what is acknowledged already
  overtaken_by_ack,         ///< what was to be sent again has arrived after all
  out_of_order_completion,  ///< a message complete before an earlier one
  out_of_order_delivery,
  nak_suppressed,  ///< one has been sent for this packet, not long ago
  nak_repeated,
  cnp_suppressed,  ///< one was sent not long ago
  duplicate,
  kCount
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(RoceRare::kCount)>
    kRoceRareNames{
        "cut_deferred",
        "target_kept",
        "least_rate",
        "hyper_increase",
        "message_queue_full",
        "outstanding_full",
        "stale_ack",
        "stale_nak",
        "overtaken_by_ack",
        "out_of_order_completion",
        "out_of_order_delivery",
        "nak_suppressed",
        "nak_repeated",
        "cnp_suppressed",
        "duplicate",
    };

struct RoceReached {
  RoceRare branch;
};

}  // namespace strack::core
