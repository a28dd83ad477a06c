// Collectives are verified by meaning: a symbolic run, in random order, after which every rank must
// hold exactly the contributions the operation promises.
#include "workload/collectives.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"

namespace strack::workload {
namespace {

/// How often each rank's contribution is in a unit: at most 2 is told apart from more, which would be
/// wrong anyway.
class Contributions {
 public:
  explicit Contributions(Rank ranks = 0) : counts_(ranks, 0) {}
  void put(Rank rank) { counts_[rank] = 1; }
  void add(const Contributions& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      counts_[i] = static_cast<std::uint8_t>(std::min(3, counts_[i] + other.counts_[i]));
  }
  friend bool operator==(const Contributions&, const Contributions&) = default;

  static Contributions of_all(Rank ranks) {
    Contributions all(ranks);
    for (Rank r = 0; r < ranks; ++r) all.put(r);
    return all;
  }
  static Contributions of_one(Rank ranks, Rank rank) {
    Contributions one(ranks);
    one.put(rank);
    return one;
  }

 private:
  std::vector<std::uint8_t> counts_;
};

/// Runs a graph's messages in any order its waits allow, drawn by a seed, and moves contributions.
class SymbolicRun {
 public:
  SymbolicRun(const CollectiveParams& params, const CollectiveGraph& collective, std::uint64_t seed)
      : params_(params), collective_(collective), rng_(seed), waits_(collective.graph.waits()) {
    const Rank n = params.ranks;
    buffers_.assign(n, std::vector<Contributions>(units(), Contributions(n)));
    for (Rank r = 0; r < n; ++r) {
      for (std::size_t u = 0; u < units(); ++u) {
        if (holds_at_first(r, u)) buffers_[r][u].put(r);
      }
    }
    sent.assign(n, 0);
    received.assign(n, 0);
  }

  void run() {
    const Graph& graph = collective_.graph;
    for (Rank r = 0; r < params_.ranks; ++r) {
      for (const NodeId node : graph.roots(r)) ready_.push_back(node);
    }
    while (!ready_.empty() || !under_way_.empty() || !arrived_.empty()) {
      std::uint64_t pick = rng_.below(ready_.size() + under_way_.size() + arrived_.size());
      if (pick < ready_.size()) {
        start(take(ready_, pick));
      } else if ((pick -= ready_.size()) < under_way_.size()) {
        arrive(take(under_way_, pick));
      } else {
        const NodeId node = take(arrived_, pick - under_way_.size());
        tell(Moment::sent, node);
        ++done_;
      }
    }
  }

  void expect_done() const {
    EXPECT_EQ(done_, collective_.graph.size());
    const Rank n = params_.ranks;
    for (Rank r = 0; r < n; ++r) {
      for (std::size_t u = 0; u < units(); ++u) {
        if (const auto wanted = promised(r, u)) {
          ASSERT_TRUE(buffers_[r][u] == *wanted) << "rank " << r << ", unit " << u;
        }
      }
    }
  }

  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;

 private:
  struct UnderWay {
    NodeId node;
    std::vector<Contributions> content;  ///< as it was when the message started
  };

  [[nodiscard]] std::size_t units() const { return collective_.unit_sizes.size(); }
  /// Which block of N a unit belongs to, where the buffer is cut into one per rank.
  [[nodiscard]] Rank block_of(std::size_t unit) const {
    std::int64_t before = 0;
    for (std::size_t u = 0; u < unit; ++u) before += collective_.unit_sizes[u].value;
    Rank block = 0;
    while (block + 1 < params_.ranks &&
           mul_div(params_.size.value, block + 1, params_.ranks) <= before)
      ++block;
    return block;
  }

  [[nodiscard]] bool holds_at_first(Rank r, std::size_t unit) const {
    switch (params_.collective) {
      case Collective::allgather:
        return block_of(unit) == r;
      case Collective::broadcast:
        return r == 0;
      case Collective::alltoall:
        return unit / params_.ranks == r;
      default:
        return true;
    }
  }
  [[nodiscard]] std::optional<Contributions> promised(Rank r, std::size_t unit) const {
    const Rank n = params_.ranks;
    switch (params_.collective) {
      case Collective::allgather:
        return Contributions::of_one(n, block_of(unit));
      case Collective::broadcast:
        return Contributions::of_one(n, 0);
      case Collective::alltoall:
        if (unit % n != r) return std::nullopt;
        return Contributions::of_one(n, static_cast<Rank>(unit / n));
      case Collective::reduce_scatter:
        if (block_of(unit) != r) return std::nullopt;
        return Contributions::of_all(n);
      default:
        return Contributions::of_all(n);
    }
  }

  template <class T>
  T take(std::vector<T>& from, std::uint64_t i) {
    std::swap(from[i], from.back());
    T item = std::move(from.back());
    from.pop_back();
    return item;
  }
  void start(NodeId node) {
    const Graph& graph = collective_.graph;
    const Transfer& transfer = collective_.transfers[node];
    UnderWay message{node, {}};
    for (std::uint32_t u = 0; u < transfer.units; ++u)
      message.content.push_back(buffers_[graph.sender(node)][transfer.first_unit + u]);
    sent[graph.sender(node)] += graph.node(node).amount;
    received[graph.receiver(node)] += graph.node(node).amount;
    under_way_.push_back(std::move(message));
    tell(Moment::started, node);
  }
  void arrive(UnderWay message) {
    const Transfer& transfer = collective_.transfers[message.node];
    const Rank to = collective_.graph.receiver(message.node);
    for (std::uint32_t u = 0; u < transfer.units; ++u) {
      Contributions& there = buffers_[to][transfer.first_unit + u];
      if (transfer.adds) {
        there.add(message.content[u]);
      } else {
        there = message.content[u];
      }
    }
    arrived_.push_back(message.node);
    tell(Moment::received, message.node);
  }
  void tell(Moment moment, NodeId node) {
    for (const NodeId next : collective_.graph.after(moment, node)) {
      if (--waits_[next] == 0) ready_.push_back(next);
    }
  }

  const CollectiveParams& params_;
  const CollectiveGraph& collective_;
  Rng rng_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<Contributions>> buffers_;
  std::vector<NodeId> ready_;
  std::vector<UnderWay> under_way_;
  std::vector<NodeId> arrived_;
  std::uint32_t done_ = 0;
};

/// Per-rank volumes in Nths of the buffer, by the textbook; `even` sizes only, so that they are
/// exact. DBT: see below.
std::int64_t expected_volume(Collective collective, Rank n) {
  switch (collective) {
    case Collective::allreduce_ring:
    case Collective::allreduce_halving_doubling:
      return 2 * (n - 1);
    default:
      return n - 1;
  }
}

CollectiveParams params(Collective collective, Rank ranks, Bytes size, Bytes chunk) {
  return {collective, ranks, size, chunk, 0};
}

constexpr Collective kAll[] = {Collective::allreduce_ring,
                               Collective::allreduce_halving_doubling,
                               Collective::allreduce_double_binary_tree,
                               Collective::alltoall,
                               Collective::allgather,
                               Collective::reduce_scatter,
                               Collective::broadcast};

bool works_for(Collective collective, Rank ranks) {
  return collective != Collective::allreduce_halving_doubling || std::has_single_bit(ranks);
}

class EveryCollective : public ::testing::TestWithParam<Collective> {};

// For every number of ranks up to 64, with chunks smaller, equal and larger than a rank's block and
// sizes that divide evenly and not: every rank ends with exactly what it must have.
TEST_P(EveryCollective, EndsWithExactlyWhatItMust) {
  for (Rank n = 2; n <= 64; ++n) {
    if (!works_for(GetParam(), n)) continue;
    for (const std::int64_t chunk : {700, 1'000, 5'000}) {
      if (n > 24 && chunk == 700) continue;  // the same again, slowly
      CollectiveParams p = params(GetParam(), n, bytes(n * 1'000 + (n % 3)), bytes(chunk));
      p.parallel = n % 4 == 0 ? 3 : n % 4 == 1 ? 1 : 0;
      p.chunks_in_flight = n % 3;  // [D66]
      const auto made = make_collective(p, true);
      ASSERT_TRUE(made.ok()) << made.error();
      SymbolicRun symbolic(p, made.value(), n);
      symbolic.run();
      symbolic.expect_done();
      if (HasFatalFailure()) FAIL() << n << " ranks, chunk " << chunk;
    }
  }
}

// [D66] With one chunk in flight each message of a connection waits for the one before it to be
// acknowledged; with two, for the one before that.
TEST(Collective, ChunksInFlightAreWaitedFor) {
  CollectiveParams p{
      .collective = Collective::broadcast, .ranks = 2, .size = kib(4), .chunk = kib(1)};
  const auto waits = [&p] {
    const auto made = make_collective(p);
    EXPECT_TRUE(made.ok());
    return made.value().graph.waits();
  };
  EXPECT_EQ(waits(), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  p.chunks_in_flight = 1;
  EXPECT_EQ(waits(), (std::vector<std::uint32_t>{0, 1, 1, 1}));
  p.chunks_in_flight = 2;
  EXPECT_EQ(waits(), (std::vector<std::uint32_t>{0, 0, 1, 1}));
  const auto made = make_collective(p);
  EXPECT_EQ(made.value().graph.after(Moment::sent, 0).size(), 1u);
  EXPECT_EQ(made.value().graph.after(Moment::sent, 0)[0], 2u);
}

// And for some large numbers.
TEST_P(EveryCollective, LargeNumbersOfRanks) {
  for (const Rank n : {96u, 127u, 128u, 256u}) {
    if (!works_for(GetParam(), n)) continue;
    // A contribution of each rank to each unit at each rank: AllToAll has a unit per pair.
    if (n > (GetParam() == Collective::alltoall ? 96u : 256u)) continue;
    CollectiveParams p = params(GetParam(), n, bytes(n * 64), bytes(64));
    p.parallel = 16;
    const auto made = make_collective(p, true);
    ASSERT_TRUE(made.ok()) << made.error();
    SymbolicRun symbolic(p, made.value(), n);
    symbolic.run();
    symbolic.expect_done();
    if (HasFatalFailure()) FAIL() << n << " ranks";
  }
}

// No message is larger than a chunk, none is empty (AllToAll's words apart), all bytes are accounted
// for.
TEST_P(EveryCollective, ChunksAndVolumes) {
  for (const Rank n : {2u, 4u, 8u, 16u, 32u}) {
    const std::int64_t block = 6'000;
    CollectiveParams p = params(GetParam(), n, bytes(n * block), bytes(1'500));
    const auto made = make_collective(p, true);
    ASSERT_TRUE(made.ok());
    for (NodeId id = 0; id < made.value().graph.size(); ++id) {
      EXPECT_LE(made.value().graph.node(id).amount, 1'500);
      EXPECT_GT(made.value().graph.node(id).amount, 0);
    }
    SymbolicRun symbolic(p, made.value(), 1);
    symbolic.run();
    if (GetParam() == Collective::allreduce_double_binary_tree ||
        GetParam() == Collective::broadcast)
      continue;
    for (Rank r = 0; r < n; ++r) {
      EXPECT_EQ(symbolic.sent[r], expected_volume(GetParam(), n) * block) << n << " ranks";
      EXPECT_EQ(symbolic.received[r], expected_volume(GetParam(), n) * block) << n << " ranks";
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<Collective>& info) {
  std::string name(name_of(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Collectives, EveryCollective, ::testing::ValuesIn(kAll), test_name);

// ---- Double binary tree ----

// Both trees span all ranks, parents and children agree, and no rank has more than two children.
TEST(DoubleBinaryTree, IsTwoTrees) {
  for (Rank n = 2; n <= 300; ++n) {
    for (const bool second : {false, true}) {
      Rank roots = 0;
      for (Rank r = 0; r < n; ++r) {
        const TreePlace place = tree_place(r, n, second);
        if (place.parent == kNobody) {
          ++roots;
        } else {
          const TreePlace above = tree_place(place.parent, n, second);
          EXPECT_TRUE(above.children[0] == r || above.children[1] == r)
              << n << " ranks, rank " << r;
        }
        for (const Rank child : place.children) {
          if (child == kNobody) continue;
          EXPECT_EQ(tree_place(child, n, second).parent, r);
        }
        // A walk upwards ends at the root.
        Rank at = r;
        for (Rank steps = 0; at != kNobody && steps <= n; ++steps)
          at = tree_place(at, n, second).parent;
        EXPECT_EQ(at, kNobody);
      }
      EXPECT_EQ(roots, 1u);
    }
  }
}

// For an even number of ranks no rank has children in both trees but the roots' single one; the load
// of the busiest is twice the buffer.
TEST(DoubleBinaryTree, InnerRanksOfOneAreLeavesOfTheOther) {
  const auto children = [](const TreePlace& place) {
    return (place.children[0] != kNobody) + (place.children[1] != kNobody);
  };
  for (Rank n = 2; n <= 300; n += 2) {
    for (Rank r = 0; r < n; ++r) {
      EXPECT_FALSE(children(tree_place(r, n, false)) == 2 && children(tree_place(r, n, true)) == 2);
    }
  }
  for (const Rank n : {4u, 5u, 7u, 8u, 32u, 33u, 64u, 2'048u}) {
    const auto made = make_collective(
        params(Collective::allreduce_double_binary_tree, n, bytes(4'000), bytes(1'000)));
    ASSERT_TRUE(made.ok());
    const Graph& graph = made.value().graph;
    std::vector<std::int64_t> sent(n);
    std::vector<std::int64_t> received(n);
    for (NodeId id = 0; id < graph.size(); ++id) {
      sent[graph.sender(id)] += graph.node(id).amount;
      received[graph.receiver(id)] += graph.node(id).amount;
    }
    EXPECT_EQ(*std::max_element(sent.begin(), sent.end()), 8'000) << n;
    EXPECT_EQ(*std::max_element(received.begin(), received.end()), 8'000) << n;
  }
}

// The tree of eight ranks, by hand: 0 - 4 - (2 - (1, 3), 6 - (5, 7)).
TEST(DoubleBinaryTree, OfEight) {
  const auto expect = [](Rank rank, Rank parent, Rank left, Rank right) {
    const TreePlace place = tree_place(rank, 8, false);
    EXPECT_EQ(place.parent, parent);
    EXPECT_EQ(place.children[0], left);
    EXPECT_EQ(place.children[1], right);
  };
  expect(0, kNobody, kNobody, 4);
  expect(4, 0, 2, 6);
  expect(2, 4, 1, 3);
  expect(6, 4, 5, 7);
  expect(7, 6, kNobody, kNobody);
}

// ---- AllToAll's bounds ----

// At no time does a rank send to, or receive from, more than `parallel` others.
TEST(AllToAll, BoundsConnectionsAtBothEnds) {
  for (const Rank n : {5u, 8u, 16u}) {
    for (const std::uint32_t parallel : {1u, 2u, 4u}) {
      CollectiveParams p = params(Collective::alltoall, n, bytes(n * 3'000), bytes(1'000));
      p.parallel = parallel;
      const auto made = make_collective(p, true);
      ASSERT_TRUE(made.ok());
      const Graph& graph = made.value().graph;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Rng rng(seed);
        std::vector<std::uint32_t> waits = graph.waits();
        std::vector<NodeId> ready;
        std::vector<NodeId> under_way;
        std::vector<std::vector<std::uint32_t>> active(n, std::vector<std::uint32_t>(n, 0));
        for (Rank r = 0; r < n; ++r) {
          for (const NodeId node : graph.roots(r)) ready.push_back(node);
        }
        const auto tell = [&](Moment moment, NodeId node) {
          for (const NodeId next : graph.after(moment, node)) {
            if (--waits[next] == 0) ready.push_back(next);
          }
        };
        while (!ready.empty() || !under_way.empty()) {
          const std::uint64_t pick = rng.below(ready.size() + under_way.size());
          if (pick < ready.size()) {
            const NodeId node = ready[pick];
            ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
            under_way.push_back(node);
            if (graph.node(node).amount > 0) ++active[graph.sender(node)][graph.receiver(node)];
            tell(Moment::started, node);
          } else {
            const std::uint64_t i = pick - ready.size();
            const NodeId node = under_way[i];
            under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
            if (graph.node(node).amount > 0) --active[graph.sender(node)][graph.receiver(node)];
            tell(Moment::received, node);
            tell(Moment::sent, node);
          }
          for (Rank r = 0; r < n; ++r) {
            std::uint32_t out = 0;
            std::uint32_t in = 0;
            for (Rank other = 0; other < n; ++other) {
              out += active[r][other] > 0 ? 1u : 0u;
              in += active[other][r] > 0 ? 1u : 0u;
            }
            ASSERT_LE(out, parallel);
            ASSERT_LE(in, parallel);
          }
        }
      }
    }
  }
}

// ---- What cannot be ----

TEST(Collectives, RefuseWhatCannotBe) {
  const auto error = [](const CollectiveParams& p) {
    const auto made = make_collective(p);
    return made.ok() ? std::string() : made.error();
  };
  EXPECT_NE(error(params(Collective::allreduce_ring, 1, bytes(100), bytes(10))), "");
  EXPECT_NE(error(params(Collective::allreduce_ring, 2, bytes(0), bytes(10))), "");
  EXPECT_NE(error(params(Collective::allreduce_ring, 2, bytes(100), bytes(0))), "");
  EXPECT_NE(error(params(Collective::allreduce_halving_doubling, 12, bytes(100), bytes(10)))
                .find("powers of two, such as 8"),
            std::string::npos);
  EXPECT_NE(error(params(Collective::allreduce_ring, 1u << 20, bytes(1'000'000'000), bytes(1))),
            "");
}

TEST(Collectives, Names) {
  for (const Collective c : kAll) EXPECT_EQ(collective_named(name_of(c)), c);
  EXPECT_EQ(collective_named("allreduce"), std::nullopt);
}

// 2048 ranks, 128 MB in 128 KiB chunks: millions of messages in a few hundred MB.
TEST(Collectives, PaperScaleFitsInMemory) {
  const auto made = make_collective(
      params(Collective::allreduce_double_binary_tree, 2'048, bytes(128'000'000), bytes(131'072)));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().graph.messages(), 4u * 2'047 * 489);
}

}  // namespace
}  // namespace strack::workload
