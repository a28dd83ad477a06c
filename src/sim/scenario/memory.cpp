// What memory a run takes, said before it.
#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

/// Memory by what there is many of, as measured. The one place to correct.
namespace cost {
constexpr Bytes kProgram = mb(8);
constexpr Bytes kPerHost = bytes(2'048);    // NIC, event state, mailbox
constexpr Bytes kPerSwitch = bytes(4'096);  // and its tables, per rack below
constexpr Bytes kPerRackRoute = bytes(4);
constexpr Bytes kPerDirectedLink = bytes(2'560);  // port, queue ring, both buffers of its lane
constexpr Bytes kPerFlow = bytes(1'536);  // both ends of a connection, flow and result record
constexpr Bytes kPerPacketInFlight = bytes(64);
}  // namespace cost

}  // namespace

Bytes memory_estimate(const Scenario& scenario) {
  const TopologyParams& t = scenario.config.topology;
  std::int64_t links = t.hosts();
  std::int64_t switches = t.racks;
  if (t.tiers == 2) {
    links += std::int64_t{t.racks} * t.spines * t.links_per_spine;
    switches += t.spines;
  } else {
    const std::int64_t pods = t.racks / t.racks_per_pod;
    links += std::int64_t{t.racks} * t.aggs_per_pod + pods * t.aggs_per_pod * t.cores_per_agg;
    switches += pods * t.aggs_per_pod + std::int64_t{t.aggs_per_pod} * t.cores_per_agg;
  }
  const auto flows = static_cast<std::int64_t>(expected_flows(scenario));
  // At the worst moment each flow that can be active has a window of packets on its way.
  const std::int64_t window =
      scenario.config.transport.max_cwnd / scenario.config.transport.mtu + 1;
  const std::int64_t active = std::min<std::int64_t>(flows, 4 * std::int64_t{t.hosts()});
  return cost::kProgram + t.hosts() * cost::kPerHost + switches * cost::kPerSwitch +
         switches * t.racks * cost::kPerRackRoute + 2 * links * cost::kPerDirectedLink +
         flows * cost::kPerFlow + active * window * cost::kPerPacketInFlight;
}

}  // namespace strack::sim
