// The words of `strack sim cost`.
#include <memory>

#include "cli/commands.h"
#include "cli/sim.h"

namespace strack::cli {

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
  command->add_option("--seeds", cost->seeds, "such as 1,2,5-8; instead of the scenario's");
  command->add_option("--jobs", cost->jobs, "runs at the same time; one per processor")
      ->check(CLI::Range(1, 4'096));
  command->add_option("--threads", cost->threads, "of each run; else as the scenario says")
      ->check(CLI::Range(1, 1'024));
  command->add_option("--out", cost->out, "the folder; results/<name>-cost")->type_name("FOLDER");
  command->add_flag("--force", cost->force, "run again what is finished");
  command->add_flag("--json", cost->json, "for programs: times in ps, sizes in bytes");
  return {command, [cost] { return sim_cost(*cost); }};
}

}  // namespace strack::cli
