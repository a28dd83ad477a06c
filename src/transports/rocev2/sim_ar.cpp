// The clusters that run RoCEv2 over switches that spray; a file of its own, as each takes long to compile.
#include "sim/transport_impl.h"
#include "transports/rocev2/ar_sim.h"

namespace strack::sim {

template class TransportOf<ArProtocol>;

}  // namespace strack::sim
