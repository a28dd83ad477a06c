// `strack vectors`: its words on the command line.
#include "cli/commands.h"
#include "cli/vectors.h"

namespace strack::cli {

std::vector<Command> add_vectors(CLI::App& app) {
  CLI::App* vectors = app.add_subcommand("vectors",
                                         "Conformance vectors of the core: events, decisions and a "
                                         "digest of the state after each,\n"
                                         "for those who build it again in firmware or hardware.");
  vectors->require_subcommand(0, 1);

  static VectorsExportOptions made;
  CLI::App* export_command = vectors->add_subcommand(
      "export", "Prints all vectors, as text or JSON. They are the same on every machine.");
  export_command->add_flag("--json", made.json, "as JSON");
  export_command->add_flag("--events", made.events,
                           "events only, for another implementation to fill in its answers");
  export_command->add_option("--out", made.out, "the file to write; standard output")
      ->type_name("FILE");
  export_command->add_flag("--force", made.force, "replace an existing file");

  static VectorsCheckOptions answered;
  CLI::App* check_command = vectors->add_subcommand(
      "check",
      "Compares what another implementation answered, as text or JSON, with what the core decides\n"
      "on the same events, and names the first difference of each vector.");
  check_command->add_option("FILE", answered.file, "the answers")->required()->type_name("");
  check_command->add_flag("--json", answered.json, "for programs");

  static Formats listed;
  CLI::App* list_command =
      vectors->add_subcommand("list", "Lists the vectors and the rare branches they reach.");
  add_formats(list_command, listed, "vector");

  return {
      {export_command, [] { return vectors_export(made); }},
      {check_command, [] { return vectors_check(answered); }},
      {list_command, [] { return vectors_list(listed); }},
      {vectors, [] { return no_command("vectors --help"); }},
  };
}

}  // namespace strack::cli
