// The parameters of MRC: NSCC's, and those of its entropies.
#pragma once

#include <tuple>

#include "base/result.h"
#include "core/param_error.h"
#include "core/param_range.h"
#include "transports/mrc/paths.h"
#include "transports/uet/params.h"

namespace strack::core {

/// [MRC.cc] What is not about entropies is UET's.
struct MrcParams : UetParams {
  using Paths = MrcPaths;
  static constexpr PathNews kOvertaken = PathNews::timed_out;  ///< [MRC.bad]
  static constexpr bool kTailsSpeak = true;                    ///< [MRC.tail]
  MrcPathParams entropies;

  static constexpr auto declared() {
    return std::tuple{Inherited<UetParams>{}, Nested{&MrcParams::entropies}};
  }

  [[nodiscard]] constexpr const MrcPathParams& path_params() const { return entropies; }

  /// [MRC.probe] [D78] With NSCC's parameters for a link.
  [[nodiscard]] static constexpr MrcParams of(const UetParams& uet) {
    MrcParams p{uet, {}};
    p.sleek = true;  // [MRC.loss]
    p.spray.paths = MrcPathParams::kMost;
    p.entropies.probe_every = p.entropies.plane_silence = uet.net_base_rtt;
    return p;
  }
  [[nodiscard]] constexpr Result<MrcParams, ParamError> validated() const {
    if (const auto wrong = out_of_range(*this)) return *wrong;
    if (const auto fault = entropies.fault()) return *fault;
    if (const auto rest = UetParams::validated(); !rest) return rest.error();
    MrcParams p = *this;
    p.entropies.paths = entropies.active + entropies.backups;
    return p;
  }
};
static_assert(declares_all<MrcParams>());

}  // namespace strack::core
