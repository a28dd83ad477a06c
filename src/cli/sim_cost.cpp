// `strack sim cost`: what workloads cost each other. Each is run alone and all of them together, with
// the same flows on the same hosts.
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/text.h"
#include "cli/workloads_text.h"
#include "metrics/summary.h"
#include "run/run.h"
#include "run/sweep.h"
#include "sim/scenario/scenario.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

/// "strack, seed 2": all labels but which workload, which is the last axis.
std::string label_of(const run::SweepRun& one) {
  std::string text;
  for (std::size_t i = 0; i + 2 < one.labels.size(); ++i) text += one.labels[i] + ", ";
  return text + "seed " + one.labels.back();
}

}  // namespace

int sim_cost(const SweepOptions& options) {
  if (const int bad = check_means(options.gpu, options.batch, options.dry_run)) return bad;
  const auto loaded = sim::load(options.file);
  if (!loaded) return fail(loaded.error().text());
  const sim::Scenario& scenario = loaded.value();
  if (scenario.workloads.size() < 2) {
    return fail(
        fmt::format("{}: it has one workload. what they cost each other takes two or more: "
                    "write [[workload]] above the keys of each",
                    options.file.string()));
  }
  fs::path folder = options.out;
  if (folder.empty())
    folder = fs::path("results") / fmt::format("{}-cost", run::safe_name(scenario.name));
  std::vector<std::string> set = options.set;
  std::string& only = set.emplace_back("run.only=\"all\"");
  for (const sim::WorkloadSpec& w : scenario.workloads) only += fmt::format(",\"{}\"", w.name);
  auto planned = run::plan_sweep(
      {options.file, set, options.seeds, folder, options.force, options.gpu.engine});
  if (!planned) return fail(planned.error().message);
  std::vector<run::SweepRun>& runs = planned.value().runs;
  std::vector<run::PoolRun*> pool;
  for (run::SweepRun& one : runs) pool.push_back(&one);
  if (options.dry_run) return list_runs(pool);
  if (!options.quiet && !options.json && !options.csv) {
    fmt::print("{}, results in {}\n", count_of(runs.size(), "run"), folder.string());
    std::fflush(stdout);
  }
  const auto made = run_pool(view_of(options, folder), pool);
  if (!made) return fail(made.error().message, 1);
  if (!made.value() && signal_came()) {
    fmt::print(stderr, "not all runs are done; the same command goes on from here\n");
    return kInterruptedStatus;
  }

  // The last axis changes fastest, then come the seeds of each of its values.
  std::vector<CostRuns> costs;
  std::string warnings;
  for (const run::SweepRun& one : runs) {
    if (!one.failure.empty()) return fail(one.failure);
    auto summary = metrics::summarise(one.out);
    if (!summary) return fail(summary.error().message);
    warnings += warnings_text(one.out.string(), summary.value());
    const std::string label = label_of(one);
    auto at = costs.begin();
    while (at != costs.end() && at->label != label) ++at;
    if (at == costs.end()) at = costs.insert(at, CostRuns{label, {}, {}});
    if (summary.value().workloads.size() == scenario.workloads.size()) {
      at->together = std::move(summary.value());
    } else {
      at->alone.push_back(std::move(summary.value()));
    }
  }
  for (const CostRuns& one : costs) {
    if (one.together.workloads.size() != one.alone.size()) {
      return fail(
          fmt::format("{}: its runs have other workloads than the file. --set changes keys of "
                      "workloads that are there, it adds none",
                      options.file.string()));
    }
  }
  if (options.json || options.csv) {
    fmt::print("{}", options.json ? cost_json(costs) + "\n" : cost_csv(costs));
    return 0;
  }
  fmt::print("\n{}", cost_text(costs));
  if (!warnings.empty()) fmt::print("\n{}", warnings);
  fmt::print("results: {}\n", folder.string());
  return 0;
}

}  // namespace strack::cli
