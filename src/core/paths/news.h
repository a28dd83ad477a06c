// What a policy of paths is told: what has become of a packet on the path it took.
#pragma once

#include <cstdint>

namespace strack::core {

enum class PathNews : std::uint8_t {
  clean,
  marked,
  trimmed,    ///< a switch had no room for it
  timed_out,  ///< declared lost
};

}  // namespace strack::core
