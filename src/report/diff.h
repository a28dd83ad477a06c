// What changed between two sets of runs: settings, and results beside what seeds alone change. `strack diff` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "metrics/result_file.h"
#include "metrics/summary.h"
#include "report/figures.h"

namespace strack::report {

/// A run and the file it is from.
struct DiffRun {
  std::string file;
  metrics::Summary summary;
};

enum class Change : std::uint8_t {
  same,     ///< the medians are equal
  within,   ///< the two sides' ranges over seeds overlap
  beyond,   ///< they do not: more than seeds explain
  unknown,  ///< a side has one seed only, and they differ; or a side has no value
};
[[nodiscard]] std::string_view to_text(Change change);

/// One figure on both sides, over their seeds.
struct DiffFigure {
  std::string workload;  ///< whose; empty: of the whole run
  std::string name;      ///< "max FCT"
  std::string unit;      ///< us, x, share, B or nothing
  Spread a;
  Spread b;
  Change change = Change::same;

  /// What B's median is above A's, in parts of A's; unknown where that is 0.
  [[nodiscard]] double relative() const;
};

/// Runs of both sides that belong together, and what they make.
struct DiffPair {
  std::vector<std::pair<std::string, std::string>> where;  ///< values of what was swept
  std::vector<const DiffRun*> a;
  std::vector<const DiffRun*> b;
  bool identical = false;  ///< every seed that both have gave the very same run
  std::vector<DiffFigure> figures;
  std::vector<std::string> notes;
};

/// A setting on both sides: all its values.
struct DiffSetting {
  std::string key;
  std::string a;
  std::string b;
};

struct Diff {
  std::vector<DiffSetting> settings;
  std::vector<DiffPair> pairs;
  std::vector<std::string> alone;  ///< "A only: workload.size 2 MB (3 runs)"

  /// Anything that is not explained by seeds: beyond their spread, or different where it is not known; or a run
  /// without a partner on the other side.
  [[nodiscard]] bool differs() const;
  /// Some figure is beyond what seeds change, where that is known.
  [[nodiscard]] bool beyond() const;
};

/// Why two sets of runs cannot be compared, and what would help.
struct DiffError {
  std::string message;
};

/// Runs of one side that differ in nothing but the seed are one configuration. With one of them on each side
/// those two are compared, whatever differs; with more, those that agree in all that was swept. `a` and `b` are
/// pointed to by what is returned.
[[nodiscard]] Result<Diff, DiffError> diff(const std::vector<DiffRun>& a,
                                           const std::vector<DiffRun>& b);

}  // namespace strack::report
