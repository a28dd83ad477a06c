#include "sim/simulation.h"

#include <memory>
#include <type_traits>
#include <utility>

#include "sim/base_rtt.h"
#include "sim/cluster.h"
#include "sim/net/switch.h"
#include "sim/net/topology.h"
#include "transports/rocev2/sim.h"
#include "transports/strack/sim.h"

namespace strack::sim {

Derived derive(const TopologyParams& t, const HostParams& hosts, Bytes mtu) {
  Derived d;
  d.hops = t.tiers == 3 ? 6 : 4;
  d.base_rtt = base_rtt(t, hosts, mtu, longest_reach(t));
  d.bdp = t.host_rate * d.base_rtt;
  const Topology topology(t);
  d.links = topology.links();
  d.switches = topology.switches().size();
  return d;
}

namespace {

template <class Protocol>
std::unique_ptr<Cluster> make_cluster(const SimConfig& config, workload::Workload workload) {
  using Meter = std::conditional_t<Protocol::kMeasuresPath, UtilisationMeter, NoMeter>;
  if (config.pfc.enabled)
    return std::make_unique<ClusterOf<Protocol, BasicPfcSwitch<Meter>>>(config,
                                                                        std::move(workload));
  if (config.switches.trimming.enabled)
    return std::make_unique<ClusterOf<Protocol, BasicSwitch<BasicPort<Trimming, Meter>>>>(
        config, std::move(workload));
  return std::make_unique<ClusterOf<Protocol, BasicSwitch<BasicPort<TailDrop, Meter>>>>(
      config, std::move(workload));
}

}  // namespace

Simulation::Simulation(const SimConfig& config, workload::Workload workload)
    : cluster_(config.protocol == Protocol::roce
                   ? make_cluster<RoceProtocol>(config, std::move(workload))
                   : make_cluster<StrackProtocol>(config, std::move(workload))) {}
Simulation::~Simulation() = default;

Ending Simulation::run(Observer& observer, const std::atomic<bool>* stop) {
  return cluster_->run(observer, stop);
}
metrics::Counters Simulation::counters() const { return cluster_->counters(); }
Instant Simulation::now() const { return cluster_->now(); }
std::vector<metrics::LinkInfo> Simulation::links() const { return cluster_->links(); }
std::vector<metrics::ChannelInfo> Simulation::channels() const { return cluster_->channels(); }

}  // namespace strack::sim
