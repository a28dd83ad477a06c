// DCTCP's congestion control: the window is cut by the share of marked bytes. RFC 8257, and the TCP below it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/window/control.h"
#include "core/window/growth.h"
#include "transports/dctcp/params.h"

namespace strack::core {

class DctcpControl {
 public:
  /// Alpha is a fraction of this.
  static constexpr std::int64_t kOne = std::int64_t{1} << 30;

  constexpr explicit DctcpControl(const DctcpParams& params)
      : cwnd_(params.init_cwnd),                 // [DCTCP.start]
        ssthresh_(params.trackable()),           // [DCTCP.slow_start]
        alpha_(params.initial_alpha.of(kOne)) {  // [DCTCP.alpha.start]
  }

  constexpr void on_ack(const DctcpParams& params, const AckNews& ack, Instant /*now*/) {
    if (!started_) {  // [DCTCP.window] nothing has been acknowledged before
      started_ = true;
      window_end_ = cut_end_ = ack.epsn - 1u;
    }
    bytes_acked_ += ack.acked;
    if (ack.ecn) bytes_marked_ += ack.acked;              // [DCTCP.echo]
    if (ack.epsn > window_end_) end_window(params, ack);  // [DCTCP.window]
    if (!ack.ecn) {
      grow(params, ack.acked);
    } else if (ack.epsn > cut_end_) {  // [DCTCP.decrease] [DCTCP.decrease.once]
      set(params, cwnd_ - bytes(mul_div(cwnd_.value, alpha_, 2 * kOne)));
      ssthresh_ = cwnd_;
      cut_end_ = ack.psn_next;
    } else {  // [DCTCP.increase.marked] [DCTCP.slow_start.end]
      ssthresh_ = std::min(ssthresh_, cwnd_);
    }
  }

  /// [DCTCP.loss] [DCTCP.timeout] As TCP does.
  constexpr void on_loss(const DctcpParams& params, const LossNews& loss, Instant /*now*/) {
    const bool timeout = loss.sign == LossSign::timeout;
    if (!timeout && !loss.first) return;
    ssthresh_ = std::max(cwnd_ / 2, 2 * params.mtu);
    set(params, timeout ? params.min_cwnd : ssthresh_);
  }

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }
  [[nodiscard]] static constexpr Picoseconds pacing(const DctcpParams&, Bytes) { return ps(0); }
  [[nodiscard]] constexpr std::int64_t alpha() const { return alpha_; }
  [[nodiscard]] constexpr Bytes ssthresh() const { return ssthresh_; }

 private:
  constexpr void grow(const DctcpParams& params, Bytes acked) {
    if (cwnd_ < ssthresh_) {  // [DCTCP.slow_start]
      set(params, std::min(cwnd_ + acked, std::max(ssthresh_, cwnd_)));
    } else {  // [DCTCP.increase]
      set(params, cwnd_ + growth_.take(params.increase, acked, cwnd_));
    }
  }

  /// [DCTCP.window] All that was in flight when it began is acknowledged.
  constexpr void end_window(const DctcpParams& params, const AckNews& ack) {
    if (bytes_acked_ > bytes(0)) {  // [DCTCP.alpha]
      const std::int64_t marked = mul_div(bytes_marked_.value, kOne, bytes_acked_.value);
      alpha_ += params.g.of(marked) - params.g.of(alpha_);
    }
    window_end_ = ack.psn_next;
    bytes_acked_ = bytes_marked_ = bytes(0);
  }

  constexpr void set(const DctcpParams& params, Bytes cwnd) {
    cwnd_ = std::clamp(cwnd, params.min_cwnd, params.trackable());  // [DCTCP.floor]
  }

  Bytes cwnd_;
  Bytes ssthresh_;
  std::int64_t alpha_;
  WindowGrowth growth_{};
  Bytes bytes_acked_{0};
  Bytes bytes_marked_{0};
  Psn window_end_;
  Psn cut_end_;  ///< what was sent by the last cut is below it
  bool started_ = false;
};

}  // namespace strack::core
