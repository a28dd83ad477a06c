#include "workload/formats/import_ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::workload {
namespace {

/// Sends that are alike to a receive, oldest first.
struct Queue {
  std::vector<OpId> sends;
  std::size_t head = 0;
};
using Key = std::tuple<Rank, Rank, std::int64_t>;  // destination, source, tag

std::string who(Rank rank) { return rank == kNobody ? "any rank" : fmt::format("rank {}", rank); }
std::string which_tag(std::int64_t tag) {
  return tag == kAnyTag ? std::string("any tag") : fmt::format("tag {}", tag);
}

/// Plays a trace through, each message taking its latency and its bytes at a rate, to find out which
/// receive gets which message.
class Play {
 public:
  Play(const std::vector<ImportOp>& ops, std::vector<OpId>& partner, OpId none)
      : ops_(ops),
        partner_(partner),
        none_(none),
        waits_(ops.size()),
        first_(ops.size() + 1),
        posted_at_(ops.size()) {}

  /// `other` starts once `op` has ended, or has started.
  void note(OpId op) { ++first_[op + 1]; }
  void lay_out() {
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    edges_.resize(first_.back());
    place_.assign(first_.begin(), first_.end() - 1);
  }
  void add(OpId op, OpId other, bool has_started) {
    edges_[place_[op]++] = {other, has_started};
    ++waits_[other];
  }

  /// Whether all operations came to their end.
  bool run() {
    for (OpId id = 0; id < ops_.size(); ++id) {
      if (waits_[id] == 0) events_.push({ps(0), next_++, id, What::starts});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      switch (event.what) {
        case What::starts:
          start(event.op);
          break;
        case What::ends:
          end(event.op);
          break;
        case What::arrives:
          arrive(event.op);
          break;
      }
    }
    return ended_ == ops_.size();
  }

 private:
  enum class What : std::uint8_t { starts, ends, arrives };
  struct Event {
    Picoseconds time;
    std::uint64_t order;  ///< among those of one time
    OpId op;
    What what;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  struct Edge {
    OpId other;
    bool has_started;
  };
  static constexpr Picoseconds kLatency = us(2);
  static constexpr BitsPerSecond kRate = gbps(400);

  void tell(OpId op, bool has_started) {
    for (std::uint32_t i = first_[op]; i < first_[op + 1]; ++i) {
      if (edges_[i].has_started == has_started && --waits_[edges_[i].other] == 0)
        events_.push({now_, next_++, edges_[i].other, What::starts});
    }
  }
  void start(OpId id) {
    const ImportOp& op = ops_[id];
    tell(id, true);
    if (op.kind == OpKind::compute) {
      events_.push({now_ + ps(op.amount), next_++, id, What::ends});
    } else if (op.kind == OpKind::send) {
      events_.push({now_ + kLatency + bytes(op.amount) / kRate, next_++, id, What::arrives});
      end(id);
    } else {
      const Key key{op.rank, op.peer, op.tag};
      if (const auto send = first_of(waiting_, key)) {
        take(*send, id);
      } else {
        posted_at_[id] = next_++;
        posted_[key].sends.push_back(id);
      }
    }
  }
  void end(OpId id) {
    ++ended_;
    tell(id, false);
  }
  void arrive(OpId send) {
    const ImportOp& op = ops_[send];
    // The earliest posted of those that fit: they were numbered as they came.
    std::optional<OpId> receive;
    for (const Key& key : keys_of(op)) {
      const auto one = first_of(posted_, key);
      if (one && (!receive || posted_at_[*one] < posted_at_[*receive])) receive = one;
    }
    if (receive) return take(send, *receive);
    for (const Key& key : keys_of(op)) waiting_[key].sends.push_back(send);
  }
  [[nodiscard]] static std::array<Key, 4> keys_of(const ImportOp& op) {
    return {{{op.peer, op.rank, op.tag},
             {op.peer, op.rank, kAnyTag},
             {op.peer, kNobody, op.tag},
             {op.peer, kNobody, kAnyTag}}};
  }
  void take(OpId send, OpId receive) {
    partner_[send] = receive;
    partner_[receive] = send;
    end(receive);
  }
  /// The first of a queue that has no partner yet.
  std::optional<OpId> first_of(std::map<Key, Queue>& queues, const Key& key) {
    const auto it = queues.find(key);
    if (it == queues.end()) return std::nullopt;
    Queue& queue = it->second;
    while (queue.head < queue.sends.size() && partner_[queue.sends[queue.head]] != none_)
      ++queue.head;
    if (queue.head == queue.sends.size()) return std::nullopt;
    return queue.sends[queue.head];
  }

  const std::vector<ImportOp>& ops_;
  std::vector<OpId>& partner_;
  OpId none_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> place_;
  std::vector<Edge> edges_;
  std::priority_queue<Event> events_;
  std::map<Key, Queue> posted_;
  std::map<Key, Queue> waiting_;
  std::vector<std::uint64_t> posted_at_;  ///< by receive
  std::uint64_t next_ = 0;
  Picoseconds now_{0};
  std::size_t ended_ = 0;
};

}  // namespace

bool ImportOps::has_wildcards() const {
  return std::any_of(ops_.begin(), ops_.end(), [](const ImportOp& op) {
    return op.kind == OpKind::recv && (op.peer == kNobody || op.tag == kAnyTag);
  });
}

bool ImportOps::match_by_playing() {
  Play play(ops_, partner_, kNone);
  for (const Requirement& r : requirements_) play.note(r.other);
  play.lay_out();
  for (const Requirement& r : requirements_) play.add(r.other, r.op, r.has_started);
  if (play.run()) {
    for (OpId id = 0; id < ops_.size(); ++id) {
      const ImportOp& op = ops_[id];
      if (op.kind == OpKind::recv && ops_[partner_[id]].amount != op.amount) ++other_sizes_;
    }
    return true;
  }
  partner_.assign(ops_.size(), kNone);
  return false;
}

std::optional<OpError> ImportOps::match() {
  partner_.assign(ops_.size(), kNone);
  if (has_wildcards() && collectives_.empty() && match_by_playing()) return unmatched();
  // Exact ones first, so that a wildcard does not take what only another receive could have used.
  for (const int wildcards : {0, 1, 2}) {
    for (const bool any_source : {false, true}) {
      for (const bool any_tag : {false, true}) {
        if (int{any_source} + int{any_tag} != wildcards) continue;
        const auto key_of = [&](Rank dst, Rank src, std::int64_t tag) {
          return Key{dst, any_source ? kNobody : src, any_tag ? kAnyTag : tag};
        };
        const auto is_ours = [&](const ImportOp& op) {
          return op.kind == OpKind::recv && (op.peer == kNobody) == any_source &&
                 (op.tag == kAnyTag) == any_tag;
        };
        bool any = false;
        for (const ImportOp& op : ops_) any = any || is_ours(op);
        if (!any) continue;
        std::map<Key, Queue> queues;
        for (OpId id = 0; id < ops_.size(); ++id) {
          const ImportOp& op = ops_[id];
          if (op.kind == OpKind::send && partner_[id] == kNone)
            queues[key_of(op.peer, op.rank, op.tag)].sends.push_back(id);
        }
        for (OpId id = 0; id < ops_.size(); ++id) {
          const ImportOp& op = ops_[id];
          if (!is_ours(op)) continue;
          const auto it = queues.find(key_of(op.rank, op.peer, op.tag));
          if (it == queues.end() || it->second.head == it->second.sends.size()) {
            return OpError{id,
                           fmt::format("no send for this receive: {} sends rank {} nothing "
                                       "more with {}",
                                       who(op.peer), op.rank, which_tag(op.tag)),
                           false};
          }
          const OpId send = it->second.sends[it->second.head++];
          partner_[id] = send;
          partner_[send] = id;
          if (ops_[send].amount != op.amount) ++other_sizes_;
        }
      }
    }
  }
  return unmatched();
}

std::optional<OpError> ImportOps::unmatched() const {
  for (OpId id = 0; id < ops_.size(); ++id) {
    const ImportOp& op = ops_[id];
    if (op.kind == OpKind::send && partner_[id] == kNone) {
      return OpError{id,
                     fmt::format("no receive for this send: rank {} receives nothing more from "
                                 "rank {} with {}",
                                 op.peer, op.rank, which_tag(op.tag)),
                     false};
    }
  }
  return std::nullopt;
}

/// The operations in the order in which they become nodes.
std::vector<OpId> ImportOps::numbering() const {
  std::vector<OpId> order(ops_.size());
  std::iota(order.begin(), order.end(), OpId{0});
  std::vector<OpId> sends;
  for (const OpId id : order) {
    if (ops_[id].kind == OpKind::send) sends.push_back(id);
  }
  std::stable_sort(sends.begin(), sends.end(),
                   [&](OpId a, OpId b) { return ops_[a].tag < ops_[b].tag; });
  const auto same_tag = [&](OpId a, OpId b) { return ops_[a].tag == ops_[b].tag; };
  if (std::adjacent_find(sends.begin(), sends.end(), same_tag) != sends.end()) return order;
  // Each takes the place of a send, so that computations stay where they are.
  std::size_t next = 0;
  for (OpId& id : order) {
    if (ops_[id].kind == OpKind::send) id = sends[next++];
  }
  return order;
}

Result<Graph, OpError> ImportOps::build() {
  if (auto error = match()) return *error;
  ImportBuilder builder(ranks_);
  nodes_.assign(ops_.size(), {});
  std::int64_t large = 0;
  for (const OpId id : numbering()) {
    const ImportOp& op = ops_[id];
    Nodes& nodes = nodes_[id];
    if (op.kind == OpKind::send) {
      large += large_bytes(op.amount);
      if (large > kMostLargeBytes) return OpError{id, std::string(kTooMuchLarge)};
      nodes.gate = nodes.end = builder.message(op.rank, op.peer, bytes(op.amount), false);
    } else if (op.kind == OpKind::compute) {
      nodes.gate = nodes.end = builder.compute(op.rank, ps(op.amount));
    }
    note_nodes(builder, id);
  }

  // Helpers, only where something needs them.
  std::vector<bool> requires_something(ops_.size());
  std::vector<bool> start_matters(ops_.size());
  std::vector<bool> end_matters(ops_.size());
  for (const Requirement& r : requirements_) {
    requires_something[r.op] = true;
    (r.has_started ? start_matters : end_matters)[r.other] = true;
  }
  for (OpId id = 0; id < ops_.size(); ++id) {
    const ImportOp& op = ops_[id];
    if (op.kind != OpKind::recv) continue;
    Nodes& nodes = nodes_[id];
    const NodeId message = nodes_[partner_[id]].end;
    nodes.end = message;
    nodes.end_moment = Moment::received;
    if (!requires_something[id]) continue;
    if (end_matters[id]) {
      nodes.gate = nodes.end = builder.compute(op.rank, ps(0));
      nodes.end_moment = Moment::sent;
      builder.wait(nodes.end, message, Moment::received);
    }
    if (start_matters[id]) {
      nodes.gate = builder.compute(op.rank, ps(0));
      if (end_matters[id]) builder.wait(nodes.end, nodes.gate, Moment::sent);
    }
    note_nodes(builder, id);
  }
  add_collectives(builder);

  for (const Requirement& r : requirements_) {
    const NodeId gate = nodes_[r.op].gate;
    const Nodes& other = nodes_[r.other];
    if (gate == kNone) continue;  // a receive that nobody waits for
    if (!r.has_started) {
      builder.wait(gate, other.end, other.end_moment);
    } else if (other.gate != kNone) {  // else it starts with its rank
      builder.wait(gate, other.gate, Moment::started);
    }
  }
  auto graph = builder.build();
  if (!graph) return OpError{op_of_node_[graph.error()], "this operation waits for itself", true};
  return std::move(graph.value());
}

void ImportOps::add_collectives(ImportBuilder& builder) {
  if (collectives_.empty()) return;
  std::vector<std::vector<OpId>> ops(collectives_.size());
  for (OpId id = 0; id < ops_.size(); ++id) {
    if (ops_[id].kind == OpKind::collective)
      ops[static_cast<std::size_t>(ops_[id].amount)].push_back(id);
  }
  std::vector<OpId> of_rank(ranks_);  // in this collective
  for (std::size_t c = 0; c < collectives_.size(); ++c) {
    const std::vector<Rank>& members = *collectives_[c].members;
    STRACK_CHECK(ops[c].size() == members.size());
    for (const OpId id : ops[c]) of_rank[ops_[id].rank] = id;
    for (std::size_t i = 0; i < members.size(); ++i) ops[c][i] = of_rank[members[i]];
    const auto made = make_collective(collectives_[c].params);
    STRACK_CHECK(made.ok());
    const Graph& graph = made.value().graph;
    // A rank takes part from its own operation on: it forwards nothing before.
    for (const OpId id : ops[c]) {
      nodes_[id].gate = builder.compute(ops_[id].rank, ps(0));
      nodes_[id].end = builder.compute(ops_[id].rank, ps(0));
      builder.wait(nodes_[id].end, nodes_[id].gate, Moment::sent);
      note_nodes(builder, id);
    }
    const NodeId first = builder.size();
    for (NodeId n = 0; n < graph.size(); ++n) {
      const Graph::Node& node = graph.node(n);
      const Nodes& sender = nodes_[ops[c][node.rank]];
      const Nodes& receiver = nodes_[ops[c][graph.receiver(n)]];
      builder.message(members[node.rank], members[graph.receiver(n)], bytes(node.amount), false);
      builder.wait(first + n, sender.gate, Moment::sent);
      builder.wait(sender.end, first + n, Moment::sent);
      builder.wait(receiver.end, first + n, Moment::received);
    }
    for (NodeId n = 0; n < graph.size(); ++n) {
      for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
        for (const NodeId next : graph.after(moment, n))
          builder.wait(first + next, first + n, moment);
      }
    }
    note_nodes(builder, ops[c][0]);
  }
}

}  // namespace strack::workload
