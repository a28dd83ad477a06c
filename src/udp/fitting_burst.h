// [D114] How many packets travel as one where an endpoint leaves that to the path.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "udp/transport.h"
#include "wire/wire.h"

namespace strack::udp {

/// What a burst may take on the link: a quarter of what is noise to a host, and about what a segmenting network card
/// sends at once at 10 Gbit/s.
inline constexpr Picoseconds kLongestBurst = us(50);
inline constexpr std::uint32_t kMostInBurst = 64;

/// `datagram`: the bytes of a full one. `asked`: by the endpoint's user; 0: by nobody.
[[nodiscard]] constexpr std::uint32_t fitting_burst(const Measured& measured,
                                                    std::uint32_t datagram,
                                                    std::uint32_t asked = 0) {
  if (asked != 0) return asked;
  // A slower link is on the way: what hides in the noise takes longer than a burst may. So may what was not measured
  // [D143].
  if (measured.full_rtt <= ps(0) || measured.full_rtt - measured.rtt > kSchedulingNoise / 2)
    return 1;
  const std::int64_t in_time =
      kLongestBurst.count() / std::max<std::int64_t>((bytes(datagram) / measured.rate).count(), 1);
  const auto in_one_call = static_cast<std::int64_t>(wire::kMaxDatagramBytes / datagram);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(std::min(in_time, in_one_call), 1, kMostInBurst));
}

}  // namespace strack::udp
