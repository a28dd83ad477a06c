// The clusters that run STrack+.
#include "transports/strack_plus/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<PlusProtocol>;

}  // namespace strack::sim
