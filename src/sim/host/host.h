// A simulated host: its NIC, and the connections that start and end here, for any transport that
// keeps the host contract (core/transport.h, sim/host/protocol.h).
//
// Runs one window at a time over its own arrivals, timers and port, in order of time; at one
// instant arrivals come first, then timers, then the port (nic_port.h). What jobs ask of it is in
// graph_runner.h; what a connection is, in connection.h. All that others are to know of leaves it as
// records (HostReport): it writes nothing that another host reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "base/units.h"
#include "core/transport.h"
#include "metrics/records.h"
#include "sim/host/connection.h"
#include "sim/host/deadlines.h"
#include "sim/host/flow_totals.h"
#include "sim/host/graph_runner.h"
#include "sim/host/host_rules.h"
#include "sim/host/nic_port.h"
#include "sim/host/protocol.h"
#include "sim/host/report.h"
#include "sim/host/server_links.h"
#include "sim/net/fetch_ahead.h"
#include "sim/net/port.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"
#include "workload/graph.h"

namespace strack::sim {

template <class Protocol>
class HostState;  // sim/host/host_state.h

/// What only some transports need is inherited, so that it takes no space with the others.
template <class Protocol>
class Host : private Protocol::Nic,
             private std::conditional_t<Protocol::kReceiverTimers, DeadlineHeap, NoDeadlines> {
 public:
  using Rules = HostRules<Protocol>;
  using OutgoingEnd = Outgoing<Protocol>;
  using IncomingEnd = Incoming<Protocol>;
  using Nic = typename Protocol::Nic;
  static constexpr auto& kCounters = Protocol::kCounters;
  static_assert(kCounters.size() <= metrics::kOwnCounters);
  /// The NIC's shared object acts by itself.
  static constexpr bool kNicActs = requires(Nic & nic, Instant now) { nic.poll(now); };

  NicPort port;
  Lane* in = nullptr;
  std::unique_ptr<ServerPort> server;  ///< null: no other host is in its server
  Fingerprint fingerprint;
  std::uint64_t data_sent = 0;
  std::uint64_t control_sent = 0;
  std::uint64_t data_received = 0;
  std::uint64_t control_received = 0;
  std::uint64_t victim_packets = 0;
  std::uint64_t victim_channels = 0;

  /// Ready to run. Starts need not be in order.
  void prepare(HostPlacement placement, const typename Protocol::Params& params) {
    if constexpr (kNicActs) nic().set_up(params, port.wire.byte_time.rate());
    pending_ = std::move(placement.outgoing);
    expected_ = std::move(placement.incoming);
    outgoing_.resize(pending_.size());
    incoming_.resize(expected_.size());
    for (std::uint32_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].job == kNoJob) starts_.push_back(i);
      if (server != nullptr) pending_[i].fellow = server->fellow(pending_[i].dst);
    }
    std::stable_sort(starts_.begin(), starts_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return pending_[a].start < pending_[b].start;
    });
    for (const JobDue& due : placement.dues) graphs_.add(due);
    timer_ = next_due();
  }

  /// Asks for this host, whose turn comes soon (fetch_ahead.h); then for what it leads to (of several connections
  /// nobody knows which comes first); and then for what has come.
  void fetch_ahead() const { sim::fetch_ahead(this, sizeof(*this)); }
  void fetch_ends_ahead(std::uint64_t window) const {
    in->fetch_ahead(window);
    port.wire.lane->fetch_room_ahead(window);
    if (outgoing_.size() == 1 && outgoing_[0])
      sim::fetch_ahead(outgoing_[0].get(), sizeof(OutgoingEnd));
    if (incoming_.size() == 1 && incoming_[0])
      sim::fetch_ahead(incoming_[0].get(), sizeof(IncomingEnd));
  }
  void fetch_arrivals_ahead(std::uint64_t window) const { in->fetch_arrivals_ahead(window); }
  /// When this host next has something to do by itself.
  [[nodiscard]] Instant next_event() const { return std::min(timer_, port.next_event(now_)); }

  /// Runs one window; returns when it next has something to do by itself. A report is a HostReport, or
  /// takes the same.
  template <class Report>
  Instant run(const Rules& rules, WindowContext& context, Report& report) {
    Mail mail{gather(context.window)};
    if (server != nullptr) [[unlikely]]
      receive_inside(context.window);
    for (Due due; (due = upcoming(mail, context.end)) != Due::nothing;)
      handle(due, mail, rules, context, report);
    if (server != nullptr) [[unlikely]]
      server->hand_over(context);
    const Instant next = keep(mail);
    if (context.store != nullptr) in->put_by(context.window, *context.store);
    return next;
  }

  // ---- run() in parts, for engines that run many hosts in step ----

  /// What has come by the wire, and how much of it has been received.
  struct Mail {
    std::span<const Transit> arrivals;
    std::size_t next = 0;
  };
  enum class Due : std::uint8_t { nothing, arrival, timer, port };

  /// Once in each window.
  [[nodiscard, gnu::always_inline]] std::span<const Transit> gather(std::uint64_t window) {
    const std::span<const Transit> arrivals = in->arrivals(window);
    if (held_.empty()) [[likely]]
      return arrivals;
    return append(held_, arrivals);
  }
  /// What comes next, before `end`. It is that time now.
  [[nodiscard, gnu::always_inline]] Due upcoming(const Mail& mail, Instant end) {
    const Instant arrival =
        mail.next < mail.arrivals.size() ? mail.arrivals[mail.next].time : Instant::never();
    const Instant free = port.next_event(now_);
    const Instant first = std::min(arrival, std::min(timer_, free));
    if (first >= end) return Due::nothing;
    now_ = first;
    if (arrival == first) return Due::arrival;
    return timer_ == first ? Due::timer : Due::port;
  }
  template <class Report>
  [[gnu::always_inline]] void handle(Due due, Mail& mail, const Rules& rules,
                                     WindowContext& context, Report& report) {
    if (due == Due::arrival) {
      receive(mail.arrivals[mail.next++].packet, rules, report);
    } else if (due == Due::timer) {
      on_timer(rules, report);
    } else {
      serve_port(rules, context);
    }
    if constexpr (kNicActs) poll_nic();
  }
  /// Keeps what is for a later window; when there is something to do again.
  [[nodiscard]] Instant keep(const Mail& mail) {
    hold(mail);
    return next_event_or_arrival();
  }
  void hold(const Mail& mail) {
    if (mail.next == mail.arrivals.size() && held_.empty()) [[likely]]
      return;
    if (held_.empty()) held_.assign(mail.arrivals.begin(), mail.arrivals.end());
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(mail.next));
  }
  [[nodiscard]] Instant next_event_or_arrival() const {
    return held_.empty() ? next_event() : std::min(next_event(), held_.front().time);
  }

  /// Of all connections.
  using FlowTotals = FlowTotalsOf<Protocol>;
  [[nodiscard]] FlowTotals totals() const {
    FlowTotals all = totals_;
    for (const auto& o : outgoing_) {
      if (o) all.add(o->record());
    }
    return all;
  }

  /// Packets that are on the wire to here, for a later window.
  [[nodiscard]] std::uint64_t transits_held() const { return held_.size(); }
  [[nodiscard]] const OutgoingEnd* outgoing(std::uint32_t slot) const {
    return outgoing_[slot].get();
  }

  /// Calls visit(record) for each flow that has not finished, whether it has started or not.
  template <class Visit>
  void for_each_unfinished(Visit&& visit) const {
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
      if (pending_[slot].job != kNoJob) continue;
      if (outgoing_[slot]) {
        visit(outgoing_[slot]->record());
      } else if (!started(slot) || (server != nullptr && server->carries(slot))) {
        visit(pending_[slot].record());
      }
    }
  }

 protected:
  // Engines that run many hosts in step look inside (sim/gpu/nearby.h).
  friend class HostState<Protocol>;

  [[nodiscard]] Nic& nic() { return *this; }
  [[nodiscard]] DeadlineHeap& receiver_timers() { return *this; }

  [[nodiscard]] bool started(std::uint32_t slot) const {
    return std::find(starts_.begin() + next_start_, starts_.end(), slot) == starts_.end();
  }

  // ---- Inside the server [D90] ----

  void receive_inside(std::uint64_t window) {
    server->receive(window, [&](const MessageInside& message) {
      graphs_.add_received(message.time, message.job, message.node);
    });
    timer_ = std::min(timer_, graphs_.next_due());
  }
  template <class Report>
  void finish_inside(Report& report) {
    while (server->next_flow() <= now_) {
      metrics::FlowRecord record = pending_[server->pop_flow()].record();
      record.end = now_;
      fingerprint.add(record.flow, now_);
      report.on_acked(static_cast<std::uint64_t>(record.size.value));
      report.on_delivery({record.flow, now_});
      report.on_finished(record);
    }
  }

  // ---- Arrivals ----

  template <class Report>
  void receive(const SimPacket& packet, const Rules& rules, Report& report) {
    if (packet.is_backward()) {
      receive_backward(packet, rules, report);
    } else {
      receive_data(packet, rules, report);
    }
  }
  template <class Report>
  void receive_backward(const SimPacket& packet, const Rules& rules, Report& report) {
    if (packet.is_pause()) {
      port.on_pause(packet.pause_time(), now_);
      return;
    }
    ++control_received;
    receive_ack(packet, rules, report);
  }
  template <class Report>
  void receive_data(const SimPacket& packet, const Rules& rules, Report& report) {
    ++(packet.is_whole() ? data_received : control_received);
    IncomingEnd& incoming = incoming_at(packet, rules);
    const core::Packet unpacked = Protocol::unpack(packet);
    const core::Arrival arrival =
        incoming.receiver.on_packet(unpacked, signals_of(packet, incoming), now_);
    if (packet.victim()) [[unlikely]]
      note_victim(incoming, report);
    if (arrival.delivered) {
      IncomingFlow& flow = incoming.flow;
      if (flow.job == kNoJob) {
        if (--flow.pieces == 0) report.on_delivery({flow.flow, now_});
      } else {
        fingerprint.add(mix64(flow.job) ^ unpacked.message_id, now_);
        const auto jobs = jobs_of(rules, report);
        note(flow.job, unpacked.message_id, workload::Moment::received, rules, report);
        graphs_.tell_of_message(workload::Moment::received, flow, unpacked.message_id, now_, jobs);
        start_ready(rules, report);
      }
    }
    acknowledge(incoming);
    if constexpr (Protocol::kReceiverTimers) {
      arm(incoming, packet.slot());
    } else {
      STRACK_DCHECK(incoming.receiver.next_deadline() == Instant::never());
    }
  }

  IncomingEnd& incoming_at(const SimPacket& packet, const Rules& rules) {
    std::unique_ptr<IncomingEnd>& incoming = incoming_[packet.slot()];
    if (!incoming) [[unlikely]] {
      incoming = std::make_unique<IncomingEnd>(*rules.transport, expected_[packet.slot()],
                                               packet.slot(), nic());
      if constexpr (Protocol::kMeasuresPath || Protocol::kCountsHops)
        incoming->hops = rules.topology->hops(incoming->flow.src, packet.dst());
    }
    return *incoming;
  }

  static core::Signals signals_of(const SimPacket& packet, const IncomingEnd& incoming) {
    core::Signals signals;
    signals.ecn = packet.marked();
    signals.ecn_last_hop = packet.marked_last_hop();
    signals.trimmed = packet.trimmed();
    signals.trimmed_last_hop = packet.trimmed_last_hop();
    if constexpr (Protocol::kMeasuresPath || Protocol::kCountsHops) signals.hops = incoming.hops;
    if constexpr (Protocol::kMeasuresPath)
      signals.utilisation = static_cast<std::uint16_t>(packet.utilisation());
    return signals;
  }

  /// What a receiver has to say goes out by the port.
  void acknowledge(IncomingEnd& incoming) {
    while (const auto ack = incoming.receiver.poll_ack(now_)) say(incoming, *ack);
  }
  template <class Ack>
  void say(const IncomingEnd& incoming, const Ack& ack) {
    port.send_control(Protocol::pack_ack(ack, {incoming.flow.src, incoming.flow.src_slot}));
  }

  template <class Report>
  void note_victim(IncomingEnd& incoming, Report& report) {
    ++victim_packets;
    if (incoming.flow.job == kNoJob) {
      report.on_victim(incoming.flow.flow);
    } else if (incoming.victims++ == 0) {
      ++victim_channels;
    }
  }

  template <class Report>
  void receive_ack(const SimPacket& packet, const Rules& rules, Report& report) {
    std::unique_ptr<OutgoingEnd>& slot = outgoing_[packet.slot()];
    if (!slot) return;  // a straggler for a flow that is done
    OutgoingEnd& o = *slot;
    const Bytes before = o.acked();
    o.sender.on_receiving_ack(Protocol::unpack_ack(packet), now_);
    if (o.log != nullptr) [[unlikely]]
      settle(o, rules);
    report.on_acked(static_cast<std::uint64_t>((o.acked() - before).value));
    if (o.flow.job == kNoJob) {
      if (o.complete_pieces(now_)) {
        finish(packet.slot(), report);
        return;
      }
    } else if (!complete_messages(o, rules, report)) {
      return;
    }
    watch_deadline(o);
    take_turn(packet.slot(), o);
  }

  // ---- Connections ----

  void start_flow(std::uint32_t slot, const Rules& rules) {
    const OutgoingFlow& flow = pending_[slot];
    if (flow.fellow != ServerPort::kOutside) [[unlikely]] {
      server->add({server->carry(flow.size, now_), slot});
      return;
    }
    outgoing_[slot] =
        std::make_unique<OutgoingEnd>(*rules.transport, flow, events_of(flow.flow, rules), nic());
    OutgoingEnd& o = *outgoing_[slot];
    STRACK_CHECK(o.post_pieces(now_));
    start_running(o, slot);
    take_turn(slot, o);
  }

  template <class Report>
  void finish(std::uint32_t slot, Report& report) {
    OutgoingEnd& o = *outgoing_[slot];
    metrics::FlowRecord record = o.record();
    record.end = now_;
    fingerprint.add(o.flow.flow, now_);
    totals_.add(record);
    report.on_finished(record);
    if (o.queued) port.forget({slot, o.flow.priority});
    stop_running(o);
    outgoing_[slot].reset();
  }

  /// What watches the sender of a connection with this number.
  [[nodiscard]] typename Protocol::Events events_of(std::uint32_t flow, const Rules& rules) const {
    typename Protocol::Events events;
    if (flow >= rules.watches.size()) return events;
    events.watch = &rules.watches[flow];
    if (events.log() != nullptr) events.log()->set_clock(&now_);
    return events;
  }
  static void settle(const OutgoingEnd& o, const Rules& rules) {
    o.log->settle([&](metrics::FlowEvent& event) { Protocol::fill(event, o, *rules.transport); });
  }

  // ---- Jobs: what the graph of messages asks of this host's ranks ----

  template <class Report>
  static GraphRunner::Jobs<Report> jobs_of(const Rules& rules, Report& report) {
    return {rules.jobs, &report};
  }

  template <class Report>
  void start_ready(const Rules& rules, Report& report) {
    graphs_.start_ready(now_, jobs_of(rules, report),
                        [&](auto... what) { send(what..., rules, report); });
    timer_ = std::min(timer_, graphs_.next_due());  // a computation may have begun
  }

  /// Posts a message of a job, or lets it wait in line.
  template <class Report>
  void send(std::uint32_t job, workload::NodeId node, std::uint32_t channel, const Rules& rules,
            Report& report) {
    const JobRun& run = rules.jobs[job];
    note(job, node, workload::Moment::started, rules, report);
    const std::uint32_t slot = run.src_slots[channel];
    if (pending_[slot].fellow != ServerPort::kOutside) [[unlikely]] {
      const Instant there = server->carry(run.graph->node(node).amount, now_);
      server->send(pending_[slot].fellow, {there, job, node});
      graphs_.add({there, JobDue::Kind::sent_inside, job, node});
      return;
    }
    std::unique_ptr<OutgoingEnd>& end = outgoing_[slot];
    if (!end)
      end = std::make_unique<OutgoingEnd>(*rules.transport, pending_[slot],
                                          events_of(run.first_flow + channel, rules), nic());
    OutgoingEnd& o = *end;
    if (o.line_head < o.line.size() || !post<Report>(o, run, node)) o.line.push_back(node);
    if (o.timer_index == OutgoingEnd::kNotRunning) start_running(o, slot);
    take_turn(slot, o);
  }
  template <class Report>
  bool post(OutgoingEnd& o, const JobRun& job, workload::NodeId node) {
    const std::uint32_t size = GraphRunner::Jobs<Report>::bytes_of(job, o.flow.flow, node);
    return o.sender.on_message({node, size}, now_) == core::PostResult::accepted;
  }

  template <class Report>
  void note(std::uint32_t job, workload::NodeId node, workload::Moment moment, const Rules& rules,
            Report& report) {
    if (rules.jobs[job].recorded) report.on_moment({job, node, moment, now_});
  }

  /// Tells the graph of a channel's messages that are done; false when there is nothing left to send.
  template <class Report>
  bool complete_messages(OutgoingEnd& o, const Rules& rules, Report& report) {
    const auto jobs = jobs_of(rules, report);
    while (const auto id = o.sender.poll_completion()) {
      note(o.flow.job, *id, workload::Moment::sent, rules, report);
      graphs_.tell_of_message(workload::Moment::sent, o.flow, *id, now_, jobs);
      report.on_job_done(o.flow.job, now_);
    }
    start_ready(rules, report);
    const JobRun& job = rules.jobs[o.flow.job];
    while (o.line_head < o.line.size() && post<Report>(o, job, o.line[o.line_head])) ++o.line_head;
    if (o.line_head == o.line.size()) {
      o.line.clear();
      o.line_head = 0;
      if (o.sender.idle()) {
        if (o.timer_index != OutgoingEnd::kNotRunning) stop_running(o);
        return false;
      }
    }
    return true;
  }

  // ---- Timers ----

  /// What timers tell their connections.
  [[nodiscard]] auto places() {
    return
        [this](std::uint32_t slot, std::uint32_t place) { outgoing_[slot]->timer_index = place; };
  }
  void start_running(OutgoingEnd& o, std::uint32_t slot) {
    running_.add(o.sender.next_deadline(), slot, places());
  }
  void stop_running(OutgoingEnd& o) {
    running_.remove(o.timer_index, places());
    o.timer_index = OutgoingEnd::kNotRunning;
  }
  /// The connection's deadline may have come nearer.
  void watch_deadline(OutgoingEnd& o) {
    const Instant deadline = o.sender.next_deadline();
    if (deadline < running_.time(o.timer_index)) running_.change(o.timer_index, deadline, places());
    if (deadline < timer_) timer_ = deadline;
  }

  /// The next flow to start, the next thing of a job.
  [[nodiscard]] Instant next_due() const {
    Instant next = graphs_.next_due();
    if (next_start_ < static_cast<std::ptrdiff_t>(starts_.size()))
      next = std::min(next, pending_[starts_[static_cast<std::size_t>(next_start_)]].start);
    if (server != nullptr) next = std::min(next, server->next_flow());
    return next;
  }

  /// Due: flows that start, what jobs have to do, and connections whose deadline has come.
  template <class Report>
  void on_timer(const Rules& rules, Report& report) {
    while (next_start_ < static_cast<std::ptrdiff_t>(starts_.size()) &&
           pending_[starts_[static_cast<std::size_t>(next_start_)]].start <= now_)
      start_flow(starts_[static_cast<std::size_t>(next_start_++)], rules);
    if (server != nullptr) [[unlikely]]
      finish_inside(report);
    graphs_.work_off(now_, jobs_of(rules, report), fingerprint,
                     [&](auto... what) { send(what..., rules, report); });
    timer_ = next_due();
    running_.for_each_due(now_, [&](std::uint32_t slot) {
      OutgoingEnd& o = *outgoing_[slot];
      if (o.sender.next_deadline() <= now_) {
        o.sender.on_timeout(now_);
        if (o.log != nullptr) [[unlikely]]
          settle(o, rules);
        take_turn(slot, o);
      }
      running_.change(o.timer_index, o.sender.next_deadline(), places());
    });
    timer_ = std::min(timer_, running_.earliest());
    if constexpr (Protocol::kReceiverTimers) on_receiver_timers();
    if constexpr (kNicActs) {
      if (nic().next_deadline() <= now_) nic().on_timeout(now_);
    }
  }

  /// A receiving end's deadline may have come nearer. Its earliest is in the heap; others that are
  /// there still are stale, and are passed over when their time comes.
  void arm(IncomingEnd& incoming, std::uint32_t slot) {
    const Instant deadline = incoming.receiver.next_deadline();
    if (deadline >= incoming.armed) return;
    incoming.armed = deadline;
    receiver_timers().push({deadline, slot});
    timer_ = std::min(timer_, deadline);
  }
  void on_receiver_timers() {
    while (receiver_timers().earliest() <= now_) {
      const Deadline due = receiver_timers().pop();
      IncomingEnd& incoming = *incoming_[due.slot];
      if (due.time != incoming.armed) continue;
      incoming.armed = Instant::never();
      if (incoming.receiver.next_deadline() <= now_) {
        incoming.receiver.on_timeout(now_);
        STRACK_CHECK(incoming.receiver.next_deadline() > now_);
        acknowledge(incoming);
      }
      arm(incoming, due.slot);
    }
    timer_ = std::min(timer_, receiver_timers().earliest());
  }

  void poll_nic() {
    while (const auto said = nic().poll(now_)) say(*incoming_[said->slot], said->ack);
    timer_ = std::min(timer_, nic().next_deadline());
  }

  // ---- The port ----

  void take_turn(std::uint32_t slot, OutgoingEnd& o) {
    port.take_turn({slot, o.flow.priority}, o.queued, now_);
  }

  void serve_port(const Rules& rules, WindowContext& context) {
    port.serve(now_, rules.sizes->control_size, context, fingerprint, control_sent, poll_of(rules));
  }
  [[nodiscard]] auto poll_of(const Rules& rules) {
    return [&](std::uint32_t slot, auto&& send) { return poll(slot, rules, send); };
  }

  /// Sends the next packet of a connection whose turn it is; without one it is out of the list.
  template <class Send>
  bool poll(std::uint32_t slot, const Rules& rules, Send&& send) {
    OutgoingEnd& o = *outgoing_[slot];
    const auto packet = o.sender.poll_transmit(now_);
    if (o.timer_index != OutgoingEnd::kNotRunning) watch_deadline(o);
    if (!packet) {
      o.queued = false;
      return false;
    }
    const bool data = packet->type == core::PacketType::data;
    std::int64_t size = rules.sizes->control_size;
    if (data) {
      size = packet->payload + rules.sizes->data_header;
      if (o.packets++ > 0 && packet->path_id != o.last_path) ++o.path_changes;
      o.last_path = packet->path_id;
      ++data_sent;
    } else {
      ++control_sent;
    }
    if (o.log != nullptr) [[unlikely]] {
      o.log->on_sent(*packet);
      settle(o, rules);
    }
    SimPacket packed = Protocol::pack(*packet, {o.flow.dst, o.flow.dst_slot});
    packed.set_priority(o.flow.priority);
    send(packed, size, data);
    return true;
  }

  Instant now_{};
  Instant timer_ = Instant::never();
  FlowTotals totals_;
  RunningHeap running_;
  std::vector<std::unique_ptr<OutgoingEnd>> outgoing_;
  std::vector<std::unique_ptr<IncomingEnd>> incoming_;
  std::vector<OutgoingFlow> pending_;
  std::vector<IncomingFlow> expected_;
  std::vector<std::uint32_t> starts_;  ///< slots by start time
  std::ptrdiff_t next_start_ = 0;
  GraphRunner graphs_;
  std::vector<Transit> held_;
};

}  // namespace strack::sim
