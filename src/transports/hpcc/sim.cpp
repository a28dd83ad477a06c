// The clusters that run HPCC.
#include "transports/hpcc/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<HpccProtocol>;

}  // namespace strack::sim
