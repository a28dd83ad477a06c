// A sweep: one run for every combination of values and every seed, planned as a whole, so that
// whatever is wrong with any of them is found before the first one starts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/sweep_plan.h"

namespace strack::run {

struct SweepRequest {
  std::filesystem::path file;
  std::vector<std::string> set;  ///< "key=value,value,..."
  std::string seeds;             ///< "1,2,5-8"; empty: the scenario's
  std::filesystem::path folder;  ///< of the result files; made where it is missing
  bool force = false;            ///< run again what is there already
  std::string engine = "cpu";    ///< gpu, auto or emulated: runs that share a GPU
};

struct SweepRun : PoolRun {
  std::vector<std::string> labels;  ///< its value on each axis, then its seed
};

struct Sweep {
  std::vector<Axis> axes;
  std::vector<SweepRun> runs;       ///< in the order of the table; run_all runs them
  std::vector<std::string> unread;  ///< "section.key" that was given, and changes none of them
};

[[nodiscard]] Result<Sweep, Problem> plan_sweep(const SweepRequest& request);

}  // namespace strack::run
