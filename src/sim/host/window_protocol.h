// Window-based transports in a simulated host: both ends of a connection, how acknowledgements travel, what
// is recorded. A transport gives its parameters and its congestion control (core/window/control.h), and
// derives from this where it wants more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/units.h"
#include "core/packet.h"
#include "core/window/ack.h"
#include "core/window/receiver.h"
#include "core/window/sender.h"
#include "metrics/records.h"
#include "sim/host/ack_events.h"
#include "sim/host/protocol.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// An acknowledgement in 32 bytes: epsn, timestamp; bitmap; then segment 4, distance of the echoed PSN from
/// epsn or the probe id 16, kind 2, mark 1, utilisation 12, hops 8. The path is the entropy.
[[nodiscard]] constexpr SimPacket pack(const core::WindowAck& a, Address to) {
  static_assert(core::kWindowTracking <= 1u << 10, "a segment has 4 bits");
  const std::int32_t ahead = a.psn - a.epsn;
  const bool probe = a.kind == core::AckKind::probe;
  const std::uint64_t echo = probe ? a.probe_id : ahead < 0 ? 0u : static_cast<unsigned>(ahead) + 1;
  SimPacket p = SimPacket::ack(to, a.path_id);
  p.w1 = a.epsn.value | (std::uint64_t{a.timestamp.ns} << 32);
  p.w2 = a.bitmap;
  p.w3 = static_cast<std::uint64_t>((a.sack_base - a.epsn) / 64) | (echo << 4) |
         (static_cast<std::uint64_t>(a.kind) << 20) | (std::uint64_t{a.ecn} << 22) |
         (std::uint64_t{a.utilisation} << 23) | (std::uint64_t{a.hops} << 35);
  return p;
}

[[nodiscard]] constexpr core::WindowAck unpack_window_ack(const SimPacket& p) {
  core::WindowAck a;
  a.path_id = p.entropy();
  a.epsn = {static_cast<std::uint32_t>(p.w1)};
  a.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
  a.bitmap = p.w2;
  a.sack_base = a.epsn + static_cast<std::uint32_t>(p.w3 & 0xf) * 64;
  const auto echo = static_cast<std::uint32_t>(p.w3 >> 4) & 0xffff;
  const auto kind = static_cast<std::uint32_t>(p.w3 >> 20) & 3;
  a.kind = kind > 2 ? core::AckKind::probe : static_cast<core::AckKind>(kind);
  if (a.kind == core::AckKind::probe) {
    a.probe_id = static_cast<std::uint16_t>(echo);
  } else {
    a.psn = a.epsn + (echo - 1);
  }
  a.ecn = ((p.w3 >> 22) & 1) != 0;
  a.utilisation = static_cast<std::uint16_t>((p.w3 >> 23) & 0xfff);
  a.hops = static_cast<std::uint8_t>((p.w3 >> 35) & 0xff);
  return a;
}

/// The sink of a simulated window-based sender.
struct WindowEvents : AckEvents {
  using AckEvents::on;

  void on(const core::WindowAckReceived& event) const {
    if (watch == nullptr) [[likely]]
      return;
    const bool nack = event.ack.kind == core::AckKind::nack;
    note({kind_of(event.ack.kind), nack ? event.ack.psn : event.ack.epsn, event.ack.path_id,
          event.ack.ecn, event.rtt, event.acked});
  }
  void on(const core::WindowLoss& event) const {
    if (log() != nullptr) [[unlikely]]
      note_loss(event.from, cause_of(event.sign));
  }

 private:
  [[nodiscard]] static metrics::EventKind kind_of(core::AckKind kind) {
    using Event = metrics::EventKind;
    if (kind == core::AckKind::probe) return Event::probe_ack;
    return kind == core::AckKind::nack ? Event::nak : Event::ack;
  }
  [[nodiscard]] static metrics::LossCause cause_of(core::LossSign sign) {
    switch (sign) {
      case core::LossSign::order:
        return metrics::LossCause::out_of_order;
      case core::LossSign::probe:
        return metrics::LossCause::probe;
      case core::LossSign::trimmed:
        return metrics::LossCause::nak;
      case core::LossSign::timeout:
        return metrics::LossCause::timeout;
    }
    return {};
  }
};

template <class P, class Control>
struct WindowProtocol : TransportDefaults {
  using Params = P;
  using Events = WindowEvents;
  static constexpr bool kReceiverTimers = false;  // they act on arrivals only

  static std::int64_t window_packets(const Params& params) { return params.tracking_window; }
  static Picoseconds longest_timeout(const Params& params) {
    return (std::int64_t{1} << params.rto_backoff_max) * params.rto;
  }

  struct SendingEnd {
    std::unique_ptr<core::MessageSlot[]> slots;
    core::WindowSender<Params, Control, Events> sender;

    SendingEnd(const Params& params, std::size_t slot_count, Events events,
               core::Psn first = core::Psn{0})
        : slots(std::make_unique<core::MessageSlot[]>(slot_count)),
          sender(params, {slots.get(), slot_count}, first, events) {}
    [[nodiscard]] Bytes acked() const { return sender.acked_bytes(); }
  };
  struct ReceivingEnd {
    core::WindowReceiver receiver;

    explicit ReceivingEnd(const Params& params, core::Psn first = core::Psn{0})
        : receiver(params, first) {}
  };

  static SimPacket pack_ack(const core::WindowAck& ack, Address to) { return sim::pack(ack, to); }
  static core::WindowAck unpack_ack(const SimPacket& packet) { return unpack_window_ack(packet); }

  static void fill(metrics::FlowRecord& record, const SendingEnd& end) {
    const core::WindowCounters& c = end.sender.counters();
    record.retransmissions = c.retransmissions;
    record.probes = c.probes_sent;
    record.timeouts = c.timeouts;
  }
  static void fill(metrics::FlowSample& sample, const SendingEnd& end) {
    sample.cwnd = end.sender.control().cwnd();
  }
  static void fill(metrics::FlowEvent& event, const SendingEnd& end, const Params& /*params*/) {
    event.cwnd = end.sender.control().cwnd();
    event.inflight = end.sender.inflight_bytes();
  }
};

}  // namespace strack::sim
