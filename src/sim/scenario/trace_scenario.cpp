#include "sim/scenario/trace_scenario.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/scenario/files.h"
#include "workload/formats/trace.h"

namespace strack::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kHostsPerRack = 16;

/// "step.0.et" is "step.{rank}.et": the files of all ranks.
std::string of_all_ranks(const std::string& name) {
  for (const std::string_view ending : {".0.et", ".0.json"}) {
    if (name.ends_with(ending)) {
      const std::size_t begin = name.size() - ending.size() + 1;
      return name.substr(0, begin) + std::string(kRankMark) + name.substr(begin + 1);
    }
  }
  return name;
}

/// As TOML has it between quotes.
std::string quoted_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return '"' + out + '"';
}

}  // namespace

bool is_trace_name(const fs::path& file) {
  return workload::trace_format_of(file.string()).has_value();
}

Result<std::string, ScenarioError> scenario_of_trace(const fs::path& file,
                                                     const std::vector<std::string>& overrides) {
  const std::string name = of_all_ranks(file.filename().string());
  std::string scenario =
      fmt::format("name = {}\n\n[workload]\nkind = \"trace\"\nfile = {}\n",
                  quoted_text(name.substr(0, name.find('.'))), quoted_text(name));
  const bool has_network =
      std::any_of(overrides.begin(), overrides.end(), [](const std::string& text) {
        return text.starts_with("topology.file") || text.starts_with("topology.hosts=") ||
               text.starts_with("topology.hosts ");
      });
  if (has_network) return scenario;
  // How many ranks there are does not depend on what a unit of time is.
  const auto files = trace_files(file.parent_path() / name);
  if (!files) return ScenarioError{file.string(), 0, files.error().message};
  const auto trace =
      read_trace(files.value(), {.format = *workload::trace_format_of(file.string())});
  if (!trace) return ScenarioError{trace.error().file, trace.error().line, trace.error().message};
  const std::uint32_t racks =
      std::max(2u, (trace.value().graph.ranks() + kHostsPerRack - 1) / kHostsPerRack);
  return scenario + fmt::format("\n[topology]\nhosts = {}\nhosts_per_rack = {}\n",
                                racks * kHostsPerRack, kHostsPerRack);
}

}  // namespace strack::sim
