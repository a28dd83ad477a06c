// [D118] RoCEv2 in a simulated host, with one alpha for all flows of the run. See sim.h.
#pragma once

#include <cstddef>
#include <memory>

#include "base/units.h"
#include "core/packet.h"
#include "sim/transport.h"
#include "transports/rocev2/shared_alpha.h"
#include "transports/rocev2/sim.h"

namespace strack::sim {

struct SharedRoceProtocol : RoceProtocol {
  struct Nic {
    core::SharedAlpha alpha;
  };
  /// sim/cluster/talking_windows.h
  template <class ForEach>
  static void talk(const Params& params, Instant begin, ForEach&& for_each) {
    core::SharedAlpha::tell(params.dcqcn, begin, [&](auto&& visit) {
      for_each([&](Nic& nic) { return visit(nic.alpha); });
    });
  }

  struct SendingEnd : RoceProtocol::SendingEnd {
    SendingEnd(const Params& params, std::size_t slot_count, Events events, Nic& nic,
               core::Psn first = core::Psn{0})
        : RoceProtocol::SendingEnd(params, slot_count, events, first, &nic.alpha) {}
  };
};

/// Over lossless switches, and no others.
template <>
std::unique_ptr<Cluster> TransportOf<SharedRoceProtocol>::make_cluster(
    const SimConfig& config, workload::Workload workload) const;
extern template class TransportOf<SharedRoceProtocol>;

}  // namespace strack::sim
