#include "sim/scenario/expected_time.h"

#include <algorithm>

#include "sim/gpu/engine.h"

namespace strack::sim {
namespace {

bool oversubscribed(const TopologyParams& t) {
  return t.graph == nullptr && t.tiers == 2 && t.spines < t.hosts_per_rack;
}

/// By measurements of one thread (expected_time_test.cpp has them).
double work_of(const Scenario& scenario, const WorkloadSpec& w) {
  const TopologyParams& t = scenario.config.topology;
  double per_gb = scenario.config.pfc.enabled ? 0.12 : 0.07;
  if (oversubscribed(t)) per_gb *= 1.2;
  if (t.graph == nullptr && t.tiers == 3) per_gb *= 1.3;
  if (w.kind == WorkloadKind::incast) per_gb = 1.5;  // little at a time
  // Much of it stays in a server.
  if (w.kind == WorkloadKind::training) per_gb *= 0.45;
  if (w.kind == WorkloadKind::collective)
    per_gb *= w.collective.collective == workload::Collective::alltoall ? 1.6 : 1.1;
  return 1e-9 * expected_bytes(scenario, w) * per_gb;
}

double work_of(const Scenario& scenario) {
  double all = 0;
  for (const WorkloadSpec& w : scenario.workloads) all += w.enabled ? work_of(scenario, w) : 0;
  return all;
}

/// No fewer than it takes to send everything at the rate of the busiest link.
double windows_of(const Scenario& scenario) {
  const TopologyParams& t = scenario.config.topology;
  Picoseconds window = std::min(t.host_latency, t.fabric_latency);
  if (t.graph == nullptr && t.tiers == 3) window = std::min(window, t.core_latency);
  if (t.has_servers()) window = std::min(window, t.server_latency);
  return expected_duration(scenario) * 1e12 / static_cast<double>(window.count());
}

}  // namespace

double expected_duration(const Scenario& scenario) {
  const TopologyParams& t = scenario.config.topology;
  double share = 0;
  for (const WorkloadSpec& w : scenario.workloads) {
    if (!w.enabled) continue;
    share += expected_bytes(scenario, w) / (w.kind == WorkloadKind::incast ? 1 : t.hosts());
  }
  if (oversubscribed(t)) share *= static_cast<double>(t.hosts_per_rack) / t.spines;
  return 8 * share / static_cast<double>(t.host_rate.value);
}

ExpectedTime expected_time(const Scenario& scenario) {
  const double hosts = scenario.config.topology.hosts();
  const double work = work_of(scenario);
  ExpectedTime time{0.01 + 1e-5 * hosts + work, std::nullopt};
  if (!is_for_threads(scenario.config)) {
    // To start, to make the network there, what a window takes whoever is at work; and as much at a time as 100 threads.
    time.gpu = 0.27 + 1.9e-5 * hosts + 1.2e-4 * windows_of(scenario) + work / 100;
  }
  return time;
}

}  // namespace strack::sim
