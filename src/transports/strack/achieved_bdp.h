// Algorithm 4: how many bytes were acknowledged in the last measuring period.
//
// Under deep congestion this is the window that would just have kept the network busy.
#pragma once

#include "base/units.h"
#include "transports/strack/params.h"

namespace strack::core {

class AchievedBdp {
 public:
  /// [D22] Data starts to flow: measure from here, not from before the pause.
  constexpr void restart(Instant now) {
    rx_count_ = bytes(0);
    rxcount_clear_ts_ = now;
  }

  /// [A4.L1] One ACK's worth. `acked` is nothing for a probe's. Returns the newest complete
  /// measurement.
  constexpr Bytes update(Bytes acked, Picoseconds base_rtt, Picoseconds target_qdelay,
                         Instant now) {
    const bool can_clear_byte = now - rxcount_clear_ts_ > base_rtt + target_qdelay;  // [A4.L2]
    rx_count_ += acked;                                                              // [A4.L3]
    if (can_clear_byte) {                                                            // [A4.L4]
      achieved_bdp_ = rx_count_;                                                     // [A4.L5]
      rx_count_ = bytes(0);                                                          // [A4.L6]
      rxcount_clear_ts_ = now;                                                       // [A4.L7]
    }
    return achieved_bdp_;
  }

  [[nodiscard]] constexpr Bytes value() const { return achieved_bdp_; }

 private:
  Bytes achieved_bdp_{0};
  Bytes rx_count_{0};
  Instant rxcount_clear_ts_{};
};

}  // namespace strack::core
