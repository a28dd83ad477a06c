#include "planner/plan_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "transports/registry.h"

namespace strack::planner {
namespace {

using report::Label;

Label label_of(const std::string& scheme) {
  const transports::Found found = transports::find(scheme);
  return {std::string(found.scheme->label), std::string(found.scheme->role)};
}

report::XyFigure pareto(const Plan& plan, const std::vector<Option>& options) {
  report::XyFigure figure;
  figure.id = "plan-pareto";
  figure.title = "Step time over cost";
  figure.caption =
      "Each point is a network under a transport: what it costs, and the slowest job's or flow's "
      "time, the median over seeds with the least and the largest. The dashed line joins those "
      "that none beats in both.";
  figure.x = {"cost", "count", "linear", {}};
  figure.y = {"step time", "us", "linear", {}};
  for (std::size_t s = 0; s < plan.schemes.size(); ++s) {
    report::Series series{label_of(plan.schemes[s]), "points", false, {}};
    for (const Option& one : options) {
      if (one.scheme != s || one.time.count == 0) continue;
      series.points.push_back(
          one.time.count > 1 ? report::Point{one.cost, one.time.median, one.time.low, one.time.high}
                             : report::Point{one.cost, one.time.median});
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  // The dots do not say which network they are: lines through them do.
  std::map<double, std::string> names;
  for (const Option& one : options) {
    if (one.scheme != 0 || std::isnan(one.cost)) continue;
    std::string& name = names[one.cost];
    name += (name.empty() ? "" : ", ") + plan.networks[one.network].name;
  }
  for (const auto& [cost, name] : names) figure.marks.push_back({"x", cost, name});
  report::Series front{{"none is better in both", "ideal"}, "line", true, {}};
  for (const Option& one : options) {
    if (one.best) front.points.push_back({one.cost, one.time.median});
  }
  std::sort(front.points.begin(), front.points.end(),
            [](const auto& a, const auto& b) { return a.x < b.x; });
  if (!front.points.empty()) figure.series.push_back(std::move(front));
  return figure;
}

report::BarsFigure failures(const Plan& plan, const std::vector<Option>& options) {
  report::BarsFigure figure;
  figure.id = "plan-failures";
  figure.title = "What failures cost";
  figure.caption =
      "How many times as long the step takes with each failure, medians over seeds; the whiskers "
      "are the "
      "largest over the least without it, and the other way round.";
  figure.y = {"times as long", "x", "linear", {}};
  figure.horizontal = true;
  for (std::size_t f = 0; f < plan.failures.size(); ++f)
    figure.series.push_back({{plan.failures[f].name, "other"}, {}, {}, {}});
  for (const Option& one : options) {
    const auto tried = [](const report::Spread& s) { return s.count > 0; };
    if (std::none_of(one.failing.begin(), one.failing.end(), tried)) continue;
    figure.categories.push_back(name_of(plan, one));
    for (std::size_t f = 0; f < plan.failures.size(); ++f) {
      const report::Spread times = times_as_long(one, f);
      figure.series[f].values.push_back(times.median);
      figure.series[f].low.push_back(times.count > 1 ? times.low : report::kUnknown);
      figure.series[f].high.push_back(times.count > 1 ? times.high : report::kUnknown);
    }
  }
  return figure;
}

/// Where the mix has several workloads: the slowest of each, without failures.
std::optional<report::Table> parts_table(const Plan& plan, const std::vector<Option>& options) {
  report::Table table{"plan-parts",
                      "Each workload: its slowest job or flow, without failures (us)",
                      {{"network", "left"}, {"transport", "left"}},
                      {}};
  std::vector<std::string> names;
  for (const Option& one : options) {
    for (const Part& part : one.parts) {
      if (std::find(names.begin(), names.end(), part.workload) == names.end())
        names.push_back(part.workload);
    }
  }
  if (names.size() < 2) return std::nullopt;
  for (const std::string& name : names) table.columns.push_back({name, "right"});
  for (const Option& one : options) {
    std::vector<report::Cell> row{plan.networks[one.network].name,
                                  label_of(plan.schemes[one.scheme]).name};
    for (const std::string& name : names) {
      const auto part = std::find_if(one.parts.begin(), one.parts.end(),
                                     [&](const Part& p) { return p.workload == name; });
      row.emplace_back(part == one.parts.end() ? report::kUnknown : part->time.median);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "3 networks"
std::string so_many(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string name_of(const Plan& plan, const Option& option) {
  return fmt::format("{}, {}", plan.networks[option.network].name,
                     label_of(plan.schemes[option.scheme]).name);
}

report::Table plan_table(const Plan& plan, const std::vector<Option>& options) {
  report::Table table{"plan-table",
                      "All of them",
                      {{"network", "left"},
                       {"transport", "left"},
                       {"none better", "left"},
                       {"cost"},
                       {"step (us)"},
                       {"least"},
                       {"largest"}},
                      {}};
  for (const Failure& failure : plan.failures)
    table.columns.push_back({failure.name + " (x)", "right"});
  // In a column of its own, so that numbers are numbers for other programs.
  if (!plan.failures.empty()) table.columns.push_back({"within the spread of seeds", "left"});
  for (const Option& one : options) {
    std::vector<report::Cell> row{plan.networks[one.network].name,
                                  label_of(plan.schemes[one.scheme]).name,
                                  one.best ? "yes" : "",
                                  one.cost,
                                  one.time.median,
                                  one.time.low,
                                  one.time.high};
    std::string alike;  // failures whose cost may be chance
    for (std::size_t f = 0; f < plan.failures.size(); ++f) {
      row.emplace_back(times_as_long(one, f).median);
      if (within_spread(one, f)) alike += (alike.empty() ? "" : ", ") + plan.failures[f].name;
    }
    if (!plan.failures.empty()) row.emplace_back(alike);
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Report plan_report(const Plan& plan, const std::vector<Option>& options) {
  report::Report page;
  page.title = fmt::format("Plan: {}", plan.name);
  page.lead.push_back(fmt::format(
      "`{}` on {} under {}, {}{}. A switch costs {}, its port {}, a host's port {}, a link {}.",
      plan.scenario.filename().string(), so_many(plan.networks.size(), "network"),
      so_many(plan.schemes.size(), "transport"), so_many(plan.seeds.size(), "seed"),
      plan.failures.empty() ? ""
                            : ", with " + so_many(plan.failures.size(), "failure") + " each alone",
      plan.prices.switches, plan.prices.switch_port, plan.prices.host_port, plan.prices.link));
  for (const Option& one : options) {
    for (const std::string& run : one.unfinished)
      page.notices.push_back({"warning", fmt::format("{}, {}. not all flows and jobs were done, so "
                                                     "it has no step time",
                                                     name_of(plan, one), run)});
  }
  if (plan.seeds.size() == 1) {
    page.notices.push_back(
        {"info",
         "One seed: how much of a difference is chance is not known. `seeds = \"1-3\"` shows it."});
  }
  report::Section section;
  section.id = "plan";
  section.title = "Networks and transports";
  section.figures.emplace_back(pareto(plan, options));
  if (!plan.failures.empty()) section.figures.emplace_back(failures(plan, options));
  section.tables.push_back(plan_table(plan, options));
  if (auto parts = parts_table(plan, options)) section.tables.push_back(*std::move(parts));
  page.sections.push_back(std::move(section));
  return page;
}

}  // namespace strack::planner
