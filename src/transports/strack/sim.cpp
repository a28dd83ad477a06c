// The clusters that run STrack.
#include "transports/strack/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<StrackProtocol>;

}  // namespace strack::sim
