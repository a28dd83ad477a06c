// Sweeps and comparisons: many runs, in a pool.
#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "cli/data_text.h"
#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/text.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/sweep.h"
#include "sim/scenario/scenario.h"
#include "transports/registry.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

void announce(const std::vector<run::SweepRun>& runs, const fs::path& folder) {
  const auto there =
      std::count_if(runs.begin(), runs.end(), [](const run::SweepRun& r) { return r.there; });
  fmt::print("{}{}, results in {}\n", count_of(runs.size(), "run"),
             there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
             folder.string());
  std::fflush(stdout);
}

/// What went wrong with a run.
std::string troubles_of(const run::SweepRun& one) {
  std::string text;
  if (!one.gpu_failure.empty())
    text += fmt::format("!! run by the processor, since the GPU did not: {}\n", one.gpu_failure);
  if (!one.failure.empty()) text += fmt::format("!! {}\n", one.failure);
  return text;
}

}  // namespace

PoolView view_of(const SweepOptions& options, const fs::path& folder) {
  PoolView view{options.jobs, options.threads, options.quiet || options.json};
  view.batch = options.batch;
  view.batch.folder = folder;
  use_gpu(options.gpu, view);
  return view;
}

int sim_sweep(const SweepOptions& options) {
  if (const int bad = check_means(options.gpu, options.batch, options.dry_run)) return bad;
  fs::path folder = options.out;
  if (folder.empty()) {
    const auto loaded = sim::load(options.file);
    if (!loaded) return fail(loaded.error().text());
    folder = fs::path("results") / fmt::format("{}-{}", run::safe_name(loaded.value().name),
                                               options.compare ? "compare" : "sweep");
  }
  auto planned = run::plan_sweep(
      {options.file, options.set, options.seeds, folder, options.force, options.gpu.engine});
  if (!planned) return fail(planned.error().message);
  const std::vector<run::Axis>& axes = planned.value().axes;
  std::vector<run::SweepRun>& runs = planned.value().runs;
  std::vector<run::PoolRun*> pool;
  for (run::SweepRun& one : runs) pool.push_back(&one);
  if (const auto& unread = planned.value().unread; !unread.empty() && !options.quiet) {
    fmt::print(stderr, "warning: nothing in these runs reads {}\n", fmt::join(unread, ", "));
  }
  if (options.dry_run) return list_runs(pool);
  const bool quiet = options.quiet || options.json || options.csv;
  if (!quiet) announce(runs, folder);
  const auto made = run_pool(view_of(options, folder), pool);
  if (!made) return fail(made.error().message, 1);
  const bool whole = made.value();

  // The seed is worth a column where it tells runs apart.
  const bool show_seed =
      axes.empty() || std::any_of(runs.begin(), runs.end(), [&](const run::SweepRun& one) {
        return one.seed != runs.front().seed;
      });
  std::vector<std::string> names;
  for (const run::Axis& axis : axes) names.emplace_back(axis.short_name());
  if (show_seed) names.emplace_back("seed");
  std::vector<SummaryRow> rows;
  std::vector<NamedSummary> data;
  std::string warnings;
  std::size_t failed = 0;
  for (const run::SweepRun& one : runs) {
    warnings += troubles_of(one);
    if (!one.failure.empty()) ++failed;
    if (!one.there && !one.done) continue;
    const auto summary = metrics::summarise(one.out);
    if (!summary) {
      warnings += fmt::format("!! {}\n", summary.error().message);
      ++failed;
      continue;
    }
    SummaryRow& row = rows.emplace_back();
    row.labels = one.labels;
    if (!show_seed) row.labels.pop_back();
    row.summary = summary.value();
    data.push_back({one.out.string(), summary.value()});
    warnings += warnings_text(one.out.string(), summary.value());
  }
  if (options.json || options.csv) {
    fmt::print("{}", options.json ? json_list(data) : csv_list(data));
    return failed > 0 ? 1 : whole ? 0 : kInterruptedStatus;
  }
  fmt::print("{}{}", quiet ? "" : "\n", table_text(names, rows, options.compare));
  if (!warnings.empty()) fmt::print("\n{}", warnings);
  if (!whole && signal_came()) {
    fmt::print("\n{} done; the same command goes on from here\n",
               part_of(rows.size(), runs.size(), "run"));
  }
  fmt::print("results: {}\n", folder.string());
  if (!whole && signal_came()) return kInterruptedStatus;
  if (failed > 0) fail(fmt::format("{} of {} failed", failed, count_of(runs.size(), "run")));
  return failed > 0 ? 1 : 0;
}

int sim_schemes(const Formats& formats) {
  Table table({"scheme", "label"}, 2);
  for (const transports::Descriptor* transport : transports::all()) {
    for (const transports::Scheme& scheme : transport->schemes) {
      if (!formats.json && !formats.csv) fmt::print("{:<20} {}\n", scheme.name, scheme.label);
      table.add({std::string(scheme.name), std::string(scheme.label)});
    }
  }
  static_cast<void>(table.print_as(formats));
  return 0;
}

}  // namespace strack::cli
