#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/interrupt.h"
#include "cli/paper.h"
#include "cli/paper_rows.h"
#include "cli/paper_status.h"
#include "cli/pool_progress.h"
#include "cli/text.h"
#include "paper/calibrate.h"
#include "paper/evidence.h"
#include "paper/row.h"
#include "paper/run_table.h"
#include "report/save.h"
#include "run/pool.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

/// At which scale points are run, and where their results are.
struct SearchScale {
  std::string name;
  fs::path folder;
  std::vector<fs::path> tables;  ///< the defaults' runs, made elsewhere
};

/// A search of one side, with its results in one folder: a point's runs are named by its values.
class Searching {
 public:
  Searching(const PaperCalibrateOptions& options, const std::vector<paper::Row>& rows,
            const paper::Calibration& what, const paper::Side& side, const paper::RunsByKey& have)
      : options_(options), rows_(rows), what_(what), side_(side), have_(have) {
    found_.side = &side;
    small_ = {options.scale, results_folder(options), options.have};
  }

  /// The status with which the command ends, if it does not go on.
  [[nodiscard]] std::optional<int> search() {
    // All that does not follow from other runs goes together, so that no processor waits.
    std::vector<paper::Point> first = side_.named;
    for (paper::Point& point : paper::latin_hypercube(side_, options_.points, 1))
      first.push_back(std::move(point));
    if (const auto status = try_all(first, true)) return status;
    if (const auto status = scored({}, false, small_, found_.standard)) return status;
    for (int round = 0; round < options_.rounds; ++round) {
      const double before = found_.tried.front().score.error;
      std::vector<paper::Point> next;
      for (std::size_t i = 0; i < std::min<std::size_t>(2, found_.tried.size()); ++i) {
        for (paper::Point& point : paper::neighbours(side_, found_.tried[i].point))
          next.push_back(std::move(point));
      }
      if (const auto status = try_all(next)) return status;
      if (found_.tried.front().score.error >= before) break;
    }
    const paper::Point best = found_.tried.front().point;
    if (const auto status = run_all({paper::Point{}, best}, true, small_)) return status;
    if (const auto status = scored({}, true, small_, found_.held_out_standard)) return status;
    return scored(best, true, small_, found_.held_out);
  }

  /// At the paper's scale: only what the best point changes is run; all else is in the table.
  [[nodiscard]] std::optional<int> confirm(bool held_out) {
    const paper::Point& best = found_.tried.front().point;
    const SearchScale full = full_scale();
    paper::Found::AtScale at;
    std::vector<paper::Point> points{best};
    if (options_.named) points.insert(points.end(), side_.named.begin(), side_.named.end());
    if (const auto status = run_all(points, held_out, full)) return status;
    if (const auto status = scored({}, held_out, full, at.standard)) return status;
    if (const auto status = scored(best, held_out, full, at.best)) return status;
    for (std::size_t i = 1; i < points.size(); ++i) {
      paper::Tried& tried = at.named.emplace_back();
      tried.point = points[i];
      if (const auto status = scored(tried.point, held_out, full, tried.score)) return status;
    }
    (held_out ? found_.confirmed_held_out : found_.confirmed) = std::move(at);
    return std::nullopt;
  }
  [[nodiscard]] const paper::Found& found() const { return found_; }
  [[nodiscard]] std::size_t hosts() const { return hosts_; }
  /// Adds all runs that were asked for at a scale, to be put into a table.
  void add_asked(bool full, std::vector<paper::Row>& rows) const {
    for (const paper::Row& row : full ? asked_full_ : asked_) add_runs(row, rows);
  }

 private:
  [[nodiscard]] SearchScale full_scale() const {
    SearchScale full{paper::kFullScale, results_folder(options_) / paper::kFullScale,
                     options_.have};
    full.tables.push_back(options_.confirm);
    return full;
  }

  static void add_runs(const paper::Row& row, std::vector<paper::Row>& rows) {
    const auto there = std::find_if(rows.begin(), rows.end(),
                                    [&](const paper::Row& one) { return one.id == row.id; });
    if (there == rows.end()) {
      rows.push_back(row);
    } else {
      there->runs.insert(there->runs.end(), row.runs.begin(), row.runs.end());
    }
  }

  std::optional<int> try_all(const std::vector<paper::Point>& points, bool defaults_too = false) {
    std::vector<paper::Point> fresh;
    for (const paper::Point& point : points) {
      if (seen_.insert(point).second) fresh.push_back(point);
    }
    std::vector<paper::Point> wanted = fresh;
    if (defaults_too) wanted.emplace_back();
    if (const auto status = run_all(wanted, false, small_)) return status;
    for (const paper::Point& point : fresh) {
      paper::Tried& tried = found_.tried.emplace_back();
      tried.point = point;
      if (const auto status = scored(point, false, small_, tried.score)) return status;
    }
    std::stable_sort(
        found_.tried.begin(), found_.tried.end(),
        [](const paper::Tried& a, const paper::Tried& b) { return a.score.error < b.score.error; });
    return std::nullopt;
  }

  /// The rows at a point; one seed of each run where the scale is the paper's.
  [[nodiscard]] std::vector<paper::Row> rows_at(const paper::Point& point, bool held_out,
                                                const SearchScale& at) const {
    auto rows = paper::rows_at(rows_, what_, side_, point, held_out);
    if (at.name != paper::kFullScale) return rows;
    for (paper::Row& row : rows) {
      for (paper::RunGroup& group : row.runs) group.seeds.resize(1);
    }
    return rows;
  }

  /// Adds a point's runs, by their files. The error's text where one cannot be planned.
  std::optional<std::string> plan(const paper::Point& point, bool held_out, const SearchScale& at,
                                  std::map<fs::path, run::PoolRun>& runs) {
    for (const paper::Row& row : rows_at(point, held_out, at)) {
      add_runs(row, at.name == paper::kFullScale ? asked_full_ : asked_);
      // At the paper's scale as much as is asked for; what was run before counts all the same.
      if (at.name == paper::kFullScale && !wanted(options_, row.id)) continue;
      const auto planned = paper::plan(row, at.name);
      if (!planned) return planned.error().text();
      for (const paper::PlannedRun& one : planned.value()) {
        const fs::path out = at.folder / row.id / (one.name + ".db");
        run::PoolRun& entry = runs[out];
        entry.file = one.file;
        entry.set = one.set;
        entry.seed = one.seed;
        entry.out = out;
        entry.scenario = one.scenario;
        entry.weight = one.seconds;
        if (at.name != paper::kFullScale) hosts_ = std::max(hosts_, one.hosts);
        entry.there = have_.contains(row.id, one.name, one.digest);
        if (!entry.there && have_.has_named(row.id, one.name)) changed_.insert(out);
      }
    }
    return std::nullopt;
  }

  std::optional<int> run_all(const std::vector<paper::Point>& points, bool held_out,
                             const SearchScale& at) {
    std::map<fs::path, run::PoolRun> runs;
    for (const paper::Point& point : points) {
      if (const auto error = plan(point, held_out, at, runs)) return fail(*error);
    }
    if (at.name == paper::kFullScale) {
      std::map<fs::path, run::PoolRun> in_tables;
      if (const auto error = plan({}, held_out, at, in_tables)) return fail(*error);
      for (const auto& [out, entry] : in_tables) runs.erase(out);
    }
    std::vector<run::PoolRun*> pool;
    for (auto& [out, entry] : runs) {
      pool.push_back(&entry);
      if (entry.there) continue;
      std::error_code ignored;
      fs::create_directories(out.parent_path(), ignored);
      const run::OldInSet old = run::look_in_set(entry, false);
      entry.there = old.there;
      if (old.wrong.empty()) continue;
      if (!old.anew) return fail(old.wrong);
      fmt::print(stderr, "warning: {}\n", old.wrong);
    }
    std::stable_sort(pool.begin(), pool.end(), [](const run::PoolRun* a, const run::PoolRun* b) {
      return a->weight > b->weight;  // the longest first
    });
    if (!options_.quiet) {
      const auto there = std::count_if(pool.begin(), pool.end(),
                                       [](const run::PoolRun* one) { return one->there; });
      const auto changed = std::count_if(pool.begin(), pool.end(), [this](const run::PoolRun* one) {
        return !one->there && changed_.contains(one->out);
      });
      fmt::print(
          "{}: {}, {}{}{}\n", side_.name, count_of(points.size(), "point"),
          count_of(pool.size(), "run"),
          there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
          changed > 0
              ? fmt::format("; {} of them --have has as other scenarios than they are now", changed)
              : std::string());
      std::fflush(stdout);
    }
    if (!run_pool({options_.jobs, options_.threads, options_.quiet, std::nullopt}, pool).value()) {
      const auto done = std::count_if(pool.begin(), pool.end(), [](const run::PoolRun* one) {
        return one->there || one->done;
      });
      fmt::print("\n{} done; the same command goes on from here\n",
                 part_of(static_cast<std::size_t>(done), pool.size(), "run"));
      std::fflush(stdout);
      return kInterruptedStatus;
    }
    for (const run::PoolRun* one : pool) {
      if (!one->failure.empty()) return fail(run::told_of_results(one->failure));
    }
    return std::nullopt;
  }

  std::optional<int> scored(const paper::Point& point, bool held_out, const SearchScale& at,
                            paper::Score& into) const {
    auto scored = paper::score(rows_at(point, held_out, at), what_, side_, held_out, at.name,
                               at.folder, at.tables);
    if (!scored) return fail(scored.error().message);
    into = std::move(scored.value());
    return std::nullopt;
  }

  const PaperCalibrateOptions& options_;
  const std::vector<paper::Row>& rows_;
  const paper::Calibration& what_;
  const paper::Side& side_;
  const paper::RunsByKey& have_;
  SearchScale small_;
  paper::Found found_;
  std::set<fs::path> changed_;  ///< runs that have_ has of other scenarios
  std::set<paper::Point> seen_;
  std::vector<paper::Row> asked_;
  std::vector<paper::Row> asked_full_;
  std::size_t hosts_ = 0;
};

/// All runs of all points as tables, which another machine can go on from with --have.
Result<std::vector<fs::path>, std::string> write_runs(const PaperCalibrateOptions& options,
                                                      const std::vector<Searching>& sides) {
  std::vector<fs::path> files;
  for (const bool full : {false, true}) {
    std::vector<paper::Row> rows;
    for (const Searching& side : sides) side.add_asked(full, rows);
    if (rows.empty()) continue;
    const std::string scale = full ? paper::kFullScale : options.scale;
    const fs::path folder = full ? options.results / paper::kFullScale : options.results;
    const auto evidence =
        paper::Evidence::read(rows, scale, folder, options.have, paper::Strangers::skipped);
    if (!evidence) return evidence.error().message;
    const fs::path file = options.results / ("runs-" + scale + ".csv");
    if (const auto error = report::write_file(file, evidence.value()->to_csv()))
      return error->message;
    files.push_back(file);
  }
  return files;
}

/// What was found so far: tables, a page, and Markdown where that is asked for.
std::optional<std::string> write_found(const PaperCalibrateOptions& options,
                                       const std::vector<Searching>& sides) {
  if (const auto written = write_runs(options, sides); !written) return written.error();
  std::vector<paper::Found> all;
  std::size_t hosts = 0;
  for (const Searching& side : sides) {
    all.push_back(side.found());
    hosts = std::max(hosts, side.hosts());
  }
  const auto write = [](const fs::path& file, const std::string& text) {
    const auto error = report::write_file(file, text);
    return error ? std::optional(error->message) : std::nullopt;
  };
  if (auto error = write(options.results / "points.csv", paper::calibration_csv(all))) return error;
  report::Report page = paper::calibration_page(all);
  page.made = made_by("strack paper calibrate");
  if (const auto error = report::save_page(page, options.results / "calibration.html", {true}))
    return error->message;
  return options.markdown.empty()
             ? std::nullopt
             : write(options.markdown, paper::calibration_markdown(all, hosts));
}

}  // namespace

int paper_calibrate(const PaperCalibrateOptions& given) {
  PaperCalibrateOptions options = given;
  if (options.confirm.empty() && (options.named || !options.rows.empty())) {
    return fail(fmt::format(
        "{} is about runs at the paper's scale, which --confirm asks for. add the defaults' runs "
        "there, such as --confirm docs/validation.csv, or leave it out",
        options.named ? "--named" : fmt::format("--only {}", fmt::join(options.rows, " "))));
  }
  if (options.results.empty()) options.results = fs::path("results") / "paper-calibrate";
  const auto folder = rows_folder(options, rows_beside(options));
  if (!folder) return fail(folder.error());
  const auto rows = load(options, rows_beside(options));
  if (!rows) return fail(rows.error());
  const auto what = paper::load_calibration(folder.value() / "CALIBRATE");
  if (!what) return fail(what.error().text());
  const auto tables = paper::runs_in(options.have, std::nullopt);
  if (!tables) return fail(tables.error().message);
  const paper::RunsByKey have(tables.value());
  for (const paper::RunsElsewhere& table : tables.value()) {
    if (options.quiet) break;
    fmt::print("{}: {}{}\n", table.file.string(), count_of(table.lines, "run"),
               table.unfinished > 0
                   ? fmt::format(", {} of them not finished and left out", table.unfinished)
                   : std::string());
  }
  std::vector<Searching> sides;
  // What was run is told in tables, however it ends.
  const auto ended = [&](int status) {
    const auto written = write_runs(options, sides);
    if (!written) return fail(written.error());
    for (const fs::path& table : written.value()) fmt::print("{}\n", table.string());
    return status;
  };
  for (const paper::Side& side : what.value().sides) {
    if (!options.side.empty() && side.name != options.side) continue;
    Searching& searching = sides.emplace_back(options, rows.value(), what.value(), side, have);
    if (const auto status = searching.search()) return ended(*status);
    const paper::Tried& best = searching.found().tried.front();
    fmt::print("{}: error {:.2f} with the defaults, {:.2f} with {}\n", side.name,
               searching.found().standard.error, best.score.error,
               paper::point_text(side, best.point));
  }
  if (sides.empty()) {
    std::vector<std::string> names;
    for (const paper::Side& side : what.value().sides) names.push_back(side.name);
    return fail(fmt::format("--side {}: there is no such side. the sides are {}", options.side,
                            fmt::join(names, ", ")));
  }
  if (const auto error = write_found(options, sides)) return fail(*error);
  // What was searched by comes first: it says more than what was held out, and is written at once.
  for (const bool held_out : {false, true}) {
    if (options.confirm.empty()) break;
    for (Searching& side : sides) {
      if (const auto status = side.confirm(held_out)) return ended(*status);
      const auto& at = held_out ? side.found().confirmed_held_out : side.found().confirmed;
      fmt::print("{}: at the paper's scale {:.2f} and {:.2f}{}\n", side.found().side->name,
                 at->standard.error, at->best.error, held_out ? ", held out" : "");
      if (const auto error = write_found(options, sides)) return fail(*error);
    }
  }
  fmt::print("{}\n{}\n", (options.results / "points.csv").string(),
             (options.results / "calibration.html").string());
  if (!options.markdown.empty()) fmt::print("{}\n", options.markdown.string());
  return 0;
}

}  // namespace strack::cli
