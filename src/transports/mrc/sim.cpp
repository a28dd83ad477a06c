// The clusters that run MRC.
#include "transports/mrc/sim.h"

#include "sim/transport_impl.h"

namespace strack::sim {

template class TransportOf<MrcProtocol>;

}  // namespace strack::sim
