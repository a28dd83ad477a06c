// A graph of messages as a GOAL schedule (goal_import.h has the format).
//
// Message i is `m<i>` at its sender, `r<i>` at its receiver, and has its number as tag; computation i
// is `c<i>`. A start time is a chain of computations on a CPU of their own, `t<i>`. Which messages
// share a connection cannot be said.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

struct GoalExport {
  std::string text;
};

/// The text, or the time that is no multiple of `calc_unit`, the time of `calc 1`.
[[nodiscard]] Result<GoalExport, TextError> export_goal(const Graph& graph,
                                                        Picoseconds calc_unit = ns(1));

}  // namespace strack::workload
