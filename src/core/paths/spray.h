// Any of the path policies, as the parameters say: what a window-based sender owns.
//
//   packet.path_id = spray.next(params.spray, now);
//   spray.feedback(params.spray, ack.path_id, ack.ecn ? PathNews::marked : PathNews::clean, now);
//
// A policy hears of each packet once: an acknowledgement that tells of several speaks for the one
// whose path it echoes. [D54] Connections draw from the same seed unless their owner has a better one:
// switches hash the connection together with the entropy, so equal draws take unrelated routes.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/units.h"
#include "core/packet.h"
#include "core/paths/bitmap.h"
#include "core/paths/flowlet.h"
#include "core/paths/mixed.h"
#include "core/paths/news.h"
#include "core/paths/oblivious.h"
#include "core/paths/params.h"
#include "core/paths/plb.h"
#include "core/paths/reps.h"

namespace strack::core {

template <class P>
concept PathsOf = std::is_trivially_copyable_v<P> &&
    requires(P paths, const SprayParams& params, PathId path, Instant now) {
  { paths.next(params, now) } -> std::same_as<PathId>;
  { paths.feedback(params, path, PathNews::clean, now) } -> std::same_as<void>;
};

/// `params` are the same in every call.
class Spray {
 public:
  constexpr explicit Spray(const SprayParams& params, std::uint64_t seed = 0)
      : single_(params, seed) {
    visit(params, [&](auto& policy) { std::construct_at(&policy, params, seed); });
  }

  /// The path of one packet, below params.paths.
  constexpr PathId next(const SprayParams& params, Instant now) {
    PathId path = 0;
    visit(params, [&](auto& policy) { path = policy.next(params, now); });
    return path;
  }
  /// What has become of a packet on one of them.
  constexpr void feedback(const SprayParams& params, PathId path, PathNews news, Instant now) {
    visit(params, [&](auto& policy) { policy.feedback(params, path, news, now); });
  }

 private:
  template <class Do>
  constexpr void visit(const SprayParams& params, Do&& act) {
    switch (params.policy) {
      case SprayPolicy::oblivious:
        return act(oblivious_);
      case SprayPolicy::random:
        return act(random_);
      case SprayPolicy::bit_reversed:
        return act(bit_reversed_);
      case SprayPolicy::bitmap:
        return act(bitmap_);
      case SprayPolicy::reps:
        return act(reps_);
      case SprayPolicy::mixed:
        return act(mixed_);
      case SprayPolicy::plb:
        return act(plb_);
      case SprayPolicy::flowlet:
        return act(flowlet_);
      case SprayPolicy::single:
        return act(single_);
    }
  }

  union {
    ObliviousPaths oblivious_;
    RandomPaths random_;
    BitReversedPaths bit_reversed_;
    BitmapPaths bitmap_;
    RepsPaths reps_;
    MixedPaths mixed_;
    PlbPaths plb_;
    FlowletPaths flowlet_;
    SinglePath single_;
  };
};

static_assert(PathsOf<ObliviousPaths> && PathsOf<RandomPaths> && PathsOf<BitReversedPaths>);
static_assert(PathsOf<BitmapPaths> && PathsOf<RepsPaths> && PathsOf<MixedPaths>);
static_assert(PathsOf<PlbPaths> && PathsOf<FlowletPaths> && PathsOf<SinglePath>);
static_assert(PathsOf<Spray>);
static_assert(sizeof(Spray) <= 320, "a part of a NIC's state for each connection");

}  // namespace strack::core
