// HPCC in a simulated host: its switches measure their links.
#pragma once

#include "sim/host/window_protocol.h"
#include "sim/transport.h"
#include "transports/hpcc/control.h"

namespace strack::sim {

struct HpccProtocol : WindowProtocol<core::HpccParams, core::HpccControl> {
  static constexpr bool kMeasuresPath = true;  // [HPCC.utilisation]
};

extern template class TransportOf<HpccProtocol>;

}  // namespace strack::sim
