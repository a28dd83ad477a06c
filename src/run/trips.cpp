#include "run/trips.h"

#include "sim/base_rtt.h"

namespace strack::run {
namespace {

using sim::Reach;

[[nodiscard]] Reach reach_of(const sim::TopologyParams& t, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t from = a / t.hosts_per_rack;
  const std::uint32_t to = b / t.hosts_per_rack;
  if (from == to) return Reach::rack;
  if (t.tiers == 3 && from / t.racks_per_pod != to / t.racks_per_pod) return Reach::core;
  return Reach::fabric;
}

}  // namespace

Trips::Trips(const sim::SimConfig& config)
    : t_(config.topology), alike_{0, t_.host_rate, t_.host_latency} {
  if (t_.graph == nullptr) return;
  const sim::NetworkGraph& graph = *t_.graph;
  for (std::uint32_t h = 0; h < graph.host_count(); ++h)
    hosts_.push_back({0, graph.link_of_host(h).rate, graph.link_of_host(h).latency});
}

Picoseconds Trips::between(std::uint32_t from, std::uint32_t to, Bytes packet) const {
  if (t_.graph != nullptr) {
    constexpr std::int64_t kStep = 64;
    const Bytes rounded = bytes(packet.count() / kStep * kStep);
    return of_graph_.try_emplace(rounded, *t_.graph, rounded).first->second(from, to);
  }
  const Reach reach = reach_of(t_, from, to);
  return sim::serialisation(t_, packet, reach) + sim::propagation(t_, reach);
}

const sim::HostLink& Trips::host(std::uint32_t host) const {
  return hosts_.empty() ? alike_ : hosts_[host];
}

}  // namespace strack::run
