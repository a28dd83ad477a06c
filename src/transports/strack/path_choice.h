// Which path a packet takes, as an object of its own: senders are templates over it.
//
// A choice is asked once for each packet and told what becomes of paths. PathSelector is Algorithm 2
// and knows paths only; GuardedPaths adds what hosts in software need [D39] [D41], on memory that the
// host lends. Policies that learn from single packets say so (`remembers`), and are told of each.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/units.h"
#include "core/events.h"
#include "core/packet.h"
#include "transports/strack/params.h"
#include "transports/strack/path_health.h"
#include "transports/strack/path_selector.h"

namespace strack::core {

template <class P>
concept PathChoice = requires(P paths, const P& idle, const StrackParams& params,
                              const Departure& packet, PathId path, Psn psn, NoEvents events,
                              Instant now) {
  { paths.next(params, packet, events) } -> std::same_as<PathId>;
  { paths.feedback(params, path, PathNews::clean) } -> std::same_as<void>;
  { idle.remembers() } -> std::same_as<bool>;
  { paths.sent(path, packet) } -> std::same_as<void>;
  { paths.arrived(psn) } -> std::same_as<void>;
  { paths.lost(params, psn, now) } -> std::same_as<void>;
  { paths.fall_silent(params) } -> std::same_as<void>;
  { idle.payload(psn) } -> std::same_as<std::uint16_t>;
  { idle.sent_at(psn) } -> std::same_as<Timestamp>;
};

/// Algorithm 2, and around the paths that lead nowhere where the host lends memory to know them.
class GuardedPaths {
 public:
  constexpr GuardedPaths() = default;
  /// `health` must outlive it; null: as if there were only Algorithm 2.
  constexpr explicit GuardedPaths(PathHealth* health) : health_(health) {}

  template <class Events>
  constexpr PathId next(const StrackParams& params, const Departure& packet, Events& events) {
    const PathId path = selector_.next(params, packet, events);
    if (!guards(params)) return path;
    return health_->usable(path, packet.purpose, packet.psn, packet.now);
  }
  constexpr void feedback(const StrackParams& params, PathId path, PathNews news) {
    selector_.feedback(params, path, news);
    if (health_ == nullptr || (news != PathNews::clean && news != PathNews::marked)) return;
    health_->told(path, news == PathNews::marked);
    health_->works(path);
  }
  /// [D146] Before the first packet: what others know of marks is this one's, too.
  constexpr void begin_as_others() {
    if (health_ != nullptr) selector_.begin_with(health_->marked());
  }
  [[nodiscard]] constexpr bool remembers() const { return health_ != nullptr; }
  constexpr void sent(PathId path, const Departure& packet) {
    health_->sent(packet.psn, path, packet.payload, packet.purpose == Purpose::again, packet.now);
  }
  constexpr void arrived(Psn psn) { health_->arrived(psn); }
  constexpr void lost(const StrackParams& params, Psn psn, Instant now) {
    if (guards(params)) health_->lost(psn, now);
  }
  /// All is lost, and nothing has arrived for a whole timeout.
  constexpr void fall_silent(const StrackParams& params) {
    if (guards(params)) health_->fall_silent();
  }
  [[nodiscard]] constexpr std::uint16_t payload(Psn psn) const { return health_->payload(psn); }

  [[nodiscard]] constexpr Timestamp sent_at(Psn psn) const { return health_->sent_at(psn); }

  constexpr void reset_ecn_bitmap() { selector_.reset_ecn_bitmap(); }
  [[nodiscard]] constexpr bool is_marked(PathId path) const { return selector_.is_marked(path); }
  [[nodiscard]] constexpr std::uint32_t marked_paths() const { return selector_.marked_paths(); }

 private:
  /// Oblivious spray goes evenly, whatever happens.
  [[nodiscard]] constexpr bool guards(const StrackParams& params) const {
    return health_ != nullptr && params.path_policy != PathPolicy::oblivious;
  }

  PathSelector selector_{};
  PathHealth* health_ = nullptr;
};

static_assert(PathChoice<PathSelector>);
static_assert(PathChoice<GuardedPaths>);

}  // namespace strack::core
