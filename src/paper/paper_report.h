// The paper's set as a report for people: a page with figures, and docs/validation.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "paper/evidence.h"
#include "paper/row.h"
#include "report/model.h"

namespace strack::paper {

/// Everything there is evidence for. made.* is the caller's to fill.
[[nodiscard]] Result<report::Report, FileError> make_report(
    Evidence& evidence, const std::vector<RowFinding>& findings);

/// The same without pictures, as Markdown. `data` is the file beside it that has the runs, where there is one.
[[nodiscard]] Result<std::string, FileError> make_markdown(Evidence& evidence,
                                                           const std::vector<RowFinding>& findings,
                                                           const std::string& data = {});

}  // namespace strack::paper
