// `strack report` and `strack paper`: their words on the command line; and those of `strack league`.
#include <utility>

#include "cli/commands.h"
#include "cli/diff.h"
#include "cli/paper.h"
#include "cli/report.h"

namespace strack::cli {
namespace {

void add_paper(CLI::App* command, PaperOptions& options) {
  command->add_option("ROW", options.rows, "rows, such as P400; else all")->type_name("");
  command->add_option("--scale", options.scale, "quick takes minutes; full is the paper's own")
      ->capture_default_str();
  command->add_option("--rows", options.folder, "the folder of the rows' scenarios")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_option("--results", options.results, "where results are; results/paper-<scale>")
      ->type_name("FOLDER");
}

CLI::App* add_report(CLI::App& app, ReportOptions& page) {
  CLI::App* report_command = app.add_subcommand(
      "report",
      "Makes a page of any result files, one run in full or several compared: an HTML file with\n"
      "interactive figures that opens from disk, without a network.");
  report_command->add_option("RESULT", page.files, "result files")->required()->type_name("");
  report_command
      ->add_option("--out", page.out,
                   "the page; <file>.html beside one result, report.html beside several")
      ->type_name("FILE");
  report_command->add_option("--csv", page.csv, "a CSV file for each figure and table")
      ->type_name("FOLDER");
  report_command->add_option("--png", page.png, "a picture of each figure (needs Chromium)")
      ->type_name("FOLDER");
  report_command->add_option("--title", page.title, "of the page");
  report_command->add_flag("--force", page.force, "replace a file that is not a report");
  return report_command;
}

Command add_paper_run(CLI::App* paper) {
  static PaperRunOptions paper_runs;
  CLI::App* paper_run_command =
      paper->add_subcommand("run",
                            "Runs the experiments, in parallel processes. Interrupted, the same "
                            "command goes on where it\n"
                            "was; what this version has already run is not run again.");
  add_paper(paper_run_command, paper_runs);
  paper_run_command->add_option("--jobs", paper_runs.jobs, "runs at a time; one per processor")
      ->check(CLI::Range(1, 4'096));
  paper_run_command->add_option("--threads", paper_runs.threads, "of each run; else one")
      ->check(CLI::Range(1, 1'024));
  add_gpu_options(paper_run_command, paper_runs.gpu);
  paper_run_command
      ->add_option(
          "--stop-after", paper_runs.stop_after_s,
          "a time such as 9min: no run is begun that would take longer; ends with status 3 "
          "while runs are missing")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}, {"h", 3'600}}))
      ->check(number_from(0, 1e9))
      ->type_name("TIME");
  add_batch_options(paper_run_command, paper_runs.batch);
  paper_run_command
      ->add_option("--have", paper_runs.have, "tables (--table) of runs made before or elsewhere")
      ->type_name("FILE");
  paper_run_command
      ->add_option("--table", paper_runs.table, "write all runs there are as a table, a CSV file")
      ->type_name("FILE");
  paper_run_command->add_flag("--dry-run", paper_runs.dry_run,
                              "say what would be run, and how long about");
  paper_run_command->add_flag("--force", paper_runs.force, "run again what is finished");
  paper_run_command->add_flag("--quiet", paper_runs.quiet, "print errors only");
  return {paper_run_command, [] { return paper_run(paper_runs); }};
}

Command add_paper_calibrate(CLI::App* paper) {
  static PaperCalibrateOptions paper_search;
  CLI::App* paper_calibrate_command = paper->add_subcommand(
      "calibrate",
      "Searches for constants under which the paper's numbers appear, where it names none. Judges\n"
      "nothing; the same command goes on where it was interrupted.");
  paper_calibrate_command
      ->add_option("--points", paper_search.points, "of the first sample, per side")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  paper_calibrate_command->add_option("--rounds", paper_search.rounds, "of refinement")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  paper_calibrate_command
      ->add_option("--side", paper_search.side, "search this side alone, such as strack")
      ->type_name("NAME");
  paper_calibrate_command->add_option("--rows", paper_search.folder, "the folder of the rows")
      ->capture_default_str()
      ->type_name("FOLDER");
  paper_calibrate_command
      ->add_option("--results", paper_search.results, "where results are; results/paper-calibrate")
      ->type_name("FOLDER");
  paper_calibrate_command
      ->add_option("--jobs", paper_search.jobs, "runs at a time; one per processor")
      ->check(CLI::Range(1, 4'096));
  paper_calibrate_command
      ->add_option("--threads", paper_search.threads, "of each run; as its scenario says")
      ->check(CLI::Range(1, 4'096));
  paper_calibrate_command
      ->add_option("--markdown", paper_search.markdown, "what was found, as Markdown")
      ->type_name("FILE");
  paper_calibrate_command
      ->add_option("--confirm", paper_search.confirm,
                   "run the best points at the paper's scale too, with one seed, beside the\n"
                   "defaults' runs of this table, such as docs/validation.csv")
      ->type_name("TABLE")
      ->check(CLI::ExistingFile);
  paper_calibrate_command
      ->add_option(
          "--only", paper_search.rows,
          "run no more than these rows at the paper's scale; what is there counts all the\n"
          "same")
      ->type_name("ROW...");
  paper_calibrate_command
      ->add_option(
          "--have", paper_search.have,
          "tables that an earlier search has left in its results, of any version: what is\n"
          "in them is not run again")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  paper_calibrate_command->add_flag("--named", paper_search.named,
                                    "the points that CALIBRATE names at the paper's scale, too");
  paper_calibrate_command->add_flag("--quiet", paper_search.quiet, "print errors only");
  return {paper_calibrate_command, [] { return paper_calibrate(paper_search); }};
}

}  // namespace

/// Under the program itself, and as one of `sim`'s.
Command add_diff(CLI::App& to) {
  static DiffOptions options;
  CLI::App* command = to.add_subcommand(
      "diff",
      "Says what changed between two result files, or two sets of them: settings, times, losses,\n"
      "queues, each workload's; and whether it is more than seeds alone change. A folder stands "
      "for\n"
      "the results in it; of sweeps, runs with the same settings are compared. Ends with status 0\n"
      "where nothing differs by more than seeds explain, 1 where something does, where nobody can\n"
      "know (one seed), or where a run has no partner, 2 where they cannot be compared.");
  command->add_option("A", options.files, "A and B: files or folders; with --with all of A")
      ->required()
      ->type_name("");
  command->add_option("--with", options.with, "B, where a side is several files")
      ->type_name("B...");
  CLI::Option* json = command->add_flag("--json", options.json, "for programs");
  command->add_flag("--csv", options.csv, "for spreadsheets: a line per figure")->excludes(json);
  return {command, [] { return diff(options); }};
}

std::vector<Command> add_reports(CLI::App& app) {
  // What CLI11 fills in must outlive this function, and there is one command line.
  static ReportOptions page;
  CLI::App* report_command = add_report(app, page);

  CLI::App* paper = app.add_subcommand("paper",
                                       "Reproduces the STrack paper: every experiment, judged by "
                                       "rules that stand in the scenarios.");
  paper->require_subcommand(0, 1);

  static PaperStatusOptions paper_state;
  CLI::App* paper_status_command = paper->add_subcommand(
      "status", "Lists the rows: which of their runs are there, and what they say so far.");
  add_paper(paper_status_command, paper_state);
  add_formats(paper_status_command, paper_state.formats, "statement, or row without any");

  static PaperReportOptions paper_page;
  CLI::App* paper_report_command =
      paper->add_subcommand("report",
                            "Makes the report of what has been run: one HTML file with every "
                            "figure, the paper's numbers\n"
                            "beside ours, and verdicts. It opens from disk, without a network.");
  add_paper(paper_report_command, paper_page);
  paper_report_command->add_option("--out", paper_page.out, "the page; <results>/report.html")
      ->type_name("FILE");
  paper_report_command
      ->add_option("--markdown", paper_page.markdown, "the verdicts and tables, as Markdown")
      ->type_name("FILE");
  paper_report_command->add_option("--data", paper_page.data, "the table of runs, as CSV")
      ->type_name("FILE");
  paper_report_command
      ->add_option("--from", paper_page.from,
                   "take such tables instead of results; a page is made only with --out, without\n"
                   "the figures that are drawn from result files")
      ->type_name("FILE");
  paper_report_command
      ->add_option("--calibration", paper_page.calibration,
                   "the page tells of a search for constants, too: docs/calibration.csv, or\n"
                   "points.csv in the results of `strack paper calibrate`")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  paper_report_command->add_option("--csv", paper_page.csv, "a CSV file for each figure")
      ->type_name("FOLDER");
  paper_report_command->add_option("--png", paper_page.png, "a picture of each figure (Chromium)")
      ->type_name("FOLDER");
  paper_report_command->add_flag("--force", paper_page.force, "replace a file that is no report");

  std::vector<Command> commands = {
      {report_command, [] { return report(page); }},
      add_diff(app),
      add_paper_run(paper),
      {paper_status_command, [] { return paper_status(paper_state); }},
      add_paper_calibrate(paper),
      {paper_report_command, [] { return paper_report(paper_page); }},
      {paper, [] { return no_command("paper --help"); }},
  };
  for (const auto add : {add_league, add_vectors}) {
    for (Command& command : add(app)) commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace strack::cli
