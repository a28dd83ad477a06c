// One run, from a scenario to its result file: what the command line, sweeps and other programs call.
//
//   auto planned = run::plan({.file = "incast32.toml", .set = {"topology.link_gbps=800"}});
//   if (!planned) fail(planned.error().message);
//   run::Watcher nobody;
//   std::atomic<bool> stop{false};
//   auto outcome = run::execute(planned.value(), nobody, stop);
//
// Planning finds whatever is wrong with the scenario, and decides everything; executing writes the
// file, whole or as far as it came.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/memory_result.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "sim/gpu/engine.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "workload/workload.h"

namespace strack::run {

/// Why something cannot be run, for the one who asked for it.
struct Problem {
  std::string message;  ///< none where another rank says it
  bool fatal = false;   ///< other ranks would wait for this one for ever
};

/// [D117] When a run's state is written beside its result file, so that the same request goes on with it.
struct CheckpointParams {
  double every_seconds = 0;  ///< of wall time, and when it is stopped; 0: never
  double least_seconds = 2;  ///< a run that is stopped before that just begins again
  bool fresh = false;        ///< one that is there is not gone on with
};

struct Request {
  std::filesystem::path file;            ///< the scenario
  std::vector<std::string> set;          ///< "key=value", after the file
  std::optional<std::uint64_t> seed;     ///< else the scenario's first
  std::optional<std::uint32_t> threads;  ///< else as the scenario says
  std::filesystem::path out;             ///< empty: results/<name>-<scheme>-s<seed>.db
  bool force = false;                    ///< replace an existing result file
  sim::Engine engine = sim::Engine::cpu;
  sim::Ranks* ranks =
      nullptr;  ///< Engine::mpi: processes that all call plan() and execute() with the same
  /// The scenario itself: then `file` is what messages call it, and others it names are sought beside that.
  std::optional<std::string> text = std::nullopt;
  /// Other runs of this process at the same time: what it takes of the processor is what this thread does.
  bool has_company = false;
  CheckpointParams checkpoint = {};
  /// [D127] So many bytes of rows stay in memory, and there is no file as long as they do; not with checkpoints.
  std::int64_t memory = 0;
};

/// A run with everything decided: what it is called, what it sends, where its rows go.
struct Plan {
  Request request;
  sim::Scenario scenario;
  std::size_t seeds = 1;  ///< that the scenario has; this is about one of them
  sim::SimConfig config;
  workload::Workload work;
  std::vector<Picoseconds> ideal_jobs;  ///< what physics allows each job
  metrics::RunInfo info;                ///< the file's header
  std::filesystem::path out;
};

[[nodiscard]] Result<Plan, Problem> plan(const Request& request);

/// Is told how a run goes on, on the thread that executes it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_progress(const sim::Progress& /*progress*/) {}
  virtual void on_warning(const std::string& /*text*/) {}  ///< each text once
  virtual void on_note(const std::string& /*text*/) {}     ///< such as: where it goes on
};

struct Outcome {
  metrics::RunStatus status = metrics::RunStatus::failed;
  metrics::Counters counters;
  Instant end{};  ///< simulated time
  double wall_seconds = 0;
  double cpu_seconds = 0;
  /// Of a run that was interrupted: what the same request does next, in words; none: it begins again.
  std::string goes_on;
  /// Instead of the file, where the request asks for that and the rows are no more.
  std::shared_ptr<const metrics::MemoryResult> in_memory = nullptr;
  bool kept = false;  ///< there is a checkpoint, so that it will be gone on with
};

/// `stop` may be set at any time, from a signal handler too: then the run ends as interrupted. It
/// is also set where the file can no longer be written. metrics::summarise(plan.out) adds up what
/// the file holds. Of several ranks the first has the file, the counters and the watcher.
[[nodiscard]] Result<Outcome, Problem> execute(const Plan& plan, Watcher& watcher,
                                               std::atomic<bool>& stop);

/// A file name made of what people may have put into a name.
[[nodiscard]] std::string safe_name(const std::string& text);

}  // namespace strack::run
