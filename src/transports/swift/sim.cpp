// The clusters that run Swift.
#include "transports/swift/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<SwiftProtocol>;

}  // namespace strack::sim
