// The clusters that run the Falcon-like transport.
#include "transports/falcon_like/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<FalconProtocol>;

}  // namespace strack::sim
