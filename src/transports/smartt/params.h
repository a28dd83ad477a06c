// SMaRTT's constants. docs/transports/smartt.md has the rules, their sources, and what sources leave open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/window/params.h"

namespace strack::core {

struct SmarttParams : WindowParams {
  Picoseconds target_rtt{0};       ///< [SMARTT.target]
  Ratio wtd_weight{1, 20};         ///< [SMARTT.wtd] weight of the newest mark
  Ratio wtd_threshold{3, 10};      ///< [SMARTT.wtd] below this share of marks nothing is decreased
  Picoseconds fast_delay = us(1);  ///< [SMARTT.fast] a queue not worth the name
  Ratio fast_step{1, 1};           ///< [SMARTT.fast] packets for each
  Ratio proportional{2, 1};        ///< [SMARTT.increase.proportional] packets per window
  Ratio fair_increase{1, 50};      ///< [SMARTT.increase.fair] BDPs per window
  Ratio multiplicative{1, 1};      ///< [SMARTT.decrease.multiplicative]
  Ratio fair_decrease{1, 2};       ///< [SMARTT.decrease.fair]
  Picoseconds adapt_period{0};     ///< [SMARTT.adapt]
  Bytes max_cwnd{0};               ///< [SMARTT.start] and first window
  Bytes min_cwnd{0};               ///< [SMARTT.bounds]

  static constexpr auto declared() {
    return std::tuple{
        Inherited<WindowParams>{},
        ParamRange{&SmarttParams::target_rtt, "target_rtt", ns(1), seconds(1'000),
                   "a time around 1.5 base RTTs"},
        ParamRange{&SmarttParams::wtd_weight, "wtd_weight", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&SmarttParams::wtd_threshold, "wtd_threshold", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&SmarttParams::fast_delay, "fast_delay", ps(0), seconds(1),
                   "a delay from 0 to 1 s"},
        ParamRange{&SmarttParams::fast_step, "fast_step", Ratio{0}, Ratio{1'000}, "from 0 to 1000"},
        ParamRange{&SmarttParams::proportional, "proportional", Ratio{0}, Ratio{1'000},
                   "from 0 to 1000"},
        ParamRange{&SmarttParams::fair_increase, "fair_increase", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&SmarttParams::multiplicative, "multiplicative", Ratio{0}, Ratio{1'000},
                   "from 0 to 1000"},
        ParamRange{&SmarttParams::fair_decrease, "fair_decrease", Ratio{0}, Ratio{1'000},
                   "from 0 to 1000"},
        ParamRange{&SmarttParams::adapt_period, "adapt_period", ns(1), seconds(1),
                   "from 1 ns to 1 s"},
        ParamRange{&SmarttParams::max_cwnd, "max_cwnd", bytes(1), kLargestWindow,
                   "from min_cwnd to 1024 mtu"},
        ParamRange{&SmarttParams::min_cwnd, "min_cwnd", bytes(1), kLargestWindow,
                   "at least one mtu"}};
  }

  [[nodiscard]] static constexpr Result<SmarttParams, ParamError> for_link(BitsPerSecond rate,
                                                                           Picoseconds rtt,
                                                                           Bytes packet) {
    SmarttParams p;
    p.set_link(rate, rtt, packet);
    p.spray.policy = SprayPolicy::reps;  // [SMARTT.paths]
    p.spray.paths = 256;
    p.adapt();
    p.nacks = true;  // [SMARTT.trim]
    p.target_rtt = rtt * 3 / 2;
    p.adapt_period = rtt * 3 / 2;
    p.min_cwnd = packet;
    p.derive();
    return p.validated();
  }

  template <class Given = NothingGiven>
  constexpr void derive(const Given& given = {}) {
    if (!given("max_cwnd")) max_cwnd = std::clamp(bdp * 5 / 4, mtu, trackable());
  }

  [[nodiscard]] constexpr Result<SmarttParams, ParamError> validated() const {
    if (const auto wrong = fault()) return *wrong;
    if (const auto wrong = out_of_range(*this)) return *wrong;
    if (target_rtt < base_rtt / 2 || target_rtt > 1'000 * base_rtt)
      return ParamError{"target_rtt", target_rtt.count(), "a time around 1.5 base RTTs"};
    if (min_cwnd < mtu) return ParamError{"min_cwnd", min_cwnd.count(), "at least one mtu"};
    if (max_cwnd < min_cwnd || max_cwnd > trackable())
      return ParamError{"max_cwnd", max_cwnd.count(), "from min_cwnd to 1024 mtu"};
    return *this;
  }
};
static_assert(declares_all<SmarttParams>());

}  // namespace strack::core
