// A simulated host: its NIC port, and the connections that start and end here.
//
// Runs one window at a time over its own arrivals, timers and port, in order of time; at one
// instant arrivals come first, then timers, then the port. The port serves one packet at a time,
// control before data, connections in turn. A packet is polled from its connection when the port is
// free, so the RTT clock starts as it goes onto the wire, and nothing queues in the NIC but SACKs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "core/strack/receiver.h"
#include "core/strack/sender.h"
#include "metrics/records.h"
#include "sim/net/packet_ring.h"
#include "sim/net/port.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// A flow as its source knows it before it starts.
struct OutgoingFlow {
  std::uint32_t flow = 0;
  std::uint32_t dst = 0;
  std::uint32_t dst_slot = 0;
  std::uint32_t size = 0;
  Instant start{};
};

/// And as its destination does.
struct IncomingFlow {
  std::uint32_t flow = 0;
  std::uint32_t src = 0;
  std::uint32_t src_slot = 0;
};

/// Connections waiting for the port, first come, first served. Grows to the most there ever were.
class TurnList {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  void push(std::uint32_t slot) {
    if (tail_ - head_ == ring_.size()) grow();
    ring_[tail_++ & (ring_.size() - 1)] = slot;
  }
  std::uint32_t pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  /// Takes one out of the middle: a flow is done while it waits. Rare.
  void erase(std::uint32_t slot) {
    const std::size_t waiting = tail_ - head_;
    for (std::size_t i = 0; i < waiting; ++i) {
      const std::uint32_t next = pop();
      if (next != slot) push(next);
    }
  }

 private:
  void grow() {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(4, 2 * ring_.size()));
    const std::size_t waiting = tail_ - head_;
    for (std::size_t i = 0; i < waiting; ++i) larger[i] = pop();
    ring_.swap(larger);
    head_ = 0;
    tail_ = waiting;
  }

  std::vector<std::uint32_t> ring_;  ///< a power of two
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

/// What hosts share and do not change.
struct HostRules {
  const core::StrackParams* transport = nullptr;
  const PortRules* sizes = nullptr;
};

/// What a thread's hosts report during one window.
struct HostReport {
  std::vector<metrics::FlowRecord> finished;
  std::uint64_t bytes_acked = 0;
};

/// Watches one sender for flow samples and totals.
struct SenderWatch {
  Picoseconds rtt{0};
  std::int64_t acked = 0;
  std::uint32_t ecn_marks = 0;
};

/// The events of a simulated sender: nothing, unless its flow is sampled.
struct SimEvents {
  SenderWatch* watch = nullptr;

  template <class Event>
  void on(const Event& /*event*/) const {}
  void on(const core::SackReceived& event) const {
    if (watch == nullptr) return;
    watch->rtt = event.rtt;
    watch->acked += event.acked.value;
    if (event.sack.ecn) ++watch->ecn_marks;
  }
};

class Host {
 public:
  using Sender = core::Sender<SimEvents>;
  using Receiver = core::Receiver<>;

  /// One flow's sending end while it runs.
  struct Outgoing {
    core::MessageSlot slot;
    Sender sender;
    OutgoingFlow flow;
    std::uint32_t packets = 0;
    std::uint32_t path_changes = 0;
    core::PathId last_path = 0;
    bool queued = false;  ///< in the port's turn list

    Outgoing(const core::StrackParams& params, const OutgoingFlow& f, SimEvents events)
        : sender(params, {&slot, 1}, core::Psn{0}, events), flow(f) {}
  };
  struct Incoming {
    Receiver receiver;
    IncomingFlow flow;
  };

  void add(const OutgoingFlow& flow) { pending_.push_back(flow); }
  void add(const IncomingFlow& flow) { expected_.push_back(flow); }
  [[nodiscard]] std::uint32_t outgoing_slots() const {
    return static_cast<std::uint32_t>(pending_.size());
  }
  [[nodiscard]] std::uint32_t incoming_slots() const {
    return static_cast<std::uint32_t>(expected_.size());
  }

  /// All flows are known: ready to run. Slots are given in order of add(); starts need not be in
  /// order.
  void prepare() {
    outgoing_.resize(pending_.size());
    incoming_.resize(expected_.size());
    starts_.resize(pending_.size());
    for (std::uint32_t i = 0; i < starts_.size(); ++i) starts_[i] = i;
    std::stable_sort(starts_.begin(), starts_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return pending_[a].start < pending_[b].start;
    });
    timer_ = starts_.empty() ? Instant::never() : pending_[starts_[0]].start;
  }

  /// When this host next has something to do by itself.
  [[nodiscard]] Instant next_event() const { return std::min(timer_, port_time()); }

  /// Runs one window; returns when it next has something to do by itself.
  Instant run(const HostRules& rules, WindowContext& context, HostReport& report,
              std::vector<Instant>& delivered, std::vector<SenderWatch>& watches) {
    std::span<const Transit> arrivals = in->arrivals(context.window);
    if (!held_.empty()) [[unlikely]] {
      held_.insert(held_.end(), arrivals.begin(), arrivals.end());
      arrivals = held_;
    }
    std::size_t next = 0;
    while (true) {
      const Instant arrival = next < arrivals.size() ? arrivals[next].time : Instant::never();
      const Instant port = port_time();
      const Instant first = std::min(arrival, std::min(timer_, port));
      if (first >= context.end) break;
      now_ = first;
      if (arrival == first) {
        receive(arrivals[next++].packet, rules, report, delivered);
      } else if (timer_ == first) {
        on_timer(rules, watches);
      } else {
        serve_port(rules, context);
      }
    }
    if (next < arrivals.size() || !held_.empty()) [[unlikely]] {
      if (held_.empty()) {
        held_.assign(arrivals.begin() + static_cast<std::ptrdiff_t>(next), arrivals.end());
      } else {
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(next));
      }
      if (!held_.empty()) return std::min(next_event(), held_.front().time);
    }
    return next_event();
  }

  Wire wire;
  const Lane* in = nullptr;
  DropCounts drops;
  Fingerprint fingerprint;
  std::uint64_t data_sent = 0;
  std::uint64_t control_sent = 0;
  std::uint64_t data_received = 0;
  std::uint64_t control_received = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t probes = 0;
  std::uint64_t timeouts = 0;

  /// What went onto the wire, or was lost on it, since the last time it was asked.
  struct Tally {
    std::int64_t carried = 0;
    std::uint32_t drops = 0;
  };
  Tally take_interval() { return std::exchange(interval_, {}); }

  /// Packets that are on the wire to here, for a later window.
  [[nodiscard]] std::uint64_t transits_held() const { return held_.size(); }
  [[nodiscard]] const Outgoing* outgoing(std::uint32_t slot) const { return outgoing_[slot].get(); }

  /// Calls visit(record) for each flow that has not finished, whether it has started or not.
  template <class Visit>
  void for_each_unfinished(Visit&& visit) const {
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
      if (outgoing_[slot]) {
        visit(record_of(*outgoing_[slot]));
      } else if (!started(slot)) {
        metrics::FlowRecord record;
        record.flow = pending_[slot].flow;
        record.dst = pending_[slot].dst;
        record.size = bytes(pending_[slot].size);
        record.start = pending_[slot].start;
        visit(record);
      }
    }
  }

 private:
  [[nodiscard]] bool started(std::uint32_t slot) const {
    return std::find(starts_.begin() + next_start_, starts_.end(), slot) == starts_.end();
  }

  [[nodiscard]] Instant port_time() const {
    return port_wanted_ ? std::max(port_free_, now_) : Instant::never();
  }

  static metrics::FlowRecord record_of(const Outgoing& o) {
    metrics::FlowRecord record;
    record.flow = o.flow.flow;
    record.dst = o.flow.dst;
    record.size = bytes(o.flow.size);
    record.start = o.flow.start;
    record.packets = o.packets;
    record.retransmissions = o.sender.counters().retransmissions;
    record.probes = o.sender.counters().probes_sent;
    record.timeouts = o.sender.counters().timeouts;
    record.path_changes = o.path_changes;
    return record;
  }

  void receive(const SimPacket& packet, const HostRules& rules, HostReport& report,
               std::vector<Instant>& delivered) {
    if (packet.is_control()) {
      ++control_received;
      receive_sack(packet, report);
      return;
    }
    ++(packet.kind() == PacketKind::data ? data_received : control_received);
    std::unique_ptr<Incoming>& incoming = incoming_[packet.slot()];
    if (!incoming) {
      incoming.reset(
          new Incoming{Receiver(*rules.transport, core::Psn{0}), expected_[packet.slot()]});
    }
    const core::Arrival arrival =
        incoming->receiver.on_packet(packet.to_packet(), packet.marked(), now_);
    if (arrival.delivered) delivered[incoming->flow.flow] = now_;
    while (const auto sack = incoming->receiver.poll_ack(now_)) {
      control_.push(SimPacket::from(*sack, incoming->flow.src, incoming->flow.src_slot));
      port_wanted_ = true;
    }
  }

  void receive_sack(const SimPacket& packet, HostReport& report) {
    std::unique_ptr<Outgoing>& slot = outgoing_[packet.slot()];
    if (!slot) return;  // a straggler for a flow that is done
    Outgoing& o = *slot;
    const Bytes before = o.sender.bytes_recvd();
    o.sender.on_receiving_ack(packet.to_sack(), now_);
    report.bytes_acked += static_cast<std::uint64_t>((o.sender.bytes_recvd() - before).value);
    if (o.sender.poll_completion()) {
      finish(packet.slot(), report);
      return;
    }
    timer_ = std::min(timer_, o.sender.next_deadline());
    take_turn(packet.slot());
  }

  void finish(std::uint32_t slot, HostReport& report) {
    Outgoing& o = *outgoing_[slot];
    metrics::FlowRecord record = record_of(o);
    record.end = now_;
    fingerprint.add(o.flow.flow, now_);
    retransmissions += record.retransmissions;
    probes += record.probes;
    timeouts += record.timeouts;
    report.finished.push_back(record);
    if (o.queued) turns_.erase(slot);
    std::erase(running_, slot);
    outgoing_[slot].reset();
  }

  /// Due: flows that start, and connections whose deadline has come. Deadlines mostly move away
  /// before they come, so `timer_` is a lower bound, corrected when it is reached.
  void on_timer(const HostRules& rules, std::vector<SenderWatch>& watches) {
    while (next_start_ < static_cast<std::ptrdiff_t>(starts_.size()) &&
           pending_[starts_[static_cast<std::size_t>(next_start_)]].start <= now_) {
      const std::uint32_t slot = starts_[static_cast<std::size_t>(next_start_++)];
      const OutgoingFlow& flow = pending_[slot];
      SimEvents events;
      if (flow.flow < watches.size()) events.watch = &watches[flow.flow];
      outgoing_[slot] = std::make_unique<Outgoing>(*rules.transport, flow, events);
      const core::PostResult posted =
          outgoing_[slot]->sender.on_message({flow.flow, flow.size}, now_);
      STRACK_CHECK(posted == core::PostResult::accepted);
      running_.push_back(slot);
      take_turn(slot);
    }
    timer_ = next_start_ < static_cast<std::ptrdiff_t>(starts_.size())
                 ? pending_[starts_[static_cast<std::size_t>(next_start_)]].start
                 : Instant::never();
    for (const std::uint32_t slot : running_) {
      Outgoing& o = *outgoing_[slot];
      if (o.sender.next_deadline() <= now_) {
        o.sender.on_timeout(now_);
        take_turn(slot);
      }
      timer_ = std::min(timer_, o.sender.next_deadline());
    }
  }

  /// The connection may have something to send: it gets its turn.
  void take_turn(std::uint32_t slot) {
    Outgoing& o = *outgoing_[slot];
    port_wanted_ = true;
    if (o.queued) return;
    o.queued = true;
    turns_.push(slot);
  }

  void serve_port(const HostRules& rules, WindowContext& context) {
    if (!control_.empty()) {
      send(control_.front(), rules.sizes->control_size, context);
      control_.pop();
      ++control_sent;
      return;
    }
    while (!turns_.empty()) {
      const std::uint32_t slot = turns_.pop();
      Outgoing& o = *outgoing_[slot];
      const auto packet = o.sender.poll_transmit(now_);
      if (!packet) {
        o.queued = false;
        continue;
      }
      turns_.push(slot);
      timer_ = std::min(timer_, o.sender.next_deadline());
      std::int64_t size = rules.sizes->control_size;
      if (packet->type == core::PacketType::data) {
        size = packet->payload + rules.sizes->data_header;
        if (o.packets++ > 0 && packet->path_id != o.last_path) ++o.path_changes;
        o.last_path = packet->path_id;
        ++data_sent;
      } else {
        ++control_sent;
      }
      send(SimPacket::from(*packet, o.flow.dst, o.flow.dst_slot), size, context);
      return;
    }
    port_wanted_ = false;
  }

  void send(const SimPacket& packet, std::int64_t size, WindowContext& context) {
    const Instant start = now_;
    port_free_ = start + wire.byte_time(size);
    const Instant arrival = port_free_ + wire.latency;
    ++context.packet_hops;
    interval_.carried += size;
    if (wire.is_cut(start, arrival)) [[unlikely]] {
      ++drops.failure;
      ++interval_.drops;
      fingerprint.add(packet, now_);
    } else if (wire.is_corrupted(size)) [[unlikely]] {
      ++drops.error;
      ++interval_.drops;
      fingerprint.add(packet, now_);
    } else {
      context.send(wire, packet, arrival);
    }
  }

  Instant now_{};
  Instant port_free_{};
  Instant timer_ = Instant::never();
  bool port_wanted_ = false;
  Tally interval_;
  PacketRing control_;
  TurnList turns_;                      ///< connections that may have something to send
  std::vector<std::uint32_t> running_;  ///< started, not finished
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<OutgoingFlow> pending_;
  std::vector<IncomingFlow> expected_;
  std::vector<std::uint32_t> starts_;  ///< slots by start time
  std::ptrdiff_t next_start_ = 0;
  std::vector<Transit> held_;
};

}  // namespace strack::sim
