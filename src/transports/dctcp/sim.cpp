// The clusters that run DCTCP.
#include "transports/dctcp/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<DctcpProtocol>;

}  // namespace strack::sim
