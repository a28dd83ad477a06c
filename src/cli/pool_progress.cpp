#include "cli/pool_progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "sim/gpu/engine.h"

namespace strack::cli {

void use_gpu(const GpuShare& share, PoolView& view) {
  if (share.engine == "cpu") return;
  if (share.engine == "auto") {
    if (const auto missing = sim::gpu_is_missing()) {
      if (!view.quiet) fmt::print(stderr, "no GPU is used: {}\n", *missing);
      return;
    }
  }
  view.gpu_jobs = share.jobs;
  view.gpu_engine = share.engine == "auto" ? "gpu" : share.engine;
  view.gpu_only = share.engine == "gpu";
}

int check_means(const GpuShare& share, const run::BatchOptions& batch, bool only_looks) {
  if (only_looks) return 0;
  if (const auto problem = run::batch_is_missing(batch.kind)) return fail(problem->message);
  if (share.engine != "gpu") return 0;
  const auto missing = sim::gpu_is_missing();
  return missing ? fail(*missing) : 0;
}

Result<bool, run::Problem> run_pool(const PoolView& view, const std::vector<run::PoolRun*>& runs) {
  ProgressLine line(!view.quiet);
  const auto show = [&line](const run::PoolProgress& p) {
    if (!line.due()) return;
    line.show(fmt::format("{} of {} done, {} {}{}  {}", p.done, count_of(p.missing, "run"),
                          p.running, p.waiting ? "to come" : "running",
                          p.failed > 0 ? fmt::format(", {} FAILED", p.failed) : std::string(),
                          time_left(line.seconds(), p.share)));
  };
  if (view.batch.kind != run::BatchKind::none) {
    run::BatchOptions batch = view.batch;
    batch.threads = view.threads;
    batch.on_progress = show;
    return run::run_batch(batch, runs, stop_on_signals());
  }
  run::PoolOptions options;
  options.jobs = view.jobs;
  options.threads = view.threads;
  options.stop_after = view.stop_after;
  options.gpu_jobs = view.gpu_jobs;
  options.gpu_engine = view.gpu_engine;
  options.gpu_only = view.gpu_only;
  options.gpu_shared = true;
  options.on_progress = show;
  return run::run_all(options, runs, stop_on_signals());
}

int list_runs(const std::vector<run::PoolRun*>& runs) {
  for (const run::PoolRun* one : runs)
    fmt::print("{}{}\n", one->out.string(), one->there ? "  there already" : "");
  return 0;
}

namespace {

/// Looks at what lies at the runs' places: before they are made at all of them, then at those that were made. Results of
/// another version or of an earlier form of the scenario are made anew, damaged ones too; what is in the way of a run
/// is its failure. Returns how many have not finished, where only finished ones count.
std::size_t look_at_results(RunSet& set, bool made) {
  std::size_t unfinished = 0;
  for (run::PoolRun& one : set.runs) {
    if (made ? !one.done || !set.only_finished : set.force || one.there) continue;
    run::OldInSet old = run::look_in_set(one, set.only_finished);
    one.done = made && !old.unfinished;
    one.there = !made && old.there;
    unfinished += old.unfinished;
    if (old.anew && !made) {
      fmt::print(stderr, "warning: {}\n", old.wrong);
    } else {
      one.failure = std::move(old.wrong);
    }
  }
  return unfinished;
}

}  // namespace

int run_set(const PoolView& view, RunSet& set) {
  std::size_t unfinished = look_at_results(set, false);
  for (const run::PoolRun& one : set.runs) {
    // Others keep what a run failed by, and a file that is in the way says nothing about it.
    if (!set.only_finished && !one.failure.empty()) return fail(one.failure);
  }
  const auto there = static_cast<std::size_t>(
      std::count_if(set.runs.begin(), set.runs.end(), [](const auto& one) { return one.there; }));
  // The first seed of everything first, so that an unfinished set says most; the longest runs first
  // among those, so that no processor is idle at the end.
  std::vector<run::PoolRun*> pool;
  for (run::PoolRun& one : set.runs) {
    if (one.failure.empty()) pool.push_back(&one);
  }
  if (!set.in_order) {
    std::stable_sort(pool.begin(), pool.end(), [](const run::PoolRun* a, const run::PoolRun* b) {
      return a->seed != b->seed ? a->seed < b->seed : a->weight > b->weight;
    });
  }
  const std::size_t all = set.runs.size();
  if (!view.quiet) {
    fmt::print("{} at the {} scale{}, results in {}\n", count_of(all, "run"), set.scale,
               there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
               set.folder.string());
    std::fflush(stdout);
  }
  PoolView here = view;
  here.batch.folder = set.folder;
  const auto made = run_pool(here, pool);
  if (!made) return fail(made.error().message, 1);
  const bool whole = made.value();
  unfinished += look_at_results(set, true);
  std::size_t failed = 0;
  std::size_t done = there;
  for (const run::PoolRun& one : set.runs) {
    done += one.done;
    if (!one.gpu_failure.empty())
      fmt::print(stderr, "warning: run by the processor, since the GPU did not: {}\n",
                 one.gpu_failure);
    if (one.failure.empty()) continue;
    ++failed;
    fmt::print(stderr, "error: {}\n", run::told_of_results(one.failure));
  }
  if (!whole) {
    fmt::print("\n{} done; the same command goes on from here\n", part_of(done, all, "run"));
    return signal_came() ? kInterruptedStatus : kMoreToDo;
  }
  if (unfinished > 0)
    fmt::print(stderr, "error: {} of {} ended unfinished\n", unfinished, count_of(all, "run"));
  if (failed > unfinished)
    fmt::print(stderr, "error: {} of {} failed; the same command tries them again\n",
               failed - unfinished, count_of(all, "run"));
  if (failed > 0) return 1;
  if (!view.quiet)
    fmt::print("{} done. `{}` makes the report\n",
               all == 1 ? std::string("the run is") : fmt::format("all {} runs are", all),
               set.report);
  return 0;
}

}  // namespace strack::cli
