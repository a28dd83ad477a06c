#include "cli/paper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/text.h"
#include "paper/csv_table.h"
#include "paper/evidence.h"
#include "paper/own_rows.h"
#include "paper/paper_report.h"
#include "paper/row.h"
#include "report/save.h"
#include "run/build_info.h"
#include "run/pool.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

int fail(const std::string& message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

fs::path results_folder(const PaperOptions& options) {
  return options.results.empty() ? fs::path("results") / ("paper-" + options.scale)
                                 : options.results;
}

/// The folder of the rows. Where there is none, the rows that the program carries are put beside the
/// results.
Result<fs::path, std::string> rows_folder(const PaperOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(options.folder, ignored)) return options.folder;
  if (options.folder != PaperOptions{}.folder) {
    return fmt::format("{}: there is no such folder. leave --rows out for the program's own rows",
                       options.folder.string());
  }
  const fs::path own = results_folder(options) / "rows";
  if (const auto error = paper::write_own_rows(own)) return error->message;
  return own;
}

/// All rows, or why there are none. Whether the scale and the ids asked for exist is looked at here.
Result<std::vector<paper::Row>, std::string> load(const PaperOptions& options) {
  const auto folder = rows_folder(options);
  if (!folder) return folder.error();
  auto rows = paper::load_rows(folder.value());
  if (!rows) return rows.error().text();
  std::vector<std::string> ids;
  std::vector<std::string> scales{paper::kFullScale};
  for (const paper::Row& row : rows.value()) {
    ids.push_back(row.id);
    for (const auto& [name, scale] : row.scales) {
      if (std::find(scales.begin(), scales.end(), name) == scales.end()) scales.push_back(name);
    }
  }
  if (std::find(scales.begin(), scales.end(), options.scale) == scales.end()) {
    return fmt::format("--scale {}: there is no such scale. the scales are {}", options.scale,
                       fmt::join(scales, ", "));
  }
  for (const std::string& id : options.rows) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
      return fmt::format("there is no row {}. the rows are {}", id, fmt::join(ids, ", "));
    }
  }
  return std::move(rows.value());
}

bool wanted(const PaperOptions& options, const std::string& id) {
  return options.rows.empty() ||
         std::find(options.rows.begin(), options.rows.end(), id) != options.rows.end();
}

std::string ours_text(const paper::Finding& finding) {
  return finding.values.empty() ? "-" : paper::value_text(finding.median, finding.check->unit);
}

/// A line for each row, and one for each of its statements.
void print_status(const PaperOptions& options, paper::Evidence& evidence,
                  const std::vector<paper::RowFinding>& findings) {
  for (const paper::RowFinding& finding : findings) {
    const paper::Row& row = *finding.row;
    if (!wanted(options, row.id)) continue;
    const paper::Evidence::Count& count = evidence.count(row.id);
    const std::string runs =
        count.planned == 0 ? "-" : fmt::format("{}/{}", count.done, count.planned);
    fmt::print("{:<9} {:>7}  {:<10}  {}\n", row.id, runs,
               row.checks.empty() ? "" : paper::name_of(finding.verdict),
               row.title_at(options.scale));
    for (const paper::Finding& one : finding.findings) {
      fmt::print("{:<17}  {:<10}  {:>9}  (paper {}) {}\n", "", paper::name_of(one.verdict),
                 ours_text(one),
                 one.check->paper ? paper::value_text(*one.check->paper, one.check->unit)
                                  : one.check->paper_text,
                 one.check->says);
    }
  }
}

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
      if (options.force) continue;
      // Results of another version or of an earlier form of the row are made anew.
      const auto old = run::look_at_old(entry);
      if (!old) return old.error().message;
      entry.there = old.value() == run::OldResult::same ||
                    elsewhere.value().contains(paper::run_key(row.id, one.name, one.digest));
    }
  }
  return all;
}

/// The first seed of everything first, so that an unfinished set says most; claims before ablations; the
/// longest runs first among those, so that no processor is idle at the end.
std::vector<run::PoolRun*> in_order(std::vector<Candidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.run.seed, !a.claimed, -a.run.weight) <
           std::tuple(b.run.seed, !b.claimed, -b.run.weight);
  });
  std::vector<run::PoolRun*> pool;
  for (Candidate& one : all) pool.push_back(&one.run);
  return pool;
}

/// What a run of all that is missing would take.
void print_plan(const PaperRunOptions& options, const std::vector<Candidate>& all) {
  struct Sum {
    std::size_t missing = 0;
    double seconds = 0;
    double longest = 0;
  };
  std::map<std::string, Sum> rows;
  Sum total;
  for (const Candidate& one : all) {
    if (one.run.there) continue;
    for (Sum* sum : {&rows[one.row], &total}) {
      ++sum->missing;
      sum->seconds += one.run.weight;
      sum->longest = std::max(sum->longest, one.run.weight);
    }
  }
  for (const auto& [row, sum] : rows) {
    fmt::print("{:<9} {:>5} runs  {:>7.0f} s of CPU time, the longest {:.0f} s\n", row, sum.missing,
               sum.seconds, sum.longest);
  }
  fmt::print(
      "{} of {} runs at the {} scale are missing: about {:.1f} hours of CPU time, {:.0f} minutes "
      "with 16 processors\n",
      total.missing, all.size(), options.scale, total.seconds / 3'600, total.seconds / 960);
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

/// The status of a part that ended in time.
constexpr int kMoreToDo = 3;

}  // namespace

int paper_run(const PaperRunOptions& options) {
  const auto rows = load(options);
  if (!rows) return fail(rows.error());
  auto all = candidates(options, rows.value());
  if (!all) return fail(all.error());
  const std::vector<run::PoolRun*> pool = in_order(all.value());
  if (options.dry_run) {
    print_plan(options, all.value());
    return 0;
  }
  const fs::path folder = results_folder(options);
  std::size_t there = 0;
  for (const run::PoolRun* one : pool) {
    there += one->there;
    std::error_code failure;
    fs::create_directories(one->out.parent_path(), failure);
    if (fs::is_directory(one->out.parent_path())) continue;
    return fail(fmt::format("{}: the folder cannot be made: {}. choose another --results",
                            one->out.parent_path().string(), failure.message()));
  }
  if (!options.quiet) {
    fmt::print("{} runs at the {} scale{}, results in {}\n", pool.size(), options.scale,
               there > 0 ? fmt::format(", {} of them there already", there) : std::string(),
               folder.string());
    std::fflush(stdout);
  }
  PoolView view{options.jobs, options.threads, options.quiet, std::nullopt};
  if (options.stop_after_s > 0)
    view.stop_after = std::chrono::milliseconds(std::llround(options.stop_after_s * 1e3));
  const bool whole = run_pool(view, pool);
  std::size_t failed = 0;
  std::size_t done = there;
  for (const run::PoolRun* one : pool) {
    done += one->done;
    if (one->failure.empty()) continue;
    ++failed;
    fmt::print(stderr, "error: {}\n", one->failure);
  }
  if (const auto error = write_table(options, rows.value())) return fail(*error);
  if (!whole) {
    fmt::print("\n{} of {} runs are done; the same command goes on from here\n", done, pool.size());
    return signal_came() ? kInterruptedStatus : kMoreToDo;
  }
  if (failed > 0) {
    fmt::print(stderr, "error: {} of {} runs failed; the same command tries them again\n", failed,
               pool.size());
    return 1;
  }
  if (!options.quiet) {
    fmt::print("all {} runs are done. `strack paper report --scale {}` makes the report\n",
               pool.size(), options.scale);
  }
  return 0;
}

int paper_status(const PaperOptions& options) {
  const auto rows = load(options);
  if (!rows) return fail(rows.error());
  const auto evidence = paper::Evidence::read(rows.value(), options.scale, results_folder(options));
  if (!evidence) return fail(evidence.error().message);
  const auto findings = paper::judge(*evidence.value(), rows.value());
  if (!findings) return fail(findings.error().message);
  print_status(options, *evidence.value(), findings.value());
  print_problems(*evidence.value());
  return 0;
}

int paper_report(const PaperReportOptions& options) {
  const auto rows = load(options);
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
    const auto text = paper::make_markdown(evidence, findings);
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
  if (!options.from.empty()) return 0;

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
  made.value().made = {run::kBuildInfo.version, run::kBuildInfo.commit, strack::utc_now(),
                       fmt::format("strack paper report --scale {}", options.scale)};
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
