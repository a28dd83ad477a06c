// GOAL schedules as text (LogGOPSim, ATLAHS; goal_binary.h has the binary ones): what each rank sends, receives and computes, and which
// of it requires which.
//
//   num_ranks 2
//   rank 0 {
//     a: calc 1000 cpu 0
//     b: send 4096b to 1 tag 7
//     b requires a                 b starts after a has ended
//   }
//   rank 1 {
//     c: recv 4096b from 0 tag 7   from -1: any source, tag -1: any tag
//     d: calc 500
//     d irequires c                d starts after c has started
//   }
//
// `//` and `/* */` are comments. One operation a line. How sends and receives are matched is in
// import_ops.h. A send has ended when it is wholly acknowledged. `cpu` and `nic` are read and
// ignored: computations of a rank run side by side unless one requires the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

struct GoalImport {
  Graph graph;
  std::vector<std::string> notes;  ///< what is not as LogGOPSim would have it, for people
};

class ImportOps;
/// What is said of a schedule, text or binary. `resources` is how often a cpu or nic is not the first.
[[nodiscard]] std::vector<std::string> goal_notes(const ImportOps& ops, std::uint32_t resources);

/// `calc_unit` is the time of `calc 1`.
[[nodiscard]] Result<GoalImport, TextError> import_goal(std::string_view text,
                                                        Picoseconds calc_unit = ns(1));

}  // namespace strack::workload
