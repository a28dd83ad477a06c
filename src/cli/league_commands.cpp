// `strack league`: its words on the command line.
#include "cli/commands.h"
#include "cli/league.h"

namespace strack::cli {
namespace {

void add_league(CLI::App* command, LeagueOptions& options) {
  command->add_option("--scale", options.scale, "quick takes minutes; full up to 8192 hosts")
      ->capture_default_str();
  command
      ->add_option("--part", options.parts,
                   "parts or cases, such as sizes,incast; else all. `cases` lists them")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--transports", options.schemes, "transports or schemes; else all there are")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--seeds", options.seeds, "how many, from 1 on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  command->add_option("--results", options.results, "where results are; results/league-<scale>")
      ->type_name("FOLDER");
}

}  // namespace

std::vector<Command> add_league(CLI::App& app) {
  CLI::App* league = app.add_subcommand("league",
                                        "Runs all transports over one suite of cases, each on the "
                                        "fabric it asks for, and ranks them.");
  league->require_subcommand(0, 1);

  static LeagueRunOptions runs;
  CLI::App* run_command =
      league->add_subcommand("run",
                             "Runs the cases, in parallel processes. Interrupted, the same command "
                             "goes on where it was;\n"
                             "what this version has already run is not run again.");
  add_league(run_command, runs);
  run_command->add_option("--jobs", runs.jobs, "runs at a time; one per processor")
      ->check(CLI::Range(1, 4'096));
  run_command->add_option("--threads", runs.threads, "of each run; else one")
      ->check(CLI::Range(1, 1'024));
  add_gpu_options(run_command, runs.gpu);
  add_batch_options(run_command, runs.batch);
  run_command->add_flag("--force", runs.force, "run again what is finished");
  run_command->add_flag("--quiet", runs.quiet, "print errors only");

  static LeagueReportOptions page;
  CLI::App* report_command =
      league->add_subcommand("report",
                             "Makes a page of what has been run: a heat map of times over the "
                             "physical bound, ranks, what\n"
                             "each asks of the fabric. It opens from disk, without a network.");
  add_league(report_command, page);
  report_command->add_option("--out", page.out, "the page; <results>/report.html")
      ->type_name("FILE");
  report_command->add_option("--markdown", page.markdown, "the tables, as Markdown")
      ->type_name("FILE");
  report_command->add_option("--data", page.data, "the table of runs, as CSV")->type_name("FILE");
  report_command
      ->add_option("--from", page.from,
                   "take such a table instead of results; a page is made only with --out")
      ->type_name("FILE");
  report_command->add_option("--png", page.png, "a picture of the heat map (Chromium)")
      ->type_name("FOLDER");
  add_formats(report_command, page.formats, "transport, of the standings");
  report_command->add_flag("--force", page.force, "replace a file that is no report");

  static Formats listed;
  CLI::App* cases_command = league->add_subcommand("cases", "Lists the cases by part.");
  add_formats(cases_command, listed, "case");

  return {
      {run_command, [] { return league_run(runs); }},
      {report_command, [] { return league_report(page); }},
      {cases_command, [] { return league_cases(listed); }},
      {league, [] { return no_command("league --help"); }},
  };
}

}  // namespace strack::cli
