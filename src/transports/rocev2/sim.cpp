// The clusters that run RoCEv2.
#include "transports/rocev2/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<RoceProtocol>;

}  // namespace strack::sim
