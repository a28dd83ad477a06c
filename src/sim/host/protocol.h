// What a simulated host needs to know about a protocol: which core it runs at either end, how its
// acknowledgements travel, what of its state is recorded.
#pragma once

#include <cstdint>
#include <memory>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/config.h"
#include "sim/host/flow_log.h"
#include "sim/net/sim_packet.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::sim {

/// Watches one sender for flow samples, and for events where it is inspected.
struct SenderWatch {
  FlowLog* log = nullptr;
  Picoseconds rtt{0};
  std::int64_t acked = 0;
  std::uint32_t ecn_marks = 0;
  std::uint32_t cnps = 0;
};

/// The events of a simulated sender: nothing, unless its flow is sampled or inspected.
struct SimEvents {
  SenderWatch* watch = nullptr;

  template <class Event>
  void on(const Event& /*event*/) const {}
  void on(const core::LossDeclared& event) const { log(event); }
  void on(const core::WentBack& event) const { log(event); }
  void on(const core::SackReceived& event) const {
    if (watch == nullptr) [[likely]]
      return;
    log(event);
    watch->rtt = event.rtt;
    watch->acked += event.acked.value;
    if (event.sack.ecn) ++watch->ecn_marks;
  }
  void on(const core::RoceAckReceived& event) const {
    if (watch == nullptr) [[likely]]
      return;
    log(event);
    if (event.ack.kind == core::RoceAckKind::cnp) {
      ++watch->cnps;
      return;
    }
    watch->rtt = event.rtt;
    watch->acked += event.acked.value;
  }

 private:
  template <class Event>
  void log(const Event& event) const {
    if (watch != nullptr && watch->log != nullptr) [[unlikely]]
      watch->log->on(event);
  }
};

struct StrackProtocol {
  using Params = core::StrackParams;
  static const Params& params(const SimConfig& config) { return config.transport; }

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::Sender<SimEvents> sender;

    SendingEnd(const Params& params, std::size_t slot_count, SimEvents events)
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, core::Psn{0}, events) {}
    [[nodiscard]] Bytes acked() const { return sender.bytes_recvd(); }
  };
  struct ReceivingEnd {
    core::Receiver<> receiver;

    explicit ReceivingEnd(const Params& params) : receiver(params, core::Psn{0}) {}
  };

  static core::Sack ack_of(const SimPacket& packet) { return packet.to_sack(); }
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

struct RoceProtocol {
  using Params = core::RoceParams;
  static const Params& params(const SimConfig& config) { return config.roce; }

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    std::unique_ptr<core::RoceSenderQp[]> qps;
    core::RoceSender<SimEvents> sender;

    SendingEnd(const Params& params, std::size_t slot_count, SimEvents events)
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          qps(std::make_unique<core::RoceSenderQp[]>(params.qps_per_conn)),
          sender(params, {slots.get(), slot_count}, {qps.get(), params.qps_per_conn}, core::Psn{0},
                 events) {}
    [[nodiscard]] Bytes acked() const { return sender.acked_bytes(); }
  };
  struct ReceivingEnd {
    std::unique_ptr<core::RoceReceiverQp[]> qps;
    core::RoceReceiver<> receiver;

    explicit ReceivingEnd(const Params& params)
        : qps(std::make_unique<core::RoceReceiverQp[]>(params.qps_per_conn)),
          receiver(params, {qps.get(), params.qps_per_conn}, core::Psn{0}) {}
  };

  static core::RoceAck ack_of(const SimPacket& packet) { return packet.to_roce_ack(); }
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

}  // namespace strack::sim
