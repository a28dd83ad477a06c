// The clusters that run STrack with path health; a file of its own, as each takes long to compile.
#include "sim/transport_impl.h"
#include "transports/strack/sim.h"

namespace strack::sim {

template class TransportOf<GuardedStrackProtocol>;

}  // namespace strack::sim
