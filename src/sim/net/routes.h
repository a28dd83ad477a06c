// Routing: up to any switch from which the destination can still be reached, then down; in a graph, by
// shortest paths. Included by topology.h.
#pragma once

#include <map>
#include <vector>

#include "base/check.h"
#include "sim/net/topology.h"

namespace strack::sim {
namespace detail {

/// Stores a set of ports once per table.
class GroupInterner {
 public:
  explicit GroupInterner(RouteTable& table) : table_(table) {}
  std::uint32_t intern(const std::vector<std::uint16_t>& ports) {
    const auto [it, fresh] =
        known_.try_emplace(ports, static_cast<std::uint32_t>(table_.groups.size()));
    if (fresh) {
      table_.groups.push_back({static_cast<std::uint32_t>(table_.ports.size()),
                               static_cast<std::uint32_t>(ports.size())});
      table_.ports.insert(table_.ports.end(), ports.begin(), ports.end());
    }
    return it->second;
  }

 private:
  RouteTable& table_;
  std::map<std::vector<std::uint16_t>, std::uint32_t> known_;
};

}  // namespace detail

template <class IsDown>
std::vector<RouteTable> make_routes(const Topology& topology, IsDown&& is_down) {
  const auto& switches = topology.switches();
  const std::uint32_t hosts = topology.hosts();
  const std::uint32_t racks = topology.params().racks;

  std::vector<std::vector<bool>> port_down(switches.size());
  for (std::size_t s = 0; s < switches.size(); ++s) {
    for (const PortInfo& port : switches[s].ports) port_down[s].push_back(is_down(port.ref));
  }
  if (topology.params().graph != nullptr) return make_graph_routes(topology, port_down);

  std::vector<RouteTable> tables(switches.size());
  std::vector<detail::GroupInterner> groups;
  for (std::size_t s = 0; s < switches.size(); ++s) {
    groups.emplace_back(tables[s]);
    tables[s].group_of_rack.resize(racks);
  }

  // Per destination rack, from the rack outwards: first the switches that reach it going down only,
  // then, from the top, those that must go up first. Switches are numbered by tier, so both are
  // single passes.
  std::vector<bool> reaches(switches.size());
  std::vector<std::uint16_t> ports;
  for (std::uint32_t rack = 0; rack < racks; ++rack) {
    std::vector<bool> below(switches.size(), false);
    std::vector<bool> decided(switches.size(), false);
    std::fill(reaches.begin(), reaches.end(), false);
    reaches[rack] = below[rack] = decided[rack] = true;
    tables[rack].group_of_rack[rack] =
        groups[rack].intern({});  // its own hosts: by port number, not by group
    for (std::size_t s = racks; s < switches.size(); ++s) {
      ports.clear();
      bool has_way_down = false;
      for (std::uint32_t p = 0; p < switches[s].down_ports; ++p) {
        const std::uint32_t peer = switches[s].ports[p].peer - hosts;
        if (!below[peer]) continue;
        has_way_down = true;
        if (reaches[peer] && !port_down[s][p]) ports.push_back(static_cast<std::uint16_t>(p));
      }
      if (!has_way_down) continue;
      below[s] = decided[s] = true;
      reaches[s] = !ports.empty();
      tables[s].group_of_rack[rack] = groups[s].intern(ports);
    }
    for (std::size_t s = switches.size(); s-- > 0;) {
      if (decided[s]) continue;
      ports.clear();
      for (std::size_t p = switches[s].down_ports; p < switches[s].ports.size(); ++p) {
        const std::uint32_t peer = switches[s].ports[p].peer - hosts;
        if (reaches[peer] && !port_down[s][p]) ports.push_back(static_cast<std::uint16_t>(p));
      }
      reaches[s] = !ports.empty();
      tables[s].group_of_rack[rack] = groups[s].intern(ports);
    }
  }
  return tables;
}

}  // namespace strack::sim
