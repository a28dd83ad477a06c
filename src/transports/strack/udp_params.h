// The core's parameters for a connection between software hosts, from what was measured at set-up.
//
// Table 1 of the paper scales everything by the network's RTT without queues, on links where that is
// the time of a hundred packets. Two things are different here [D38]:
// - A host that runs the protocol in a process adds delays that are no queue: system calls, wake-ups,
//   a neighbour on the core. A target below their size would take them for congestion.
// - On a slow link an RTT may be the time of four packets. Packets that spread over paths meet by
//   chance and wait for a few of each other; a target below that would take chance for congestion.
// So the RTT that the rest is scaled by is never below kSchedulingNoise nor below the time of
// kLeastBdp packets; the core's own base_rtt still falls to the lowest RTT it sees [D7], so that
// queueing delay is measured from the true base.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "core/param_error.h"
#include "transports/strack/params.h"
#include "udp/transport.h"

namespace strack::udp {

/// What the difference of two measured RTTs may be off by.
inline constexpr Picoseconds kTimingNoise = us(100);
/// Below this a timeout is more likely a stopped process than a lost packet.
inline constexpr Picoseconds kLowestTimeout = ms(10);
/// [D42] Beyond these, timeouts and probes towards a silent peer do not back off: when it is back, it
/// shall be noticed.
inline constexpr Picoseconds kLongestTimeout = seconds(1);
inline constexpr Picoseconds kLongestProbeWait = ms(128);
/// [D42] Sent at each timeout in silence: several, so that a few dead paths do not hide a living one.
inline constexpr std::int64_t kSilentPackets = 4;
/// [D120] Of each probe, for the same reason; one is small.
inline constexpr std::uint32_t kProbeCopies = 8;
/// Links that a packet is stored and forwarded on, in the network we are made for: two tiers.
inline constexpr std::int64_t kLinks = 4;
/// Packets that the scaling RTT stands for, at least.
inline constexpr std::int64_t kLeastBdp = 16;
/// More than any window could use, and little enough for every product with it.
inline constexpr Bytes kLargestBdp{std::int64_t{1} << 38};
/// Slower than this no path is thought to be, however long a measurement took.
inline constexpr BitsPerSecond kSlowest = mbps(1);

/// How often it can be doubled and is not above `most`.
[[nodiscard]] constexpr std::uint32_t doublings(Picoseconds start, Picoseconds most) {
  std::uint32_t n = 0;
  while (n < 10 && start * (std::int64_t{2} << n) <= most) ++n;
  return n;
}

/// What a full packet takes longer than a small one: the time of its bytes on all links of the path.
[[nodiscard]] Picoseconds serialisation(const Measured& measured);
/// The path's rate: what its links must have for that time, and not more than the host's link.
[[nodiscard]] BitsPerSecond path_rate(const Measured& measured);

[[nodiscard]] Result<core::StrackParams, core::ParamError> derive_params(const Measured& measured);

}  // namespace strack::udp
