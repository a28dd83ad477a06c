// RoCEv2 in a simulated host: both ends of a connection, how its ACKs, NAKs and CNPs travel, what of
// its state is recorded. See sim/host/protocol.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/host/flow_log.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"
#include "transports/rocev2/shared_alpha.h"
#include "transports/rocev2/sim_packing.h"

namespace strack::sim {

struct RoceProtocol : TransportDefaults {
  using Params = core::RoceParams;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only
  /// There is no window: senders fill what is there, links and queues.
  static std::int64_t window_packets(const Params& /*params*/) { return 0; }
  static Bytes owned_memory(const Params& params) {
    return std::int64_t{params.qps_per_conn} *
           bytes(sizeof(core::RoceSenderQp) + sizeof(core::RoceReceiverQp));
  }
  static Picoseconds longest_timeout(const Params& params) { return params.rto; }

  struct Events : SimEvents {
    using SimEvents::on;
    void on(const core::RoceAckReceived& event) const {
      if (watch == nullptr) [[likely]]
        return;
      if (log() != nullptr) [[unlikely]]
        write(*log(), event);
      if (event.ack.kind == core::RoceAckKind::cnp) {
        ++watch->cnps;
        return;
      }
      watch->rtt = event.rtt;
      watch->acked += event.acked.value;
    }
    void on(const core::WentBack& event) const {
      if (event.timeout && log() != nullptr) [[unlikely]]
        went_back(*log(), event.qp, event.from, metrics::LossCause::timeout);
    }

   private:
    [[gnu::noinline]] static void write(FlowLog& log, const core::RoceAckReceived& event) {
      const core::RoceAck& ack = event.ack;
      if (ack.kind == core::RoceAckKind::cnp) {
        log.add(metrics::EventKind::cnp).path = ack.qp;
        return;
      }
      const bool nak = ack.kind == core::RoceAckKind::nak;
      metrics::FlowEvent& row = log.add(nak ? metrics::EventKind::nak : metrics::EventKind::ack);
      row.psn = ack.epsn.value;
      row.path = ack.qp;
      row.rtt = event.rtt;
      row.acked = event.acked;
      // The sender has gone back before it tells of the NAK; here the reason comes first.
      if (nak) went_back(log, ack.qp, ack.epsn, metrics::LossCause::nak);
    }
    [[gnu::noinline]] static void went_back(FlowLog& log, core::PathId qp, core::Psn from,
                                            metrics::LossCause cause) {
      metrics::FlowEvent& row = log.add(metrics::EventKind::loss);
      row.psn = from.value;
      row.path = qp;
      row.cause = cause;
    }
  };

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    std::unique_ptr<core::RoceSenderQp[]> qps;
    core::RoceSender<Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0}, core::SharedAlpha* alpha = nullptr)
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          qps(std::make_unique<core::RoceSenderQp[]>(params.qps_per_conn)),
          sender(params, {slots.get(), slot_count}, {qps.get(), params.qps_per_conn}, first, events,
                 alpha) {}
    template <class Visit>
    void for_each_owned(const Params& params, std::size_t slot_count, Visit&& visit) {
      visit(std::span(slots.get(), slot_count));
      visit(std::span(qps.get(), params.qps_per_conn));
    }
    [[nodiscard]] Bytes acked() const { return sender.acked_bytes(); }
  };
  struct ReceivingEnd {
    std::unique_ptr<core::RoceReceiverQp[]> qps;
    core::RoceReceiver<> receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : qps(std::make_unique<core::RoceReceiverQp[]>(params.qps_per_conn)),
          receiver(params, {qps.get(), params.qps_per_conn}, first) {}
    template <class Visit>
    void for_each_owned(const Params& params, Visit&& visit) {
      visit(std::span(qps.get(), params.qps_per_conn));
    }
  };

  static SimPacket pack_ack(const core::RoceAck& ack, Address to) { return sim::pack(ack, to); }
  static core::RoceAck unpack_ack(const SimPacket& packet) { return unpack_roce_ack(packet); }

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
  static void fill(metrics::FlowEvent& event, const SendingEnd& end, const Params& params) {
    if (!event.path) return;
    core::Dcqcn limiter = end.sender.qp(*event.path).dcqcn;  // a copy, as looking changes it
    event.rate = limiter.rate(params, event.time);
  }
};

extern template class TransportOf<RoceProtocol>;

}  // namespace strack::sim
