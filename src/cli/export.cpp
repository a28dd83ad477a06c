#include "cli/export.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/text.h"
#include "export/pcap.h"
#include "export/perfetto.h"
#include "metrics/result_file.h"

namespace strack::cli {

int check_export(const ExportOptions& options, const std::filesystem::path& result) {
  std::vector<std::filesystem::path> named;
  if (!result.empty()) named.push_back(std::filesystem::absolute(result).lexically_normal());
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
    if (std::filesystem::exists(there) && !options.force)
      return fail(fmt::format("{}: there is such a file. --force replaces it", file.string()));
    named.push_back(std::filesystem::absolute(file).lexically_normal());
    if (std::count(named.begin(), named.end(), named.back()) > 1)
      return fail(file.string() + ": is named for two things. give each a name of its own");
  }
  return 0;
}

int sim_export(const ExportOptions& options) {
  if (!options.any())
    return fail(
        "nothing to be written was named. --perfetto FILE is a timeline, --pcap FILE a capture");
  if (const int status = check_export(options, options.file)) return status;
  const auto opened = metrics::ResultReader::open(options.file);
  if (!opened) return fail(opened.error().message);
  metrics::ResultReader& reader = *opened.value();
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
