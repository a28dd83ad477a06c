// Routing: up to any switch from which the destination can still be reached, then down; in a graph, by
// shortest paths. Included by topology.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
    // Racks of one pod follow each other, and have the same ports.
    if (last_ != nullptr && last_->first == ports) return last_->second;
    const auto [it, fresh] =
        known_.try_emplace(ports, static_cast<std::uint32_t>(table_.groups.size()));
    last_ = &*it;
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
  const decltype(known_)::value_type* last_ = nullptr;
};

/// The switches that have a way down to a rack, whether its links work or not, tier by tier, and each
/// one's ports that lead there.
class WaysDown {
 public:
  explicit WaysDown(const Topology& topology)
      : topology_(topology), port_of_link_(topology.links()), ports_(topology.switches().size()) {
    for (const SwitchInfo& info : topology.switches()) {
      for (std::size_t p = 0; p < info.ports.size(); ++p)
        port_of_link_[info.ports[p].link] = static_cast<std::uint16_t>(p);
    }
  }
  void find(std::uint32_t rack) {
    for (const std::uint32_t s : above_) ports_[s].clear();
    above_.assign(1, rack);
    for (std::size_t i = 0; i < above_.size(); ++i) {
      const auto& info = topology_.switches()[above_[i]];
      for (std::size_t p = info.down_ports; p < info.ports.size(); ++p) {
        const std::uint32_t peer = info.ports[p].peer - topology_.hosts();
        if (ports_[peer].empty()) above_.push_back(peer);
        ports_[peer].push_back(port_of_link_[info.ports[p].reverse]);
      }
    }
    above_.erase(above_.begin());
  }
  [[nodiscard]] const std::vector<std::uint32_t>& above() const { return above_; }
  [[nodiscard]] std::vector<std::uint16_t>& ports(std::uint32_t s) { return ports_[s]; }

 private:
  const Topology& topology_;
  std::vector<std::uint16_t> port_of_link_;  ///< at the switch that sends into it
  std::vector<std::uint32_t> above_;
  std::vector<std::vector<std::uint16_t>> ports_;
};

/// Most switches reach most racks by all of their links upwards: so the tables begin. Gives the switches that lack such a
/// link, in their order.
inline std::vector<std::size_t> all_links_up(const Topology& topology,
                                             const std::vector<std::vector<bool>>& port_down,
                                             std::vector<RouteTable>& tables,
                                             std::vector<GroupInterner>& groups) {
  std::vector<std::size_t> lacking;
  std::vector<std::uint16_t> ports;
  for (std::size_t s = 0; s < tables.size(); ++s) {
    const SwitchInfo& info = topology.switches()[s];
    ports.clear();
    for (std::size_t p = info.down_ports; p < info.ports.size(); ++p) {
      if (!port_down[s][p]) ports.push_back(static_cast<std::uint16_t>(p));
    }
    if (ports.empty() || ports.size() != info.ports.size() - info.down_ports) lacking.push_back(s);
    groups.emplace_back(tables[s]);
    tables[s].group_of_rack.assign(topology.params().racks, groups[s].intern(ports));
  }
  return lacking;
}

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
  const std::vector<std::size_t> lacking =
      detail::all_links_up(topology, port_down, tables, groups);

  // Per destination rack, from the rack outwards: first the switches that reach it going down only,
  // then, from the top, those that must go up first. Switches are numbered by tier, so both are
  // single passes.
  std::vector<bool> reaches(switches.size());
  std::vector<bool> below(switches.size());
  std::vector<std::uint16_t> ports;
  detail::WaysDown down(topology);
  const auto go_up = [&](std::size_t s, std::uint32_t rack) {
    ports.clear();
    for (std::size_t p = switches[s].down_ports; p < switches[s].ports.size(); ++p) {
      const std::uint32_t peer = switches[s].ports[p].peer - hosts;
      if (reaches[peer] && !port_down[s][p]) ports.push_back(static_cast<std::uint16_t>(p));
    }
    reaches[s] = !ports.empty();
    tables[s].group_of_rack[rack] = groups[s].intern(ports);
  };
  for (std::uint32_t rack = 0; rack < racks; ++rack) {
    std::fill(below.begin(), below.end(), false);
    std::fill(reaches.begin(), reaches.end(), true);
    below[rack] = true;
    tables[rack].group_of_rack[rack] =
        groups[rack].intern({});  // its own hosts: by port number, not by group
    bool all_reach = true;
    down.find(rack);
    for (const std::uint32_t s : down.above()) {
      auto& ways = down.ports(s);
      std::erase_if(ways, [&](std::uint16_t p) {
        return port_down[s][p] || !reaches[switches[s].ports[p].peer - hosts];
      });
      std::sort(ways.begin(), ways.end());
      below[s] = true;
      reaches[s] = !ways.empty();
      all_reach = all_reach && reaches[s];
      tables[s].group_of_rack[rack] = groups[s].intern(ways);
    }
    for (auto s = lacking.rbegin(); s != lacking.rend() && all_reach; ++s) {
      if (below[*s]) continue;
      go_up(*s, rack);
      all_reach = reaches[*s];
    }
    if (all_reach) continue;  // all others go up by all links, as their tables say
    for (std::size_t s = switches.size(); s-- > 0;) {
      if (!below[s]) go_up(s, rack);
    }
  }
  return tables;
}

}  // namespace strack::sim
