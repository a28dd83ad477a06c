// STrack in a simulated host: both ends of a connection, how its SACKs travel, what of its state is
// recorded. See sim/host/protocol.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/units.h"
#include "core/events.h"
#include "metrics/records.h"
#include "sim/host/flow_log.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"
#include "sim/transport.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"
#include "transports/strack/sim_packing.h"

namespace strack::sim {

struct StrackProtocol : TransportDefaults {
  using Params = core::StrackParams;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only
  static std::int64_t window_packets(const Params& params) {
    return params.max_cwnd / params.mtu + 1;
  }
  static Picoseconds longest_timeout(const Params& params) {
    return (std::int64_t{1} << params.rto_backoff_max) * params.rto;
  }

  struct Events : SimEvents {
    using SimEvents::on;
    void on(const core::SackReceived& event) const {
      if (watch == nullptr) [[likely]]
        return;
      if (log() != nullptr) [[unlikely]]
        write(*log(), event);
      watch->rtt = event.rtt;
      watch->acked += event.acked.value;
      if (event.sack.ecn) ++watch->ecn_marks;
    }
    void on(const core::LossDeclared& event) const {
      if (log() != nullptr) [[unlikely]]
        write(*log(), event);
    }

   private:
    [[gnu::noinline]] static void write(FlowLog& log, const core::SackReceived& event) {
      metrics::FlowEvent& row =
          log.add(event.sack.for_probe ? metrics::EventKind::probe_ack : metrics::EventKind::ack);
      row.psn = event.sack.epsn.value;
      row.path = event.sack.path_id;
      row.ecn = event.sack.ecn;
      if (event.rtt > ps(0)) row.rtt = event.rtt;
      row.acked = event.acked;
    }
    [[gnu::noinline]] static void write(FlowLog& log, const core::LossDeclared& event) {
      metrics::FlowEvent& row = log.add(metrics::EventKind::loss);
      row.psn = event.from.value;
      switch (event.cause) {
        case core::LossCause::out_of_order:
          row.cause = metrics::LossCause::out_of_order;
          break;
        case core::LossCause::probe:
          row.cause = metrics::LossCause::probe;
          break;
        case core::LossCause::timeout:
          row.cause = metrics::LossCause::timeout;
          break;
      }
    }
  };

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::Sender<Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, first, events) {}
    [[nodiscard]] Bytes acked() const { return sender.bytes_recvd(); }
  };
  struct ReceivingEnd {
    core::Receiver<> receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static SimPacket pack_ack(const core::Sack& ack, Address to) { return sim::pack(ack, to); }
  static core::Sack unpack_ack(const SimPacket& packet) { return unpack_sack(packet); }

  static void fill(metrics::FlowRecord& record, const SendingEnd& end) {
    const core::SenderCounters& c = end.sender.counters();
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

extern template class TransportOf<StrackProtocol>;

}  // namespace strack::sim
