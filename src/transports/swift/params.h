// Swift's constants. docs/transports/swift.md has the rules, their sources, and what sources leave open.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
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
    if (base_target < ns(1) || base_target > seconds(1))
      return ParamError{"base_target", base_target.count(), "a delay from 1 ns to 1 s"};
    if (hop_target < ps(0) || hop_target > seconds(1))
      return ParamError{"hop_target", hop_target.count(), "a delay from 0 to 1 s"};
    if (fs_range < ps(0) || fs_range > seconds(1))
      return ParamError{"fs_range", fs_range.count(), "a delay from 0 to 1 s"};
    if (inverse_sqrt(fs_min.num, fs_min.den) <= inverse_sqrt(fs_max.num, fs_max.den))
      return ParamError{"fs_min", fs_min.num, "well below fs_max"};
    if (ai.num < 0 || ai.den < 1 || ai.num > 1'000 * ai.den)
      return ParamError{"ai", ai.num, "from 0 to 1000 packets"};
    if (!is_share(beta)) return ParamError{"beta", beta.num, "a fraction from 0 to 1"};
    if (!is_share(max_mdf)) return ParamError{"max_mdf", max_mdf.num, "a fraction from 0 to 1"};
    if (retx_reset < 1) return ParamError{"retx_reset", retx_reset, "at least 1 timeout"};
    if (min_cwnd < bytes(1) || min_cwnd > max_cwnd)
      return ParamError{"min_cwnd", min_cwnd.count(), "from 1 byte to max_cwnd"};
    if (init_cwnd < min_cwnd || init_cwnd > max_cwnd)
      return ParamError{"init_cwnd", init_cwnd.count(), "from min_cwnd to max_cwnd"};
    return *this;
  }

 private:
  [[nodiscard]] static constexpr bool is_share(const Ratio& r) {
    return r.num >= 0 && r.den >= 1 && r.num <= r.den && r.den <= 1'000'000;
  }
};

}  // namespace strack::core
