#include "sim/simulation.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "sim/base_rtt.h"
#include "sim/cluster.h"
#include "sim/net/topology.h"
#include "sim/transport.h"

namespace strack::sim {

Derived derive(const TopologyParams& t, const HostParams& hosts, Bytes mtu) {
  Derived d;
  d.hops = t.graph != nullptr ? graph_diameter(*t.graph) : t.tiers == 3 ? 6 : 4;
  d.base_rtt = longest_base_rtt(t, hosts, mtu);
  d.bdp = t.host_rate * d.base_rtt;
  const Topology topology(t);
  d.links = topology.links();
  d.switches = topology.switches().size();
  return d;
}

Bytes SimConfig::mtu() const {
  STRACK_CHECK(transport != nullptr);
  return transport->mtu();
}

namespace {

std::unique_ptr<Cluster> make_cluster(const SimConfig& config, workload::Workload workload) {
  STRACK_CHECK(config.transport != nullptr);
  return config.transport->make_cluster(config, std::move(workload));
}

}  // namespace

Simulation::Simulation(const SimConfig& config, workload::Workload workload)
    : cluster_(make_cluster(config, std::move(workload))) {}
Simulation::Simulation(std::unique_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}
Simulation::~Simulation() = default;

Ending Simulation::run(Observer& observer, const std::atomic<bool>* stop) {
  return cluster_->run(observer, stop);
}
metrics::Counters Simulation::counters() const { return cluster_->counters(); }
Instant Simulation::now() const { return cluster_->now(); }
std::vector<metrics::LinkInfo> Simulation::links() const { return cluster_->links(); }
std::vector<metrics::ChannelInfo> Simulation::channels() const { return cluster_->channels(); }

}  // namespace strack::sim
