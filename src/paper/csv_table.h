// The table of runs as a file: notes for the reader, a line of names, a line for each run.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/result_file.h"

namespace strack::paper {

using metrics::FileError;

struct CsvTable {
  struct Line {
    int number = 0;  ///< in the file
    std::vector<std::string> cells;
  };
  std::vector<std::string> notes;  ///< the lines above the names that begin with "# "
  std::vector<std::string> names;
  std::vector<Line> lines;  ///< each with as many cells as there are names
};
[[nodiscard]] Result<CsvTable, FileError> read_csv_table(const std::filesystem::path& file);

/// What a run is known by in tables of several machines: row, name, fingerprint of its scenario.
[[nodiscard]] std::string run_key(const std::string& row, const std::string& run,
                                  const std::string& scenario);
/// The runs of tables that this version of the program has made, or any version; an older table names none.
[[nodiscard]] Result<std::set<std::string>, FileError> runs_in(
    const std::vector<std::filesystem::path>& tables, const std::optional<std::string>& version);

}  // namespace strack::paper
