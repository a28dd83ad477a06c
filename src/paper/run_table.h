// The table of runs as a file: what every run has, and what no run can have.
//
// `strack paper run --table` and `report --data` write it, Evidence and --have read it. Whoever reads one has been told
// of the first thing in it that cannot be.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "paper/csv_table.h"

namespace strack::paper {

/// What every run has, besides its axes and measures.
[[nodiscard]] const std::vector<std::string>& base_columns();
/// Those of them that are words even where they look like numbers.
[[nodiscard]] bool is_text_column(const std::string& name);

/// The status of a run that counts. A run that left flows unfinished would look fast.
inline constexpr const char* kFinished = "finished";

/// A table that has these columns, and in each line what a run can have: a row, a status that there is, no time of 0,
/// nothing below 0. Of runs that have not finished only the first two are looked at. What is wrong is named with
/// file, line and value.
[[nodiscard]] Result<CsvTable, FileError> read_run_table(const std::filesystem::path& file);

/// What a run is known by in tables of several machines: row, name, fingerprint of its scenario.
[[nodiscard]] std::string run_key(const std::string& row, const std::string& run,
                                  const std::string& scenario);

/// The runs of one table that need not be made again.
struct RunsElsewhere {
  std::filesystem::path file;
  std::size_t lines = 0;
  std::size_t unfinished = 0;
  std::size_t other_version = 0;
  std::set<std::string> keys;  ///< of all others, by run_key()
};
/// Of this version of the program, or of any. A table without fingerprints is refused: nobody can know whether its runs are
/// those that are asked for.
[[nodiscard]] Result<std::vector<RunsElsewhere>, FileError> runs_in(
    const std::vector<std::filesystem::path>& tables, const std::optional<std::string>& version);

/// The runs of several tables, looked up.
class RunsByKey {
 public:
  explicit RunsByKey(const std::vector<RunsElsewhere>& tables);
  [[nodiscard]] bool contains(const std::string& row, const std::string& run,
                              const std::string& scenario) const;
  /// One of that name is there, whatever its scenario.
  [[nodiscard]] bool has_named(const std::string& row, const std::string& run) const;

 private:
  std::set<std::string> keys_;
};

}  // namespace strack::paper
