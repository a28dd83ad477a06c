// Two cores, one clock, and a network that does as it is told: the smallest host there is.
//
// Tests, the swarm and `strack demo` use it. It keeps the host contract (core/transport.h) to the
// letter, works for any protocol that does, and is deterministic: events happen in (time, order of
// scheduling) order. Each flow is one connection with its own NIC port; what becomes of a packet is
// the network's to say.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/transport.h"

namespace strack::duet {

/// What becomes of one packet or acknowledgement put on the wire.
struct Fate {
  int copies = 1;             ///< 0: lost, 2: duplicated
  Picoseconds delay{0};       ///< until it arrives
  Picoseconds copy_delay{0};  ///< until the second copy does
  bool ecn = false;           ///< marked on the way
  bool trimmed = false;       ///< its payload cut off on the way

  [[nodiscard]] static Fate lost() { return {.copies = 0}; }
  [[nodiscard]] static Fate after(Picoseconds delay, bool ecn = false) {
    return {.copies = 1, .delay = delay, .ecn = ecn};
  }
};

/// A network decides a packet's fate when its last bit leaves the NIC, and may mark it as late as
/// on arrival (egress marking). Delays count from that moment.
template <class N, class Ack>
concept Network = requires(N network, std::size_t flow, const core::Packet& packet, const Ack& ack,
                           Instant now, bool ecn) {
  { network.fate_of(flow, packet, now) } -> std::same_as<Fate>;
  { network.fate_of(flow, ack, now) } -> std::same_as<Fate>;
  { network.mark_on_arrival(flow, packet, ecn, now) } -> std::same_as<bool>;
};

/// How many messages a flow may have posted at once.
inline constexpr std::size_t kQueueSlots = 64;

template <class Sender, class Receiver, class Slot, class Net>
requires core::Transport<Sender, Receiver> && Network<Net, typename Sender::Ack>
class Duet {
 public:
  using Ack = typename Sender::Ack;

  struct Flow {
    std::unique_ptr<Slot[]> slots;  ///< the host-owned message queue
    Sender sender;
    Receiver receiver;
    Picoseconds byte_time;  ///< of the NIC's port
    Instant port_free{};
    std::deque<core::Message> backlog;  ///< waiting for a slot
    std::vector<std::pair<core::MessageId, Instant>> delivered;
    std::vector<std::pair<core::MessageId, Instant>> completed;
    std::uint64_t packets_sent = 0;
    std::uint64_t acks_sent = 0;
    std::uint64_t payload_placed = 0;
    bool poll_scheduled = false;
  };

  explicit Duet(Net& network) : network_(network) {}

  /// `make_sender(slots)` and `make_receiver()` build the ends; `byte_time` is the NIC port's
  /// speed.
  template <class MakeSender, class MakeReceiver>
  std::size_t add_flow(MakeSender&& make_sender, MakeReceiver&& make_receiver,
                       Picoseconds byte_time) {
    auto slots = std::make_unique<Slot[]>(kQueueSlots);
    std::span<Slot> view(slots.get(), kQueueSlots);
    flows_.push_back(std::make_unique<Flow>(Flow{std::move(slots),
                                                 make_sender(view),
                                                 make_receiver(),
                                                 byte_time,
                                                 {},
                                                 {},
                                                 {},
                                                 {},
                                                 0,
                                                 0,
                                                 0,
                                                 false}));
    return flows_.size() - 1;
  }

  /// Posts now, or as soon as the flow's queue has room.
  void post(std::size_t flow, core::Message message) {
    flows_[flow]->backlog.push_back(message);
    feed(flow);
    pump(flow);
  }

  /// Does the next thing there is to do, if that lies before `limit`.
  bool step(Instant limit = Instant::never()) {
    const Instant event_time = events_.empty() ? Instant::never() : events_.top().time;
    std::size_t timed = 0;
    Instant deadline = Instant::never();
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const Instant due =
          std::min(flows_[i]->sender.next_deadline(), flows_[i]->receiver.next_deadline());
      if (due < deadline) {
        deadline = due;
        timed = i;
      }
    }
    const Instant next = std::min(event_time, deadline);
    if (next == Instant::never() || next > limit) return false;
    now_ = std::max(now_, next);
    if (event_time <= deadline) {
      Event event = events_.top();
      events_.pop();
      dispatch(event);
    } else {
      flows_[timed]->sender.on_timeout(now_);
      flows_[timed]->receiver.on_timeout(now_);
      acknowledge(timed);
      pump(timed);
    }
    return true;
  }

  /// Lets time pass up to an instant before which nothing is due.
  void advance_to(Instant time) { now_ = std::max(now_, time); }

  /// Runs until nothing is left to do; false if `limit` came first.
  bool run(Instant limit) {
    while (step(limit)) {
    }
    return idle();
  }

  [[nodiscard]] bool idle() const {
    return events_.empty() && std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) {
             return flow->backlog.empty() && flow->sender.next_deadline() == Instant::never();
           });
  }

  [[nodiscard]] Instant now() const { return now_; }
  /// The clock itself, for whoever reports along with it. Lives as long as the duet.
  [[nodiscard]] const Instant& clock() const { return now_; }
  [[nodiscard]] Flow& flow(std::size_t i) { return *flows_[i]; }
  [[nodiscard]] std::size_t flow_count() const { return flows_.size(); }
  Net& network() { return network_; }

 private:
  struct PortFree {};
  struct DataArrival {
    core::Packet packet;
    core::Signals signals;
  };
  struct Event {
    Instant time;
    std::uint64_t order;
    std::size_t flow;
    std::variant<PortFree, DataArrival, Ack> what;

    friend bool operator>(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  template <class What>
  void schedule(Instant time, std::size_t flow, What what) {
    events_.push({time, order_++, flow, std::move(what)});
  }

  void dispatch(const Event& event) {
    Flow& flow = *flows_[event.flow];
    if (std::holds_alternative<PortFree>(event.what)) {
      flow.poll_scheduled = false;
    } else if (const auto* data = std::get_if<DataArrival>(&event.what)) {
      core::Signals signals = data->signals;
      signals.ecn = network_.mark_on_arrival(event.flow, data->packet, signals.ecn, now_);
      const core::Arrival arrival = flow.receiver.on_packet(data->packet, signals, now_);
      if (arrival.kind == core::ArrivalKind::accepted) flow.payload_placed += data->packet.payload;
      if (arrival.delivered) flow.delivered.emplace_back(data->packet.message_id, now_);
      acknowledge(event.flow);
      return;
    } else {
      flow.sender.on_receiving_ack(std::get<Ack>(event.what), now_);
      while (const auto id = flow.sender.poll_completion()) flow.completed.emplace_back(*id, now_);
      feed(event.flow);
    }
    pump(event.flow);
  }

  void feed(std::size_t index) {
    Flow& flow = *flows_[index];
    while (!flow.backlog.empty() &&
           flow.sender.on_message(flow.backlog.front(), now_) == core::PostResult::accepted) {
      flow.backlog.pop_front();
    }
  }

  void acknowledge(std::size_t index) {
    Flow& flow = *flows_[index];
    while (const auto ack = flow.receiver.poll_ack(now_)) {
      ++flow.acks_sent;
      const Fate fate = network_.fate_of(index, *ack, now_);
      for (int copy = 0; copy < fate.copies; ++copy) {
        schedule(now_ + (copy == 0 ? fate.delay : fate.copy_delay), index, *ack);
      }
    }
  }

  /// One packet at a time, as the port becomes free.
  void pump(std::size_t index) {
    Flow& flow = *flows_[index];
    if (flow.poll_scheduled) return;
    if (flow.port_free > now_) {
      flow.poll_scheduled = true;
      schedule(flow.port_free, index, PortFree{});
      return;
    }
    const auto packet = flow.sender.poll_transmit(now_);
    if (!packet) return;
    ++flow.packets_sent;
    const Picoseconds wire_time = flow.byte_time * (packet->payload + kHeaderBytes);
    flow.port_free = now_ + wire_time;
    flow.poll_scheduled = true;
    schedule(flow.port_free, index, PortFree{});
    const Fate fate = network_.fate_of(index, *packet, flow.port_free);
    for (int copy = 0; copy < fate.copies; ++copy) {
      schedule(flow.port_free + (copy == 0 ? fate.delay : fate.copy_delay), index,
               DataArrival{*packet, {.ecn = fate.ecn, .trimmed = fate.trimmed}});
    }
  }

  static constexpr std::int64_t kHeaderBytes = 64;

  Net& network_;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  Instant now_{};
};

}  // namespace strack::duet
