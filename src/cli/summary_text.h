// The figures of runs as text: one run in full, several in a table, any number as JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "metrics/summary.h"

namespace strack::cli {

/// A run's place in a table: what tells it from the others, and its figures.
struct SummaryRow {
  std::vector<std::string> labels;
  metrics::Summary summary;
};

/// Everything about one run that does not depend on the machine it ran on.
[[nodiscard]] std::string run_text(const metrics::Summary& summary);

/// A line per run. `label_names` head the first columns. With `compare`, one more column says how
/// each run's slowest flow or job compares with the first run's. Runs with jobs have a table of
/// their own.
[[nodiscard]] std::string table_text(const std::vector<std::string>& label_names,
                                     const std::vector<SummaryRow>& rows, bool compare = false);

/// Partial and stalled runs, unfinished flows and jobs, losses in a lossless network and its deadlocks, a
/// loud line each; empty where all is well. `name` says which run.
[[nodiscard]] std::string warnings_text(const std::string& name, const metrics::Summary& summary);

/// An object for a program to read; times in ps, sizes in bytes.
[[nodiscard]] std::string json_text(const std::string& file, const metrics::Summary& summary);

}  // namespace strack::cli
