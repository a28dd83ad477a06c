#include "sim/net/topology.h"

#include <algorithm>

#include "base/check.h"
#include "sim/net/network_graph.h"

namespace strack::sim {

Topology::Topology(const TopologyParams& params) : params_(params) {
  if (params_.graph != nullptr) {
    build_graph();
  } else {
    build_clos();
    describe_tiers();
  }
  number_links();
}

void Topology::build_clos() {
  using Tier = LinkRef::Tier;
  const TopologyParams& params = params_;
  STRACK_CHECK(params.tiers == 2 || params.tiers == 3);
  const std::uint32_t hosts = params.hosts();
  const std::uint32_t racks = params.racks;
  const bool three = params.tiers == 3;
  const std::uint32_t pod_count = three ? racks / params.racks_per_pod : 1;
  if (three) STRACK_CHECK_OP(racks % params.racks_per_pod, ==, 0u);
  const std::uint32_t middle = three ? pod_count * params.aggs_per_pod : params.spines;
  const std::uint32_t cores = three ? params.aggs_per_pod * params.cores_per_agg : 0;
  const NodeId first_tor = hosts;
  const NodeId first_middle = first_tor + racks;
  const NodeId first_core = first_middle + middle;
  const std::uint32_t tor_uplinks =
      three ? params.aggs_per_pod : params.spines * params.links_per_spine;

  switches_.resize(racks + middle + cores);
  for (std::uint32_t r = 0; r < racks; ++r) {
    SwitchInfo& tor = switches_[r];
    tor = {first_tor + r, {SwitchRef::Tier::tor, r}, {}, params.hosts_per_rack};
    for (std::uint32_t h = 0; h < params.hosts_per_rack; ++h) {
      tor.ports.push_back(
          {r * params.hosts_per_rack + h, 0, 0, {Tier::host, r * params.hosts_per_rack + h, 0}});
    }
    for (std::uint32_t u = 0; u < tor_uplinks; ++u) {
      const std::uint32_t upper =
          three ? r / params.racks_per_pod * params.aggs_per_pod + u : u / params.links_per_spine;
      tor.ports.push_back({first_middle + upper, 0, 0, {Tier::fabric, r, u}});
    }
  }
  for (std::uint32_t m = 0; m < middle; ++m) {
    SwitchInfo& agg = switches_[racks + m];
    agg = {first_middle + m, {SwitchRef::Tier::agg, m}, {}, 0};
    if (three) {
      const std::uint32_t pod = m / params.aggs_per_pod;
      const std::uint32_t a = m % params.aggs_per_pod;
      for (std::uint32_t i = 0; i < params.racks_per_pod; ++i) {
        const std::uint32_t rack = pod * params.racks_per_pod + i;
        agg.ports.push_back({first_tor + rack, 0, 0, {Tier::fabric, rack, a}});
      }
      agg.down_ports = params.racks_per_pod;
      for (std::uint32_t c = 0; c < params.cores_per_agg; ++c) {
        agg.ports.push_back({first_core + a * params.cores_per_agg + c, 0, 0, {Tier::core, m, c}});
      }
    } else {
      for (std::uint32_t r = 0; r < racks; ++r) {
        for (std::uint32_t j = 0; j < params.links_per_spine; ++j) {
          agg.ports.push_back(
              {first_tor + r, 0, 0, {Tier::fabric, r, m * params.links_per_spine + j}});
        }
      }
      agg.down_ports = racks * params.links_per_spine;
    }
  }
  for (std::uint32_t c = 0; c < cores; ++c) {
    SwitchInfo& core = switches_[racks + middle + c];
    core = {first_core + c, {SwitchRef::Tier::core, c}, {}, pod_count};
    const std::uint32_t a = c / params.cores_per_agg;
    for (std::uint32_t pod = 0; pod < pod_count; ++pod) {
      const std::uint32_t agg = pod * params.aggs_per_pod + a;
      core.ports.push_back({first_middle + agg, 0, 0, {Tier::core, agg, c % params.cores_per_agg}});
    }
  }
}

/// Of a tier, all links are alike.
void Topology::describe_tiers() {
  for (SwitchInfo& s : switches_) {
    for (std::uint32_t p = 0; p < s.ports.size(); ++p) {
      PortInfo& port = s.ports[p];
      port.sends = p < s.down_ports ? LinkWay::down : LinkWay::up;
      port.rate = rate(port.ref.tier);
      port.latency = latency(port.ref.tier);
    }
  }
}

void Topology::build_graph() {
  const NetworkGraph& graph = *params_.graph;
  const std::uint32_t hosts = params_.hosts();
  STRACK_CHECK_OP(graph.hosts.size(), ==, hosts);
  switches_.resize(graph.switches.size());
  for (std::uint32_t s = 0; s < switches_.size(); ++s)
    switches_[s] = {hosts + s, {SwitchRef::Tier::tor, s}, {}, 0, graph.is_nic(s)};
  const auto add = [&](NodeId at, NodeId peer, const LinkRef& ref, LinkWay sends,
                       const NetworkGraph::Link& link) {
    if (at >= hosts)
      switches_[at - hosts].ports.push_back({peer, 0, 0, ref, sends, link.rate, link.latency});
  };
  for (std::uint32_t l = 0; l < graph.links.size(); ++l) {
    const NetworkGraph::Link& link = graph.links[l];
    const NodeId low = std::min(link.a, link.b);
    const LinkRef ref =
        low < hosts ? LinkRef{LinkRef::Tier::host, low, 0} : LinkRef{LinkRef::Tier::fabric, l, 0};
    // Away from a host is up; between switches, as the graph has it.
    const NodeId first = low < hosts ? low : link.a;
    const NodeId second = first == link.a ? link.b : link.a;
    add(first, second, ref, LinkWay::up, link);
    add(second, first, ref, LinkWay::down, link);
  }
  const GraphDistances distances(graph);
  edges_ = distances.edges();
  edge_of_host_ = distances.edge_of_host;
  edge_hops_ = distances.hops;
}

void Topology::number_links() {
  using Tier = LinkRef::Tier;
  links_ = params_.hosts();
  for (SwitchInfo& s : switches_) {
    for (PortInfo& port : s.ports) port.link = links_++;
  }
  // The two directions of a link bear the same name.
  const auto key = [](const LinkRef& ref) {
    return (std::uint64_t{static_cast<std::uint8_t>(ref.tier)} << 60) |
           (std::uint64_t{ref.lower} << 30) | ref.upper;
  };
  std::vector<std::pair<std::uint64_t, PortInfo*>> by_name;
  for (SwitchInfo& s : switches_) {
    for (PortInfo& port : s.ports) {
      if (port.ref.tier == Tier::host) {
        port.reverse = port.peer;
      } else {
        by_name.emplace_back(key(port.ref), &port);
      }
    }
  }
  std::sort(by_name.begin(), by_name.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->link < b.second->link;
  });
  STRACK_CHECK_OP(by_name.size() % 2, ==, 0u);
  for (std::size_t i = 0; i < by_name.size(); i += 2) {
    STRACK_CHECK_OP(by_name[i].first, ==, by_name[i + 1].first);
    by_name[i].second->reverse = by_name[i + 1].second->link;
    by_name[i + 1].second->reverse = by_name[i].second->link;
  }
}

BitsPerSecond Topology::rate(LinkRef::Tier tier) const {
  switch (tier) {
    case LinkRef::Tier::host:
      return params_.host_rate;
    case LinkRef::Tier::fabric:
      return params_.fabric_rate;
    case LinkRef::Tier::core:
      return params_.core_rate;
  }
  return params_.host_rate;
}

Picoseconds Topology::latency(LinkRef::Tier tier) const {
  switch (tier) {
    case LinkRef::Tier::host:
      return params_.host_latency;
    case LinkRef::Tier::fabric:
      return params_.fabric_latency;
    case LinkRef::Tier::core:
      return params_.core_latency;
  }
  return params_.host_latency;
}

HostLink Topology::host_link(std::uint32_t host) const {
  if (params_.graph == nullptr)
    return {tor(rack_of(host)).node, params_.host_rate, params_.host_latency};
  const NetworkGraph::Link& link = params_.graph->link_of_host(host);
  return {link.a == host ? link.b : link.a, link.rate, link.latency};
}

Picoseconds Topology::smallest_latency() const {
  Picoseconds smallest = std::min(params_.host_latency, params_.fabric_latency);
  if (params_.graph == nullptr && params_.tiers == 3)
    smallest = std::min(smallest, params_.core_latency);
  if (params_.has_servers()) smallest = std::min(smallest, params_.server_latency);
  return smallest;
}

std::string Topology::name(NodeId node) const {
  if (params_.graph != nullptr) return params_.graph->name(node);
  if (node < hosts()) return "host " + std::to_string(node);
  const SwitchRef& ref = switches_[node - hosts()].ref;
  const std::string index = std::to_string(ref.index);
  switch (ref.tier) {
    case SwitchRef::Tier::tor:
      return "tor " + index;
    case SwitchRef::Tier::agg:
      return (params_.tiers == 3 ? "agg " : "spine ") + index;
    case SwitchRef::Tier::core:
      return "core " + index;
  }
  return index;
}

std::vector<LinkRef> Topology::links_of(const Failure& failure) const {
  std::vector<LinkRef> refs;
  if (failure.link) refs.push_back(*failure.link);
  if (failure.node) {
    for (const SwitchInfo& s : switches_) {
      if (s.ref.tier != failure.node->tier || s.ref.index != failure.node->index) continue;
      for (const PortInfo& port : s.ports) refs.push_back(port.ref);
    }
  }
  return refs;
}

/// [D92]
std::vector<RouteTable> make_graph_routes(const Topology& topology,
                                          const std::vector<std::vector<bool>>& port_down) {
  const auto& switches = topology.switches();
  const std::uint32_t hosts = topology.hosts();
  std::vector<RouteTable> tables(switches.size());
  std::vector<detail::GroupInterner> groups;
  for (RouteTable& table : tables) {
    groups.emplace_back(table);
    table.group_of_rack.resize(hosts);
  }
  std::vector<std::vector<std::uint32_t>> hosts_of(switches.size());
  for (std::uint32_t h = 0; h < hosts; ++h)
    hosts_of[topology.host_link(h).peer - hosts].push_back(h);

  constexpr std::uint32_t kFar = ~std::uint32_t{0};
  std::vector<std::uint32_t> distance;
  std::vector<std::uint32_t> order;
  std::vector<std::uint16_t> ports;
  for (std::uint32_t edge = 0; edge < switches.size(); ++edge) {
    if (hosts_of[edge].empty()) continue;
    // From the hosts' switch outwards. Both directions of a link are down together.
    distance.assign(switches.size(), kFar);
    distance[edge] = 0;
    order.assign(1, edge);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t s = order[i];
      for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
        const NodeId peer = switches[s].ports[p].peer;
        if (peer < hosts || port_down[s][p] || distance[peer - hosts] != kFar) continue;
        distance[peer - hosts] = distance[s] + 1;
        order.push_back(peer - hosts);
      }
    }
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      if (s == edge) continue;
      ports.clear();
      for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
        const NodeId peer = switches[s].ports[p].peer;
        if (distance[s] == kFar || peer < hosts || port_down[s][p]) continue;
        if (distance[peer - hosts] + 1 == distance[s])
          ports.push_back(static_cast<std::uint16_t>(p));
      }
      const std::uint32_t group = groups[s].intern(ports);
      for (const std::uint32_t host : hosts_of[edge]) tables[s].group_of_rack[host] = group;
    }
    // A host has one port, and whether its link is up that port will see.
    for (std::size_t p = 0; p < switches[edge].ports.size(); ++p) {
      const NodeId peer = switches[edge].ports[p].peer;
      if (peer < hosts)
        tables[edge].group_of_rack[peer] = groups[edge].intern({static_cast<std::uint16_t>(p)});
    }
  }
  return tables;
}

}  // namespace strack::sim
