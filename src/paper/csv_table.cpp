#include "paper/csv_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/csv_text.h"
#include "sim/scenario/files.h"

namespace strack::paper {
Result<CsvTable, FileError> read_csv_table(const std::filesystem::path& file,
                                           const std::vector<std::string>& needed) {
  const auto text = sim::read_file(file);
  if (!text) return FileError{fmt::format("{}: {}", file.string(), text.error().message)};
  CsvTable table;
  const auto not_such = [&](const std::string& what) {
    return FileError{file.string() + what +
                     ". a table of runs is what `strack paper run --table` writes"};
  };
  int number = 0;
  for (std::size_t at = 0; at < text.value().size();) {
    ++number;
    const std::size_t end = std::min(text.value().find('\n', at), text.value().size());
    const std::string line = text.value().substr(at, end - at);
    at = end + 1;
    if (table.names.empty() && line.starts_with("# ")) {
      table.notes.push_back(line.substr(2));
    } else if (table.names.empty()) {
      table.names = csv_cells(line);
      table.names_line = number;
      for (const std::string& name : needed) {
        if (std::find(table.names.begin(), table.names.end(), name) != table.names.end()) continue;
        return not_such(fmt::format(":{}: there is no column {}", number, name));
      }
    } else {
      table.lines.push_back({number, csv_cells(line)});
      if (table.lines.back().cells.size() == table.names.size()) continue;
      return FileError{fmt::format("{}:{}: {} cells under {} names", file.string(), number,
                                   table.lines.back().cells.size(), table.names.size())};
    }
  }
  if (table.names.empty() && !needed.empty()) return not_such(": holds no table");
  return table;
}

std::string CsvTable::cell(const Line& line, std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::string()
                              : line.cells[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace strack::paper
