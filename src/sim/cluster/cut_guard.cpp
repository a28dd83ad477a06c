#include "sim/cluster/cut_guard.h"

#include <algorithm>
#include <optional>

#include "sim/reachability.h"
#include "sim/simulation.h"

namespace strack::sim {
namespace {

/// When the last of the failures that never end begins; none: there are none.
std::optional<Instant> last_cut(const SimConfig& config) {
  std::optional<Instant> last;
  for (const Failure& failure : config.failures.failures) {
    if (failure.until == Instant::never())
      last = std::max(last.value_or(failure.from), failure.from);
  }
  for (const Impairment& bad : config.failures.impairments) {
    if (swallows_all(bad)) last = std::max(last.value_or(bad.from), bad.from);
  }
  return last;
}

/// Whether some link takes packets for good and gives none of them away.
bool has_hole(const SimConfig& config) {
  const std::vector<Impairment>& all = config.failures.impairments;
  return std::any_of(all.begin(), all.end(), swallows_all);
}

Picoseconds longest_computation(const workload::Graph& graph) {
  std::int64_t longest = 0;
  for (workload::NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).computes) longest = std::max(longest, graph.node(id).amount);
  }
  return ps(longest);
}

/// How long nobody is heard of where a way may lead into a hole: whoever tries others finds one by then.
constexpr Picoseconds kPatienceWithHoles = ms(1'000);

}  // namespace

// Those may try for ever, too, whose switches keep to a link that loses everything.
CutGuard::CutGuard(const SimConfig& config, const Topology& topology,
                   const workload::Workload& workload) {
  const std::optional<Instant> cut = last_cut(config);
  if (!cut) return;
  const Reachability network(config, topology, *cut);
  // Nobody knows how long a job computes that somebody else drives.
  const bool hole = has_hole(config) &&
                    std::none_of(workload.jobs.begin(), workload.jobs.end(),
                                 [](const workload::Job& job) { return job.graph->size() == 0; });
  std::optional<UnreachablePair> first;
  const auto note = [&](const std::optional<UnreachablePair>& apart) {
    if (!first) first = apart;
    if (!apart && !hole) ++others_;
    return apart || hole;
  };
  for (const workload::Flow& flow : workload.flows) {
    flow_is_cut_.push_back(note(network.reaches(flow.src, flow.dst)
                                    ? std::nullopt
                                    : std::optional(UnreachablePair{flow.src, flow.dst})));
  }
  Instant begin = *cut;
  if (hole) {
    for (const workload::Flow& flow : workload.flows) begin = std::max(begin, flow.start);
  }
  Picoseconds computing{0};
  for (const workload::Job& job : workload.jobs) {
    job_is_cut_.push_back(note(find_unreachable_pair(network, job)));
    if (!job_is_cut_.back()) continue;
    for (const Instant start : job.starts) begin = std::max(begin, start);
    for (const workload::Graph::Timed& timed : job.graph->timed()) {
      const workload::Rank rank = job.graph->node(timed.node).rank;
      begin = std::max(begin, job.starts[rank] + timed.time);
    }
    computing = std::max(computing, longest_computation(*job.graph));
  }
  if (!first && !hole) return;
  patience_ = (hole ? kPatienceWithHoles : kPatience) +
              10 * derive(config.topology, config.hosts, config.mtu()).base_rtt + computing;
  next_check_ = begin;
  if (!first) {
    text_ = "nothing has got through for a second, and a link loses everything for good since " +
            std::to_string((*cut - Instant{}) / us(1)) +
            " us: whoever is left keeps to a way over it, so the run ends here";
    return;
  }
  text_ = topology.name(first->src) + " and " + topology.name(first->dst) +
          " have no way to each other since " + std::to_string((*cut - Instant{}) / us(1)) +
          " us: what is down between them never comes up again. nobody else has anything left to "
          "do, so "
          "the run ends here";
}

bool CutGuard::check(Instant now, std::uint64_t progress) {
  next_check_ = now + kInterval;
  if (progress != progress_) {
    progress_ = progress;
    quiet_since_ = now;
  }
  return others_ == 0 && now - quiet_since_ >= patience_;
}

}  // namespace strack::sim
