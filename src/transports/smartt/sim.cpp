// The clusters that run SMaRTT.
#include "transports/smartt/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<SmarttProtocol>;

}  // namespace strack::sim
