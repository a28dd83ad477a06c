// A trace of another tool run as it is: the scenario that nobody had to write for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {

/// The text of a scenario with the trace as its workload and, unless the overrides say which, a network
/// with a host for each rank: racks of 16, two at least, full bisection. A name such as step.0.et
/// stands for the files of all ranks.
[[nodiscard]] Result<std::string, ScenarioError> scenario_of_trace(
    const std::filesystem::path& file, const std::vector<std::string>& overrides);

}  // namespace strack::sim
