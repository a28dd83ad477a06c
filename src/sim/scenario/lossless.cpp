#include "sim/scenario/lossless.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/net/shared_buffer.h"
#include "sim/net/topology.h"

namespace strack::sim {
namespace {

[[nodiscard]] Bytes headroom_of(const SimConfig& config, BitsPerSecond rate, Picoseconds latency) {
  if (config.pfc.headroom > bytes(0)) return config.pfc.headroom;
  const HostParams& hosts = config.hosts;
  const Bytes packet = std::max(config.mtu() + hosts.data_header, hosts.control_size);
  return link_headroom(rate, latency, packet, config.pfc.frame);
}

}  // namespace

std::uint32_t BufferPlan::ports() const {
  std::uint32_t count = 0;
  for (const PortGroup& group : groups) count += group.ports;
  return count;
}

/// Of a graph: switches with the same ports are one kind.
static std::vector<BufferPlan> plans_of_graph(const TopologyParams& t) {
  using Port = std::pair<std::int64_t, std::int64_t>;  // rate and latency
  std::map<std::map<Port, std::uint32_t>, std::uint32_t> kinds;
  const Topology network(t);
  for (const SwitchInfo& info : network.switches()) {
    std::map<Port, std::uint32_t> ports;
    for (const PortInfo& port : info.ports) ++ports[{port.rate.value, port.latency.value}];
    if (!ports.empty()) ++kinds[ports];
  }
  std::vector<BufferPlan> plans;
  for (const auto& [ports, count] : kinds) {
    BufferPlan& plan = plans.emplace_back();
    plan.tier = "switch";
    plan.switches = count;
    for (const auto& [port, many] : ports)
      plan.groups.push_back({many, {port.first}, {port.second}});
  }
  return plans;
}

static std::vector<BufferPlan> plans_of_clos(const TopologyParams& t) {
  const PortGroup host{t.hosts_per_rack, t.host_rate, t.host_latency};
  const auto fabric = [&t](std::uint32_t ports) {
    return PortGroup{ports, t.fabric_rate, t.fabric_latency};
  };
  std::vector<BufferPlan> plans;
  if (t.tiers == 2) {
    plans.push_back({"ToR", t.racks, {host, fabric(t.spines * t.links_per_spine)}});
    plans.push_back({"spine", t.spines, {fabric(t.racks * t.links_per_spine)}});
  } else {
    const std::uint32_t pods = t.racks / t.racks_per_pod;
    const auto core = [&t](std::uint32_t ports) {
      return PortGroup{ports, t.core_rate, t.core_latency};
    };
    plans.push_back({"ToR", t.racks, {host, fabric(t.aggs_per_pod)}});
    plans.push_back({"aggregation switch",
                     pods * t.aggs_per_pod,
                     {fabric(t.racks_per_pod), core(t.cores_per_agg)}});
    plans.push_back({"core", t.aggs_per_pod * t.cores_per_agg, {core(pods)}});
  }
  return plans;
}

std::vector<BufferPlan> buffer_plans(const SimConfig& config) {
  const TopologyParams& t = config.topology;
  std::vector<BufferPlan> plans = t.graph != nullptr ? plans_of_graph(t) : plans_of_clos(t);
  for (BufferPlan& plan : plans) {
    BitsPerSecond rates{0};
    for (PortGroup& group : plan.groups) {
      group.headroom = headroom_of(config, group.rate, group.latency);
      rates += std::int64_t{group.ports} * group.rate;
      plan.kept += std::int64_t{group.ports} * (group.headroom + config.pfc.reserve);
    }
    plan.buffer = {mul_div(config.pfc.buffer_per_tbps.count(), rates.count(), gbps(1'000).count())};
  }
  return plans;
}

}  // namespace strack::sim
