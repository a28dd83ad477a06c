// What a simulated host needs of a transport, and what it lends to it.
//
// A transport brings one traits type, in transports/<name>/sim.h:
//
//   struct Params;                       // what all its connections share
//   struct Events : SimEvents;           // its sink: what of its events is recorded
//   struct SendingEnd;                   // owns `sender`, and its memory
//   SendingEnd(const Params&, std::size_t slots, Events, core::Psn first);
//   Bytes SendingEnd::acked() const;     // so far
//   struct ReceivingEnd;                 // owns `receiver`
//   ReceivingEnd(const Params&, core::Psn first);
//   static std::int64_t window_packets(const Params&);   // on their way at most; 0: no such limit
//   static Picoseconds longest_timeout(const Params&);    // of a sender that waits
//   static SimPacket pack_ack(const Ack&, Address);      // into what the network leaves it of 32 bytes
//   static Ack unpack_ack(const SimPacket&);
//   static void fill(metrics::FlowRecord&, const SendingEnd&);
//   static void fill(metrics::FlowSample&, const SendingEnd&);
//   static void fill(metrics::FlowEvent&, const SendingEnd&, const Params&);
//
// and derives it from TransportDefaults, replacing what does not suit it.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "metrics/records.h"
#include "sim/host/flow_log.h"
#include "sim/net/packing.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// What a transport need not say of itself.
struct TransportDefaults {
  /// What the connections of one NIC share, such as a pacer of what its receivers ask for. One for
  /// each host; it costs nothing where it is empty. One that acts by itself has
  ///
  ///   void set_up(const Params&, BitsPerSecond);       // before anything else: the port's rate
  ///   Instant next_deadline() const;                   // as receivers have, and so ...
  ///   void on_timeout(Instant now);
  ///   std::optional<NicAck<Ack>> poll(Instant now);    // ... what to say, for which connection
  ///
  /// and is polled after whatever happens at its host. Ends that use it have it as an argument:
  /// SendingEnd(..., Events, Nic&, core::Psn first = core::Psn{0}), and ReceivingEnd(const Params&,
  /// std::uint32_t slot, Nic&, core::Psn first = core::Psn{0}), where `slot` is the name by which
  /// NicAck knows the connection.
  struct Nic {};

  /// Its receivers have deadlines. Where they never do, saying so saves asking.
  static constexpr bool kReceiverTimers = true;

  /// What it counts beside what all do, at most metrics::kOwnCounters: fill() puts them into
  /// FlowRecord::own in this order, the result file has their totals by name.
  static constexpr std::array<metrics::CounterName, 0> kCounters{};

  /// Its receivers want core::Signals::hops and utilisation. Else switches measure nothing, and
  /// nothing is paid for it.
  static constexpr bool kMeasuresPath = false;
  /// Or hops alone, for which nobody has to measure.
  static constexpr bool kCountsHops = false;

  static constexpr SimPacket pack(const core::Packet& packet, Address to) {
    return sim::pack(packet, to);
  }
  static constexpr core::Packet unpack(const SimPacket& packet) { return unpack_packet(packet); }

  /// Memory that the ends of a connection own, beside themselves and the slots of messages.
  template <class Params>
  static Bytes owned_memory(const Params& /*params*/) {
    return bytes(0);
  }
  /// And that a NIC's shared object owns, beside itself.
  template <class Params>
  static Bytes owned_by_nic(const Params& /*params*/) {
    return bytes(0);
  }
  /// Nothing to show over time, or after an event; `using TransportDefaults::fill;` takes them over.
  template <class End>
  static void fill(metrics::FlowSample& /*sample*/, const End& /*end*/) {}
  template <class End, class Params>
  static void fill(metrics::FlowEvent& /*event*/, const End& /*end*/, const Params& /*params*/) {}
};

/// What a NIC's shared object says to the sender of one of the connections that end here.
template <class Ack>
struct NicAck {
  std::uint32_t slot = 0;  ///< of the connection's receiving end
  Ack ack{};
};

/// Watches one sender for flow samples, and for events where it is inspected.
struct SenderWatch {
  FlowLog* log = nullptr;
  Picoseconds rtt{0};
  std::int64_t acked = 0;
  std::uint32_t ecn_marks = 0;
  std::uint32_t cnps = 0;

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(rtt, acked, ecn_marks, cnps);
    static_assert(sizeof(SenderWatch) == 32, "list what is new");
  }
};

/// The events of a simulated sender: nothing, unless its flow is sampled or inspected. A transport's
/// sink derives from it and adds what it has to tell.
struct SimEvents {
  SenderWatch* watch = nullptr;

  template <class Event>
  void on(const Event& /*event*/) const {}

  /// The log, where the flow is inspected.
  [[nodiscard]] FlowLog* log() const { return watch == nullptr ? nullptr : watch->log; }
};

}  // namespace strack::sim
