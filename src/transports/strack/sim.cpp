// The clusters that run STrack as in the paper; sim_guarded.cpp has those with path health.
#include "transports/strack/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<StrackProtocol>;

}  // namespace strack::sim
