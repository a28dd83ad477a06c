// MRC in a simulated host: UET's ends, with MRC's entropies. See sim/host/protocol.h.
#pragma once

#include "sim/transport.h"
#include "transports/mrc/params.h"
#include "transports/uet/sim.h"

namespace strack::sim {

struct MrcProtocol : NsccProtocol {
  using Params = core::MrcParams;
  using SendingEnd = UetSendingEnd<Params, Events>;
};

extern template class TransportOf<MrcProtocol>;

}  // namespace strack::sim
