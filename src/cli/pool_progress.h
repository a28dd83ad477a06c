// A pool of runs as a command shows it: one line that says how far it is, and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/batch.h"
#include "run/pool.h"

namespace strack::cli {

/// Which of a pool's runs share a GPU, as a command was told.
struct GpuShare {
  std::string engine =
      "cpu";  ///< gpu: all; auto: those it is worth it for, where there is one; emulated, for tests
  unsigned jobs = 16;  ///< runs at a time
};

struct PoolView {
  unsigned jobs = 0;
  std::optional<std::uint32_t> threads;
  bool quiet = false;
  std::optional<std::chrono::milliseconds> stop_after = std::nullopt;
  unsigned gpu_jobs = 0;  ///< as in run::PoolOptions
  std::string gpu_engine = "gpu";
  bool gpu_only = false;
  run::BatchOptions batch = {};  ///< other machines make them
};

struct SweepOptions;
/// As a command with runs in such a folder was told.
[[nodiscard]] PoolView view_of(const SweepOptions& options, const std::filesystem::path& folder);

/// Before anything is made for runs: whether what is to make them is here. Says what is missing, and returns the
/// program's exit status; who only looks needs nothing.
[[nodiscard]] int check_means(const GpuShare& share, const run::BatchOptions& batch,
                              bool only_looks = false);

/// Has a GPU make what is meant for it, or says why there is none to be used.
void use_gpu(const GpuShare& share, PoolView& view);

/// run::run_all for somebody at a terminal, or run::run_batch. False: Ctrl-C came first, or the time was over. Or why a
/// batch could not be started.
[[nodiscard]] Result<bool, run::Problem> run_pool(const PoolView& view,
                                                  const std::vector<run::PoolRun*>& runs);

/// Instead of running them: each result file, and whether it is there already. Returns 0.
int list_runs(const std::vector<run::PoolRun*>& runs);

/// A set of runs that is made once and added to: the paper's, the league's.
struct RunSet {
  std::string scale;
  std::filesystem::path folder;    ///< of the results
  std::string report;              ///< the command that makes the report
  bool force = false;              ///< run again what is finished
  std::vector<run::PoolRun> runs;  ///< those that say so are there
  bool in_order = false;           ///< the runs are in the order in which they are wanted
  /// One that has left flows when it ended does not count, and one that cannot be made does not keep the others from it.
  bool only_finished = false;
};

/// The status of a part that ended in time, with runs still to be made.
inline constexpr int kMoreToDo = 3;

/// Runs what is not there yet, the first seed of everything first, and says how it went. Returns the
/// program's exit status: 1 where runs failed, 2 where a file is in the way before anything is run, kMoreToDo. A damaged
/// result file is named, and its run made anew.
[[nodiscard]] int run_set(const PoolView& view, RunSet& set);

}  // namespace strack::cli
