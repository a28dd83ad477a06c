#include "workload/iterate.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace strack::workload {
namespace {

constexpr Moment kMoments[] = {Moment::started, Moment::sent, Moment::received};

/// Nodes that wait for something their own rank did: whatever that waited for, they have waited for too.
[[nodiscard]] std::vector<bool> led_by_own_rank(const Graph& graph) {
  std::vector<bool> led(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Moment moment : {Moment::started, Moment::sent}) {
      for (const NodeId next : graph.after(moment, id)) led[next] = true;
    }
  }
  return led;
}

}  // namespace

Graph iterate(const Graph& graph, std::uint32_t iterations, Picoseconds compute) {
  STRACK_CHECK(iterations >= 1);
  STRACK_CHECK(std::uint64_t{iterations} * (std::uint64_t{graph.size()} + graph.ranks()) <
               ~NodeId{0});
  const std::vector<bool> led = led_by_own_rank(graph);
  GraphBuilder builder(graph.ranks());
  for (const Channel& channel : graph.channels()) builder.channel(channel.from, channel.to);
  for (const Communication& one : graph.communications()) builder.communication(one);
  std::vector<NodeId> pauses;  // by rank: the computation before this iteration
  for (std::uint32_t i = 0; i < iterations; ++i) {
    const NodeId base = builder.size();
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Graph::Node& node = graph.node(id);
      if (node.computes) {
        builder.compute(node.rank, ps(node.amount), node.mark);
      } else {
        builder.message_on(node.channel, bytes(node.amount));
      }
      if (i > 0 && !led[id]) builder.wait(base + id, pauses[node.rank], Moment::sent);
    }
    for (NodeId id = 0; id < graph.size(); ++id) {
      for (const Moment moment : kMoments) {
        for (const NodeId next : graph.after(moment, id))
          builder.wait(base + next, base + id, moment);
      }
    }
    // Times count from the job's start, and then from that of the iteration.
    for (const Graph::Timed& timed : graph.timed()) {
      if (i == 0) {
        builder.not_before(timed.node, timed.time);
        continue;
      }
      const Rank rank = graph.node(timed.node).rank;
      const NodeId delay = builder.compute(rank, timed.time);
      builder.wait(delay, pauses[rank], Moment::sent);
      builder.wait(base + timed.node, delay, Moment::sent);
    }
    if (i + 1 == iterations) break;
    pauses.clear();
    for (Rank rank = 0; rank < graph.ranks(); ++rank)
      pauses.push_back(builder.compute(rank, compute));
    for (NodeId id = 0; id < graph.size(); ++id) {
      builder.wait(pauses[graph.sender(id)], base + id, Moment::sent);
      if (!graph.node(id).computes)
        builder.wait(pauses[graph.receiver(id)], base + id, Moment::received);
    }
  }
  auto built = builder.build();
  STRACK_CHECK(built.ok());  // as free of rings as the one it was made of
  return std::move(built.value());
}

}  // namespace strack::workload
