// One row of the paper's evaluation: a scenario file whose table [paper] says what the paper claims,
// which runs test it, and by what rule they are judged.
//
// The rest of the file is an ordinary scenario, so `strack sim run` takes it too. docs/paper.md
// describes the table. A rule stands in the file, so whoever changes it shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace strack::paper {

using sim::ScenarioError;

/// A key of the scenario and the values it takes, as TOML texts.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// Every combination of its axes, for each seed.
struct RunGroup {
  std::vector<Axis> axes;
  std::vector<std::uint64_t> seeds;
};

/// What a smaller version of the row changes.
struct Scale {
  std::vector<std::string> set;      ///< "key=value"
  std::vector<Axis> axes;            ///< in the place of the group's values of the same key
  std::vector<std::uint64_t> seeds;  ///< in the place of every group's; empty: as they are
  std::string title;                 ///< in the place of the row's, which says too much
};

/// A closed range; either end may be infinite.
struct Range {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

/// One statement of the paper that a number decides.
struct Check {
  std::string says;
  std::string value;            ///< SQL over the table `runs`: one value, or rows of seed and value
  std::string unit;             ///< after a number: "x", "us", "%", or nothing
  std::optional<double> paper;  ///< the paper's number, where it has one
  std::string paper_text;       ///< or what it says instead
  Range reproduced;
  std::optional<Range> partly;
  std::string label;       ///< for the overview: "permutation, 400 Gb/s: over RoCEv2"
  bool ratio = false;      ///< says how many times as fast STrack is
  bool full_only = false;  ///< about times and sizes that a smaller scale changes: left out there
};

/// A picture in the report.
struct FigureSpec {
  std::string kind;  ///< one of figure_kinds()
  std::string title;
  std::string caption;
  std::string where;  ///< SQL condition on `runs`; of this row where it does not name one
  std::string x = "size";
  std::string x_label;  ///< where the column's name does not say it
  std::string y = "max_us";
  std::string y_label;  ///< the same
  std::string y_unit;
  std::string series = "who";
  double bin_us = 0;  ///< throughput
  int count = 0;      ///< throughput: flows
};

struct Row {
  std::string id;  ///< the file's name
  std::filesystem::path file;
  std::string title;
  std::string group;
  std::string claim;                 ///< in our words; empty where the paper claims nothing
  std::string section;               ///< of the paper, where it stands
  std::vector<std::string> explain;  ///< {name} stands for one of `numbers`
  std::vector<RunGroup> runs;        ///< may be empty: judged by the runs of other rows
  std::map<std::string, Scale> scales;
  std::map<std::string, std::string>
      measures;                                ///< name -> SQL on each run's result file: one value
  std::map<std::string, std::string> numbers;  ///< name -> SQL over `runs`: one value
  std::vector<Check> checks;
  std::vector<FigureSpec> figures;

  /// What it is called at a scale.
  [[nodiscard]] const std::string& title_at(const std::string& scale) const;
};

[[nodiscard]] Result<Row, ScenarioError> load_row(const std::filesystem::path& file);

/// All rows of a folder, in the order of its file ORDER. Every *.toml beside it must be named there.
[[nodiscard]] Result<std::vector<Row>, ScenarioError> load_rows(
    const std::filesystem::path& folder);

/// The scale at which a row is run as its file says.
inline constexpr const char* kFullScale = "full";

/// One run of a row.
struct PlannedRun {
  std::string row;
  std::filesystem::path file;               ///< the scenario
  std::vector<std::string> set;             ///< "key=value"
  std::map<std::string, std::string> axes;  ///< key without its section -> value
  std::uint64_t seed = 0;
  std::string name;                   ///< of its result file, without folder and ending
  std::string scenario;               ///< resolved
  std::string digest;                 ///< a fingerprint of it
  double seconds = 0;                 ///< about what it costs one processor
  std::optional<double> gpu_seconds;  ///< and a GPU that can run it
  std::size_t hosts = 0;
};

/// The runs of a row at a scale. An unknown scale is the full one for a row that does not name it.
[[nodiscard]] Result<std::vector<PlannedRun>, ScenarioError> plan(const Row& row,
                                                                  const std::string& scale);

[[nodiscard]] const std::vector<std::string>& figure_kinds();

}  // namespace strack::paper
