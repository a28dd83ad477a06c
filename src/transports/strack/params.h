// Table 1 and every other constant of the protocol, in one struct derived from the link.
//
// Both ends of a connection, and all connections over one kind of link, share one const object.
// Where the paper leaves a plausible alternative, the choice is a field here, so that its effect
// can be measured; `spec/decisions.md` says why each default is what it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"

namespace strack::core {

/// [D26] The most packets a connection can track between EPSN and the newest one sent.
inline constexpr std::uint32_t kMaxTrackingWindow = 1024;
/// [P.max_paths] The most entropies a connection can spray over.
inline constexpr std::uint32_t kMaxPaths = 256;

/// [P.oblivious] What guides the choice of path. The two halves of Algorithm 2 can be had one by
/// one.
enum class PathPolicy : std::uint8_t {
  adaptive,      ///< Algorithm 2
  oblivious,     ///< round robin over all entropies, ECN ignored [D60]
  bitmap_only,   ///< skip marked paths, do not reuse the path of a clean ACK
  recycle_only,  ///< reuse the path of a clean ACK, do not skip marked ones
};

/// [D3] What one ACK is worth in the window's increase.
enum class IncreaseRule : std::uint8_t { acked_bytes, per_ack };
/// [D13] Whose ECN mark a SACK echoes.
enum class EchoRule : std::uint8_t { trigger, any_mark };
/// [D19] When the next packet may go.
enum class WindowRule : std::uint8_t { fit, overshoot };
/// [D61] Which window the out-of-order threshold is taken from.
enum class OooWindow : std::uint8_t { largest, current };
/// [D17] What a probe's verdict declares lost.
enum class ProbeRecovers : std::uint8_t { sent_before_probe, highest_received };

/// No step of the window needs to be larger: beyond any window there can be.
inline constexpr Bytes kLargestStep{std::int64_t{1} << 40};

struct StrackParams {
  // What the rest is derived from.
  Picoseconds net_base_rtt;  ///< [D6] the network's RTT without queues
  Bytes mtu;                 ///< [D20] the largest payload of a packet
  Bytes bdp;                 ///< link rate x net_base_rtt

  // Table 1.
  Picoseconds target_qdelay;  ///< [T1.target_Qdelay] queueing delay the window settles at
  Picoseconds target_qhigh;   ///< [T1.target_Qhigh] [D5] beyond this, trust achieved_bdp instead
  std::int64_t ewma_q16 = 8'192;  ///< [T1.ewma] weight of a new delay sample, in 65536ths: 0.125
  Ratio bdp_sf;                   ///< [T1.bdp_sf] this BDP in units of the reference link's
  Ratio delay_sf;                 ///< [T1.delay_sf] this RTT in units of the reference link's
  Bytes beta;                     ///< [T1.beta] additive increase per window of acked bytes [D3]
  Bytes eta;                      ///< [T1.eta] fairness increase per base_rtt
  Bytes alpha;        ///< [T1.alpha] x net_base_rtt: gain per window, per net_base_rtt below target
  Ratio gamma{4, 5};  ///< [T1.gamma] strength of the multiplicative decrease

  // The window.
  Bytes max_cwnd;  ///< [P.window] [D8] and initial window
  Bytes min_cwnd;  ///< [D8] one packet
  IncreaseRule increase_rule = IncreaseRule::acked_bytes;
  WindowRule window_rule = WindowRule::fit;

  // Paths.
  PathPolicy path_policy = PathPolicy::adaptive;
  bool recycle_moves_rotation = true;  ///< [D30] the rotation goes on from a path taken from an ACK
  std::uint32_t max_paths = kMaxPaths;  ///< [P.max_paths]
  std::uint32_t min_paths = 8;          ///< [A2.L18] the floor of the path count
  Picoseconds ecn_bitmap_reset{0};      ///< [D9] forget all marks this often; 0: never

  // Hosts in software: off, unless they ask for it.
  bool path_health = false;  ///< [D39] [D41] packets avoid dead paths; hosts lend the memory for it
  bool delay_marks = false;  ///< [D40] until the first mark, a late packet counts as marked
  Picoseconds least_rtt{0};  ///< [D38] shorter ones are noise: they count as this long
  Picoseconds full_packet_time{0};  ///< [D38] what a full packet takes longer than an empty one

  // Acknowledgement.
  Bytes sack_bytes;          ///< [D11] a SACK at least every so many bytes
  bool sack_on_epsn = true;  ///< [D11] and whenever the expected packet arrives
  EchoRule echo_rule = EchoRule::trigger;

  // Loss.
  std::uint32_t tracking_window = kMaxTrackingWindow;  ///< [D26]
  Ratio ooo_cwnd{1, 1};                                ///< [D14] the OOO threshold in windows
  std::uint32_t ooo_min = 5;                           ///< [D14] and at least
  OooWindow ooo_window = OooWindow::largest;  ///< [D61] of the last RTT, or the current one
  Picoseconds probe_interval;                 ///< [R.probe.send] silence before a probe
  Picoseconds probe_rtt_limit;                ///< [A1.L13] a probe's RTT that rules out queues
  ProbeRecovers probe_recovers = ProbeRecovers::sent_before_probe;
  Picoseconds reorder_time{
      0};  ///< [D119] what arrives was sent so much later: lost; 0: order alone tells
  std::uint32_t probe_copies = 1;     ///< [D120] at a time, each by a path of its own
  Picoseconds rto;                    ///< [R.timeout.value] [D15]
  std::uint32_t rto_backoff_max = 3;  ///< [D15] doublings at most
  std::uint32_t probe_backoff_max =
      0;  ///< [D42] doublings of probe_interval while nothing is answered
  Bytes silent_window{
      0};  ///< [D42] in flight at most after a timeout without any SACK; 0: the window

  static constexpr auto declared() {
    return std::tuple{
        ParamRange{&StrackParams::mtu, "mtu", bytes(64), bytes(65'535),
                   "a payload from 64 to 65535 bytes"},
        ParamRange{&StrackParams::net_base_rtt, "net_base_rtt", ns(10), seconds(1),
                   "a base RTT from 10 ns to 1 s"},
        Derived{&StrackParams::bdp},
        ParamRange{&StrackParams::target_qdelay, "target_qdelay", ns(1), seconds(10),
                   "a delay from 1 ns to 10 s"},
        ParamRange{&StrackParams::target_qhigh, "target_qhigh", ns(1), seconds(3'600),
                   "a delay not below target_qdelay"},
        ParamRange{&StrackParams::ewma_q16, "ewma_q16", 1, 65'536,
                   "a weight from 1 to 65536 (which is 1.0)"},
        Derived{&StrackParams::bdp_sf},
        Derived{&StrackParams::delay_sf},
        ParamRange{&StrackParams::gamma, "gamma", Ratio{0}, Ratio{1},
                   "a fraction from 0 to 1 with a denominator up to a million"},
        ParamRange{&StrackParams::min_cwnd, "min_cwnd", bytes(1), kLargestStep,
                   "at least one mtu, or nothing could ever be sent"},
        ParamRange{&StrackParams::max_cwnd, "max_cwnd", bytes(1), kLargestStep,
                   "from min_cwnd to 1 TiB"},
        ParamRange{&StrackParams::beta, "beta", bytes(0), kLargestStep, "from 0 to 1 TiB"},
        ParamRange{&StrackParams::eta, "eta", bytes(0), kLargestStep, "from 0 to 1 TiB"},
        ParamRange{&StrackParams::alpha, "alpha", bytes(0), kLargestStep, "from 0 to 1 TiB"},
        AnyValue{&StrackParams::increase_rule},
        AnyValue{&StrackParams::window_rule},
        AnyValue{&StrackParams::path_policy},
        AnyValue{&StrackParams::recycle_moves_rotation},
        ParamRange{&StrackParams::max_paths, "max_paths", 1, kMaxPaths, "from 1 to 256"},
        ParamRange{&StrackParams::min_paths, "min_paths", 1, kMaxPaths, "from 1 to 256"},
        ParamRange{&StrackParams::ecn_bitmap_reset, "ecn_bitmap_reset", ps(0), seconds(1),
                   "0 for never, or an interval up to 1 s"},
        AnyValue{&StrackParams::path_health},
        AnyValue{&StrackParams::delay_marks},
        ParamRange{&StrackParams::least_rtt, "least_rtt", ps(0), seconds(1),
                   "0 for any, or at most 1 s"},
        ParamRange{&StrackParams::full_packet_time, "full_packet_time", ps(0), seconds(3'600),
                   "0 or more, at most an hour"},
        ParamRange{&StrackParams::sack_bytes, "sack_bytes", bytes(1), bytes(1 << 30),
                   "from 1 byte to 1 GiB, such as one mtu"},
        AnyValue{&StrackParams::sack_on_epsn},
        AnyValue{&StrackParams::echo_rule},
        ParamRange{&StrackParams::tracking_window, "tracking_window", 1, kMaxTrackingWindow,
                   "from 1 to 1024 packets"},
        ParamRange{&StrackParams::ooo_cwnd, "ooo_cwnd", Ratio{0}, Ratio{1'000},
                   "from 0 to 1000 windows, such as 1"},
        ParamRange{&StrackParams::ooo_min, "ooo_min", 0, kMaxTrackingWindow,
                   "from 0 to 1024 packets"},
        AnyValue{&StrackParams::ooo_window},
        ParamRange{&StrackParams::probe_interval, "probe_interval", ns(1), seconds(3'600),
                   "at least 1 ns, such as 3 x net_base_rtt"},
        ParamRange{&StrackParams::probe_rtt_limit, "probe_rtt_limit", ps(0), seconds(3'600),
                   "0 or more, such as 2 x net_base_rtt"},
        AnyValue{&StrackParams::probe_recovers},
        ParamRange{&StrackParams::reorder_time, "reorder_time", ps(0), seconds(1),
                   "0 for order alone, or at most 1 s"},
        ParamRange{&StrackParams::probe_copies, "probe_copies", 1, 16, "from 1 to 16"},
        ParamRange{&StrackParams::rto, "rto", ns(1), seconds(3'600),
                   "from 1 ns to an hour, such as 25 x net_base_rtt"},
        ParamRange{&StrackParams::rto_backoff_max, "rto_backoff_max", 0, 10,
                   "at most 10 doublings"},
        ParamRange{&StrackParams::probe_backoff_max, "probe_backoff_max", 0, 20,
                   "at most 20 doublings"},
        ParamRange{&StrackParams::silent_window, "silent_window", bytes(0), kLargestStep,
                   "0 for no limit, or at least one mtu"}};
  }

  /// Scales every row to one link, or says which input makes no sense.
  [[nodiscard]] static constexpr Result<StrackParams, ParamError> for_link(BitsPerSecond rate,
                                                                           Picoseconds net_base_rtt,
                                                                           Bytes mtu);

  /// The same as a NIC has it [D62]: windows of up to 1.25 BDP, a SACK for 16 KiB.
  [[nodiscard]] static constexpr Result<StrackParams, ParamError> for_nic(BitsPerSecond rate,
                                                                          Picoseconds net_base_rtt,
                                                                          Bytes mtu);
  /// [D8] [D62] The largest window of a NIC, as far as its tracking window holds it.
  [[nodiscard]] constexpr Bytes nic_window() const {
    return std::max(min_cwnd, std::clamp(5 * bdp / 4, mtu, std::int64_t{tracking_window} * mtu));
  }

  /// Holds after any change of a field, or says which value cannot work.
  [[nodiscard]] constexpr Result<StrackParams, ParamError> validated() const;
};
static_assert(declares_all<StrackParams>());

/// [D6] The link Table 1's constants were written for: 100 Gb/s and 12 us, a BDP of 150 KB.
inline constexpr Picoseconds kReferenceRtt = us(12);
inline constexpr Bytes kReferenceBdp = gbps(100) * kReferenceRtt;

constexpr Result<StrackParams, ParamError> StrackParams::for_link(BitsPerSecond rate,
                                                                  Picoseconds net_base_rtt,
                                                                  Bytes mtu) {
  if (rate < mbps(1) || rate > gbps(100'000)) {
    return ParamError{"rate", rate.count(),
                      "a link rate from 1 Mb/s to 100 Tb/s, such as gbps(400)"};
  }
  if (net_base_rtt < ns(10) || net_base_rtt > seconds(1)) {
    return ParamError{"net_base_rtt", net_base_rtt.count(),
                      "a base RTT from 10 ns to 1 s, such as us(8)"};
  }
  if (mtu < bytes(64) || mtu > bytes(65'535)) {
    return ParamError{"mtu", mtu.count(), "a payload from 64 to 65535 bytes, such as bytes(4096)"};
  }
  StrackParams p;
  p.net_base_rtt = net_base_rtt;
  p.mtu = mtu;
  p.bdp = rate * net_base_rtt;

  p.target_qdelay = net_base_rtt;                              // [T1.target_Qdelay]
  p.target_qhigh = 3 * p.target_qdelay;                        // [T1.target_Qhigh] [D5]
  p.bdp_sf = {p.bdp.count(), kReferenceBdp.count()};           // [T1.bdp_sf]
  p.delay_sf = {net_base_rtt.count(), kReferenceRtt.count()};  // [T1.delay_sf] [D7]
  p.beta = p.bdp_sf * (5 * mtu);                               // [T1.beta]
  p.eta = Ratio{15 * p.bdp_sf.num, 100 * p.bdp_sf.den} * mtu;  // [T1.eta]
  // [T1.alpha] [D23] One division, so that the fraction is dropped once.
  const Int128 alpha = static_cast<Int128>(4 * mtu.value) * p.bdp_sf.num * p.delay_sf.num /
                       (static_cast<Int128>(p.bdp_sf.den) * p.delay_sf.den);
  p.alpha =
      bytes(alpha < kLargestStep.value ? static_cast<std::int64_t>(alpha) : kLargestStep.value);

  // [P.window] [D8] The tracking bitmap bounds what a window larger than it could use.
  p.min_cwnd = mtu;
  p.max_cwnd = std::clamp(p.bdp, mtu, std::int64_t{kMaxTrackingWindow} * mtu);

  p.sack_bytes = mtu;  // [D11]

  p.probe_interval = 3 * net_base_rtt;   // [A1.L12] [R.probe.send]
  p.probe_rtt_limit = 2 * net_base_rtt;  // [A1.L13]
  p.rto = 25 * net_base_rtt;             // [R.timeout.value] [D15]
  return p.validated();
}

constexpr Result<StrackParams, ParamError> StrackParams::for_nic(BitsPerSecond rate,
                                                                 Picoseconds net_base_rtt,
                                                                 Bytes mtu) {
  const auto scaled = for_link(rate, net_base_rtt, mtu);
  if (!scaled) return scaled;
  StrackParams p = scaled.value();
  p.max_cwnd = p.nic_window();
  p.sack_bytes = kib(16);
  return p.validated();
}

constexpr Result<StrackParams, ParamError> StrackParams::validated() const {
  if (const auto wrong = out_of_range(*this)) return *wrong;
  // What one may be beside another.
  if (target_qdelay > 1'000 * net_base_rtt) {
    return ParamError{"target_qdelay", target_qdelay.count(),
                      "a delay from 1 ns to 1000 x net_base_rtt"};
  }
  if (target_qhigh < target_qdelay)
    return ParamError{"target_qhigh", target_qhigh.count(), "a delay not below target_qdelay"};
  if (min_cwnd < mtu) {
    return ParamError{"min_cwnd", min_cwnd.count(),
                      "at least one mtu, or nothing could ever be sent"};
  }
  if (max_cwnd < min_cwnd)
    return ParamError{"max_cwnd", max_cwnd.count(), "from min_cwnd to 1 TiB"};
  if (silent_window != bytes(0) && silent_window < mtu) {
    return ParamError{"silent_window", silent_window.count(),
                      "0 for no limit, or at least one mtu"};
  }
  return *this;
}

}  // namespace strack::core
