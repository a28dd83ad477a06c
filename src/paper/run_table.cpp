#include "paper/run_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/csv_text.h"

namespace strack::paper {
namespace {

enum class Kind : std::uint8_t { text, count, time, amount };

struct Column {
  const char* name;
  Kind kind;
  bool always;  ///< no run is without
};
constexpr Column kColumns[] = {
    {"row", Kind::text, true},
    {"file", Kind::text, false},
    {"run", Kind::text, true},
    {"scenario", Kind::text, false},
    {"seed", Kind::count, true},
    {"status", Kind::text, true},
    {"version", Kind::text, true},
    {"hash", Kind::text, false},
    {"hosts", Kind::count, true},
    {"flows", Kind::count, true},
    {"jobs", Kind::count, true},
    {"scheme", Kind::text, true},
    {"who", Kind::text, true},
    {"max_us", Kind::time, true},
    {"mean_us", Kind::time, true},
    {"p50_us", Kind::time, false},
    {"p99_us", Kind::time, false},
    {"min_us", Kind::time, false},
    {"ideal_us", Kind::time, false},
    {"slowdown", Kind::time, false},
    {"spread", Kind::time, false},
    {"drops", Kind::count, true},
    {"marks", Kind::count, true},
    {"packets", Kind::count, true},
    {"retransmissions", Kind::count, true},
    {"timeouts", Kind::count, true},
    {"cnps", Kind::count, true},
    {"pause_frames", Kind::count, true},
    {"paused_us", Kind::amount, false},
    {"deepest_queue", Kind::count, true},
    {"cpu_s", Kind::amount, false},
};

const Column* column_of(std::string_view name) {
  for (const Column& column : kColumns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

/// NaN and what is beyond all numbers are no words either: who divides by them gets no number, and nobody sees it.
bool is_no_number(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return end != cell.c_str() && *end == '\0' && !std::isfinite(value);
}

/// What would have to stand there; nothing where the cell is well.
std::string wanted_in(const std::string& name, const std::string& cell) {
  const Column* column = column_of(name);
  const Kind kind = column == nullptr ? Kind::amount : column->kind;
  if (cell.empty())
    return column != nullptr && column->always ? "every run has one" : std::string();
  if (kind == Kind::text) return {};
  const auto number = number_of(cell);
  // Axes may have words.
  if (column == nullptr && !number && !is_no_number(cell)) return {};
  if (kind == Kind::count) {
    constexpr double kMost = 9e15;
    const bool whole = number && *number >= 0 && *number <= kMost && std::floor(*number) == *number;
    return whole ? std::string() : "it is a whole number from 0 on";
  }
  if (kind == Kind::time) return number && *number > 0 ? std::string() : "it is a number above 0";
  return number && *number >= 0 ? std::string() : "it is a number from 0 on";
}

std::vector<std::string> statuses() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(metrics::RunStatus::failed); ++i)
    names.emplace_back(metrics::to_text(static_cast<metrics::RunStatus>(i)));
  return names;
}

std::optional<FileError> wrong_with(const std::filesystem::path& file, const CsvTable& table,
                                    const CsvTable::Line& line) {
  static const std::vector<std::string> known = statuses();
  const auto wrong = [&](const std::string& name, const std::string& cell,
                         const std::string& wanted) {
    return FileError{
        fmt::format("{}:{}: {} is \"{}\". {}", file.string(), line.number, name, cell, wanted)};
  };
  const std::string status = table.cell(line, "status");
  if (std::find(known.begin(), known.end(), status) == known.end())
    return wrong("status", status, fmt::format("there are {}", fmt::join(known, ", ")));
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& name = table.names[i];
    if (status != kFinished && name != "row" && name != "run") continue;
    const std::string wanted = wanted_in(name, line.cells[i]);
    if (!wanted.empty()) return wrong(name, line.cells[i], wanted);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& base_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Column& column : kColumns) all.emplace_back(column.name);
    return all;
  }();
  return names;
}

bool is_text_column(const std::string& name) {
  const Column* column = column_of(name);
  return column != nullptr && column->kind == Kind::text;
}

Result<CsvTable, FileError> read_run_table(const std::filesystem::path& file) {
  std::vector<std::string> needed = base_columns();
  // Where it was is nobody else's business, and a table may be kept without fingerprints.
  std::erase_if(needed, [](const auto& name) { return name == "file" || name == "scenario"; });
  auto table = read_csv_table(file, needed);
  if (!table) return table.error();
  for (const CsvTable::Line& line : table.value().lines) {
    if (auto error = wrong_with(file, table.value(), line)) return *std::move(error);
  }
  return table;
}

std::string run_key(const std::string& row, const std::string& run, const std::string& scenario) {
  return row + '/' + run + '/' + scenario;
}

Result<std::vector<RunsElsewhere>, FileError> runs_in(
    const std::vector<std::filesystem::path>& tables, const std::optional<std::string>& version) {
  std::vector<RunsElsewhere> all;
  for (const std::filesystem::path& file : tables) {
    const auto read = read_run_table(file);
    if (!read) return read.error();
    const CsvTable& table = read.value();
    if (std::find(table.names.begin(), table.names.end(), "scenario") == table.names.end()) {
      return FileError{fmt::format(
          "{}:{}: there is no column scenario, so nobody can know whether its runs are of the rows "
          "of now. take a table that --table wrote",
          file.string(), table.names_line)};
    }
    RunsElsewhere& runs = all.emplace_back();
    runs.file = file;
    runs.lines = table.lines.size();
    for (const CsvTable::Line& line : table.lines) {
      if (table.cell(line, "status") != kFinished) {
        ++runs.unfinished;
      } else if (version && table.cell(line, "version") != *version) {
        ++runs.other_version;
      } else {
        runs.keys.insert(run_key(table.cell(line, "row"), table.cell(line, "run"),
                                 table.cell(line, "scenario")));
      }
    }
  }
  return all;
}

RunsByKey::RunsByKey(const std::vector<RunsElsewhere>& tables) {
  for (const RunsElsewhere& table : tables) keys_.insert(table.keys.begin(), table.keys.end());
}

bool RunsByKey::contains(const std::string& row, const std::string& run,
                         const std::string& scenario) const {
  return keys_.contains(run_key(row, run, scenario));
}

bool RunsByKey::has_named(const std::string& row, const std::string& run) const {
  const std::string begin = run_key(row, run, {});
  const auto next = keys_.lower_bound(begin);
  return next != keys_.end() && next->starts_with(begin);
}

}  // namespace strack::paper
