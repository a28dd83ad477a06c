// What a run reports, row by row. Plain values; metrics/result_file.h stores them.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace strack::metrics {

/// One flow, when it is done (or, with `end` at never, when the run stopped without it).
struct FlowRecord {
  std::uint32_t flow = 0;
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  Bytes size{0};
  Instant start{};
  Instant delivered = Instant::never();  ///< the last byte was at the receiver
  Instant end = Instant::never();        ///< the last acknowledgement was at the sender
  std::uint32_t packets = 0;             ///< data packets sent, retransmissions included
  std::uint32_t retransmissions = 0;
  std::uint32_t probes = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t path_changes = 0;  ///< packets sent on another path than the one before
};

/// One directed link during one sampling interval that ends at `time`.
struct LinkSample {
  Instant time{};
  std::uint32_t link = 0;
  Bytes carried{0};           ///< put on the wire in the interval
  Bytes queue_max{0};         ///< deepest data queue in the interval
  Picoseconds qdelay_max{0};  ///< the same as time at the link's rate
  std::uint32_t marks = 0;
  std::uint32_t drops = 0;
};

/// One flow at the end of one sampling interval.
struct FlowSample {
  Instant time{};
  std::uint32_t flow = 0;
  Bytes cwnd{0};
  Picoseconds rtt{0};  ///< newest measurement
  Picoseconds avg_qdelay{0};
  Bytes acked{0};               ///< acknowledged in the interval
  std::uint32_t ecn_marks = 0;  ///< marked SACKs in the interval
};

/// A directed link's name for people, written once per run.
struct LinkInfo {
  std::uint32_t link = 0;
  std::string from;
  std::string to;
  BitsPerSecond rate;
  Picoseconds latency{0};
};

/// Totals over the whole run.
struct Counters {
  std::uint64_t data_packets_sent = 0;
  std::uint64_t data_packets_delivered = 0;
  std::uint64_t control_packets_sent = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t marks = 0;
  std::uint64_t queue_drops = 0;    ///< a queue was full
  std::uint64_t failure_drops = 0;  ///< a link or switch was down
  std::uint64_t error_drops = 0;    ///< random loss or bit errors
  std::uint64_t no_route_drops = 0;
  std::uint64_t packet_hops = 0;  ///< one packet through one queue and link
  std::uint64_t windows = 0;      ///< of the engine
  Bytes deepest_queue{0};
  std::uint64_t hash = 0;  ///< over every completion, drop and mark: equal runs have equal hashes
};

}  // namespace strack::metrics
