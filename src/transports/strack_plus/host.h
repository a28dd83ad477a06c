// What the connections of one host know of each other.
#pragma once

#include <cstdint>

namespace strack::core {

/// [PLUS.first.share] Does not move while it has connections; they keep it.
struct PlusHost {
  std::uint64_t sending = 0;  ///< connections with something that is not acknowledged
};

}  // namespace strack::core
