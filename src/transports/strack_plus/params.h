// The constants of STrack+: the paper's for the window, and one for each departure from it. Each departure has a
// value that switches it off. docs/transports/strack-plus.md has the rules, docs/strack-plus.md what each is worth.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "transports/strack/params.h"

namespace strack::core {

struct PlusParams : StrackParams {
  /// [PLUS.track] Packets between EPSN and the newest, at most: 1.35 BDP of the fastest networks, and
  /// at 400 Gb/s and 8 us all that is sent until a lost packet has been missed, sent again and acknowledged.
  static constexpr std::uint32_t kTracked = 512;
  static constexpr std::uint32_t kRing = 32;   ///< [PLUS.ring] places, at most
  static constexpr std::uint32_t kEchoes = 4;  ///< [PLUS.sack.echo] packets that a SACK tells of

  std::uint32_t ring = 8;          ///< [PLUS.ring] 0: as Algorithm 2 has it, the last clean one
  std::uint32_t ring_sparse = 0;   ///< [PLUS.ring.sparse] packets under way; 0: no matter how few
  bool ring_delay = false;         ///< [PLUS.ring.delay] false: marks alone tell
  bool rotate_all = true;          ///< [PLUS.rotation] false: over two windows' packets
  bool avoid = true;               ///< [PLUS.avoid]
  bool rather_marked = true;       ///< [PLUS.avoid.last] false: whichever is next
  Picoseconds avoid_for{0};        ///< [PLUS.avoid.forget]
  Picoseconds rack{0};             ///< [PLUS.rack] 0: order alone
  Picoseconds late{0};             ///< [PLUS.late] rack after one that was only late; 0: as before
  Picoseconds late_for{0};         ///< [PLUS.late]
  std::uint32_t late_after = 2;    ///< [PLUS.late] packets that were late before that is believed
  Picoseconds target_full{0};      ///< [PLUS.target.full] 0: target_qdelay for any window
  Bytes first_cwnd{0};             ///< [PLUS.first.share] max_cwnd: nothing is shared
  Ratio first_delay{0, 1};         ///< [PLUS.first.delay] 0: the average begins with none
  bool cut_once = false;           ///< [PLUS.cut] false: once in a base RTT, queue or not
  bool relative_probe = true;      ///< [PLUS.probe.verdict] false: as the paper
  bool probe_patience = false;     ///< [PLUS.probe.again] false: a probe_interval
  bool probe_due = false;          ///< [PLUS.probe.due] false: any silence counts
  Ratio probe_self{0, 1};          ///< [PLUS.probe.self] in RTTs; 0: a probe for any window
  bool probe_unknown = true;       ///< [PLUS.probe.where] false: EPSN
  Picoseconds probe_margin{0};     ///< [PLUS.probe.verdict]
  Picoseconds probe_tail{0};       ///< [PLUS.probe.tail] 0: an end is like any other silence
  std::uint32_t sack_packets = 4;  ///< [PLUS.sack] at most kEchoes

  /// [PLUS.rack.time] A packet's departure is kept in units of 2^stamp_shift ns: an eighth of a base RTT, or less.
  std::uint32_t stamp_shift = 0;

  static constexpr auto declared() {
    return std::tuple{
        Inherited<StrackParams>{},
        ParamRange{&PlusParams::ring, "ring", 0, kRing, "from 0 to 32 entropies"},
        ParamRange{&PlusParams::ring_sparse, "ring_sparse", 0, kTracked,
                   "0 for none, or up to 512 packets"},
        AnyValue{&PlusParams::ring_delay},
        AnyValue{&PlusParams::rotate_all},
        AnyValue{&PlusParams::avoid},
        AnyValue{&PlusParams::rather_marked},
        ParamRange{&PlusParams::avoid_for, "avoid_for", ps(0), seconds(3'600), "from 0 to an hour"},
        ParamRange{&PlusParams::rack, "rack", ps(0), seconds(3'600),
                   "0 for none, or a time up to an hour"},
        ParamRange{&PlusParams::late, "late", ps(0), seconds(3'600),
                   "0 for none, or a time up to an hour"},
        ParamRange{&PlusParams::late_for, "late_for", ps(0), seconds(3'600), "from 0 to an hour"},
        ParamRange{&PlusParams::late_after, "late_after", 1, 255, "from 1 to 255 packets"},
        ParamRange{&PlusParams::target_full, "target_full", ps(0), seconds(10),
                   "0 for none, or a delay up to 10 s"},
        ParamRange{&PlusParams::first_cwnd, "first_cwnd", bytes(0), kLargestStep,
                   "0 for one packet, or a window up to 1 TiB"},
        ParamRange{&PlusParams::first_delay, "first_delay", Ratio{0}, Ratio{1},
                   "a part from 0 to 1"},
        AnyValue{&PlusParams::cut_once},
        AnyValue{&PlusParams::relative_probe},
        AnyValue{&PlusParams::probe_patience},
        AnyValue{&PlusParams::probe_due},
        ParamRange{&PlusParams::probe_self, "probe_self", Ratio{0}, Ratio{1'000},
                   "0 for none, or up to 1000 RTTs"},
        AnyValue{&PlusParams::probe_unknown},
        ParamRange{&PlusParams::probe_margin, "probe_margin", ps(0), seconds(3'600),
                   "from 0 to an hour"},
        ParamRange{&PlusParams::probe_tail, "probe_tail", ps(0), seconds(3'600),
                   "0 for none, or a time up to an hour"},
        ParamRange{&PlusParams::sack_packets, "sack_packets", 1, kEchoes, "from 1 to 4"},
        Derived{&PlusParams::stamp_shift}};
  }

  [[nodiscard]] static constexpr Result<PlusParams, ParamError> for_link(BitsPerSecond rate,
                                                                         Picoseconds rtt,
                                                                         Bytes packet) {
    const auto paper = StrackParams::for_link(rate, rtt, packet);
    if (!paper) return paper.error();
    PlusParams p;
    static_cast<StrackParams&>(p) = paper.value();
    p.tracking_window = kTracked;
    p.max_cwnd =
        std::clamp(27 * p.bdp / 20, packet, std::int64_t{kTracked} * packet);  // [PLUS.cap]
    p.target_qdelay = 2 * rtt;                                                 // [PLUS.target]
    p.target_full = 7 * rtt / 4;                                               // [PLUS.target.full]
    p.target_qhigh = 3 * rtt;                                                  // [PLUS.high]
    p.first_cwnd = p.bdp / 4;                                                  // [PLUS.first.share]
    p.first_delay = {1, 2};                                                    // [PLUS.first.delay]
    p.sack_on_epsn = false;                                                    // [PLUS.sack]
    p.avoid_for = 100 * rtt;
    p.rack = 3 * rtt / 2;
    p.late = 4 * rtt;
    p.late_for = 100 * rtt;
    p.ring_sparse = 2 * p.ring;
    p.ring_delay = true;
    p.cut_once = true;
    p.probe_interval = rtt;  // [PLUS.probe.send]
    p.probe_patience = true;
    p.probe_due = true;
    p.probe_self = {5, 2};
    p.probe_margin = rtt / 2;
    p.probe_tail = 3 * rtt / 4;  // the margin, and two stamps
    p.derive();
    return p.validated();
  }

  /// Follows a change of any field.
  constexpr void derive() {
    const std::int64_t eighth = std::max<std::int64_t>(net_base_rtt.value / 8'000, 1);
    const auto width =
        static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(eighth)));
    stamp_shift = std::min(width - 1, 24u);  // 256 units fit into a timestamp's 32 bits
  }

  [[nodiscard]] constexpr std::uint32_t mtu_bytes() const {
    return static_cast<std::uint32_t>(mtu.value);
  }

  [[nodiscard]] constexpr Result<PlusParams, ParamError> validated() const {
    if (const auto paper = StrackParams::validated(); !paper) return paper.error();
    if (tracking_window > kTracked)
      return ParamError{"tracking_window", tracking_window, "from 1 to 512 packets"};
    if (const auto wrong = out_of_range(*this)) return *wrong;
    return *this;
  }
};
static_assert(declares_all<PlusParams>());

}  // namespace strack::core
