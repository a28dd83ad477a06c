// The longest chain of a graph's computations.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "workload/graph.h"
#include "workload/training.h"

namespace strack::workload {

/// How long the graph takes if messages take no time: computations, times that nodes wait for, and waiting
/// for those of others. At most kForever.
inline constexpr Picoseconds kForever = seconds(1'000'000);
[[nodiscard]] Picoseconds computation_time(const Graph& graph);
/// Of a step of training, about: without its graph.
[[nodiscard]] Picoseconds computation_time(const TrainingParams& params);

struct Extent {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;  ///< nodes waiting for nodes
};
[[nodiscard]] Extent extent_of(const Graph& graph);

}  // namespace strack::workload
