// Swift's constants. docs/transports/swift.md has the rules, their sources, and what sources leave open.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/window/params.h"

namespace strack::core {

/// The largest integer whose square is not above x.
[[nodiscard]] constexpr std::int64_t integer_sqrt(std::int64_t x) {
  if (x < 2) return x < 0 ? 0 : x;
  // From above, Newton's steps fall until they are there.
  const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(x));
  std::int64_t root = std::int64_t{1} << ((bits + 1) / 2);
  while (true) {
    const std::int64_t next = (root + x / root) / 2;
    if (next >= root) return root;
    root = next;
  }
}

struct SwiftParams : WindowParams {
  // [SWIFT.target]
  Picoseconds base_target{0};
  Picoseconds hop_target{0};  ///< [SWIFT.target.hops] for each link of the path
  Picoseconds fs_range{0};    ///< [SWIFT.target.flows] the most that many flows add
  Ratio fs_min{
      1, 10};  ///< [SWIFT.target.flows] windows, in packets, between which that falls to nothing
  Ratio fs_max{100, 1};

  Ratio ai{1, 1};                ///< [SWIFT.increase] packets per RTT
  Ratio beta{4, 5};              ///< [SWIFT.decrease]
  Ratio max_mdf{1, 2};           ///< [SWIFT.decrease.most]
  std::uint32_t retx_reset = 5;  ///< [SWIFT.timeout.reset]
  Bytes init_cwnd{0};            ///< [SWIFT.start]
  Bytes min_cwnd{0};             ///< [SWIFT.bounds] may be less than a packet
  Bytes max_cwnd{0};

  // Derived.
  Picoseconds fs_alpha{0};
  Picoseconds fs_beta{0};
  Bytes ai_bytes{0};

  static constexpr auto declared() {
    return std::tuple{
        Inherited<WindowParams>{},
        ParamRange{&SwiftParams::base_target, "base_target", ns(1), seconds(1),
                   "a delay from 1 ns to 1 s"},
        ParamRange{&SwiftParams::hop_target, "hop_target", ps(0), seconds(1),
                   "a delay from 0 to 1 s"},
        ParamRange{&SwiftParams::fs_range, "fs_range", ps(0), seconds(1), "a delay from 0 to 1 s"},
        ParamRange{&SwiftParams::fs_min, "fs_min", Ratio{1, 1'000}, Ratio{1'000},
                   "from 0.001 to 1000 packets"},
        ParamRange{&SwiftParams::fs_max, "fs_max", Ratio{1, 1'000}, Ratio{1'000},
                   "from 0.001 to 1000 packets"},
        ParamRange{&SwiftParams::ai, "ai", Ratio{0}, Ratio{1'000}, "from 0 to 1000 packets"},
        ParamRange{&SwiftParams::beta, "beta", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&SwiftParams::max_mdf, "max_mdf", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with up to six decimals"},
        ParamRange{&SwiftParams::retx_reset, "retx_reset", 1, 1'000, "from 1 to 1000 timeouts"},
        ParamRange{&SwiftParams::init_cwnd, "init_cwnd", bytes(1), kLargestWindow,
                   "from min_cwnd to max_cwnd"},
        ParamRange{&SwiftParams::min_cwnd, "min_cwnd", bytes(1), kLargestWindow,
                   "from 1 byte to max_cwnd"},
        ParamRange{&SwiftParams::max_cwnd, "max_cwnd", bytes(1), kLargestWindow,
                   "from min_cwnd to 1 TiB"},
        Derived{&SwiftParams::fs_alpha},
        Derived{&SwiftParams::fs_beta},
        Derived{&SwiftParams::ai_bytes}};
  }

  /// 1/sqrt of a window in packets, in 1/65536. A window's square root has 16 binary places.
  [[nodiscard]] static constexpr std::int64_t inverse_sqrt(std::int64_t num, std::int64_t den) {
    const std::int64_t root = integer_sqrt(mul_div(num, std::int64_t{1} << 32, den));
    return (std::int64_t{1} << 32) / (root > 0 ? root : 1);
  }

  [[nodiscard]] static constexpr Result<SwiftParams, ParamError> for_link(BitsPerSecond rate,
                                                                          Picoseconds rtt,
                                                                          Bytes packet) {
    SwiftParams p;
    p.set_link(rate, rtt, packet);
    p.base_target = rtt;
    p.min_cwnd = std::max(packet / 100, bytes(1));
    p.derive();
    return p.validated();
  }

  template <class Given = NothingGiven>
  constexpr void derive(const Given& given = {}) {
    if (!given("hop_target_us")) hop_target = Ratio{100, 655} * base_target;  // [SWIFT.target.hops]
    if (!given("fs_range_us")) fs_range = 5 * base_target;
    if (!given("max_cwnd")) max_cwnd = trackable();
    if (!given("init_cwnd")) init_cwnd = std::clamp(bdp, std::min(mtu, max_cwnd), max_cwnd);
    ai_bytes = ai * mtu;
    const std::int64_t at_min = inverse_sqrt(fs_min.num, fs_min.den);
    const std::int64_t at_max = inverse_sqrt(fs_max.num, fs_max.den);
    if (at_min <= at_max) return;  // refused below
    fs_alpha = ps(mul_div(fs_range.value, 65'536, at_min - at_max));
    fs_beta = -ps(mul_div(fs_alpha.value, at_max, 65'536));
  }

  [[nodiscard]] constexpr Result<SwiftParams, ParamError> validated() const {
    if (const auto wrong = fault()) return *wrong;
    if (const auto wrong = out_of_range(*this)) return *wrong;
    if (inverse_sqrt(fs_min.num, fs_min.den) <= inverse_sqrt(fs_max.num, fs_max.den))
      return ParamError{"fs_min", fs_min.num, "well below fs_max"};
    if (max_cwnd > trackable())
      return ParamError{"max_cwnd", max_cwnd.count(), "at most the tracking window, 1024 mtu"};
    if (min_cwnd > max_cwnd)
      return ParamError{"min_cwnd", min_cwnd.count(), "from 1 byte to max_cwnd"};
    if (init_cwnd < min_cwnd || init_cwnd > max_cwnd)
      return ParamError{"init_cwnd", init_cwnd.count(), "from min_cwnd to max_cwnd"};
    return *this;
  }
};
static_assert(declares_all<SwiftParams>());

}  // namespace strack::core
