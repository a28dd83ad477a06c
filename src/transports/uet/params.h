// The parameters of UET's congestion controls, NSCC and RCCC, and of its loss recovery: all derived from link
// rate, base RTT and MTU. docs/transports/nscc.md and rccc.md have the rules and where they come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/paths/news.h"
#include "core/paths/params.h"
#include "core/paths/spray.h"

namespace strack::core {

struct UetParams {
  using Paths = Spray;  ///< who chooses entropies, by path_params()
  static constexpr PathNews kOvertaken = PathNews::trimmed;  ///< [SLEEK.paths] what it hears
  static constexpr bool kTailsSpeak = false;  ///< nor of what nothing has overtaken but a probe
  [[nodiscard]] constexpr const SprayParams& path_params() const { return spray; }

  BitsPerSecond rate{0};
  Picoseconds net_base_rtt{0};
  Bytes mtu{0};
  Bytes bdp{0};

  bool nscc = true;       ///< the sender's window
  bool rccc = false;      ///< the receiver's credit
  bool trimming = false;  ///< switches tell of what they drop
  bool sleek = true;      ///< and without that, SLEEK finds losses
  SprayParams spray;

  // NSCC
  Picoseconds target_qdelay{0};    ///< [NSCC.target]
  Bytes max_cwnd{0};               ///< [NSCC.window.max] and the first; at net_base_rtt
  Bytes alpha{0};                  ///< [NSCC.constants] proportional increase at no delay
  Bytes fi{0};                     ///< [NSCC.constants] fair increase
  Bytes eta{0};                    ///< [NSCC.constants]
  Ratio fi_scale{1, 4};            ///< [NSCC.constants] fast increase, of what is acknowledged
  Ratio gamma{4, 5};               ///< [NSCC.decrease]
  Ratio max_md_jump{1, 2};         ///< [NSCC.decrease]
  std::uint32_t qa_gate = 3;       ///< [NSCC.adapt.gate] a power of two
  Picoseconds qa_threshold{0};     ///< [NSCC.adapt.delay]
  Bytes adjust_bytes{0};           ///< [NSCC.fulfil]
  Picoseconds adjust_period{0};    ///< [NSCC.fulfil]
  Picoseconds fast_delay = us(1);  ///< [NSCC.fast] less is no delay
  std::int64_t ewma_q16 = 819;     ///< [NSCC.average] 0.0125
  bool damp_late = true;           ///< [NSCC.average.late]

  // Acknowledgements and losses
  Bytes ack_bytes{16'384};  ///< [UET.ack.bytes]
  Ratio sleek_cwnd{3, 2};   ///< [SLEEK.threshold]
  std::uint32_t sleek_min = 5;
  Picoseconds probe_idle{0};   ///< [SLEEK.probe] silence before a probe, with nothing left to send
  Picoseconds probe_busy{0};   ///< and otherwise
  Picoseconds probe_again{0};  ///< and after a probe
  Picoseconds rto{0};          ///< [UET.timeout]
  std::uint32_t rto_backoff_max = 3;
  std::uint32_t tracking_window = kMostTracked;

  // RCCC
  std::uint32_t pull_quantum = 4;  ///< [RCCC.pull.quantum] packets
  Ratio pacer_rate{99, 100};       ///< [RCCC.pacer] of the port's
  std::uint32_t speculative = 0;   ///< [RCCC.speculative] packets
  Bytes header{64};                ///< of a data packet, which the pacer counts

  static constexpr std::uint32_t kMostTracked = 1'024;

  static constexpr auto declared() {
    return std::tuple{
        ParamRange{&UetParams::rate, "rate", mbps(1), gbps(100'000), "from 1 Mb/s to 100 Tb/s"},
        ParamRange{&UetParams::net_base_rtt, "net_base_rtt", ns(1), seconds(1), "from 1 ns to 1 s"},
        ParamRange{&UetParams::mtu, "mtu", bytes(1), bytes(65'535), "from 1 to 65535 bytes"},
        Derived{&UetParams::bdp},
        AnyValue{&UetParams::nscc},
        AnyValue{&UetParams::rccc},
        AnyValue{&UetParams::trimming},
        AnyValue{&UetParams::sleek},
        Nested{&UetParams::spray},
        ParamRange{&UetParams::target_qdelay, "target_qdelay", ns(1), seconds(10),
                   "from 1 ns to 10 s"},
        ParamRange{&UetParams::max_cwnd, "max_cwnd", bytes(1), bytes(std::int64_t{1} << 40),
                   "from one mtu to 1024 of them"},
        Derived{&UetParams::alpha},
        Derived{&UetParams::fi},
        Derived{&UetParams::eta},
        Derived{&UetParams::fi_scale},
        Derived{&UetParams::gamma},
        Derived{&UetParams::max_md_jump},
        Derived{&UetParams::qa_gate},
        ParamRange{&UetParams::qa_threshold, "qa_threshold", ps(0), seconds(40), "from 0 to 40 s"},
        Derived{&UetParams::adjust_bytes},
        Derived{&UetParams::adjust_period},
        Derived{&UetParams::fast_delay},
        ParamRange{&UetParams::ewma_q16, "ewma_q16", 1, 65'536,
                   "a weight from 1 to 65536 (which is 1.0)"},
        AnyValue{&UetParams::damp_late},
        ParamRange{&UetParams::ack_bytes, "ack_bytes", bytes(1), bytes(1 << 30),
                   "from 1 byte to 1 GiB"},
        Derived{&UetParams::sleek_cwnd},
        Derived{&UetParams::sleek_min},
        Derived{&UetParams::probe_idle},
        Derived{&UetParams::probe_busy},
        Derived{&UetParams::probe_again},
        ParamRange{&UetParams::rto, "rto", ns(1), seconds(3'600), "from 1 ns to 1 h"},
        ParamRange{&UetParams::rto_backoff_max, "rto_backoff_max", 0, 10, "at most 10 doublings"},
        ParamRange{&UetParams::tracking_window, "tracking_window", 1, kMostTracked,
                   "from 1 to 1024 packets"},
        ParamRange{&UetParams::pull_quantum, "pull_quantum", 1, kMostTracked,
                   "from 1 to 1024 packets"},
        ParamRange{&UetParams::pacer_rate, "pacer_rate", Ratio{1, 1'000}, Ratio{2},
                   "from 0.001 to 2, with up to six decimals"},
        ParamRange{&UetParams::speculative, "speculative", 0, kMostTracked,
                   "from 0 to 1024 packets"},
        ParamRange{&UetParams::header, "header", bytes(0), bytes(4'096), "from 0 to 4096 bytes"}};
  }

  /// [NSCC.constants] Scales everything to one link, or says which input makes no sense. `queue` is what a
  /// switch's port holds.
  [[nodiscard]] static constexpr Result<UetParams, ParamError> for_link(BitsPerSecond rate,
                                                                        Picoseconds net_base_rtt,
                                                                        Bytes mtu, bool trimming,
                                                                        Bytes queue);
  /// [NDP.pull] [NDP.first] [NDP.paths] [NDP.ack] NDP as the limit of receiver credit.
  constexpr void become_ndp() {
    pull_quantum = 1;
    pacer_rate = {1, 1};
    ack_bytes = bytes(1);
    spray.policy = SprayPolicy::oblivious;
  }
  /// After a change of target_qdelay: what follows from it.
  constexpr void follow_target();
  [[nodiscard]] constexpr Result<UetParams, ParamError> validated() const;

  /// [NSCC.constants] The network for which the constants are published.
  static constexpr Bytes kReferenceBdp = kb(150);
  static constexpr Picoseconds kReferenceRtt = us(12);
};
static_assert(declares_all<UetParams>());

constexpr Result<UetParams, ParamError> UetParams::for_link(BitsPerSecond rate,
                                                            Picoseconds net_base_rtt, Bytes mtu,
                                                            bool trimming, Bytes queue) {
  if (rate < mbps(1) || rate > gbps(100'000))
    return ParamError{"rate", rate.count(), "from 1 Mb/s to 100 Tb/s"};
  if (net_base_rtt < ns(1) || net_base_rtt > seconds(1))
    return ParamError{"net_base_rtt", net_base_rtt.count(), "from 1 ns to 1 s"};
  if (mtu < bytes(1) || mtu > bytes(65'535))
    return ParamError{"mtu", mtu.count(), "from 1 to 65535 bytes"};
  UetParams p;
  p.rate = rate;
  p.net_base_rtt = net_base_rtt;
  p.mtu = mtu;
  p.bdp = rate * net_base_rtt;
  p.trimming = trimming;
  p.sleek = !trimming;
  p.target_qdelay = trimming ? net_base_rtt * 3 / 4 : net_base_rtt;
  p.fi = bytes(mul_div(5 * mtu.value, p.bdp.value, kReferenceBdp.value));
  p.eta = bytes(mul_div(3 * mtu.value, p.bdp.value, 20 * kReferenceBdp.value));
  p.fi_scale = {p.bdp.value, 4 * kReferenceBdp.value};
  // [D67] What a connection can track bounds the window.
  p.max_cwnd = std::clamp(p.bdp + p.bdp / 2, mtu, std::int64_t{kMostTracked} / 2 * mtu);
  p.adjust_bytes = 8 * mtu;
  p.adjust_period = net_base_rtt;
  p.rto = std::max(us(15) + 6 * (queue / rate), 2 * net_base_rtt);
  p.speculative = static_cast<std::uint32_t>(p.max_cwnd / mtu);
  p.spray.policy = SprayPolicy::mixed;
  p.spray.paths = 128;
  p.spray.flowlet_life = p.rto;
  p.follow_target();
  return p;
}

constexpr void UetParams::follow_target() {
  alpha = bytes(mul_div(mul_div(4 * mtu.value, bdp.value, kReferenceBdp.value), target_qdelay.value,
                        kReferenceRtt.value));
  qa_threshold = 4 * target_qdelay;
  probe_idle = net_base_rtt + target_qdelay;
  probe_busy = 3 * net_base_rtt;
  probe_again = 5 * net_base_rtt;
}

constexpr Result<UetParams, ParamError> UetParams::validated() const {
  if (const auto wrong = out_of_range(*this)) return *wrong;
  if (max_cwnd < mtu || max_cwnd > std::int64_t{tracking_window} * mtu)
    return ParamError{"max_cwnd", max_cwnd.count(), "from one mtu to 1024 of them"};
  if (const auto fault = spray.fault()) return *fault;
  return *this;
}

}  // namespace strack::core
