// What memory a run takes, said before it.
#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/route_versions.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "workload/jobs.h"

namespace strack::sim {
namespace {

/// Memory by what there is many of, as measured. The one place to correct.
namespace cost {
constexpr Bytes kProgram = mb(12);
constexpr Bytes kPerHost = bytes(2'048);    // NIC, event state, mailbox
constexpr Bytes kPerSwitch = bytes(4'096);  // and its tables, per rack below
constexpr Bytes kPerRackRoute = bytes(4);
constexpr Bytes kPerDirectedLink = bytes(2'560);  // port, queue ring, both buffers of its lane
constexpr Bytes kPerFlow = bytes(800);  // and both ends of its connection; flow and result record
constexpr Bytes kPerMessage = bytes(100);   // of a graph while it is made, and its edges
constexpr Bytes kPerJobMessage = bytes(4);  // of every job that shares it
constexpr Bytes kPerPacketInFlight = bytes(64);
}  // namespace cost

/// Flows, or the connections that jobs need.
[[nodiscard]] std::int64_t connections(const Scenario& scenario) {
  auto all = static_cast<std::int64_t>(expected_flows(scenario));
  for (const WorkloadSpec& w : scenario.workloads) {
    if (!w.enabled) continue;
    if (w.kind == WorkloadKind::trace) {
      all += static_cast<std::int64_t>(w.graph->channels().size());
    } else if (w.kind == WorkloadKind::collective) {
      all += static_cast<std::int64_t>(w.jobs * workload::size_of(w.collective).channels);
    } else if (w.kind == WorkloadKind::training) {  // its ring, its stages, its fellow experts
      const workload::TrainingParams& p = w.training;
      all += std::int64_t{w.jobs} * p.ranks() * (4 + std::int64_t{p.ep});
    }
  }
  return all;
}

/// What there is to send, all together.
[[nodiscard]] Int128 bytes_to_send(const Scenario& scenario, const WorkloadSpec& w) {
  if (w.kind == WorkloadKind::trace)
    return static_cast<Int128>(w.graph->bytes().count()) * w.iterations;
  if (w.kind == WorkloadKind::collective) {
    // No collective has a rank send more than its buffer twice.
    return static_cast<Int128>(2) * w.jobs * w.collective.ranks * w.collective.size.count() *
           w.iterations;
  }
  if (w.kind == WorkloadKind::training) return static_cast<Int128>(expected_bytes(scenario, w));
  Int128 sum = 0;
  for (const workload::Flow& flow : w.list) sum += flow.size.count();
  if (w.kind == WorkloadKind::file) return sum * w.repeats;
  const Bytes each = w.kind == WorkloadKind::random ? w.sizes.mean() : w.size;
  return static_cast<Int128>(expected_flows(scenario, w)) * each.count();
}
[[nodiscard]] Int128 bytes_to_send(const Scenario& scenario) {
  Int128 all = 0;
  for (const WorkloadSpec& w : scenario.workloads)
    all += w.enabled ? bytes_to_send(scenario, w) : 0;
  return all;
}

/// At the worst moment.
[[nodiscard]] std::int64_t packets_in_flight(const Scenario& scenario) {
  const SimConfig& config = scenario.config;
  const TopologyParams& t = config.topology;
  const std::int64_t active =
      std::min<std::int64_t>(connections(scenario), 4 * std::int64_t{t.hosts()});
  // Each flow that can be active has a window of packets on its way.
  if (const std::int64_t window = config.transport->window_packets(); window > 0)
    return active * window;
  // Without a window senders fill what is there, links and queues, as far as they have bytes.
  Int128 room = static_cast<Int128>(t.hosts()) * scenario.bdp.count();
  for (const BufferPlan& plan : buffer_plans(config)) {
    const Bytes queues = std::int64_t{plan.ports()} * config.switches.queue_limit;
    const Bytes held = config.pfc.enabled ? plan.buffer : queues;
    room += static_cast<Int128>(plan.switches) * held.count();
  }
  const Int128 most = std::min(room, bytes_to_send(scenario));
  return static_cast<std::int64_t>(most / config.mtu().count()) + active;
}

}  // namespace

Bytes memory_estimate(const Scenario& scenario) {
  const TopologyParams& t = scenario.config.topology;
  const Transport& transport = *scenario.config.transport;
  std::int64_t links = t.hosts();
  std::int64_t switches = t.racks;
  std::int64_t routes = t.racks;  // of each switch
  if (t.graph != nullptr) {
    links = static_cast<std::int64_t>(t.graph->links.size());
    switches = static_cast<std::int64_t>(t.graph->switches.size());
    routes = t.hosts();
  } else if (t.tiers == 2) {
    links += std::int64_t{t.racks} * t.spines * t.links_per_spine;
    switches += t.spines;
  } else {
    const std::int64_t pods = t.racks / t.racks_per_pod;
    links += std::int64_t{t.racks} * t.aggs_per_pod + pods * t.aggs_per_pod * t.cores_per_agg;
    switches += pods * t.aggs_per_pod + std::int64_t{t.aggs_per_pod} * t.cores_per_agg;
  }
  Bytes graphs{0};
  for (const WorkloadSpec& w : scenario.workloads) {
    if (!w.enabled || !w.has_jobs()) continue;
    auto messages = static_cast<std::int64_t>(expected_messages(w));
    if (w.kind == WorkloadKind::training) {  // computations take as much
      messages += static_cast<std::int64_t>(w.jobs * workload::size_of(w.training).computations *
                                            w.iterations);
    }
    graphs += messages / w.jobs * cost::kPerMessage + messages * cost::kPerJobMessage;
  }
  return graphs + cost::kProgram + t.hosts() * (cost::kPerHost + transport.nic_state()) +
         switches * cost::kPerSwitch +
         switches * routes * route_versions(scenario) * cost::kPerRackRoute +
         2 * links * cost::kPerDirectedLink +
         connections(scenario) * (cost::kPerFlow + transport.connection_state()) +
         packets_in_flight(scenario) * cost::kPerPacketInFlight;
}

}  // namespace strack::sim
