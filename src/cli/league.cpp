#include "cli/league.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/pool_progress.h"
#include "cli/scratch.h"
#include "cli/text.h"
#include "league/league_report.h"
#include "league/plan.h"
#include "league/results.h"
#include "league/standings.h"
#include "report/save.h"
#include "run/build_info.h"
#include "run/ensemble.h"
#include "sim/scenario/expected_time.h"
#include "sim/scenario/scenario.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

Result<league::Request, std::string> request_of(const LeagueOptions& options) {
  const auto scale = league::scale_of(options.scale);
  if (!scale) {
    return fmt::format("--scale {}: there is no such scale. the scales are quick, full",
                       options.scale);
  }
  return league::Request{*scale, options.parts, options.schemes, options.seeds,
                         options.results.empty() ? fs::path("results") / ("league-" + options.scale)
                                                 : options.results};
}

/// What a run weighs for a GPU, where it is one's.
std::optional<double> gpu_weight_of(const run::PoolRun& run, const GpuShare& share) {
  if (share.engine == "cpu") return std::nullopt;
  const auto loaded = sim::load(run.file, run.set);
  if (!loaded) return std::nullopt;  // it fails, and says why
  return run::gpu_weight(share.engine, sim::expected_time(loaded.value()));
}

/// The standings, for a terminal.
Table standings_table(const league::Standings& standings) {
  Table table({"transport", "fabric", "mean rank", "firsts", "mean", "worst", "not finished"}, 2);
  for (const league::Standing& row : standings.rows) {
    table.add({row.label, row.fabric, fmt::format("{:.2f}", row.mean_rank),
               fmt::format("{}", row.firsts), league::mean_text(row), league::times_text(row.worst),
               fmt::format("{} of {}", row.unfinished, row.ran)});
  }
  return table;
}

}  // namespace

int league_run(const LeagueRunOptions& options) {
  if (const int bad = check_means(options.gpu, options.batch)) return bad;
  const auto request = request_of(options);
  if (!request) return fail(request.error());
  auto planned = league::plan(request.value());
  if (!planned) return fail(planned.error().message);
  RunSet set{options.scale,
             request.value().folder,
             fmt::format("strack league report --scale {}{}", options.scale,  // the program's name
                         options.results.empty() ? std::string()
                                                 : " --results " + options.results.string()),
             options.force,
             {},
             false};
  for (league::PlannedRun& one : planned.value()) {
    if (one.cannot.empty()) {
      one.run.gpu_weight = gpu_weight_of(one.run, options.gpu);
      set.runs.push_back(std::move(one.run));
    } else if (one.run.seed == 1 && !options.quiet) {
      fmt::print("{} cannot do {}: {}\n", one.who.scheme->name, one.of->id, one.cannot);
    }
  }
  PoolView view{options.jobs, options.threads, options.quiet};
  use_gpu(options.gpu, view);
  view.batch = options.batch;
  const int status = run_set(view, set);
  if (const auto problem = league::keep_failures(set.runs)) return fail(problem->message);
  return status;
}

int league_report(const LeagueReportOptions& options) {
  const auto request = request_of(options);
  if (!request) return fail(request.error());
  league::Results results;
  if (options.from.empty()) {
    // Who only looks changes nothing among the results.
    const ScratchFolder scratch;
    league::Request looking = request.value();
    looking.texts = scratch.path();
    const auto planned = league::plan(looking);
    if (!planned) return fail(planned.error().message);
    results = league::read(planned.value());
  } else {
    auto read = league::read_csv(options.from);
    if (!read) return fail(read.error().message);
    results = std::move(read.value());
  }
  const fs::path& folder = request.value().folder;
  if (results.outcomes.empty()) {
    return fail(fmt::format(
        "{}: there are no results. `strack league run --scale {}` makes them",  // the program's name
        (options.from.empty() ? folder : options.from).string(), options.scale));
  }
  for (const std::string& problem : results.problems) fmt::print(stderr, "warning: {}\n", problem);
  const league::Scale scale = request.value().scale;
  const league::Standings standings = league::judge(results.outcomes);
  if (!options.markdown.empty()) {
    const std::string text = league::make_markdown(scale, results, standings);
    if (const auto error = report::write_file(options.markdown, text)) return fail(error->message);
  }
  if (!options.data.empty()) {
    if (const auto error = report::write_file(options.data, league::to_csv(results.outcomes))) {
      return fail(error->message);
    }
  }
  report::Report made = league::make_report(scale, results, standings);
  made.made = {
      run::kBuildInfo.version, run::kBuildInfo.commit, utc_now(),
      fmt::format("strack league report --scale {}", options.scale)};  // the program's name
  // A table has no folder of its own, so its page goes where it is told to.
  const bool page_wanted = options.from.empty() || !options.out.empty();
  const fs::path page = options.out.empty() ? folder / "report.html" : options.out;
  if (page_wanted) {
    if (const auto error = report::save_page(made, page, {options.force})) {
      return fail(error->message);
    }
    if (!options.png.empty()) {
      const auto saved = report::save_png(made, page, options.png, &stop_on_signals());
      if (signal_came()) return kInterruptedStatus;
      if (!saved) return fail(saved.error().message);
    }
  }
  if (options.formats.json) {
    fmt::print("{}", league::make_json(scale, results, standings));
    return 0;
  }
  const Table table = standings_table(standings);
  if (table.print_as(options.formats)) return 0;
  fmt::print("{}", table.text());
  if (page_wanted) fmt::print("\nreport: {}\n", page.string());
  return 0;
}

int league_cases(const Formats& formats) {
  Table table({"part", "case", "title", "about", "bound"}, 5);
  for (const league::Case& one : league::cases()) {
    table.add({std::string(one.part), std::string(one.id), std::string(one.title),
               std::string(one.about), std::string(one.bound)});
  }
  if (table.print_as(formats)) return 0;
  for (const league::Part& part : league::parts()) {
    fmt::print("{} (--part {})\n", part.title, part.id);
    for (const league::Case& one : league::cases()) {
      if (one.part == part.id) fmt::print("  {:<15} {}\n", one.id, one.about);
    }
  }
  return 0;
}

}  // namespace strack::cli
