// SMaRTT in a simulated host.
#pragma once

#include "sim/host/window_protocol.h"
#include "sim/transport.h"
#include "transports/smartt/control.h"

namespace strack::sim {

struct SmarttProtocol : WindowProtocol<core::SmarttParams, core::SmarttControl> {};

extern template class TransportOf<SmarttProtocol>;

}  // namespace strack::sim
