#include "sim/cluster/partition.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace strack::sim {
namespace {

/// Which of `ranks` has the i-th of so many things, shared out in order and evenly.
std::uint32_t share(std::uint64_t i, std::uint64_t ranks, std::uint64_t things) {
  return static_cast<std::uint32_t>(i * ranks / things);
}

}  // namespace

Partition::Partition(const Topology& topology, std::uint32_t rank, std::uint32_t ranks, bool apart)
    : rank_(rank),
      ranks_(ranks),
      rack_reciprocal_((std::uint64_t{1} << 32) / topology.params().hosts_per_rack + 1),
      end_host_(topology.hosts()) {
  STRACK_CHECK_OP(rank, <, ranks);
  STRACK_CHECK_OP(ranks, <=, topology.params().racks);
  if (alone()) {
    switches_.resize(topology.switches().size());
    std::iota(switches_.begin(), switches_.end(), 0u);
    return;
  }
  STRACK_CHECK(topology.params().graph == nullptr && !topology.params().has_servers());
  place_switches(topology, apart);
  cut(topology);
}

void Partition::place_switches(const Topology& topology, bool apart) {
  const TopologyParams& t = topology.params();
  const auto& infos = topology.switches();
  const std::uint32_t pods = topology.pods();
  const bool by_pods = t.tiers == 3 && ranks_ <= pods;
  const auto rank_of_rack = [&](std::uint32_t rack) {
    return by_pods ? share(rack / t.racks_per_pod, ranks_, pods) : share(rack, ranks_, t.racks);
  };
  const auto top = t.tiers == 3 ? SwitchRef::Tier::core : SwitchRef::Tier::agg;
  const auto tops = static_cast<std::uint64_t>(std::count_if(
      infos.begin(), infos.end(), [top](const SwitchInfo& info) { return info.ref.tier == top; }));
  for (std::uint32_t s = 0; s < infos.size(); ++s) {
    const SwitchRef& ref = infos[s].ref;
    std::uint32_t on = kWhole;
    if (ref.tier == SwitchRef::Tier::tor) {
      on = rank_of_rack(ref.index);
    } else if (ref.tier != top) {
      // Of a pod that several ranks share, they have these in turn.
      const std::uint32_t pod = ref.index / t.aggs_per_pod;
      const std::uint32_t place = ref.index % t.aggs_per_pod % t.racks_per_pod;
      on = rank_of_rack(pod * t.racks_per_pod + place);
    } else if (!apart) {
      on = share(ref.index, ranks_, tops);
    }
    rank_of_switch_.push_back(on);
    if (on == rank_ || on == kWhole) switches_.push_back(s);
  }
  std::uint32_t first = t.racks;
  std::uint32_t end = 0;
  for (std::uint32_t rack = 0; rack < t.racks; ++rack) {
    if (rank_of_switch_[rack] != rank_) continue;
    first = std::min(first, rack);
    end = rack + 1;
  }
  first_host_ = first * t.hosts_per_rack;
  end_host_ = end * t.hosts_per_rack;
}

void Partition::cut(const Topology& topology) {
  const TopologyParams& t = topology.params();
  const auto& infos = topology.switches();
  receivers_.resize(topology.links());
  table_of_switch_.resize(infos.size(), kWhole);
  // Where a switch that is on several ranks sends what is for a rack.
  for (std::uint32_t s = 0; s < infos.size(); ++s) {
    if (rank_of_switch_[s] != kWhole) continue;
    std::vector<std::uint32_t> table(t.racks);
    for (const PortInfo& port : infos[s].ports) {
      const std::uint32_t peer = port.peer - topology.hosts();
      const bool tor = infos[peer].ref.tier == SwitchRef::Tier::tor;
      const std::uint32_t first =
          tor ? infos[peer].ref.index : infos[peer].ref.index / t.aggs_per_pod * t.racks_per_pod;
      for (std::uint32_t rack = first; rack < first + (tor ? 1 : t.racks_per_pod); ++rack)
        table[rack] = rank_of_switch_[peer];
    }
    if (tables_.empty() || tables_.back() != table) tables_.push_back(std::move(table));
    table_of_switch_[s] = static_cast<std::uint32_t>(tables_.size() - 1);
  }
  for (std::uint32_t s = 0; s < infos.size(); ++s) {
    first_cut_.push_back(static_cast<std::uint32_t>(cuts_.size()));
    const bool here = rank_of_switch_[s] == rank_ || rank_of_switch_[s] == kWhole;
    for (const PortInfo& port : infos[s].ports) {
      receivers_[port.link] = port.peer;
      if (!here || port.peer < topology.hosts()) continue;
      const std::uint32_t peer = port.peer - topology.hosts();
      // A switch in parts leads, from here, only to those here.
      if (rank_of_switch_[s] == kWhole) continue;
      if (rank_of_switch_[peer] != rank_)
        cuts_.push_back({port.link, table_of_switch_[peer], rank_of_switch_[peer]});
    }
  }
  first_cut_.push_back(static_cast<std::uint32_t>(cuts_.size()));
}

}  // namespace strack::sim
