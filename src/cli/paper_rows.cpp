#include "cli/paper_rows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "paper/own_rows.h"
#include "run/build_info.h"

namespace strack::cli {

namespace fs = std::filesystem;

fs::path results_folder(const PaperOptions& options) {
  return options.results.empty() ? fs::path("results") / ("paper-" + options.scale)
                                 : options.results;
}

fs::path rows_beside(const PaperOptions& options) { return results_folder(options) / "rows"; }

Result<fs::path, std::string> rows_folder(const PaperOptions& options, const fs::path& own) {
  std::error_code ignored;
  if (fs::is_directory(options.folder, ignored)) return options.folder;
  if (options.folder != PaperOptions{}.folder) {
    return fmt::format("{}: there is no such folder. leave --rows out for the program's own rows",
                       options.folder.string());
  }
  if (const auto error = paper::write_own_rows(own)) return error->message;
  return own;
}

Result<std::vector<paper::Row>, std::string> load(const PaperOptions& options,
                                                  const fs::path& own) {
  const auto folder = rows_folder(options, own);
  if (!folder) return folder.error();
  auto rows = paper::load_rows(folder.value());
  if (!rows) return rows.error().text();
  std::vector<std::string> ids;
  std::vector<std::string> scales{paper::kFullScale};
  for (const paper::Row& row : rows.value()) {
    ids.push_back(row.id);
    for (const auto& [name, scale] : row.scales) {
      if (std::find(scales.begin(), scales.end(), name) == scales.end()) scales.push_back(name);
    }
  }
  if (std::find(scales.begin(), scales.end(), options.scale) == scales.end()) {
    return fmt::format("--scale {}: there is no such scale. the scales are {}", options.scale,
                       fmt::join(scales, ", "));
  }
  for (const std::string& id : options.rows) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
      return fmt::format("there is no row {}. the rows are {}", id, fmt::join(ids, ", "));
    }
  }
  return std::move(rows.value());
}

report::Made made_by(const std::string& command) {
  return {run::kBuildInfo.version, run::kBuildInfo.commit, utc_now(), command};
}

std::string table_name(const PaperReportOptions& options) {
  if (!options.data.empty()) return options.data.filename().string();
  return options.from.size() == 1 ? options.from.front().filename().string() : "";
}

}  // namespace strack::cli
