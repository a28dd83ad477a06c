#include "sim/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/prng.h"
#include "sim/engine/workers.h"
#include "sim/host/host.h"
#include "sim/net/switch.h"
#include "sim/net/topology.h"

namespace strack::sim {

Derived derive(const TopologyParams& t, const HostParams& hosts, Bytes mtu) {
  Derived d;
  const bool three = t.tiers == 3;
  d.hops = three ? 6 : 4;
  const auto one_way = [&](Bytes size) {
    Picoseconds time =
        2 * (size / t.host_rate + t.host_latency) + 2 * (size / t.fabric_rate + t.fabric_latency);
    if (three) time += 2 * (size / t.core_rate + t.core_latency);
    return time;
  };
  d.base_rtt = one_way(mtu + hosts.data_header) + one_way(hosts.control_size);
  d.bdp = t.host_rate * d.base_rtt;
  const Topology topology(t);
  d.links = topology.links();
  d.switches = topology.switches().size();
  return d;
}

/// Windowed conservative execution: the smallest link latency L is the lookahead. In a window [W, W
/// + L) every node runs alone over what has reached it; whatever it sends arrives in a later one.
struct Simulation::Impl {
  Impl(const SimConfig& c, workload::Flows f)
      : config(c),
        flows(std::move(f)),
        topology(config.topology),
        port_rules(config.switches, config.hosts),
        host_rules{&config.transport, &port_rules},
        lanes(std::make_unique<Lane[]>(topology.links())),
        hosts(std::make_unique<Host[]>(topology.hosts())),
        mail(topology.nodes()),
        next_event(topology.nodes(), Instant::never()),
        delivered(flows.size(), Instant::never()),
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
    watches.resize(std::min<std::size_t>(config.record.flows, flows.size()));
    threads.resize(std::max(1u, config.threads));
  }

  void build_switches(const Rng& root) {
    Rng salts = root.stream("ecmp");
    Rng marks = root.stream("marking");
    for (const SwitchInfo& info : topology.switches()) {
      auto& sw =
          switches.emplace_back(std::make_unique<Switch>(info, config.topology, salts.next()));
      for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
        const PortInfo& port = info.ports[p];
        sw->port(p).wire = make_wire(port.link, port.peer, port.ref.tier);
        sw->port(p).seed(marks.next());
        sw->connect(p, &lanes[port.reverse]);
        if (port.ref.tier == LinkRef::Tier::host) hosts[port.peer].in = &lanes[port.link];
      }
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

  void place_flows() {
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      const workload::Flow& f = flows[i];
      STRACK_CHECK_OP(f.src, <, topology.hosts());
      STRACK_CHECK_OP(f.dst, <, topology.hosts());
      STRACK_CHECK(f.src != f.dst);
      STRACK_CHECK_OP(f.size.value, <, std::int64_t{1} << 32);
      Host& src = hosts[f.src];
      Host& dst = hosts[f.dst];
      const std::uint32_t src_slot = src.outgoing_slots();
      const std::uint32_t dst_slot = dst.incoming_slots();
      STRACK_CHECK(src_slot < SimPacket::kMaxSlots && dst_slot < SimPacket::kMaxSlots);
      src.add(OutgoingFlow{i, f.dst, dst_slot, static_cast<std::uint32_t>(f.size.value), f.start});
      dst.add(IncomingFlow{i, f.src, src_slot});
      slot_of_flow.push_back(src_slot);
      bytes_total += static_cast<std::uint64_t>(f.size.value);
    }
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      hosts[h].prepare();
      next_event[h] = hosts[h].next_event();
    }
  }

  // ---- One window ----

  /// A thread's share of the work, reported between windows. Aligned so that threads do not share
  /// cache lines.
  struct alignas(128) ThreadState {
    WindowContext context;
    SwitchScratch scratch;
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
          next_event[h] = hosts[h].run(host_rules, context, state.report, delivered, watches);
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

  void complete(metrics::FlowRecord& record) const {
    record.src = flows[record.flow].src;
    record.delivered = delivered[record.flow];
  }

  void sample(Observer& observer, Instant time) {
    const RecordParams& record = config.record;
    if (record.links) {
      for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
        const Host::Tally tally = hosts[h].take_interval();
        if (tally.carried == 0 && tally.drops == 0) continue;
        observer.on_link_sample({time, h, bytes(tally.carried), bytes(0), ps(0), 0, tally.drops});
      }
    }
    if (record.queues || record.links) {
      for (std::size_t s = 0; s < switches.size(); ++s) {
        const SwitchInfo& info = topology.switches()[s];
        for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
          Port& port = switches[s]->port(p);
          const Port::Tally tally = port.take_interval();
          const bool deep = record.queues && tally.queue_max > record.queue_threshold.value;
          const bool busy = record.links && tally.carried > 0;
          if (!deep && !busy && tally.drops == 0) continue;
          observer.on_link_sample({time, info.ports[p].link, bytes(tally.carried),
                                   bytes(tally.queue_max), port.wire.byte_time(tally.queue_max),
                                   tally.marks, tally.drops});
        }
      }
    }
    for (std::uint32_t f = 0; f < watches.size(); ++f) {
      const Host::Outgoing* o = hosts[flows[f].src].outgoing(slot_of_flow[f]);
      SenderWatch& watch = watches[f];
      const std::int64_t acked = std::exchange(watch.acked, 0);
      const std::uint32_t marks = std::exchange(watch.ecn_marks, 0);
      if (o == nullptr && acked == 0) continue;
      metrics::FlowSample sample;
      sample.time = time;
      sample.flow = f;
      if (o != nullptr) {
        sample.cwnd = o->sender.window().cwnd();
        sample.avg_qdelay = o->sender.window().avg_qdelay();
      }
      sample.rtt = watch.rtt;
      sample.acked = bytes(acked);
      sample.ecn_marks = marks;
      observer.on_flow_sample(sample);
    }
  }

  /// Sent = delivered + dropped + under way, counted packet by packet.
  void check_conservation() const {
    std::uint64_t sent = 0;
    std::uint64_t gone = 0;
    std::uint64_t held = 0;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      sent += hosts[h].data_sent + hosts[h].control_sent;
      gone += hosts[h].data_received + hosts[h].control_received + hosts[h].drops.total();
      held += hosts[h].transits_held();
    }
    for (const auto& sw : switches) {
      gone += sw->drops.total();
      held += sw->packets_held();
    }
    std::uint64_t under_way = 0;
    for (std::uint32_t l = 0; l < topology.links(); ++l)
      under_way += lanes[l].arrivals(window).size();
    STRACK_CHECK_OP(sent, ==, gone + held + under_way);
  }

  Ending run(Observer& observer, const std::atomic<bool>* stop) {
    Workers workers(static_cast<std::uint32_t>(threads.size()),
                    [this](std::uint32_t t) { run_window(t); });
    Instant next = *std::min_element(next_event.begin(), next_event.end());
    const Picoseconds interval = config.record.interval;
    Instant next_sample = interval > ps(0) ? Instant{} + interval : Instant::never();
    std::uint64_t hops_at_progress = 0;
    while (true) {
      if (flows_done == flows.size()) return finish(observer, next_sample, Ending::finished);
      if (stop != nullptr && stop->load(std::memory_order_relaxed))
        return finish(observer, next_sample, Ending::interrupted);
      if (next == Instant::never()) return finish(observer, next_sample, Ending::stalled);
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
      next = Instant::never();
      std::uint64_t hops = 0;
      for (const ThreadState& t : threads) {
        next = std::min(next, t.context.next_event);
        hops += t.context.packet_hops;
      }
#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
      check_conservation();
#endif
      if (hops - hops_at_progress > kProgressHops) {
        hops_at_progress = hops;
        observer.on_progress(progress(hops));
      }
    }
  }

  Ending finish(Observer& observer, Instant next_sample, Ending ending) {
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
    }
    std::uint64_t hops = 0;
    for (const ThreadState& t : threads) hops += t.context.packet_hops;
    observer.on_progress(progress(hops));
    return ending;
  }

  [[nodiscard]] Progress progress(std::uint64_t hops) const {
    return {begin, flows_done, flows.size(), bytes_acked, bytes_total, hops};
  }

  [[nodiscard]] metrics::Counters counters() const {
    metrics::Counters c;
    Fingerprint hash;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const Host& host = hosts[h];
      c.data_packets_sent += host.data_sent;
      c.data_packets_delivered += host.data_received;
      c.control_packets_sent += host.control_sent;
      c.retransmissions += host.retransmissions;
      c.probes += host.probes;
      c.timeouts += host.timeouts;
      c.failure_drops += host.drops.failure;
      c.error_drops += host.drops.error;
      hash.add(host.fingerprint);
      host.for_each_unfinished([&](const metrics::FlowRecord& record) {
        c.retransmissions += record.retransmissions;
        c.probes += record.probes;
        c.timeouts += record.timeouts;
      });
    }
    for (const auto& sw : switches) {
      c.queue_drops += sw->drops.queue;
      c.failure_drops += sw->drops.failure;
      c.error_drops += sw->drops.error;
      c.no_route_drops += sw->drops.no_route;
      for (std::uint32_t p = 0; p < sw->port_count(); ++p) {
        c.marks += sw->port(p).marks();
        c.deepest_queue = std::max(c.deepest_queue, bytes(sw->port(p).deepest_queue()));
      }
      hash.add(sw->fingerprint);
    }
    for (const ThreadState& t : threads) c.packet_hops += t.context.packet_hops;
    c.windows = window - 1;
    c.hash = hash.value();
    return c;
  }

  static constexpr std::uint32_t kHostChunk = 64;
  static constexpr std::uint64_t kProgressHops = 2'000'000;

  const SimConfig config;
  const workload::Flows flows;
  const Topology topology;
  const PortRules port_rules;
  const HostRules host_rules;
  std::unique_ptr<Lane[]> lanes;
  std::unique_ptr<Host[]> hosts;
  std::vector<std::unique_ptr<Switch>> switches;
  std::vector<std::unique_ptr<std::vector<Outage>>> outages;
  MailFlags mail;
  std::vector<Instant> next_event;  ///< by node: when it has something to do by itself
  std::vector<Instant> delivered;   ///< by flow; written by the receiving host
  std::vector<std::uint32_t> slot_of_flow;
  std::vector<SenderWatch> watches;
  const Picoseconds lookahead;

  std::vector<ThreadState> threads;
  std::atomic<std::uint32_t> next_switch{0};
  std::atomic<std::uint32_t> next_hosts{0};
  std::uint64_t window = 1;
  Instant begin{};
  Instant end{};
  std::vector<metrics::FlowRecord> finished_now;
  std::uint64_t flows_done = 0;
  std::uint64_t bytes_acked = 0;
  std::uint64_t bytes_total = 0;
};

Simulation::Simulation(const SimConfig& config, workload::Flows flows)
    : impl_(std::make_unique<Impl>(config, std::move(flows))) {}
Simulation::~Simulation() = default;

Ending Simulation::run(Observer& observer, const std::atomic<bool>* stop) {
  return impl_->run(observer, stop);
}
metrics::Counters Simulation::counters() const { return impl_->counters(); }
Instant Simulation::now() const { return impl_->begin; }

std::vector<metrics::LinkInfo> Simulation::links() const {
  std::vector<metrics::LinkInfo> all;
  const Topology& t = impl_->topology;
  for (std::uint32_t h = 0; h < t.hosts(); ++h) {
    const Wire& wire = impl_->hosts[h].wire;
    all.push_back({h, t.name(h), t.name(wire.peer), wire.byte_time.rate(), wire.latency});
  }
  for (std::size_t s = 0; s < impl_->switches.size(); ++s) {
    const SwitchInfo& info = t.switches()[s];
    for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
      const Wire& wire = impl_->switches[s]->port(p).wire;
      all.push_back({info.ports[p].link, t.name(info.node), t.name(info.ports[p].peer),
                     wire.byte_time.rate(), wire.latency});
    }
  }
  return all;
}

}  // namespace strack::sim
