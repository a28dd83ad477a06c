// HPCC's congestion control: the window follows the utilisation of the path's fullest link. (SIGCOMM 2019)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"
#include "core/window/control.h"
#include "transports/hpcc/params.h"

namespace strack::core {

/// [HPCC.paths] What each path was last told to be, and the mean of those that were heard of.
class PathUtilisations {
 public:
  constexpr void note(PathId path, std::uint16_t utilisation) {
    std::uint16_t& last = last_[path % HpccParams::kMostPaths];
    const auto value = static_cast<std::uint16_t>(std::max<std::uint32_t>(utilisation, 1));
    if (last == 0) ++heard_;
    sum_ += value;
    sum_ -= last;
    last = value;
  }
  [[nodiscard]] constexpr std::int64_t mean() const { return heard_ == 0 ? 0 : sum_ / heard_; }

 private:
  std::array<std::uint16_t, HpccParams::kMostPaths> last_{};  ///< 0: never heard
  std::uint32_t sum_ = 0;
  std::uint32_t heard_ = 0;
};

class HpccControl {
 public:
  constexpr explicit HpccControl(const HpccParams& params)
      : cwnd_(params.max_cwnd), reference_(params.max_cwnd) {}  // [HPCC.start]

  constexpr void on_ack(const HpccParams& params, const AckNews& ack, Instant /*now*/) {
    paths_.note(ack.path_id, ack.utilisation);
    const std::int64_t utilisation = paths_.mean();
    if (!started_) {  // [HPCC.reference] the first round trip begins
      started_ = true;
      updated_at_ = ack.psn_next;
    }
    const bool update = ack.epsn > updated_at_;  // [HPCC.reference] once per RTT
    if (utilisation >= params.full || stage_ >= params.max_stage) {  // [HPCC.mi] [HPCC.stage]
      set(params, bytes(mul_div(reference_.value, params.full, utilisation)) + params.wai);
      if (update) stage_ = 0;
    } else {  // [HPCC.ai]
      set(params, reference_ + params.wai);
      if (update) ++stage_;
    }
    if (update) {
      reference_ = cwnd_;
      updated_at_ = ack.psn_next;
    }
  }

  /// [HPCC.loss] Of losses it says nothing: what is lost shows in the utilisation.
  constexpr void on_loss(const HpccParams&, const LossNews&, Instant) {}

  [[nodiscard]] constexpr Bytes cwnd() const { return cwnd_; }
  [[nodiscard]] constexpr Bytes reference() const { return reference_; }
  [[nodiscard]] constexpr std::uint32_t stage() const { return stage_; }

  /// [HPCC.pace] A window per base RTT.
  [[nodiscard]] constexpr Picoseconds pacing(const HpccParams& params, Bytes payload) const {
    return ps(mul_div(params.base_rtt.value, payload.value, cwnd_.value));
  }

 private:
  constexpr void set(const HpccParams& params, Bytes cwnd) {
    cwnd_ = std::clamp(cwnd, params.min_cwnd, params.max_cwnd);  // [HPCC.bounds]
  }

  Bytes cwnd_;
  Bytes reference_;  ///< W^c, what steps within an RTT start from
  PathUtilisations paths_{};
  Psn updated_at_;
  std::uint32_t stage_ = 0;
  bool started_ = false;
};

}  // namespace strack::core
