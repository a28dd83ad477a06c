// Constants of the Falcon-like transport. docs/transports/falcon-like.md has the rules, and what was assumed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/window/params.h"
#include "transports/swift/params.h"

namespace strack::core {

struct FalconParams : SwiftParams {
  static constexpr std::uint32_t kFlows = 4;  ///< [FALCON.flows]
  static constexpr bool kOwnPaths = true;     ///< [FALCON.plb.move] policies of [paths] have no say

  Ratio plb_delay{101, 100};  ///< [FALCON.plb.late] times the target: later ones count
  Ratio plb_late{1, 2};       ///< [FALCON.plb.round] with this share of them a round is congested
  std::uint32_t plb_rounds = 5;  ///< [FALCON.plb.move]
  Picoseconds rack_window{0};    ///< [FALCON.rack]

  static constexpr auto declared() {
    return std::tuple{
        Inherited<SwiftParams>{},
        ParamRange{&FalconParams::plb_delay, "plb_delay", Ratio{1}, Ratio{1'000},
                   "from 1 to 1000 times the target"},
        ParamRange{&FalconParams::plb_late, "plb_late", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&FalconParams::plb_rounds, "plb_rounds", 1, 1'000, "from 1 to 1000 windows"},
        ParamRange{&FalconParams::rack_window, "rack_window", ps(0), seconds(1),
                   "a time from 0 to 1 s"}};
  }

  [[nodiscard]] static constexpr Result<FalconParams, ParamError> for_link(BitsPerSecond rate,
                                                                           Picoseconds rtt,
                                                                           Bytes packet) {
    const auto swift = SwiftParams::for_link(rate, rtt, packet);
    if (!swift) return swift.error();
    FalconParams p;
    static_cast<SwiftParams&>(p) = swift.value();
    p.spray.paths = 256;
    p.spray.policy = SprayPolicy::plb;             // not one path: what order means follows
    p.probe_interval = std::max(2 * rtt, us(50));  // [FALCON.tlp]
    p.adapt();
    p.derive();
    return p.validated();
  }

  template <class Given = NothingGiven>
  constexpr void derive(const Given& given = {}) {
    SwiftParams::derive(given);
    if (!given("init_cwnd"))
      init_cwnd = std::clamp(32 * mtu, min_cwnd, max_cwnd);  // [FALCON.start]
    if (!given("rack_window_us")) rack_window = base_rtt / 4;
  }

  [[nodiscard]] constexpr Result<FalconParams, ParamError> validated() const {
    if (const auto wrong = SwiftParams::validated(); !wrong) return wrong.error();
    if (spray.paths < kFlows) return ParamError{"paths", spray.paths, "at least 4"};
    if (const auto wrong = out_of_range(*this)) return *wrong;
    return *this;
  }
};
static_assert(declares_all<FalconParams>());

}  // namespace strack::core
