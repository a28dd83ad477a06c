// MRC's entropies: which of them a connection uses, and what it holds of each.
//
// A connection has `active` entropies in rotation and `backups` beside them. Invariants: each entropy has one place;
// the first `active` places are those in rotation; bad_ counts the entropies that are assumed bad. Of a plane that is
// taken for down no entropy is used, and none is assumed bad: the plane's bit in down_ speaks for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/packet.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "core/paths/draws.h"
#include "core/paths/news.h"

namespace strack::core {

enum class EntropyState : std::uint8_t {
  good,
  skip,         ///< left out once
  assumed_bad,  ///< left out until a probe comes through
  denied,       ///< left out until whoever said so allows it again
};

/// [D78]
struct MrcPathParams {
  std::uint32_t active = 128;     ///< [MRC.rotation] a power of two
  std::uint32_t backups = 64;     ///< [MRC.backup]
  std::uint32_t min_active = 16;  ///< [MRC.floor]
  Picoseconds probe_every{0};     ///< [MRC.probe]
  Picoseconds plane_silence{0};   ///< [MRC.plane.down]
  std::uint32_t planes = 1;       ///< [MRC.planes] ports of a NIC
  std::uint32_t paths = 192;      ///< active and backups

  static constexpr std::uint32_t kMost = 256;
  static constexpr std::uint32_t kMostPlanes = 8;

  static constexpr auto declared() {
    return std::tuple{
        ParamRange{&MrcPathParams::active, "active", 1, kMost, "a power of two from 1 to 256"},
        ParamRange{&MrcPathParams::backups, "backups", 0, kMost - 1, "from 0 to 255"},
        ParamRange{&MrcPathParams::min_active, "min_active", 1, kMost, "from 1 to active"},
        ParamRange{&MrcPathParams::probe_every, "probe_every", ns(1), seconds(1),
                   "from 1 ns to 1 s"},
        Derived{&MrcPathParams::plane_silence},
        ParamRange{&MrcPathParams::planes, "planes", 1, kMostPlanes, "from 1 to 8"},
        Derived{&MrcPathParams::paths}};
  }

  /// What one may be beside another.
  [[nodiscard]] constexpr std::optional<ParamError> fault() const {
    if ((active & (active - 1)) != 0)
      return ParamError{"active", active, "a power of two from 1 to 256"};
    if (active + backups > kMost)
      return ParamError{"backups", backups, "so few that with those in rotation there are 256"};
    if (planes > active) return ParamError{"planes", planes, "at most active"};
    if (min_active > active) return ParamError{"min_active", min_active, "from 1 to active"};
    return std::nullopt;
  }
};
static_assert(declares_all<MrcPathParams>());

class MrcPaths {
 public:
  constexpr explicit MrcPaths(const MrcPathParams& params, std::uint64_t seed = 0)
      : draws_(seed), mask_(draws_.below(params.active)) {
    for (std::uint32_t i = 0; i < MrcPathParams::kMost; ++i)
      places_[i] = static_cast<std::uint8_t>(i);
  }

  /// [MRC.rotation] The next in rotation that is good. [MRC.skip] One to be skipped is passed over, and good the
  /// next time. Two rounds find one, unless all are bad or denied; then it is the one whose turn it is.
  constexpr PathId next(const MrcPathParams& params, Instant /*now*/) {
    for (std::uint32_t passed = 0; passed < 2 * params.active; ++passed) {
      const PathId path = take_turn(params);
      if (is_down(params, path)) continue;  // [MRC.plane.down]
      if (state(path) == EntropyState::good) return path;
      if (state(path) == EntropyState::skip) set(path, EntropyState::good);
    }
    return take_turn(params);
  }

  constexpr void feedback(const MrcPathParams& params, PathId path, PathNews news, Instant now) {
    if (news == PathNews::timed_out) {  // [MRC.bad]
      if (usable(params, path) && leave_out(params, path, EntropyState::assumed_bad)) {
        start_probing(params, now);
        ++bad_;
        if (is_silent(params, path, now)) take_for_down(params, path);
      }
      return;
    }
    note_heard(params, path, now);
    // [MRC.mark] [MRC.trimmed]
    if (news != PathNews::clean && state(path) == EntropyState::good) set(path, EntropyState::skip);
  }

  /// [MRC.denied] Somebody else knows that it is of no use.
  constexpr void deny(const MrcPathParams& params, PathId path) {
    if (state(path) == EntropyState::assumed_bad) {
      --bad_;
      set(path, EntropyState::denied);
    } else if (state(path) != EntropyState::denied) {
      leave_out(params, path, EntropyState::denied);
    }
  }
  constexpr void allow(PathId path) {
    if (state(path) == EntropyState::denied) set(path, EntropyState::good);
  }

  /// [MRC.probe] An entropy that is assumed bad, or [MRC.plane.probe] of a plane that is down, if one is due to be probed: one
  /// after the other.
  constexpr std::optional<PathId> poll_probe(const MrcPathParams& params, Instant now) {
    if (!wants_probes() || now < next_probe_) return std::nullopt;
    next_probe_ = now + params.probe_every;
    do {
      probed_ = static_cast<PathId>((probed_ + 1u) % params.paths);
    } while (state(probed_) != EntropyState::assumed_bad && !is_down(params, probed_));
    return probed_;
  }
  [[nodiscard]] constexpr Instant next_probe() const {
    return wants_probes() ? next_probe_ : Instant::never();
  }
  /// A probe has come back: [MRC.probe.clean] [MRC.probe.marked] [MRC.plane.probe]
  constexpr void on_probe(const MrcPathParams& params, PathId path, bool marked, Instant now) {
    note_heard(params, path, now);
    down_ &= static_cast<std::uint8_t>(~plane_bit(params, path));
    if (state(path) != EntropyState::assumed_bad) return;
    --bad_;
    set(path, marked ? EntropyState::skip : EntropyState::good);
  }

  /// [MRC.planes] NICs give each port every so many-th entropy.
  [[nodiscard]] static constexpr std::uint32_t plane_of(const MrcPathParams& params, PathId path) {
    return path % params.planes;
  }
  [[nodiscard]] constexpr bool is_down(const MrcPathParams& params, PathId path) const {
    return down_ != 0 && (down_ & plane_bit(params, path)) != 0;
  }
  [[nodiscard]] constexpr EntropyState state(PathId path) const {
    return static_cast<EntropyState>((states_[path / 32] >> shift(path)) & 3);
  }
  [[nodiscard]] constexpr std::uint32_t assumed_bad() const { return bad_; }

 private:
  static constexpr std::uint32_t shift(PathId path) { return path % 32 * 2; }
  constexpr void set(PathId path, EntropyState to) {
    std::uint64_t& word = states_[path / 32];
    word = (word & ~(std::uint64_t{3} << shift(path))) | (std::uint64_t(to) << shift(path));
  }
  [[nodiscard]] constexpr bool usable(const MrcPathParams& params, PathId path) const {
    return !is_down(params, path) &&
           (state(path) == EntropyState::good || state(path) == EntropyState::skip);
  }
  [[nodiscard]] static constexpr std::uint32_t plane_bit(const MrcPathParams& params, PathId path) {
    return 1u << plane_of(params, path);
  }
  constexpr void note_heard(const MrcPathParams& params, PathId path, Instant now) {
    if (params.planes > 1) heard_[plane_of(params, path)] = now;
  }
  [[nodiscard]] constexpr bool wants_probes() const { return bad_ > 0 || down_ != 0; }
  constexpr void start_probing(const MrcPathParams& params, Instant now) {
    if (!wants_probes()) next_probe_ = now + params.probe_every;
  }

  /// [MRC.plane.down] Two of a plane's entropies are bad, and nothing came by it for a base RTT. The last one that is left is kept.
  [[nodiscard]] constexpr bool is_silent(const MrcPathParams& params, PathId path,
                                         Instant now) const {
    const std::uint32_t plane = plane_of(params, path);
    if ((down_ | 1u << plane) == (1u << params.planes) - 1) return false;
    if (now < heard_[plane] + params.plane_silence) return false;
    std::uint32_t bad = 0;
    for (std::uint32_t p = plane; p < params.paths; p += params.planes)
      bad += state(static_cast<PathId>(p)) == EntropyState::assumed_bad ? 1u : 0u;
    return bad >= 2;
  }
  constexpr void take_for_down(const MrcPathParams& params, PathId path) {
    down_ |= static_cast<std::uint8_t>(plane_bit(params, path));
    for (std::uint32_t p = plane_of(params, path); p < params.paths; p += params.planes) {
      if (state(static_cast<PathId>(p)) != EntropyState::assumed_bad) continue;
      --bad_;
      set(static_cast<PathId>(p), EntropyState::good);
    }
  }

  /// The places in an order that is drawn anew for each round: i xor mask.
  constexpr PathId take_turn(const MrcPathParams& params) {
    const PathId path = places_[index_ ^ mask_];
    if (++index_ == params.active) {
      index_ = 0;
      mask_ = draws_.below(params.active);
    }
    return path;
  }

  /// [MRC.backup] A backup of its plane takes its place in rotation. [MRC.floor] Where none is left and few are in use, it stays in use, and
  /// false is returned.
  constexpr bool leave_out(const MrcPathParams& params, PathId path, EntropyState why) {
    std::uint32_t place = 0;
    while (places_[place] != path) ++place;
    STRACK_CHECK(place < params.paths);
    if (place < params.active) {
      std::uint32_t backup = params.active;
      while (backup < params.paths &&
             !(usable(params, places_[backup]) &&
               plane_of(params, places_[backup]) == plane_of(params, path)))
        ++backup;
      if (backup < params.paths) {
        std::swap(places_[place], places_[backup]);
      } else if (in_use(params) <= params.min_active) {
        set(path, EntropyState::skip);
        return false;
      }
    }
    set(path, why);
    return true;
  }
  [[nodiscard]] constexpr std::uint32_t in_use(const MrcPathParams& params) const {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < params.active; ++i) count += usable(params, places_[i]) ? 1u : 0u;
    return count;
  }

  Draws draws_;
  Instant next_probe_{};
  std::array<Instant, MrcPathParams::kMostPlanes> heard_{};        ///< of each plane, the last
  std::array<std::uint64_t, MrcPathParams::kMost / 32> states_{};  ///< two bits for each entropy
  std::array<std::uint8_t, MrcPathParams::kMost> places_{};        ///< rotation first, then backups
  std::uint32_t index_ = 0;
  std::uint32_t bad_ = 0;
  PathId mask_;
  PathId probed_ = 0;
  std::uint8_t down_ = 0;  ///< planes, a bit for each
};

static_assert(sizeof(MrcPaths) <= 424, "a part of a NIC's state for each connection");

}  // namespace strack::core
