// UET in a simulated host: both ends of a connection, what of its state is recorded. See sim/host/protocol.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/ack_events.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/uet/receiver.h"
#include "transports/uet/sender.h"
#include "transports/uet/sim_packing.h"

namespace strack::sim {

/// Of any parameters that UetSender takes.
template <class Params, class Events>
struct UetSendingEnd {
  std::unique_ptr<core::MessageSlot[]> slots;
  std::unique_ptr<core::UetSent[]> records;
  core::UetSender<Events, Params> sender;

  UetSendingEnd(const Params& params, std::size_t slot_count, Events events,
                core::Psn first = core::Psn{0})
      : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
        records(std::make_unique<core::UetSent[]>(core::UetParams::kMostTracked)),
        sender(params, {slots.get(), slot_count}, {records.get(), core::UetParams::kMostTracked},
               first, events) {}
  template <class Visit>
  void for_each_owned(const Params& /*params*/, std::size_t slot_count, Visit&& visit) {
    visit(std::span(slots.get(), slot_count));
    visit(std::span(records.get(), core::UetParams::kMostTracked));
  }
  [[nodiscard]] Bytes acked() const { return sender.bytes_recvd(); }
};

struct NsccProtocol : TransportDefaults {
  using Params = core::UetParams;
  using Events = SackEvents;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only
  static std::int64_t window_packets(const Params& params) {
    return params.max_cwnd / params.mtu + 1;
  }
  static Picoseconds longest_timeout(const Params& params) {
    return (std::int64_t{1} << params.rto_backoff_max) * params.rto;
  }
  static Bytes owned_memory(const Params& /*params*/) {
    return bytes(core::UetParams::kMostTracked * sizeof(core::UetSent));
  }

  using SendingEnd = UetSendingEnd<Params, Events>;
  struct ReceivingEnd {
    core::UetReceiver receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static constexpr SimPacket pack(const core::Packet& packet, Address to) {
    return pack_uet(packet, to);
  }
  static constexpr core::Packet unpack(const SimPacket& packet) { return unpack_uet(packet); }
  static SimPacket pack_ack(const core::UetAck& ack, Address to) { return pack_uet(ack, to); }
  static core::UetAck unpack_ack(const SimPacket& packet) { return unpack_uet_ack(packet); }

  template <class End>
  static void fill(metrics::FlowRecord& record, const End& end) {
    const core::UetCounters& c = end.sender.counters();
    record.retransmissions = c.retransmissions;
    record.probes = c.probes_sent;
    record.timeouts = c.timeouts;
    record.naks = c.nacks;
  }
  template <class End>
  static void fill(metrics::FlowSample& sample, const End& end) {
    sample.cwnd = end.sender.window().cwnd();
    sample.avg_qdelay = end.sender.window().avg_delay();
  }
  template <class End>
  static void fill(metrics::FlowEvent& event, const End& end, const Params& /*params*/) {
    event.cwnd = end.sender.window().cwnd();
    event.inflight = end.sender.inflight();
  }
};

extern template class TransportOf<NsccProtocol>;

}  // namespace strack::sim
