#include "sim/net/topology.h"

#include <algorithm>

#include "base/check.h"

namespace strack::sim {

Topology::Topology(const TopologyParams& params) : params_(params) {
  using Tier = LinkRef::Tier;
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

  links_ = hosts;
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

Picoseconds Topology::smallest_latency() const {
  Picoseconds smallest = std::min(params_.host_latency, params_.fabric_latency);
  if (params_.tiers == 3) smallest = std::min(smallest, params_.core_latency);
  return smallest;
}

std::string Topology::name(NodeId node) const {
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

}  // namespace strack::sim
