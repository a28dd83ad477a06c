#include "sim/cluster/placement.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/net/sim_packet.h"
#include "sim/simulation.h"

namespace strack::sim {
namespace {

static_assert(kMaxConnections == SimPacket::kMaxSlots);
static_assert(workload::kPriorities == SimPacket::kPriorities);

/// [D116] That of the workload which the i-th flow, or job, belongs to.
std::uint8_t priority_of(std::uint32_t i, const std::vector<workload::Part>& parts,
                         std::uint32_t workload::Part::*first,
                         std::uint32_t workload::Part::*count) {
  for (const workload::Part& part : parts) {
    if (i >= part.*first && i - part.*first < part.*count) return part.priority;
  }
  return 0;
}

/// How many connections start and end at each host.
struct ConnectionCounts {
  std::vector<std::uint32_t> outgoing;
  std::vector<std::uint32_t> incoming;

  ConnectionCounts(const workload::Flows& flows, const std::vector<workload::Job>& jobs,
                   std::uint32_t hosts)
      : outgoing(hosts), incoming(hosts) {
    for (const workload::Flow& f : flows) count(f.src, f.dst);
    for (const workload::Job& job : jobs) {
      STRACK_CHECK(job.graph->ranks() > 0);
      STRACK_CHECK(job.hosts.size() == job.graph->ranks());
      STRACK_CHECK(job.starts.size() == job.graph->ranks());
      for (const workload::Channel& channel : job.graph->channels())
        count(job.hosts[channel.from], job.hosts[channel.to]);
    }
  }

 private:
  void count(std::uint32_t src, std::uint32_t dst) {
    STRACK_CHECK_OP(src, <, outgoing.size());
    STRACK_CHECK_OP(dst, <, incoming.size());
    STRACK_CHECK(src != dst);
    ++outgoing[src];
    ++incoming[dst];
  }
};

class Placer {
 public:
  Placer(std::uint32_t hosts, std::uint32_t senders) : senders_(senders) {
    STRACK_CHECK_OP(hosts, <=, SimPacket::kMaxHosts);
    out.hosts.resize(hosts);
  }

  /// Room for what a host will have, so that nothing grows beyond it.
  void reserve(const workload::Flows& flows, const std::vector<workload::Job>& jobs) {
    const ConnectionCounts counts(flows, jobs, static_cast<std::uint32_t>(out.hosts.size()));
    for (std::size_t h = 0; h < out.hosts.size(); ++h) {
      STRACK_CHECK_OP(counts.outgoing[h], <=, SimPacket::kMaxSlots);
      STRACK_CHECK_OP(counts.incoming[h], <=, SimPacket::kMaxSlots);
      out.hosts[h].outgoing.reserve(counts.outgoing[h]);
      out.hosts[h].incoming.reserve(counts.incoming[h]);
    }
  }

  void place_flows(const workload::Workload& workload) {
    using workload::Part;
    for (std::uint32_t i = 0; i < workload.flows.size(); ++i) {
      const workload::Flow& f = workload.flows[i];
      // Two of its pieces at a time, so that one is there when the other is through.
      const std::uint32_t slots = pieces_of(f.size.value) > 1 ? 2 : 1;
      OutgoingFlow flow{i, f.dst, 0, f.size.value, f.start, kNoJob, slots};
      flow.priority = priority_of(i, workload.parts, &Part::first_flow, &Part::flows);
      connect(flow, f.src);
      out.bytes += static_cast<std::uint64_t>(f.size.value);
    }
  }

  /// Each channel of a job is a connection between the hosts of its two ranks.
  void place_job(std::uint32_t number, const workload::Workload& workload,
                 std::uint32_t queue_slots) {
    using workload::Part;
    const workload::Job& job = workload.jobs[number];
    const workload::Graph& graph = *job.graph;
    const std::uint8_t priority =
        priority_of(number, workload.parts, &Part::first_job, &Part::jobs);
    JobRun run{&graph, graph.waits(), {}, connections_};
    std::vector<std::uint32_t> messages(graph.channels().size());
    for (workload::NodeId id = 0; id < graph.size(); ++id) {
      if (!graph.node(id).computes) ++messages[graph.node(id).channel];
    }
    for (std::uint32_t c = 0; c < graph.channels().size(); ++c) {
      const workload::Channel& channel = graph.channels()[c];
      // Where the graph has none, somebody else decides: nobody knows how many there will be.
      const std::uint32_t many = messages[c] == 0 ? queue_slots : messages[c];
      const std::uint32_t slots = std::bit_ceil(std::clamp(many, 1u, queue_slots));
      OutgoingFlow flow{c, job.hosts[channel.to], 0, 0, Instant::never(), number, slots};
      flow.priority = priority;
      run.src_slots.push_back(connect(flow, job.hosts[channel.from]));
    }
    for (workload::Rank r = 0; r < graph.ranks(); ++r)
      due(job.hosts[r], {job.starts[r], JobDue::Kind::rank_begins, number, r});
    for (const workload::Graph::Timed& timed : graph.timed()) {
      const workload::Rank rank = graph.node(timed.node).rank;
      due(job.hosts[rank],
          {job.starts[rank] + timed.time, JobDue::Kind::time_has_come, number, timed.node});
    }
    out.bytes += static_cast<std::uint64_t>(graph.bytes().value);
    out.jobs.push_back(std::move(run));
  }

  Placement out;

 private:
  /// Gives a connection its slot at either end; returns the one at its source.
  std::uint32_t connect(OutgoingFlow flow, std::uint32_t src) {
    std::vector<OutgoingFlow>& outgoing = out.hosts[src].outgoing;
    std::vector<IncomingFlow>& incoming = out.hosts[flow.dst].incoming;
    const auto src_slot = static_cast<std::uint32_t>(outgoing.size());
    flow.dst_slot = static_cast<std::uint32_t>(incoming.size());
    outgoing.push_back(flow);
    incoming.push_back({flow.flow, src, src_slot, flow.job, flow.pieces()});
    if (connections_++ < senders_) out.senders.push_back({flow.job, src, flow.dst, src_slot});
    return src_slot;
  }
  void due(std::uint32_t host, const JobDue& due) { out.hosts[host].dues.push_back(due); }

  std::uint32_t senders_;
  std::uint32_t connections_ = 0;
};

}  // namespace

std::optional<OverfullHost> find_overfull_host(const workload::Workload& workload,
                                               std::uint32_t hosts, std::uint64_t limit) {
  const ConnectionCounts counts(workload.flows, workload.jobs, hosts);
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const std::uint64_t most = std::max(counts.outgoing[h], counts.incoming[h]);
    if (most > limit) return OverfullHost{h, most};
  }
  return std::nullopt;
}

Placement place(const workload::Workload& workload, std::uint32_t hosts, std::uint32_t queue_slots,
                std::uint32_t senders) {
  Placer placer(hosts, senders);
  placer.reserve(workload.flows, workload.jobs);
  placer.place_flows(workload);
  for (std::uint32_t j = 0; j < workload.jobs.size(); ++j)
    placer.place_job(j, workload, queue_slots);
  return std::move(placer.out);
}

}  // namespace strack::sim
