// Where the paper's rows and their results are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/paper.h"
#include "paper/row.h"
#include "report/model.h"

namespace strack::cli {

[[nodiscard]] std::filesystem::path results_folder(const PaperOptions& options);
/// Where the program's own rows lie, for who runs them.
[[nodiscard]] std::filesystem::path rows_beside(const PaperOptions& options);
/// The folder of the rows. Where there is none, the rows that the program carries are put beside the
/// results; with `own` in that folder.
[[nodiscard]] Result<std::filesystem::path, std::string> rows_folder(
    const PaperOptions& options, const std::filesystem::path& own);
/// All rows, or why there are none. Whether the scale and the ids asked for exist is looked at here.
[[nodiscard]] Result<std::vector<paper::Row>, std::string> load(const PaperOptions& options,
                                                                const std::filesystem::path& own);
/// This program, now, for a page that a command has made.
[[nodiscard]] report::Made made_by(const std::string& command);
/// The table of runs that a report leaves, or the one that it is made from; empty: none, or several.
[[nodiscard]] std::string table_name(const PaperReportOptions& options);

}  // namespace strack::cli
