// SMaRTT's congestion control: marks and delay together decide, for each acknowledgement. (arXiv 2404.01630)
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/window/control.h"
#include "core/window/growth.h"
#include "transports/smartt/params.h"

namespace strack::core {

class SmarttControl {
 public:
  /// The share of marks is a fraction of this.
  static constexpr std::int64_t kOne = std::int64_t{1} << 20;

  constexpr explicit SmarttControl(const SmarttParams& params)
      : cwnd_(params.max_cwnd), fast_after_(params.max_cwnd) {}  // [SMARTT.start]

  constexpr void on_ack(const SmarttParams& params, const AckNews& ack, Instant now) {
    marks_ += params.wtd_weight.of((ack.ecn ? kOne : 0) - marks_);  // [SMARTT.wtd]
    acked_ += ack.acked;
    if (quick_adapt(params, ack.inflight, now)) return;
    if (ignored_ < to_ignore_) {  // [SMARTT.adapt.ignore]
      ignored_ += ack.acked;
      if (ack.ecn) return;
    }
    if (ack.acked == bytes(0) || fast_increase(params, ack)) return;
    if (ack.ecn) {
      if (marks_ > params.wtd_threshold.of(kOne)) decrease(params, ack);  // [SMARTT.wtd]
    } else {
      increase(params, ack);
    }
  }

  /// [SMARTT.trim] [SMARTT.loss] What did not fit leaves the window, which soon falls to what does.
  constexpr void on_loss(const SmarttParams& params, const LossNews& loss, Instant now) {
    set(params, cwnd_ - loss.lost);
    adapt_wanted_ = true;
    end_fast_increase();
    quick_adapt(params, loss.inflight, now);
  }

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }
  [[nodiscard]] static constexpr Picoseconds pacing(const SmarttParams&, Bytes) { return ps(0); }
  [[nodiscard]] constexpr std::int64_t marks() const { return marks_; }

 private:
  /// [SMARTT.adapt] At the end of a period in which something was lost the window becomes what was delivered.
  constexpr bool quick_adapt(const SmarttParams& params, Bytes inflight, Instant now) {
    if (now < period_end_) return false;
    const bool fires = adapt_wanted_ && period_end_ != Instant{};
    if (fires) {
      set(params, acked_);
      adapt_wanted_ = false;
      to_ignore_ = inflight;
      ignored_ = bytes(0);
    }
    period_end_ = now + params.adapt_period;
    acked_ = bytes(0);
    return fires;
  }

  /// [SMARTT.fast] [SMARTT.fast.end] After a window without marks and queues, in steps, until one of them shows.
  constexpr bool fast_increase(const SmarttParams& params, const AckNews& ack) {
    if (ack.ecn || ack.rtt - params.base_rtt > params.fast_delay) {
      end_fast_increase();
      return false;
    }
    fast_acked_ += ack.acked;
    if (fast_acked_ <= fast_after_) return false;
    set(params, cwnd_ + params.fast_step * ack.acked);
    return true;
  }
  constexpr void end_fast_increase() {
    fast_acked_ = bytes(0);
    fast_after_ = cwnd_;
  }

  constexpr void increase(const SmarttParams& params, const AckNews& ack) {
    if (ack.rtt > ps(0) && ack.rtt < params.target_rtt) {  // [SMARTT.increase.proportional]
      const Bytes packets = params.proportional * params.mtu;
      const Bytes per_window{
          mul_div(packets.value, (params.target_rtt - ack.rtt).value, ack.rtt.value)};
      set(params, cwnd_ + std::min(ack.acked, proportional_.take(per_window, ack.acked, cwnd_)));
    }
    // [SMARTT.increase.fair]
    set(params, cwnd_ + fair_.take(params.fair_increase * params.bdp, ack.acked, cwnd_));
  }

  constexpr void decrease(const SmarttParams& params, const AckNews& ack) {
    // [SMARTT.decrease.fair]
    Bytes cut =
        params.fair_decrease * bytes(mul_div(ack.acked.value, cwnd_.value, params.bdp.value));
    if (ack.rtt > params.target_rtt) {  // [SMARTT.decrease.multiplicative]
      cut += params.multiplicative *
             bytes(mul_div(ack.acked.value, (ack.rtt - params.target_rtt).value, ack.rtt.value));
      cut = std::min(cut, ack.acked);
    }
    set(params, cwnd_ - cut);
  }

  constexpr void set(const SmarttParams& params, Bytes cwnd) {
    cwnd_ = std::clamp(cwnd, params.min_cwnd, params.max_cwnd);  // [SMARTT.bounds]
  }

  Bytes cwnd_;
  std::int64_t marks_ = 0;
  Bytes acked_{0};  ///< in this period
  Bytes to_ignore_{0};
  Bytes ignored_{0};
  Bytes fast_acked_{0};  ///< since the last mark or queue
  Bytes fast_after_;     ///< the window then
  Instant period_end_{};
  WindowGrowth proportional_{};
  WindowGrowth fair_{};
  bool adapt_wanted_ = false;
};

}  // namespace strack::core
