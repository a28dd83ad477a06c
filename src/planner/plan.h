// A plan: one job mix on several networks, under several transports, well and with failures, and what each of these networks
// costs. `strack plan` runs it; plan_report.h shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/summary.h"
#include "report/figures.h"
#include "run/pool.h"
#include "run/run.h"
#include "sim/scenario/scenario.h"

namespace strack::planner {

/// One of the networks: what it is called, and which keys make it of the scenario.
struct Network {
  std::string name;
  std::vector<std::string> set;  ///< "key=value"
  int line = 0;                  ///< in the plan's file
};

/// Something that fails, alone. What that takes may differ by network: not every one has a spine.
struct Failure {
  struct Way {
    std::vector<std::string> set;  ///< "key=value"
    int line = 0;
  };
  std::string name;
  std::vector<std::optional<Way>> ways = {};  ///< by network; none: not tried there
};

/// In whatever unit the user counts.
struct Prices {
  double switches = 0;  ///< of each, without its ports
  double switch_port = 0;
  double host_port = 0;
  double link = 0;  ///< with its optics, both directions together
};

struct Plan {
  std::string name;  ///< the file's
  std::string file = {};
  std::filesystem::path scenario;  ///< the job mix
  std::vector<std::string> schemes;
  std::vector<std::uint64_t> seeds;
  Prices prices;
  std::vector<Network> networks;  ///< at least one
  std::vector<Failure> failures;  ///< each alone, beside runs without any
};

/// Reads a plan file (docs/plan.md). Errors name file, line, value and what would work.
[[nodiscard]] Result<Plan, sim::ScenarioError> read_plan(const std::filesystem::path& file);
/// The same of a text; the scenario is sought in `folder`.
[[nodiscard]] Result<Plan, sim::ScenarioError> read_plan_text(std::string_view text,
                                                              const std::string& file,
                                                              const std::filesystem::path& folder);

struct PlannedRun : run::PoolRun {
  std::size_t network = 0;
  std::size_t scheme = 0;
  std::optional<std::size_t> broken;  ///< which failure; none: all is well

  /// The failure leaves nothing that could run.
  [[nodiscard]] bool impossible() const { return refused && broken; }
};

/// Every run, and where its result goes; what is there already is marked, unless `force`.
[[nodiscard]] Result<std::vector<PlannedRun>, run::Problem> plan_runs(
    const Plan& plan, const std::filesystem::path& folder, bool force);

/// The slowest of one workload's jobs or flows, us.
struct Part {
  std::string workload;
  report::Spread time;
};

/// A network under a transport.
struct Option {
  std::size_t network = 0;
  std::size_t scheme = 0;
  double cost = report::kUnknown;
  /// The slowest job's or flow's time over seeds, us; unknown where a run left any behind.
  report::Spread time;
  std::vector<report::Spread> failing;  ///< the same with each failure
  std::vector<Part> parts;              ///< each workload of the mix, without failures
  bool best = false;                    ///< none costs no more and is faster
  /// Runs that left something behind: "spine, seed 2: PFC deadlock".
  std::vector<std::string> unfinished;
};

/// A time with a failure over that without, by medians; and what it is at least and at most, any seed with any.
[[nodiscard]] report::Spread times_as_long(const Option& option, std::size_t failure);
/// What seeds do alone may be as much.
[[nodiscard]] bool within_spread(const Option& option, std::size_t failure);

/// What a run's network costs: its switches, ports and links, counted as they were simulated.
[[nodiscard]] double cost_of(const Prices& prices, const metrics::RunInfo& run);

/// A run that is there, and what came of it.
struct DoneRun {
  const PlannedRun* run = nullptr;
  metrics::Summary summary;
};
[[nodiscard]] std::vector<Option> options_of(const Plan& plan, const std::vector<DoneRun>& done);

/// Marks those on the Pareto front of cost and time. Of equals all are on it.
void mark_best(std::vector<Option>& options);

}  // namespace strack::planner
