// The clusters that run UET with receiver credit; a file of its own, as each takes long to compile.
#include "transports/uet/sim_rccc.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<RcccProtocol>;

}  // namespace strack::sim
