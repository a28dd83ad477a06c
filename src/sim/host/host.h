// A simulated host: its NIC port, and the connections that start and end here, for any protocol that
// keeps the host contract (core/transport.h).
//
// Runs one window at a time over its own arrivals, timers and port, in order of time; at one
// instant arrivals come first, then timers, then the port. The port serves one packet at a time,
// control before data, connections in turn. A packet is polled from its connection when the port is
// free, so the RTT clock starts as it goes onto the wire, and nothing queues in the NIC but
// acknowledgements. A pause frame from the ToR holds data back, not control.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "core/transport.h"
#include "metrics/records.h"
#include "sim/host/protocol.h"
#include "sim/net/link_pause.h"
#include "sim/net/packet_ring.h"
#include "sim/net/port.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"
#include "workload/graph.h"

namespace strack::sim {

inline constexpr std::uint32_t kNoJob = ~std::uint32_t{0};

/// A connection as its source knows it before it starts: a flow's, which carries one message from a
/// given time on, or a job's channel, which carries messages as the job's graph asks.
struct OutgoingFlow {
  std::uint32_t flow = 0;  ///< or the channel
  std::uint32_t dst = 0;
  std::uint32_t dst_slot = 0;
  std::uint32_t size = 0;
  Instant start{};
  std::uint32_t job = kNoJob;
  std::uint32_t slots =
      1;  ///< messages the transport may hold at once, a power of two; more wait in line
};

/// And as its destination does.
struct IncomingFlow {
  std::uint32_t flow = 0;  ///< or the channel
  std::uint32_t src = 0;
  std::uint32_t src_slot = 0;
  std::uint32_t job = kNoJob;
};

/// A job while it runs. What a node waits for is counted down by the host of its rank alone.
struct JobRun {
  const workload::Graph* graph = nullptr;
  std::vector<std::uint32_t> waits;      ///< by node: events still to come
  std::vector<std::uint32_t> src_slots;  ///< by channel: its connection at the sending host
  std::uint32_t first_flow = 0;          ///< the number of its channel 0, among all connections
};

/// What happened to a job, as one thread's hosts saw it.
struct JobTally {
  std::uint64_t done = 0;
  Instant first =
      Instant::never();  ///< the first message was posted, or the first computation begun
  Instant last{};        ///< the last node was done
};

/// Connections waiting for the port, first come, first served. Grows to the most there ever were.
class TurnList {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
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

/// What hosts share: what they read, and where they leave what they find out about a flow. Each flow
/// has one host that writes to its place.
template <class Protocol>
struct HostRules {
  const typename Protocol::Params* transport = nullptr;
  const PortRules* sizes = nullptr;
  std::vector<Instant>* delivered = nullptr;      ///< by flow, when its last byte arrived
  std::vector<std::uint32_t>* victims = nullptr;  ///< by flow, packets that came as victims
  std::vector<SenderWatch>* watches = nullptr;    ///< of the flows that are sampled or inspected
  std::vector<JobRun>* jobs = nullptr;
  const Topology* topology = nullptr;
};

/// What a thread's hosts report during one window.
struct HostReport {
  std::vector<metrics::FlowRecord> finished;
  std::vector<JobTally> jobs;  ///< by job
  std::uint64_t bytes_acked = 0;
};

template <class Protocol>
class Host {
 public:
  using Rules = HostRules<Protocol>;

  /// One connection's sending end while it runs.
  struct Outgoing : Protocol::SendingEnd {
    OutgoingFlow flow;
    FlowLog* log = nullptr;              ///< where it is inspected
    std::vector<workload::NodeId> line;  ///< a channel's messages that wait for a slot
    std::size_t line_head = 0;
    std::uint32_t packets = 0;
    std::uint32_t path_changes = 0;
    std::uint32_t timer_index = kNotRunning;
    core::PathId last_path = 0;
    bool queued = false;  ///< in the port's turn list

    Outgoing(const typename Protocol::Params& params, const OutgoingFlow& f,
             typename Protocol::Events events)
        : Protocol::SendingEnd(params, f.slots, events), flow(f), log(events.log()) {}
  };
  struct Incoming : Protocol::ReceivingEnd {
    IncomingFlow flow;
    std::uint32_t victims = 0;
    std::uint8_t hops = 0;  ///< links from its source, where the transport asks

    Incoming(const typename Protocol::Params& params, const IncomingFlow& f)
        : Protocol::ReceivingEnd(params), flow(f) {}
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
    for (std::uint32_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].job == kNoJob) starts_.push_back(i);
    }
    std::stable_sort(starts_.begin(), starts_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return pending_[a].start < pending_[b].start;
    });
    timer_ = next_due();
  }

  /// A rank of this job is here and begins at this time; then its nodes that wait for nothing start.
  void seat(std::uint32_t job, workload::Rank rank, Instant time) {
    add_due({time, due_order_++, DueKind::rank_begins, job, rank});
  }
  /// A node that does not start before this time.
  void not_before(std::uint32_t job, workload::NodeId node, Instant time) {
    add_due({time, due_order_++, DueKind::time_has_come, job, node});
  }

  /// When this host next has something to do by itself.
  [[nodiscard]] Instant next_event() const { return std::min(timer_, port_time()); }

  /// Runs one window; returns when it next has something to do by itself.
  Instant run(const Rules& rules, WindowContext& context, HostReport& report) {
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
        receive(arrivals[next++].packet, rules, report);
      } else if (timer_ == first) {
        on_timer(rules, report);
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
  [[nodiscard]] std::uint64_t pauses_received() const { return pause_.frames(); }
  std::uint64_t victim_packets = 0;
  std::uint64_t victim_channels = 0;
  /// Of all connections.
  struct FlowTotals {
    std::uint64_t retransmissions = 0;
    std::uint64_t probes = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t cnps = 0;
    std::uint64_t naks = 0;

    void add(const metrics::FlowRecord& r) {
      retransmissions += r.retransmissions;
      probes += r.probes;
      timeouts += r.timeouts;
      cnps += r.cnps;
      naks += r.naks;
    }
  };
  [[nodiscard]] FlowTotals totals() const {
    FlowTotals all = totals_;
    for (const auto& o : outgoing_) {
      if (o) all.add(record_of(*o));
    }
    return all;
  }

  /// What went onto the wire, was lost on it or held back, since the last time it was asked.
  struct Tally {
    std::int64_t carried = 0;
    std::int64_t arrived = 0;  ///< the data of that: a NIC has no queue for it
    std::uint32_t drops = 0;
    Picoseconds paused{0};
    std::uint32_t pause_frames = 0;
  };
  Tally take_interval(Instant now) {
    const LinkPause::Interval held = pause_.take_interval(now);
    interval_.paused = held.paused;
    interval_.pause_frames = held.frames;
    return std::exchange(interval_, {});
  }
  /// How long data was held back, up to an instant.
  [[nodiscard]] Picoseconds paused(Instant now) const { return pause_.total(now); }

  /// Packets that are on the wire to here, for a later window.
  [[nodiscard]] std::uint64_t transits_held() const { return held_.size(); }
  [[nodiscard]] const Outgoing* outgoing(std::uint32_t slot) const { return outgoing_[slot].get(); }

  /// Calls visit(record) for each flow that has not finished, whether it has started or not.
  template <class Visit>
  void for_each_unfinished(Visit&& visit) const {
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
      if (pending_[slot].job != kNoJob) continue;
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
    if (!port_wanted_) return Instant::never();
    const Instant free = std::max(port_free_, now_);
    return control_.empty() && pause_.holds(free) ? pause_.until() : free;
  }

  static metrics::FlowRecord record_of(const Outgoing& o) {
    metrics::FlowRecord record;
    record.flow = o.flow.flow;
    record.dst = o.flow.dst;
    record.size = bytes(o.flow.size);
    record.start = o.flow.start;
    record.packets = o.packets;
    record.path_changes = o.path_changes;
    Protocol::fill(record, o);
    return record;
  }

  void receive(const SimPacket& packet, const Rules& rules, HostReport& report) {
    if (packet.is_backward()) {
      if (packet.is_pause()) {
        // [R.pfc.hold] [R.pfc.expiry] The ToR asks for silence, or lets go.
        end_lapsed_pause();
        if (pause_.on_frame(packet.pause_time(), now_)) mark_held();
        return;
      }
      ++control_received;
      receive_ack(packet, rules, report);
      return;
    }
    ++(packet.is_whole() ? data_received : control_received);
    std::unique_ptr<Incoming>& incoming = incoming_[packet.slot()];
    if (!incoming) {
      incoming = std::make_unique<Incoming>(*rules.transport, expected_[packet.slot()]);
      if constexpr (Protocol::kMeasuresPath)
        incoming->hops = rules.topology->hops(incoming->flow.src, packet.dst());
    }
    const core::Packet unpacked = Protocol::unpack(packet);
    const core::Arrival arrival =
        incoming->receiver.on_packet(unpacked, signals_of(packet, *incoming), now_);
    if (packet.victim()) [[unlikely]]
      note_victim(*incoming, rules);
    if (arrival.delivered) {
      const IncomingFlow& flow = incoming->flow;
      if (flow.job == kNoJob) {
        (*rules.delivered)[flow.flow] = now_;
      } else {
        fingerprint.add(mix64(flow.job) ^ unpacked.message_id, now_);
        tell(workload::Moment::received, flow.job, unpacked.message_id, rules);
        start_ready(rules, report);
      }
    }
    while (const auto ack = incoming->receiver.poll_ack(now_)) {
      control_.push(Protocol::pack_ack(*ack, {incoming->flow.src, incoming->flow.src_slot}));
      port_wanted_ = true;
    }
  }

  static core::Signals signals_of(const SimPacket& packet, const Incoming& incoming) {
    core::Signals signals;
    signals.ecn = packet.marked();
    signals.ecn_last_hop = packet.marked_last_hop();
    signals.trimmed = packet.trimmed();
    signals.trimmed_last_hop = packet.trimmed_last_hop();
    if constexpr (Protocol::kMeasuresPath) {
      signals.hops = incoming.hops;
      signals.utilisation = static_cast<std::uint16_t>(packet.utilisation());
    }
    return signals;
  }

  void note_victim(Incoming& incoming, const Rules& rules) {
    ++victim_packets;
    if (incoming.flow.job == kNoJob) {
      ++(*rules.victims)[incoming.flow.flow];
    } else if (incoming.victims++ == 0) {
      ++victim_channels;
    }
  }

  void receive_ack(const SimPacket& packet, const Rules& rules, HostReport& report) {
    std::unique_ptr<Outgoing>& slot = outgoing_[packet.slot()];
    if (!slot) return;  // a straggler for a flow that is done
    Outgoing& o = *slot;
    const Bytes before = o.acked();
    o.sender.on_receiving_ack(Protocol::unpack_ack(packet), now_);
    if (o.log != nullptr) [[unlikely]]
      settle(o, rules);
    report.bytes_acked += static_cast<std::uint64_t>((o.acked() - before).value);
    if (o.flow.job == kNoJob) {
      if (o.sender.poll_completion()) {
        finish(packet.slot(), report);
        return;
      }
    } else if (!complete_messages(o, rules, report)) {
      return;
    }
    watch_deadline(o);
    take_turn(packet.slot());
  }

  // ---- Jobs: what the graph of messages asks of this host's ranks ----

  /// Tells the graph of a channel's messages that are done; false when there is nothing left to send.
  bool complete_messages(Outgoing& o, const Rules& rules, HostReport& report) {
    while (const auto id = o.sender.poll_completion()) {
      tell(workload::Moment::sent, o.flow.job, *id, rules);
      note_done(o.flow.job, report);
    }
    start_ready(rules, report);
    const JobRun& job = (*rules.jobs)[o.flow.job];
    while (o.line_head < o.line.size() && post(o, job, o.line[o.line_head])) ++o.line_head;
    if (o.line_head == o.line.size()) {
      o.line.clear();
      o.line_head = 0;
      if (o.sender.idle()) {
        if (o.timer_index != kNotRunning) stop_running(o);
        return false;
      }
    }
    return true;
  }

  bool post(Outgoing& o, const JobRun& job, workload::NodeId node) {
    const auto size = static_cast<std::uint32_t>(job.graph->node(node).amount);
    return o.sender.on_message({node, size}, now_) == core::PostResult::accepted;
  }

  /// Something happened to a node: whoever waited for that waits for one thing less.
  void tell(workload::Moment moment, std::uint32_t job, workload::NodeId node, const Rules& rules) {
    JobRun& run = (*rules.jobs)[job];
    for (const workload::NodeId next : run.graph->after(moment, node)) {
      if (--run.waits[next] == 0) ready_.push_back({job, next});
    }
  }

  /// Starts all that waits for nothing any more, and what that sets free in turn: by a list, since a
  /// chain of nodes can be as long as the graph.
  void start_ready(const Rules& rules, HostReport& report) {
    for (std::size_t i = 0; i < ready_.size(); ++i)
      start_node(ready_[i].job, ready_[i].node, rules, report);
    ready_.clear();
  }

  void note_done(std::uint32_t job, HostReport& report) {
    JobTally& tally = report.jobs[job];
    ++tally.done;
    tally.last = std::max(tally.last, now_);
  }

  void start_node(std::uint32_t job, workload::NodeId node, const Rules& rules,
                  HostReport& report) {
    const JobRun& run = (*rules.jobs)[job];
    const workload::Graph::Node& what = run.graph->node(node);
    report.jobs[job].first = std::min(report.jobs[job].first, now_);
    if (what.computes) {
      add_due({now_ + ps(what.amount), due_order_++, DueKind::computed, job, node});
    } else {
      const std::uint32_t slot = run.src_slots[what.channel];
      std::unique_ptr<Outgoing>& channel = outgoing_[slot];
      if (!channel)
        channel = std::make_unique<Outgoing>(*rules.transport, pending_[slot],
                                             events_of(run.first_flow + what.channel, rules));
      Outgoing& o = *channel;
      if (o.line_head < o.line.size() || !post(o, run, node)) o.line.push_back(node);
      if (o.timer_index == kNotRunning) start_running(o, slot);
      take_turn(slot);
    }
    tell(workload::Moment::started, job, node, rules);
  }

  enum class DueKind : std::uint8_t { rank_begins, time_has_come, computed };
  /// Something of a job that is to happen here, of itself, at a time.
  struct Due {
    Instant time;
    std::uint64_t order;
    DueKind kind;
    std::uint32_t job;
    std::uint32_t what;  ///< the rank, or the node

    friend bool operator>(const Due& a, const Due& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  void add_due(const Due& due) {
    due_.push_back(due);
    std::push_heap(due_.begin(), due_.end(), std::greater<>{});
    timer_ = std::min(timer_, due.time);
  }
  void work_off_due(const Rules& rules, HostReport& report) {
    while (!due_.empty() && due_.front().time <= now_) {
      std::pop_heap(due_.begin(), due_.end(), std::greater<>{});
      const Due due = due_.back();
      due_.pop_back();
      JobRun& run = (*rules.jobs)[due.job];
      switch (due.kind) {
        case DueKind::rank_begins:
          for (const workload::NodeId node : run.graph->roots(due.what))
            ready_.push_back({due.job, node});
          break;
        case DueKind::time_has_come:
          if (--run.waits[due.what] == 0) ready_.push_back({due.job, due.what});
          break;
        case DueKind::computed:
          fingerprint.add(mix64(due.job) ^ due.what, now_);
          tell(workload::Moment::sent, due.job, due.what, rules);
          note_done(due.job, report);
          break;
      }
      start_ready(rules, report);
    }
  }

  /// The next flow to start, the next thing of a job.
  [[nodiscard]] Instant next_due() const {
    Instant next = due_.empty() ? Instant::never() : due_.front().time;
    if (next_start_ < static_cast<std::ptrdiff_t>(starts_.size()))
      next = std::min(next, pending_[starts_[static_cast<std::size_t>(next_start_)]].start);
    return next;
  }

  void finish(std::uint32_t slot, HostReport& report) {
    Outgoing& o = *outgoing_[slot];
    metrics::FlowRecord record = record_of(o);
    record.end = now_;
    fingerprint.add(o.flow.flow, now_);
    totals_.add(record);
    report.finished.push_back(record);
    if (o.queued) turns_.erase(slot);
    stop_running(o);
    outgoing_[slot].reset();
  }

  /// What watches the sender of a connection with this number.
  [[nodiscard]] typename Protocol::Events events_of(std::uint32_t flow, const Rules& rules) const {
    typename Protocol::Events events;
    if (flow >= rules.watches->size()) return events;
    events.watch = &(*rules.watches)[flow];
    if (events.log() != nullptr) events.log()->set_clock(&now_);
    return events;
  }
  static void settle(const Outgoing& o, const Rules& rules) {
    o.log->settle([&](metrics::FlowEvent& event) { Protocol::fill(event, o, *rules.transport); });
  }

  void start_running(Outgoing& o, std::uint32_t slot) {
    o.timer_index = static_cast<std::uint32_t>(running_.size());
    running_.push_back({o.sender.next_deadline(), slot});
  }
  void stop_running(Outgoing& o) {
    running_.erase(running_.begin() + o.timer_index);
    for (std::size_t i = o.timer_index; i < running_.size(); ++i)
      --outgoing(running_[i]).timer_index;
    o.timer_index = kNotRunning;
  }

  static constexpr std::uint32_t kNotRunning = ~std::uint32_t{0};

  /// A connection that runs, and a lower bound of its deadline: deadlines mostly move away before
  /// they come. Side by side, so that looking for the next one reads few cache lines.
  struct Running {
    Instant deadline;
    std::uint32_t slot;
  };
  [[nodiscard]] Outgoing& outgoing(const Running& r) { return *outgoing_[r.slot]; }

  /// The connection's deadline may have come nearer.
  void watch_deadline(Outgoing& o) {
    const Instant deadline = o.sender.next_deadline();
    if (deadline < running_[o.timer_index].deadline) running_[o.timer_index].deadline = deadline;
    if (deadline < timer_) timer_ = deadline;
  }

  /// Due: flows that start, what jobs have to do, and connections whose deadline has come.
  void on_timer(const Rules& rules, HostReport& report) {
    while (next_start_ < static_cast<std::ptrdiff_t>(starts_.size()) &&
           pending_[starts_[static_cast<std::size_t>(next_start_)]].start <= now_) {
      const std::uint32_t slot = starts_[static_cast<std::size_t>(next_start_++)];
      const OutgoingFlow& flow = pending_[slot];
      outgoing_[slot] =
          std::make_unique<Outgoing>(*rules.transport, flow, events_of(flow.flow, rules));
      const core::PostResult posted =
          outgoing_[slot]->sender.on_message({flow.flow, flow.size}, now_);
      STRACK_CHECK(posted == core::PostResult::accepted);
      start_running(*outgoing_[slot], slot);
      take_turn(slot);
    }
    work_off_due(rules, report);
    timer_ = next_due();
    for (Running& running : running_) {
      if (running.deadline <= now_) {
        Outgoing& o = outgoing(running);
        if (o.sender.next_deadline() <= now_) {
          o.sender.on_timeout(now_);
          if (o.log != nullptr) [[unlikely]]
            settle(o, rules);
          take_turn(running.slot);
        }
        running.deadline = o.sender.next_deadline();
      }
      timer_ = std::min(timer_, running.deadline);
    }
  }

  /// [R.pfc.victim] A pause ends: the connections that wait for the port now were held by it, and
  /// their next packets with them.
  void mark_held() { held_left_ = turns_.size(); }
  /// A pause that ended while nothing was to be sent held nobody who comes later.
  void end_lapsed_pause() {
    if (pause_.active() && pause_.until() < now_) [[unlikely]] {
      pause_.expire(now_);
      mark_held();
    }
  }

  /// The connection may have something to send: it gets its turn.
  void take_turn(std::uint32_t slot) {
    Outgoing& o = *outgoing_[slot];
    end_lapsed_pause();
    port_wanted_ = true;
    if (o.queued) return;
    o.queued = true;
    turns_.push(slot);
  }

  void serve_port(const Rules& rules, WindowContext& context) {
    if (!control_.empty()) {
      send(control_.front(), rules.sizes->control_size, context);
      control_.pop();
      ++control_sent;
      return;
    }
    if (pause_.expire(now_)) [[unlikely]]
      mark_held();
    while (!turns_.empty()) {
      const std::uint32_t slot = turns_.pop();
      Outgoing& o = *outgoing_[slot];
      const auto packet = o.sender.poll_transmit(now_);
      if (o.timer_index != kNotRunning) watch_deadline(o);
      if (!packet) {
        o.queued = false;
        if (held_left_ > 0) [[unlikely]]
          --held_left_;  // it waited in vain
        continue;
      }
      turns_.push(slot);
      std::int64_t size = rules.sizes->control_size;
      if (packet->type == core::PacketType::data) {
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
      interval_.arrived += size;
      SimPacket sent = Protocol::pack(*packet, {o.flow.dst, o.flow.dst_slot});
      if (held_left_ > 0) [[unlikely]] {
        --held_left_;
        sent.set_held(packet->type == core::PacketType::data);
      }
      send(sent, size, context);
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
  LinkPause pause_;
  std::size_t held_left_ = 0;  ///< so many packets more were held by the last pause
  bool port_wanted_ = false;
  Tally interval_;
  FlowTotals totals_;
  PacketRing control_;
  TurnList turns_;                ///< connections that may have something to send
  std::vector<Running> running_;  ///< started, not finished
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<OutgoingFlow> pending_;
  std::vector<IncomingFlow> expected_;
  std::vector<std::uint32_t> starts_;  ///< slots by start time
  std::ptrdiff_t next_start_ = 0;
  struct Ready {
    std::uint32_t job;
    workload::NodeId node;
  };
  std::vector<Ready> ready_;  ///< nodes that wait for nothing any more
  std::vector<Due> due_;      ///< a heap, the earliest first
  std::uint64_t due_order_ = 0;
  std::vector<Transit> held_;
};

}  // namespace strack::sim
