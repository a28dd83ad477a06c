// Which scenarios are one as far as results go.
#pragma once

#include <string_view>

namespace strack::sim {

/// Whether two resolved scenarios, as result files have them, ask for the same results: they may differ in the number
/// of threads, on which no result depends.
[[nodiscard]] bool same_results(std::string_view scenario, std::string_view other);

}  // namespace strack::sim
