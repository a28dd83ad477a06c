// What a congestion control for window-based senders is: told of acknowledgements and losses, it says how
// much may be in flight, and how far apart packets leave.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"

namespace strack::core {

/// One acknowledgement, after the sender has taken it in.
struct AckNews {
  Bytes acked{0};      ///< newly acknowledged
  Picoseconds rtt{0};  ///< of the packet it answers; 0: below the clock's tick
  Psn epsn;            ///< all before it are acknowledged
  Psn psn_next;        ///< the next new packet: what was sent is below it
  Bytes inflight{0};   ///< now
  PathId path_id = 0;  ///< of the packet it answers
  std::uint16_t utilisation = 0;
  std::uint8_t hops = 0;
  bool ecn = false;
};

enum class LossSign : std::uint8_t {
  order,    ///< later packets have arrived
  probe,    ///< a probe came back and found it missing
  trimmed,  ///< a switch has cut it off
  timeout,
};

/// Packets have been declared lost.
struct LossNews {
  LossSign sign = LossSign::order;
  Bytes lost{0};
  bool first = false;  ///< since all that was in flight at the last such time is acknowledged
  std::uint32_t timeouts = 0;  ///< in a row, without any progress
  Bytes inflight{0};           ///< now, without what is lost
};

template <class C, class Params>
concept WindowControl = requires(C control, const C& idle, const Params& params, const AckNews& ack,
                                 const LossNews& loss, Instant now) {
  C(params);
  { control.on_ack(params, ack, now) } -> std::same_as<void>;
  { control.on_loss(params, loss, now) } -> std::same_as<void>;
  { idle.cwnd() } -> std::same_as<Bytes>;
  /// [WIN.pace] How long after a packet with so much payload the next may go; 0: at once.
  { idle.pacing(params, Bytes{}) } -> std::same_as<Picoseconds>;
};

/// What a control that knows packets says of one in flight.
enum class PacketFate : std::uint8_t {
  lost,
  open,
  recent,  ///< and so is all with a higher PSN
};

/// A control that follows single packets: it says which path each takes, and which are lost.
template <class C, class Params>
concept PacketControl = WindowControl<C, Params> &&
    requires(C control, const C& idle, const Params& params, Psn psn, PathId path, Instant now) {
  { control.next_path(params) } -> std::same_as<PathId>;
  { control.on_sent(psn, Bytes{}, path, bool{}, now) } -> std::same_as<void>;
  { control.on_left(psn, Bytes{}, bool{}) } -> std::same_as<void>;  ///< arrived, or lost
  { idle.fate_of(params, psn) } -> std::same_as<PacketFate>;
};

}  // namespace strack::core
