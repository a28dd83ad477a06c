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
/// each run's slowest flow or job compares with that of the run that has the first row's first label and
/// all others, the seed among them, in common with it; with several seeds a second table has the median
/// and the range of that. Runs with jobs have a table of their own.
[[nodiscard]] std::string table_text(const std::vector<std::string>& label_names,
                                     const std::vector<SummaryRow>& rows, bool compare = false);

/// The keys whose values tell runs of one scheme apart, and each run's value of them: what was swept. "-" where a key means nothing to a run.
struct Differences {
  std::vector<std::string> keys;                 ///< without their section where that is clear
  std::vector<std::vector<std::string>> values;  ///< by run, by key
};
[[nodiscard]] Differences differences(const std::vector<SummaryRow>& rows);

/// Partial and stalled runs, unfinished flows and jobs, losses in a lossless network and its deadlocks, a
/// loud line each; empty where all is well. `name` says which run.
[[nodiscard]] std::string warnings_text(const std::string& name, const metrics::Summary& summary);

/// An object for a program to read; times in ps, sizes in bytes.
[[nodiscard]] std::string json_text(const std::string& file, const metrics::Summary& summary);

}  // namespace strack::cli
