// What the connections of one host know of each other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "transports/strack_plus/params.h"

namespace strack::core {

/// Does not move while it has connections; they keep it.
struct PlusHost {
  std::uint64_t sending = 0;  ///< connections with something that is not acknowledged

  /// [PLUS.first.share] A part of the largest window, since the host's port has to carry the others', too.
  [[nodiscard]] constexpr Bytes first_window(const PlusParams& params) const {
    if (sending <= 1) return params.max_cwnd;
    const Bytes part = params.max_cwnd / static_cast<std::int64_t>(sending);
    return std::min(params.max_cwnd, std::max({part, params.first_cwnd, params.mtu}));
  }
};

}  // namespace strack::core
