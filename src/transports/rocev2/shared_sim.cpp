// [D118] The clusters that run RoCEv2 with one alpha for all flows. Not for GPUs, whose networks are not lossless.
#include "transports/rocev2/shared_sim.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "sim/cluster/talking_windows.h"
#include "sim/transport_impl.h"

namespace strack::sim {

template <>
std::unique_ptr<Cluster> TransportOf<SharedRoceProtocol>::make_cluster(
    const SimConfig& config, workload::Workload workload) const {
  STRACK_CHECK(config.pfc.enabled);
  return std::make_unique<ClusterOf<SharedRoceProtocol, BasicPfcSwitch<NoMeter>, TalkingWindows>>(
      config, std::move(workload));
}
template class TransportOf<SharedRoceProtocol>;

}  // namespace strack::sim
