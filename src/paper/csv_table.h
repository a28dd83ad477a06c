// A table as a file: notes for the reader, a line of names, lines of as many cells.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
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
  int names_line = 0;
  std::vector<Line> lines;  ///< each with as many cells as there are names

  /// What a line has in the column of that name; nothing where there is no such column.
  [[nodiscard]] std::string cell(const Line& line, std::string_view name) const;
};
/// A mistake is named with its line: a column that is needed and not there, a line of another length.
[[nodiscard]] Result<CsvTable, FileError> read_csv_table(
    const std::filesystem::path& file, const std::vector<std::string>& needed = {});

}  // namespace strack::paper
