#include "league/standings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::league {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The middle one, or the mean of the two; never, where one of those is never.
double median_of(std::vector<double> values) {
  STRACK_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() % 2 == 1 || !std::isfinite(values[half])) return values[half];
  return values[half - 1] + (values[half] - values[half - 1]) / 2;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::optional<double> number_of(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// What several runs say, as one. Where they differ in numbers alone, the least and the largest of each: "9 to 13 of
/// 128 flows left". Else what the last one says.
std::string together(const std::vector<std::string>& texts) {
  struct Range {
    std::string low, high;
  };
  std::vector<Range> ranges;
  for (const std::string& word : words_of(texts.back())) ranges.push_back({word, word});
  for (const std::string& text : texts) {
    const std::vector<std::string> words = words_of(text);
    if (words.size() != ranges.size()) return texts.back();
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto& [low, high] = ranges[i];
      const auto number = number_of(words[i]);
      if (words[i] == low) continue;
      if (!number || !number_of(low)) return texts.back();
      if (*number < *number_of(low)) low = words[i];
      if (*number > *number_of(high)) high = words[i];
    }
  }
  std::string text;
  for (const auto& [low, high] : ranges) {
    if (!text.empty()) text += ' ';
    text += low == high ? low : fmt::format("{} to {}", low, high);
  }
  return text;
}

using Key = std::pair<std::string, std::uint64_t>;  ///< case and seed
using Bounds = std::map<Key, double>;

Bounds least_bounds(const std::vector<Outcome>& outcomes) {
  Bounds least;
  for (const Outcome& one : outcomes) {
    if (one.bound_us <= 0) continue;
    const auto [found, fresh] = least.try_emplace({one.of, one.seed}, one.bound_us);
    if (!fresh) found->second = std::min(found->second, one.bound_us);
  }
  return least;
}

Cell cell_of(const std::vector<const Outcome*>& runs, const Bounds& bounds) {
  Cell cell;
  cell.seeds = runs.size();
  if (runs.empty()) return cell;
  std::vector<double> times;
  std::vector<double> times_us;
  std::vector<std::string> reasons;  // of the worst ending
  for (const Outcome* run : runs) {
    const auto bound = bounds.find({run->of, run->seed});
    const bool known = bound != bounds.end();
    const double over = known ? run->time_us / bound->second : kNever;
    if (run->ending == Ending::finished) {
      times.push_back(over);
      times_us.push_back(run->time_us);
      continue;
    }
    times.push_back(kNever);
    times_us.push_back(kNever);
    ++cell.unfinished;
    if (run->ending > cell.ending) reasons.clear();
    if (run->ending >= cell.ending) {
      cell.ending = run->ending;
      reasons.push_back(run->why);
      cell.at_least = known ? over : 0;
    }
  }
  if (!reasons.empty()) cell.why = together(reasons);
  cell.worst = *std::max_element(times.begin(), times.end());
  cell.worst_us = *std::max_element(times_us.begin(), times_us.end());
  cell.median = median_of(std::move(times));
  cell.median_us = median_of(std::move(times_us));
  return cell;
}

void add_up(Standing& row) {
  double ranks = 0;
  double logs = 0;
  for (const Cell& cell : row.cells) {
    if (cell.seeds == 0) continue;
    ++row.ran;
    ranks += static_cast<double>(cell.rank);
    row.unfinished += cell.unfinished > 0;
    row.worst = std::max(row.worst, cell.median);
    if (!std::isfinite(cell.median)) continue;
    row.firsts += cell.rank == 1;
    ++row.finished;
    logs += std::log(cell.median);
  }
  if (row.ran > 0) row.mean_rank = ranks / static_cast<double>(row.ran);
  if (row.finished > 0) row.mean = std::exp(logs / static_cast<double>(row.finished));
}

Cost cost_of(const std::vector<Outcome>& outcomes, const std::string& scheme) {
  Cost cost;
  double packets = 0;
  for (const Outcome& one : outcomes) {
    if (one.scheme != scheme) continue;
    packets += one.packets;
    cost.deepest_queue = std::max(cost.deepest_queue, one.deepest_queue);
    cost.headroom = std::max(cost.headroom, one.headroom);
    cost.drops += one.drops;
    cost.trims += one.trims;
    cost.resent += one.resent;
    cost.control += one.control;
    cost.pauses += one.pauses;
    cost.cpu_s += one.cpu_s;
  }
  if (packets == 0) return cost;
  for (double* each : {&cost.drops, &cost.trims, &cost.resent, &cost.control}) *each /= packets;
  cost.pauses *= 1000 / packets;
  return cost;
}

}  // namespace

std::vector<std::size_t> ranks(const std::vector<double>& medians) {
  std::vector<std::size_t> all;
  for (const double own : medians) {
    if (!std::isfinite(own)) {
      all.push_back(medians.size());
      continue;
    }
    all.push_back(
        1 + static_cast<std::size_t>(std::count_if(
                medians.begin(), medians.end(), [&](double other) { return other * kTie < own; })));
  }
  return all;
}

Standings judge(const std::vector<Outcome>& outcomes) {
  Standings standings;
  const Bounds bounds = least_bounds(outcomes);
  for (const Case& one : cases()) {
    std::vector<double> of_seeds;
    for (const auto& [key, bound] : bounds) {
      if (key.first == one.id) of_seeds.push_back(bound);
    }
    if (std::none_of(outcomes.begin(), outcomes.end(),
                     [&](const Outcome& o) { return o.of == one.id; })) {
      continue;
    }
    standings.cases.push_back(&one);
    standings.bound_us.push_back(of_seeds.empty() ? 0 : median_of(std::move(of_seeds)));
  }
  std::map<std::pair<std::string, std::string>, std::vector<const Outcome*>> runs;
  for (const Outcome& one : outcomes) {
    runs[{one.scheme, one.of}].push_back(&one);
    auto row = std::find_if(standings.rows.begin(), standings.rows.end(),
                            [&](const Standing& s) { return s.scheme == one.scheme; });
    if (row == standings.rows.end()) {
      standings.rows.emplace_back();
      row = standings.rows.end() - 1;
      row->scheme = one.scheme;
      row->label = one.label;
    }
    if (row->fabric.empty()) row->fabric = one.fabric;
  }
  for (Standing& row : standings.rows) {
    for (const Case* one : standings.cases) {
      row.cells.push_back(cell_of(runs[{row.scheme, std::string(one->id)}], bounds));
      standings.seeds = std::max(standings.seeds, row.cells.back().seeds);
    }
    row.cost = cost_of(outcomes, row.scheme);
  }
  for (std::size_t i = 0; i < standings.cases.size(); ++i) {
    std::vector<Cell*> ran;
    std::vector<double> medians;
    for (Standing& row : standings.rows) {
      if (row.cells[i].seeds == 0) continue;
      ran.push_back(&row.cells[i]);
      medians.push_back(row.cells[i].median);
    }
    const std::vector<std::size_t> places = ranks(medians);
    for (std::size_t k = 0; k < ran.size(); ++k) ran[k]->rank = places[k];
  }
  for (Standing& row : standings.rows) add_up(row);
  std::stable_sort(standings.rows.begin(), standings.rows.end(),
                   [](const Standing& a, const Standing& b) {
                     return std::tie(a.mean_rank, a.mean) < std::tie(b.mean_rank, b.mean);
                   });
  return standings;
}

std::string times_text(double times) {
  if (!std::isfinite(times)) return "never";
  return fmt::format("{:.{}f}", times, times >= 99.95 ? 0 : times >= 9.995 ? 1 : 2);
}

std::string mean_text(const Standing& row) {
  if (row.finished == 0) return "-";
  const std::string mean = times_text(row.mean);
  if (row.finished == row.ran) return mean;
  return fmt::format("{} ({} of {})", mean, row.finished, row.ran);
}

std::string cell_text(const Cell& cell) {
  if (cell.seeds == 0) return "";
  if (std::isfinite(cell.median)) return times_text(cell.median);
  switch (cell.ending) {
    case Ending::stalled:
      return "stuck";
    case Ending::failed:
      return "fails";
    case Ending::cannot:
      return "cannot";
    default:
      return fmt::format(">{:.0f}", std::floor(cell.at_least));
  }
}

}  // namespace strack::league
