// STrack+ in a simulated host: both ends of a connection, what of its state is recorded. See sim/host/protocol.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/ack_events.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/strack_plus/host.h"
#include "transports/strack_plus/receiver.h"
#include "transports/strack_plus/sender.h"
#include "transports/strack_plus/sim_packing.h"

namespace strack::sim {

struct PlusProtocol : TransportDefaults {
  using Params = core::PlusParams;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only
  struct Nic {
    core::PlusHost host;  ///< [PLUS.first.share]
  };
  static std::int64_t window_packets(const Params& params) {
    return params.max_cwnd / params.mtu + 1;
  }
  static Picoseconds longest_timeout(const Params& params) {
    return (std::int64_t{1} << params.rto_backoff_max) * params.rto;
  }

  struct Events : SackEvents {
    using SackEvents::on;
    void on(const core::PlusAckReceived& event) const {
      using Event = metrics::EventKind;
      if (watch == nullptr) [[likely]]
        return;
      note({event.ack.for_probe ? Event::probe_ack : Event::ack, event.ack.epsn, event.ack.path_id,
            event.ack.ecn, event.rtt, event.acked});
    }
  };

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::PlusSender<Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events, Nic& nic,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, first, events, {}, &nic.host) {}
    [[nodiscard]] Bytes acked() const { return sender.acked_bytes(); }
  };
  struct ReceivingEnd {
    core::PlusReceiver receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static constexpr SimPacket pack(const core::Packet& packet, Address to) {
    return pack_plus(packet, to);
  }
  static constexpr core::Packet unpack(const SimPacket& packet) { return unpack_plus(packet); }
  static SimPacket pack_ack(const core::PlusAck& ack, Address to) { return pack_plus(ack, to); }
  static core::PlusAck unpack_ack(const SimPacket& packet) { return unpack_plus_ack(packet); }

  static void fill(metrics::FlowRecord& record, const SendingEnd& end) {
    const core::PlusCounters& c = end.sender.counters();
    record.retransmissions = c.retransmissions;
    record.probes = c.probes_sent;
    record.timeouts = c.timeouts;
  }
  static void fill(metrics::FlowSample& sample, const SendingEnd& end) {
    sample.cwnd = end.sender.window().cwnd();
    sample.avg_qdelay = end.sender.window().avg_qdelay();
  }
  static void fill(metrics::FlowEvent& event, const SendingEnd& end, const Params& /*params*/) {
    event.cwnd = end.sender.window().cwnd();
    event.inflight = end.sender.inflight_bytes();
  }
};

extern template class TransportOf<PlusProtocol>;

}  // namespace strack::sim
