// HPCC's constants. docs/transports/hpcc.md has the rules, their sources, and what sources leave open.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/transport.h"
#include "core/window/params.h"

namespace strack::core {

struct HpccParams : WindowParams {
  static constexpr std::uint32_t kMostPaths = 256;

  Ratio eta{95, 100};           ///< [HPCC.eta] utilisation that is aimed at
  std::uint32_t max_stage = 5;  ///< [HPCC.stage] additive steps before one multiplicative
  Bytes wai{0};                 ///< [HPCC.ai] additive increase
  Bytes max_cwnd{0};            ///< [HPCC.start] and first window
  Bytes min_cwnd{0};            ///< [HPCC.bounds]

  // Derived: eta in the units of core::Signals.
  std::int64_t full = 0;

  [[nodiscard]] static constexpr Result<HpccParams, ParamError> for_link(BitsPerSecond rate,
                                                                         Picoseconds rtt,
                                                                         Bytes packet) {
    HpccParams p;
    p.set_link(rate, rtt, packet);
    // [HPCC.ai] 10 Mb/s for each 25 Gb/s of the link. [HPCC.bounds] At least 1 Gb/s.
    p.wai = std::max(BitsPerSecond{rate.value / 2'500} * rtt, bytes(1));
    p.derive();
    return p.validated();
  }

  template <class Given = NothingGiven>
  constexpr void derive(const Given& given = {}) {
    full = eta.of(Signals::kFullUtilisation);
    if (!given("max_cwnd")) max_cwnd = std::clamp(bdp, mtu, trackable());
    if (!given("min_cwnd")) min_cwnd = std::clamp(gbps(1) * base_rtt, bytes(1), max_cwnd);
  }

  [[nodiscard]] constexpr Result<HpccParams, ParamError> validated() const {
    if (const auto wrong = fault()) return *wrong;
    if (spray.policy != SprayPolicy::single && spray.paths > kMostPaths)
      return ParamError{"paths", spray.paths, "at most 256: each has a utilisation"};
    if (eta.num < 1 || eta.den < 1 || eta.num > eta.den || eta.den > 1'000'000 || full < 1)
      return ParamError{"eta", eta.num, "a fraction from 0.001 to 1, such as 0.95"};
    if (max_stage > 1'000) return ParamError{"max_stage", max_stage, "at most 1000"};
    if (wai < bytes(0) || wai > trackable())
      return ParamError{"wai", wai.count(), "from 0 to 1024 mtu"};
    if (max_cwnd < mtu || max_cwnd > trackable())
      return ParamError{"max_cwnd", max_cwnd.count(), "from one mtu to 1024"};
    if (min_cwnd < bytes(1) || min_cwnd > max_cwnd)
      return ParamError{"min_cwnd", min_cwnd.count(), "from 1 byte to max_cwnd"};
    return *this;
  }
};

}  // namespace strack::core
