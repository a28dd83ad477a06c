// A graph of messages: who sends what to whom once which others have been received, sent or
// computed. Collectives are made into one (collectives.h), traces are read into one.
//
// A graph is in terms of ranks and never changes once built, so that many jobs share it: a job adds a
// host for each rank and a count of what each node still waits for. Every dependency is an event at
// the very rank that waits for it, so a host needs to ask nobody.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace strack::workload {

using Rank = std::uint32_t;
/// A message or a computation, by its number in the graph.
using NodeId = std::uint32_t;

inline constexpr Rank kNobody = ~Rank{0};

/// What about a node another one can wait for.
enum class Moment : std::uint8_t {
  started,   ///< at its rank: the message is posted, the computation begins
  sent,      ///< at the sender: wholly acknowledged; a computation: finished
  received,  ///< at the receiver: wholly there
};

/// Several nodes' successors, stored one after the other.
class Successors {
 public:
  [[nodiscard]] std::span<const NodeId> of(NodeId node) const {
    if (first_.empty()) return {};
    return {items_.data() + first_[node], first_[node + 1] - first_[node]};
  }
  [[nodiscard]] std::size_t size() const { return items_.size(); }

 private:
  friend class GraphBuilder;
  std::vector<std::uint32_t> first_;  ///< empty: nobody has any
  std::vector<NodeId> items_;
};

/// One direction between two ranks: what a transport sees as a connection.
struct Channel {
  Rank from = 0;
  Rank to = 0;
};

/// What several messages do together, such as one collective: results have a row for it. It begins when
/// the last of its ranks has come to it, and ends when the last one has done its part; computations that
/// carry its marks say when (begin_mark, end_mark).
struct Communication {
  std::string name;         ///< all of a kind have the same
  std::uint32_t ranks = 0;  ///< so many begin it, and so many end it
  Bytes bytes{0};           ///< of all its messages
};
using CommunicationId = std::uint32_t;
[[nodiscard]] constexpr std::uint32_t begin_mark(CommunicationId id) { return 2 * id + 1; }
[[nodiscard]] constexpr std::uint32_t end_mark(CommunicationId id) { return 2 * id + 2; }

class Graph {
 public:
  struct Node {
    Rank rank = 0;              ///< the sender, or who computes
    std::uint32_t channel = 0;  ///< of a message
    std::int64_t amount = 0;    ///< bytes, or picoseconds
    bool computes = false;
    std::uint32_t mark = 0;  ///< of a computation whose end is told of; 0: nobody asks
  };

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }
  [[nodiscard]] std::uint32_t messages() const { return messages_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  [[nodiscard]] Rank sender(NodeId id) const { return nodes_[id].rank; }
  [[nodiscard]] Rank receiver(NodeId id) const { return channels_[nodes_[id].channel].to; }

  [[nodiscard]] std::span<const NodeId> after(Moment moment, NodeId id) const {
    return successors_[static_cast<std::size_t>(moment)].of(id);
  }
  /// How many events each node waits for.
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }
  /// Nodes that start at a time of their own, not before; all others with nothing to wait for start
  /// with the job.
  struct Timed {
    NodeId node;
    Picoseconds time;
  };
  [[nodiscard]] const std::vector<Timed>& timed() const { return timed_; }
  [[nodiscard]] const std::vector<Communication>& communications() const { return communications_; }
  /// Nodes that wait for nothing, by rank: what a rank starts with, in order.
  [[nodiscard]] std::span<const NodeId> roots(Rank rank) const {
    return {roots_.data() + first_root_[rank], first_root_[rank + 1] - first_root_[rank]};
  }

 private:
  friend class GraphBuilder;
  Rank ranks_ = 0;
  std::uint32_t messages_ = 0;
  Bytes bytes_{0};
  std::vector<Node> nodes_;
  std::vector<Channel> channels_;
  Successors successors_[3];
  std::vector<std::uint32_t> waits_;
  std::vector<Timed> timed_;
  std::vector<Communication> communications_;
  std::vector<std::uint32_t> first_root_;
  std::vector<NodeId> roots_;
};

/// Collects nodes and what they wait for, in any order.
class GraphBuilder {
 public:
  explicit GraphBuilder(Rank ranks) { graph_.ranks_ = ranks; }

  /// From 4 GiB on, several messages one behind the other, which the first stands for: whoever waits for it
  /// waits for all, and what it waits for they all do [D91]. Messages between the same ranks share a
  /// channel, unless `own_channel`.
  NodeId message(Rank from, Rank to, Bytes size, bool own_channel = false);
  /// A channel of its own, for messages on it.
  std::uint32_t channel(Rank from, Rank to);
  NodeId message_on(std::uint32_t channel, Bytes size);
  NodeId compute(Rank rank, Picoseconds time, std::uint32_t mark = 0);
  CommunicationId communication(Communication one) {
    graph_.communications_.push_back(std::move(one));
    return static_cast<CommunicationId>(graph_.communications_.size() - 1);
  }
  /// `node` waits for a moment of `other`.
  void wait(NodeId node, NodeId other, Moment moment) {
    edges_.push_back({node, other, moment});
    if (!pieces_.empty()) wait_for_pieces(edges_.back());
  }
  /// `node` does not start before this time after the job's start.
  void not_before(NodeId node, Picoseconds time) {
    for (std::uint32_t i = 0; i < pieces_of(node); ++i) graph_.timed_.push_back({node + i, time});
  }

  [[nodiscard]] std::uint32_t size() const { return graph_.size(); }
  [[nodiscard]] const Graph::Node& node(NodeId id) const { return graph_.nodes_[id]; }
  [[nodiscard]] Rank receiver(NodeId id) const { return graph_.receiver(id); }

  /// The finished graph, or what is wrong with it: an event awaited where it does not happen, or
  /// nodes that wait for each other in a ring.
  [[nodiscard]] Result<Graph, std::string> build();

 private:
  struct Edge {
    NodeId node;
    NodeId other;
    Moment moment;
  };
  /// The other pieces of either.
  void wait_for_pieces(Edge edge);
  [[nodiscard]] std::uint32_t pieces_of(NodeId node) const {
    const auto found = pieces_.find(node);
    return found == pieces_.end() ? 1 : found->second;
  }

  Graph graph_;
  std::vector<Edge> edges_;
  std::unordered_map<NodeId, std::uint32_t> pieces_;  ///< messages that are several: how many
  std::unordered_map<std::uint64_t, std::uint32_t> channel_of_;  ///< by pair of ranks
};

}  // namespace strack::workload
