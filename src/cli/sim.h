// `strack sim ...`: scenarios run, looked at, compared. Each function is one command and returns
// the program's exit status: 0, 1 for a run that did not end well, 2 for a mistake of the user's,
// 130 after Ctrl-C.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/export.h"
#include "cli/pool_progress.h"
#include "cli/text.h"
#include "run/batch.h"

namespace strack::cli {

struct RunOptions {
  std::filesystem::path file;    ///< a scenario, or a trace
  std::string topo;              ///< an htsim topology instead of the scenario's; empty: none
  std::string scheme;            ///< instead of the scenario's; empty: none
  std::vector<std::string> set;  ///< "key=value", as given
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> threads;
  std::filesystem::path out;  ///< empty: results/<name>-<scheme>-s<seed>.db
  bool force = false;
  bool fresh = false;              ///< a checkpoint that is there is not gone on with
  double checkpoint_minutes = 10;  ///< between two of them; 0: none, not at Ctrl-C either
  bool quiet = false;
  bool json = false;
  bool csv = false;
  bool dry_run = false;
  std::string
      engine;  ///< a word of sim::engine_named(); none: cpu, or mpi where mpirun started this
  ExportOptions exports;  ///< what is written beside the result file
};
int sim_run(const RunOptions& options);

struct ShowOptions {
  std::filesystem::path file;
  std::vector<std::string> set;
  std::optional<std::uint64_t> seed;
  bool json = false;
};
int sim_show(const ShowOptions& options);

struct SummaryOptions {
  std::vector<std::filesystem::path> files;
  bool json = false;
  bool csv = false;
};
int sim_summary(const SummaryOptions& options);

struct SweepOptions {
  std::filesystem::path file;
  std::vector<std::string> set;          ///< "key=value,value,..."
  std::string seeds;                     ///< "1,2,5-8"; empty: the scenario's
  unsigned jobs = 0;                     ///< 0: one per processor
  std::optional<std::uint32_t> threads;  ///< of each run; else as the scenario says
  std::filesystem::path out;             ///< a folder; empty: results/<name>-sweep
  bool force = false;
  bool quiet = false;
  bool compare = false;  ///< the first axis is what is compared
  run::BatchOptions batch = {};
  GpuShare gpu = {};
  bool json = false;
  bool csv = false;
  bool dry_run = false;
};
int sim_sweep(const SweepOptions& options);
int sim_cost(const SweepOptions& options);  ///< a folder; empty: results/<name>-cost
int sim_schemes(const Formats& formats);

}  // namespace strack::cli
