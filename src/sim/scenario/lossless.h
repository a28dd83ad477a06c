// What PFC asks of each kind of switch: its buffer, and what of it ports must keep. For the checks
// of scenarios, `strack sim show` and the estimate of memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "sim/config.h"

namespace strack::sim {

/// Ports of a switch that are alike.
struct PortGroup {
  std::uint32_t ports = 0;
  BitsPerSecond rate{0};
  Picoseconds latency{0};  ///< of their links
  Bytes headroom{0};       ///< of each
};

/// All switches of a tier are alike.
struct BufferPlan {
  std::string_view tier;  ///< "ToR", "spine", "aggregation switch", "core"
  std::uint32_t switches = 0;
  std::vector<PortGroup> groups;
  Bytes buffer{0};
  Bytes kept{0};  ///< headroom and reserves of all ports; what is left is shared

  [[nodiscard]] std::uint32_t ports() const;
};

/// From the lowest tier up; meaningful whether or not PFC is enabled.
[[nodiscard]] std::vector<BufferPlan> buffer_plans(const SimConfig& config);

}  // namespace strack::sim
