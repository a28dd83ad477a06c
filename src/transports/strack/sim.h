// STrack in a simulated host: both ends of a connection, how its SACKs travel, what of its state is
// recorded. See sim/host/protocol.h.
//
// There are two: StrackProtocol keeps the state that the paper gives a NIC, GuardedStrackProtocol also
// that of each path and packet which path health needs [D39]. strack_transport takes the one that the
// parameters ask for, so that nobody pays for what is off.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/ack_events.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/strack/path_choice.h"
#include "transports/strack/path_health.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"
#include "transports/strack/sim_packing.h"

namespace strack::sim {

struct StrackProtocol : TransportDefaults {
  using Params = core::StrackParams;
  using Events = SackEvents;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only
  static std::int64_t window_packets(const Params& params) {
    return params.max_cwnd / params.mtu + 1;
  }
  static Picoseconds longest_timeout(const Params& params) {
    return (std::int64_t{1} << params.rto_backoff_max) * params.rto;
  }

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::Sender<Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, first, events) {
      STRACK_CHECK(!params.path_health);  // the other one's
    }
    [[nodiscard]] Bytes acked() const { return sender.bytes_recvd(); }
  };
  struct ReceivingEnd {
    core::Receiver<> receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static SimPacket pack_ack(const core::Sack& ack, Address to) { return sim::pack(ack, to); }
  static core::Sack unpack_ack(const SimPacket& packet) { return unpack_sack(packet); }

  template <class End>
  static void fill(metrics::FlowRecord& record, const End& end) {
    const core::SenderCounters& c = end.sender.counters();
    record.retransmissions = c.retransmissions;
    record.probes = c.probes_sent;
    record.timeouts = c.timeouts;
  }
  template <class End>
  static void fill(metrics::FlowSample& sample, const End& end) {
    sample.cwnd = end.sender.window().cwnd();
    sample.avg_qdelay = end.sender.window().avg_qdelay();
  }
  template <class End>
  static void fill(metrics::FlowEvent& event, const End& end, const Params& /*params*/) {
    event.cwnd = end.sender.window().cwnd();
    event.inflight = end.sender.inflight_bytes();
  }
};

/// With path health: the sending end owns what the core remembers of paths and packets.
struct GuardedStrackProtocol : StrackProtocol {
  struct Records {
    std::vector<core::PathRecord> paths;
    std::vector<core::SentRecord> sent;
    core::PathHealth health;

    explicit Records(const Params& params)
        : paths(params.max_paths), sent(sent_records(params)), health(paths, sent) {}
    static std::size_t sent_records(const Params& params) {
      return std::bit_ceil(std::size_t{params.tracking_window});
    }
  };

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    std::unique_ptr<Records> records;
    core::Sender<Events, core::GuardedPaths> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          records(std::make_unique<Records>(params)),
          sender(params, {slots.get(), slot_count}, first, events,
                 core::GuardedPaths(&records->health)) {
      STRACK_CHECK(params.path_health);
    }
    template <class Visit>
    void for_each_owned(const Params& /*params*/, std::size_t slot_count, Visit&& visit) {
      visit(std::span(slots.get(), slot_count));
      visit(std::span(&records->health, 1));
      visit(std::span(records->paths));
      visit(std::span(records->sent));
    }
    [[nodiscard]] Bytes acked() const { return sender.bytes_recvd(); }
  };

  static Bytes owned_memory(const Params& params) {
    const std::size_t records = params.max_paths * sizeof(core::PathRecord) +
                                Records::sent_records(params) * sizeof(core::SentRecord);
    return bytes(static_cast<std::int64_t>(sizeof(Records) + records));
  }
};

extern template class TransportOf<StrackProtocol>;
extern template class TransportOf<GuardedStrackProtocol>;

[[nodiscard]] inline std::shared_ptr<const Transport> strack_transport(
    const core::StrackParams& params) {
  return params.path_health ? make_transport<GuardedStrackProtocol>(params)
                            : make_transport<StrackProtocol>(params);
}

}  // namespace strack::sim
