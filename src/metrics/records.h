// What a run reports, row by row. Plain values; metrics/result_file.h stores them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace strack::metrics {

/// One key of a scenario as a run had it.
struct Setting {
  std::string key;                     ///< "workload.size"; of a list of tables "failure.0.rack"
  std::string value;                   ///< as people write it: "2 MB"
  std::optional<std::int64_t> amount;  ///< a size in bytes, a time in ps, a rate in bit/s
  std::string origin;                  ///< "given", "default", or "derived" from others

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// One of a run's workloads: which of its flows and jobs are this one's, by their numbers.
struct WorkloadInfo {
  std::uint32_t workload = 0;
  std::string name;
  std::string kind;
  std::uint32_t first_flow = 0;
  std::uint32_t flows = 0;
  std::uint32_t first_job = 0;
  std::uint32_t jobs = 0;
  std::uint32_t iterations = 1;  ///< of each of its jobs,
  Picoseconds compute{0};        ///< and what every rank computes between two of them
  Bytes bytes{0};                ///< that it has to send
  Picoseconds ideal{0};  ///< what physics allows its slowest flow or job, without the others

  friend bool operator==(const WorkloadInfo&, const WorkloadInfo&) = default;
};

/// A counter that not all transports have.
struct CounterName {
  std::string_view name;  ///< its row in the result file's table `counters`: "pulls"
  std::string_view one;   ///< what it counts, for people: "pull"
};
/// So many of its own can a transport have.
inline constexpr std::size_t kOwnCounters = 4;

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
  std::uint32_t cnps = 0;          ///< congestion notifications received
  std::uint32_t naks = 0;          ///< negative acknowledgements received
  std::uint32_t victim_packets =
      0;  ///< held by a pause meant for others: their next queue was short
  /// What only its transport counts. Not in the file: it has the totals.
  std::array<std::uint32_t, kOwnCounters> own{};
};

/// One job of a run with jobs, when it is done (or, with `end` at never, when the run stopped).
struct JobRecord {
  std::uint32_t job = 0;
  std::string name;
  std::uint32_t ranks = 0;
  std::uint64_t messages = 0;
  Bytes bytes{0};
  Instant start = Instant::never();  ///< the first message was posted
  Instant end = Instant::never();    ///< the last one was acknowledged
  Picoseconds ideal{0};              ///< what physics allows; the simulation leaves it open
};

/// A rank has come to a mark of its job's graph.
struct JobMark {
  std::uint32_t job = 0;
  std::uint32_t mark = 0;
  Instant time{};
};

/// What several messages of a job did together, such as one collective of a training step.
struct CommunicationRecord {
  std::uint32_t job = 0;
  std::string name;  ///< all of a kind have the same
  std::uint32_t ranks = 0;
  Bytes bytes{0};         ///< of all its messages
  Instant first_begin{};  ///< the first of its ranks came to it,
  Instant begin{};        ///< and the last,
  Instant end{};          ///< and the last has done its part
};

/// What a job would take if messages took no time: its computations, and waiting for those of others.
struct ComputationInfo {
  std::uint32_t job = 0;
  Picoseconds time{0};
};

/// One directed link during one sampling interval that ends at `time`.
struct LinkSample {
  Instant time{};
  std::uint32_t link = 0;
  Bytes carried{0};           ///< put on the wire in the interval
  Bytes arrived{0};           ///< data that came to its queue in the interval, dropped or not
  Bytes queue_max{0};         ///< deepest data queue in the interval
  Picoseconds qdelay_max{0};  ///< the same as time at the link's rate
  std::uint32_t marks = 0;
  std::uint32_t drops = 0;
  Picoseconds paused{0};           ///< how long its data was held by the far end's XOFF
  std::uint32_t pause_frames = 0;  ///< XOFF and XON frames that came about it
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
  BitsPerSecond rate{0};        ///< with rate control: what it may send at
  std::uint32_t cnps = 0;       ///< received in the interval
};

enum class EventKind : std::uint8_t {
  sent,
  ack,
  resent,
  loss,  ///< declared by the sender
  probe,
  probe_ack,  ///< the answer to a probe
  nak,        ///< a negative acknowledgement
  cnp,        ///< a congestion notification
};

enum class LossCause : std::uint8_t { out_of_order, probe, timeout, nak };

/// One thing that happened at the sender of a flow that is inspected. What means nothing for its
/// kind or protocol is not there.
struct FlowEvent {
  Instant time{};
  std::uint32_t flow = 0;
  EventKind kind{};
  /// Packets are counted from 0. Of the packet sent; of a loss the first that is lost; of the
  /// others the first that the receiver has not got, as far as they know.
  std::optional<std::uint32_t> psn;
  std::optional<std::uint32_t> path;  ///< taken or echoed; or the queue pair
  std::optional<bool> ecn;            ///< echoed
  std::optional<Picoseconds> rtt;
  std::optional<Bytes> acked;         ///< newly
  std::optional<Bytes> cwnd;          ///< after it
  std::optional<Bytes> inflight;      ///< after it
  std::optional<BitsPerSecond> rate;  ///< with rate control: after it
  std::optional<LossCause> cause;     ///< of a loss
};

/// A connection of a job that is sampled or inspected, under the number its rows go by.
struct ChannelInfo {
  std::uint32_t flow = 0;
  std::uint32_t job = 0;
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
};

/// A directed link's name for people, written once per run.
struct LinkInfo {
  std::uint32_t link = 0;
  std::string from;
  std::string to;
  BitsPerSecond rate;
  Picoseconds latency{0};
  bool down = false;  ///< when the run began
};

/// The total of a counter of the transport's own.
struct OwnTotal {
  std::string name;
  std::uint64_t value = 0;

  friend bool operator==(const OwnTotal&, const OwnTotal&) = default;
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
  std::uint64_t trims = 0;          ///< a queue was full, and cut the payload off
  std::uint64_t failure_drops = 0;  ///< a link or switch was down
  std::uint64_t error_drops = 0;    ///< random loss or bit errors
  std::uint64_t no_route_drops = 0;
  std::uint64_t packet_hops = 0;  ///< one packet through one queue and link
  std::uint64_t windows = 0;      ///< of the engine
  Bytes acked{0};                 ///< of all flows and jobs, finished or not
  Bytes deepest_queue{0};
  std::uint64_t cnps = 0;                 ///< received by senders
  std::uint64_t naks = 0;                 ///< the same
  std::uint64_t pause_frames = 0;         ///< XOFF and XON frames sent (PFC)
  Picoseconds paused{0};                  ///< port-time held by XOFF, all ports added up
  std::uint64_t ports_paused = 0;         ///< ports that were ever held
  std::uint64_t lossless_violations = 0;  ///< drops though PFC was on: headroom was full
  std::uint64_t victim_packets = 0;       ///< see FlowRecord
  std::uint64_t victim_flows = 0;         ///< flows with any of those
  std::uint64_t pause_loops = 0;          ///< rings of ports seen waiting for each other
  std::vector<OwnTotal> own = {};
  Bytes buffer_max{0};     ///< the fullest shared buffer of any switch, to what arrives in a window
  std::uint64_t hash = 0;  ///< over every completion, drop and mark: equal runs have equal hashes
};

}  // namespace strack::metrics
