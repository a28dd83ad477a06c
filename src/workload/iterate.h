// A graph done several times over, with computation between: what training does step after step.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "workload/graph.h"

namespace strack::workload {

/// `iterations` of a graph on the same channels. A rank begins the next one when all it has to send and
/// to receive in this one is done, and it has computed for `compute` after that; ranks wait for
/// nobody else, so that one that is late holds up only those who need something of it.
[[nodiscard]] Graph iterate(const Graph& graph, std::uint32_t iterations, Picoseconds compute);

}  // namespace strack::workload
