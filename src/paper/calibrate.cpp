#include "paper/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/csv_text.h"
#include "base/prng.h"
#include "paper/csv_table.h"
#include "report/figures.h"
#include "sim/scenario/files.h"
#include "sim/scenario/scenario.h"

namespace strack::paper {
namespace {

/// Beyond a factor of twenty a claim is missed altogether.
constexpr double kLargestError = 3;
/// Points this near to the best are as good.
constexpr double kNearBest = 1.1;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(by);
    std::string part = trimmed(text.substr(0, at));
    if (!part.empty()) parts.push_back(std::move(part));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// The side that a claim belongs to, by name; empty: it has no number.
std::string side_of(const Check& check, const Calibration& what) {
  if (!check.paper || *check.paper <= 0) return {};
  for (const Side& side : what.sides) {
    if (check.value.find("'" + side.name) != check.value.npos) return side.name;
  }
  return what.sides.back().name;
}

bool has_numbers(const Row& row, const Calibration& what, const Side& side) {
  return std::any_of(row.checks.begin(), row.checks.end(),
                     [&](const Check& check) { return side_of(check, what) == side.name; });
}

/// What is sent is no scheme's own: such keys are set in all runs of collectives.
bool of_workload(const Axis& axis) { return axis.key.starts_with("workload."); }
bool runs_collectives(const Row& row, const Side& side) {
  if (std::none_of(side.keys.begin(), side.keys.end(), of_workload)) return false;
  const auto scenario = sim::load(row.file, {});
  return scenario &&
         std::any_of(scenario.value().workloads.begin(), scenario.value().workloads.end(),
                     [](const auto& one) { return one.kind == sim::WorkloadKind::collective; });
}

/// A group of runs for each of its schemes, the side's with the point's keys.
void split_by_scheme(const RunGroup& group, const Side& side, const Point& point, bool collectives,
                     std::vector<RunGroup>& out) {
  constexpr const char* kScheme = "transport.scheme";
  const auto schemes = std::find_if(group.axes.begin(), group.axes.end(),
                                    [](const Axis& axis) { return axis.key == kScheme; });
  if (schemes == group.axes.end()) {
    out.push_back(group);
    return;
  }
  for (const std::string& scheme : schemes->values) {
    RunGroup& one = out.emplace_back(group);
    one.axes[static_cast<std::size_t>(schemes - group.axes.begin())].values = {scheme};
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (of_workload(side.keys[i]) ? collectives : scheme.starts_with(side.name))
        one.axes.push_back({side.keys[i].key, {side.keys[i].values[point[i]]}});
    }
  }
}

/// False where an axis has nothing left: there is nothing to run.
bool leave_out(std::vector<Axis>& axes, const std::set<std::string>& values) {
  bool some = true;
  for (Axis& axis : axes) {
    std::erase_if(axis.values, [&](const std::string& value) { return values.contains(value); });
    some = some && !axis.values.empty();
  }
  return some;
}

/// "pfc.alpha=1/128 | rocev2.dcqcn=uet-htsim": the keys that are not named have their first values.
Result<Point, std::string> named_point(const Side& side, std::string_view text) {
  Point point(side.keys.size());
  for (const std::string& part : split(text, '|')) {
    const std::size_t equals = part.find('=');
    const std::string key = trimmed(part.substr(0, equals));
    const auto axis = std::find_if(side.keys.begin(), side.keys.end(),
                                   [&](const Axis& one) { return one.key == key; });
    if (axis == side.keys.end() || equals == part.npos)
      return fmt::format("{} is no key of side {} with a value", part, side.name);
    const auto value =
        std::find(axis->values.begin(), axis->values.end(), trimmed(part.substr(equals + 1)));
    if (value == axis->values.end())
      return fmt::format("{} has no such value. it has {}", part, fmt::join(axis->values, ", "));
    point[static_cast<std::size_t>(axis - side.keys.begin())] =
        static_cast<std::size_t>(value - axis->values.begin());
  }
  return point;
}

}  // namespace

Result<Calibration, ScenarioError> load_calibration(const std::filesystem::path& file) {
  const auto text = sim::read_file(file);
  if (!text) return ScenarioError{file.string(), 0, text.error().message};
  Calibration what;
  std::istringstream lines(text.value());
  int number = 0;
  for (std::string raw; std::getline(lines, raw);) {
    ++number;
    const auto fail = [&](const std::string& message) {
      return ScenarioError{file.string(), number, message};
    };
    const std::string line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = trimmed(line.substr(word.size()));
    if (word == "held-out") {
      for (std::string& row : split(rest, ' ')) what.held_out.insert(std::move(row));
    } else if (word == "leave-out") {
      auto& left_out = what.sides.empty() ? what.leave_out : what.sides.back().leave_out;
      for (std::string& value : split(rest, '|')) left_out.insert(std::move(value));
    } else if (word == "set") {
      const std::string row = rest.substr(0, rest.find(' '));
      std::vector<std::string> settings = split(rest.substr(row.size()), '|');
      if (settings.empty())
        return fail("a row and its settings, such as `set IN-Q topology.hosts=64`");
      what.set[row] = std::move(settings);
    } else if (word == "try") {
      if (what.sides.empty() || what.sides.back().keys.empty())
        return fail("write `try` below the keys of its side");
      const auto point = named_point(what.sides.back(), rest);
      if (!point) return fail(point.error());
      what.sides.back().named.push_back(point.value());
    } else if (word == "side") {
      if (rest.empty()) return fail("a side has a name, such as `side rocev2`");
      what.sides.push_back({rest, {}});
    } else if (const std::size_t equals = line.find('='); equals != line.npos) {
      if (what.sides.empty()) return fail("write `side NAME` above its keys");
      Axis axis{trimmed(line.substr(0, equals)), split(line.substr(equals + 1), '|')};
      if (axis.values.size() < 2)
        return fail(fmt::format("{} needs two values or more, such as `1 | 2`", axis.key));
      what.sides.back().keys.push_back(std::move(axis));
    } else {
      return fail(fmt::format(
          "\"{}\" is none of `held-out`, `leave-out`, `set`, `side NAME`, `try` and `key = "
          "value | value`",
          line));
    }
  }
  for (const Side& side : what.sides) {
    if (side.keys.empty())
      return ScenarioError{file.string(), number, fmt::format("side {} has no keys", side.name)};
  }
  if (what.sides.empty()) return ScenarioError{file.string(), number, "names no side"};
  return what;
}

std::string point_text(const Side& side, const Point& point) {
  if (point.empty()) return "defaults";
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (i > 0) text += ", ";
    text += side.keys[i].key + " = " + side.keys[i].values[point[i]];
  }
  return text;
}

std::vector<Point> latin_hypercube(const Side& side, std::size_t count, std::uint64_t seed) {
  std::vector<Point> points(count, Point(side.keys.size()));
  Rng rng = Rng(seed).stream("latin hypercube " + side.name);
  for (std::size_t k = 0; k < side.keys.size(); ++k) {
    std::vector<std::size_t> column(count);
    for (std::size_t i = 0; i < count; ++i) column[i] = i * side.keys[k].values.size() / count;
    for (std::size_t i = count; i > 1; --i) std::swap(column[i - 1], column[rng.below(i)]);
    for (std::size_t i = 0; i < count; ++i) points[i][k] = column[i];
  }
  return points;
}

std::vector<Point> neighbours(const Side& side, const Point& point) {
  std::vector<Point> all;
  for (std::size_t k = 0; k < point.size(); ++k) {
    if (point[k] > 0) --(all.emplace_back(point))[k];
    if (point[k] + 1 < side.keys[k].values.size()) ++(all.emplace_back(point))[k];
  }
  return all;
}

std::vector<Row> rows_at(const std::vector<Row>& rows, const Calibration& what, const Side& side,
                         const Point& point, bool held_out) {
  // What is held out may be judged by the runs of other rows, so those with numbers come along.
  std::vector<Row> chosen;
  for (const Row& row : rows) {
    if (row.checks.empty()) continue;
    if (!has_numbers(row, what, side) || (what.held_out.contains(row.id) && !held_out)) continue;
    Row one = row;
    one.runs.clear();
    const bool collectives = runs_collectives(row, side);
    for (const RunGroup& group : row.runs)
      split_by_scheme(group, side, point, collectives, one.runs);
    std::set<std::string> without = what.leave_out;
    without.insert(side.leave_out.begin(), side.leave_out.end());
    std::erase_if(one.runs, [&](RunGroup& group) { return !leave_out(group.axes, without); });
    for (auto& [name, scale] : one.scales) {
      leave_out(scale.axes, without);
      std::erase_if(scale.axes, [](const Axis& axis) { return axis.values.empty(); });
      const auto set = what.set.find(row.id);
      if (set == what.set.end()) continue;
      scale.set.insert(scale.set.end(), set->second.begin(), set->second.end());
      for (Check& check : one.checks) check.full_only = false;
    }
    one.explain.clear();
    // Others may ask for runs that are not there.
    std::erase_if(one.checks,
                  [&](const Check& check) { return side_of(check, what) != side.name; });
    chosen.push_back(std::move(one));
  }
  return chosen;
}

Result<Score, FileError> score(const std::vector<Row>& rows, const Calibration& what,
                               const Side& side, bool held_out, const std::string& scale,
                               const std::filesystem::path& folder,
                               const std::vector<std::filesystem::path>& tables) {
  const auto evidence = Evidence::read(rows, scale, folder, tables, Strangers::skipped);
  if (!evidence) return evidence.error();
  const auto judged = judge(*evidence.value(), rows);
  if (!judged) return judged.error();
  Score total;
  for (const RowFinding& row : judged.value()) {
    if (what.held_out.contains(row.row->id) != held_out) continue;
    const Evidence::Count& count = evidence.value()->count(row.row->id);
    if (count.done < count.planned) continue;
    for (const Finding& finding : row.findings) {
      const Check& check = *finding.check;
      if (finding.values.empty() || side_of(check, what) != side.name) continue;
      Miss miss{row.row->id,
                check.says,
                check.unit,
                *check.paper,
                finding.median,
                kLargestError,
                check.reproduced.contains(finding.median)};
      if (finding.median > 0)
        miss.error = std::min(kLargestError, std::abs(std::log(finding.median / *check.paper)));
      total.error += miss.error;
      total.claims.push_back(std::move(miss));
    }
  }
  return total;
}

namespace {

const Miss* find(const Score& score, const Miss& like) {
  for (const Miss& miss : score.claims) {
    if (miss.row == like.row && miss.says == like.says) return &miss;
  }
  return nullptr;
}

/// "pfc.alpha = 1/64 to 1/256" of all points nearly as good as the best.
std::vector<std::string> near_best(const Found& found) {
  std::vector<std::string> ranges;
  for (std::size_t k = 0; k < found.side->keys.size(); ++k) {
    std::set<std::size_t> values;
    for (const Tried& tried : found.tried) {
      if (tried.score.error <= kNearBest * found.tried.front().score.error)
        values.insert(tried.point[k]);
    }
    std::vector<std::string> words;
    for (const std::size_t value : values) words.push_back(found.side->keys[k].values[value]);
    ranges.push_back(fmt::format("{} = {}", found.side->keys[k].key, fmt::join(words, " or ")));
  }
  return ranges;
}

std::string claims_table(const Found& found, const Score& standard, const Score& best) {
  std::string text =
      "| row | claim | paper | defaults | best point | reached by any "
      "|\n|---|---|---|---|---|---|\n";
  for (const Miss& miss : standard.claims) {
    const Miss* there = find(best, miss);
    const bool reached = std::any_of(found.tried.begin(), found.tried.end(), [&](const Tried& t) {
      const Miss* one = find(t.score, miss);
      return one != nullptr && one->reached;
    });
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", miss.row, miss.says,
                        value_text(miss.paper, miss.unit), value_text(miss.ours, miss.unit),
                        there == nullptr ? "" : value_text(there->ours, miss.unit),
                        &standard == &found.standard ? (reached ? "yes" : "no") : "");
  }
  return text + '\n';
}

/// Whether what was found in small networks holds in the paper's.
std::string confirmed_tables(const Found& found) {
  if (!found.confirmed) return {};
  const auto table = [&](const Found::AtScale& at) {
    std::string text = "| row | claim | paper | defaults | best point |";
    std::string rule = "|---|---|---|---|---|";
    for (std::size_t i = 0; i < at.named.size(); ++i) {
      text += fmt::format(" point {} |", i + 1);
      rule += "---|";
    }
    text += '\n' + rule + '\n';
    const auto cell = [](const Miss* there) {
      return there == nullptr ? std::string(" |")
                              : " " + value_text(there->ours, there->unit) + " |";
    };
    for (const Miss& miss : at.standard.claims) {
      text += fmt::format("| {} | {} | {} | {} |", miss.row, miss.says,
                          value_text(miss.paper, miss.unit), value_text(miss.ours, miss.unit));
      text += cell(find(at.best, miss));
      for (const Tried& tried : at.named) text += cell(find(tried.score, miss));
      text += '\n';
    }
    return text + '\n';
  };
  // What only some points were run for cannot be compared.
  const auto errors = [](const Found::AtScale& at, const Score& other) {
    double ours = 0;
    double defaults = 0;
    std::size_t claims = 0;
    for (const Miss& miss : at.standard.claims) {
      const Miss* there = find(other, miss);
      if (there == nullptr) continue;
      ++claims;
      ours += there->error;
      defaults += miss.error;
    }
    return fmt::format("{:.2f} where the defaults have {:.2f} ({} of {} claims)", ours, defaults,
                       claims, at.standard.claims.size());
  };
  std::string text = fmt::format(
      "At the paper's scale, one seed, as far as it was run. Error of the best point {}",
      errors(*found.confirmed, found.confirmed->best));
  if (found.confirmed_held_out)
    text += fmt::format("; of what was held out {}",
                        errors(*found.confirmed_held_out, found.confirmed_held_out->best));
  text += ".";
  for (std::size_t i = 0; i < found.confirmed->named.size(); ++i) {
    const Tried& tried = found.confirmed->named[i];
    text += fmt::format(" Point {} is {}: {}.", i + 1, point_text(*found.side, tried.point),
                        errors(*found.confirmed, tried.score));
  }
  text += "\n\n" + table(*found.confirmed);
  if (found.confirmed_held_out)
    text += "Held out, at the paper's scale:\n\n" + table(*found.confirmed_held_out);
  return text;
}

}  // namespace

std::string calibration_markdown(const std::vector<Found>& all, std::size_t hosts) {
  std::string text = fmt::format(
      "# Constants under which the paper's numbers appear\n\nGenerated by `strack paper calibrate "
      "--markdown`; what is searched stands in `scenarios/paper/CALIBRATE`. Networks of up to {} "
      "hosts, one seed. A claim's error is |ln(ours / paper)|, at most {:.0f}; a point's is the "
      "sum. "
      "Nothing here is a verdict: those are of the defaults, at the paper's scale "
      "([validation.md](validation.md)).\n",
      hosts, kLargestError);
  for (const Found& found : all) {
    if (found.tried.empty()) continue;
    const Tried& best = found.tried.front();
    text += fmt::format(
        "\n## {}\n\n{} points tried. Error of the defaults {:.2f}, of the best point {:.2f}: {}. "
        "Within a tenth of it: {}. Held out: {:.2f} with the defaults, {:.2f} at the best "
        "point.\n\n",
        found.side->name, found.tried.size(), found.standard.error, best.score.error,
        point_text(*found.side, best.point), fmt::join(near_best(found), "; "),
        found.held_out_standard.error, found.held_out.error);
    for (const Point& named : found.side->named) {
      const auto tried = std::find_if(found.tried.begin(), found.tried.end(),
                                      [&](const Tried& one) { return one.point == named; });
      if (tried == found.tried.end()) continue;
      text += fmt::format("- {}: {:.2f}, place {}\n", point_text(*found.side, named),
                          tried->score.error, tried - found.tried.begin() + 1);
      if (named == found.side->named.back()) text += '\n';
    }
    text += claims_table(found, found.standard, best.score);
    if (!found.held_out_standard.claims.empty())
      text += "Held out:\n\n" + claims_table(found, found.held_out_standard, found.held_out);
    text += confirmed_tables(found);
    text.pop_back();
  }
  return text;
}

namespace {

constexpr const char* kNoVerdict =
    "A search over keys that the paper leaves open, in small networks. Nothing here is a verdict: "
    "those are of the defaults alone. The two columns are never mixed.";
// What a table says of runs that were not searched by.
constexpr const char* kHeldOut = ", held out";
constexpr const char* kAtScale = " at the paper's scale";

/// One claim of a side, in parts of the paper's number.
struct Bar {
  std::string category;
  double standard = 0;
  double best = report::kUnknown;
};

report::Section section_of(const std::string& side, std::size_t points, const std::string& best,
                           const std::vector<Bar>& bars, std::vector<std::string> explanation) {
  report::BarsFigure figure;
  figure.id = "calibration-" + side;
  figure.title = "Ours over the paper's";
  figure.caption = fmt::format("Best of {} points: {}. 1 is the paper's number.", points, best);
  figure.y = {"ours over the paper's", "x", "linear", {}};
  figure.horizontal = true;
  figure.marks = {{"y", 1, "the paper"}};
  report::BarSeries standard{{"defaults", "strack"}, {}, {}, {}};
  report::BarSeries fitted{{"best point", "other"}, {}, {}, {}};
  for (const Bar& bar : bars) {
    figure.categories.push_back(bar.category);
    standard.values.push_back(bar.standard);
    fitted.values.push_back(bar.best);
    for (report::BarSeries* series : {&standard, &fitted}) {
      series->low.push_back(report::kUnknown);
      series->high.push_back(report::kUnknown);
    }
  }
  figure.series = {std::move(standard), std::move(fitted)};
  report::Section section;
  section.id = "calibration-of-" + side;
  section.title = "Constants of " + side;
  section.group = "Calibration";
  section.explanation = std::move(explanation);
  section.figures.emplace_back(std::move(figure));
  return section;
}

}  // namespace

report::Report calibration_page(const std::vector<Found>& all) {
  report::Report page;
  page.title = "Constants under which the paper's numbers appear";
  page.lead = {kNoVerdict};
  for (const Found& found : all) {
    if (found.tried.empty()) continue;
    const Tried& best = found.tried.front();
    std::vector<Bar> bars;
    for (const Miss& miss : found.standard.claims) {
      const Miss* there = find(best.score, miss);
      bars.push_back({miss.row + ": " + miss.says, miss.ours / miss.paper,
                      there == nullptr ? report::kUnknown : there->ours / there->paper});
    }
    page.sections.push_back(section_of(
        found.side->name, found.tried.size(), point_text(*found.side, best.point), bars,
        {fmt::format("Error of the defaults {:.2f}, of the best point {:.2f}; of what was held out "
                     "{:.2f} and {:.2f}. Within "
                     "a tenth of the best: {}.",
                     found.standard.error, best.score.error, found.held_out_standard.error,
                     found.held_out.error, fmt::join(near_best(found), "; "))}));
  }
  return page;
}

namespace {

/// Of one side its points as a table has them: the defaults first, then the best.
struct Listed {
  std::string side;
  std::vector<std::string> points;
  std::map<std::string, double> errors;
  std::map<std::string, std::map<std::string, double>> values;  ///< point -> claim
  std::vector<std::string> claims;
  std::set<std::string> reached;
};

Result<std::vector<Listed>, FileError> read_points(const std::filesystem::path& file) {
  const auto read = read_csv_table(file);
  if (!read) return read.error();
  const std::vector<std::string> names{"side",  "point", "error",       "row",    "claim",
                                       "paper", "ours",  "claim_error", "reached"};
  if (read.value().names != names)
    return FileError{
        fmt::format("{}: is no table of points, which `strack paper calibrate` leaves "
                    "in its results",
                    file.string())};
  std::vector<Listed> sides;
  for (const CsvTable::Line& line : read.value().lines) {
    const std::vector<std::string>& cells = line.cells;
    const auto error = number_of(cells[2]);
    const auto paper = number_of(cells[5]);
    const auto ours = number_of(cells[6]);
    if (!error || !paper || !ours)
      return FileError{fmt::format("{}:{}: has no numbers", file.string(), line.number)};
    if (sides.empty() || sides.back().side != cells[0]) sides.emplace_back().side = cells[0];
    Listed& of = sides.back();
    const std::string& point = cells[1];
    if (of.errors.emplace(point, *error).second && !point.ends_with(kHeldOut) &&
        !point.ends_with(kAtScale))
      of.points.push_back(point);
    const std::string claim = cells[3] + ": " + cells[4];
    of.values[point][claim] = *ours / *paper;
    if (point == of.points.front()) of.claims.push_back(claim);
    if (cells[8] == "1" && of.points.size() > 1 && of.points.back() == point)
      of.reached.insert(claim);
  }
  return sides;
}

report::Section section_of(const Listed& of) {
  const std::string& best = of.points[1];
  const auto& at_best = of.values.at(best);
  std::vector<Bar> bars;
  std::vector<std::string> missed;
  for (const std::string& claim : of.claims) {
    const auto found = at_best.find(claim);
    bars.push_back({claim, of.values.at(of.points.front()).at(claim),
                    found == at_best.end() ? report::kUnknown : found->second});
    if (!of.reached.contains(claim)) missed.push_back(claim);
  }
  const auto error = [&](const std::string& point) {
    const auto found = of.errors.find(point);
    return found == of.errors.end() ? std::string("unknown") : fmt::format("{:.2f}", found->second);
  };
  std::vector<std::string> words{
      kNoVerdict,
      fmt::format("Error of the defaults {}, of the best point {}; of what was held out {} and {}.",
                  error(of.points.front()), error(best), error(of.points.front() + kHeldOut),
                  error("best point" + std::string(kHeldOut)))};
  if (of.errors.contains(of.points.front() + kAtScale))
    words.push_back(fmt::format("At the paper's scale, as far as it was run: {} and {}.",
                                error(of.points.front() + kAtScale),
                                error("best point" + std::string(kAtScale))));
  words.push_back(missed.empty() ? "Each claim is reached by some point."
                                 : fmt::format("No point reaches: {}.", fmt::join(missed, "; ")));
  return section_of(of.side, of.points.size() - 1, best, bars, std::move(words));
}

}  // namespace

Result<std::vector<report::Section>, FileError> calibration_sections(
    const std::filesystem::path& table) {
  const auto sides = read_points(table);
  if (!sides) return sides.error();
  std::vector<report::Section> sections;
  for (const Listed& side : sides.value()) {
    if (side.points.size() > 1) sections.push_back(section_of(side));
  }
  return sections;
}

std::string calibration_csv(const std::vector<Found>& all) {
  std::string text = "side,point,error,row,claim,paper,ours,claim_error,reached\n";
  for (const Found& found : all) {
    const auto add = [&](const std::string& point, const Score& score) {
      for (const Miss& miss : score.claims) {
        text += fmt::format("{},{},{},{},{},{},{},{},{}\n", found.side->name, csv_cell(point),
                            score.error, miss.row, csv_cell(miss.says), miss.paper, miss.ours,
                            miss.error, miss.reached ? 1 : 0);
      }
    };
    add("defaults", found.standard);
    for (const Tried& tried : found.tried) add(point_text(*found.side, tried.point), tried.score);
    add(std::string("defaults") + kHeldOut, found.held_out_standard);
    add(std::string("best point") + kHeldOut, found.held_out);
    const auto add_at = [&](const Found::AtScale& at, const std::string& which) {
      add("defaults" + which, at.standard);
      add("best point" + which, at.best);
      for (const Tried& tried : at.named)
        add(point_text(*found.side, tried.point) + which, tried.score);
    };
    if (found.confirmed) add_at(*found.confirmed, kAtScale);
    if (found.confirmed_held_out)
      add_at(*found.confirmed_held_out, std::string(kHeldOut) + kAtScale);
  }
  return text;
}

}  // namespace strack::paper
