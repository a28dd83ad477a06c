// What a core tells whoever watches it: traces, statistics, tests. Telling changes nothing.
//
// A sink is a type with one overload set, `on(event)`. It is a template argument of the core, so
// `NoEvents` compiles to nothing at all, and a sink that wants two kinds of event pays for two.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "core/packet.h"

namespace strack::core {

/// Ignores everything; takes no space and no time.
struct NoEvents {
  template <class Event>
  constexpr void on(const Event& /*event*/) const {}
};

enum class WindowReason : std::uint8_t {
  queue_drained,     ///< [A3.L6] late but unmarked: add beta
  below_target,      ///< [A3.L8] add in proportion to the distance from the target
  achieved_bdp,      ///< [A3.L11] fall to what was delivered
  multiplicative,    ///< [A3.L14] cut by the excess of the average delay
  fairness_shuffle,  ///< [A3.L19] the small periodic increase
};

enum class LossCause : std::uint8_t { out_of_order, probe, timeout };

/// Why a SACK was refused. [D25]
enum class SackFault : std::uint8_t {
  epsn_not_sent,
  psn_not_sent,
  bits_not_sent,
  base_outside_window,
  bytes_never_sent,
  bytes_missing,
  ooo_above_window,
  contradiction,  ///< between its bitmap, its echo, EPSN and the OOO counter
  unknown_path,
  timestamp_ahead,
};

struct PathChosen {
  PathId path_id;
  bool recycled;  ///< taken from a clean ACK rather than from the rotation
};
struct PacketSent {
  Packet packet;
  Bytes inflight;  ///< after sending
  Bytes cwnd;
};
struct SackReceived {
  const Sack& sack;
  Picoseconds rtt;
  Picoseconds qdelay;
  Bytes acked;
};
struct SackRejected {
  SackFault fault;
};
struct WindowChanged {
  Bytes before;
  Bytes after;
  WindowReason reason;
};
struct LossDeclared {
  LossCause cause;
  Psn from;
  Psn high;       ///< one past the last packet of the episode
  Bytes claimed;  ///< newly declared lost
};
struct RecoveryEnded {
  Psn epsn;
};
struct ProbeSent {
  std::uint16_t probe_id;
};
struct MessageCompleted {
  MessageId message_id;
};
struct PacketArrived {
  const Packet& packet;
  bool ecn;
};
struct SackSent {
  const Sack& sack;
};
struct MessageDelivered {
  MessageId message_id;
};

/// Branches so rare that a test campaign must prove it has been there.
enum class Rare : std::uint8_t {
  all_paths_marked,  ///< the scan came back to the path it had just forgiven
  ecn_bitmap_reset,
  message_queue_full,
  tracking_window_full,  ///< new data waits for EPSN, not for the window
  stale_sack,            ///< overtaken by a newer one
  claim_withdrawn,       ///< claimed lost, arrived before it was sent again
  episode_restarted,     ///< a retransmission was lost in its turn
  inflight_floored,      ///< arrivals were counted before a bitmap told of them
  probe_verdict,
  probe_answer_late,       ///< too slow to tell loss from queueing
  probe_answer_overtaken,  ///< another SACK came since the probe
  probe_lost,              ///< asked again without an answer
  timeout_backoff_capped,
  out_of_order_completion,  ///< a message complete before an earlier one
  out_of_order_delivery,
  duplicate_below_epsn,
  duplicate_above_epsn,
  later_segment,       ///< a SACK told of another segment than the first
  probe_base_outside,  ///< a probe wanted a base the receiver does not hold
  kCount
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Rare::kCount)> kRareNames{
    "all_paths_marked",
    "ecn_bitmap_reset",
    "message_queue_full",
    "tracking_window_full",
    "stale_sack",
    "claim_withdrawn",
    "episode_restarted",
    "inflight_floored",
    "probe_verdict",
    "probe_answer_late",
    "probe_answer_overtaken",
    "probe_lost",
    "timeout_backoff_capped",
    "out_of_order_completion",
    "out_of_order_delivery",
    "duplicate_below_epsn",
    "duplicate_above_epsn",
    "later_segment",
    "probe_base_outside",
};

struct Reached {
  Rare branch;
};

}  // namespace strack::core
