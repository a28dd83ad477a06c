// What the runs decide: each check by its rule, each row by its checks.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paper/evidence.h"
#include "report/figures.h"

namespace strack::paper {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::reproduced:
      return "reproduced";
    case Verdict::partly:
      return "partly";
    case Verdict::not_reproduced:
      return "not";
    case Verdict::open:
      return "open";
  }
  return "open";
}

std::string value_text(double value, const std::string& unit, int more) {
  if (!std::isfinite(value)) return value > 0 ? "any" : "none";
  const double size = std::abs(value);
  // Enough to see on which side of a limit near 1 it is, and that a small number is not 0.
  const bool fine = (size > 0.9 && size < 1.105) || (size > 0 && size < 0.1);
  const int digits = size >= 100 ? 0 : size >= 10 ? 1 : fine ? 3 : 2;
  std::string text = fmt::format("{:.{}f}", value, digits + more);
  if (text.find('.') != text.npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  if (unit.empty()) return text;
  return unit == "x" ? text + "x" : text + " " + unit;
}

namespace {
std::string range_text(const Range& range, const std::string& unit, int more) {
  const std::string low = value_text(range.low, unit, more);
  const std::string high = value_text(range.high, unit, more);
  if (std::isinf(range.low) && std::isinf(range.high)) return "whatever it is";
  if (std::isinf(range.high)) return "from " + low;
  if (std::isinf(range.low)) return "up to " + high;
  if (range.low == range.high) return "at " + low;
  return "from " + low + " to " + high;
}

Verdict verdict_of(const Check& check, double value) {
  if (check.reproduced.contains(value)) return Verdict::reproduced;
  if (check.partly && check.partly->contains(value)) return Verdict::partly;
  return Verdict::not_reproduced;
}

/// Numbers in the place of {names}; nothing where one of them is missing, as of sizes that a smaller scale
/// does not run: the paragraph would speak of other runs than there are.
Result<std::optional<std::string>, FileError> fill(const Row& row, const std::string& text,
                                                   Evidence& evidence) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += text[i++];
      continue;
    }
    const std::string name = text.substr(i + 1, end - i - 1);
    const auto found = row.numbers.find(name);
    if (found == row.numbers.end()) {
      return FileError{fmt::format("{}: explain names {{{}}}, which [paper.numbers] does not have",
                                   row.file.string(), name)};
    }
    const auto values = evidence.values(found->second);
    if (!values) return FileError{fmt::format("{}: {}", row.file.string(), values.error().message)};
    if (values.value().empty()) return std::optional<std::string>();
    out += value_text(report::spread_of(values.value()).median, "");
    i = end + 1;
  }
  return std::optional(std::move(out));
}

/// A seed that drops out is said: the others would pass for all.
std::optional<FileError> say_what_is_missing(Evidence& evidence, const Row& row,
                                             const Check& check) {
  const auto without = evidence.seeds_without(check.value);
  if (!without) return FileError{fmt::format("{}: {}", row.file.string(), without.error().message)};
  if (without.value().empty()) return std::nullopt;
  evidence.add_problem(fmt::format("{}: \"{}\" has no number of seed {}, so it is judged without",
                                   row.id, check.says, fmt::join(without.value(), ", ")));
  return std::nullopt;
}
}  // namespace

std::string rule_text(const Check& check, int more) {
  std::string text = "reproduced " + range_text(check.reproduced, check.unit, more);
  if (check.partly) text += ", partly " + range_text(*check.partly, check.unit, more);
  return text;
}

int digits_apart(const Check& check, double value) {
  std::vector<double> limits{check.reproduced.low, check.reproduced.high};
  if (check.partly) limits.insert(limits.end(), {check.partly->low, check.partly->high});
  constexpr int kMost = 3;
  for (int more = 0; more < kMost; ++more) {
    const std::string text = value_text(value, check.unit, more);
    if (std::none_of(limits.begin(), limits.end(), [&](double limit) {
          return verdict_of(check, limit) != verdict_of(check, value) &&
                 value_text(limit, check.unit, more) == text;
        })) {
      return more;
    }
  }
  return kMost;
}

Result<std::vector<RowFinding>, FileError> judge(Evidence& evidence, const std::vector<Row>& rows) {
  std::vector<RowFinding> all;
  for (const Row& row : rows) {
    RowFinding& finding = all.emplace_back();
    finding.row = &row;
    std::size_t good = 0;
    std::size_t bad = 0;
    const Evidence::Count& count = evidence.count(row.id);
    bool open = row.checks.empty() || (count.done < count.planned && !count.has_whole_seed);
    for (const Check& check : row.checks) {
      if (check.full_only && evidence.scale() != kFullScale) continue;
      Finding& one = finding.findings.emplace_back();
      one.check = &check;
      const auto values = evidence.values(check.value);
      if (!values) {
        return FileError{fmt::format("{}: {}", row.file.string(), values.error().message)};
      }
      one.values = values.value();
      if (one.values.empty()) {
        open = true;
        continue;
      }
      if (const auto error = say_what_is_missing(evidence, row, check)) return *error;
      const report::Spread spread = report::spread_of(one.values);
      one.median = spread.median;
      one.low = spread.low;
      one.high = spread.high;
      one.verdict = verdict_of(check, one.median);
      good += one.verdict == Verdict::reproduced;
      bad += one.verdict == Verdict::not_reproduced;
    }
    finding.verdict = open                              ? Verdict::open
                      : good == finding.findings.size() ? Verdict::reproduced
                      : bad == finding.findings.size()  ? Verdict::not_reproduced
                                                        : Verdict::partly;
    for (const std::string& paragraph : row.explain) {
      const auto filled = fill(row, paragraph, evidence);
      if (!filled) return filled.error();
      if (filled.value()) finding.explanation.push_back(*filled.value());
    }
  }
  return all;
}

}  // namespace strack::paper
