// The clusters that run UET with the sender's window alone.
#include "transports/uet/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<NsccProtocol>;

}  // namespace strack::sim
