// CongestionWindow against Algorithm 3 in long double: any valid parameters, any sequence of ACKs.
//
// Each step starts both from the same integer state and allows what D23 says truncation may cost:
// - the average is less than 1 ps below the real one, and over the whole run, where these losses
//   add up but fade, less than 1/ewma ps below a real average that never rounds;
// - a decreased window is less than 1 byte above the real one;
// - an increased one is less than 1 byte below it, plus what the gain of line 8, itself a whole
//   number, may lack: less than 1 byte for each window of acknowledged bytes.
#include "transports/strack/congestion_window.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "base/units.h"
#include "core/events.h"
#include "transports/strack/params.h"

namespace strack::core {
namespace {

using Real = long double;

/// Room for the rounding of long double itself.
constexpr Real kSlack = 1e-3L;

constexpr Real real(Bytes size) { return static_cast<Real>(size.count()); }
constexpr Real real(Picoseconds time) { return static_cast<Real>(time.count()); }
constexpr Real real(Ratio ratio) {
  return static_cast<Real>(ratio.num) / static_cast<Real>(ratio.den);
}

/// The paper's Algorithm 3 in real numbers, with D3 and D8.
class Algorithm3 {
 public:
  explicit Algorithm3(const StrackParams& params)
      : params_(params), base_rtt_(params.net_base_rtt), cwnd_(real(params.max_cwnd)) {}

  // [A1.L8] [A1.L9] [A1.L11] [D7]
  Picoseconds measured_qdelay(Picoseconds measured_rtt) {
    base_rtt_ = std::min(base_rtt_, measured_rtt);
    return measured_rtt - base_rtt_;
  }

  // [A3.L4]
  Real average_after(Real average, Picoseconds qdelay) const {
    const Real ewma = static_cast<Real>(params_.ewma_q16) / 65'536;
    return average * (1 - ewma) + ewma * real(qdelay);
  }

  // [A3.L1-22] [D3] [D8] `cwnd` and `average` are where the step starts, the average already
  // updated.
  void adjust_cwnd(Bytes cwnd, Picoseconds average, const AckSample& ack, Instant now) {
    const bool can_decrease = !decreased_ || now - last_decrease_ts_ > base_rtt_;
    const bool can_fairness_shuffle = !shuffled_ || now - last_selfai_ts_ > base_rtt_;
    const Real target = real(params_.target_qdelay);
    const Real windows =
        real(params_.increase_rule == IncreaseRule::per_ack ? params_.mtu : ack.acked) / real(cwnd);
    cwnd_ = real(cwnd);
    below_ = 0;
    above_ = 0;
    if (!ack.ecn && ack.qdelay > params_.target_qhigh) {
      cwnd_ += real(params_.beta) * windows;
      below_ = 1;
    } else if (!ack.ecn && ack.qdelay < params_.target_qdelay) {
      const Real alpha = real(params_.alpha) / real(params_.net_base_rtt);
      cwnd_ += alpha * (target - real(ack.qdelay)) * windows;
      below_ = 1 + windows;
    } else if (can_decrease && average > params_.target_qdelay) {
      if (ack.qdelay > params_.target_qhigh && ack.achieved_bdp < params_.max_cwnd / 8) {
        cwnd_ = real(ack.achieved_bdp);
        record_decrease(now);
      } else if (ack.qdelay > params_.target_qdelay) {
        const Real factor = 1 - real(params_.gamma) * (real(average) - target) / real(average);
        cwnd_ *= std::max(factor, 0.5L);
        record_decrease(now);
        above_ = 1;
      }
    }
    bound();
    if (can_fairness_shuffle) {
      cwnd_ += real(params_.eta);
      last_selfai_ts_ = now;
      shuffled_ = true;
      bound();
    }
  }

  Picoseconds base_rtt() const { return base_rtt_; }
  Real cwnd() const { return cwnd_; }
  /// How far below and above cwnd() the integer window may be.
  Real below() const { return below_ + kSlack; }
  Real above() const { return above_ + kSlack; }

 private:
  void record_decrease(Instant now) {
    last_decrease_ts_ = now;
    decreased_ = true;
  }
  void bound() { cwnd_ = std::clamp(cwnd_, real(params_.min_cwnd), real(params_.max_cwnd)); }

  const StrackParams& params_;
  Picoseconds base_rtt_;
  Real cwnd_;
  Real below_ = 0;
  Real above_ = 0;
  bool decreased_ = false;  ///< the first decrease and the first shuffle need no wait
  bool shuffled_ = false;
  Instant last_decrease_ts_{};
  Instant last_selfai_ts_{};
};

/// Checks that the changes told lead from each window to the next, the way their reason says.
struct Chain {
  Bytes cwnd;

  void on(const WindowChanged& change) {
    STRACK_CHECK_OP(change.before.count(), ==, cwnd.count());
    STRACK_CHECK_OP(change.after.count(), !=, change.before.count());
    switch (change.reason) {
      case WindowReason::queue_drained:
      case WindowReason::below_target:
      case WindowReason::fairness_shuffle:
        STRACK_CHECK_OP(change.after.count(), >, change.before.count());
        break;
      case WindowReason::multiplicative:
        STRACK_CHECK_OP(change.after.count(), <, change.before.count());
        break;
      case WindowReason::achieved_bdp:
        break;
    }
    cwnd = change.after;
  }
};

/// Table 1 for some link, and then some of it changed. Nothing if that makes no sense.
std::optional<StrackParams> make_params(FuzzInput& input) {
  const BitsPerSecond rate{input.one_of<std::int64_t>(400, 100, 200, 800, 1) * 1'000'000'000};
  const Picoseconds net_base_rtt =
      input.flag() ? us(8) : ps(input.spread<std::int64_t>(10'000, 1'000'000'000'000));
  const Bytes mtu = bytes(input.one_of<std::int64_t>(4'096, 64, 1'000, 1'500, 9'000, 65'535));
  const auto derived = StrackParams::for_link(rate, net_base_rtt, mtu);
  if (!derived) return std::nullopt;

  StrackParams params = derived.value();
  constexpr std::int64_t kTebibyte = std::int64_t{1} << 40;
  const std::uint8_t changed = input.byte();
  if (changed & 1) params.increase_rule = IncreaseRule::per_ack;
  if (changed & 2) params.ewma_q16 = input.in_range<std::int64_t>(1, 65'536);
  if (changed & 4) params.gamma = {input.in_range<std::int64_t>(0, 1'000'000), 1'000'000};
  if (changed & 8) params.max_cwnd = bytes(input.spread<std::int64_t>(mtu.count(), kTebibyte));
  if (changed & 16) params.min_cwnd = bytes(input.spread<std::int64_t>(mtu.count(), kTebibyte));
  if (changed & 32) params.eta = bytes(input.spread<std::int64_t>(0, kTebibyte));
  if (changed & 64) {
    params.alpha = bytes(input.spread<std::int64_t>(0, kTebibyte));
    params.beta = bytes(input.spread<std::int64_t>(0, kTebibyte));
  }
  if (changed & 128) {
    params.target_qdelay = ps(input.spread<std::int64_t>(1'000, 10'000'000'000'000));
    params.target_qhigh =
        params.target_qdelay + ps(input.spread<std::int64_t>(0, 100'000'000'000'000));
  }
  // Further above the base RTT, the largest gain of line 8 would leave 64 bits.
  if (params.target_qdelay > 1'000 * params.net_base_rtt) return std::nullopt;
  const auto valid = params.validated();
  if (!valid) return std::nullopt;
  return valid.value();
}

void run(FuzzInput& input) {
  const std::optional<StrackParams> made = make_params(input);
  if (!made) return;
  const StrackParams& params = *made;

  CongestionWindow window(params);
  Algorithm3 model(params);
  Real never_rounded = 0;
  const Real most_behind = 65'536 / static_cast<Real>(params.ewma_q16) + kSlack;
  Instant now = at(ps(input.spread<std::int64_t>(0, std::int64_t{1} << 61)));
  STRACK_CHECK(window.cwnd() == params.max_cwnd);  // [P.window] [D8]

  while (!input.empty()) {
    // An RTT is at most half of what a timestamp of 32 bits of nanoseconds can tell.
    constexpr std::int64_t kLongestRtt = std::int64_t{1'000} << 31;
    now = now + input.one_of(ps(0), model.base_rtt(), model.base_rtt() + ps(1), us(1),
                             ps(input.spread<std::int64_t>(0, 1'000'000'000'000)));
    const Picoseconds base = model.base_rtt();
    const Picoseconds measured_rtt = std::clamp(
        input.one_of(base, base + params.target_qdelay, base + params.target_qdelay + ps(1),
                     base + params.target_qhigh, base + params.target_qhigh + ps(1),
                     ps(input.spread<std::int64_t>(1, kLongestRtt))),
        ps(1), ps(kLongestRtt));
    const Picoseconds qdelay = window.measured_qdelay(measured_rtt);
    STRACK_CHECK_OP(qdelay.count(), ==, model.measured_qdelay(measured_rtt).count());
    STRACK_CHECK_OP(window.base_rtt().count(), ==, model.base_rtt().count());

    AckSample ack{};
    ack.ecn = input.flag();
    ack.qdelay = qdelay;
    ack.acked = bytes(input.spread<std::int64_t>(0, kMaxTrackingWindow * params.mtu.count()));
    ack.achieved_bdp = input.one_of(bytes(input.spread<std::int64_t>(0, std::int64_t{1} << 40)),
                                    bytes(0), params.max_cwnd / 8, params.max_cwnd / 8 - bytes(1));

    const Bytes cwnd = window.cwnd();
    const Picoseconds average = window.avg_qdelay();
    Chain chain{cwnd};
    window.adjust_cwnd(params, ack, now, chain);

    // [A3.L4] [D23]
    const Real behind = model.average_after(real(average), qdelay) - real(window.avg_qdelay());
    STRACK_CHECK(behind > -kSlack && behind < 1 + kSlack);
    never_rounded = model.average_after(never_rounded, qdelay);
    const Real drift = never_rounded - real(window.avg_qdelay());
    STRACK_CHECK(drift > -kSlack && drift < most_behind);
    STRACK_CHECK_OP(window.avg_qdelay().count(), >=, 0);

    // [A3.L5-20] [D3] [D23]
    model.adjust_cwnd(cwnd, window.avg_qdelay(), ack, now);
    const Real difference = real(window.cwnd()) - model.cwnd();
    STRACK_CHECK(difference > -model.below() && difference < model.above());

    // [A3.L22] [D8]
    STRACK_CHECK_OP(window.cwnd().count(), >=, params.min_cwnd.count());
    STRACK_CHECK_OP(window.cwnd().count(), <=, params.max_cwnd.count());
    STRACK_CHECK_OP(chain.cwnd.count(), ==, window.cwnd().count());
    // [D24]
    STRACK_CHECK_OP(std::int64_t{window.cwnd_packets()}, ==,
                    std::min<std::int64_t>(window.cwnd() / params.mtu, 1 << 30));
  }
}

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  strack::core::run(input);
  return 0;
}
