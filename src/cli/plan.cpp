#include "cli/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/text.h"
#include "metrics/summary.h"
#include "planner/plan.h"
#include "planner/plan_report.h"
#include "report/csv.h"
#include "report/save.h"
#include "run/build_info.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using planner::Option;
using planner::Plan;

std::string times(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}x", value); }

std::string table_text(const Plan& plan, const std::vector<Option>& options) {
  std::vector<std::string> header{"network",   "scheme", "none better", "cost",
                                  "step (us)", "least",  "largest"};
  for (const planner::Failure& failure : plan.failures) header.push_back(failure.name);
  Table table(std::move(header), 3);
  const auto us_text = [](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.1f}", value);
  };
  for (const Option& one : options) {
    std::vector<std::string> row{plan.networks[one.network].name,
                                 plan.schemes[one.scheme],
                                 one.best ? "*" : "",
                                 std::isnan(one.cost) ? "-" : fmt::format("{:.0f}", one.cost),
                                 us_text(one.time.median),
                                 us_text(one.time.low),
                                 us_text(one.time.high)};
    for (std::size_t f = 0; f < plan.failures.size(); ++f) {
      row.push_back(times(planner::times_as_long(one, f).median) +
                    (planner::within_spread(one, f) ? "~" : ""));
    }
    table.add(std::move(row));
  }
  return table.text();
}

Json json_of(const Plan& plan, const std::vector<Option>& options) {
  const auto number = [](double value) { return std::isnan(value) ? Json(nullptr) : Json(value); };
  const auto spread = [&](const report::Spread& s) {
    return Json{{"median", number(s.median)},
                {"low", number(s.low)},
                {"high", number(s.high)},
                {"seeds", s.count}};
  };
  Json all = Json::array();
  for (const Option& one : options) {
    Json failing = Json::object();
    for (std::size_t f = 0; f < plan.failures.size(); ++f)
      failing[plan.failures[f].name] = spread(one.failing[f]);
    Json parts = Json::object();
    for (const planner::Part& part : one.parts) parts[part.workload] = spread(part.time);
    all.push_back({{"network", plan.networks[one.network].name},
                   {"scheme", plan.schemes[one.scheme]},
                   {"cost", number(one.cost)},
                   {"step_us", spread(one.time)},
                   {"failing_us", std::move(failing)},
                   {"workloads_us", std::move(parts)},
                   {"none_better", one.best},
                   {"unfinished", one.unfinished}});
  }
  return all;
}

/// Which runs left something behind, and why. How many.
std::size_t tell_unfinished(const Plan& plan, const std::vector<Option>& options) {
  std::size_t count = 0;
  for (const Option& one : options) {
    for (const std::string& run : one.unfinished) {
      ++count;
      fmt::print(stderr, "warning: {}, {}: not all was done, so it has no step time\n",
                 planner::name_of(plan, one), run);
    }
  }
  return count;
}

/// What failures make impossible on a network, whatever the scheme and the seed: once each.
void tell_impossible(const Plan& plan, const std::vector<planner::PlannedRun>& runs,
                     report::Report& page) {
  std::set<std::pair<std::size_t, std::size_t>> told;
  for (const planner::PlannedRun& one : runs) {
    if (!one.impossible() || !told.emplace(one.network, *one.broken).second) continue;
    const std::string reason =
        fmt::format("{} with \"{}\" cannot run: {}", plan.networks[one.network].name,
                    plan.failures[*one.broken].name, one.failure);
    fmt::print(stderr, "warning: {}\n", reason);
    page.notices.push_back({"warning", reason});
  }
}

}  // namespace

int plan(const PlanOptions& options) {
  const auto read = planner::read_plan(options.file);
  if (!read) return fail(read.error().text());
  const Plan& plan = read.value();
  const fs::path folder = options.out.empty()
                              ? fs::path("results") / (run::safe_name(plan.name) + "-plan")
                              : options.out;
  auto planned = planner::plan_runs(plan, folder, options.force);
  if (!planned) return fail(planned.error().message);
  std::vector<planner::PlannedRun>& runs = planned.value();
  std::vector<run::PoolRun*> pool;
  for (planner::PlannedRun& one : runs) pool.push_back(&one);
  if (options.dry_run) return list_runs(pool);
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!fs::is_directory(folder)) {
    return fail(fmt::format("{}: the folder cannot be made: {}. choose another --out",
                            folder.string(), failure.message()));
  }
  const bool quiet = options.quiet || options.json || options.csv;
  if (!quiet) {
    fmt::print("{}, results in {}\n", count_of(runs.size(), "run"), folder.string());
    std::fflush(stdout);
  }
  const bool whole = run_pool({options.jobs, options.threads, quiet}, pool).value();
  std::vector<planner::DoneRun> done;
  std::size_t failed = 0;
  for (const planner::PlannedRun& one : runs) {
    if (!one.failure.empty() && !one.impossible()) {
      ++failed;
      static_cast<void>(fail(one.failure, 1));
    }
    if (!one.there && !one.done) continue;
    const auto summary = metrics::summarise(one.out);
    if (!summary) return fail(summary.error().message, 1);
    done.push_back({&one, summary.value()});
  }
  if (!whole && signal_came()) {
    fmt::print("{} done; the same command goes on from here\n",
               part_of(done.size(), runs.size(), "run"));
    return kInterruptedStatus;
  }
  const std::vector<Option> all = planner::options_of(plan, done);
  report::Report page = planner::plan_report(plan, all);
  for (const planner::DoneRun& one : done) {
    const std::string name = one.run->out.filename().string();
    page.runs.push_back(report::run_row(name, one.summary));
    page.runs.back().name = one.run->out.stem().string();  // network, transport, failure and seed
  }
  tell_impossible(plan, runs, page);
  page.made = {run::kBuildInfo.version, run::kBuildInfo.commit, utc_now(),
               fmt::format("strack plan {}", options.file.string())};  // the program's name
  const fs::path file = folder / "plan.html";
  if (const auto error = report::save_page(page, file, {options.force}))
    return fail(error->message, 1);
  if (options.json) {
    fmt::print("{}\n", json_of(plan, all).dump(1, ' ', false, Json::error_handler_t::replace));
  } else if (options.csv) {
    fmt::print("{}", report::csv(planner::plan_table(plan, all)));
  } else {
    fmt::print("{}{}\n* none costs no more and is faster{}. page: {}\n", quiet ? "" : "\n",
               table_text(plan, all),
               plan.failures.empty() || plan.seeds.size() < 2
                   ? ""
                   : "; ~ the difference is within the spread of the seeds",
               file.string());
  }
  const std::size_t unfinished = tell_unfinished(plan, all);
  return failed + unfinished > 0 ? 1 : 0;
}

}  // namespace strack::cli
