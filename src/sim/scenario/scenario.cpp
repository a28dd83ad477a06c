#include "sim/scenario/scenario.h"

#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "sim/scenario/files.h"
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
  const WorkloadSpec& w = resolution.out.workload;
  std::string text;
  if (w.kind == WorkloadKind::file) {
    text += fmt::format("\n# the flow list: {} flows, fingerprint {:016x}\n", w.list.size(),
                        fingerprint(w.list));
  }
  if (w.kind == WorkloadKind::trace) {
    text += fmt::format("\n# the trace: {} ranks, {} messages, fingerprint {:016x}\n",
                        w.graph->ranks(), w.graph->messages(), workload::fingerprint(*w.graph));
    for (const LinkRef& link : resolution.trace_failures) {
      text +=
          fmt::format("# failed by the trace: {} {}, uplink {}\n",
                      link.tier == LinkRef::Tier::fabric ? "rack" : "agg", link.lower, link.upper);
    }
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
  resolve_run(resolution);
  resolve_workload(resolution);
  resolve_failures(resolution);
  resolve_record(resolution);
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

[[nodiscard]] workload::Flows make_flows(const Scenario& scenario, std::uint64_t seed) {
  const WorkloadSpec& w = scenario.workload;
  const TopologyParams& t = scenario.config.topology;
  const workload::Racks racks{t.hosts(), t.hosts_per_rack};
  workload::Flows flows;
  switch (w.kind) {
    case WorkloadKind::permutation:
      flows = workload::permutation({racks, w.size, w.cross_rack}, seed);
      break;
    case WorkloadKind::incast:
      flows = workload::incast({racks, w.fan_in, w.receiver, w.size}, seed);
      break;
    case WorkloadKind::random:
      flows = workload::random_traffic(random_params(scenario), seed);
      break;
    case WorkloadKind::file:
      flows = w.list;
      break;
    case WorkloadKind::collective:
    case WorkloadKind::trace:
      STRACK_CHECK(false);
  }
  for (workload::Flow& flow : flows) flow.start = flow.start + (w.start - Instant{});
  workload::add_start_jitter(flows, scenario.config.hosts.start_jitter, seed);
  return flows;
}

[[nodiscard]] std::vector<workload::Job> make_jobs(const Scenario& scenario, std::uint64_t seed) {
  const WorkloadSpec& w = scenario.workload;
  const TopologyParams& t = scenario.config.topology;
  std::shared_ptr<const workload::Graph> graph = w.graph;
  std::string name = w.trace;
  if (w.kind == WorkloadKind::collective) {
    auto made = workload::make_collective(w.collective);
    STRACK_CHECK(made.ok());  // loading has refused what would not work
    graph = std::make_shared<const workload::Graph>(std::move(made.value().graph));
    name = workload::name_of(w.collective.collective);
  }
  auto jobs = workload::make_jobs({.racks = {t.hosts(), t.hosts_per_rack},
                                   .jobs = w.jobs,
                                   .graph = std::move(graph),
                                   .name = std::move(name),
                                   .placement = w.placement,
                                   .start = w.start,
                                   .start_jitter = scenario.config.hosts.start_jitter},
                                  seed);
  STRACK_CHECK(jobs.ok());
  return std::move(jobs.value());
}

}  // namespace

workload::RandomParams random_params(const Scenario& scenario) {
  const TopologyParams& t = scenario.config.topology;
  const WorkloadSpec& w = scenario.workload;
  return {.racks = {t.hosts(), t.hosts_per_rack},
          .host_rate = t.host_rate,
          .load = w.load,
          .sizes = w.sizes,
          .cross_rack = w.cross_rack,
          .flows = w.flows,
          .duration = w.duration};
}

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
          config.failures.failures.push_back(drawn.failure);
          config.failures.failures.back().link = link;
        }
      }
    }
  }
  return config;
}

workload::Workload make_workload(const Scenario& scenario, std::uint64_t seed) {
  if (scenario.workload.jobs > 0) return {{}, make_jobs(scenario, seed)};
  return {make_flows(scenario, seed), {}};
}

std::uint64_t expected_flows(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  switch (w.kind) {
    case WorkloadKind::permutation:
      return scenario.config.topology.hosts();
    case WorkloadKind::incast:
      return w.fan_in;
    case WorkloadKind::file:
      return w.list.size();
    case WorkloadKind::collective:
    case WorkloadKind::trace:
      return 0;
    case WorkloadKind::random:
      break;
  }
  if (w.flows > 0) return w.flows;
  const Int128 gap_q20 = workload::mean_gap_q20(random_params(scenario));
  STRACK_CHECK(gap_q20 > 0);
  return static_cast<std::uint64_t>((static_cast<Int128>(w.duration.count()) << 20) / gap_q20);
}

std::uint64_t expected_messages(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  if (w.kind == WorkloadKind::trace) return w.graph->messages();
  if (w.kind != WorkloadKind::collective) return 0;
  return w.jobs * workload::size_of(w.collective).messages;
}

double expected_bytes(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  const auto flows = static_cast<double>(expected_flows(scenario));
  switch (w.kind) {
    case WorkloadKind::permutation:
    case WorkloadKind::incast:
      return static_cast<double>(w.size.count()) * flows;
    case WorkloadKind::random:
      return static_cast<double>(w.sizes.mean().count()) * flows;
    case WorkloadKind::file: {
      double all = 0;
      for (const workload::Flow& flow : w.list) all += static_cast<double>(flow.size.count());
      return all;
    }
    case WorkloadKind::collective:
      return static_cast<double>(w.collective.size.count()) * w.collective.ranks * w.jobs *
             (w.collective.collective == workload::Collective::alltoall ? 1 : 2);
    case WorkloadKind::trace:
      return static_cast<double>(w.graph->bytes().count());
  }
  return 0;
}

std::string to_toml(const Scenario& scenario) { return scenario.resolved; }

}  // namespace strack::sim
