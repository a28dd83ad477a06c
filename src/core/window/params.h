// What all window-based transports of this program have in common: reliability, and paths.
//
// A transport's parameters derive from these and add those of its congestion control. Sources of such
// transports say little of reliability, and where they do, they differ; with the same rules below all of
// them, a comparison is one of congestion control. docs/transports/window.md has the rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/paths/params.h"

namespace strack::core {

/// [WIN.track] The most packets a connection can track between EPSN and the newest one sent.
inline constexpr std::uint32_t kWindowTracking = 1'024;

/// More than any window is worth: what can be tracked is less.
inline constexpr Bytes kLargestWindow{std::int64_t{1} << 40};

/// Of no key has anybody spoken.
struct NothingGiven {
  constexpr bool operator()(std::string_view /*key*/) const { return false; }
};

struct WindowParams {
  // What the rest is derived from.
  Picoseconds base_rtt{0};  ///< the network's RTT without queues
  Bytes mtu{0};             ///< the largest payload of a packet
  Bytes bdp{0};             ///< link rate x base_rtt

  SprayParams spray;

  std::uint32_t tracking_window = kWindowTracking;
  std::uint32_t reorder_packets = 3;  ///< [WIN.loss.order] overtaken by so many: lost
  Ratio reorder_cwnd{0, 1};           ///< [WIN.loss.order] and by so many windows
  Picoseconds probe_interval{0};      ///< [WIN.probe.send] silence before a probe; 0: no probes
  Picoseconds probe_rtt_limit{0};  ///< [WIN.probe.verdict] slower answers prove nothing; 0: all do
  Picoseconds rto{0};              ///< [WIN.timeout]
  std::uint32_t rto_backoff_max = 3;  ///< [WIN.timeout.backoff] doublings at most
  bool nacks = false;                 ///< [WIN.nack] receivers answer trimmed packets

  static constexpr auto declared() {
    return std::tuple{ParamRange{&WindowParams::mtu, "mtu", bytes(64), bytes(65'535),
                                 "a payload from 64 to 65535 bytes"},
                      ParamRange{&WindowParams::base_rtt, "base_rtt", ns(10), seconds(1),
                                 "a base RTT from 10 ns to 1 s"},
                      Derived{&WindowParams::bdp},
                      Nested{&WindowParams::spray},
                      ParamRange{&WindowParams::tracking_window, "tracking_window", 1,
                                 kWindowTracking, "from 1 to 1024 packets"},
                      ParamRange{&WindowParams::reorder_packets, "reorder_packets", 1,
                                 kWindowTracking, "from 1 to 1024 packets"},
                      ParamRange{&WindowParams::reorder_cwnd, "reorder_cwnd", Ratio{0},
                                 Ratio{1'000}, "from 0 to 1000 windows"},
                      ParamRange{&WindowParams::probe_interval, "probe_interval", ps(0),
                                 seconds(3'600), "0 or a silence up to an hour"},
                      ParamRange{&WindowParams::probe_rtt_limit, "probe_rtt_limit", ps(0),
                                 seconds(3'600), "0 or a time up to an hour"},
                      ParamRange{&WindowParams::rto, "rto", ns(1), seconds(3'600),
                                 "from 1 ns to an hour, such as 25 x base_rtt"},
                      ParamRange{&WindowParams::rto_backoff_max, "rto_backoff_max", 0, 10,
                                 "at most 10 doublings"},
                      AnyValue{&WindowParams::nacks}};
  }

  [[nodiscard]] constexpr std::uint32_t mtu_bytes() const {
    return static_cast<std::uint32_t>(mtu.value);
  }
  /// What the tracking window can hold.
  [[nodiscard]] constexpr Bytes trackable() const { return std::int64_t{tracking_window} * mtu; }

  /// One path, in order; adapt() follows a change of the policy.
  constexpr void set_link(BitsPerSecond rate, Picoseconds net_base_rtt, Bytes packet) {
    base_rtt = net_base_rtt;
    mtu = packet;
    bdp = rate * net_base_rtt;
    spray.policy = SprayPolicy::single;
    spray.plb_round = net_base_rtt;
    spray.flowlet_gap = net_base_rtt / 2;
    probe_interval = 3 * net_base_rtt;
    rto = 25 * net_base_rtt;
    spray.flowlet_life = rto;
    adapt();
  }
  /// [WIN.loss.order] [WIN.probe.verdict] What order means follows from how packets are spread: on one
  /// path nothing overtakes; on several, up to a window may.
  constexpr void adapt() {
    const bool one_path = spray.policy == SprayPolicy::single;
    reorder_cwnd = one_path ? Ratio{0, 1} : Ratio{1, 1};
    probe_rtt_limit = one_path ? ps(0) : 2 * base_rtt;
  }

  /// Follows a change of any field. Transports whose fields follow from others have their own: `given` says
  /// of which keys somebody has spoken.
  template <class Given = NothingGiven>
  constexpr void derive(const Given& /*given*/ = {}) {}

  /// What makes no sense, if anything.
  [[nodiscard]] constexpr std::optional<ParamError> fault() const {
    if (const auto wrong = out_of_range(*this)) return wrong;
    if (probe_interval > ps(0) && probe_interval < ns(1))
      return ParamError{"probe_interval", probe_interval.count(), "0, or from 1 ns to an hour"};
    return spray.fault();
  }
};
static_assert(declares_all<WindowParams>());

}  // namespace strack::core
