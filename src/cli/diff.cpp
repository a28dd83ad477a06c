#include "cli/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text.h"
#include "metrics/result_file.h"
#include "report/diff.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using report::Diff;
using report::DiffFigure;
using report::DiffPair;
using report::DiffRun;

/// A folder stands for the result files in it.
Result<std::vector<fs::path>, report::DiffError> files_of(const std::vector<fs::path>& given) {
  std::vector<fs::path> files;
  for (const fs::path& path : given) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
      if (entry.path().extension() == ".db") inside.push_back(entry.path());
    }
    if (inside.empty()) {
      return report::DiffError{fmt::format(
          "{}: there are no result files (.db) in this folder. name a sweep's folder, or files",
          path.string())};
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Result<std::vector<DiffRun>, report::DiffError> read(const std::vector<fs::path>& given) {
  const auto files = files_of(given);
  if (!files) return files.error();
  std::vector<DiffRun> runs;
  for (const fs::path& file : files.value()) {
    const auto summary = metrics::summarise(file);
    if (!summary) return report::DiffError{summary.error().message};
    runs.push_back({file.string(), summary.value()});
  }
  return runs;
}

std::string number(double value, const std::string& unit) {
  if (std::isnan(value)) return "-";
  if (unit == "share") return fmt::format("{:.1f} %", value * 100);
  if (unit == "B") return size_text(bytes(std::llround(value)));
  if (unit == "x") return fmt::format("{:.3f}", value);
  return unit == "us" ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

/// "70.1 (69.0 to 72.4)"
std::string spread(const report::Spread& s, const std::string& unit) {
  if (s.count < 2) return number(s.median, unit);
  return fmt::format("{} ({} to {})", number(s.median, unit), number(s.low, unit),
                     number(s.high, unit));
}

std::string relative(const DiffFigure& figure) {
  if (figure.change == report::Change::same) return "";
  const double by = figure.relative();
  return std::isnan(by) ? "-" : fmt::format("{:+.1f} %", by * 100);
}

std::string heading(const DiffPair& pair) {
  std::string text;
  for (const auto& [key, value] : pair.where)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
  const auto side = [](const std::vector<const DiffRun*>& runs) {
    return runs.size() == 1
               ? fmt::format("{}, seed {}", runs.front()->file, runs.front()->summary.run.seed)
               : fmt::format("{} seeds", runs.size());
  };
  return fmt::format("{}{}A: {}; B: {}", text, text.empty() ? "" : ": ", side(pair.a),
                     side(pair.b));
}

/// For programs.
const char* word_of(report::Change change) {
  constexpr const char* kWords[] = {"same", "within", "beyond", "unknown"};
  return kWords[static_cast<std::size_t>(change)];
}

/// The last line.
std::string verdict(const Diff& diff) {
  if (diff.beyond()) return "results differ by more than seeds explain";
  const bool open = std::any_of(diff.pairs.begin(), diff.pairs.end(), [](const DiffPair& pair) {
    return std::any_of(pair.figures.begin(), pair.figures.end(), [](const DiffFigure& figure) {
      return figure.change == report::Change::unknown;
    });
  });
  if (open) return "results differ; whether by more than seeds explain is not known";
  if (!diff.alone.empty())
    return "what could be compared does not differ by more than seeds explain; the rest has no "
           "partner";
  return "results do not differ by more than seeds explain";
}

std::string text_of(const Diff& diff) {
  std::string text;
  if (diff.settings.empty()) {
    text += "settings: the same\n";
  } else {
    Table table({"setting", "A", "B"}, 3);
    for (const report::DiffSetting& setting : diff.settings)
      table.add({setting.key, setting.a, setting.b});
    text += table.text();
  }
  for (const DiffPair& pair : diff.pairs) {
    text += fmt::format("\n{}\n", heading(pair));
    if (pair.identical) text += "the very same runs: every completion, drop and mark\n";
    Table table({"", "A", "B", "change", ""}, 1);
    for (const DiffFigure& figure : pair.figures) {
      const std::string name = figure.unit == "us" ? figure.name + " (us)" : figure.name;
      table.add({figure.workload.empty() ? name : fmt::format("{}: {}", figure.workload, name),
                 spread(figure.a, figure.unit), spread(figure.b, figure.unit), relative(figure),
                 std::string(report::to_text(figure.change))});
    }
    if (!pair.identical) text += table.text();
    for (const std::string& note : pair.notes) text += fmt::format("note: {}\n", note);
  }
  for (const std::string& one : diff.alone) text += fmt::format("\n{}\n", one);
  return text + fmt::format("\n{}\n", verdict(diff));
}

std::string csv_of(const Diff& diff) {
  Table table({"where", "workload", "figure", "unit", "a_median", "a_low", "a_high", "a_seeds",
               "b_median", "b_low", "b_high", "b_seeds", "relative", "change"},
              4);
  const auto cell = [](double v) { return std::isnan(v) ? std::string() : fmt::format("{}", v); };
  for (const DiffPair& pair : diff.pairs) {
    std::string where;
    for (const auto& [key, value] : pair.where)
      where += fmt::format("{}{}={}", where.empty() ? "" : "; ", key, value);
    for (const DiffFigure& figure : pair.figures) {
      std::vector<std::string> cells{where, figure.workload, figure.name, figure.unit};
      for (const report::Spread* s : {&figure.a, &figure.b}) {
        for (const double value : {s->median, s->low, s->high}) cells.push_back(cell(value));
        cells.push_back(fmt::format("{}", s->count));
      }
      cells.push_back(cell(figure.relative()));
      cells.emplace_back(word_of(figure.change));
      table.add(std::move(cells));
    }
  }
  return table.csv();
}

Json json_of(const report::Spread& s) {
  const auto value = [](double v) { return std::isnan(v) ? Json(nullptr) : Json(v); };
  return {{"median", value(s.median)},
          {"low", value(s.low)},
          {"high", value(s.high)},
          {"seeds", s.count}};
}

Json json_of(const std::vector<const DiffRun*>& runs) {
  Json files = Json::array();
  for (const DiffRun* run : runs)
    files.push_back({{"file", run->file}, {"seed", run->summary.run.seed}});
  return files;
}

Json json_of(const Diff& diff) {
  Json settings = Json::array();
  for (const report::DiffSetting& setting : diff.settings)
    settings.push_back({{"key", setting.key}, {"a", setting.a}, {"b", setting.b}});
  Json pairs = Json::array();
  for (const DiffPair& pair : diff.pairs) {
    Json where = Json::object();
    for (const auto& [key, value] : pair.where) where[key] = value;
    Json figures = Json::array();
    for (const DiffFigure& figure : pair.figures) {
      const double by = figure.relative();
      figures.push_back(
          {{"workload", figure.workload.empty() ? Json(nullptr) : Json(figure.workload)},
           {"name", figure.name},
           {"unit", figure.unit},
           {"a", json_of(figure.a)},
           {"b", json_of(figure.b)},
           {"relative", std::isnan(by) ? Json(nullptr) : Json(by)},
           {"change", word_of(figure.change)}});
    }
    pairs.push_back({{"where", std::move(where)},
                     {"a", json_of(pair.a)},
                     {"b", json_of(pair.b)},
                     {"identical", pair.identical},
                     {"figures", std::move(figures)},
                     {"notes", pair.notes}});
  }
  return {{"differs", diff.differs()},
          {"settings", std::move(settings)},
          {"pairs", std::move(pairs)},
          {"alone", diff.alone}};
}

}  // namespace

int diff(const DiffOptions& options) {
  std::vector<fs::path> a = options.files;
  std::vector<fs::path> b = options.with;
  if (b.empty()) {
    if (a.size() != 2) {
      return fail(fmt::format(
          "{} named. `strack diff A B` takes two files or folders; several on a side are "
          "`strack diff A1 A2 ... --with B1 B2 ...`",
          a.size() == 1 ? std::string("one file or folder was")
                        : fmt::format("{} files were", a.size())));
    }
    b = {a.back()};
    a.pop_back();
  }
  const auto left = read(a);
  if (!left) return fail(left.error().message);
  const auto right = read(b);
  if (!right) return fail(right.error().message);
  const auto made = report::diff(left.value(), right.value());
  if (!made) return fail(made.error().message);
  if (options.json) {
    fmt::print("{}\n", json_of(made.value()).dump(1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}", options.csv ? csv_of(made.value()) : text_of(made.value()));
  }
  return made.value().differs() ? 1 : 0;
}

}  // namespace strack::cli
