// Runs that other machines make, in the place of a pool's processes: tasks of a Slurm array job, or commands
// that GNU parallel starts over ssh. All machines see the same folders under the same names.
//
// What is to be done is written beside the results, in a folder `.batch`: a script for each task, and for each
// run how it ended and what it said. So whoever comes later finds a job that is still at work, and waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/pool.h"
#include "run/run.h"

namespace strack::run {

enum class BatchKind : std::uint8_t { none, slurm, ssh };

struct BatchOptions {
  BatchKind kind = BatchKind::none;
  std::filesystem::path folder;           ///< of the results
  std::string hosts;                      ///< ssh: as GNU parallel takes them, "a,b,8/c"
  double task_seconds = 1'800;            ///< Slurm: runs are packed into tasks of about this long
  std::optional<std::uint32_t> threads;   ///< of each run; else as the scenario says
  std::filesystem::path program;          ///< as other machines know it; empty: this one
  std::chrono::milliseconds poll{2'000};  ///< so often the others are asked
  std::function<void(const PoolProgress&)> on_progress;
};

/// Tasks of runs that take about so long together, by their weights in seconds; one that takes longer is alone.
/// The longest first, so that they are not the last to end.
[[nodiscard]] std::vector<std::vector<PoolRun*>> pack(const std::vector<PoolRun*>& runs,
                                                      double task_seconds);

/// "'it'\''s'": one word for a shell.
[[nodiscard]] std::string quoted(const std::string& word);

/// The program that such a batch takes and that is not here, if there is one.
[[nodiscard]] std::optional<Problem> batch_is_missing(BatchKind kind);

/// As run_all(): makes all that is not there yet, and waits for it. False: it was told to stop first, and has
/// told the others. Or why nothing could be started.
[[nodiscard]] Result<bool, Problem> run_batch(const BatchOptions& options,
                                              const std::vector<PoolRun*>& runs,
                                              const std::atomic<bool>& stop);

}  // namespace strack::run
