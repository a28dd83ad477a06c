// A connection as the two hosts know it: before it runs, and while it does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"
#include "metrics/records.h"
#include "sim/host/flow_log.h"
#include "workload/graph.h"

namespace strack::sim {

inline constexpr std::uint32_t kNoJob = ~std::uint32_t{0};

// A transport's message has less than 4 GiB. A flow of more is several messages of its connection, one
// behind the other; whoever asks is told of the flow. [D91]
inline constexpr std::int64_t kLargestMessage = (std::int64_t{1} << 32) - 1;
inline constexpr std::int64_t kPiece = std::int64_t{1} << 31;  ///< of a flow that is larger

[[nodiscard]] constexpr std::uint32_t pieces_of(std::int64_t flow) {
  return flow <= kLargestMessage ? 1 : static_cast<std::uint32_t>((flow + kPiece - 1) / kPiece);
}
/// Bytes of the i-th.
[[nodiscard]] constexpr std::uint32_t piece_size(std::int64_t flow, std::uint32_t i) {
  if (flow <= kLargestMessage) return static_cast<std::uint32_t>(flow);
  return static_cast<std::uint32_t>(std::min(kPiece, flow - i * kPiece));
}

/// A connection as its source knows it before it starts: a flow's, which carries one message from a
/// given time on, or a job's channel, which carries messages as the job's graph asks.
struct OutgoingFlow {
  std::uint32_t flow = 0;  ///< or the channel
  std::uint32_t dst = 0;
  std::uint32_t dst_slot = 0;
  std::int64_t size = 0;
  Instant start{};
  std::uint32_t job = kNoJob;
  std::uint32_t slots =
      1;  ///< messages the transport may hold at once, a power of two; more wait in line
  std::uint32_t fellow = ~std::uint32_t{0};  ///< a destination inside the server (server_links.h)
  std::uint8_t priority = 0;                 ///< [D116] of its packets

  [[nodiscard]] std::uint32_t pieces() const { return pieces_of(size); }
  /// Of a flow that has no end here, or none yet.
  [[nodiscard]] metrics::FlowRecord record() const {
    metrics::FlowRecord record;
    record.flow = flow;
    record.dst = dst;
    record.size = bytes(size);
    record.start = start;
    return record;
  }
};

/// And as its destination does.
struct IncomingFlow {
  std::uint32_t flow = 0;  ///< or the channel
  std::uint32_t src = 0;
  std::uint32_t src_slot = 0;
  std::uint32_t job = kNoJob;
  std::uint32_t pieces = 1;  ///< of a flow, still to come
};

/// One connection's sending end while it runs.
template <class Protocol>
struct Outgoing : Protocol::SendingEnd {
  static constexpr std::uint32_t kNotRunning = ~std::uint32_t{0};

  OutgoingFlow flow;
  FlowLog* log = nullptr;              ///< where it is inspected
  std::vector<workload::NodeId> line;  ///< a channel's messages that wait for a slot
  std::size_t line_head = 0;
  std::uint32_t packets = 0;
  std::uint32_t path_changes = 0;
  std::uint32_t pieces_posted = 0;  ///< of a flow
  std::uint32_t pieces_done = 0;
  std::uint32_t timer_index = kNotRunning;
  core::PathId last_path = 0;
  bool queued = false;  ///< in the port's turn list

  using End = typename Protocol::SendingEnd;
  using Params = typename Protocol::Params;
  using Events = typename Protocol::Events;
  using Nic = typename Protocol::Nic;

  Outgoing(const Params& params, const OutgoingFlow& f, Events events, Nic& /*nic*/)
      : End(params, f.slots, events), flow(f), log(events.log()) {}
  /// Where the transport's ends know what their NIC shares.
  Outgoing(const Params& params, const OutgoingFlow& f, Events events,
           Nic& nic) requires std::is_constructible_v<End, const Params&, std::size_t, Events, Nic&>
      : End(params, f.slots, events, nic), flow(f), log(events.log()) {}

  /// Posts as many pieces of a flow as the transport takes; whether that was any.
  bool post_pieces(Instant now) {
    const std::uint32_t before = pieces_posted;
    while (pieces_posted < flow.pieces() &&
           this->sender.on_message({flow.flow, piece_size(flow.size, pieces_posted)}, now) ==
               core::PostResult::accepted)
      ++pieces_posted;
    return pieces_posted > before;
  }
  /// Takes note of pieces that are acknowledged; true when the flow is.
  bool complete_pieces(Instant now) {
    if (!this->sender.poll_completion()) return false;
    if (++pieces_done == flow.pieces()) [[likely]]
      return true;
    while (this->sender.poll_completion()) ++pieces_done;
    if (pieces_done == flow.pieces()) return true;
    post_pieces(now);
    return false;
  }

  [[nodiscard]] metrics::FlowRecord record() const {
    metrics::FlowRecord record = flow.record();
    record.packets = packets;
    record.path_changes = path_changes;
    Protocol::fill(record, *this);
    return record;
  }
};

/// The earliest timer that runs for a receiving end; no space where it has none.
struct ReceiverTimer {
  Instant armed = Instant::never();
};
struct NoReceiverTimer {};

/// And its receiving end.
template <class Protocol>
struct Incoming : Protocol::ReceivingEnd,
                  std::conditional_t<Protocol::kReceiverTimers, ReceiverTimer, NoReceiverTimer> {
  IncomingFlow flow;
  std::uint32_t victims = 0;
  std::uint8_t hops = 0;  ///< links from its source, where the transport asks

  using End = typename Protocol::ReceivingEnd;
  using Params = typename Protocol::Params;
  using Nic = typename Protocol::Nic;

  Incoming(const Params& params, const IncomingFlow& f, std::uint32_t /*slot*/, Nic& /*nic*/)
      : End(params), flow(f) {}
  Incoming(const Params& params, const IncomingFlow& f, std::uint32_t slot,
           Nic& nic) requires std::is_constructible_v<End, const Params&, std::uint32_t, Nic&>
      : End(params, slot, nic), flow(f) {}
};

}  // namespace strack::sim
