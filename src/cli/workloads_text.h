// What each workload of a run took, as text and as JSON; and what they cost each other.
#pragma once

#include <string>
#include <vector>

#include "metrics/summary.h"

namespace strack::cli {

/// A line per workload.
[[nodiscard]] std::string workloads_text(const metrics::Summary& summary);
/// A list of objects; times in ps, sizes in bytes.
[[nodiscard]] std::string workloads_json(const metrics::Summary& summary);

/// Of jobs that compute: what a step took, and what its messages added to it; a line for each kind of
/// communication. Nothing where there is neither.
[[nodiscard]] std::string communications_text(const metrics::Summary& summary);
[[nodiscard]] std::string communications_json(const metrics::Summary& summary);
[[nodiscard]] std::string exposed_json(const metrics::Summary& summary);

/// The runs of one scenario and seed: each workload alone, and all of them together.
struct CostRuns {
  std::string label;  ///< what tells them from those of other seeds or schemes; may be empty
  std::vector<metrics::Summary> alone;  ///< in the order of the scenario
  metrics::Summary together;
};

/// A line per workload: alone, together, and how many times as long it took.
[[nodiscard]] std::string cost_text(const std::vector<CostRuns>& runs);
[[nodiscard]] std::string cost_json(const std::vector<CostRuns>& runs);
[[nodiscard]] std::string cost_csv(const std::vector<CostRuns>& runs);

}  // namespace strack::cli
