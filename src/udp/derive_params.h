// The core's parameters for a connection between software hosts, from what was measured at set-up.
//
// Table 1 of the paper scales everything by the network's RTT without queues. A host that runs the
// protocol in a process adds delays of its own that are no queue: system calls, wake-ups, a
// neighbour on the core. They vary by tens to hundreds of microseconds, and a target below that
// would take the scheduler's noise for congestion. So the RTT that the rest is scaled by is never
// below kSchedulingNoise; the core's own base_rtt still falls to the lowest RTT it sees [D7], so
// that queueing delay is measured from the true base.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "core/strack/params.h"

namespace strack::udp {

/// What a wake-up and a batch of system calls may cost without anything being wrong.
inline constexpr Picoseconds kSchedulingNoise = us(200);
/// Below this a timeout is more likely a stopped process than a lost packet.
inline constexpr Picoseconds kLowestTimeout = ms(10);
/// Links that a packet is stored and forwarded on, in the network we are made for: two tiers.
inline constexpr std::int64_t kLinks = 4;

struct Measured {
  BitsPerSecond rate;       ///< of the host's link
  Picoseconds rtt;          ///< of small packets, the lowest of a few
  std::uint32_t payload;    ///< of a full packet, as agreed
  std::uint32_t paths;      ///< entropies of the sending side
  std::uint32_t window;     ///< packets the receiving side can track
  std::uint32_t burst = 1;  ///< packets that travel as one
  bool oblivious = false;
};

[[nodiscard]] Result<core::StrackParams, core::ParamError> derive_params(const Measured& measured);

}  // namespace strack::udp
