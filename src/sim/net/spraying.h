// How a switch that sprays chooses among the ports of a route, packet by packet. [D56]
//
// ECMP is not here: a hash has no state and does not ask which packet came first (switch_base.h).
// Everything here has, and does: a switch's packets must come in order of time. All state is the
// switch's own, and of queues only its own are read, so what another switch does at that moment cannot
// show.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/prng.h"
#include "sim/config.h"

namespace strack::sim {

/// What a policy remembers: of a group of ports, or of a destination. Of which, it says itself.
struct SprayTurn {
  std::uint32_t at = 0;    ///< a place in the group
  std::uint32_t step = 0;  ///< to the next; 0: there has been none
};

class Sprayer {
 public:
  constexpr Sprayer() = default;
  constexpr Sprayer(Routing routing, std::uint64_t seed) : rng_(seed), routing_(routing) {}

  /// Packets go by turns; otherwise by a hash.
  [[nodiscard]] constexpr bool active() const { return routing_ != Routing::ecmp; }
  [[nodiscard]] constexpr bool reads_queues() const {
    return routing_ == Routing::power_of_two || routing_ == Routing::drill ||
           routing_ == Routing::least_queue;
  }
  /// [D58] A turn for each destination, and one of its own for control; otherwise one for a group.
  [[nodiscard]] constexpr bool turns_by_destination() const {
    return routing_ == Routing::destination_rotation;
  }

  /// One of the ports, of which there are two or more. load(port) is what waits there now, in bytes.
  template <class Load>
  [[nodiscard]] constexpr std::uint32_t choose(std::span<const std::uint16_t> ports,
                                               SprayTurn& turn, Load&& load) {
    const auto count = static_cast<std::uint32_t>(ports.size());
    switch (routing_) {
      case Routing::power_of_two:
        return ports[shorter_of_two(ports, load)];
      case Routing::drill: {
        std::uint32_t best = shorter_of_two(ports, load);
        if (turn.step != 0 && load(ports[turn.at]) < load(ports[best])) best = turn.at;
        turn = {best, 1};
        return ports[best];
      }
      case Routing::least_queue:
        return least_of(ports, load);
      case Routing::ecmp:
      case Routing::round_robin:
      case Routing::destination_rotation:
        break;
    }
    return ports[next_of(turn, count)];
  }

 private:
  /// [D57] Two ports drawn, never the same one twice; of equals the first drawn.
  template <class Load>
  [[nodiscard]] constexpr std::uint32_t shorter_of_two(std::span<const std::uint16_t> ports,
                                                       Load&& load) {
    const auto count = static_cast<std::uint32_t>(ports.size());
    const std::uint64_t drawn = draw();
    const std::uint32_t first = scaled(drawn >> 32, count);
    std::uint32_t second = first + 1 + scaled(drawn & 0xffff'ffff, count - 1);
    if (second >= count) second -= count;
    return load(ports[second]) < load(ports[first]) ? second : first;
  }

  /// [D57] Of equals one is drawn.
  template <class Load>
  [[nodiscard]] constexpr std::uint32_t least_of(std::span<const std::uint16_t> ports,
                                                 Load&& load) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::uint32_t equal = 0;
    std::uint32_t first = 0;
    for (const std::uint16_t port : ports) {
      const std::int64_t waiting = load(port);
      if (waiting > least) continue;
      equal = waiting < least ? 1 : equal + 1;
      first = waiting < least ? port : first;
      least = waiting;
    }
    if (equal == 1) return first;
    std::uint32_t skip = scaled(draw() >> 32, equal);
    for (const std::uint16_t port : ports) {
      if (load(port) == least && skip-- == 0) return port;
    }
    return first;
  }

  /// [D58] The first place is drawn. Destinations have orders of their own: steps that have no divisor
  /// in common with the count come by every place once before any comes again.
  [[nodiscard]] constexpr std::uint32_t next_of(SprayTurn& turn, std::uint32_t count) {
    if (turn.step == 0) [[unlikely]] {
      const std::uint64_t drawn = draw();
      turn.at = scaled(drawn >> 32, count);
      turn.step = 1;
      if (turns_by_destination()) {
        turn.step += scaled(drawn & 0xffff'ffff, count - 1);
        while (std::gcd(turn.step, count) != 1) ++turn.step;  // count - 1 at the latest
      }
    }
    const std::uint32_t at = turn.at;
    turn.at += turn.step;
    if (turn.at >= count) turn.at -= count;
    return at;
  }

  [[nodiscard]] constexpr std::uint64_t draw() {
    rng_ = rng_ * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    return mix64(rng_);
  }
  /// 32 random bits, as a number below `bound`.
  [[nodiscard]] static constexpr std::uint32_t scaled(std::uint64_t bits, std::uint32_t bound) {
    return static_cast<std::uint32_t>((bits * bound) >> 32);
  }

  std::uint64_t rng_ = 0;
  Routing routing_ = Routing::ecmp;
};

}  // namespace strack::sim
