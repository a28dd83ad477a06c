// Many runs, each a process of this same program: what sweeps, comparisons and the paper's set share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result_file.h"

namespace strack::run {

/// One `strack sim run`, planned, running or done.
struct PoolRun {
  std::filesystem::path file;    ///< the scenario
  std::vector<std::string> set;  ///< "key=value"
  std::uint64_t seed = 0;
  bool seed_is_the_scenarios = false;  ///< nobody has asked for it
  std::filesystem::path out;
  std::string scenario;  ///< resolved
  double weight = 1;     ///< about how long it takes: in seconds, or in parts of the others

  /// The same for a GPU, where one can run it and should.
  std::optional<double> gpu_weight;

  bool there = false;  ///< finished earlier, by the same program
  bool started = false;
  bool done = false;
  std::string failure;
  bool refused = false;     ///< it cannot run so: the failure says why, and nothing was run
  std::string gpu_failure;  ///< it failed on a GPU, and was begun again on the processor

  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  std::unique_ptr<std::FILE, CloseFile> said;  ///< the process's standard error
};

/// The command that makes it: this program, or as another machine knows it. It names its engine: a sweep that mpirun
/// has started leaves its variables to its runs, and these are no ranks of it.
[[nodiscard]] std::vector<std::string> words_of(const std::string& program, const PoolRun& run,
                                                std::optional<std::uint32_t> threads,
                                                const std::string& engine = "cpu");

/// What lies at `run.out` from earlier.
enum class OldResult : std::uint8_t {
  none,      ///< nothing, or a partial result that may be replaced
  same,      ///< the very run, complete
  scenario,  ///< complete, of another scenario
  version,   ///< complete, of another version of this program
};
/// Or why it must not be touched: another program is writing it, or it is no result file.
[[nodiscard]] Result<OldResult, metrics::FileError> look_at_old(const PoolRun& run);

/// The same for a set of runs.
struct OldInSet {
  bool there = false;
  bool anew = false;  ///< it is damaged, so the run is made anew, in its place
  bool unfinished =
      false;  ///< the very run has left flows when it ended, and would again; it is not there then
  std::string wrong;  ///< with the file, or with the run in it; and what to do. Empty: nothing
};
[[nodiscard]] OldInSet look_in_set(const PoolRun& run, bool only_finished);
/// For somebody who names a folder of results, and not each file.
[[nodiscard]] std::string told_of_results(std::string message);

/// What `strack sim run` ends with when it was told to stop; what a shell expects of such a program.
inline constexpr int kInterruptedStatus = 130;

/// And when its scenario cannot be so.
inline constexpr int kRefusedStatus = 2;

/// How far a pool is.
struct PoolProgress {
  std::size_t done = 0;
  std::size_t missing = 0;  ///< of those that were not there before
  std::size_t running = 0;
  std::size_t failed = 0;
  double share = 0;      ///< of the work, in parts of one
  bool waiting = false;  ///< those that run may still be waiting for a machine
};

struct PoolOptions {
  unsigned jobs = 0;  ///< 0: one per processor that no other run takes
  /// So many runs at a time have the GPU, beside the others, and `gpu_engine` as their engine.
  unsigned gpu_jobs = 0;
  std::string gpu_engine = "gpu";
  bool gpu_only = false;    ///< what it cannot run fails
  bool gpu_shared = false;  ///< those runs are threads of this process (run/ensemble.h)
  std::optional<std::uint32_t> threads;  ///< of each run; else as the scenario says
  /// No run is started that would not be done by then; what takes longer is interrupted. For runs
  /// whose weight is in seconds.
  std::optional<std::chrono::milliseconds> stop_after;
  std::filesystem::path program = "/proc/self/exe";      ///< whose `sim run` is started
  std::function<void(const PoolProgress&)> on_progress;  ///< often
};

/// Runs all that is not there yet, in order; a GPU takes the first that it can run, processors the first
/// that it cannot. False: it was told to stop first, or its time was over.
[[nodiscard]] bool run_all(const PoolOptions& options, const std::vector<PoolRun*>& runs,
                           const std::atomic<bool>& stop);

}  // namespace strack::run
