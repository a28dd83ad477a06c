// A scenario file: one TOML text that describes a run, made into the plain values of sim/config.h
// and a workload.
//
// The command line loads it, tests too. What a key means, what it accepts and its default stand in
// its section's table (sections/), or in its transport's; reading, checking, `to_toml`, the help text
// and docs/scenarios.md all follow the tables.
//
//   auto scenario = load("incast32.toml", {"topology.link_gbps=800"});
//   if (!scenario) fail(scenario.error().text());
//   for (std::uint64_t seed : scenario.value().seeds)
//     Simulation(make_config(scenario.value(), seed), make_workload(scenario.value(), seed)) ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "metrics/records.h"
#include "sim/config.h"
#include "workload/collectives.h"
#include "workload/generators.h"
#include "workload/graph.h"
#include "workload/jobs.h"
#include "workload/sizes.h"
#include "workload/training.h"
#include "workload/workload.h"

namespace strack::transports {
struct Descriptor;
}  // namespace strack::transports

namespace strack::sim {

/// What is wrong with a scenario, for its author.
struct ScenarioError {
  std::string file;  ///< as the caller named it; "--set" for an override
  int line = 0;      ///< from 1; 0 where no single line is to blame
  std::string message;

  /// "incast32.toml:14: link_gbps is 0. a link needs ..."; the caller prints "error: " before it.
  [[nodiscard]] std::string text() const;
};

enum class WorkloadKind : std::uint8_t {
  permutation,
  incast,
  random,
  file,
  collective,
  trace,
  training
};
[[nodiscard]] std::string_view name_of(WorkloadKind kind);

/// What make_workload makes flows or jobs from. Only the fields of its kind mean something.
struct WorkloadSpec {
  std::string name;  ///< no two of a scenario have the same
  WorkloadKind kind = WorkloadKind::permutation;
  bool enabled = true;         ///< false: another one is run alone; its hosts stay its own
  Bytes size{0};               ///< permutation, incast
  bool cross_rack = false;     ///< permutation, random
  std::uint32_t fan_in = 0;    ///< incast
  std::uint32_t receiver = 0;  ///< incast
  Instant start{};             ///< added to every start
  Ratio load{1, 2};            ///< random
  std::uint64_t flows = 0;     ///< random: so many, or 0
  Picoseconds duration{0};     ///< random: or arriving within this time
  workload::SizeDistribution sizes = workload::SizeDistribution::fixed(bytes(1));  ///< random
  workload::Flows list;                          ///< file: as read
  workload::CollectiveParams collective;         ///< collective: of every job
  workload::TrainingParams training;             ///< training: of every job
  std::uint32_t jobs = 0;                        ///< collective, trace, training
  workload::Placing placement;                   ///< collective, trace, training
  std::shared_ptr<const workload::Graph> graph;  ///< trace: as read
  std::string trace;                             ///< trace: the file's name
  bool share_hosts = false;                      ///< of jobs: also where others are
  std::uint32_t iterations = 1;                  ///< of every job
  Picoseconds compute{0};                        ///< between them
  std::uint32_t repeats = 1;                     ///< flows: all of it so many times,
  Picoseconds every{0};                          ///< one so long after the other
  std::uint8_t priority = 0;                     ///< of its data

  [[nodiscard]] bool has_jobs() const { return jobs > 0; }
  [[nodiscard]] std::uint32_t ranks() const;  ///< of each job
};

/// Links that fail or suffer, drawn anew for each seed: `links` in all, the same number on each of
/// `racks` racks.
struct RandomLinks {
  std::uint32_t links = 0;
  std::uint32_t racks = 0;
  bool impaired = false;  ///< true: `impairment` says how; false: they are down as `failures` say
  std::vector<Failure>
      failures;           ///< one, or one for each time they flap; links are to be filled in
  Impairment impairment;  ///< its link is to be filled in
};

struct Scenario {
  std::string name;  ///< the file's, unless it says otherwise
  std::string description;
  std::string scheme;                                 ///< its name, as in the file
  const transports::Descriptor* transport = nullptr;  ///< whose scheme that is
  std::vector<WorkloadSpec> workloads;                ///< at least one
  std::vector<std::uint64_t> seeds;                   ///< at least one
  SimConfig config;  ///< without the links drawn at random: those are make_config's
  std::vector<RandomLinks> random_links;

  // What follows from the topology, in the words of sim::derive.
  Picoseconds base_rtt{0};
  Bytes bdp{0};
  Ratio oversubscription{1, 1};  ///< of the ToRs: host rates over uplink rates

  std::vector<std::string> notes;   ///< what people should know of it, before it runs
  std::vector<std::string> about;   ///< what its workloads are made of, where keys do not say it
  std::vector<std::string> unread;  ///< "section.key" that was given, and changes nothing

  std::string resolved;                    ///< what to_toml returns
  std::vector<metrics::Setting> settings;  ///< the same, key by key, for the result file
};

/// Overrides are "section.key=value", as after --set; they come after the file and obey the same
/// rules. An entry of an array is named by its number: "failure.0.random_links=256".
[[nodiscard]] Result<Scenario, ScenarioError> load(const std::filesystem::path& file,
                                                   const std::vector<std::string>& overrides = {});

/// Whether it names a trace of another tool, by how it ends. `load` takes one as the workload of a
/// scenario of defaults: a host for each rank (trace_scenario.h).
[[nodiscard]] bool is_trace_name(const std::filesystem::path& file);

/// The same for a text in memory. `file` is its name in messages; other files it names are sought
/// in `folder`.
[[nodiscard]] Result<Scenario, ScenarioError> load_text(
    std::string_view text, const std::string& file, const std::filesystem::path& folder = {},
    const std::vector<std::string>& overrides = {});

/// The configuration for one seed: links that fail at random are drawn here.
[[nodiscard]] SimConfig make_config(const Scenario& scenario, std::uint64_t seed);

/// The flows and jobs for one seed, start jitter included. A collective's graph is made here: it may
/// be large, and many scenarios are loaded only to be looked at.
[[nodiscard]] workload::Workload make_workload(const Scenario& scenario, std::uint64_t seed);

/// Where the ranks of each workload's jobs are, by workload: beside each other, unless they share
/// hosts. Fewer hosts than it has ranks where there is no room for one.
[[nodiscard]] std::vector<std::vector<workload::HostId>> place_jobs(const Scenario& scenario,
                                                                    std::uint64_t seed);

/// What random arrivals are made from.
[[nodiscard]] workload::RandomParams random_params(const Scenario& scenario, const WorkloadSpec& w);

/// How many flows make_workload makes; for random arrivals within a time, how many to expect.
[[nodiscard]] std::uint64_t expected_flows(const Scenario& scenario);
[[nodiscard]] std::uint64_t expected_flows(const Scenario& scenario, const WorkloadSpec& w);
/// About how many messages the jobs it makes have to send, all together.
[[nodiscard]] std::uint64_t expected_messages(const Scenario& scenario);
[[nodiscard]] std::uint64_t expected_messages(const WorkloadSpec& w);

/// About how many bytes the hosts send: what runs take is in proportion to it.
[[nodiscard]] double expected_bytes(const Scenario& scenario);
[[nodiscard]] double expected_bytes(const Scenario& scenario, const WorkloadSpec& w);

/// The scenario with every key that applies to it. Loads to the same scenario again. Values that
/// follow from others are comments, so that a changed link rate still changes what depends on it.
[[nodiscard]] std::string to_toml(const Scenario& scenario);

/// What a run will take of memory, from the sizes of what there is one of per host, link and flow.
[[nodiscard]] Bytes memory_estimate(const Scenario& scenario);

/// All keys for `strack help scenario`: plain text of at most 100 columns.
[[nodiscard]] std::string help_text();
/// Those of one section, or that there is no such section.
[[nodiscard]] Result<std::string, ScenarioError> help_text_of(const std::string& section);
/// The same as a page: docs/scenarios.md.
[[nodiscard]] std::string documentation();

}  // namespace strack::sim
