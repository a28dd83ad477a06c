// NSCC: one window for all paths, steered by marks and queueing delay. Owned by the sender.
//
// Four cases by mark and delay: marks without delay are for the path policy, delay without marks is a
// queue that has drained. Increases are collected and applied once in a while. A window that delivers far
// less than it should falls to what it delivered (quick adapt). Invariant: mtu <= cwnd <= max_cwnd.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "transports/uet/params.h"

namespace strack::core {

class NsccWindow {
 public:
  /// What one acknowledgement says.
  struct Sample {
    bool ecn = false;
    bool timed = true;  ///< `delay` is known
    Picoseconds delay{0};
    Bytes acked{0};     ///< newly
    Bytes inflight{0};  ///< without them
  };

  constexpr explicit NsccWindow(const UetParams& params)
      : cwnd_(params.max_cwnd), max_cwnd_(params.max_cwnd), base_rtt_(params.net_base_rtt) {}

  /// [NSCC.base_rtt] Takes one RTT into account and returns the queueing delay that it stands for.
  constexpr Picoseconds measured_delay(const UetParams& params, Picoseconds rtt) {
    if (rtt < base_rtt_) {
      base_rtt_ = rtt;
      max_cwnd_ = std::max(
          params.mtu, bytes(mul_div(params.max_cwnd.value, rtt.value, params.net_base_rtt.value)));
      cwnd_ = std::min(cwnd_, max_cwnd_);
    }
    return rtt - base_rtt_;
  }

  /// [NSCC.ack]
  constexpr void on_ack(const UetParams& params, const Sample& ack, Instant now) {
    achieved_ += ack.acked;
    received_ += ack.acked;
    ignored_ += ack.acked;
    if (!ack.timed) return;
    // [NSCC.average.late] A late packet without a mark tells of a queue that is gone.
    const bool late = params.damp_late && !ack.ecn && ack.delay > params.target_qdelay;
    feed_average(params, late ? base_rtt_ / 4 : ack.delay);
    if (quick_adapt(params, false, ack.ecn, ack.delay, ack.inflight, now)) return;
    if (ack.ecn) {
      if (ack.delay >= params.target_qdelay) decrease(params, now);  // [NSCC.quadrants]
    } else if (ack.delay >= params.target_qdelay) {
      increase_ += params.fi.value * ack.acked.value;  // [NSCC.increase.fair]
    } else if (!fast_increase(params, ack)) {
      increase_ +=
          mul_div(params.alpha.value * ack.acked.value, (params.target_qdelay - ack.delay).value,
                  params.target_qdelay.value);  // [NSCC.increase.proportional]
    }
    if (received_ > params.adjust_bytes || now - adjusted_ > params.adjust_period)
      fulfil(params, now);
    clamp(params);
  }

  /// [NSCC.nack] A packet of `size` was trimmed. `keep`: the receiver's credit deals with it.
  constexpr void on_nack(const UetParams& params, Bytes size, Bytes inflight, bool keep,
                         Instant now) {
    feed_average(params, params.net_base_rtt);
    ignored_ += size;
    trigger_ = true;
    if (quick_adapt(params, true, false, ps(0), inflight, now) || keep) return;
    cwnd_ -= size;
    clamp(params);
  }

  /// [NSCC.timeout]
  constexpr void on_loss(const UetParams& params, Bytes size) {
    cwnd_ -= size;
    clamp(params);
  }

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }
  [[nodiscard]] constexpr Bytes max_cwnd() const { return max_cwnd_; }
  [[nodiscard]] constexpr Picoseconds base_rtt() const { return base_rtt_; }
  [[nodiscard]] constexpr Picoseconds avg_delay() const { return avg_delay_; }

 private:
  constexpr void clamp(const UetParams& params) {
    cwnd_ = std::clamp(cwnd_, params.mtu, max_cwnd_);
  }

  /// [NSCC.average]
  constexpr void feed_average(const UetParams& params, Picoseconds delay) {
    avg_delay_.value += ((delay - avg_delay_).value * params.ewma_q16) >> 16;
  }

  /// [NSCC.fast] Nothing but empty queues for a window's worth of bytes: there is room for more.
  constexpr bool fast_increase(const UetParams& params, const Sample& ack) {
    if (ack.delay >= params.fast_delay) {
      fast_bytes_ = bytes(0);
      fast_ = false;
      return false;
    }
    fast_bytes_ += ack.acked;
    if (fast_bytes_ > cwnd_) fast_ = true;
    if (!fast_) return false;
    cwnd_ += params.fi_scale * ack.acked;
    return true;
  }

  /// [NSCC.decrease]
  constexpr void decrease(const UetParams& params, Instant now) {
    fast_bytes_ = bytes(0);
    fast_ = false;
    if (avg_delay_ <= params.target_qdelay || now - decreased_ <= base_rtt_) return;
    const Picoseconds excess = avg_delay_ - params.target_qdelay;
    const Bytes cut{
        mul_div(cwnd_.value, params.gamma.num * excess.value, params.gamma.den * avg_delay_.value)};
    cwnd_ -= std::min(cut, params.max_md_jump * cwnd_);
    decreased_ = now;
  }

  /// [NSCC.fulfil] What was collected since the last time, and [NSCC.eta] a little for fairness.
  constexpr void fulfil(const UetParams& params, Instant now) {
    cwnd_ += bytes(increase_ / cwnd_.value);
    if (now - eta_added_ >= params.adjust_period) {
      cwnd_ += params.eta;
      eta_added_ = now;
    }
    increase_ = 0;
    received_ = bytes(0);
    adjusted_ = now;
  }

  /// [NSCC.adapt] True when it has changed the window, or when this acknowledgement is of what was sent
  /// before it did.
  constexpr bool quick_adapt(const UetParams& params, bool loss, bool ecn, Picoseconds delay,
                             Bytes inflight, Instant now) {
    bool done = false;
    if (ignored_ < to_ignore_ && (ecn || loss)) {  // [NSCC.adapt.ignore]
      done = true;
    } else if (now > adapt_at_) {
      const bool bad = trigger_ || loss || delay > params.qa_threshold;  // [NSCC.adapt.delay]
      // [NSCC.adapt.gate]
      if (adapting_ && bad && achieved_ < bytes(max_cwnd_.value >> params.qa_gate)) {
        cwnd_ = std::max(achieved_, params.mtu);
        to_ignore_ = inflight;
        ignored_ = bytes(0);
        trigger_ = false;
        done = true;
      }
      achieved_ = bytes(0);
      adapting_ = true;
      adapt_at_ = now + base_rtt_ + params.target_qdelay;  // [NSCC.adapt.period]
    }
    if (done) {
      increase_ = 0;
      received_ = bytes(0);
    }
    return done;
  }

  Bytes cwnd_;
  Bytes max_cwnd_;
  Picoseconds base_rtt_;
  Picoseconds avg_delay_{0};
  std::int64_t increase_ = 0;  ///< collected, in bytes x bytes: over cwnd it is a step
  Bytes received_{0};          ///< since increases were last applied
  Bytes achieved_{0};          ///< since quick adapt last looked
  Bytes fast_bytes_{0};
  Bytes ignored_{0};
  Bytes to_ignore_{0};
  Instant adapt_at_{};
  Instant adjusted_ = Instant::distant_past();
  Instant eta_added_ = Instant::distant_past();
  Instant decreased_ = Instant::distant_past();
  bool fast_ = false;
  bool trigger_ = false;
  bool adapting_ = false;  ///< a first period has begun
};

}  // namespace strack::core
