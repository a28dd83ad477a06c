// Which constants make the paper's numbers appear? A search over keys that the paper leaves open.
//
// It never judges: verdicts are of the defaults alone. A side is a family of schemes with its keys. A
// claim with a number belongs to the first side whose name is in its query; its error is |ln(ours /
// paper)|, and a point's the sum. Rows that are held out are looked at only when the search is over. A
// side's keys are set in the runs of its schemes; keys of the workload in all runs of collectives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "paper/evidence.h"
#include "paper/row.h"
#include "report/model.h"

namespace strack::paper {

/// A value for each key, by its place in the list. Empty: the defaults.
using Point = std::vector<std::size_t>;

struct Side {
  std::string name;                      ///< its schemes begin with it
  std::vector<Axis> keys;                ///< and what each may be
  std::vector<Point> named = {};         ///< points that are tried whatever the sample is
  std::set<std::string> leave_out = {};  ///< beside those of all sides
};

struct Calibration {
  std::set<std::string> held_out;   ///< rows
  std::set<std::string> leave_out;  ///< values of axes: runs that are too long, or say nothing
  /// [D133] row -> "key=value", for the search alone: a network that is large enough for what the row asks. Then claims
  /// count that a smaller scale would leave out.
  std::map<std::string, std::vector<std::string>> set;
  std::vector<Side> sides;
};
/// The file CALIBRATE beside the rows. A mistake is named with its line.
[[nodiscard]] Result<Calibration, ScenarioError> load_calibration(
    const std::filesystem::path& file);

/// "pfc.alpha=1/8 rocev2.dcqcn=uet-htsim"
[[nodiscard]] std::string point_text(const Side& side, const Point& point);

/// So many points, in which each key's values occur equally often, as far as that goes.
[[nodiscard]] std::vector<Point> latin_hypercube(const Side& side, std::size_t count,
                                                 std::uint64_t seed);
/// Those that differ from it by one step of one key.
[[nodiscard]] std::vector<Point> neighbours(const Side& side, const Point& point);

/// The rows with numbers of a side, with those that are held out or without, and their runs at a point.
[[nodiscard]] std::vector<Row> rows_at(const std::vector<Row>& rows, const Calibration& what,
                                       const Side& side, const Point& point, bool held_out);

/// One claim at one point.
struct Miss {
  std::string row;
  std::string says;
  std::string unit;
  double paper = 0;
  double ours = 0;
  double error = 0;
  bool reached = false;  ///< within the range that counts as reproduced
};
struct Score {
  double error = 0;
  std::vector<Miss> claims;
};
/// Of the rows that rows_at gave, from the results in a folder, and in tables of runs made elsewhere: of
/// those that are held out, or of the others. Claims of rows whose runs are not all there are left out.
[[nodiscard]] Result<Score, FileError> score(const std::vector<Row>& rows, const Calibration& what,
                                             const Side& side, bool held_out,
                                             const std::string& scale,
                                             const std::filesystem::path& folder,
                                             const std::vector<std::filesystem::path>& tables = {});

/// A point with what came out.
struct Tried {
  Point point;
  Score score;
};
/// What a search of one side has found.
struct Found {
  const Side* side = nullptr;
  Score standard;            ///< the defaults
  std::vector<Tried> tried;  ///< best first
  Score held_out;            ///< at the best point
  Score held_out_standard;
  /// The same at the paper's scale, where that was asked for: what was searched by, and what was held out.
  struct AtScale {
    Score standard;
    Score best;
    std::vector<Tried> named = {};
  };
  std::optional<AtScale> confirmed;
  std::optional<AtScale> confirmed_held_out;
};
/// Two columns that are never mixed: defaults and best point, with the range of near-best points, the
/// error of what was held out, and the claims that no point reaches.
[[nodiscard]] std::string calibration_markdown(const std::vector<Found>& all, std::size_t hosts);
[[nodiscard]] std::string calibration_csv(const std::vector<Found>& all);
/// The same as a page: each claim's value over the paper's, with the defaults and at the best point.
[[nodiscard]] report::Report calibration_page(const std::vector<Found>& all);
/// The same for another page, a section per side, from the table that calibration_csv() gave.
[[nodiscard]] Result<std::vector<report::Section>, FileError> calibration_sections(
    const std::filesystem::path& table);

}  // namespace strack::paper
