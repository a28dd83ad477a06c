#include "cli/paper.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/text.h"
#include "paper/evidence.h"
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

/// All rows, or why there are none. Whether the scale and the ids asked for exist is looked at here.
Result<std::vector<paper::Row>, std::string> load(const PaperOptions& options) {
  std::error_code ignored;
  if (!fs::is_directory(options.folder, ignored)) {
    return fmt::format(
        "{}: there is no such folder. start `strack paper` in the repository, or say --rows FOLDER",
        options.folder.string());
  }
  auto rows = paper::load_rows(options.folder);
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
               row.checks.empty() ? "" : paper::name_of(finding.verdict), row.title);
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

}  // namespace

int paper_run(const PaperRunOptions& options) {
  const auto rows = load(options);
  if (!rows) return fail(rows.error());
  const fs::path folder = results_folder(options);
  RunSet set{options.scale,
             folder,
             fmt::format("strack paper report --scale {}", options.scale),  // the program's name
             options.force,
             {}};
  for (const paper::Row& row : rows.value()) {
    if (!wanted(options, row.id)) continue;
    const auto planned = paper::plan(row, options.scale);
    if (!planned) return fail(planned.error().text());
    std::error_code failure;
    fs::create_directories(folder / row.id, failure);
    if (!fs::is_directory(folder / row.id)) {
      return fail(fmt::format("{}: the folder cannot be made: {}. choose another --results",
                              (folder / row.id).string(), failure.message()));
    }
    for (const paper::PlannedRun& one : planned.value()) {
      run::PoolRun& entry = set.runs.emplace_back();
      entry.file = one.file;
      entry.set = one.set;
      entry.seed = one.seed;
      entry.out = folder / row.id / (one.name + ".db");
      entry.scenario = one.scenario;
      entry.weight = one.weight;
    }
  }
  return run_set({options.jobs, options.threads, options.quiet}, set);
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
                        : paper::Evidence::read_csv(rows.value(), options.scale, options.from);
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
    return fail(
        fmt::format("{}: there are no results of these rows. `strack paper run --scale {}` "
                    "makes them",
                    (options.from.empty() ? folder : options.from).string(), options.scale));
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
