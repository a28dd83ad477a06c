#include "cli/paper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/interrupt.h"
#include "cli/paper_rows.h"
#include "cli/paper_status.h"
#include "cli/pool_progress.h"
#include "cli/scratch.h"
#include "cli/text.h"
#include "paper/calibrate.h"
#include "paper/csv_table.h"
#include "paper/evidence.h"
#include "paper/paper_report.h"
#include "paper/row.h"
#include "report/save.h"
#include "run/build_info.h"
#include "run/ensemble.h"
#include "run/pool.h"
#include "sim/gpu/engine.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

void print_problems(const paper::Evidence& evidence) {
  for (const std::string& problem : evidence.problems()) {
    fmt::print(stderr, "warning: {}\n", problem);
  }
}

/// A run, and how much it is wanted.
struct Candidate {
  run::PoolRun run;
  std::string row;
  bool claimed = false;  ///< the row has a verdict
};

/// All runs of the rows that are wanted; those that are there say so.
Result<std::vector<Candidate>, std::string> candidates(const PaperRunOptions& options,
                                                       const std::vector<paper::Row>& rows) {
  const fs::path folder = results_folder(options);
  const auto elsewhere = paper::runs_in(
      options.have, std::string(run::kBuildInfo.version) + "/" + run::kBuildInfo.source);
  if (!elsewhere) return elsewhere.error().message;
  std::vector<Candidate> all;
  for (const paper::Row& row : rows) {
    if (!wanted(options, row.id)) continue;
    const auto planned = paper::plan(row, options.scale);
    if (!planned) return planned.error().text();
    for (const paper::PlannedRun& one : planned.value()) {
      Candidate& candidate = all.emplace_back();
      candidate.row = row.id;
      candidate.claimed = !row.checks.empty();
      run::PoolRun& entry = candidate.run;
      entry.file = one.file;
      entry.set = one.set;
      entry.seed = one.seed;
      entry.out = folder / row.id / (one.name + ".db");
      entry.scenario = one.scenario;
      entry.weight = one.seconds;
      entry.gpu_weight = run::gpu_weight(options.gpu.engine, {one.seconds, one.gpu_seconds});
      entry.there = !options.force &&
                    elsewhere.value().contains(paper::run_key(row.id, one.name, one.digest));
    }
  }
  return all;
}

/// The first seed of everything first, so that an unfinished set says most; claims before ablations; the
/// longest runs first among those, so that no processor is idle at the end. Of further seeds row by row, the
/// cheapest first: a row counts a seed when all of its runs are there.
void put_in_order(std::vector<Candidate>& all) {
  std::map<std::string, double> cost;
  for (const Candidate& one : all) cost[one.row] += one.run.weight;
  const std::uint64_t first =
      all.empty()
          ? 0
          : std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
              return a.run.seed < b.run.seed;
            })->run.seed;
  const auto rank = [&](const Candidate& one) {
    return std::tuple(one.run.seed, !one.claimed, one.run.seed == first ? 0 : cost.at(one.row),
                      -one.run.weight);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
}

/// What a run of all that is missing would take.
void print_plan(const PaperRunOptions& options, const std::vector<Candidate>& all) {
  struct Sum {
    std::size_t missing = 0;
    double seconds = 0;
    double longest = 0;
    double gpu = 0;     ///< seconds
    double beside = 0;  ///< of the CPU, meanwhile
  };
  std::map<std::string, Sum> rows;
  Sum total;
  for (const Candidate& one : all) {
    const auto old = run::look_at_old(one.run);
    if (one.run.there || (!options.force && old && old.value() == run::OldResult::same)) continue;
    for (Sum* sum : {&rows[one.row], &total}) {
      ++sum->missing;
      sum->seconds += one.run.weight;
      sum->longest = std::max(sum->longest, one.run.weight);
      sum->gpu += one.run.gpu_weight.value_or(0);
      sum->beside += one.run.gpu_weight ? 0 : one.run.weight;
    }
  }
  const unsigned processors =
      options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  for (const auto& [row, sum] : rows) {
    fmt::print("{:<9} {:>5} runs  {:>7.0f} s of CPU time, the longest {:.0f} s{}\n", row,
               sum.missing, sum.seconds, sum.longest,
               sum.gpu > 0 ? fmt::format("; {:.0f} s beside {:.0f} s of a GPU", sum.beside, sum.gpu)
                           : std::string());
  }
  fmt::print(
      "{} of {} runs at the {} scale are missing: about {:.1f} hours of CPU time, {:.0f} minutes "
      "with the {} here\n",
      total.missing, all.size(), options.scale, total.seconds / 3'600,
      std::max(total.seconds / processors, total.longest) / 60, count_of(processors, "processor"));
  if (options.gpu.engine != "cpu") {
    fmt::print("with a GPU: {:.0f} minutes of it, beside {:.1f} hours of CPU time\n",
               total.gpu / 60, total.beside / 3'600);
  }
}

/// The table of all runs there are, here and in the tables that were given.
std::optional<std::string> write_table(const PaperRunOptions& options,
                                       const std::vector<paper::Row>& rows) {
  if (options.table.empty()) return std::nullopt;
  const auto evidence =
      paper::Evidence::read(rows, options.scale, results_folder(options), options.have);
  if (!evidence) return evidence.error().message;
  if (const auto error = report::write_file(options.table, evidence.value()->to_csv()))
    return error->message;
  return std::nullopt;
}

}  // namespace

int paper_run(const PaperRunOptions& options) {
  if (const int bad = check_means(options.gpu, options.batch, options.dry_run)) return bad;
  // Who only looks changes nothing among the results.
  std::optional<ScratchFolder> scratch;
  if (options.dry_run) scratch.emplace();
  const auto rows = load(options, scratch ? scratch->path() : rows_beside(options));
  if (!rows) return fail(rows.error());
  auto all = candidates(options, rows.value());
  if (!all) return fail(all.error());
  put_in_order(all.value());
  if (options.dry_run) {
    print_plan(options, all.value());
    return 0;
  }
  RunSet set{options.scale,
             results_folder(options),
             fmt::format("strack paper report --scale {}", options.scale),  // the program's name
             options.force,
             {},
             true};
  for (Candidate& one : all.value()) {
    const fs::path folder = one.run.out.parent_path();
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (!fs::is_directory(folder))
      return fail(fmt::format("{}: the folder cannot be made: {}. choose another --results",
                              folder.string(), failure.message()));
    set.runs.push_back(std::move(one.run));
  }
  PoolView view{options.jobs, options.threads, options.quiet, std::nullopt};
  use_gpu(options.gpu, view);
  view.batch = options.batch;
  if (options.stop_after_s > 0)
    view.stop_after = std::chrono::milliseconds(std::llround(options.stop_after_s * 1e3));
  const int status = run_set(view, set);
  if (const auto error = write_table(options, rows.value())) return fail(*error);
  return status;
}

namespace {

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
            const paper::Calibration& what, const paper::Side& side,
            const std::set<std::string>& have)
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
        entry.there = have_.contains(paper::run_key(row.id, one.name, one.digest));
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
      const auto old = run::look_at_old(entry);
      if (!old) return fail(old.error().message);
      entry.there = old.value() == run::OldResult::same;
    }
    std::stable_sort(pool.begin(), pool.end(), [](const run::PoolRun* a, const run::PoolRun* b) {
      return a->weight > b->weight;  // the longest first
    });
    if (!options_.quiet) {
      fmt::print("{}: {} points, {} runs\n", side_.name, points.size(), pool.size());
      std::fflush(stdout);
    }
    if (!run_pool({options_.jobs, options_.threads, options_.quiet, std::nullopt}, pool).value()) {
      fmt::print("\nthe same command goes on from here\n");
      return kInterruptedStatus;
    }
    for (const run::PoolRun* one : pool) {
      if (!one->failure.empty()) return fail(one->failure);
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
  const std::set<std::string>& have_;  ///< runs in tables, by run_key()
  SearchScale small_;
  paper::Found found_;
  std::set<paper::Point> seen_;
  std::vector<paper::Row> asked_;
  std::vector<paper::Row> asked_full_;
  std::size_t hosts_ = 0;
};

}  // namespace

namespace {

report::Made made_by(const std::string& command) {
  return {run::kBuildInfo.version, run::kBuildInfo.commit, strack::utc_now(), command};
}

/// All runs of all points as tables, which another machine can go on from with --have.
std::optional<std::string> write_runs(const PaperCalibrateOptions& options,
                                      const std::vector<Searching>& sides) {
  for (const bool full : {false, true}) {
    std::vector<paper::Row> rows;
    for (const Searching& side : sides) side.add_asked(full, rows);
    if (rows.empty()) continue;
    const std::string scale = full ? paper::kFullScale : options.scale;
    const fs::path folder = full ? options.results / paper::kFullScale : options.results;
    const auto evidence = paper::Evidence::read(rows, scale, folder, options.have);
    if (!evidence) return evidence.error().message;
    const fs::path file = options.results / ("runs-" + scale + ".csv");
    if (const auto error = report::write_file(file, evidence.value()->to_csv()))
      return error->message;
  }
  return std::nullopt;
}

/// What was found so far: tables, a page, and Markdown where that is asked for.
std::optional<std::string> write_found(const PaperCalibrateOptions& options,
                                       const std::vector<Searching>& sides) {
  if (auto error = write_runs(options, sides)) return error;
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
  if (options.results.empty()) options.results = fs::path("results") / "paper-calibrate";
  const auto folder = rows_folder(options, rows_beside(options));
  if (!folder) return fail(folder.error());
  const auto rows = load(options, rows_beside(options));
  if (!rows) return fail(rows.error());
  const auto what = paper::load_calibration(folder.value() / "CALIBRATE");
  if (!what) return fail(what.error().text());
  const auto have = paper::runs_in(options.have, std::nullopt);
  if (!have) return fail(have.error().message);
  std::vector<Searching> sides;
  // What was run is told in tables, however it ends.
  const auto ended = [&](int status) {
    const auto error = write_runs(options, sides);
    return error ? fail(*error) : status;
  };
  for (const paper::Side& side : what.value().sides) {
    if (!options.side.empty() && side.name != options.side) continue;
    Searching& searching =
        sides.emplace_back(options, rows.value(), what.value(), side, have.value());
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

int paper_status(const PaperStatusOptions& options) {
  const ScratchFolder scratch;
  const auto rows = load(options, scratch.path());
  if (!rows) return fail(rows.error());
  const auto evidence = paper::Evidence::read(rows.value(), options.scale, results_folder(options));
  if (!evidence) return fail(evidence.error().message);
  const auto findings = paper::judge(*evidence.value(), rows.value());
  if (!findings) return fail(findings.error().message);
  if (!status_table(options, *evidence.value(), findings.value()).print_as(options.formats))
    print_status(options, *evidence.value(), findings.value());
  print_problems(*evidence.value());
  return 0;
}

namespace {

/// What a search for constants has found, on the page too.
std::optional<paper::FileError> add_calibration(const PaperReportOptions& options,
                                                report::Report& page) {
  if (options.calibration.empty()) return std::nullopt;
  auto sections = paper::calibration_sections(options.calibration);
  if (!sections) return sections.error();
  for (report::Section& section : sections.value()) page.sections.push_back(std::move(section));
  return std::nullopt;
}

}  // namespace

int paper_report(const PaperReportOptions& options) {
  const auto rows = load(options, rows_beside(options));
  if (!rows) return fail(rows.error());
  const fs::path folder = results_folder(options);
  const auto read = options.from.empty()
                        ? paper::Evidence::read(rows.value(), options.scale, folder)
                        : paper::Evidence::read(rows.value(), options.scale, {}, options.from);
  if (!read) return fail(read.error().message);
  paper::Evidence& evidence = *read.value();
  const auto judged = paper::judge(evidence, rows.value());
  if (!judged) return fail(judged.error().message);
  print_problems(evidence);

  std::vector<paper::RowFinding> findings;
  std::size_t done = 0;
  for (const paper::RowFinding& finding : judged.value()) {
    if (!wanted(options, finding.row->id)) continue;
    findings.push_back(finding);
    done += evidence.count(finding.row->id).done;
  }
  if (done == 0) {
    return fail(fmt::format(
        "{}: there are no results of these rows. `strack paper run --scale {}` "
        "makes them",
        (options.from.empty() ? folder : options.from.front()).string(), options.scale));
  }
  if (!options.markdown.empty()) {
    const auto text = paper::make_markdown(evidence, findings, table_name(options));
    if (!text) return fail(text.error().message);
    if (const auto error = report::write_file(options.markdown, text.value())) {
      return fail(error->message);
    }
    fmt::print("{}\n", options.markdown.string());
  }
  if (!options.data.empty()) {
    if (const auto error = report::write_file(options.data, evidence.to_csv())) {
      return fail(error->message);
    }
    fmt::print("{}\n", options.data.string());
  }
  if (!options.from.empty() && options.out.empty()) return 0;

  const fs::path page = options.out.empty() ? folder / "report.html" : options.out;
  if (const auto error = report::check_page_path(page, {options.force})) {
    return fail(error->message);
  }
  if (!options.png.empty()) {
    // Better now than after the work.
    if (const auto browser = report::find_browser(); !browser) return fail(browser.error().message);
  }
  auto made = paper::make_report(evidence, findings);
  if (!made) return fail(made.error().message);
  if (const auto error = add_calibration(options, made.value())) return fail(error->message);
  made.value().made = made_by(fmt::format("strack paper report --scale {}", options.scale));
  if (const auto error = report::save_page(made.value(), page, {options.force})) {
    return fail(error->message);
  }
  if (!options.csv.empty()) {
    const auto saved = report::save_csv(made.value(), options.csv);
    if (!saved) return fail(saved.error().message);
  }
  if (!options.png.empty()) {
    const auto saved = report::save_png(made.value(), page, options.png, &stop_on_signals());
    if (signal_came()) return kInterruptedStatus;
    if (!saved) return fail(saved.error().message);
  }
  print_status(options, evidence, findings);
  fmt::print("\nreport: {}\n", page.string());
  return 0;
}

}  // namespace strack::cli
