// Who is linked to whom, and which way packets go: Clos networks of two and three tiers, and graphs
// (network_graph.h).
//
// Nodes are numbered hosts first, then ToRs, then spines (or aggregation switches), then cores; of a graph,
// hosts and switches in its order. A switch's ports are numbered down before up, in a graph as its links
// are. Every directed link has a number too: a host's uplink is the host's number, then follow all
// switches' ports in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "sim/config.h"

namespace strack::sim {

using NodeId = std::uint32_t;
using LinkId = std::uint32_t;

/// Of one switch. A lossless one notes the port on packets that wait.
inline constexpr std::uint32_t kMaxPorts = 1u << 13;

struct PortInfo {
  NodeId peer = 0;
  LinkId link = 0;                ///< this port's outgoing link
  LinkId reverse = 0;             ///< what comes in at this port
  LinkRef ref;                    ///< both, as people name them
  LinkWay sends = LinkWay::down;  ///< of a graph's link: from its first end, up
  BitsPerSecond rate{0};
  Picoseconds latency{0};
};

/// A host's own port.
struct HostLink {
  NodeId peer = 0;
  BitsPerSecond rate{0};
  Picoseconds latency{0};
};

struct SwitchInfo {
  NodeId node = 0;
  SwitchRef ref;
  std::vector<PortInfo> ports;
  std::uint32_t down_ports = 0;
  bool nic = false;  ///< [D112] of one host, with a port in each plane
};

class Topology {
 public:
  explicit Topology(const TopologyParams& params);

  [[nodiscard]] const TopologyParams& params() const { return params_; }
  [[nodiscard]] std::uint32_t hosts() const { return params_.hosts(); }
  [[nodiscard]] std::uint32_t nodes() const {
    return hosts() + static_cast<std::uint32_t>(switches_.size());
  }
  [[nodiscard]] std::uint32_t links() const { return links_; }
  [[nodiscard]] const std::vector<SwitchInfo>& switches() const { return switches_; }
  [[nodiscard]] const SwitchInfo& tor(std::uint32_t rack) const { return switches_[rack]; }
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t host) const {
    return host / params_.hosts_per_rack;
  }
  [[nodiscard]] std::uint32_t pods() const {
    return params_.tiers == 3 ? params_.racks / params_.racks_per_pod : 1;
  }

  /// Links between two hosts: up as far as they have to, and down again.
  [[nodiscard]] std::uint8_t hops(std::uint32_t from, std::uint32_t to) const {
    if (!edge_of_host_.empty())
      return edge_hops_[std::size_t{edge_of_host_[from]} * edges_ + edge_of_host_[to]];
    if (rack_of(from) == rack_of(to)) return 2;
    const bool one_pod = params_.tiers == 2 || rack_of(from) / params_.racks_per_pod ==
                                                   rack_of(to) / params_.racks_per_pod;
    return one_pod ? 4 : 6;
  }

  [[nodiscard]] BitsPerSecond rate(LinkRef::Tier tier) const;  ///< not in a graph
  [[nodiscard]] Picoseconds latency(LinkRef::Tier tier) const;
  [[nodiscard]] HostLink host_link(std::uint32_t host) const;
  [[nodiscard]] Picoseconds smallest_latency() const;  ///< of links inside servers too
  [[nodiscard]] std::string name(NodeId node) const;
  /// Nothing but a host comes after, and its NIC where that has several ports.
  [[nodiscard]] bool is_last_hop(const PortInfo& port) const {
    return port.ref.tier == LinkRef::Tier::host || switches_[port.peer - hosts()].nic;
  }

  /// Links of a failure: one, or all of a switch's. Lower and upper end as LinkRef names them.
  [[nodiscard]] std::vector<LinkRef> links_of(const Failure& failure) const;

 private:
  void build_clos();
  void describe_tiers();
  void build_graph();
  void number_links();

  TopologyParams params_;
  std::vector<SwitchInfo> switches_;
  LinkId links_ = 0;
  // Of a graph: the switches with hosts, and how far they are from each other, hosts' links included. Here
  // and not in the graph, which engines other than threads do not reach.
  std::vector<std::uint32_t> edge_of_host_;
  std::vector<std::uint8_t> edge_hops_;
  std::uint32_t edges_ = 0;
};

/// For one switch: to which ports packets for a rack (in a graph: for a host) may go. Ports of equal worth
/// form a group; ECMP picks one.
struct RouteTable {
  struct Group {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::vector<std::uint16_t> ports;
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_of_rack;
};

/// Of a graph: by shortest paths, counted in links; port_down is by switch and port.
[[nodiscard]] std::vector<RouteTable> make_graph_routes(
    const Topology& topology, const std::vector<std::vector<bool>>& port_down);

/// Tables for every switch, given which links are known to be down. `is_down(ref)` is asked per
/// link.
template <class IsDown>
std::vector<RouteTable> make_routes(const Topology& topology, IsDown&& is_down);

}  // namespace strack::sim

#include "sim/net/routes.h"
