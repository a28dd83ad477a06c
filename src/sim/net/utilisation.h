// How full a link is: what a switch notes on packets for transports that steer by it.
//
// A port has one of these as a template argument. With NoMeter nothing is measured and nothing is paid.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/transport.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

struct NoMeter {
  static constexpr bool kMeasures = false;
  template <class Archive>
  void state(Archive& /*a*/) {}
};

/// [D51] What the link carries and what waits for it, averaged over one period, the network's base
/// RTT: each departure adds its own time on the wire and, for the time since the one before, the time
/// that the queue stands for. A link that is always busy with no queue comes to 1.
class UtilisationMeter {
 public:
  static constexpr bool kMeasures = true;

  /// A packet has left that took `wire_time`, and left a queue worth `queue_time` behind. Returns
  /// what the link comes to now, in units of 1/core::Signals::kFullUtilisation.
  std::uint32_t on_departure(Instant now, Picoseconds wire_time, Picoseconds queue_time,
                             Picoseconds period) {
    const Picoseconds since = std::min(now - last_, period);
    last_ = now;
    value_ -= mul_div(value_, since.value, period.value);
    const std::int64_t busy =
        wire_time.value + mul_div(queue_time.value, since.value, period.value);
    value_ += mul_div(busy, kOne, period.value);
    return static_cast<std::uint32_t>(
        std::min<std::int64_t>(value_ >> kFraction, SimPacket::kMaxUtilisation));
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(last_, value_);
    static_assert(sizeof(UtilisationMeter) == 16, "list what is new");
  }

 private:
  static constexpr int kFraction =
      12;  ///< finer than what is reported, so that small shares add up
  static constexpr std::int64_t kOne = std::int64_t{core::Signals::kFullUtilisation} << kFraction;

  Instant last_{};
  std::int64_t value_ = 0;
};

}  // namespace strack::sim
