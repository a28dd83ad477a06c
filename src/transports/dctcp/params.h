// DCTCP's constants. docs/transports/dctcp.md has the rules and their sources.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/window/params.h"

namespace strack::core {

struct DctcpParams : WindowParams {
  Ratio g{1, 16};             ///< [DCTCP.alpha] weight of the newest window's marks
  Ratio initial_alpha{1, 1};  ///< [DCTCP.alpha.start]
  Bytes init_cwnd{0};         ///< [DCTCP.start]
  Bytes min_cwnd{0};          ///< [DCTCP.floor]
  Bytes increase{0};          ///< [DCTCP.increase] per window

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
    if (g.num < 0 || g.den < 1 || g.num > g.den || g.den > 1'000'000)
      return ParamError{"g", g.num, "a fraction from 0 to 1 with up to six decimals"};
    if (initial_alpha.num < 0 || initial_alpha.den < 1 || initial_alpha.num > initial_alpha.den ||
        initial_alpha.den > 1'000'000)
      return ParamError{"initial_alpha", initial_alpha.num,
                        "a fraction from 0 to 1 with up to six decimals"};
    if (min_cwnd < mtu || min_cwnd > trackable())
      return ParamError{"min_cwnd", min_cwnd.count(), "at least one mtu, at most 1024"};
    if (init_cwnd < min_cwnd || init_cwnd > trackable())
      return ParamError{"init_cwnd", init_cwnd.count(), "from min_cwnd to 1024 mtu"};
    if (increase < bytes(0) || increase > trackable())
      return ParamError{"increase", increase.count(), "from 0 to 1024 mtu"};
    return *this;
  }
};

}  // namespace strack::core
