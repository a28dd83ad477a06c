#include "sim/reachability.h"

#include <algorithm>
#include <vector>

#include "sim/net/network_graph.h"
#include "sim/net/topology.h"

namespace strack::sim {

std::optional<UnreachablePair> find_unreachable_pair(const SimConfig& config,
                                                     const workload::Workload& workload) {
  const TopologyParams& t = config.topology;
  if (t.graph == nullptr) return std::nullopt;
  const Topology topology(t);
  std::vector<LinkRef> down;
  for (const Failure& failure : config.failures.failures) {
    if (failure.from > Instant{} || failure.until != Instant::never()) continue;
    for (const LinkRef& link : topology.links_of(failure)) down.push_back(link);
  }
  const auto is_down = [&](const LinkRef& link) {
    return std::find(down.begin(), down.end(), link) != down.end();
  };
  const std::vector<RouteTable> routes = make_routes(topology, is_down);
  const auto reaches = [&](std::uint32_t src, std::uint32_t dst) {
    if (t.has_servers() && t.server_of(src) == t.server_of(dst)) return true;
    if (is_down({LinkRef::Tier::host, src, 0}) || is_down({LinkRef::Tier::host, dst, 0}))
      return false;
    const RouteTable& table = routes[t.graph->switch_of(src)];
    return table.groups[table.group_of_rack[dst]].count > 0;
  };
  for (const workload::Flow& flow : workload.flows) {
    if (!reaches(flow.src, flow.dst)) return UnreachablePair{flow.src, flow.dst};
  }
  for (const workload::Job& job : workload.jobs) {
    for (const workload::Channel& channel : job.graph->channels()) {
      const std::uint32_t src = job.hosts[channel.from];
      const std::uint32_t dst = job.hosts[channel.to];
      if (!reaches(src, dst)) return UnreachablePair{src, dst};
    }
  }
  return std::nullopt;
}

}  // namespace strack::sim
