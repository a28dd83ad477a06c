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

#include "cli/interrupt.h"
#include "cli/paper_rows.h"
#include "cli/paper_status.h"
#include "cli/pool_progress.h"
#include "cli/scratch.h"
#include "cli/text.h"
#include "paper/calibrate.h"
#include "paper/evidence.h"
#include "paper/paper_report.h"
#include "paper/row.h"
#include "paper/run_table.h"
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

/// What of the tables counts here, and why the rest does not.
void print_elsewhere(const PaperRunOptions& options, const std::vector<paper::RunsElsewhere>& all,
                     const std::set<std::string>& planned) {
  for (const paper::RunsElsewhere& runs : all) {
    std::size_t taken = 0;
    std::size_t not_asked = 0;
    for (const std::string& key : runs.keys) {
      taken += planned.contains(key);
      not_asked += !wanted(options, key.substr(0, key.find('/')));
    }
    std::string why;
    const auto add = [&why](std::size_t count, const char* what) {
      if (count > 0) why += fmt::format("{}{} {}", why.empty() ? ". " : ", ", count, what);
    };
    add(runs.keys.size() - taken - not_asked, "of other scenarios than the rows have now");
    add(runs.other_version, "of another version of the program");
    add(runs.unfinished, "not finished");
    add(not_asked, "of rows that are not asked for");
    fmt::print("{}: {} taken{}\n", runs.file.string(), part_of(taken, runs.lines, "run"), why);
  }
}

/// All runs of the rows that are wanted; those that are there say so.
Result<std::vector<Candidate>, std::string> candidates(const PaperRunOptions& options,
                                                       const std::vector<paper::Row>& rows) {
  const fs::path folder = results_folder(options);
  const auto elsewhere = paper::runs_in(
      options.have, std::string(run::kBuildInfo.version) + "/" + run::kBuildInfo.source);
  if (!elsewhere) return elsewhere.error().message;
  if (!options.have.empty()) {
    // Better now than when all has been run and the table is written.
    const auto read = paper::Evidence::read(rows, options.scale, {}, options.have);
    if (!read) return read.error().message;
  }
  const paper::RunsByKey there(elsewhere.value());
  std::vector<Candidate> all;
  std::set<std::string> keys;
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
      entry.there = !options.force && there.contains(row.id, one.name, one.digest);
      keys.insert(paper::run_key(row.id, one.name, one.digest));
    }
  }
  if (!options.quiet) print_elsewhere(options, elsewhere.value(), keys);
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
    const run::OldInSet old =
        one.run.there || options.force ? run::OldInSet{} : run::look_in_set(one.run, true);
    if (!old.wrong.empty()) fmt::print(stderr, "warning: {}\n", old.wrong);
    if (one.run.there || old.there || old.unfinished) continue;
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
             true,
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
  const ScratchFolder scratch;  // who only looks changes nothing among the results
  const auto rows = load(options, scratch.path());
  if (!rows) return fail(rows.error());
  const fs::path folder = results_folder(options);
  const auto read = paper::Evidence::read(rows.value(), options.scale,
                                          options.from.empty() ? folder : fs::path(), options.from);
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
