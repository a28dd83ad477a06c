// What `strack paper status` says of the rows: for people, and for programs.
#pragma once

#include <string>
#include <vector>

#include "cli/paper.h"
#include "cli/text.h"
#include "paper/evidence.h"

namespace strack::cli {

/// Whether the user asked for this row.
[[nodiscard]] bool wanted(const PaperOptions& options, const std::string& row);
/// A line for each row, and one for each of its statements.
void print_status(const PaperOptions& options, paper::Evidence& evidence,
                  const std::vector<paper::RowFinding>& findings);
/// The same for programs: a line for each statement, and one for each row that has none.
[[nodiscard]] Table status_table(const PaperOptions& options, paper::Evidence& evidence,
                                 const std::vector<paper::RowFinding>& findings);

}  // namespace strack::cli
