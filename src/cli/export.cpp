#include "cli/export.h"

#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/same_file.h"
#include "cli/text.h"
#include "export/pcap.h"
#include "export/perfetto.h"
#include "metrics/result_file.h"
#include "transports/registry.h"

namespace strack::cli {

int check_export(const ExportOptions& options, const std::vector<std::filesystem::path>& others) {
  std::vector<std::filesystem::path> named = others;
  for (const std::filesystem::path& file : {options.perfetto, options.pcap}) {
    if (file.empty()) continue;
    std::error_code ignored;
    const auto there = std::filesystem::status(file, ignored);
    if (std::filesystem::is_directory(there))
      return fail(file.string() + ": is a folder. name a file in it");
    const std::filesystem::path folder = file.parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
      return fail(
          fmt::format("{}: there is no folder {}. make it first", file.string(), folder.string()));
    if (const std::filesystem::path* other = find_same_file(file, named))
      return fail(fmt::format("{}: is named for two things{}. give each a name of its own",
                              file.string(),
                              *other == file ? "" : fmt::format(": it is {}", other->string())));
    named.push_back(file);
    if (std::filesystem::exists(there) && !options.force)
      return fail(fmt::format("{}: there is such a file. --force replaces it", file.string()));
  }
  return 0;
}

std::string refuses_capture(const metrics::RunInfo& run, std::optional<std::uint32_t> flow) {
  // Of a scheme that this program does not have, only the events say it.
  const transports::Descriptor* transport = transports::find(run.scheme).transport;
  if (transport != nullptr && !transport->sacks) return exports::other_format(run.scheme);
  return exports::refuses_capture(run, flow);
}

int sim_export(const ExportOptions& options) {
  if (!options.any())
    return fail(
        "nothing to be written was named. --perfetto FILE is a timeline, --pcap FILE a capture");
  if (const int status = check_export(options, {options.file})) return status;
  const auto opened = metrics::ResultReader::open(options.file);
  if (!opened) return fail(opened.error().message);
  metrics::ResultReader& reader = *opened.value();
  if (!options.pcap.empty()) {
    const std::string why = refuses_capture(reader.run(), options.flow);
    if (!why.empty()) return fail(fmt::format("{}: {}", options.file.string(), why));
  }
  if (!options.perfetto.empty()) {
    const auto made = exports::save_perfetto(reader, options.perfetto);
    if (!made) return fail(made.error().message, 1);
    const std::string& left = made.value().left_out;
    if (!options.quiet) {
      fmt::print("timeline: {}; ui.perfetto.dev opens it{}\n", options.perfetto.string(),
                 left.empty() ? "" : ". left out: " + left);
    }
  }
  if (!options.pcap.empty()) {
    const auto made = exports::save_pcap(reader, options.pcap, options.flow);
    if (!made) return fail(made.error().message, 1);
    if (!options.quiet) {
      fmt::print(
          "capture: {}; {} packets of flow {}{}; wireshark -X "
          "lua_script:tools/wireshark/strack.lua\n",
          options.pcap.string(), made.value().packets, made.value().flow,
          made.value().cut ? ", which had more" : "");
    }
  }
  return 0;
}

}  // namespace strack::cli
