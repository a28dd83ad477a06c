// GOAL schedules as LogGOPSim's txt2bin writes them. All numbers are little-endian and unaligned:
//
//   u64 4223; then, from where all positions count: u32 ranks, u8 most cpu, u8 most nic,
//   for each rank u64 begin, u64 end of its part:
//     u32 operations, u32 roots, u32 for each root,
//     39 bytes for each operation: u32 requirements, u8 type (1 send, 2 recv, 3 calc), u32 peer, u64 size
//     or time, u32 tag, u8 cpu, u8 nic, and twice u32 count, u32 first: who requires its end, and its
//     start, in the list that follows
//     u32 for each requirement: the operation that requires
//
// A peer or tag of a receive with all bits set is any. What it means is in goal_import.h.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"
#include "workload/formats/goal_import.h"

namespace strack::workload {

[[nodiscard]] bool is_goal_binary(std::string_view bytes);

/// Errors have no line; they begin with the byte. `calc_unit` is the time of `calc 1`.
[[nodiscard]] Result<GoalImport, TextError> import_goal_binary(std::string_view bytes,
                                                               Picoseconds calc_unit = ns(1));

}  // namespace strack::workload
