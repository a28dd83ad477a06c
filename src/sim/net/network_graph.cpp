#include "sim/net/network_graph.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace strack::sim {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Edges {
  std::vector<std::uint32_t> switches;  ///< those that have hosts, in order
  std::vector<std::uint32_t> of_host;
};

[[nodiscard]] Edges edges_of(const NetworkGraph& graph) {
  Edges edges;
  std::vector<bool> has_hosts(graph.switches.size());
  for (std::uint32_t h = 0; h < graph.host_count(); ++h) has_hosts[graph.switch_of(h)] = true;
  std::vector<std::uint32_t> edge_of_switch(graph.switches.size(), kNone);
  for (std::uint32_t s = 0; s < has_hosts.size(); ++s) {
    if (!has_hosts[s]) continue;
    edge_of_switch[s] = static_cast<std::uint32_t>(edges.switches.size());
    edges.switches.push_back(s);
  }
  for (std::uint32_t h = 0; h < graph.host_count(); ++h)
    edges.of_host.push_back(edge_of_switch[graph.switch_of(h)]);
  return edges;
}

/// Links between switches, by switch.
class Neighbours {
 public:
  struct Next {
    std::uint32_t to;
    const NetworkGraph::Link* link;
  };
  explicit Neighbours(const NetworkGraph& graph) : next_(graph.switches.size()) {
    const std::uint32_t hosts = graph.host_count();
    for (const NetworkGraph::Link& link : graph.links) {
      if (link.a < hosts || link.b < hosts) continue;
      next_[link.a - hosts].push_back({link.b - hosts, &link});
      next_[link.b - hosts].push_back({link.a - hosts, &link});
    }
  }
  [[nodiscard]] const std::vector<Next>& of(std::uint32_t s) const { return next_[s]; }
  [[nodiscard]] std::size_t size() const { return next_.size(); }

 private:
  std::vector<std::vector<Next>> next_;
};

/// From one switch to all others, over shortest paths, counted in links.
struct Reached {
  std::vector<std::uint32_t> links;  ///< kNone: there is no way
  std::vector<std::uint32_t> order;  ///< switches, the nearest first
};
[[nodiscard]] Reached reach(const Neighbours& neighbours, std::uint32_t from) {
  Reached reached{std::vector<std::uint32_t>(neighbours.size(), kNone), {from}};
  reached.links[from] = 0;
  for (std::size_t i = 0; i < reached.order.size(); ++i) {
    const std::uint32_t s = reached.order[i];
    for (const Neighbours::Next& next : neighbours.of(s)) {
      if (reached.links[next.to] != kNone) continue;
      reached.links[next.to] = reached.links[s] + 1;
      reached.order.push_back(next.to);
    }
  }
  return reached;
}

/// By switch: what the best of the shortest paths costs. better(a, b): a is; cost(link): of one.
template <class Better, class Cost>
[[nodiscard]] std::vector<Picoseconds> costs(const Neighbours& neighbours, const Reached& reached,
                                             Better&& better, Cost&& cost) {
  std::vector<Picoseconds> best(neighbours.size());
  for (const std::uint32_t s : reached.order) {
    bool first = true;
    for (const Neighbours::Next& back : neighbours.of(s)) {
      if (reached.links[back.to] + 1 != reached.links[s]) continue;
      const Picoseconds all = best[back.to] + cost(*back.link);
      if (first || better(all, best[s])) best[s] = all;
      first = false;
    }
  }
  return best;
}

}  // namespace

GraphDistances::GraphDistances(const NetworkGraph& graph) {
  Edges found = edges_of(graph);
  edge_switches = std::move(found.switches);
  edge_of_host = std::move(found.of_host);
  const Neighbours neighbours(graph);
  hops.reserve(std::size_t{edges()} * edges());
  for (const std::uint32_t from : edge_switches) {
    const Reached reached = reach(neighbours, from);
    for (const std::uint32_t to : edge_switches) {
      const std::uint32_t links = reached.links[to];
      hops.push_back(links == kNone ? kUnreachable
                                    : static_cast<std::uint8_t>(std::min(links + 2, 255u)));
    }
  }
}

GraphTrips::GraphTrips(const NetworkGraph& graph, Bytes packet) : graph_(graph), packet_(packet) {
  Edges found = edges_of(graph);
  edge_of_host_ = std::move(found.of_host);
  edges_ = static_cast<std::uint32_t>(found.switches.size());
  const Neighbours neighbours(graph);
  for (const std::uint32_t from : found.switches) {
    const std::vector<Picoseconds> best =
        costs(neighbours, reach(neighbours, from), std::less<>{},
              [&](const NetworkGraph::Link& link) { return along(link); });
    for (const std::uint32_t to : found.switches) between_.push_back(best[to]);
  }
}

Picoseconds GraphTrips::operator()(std::uint32_t from, std::uint32_t to) const {
  return along(graph_.link_of_host(from)) +
         between_[std::size_t{edge_of_host_[from]} * edges_ + edge_of_host_[to]] +
         along(graph_.link_of_host(to));
}

Picoseconds graph_base_rtt(const NetworkGraph& graph, Bytes data, Bytes control) {
  const auto both_ways = [&](const NetworkGraph::Link& link) {
    return data / link.rate + control / link.rate + 2 * link.latency;
  };
  const Edges edges = edges_of(graph);
  std::vector<Picoseconds> of_hosts(graph.switches.size());
  for (std::uint32_t h = 0; h < graph.host_count(); ++h) {
    Picoseconds& most = of_hosts[graph.switch_of(h)];
    most = std::max(most, both_ways(graph.link_of_host(h)));
  }
  const Neighbours neighbours(graph);
  Picoseconds longest{0};
  for (const std::uint32_t from : edges.switches) {
    const Reached reached = reach(neighbours, from);
    const std::vector<Picoseconds> worst = costs(neighbours, reached, std::greater<>{}, both_ways);
    for (const std::uint32_t to : edges.switches) {
      if (reached.links[to] != kNone)
        longest = std::max(longest, of_hosts[from] + worst[to] + of_hosts[to]);
    }
  }
  return longest;
}

std::uint8_t graph_diameter(const NetworkGraph& graph) {
  const GraphDistances distances(graph);
  return *std::max_element(distances.hops.begin(), distances.hops.end());
}

}  // namespace strack::sim
