// What of TransportOf the GPU's module compiles in its own way, from the same file of the transport: clusters
// that run on a GPU. A type is known to the module by its name, which both sides have. Included by
// sim/transport_impl.h.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "sim/cluster.h"
#include "sim/gpu/module.h"
#include "sim/gpu/windows.h"
#include "sim/host/ends.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"
#include "sim/transport.h"

namespace strack::sim {

namespace gpu {

/// The cluster itself stays here, and what it owns lies where the machine reaches it: the recorder's books
/// and the machine's are not to be mixed.
template <class ClusterType>
std::unique_ptr<Cluster> make_in_reach(const SimConfig& config, workload::Workload workload,
                                       Machine& machine) {
  static_assert(alignof(ClusterType) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  void* place = ::operator new(sizeof(ClusterType));
  const Machine::Reach reach(machine);
  return std::unique_ptr<Cluster>(new (place) ClusterType(config, std::move(workload)));
}

template <class Protocol>
std::unique_ptr<Cluster> make_cluster_of(const SimConfig& config, workload::Workload workload,
                                         Machine& machine) {
  using Meter = std::conditional_t<Protocol::kMeasuresPath, UtilisationMeter, NoMeter>;
  if (config.pfc.enabled)
    return make_in_reach<ClusterOf<Protocol, BasicPfcSwitch<Meter>, gpu::GpuWindows>>(
        config, std::move(workload), machine);
  if (config.switches.trimming.enabled)
    return make_in_reach<
        ClusterOf<Protocol, BasicSwitch<BasicPort<Trimming, Meter>>, gpu::GpuWindows>>(
        config, std::move(workload), machine);
  return make_in_reach<
      ClusterOf<Protocol, BasicSwitch<BasicPort<TailDrop, Meter>>, gpu::GpuWindows>>(
      config, std::move(workload), machine);
}

}  // namespace gpu

// The module knows other programs' transports by name, and makes none.
template <class Protocol>
std::unique_ptr<Cluster> TransportOf<Protocol>::make_cluster(
    const SimConfig& /*config*/, workload::Workload /*workload*/) const {
  return nullptr;
}
template <class Protocol>
std::unique_ptr<Ends> TransportOf<Protocol>::make_ends(std::size_t /*slots*/, core::Psn /*first*/,
                                                       BitsPerSecond /*rate*/) const {
  return nullptr;
}

template <class Protocol>
const bool TransportOf<Protocol>::in_gpu_module = gpu::enlist(typeid(TransportOf<Protocol>).name(),
                                                              &gpu::make_cluster_of<Protocol>);

}  // namespace strack::sim
