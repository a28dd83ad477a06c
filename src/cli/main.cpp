// The one program, `strack`.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/demo.h"
#include "cli/misspelt.h"
#include "cli/sim.h"
#include "cli/text.h"
#include "cli/workload.h"
#include "run/build_info.h"
#include "sim/scenario/scenario.h"
#include "transports/registry.h"

namespace strack::cli {
namespace {

constexpr std::int64_t kLargestSeed = INT64_MAX;

/// Help that fits the terminal; all of it as it was written where there is none.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode), terminal_width(),
                   get_column_width());
  }
};

/// --set, once for each value.
CLI::Option* add_set(CLI::App* command, std::vector<std::string>& set, const std::string& help) {
  return command->add_option("--set", set, help)->allow_extra_args(false)->type_name("KEY=VALUE");
}

CLI::Option* add_file(CLI::App* command, std::filesystem::path& file) {
  return command->add_option("FILE", file, "the scenario, a TOML file")->required()->type_name("");
}

/// What all commands of `workload` read, and how.
void add_workload(CLI::App* command, WorkloadInput& input) {
  command->add_option("FILE", input.files, "a trace, or a scenario with its workload")
      ->required()
      ->type_name("");
  command
      ->add_option("--format", input.format,
                   "auto is as names end: .cm; .goal, .bin; .et, .json (Chakra); .toml (scenario)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cm", "goal", "chakra", "scenario"}));
  command->add_option("--time", input.time, "what `start` counts in a .cm file")
      ->capture_default_str()
      ->check(CLI::IsMember({"ps", "us"}));
  command->add_option("--calc-ns", input.calc_ns, "how long `calc 1` takes in a GOAL file, in ns")
      ->capture_default_str()
      ->type_name("NUMBER");
  command
      ->add_option("--comm-groups", input.comm_groups,
                   "who is in which group of a Chakra trace, as ASTRA-sim takes it (JSON)")
      ->type_name("FILE");
  add_set(command, input.set, "changes one key of a scenario; any number of times");
}

/// What `sim run` takes beside its file.
void add_run_options(CLI::App* command, RunOptions& run, const CLI::Validator& seeds) {
  add_set(command, run.set,
          "changes one key, such as --set topology.hosts=1024; any number of times");
  command->add_option("--topo", run.topo, "an htsim topology instead of the scenario's network")
      ->type_name("FILE");
  command->add_option("--scheme", run.scheme,
                      "instead of the scenario's; `strack sim schemes` lists them");
  command->add_option("--seed", run.seed, "instead of the scenario's")->check(seeds);
  command->add_option("--threads", run.threads, "of this run; results do not depend on it")
      ->check(CLI::Range(1, 1'024));
  command
      ->add_option(
          "--engine", run.engine,
          "what runs it: cpu (the default), gpu, auto, mpi (the default under mpirun), or emulated "
          "(the GPU's steps on this processor, for tests); results do not depend on it")
      ->check(CLI::IsMember({"cpu", "gpu", "auto", "mpi", "emulated"}));
  command->add_option("--out", run.out, "the result file; results/<name>-<scheme>-s<seed>.db")
      ->type_name("FILE");
  add_exports(command, run.exports);
  command->add_flag("--force", run.force,
                    "replace existing files; a run that was stopped still goes on, unless --fresh");
  command
      ->add_option(
          "--checkpoint", run.checkpoint_minutes,
          "minutes between checkpoints of a long run (10), with which the same command goes "
          "on after Ctrl-C; 0: none")
      ->type_name("MINUTES")
      ->check(number_from(0, 1e6));
  command->add_flag("--fresh", run.fresh, "begin again, though there is a checkpoint");
  command->add_flag("--quiet", run.quiet, "print errors only");
  add_formats(command, run.json, run.csv, "run");
  command->add_flag("--dry-run", run.dry_run, "run nothing: what `sim show` prints");
}

void add_show_options(CLI::App* command, ShowOptions& show, const CLI::Validator& seeds) {
  add_file(command, show.file);
  add_set(command, show.set, "changes one key; any number of times");
  command->add_option("--seed", show.seed, "instead of the scenario's")->check(seeds);
  command->add_flag("--json", show.json, "for programs: times in ps, sizes in bytes");
}

/// `strack help`, `strack help scenario`, `strack help sim run`.
int help(const CLI::App& app, const std::vector<std::string>& topic) {
  if (topic.size() == 1 && topic.front() == "scenario") {
    fmt::print("{}", wrapped(sim::help_text(), terminal_width()));
    return 0;
  }
  if (topic.size() == 2 && topic.front() == "scenario") {
    const auto text = sim::help_text_of(topic.back());
    if (!text) return fail(text.error().text());
    fmt::print("{}", wrapped(text.value(), terminal_width()));
    return 0;
  }
  const CLI::App* at = &app;
  for (const std::string& word : topic) {
    const std::vector<const CLI::App*> found =
        at->get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
    at = found.empty() ? nullptr : found.front();
    if (at == nullptr) {
      fmt::print(stderr,
                 "error: there is no help on '{}'. try `strack help`, `strack help scenario` or a "
                 "command, such as `strack help sim run`\n",
                 fmt::join(topic, " "));
      return 2;
    }
  }
  // Not help(), which would be that of the command just given: of `help`.
  std::string called = "strack";  // the program's name
  for (const std::string& word : topic) called += " " + word;
  fmt::print("{}", at->get_formatter()->make_help(at, called, CLI::AppFormatMode::Normal));
  return 0;
}

}  // namespace

int no_command(const char* help) {
  fmt::print(stderr, "error: no command given. `strack {}` lists what there is\n", help);
  return 2;
}

Command add_schemes(CLI::App& sim) {
  static Formats formats;
  CLI::App* command = sim.add_subcommand("schemes", "Lists the schemes that a scenario can name.");
  add_formats(command, formats, "scheme");
  return {command, [] { return sim_schemes(formats); }};
}

}  // namespace strack::cli

namespace {

int run_command(int argc, char** argv) {
  using namespace strack::cli;
  Table::fit(terminal_width());

  CLI::App app{
      "STrack: a reliable multipath transport for AI/ML clusters.\n"
      "\n"
      "Start with `strack demo` to see the protocol deal with congestion, loss and dead paths,\n"
      "and `strack trace` to read its decisions packet by packet. `strack sim` simulates whole\n"
      "clusters: `strack help sim` lists what it can do, `strack help scenario` what a scenario\n"
      "file can say, `strack paper` reproduces the paper, `strack league` ranks all transports,\n"
      "`strack plan` weighs networks by cost and step time, `strack report` draws any results,\n"
      "`strack workload` reads and writes other tools' traces.\n"
      "`strack perf`, `strack cp`, `strack recv` use the transport between real hosts, over UDP.",
      "strack"};  // the program's name
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("strack ") + strack::run::kBuildInfo.version);
  app.require_subcommand(0, 1);

  strack::transports::DemoOptions demo;
  CLI::App* demo_command =
      app.add_subcommand("demo",
                         "Runs the core on small networks and shows how it fares.\n"
                         "Each row is a transfer between 400 Gb/s NICs over 16 routes, in virtual "
                         "time, packet by packet,\n"
                         "with adaptive and with oblivious path choice. The same seed gives the "
                         "same figures everywhere.");
  demo_command->add_option("--seed", demo.seed, "decides hash collisions, losses and marks")
      ->capture_default_str();
  demo_command->add_flag("--plain", demo.plain, "no colours, even on a terminal");

  strack::transports::TraceOptions trace;
  CLI::App* trace_command =
      app.add_subcommand("trace",
                         "Prints every decision of sender and receiver during one short transfer: "
                         "packets and their paths,\n"
                         "SACKs and what they carry, window changes, losses declared, probes.");
  trace_command->add_option("--packets", trace.packets, "how long the message is")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  trace_command
      ->add_option("--lose", trace.lose, "which data packet is lost, counted from 1; 0: none")
      ->capture_default_str();

  CLI::App* sim = app.add_subcommand(
      "sim", "Simulates whole clusters, packet by packet, as scenario files describe them.");
  sim->require_subcommand(0, 1);
  CLI::Validator seeds = CLI::Range(std::int64_t{0}, kLargestSeed);
  seeds.description("");  // its bounds would only fill the help

  RunOptions run;
  CLI::App* run_command = sim->add_subcommand(
      "run",
      "Runs one scenario and writes a result file, an SQLite database, while it goes. A trace of\n"
      "another tool (.cm, .goal, .bin, .0.et, .0.json) runs too, on a network with a host for each "
      "rank.\n"
      "Ctrl-C stops it and leaves a valid file that is marked as partial.");
  add_file(run_command, run.file);
  add_run_options(run_command, run, seeds);

  SummaryOptions summary;
  CLI::App* summary_command = sim->add_subcommand(
      "summary",
      "Prints the figures of result files: times of flows or jobs beside what physics allows,\n"
      "drops, marks, retransmissions, utilisation. One file in full, several in a table.");
  summary_command->add_option("FILE", summary.files, "result files")->required()->type_name("");
  add_formats(summary_command, summary.json, summary.csv, "run");

  ShowOptions show;
  CLI::App* show_command = sim->add_subcommand(
      "show",
      "Prints a scenario with every key that applies to it, and what follows from them: BDP, base\n"
      "RTT, ideal completion time, memory. What it prints is a scenario file again.");
  add_show_options(show_command, show, seeds);

  SweepOptions sweep;
  CLI::App* sweep_command = sim->add_subcommand(
      "sweep",
      "Runs every combination of several values, in parallel processes, and ends with a table.\n"
      "Interrupted, the same command goes on where it was: what is finished is not run again.");
  add_file(sweep_command, sweep.file);
  add_set(sweep_command, sweep.set,
          "values of one key, such as --set workload.size=2MB,16MB; any number of times")
      ->type_name("KEY=V1,V2,...");
  add_pool_options(sweep_command, sweep, "results/<name>-sweep");

  SweepOptions compare;
  compare.compare = true;
  std::string schemes = fmt::format("{}", fmt::join(strack::transports::scheme_names(), ","));
  CLI::App* compare_command = sim->add_subcommand(
      "compare", "Runs one scenario under several schemes and puts them side by side in a table.");
  add_file(compare_command, compare.file);
  compare_command->add_option("--schemes", schemes, "which")->capture_default_str();
  add_set(compare_command, compare.set, "changes one key for all; any number of times");
  add_pool_options(compare_command, compare, "results/<name>-compare");

  CLI::App* workload = app.add_subcommand(
      "workload",
      "Looks at, converts and draws workloads: traces of other tools, and what scenarios send;\n"
      "makes the scenario of a training step.");
  workload->require_subcommand(0, 1);

  WorkloadInfoOptions info;
  CLI::App* info_command =
      workload->add_subcommand("info",
                               "Prints what is in traces and in the workloads of scenarios: ranks, "
                               "messages, bytes, channels,\n"
                               "computations, the longest chain of dependencies. Files of a Chakra "
                               "trace, one for each rank,\n"
                               "are one workload, in the order of the numbers in their names; "
                               "'step.{rank}.et' names them all.");
  add_workload(info_command, info.input);
  add_formats(info_command, info.json, info.csv, "workload");

  WorkloadConvertOptions convert;
  CLI::App* convert_command = workload->add_subcommand(
      "convert",
      "Writes a workload as htsim's connection matrix (cm) or as a GOAL schedule. What a format "
      "has\n"
      "no words for is an error. Of a scenario with jobs, one job is written.");
  add_workload(convert_command, convert.input);
  convert_command->add_option("--to", convert.to, "what to write")
      ->required()
      ->check(CLI::IsMember({"cm", "goal"}));
  convert_command
      ->add_option("--out-time", convert.out_time, "like --time, of what is written; else the same")
      ->check(CLI::IsMember({"ps", "us"}));
  convert_command
      ->add_option("--out-calc-ns", convert.out_calc_ns,
                   "like --calc-ns, of what is written; else the same")
      ->type_name("NUMBER");
  convert_command->add_flag("--own-connections", convert.own_connections,
                            "cm: an id for every message, for an htsim that knows no `msg`");
  convert_command->add_option("--out", convert.out, "the file to write; standard output")
      ->type_name("FILE");
  convert_command->add_flag("--force", convert.force, "replace an existing file");

  WorkloadDrawOptions draw;
  CLI::App* draw_command = workload->add_subcommand(
      "draw",
      "Draws a small workload as a picture (SVG): ranks are lines, messages arrows, computations\n"
      "bars. Times follow a simple model, not a simulation. Of a scenario with jobs, one is "
      "drawn.");
  add_workload(draw_command, draw.input);
  draw_command
      ->add_option("--latency", draw.latency, "of a message, such as 1us; else the scenario's")
      ->type_name("TIME");
  draw_command->add_option("--rate", draw.rate, "of a rank, such as 400Gb/s; else the scenario's")
      ->type_name("RATE");
  draw_command->add_option("--out", draw.out, "the file to write; standard output")
      ->type_name("FILE");
  draw_command->add_flag("--force", draw.force, "replace an existing file");

  std::vector<Command> commands = add_reports(app);
  for (Command& command : add_udp(app)) commands.push_back(std::move(command));
  for (Command& command : add_topology(app)) commands.push_back(std::move(command));
  for (const auto add : {add_schemes, add_cost, add_diff, add_export, add_watch})
    commands.push_back(add(*sim));
  commands.push_back(add_make(*workload));
  for (const auto add : {add_version, add_plan}) commands.push_back(add(app));
  std::vector<std::string> topic;
  CLI::App* help_command =
      app.add_subcommand("help", "Explains a command, or `scenario`: all keys of a scenario file.");
  help_command
      ->add_option("TOPIC", topic, "`scenario`, `scenario SECTION`, or a command such as `sim run`")
      ->type_name("");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(misspelt(app, e));
  }
  if (*demo_command) {
    demo.plain = demo.plain || isatty(STDOUT_FILENO) == 0 || no_colour();
    return run_demo(demo);
  }
  if (*trace_command) return run_trace(trace);
  if (*help_command) return help(app, topic);
  if (*info_command) return workload_info(info);
  if (*convert_command) return workload_convert(convert);
  if (*draw_command) return workload_draw(draw);
  if (*run_command) {
    run.exports.force = run.force;
    return sim_run(run);
  }
  if (*summary_command) return sim_summary(summary);
  if (*show_command) return sim_show(show);
  if (*sweep_command) return sim_sweep(sweep);
  for (const Command& command : commands) {
    if (*command.given) return command.run();
  }
  if (*compare_command) {
    compare.set.insert(compare.set.begin(), "transport.scheme=" + schemes);
    return sim_sweep(compare);
  }
  return no_command(*sim ? "sim --help" : *workload ? "workload --help" : "--help");
}

}  // namespace

// What was printed may not have arrived: where a disk is full it is not there to be read.
int main(int argc, char** argv) {
  try {
    const int status = run_command(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    strack::cli::fail("the output could not be written: is the disk full?");
  } catch (const std::system_error& e) {
    strack::cli::fail(e.what());
  }
  return 1;
}
