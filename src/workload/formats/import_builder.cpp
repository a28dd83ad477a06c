#include "workload/formats/import_builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace strack::workload {

Result<Graph, NodeId> ImportBuilder::build() {
  auto graph = builder_.build();
  if (!graph) return find_ring();
  edges_ = {};
  return std::move(graph.value());
}

NodeId ImportBuilder::find_ring() const {
  // What is left once everything that can start has: the nodes of rings, and those behind them.
  const std::uint32_t size = builder_.size();
  std::vector<std::uint32_t> first(size + 1, 0);
  std::vector<std::uint32_t> left(size, 0);
  for (const Edge& edge : edges_) {
    ++first[edge.other + 1];
    ++left[edge.node];
  }
  for (std::uint32_t i = 0; i < size; ++i) first[i + 1] += first[i];
  std::vector<NodeId> next(edges_.size());
  {
    std::vector<std::uint32_t> place(first.begin(), first.end() - 1);
    for (const Edge& edge : edges_) next[place[edge.other]++] = edge.node;
  }
  std::vector<NodeId> ready;
  for (NodeId id = 0; id < size; ++id) {
    if (left[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    for (std::uint32_t i = first[id]; i < first[id + 1]; ++i) {
      if (--left[next[i]] == 0) ready.push_back(next[i]);
    }
  }
  // Each of them waits for another one of them; going from one to the next ends in a ring.
  std::vector<NodeId> waits_for(size, size);
  for (const Edge& edge : edges_) {
    if (left[edge.node] > 0 && left[edge.other] > 0 && waits_for[edge.node] == size)
      waits_for[edge.node] = edge.other;
  }
  NodeId node = 0;
  while (node < size && waits_for[node] == size) ++node;
  STRACK_CHECK(node < size);
  std::vector<bool> seen(size);
  while (!seen[node]) {
    seen[node] = true;
    node = waits_for[node];
  }
  NodeId lowest = node;
  for (NodeId id = waits_for[node]; id != node; id = waits_for[id]) lowest = std::min(lowest, id);
  return lowest;
}

}  // namespace strack::workload
