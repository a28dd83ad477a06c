// Swift's congestion control: the window follows the round-trip delay to a target. (SIGCOMM 2020)
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/window/control.h"
#include "core/window/growth.h"
#include "transports/swift/params.h"

namespace strack::core {

class SwiftControl {
 public:
  constexpr explicit SwiftControl(const SwiftParams& params)
      : cwnd_(params.init_cwnd), rtt_(params.base_rtt) {}  // [SWIFT.start]

  constexpr void on_ack(const SwiftParams& params, const AckNews& ack, Instant now) {
    if (ack.rtt <= ps(0)) return;  // below the clock's tick: no delay at all
    rtt_ = ack.rtt;
    const Picoseconds target = target_delay(params, ack.hops);
    if (ack.rtt < target) {
      if (cwnd_ >= params.mtu) {  // [SWIFT.increase]
        set(params, cwnd_ + growth_.take(params.ai_bytes, ack.acked, cwnd_));
      } else {  // [SWIFT.increase.small]
        set(params, cwnd_ + params.ai * ack.acked);
      }
    } else if (can_decrease(now)) {  // [SWIFT.decrease] [SWIFT.decrease.most]
      const std::int64_t most = params.max_mdf.of(cwnd_.value);
      const std::int64_t cut =
          mul_div(params.beta.of(cwnd_.value), (ack.rtt - target).value, ack.rtt.value);
      decrease(params, bytes(std::min(cut, most)), now);
    }
  }

  constexpr void on_loss(const SwiftParams& params, const LossNews& loss, Instant now) {
    const bool timeout = loss.sign == LossSign::timeout;
    if (timeout && loss.timeouts >= params.retx_reset) {  // [SWIFT.timeout.reset]
      decrease(params, cwnd_, now);
    } else if (can_decrease(now)) {  // [SWIFT.loss] [SWIFT.timeout]
      decrease(params, params.max_mdf * cwnd_, now);
    }
  }

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }

  /// [SWIFT.pace] Less than a packet per RTT: one each so many RTTs.
  [[nodiscard]] constexpr Picoseconds pacing(const SwiftParams& params, Bytes /*payload*/) const {
    if (cwnd_ >= params.mtu) return ps(0);
    return ps(mul_div(rtt_.value, params.mtu.value, cwnd_.value));
  }

  /// [SWIFT.target] [SWIFT.target.hops] [SWIFT.target.flows]
  [[nodiscard]] constexpr Picoseconds target_delay(const SwiftParams& params,
                                                   std::uint8_t hops) const {
    const std::int64_t inverse = SwiftParams::inverse_sqrt(cwnd_.value, params.mtu.value);
    const Picoseconds flows = ps(mul_div(params.fs_alpha.value, inverse, 65'536)) + params.fs_beta;
    return params.base_target + std::int64_t{hops} * params.hop_target +
           std::clamp(flows, ps(0), params.fs_range);
  }

 private:
  /// [SWIFT.decrease.once] Once per RTT.
  [[nodiscard]] constexpr bool can_decrease(Instant now) const {
    return now - last_decrease_ >= rtt_;
  }
  constexpr void decrease(const SwiftParams& params, Bytes cut, Instant now) {
    set(params, cwnd_ - cut);
    last_decrease_ = now;
  }
  constexpr void set(const SwiftParams& params, Bytes cwnd) {
    cwnd_ = std::clamp(cwnd, params.min_cwnd, params.max_cwnd);  // [SWIFT.bounds]
  }

  Bytes cwnd_;
  Picoseconds rtt_;  ///< the newest
  Instant last_decrease_ = Instant::distant_past();
  WindowGrowth growth_{};
};

}  // namespace strack::core
