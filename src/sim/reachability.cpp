#include "sim/reachability.h"

#include <algorithm>

#include "sim/net/network_graph.h"

namespace strack::sim {

bool swallows_all(const Impairment& impairment) {
  return impairment.until == Instant::never() &&
         (impairment.loss.num >= impairment.loss.den || impairment.bit_error_rate >= 0.1);
}

Reachability::Reachability(const SimConfig& config, const Topology& topology, Instant begun_by)
    : topology_(topology), host_is_down_(topology.hosts()) {
  std::vector<LinkRef> down;
  for (const Failure& failure : config.failures.failures) {
    if (failure.from > begun_by || failure.until != Instant::never()) continue;
    for (const LinkRef& link : topology.links_of(failure)) {
      down.push_back(link);
      if (link.tier == LinkRef::Tier::host) host_is_down_[link.lower] = true;
    }
  }
  for (const Impairment& bad : config.failures.impairments) {
    if (bad.from > begun_by || !swallows_all(bad)) continue;
    const bool own = bad.link.tier == LinkRef::Tier::host;
    if (own) host_is_down_[bad.link.lower] = true;
    // Where it is one way alone that is bad, answers may take another.
    if (own || bad.way == LinkWay::both) down.push_back(bad.link);
  }
  routes_ = make_routes(topology, [&](const LinkRef& link) {
    return std::find(down.begin(), down.end(), link) != down.end();
  });
}

bool Reachability::reaches(std::uint32_t src, std::uint32_t dst) const {
  const TopologyParams& t = topology_.params();
  if (t.has_servers() && t.server_of(src) == t.server_of(dst)) return true;
  if (host_is_down_[src] || host_is_down_[dst]) return false;
  if (t.graph == nullptr && topology_.rack_of(src) == topology_.rack_of(dst)) return true;
  const std::uint32_t from = t.graph != nullptr ? t.graph->switch_of(src) : topology_.rack_of(src);
  const std::uint32_t to = t.graph != nullptr ? dst : topology_.rack_of(dst);
  const RouteTable& table = routes_[from];
  return table.groups[table.group_of_rack[to]].count > 0;
}

std::optional<UnreachablePair> find_unreachable_pair(const Reachability& network,
                                                     const workload::Job& job) {
  for (const workload::Channel& channel : job.graph->channels()) {
    const std::uint32_t src = job.hosts[channel.from];
    const std::uint32_t dst = job.hosts[channel.to];
    if (!network.reaches(src, dst)) return UnreachablePair{src, dst};
  }
  return std::nullopt;
}

std::optional<UnreachablePair> find_unreachable_pair(const SimConfig& config,
                                                     const workload::Workload& workload) {
  // A Clos network has a way between any two until something breaks.
  if (config.topology.graph == nullptr && config.failures.failures.empty() &&
      config.failures.impairments.empty())
    return std::nullopt;
  const Topology topology(config.topology);
  const Reachability network(config, topology, Instant{});
  for (const workload::Flow& flow : workload.flows) {
    if (!network.reaches(flow.src, flow.dst)) return UnreachablePair{flow.src, flow.dst};
  }
  for (const workload::Job& job : workload.jobs) {
    if (const auto apart = find_unreachable_pair(network, job)) return apart;
  }
  return std::nullopt;
}

}  // namespace strack::sim
