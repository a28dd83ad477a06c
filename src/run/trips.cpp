#include "run/trips.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "sim/base_rtt.h"

namespace strack::run {
namespace {

using sim::Reach;

[[nodiscard]] Reach reach_of(const sim::TopologyParams& t, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t from = a / t.hosts_per_rack;
  const std::uint32_t to = b / t.hosts_per_rack;
  if (from == to) return Reach::rack;
  if (t.tiers == 3 && from / t.racks_per_pod != to / t.racks_per_pod) return Reach::core;
  return Reach::fabric;
}

}  // namespace

Trips::Trips(const sim::SimConfig& config)
    : t_(config.topology),
      alike_{0, t_.host_rate, t_.host_latency},
      any_way_(!config.failures.failures.empty()),
      sizes_{std::min(config.hosts.control_size, config.hosts.data_header),
             config.mtu() + config.hosts.data_header} {
  if (t_.graph == nullptr) return;
  const sim::NetworkGraph& graph = *t_.graph;
  const std::uint32_t hosts = graph.host_count();
  for (std::uint32_t h = 0; h < hosts; ++h)
    hosts_.push_back({0, graph.link_of_host(h).rate, graph.link_of_host(h).latency});
  next_.resize(graph.switches.size());
  edge_of_switch_.resize(graph.switches.size());
  for (std::uint32_t h = 0; h < hosts; ++h) edge_of_switch_[graph.switch_of(h)] = 1;
  for (std::uint32_t s = 0; s < edge_of_switch_.size(); ++s) {
    if (edge_of_switch_[s] == 0) continue;
    edge_of_switch_[s] = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back(s);
  }
  rows_.resize(edges_.size());
  for (std::uint32_t l = 0; l < graph.links.size(); ++l) {
    const sim::NetworkGraph::Link& link = graph.links[l];
    if (link.a < hosts || link.b < hosts) continue;
    next_[link.a - hosts].push_back({link.b - hosts, l});
    next_[link.b - hosts].push_back({link.a - hosts, l});
  }
}

Picoseconds Trips::between(std::uint32_t from, std::uint32_t to, Bytes packet) const {
  if (t_.graph != nullptr) return of_graph(from, to, packet);
  const Reach reach = reach_of(t_, from, to);
  return sim::serialisation(t_, packet, reach) + sim::propagation(t_, reach);
}

Picoseconds Trips::of_graph(std::uint32_t from, std::uint32_t to, Bytes packet) const {
  const sim::NetworkGraph& graph = *t_.graph;
  const std::uint32_t first = graph.switch_of(from);
  const std::uint32_t last = edge_of_switch_[graph.switch_of(to)];
  Row& row = rows_[edge_of_switch_[first]];
  const auto along = [&](std::size_t i) {
    Costs& costs = row.costs[i];
    if (costs.empty()) {
      const Costs all = any_way_ ? cheapest(first, sizes_[i]) : shortest(first, sizes_[i]);
      for (const std::uint32_t edge : edges_) costs.push_back(all[edge]);
    }
    return costs[last];
  };
  const Picoseconds ends = packet / graph.link_of_host(from).rate +
                           graph.link_of_host(from).latency + packet / graph.link_of_host(to).rate +
                           graph.link_of_host(to).latency;
  if (packet >= sizes_[1]) return ends + along(1);
  if (packet <= sizes_[0]) return ends + along(0);
  // Each way takes a time that is linear in the size, so the best one is concave: no less than what lies between
  // both sizes, and that exactly where one way is the best for both. Links round by less than 1 ps each.
  const Picoseconds least = along(0);
  const Picoseconds more = ps(mul_div((along(1) - least).count(), (packet - sizes_[0]).count(),
                                      (sizes_[1] - sizes_[0]).count()));
  return ends + std::max(least, least + more - ps(sim::GraphDistances::kMostHops));
}

Trips::Costs Trips::shortest(std::uint32_t from, Bytes packet) const {
  constexpr std::uint32_t kFar = ~std::uint32_t{0};
  std::vector<std::uint32_t> links(next_.size(), kFar);
  std::vector<std::uint32_t> order{from};
  Costs costs(next_.size());
  links[from] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t s = order[i];
    for (const Next& next : next_[s]) {
      const sim::NetworkGraph::Link& link = t_.graph->links[next.link];
      const Picoseconds cost = costs[s] + packet / link.rate + link.latency;
      const bool first = links[next.to] == kFar;
      if (first) {
        links[next.to] = links[s] + 1;
        order.push_back(next.to);
      }
      if (links[next.to] == links[s] + 1 && (first || cost < costs[next.to])) costs[next.to] = cost;
    }
  }
  return costs;
}

Trips::Costs Trips::cheapest(std::uint32_t from, Bytes packet) const {
  using Reached = std::pair<Picoseconds, std::uint32_t>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  Costs costs(next_.size(), ps(INT64_MAX));
  costs[from] = ps(0);
  queue.emplace(ps(0), from);
  while (!queue.empty()) {
    const auto [so_far, s] = queue.top();
    queue.pop();
    if (so_far > costs[s]) continue;
    for (const Next& next : next_[s]) {
      const sim::NetworkGraph::Link& link = t_.graph->links[next.link];
      const Picoseconds cost = so_far + packet / link.rate + link.latency;
      if (cost >= costs[next.to]) continue;
      costs[next.to] = cost;
      queue.emplace(cost, next.to);
    }
  }
  // Who cannot be reached is not to be compared.
  std::replace(costs.begin(), costs.end(), ps(INT64_MAX), ps(0));
  return costs;
}

const sim::HostLink& Trips::host(std::uint32_t host) const {
  return hosts_.empty() ? alike_ : hosts_[host];
}

}  // namespace strack::run
