#include "workload/chain.h"

#include <algorithm>
#include <vector>

namespace strack::workload {

Picoseconds computation_time(const Graph& graph) {
  constexpr Moment kMoments[] = {Moment::started, Moment::sent, Moment::received};
  std::vector<Picoseconds> start(graph.size());
  std::vector<std::uint32_t> left = graph.waits();
  for (const Graph::Timed& timed : graph.timed()) {
    start[timed.node] = std::max(start[timed.node], timed.time);
    --left[timed.node];
  }
  std::vector<NodeId> ready;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (left[id] == 0) ready.push_back(id);
  }
  Picoseconds last{0};
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    const Graph::Node& node = graph.node(id);
    const Picoseconds own = node.computes ? ps(node.amount) : ps(0);
    const Picoseconds end = std::min(kForever, std::min(kForever, own) + start[id]);
    last = std::max(last, end);
    for (const Moment moment : kMoments) {
      const Picoseconds time = moment == Moment::started ? start[id] : end;
      for (const NodeId next : graph.after(moment, id)) {
        start[next] = std::max(start[next], time);
        if (--left[next] == 0) ready.push_back(next);
      }
    }
  }
  return last;
}

Picoseconds computation_time(const TrainingParams& p) {
  Picoseconds longest{0};
  for (std::uint32_t stage = 0; stage < p.pp; ++stage) {
    const StageCost cost = stage_cost(p, stage);
    longest = std::max(longest,
                       cost.forward + cost.experts_forward + cost.backward + cost.experts_backward);
  }
  const Int128 all = Int128{longest.count()} * (p.microbatches + p.pp - 1);
  return ps(static_cast<std::int64_t>(std::min<Int128>(all, kForever.count())));
}

Extent extent_of(const Graph& graph) {
  Extent extent{graph.size(), 0};
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Moment moment : {Moment::started, Moment::sent, Moment::received})
      extent.edges += graph.after(moment, id).size();
  }
  return extent;
}

}  // namespace strack::workload
