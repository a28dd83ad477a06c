// Algorithm 3: one window for all paths, steered by queueing delay. Owned by the sender.
//
// ECN alone never cuts it: a marked path is first left (path_selector.h), and only when the average
// over all paths is above target does the window fall. Invariant: min_cwnd <= cwnd <= max_cwnd.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "core/events.h"
#include "transports/strack/params.h"

namespace strack::core {

/// What one ACK says about the network.
struct AckSample {
  bool ecn;
  Picoseconds qdelay;  ///< measured_rtt - base_rtt
  Bytes acked;         ///< newly acknowledged
  Bytes achieved_bdp;  ///< Algorithm 4's newest value
};

/// What one ACK is to steer the window to.
struct WindowAim {
  Picoseconds target;
  Picoseconds once_in{0};  ///< it is cut once in this, as deep as the longest average asks for
  Picoseconds* cut_by =
      nullptr;  ///< the average at the last cut, which the caller keeps; null: once in a base RTT
};

class CongestionWindow {
 public:
  constexpr explicit CongestionWindow(const StrackParams& params)
      : base_rtt_(params.net_base_rtt) {  // [D7]
    set_cwnd(params, params.max_cwnd);    // [P.window] [D8]
  }

  /// [A1.L8-11] Takes one RTT into account and returns the queueing delay it stands for.
  constexpr Picoseconds measured_qdelay(Picoseconds measured_rtt) {
    if (measured_rtt < base_rtt_) base_rtt_ = measured_rtt;  // [A1.L8] [A1.L9] [D7]
    return measured_rtt - base_rtt_;                         // [A1.L11]
  }

  /// [A3.L1] Updates the window for one ACK. O(1).
  template <class Events>
  constexpr void adjust_cwnd(const StrackParams& params, const AckSample& ack, Instant now,
                             Events& events) {
    adjust_cwnd(params, {params.target_qdelay}, ack, now, events);
  }
  /// The same with an aim of the caller's own.
  template <class Events>
  constexpr void adjust_cwnd(const StrackParams& params, const WindowAim& aim, const AckSample& ack,
                             Instant now, Events& events) {
    const Picoseconds target = aim.target;
    const std::uint32_t before = cwnd_packets_;
    const bool can_decrease = now - last_decrease_ts_ > base_rtt_;        // [A3.L2]
    const bool can_fairness_shuffle = now - last_selfai_ts_ > base_rtt_;  // [A3.L3]
    // [A3.L4] [D23] The shift rounds down: the average is at most 8 ps off what real numbers would
    // give.
    avg_qdelay_.value += ((ack.qdelay - avg_qdelay_).value * params.ewma_q16) >> 16;

    if (!ack.ecn && ack.qdelay > params.target_qhigh) {  // [A3.L5] [Q4]
      // Late but unmarked: the queue behind this packet has gone, so refill it.
      increase(
          params, [&] { return params.beta; }, ack.acked, WindowReason::queue_drained,
          events);                                 // [A3.L6] [D3]
    } else if (!ack.ecn && ack.qdelay < target) {  // [A3.L7] [Q1]
      const auto gain = [&] {
        return bytes(
            mul_div(params.alpha.value, (target - ack.qdelay).value, params.net_base_rtt.value));
      };
      increase(params, gain, ack.acked, WindowReason::below_target, events);  // [A3.L8] [D3]
    } else if (can_decrease && avg_qdelay_ > target) {                        // [A3.L9] [Q2] [Q3]
      decrease(params, aim, ack, now, events);                                // [A3.L10-15]
    } else if (is_cut(aim, now)) {
      deepen(params, aim, ack, events);
    }
    if (can_fairness_shuffle) {                                                    // [A3.L18]
      change(params, cwnd_ + params.eta, WindowReason::fairness_shuffle, events);  // [A3.L19]
      last_selfai_ts_ = now;                                                       // [A3.L20]
    }
    STRACK_DCHECK(cwnd_ >= params.min_cwnd && cwnd_ <= params.max_cwnd);
    if (cwnd_packets_ < before && now >= largest_until_) {  // [D61]
      largest_packets_ = before;
      largest_until_ = now + base_rtt_ + ack.qdelay;
    }
  }

  /// No more than so much, and the average begins here: before the first ACK is taken into account.
  constexpr void begin(const StrackParams& params, Bytes most, Picoseconds qdelay) {
    set_cwnd(params, std::min(cwnd_, most));
    avg_qdelay_ = qdelay;
  }

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }  // [A3.L22]
  /// [D24] Whole packets of one MTU.
  [[nodiscard]] constexpr std::uint32_t cwnd_packets() const { return cwnd_packets_; }
  /// [D61] The largest window whose packets may still be under way: what was cut counts for one RTT
  /// more, however often it is cut in that time.
  [[nodiscard]] constexpr std::uint32_t largest_packets(Instant now) const {
    return now < largest_until_ ? std::max(largest_packets_, cwnd_packets_) : cwnd_packets_;
  }
  [[nodiscard]] constexpr Picoseconds base_rtt() const { return base_rtt_; }
  [[nodiscard]] constexpr Picoseconds avg_qdelay() const { return avg_qdelay_; }

 private:
  /// `per_window()` is asked only when there is room to grow: usually there is none, and no
  /// division is spent.
  template <class PerWindow, class Events>
  constexpr void increase(const StrackParams& params, PerWindow&& per_window, Bytes acked,
                          WindowReason reason, Events& events) {
    if (cwnd_ == params.max_cwnd) return;
    const Bytes counted = params.increase_rule == IncreaseRule::per_ack ? params.mtu : acked;
    change(params, cwnd_ + bytes(mul_div(per_window().value, counted.value, cwnd_.value)), reason,
           events);
  }

  template <class Events>
  constexpr void decrease(const StrackParams& params, const WindowAim& aim, const AckSample& ack,
                          Instant now, Events& events) {
    if (ack.qdelay > params.target_qhigh && ack.achieved_bdp < params.max_cwnd / 8) {  // [A3.L10]
      change(params, ack.achieved_bdp, WindowReason::achieved_bdp, events);            // [A3.L11]
      note_cut(aim, now);                                                              // [A3.L12]
    } else if (is_cut(aim, now)) {
      deepen(params, aim, ack, events);
    } else if (ack.qdelay > aim.target) {  // [A3.L13]
      const Picoseconds excess = avg_qdelay_ - aim.target;
      const Bytes cut{mul_div(cwnd_.value, params.gamma.num * excess.value,
                              params.gamma.den * avg_qdelay_.value)};
      change(params, cwnd_ - std::min(cut, cwnd_ / 2), WindowReason::multiplicative,
             events);      // [A3.L14]
      note_cut(aim, now);  // [A3.L15]
    }
  }

  constexpr void note_cut(const WindowAim& aim, Instant now) {
    last_decrease_ts_ = now;
    if (aim.cut_by != nullptr) *aim.cut_by = avg_qdelay_;
  }
  [[nodiscard]] constexpr bool is_cut(const WindowAim& aim, Instant now) const {
    return aim.cut_by != nullptr && now - last_decrease_ts_ <= aim.once_in;
  }
  /// The average is longer than at the last cut: that becomes what it would be now.
  template <class Events>
  constexpr void deepen(const StrackParams& params, const WindowAim& aim, const AckSample& ack,
                        Events& events) {
    const Picoseconds before = std::max(*aim.cut_by, aim.target);
    if (ack.qdelay <= aim.target || avg_qdelay_ <= before) return;
    const std::int64_t num = params.gamma.num;
    const std::int64_t den = params.gamma.den;
    const auto left = [&](Picoseconds delay) {  // of den x delay; at least a half
      return std::max(den * delay.value - num * (delay - aim.target).value,
                      (den * delay.value + 1) / 2);
    };
    const std::int64_t whole = mul_div(cwnd_.value, den * before.value, left(before));
    const Bytes cwnd{mul_div(whole, left(avg_qdelay_), den * avg_qdelay_.value)};
    change(params, std::min(cwnd, cwnd_), WindowReason::multiplicative, events);
    *aim.cut_by = avg_qdelay_;
  }

  template <class Events>
  constexpr void change(const StrackParams& params, Bytes cwnd, WindowReason reason,
                        Events& events) {
    const Bytes before = cwnd_;
    set_cwnd(params, cwnd);
    if (cwnd_ != before) events.on(WindowChanged{before, cwnd_, reason});
  }

  constexpr void set_cwnd(const StrackParams& params, Bytes cwnd) {
    cwnd_ = std::clamp(cwnd, params.min_cwnd, params.max_cwnd);
    cwnd_packets_ = static_cast<std::uint32_t>(std::min<std::int64_t>(cwnd_ / params.mtu, 1 << 30));
  }

  Bytes cwnd_{0};
  Picoseconds base_rtt_;
  Picoseconds avg_qdelay_{0};
  Instant last_decrease_ts_ = Instant::distant_past();
  Instant last_selfai_ts_ = Instant::distant_past();
  std::uint32_t cwnd_packets_ = 0;
  std::uint32_t largest_packets_ = 0;  ///< [D61]
  Instant largest_until_ = Instant::distant_past();
};

}  // namespace strack::core
