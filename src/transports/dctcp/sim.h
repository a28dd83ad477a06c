// DCTCP in a simulated host.
#pragma once

#include "sim/host/window_protocol.h"
#include "sim/transport.h"
#include "transports/dctcp/control.h"

namespace strack::sim {

struct DctcpProtocol : WindowProtocol<core::DctcpParams, core::DctcpControl> {};

extern template class TransportOf<DctcpProtocol>;

}  // namespace strack::sim
