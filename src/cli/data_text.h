// The figures of runs for other programs: JSON and comma separated values.
#pragma once

#include <string>
#include <vector>

#include "metrics/summary.h"

namespace strack::cli {

struct NamedSummary {
  std::string file;
  metrics::Summary summary;
};

/// A list of objects; times in ps, sizes in bytes.
[[nodiscard]] std::string json_list(const std::vector<NamedSummary>& runs);
/// A line per run, times in us; as in a report's runs.csv.
[[nodiscard]] std::string csv_list(const std::vector<NamedSummary>& runs);

}  // namespace strack::cli
