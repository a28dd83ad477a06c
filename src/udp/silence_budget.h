// What goes to a host that does not answer, from all connections to it together [D55].
//
// Each connection alone sends less and less into silence [D42]; but hundreds of them to one dead host
// would still be hundreds of times that. So packets of connections that wait for an answer take places
// in one queue for the host: in the order of asking, further and further apart, the distance doubling
// with every kGroup of them. Who has a place may send one packet when its time comes. Any answer to one
// who waits starts it anew.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace strack::udp {

class SilenceBudget {
 public:
  static constexpr Picoseconds kFirst = us(250);  ///< between two packets
  static constexpr Picoseconds kLongest = ms(40);
  static constexpr std::uint32_t kGroup =
      64;                                    ///< packets, after each of which the distance doubles
  static constexpr std::int64_t kBurst = 8;  ///< packets that may go at once after a rest

  /// The time from which on one packet may be sent: `now`, or later. The place is taken.
  [[nodiscard]] constexpr Instant take(Instant now) {
    const Instant place = std::max(next_, now - (kBurst - 1) * distance());
    next_ = place + distance();
    ++taken_;
    return std::max(place, now);
  }
  /// Takes a place if it is to be had at once.
  [[nodiscard]] constexpr bool take_now(Instant now) {
    if (next_ > now) return false;
    (void)take(now);
    return true;
  }
  /// Those who wait have long to wait.
  [[nodiscard]] constexpr bool is_strained() const { return taken_ >= 4 * kGroup; }
  constexpr void answered() { *this = {}; }

 private:
  [[nodiscard]] constexpr Picoseconds distance() const {
    const std::uint32_t doublings = std::min(taken_ / kGroup, 16u);
    return std::min(kFirst * (std::int64_t{1} << doublings), kLongest);
  }

  Instant next_{};           ///< the next free place
  std::uint32_t taken_ = 0;  ///< since the last answer; its end is never reached
};

}  // namespace strack::udp
