// A network that is no Clos: hosts with one link each, switches, and links with rates and latencies of their
// own. Read from a file (sim/scenario/network_file.h); Topology builds it like any other.
//
// Packets go by shortest paths, counted in links, over switches only: a host forwards nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace strack::sim {

/// Nodes are numbered hosts first, then switches.
struct NetworkGraph {
  struct Link {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    BitsPerSecond rate{0};
    Picoseconds latency{0};
    std::string name;  ///< no two have the same
  };
  std::vector<std::string> hosts;
  std::vector<std::string> switches;
  std::vector<Link> links;
  std::vector<std::uint32_t> host_links;  ///< by host: its link
  std::vector<bool> nics;                 ///< by switch, or empty: [D112] it is its host's NIC

  [[nodiscard]] std::uint32_t host_count() const {
    return static_cast<std::uint32_t>(hosts.size());
  }
  [[nodiscard]] const std::string& name(std::uint32_t node) const {
    return node < hosts.size() ? hosts[node] : switches[node - hosts.size()];
  }
  [[nodiscard]] const Link& link_of_host(std::uint32_t host) const {
    return links[host_links[host]];
  }
  [[nodiscard]] bool is_nic(std::size_t place) const { return !nics.empty() && nics[place]; }
  /// The switch that a host is at, by its place in `switches`.
  [[nodiscard]] std::uint32_t switch_of(std::uint32_t host) const {
    const Link& link = link_of_host(host);
    return (link.a == host ? link.b : link.a) - host_count();
  }
};

/// How far hosts are from each other. Switches that have hosts are numbered as edges, in order.
struct GraphDistances {
  explicit GraphDistances(const NetworkGraph& graph);

  static constexpr std::uint8_t kUnreachable = 0;
  static constexpr std::uint32_t kMostHops = 200;  ///< no path may be longer

  std::vector<std::uint32_t> edge_switches;  ///< by edge
  std::vector<std::uint32_t> edge_of_host;
  std::vector<std::uint8_t> hops;  ///< by two edges: links between their hosts, or kUnreachable

  [[nodiscard]] std::uint32_t edges() const {
    return static_cast<std::uint32_t>(edge_switches.size());
  }
  [[nodiscard]] std::uint8_t between(std::uint32_t from, std::uint32_t to) const {
    return hops[std::size_t{edge_of_host[from]} * edges() + edge_of_host[to]];
  }
};

/// How long a packet of one size takes between hosts of an empty network, at best, over shortest paths:
/// every link sends it whole.
class GraphTrips {
 public:
  GraphTrips(const NetworkGraph& graph, Bytes packet);
  [[nodiscard]] Picoseconds operator()(std::uint32_t from, std::uint32_t to) const;

 private:
  [[nodiscard]] Picoseconds along(const NetworkGraph::Link& link) const {
    return packet_ / link.rate + link.latency;
  }
  const NetworkGraph& graph_;
  Bytes packet_;
  std::vector<std::uint32_t> edge_of_host_;
  std::uint32_t edges_ = 0;
  std::vector<Picoseconds> between_;  ///< by two edges: their hosts' links not counted
};

/// A data packet out and a control packet back, over the longest of all shortest paths, without queues.
[[nodiscard]] Picoseconds graph_base_rtt(const NetworkGraph& graph, Bytes data, Bytes control);
/// Its links, one way.
[[nodiscard]] std::uint8_t graph_diameter(const NetworkGraph& graph);

}  // namespace strack::sim
