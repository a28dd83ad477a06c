// HPCC's constants. docs/transports/hpcc.md has the rules, their sources, and what sources leave open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
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

  static constexpr auto declared() {
    return std::tuple{
        Inherited<WindowParams>{},
        ParamRange{&HpccParams::eta, "eta", Ratio{1, 1'000}, Ratio{1},
                   "a fraction from 0.001 to 1, such as 0.95"},
        ParamRange{&HpccParams::max_stage, "max_stage", 0, 1'000, "at most 1000"},
        ParamRange{&HpccParams::wai, "wai", bytes(0), kLargestWindow, "from 0 to 1024 mtu"},
        ParamRange{&HpccParams::max_cwnd, "max_cwnd", bytes(1), kLargestWindow,
                   "from one mtu to 1024"},
        ParamRange{&HpccParams::min_cwnd, "min_cwnd", bytes(1), kLargestWindow,
                   "from 1 byte to max_cwnd"},
        Derived{&HpccParams::full}};
  }

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
    if (const auto wrong = out_of_range(*this)) return *wrong;
    if (spray.policy != SprayPolicy::single && spray.paths > kMostPaths)
      return ParamError{"paths", spray.paths, "at most 256: each has a utilisation"};
    if (wai > trackable()) return ParamError{"wai", wai.count(), "from 0 to 1024 mtu"};
    if (max_cwnd < mtu || max_cwnd > trackable())
      return ParamError{"max_cwnd", max_cwnd.count(), "from one mtu to 1024"};
    if (min_cwnd > max_cwnd)
      return ParamError{"min_cwnd", min_cwnd.count(), "from 1 byte to max_cwnd"};
    return *this;
  }
};
static_assert(declares_all<HpccParams>());

}  // namespace strack::core
