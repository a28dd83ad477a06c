// A workload written down flow by flow, one a line: `src dst bytes start`, for example `0 17 16MB
// 10us`.
//
// Sizes are in bytes or carry a unit; a start is 0 or carries a unit; `#` begins a comment. Flows
// keep the order of their lines.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "workload/amount.h"
#include "workload/workload.h"

namespace strack::workload {

/// The latest a flow may start.
inline constexpr Instant kLatestStart = at(seconds(3'600));

/// The flows of a text, for a cluster of so many hosts; or the first line that makes no sense.
[[nodiscard]] Result<Flows, TextError> parse_flow_list(std::string_view text, std::uint32_t hosts);

}  // namespace strack::workload
