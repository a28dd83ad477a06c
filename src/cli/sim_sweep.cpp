// Sweeps and comparisons: many runs, in a pool.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/run_pool.h"
#include "cli/sim.h"
#include "cli/summary_text.h"
#include "cli/sweep_plan.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "sim/scenario/scenario.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

struct Run : PoolRun {
  std::vector<std::string> labels;
};

int fail(const std::string& message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

/// All runs, in the order of the table; whatever is wrong with any of them is found here, before
/// the first one starts.
std::optional<SweepError> plan(const SweepOptions& options, const fs::path& folder,
                               const std::vector<Axis>& axes, std::vector<Run>& runs) {
  std::vector<std::uint64_t> seeds;
  if (!options.seeds.empty()) {
    const auto parsed = parse_seeds(options.seeds);
    if (!parsed) return parsed.error();
    seeds = parsed.value();
  }
  std::map<fs::path, int> taken;
  for (const Combination& combination : product(axes)) {
    std::vector<std::string> set;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      set.push_back(axes[i].key + "=" + combination[i]);
    }
    const auto base = sim::load(options.file, set);
    if (!base) return SweepError{base.error().text()};
    for (const std::uint64_t seed : seeds.empty() ? base.value().seeds : seeds) {
      std::vector<std::string> with_seed = set;
      with_seed.push_back(fmt::format("run.seed={}", seed));
      const auto loaded = sim::load(options.file, with_seed);
      if (!loaded) return SweepError{loaded.error().text()};
      const sim::Scenario& scenario = loaded.value();
      Run& run = runs.emplace_back();
      run.file = options.file;
      run.labels = combination;
      run.labels.push_back(fmt::format("{}", seed));
      run.set = set;
      run.seed = seed;
      run.scenario = sim::to_toml(scenario);
      std::string name = safe_name(scenario.name);
      const bool scheme_varies = std::any_of(axes.begin(), axes.end(), [](const Axis& axis) {
        return axis.key == "transport.scheme";
      });
      if (!scheme_varies) name += fmt::format("-{}", sim::name_of(scenario.scheme));
      if (const std::string part = file_part(axes, combination); !part.empty()) name += "-" + part;
      name += fmt::format("-s{}", seed);
      // Values that differ only in what a file name cannot hold.
      const int times = ++taken[folder / name];
      run.out = folder / (times == 1 ? name + ".db" : fmt::format("{}-{}.db", name, times));
    }
  }
  return std::nullopt;
}

/// Looks at what an earlier sweep left: sets `there`, or says why the file is in the way.
std::optional<metrics::FileError> look(Run& run, bool force) {
  if (force) return std::nullopt;
  const auto old = look_at_old(run);
  if (!old) return old.error();
  run.there = old.value() == OldResult::same;
  if (run.there || old.value() == OldResult::none) return std::nullopt;
  return metrics::FileError{fmt::format(
      "{}: holds a finished run of another {}. choose another --out, or --force to run everything "
      "again",
      run.out.string(),
      old.value() == OldResult::scenario ? "scenario" : "version of this program")};
}

}  // namespace

int sim_sweep(const SweepOptions& options) {
  std::vector<Axis> axes;
  for (const std::string& set : options.set) {
    const auto axis = parse_axis(set);
    if (!axis) return fail(axis.error().message);
    axes.push_back(axis.value());
  }
  fs::path folder = options.out;
  if (folder.empty()) {
    const auto loaded = sim::load(options.file);
    if (!loaded) return fail(loaded.error().text());
    folder = fs::path("results") / fmt::format("{}-{}", safe_name(loaded.value().name),
                                               options.compare ? "compare" : "sweep");
  }
  std::vector<Run> runs;
  if (const auto mistake = plan(options, folder, axes, runs)) return fail(mistake->message);

  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!fs::is_directory(folder)) {
    return fail(fmt::format("{}: the folder cannot be made: {}. choose another --out",
                            folder.string(), failure.message()));
  }
  std::size_t there = 0;
  for (Run& run : runs) {
    if (const auto in_the_way = look(run, options.force)) return fail(in_the_way->message);
    if (run.there) ++there;
  }
  if (!options.quiet) {
    fmt::print("{} runs{}, results in {}\n", runs.size(),
               there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
               folder.string());
    std::fflush(stdout);
  }
  std::vector<PoolRun*> pool;
  for (Run& run : runs) pool.push_back(&run);
  const bool whole =
      run_all({options.jobs, options.threads, options.quiet}, pool, stop_on_signals());

  // The seed is worth a column where it tells runs apart.
  const bool show_seed = axes.empty() || std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
                           return run.seed != runs.front().seed;
                         });
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.emplace_back(axis.short_name());
  if (show_seed) names.emplace_back("seed");
  std::vector<SummaryRow> rows;
  std::string warnings;
  std::size_t failed = 0;
  for (const Run& run : runs) {
    if (!run.failure.empty()) {
      warnings += fmt::format("!! {}\n", run.failure);
      ++failed;
    }
    if (!run.there && !run.done) continue;
    const auto summary = metrics::summarise(run.out);
    if (!summary) {
      warnings += fmt::format("!! {}\n", summary.error().message);
      ++failed;
      continue;
    }
    SummaryRow& row = rows.emplace_back();
    row.labels = run.labels;
    if (!show_seed) row.labels.pop_back();
    row.summary = summary.value();
    warnings += warnings_text(run.out.string(), summary.value());
  }
  fmt::print("\n{}", table_text(names, rows, options.compare));
  if (!warnings.empty()) fmt::print("\n{}", warnings);
  if (!whole && signal_came()) {
    fmt::print("\n{} of {} runs are done; the same command goes on from here\n", rows.size(),
               runs.size());
  }
  fmt::print("results: {}\n", folder.string());
  if (!whole && signal_came()) return kInterruptedStatus;
  if (failed > 0) fail(fmt::format("{} of {} runs failed", failed, runs.size()));
  return failed > 0 ? 1 : 0;
}

}  // namespace strack::cli
