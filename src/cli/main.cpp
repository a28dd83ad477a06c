// The one program, `strack`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/demo.h"

int main(int argc, char** argv) {
  using namespace strack::cli;

  CLI::App app{
      "STrack: a reliable multipath transport for AI/ML clusters.\n"
      "\n"
      "Start with `strack demo` to see the protocol deal with congestion, loss and dead paths,\n"
      "and `strack trace` to read its decisions packet by packet.",
      "strack"};
  app.set_version_flag("--version", "strack " STRACK_VERSION);
  app.require_subcommand(0, 1);

  DemoOptions demo;
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

  TraceOptions trace;
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

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "error: {}\n       `strack --help` lists what there is\n", e.what());
    return 2;
  }
  if (*demo_command) {
    demo.plain = demo.plain || isatty(STDOUT_FILENO) == 0;
    return run_demo(demo);
  }
  if (*trace_command) return run_trace(trace);
  fmt::print(stderr, "error: no command given. `strack --help` lists what there is\n");
  return 2;
}
