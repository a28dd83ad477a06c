// A rate limiter that works its events off late against a model that has a timer for each and works
// every event off at its time, one by one, in 128-bit arithmetic: bit for bit the same under any
// parameters and any sequence of CNPs, bytes and silences. [D31]
#include "transports/rocev2/dcqcn.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/fuzz_input.h"

namespace strack::core {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 30;

/// The rules of the specification as they are written.
class Model {
 public:
  explicit Model(const RoceParams& params)
      : p_(params), rate_(params.line_rate.count()), target_(params.line_rate.count()) {}

  /// Every timer that expires up to `now`. At one instant alpha comes first, then the cut, then the
  /// increase.
  void run_until(std::int64_t now) {
    while (active_) {
      const std::int64_t alpha_at = alpha_start_ + p_.dcqcn.alpha_timer.count();
      const std::int64_t increase_at = increase_start_ + p_.dcqcn.increase_timer.count();
      const std::int64_t cut_at = last_cut_ + p_.dcqcn.decrease_interval.count();
      std::int64_t next = std::min(alpha_at, increase_at);
      if (cut_waits_) next = std::min(next, cut_at);
      if (next > now) return;
      ++work;
      if (alpha_at == next) {
        alpha_timer();
        alpha_start_ = next;
      } else if (cut_waits_ && cut_at == next) {
        cut(next);
      } else {
        increase_start_ = next;
        increase(next);
        ++timer_events_;
        timer_since_cut_ = true;
      }
    }
  }

  // [R.dcqcn.start] [R.dcqcn.cut] [R.dcqcn.cut_interval] [R.dcqcn.alpha]
  void on_cnp(std::int64_t now) {
    run_until(now);
    if (p_.dcqcn.variant == DcqcnVariant::off) return;
    const bool first = !active_;
    if (first) {
      active_ = true;
      alpha_start_ = now;
    }
    if (p_.dcqcn.variant == DcqcnVariant::paper) {
      cut(now);
      alpha_ += part(kOne - alpha_);
      alpha_start_ = now;
      return;
    }
    alpha_saw_cnp_ = true;
    if (first || now - last_cut_ >= p_.dcqcn.decrease_interval.count()) {
      cut(now);
    } else {
      cut_waits_ = true;
    }
  }

  // [R.dcqcn.bytes] [R.roce.pacing]
  void on_sent(std::int64_t size, std::int64_t now) {
    run_until(now);
    const auto time =
        static_cast<std::int64_t>(static_cast<Int128>(size) * 8'000'000'000'000 / rate_);
    next_send_ = std::max(next_send_ + time, now);
    if (!active_ || p_.dcqcn.byte_counter == bytes(0)) return;
    sent_ += size;
    for (; sent_ >= p_.dcqcn.byte_counter.count(); sent_ -= p_.dcqcn.byte_counter.count()) {
      increase(now);
      ++byte_events_;
      ++work;
    }
  }

  void check_same(const Dcqcn& limiter, std::int64_t now) {
    run_until(now);
    Dcqcn ours = limiter;  // looking must not make it work anything off
    STRACK_CHECK_OP(ours.rate(p_, {now}).count(), ==, rate_);
    STRACK_CHECK_OP(ours.ready(p_, {now}).ps, ==, next_send_);
    STRACK_CHECK_OP(ours.target().count(), ==, target_);
    STRACK_CHECK_OP(ours.timer_events(), ==, timer_events_);
    STRACK_CHECK_OP(ours.byte_events(), ==, byte_events_);
    STRACK_CHECK_OP(ours.active(), ==, active_);
    STRACK_CHECK_OP(ours.cut_pending(), ==, cut_waits_);
    // [R.dcqcn.bounds]
    STRACK_CHECK_OP(rate_, >=, p_.dcqcn.min_rate.count());
    STRACK_CHECK_OP(rate_, <=, target_);
    STRACK_CHECK_OP(target_, <=, p_.line_rate.count());
  }
  /// Just after a CNP alpha is up to date.
  void check_same_alpha(const Dcqcn& limiter) const {
    STRACK_CHECK_OP(limiter.alpha(), ==, alpha_);
    STRACK_CHECK_OP(alpha_, >=, 0);
    STRACK_CHECK_OP(alpha_, <=, kOne);
  }

  /// When something will happen by itself, or now.
  [[nodiscard]] std::int64_t next_event(std::uint8_t which, std::int64_t now) const {
    const std::int64_t times[] = {alpha_start_ + p_.dcqcn.alpha_timer.count(),
                                  increase_start_ + p_.dcqcn.increase_timer.count(),
                                  last_cut_ + p_.dcqcn.decrease_interval.count()};
    return std::max(now, times[which % 3]);
  }

  std::int64_t work = 0;  ///< events so far

 private:
  [[nodiscard]] std::int64_t part(std::int64_t value) const {
    return static_cast<std::int64_t>(static_cast<Int128>(value) * p_.dcqcn.g.num / p_.dcqcn.g.den);
  }

  // [R.dcqcn.alpha]
  void alpha_timer() {
    if (alpha_saw_cnp_) {
      alpha_ += part(kOne - alpha_);
    } else {
      alpha_ -= part(alpha_);
    }
    alpha_saw_cnp_ = false;
  }

  // [R.dcqcn.cut] [R.dcqcn.target] [R.dcqcn.bounds]
  void cut(std::int64_t now) {
    if (p_.dcqcn.variant == DcqcnVariant::paper || timer_since_cut_) target_ = rate_;
    const auto lower =
        static_cast<std::int64_t>(rate_ - static_cast<Int128>(rate_) * alpha_ / (2 * kOne));
    change_rate(std::max(lower, p_.dcqcn.min_rate.count()), now);
    timer_events_ = byte_events_ = 0;
    timer_since_cut_ = false;
    sent_ = 0;
    increase_start_ = last_cut_ = now;
    cut_waits_ = false;
  }

  // [R.dcqcn.fast] [R.dcqcn.additive] [R.dcqcn.hyper] [R.dcqcn.bounds]
  void increase(std::int64_t now) {
    const std::int64_t f = p_.dcqcn.fast_recovery;
    const bool one_counter = p_.dcqcn.byte_counter == bytes(0);
    const std::int64_t larger = one_counter ? timer_events_ : std::max(timer_events_, byte_events_);
    const std::int64_t smaller =
        one_counter ? timer_events_ : std::min(timer_events_, byte_events_);
    Int128 target = target_;
    if (larger < f) {
      // fast recovery
    } else if (smaller > f) {
      const std::int64_t times = p_.dcqcn.variant == DcqcnVariant::paper ? smaller - f : 1;
      target += static_cast<Int128>(times) * p_.dcqcn.rate_hai.count();
    } else {
      target += p_.dcqcn.rate_ai.count();
    }
    target_ = static_cast<std::int64_t>(std::min<Int128>(target, p_.line_rate.count()));
    change_rate((target_ + rate_) / 2, now);
  }

  // [R.roce.pacing] A wait under way goes on at the new rate.
  void change_rate(std::int64_t rate, std::int64_t now) {
    const std::int64_t left = next_send_ - now;
    if (left > 0)
      next_send_ = now + static_cast<std::int64_t>(static_cast<Int128>(left) * rate_ / rate);
    rate_ = rate;
  }

  const RoceParams& p_;
  std::int64_t rate_;
  std::int64_t target_;
  std::int64_t alpha_ = kOne;
  std::int64_t alpha_start_ = 0;
  std::int64_t increase_start_ = 0;
  std::int64_t last_cut_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t timer_events_ = 0;
  std::int64_t byte_events_ = 0;
  std::int64_t next_send_ = 0;
  bool active_ = false;
  bool alpha_saw_cnp_ = false;
  bool cut_waits_ = false;
  bool timer_since_cut_ = false;  ///< an increase by the timer
};

/// Nobody who waits until ask_again() waits too long: just before it, no packet may leave.
void check_ask_again(const Dcqcn& limiter, const RoceParams& params, std::int64_t now) {
  Dcqcn ours = limiter;
  if (ours.ready(params, {now}) <= Instant{now}) return;
  const Instant again = ours.ask_again(params);
  STRACK_CHECK_OP(again.ps, >, now);
  STRACK_CHECK(ours.ready(params, again - ps(1)) >= again);
}

RoceParams any_params(FuzzInput& input) {
  const BitsPerSecond line =
      input.one_of(gbps(400), gbps(40), gbps(1), gbps(100'000), gbps(1) + BitsPerSecond{12'345});
  const DcqcnSet set = input.one_of(DcqcnSet::hpcc_ns3, DcqcnSet::paper2015, DcqcnSet::nic_default,
                                    DcqcnSet::off, DcqcnSet::uet_htsim);
  RoceParams params = RoceParams::for_link(line, us(8), bytes(4'096), set).value();
  if (input.flag()) return params;
  DcqcnParams& d = params.dcqcn;
  d.variant =
      input.one_of(DcqcnVariant::nic, DcqcnVariant::paper, DcqcnVariant::paper, DcqcnVariant::off);
  d.g = input.one_of(Ratio{1, 256}, Ratio{5, 1'024}, Ratio{0, 1}, Ratio{1, 1}, Ratio{1, 2},
                     Ratio{1, 1'000'000}, Ratio{999'999, 1'000'000});
  d.alpha_timer = input.one_of(us(1), us(55), us(300), us(4), us(1) + ps(1));
  d.decrease_interval = input.one_of(us(4), ps(0), us(1), us(300), us(900), us(7) + ps(7));
  d.increase_timer = input.one_of(us(300), us(4), us(1), us(55), us(2) + ps(1));
  d.byte_counter = input.one_of(bytes(0), bytes(32'767), bytes(1'000), mb(10));
  d.fast_recovery = input.one_of(1u, 0u, 2u, 5u, 50u);
  if (input.flag()) {
    d.rate_ai = {input.spread<std::int64_t>(0, line.count())};
    d.rate_hai = {input.spread<std::int64_t>(0, line.count())};
  } else {
    d.rate_ai = d.rate_hai = BitsPerSecond{0};
  }
  d.min_rate = {input.spread<std::int64_t>(mbps(1).count(), line.count())};
  STRACK_CHECK(params.validated().ok());
  return params;
}

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack;
  using namespace strack::core;
  FuzzInput input(data, size);
  const RoceParams params = any_params(input);
  Dcqcn limiter(params.line_rate);
  Model model(params);
  const Picoseconds shortest = std::min(params.dcqcn.alpha_timer, params.dcqcn.increase_timer);
  std::int64_t now = input.one_of<std::int64_t>(0, 1, 1'000'000'007);

  while (!input.empty() && model.work < 100'000) {
    const std::uint8_t what = input.byte();
    switch (what % 8) {
      case 0:  // a moment
        now += input.spread<std::int64_t>(0, 4 * shortest.count());
        break;
      case 1:  // the instant of an event, or just beside it
        now = std::max(now, model.next_event(input.byte(), now) + input.one_of(0, -1, 1));
        break;
      case 2:  // silence
        now += input.spread<std::int64_t>(0, 5'000 * shortest.count());
        break;
      case 3:
      case 4:
        limiter.on_cnp(params, {now});
        model.on_cnp(now);
        model.check_same_alpha(limiter);
        break;
      case 5:
      case 6: {
        const std::int64_t counter = std::max<std::int64_t>(1, params.dcqcn.byte_counter.count());
        const std::int64_t sent = input.one_of<std::int64_t>(
            1'064, counter, counter - 1, 1, 10 * counter, input.spread<std::int64_t>(0, 100'000));
        limiter.on_sent(params, bytes(sent), {now});
        model.on_sent(sent, now);
        break;
      }
      default:  // working off early changes nothing either
        (void)limiter.rate(params, {now});
        break;
    }
    if ((what & 0x80) != 0) model.check_same(limiter, now);
    if ((what & 0x40) != 0) check_ask_again(limiter, params, now);
  }
  model.check_same(limiter, now);
  check_ask_again(limiter, params, now);
  limiter.on_cnp(params, {now});
  model.on_cnp(now);
  model.check_same(limiter, now);
  model.check_same_alpha(limiter);
  return 0;
}
