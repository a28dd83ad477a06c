// A cluster while it runs: hosts of one protocol, switches of one kind, and the windows they run in.
//
// For simulation.cpp, which instantiates it; everybody else uses simulation.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "sim/engine/workers.h"
#include "sim/host/host.h"
#include "sim/net/pause_loop.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"
#include "sim/net/topology.h"
#include "sim/simulation.h"

namespace strack::sim {

/// What a Simulation asks of it, whatever it is made of.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual Ending run(Observer& observer, const std::atomic<bool>* stop) = 0;
  [[nodiscard]] virtual metrics::Counters counters() const = 0;
  [[nodiscard]] virtual std::vector<metrics::LinkInfo> links() const = 0;
  [[nodiscard]] virtual std::vector<metrics::ChannelInfo> channels() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
};

/// Windowed conservative execution: the smallest link latency L is the lookahead. In a window [W, W
/// + L) every node runs alone over what has reached it; whatever it sends arrives in a later one.
template <class Protocol, class SwitchType>
class ClusterOf final : public Cluster {
  using HostType = Host<Protocol>;
  static constexpr bool kLossless = SwitchType::kLossless;
  static constexpr bool kTrims = requires(const SwitchType& sw) { sw.port(0).trims(); };

 public:
  ClusterOf(const SimConfig& c, workload::Workload w)
      : config(c),
        flows(std::move(w.flows)),
        jobs(std::move(w.jobs)),
        topology(config.topology),
        port_rules(rules_of(config)),
        pause_loops(topology.switches()),
        lanes(std::make_unique<Lane[]>(topology.links())),
        hosts(std::make_unique<HostType[]>(topology.hosts())),
        mail(topology.nodes()),
        next_event(topology.nodes(), Instant::never()),
        delivered(flows.size(), Instant::never()),
        victims(flows.size(), 0),
        host_rules{&Protocol::params(config),
                   &port_rules,
                   &delivered,
                   &victims,
                   &watches,
                   &job_runs,
                   &topology},
        lookahead(topology.smallest_latency()) {
    STRACK_CHECK(lookahead > ps(0));
    STRACK_CHECK(topology.hosts() <= SimPacket::kMaxHosts);
    // A rack is found by a multiplication, exact below this bound.
    STRACK_CHECK(std::uint64_t{topology.hosts()} * config.topology.hosts_per_rack < std::uint64_t{1}
                                                                                        << 32);
    const Rng root(config.seed);
    build_switches(root);
    build_hosts(root);
    build_failures(root);
    place_flows();
    place_jobs();
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      hosts[h].prepare();
      next_event[h] = hosts[h].next_event();
    }
    watches.resize(senders.size());
    for (std::uint32_t f = 0; f < std::min<std::size_t>(config.record.inspect, senders.size()); ++f)
      logs.emplace_back(f);
    for (std::size_t f = 0; f < logs.size(); ++f) watches[f].log = &logs[f];
    threads.resize(std::max(1u, config.threads));
    for (ThreadState& thread : threads) thread.report.jobs.resize(jobs.size());
  }

 private:
  static PortRules rules_of(const SimConfig& config) {
    PortRules rules(config.switches, config.hosts, config.pfc);
    // [D64] One base RTT of a full packet.
    if constexpr (Protocol::kMeasuresPath)
      rules.measured_over = derive(config.topology, config.hosts, config.mtu()).base_rtt;
    return rules;
  }

  void build_switches(const Rng& root) {
    Rng salts = root.stream("ecmp");
    Rng marks = root.stream("marking");
    for (const SwitchInfo& info : topology.switches()) {
      auto& sw = switches.emplace_back(make_switch(info, salts.next()));
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        const PortInfo& port = info.ports[p];
        sw->port(p).wire = make_wire(port.link, port.peer, port.ref.tier);
        sw->port(p).wire.last_hop = port.ref.tier == LinkRef::Tier::host;
        sw->port(p).seed(marks.next());
        sw->connect(p, &lanes[port.reverse]);
        if (port.ref.tier == LinkRef::Tier::host) hosts[port.peer].in = &lanes[port.link];
      }
    }
  }

  [[nodiscard]] std::unique_ptr<SwitchType> make_switch(const SwitchInfo& info,
                                                        std::uint64_t salt) const {
    if constexpr (kLossless) {
      return std::make_unique<SwitchType>(
          info, config.topology, salt,
          SharedBufferParams::of(info, topology, config.pfc, config.hosts, config.mtu()));
    } else {
      return std::make_unique<SwitchType>(info, config.topology, salt);
    }
  }

  void build_hosts(const Rng& root) {
    Rng stragglers = root.stream("stragglers");
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const NodeId tor = topology.tor(topology.rack_of(h)).node;
      hosts[h].wire = make_wire(h, tor, LinkRef::Tier::host);
      if (stragglers.chance(config.hosts.straggler_share)) {
        hosts[h].wire.byte_time = ByteTime(config.hosts.straggler_rate * config.topology.host_rate);
      }
    }
  }

  Wire make_wire(LinkId link, NodeId peer, LinkRef::Tier tier) {
    Wire wire;
    wire.lane = &lanes[link];
    wire.peer = peer;
    wire.byte_time = ByteTime(topology.rate(tier));
    wire.latency = topology.latency(tier);
    return wire;
  }

  /// Calls visit(wire) for both directions of a link.
  template <class Visit>
  void for_both_directions(const LinkRef& ref, Visit&& visit) {
    if (ref.tier == LinkRef::Tier::host) visit(hosts[ref.lower].wire);
    for (std::size_t s = 0; s < switches.size(); ++s) {
      const SwitchInfo& info = topology.switches()[s];
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        if (info.ports[p].ref == ref) visit(switches[s]->port(p).wire);
      }
    }
  }

  void build_failures(const Rng& root) {
    Rng errors = root.stream("errors");
    for (const Impairment& bad : config.failures.impairments) {
      for_both_directions(bad.link, [&](Wire& wire) {
        wire.byte_time = ByteTime(bad.rate * wire.byte_time.rate());
        wire.loss_threshold = either(wire.loss_threshold, fraction_of_2_64(bad.loss));
        // First order in the error rate: exact enough where a packet has far less than one expected
        // error.
        const double per_byte = bad.bit_error_rate * 8.0;
        wire.bit_loss_threshold =
            either(wire.bit_loss_threshold,
                   per_byte >= 1.0 ? ~std::uint64_t{0}
                                   : static_cast<std::uint64_t>(per_byte * 18446744073709551616.0));
        wire.rng = errors.next();
      });
    }

    /// A link that is down for a while, as the network and then as its routes see it.
    struct Down {
      LinkRef link;
      Outage outage;
    };
    std::vector<Down> downs;
    std::vector<Instant> changes{Instant{}};
    const Picoseconds lag = config.failures.convergence;
    for (const Failure& failure : config.failures.failures) {
      for (const LinkRef& ref : topology.links_of(failure))
        downs.push_back({ref, {failure.from, failure.until}});
      if (failure.from > Instant{}) changes.push_back(failure.from + lag);
      if (failure.until != Instant::never()) changes.push_back(failure.until + lag);
    }
    for (const Down& down : downs) {
      for_both_directions(down.link, [&](Wire& wire) {
        auto& list = wire.outages == nullptr
                         ? *outages.emplace_back(std::make_unique<std::vector<Outage>>())
                         : const_cast<std::vector<Outage>&>(*wire.outages);
        list.push_back(down.outage);
        wire.outages = &list;
      });
    }
    std::sort(changes.begin(), changes.end());
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());

    std::vector<std::vector<RouteVersion>> versions(switches.size());
    for (const Instant change : changes) {
      // Few links are down in any scenario, so the ones known to be are simply looked through.
      std::vector<LinkRef> known;
      for (const Down& down : downs) {
        const bool from_start = down.outage.from == Instant{};
        const bool seen = from_start || down.outage.from + lag <= change;
        const bool over =
            down.outage.until != Instant::never() && down.outage.until + lag <= change;
        if (seen && !over) known.push_back(down.link);
      }
      auto tables = make_routes(topology, [&](const LinkRef& ref) {
        return std::find(known.begin(), known.end(), ref) != known.end();
      });
      for (std::size_t s = 0; s < switches.size(); ++s)
        versions[s].push_back({change, std::move(tables[s])});
    }
    for (std::size_t s = 0; s < switches.size(); ++s)
      switches[s]->set_routes(std::move(versions[s]));
  }

  static std::uint64_t fraction_of_2_64(Ratio r) {
    if (r.num <= 0) return 0;
    if (r.num >= r.den) return ~std::uint64_t{0};
    __extension__ using Uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Uint128>(r.num) << 64) /
                                      static_cast<Uint128>(r.den));
  }

  /// The probability that one of two independent things happens, all in 2^-64.
  static std::uint64_t either(std::uint64_t a, std::uint64_t b) {
    __extension__ using Uint128 = unsigned __int128;
    const Uint128 sum = static_cast<Uint128>(a) + b - ((static_cast<Uint128>(a) * b) >> 64);
    return sum >> 64 != 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(sum);
  }

  /// Connections are numbered as they are placed: flows, then the channels of one job after the
  /// other. The first of them may be sampled or inspected.
  void note_sender(std::uint32_t number, std::uint32_t job, std::uint32_t src, std::uint32_t dst,
                   std::uint32_t slot) {
    if (number < std::max(config.record.flows, config.record.inspect))
      senders.push_back({job, src, dst, slot});
  }

  void place_flows() {
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      const workload::Flow& f = flows[i];
      STRACK_CHECK_OP(f.src, <, topology.hosts());
      STRACK_CHECK_OP(f.dst, <, topology.hosts());
      STRACK_CHECK(f.src != f.dst);
      STRACK_CHECK_OP(f.size.value, <, std::int64_t{1} << 32);
      HostType& src = hosts[f.src];
      HostType& dst = hosts[f.dst];
      const std::uint32_t src_slot = src.outgoing_slots();
      const std::uint32_t dst_slot = dst.incoming_slots();
      STRACK_CHECK(src_slot < SimPacket::kMaxSlots && dst_slot < SimPacket::kMaxSlots);
      src.add(OutgoingFlow{i, f.dst, dst_slot, static_cast<std::uint32_t>(f.size.value), f.start});
      dst.add(IncomingFlow{i, f.src, src_slot});
      note_sender(i, kNoJob, f.src, f.dst, src_slot);
      bytes_total += static_cast<std::uint64_t>(f.size.value);
    }
  }

  /// Each channel of a job is a connection between the hosts of its two ranks.
  void place_jobs() {
    // A NIC's send queue: enough for messages of one packet to fill the pipe twice.
    const Derived derived = derive(config.topology, config.hosts, config.mtu());
    const auto most_slots = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(2 * derived.bdp / config.mtu(), 16, 1'024));
    auto next_flow = static_cast<std::uint32_t>(flows.size());
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      const workload::Job& job = jobs[j];
      const workload::Graph& graph = *job.graph;
      STRACK_CHECK(graph.ranks() > 0);
      STRACK_CHECK(job.hosts.size() == graph.ranks() && job.starts.size() == graph.ranks());
      JobRun& run = job_runs.emplace_back(JobRun{&graph, graph.waits(), {}, next_flow});
      std::vector<std::uint32_t> messages(graph.channels().size());
      for (workload::NodeId id = 0; id < graph.size(); ++id) {
        if (!graph.node(id).computes) ++messages[graph.node(id).channel];
      }
      for (std::uint32_t c = 0; c < graph.channels().size(); ++c) {
        const workload::Channel& channel = graph.channels()[c];
        const std::uint32_t from = job.hosts[channel.from];
        const std::uint32_t to = job.hosts[channel.to];
        STRACK_CHECK_OP(from, <, topology.hosts());
        STRACK_CHECK_OP(to, <, topology.hosts());
        STRACK_CHECK(from != to);
        const std::uint32_t src_slot = hosts[from].outgoing_slots();
        const std::uint32_t dst_slot = hosts[to].incoming_slots();
        STRACK_CHECK(src_slot < SimPacket::kMaxSlots && dst_slot < SimPacket::kMaxSlots);
        const std::uint32_t slots = std::bit_ceil(std::clamp(messages[c], 1u, most_slots));
        hosts[from].add(OutgoingFlow{c, to, dst_slot, 0, Instant::never(), j, slots});
        hosts[to].add(IncomingFlow{c, from, src_slot, j});
        run.src_slots.push_back(src_slot);
        note_sender(next_flow++, j, from, to, src_slot);
      }
      for (workload::Rank r = 0; r < graph.ranks(); ++r)
        hosts[job.hosts[r]].seat(j, r, job.starts[r]);
      for (const workload::Graph::Timed& timed : graph.timed()) {
        const workload::Rank rank = graph.node(timed.node).rank;
        hosts[job.hosts[rank]].not_before(j, timed.node, job.starts[rank] + timed.time);
      }
      bytes_total += static_cast<std::uint64_t>(graph.bytes().value);
      job_tallies.emplace_back();
    }
  }

  // ---- One window ----

  /// A thread's share of the work, reported between windows. Aligned so that threads do not share
  /// cache lines.
  struct alignas(128) ThreadState {
    WindowContext context;
    typename SwitchType::Scratch scratch;
    HostReport report;
  };

  void run_window(std::uint32_t thread) {
    ThreadState& state = threads[thread];
    WindowContext& context = state.context;
    context.window = window;
    context.end = end;
    context.mail = &mail;
    context.next_event = Instant::never();
    const std::uint32_t host_count = topology.hosts();
    const auto switch_count = static_cast<std::uint32_t>(switches.size());
    // Switches first: they are the large pieces.
    for (std::uint32_t i = next_switch.fetch_add(1, std::memory_order_relaxed); i < switch_count;
         i = next_switch.fetch_add(1, std::memory_order_relaxed)) {
      const NodeId node = host_count + i;
      if (next_event[node] < context.end || mail.has_mail(window, node)) {
        next_event[node] = switches[i]->run(port_rules, context, state.scratch);
      }
      context.next_event = std::min(context.next_event, next_event[node]);
    }
    for (std::uint32_t chunk = next_hosts.fetch_add(kHostChunk, std::memory_order_relaxed);
         chunk < host_count; chunk = next_hosts.fetch_add(kHostChunk, std::memory_order_relaxed)) {
      const std::uint32_t stop = std::min(chunk + kHostChunk, host_count);
      for (std::uint32_t h = chunk; h < stop; ++h) {
        if (next_event[h] < context.end || mail.has_mail(window, h)) {
          next_event[h] = hosts[h].run(host_rules, context, state.report);
        }
        context.next_event = std::min(context.next_event, next_event[h]);
      }
    }
  }

  // ---- Between windows ----

  void report_finished(Observer& observer) {
    finished_now.clear();
    for (ThreadState& t : threads) {
      finished_now.insert(finished_now.end(), t.report.finished.begin(), t.report.finished.end());
      t.report.finished.clear();
      bytes_acked += std::exchange(t.report.bytes_acked, 0);
    }
    if (!jobs.empty()) report_jobs(observer);
    if (finished_now.empty()) return;
    std::sort(finished_now.begin(), finished_now.end(), [](const auto& a, const auto& b) {
      return a.end != b.end ? a.end < b.end : a.flow < b.flow;
    });
    for (metrics::FlowRecord& record : finished_now) {
      complete(record);
      observer.on_flow(record);
    }
    flows_done += finished_now.size();
  }

  void report_jobs(Observer& observer) {
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      JobTally& all = job_tallies[j];
      const std::uint64_t before = all.done;
      for (ThreadState& t : threads) {
        const JobTally part = std::exchange(t.report.jobs[j], {});
        all.done += part.done;
        all.first = std::min(all.first, part.first);
        all.last = std::max(all.last, part.last);
      }
      if (all.done == before || all.done != jobs[j].graph->size()) continue;
      ++jobs_done;
      observer.on_job(job_record(j));
    }
  }

  [[nodiscard]] metrics::JobRecord job_record(std::uint32_t j) const {
    const workload::Graph& graph = *jobs[j].graph;
    metrics::JobRecord record;
    record.job = j;
    record.name = jobs[j].name;
    record.ranks = graph.ranks();
    record.messages = graph.messages();
    record.bytes = graph.bytes();
    record.start = job_tallies[j].first;
    if (job_tallies[j].done == graph.size()) record.end = job_tallies[j].last;
    return record;
  }

  void complete(metrics::FlowRecord& record) const {
    record.src = flows[record.flow].src;
    record.delivered = delivered[record.flow];
    record.victim_packets = victims[record.flow];
  }

  /// Whether a switch's port belongs to the links that are sampled.
  [[nodiscard]] bool is_sampled(const PortInfo& port) const {
    const bool to_host = port.ref.tier == LinkRef::Tier::host;
    return config.record.tier == RecordTier::all ||
           (config.record.tier == RecordTier::fabric) != to_host;
  }

  void sample(Observer& observer, Instant time) {
    const RecordParams& record = config.record;
    const bool host_links = record.tier == RecordTier::all || record.tier == RecordTier::host;
    if (record.links && host_links) {
      for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
        const typename HostType::Tally tally = hosts[h].take_interval(time);
        if (tally.carried == 0 && tally.drops == 0 && tally.paused == ps(0) &&
            tally.pause_frames == 0)
          continue;
        observer.on_link_sample({time, h, bytes(tally.carried), bytes(tally.arrived), bytes(0),
                                 ps(0), 0, tally.drops, tally.paused, tally.pause_frames});
      }
    }
    if (record.queues || record.links) {
      for (std::size_t s = 0; s < switches.size(); ++s) {
        const SwitchInfo& info = topology.switches()[s];
        for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
          if (!is_sampled(info.ports[p])) continue;
          auto& port = switches[s]->port(p);
          const PortTally tally = port.take_interval(time);
          const bool deep = record.queues && tally.queue_max > record.queue_threshold.value;
          const bool busy = record.links && tally.carried > 0;
          if (!deep && !busy && tally.drops == 0 && tally.paused == ps(0) &&
              tally.pause_frames == 0)
            continue;
          observer.on_link_sample({time, info.ports[p].link, bytes(tally.carried),
                                   bytes(tally.arrived), bytes(tally.queue_max),
                                   port.wire.byte_time(tally.queue_max), tally.marks, tally.drops,
                                   tally.paused, tally.pause_frames});
        }
      }
    }
    for (std::uint32_t f = 0; f < std::min<std::size_t>(record.flows, senders.size()); ++f) {
      const typename HostType::Outgoing* o = hosts[senders[f].src].outgoing(senders[f].slot);
      SenderWatch& watch = watches[f];
      const std::int64_t acked = std::exchange(watch.acked, 0);
      const std::uint32_t marks = std::exchange(watch.ecn_marks, 0);
      const std::uint32_t cnps = std::exchange(watch.cnps, 0);
      if (o == nullptr && acked == 0) continue;
      metrics::FlowSample sample;
      sample.time = time;
      sample.flow = f;
      if (o != nullptr) Protocol::fill(sample, *o);
      sample.rtt = watch.rtt;
      sample.acked = bytes(acked);
      sample.ecn_marks = marks;
      sample.cnps = cnps;
      observer.on_flow_sample(sample);
    }
  }

  /// Whatever threads did, events of one time come in the order of their flows.
  void report_events(Observer& observer) {
    events_now.clear();
    for (FlowLog& log : logs) log.move_to(events_now);
    std::stable_sort(events_now.begin(), events_now.end(), [](const auto& a, const auto& b) {
      return a.time != b.time ? a.time < b.time : a.flow < b.flow;
    });
    for (const metrics::FlowEvent& event : events_now) observer.on_flow_event(event);
  }

  /// [R.pfc.loop] Now and then: do ports wait for each other in a ring? Said once for each ring.
  void check_pause_loops(Observer& observer) {
    next_loop_check = begin + kLoopCheckInterval;
    const std::vector<SwitchPort> ring = pause_loops.check(switches, begin);
    if (ring.empty() || bytes_acked != acked_at_check) checks_without_progress = 0;
    acked_at_check = bytes_acked;
    if (ring.empty()) {
      last_loop.clear();
      return;
    }
    // Refreshed pauses go on for ever; a run in which nothing else happens has come to its end.
    if (++checks_without_progress > kChecksUntilStalled) deadlocked = true;
    if (ring == last_loop) return;
    last_loop = ring;
    ++loops_found;
    std::string text = "PFC deadlock: these links wait for each other and have moved no data for " +
                       std::to_string(kLoopCheckInterval / us(1)) + " us:";
    for (const SwitchPort& at : ring) {
      const SwitchInfo& info = topology.switches()[at.sw];
      text +=
          " [" + topology.name(info.node) + " -> " + topology.name(info.ports[at.port].peer) + "]";
    }
    observer.on_warning(text);
  }

  /// Sent = delivered + dropped + under way, counted packet by packet.
  void check_conservation() const {
    std::uint64_t sent = 0;
    std::uint64_t gone = 0;
    std::uint64_t held = 0;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      sent += hosts[h].data_sent + hosts[h].control_sent;
      gone += hosts[h].data_received + hosts[h].control_received + hosts[h].pauses_received() +
              hosts[h].drops.total();
      held += hosts[h].transits_held();
    }
    for (const auto& sw : switches) {
      gone += sw->drops.total();
      held += sw->packets_held();
      if constexpr (kLossless) {
        sent += sw->pauses_sent();
        gone += sw->pauses_received();
      }
    }
    std::uint64_t under_way = 0;
    for (std::uint32_t l = 0; l < topology.links(); ++l)
      under_way += lanes[l].arrivals(window).size();
    STRACK_CHECK_OP(sent, ==, gone + held + under_way);
  }

 public:
  Ending run(Observer& observer, const std::atomic<bool>* stop) override {
    Workers workers(static_cast<std::uint32_t>(threads.size()),
                    [this](std::uint32_t t) { run_window(t); });
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      // Nothing to do, and nobody to say so.
      if (jobs[j].graph->size() != 0) continue;
      ++jobs_done;
      metrics::JobRecord record = job_record(j);
      record.start = record.end = *std::min_element(jobs[j].starts.begin(), jobs[j].starts.end());
      observer.on_job(record);
    }
    Instant next = *std::min_element(next_event.begin(), next_event.end());
    const Picoseconds interval = config.record.interval;
    Instant next_sample = interval > ps(0) ? Instant{} + interval : Instant::never();
    std::uint64_t hops_at_progress = 0;
    while (true) {
      if (flows_done == flows.size() && jobs_done == jobs.size())
        return finish(observer, next_sample, Ending::finished);
      if (stop != nullptr && stop->load(std::memory_order_relaxed))
        return finish(observer, next_sample, Ending::interrupted);
      if (next == Instant::never() || deadlocked)
        return finish(observer, next_sample, Ending::stalled);
      if (next >= config.end) {
        begin = config.end;
        return finish(observer, next_sample, Ending::time_limit);
      }
      begin = next;
      while (next_sample <= begin) {
        sample(observer, next_sample);
        next_sample = next_sample + interval;
      }
      // A window may end early, so that an interval ends before anything of a later one has
      // happened.
      end = std::min({begin + lookahead, config.end, next_sample});
      next_switch.store(0, std::memory_order_relaxed);
      next_hosts.store(0, std::memory_order_relaxed);
      workers.round();
      ++window;
      report_finished(observer);
      if (!logs.empty() && window % kWindowsPerReport == 0) report_events(observer);
      next = Instant::never();
      std::uint64_t hops = 0;
      for (const ThreadState& t : threads) {
        next = std::min(next, t.context.next_event);
        hops += t.context.packet_hops;
      }
#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
      check_conservation();
#endif
      if constexpr (kLossless) {
        if (begin >= next_loop_check) check_pause_loops(observer);
      }
      if (hops - hops_at_progress > kProgressHops) {
        hops_at_progress = hops;
        observer.on_progress(progress(hops));
      }
    }
  }

 private:
  Ending finish(Observer& observer, Instant next_sample, Ending ending) {
    report_events(observer);
    if (config.record.interval > ps(0)) {
      for (; ending == Ending::time_limit && next_sample < config.end;
           next_sample = next_sample + config.record.interval) {
        sample(observer, next_sample);
      }
      sample(observer, std::min(next_sample, std::max(end, begin)));  // the last one may be shorter
    }
    if (ending != Ending::finished) {
      for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
        hosts[h].for_each_unfinished([&](metrics::FlowRecord record) {
          complete(record);
          observer.on_flow(record);
        });
      }
      for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        if (job_tallies[j].done < jobs[j].graph->size()) observer.on_job(job_record(j));
      }
    }
    std::uint64_t hops = 0;
    for (const ThreadState& t : threads) hops += t.context.packet_hops;
    observer.on_progress(progress(hops));
    return ending;
  }

  [[nodiscard]] Progress progress(std::uint64_t hops) const {
    return {begin,       flows_done,  flows.size(), jobs_done,
            jobs.size(), bytes_acked, bytes_total,  hops};
  }

 public:
  [[nodiscard]] metrics::Counters counters() const override {
    metrics::Counters c;
    Fingerprint hash;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const HostType& host = hosts[h];
      c.data_packets_sent += host.data_sent;
      c.data_packets_delivered += host.data_received;
      c.control_packets_sent += host.control_sent;
      const typename HostType::FlowTotals totals = host.totals();
      c.retransmissions += totals.retransmissions;
      c.probes += totals.probes;
      c.timeouts += totals.timeouts;
      c.cnps += totals.cnps;
      c.naks += totals.naks;
      c.failure_drops += host.drops.failure;
      c.error_drops += host.drops.error;
      c.victim_packets += host.victim_packets;
      c.victim_flows += host.victim_channels;
      const Picoseconds paused = host.paused(std::max(begin, end));
      c.paused += paused;
      if (paused > ps(0)) ++c.ports_paused;
      hash.add(host.fingerprint);
    }
    for (const std::uint32_t packets : victims) c.victim_flows += packets > 0 ? 1 : 0;
    c.pause_loops = loops_found;
    for (const auto& sw : switches) {
      c.queue_drops += sw->drops.queue;
      c.failure_drops += sw->drops.failure;
      c.error_drops += sw->drops.error;
      c.no_route_drops += sw->drops.no_route;
      if constexpr (kLossless) {
        c.lossless_violations += sw->drops.violation;
        c.pause_frames += sw->pauses_sent();
        c.buffer_max = std::max(c.buffer_max, bytes(sw->buffer().peak()));
        for (std::uint32_t p = 0; p < sw->port_count(); ++p) {
          const Picoseconds paused = sw->port(p).pause().total(std::max(begin, end));
          c.paused += paused;
          if (paused > ps(0)) ++c.ports_paused;
        }
      }
      for (std::uint32_t p = 0; p < sw->port_count(); ++p) {
        c.marks += sw->port(p).marks();
        c.deepest_queue = std::max(c.deepest_queue, bytes(sw->port(p).deepest_queue()));
        if constexpr (kTrims) c.trims += sw->port(p).trims();
      }
      hash.add(sw->fingerprint);
    }
    for (const ThreadState& t : threads) c.packet_hops += t.context.packet_hops;
    c.windows = window - 1;
    c.hash = hash.value();
    return c;
  }

  [[nodiscard]] Instant now() const override { return begin; }

  [[nodiscard]] std::vector<metrics::LinkInfo> links() const override {
    std::vector<metrics::LinkInfo> all;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const Wire& wire = hosts[h].wire;
      all.push_back({h, topology.name(h), topology.name(wire.peer), wire.byte_time.rate(),
                     wire.latency, down_at_start(wire)});
    }
    for (std::size_t s = 0; s < switches.size(); ++s) {
      const SwitchInfo& info = topology.switches()[s];
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        const Wire& wire = switches[s]->port(p).wire;
        all.push_back({info.ports[p].link, topology.name(info.node),
                       topology.name(info.ports[p].peer), wire.byte_time.rate(), wire.latency,
                       down_at_start(wire)});
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<metrics::ChannelInfo> channels() const override {
    std::vector<metrics::ChannelInfo> all;
    for (std::uint32_t f = 0; f < senders.size(); ++f) {
      const SenderPlace& s = senders[f];
      if (s.job != kNoJob) all.push_back({f, s.job, s.src, s.dst});
    }
    return all;
  }

 private:
  /// Where the sender of a connection is.
  struct SenderPlace {
    std::uint32_t job;
    std::uint32_t src;
    std::uint32_t dst;
    std::uint32_t slot;  ///< at the host src
  };

  [[nodiscard]] static bool down_at_start(const Wire& wire) {
    return wire.outages != nullptr &&
           std::any_of(wire.outages->begin(), wire.outages->end(),
                       [](const Outage& outage) { return outage.from == Instant{}; });
  }

  static constexpr std::uint32_t kHostChunk = 64;
  static constexpr std::uint64_t kWindowsPerReport = 64;  ///< events wait so long at most
  static constexpr std::uint64_t kProgressHops = 2'000'000;
  static constexpr Picoseconds kLoopCheckInterval = us(500);
  static constexpr std::uint32_t kChecksUntilStalled = 200;

  const SimConfig config;
  const workload::Flows flows;
  const std::vector<workload::Job> jobs;
  const Topology topology;
  const PortRules port_rules;
  PauseLoopWatch pause_loops;
  std::vector<SwitchPort> last_loop;
  Instant next_loop_check{};
  std::uint64_t loops_found = 0;
  std::uint64_t acked_at_check = 0;
  std::uint32_t checks_without_progress = 0;
  bool deadlocked = false;
  std::unique_ptr<Lane[]> lanes;
  std::unique_ptr<HostType[]> hosts;
  std::vector<std::unique_ptr<SwitchType>> switches;
  std::vector<std::unique_ptr<std::vector<Outage>>> outages;
  MailFlags mail;
  std::vector<Instant> next_event;     ///< by node: when it has something to do by itself
  std::vector<Instant> delivered;      ///< by flow; written by the receiving host
  std::vector<std::uint32_t> victims;  ///< the same: packets that a pause held for others' sake
  std::vector<SenderPlace> senders;    ///< by flow; of those that are sampled or inspected
  std::vector<SenderWatch> watches;    ///< the same
  std::vector<FlowLog> logs;           ///< of those that are inspected
  std::vector<JobRun> job_runs;
  std::vector<JobTally> job_tallies;
  const HostRules<Protocol> host_rules;
  const Picoseconds lookahead;

  std::vector<ThreadState> threads;
  std::atomic<std::uint32_t> next_switch{0};
  std::atomic<std::uint32_t> next_hosts{0};
  std::uint64_t window = 1;
  Instant begin{};
  Instant end{};
  std::vector<metrics::FlowRecord> finished_now;
  std::vector<metrics::FlowEvent> events_now;
  std::uint64_t flows_done = 0;
  std::uint64_t jobs_done = 0;
  std::uint64_t bytes_acked = 0;
  std::uint64_t bytes_total = 0;
};

}  // namespace strack::sim
