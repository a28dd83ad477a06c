#include "workload/graph.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::workload {

NodeId GraphBuilder::message(Rank from, Rank to, Bytes size, bool own_channel) {
  auto shared = static_cast<std::uint32_t>(graph_.channels_.size());
  if (!own_channel)
    shared = channel_of_.try_emplace(std::uint64_t{from} << 32 | to, shared).first->second;
  if (shared == graph_.channels_.size()) shared = channel(from, to);
  return message_on(shared, size);
}

std::uint32_t GraphBuilder::channel(Rank from, Rank to) {
  STRACK_CHECK(from < graph_.ranks_ && to < graph_.ranks_ && from != to);
  graph_.channels_.push_back({from, to});
  return static_cast<std::uint32_t>(graph_.channels_.size() - 1);
}

NodeId GraphBuilder::message_on(std::uint32_t channel, Bytes size) {
  STRACK_CHECK(size >= bytes(0));
  constexpr std::int64_t kLargest = (std::int64_t{1} << 32) - 1;
  constexpr std::int64_t kPiece = std::int64_t{1} << 31;
  const NodeId first = graph_.size();
  std::int64_t left = size.value;
  do {
    const std::int64_t piece = size.value <= kLargest ? left : std::min(left, kPiece);
    graph_.nodes_.push_back({graph_.channels_[channel].from, channel, piece, false, 0});
    ++graph_.messages_;
    left -= piece;
  } while (left > 0);
  if (graph_.size() - first > 1) pieces_.emplace(first, graph_.size() - first);
  graph_.bytes_ += size;
  return first;
}

void GraphBuilder::wait_for_pieces(Edge edge) {
  const std::uint32_t others = pieces_of(edge.other);
  for (std::uint32_t o = 1; o < others; ++o)
    edges_.push_back({edge.node, edge.other + o, edge.moment});
  // Where both are several, the first of them waits for all, and the rest for it to start: there would be a
  // wait for each pair.
  for (std::uint32_t n = 1; n < pieces_of(edge.node); ++n) {
    edges_.push_back(others == 1 ? Edge{edge.node + n, edge.other, edge.moment}
                                 : Edge{edge.node + n, edge.node, Moment::started});
  }
}

NodeId GraphBuilder::compute(Rank rank, Picoseconds time, std::uint32_t mark) {
  STRACK_CHECK(rank < graph_.ranks_ && time >= ps(0));
  graph_.nodes_.push_back({rank, 0, time.value, true, mark});
  return graph_.size() - 1;
}

Result<Graph, std::string> GraphBuilder::build() {
  const std::uint32_t size = graph_.size();
  graph_.waits_.assign(size, 0);
  std::vector<std::uint32_t> counts[3];
  for (const Edge& edge : edges_) {
    const Graph::Node& other = graph_.nodes_[edge.other];
    const Rank happens = edge.moment == Moment::received && !other.computes
                             ? graph_.receiver(edge.other)
                             : other.rank;
    if (edge.moment == Moment::received && other.computes) {
      return fmt::format("node {} waits for node {} to be received, but that is a computation",
                         edge.node, edge.other);
    }
    if (happens != graph_.nodes_[edge.node].rank) {
      return fmt::format("node {} of rank {} waits for something that happens at rank {}",
                         edge.node, graph_.nodes_[edge.node].rank, happens);
    }
    std::vector<std::uint32_t>& count = counts[static_cast<std::size_t>(edge.moment)];
    if (count.empty()) count.assign(size + 1, 0);
    ++count[edge.other + 1];
    ++graph_.waits_[edge.node];
  }
  for (std::size_t m = 0; m < 3; ++m) {
    if (counts[m].empty()) continue;
    for (std::uint32_t i = 0; i < size; ++i) counts[m][i + 1] += counts[m][i];
    graph_.successors_[m].items_.resize(counts[m][size]);
    graph_.successors_[m].first_ = counts[m];
  }
  for (const Edge& edge : edges_) {
    const auto m = static_cast<std::size_t>(edge.moment);
    graph_.successors_[m].items_[counts[m][edge.other]++] = edge.node;
  }
  edges_ = {};

  // A node's own start precedes all other moments of it, so a ring of waits would never end.
  std::vector<std::uint32_t> left = graph_.waits_;
  std::vector<NodeId> ready;
  for (NodeId id = 0; id < size; ++id) {
    if (left[id] == 0) ready.push_back(id);
  }
  std::uint32_t done = 0;
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    ++done;
    for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
      for (const NodeId next : graph_.after(moment, id)) {
        if (--left[next] == 0) ready.push_back(next);
      }
    }
  }
  if (done != size) {
    NodeId stuck = 0;
    while (left[stuck] == 0) ++stuck;
    return fmt::format("{} of {} nodes wait for each other in a ring, node {} among them",
                       size - done, size, stuck);
  }

  std::vector<bool> is_timed(size);
  for (const Graph::Timed& timed : graph_.timed_) {
    is_timed[timed.node] = true;
    ++graph_.waits_[timed.node];
  }
  graph_.first_root_.assign(graph_.ranks_ + 1, 0);
  for (NodeId id = 0; id < size; ++id) {
    if (graph_.waits_[id] == 0) ++graph_.first_root_[graph_.nodes_[id].rank + 1];
  }
  for (Rank r = 0; r < graph_.ranks_; ++r) graph_.first_root_[r + 1] += graph_.first_root_[r];
  graph_.roots_.resize(graph_.first_root_[graph_.ranks_]);
  std::vector<std::uint32_t> next = graph_.first_root_;
  for (NodeId id = 0; id < size; ++id) {
    if (graph_.waits_[id] == 0) graph_.roots_[next[graph_.nodes_[id].rank]++] = id;
  }
  return std::move(graph_);
}

}  // namespace strack::workload
