// The flows and jobs of a scenario's workloads, and what they amount to.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "sim/scenario/scenario.h"
#include "workload/generators.h"
#include "workload/iterate.h"

namespace strack::sim {
namespace {

[[nodiscard]] workload::Racks racks_of(const Scenario& scenario) {
  return {scenario.config.topology.hosts(), scenario.config.topology.hosts_per_rack};
}

/// [D76] The first draws as if it were alone; the others from streams of their own, so that one more
/// workload, or one that is left out, moves nothing of the others.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t seed, std::string_view what, std::size_t number) {
  return number == 0 ? seed : Rng(seed).stream(fmt::format("{} {}", what, number)).next();
}

[[nodiscard]] workload::Flows flows_once(const Scenario& scenario, const WorkloadSpec& w,
                                         std::uint64_t seed) {
  const workload::Racks racks = racks_of(scenario);
  switch (w.kind) {
    case WorkloadKind::permutation:
      return workload::permutation({racks, w.size, w.cross_rack}, seed);
    case WorkloadKind::incast:
      return workload::incast({racks, w.fan_in, w.receiver, w.size}, seed);
    case WorkloadKind::random:
      return workload::random_traffic(random_params(scenario, w), seed);
    case WorkloadKind::file:
      return w.list;
    case WorkloadKind::collective:
    case WorkloadKind::trace:
    case WorkloadKind::training:
      break;
  }
  STRACK_CHECK(false);
  return {};
}

void add_flows(workload::Flows& all, const Scenario& scenario, const WorkloadSpec& w,
               std::uint64_t seed) {
  for (std::uint32_t i = 0; i < w.repeats; ++i) {
    const std::uint64_t own = seed_of(seed, "repeat", i);
    workload::Flows flows = flows_once(scenario, w, own);
    const Picoseconds later = w.start - Instant{} + i * w.every;
    for (workload::Flow& flow : flows) flow.start = flow.start + later;
    workload::add_start_jitter(flows, scenario.config.hosts.start_jitter, own);
    all.insert(all.end(), flows.begin(), flows.end());
  }
}

void add_jobs(std::vector<workload::Job>& all, const Scenario& scenario, const WorkloadSpec& w,
              std::vector<workload::HostId> hosts, std::uint64_t seed) {
  std::shared_ptr<const workload::Graph> graph = w.graph;
  std::string name = w.trace;
  if (w.kind == WorkloadKind::collective) {
    auto made = workload::make_collective(w.collective);
    STRACK_CHECK(made.ok());  // loading has refused what would not work
    graph = std::make_shared<const workload::Graph>(std::move(made.value().graph));
    name = workload::name_of(w.collective.collective);
  } else if (w.kind == WorkloadKind::training) {
    graph = std::make_shared<const workload::Graph>(workload::make_training(w.training));
    name = w.name;
  }
  if (w.iterations > 1) {
    graph =
        std::make_shared<const workload::Graph>(workload::iterate(*graph, w.iterations, w.compute));
  }
  auto jobs = workload::make_jobs({.racks = racks_of(scenario),
                                   .jobs = w.jobs,
                                   .graph = std::move(graph),
                                   .name = std::move(name),
                                   .placement = w.placement,
                                   .hosts = std::move(hosts),
                                   .start = w.start,
                                   .start_jitter = scenario.config.hosts.start_jitter},
                                  seed);
  STRACK_CHECK(jobs.ok());
  for (workload::Job& job : jobs.value()) all.push_back(std::move(job));
}

}  // namespace

std::uint32_t WorkloadSpec::ranks() const {
  switch (kind) {
    case WorkloadKind::trace:
      return graph->ranks();
    case WorkloadKind::training:
      return training.ranks();
    default:
      return collective.ranks;
  }
}

/// [D89] Where servers have several NICs, they are what racks are otherwise: ranks take hosts server by
/// server, whatever ToRs these are at.
static std::vector<workload::HostId> place_ranks(const TopologyParams& t, const WorkloadSpec& w,
                                                 std::uint64_t seed,
                                                 const std::vector<bool>& taken) {
  const std::uint32_t ranks = w.jobs * w.ranks();
  if (!t.has_servers() || w.placement.kind == workload::Placement::listed)
    return workload::place_beside({t.hosts(), t.hosts_per_rack}, w.placement, ranks, seed, taken);
  const std::uint32_t each = t.nics_per_server;
  std::vector<bool> taken_here(t.hosts());
  for (std::uint32_t i = 0; i < t.hosts(); ++i)
    taken_here[i] = taken[t.host_of(i / each, i % each)];
  auto hosts = workload::place_beside({t.hosts(), each}, w.placement, ranks, seed, taken_here);
  for (workload::HostId& host : hosts) host = t.host_of(host / each, host % each);
  return hosts;
}

// [D77] Those who say where they are go first, then those who need whole blocks, and those who take
// whatever there is come last.
std::vector<std::vector<workload::HostId>> place_jobs(const Scenario& scenario,
                                                      std::uint64_t seed) {
  using workload::Placement;
  constexpr Placement kOrder[] = {Placement::listed, Placement::packed, Placement::striped,
                                  Placement::blocks, Placement::random};
  const workload::Racks racks = racks_of(scenario);
  const std::vector<bool> nobody(racks.hosts);
  std::vector<bool> taken(racks.hosts);
  std::vector<std::vector<workload::HostId>> hosts(scenario.workloads.size());
  for (const Placement kind : kOrder) {
    for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
      const WorkloadSpec& w = scenario.workloads[i];
      if (!w.has_jobs() || w.placement.kind != kind) continue;
      hosts[i] = place_ranks(scenario.config.topology, w, seed_of(seed, "workload", i),
                             w.share_hosts ? nobody : taken);
      if (w.share_hosts) continue;
      for (const workload::HostId host : hosts[i]) taken[host] = true;
    }
  }
  return hosts;
}

workload::Workload make_workload(const Scenario& scenario, std::uint64_t seed) {
  workload::Workload out;
  std::vector<std::vector<workload::HostId>> hosts = place_jobs(scenario, seed);
  for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
    const WorkloadSpec& w = scenario.workloads[i];
    if (!w.enabled) continue;
    workload::Part part{.name = w.name,
                        .kind = std::string(name_of(w.kind)),
                        .first_flow = static_cast<std::uint32_t>(out.flows.size()),
                        .first_job = static_cast<std::uint32_t>(out.jobs.size()),
                        .iterations = w.iterations,
                        .compute = w.compute,
                        .priority = w.priority};
    const std::uint64_t own = seed_of(seed, "workload", i);
    if (w.has_jobs()) {
      add_jobs(out.jobs, scenario, w, std::move(hosts[i]), own);
    } else {
      add_flows(out.flows, scenario, w, own);
    }
    part.flows = static_cast<std::uint32_t>(out.flows.size()) - part.first_flow;
    part.jobs = static_cast<std::uint32_t>(out.jobs.size()) - part.first_job;
    out.parts.push_back(std::move(part));
  }
  return out;
}

workload::RandomParams random_params(const Scenario& scenario, const WorkloadSpec& w) {
  return {.racks = racks_of(scenario),
          .host_rate = scenario.config.topology.host_rate,
          .load = w.load,
          .sizes = w.sizes,
          .cross_rack = w.cross_rack,
          .flows = w.flows,
          .duration = w.duration};
}

std::uint64_t expected_flows(const Scenario& scenario, const WorkloadSpec& w) {
  switch (w.kind) {
    case WorkloadKind::permutation:
      return std::uint64_t{scenario.config.topology.hosts()} * w.repeats;
    case WorkloadKind::incast:
      return std::uint64_t{w.fan_in} * w.repeats;
    case WorkloadKind::file:
      return w.list.size() * w.repeats;
    case WorkloadKind::collective:
    case WorkloadKind::trace:
    case WorkloadKind::training:
      return 0;
    case WorkloadKind::random:
      break;
  }
  if (w.flows > 0) return w.flows;
  const Int128 gap_q20 = workload::mean_gap_q20(random_params(scenario, w));
  STRACK_CHECK(gap_q20 > 0);
  return static_cast<std::uint64_t>((static_cast<Int128>(w.duration.count()) << 20) / gap_q20);
}

std::uint64_t expected_flows(const Scenario& scenario) {
  std::uint64_t all = 0;
  for (const WorkloadSpec& w : scenario.workloads)
    all += w.enabled ? expected_flows(scenario, w) : 0;
  return all;
}

std::uint64_t expected_messages(const WorkloadSpec& w) {
  if (w.kind == WorkloadKind::trace) return std::uint64_t{w.graph->messages()} * w.iterations;
  if (w.kind == WorkloadKind::training)
    return w.jobs * workload::size_of(w.training).messages * w.iterations;
  if (w.kind != WorkloadKind::collective) return 0;
  return w.jobs * workload::size_of(w.collective).messages * w.iterations;
}

std::uint64_t expected_messages(const Scenario& scenario) {
  std::uint64_t all = 0;
  for (const WorkloadSpec& w : scenario.workloads) all += w.enabled ? expected_messages(w) : 0;
  return all;
}

double expected_bytes(const Scenario& scenario, const WorkloadSpec& w) {
  const auto flows = static_cast<double>(expected_flows(scenario, w));
  switch (w.kind) {
    case WorkloadKind::permutation:
    case WorkloadKind::incast:
      return static_cast<double>(w.size.count()) * flows;
    case WorkloadKind::random:
      return static_cast<double>(w.sizes.mean().count()) * flows;
    case WorkloadKind::file: {
      double all = 0;
      for (const workload::Flow& flow : w.list) all += static_cast<double>(flow.size.count());
      return all * w.repeats;
    }
    case WorkloadKind::collective:
      return static_cast<double>(w.collective.size.count()) * w.collective.ranks * w.jobs *
             w.iterations * (w.collective.collective == workload::Collective::alltoall ? 1 : 2);
    case WorkloadKind::trace:
      return static_cast<double>(w.graph->bytes().count()) * w.iterations;
    case WorkloadKind::training:
      return workload::size_of(w.training).bytes * w.jobs * w.iterations;
  }
  return 0;
}

double expected_bytes(const Scenario& scenario) {
  double all = 0;
  for (const WorkloadSpec& w : scenario.workloads)
    all += w.enabled ? expected_bytes(scenario, w) : 0;
  return all;
}

}  // namespace strack::sim
