// RoCEv2 over switches that spray, in a simulated host. See sim.h and sim/host/protocol.h.
//
// Of an acknowledgement: epsn, timestamp | kind, from | missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/rocev2/ar_receiver.h"
#include "transports/rocev2/ar_sender.h"
#include "transports/rocev2/sim.h"

namespace strack::sim {

struct ArProtocol : TransportDefaults {
  using Params = core::RoceParams;
  using Events = RoceProtocol::Events;
  static std::int64_t window_packets(const Params& params) {
    return params.max_outstanding < core::kArWindow ? params.max_outstanding : core::kArWindow;
  }
  static Picoseconds longest_timeout(const Params& params) { return params.rto; }

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::ArSender<Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, first, events) {}
    [[nodiscard]] Bytes acked() const { return sender.acked_bytes(); }
  };
  struct ReceivingEnd {
    core::ArReceiver<> receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static constexpr SimPacket pack_ack(const core::ArAck& a, Address to) {
    SimPacket p = SimPacket::ack(to, a.qp);
    p.w1 = a.epsn.value | (std::uint64_t{a.timestamp.ns} << 32);
    p.w2 = static_cast<std::uint64_t>(a.kind) | (std::uint64_t{a.from.value} << 32);
    p.w3 = a.missing;
    return p;
  }
  static constexpr core::ArAck unpack_ack(const SimPacket& p) {
    core::ArAck a;
    a.kind = static_cast<core::RoceAckKind>(p.w2 & 0xff);
    a.qp = p.entropy();
    a.epsn = {static_cast<std::uint32_t>(p.w1)};
    a.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
    a.from = {static_cast<std::uint32_t>(p.w2 >> 32)};
    a.missing = p.w3;
    return a;
  }

  static void fill(metrics::FlowRecord& record, const SendingEnd& end) {
    const core::RoceSenderCounters& c = end.sender.counters();
    record.retransmissions = c.retransmissions;
    record.timeouts = c.timeouts;
    record.cnps = c.cnps;
    record.naks = c.naks;
  }
  static void fill(metrics::FlowSample& sample, const SendingEnd& end) {
    sample.rate = end.sender.rate(sample.time);
  }
  static void fill(metrics::FlowEvent& event, const SendingEnd& end, const Params& /*params*/) {
    if (event.path) event.rate = end.sender.rate(event.time);
  }
};

extern template class TransportOf<ArProtocol>;

}  // namespace strack::sim
