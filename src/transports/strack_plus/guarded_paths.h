// STrack+'s choice of entropies, and around those that lead nowhere where the host lends memory to know them: what
// GuardedPaths is to Algorithm 2 [D39] [D41] [D74]. For hosts in software.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/packet.h"
#include "transports/strack/path_health.h"
#include "transports/strack_plus/params.h"
#include "transports/strack_plus/paths.h"

namespace strack::core {

class GuardedPlusPaths {
 public:
  /// `health` must outlive it. `start`: another one for each connection. Where many begin with the same entropy and it is dead,
  /// nobody is heard, and in silence no path is to blame: a thousand would lose a packet each by it.
  constexpr explicit GuardedPlusPaths(PathHealth& health, std::uint8_t start = 0)
      : paths_(start), health_(&health) {
    paths_.begin_with(health.marked());  // [D146]
  }

  constexpr PathId next(const PlusParams& params, const Departure& packet) {
    return health_->usable(paths_.next(params, packet), packet.purpose, packet.psn, packet.now);
  }
  constexpr PathId take(const PlusParams& params, PathId path) { return paths_.take(params, path); }
  constexpr void feedback(const PlusParams& params, PathId path, bool ecn, bool sparse = false) {
    paths_.feedback(params, path, ecn, sparse);
    health_->told(path, ecn);
    health_->works(path);
  }

  static constexpr bool kRemembers = true;
  constexpr void sent(PathId path, const Departure& packet) {
    health_->sent(packet.psn, path, packet.payload, packet.purpose == Purpose::again, packet.now);
  }
  constexpr void arrived(Psn psn) { health_->arrived(psn); }
  constexpr void lost(Psn psn, Instant now) { health_->lost(psn, now); }
  constexpr void fall_silent() {
    paths_.fall_silent();
    health_->fall_silent();
  }

  [[nodiscard]] constexpr std::uint32_t marked() const { return paths_.marked(); }
  [[nodiscard]] constexpr std::uint32_t barred() const { return health_->barred(); }

 private:
  PlusPaths paths_;
  PathHealth* health_;
};

}  // namespace strack::core
