// DCQCN's rate limiter: one per QP, in integers, and without a timer of its own.
//
// Timed events (an increase, a deferred cut, a step of alpha) are worked off in order of time by
// whoever comes next: a packet that wants to leave, or a CNP. A packet's wait is in proportion to the
// rate, so whenever the rate changes what is left of the wait changes with it. [D31]
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/params.h"

namespace strack::core {

/// [D118] What a limiter would have done to an alpha that it shares with others: steps of g.
struct AlphaNews {
  std::int64_t rises = 0;
  std::int64_t falls = 0;
  constexpr AlphaNews& operator+=(const AlphaNews& other) {
    rises += other.rises;
    falls += other.falls;
    return *this;
  }
};

class Dcqcn {
 public:
  /// Alpha's unit: 1 is 2^30.
  static constexpr std::int64_t kOne = std::int64_t{1} << 30;

  /// [R.dcqcn.start] Line rate, until a CNP comes.
  constexpr explicit Dcqcn(BitsPerSecond line_rate) : rate_(line_rate), target_(line_rate) {}

  /// A CNP has come.
  template <class Events = NoEvents>
  constexpr void on_cnp(const RoceParams& p, Instant now, Events events = {}) {
    if (p.dcqcn.variant == DcqcnVariant::off) return;
    advance(p, now, events);
    if (!active_) {
      active_ = true;
      if (!shares(p.dcqcn)) alpha_ = p.dcqcn.initial_alpha.of(kOne);  // [R.dcqcn.start] [D64]
      increased_ = true;
      alpha_ts_ = now;
      increase_ts_ = now;
      cut_ts_ = now - p.dcqcn.decrease_interval;
    }
    advance_alpha(p.dcqcn, now);
    if (p.dcqcn.variant == DcqcnVariant::paper) {
      cut(p, now, events);  // [R.dcqcn.cut] with the alpha that was
      rise(p.dcqcn);        // [R.dcqcn.alpha]
      alpha_ts_ = now;
      return;
    }
    cnp_seen_ = true;
    if (now - cut_ts_ >= p.dcqcn.decrease_interval) {
      cut(p, now, events);
    } else if (!cut_pending_) {
      cut_pending_ = true;  // [R.dcqcn.cut_interval]
      events.on(RoceReached{RoceRare::cut_deferred});
    }
  }

  /// [R.roce.pacing] When the next packet may leave, as things are now.
  template <class Events = NoEvents>
  [[nodiscard]] constexpr Instant ready(const RoceParams& p, Instant now, Events events = {}) {
    advance(p, now, events);
    return next_send_;
  }

  /// When to ask again after a ready() that was not: a wait may be cut short by an increase.
  [[nodiscard]] constexpr Instant ask_again(const RoceParams& p) const {
    return active_ && (cut_pending_ || !nothing_to_gain(p))
               ? std::min(next_send_, increase_ts_ + p.dcqcn.increase_timer)
               : next_send_;
  }

  /// So many bytes are going onto the wire.
  template <class Events = NoEvents>
  constexpr void on_sent(const RoceParams& p, Bytes size, Instant now, Events events = {}) {
    advance(p, now, events);
    const Picoseconds time = size / rate_;
    next_send_ = std::max(next_send_, now - time) + time;  // [R.roce.pacing]
    if (!active_ || p.dcqcn.byte_counter == bytes(0)) return;
    sent_ += size;
    while (sent_ >= p.dcqcn.byte_counter) {  // [R.dcqcn.bytes]
      sent_ -= p.dcqcn.byte_counter;
      increase(p, now, events);
      byte_events_ = std::min(byte_events_ + 1, kMostEvents);
    }
  }

  /// What may be sent at, now.
  template <class Events = NoEvents>
  [[nodiscard]] constexpr BitsPerSecond rate(const RoceParams& p, Instant now, Events events = {}) {
    advance(p, now, events);
    return rate_;
  }

  /// [D118] With an alpha of all flows: what it is, and what this one would have done to it since.
  constexpr void adopt(std::int64_t alpha) { alpha_ = alpha; }
  [[nodiscard]] constexpr AlphaNews take_news() {
    const AlphaNews news{rises_, falls_};
    rises_ = 0;
    falls_ = 0;
    return news;
  }

  [[nodiscard]] constexpr BitsPerSecond target() const { return target_; }
  [[nodiscard]] constexpr std::int64_t alpha() const { return alpha_; }
  [[nodiscard]] constexpr bool active() const { return active_; }
  [[nodiscard]] constexpr bool cut_pending() const { return cut_pending_; }
  [[nodiscard]] constexpr std::uint32_t timer_events() const { return timer_events_; }
  [[nodiscard]] constexpr std::uint32_t byte_events() const { return byte_events_; }

 private:
  /// Counts stop here: far beyond where they still make a difference.
  static constexpr std::uint32_t kMostEvents = 1u << 20;

  /// Works off what has become due. At one instant a cut comes before an increase.
  template <class Events>
  constexpr void advance(const RoceParams& p, Instant now, Events events) {
    if (!active_) return;
    if (shares(p.dcqcn)) [[unlikely]]
      advance_alpha(p.dcqcn, now);  // others wait for it
    while (true) {
      const Instant cut_at = cut_pending_ ? cut_ts_ + p.dcqcn.decrease_interval : Instant::never();
      const Instant increase_at = increase_ts_ + p.dcqcn.increase_timer;
      if (std::min(cut_at, increase_at) > now) return;
      if (cut_at <= increase_at) {
        cut(p, cut_at, events);
        continue;
      }
      if (!cut_pending_ && nothing_to_gain(p)) {
        // A long silence is passed over in one step.
        const std::int64_t passed = (now - increase_ts_) / p.dcqcn.increase_timer;
        increase_ts_ = increase_ts_ + p.dcqcn.increase_timer * passed;
        timer_events_ =
            static_cast<std::uint32_t>(std::min<std::int64_t>(timer_events_ + passed, kMostEvents));
        increased_ = true;
        return;
      }
      increase_ts_ = increase_at;  // [R.dcqcn.timer]
      increase(p, increase_at, events);
      increased_ = true;  // [R.dcqcn.target]
      timer_events_ = std::min(timer_events_ + 1, kMostEvents);
    }
  }

  /// An increase would change neither rate nor target.
  [[nodiscard]] constexpr bool nothing_to_gain(const RoceParams& p) const {
    const bool target_stays =
        target_ == p.line_rate || (p.dcqcn.rate_ai.value == 0 && p.dcqcn.rate_hai.value == 0);
    return target_stays && rate_ >= target_ - BitsPerSecond{1};
  }

  /// [R.dcqcn.alpha] The periods that have passed: in the NICs' variant the first has seen a CNP or
  /// not, the others have not; in the paper's variant none has.
  constexpr void advance_alpha(const DcqcnParams& d, Instant now) {
    std::int64_t periods = (now - alpha_ts_) / d.alpha_timer;
    if (periods <= 0) return;
    alpha_ts_ = alpha_ts_ + d.alpha_timer * periods;
    if (cnp_seen_) {
      cnp_seen_ = false;
      rise(d);
      --periods;
    }
    if (shares(d)) [[unlikely]] {
      falls_ += static_cast<std::uint32_t>(std::min<std::int64_t>(periods, kMostEvents));
      return;
    }
    for (; periods > 0; --periods) {
      const std::int64_t step = d.g.of(alpha_);
      if (step == 0) break;  // it moves no more
      alpha_ -= step;
    }
  }

  [[nodiscard]] static constexpr bool shares(const DcqcnParams& d) {
    return d.shared_alpha > ps(0);
  }
  constexpr void rise(const DcqcnParams& d) {
    if (shares(d)) [[unlikely]] {
      ++rises_;
    } else {
      alpha_ += d.g.of(kOne - alpha_);
    }
  }

  /// [R.dcqcn.cut]
  template <class Events>
  constexpr void cut(const RoceParams& p, Instant now, Events events) {
    advance_alpha(p.dcqcn, now);
    if (p.dcqcn.variant == DcqcnVariant::paper || increased_) {
      target_ = rate_;
    } else {
      events.on(RoceReached{RoceRare::target_kept});  // [R.dcqcn.target]
    }
    BitsPerSecond lower = rate_ - BitsPerSecond{mul_div(rate_.value, alpha_, 2 * kOne)};
    if (lower < p.dcqcn.min_rate) {
      lower = p.dcqcn.min_rate;  // [R.dcqcn.bounds]
      events.on(RoceReached{RoceRare::least_rate});
    }
    set_rate(lower, now);
    timer_events_ = 0;
    byte_events_ = 0;
    sent_ = bytes(0);
    increase_ts_ = now;
    cut_ts_ = now;
    cut_pending_ = false;
    increased_ = false;
    events.on(RateChanged{rate_, target_});
  }

  /// One increase event; the caller counts it afterwards.
  template <class Events>
  constexpr void increase(const RoceParams& p, Instant now, Events events) {
    const DcqcnParams& d = p.dcqcn;
    const bool both = d.byte_counter > bytes(0);
    const std::uint32_t most = both ? std::max(timer_events_, byte_events_) : timer_events_;
    const std::uint32_t least = both ? std::min(timer_events_, byte_events_) : timer_events_;
    if (most >= d.fast_recovery) {    // [R.dcqcn.fast]
      if (least > d.fast_recovery) {  // [R.dcqcn.hyper]
        const std::int64_t steps = d.variant == DcqcnVariant::paper ? least - d.fast_recovery : 1;
        const std::int64_t room = d.rate_hai.value == 0 ? 0 : p.line_rate / d.rate_hai + 1;
        target_ += d.rate_hai * std::min(steps, room);
        events.on(RoceReached{RoceRare::hyper_increase});
      } else {
        target_ += d.rate_ai;  // [R.dcqcn.additive]
      }
      target_ = std::min(target_, p.line_rate);  // [R.dcqcn.bounds]
    }
    set_rate((target_ + rate_) / 2, now);
    events.on(RateChanged{rate_, target_});
  }

  /// [R.roce.pacing] What is left of a wait is the longer the lower the rate.
  constexpr void set_rate(BitsPerSecond rate, Instant now) {
    if (next_send_ > now)
      next_send_ = now + ps(mul_div((next_send_ - now).value, rate_.value, rate.value));
    rate_ = rate;
  }

  BitsPerSecond rate_;
  BitsPerSecond target_;
  Instant next_send_{};
  std::int64_t alpha_ = kOne;
  Instant alpha_ts_{};     ///< when alpha's running period began
  Instant increase_ts_{};  ///< when the increase timer's did
  Instant cut_ts_{};       ///< the last cut
  Bytes sent_{0};          ///< since the byte counter's last event
  std::uint32_t timer_events_ = 0;
  std::uint32_t byte_events_ = 0;
  std::uint32_t rises_ = 0;  ///< [D118] of an alpha that it shares, since they were last taken
  std::uint32_t falls_ = 0;
  bool active_ = false;       ///< a CNP has come
  bool cnp_seen_ = false;     ///< in alpha's running period
  bool cut_pending_ = false;  ///< when the interval since the last one is over
  bool increased_ = false;    ///< by the timer, since the last cut
};

}  // namespace strack::core
