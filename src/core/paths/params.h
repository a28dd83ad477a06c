// The parameters of all path policies, shared by a transport's connections.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "base/units.h"
#include "core/packet.h"
#include "core/param_error.h"
#include "core/param_range.h"

namespace strack::core {

/// Which entropy the next packet carries. docs/transports/paths.md has the rules of each.
enum class SprayPolicy : std::uint8_t {
  oblivious,     ///< all entropies in turn
  random,        ///< each packet draws one
  bit_reversed,  ///< all in turn, neighbours in time far apart
  bitmap,        ///< in turn, past those with penalties
  reps,     ///< those of clean acknowledgements again, else a random one; frozen after a timeout
  mixed,    ///< those of clean acknowledgements again, else as bitmap
  plb,      ///< one, until it has been congested for some round trips
  flowlet,  ///< one, until the next gap between packets
  single,   ///< one
};

struct SprayParams {
  SprayPolicy policy = SprayPolicy::oblivious;
  std::uint32_t paths = 128;         ///< entropies to choose from, a power of two
  Picoseconds reps_freeze = ms(10);  ///< so long REPS stays frozen; 0: it never is
  std::uint32_t reps_explore = 16;   ///< packets on random paths after that
  Ratio plb_marked{1, 2};            ///< a round with this share of bad news is congested
  std::uint32_t plb_rounds = 5;      ///< so many of them in a row move the connection
  Picoseconds plb_round = us(8);     ///< one base RTT
  Picoseconds flowlet_gap = us(4);   ///< a longer pause ends a flowlet
  Picoseconds flowlet_life = ms(1);  ///< a path is kept so long at least

  static constexpr std::uint32_t kMostPaths = 65'536;   ///< a PathId has 16 bits
  static constexpr std::uint32_t kMostPenalties = 256;  ///< where each path has a penalty

  static constexpr auto declared() {
    return std::tuple{
        AnyValue{&SprayParams::policy},
        ParamRange{&SprayParams::paths, "paths", 1, kMostPaths, "a power of two from 1 to 65536"},
        ParamRange{&SprayParams::reps_freeze, "reps_freeze", ps(0), seconds(1), "from 0 to 1 s"},
        ParamRange{&SprayParams::reps_explore, "reps_explore", 0, 65'536,
                   "from 0 to 65536 packets"},
        ParamRange{&SprayParams::plb_marked, "plb_marked", Ratio{0}, Ratio{1},
                   "a share from 0 to 1 with up to six decimals"},
        ParamRange{&SprayParams::plb_rounds, "plb_rounds", 1, 1'000, "from 1 to 1000 round trips"},
        ParamRange{&SprayParams::plb_round, "plb_round", ns(1), seconds(1), "from 1 ns to 1 s"},
        ParamRange{&SprayParams::flowlet_gap, "flowlet_gap", ps(0), seconds(1), "from 0 to 1 s"},
        ParamRange{&SprayParams::flowlet_life, "flowlet_life", ps(0), seconds(3'600),
                   "from 0 to an hour"}};
  }

  [[nodiscard]] constexpr bool has_penalties() const {
    return policy == SprayPolicy::bitmap || policy == SprayPolicy::mixed;
  }
  /// What makes no sense, if anything.
  [[nodiscard]] constexpr std::optional<ParamError> fault() const {
    if (const auto wrong = out_of_range(*this)) return wrong;
    if ((paths & (paths - 1)) != 0)
      return ParamError{"paths", paths, "a power of two from 1 to 65536"};
    if (has_penalties() && paths > kMostPenalties)
      return ParamError{"paths", paths, "at most 256 where each path has a penalty"};
    return std::nullopt;
  }
};
static_assert(declares_all<SprayParams>());

}  // namespace strack::core
