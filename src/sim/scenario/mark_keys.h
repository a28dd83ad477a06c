// The keys of switches' ECN marks, as [switch] has them and each transport with marks of its own.
#pragma once

#include <string_view>

#include "sim/scenario/keys.h"

namespace strack::sim {

[[nodiscard]] constexpr Key mark_threshold(std::string_view name, std::string_view fallback,
                                           std::string_view needs, std::string_view help) {
  return {.name = name,
          .kind = Kind::size,
          .fallback = fallback,
          .high = {kTebibyte},
          .needs = needs,
          .help = help};
}

inline constexpr std::string_view kMarkKmaxHelp =
    "The probability of a mark rises to pmax here; beyond, every packet is marked.";

inline constexpr Key kMarkPmax{.name = "pmax",
                               .kind = Kind::fraction,
                               .fallback = "1",
                               .high = {1},
                               .needs = "a probability is from 0 to 1, such as pmax = 1",
                               .help = "Probability of a mark at kmax."};

}  // namespace strack::sim
