// What came of a plan, as a page: step time over cost, what failures cost, and the table of both.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"
#include "report/model.h"

namespace strack::planner {

/// "1:1, STrack"
[[nodiscard]] std::string name_of(const Plan& plan, const Option& option);

/// A row for each option, as the page and `--csv` have it.
[[nodiscard]] report::Table plan_table(const Plan& plan, const std::vector<Option>& options);

[[nodiscard]] report::Report plan_report(const Plan& plan, const std::vector<Option>& options);

}  // namespace strack::planner
