// [D86] The graph of a training step.
//
// Replicas of a stage do the same in the same order, so a pass of a microbatch is laid down for all of
// them together: pieces of computation, and between them what they exchange. Stages are tied together at
// the end, by what a pass hands to the next stage.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "workload/collectives.h"
#include "workload/training.h"

namespace strack::workload {
namespace {

constexpr NodeId kNone = ~NodeId{0};
constexpr Moment kMoments[] = {Moment::started, Moment::sent, Moment::received};

/// A collective's graph, to be laid down again and again.
struct Pattern {
  Graph graph;
  std::vector<bool> led;   ///< by node: it waits for something its own rank did
  std::vector<bool> leaf;  ///< nobody waits for its arrival
  std::vector<bool> last;  ///< of its channel

  explicit Pattern(Graph made)
      : graph(std::move(made)), led(graph.size()), leaf(graph.size()), last(graph.size()) {
    std::vector<NodeId> newest(graph.channels().size(), kNone);
    for (NodeId id = 0; id < graph.size(); ++id) {
      STRACK_CHECK(!graph.node(id).computes);
      for (const Moment own : {Moment::started, Moment::sent}) {
        for (const NodeId next : graph.after(own, id)) led[next] = true;
      }
      leaf[id] = graph.after(Moment::received, id).empty();
      newest[graph.node(id).channel] = id;
    }
    for (const NodeId id : newest) {
      if (id != kNone) last[id] = true;
    }
  }
};

/// What travels on connections of its own.
enum class Traffic : std::uint8_t { dense, gather, experts_reduce, exchange, pipeline };

/// Ranks in which something goes on, and a node of each.
struct At {
  std::vector<Rank> ranks;
  std::vector<NodeId> nodes;
};

class Step {
 public:
  explicit Step(const TrainingParams& p)
      : p_(p), builder_(p.ranks()), newest_(p.ranks(), kNone), before_(p.ranks(), kNone) {
    for (std::uint32_t stage = 0; stage < p.pp; ++stage) costs_.push_back(stage_cost(p, stage));
    ends_.resize(p.ranks());
  }

  Graph make() {
    for (std::uint32_t stage = 0; stage < p_.pp; ++stage) {
      one_forward_one_backward(stage);
      if (p_.zero == 1 || p_.zero == 2) gather_weights(stage);
    }
    for (std::uint32_t stage = 0; stage + 1 < p_.pp; ++stage) join(stage);
    auto built = builder_.build();
    STRACK_CHECK(built.ok());
    return std::move(built.value());
  }

 private:
  /// First and last node of a rank's passes of one microbatch.
  struct Pass {
    NodeId first = kNone;
    NodeId last = kNone;
  };
  struct Passes {
    Pass forward;
    Pass backward;
  };

  // ---- Pieces ----

  NodeId compute(Rank rank, Picoseconds time) {
    const NodeId node = builder_.compute(rank, time);
    if (newest_[rank] != kNone) builder_.wait(node, newest_[rank], Moment::sent);
    before_[rank] = newest_[rank];
    newest_[rank] = node;
    return node;
  }

  /// The ranks of some replicas on one rail of a stage.
  [[nodiscard]] std::vector<Rank> replicas(std::uint32_t stage, std::uint32_t rail,
                                           std::uint32_t first, std::uint32_t stride,
                                           std::uint32_t count) const {
    std::vector<Rank> ranks;
    for (std::uint32_t i = 0; i < count; ++i)
      ranks.push_back(p_.rank(stage, first + i * stride, rail));
    return ranks;
  }

  std::uint32_t channel(Traffic traffic, Rank from, Rank to) {
    const auto [known, is_new] = channels_.try_emplace(std::tuple{traffic, from, to}, 0u);
    if (is_new) known->second = builder_.channel(from, to);
    return known->second;
  }

  const Pattern& pattern(Collective collective, Rank ranks, Bytes size) {
    const auto key = std::tuple{collective, ranks, size.count()};
    if (const auto known = patterns_.find(key); known != patterns_.end()) return known->second;
    auto made = make_collective(
        {.collective = collective, .ranks = ranks, .size = size, .chunk = p_.chunk});
    STRACK_CHECK(made.ok());
    return patterns_.emplace(key, Pattern(std::move(made.value().graph))).first->second;
  }

  /// When each rank has come to it; after what came before on the same connections.
  std::vector<NodeId> begins(CommunicationId id, const At& ready, Traffic traffic) {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < ready.ranks.size(); ++i) {
      const NodeId node = builder_.compute(ready.ranks[i], ps(0), begin_mark(id));
      if (ready.nodes[i] != kNone) builder_.wait(node, ready.nodes[i], Moment::sent);
      const auto before = streams_.find({traffic, ready.ranks[i]});
      if (before != streams_.end()) builder_.wait(node, before->second, Moment::sent);
      nodes.push_back(node);
    }
    return nodes;
  }
  std::vector<NodeId> ends(CommunicationId id, const std::vector<Rank>& ranks,
                           const std::vector<NodeId>& begun, Traffic traffic) {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      nodes.push_back(builder_.compute(ranks[i], ps(0), end_mark(id)));
      builder_.wait(nodes.back(), begun[i], Moment::sent);
      streams_[{traffic, ranks[i]}] = nodes.back();
    }
    return nodes;
  }

  /// Returns where each rank is done with it.
  std::vector<NodeId> collective(const char* name, Collective what, const At& ready, Bytes size,
                                 Traffic traffic) {
    const Pattern& p = pattern(what, static_cast<Rank>(ready.ranks.size()), size);
    const Graph& graph = p.graph;
    const CommunicationId id = builder_.communication(
        {name, static_cast<std::uint32_t>(ready.ranks.size()), graph.bytes()});
    const std::vector<NodeId> begun = begins(id, ready, traffic);
    std::vector<std::uint32_t> channels;
    for (const Channel& c : graph.channels())
      channels.push_back(channel(traffic, ready.ranks[c.from], ready.ranks[c.to]));
    const NodeId base = builder_.size();
    for (NodeId n = 0; n < graph.size(); ++n)
      builder_.message_on(channels[graph.node(n).channel], bytes(graph.node(n).amount));
    const std::vector<NodeId> done = ends(id, ready.ranks, begun, traffic);
    for (NodeId n = 0; n < graph.size(); ++n) {
      // What a rank adds of its own must be there.
      if (!p.led[n]) builder_.wait(base + n, begun[graph.sender(n)], Moment::sent);
      for (const Moment moment : kMoments) {
        for (const NodeId next : graph.after(moment, n))
          builder_.wait(base + next, base + n, moment);
      }
      if (p.leaf[n]) builder_.wait(done[graph.receiver(n)], base + n, Moment::received);
      if (p.last[n]) builder_.wait(done[graph.sender(n)], base + n, Moment::sent);
    }
    return done;
  }

  /// Tokens to experts, or back: what the busiest one has is p_.skew times the average.
  void exchange(const char* name, const std::vector<Rank>& ranks, std::uint32_t busiest,
                bool back) {
    const auto ep = static_cast<std::uint32_t>(ranks.size());
    At ready{ranks, {}};
    for (const Rank rank : ranks) ready.nodes.push_back(newest_[rank]);
    const std::int64_t all = std::int64_t{p_.micro_batch} * p_.model.sequence * p_.model.hidden *
                             p_.model.top_k * p_.weight_bytes / p_.tp;
    Bytes sum{0};
    const auto size = [&](std::uint32_t from, std::uint32_t to) {
      return bytes(share(all, back ? from : to, busiest));
    };
    for (std::uint32_t from = 0; from < ep; ++from) {
      for (std::uint32_t to = 0; to < ep; ++to) sum += from == to ? bytes(0) : size(from, to);
    }
    const CommunicationId id = builder_.communication({name, ep, sum});
    const std::vector<NodeId> begun = begins(id, ready, Traffic::exchange);
    const std::vector<NodeId> done = ends(id, ranks, begun, Traffic::exchange);
    for (std::uint32_t from = 0; from < ep; ++from) {
      for (std::uint32_t step = 1; step < ep; ++step) {
        const std::uint32_t to = (from + step) % ep;
        const NodeId message =
            builder_.message_on(channel(Traffic::exchange, ranks[from], ranks[to]), size(from, to));
        builder_.wait(message, begun[from], Moment::sent);
        builder_.wait(done[from], message, Moment::sent);
        builder_.wait(done[to], message, Moment::received);
      }
    }
    for (std::uint32_t i = 0; i < ep; ++i) newest_[ranks[i]] = done[i];
  }
  /// Of a whole that all expert ranks have, the part of one.
  [[nodiscard]] std::int64_t share(std::int64_t whole, std::uint32_t which,
                                   std::uint32_t busiest) const {
    const std::int64_t most = mul_div(whole, p_.skew.num, p_.skew.den * p_.ep);
    return which == busiest ? most : (whole - most) / (p_.ep - 1);
  }

  // ---- Passes ----

  /// Where buckets of a stage are cut.
  [[nodiscard]] std::vector<Bytes> buckets(std::int64_t weights, std::uint32_t each) const {
    std::vector<Bytes> all;
    for (std::int64_t left = weights * each; left > 0; left -= p_.bucket.count())
      all.push_back(bytes(std::min(left, p_.bucket.count())));
    return all;
  }

  void reduce(std::uint32_t stage, Bytes size, bool experts) {
    const Collective what = p_.zero == 0 ? Collective::allreduce_ring : Collective::reduce_scatter;
    const char* name =
        experts
            ? (p_.zero == 0 ? "expert gradients, allreduce" : "expert gradients, reduce-scatter")
            : (p_.zero == 0 ? "gradients, allreduce" : "gradients, reduce-scatter");
    among_replicas(stage, size, experts, name, what,
                   experts ? Traffic::experts_reduce : Traffic::dense);
  }
  /// A collective of all replicas, or of those with the same experts, on each rail.
  void among_replicas(std::uint32_t stage, Bytes size, bool experts, const char* name,
                      Collective what, Traffic traffic) {
    const std::uint32_t stride = experts ? p_.ep : 1;
    const std::uint32_t count = p_.dp / stride;
    if (count < 2) return;
    for (std::uint32_t rail = 0; rail < p_.rails; ++rail) {
      for (std::uint32_t first = 0; first < stride; ++first) {
        At ready{replicas(stage, rail, first, stride, count), {}};
        for (const Rank rank : ready.ranks) ready.nodes.push_back(newest_[rank]);
        collective(name, what, ready, size, traffic);
      }
    }
  }

  /// ZeRO 3: before a piece, its weights; while the piece before it is computed.
  void fetch_weights(std::uint32_t stage, Bytes size) {
    for (std::uint32_t rail = 0; rail < p_.rails; ++rail) {
      At ready{replicas(stage, rail, 0, 1, p_.dp), {}};
      for (const Rank rank : ready.ranks) ready.nodes.push_back(before_[rank]);
      const std::vector<NodeId> done =
          collective("weights, allgather", Collective::allgather, ready, size, Traffic::gather);
      for (std::size_t i = 0; i < ready.ranks.size(); ++i) fetched_[ready.ranks[i]] = done[i];
    }
  }

  /// One microbatch through one stage, in all replicas.
  void pass(std::uint32_t stage, std::uint32_t microbatch, bool forward) {
    const StageCost& cost = costs_[stage];
    const bool reduces = !forward && (microbatch + 1 == p_.microbatches || p_.zero >= 2);
    std::vector<Bytes> dense;
    std::vector<Bytes> experts;
    if (reduces && p_.dp > 1) {
      dense = buckets(cost.dense_weights, p_.gradient_bytes);
      experts = buckets(cost.expert_weights, p_.gradient_bytes);
    }
    std::vector<Bytes> fetched;
    if (p_.zero == 3) fetched = buckets(cost.dense_weights, p_.weight_bytes);
    const std::size_t pieces =
        p_.ep > 1 ? cost.layers : std::max({std::size_t{1}, dense.size(), fetched.size()});
    const auto between = [&](std::size_t piece, std::size_t all, auto&& each) {
      for (std::size_t i = all * piece / pieces; i < all * (piece + 1) / pieces; ++i) each(i);
    };
    const Picoseconds whole =
        (forward ? cost.forward : cost.backward) +
        (p_.ep > 1 ? ps(0) : (forward ? cost.experts_forward : cost.experts_backward));
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      between(piece, fetched.size(), [&](std::size_t i) { fetch_weights(stage, fetched[i]); });
      const auto n = static_cast<std::int64_t>(pieces);
      const auto k = static_cast<std::int64_t>(piece);
      const Picoseconds time = ps(mul_div(whole.count(), k + 1, n) - mul_div(whole.count(), k, n));
      all_compute(stage, microbatch, forward, piece == 0, [&](std::uint32_t) { return time; });
      if (p_.ep > 1) through_experts(stage, microbatch, forward, static_cast<std::uint32_t>(piece));
      between(piece, dense.size(), [&](std::size_t i) { reduce(stage, dense[i], false); });
      between(piece, experts.size(), [&](std::size_t i) { reduce(stage, experts[i], true); });
    }
    for (std::uint32_t r = 0; r < p_.dp * p_.rails; ++r) {
      const Rank rank = stage * p_.dp * p_.rails + r;
      pass_of(rank, microbatch, forward).last = newest_[rank];
    }
  }

  Pass& pass_of(Rank rank, std::uint32_t microbatch, bool forward) {
    if (ends_[rank].empty()) ends_[rank].resize(p_.microbatches);
    Passes& both = ends_[rank][microbatch];
    return forward ? both.forward : both.backward;
  }

  /// A piece in each rank of a stage; `time` is by replica.
  template <class Time>
  void all_compute(std::uint32_t stage, std::uint32_t microbatch, bool forward, bool first,
                   Time&& time) {
    for (std::uint32_t replica = 0; replica < p_.dp; ++replica) {
      for (std::uint32_t rail = 0; rail < p_.rails; ++rail) {
        const Rank rank = p_.rank(stage, replica, rail);
        const NodeId node = compute(rank, time(replica));
        if (first) pass_of(rank, microbatch, forward).first = node;
        if (const auto waits = fetched_.find(rank); waits != fetched_.end()) {
          builder_.wait(node, waits->second, Moment::sent);
          fetched_.erase(waits);
        }
      }
    }
  }

  /// To the experts of a layer, through them, and back. Which one is the busiest changes by layer.
  void through_experts(std::uint32_t stage, std::uint32_t microbatch, bool forward,
                       std::uint32_t layer) {
    const StageCost& cost = costs_[stage];
    const std::uint32_t busiest = layer % p_.ep;
    const auto all_exchange = [&](const char* name, bool back) {
      for (std::uint32_t rail = 0; rail < p_.rails; ++rail) {
        for (std::uint32_t first = 0; first < p_.dp; first += p_.ep)
          exchange(name, replicas(stage, rail, first, 1, p_.ep), busiest, back);
      }
    };
    all_exchange("tokens to experts, alltoall", false);
    const Picoseconds whole = forward ? cost.experts_forward : cost.experts_backward;
    all_compute(stage, microbatch, forward, false, [&](std::uint32_t replica) {
      return ps(share(whole.count() / cost.layers * p_.ep, replica % p_.ep, busiest));
    });
    all_exchange("tokens back, alltoall", true);
  }

  /// Every stage takes in as many microbatches as there are stages behind it, then one forward and one
  /// backward pass in turn.
  void one_forward_one_backward(std::uint32_t stage) {
    const std::uint32_t ahead = std::min(p_.pp - stage - 1, p_.microbatches);
    for (std::uint32_t m = 0; m < ahead; ++m) pass(stage, m, true);
    for (std::uint32_t m = 0; m < p_.microbatches; ++m) {
      if (m + ahead < p_.microbatches) pass(stage, m + ahead, true);
      pass(stage, m, false);
    }
  }

  /// ZeRO 1 and 2: every replica has updated its part of the weights.
  void gather_weights(std::uint32_t stage) {
    const StageCost& cost = costs_[stage];
    for (const Bytes size : buckets(cost.dense_weights, p_.weight_bytes))
      among_replicas(stage, size, false, "weights, allgather", Collective::allgather,
                     Traffic::dense);
    for (const Bytes size : buckets(cost.expert_weights, p_.weight_bytes)) {
      among_replicas(stage, size, true, "expert weights, allgather", Collective::allgather,
                     Traffic::experts_reduce);
    }
  }

  // ---- Between stages ----

  void hand_over(const char* name, Rank from, NodeId done, Rank to, NodeId next) {
    const Bytes size = bytes(std::int64_t{p_.micro_batch} * p_.model.sequence * p_.model.hidden *
                             p_.weight_bytes / p_.tp);
    const CommunicationId id = builder_.communication({name, 1, size});
    const NodeId begun = builder_.compute(from, ps(0), begin_mark(id));
    builder_.wait(begun, done, Moment::sent);
    const NodeId message = builder_.message_on(channel(Traffic::pipeline, from, to), size);
    builder_.wait(message, begun, Moment::sent);
    const NodeId there = builder_.compute(to, ps(0), end_mark(id));
    builder_.wait(there, message, Moment::received);
    builder_.wait(next, there, Moment::sent);
  }
  void join(std::uint32_t stage) {
    for (std::uint32_t i = 0; i < p_.dp * p_.rails; ++i) {
      const Rank lower = stage * p_.dp * p_.rails + i;
      const Rank upper = lower + p_.dp * p_.rails;
      for (std::uint32_t m = 0; m < p_.microbatches; ++m) {
        hand_over("activations to the next stage", lower, pass_of(lower, m, true).last, upper,
                  pass_of(upper, m, true).first);
        hand_over("gradients to the stage before", upper, pass_of(upper, m, false).last, lower,
                  pass_of(lower, m, false).first);
      }
    }
  }

  const TrainingParams& p_;
  GraphBuilder builder_;
  std::vector<StageCost> costs_;
  std::vector<NodeId> newest_;                          ///< by rank: what it computes last so far,
  std::vector<NodeId> before_;                          ///< and before that
  std::vector<std::vector<Passes>> ends_;               ///< by rank and microbatch
  std::map<Rank, NodeId> fetched_;                      ///< what the next piece waits for
  std::map<std::pair<Traffic, Rank>, NodeId> streams_;  ///< collectives go one after the other
  std::map<std::tuple<Traffic, Rank, Rank>, std::uint32_t> channels_;
  std::map<std::tuple<Collective, Rank, std::int64_t>, Pattern> patterns_;
};

}  // namespace

Graph make_training(const TrainingParams& params) {
  STRACK_CHECK(wrong_with(params).empty());
  return Step(params).make();
}

}  // namespace strack::workload
