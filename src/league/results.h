// What came out of the league's runs: one line for each, from result files or from a table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "league/plan.h"
#include "metrics/records.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::league {

enum class Ending : std::uint8_t {
  finished,
  time_limit,  ///< flows or jobs were left at kTimeLimit
  stalled,     ///< they were left, and nothing would have happened any more
  failed,      ///< the program ended without a result
  cannot,      ///< the scheme does not take the scenario
};
[[nodiscard]] std::string_view name_of(Ending ending);

/// One run's line.
struct Outcome {
  std::string of;  ///< the case
  std::string scheme;
  std::string label;   ///< of the scheme, for people
  std::string fabric;  ///< lossy, trimming or lossless; and how it sprays, if it does
  std::uint64_t seed = 0;
  Ending ending = Ending::failed;
  std::string why;      ///< where it is not finished
  double time_us = 0;   ///< what counts (Measure), or how long it was simulated for nothing
  double bound_us = 0;  ///< what physics allows
  double hosts = 0;
  double packets = 0;  ///< data packets sent
  double resent = 0;   ///< of these, again
  double control = 0;  ///< control packets sent
  double drops = 0;
  double trims = 0;
  double pauses = 0;         ///< frames
  double deepest_queue = 0;  ///< bytes
  double headroom = 0;  ///< bytes that each port of a lossless switch keeps for what still comes
  double cpu_s = 0;
  std::string version;
  std::string hash;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Results {
  std::vector<Outcome> outcomes;
  std::size_t planned = 0;
  std::vector<std::string> problems;  ///< files that could not be read, and the like
};

/// Of all planned runs that are there. A run that has neither a result nor last words is missing, and
/// only counted.
[[nodiscard]] Results read(const std::vector<PlannedRun>& runs);

[[nodiscard]] std::string to_csv(const std::vector<Outcome>& outcomes);
/// Or the line that makes no sense. Cases that this program does not have are left out.
[[nodiscard]] Result<Results, Problem> read_csv(const std::filesystem::path& file);

// --- What counts, and its bound ------------------------------------------------------------------

/// Whether a flow is among those that count.
[[nodiscard]] bool counts(const Measure& measure, Bytes size);

/// The measure of flows' times, which are in no order. Of none it is 0.
[[nodiscard]] Picoseconds measured(const Measure& measure, std::vector<Picoseconds> times);

/// No transport can bring the measure of these flows below this: run::ideal_fct of those that count,
/// as if there were no others; or for a percentile, the same percentile of what each takes alone.
[[nodiscard]] Picoseconds bound(const Measure& measure, const sim::SimConfig& config,
                                const workload::Flows& flows);

}  // namespace strack::league
