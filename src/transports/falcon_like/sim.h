// The Falcon-like transport in a simulated host.
#pragma once

#include <algorithm>

#include "sim/host/window_protocol.h"
#include "sim/transport.h"
#include "transports/falcon_like/control.h"

namespace strack::sim {

struct FalconProtocol : WindowProtocol<core::FalconParams, core::FalconControl> {
  static constexpr bool kCountsHops = true;

  /// A window below a packet waits as well: that of the smallest, at twice the largest target there can be.
  static Picoseconds longest_timeout(const Params& params) {
    const Picoseconds rtt = 2 * (params.base_target + 8 * params.hop_target + params.fs_range);
    return std::max(WindowProtocol::longest_timeout(params),
                    ps(mul_div(rtt.value, params.mtu.value, params.min_cwnd.value)));
  }
};

extern template class TransportOf<FalconProtocol>;

}  // namespace strack::sim
