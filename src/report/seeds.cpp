#include "report/seeds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace strack::report {

Table seed_table(std::string id, std::string title, std::span<const LabelledSummary> runs) {
  Table table{std::move(id), std::move(title), {}, {}};
  for (const char* name : {"run", "size"}) table.columns.push_back({name, "left"});
  for (const char* name : {"seeds", "max (us)", "least", "largest", "mean (us)", "p99 (us)",
                           "x ideal", "drops", "resent", "utilisation"}) {
    table.columns.push_back({name, "right"});
  }
  using Place = std::pair<std::string, std::string>;
  std::vector<Place> order;
  std::map<Place, std::vector<const metrics::Summary*>> groups;
  for (const LabelledSummary& run : runs) {
    const auto size = scenario_size(run.summary.run, "workload.size");
    const Place place{run.label.name, size ? size_text(*size) : std::string()};
    auto& group = groups[place];
    if (group.empty()) order.push_back(place);
    group.push_back(&run.summary);
  }
  for (const Place& place : order) {
    const std::vector<const metrics::Summary*>& group = groups[place];
    const auto over = [&](auto value) {
      std::vector<double> values;
      for (const metrics::Summary* one : group) values.push_back(value(run_row("", *one), *one));
      return spread_of(std::move(values));
    };
    const Spread slowest = over([](const Run& run, const auto&) { return run.max_us; });
    table.rows.push_back(
        {place.first, place.second, Cell(std::uint64_t{group.size()}), slowest.median, slowest.low,
         slowest.high, over([](const Run& run, const auto&) { return run.mean_us; }).median,
         over([](const Run& run, const auto&) { return run.p99_us; }).median,
         over([](const Run& run, const auto&) { return run.slowdown; }).median,
         over([](const Run& run, const auto&) { return run.drops; }).median,
         over([](const Run& run, const auto&) { return run.retransmissions; }).median,
         over([](const Run&, const auto& s) { return utilisation(s); }).median});
  }
  return table;
}

std::vector<std::size_t> worth_showing(std::span<const Candidate> runs, std::size_t most) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<std::size_t> empty;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].recorded) {
      empty.push_back(i);
      continue;
    }
    auto& group = groups[runs[i].configuration];
    if (group.empty()) order.push_back(runs[i].configuration);
    group.push_back(i);
  }
  // An even choice of configurations first, where they are too many.
  std::vector<std::string> first;
  std::vector<std::string> rest;
  const std::size_t room = std::min(most, order.size());
  for (std::size_t i = 0, taken = 0; i < order.size(); ++i) {
    const bool due = room > 0 && taken < room && i == taken * order.size() / room;
    taken += due ? 1 : 0;
    (due ? first : rest).push_back(order[i]);
  }
  first.insert(first.end(), rest.begin(), rest.end());

  std::size_t deepest = 0;
  for (auto& [name, group] : groups) {
    // Those without a value, which have not finished, are worse than all others.
    const auto rank = [&](std::size_t i) {
      return std::isnan(runs[i].value) ? HUGE_VAL : runs[i].value;
    };
    std::stable_sort(group.begin(), group.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    std::vector<std::size_t> turns{group[(group.size() - 1) / 2], group.back(), group.front()};
    turns.insert(turns.end(), group.begin(), group.end());
    std::vector<std::size_t> once;
    for (const std::size_t i : turns) {
      if (std::find(once.begin(), once.end(), i) == once.end()) once.push_back(i);
    }
    group = std::move(once);
    deepest = std::max(deepest, group.size());
  }
  std::vector<std::size_t> all;
  for (std::size_t turn = 0; turn < deepest; ++turn) {
    for (const std::string& name : first) {
      if (turn < groups[name].size()) all.push_back(groups[name][turn]);
    }
  }
  all.insert(all.end(), empty.begin(), empty.end());
  return all;
}

}  // namespace strack::report
