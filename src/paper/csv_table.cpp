#include "paper/csv_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/csv_text.h"
#include "sim/scenario/files.h"

namespace strack::paper {
Result<CsvTable, FileError> read_csv_table(const std::filesystem::path& file) {
  const auto text = sim::read_file(file);
  if (!text) return FileError{fmt::format("{}: {}", file.string(), text.error().message)};
  CsvTable table;
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
    } else {
      table.lines.push_back({number, csv_cells(line)});
      if (table.lines.back().cells.size() == table.names.size()) continue;
      return FileError{fmt::format("{}:{}: {} cells under {} names", file.string(), number,
                                   table.lines.back().cells.size(), table.names.size())};
    }
  }
  return table;
}

std::string run_key(const std::string& row, const std::string& run, const std::string& scenario) {
  return row + '/' + run + '/' + scenario;
}

Result<std::set<std::string>, FileError> runs_in(const std::vector<std::filesystem::path>& tables,
                                                 const std::optional<std::string>& version) {
  std::set<std::string> keys;
  for (const std::filesystem::path& file : tables) {
    const auto table = read_csv_table(file);
    if (!table) return table.error();
    const std::vector<std::string>& names = table.value().names;
    const auto cell = [&](const CsvTable::Line& line, const char* name) -> std::string {
      const auto found = std::find(names.begin(), names.end(), name);
      return found == names.end() ? std::string()
                                  : line.cells[static_cast<std::size_t>(found - names.begin())];
    };
    for (const CsvTable::Line& line : table.value().lines) {
      const std::string run = cell(line, "run");
      if (run.empty() || (version && cell(line, "version") != *version)) continue;
      keys.insert(run_key(cell(line, "row"), run, cell(line, "scenario")));
    }
  }
  return keys;
}

}  // namespace strack::paper
