#include "sim/scenario/scenario.h"

#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/files.h"
#include "sim/scenario/network_file.h"
#include "sim/scenario/sections/sections.h"
#include "sim/scenario/settings.h"
#include "sim/scenario/toml_text.h"
#include "sim/scenario/trace_scenario.h"
#include "workload/generators.h"

namespace strack::sim {
namespace {

[[nodiscard]] std::uint64_t fingerprint(const workload::Flows& flows) {
  std::uint64_t value = 0;
  for (const workload::Flow& flow : flows) {
    for (const std::uint64_t part :
         {std::uint64_t{flow.src}, std::uint64_t{flow.dst},
          static_cast<std::uint64_t>(flow.size.value), static_cast<std::uint64_t>(flow.start.ps)}) {
      value = mix64(value ^ part);
    }
  }
  return value;
}

/// The text names lists and traces; what was in them is part of what was run.
[[nodiscard]] std::string files_in_words(const Resolution& resolution) {
  std::string text;
  if (const auto& graph = resolution.out.config.topology.graph) {
    text += fmt::format("\n# the network: {} hosts, {} switches, {} links, fingerprint {:016x}\n",
                        graph->hosts.size(), graph->switches.size(), graph->links.size(),
                        fingerprint(*graph));
  }
  for (const WorkloadSpec& w : resolution.out.workloads) {
    if (w.kind == WorkloadKind::file) {
      text += fmt::format("\n# the flow list: {} flows, fingerprint {:016x}\n", w.list.size(),
                          fingerprint(w.list));
    }
    if (w.kind == WorkloadKind::trace) {
      text += fmt::format("\n# the trace: {} ranks, {} messages, fingerprint {:016x}\n",
                          w.graph->ranks(), w.graph->messages(), workload::fingerprint(*w.graph));
    }
  }
  for (const LinkRef& link : resolution.trace_failures) {
    text +=
        fmt::format("# failed by the trace: {} {}, uplink {}\n",
                    link.tier == LinkRef::Tier::fabric ? "rack" : "agg", link.lower, link.upper);
  }
  return text;
}

/// Makes the plain values of a scenario from its settings, section by section: each may rely on what
/// those before it have found.
[[nodiscard]] Scenario resolve(Resolution resolution) {
  Settings& settings = resolution.all;
  if (settings.plain.given("topology.file")) read_topology_file(resolution);
  resolve_scheme(resolution);
  settings.plain.check_applies();
  resolve_top(resolution);
  resolve_packets(resolution);
  resolve_topology(resolution);
  resolve_switches(resolution);
  resolve_hosts(resolution);
  hide_paths(resolution);
  hide_window(resolution);
  resolve_transports(resolution);
  resolve_pfc(resolution);
  note_switches(resolution);
  resolve_run(resolution);
  resolve_workloads(resolution);
  resolve_failures(resolution);
  resolve_record(resolution);
  note_unread(resolution);
  if (!settings.workloads.empty()) settings.plain.leave_out("workload");
  resolution.out.resolved = settings.to_toml() + files_in_words(resolution);
  resolution.out.settings = settings.list();
  return std::move(resolution.out);
}

/// `count` distinct numbers below `range`, in random order.
[[nodiscard]] std::vector<std::uint32_t> draw_distinct(Rng& rng, std::uint32_t count,
                                                       std::uint32_t range) {
  std::vector<std::uint32_t> numbers(range);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::uint32_t i = 0; i < count; ++i)
    std::swap(numbers[i], numbers[i + rng.below(range - i)]);
  numbers.resize(count);
  return numbers;
}

}  // namespace

std::string ScenarioError::text() const {
  return line > 0 ? fmt::format("{}:{}: {}", file, line, message)
                  : fmt::format("{}: {}", file, message);
}

Result<Scenario, ScenarioError> load_text(std::string_view text, const std::string& file,
                                          const std::filesystem::path& folder,
                                          const std::vector<std::string>& overrides) {
  const auto entries = read_toml(text, file);
  if (!entries) return entries.error();
  try {
    Settings settings;
    for (const Entry& entry : entries.value()) settings.assign(entry, file);
    for (const std::string& override_text : overrides) settings.assign_override(override_text);
    return resolve({settings, file, folder});
  } catch (const Failed& failed) {
    ScenarioError error = failed.error;
    if (error.file.empty()) error.file = file;  // about a default: the file is what lacks the key
    return error;
  }
}

Result<Scenario, ScenarioError> load(const std::filesystem::path& file,
                                     const std::vector<std::string>& overrides) {
  if (is_trace_name(file)) {
    const auto made = scenario_of_trace(file, overrides);
    if (!made) return made.error();
    return load_text(made.value(), file.string(), file.parent_path(), overrides);
  }
  const auto text = read_file(file);
  if (!text) return ScenarioError{file.string(), 0, text.error().message};
  return load_text(text.value(), file.string(), file.parent_path(), overrides);
}

SimConfig make_config(const Scenario& scenario, std::uint64_t seed) {
  SimConfig config = scenario.config;
  config.seed = seed;
  const TopologyParams& t = config.topology;
  const std::uint32_t uplinks = t.tiers == 2 ? t.spines * t.links_per_spine : t.aggs_per_pod;
  for (std::size_t i = 0; i < scenario.random_links.size(); ++i) {
    const RandomLinks& drawn = scenario.random_links[i];
    Rng rng = Rng(seed).stream(fmt::format("random links {}", i));
    for (const std::uint32_t rack : draw_distinct(rng, drawn.racks, t.racks)) {
      for (const std::uint32_t uplink : draw_distinct(rng, drawn.links / drawn.racks, uplinks)) {
        const LinkRef link{LinkRef::Tier::fabric, rack, uplink};
        if (drawn.impaired) {
          config.failures.impairments.push_back(drawn.impairment);
          config.failures.impairments.back().link = link;
        } else {
          for (const Failure& failure : drawn.failures) {
            config.failures.failures.push_back(failure);
            config.failures.failures.back().link = link;
          }
        }
      }
    }
  }
  return config;
}

std::string to_toml(const Scenario& scenario) { return scenario.resolved; }

}  // namespace strack::sim
