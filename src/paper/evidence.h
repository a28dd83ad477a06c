// The runs that were made, as one table that SQL can be asked about, and what they decide.
//
// The table `runs` has a line for each run:
//   row, file, run, scenario (its name in the row, and a fingerprint), seed, status, version, hash, hosts, flows, jobs, scheme
//   who       strack, oblivious, single-path, rocev2, rocev2-4qp
//   max_us, mean_us, p50_us, p99_us, min_us (jobs), ideal_us, slowdown, spread (jobs: slowest over fastest)
//   drops, marks, packets, retransmissions, timeouts, cnps, pause_frames, paused_us, deepest_queue (bytes), cpu_s
// and a column for each axis of any row, under the key without its section (sizes in bytes, times in
// us), and for each measure. What a run has no value for is NULL.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/result_file.h"
#include "paper/row.h"

namespace strack::paper {

using metrics::FileError;

/// What a table may have of rows that were not given.
enum class Strangers : std::uint8_t { refused, skipped };

class Evidence {
 public:
  /// Reads the results of all planned runs that are in `folder` (<row>/<name>.db) and finished. What
  /// is left out, and results of several versions of the program, are among problems().
  /// Runs that are not there are taken from `tables` that to_csv() wrote, of this or of other machines;
  /// each run once. Without a folder tables are all there is. A table that is none, a value that no run has and a row
  /// that there is not are errors; runs that have not finished are counted among problems().
  [[nodiscard]] static Result<std::shared_ptr<Evidence>, FileError> read(
      const std::vector<Row>& rows, const std::string& scale, const std::filesystem::path& folder,
      const std::vector<std::filesystem::path>& tables = {},
      Strangers strangers = Strangers::refused);
  /// The same from one table.
  [[nodiscard]] static Result<std::shared_ptr<Evidence>, FileError> read_csv(
      const std::vector<Row>& rows, const std::string& scale, const std::filesystem::path& file) {
    return read(rows, scale, {}, {file});
  }
  ~Evidence();
  Evidence(const Evidence&) = delete;
  Evidence& operator=(const Evidence&) = delete;

  /// With the notes that were found, and without fingerprints where a run came without.
  [[nodiscard]] std::string to_csv();

  /// All values of the query's last column; NULL ones left out. The error names what is wrong with it.
  [[nodiscard]] Result<std::vector<double>, FileError> values(const std::string& sql);

  /// The seeds of which a query of seed and value gives none, though it has a line for them.
  [[nodiscard]] Result<std::vector<std::string>, FileError> seeds_without(const std::string& sql);

  /// The result files of runs that satisfy a condition, in order of seed.
  struct Found {
    std::filesystem::path file;  ///< empty: there is only the table
    std::string who;
  };
  [[nodiscard]] Result<std::vector<Found>, FileError> find(const std::string& row,
                                                           const std::string& where);

  /// Lines of text and number for figures: the columns asked for, of runs that satisfy a condition.
  struct Cells {
    std::string series;
    std::string x;        ///< as text
    double x_number = 0;  ///< where it is one
    bool numeric = false;
    double y = 0;
  };
  [[nodiscard]] Result<std::vector<Cells>, FileError> cells(const std::string& row,
                                                            const FigureSpec& figure);

  struct Count {
    std::size_t planned = 0;
    std::size_t done = 0;
    double cpu_s = 0;
    std::vector<std::uint64_t> seeds;             ///< of those done and judged by
    bool has_whole_seed = false;                  ///< all runs of it are there
    std::size_t hosts = 0;                        ///< the most of any
    std::size_t least_hosts = 0;                  ///< the least of any
    std::size_t jobs = 0;                         ///< the same
    std::map<std::string, std::size_t> versions;  ///< and how many runs are of each
  };
  [[nodiscard]] const Count& count(const std::string& row) const;
  [[nodiscard]] const std::string& scale() const;
  /// Files that could not be read, measures that failed, and seeds without a number.
  [[nodiscard]] const std::vector<std::string>& problems() const;
  void add_problem(std::string problem);
  /// What stands above a table for those who read it.
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  explicit Evidence(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

enum class Verdict : std::uint8_t { reproduced, partly, not_reproduced, open };
[[nodiscard]] std::string_view name_of(Verdict verdict);  ///< "reproduced", "partly", "not", "open"

/// A check with its numbers, one for each seed in most cases.
struct Finding {
  const Check* check = nullptr;
  std::vector<double> values;
  double median = 0;
  double low = 0;
  double high = 0;
  Verdict verdict = Verdict::open;
};

struct RowFinding {
  const Row* row = nullptr;
  Verdict verdict = Verdict::open;  ///< meaningless where there are no checks
  std::vector<Finding> findings;
  std::vector<std::string> explanation;  ///< numbers filled in
};

/// By each row's own rules; `rows` must outlive the result. A row whose checks are all reproduced is
/// reproduced, one whose checks all failed is not; it is open while a number is missing, or a run of every
/// seed.
[[nodiscard]] Result<std::vector<RowFinding>, FileError> judge(Evidence& evidence,
                                                               const std::vector<Row>& rows);

/// "6.3x", "12 %", "370 us"; with `more` digits than mostly
[[nodiscard]] std::string value_text(double value, const std::string& unit, int more = 0);
/// "reproduced from 5.04x to 7.88x, partly from 2.77x"
[[nodiscard]] std::string rule_text(const Check& check, int more = 0);
/// How many more digits a value needs so that it does not look like a limit that it misses.
[[nodiscard]] int digits_apart(const Check& check, double value);

}  // namespace strack::paper
