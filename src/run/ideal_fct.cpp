#include "run/ideal_fct.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "run/ideal_graph.h"
#include "run/trips.h"
#include "sim/base_rtt.h"
#include "sim/net/topology.h"

namespace strack::run {
namespace {

using sim::Reach;

/// What goes from one host to another, on the wire: all of it, and the packets at its ends.
struct Wire {
  Bytes all{0};
  Bytes first{0};
  Bytes last{0};
  Bytes ahead{0};  ///< of the last packet, at least

  /// Another message of the same connection: any of them may be the first, or the last.
  void add(const Wire& other) {
    ahead = all == bytes(0) ? other.ahead : bytes(0);
    first = all == bytes(0) ? other.first : std::min(first, other.first);
    last = all == bytes(0) ? other.last : std::min(last, other.last);
    all += other.all;
  }
};

/// A message's packets are sent in order; only the last may be short. One without bytes is a packet
/// all the same.
[[nodiscard]] Wire wire_of(const sim::SimConfig& config, Bytes size) {
  const Bytes mtu = config.mtu();
  const Bytes header = config.hosts.data_header;
  const std::int64_t packets =
      std::max<std::int64_t>(1, (size.count() + mtu.count() - 1) / mtu.count());
  return {size + packets * header, std::min(mtu, size) + header,
          size - (packets - 1) * mtu + header, (packets - 1) * (mtu + header)};
}

/// The links from one host to another in an empty network, as far up as they go.
class Links {
 public:
  Links(const sim::SimConfig& config, Reach reach) {
    const sim::TopologyParams& t = config.topology;
    const Hop up[] = {{t.host_rate, t.host_latency},
                      {t.fabric_rate, t.fabric_latency},
                      {t.core_rate, t.core_latency}};
    const std::size_t height = static_cast<std::size_t>(reach) + 1;
    hops_.assign(up, up + height);
    for (std::size_t i = height; i > 0; --i) hops_.push_back(up[i - 1]);
    answer_ = sim::serialisation(t, config.hosts.control_size, reach) + sim::propagation(t, reach);
  }

  [[nodiscard]] std::size_t last() const { return hops_.size() - 1; }
  /// From a packet's start to where it waits for the i-th link.
  [[nodiscard]] Picoseconds before(std::size_t link, Bytes packet) const {
    Picoseconds time{0};
    for (std::size_t i = 0; i < link; ++i) time += packet / hops_[i].rate + hops_[i].latency;
    return time;
  }
  /// From when it has left the i-th link until its answer is back.
  [[nodiscard]] Picoseconds after(std::size_t link, Bytes packet) const {
    Picoseconds time = hops_[link].latency + answer_;
    for (std::size_t i = link + 1; i < hops_.size(); ++i)
      time += packet / hops_[i].rate + hops_[i].latency;
    return time;
  }

 private:
  struct Hop {
    BitsPerSecond rate;
    Picoseconds latency;
  };
  std::vector<Hop> hops_;
  Picoseconds answer_{0};
};

/// A port, or links that share their load perfectly: first come, first served.
struct Server {
  BitsPerSecond rate{0};
  Instant free{};          ///< when all before is served
  Picoseconds sojourn{0};  ///< longest so far
  /// The shortest way of any of its flows to here, and of any from here: the first that comes and the
  /// last that leaves need not be of the same.
  Picoseconds before = ps(INT64_MAX);
  Picoseconds after = ps(INT64_MAX);

  void serve(Instant start, Bytes wire, Picoseconds way_here, Picoseconds way_on) {
    if (rate <= BitsPerSecond{0}) return;  // nothing gets through, so nothing is to be compared
    free = std::max(free, start) + wire / rate;
    sojourn = std::max(sojourn, free - start);
    before = std::min(before, way_here);
    after = std::min(after, way_on);
  }
  [[nodiscard]] Picoseconds bound() const {
    return sojourn == ps(0) ? ps(0) : before + sojourn + after;
  }
};

class Network {
 public:
  Network(const sim::SimConfig& config, const sim::Topology& topology, const Trips& trips)
      : config_(config),
        t_(config.topology),
        topology_(topology),
        trips_(trips),
        links_{{config, Reach::rack}, {config, Reach::fabric}, {config, Reach::core}} {
    const auto pods = topology_.pods();
    const std::int64_t uplinks = t_.tiers == 3 ? std::int64_t{t_.aggs_per_pod}
                                               : std::int64_t{t_.spines} * t_.links_per_spine;
    const std::int64_t pod_uplinks = std::int64_t{t_.aggs_per_pod} * t_.cores_per_agg;
    for (auto* way : {&out_, &in_}) {
      for (std::uint32_t h = 0; h < t_.hosts(); ++h)
        way->hosts.push_back(Server{trips_.host(h).rate});
      way->racks.assign(t_.racks, Server{t_.fabric_rate * uplinks});
      way->pods.assign(pods, Server{t_.core_rate * pod_uplinks});
    }
    // What is left of each link that is not whole, however many entries name it.
    std::map<Key, BitsPerSecond> left;
    const auto slow_down = [&](const sim::LinkRef& link, sim::LinkWay way, Ratio part) {
      for (const sim::LinkWay each : {sim::LinkWay::up, sim::LinkWay::down}) {
        if (way != sim::LinkWay::both && way != each) continue;
        const Key key{each, link.tier, link.lower, link.upper};
        BitsPerSecond& rate = left.try_emplace(key, rate_of(link)).first->second;
        rate = part * rate;
      }
    };
    for (const sim::Impairment& bad : config.failures.impairments) {
      if (!bad.passes()) slow_down(bad.link, bad.way, bad.rate);
    }
    for (const sim::Failure& failure : config.failures.failures) {
      if (failure.from > Instant{} || failure.until != Instant::never()) continue;
      for (const sim::LinkRef& link : topology_.links_of(failure))
        slow_down(link, sim::LinkWay::both, {0, 1});
    }
    for (const auto& [key, rate] : left) {
      const auto& [way, tier, lower, upper] = key;
      const sim::LinkRef link{tier, lower, upper};
      lose(way == sim::LinkWay::up ? out_ : in_, link, rate_of(link) - rate);
    }
  }

  /// One message.
  void serve(workload::HostId src, workload::HostId dst, Bytes size, Instant start) {
    const Wire wire = wire_of(config_, size);
    if (inside(src, dst)) {
      alone_ = std::max(alone_, size / t_.server_rate + t_.server_latency);
    } else if (t_.graph == nullptr) {
      alone_ = std::max(alone_, alone(wire, reach_of(src, dst)));
    }
    serve(src, dst, wire, start);
  }

  void serve(workload::HostId src, workload::HostId dst, const Wire& wire, Instant start) {
    if (inside(src, dst)) return;
    if (t_.graph != nullptr) {
      serve_in_graph(src, dst, wire, start);
      return;
    }
    const std::uint32_t from = topology_.rack_of(src);
    const std::uint32_t to = topology_.rack_of(dst);
    const Reach reach = reach_of(src, dst);
    const Links& links = links_[static_cast<std::size_t>(reach)];
    const auto serve_at = [&](Server& server, std::size_t link) {
      server.serve(start, wire.all, arrival(wire, reach, link), links.after(link, wire.last));
    };
    serve_at(out_.hosts[src], 0);
    serve_at(in_.hosts[dst], links.last());
    if (reach == Reach::rack) return;
    serve_at(out_.racks[from], 1);
    serve_at(in_.racks[to], links.last() - 1);
    if (reach == Reach::fabric) return;
    serve_at(out_.pods[from / t_.racks_per_pod], 2);
    serve_at(in_.pods[to / t_.racks_per_pod], links.last() - 2);
  }

  [[nodiscard]] Picoseconds bound() const {
    Picoseconds bound = alone_;
    for (const auto* way : {&out_, &in_}) {
      for (const auto* servers : {&way->hosts, &way->racks, &way->pods}) {
        for (const Server& server : *servers) bound = std::max(bound, server.bound());
      }
    }
    return bound;
  }

 private:
  struct Way {
    std::vector<Server> hosts;
    std::vector<Server> racks;
    std::vector<Server> pods;
  };

  /// [D90] Links inside servers are nobody else's.
  [[nodiscard]] bool inside(workload::HostId src, workload::HostId dst) const {
    return t_.has_servers() && t_.server_of(src) == t_.server_of(dst);
  }

  /// Only the two hosts' own links are a bound: what others share depends on paths.
  void serve_in_graph(workload::HostId src, workload::HostId dst, const Wire& wire, Instant start) {
    const sim::HostLink& out = trips_.host(src);
    const sim::HostLink& in = trips_.host(dst);
    const auto trip = [&](Bytes packet) { return trips_.between(src, dst, packet); };
    const Picoseconds answer = trips_.between(dst, src, config_.hosts.control_size);
    const Picoseconds on = trip(wire.last) - wire.last / out.rate;
    const Picoseconds here =
        std::min(trip(wire.first) - wire.first / in.rate,
                 wire.ahead / out.rate + trip(wire.last) - wire.last / in.rate) -
        in.latency;
    out_.hosts[src].serve(start, wire.all, ps(0), on + answer);
    in_.hosts[dst].serve(start, wire.all, here, in.latency + answer);
  }

  [[nodiscard]] BitsPerSecond rate_of(const sim::LinkRef& link) const {
    if (t_.graph == nullptr) return topology_.rate(link.tier);
    return link.tier == sim::LinkRef::Tier::host ? trips_.host(link.lower).rate
                                                 : t_.graph->links[link.lower].rate;
  }

  using Key = std::tuple<sim::LinkWay, sim::LinkRef::Tier, std::uint32_t, std::uint32_t>;

  void lose(Way& way, const sim::LinkRef& link, BitsPerSecond lost) const {
    if (t_.graph != nullptr && link.tier != sim::LinkRef::Tier::host) return;
    switch (link.tier) {
      case sim::LinkRef::Tier::host:
        way.hosts[link.lower].rate -= lost;
        break;
      case sim::LinkRef::Tier::fabric:
        way.racks[link.lower].rate -= lost;
        break;
      case sim::LinkRef::Tier::core:
        way.pods[link.lower / t_.aggs_per_pod].rate -= lost;
        break;
    }
  }

  /// When the last packet can be at the i-th link, if it overtakes the others on another path.
  [[nodiscard]] Picoseconds overtaking(const Wire& wire, const Links& links,
                                       std::size_t link) const {
    return wire.ahead / t_.host_rate + links.before(link, wire.last);
  }
  /// When the first packet can be there, whichever it is.
  [[nodiscard]] Picoseconds arrival(const Wire& wire, Reach reach, std::size_t link) const {
    const Links& links = links_[static_cast<std::size_t>(reach)];
    const Picoseconds first = links.before(link, wire.first);
    return has_choice(reach) ? std::min(first, overtaking(wire, links, link)) : first;
  }

  /// A message that has the network for itself: its full packets follow each other into the last port
  /// without a gap, from when the first is there. The short one is served behind them, or before them
  /// where it has overtaken all.
  [[nodiscard]] Picoseconds alone(const Wire& wire, Reach reach) const {
    const Links& links = links_[static_cast<std::size_t>(reach)];
    const Picoseconds first = links.before(links.last(), wire.first);
    const Picoseconds rest = links.after(links.last(), wire.last);
    const Picoseconds early = arrival(wire, reach, links.last());
    if (early == first) return first + wire.all / t_.host_rate + rest;
    return std::max(first, early + wire.last / t_.host_rate) + wire.ahead / t_.host_rate + rest;
  }
  /// Whether there is more than one path.
  [[nodiscard]] bool has_choice(Reach reach) const {
    if (reach == Reach::rack) return false;
    if (t_.tiers == 3) return t_.aggs_per_pod > 1 || (reach == Reach::core && t_.cores_per_agg > 1);
    return t_.spines * t_.links_per_spine > 1;
  }

  [[nodiscard]] Reach reach_of(workload::HostId src, workload::HostId dst) const {
    const std::uint32_t from = topology_.rack_of(src);
    const std::uint32_t to = topology_.rack_of(dst);
    if (from == to) return Reach::rack;
    if (t_.tiers == 3 && from / t_.racks_per_pod != to / t_.racks_per_pod) return Reach::core;
    return Reach::fabric;
  }

  const sim::SimConfig& config_;
  const sim::TopologyParams& t_;
  const sim::Topology& topology_;
  const Trips& trips_;
  Links links_[3];  ///< by reach
  Way out_;
  Way in_;
  Picoseconds alone_{0};
};

}  // namespace

Picoseconds ideal_fct(const sim::SimConfig& config, const workload::Flows& flows) {
  std::vector<std::size_t> by_start(flows.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return flows[a].start < flows[b].start; });
  const sim::Topology topology(config.topology);
  const Trips trips(config);
  Network network(config, topology, trips);
  for (const std::size_t i : by_start)
    network.serve(flows[i].src, flows[i].dst, flows[i].size, flows[i].start);
  return network.bound();
}

std::vector<Picoseconds> ideal_jobs(const sim::SimConfig& config,
                                    const std::vector<workload::Job>& jobs) {
  if (jobs.empty()) return {};
  // What each channel of the newest graph carries: jobs mostly share one.
  const workload::Graph* known = nullptr;
  struct Load {
    Wire wire;
    Bytes size{0};
    std::size_t messages = 0;
  };
  std::vector<Load> loads;
  // All jobs share what is large in a network from a file.
  const sim::Topology topology(config.topology);
  const Trips trips(config);
  std::vector<Picoseconds> ideals;
  for (const workload::Job& job : jobs) {
    const workload::Graph& graph = *job.graph;
    if (known != &graph) {
      known = &graph;
      loads.assign(graph.channels().size(), {});
      for (workload::NodeId id = 0; id < graph.size(); ++id) {
        const workload::Graph::Node& node = graph.node(id);
        if (node.computes) continue;
        Load& load = loads[node.channel];
        load.wire.add(wire_of(config, bytes(node.amount)));
        load.size = bytes(node.amount);
        ++load.messages;
      }
    }
    Network network(config, topology, trips);
    for (std::size_t c = 0; c < loads.size(); ++c) {
      const workload::Channel& channel = graph.channels()[c];
      const workload::HostId from = job.hosts[channel.from];
      const workload::HostId to = job.hosts[channel.to];
      if (loads[c].messages == 1) {
        network.serve(from, to, loads[c].size, Instant{});
      } else {
        network.serve(from, to, loads[c].wire, Instant{});
      }
    }
    ideals.push_back(std::max(network.bound(), ideal_graph(config, trips, job)));
  }
  return ideals;
}

}  // namespace strack::run
