// DCTCP's constants. docs/transports/dctcp.md has the rules and their sources.
#pragma once

#include <optional>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/window/params.h"

namespace strack::core {

struct DctcpParams : WindowParams {
  Ratio g{1, 16};             ///< [DCTCP.alpha] weight of the newest window's marks
  Ratio initial_alpha{1, 1};  ///< [DCTCP.alpha.start]
  Bytes init_cwnd{0};         ///< [DCTCP.start]
  Bytes min_cwnd{0};          ///< [DCTCP.floor]
  Bytes increase{0};          ///< [DCTCP.increase] per window

  static constexpr auto declared() {
    return std::tuple{Inherited<WindowParams>{},
                      ParamRange{&DctcpParams::g, "g", Ratio{0}, Ratio{1},
                                 "a fraction from 0 to 1 with up to six decimals"},
                      ParamRange{&DctcpParams::initial_alpha, "initial_alpha", Ratio{0}, Ratio{1},
                                 "a fraction from 0 to 1 with up to six decimals"},
                      ParamRange{&DctcpParams::init_cwnd, "init_cwnd", bytes(1), kLargestWindow,
                                 "from min_cwnd to 1024 mtu"},
                      ParamRange{&DctcpParams::min_cwnd, "min_cwnd", bytes(1), kLargestWindow,
                                 "at least one mtu, at most 1024"},
                      ParamRange{&DctcpParams::increase, "increase", bytes(0), kLargestWindow,
                                 "from 0 to 1024 mtu"}};
  }

  [[nodiscard]] static constexpr Result<DctcpParams, ParamError> for_link(BitsPerSecond rate,
                                                                          Picoseconds base_rtt,
                                                                          Bytes mtu) {
    DctcpParams p;
    p.set_link(rate, base_rtt, mtu);
    p.init_cwnd = 10 * mtu;
    p.min_cwnd = mtu;
    p.increase = mtu;
    return p.validated();
  }

  [[nodiscard]] constexpr Result<DctcpParams, ParamError> validated() const {
    if (const auto wrong = fault()) return *wrong;
    if (const auto wrong = out_of_range(*this)) return *wrong;
    if (min_cwnd < mtu || min_cwnd > trackable())
      return ParamError{"min_cwnd", min_cwnd.count(), "at least one mtu, at most 1024"};
    if (init_cwnd < min_cwnd || init_cwnd > trackable())
      return ParamError{"init_cwnd", init_cwnd.count(), "from min_cwnd to 1024 mtu"};
    if (increase > trackable())
      return ParamError{"increase", increase.count(), "from 0 to 1024 mtu"};
    return *this;
  }
};
static_assert(declares_all<DctcpParams>());

}  // namespace strack::core
