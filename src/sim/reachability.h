// Whether those who talk can reach each other at all: asked before a run in a network from a file.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/config.h"
#include "workload/workload.h"

namespace strack::sim {

struct UnreachablePair {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
};
/// The first pair of hosts that the workload has talk and between which there is no way, in either
/// direction, with what is down from the start and for good. In a Clos network nobody is asked.
[[nodiscard]] std::optional<UnreachablePair> find_unreachable_pair(
    const SimConfig& config, const workload::Workload& workload);

}  // namespace strack::sim
