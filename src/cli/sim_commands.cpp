// The words of `strack plan`, of some of `strack sim` and `strack version`, and what all commands with many runs take.
#include <memory>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "cli/plan.h"
#include "cli/sim.h"
#include "cli/watch.h"
#include "run/build_info.h"

namespace strack::cli {

void add_batch_options(CLI::App* command, run::BatchOptions& batch) {
  CLI::Option* slurm = command->add_flag_callback(
      "--slurm", [&batch] { batch.kind = run::BatchKind::slurm; },
      "as tasks of a Slurm array job; SBATCH_PARTITION and its like choose where");
  command
      ->add_option_function<double>(
          "--task-minutes", [&batch](double minutes) { batch.task_seconds = minutes * 60; },
          "runs are packed into tasks of about this long; 30")
      ->check(number_from(0.0001, 1e6))
      ->needs(slurm)
      ->type_name("NUMBER");
  CLI::Option* ssh = command->add_option_function<std::string>(
      "--ssh",
      [&batch](const std::string& hosts) {
        batch.kind = run::BatchKind::ssh;
        batch.hosts = hosts;
      },
      "on these machines, by GNU parallel, such as a,b,8/c (8 at a time)");
  ssh->excludes(slurm)->type_name("HOSTS");
  // There processors make the runs, so nobody who asks for a GPU is left to believe that one did.
  if (CLI::Option* engine = command->get_option_no_throw("--engine")) {
    slurm->excludes(engine);
    ssh->excludes(engine);
  }
}

void add_gpu_options(CLI::App* command, GpuShare& gpu) {
  command
      ->add_option(
          "--engine", gpu.engine,
          "cpu; gpu, which runs share; auto: a GPU for long runs of lossy networks by ECMP, where "
          "there is one, and processors for the others; or emulated, for tests")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "gpu", "auto", "emulated"}));
  command->add_option("--gpu-jobs", gpu.jobs, "runs at a time that share the GPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
}

void add_formats(CLI::App* command, bool& json, bool& csv, const std::string& a_line_per) {
  CLI::Option* first =
      command->add_flag("--json", json, "for programs: times in ps, sizes in bytes");
  command->add_flag("--csv", csv, "for spreadsheets: a line per " + a_line_per)->excludes(first);
}

void add_formats(CLI::App* command, Formats& formats, const std::string& a_line_per) {
  CLI::Option* first = command->add_flag("--json", formats.json, "for programs");
  command->add_flag("--csv", formats.csv, "for spreadsheets: a line per " + a_line_per)
      ->excludes(first);
}

CLI::Validator number_from(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double value = 0;
        const bool read = CLI::detail::lexical_cast(text, value);
        if (read && value >= low && value <= high) return std::string();
        return fmt::format("{} is no number from {} to {}", text, low, high);
      },
      "", "number");
}

void add_pool_options(CLI::App* command, SweepOptions& options, const std::string& folder) {
  command->add_option("--seeds", options.seeds, "such as 1,2,5-8; instead of the scenario's");
  command->add_option("--jobs", options.jobs, "runs at the same time; one per processor")
      ->check(CLI::Range(1, 4'096));
  command->add_option("--threads", options.threads, "of each run; else as the scenario says")
      ->check(CLI::Range(1, 1'024));
  command->add_option("--out", options.out, "the folder; " + folder)->type_name("FOLDER");
  command->add_flag("--force", options.force, "run again what is finished");
  command->add_flag("--dry-run", options.dry_run,
                    "run nothing: list the runs, and which are there");
  command->add_flag("--quiet", options.quiet, "no progress, only what came of it");
  add_formats(command, options.json, options.csv, "run or workload");
  add_gpu_options(command, options.gpu);
  add_batch_options(command, options.batch);
}

void add_exports(CLI::App* command, ExportOptions& options) {
  command
      ->add_option("--perfetto", options.perfetto,
                   "a timeline of jobs, hosts, links and failures, for ui.perfetto.dev (JSON)")
      ->type_name("FILE");
  command
      ->add_option("--pcap", options.pcap,
                   "a capture of one flow, for Wireshark with tools/wireshark/strack.lua")
      ->type_name("FILE");
  command->add_option("--pcap-flow", options.flow, "which flow; else the first")
      ->check(CLI::Range(0, 99'999))
      ->type_name("NUMBER");
}

Command add_export(CLI::App& sim) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = sim.add_subcommand(
      "export", "Writes what a result file holds for other tools: a timeline, a capture.");
  command->add_option("FILE", options->file, "a result file")->required()->type_name("");
  add_exports(command, *options);
  command->add_flag("--force", options->force, "replace existing files");
  command->add_flag("--quiet", options->quiet, "print errors only");
  return {command, [options] { return sim_export(*options); }};
}

Command add_plan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan",
      "Runs a job mix on several networks, under several transports, well and with failures, and\n"
      "says what each costs, how long a step takes on it, and which none beats in both: a table\n"
      "and a page. Interrupted, the same command goes on where it was. docs/plan.md has the file.");
  command->add_option("FILE", options->file, "the plan, a TOML file")->required()->type_name("");
  command->add_option("--jobs", options->jobs, "runs at the same time; one per processor")
      ->check(CLI::Range(1, 4'096));
  command->add_option("--threads", options->threads, "of each run; else as the scenario says")
      ->check(CLI::Range(1, 1'024));
  command->add_option("--out", options->out, "the folder; results/<name>-plan")
      ->type_name("FOLDER");
  command->add_flag("--force", options->force, "run again what is finished");
  command->add_flag("--dry-run", options->dry_run,
                    "run nothing: list the runs, and which are there");
  command->add_flag("--quiet", options->quiet, "no progress, only what came of it");
  CLI::Option* json = command->add_flag("--json", options->json, "for programs");
  command->add_flag("--csv", options->csv, "for spreadsheets: a line per network and transport")
      ->excludes(json);
  return {command, [options] { return plan(*options); }};
}

Command add_watch(CLI::App& sim) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command =
      sim.add_subcommand("watch",
                         "Serves the report of a result file on this machine, and makes it anew "
                         "while the run goes on.\n"
                         "Nobody else can reach it. Ctrl-C ends it; the run goes on.");
  command->add_option("FILE", options->file, "a result file, finished or not")
      ->required()
      ->type_name("");
  command->add_option("--port", options->port, "of 127.0.0.1; else any that is free")
      ->type_name("NUMBER");
  command->add_option("--every", options->every, "seconds between two looks at the file")
      ->capture_default_str()
      ->check(CLI::Range(1, 3'600))
      ->type_name("SECONDS");
  return {command, [options] { return sim_watch(*options); }};
}

Command add_version(CLI::App& app) {
  static bool json = false;
  CLI::App* command = app.add_subcommand(
      "version",
      "Says which program this is: its version, the commit it was built from (a + at the\n"
      "end: and changes), and a fingerprint of the sources that decide results.");
  command->add_flag("--json", json, "for programs");
  return {command, [] {
            const run::BuildInfo& info = run::kBuildInfo;
            if (json) {
              fmt::print("{{\"version\": {}, \"commit\": {}, \"sources\": {}}}\n",
                         json_string(info.version), json_string(info.commit),
                         json_string(info.source));
              return 0;
            }
            fmt::print("strack {}\ncommit {}\nsources {}\n", info.version,
                       *info.commit == '\0' ? "unknown" : info.commit, info.source);
            return 0;
          }};
}

Command add_cost(CLI::App& sim) {
  auto cost = std::make_shared<SweepOptions>();
  CLI::App* command =
      sim.add_subcommand("cost",
                         "Says what the workloads of a scenario cost each other: runs each alone "
                         "and all together, with\n"
                         "the same flows on the same hosts, and puts the times side by side.");
  command->add_option("FILE", cost->file, "a scenario with several [[workload]]")
      ->required()
      ->type_name("");
  command
      ->add_option("--set", cost->set,
                   "changes one key; several values run each; any number of times")
      ->type_name("KEY=V1,V2,...")
      ->allow_extra_args(false);
  add_pool_options(command, *cost, "results/<name>-cost");
  return {command, [cost] { return sim_cost(*cost); }};
}

}  // namespace strack::cli
