#include "run/ideal_fct.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "sim/base_rtt.h"
#include "sim/net/topology.h"

namespace strack::run {
namespace {

using sim::Reach;

/// What a message takes on the wire. One without bytes is a packet all the same.
[[nodiscard]] Bytes wire_of(const sim::SimConfig& config, Bytes size) {
  const std::int64_t mtu = config.mtu().count();
  const std::int64_t packets = std::max<std::int64_t>(1, (size.count() + mtu - 1) / mtu);
  return size + packets * config.hosts.data_header;
}

/// A port, or links that share their load perfectly: first come, first served.
struct Server {
  BitsPerSecond rate{0};
  Instant free{};                    ///< when all before is served
  Picoseconds sojourn{0};            ///< longest so far
  Picoseconds rest = ps(INT64_MAX);  ///< of a base RTT, after and before: the shortest of its flows

  void serve(Instant start, Bytes wire, Picoseconds rest_of_rtt) {
    if (rate <= BitsPerSecond{0}) return;  // nothing gets through, so nothing is to be compared
    free = std::max(free, start) + wire / rate;
    sojourn = std::max(sojourn, free - start);
    rest = std::min(rest, rest_of_rtt);
  }
  [[nodiscard]] Picoseconds bound() const { return sojourn == ps(0) ? ps(0) : sojourn + rest; }
};

class Network {
 public:
  Network(const sim::SimConfig& config, Bytes packet)
      : config_(config), t_(config.topology), topology_(config.topology) {
    const auto pods = topology_.pods();
    const std::int64_t uplinks = t_.tiers == 3 ? std::int64_t{t_.aggs_per_pod}
                                               : std::int64_t{t_.spines} * t_.links_per_spine;
    const std::int64_t pod_uplinks = std::int64_t{t_.aggs_per_pod} * t_.cores_per_agg;
    for (auto* way : {&out_, &in_}) {
      way->hosts.assign(t_.hosts(), Server{t_.host_rate});
      way->racks.assign(t_.racks, Server{t_.fabric_rate * uplinks});
      way->pods.assign(pods, Server{t_.core_rate * pod_uplinks});
    }
    // What is left of each link that is not whole, however many entries name it.
    std::map<Key, BitsPerSecond> left;
    const auto rate_of = [&](const sim::LinkRef& link) -> BitsPerSecond& {
      return left.try_emplace({link.tier, link.lower, link.upper}, topology_.rate(link.tier))
          .first->second;
    };
    for (const sim::Impairment& bad : config.failures.impairments) {
      BitsPerSecond& rate = rate_of(bad.link);
      rate = bad.rate * rate;
    }
    for (const sim::Failure& failure : config.failures.failures) {
      if (failure.from > Instant{} || failure.until != Instant::never()) continue;
      for (const sim::LinkRef& link : topology_.links_of(failure)) rate_of(link) = BitsPerSecond{0};
    }
    for (const auto& [key, rate] : left) {
      const auto& [tier, lower, upper] = key;
      lose({tier, lower, upper}, topology_.rate(tier) - rate);
    }
    packet_ = packet;
  }

  void serve(const workload::Flow& flow) {
    serve(flow.src, flow.dst, wire_of(config_, flow.size), flow.start);
  }

  void serve(workload::HostId src, workload::HostId dst, Bytes wire, Instant start) {
    const std::uint32_t from = topology_.rack_of(src);
    const std::uint32_t to = topology_.rack_of(dst);
    const Reach reach = reach_of(from, to);
    const Picoseconds rtt = sim::base_rtt(t_, config_.hosts, packet_, reach);
    const Bytes last = packet_ + config_.hosts.data_header;
    const Picoseconds at_host = rtt - last / t_.host_rate;
    const Picoseconds at_rack = rtt - last / t_.fabric_rate;

    alone_ = std::max(alone_, wire / t_.host_rate + at_host);
    out_.hosts[src].serve(start, wire, at_host);
    in_.hosts[dst].serve(start, wire, at_host);
    if (reach == Reach::rack) return;
    out_.racks[from].serve(start, wire, at_rack);
    in_.racks[to].serve(start, wire, at_rack);
    if (reach == Reach::fabric) return;
    const Picoseconds at_pod = rtt - last / t_.core_rate;
    out_.pods[from / t_.racks_per_pod].serve(start, wire, at_pod);
    in_.pods[to / t_.racks_per_pod].serve(start, wire, at_pod);
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

  using Key = std::tuple<sim::LinkRef::Tier, std::uint32_t, std::uint32_t>;

  void lose(const sim::LinkRef& link, BitsPerSecond lost) {
    for (auto* way : {&out_, &in_}) {
      switch (link.tier) {
        case sim::LinkRef::Tier::host:
          way->hosts[link.lower].rate -= lost;
          break;
        case sim::LinkRef::Tier::fabric:
          way->racks[link.lower].rate -= lost;
          break;
        case sim::LinkRef::Tier::core:
          way->pods[link.lower / t_.aggs_per_pod].rate -= lost;
          break;
      }
    }
  }

  [[nodiscard]] Reach reach_of(std::uint32_t from, std::uint32_t to) const {
    if (from == to) return Reach::rack;
    if (t_.tiers == 3 && from / t_.racks_per_pod != to / t_.racks_per_pod) return Reach::core;
    return Reach::fabric;
  }

  const sim::SimConfig& config_;
  const sim::TopologyParams& t_;
  sim::Topology topology_;
  Bytes packet_{0};  ///< payload of the smallest last packet
  Way out_;
  Way in_;
  Picoseconds alone_{0};
};

}  // namespace

Picoseconds ideal_fct(const sim::SimConfig& config, const workload::Flows& flows) {
  if (flows.empty()) return ps(0);
  Bytes packet = config.mtu();
  for (const workload::Flow& flow : flows) packet = std::min(packet, flow.size);

  std::vector<std::size_t> by_start(flows.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return flows[a].start < flows[b].start; });
  Network network(config, packet);
  for (const std::size_t i : by_start) network.serve(flows[i]);
  return network.bound();
}

std::vector<Picoseconds> ideal_jobs(const sim::SimConfig& config,
                                    const std::vector<workload::Job>& jobs) {
  // What each channel of the newest graph carries: jobs mostly share one.
  const workload::Graph* known = nullptr;
  std::vector<Bytes> wires;
  Bytes packet{0};
  std::vector<Picoseconds> ideals;
  for (const workload::Job& job : jobs) {
    const workload::Graph& graph = *job.graph;
    if (known != &graph) {
      known = &graph;
      wires.assign(graph.channels().size(), bytes(0));
      packet = config.mtu();
      for (workload::NodeId id = 0; id < graph.size(); ++id) {
        const workload::Graph::Node& node = graph.node(id);
        if (node.computes) continue;
        wires[node.channel] += wire_of(config, bytes(node.amount));
        packet = std::min(packet, bytes(node.amount));
      }
    }
    Network network(config, packet);
    for (std::size_t c = 0; c < wires.size(); ++c) {
      const workload::Channel& channel = graph.channels()[c];
      network.serve(job.hosts[channel.from], job.hosts[channel.to], wires[c], Instant{});
    }
    ideals.push_back(network.bound());
  }
  return ideals;
}

}  // namespace strack::run
