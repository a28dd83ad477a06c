#include "workload/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/enum_words.h"

namespace strack::workload {
namespace {

constexpr auto kNames =
    words_of<Collective>({{Collective::allreduce_ring, "allreduce-ring"},
                          {Collective::allreduce_halving_doubling, "allreduce-hd"},
                          {Collective::allreduce_double_binary_tree, "allreduce-dbt"},
                          {Collective::alltoall, "alltoall"},
                          {Collective::allgather, "allgather"},
                          {Collective::reduce_scatter, "reduce-scatter"},
                          {Collective::broadcast, "broadcast"}});

constexpr std::uint64_t kMostMessages = 200'000'000;

/// [D66] No more than so many messages of a connection are under way.
class Pipeline {
 public:
  Pipeline(GraphBuilder& builder, std::uint32_t depth) : builder_(builder), depth_(depth) {}

  /// The newest message of its connection waits until the one `depth` before it has been acknowledged.
  void add(NodeId id) {
    if (depth_ == 0) return;
    std::deque<NodeId>& sent = by_channel_[builder_.node(id).channel];
    if (sent.size() == depth_) {
      builder_.wait(id, sent.front(), Moment::sent);
      sent.pop_front();
    }
    sent.push_back(id);
  }

 private:
  GraphBuilder& builder_;
  std::uint32_t depth_;
  std::unordered_map<std::uint32_t, std::deque<NodeId>> by_channel_;
};

/// Every rank's buffer as a row of units, and which messages have written each.
class DataFlow {
 public:
  /// `blocks` equal parts (to a byte), each cut into units of at most a chunk.
  DataFlow(const CollectiveParams& p, std::uint32_t blocks)
      : builder_(p.ranks), chunk_(p.chunk), pipeline_(builder_, p.chunks_in_flight) {
    const Rank ranks = p.ranks;
    const Bytes size = p.size;
    const Bytes chunk = p.chunk;
    for (std::uint32_t b = 0; b < blocks; ++b) {
      first_unit_.push_back(static_cast<std::uint32_t>(unit_sizes_.size()));
      const Bytes begin = bytes(mul_div(size.value, b, blocks));
      const Bytes end = bytes(mul_div(size.value, b + 1, blocks));
      const std::int64_t pieces =
          std::max<std::int64_t>(1, (end - begin + chunk - bytes(1)) / chunk);
      for (std::int64_t i = 0; i < pieces; ++i) {
        unit_sizes_.push_back(bytes(mul_div((end - begin).value, i + 1, pieces) -
                                    mul_div((end - begin).value, i, pieces)));
      }
    }
    first_unit_.push_back(static_cast<std::uint32_t>(unit_sizes_.size()));
    newest_.assign(std::size_t{ranks} * unit_sizes_.size(), kNone);
  }

  [[nodiscard]] std::uint32_t units() const { return first_unit_.back(); }
  [[nodiscard]] std::uint32_t unit_of_block(std::uint32_t block) const {
    return first_unit_[block];
  }
  GraphBuilder& builder() { return builder_; }

  /// Units [first, last) go from one rank to another, in messages of whole units up to a chunk.
  void move(Rank from, Rank to, std::uint32_t first, std::uint32_t last, bool adds) {
    while (first < last) {
      std::uint32_t stop = first + 1;
      Bytes size = unit_sizes_[first];
      while (stop < last && size + unit_sizes_[stop] <= chunk_) size += unit_sizes_[stop++];
      message(from, to, first, stop, size, adds);
      first = stop;
    }
  }
  void move_block(Rank from, Rank to, std::uint32_t block, bool adds) {
    move(from, to, first_unit_[block], first_unit_[block + 1], adds);
  }

  NodeId message(Rank from, Rank to, std::uint32_t first, std::uint32_t last, Bytes size,
                 bool adds) {
    const NodeId id = builder_.message(from, to, size);
    transfers_.resize(id + 1);
    transfers_[id] = {first, last - first, adds};
    // It waits for all that wrote what it carries; a writer of several units is named once.
    waits_.clear();
    for (std::uint32_t u = first; u < last; ++u) {
      for (std::uint32_t w = newest(from, u); w != kNone; w = writers_[w].before)
        waits_.push_back(writers_[w].message);
    }
    std::sort(waits_.begin(), waits_.end());
    waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
    for (const NodeId other : waits_) builder_.wait(id, other, Moment::received);
    pipeline_.add(id);
    for (std::uint32_t u = first; u < last; ++u) {
      std::uint32_t& newest_writer = newest(to, u);
      writers_.push_back({id, adds ? newest_writer : kNone});
      newest_writer = static_cast<std::uint32_t>(writers_.size()) - 1;
    }
    return id;
  }

  CollectiveGraph finish(bool keep_transfers) {
    newest_ = {};
    writers_ = {};
    auto graph = builder_.build();
    STRACK_CHECK(graph.ok());
    CollectiveGraph out{std::move(graph.value()), std::move(unit_sizes_), {}};
    if (keep_transfers) {
      transfers_.resize(out.graph.size());
      out.transfers = std::move(transfers_);
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Writer {
    NodeId message;
    std::uint32_t before;  ///< another one, whose contribution this one was added to
  };
  std::uint32_t& newest(Rank rank, std::uint32_t unit) {
    return newest_[std::size_t{rank} * units() + unit];
  }

  GraphBuilder builder_;
  Bytes chunk_;
  Pipeline pipeline_;
  std::vector<Bytes> unit_sizes_;
  std::vector<std::uint32_t> first_unit_;
  std::vector<std::uint32_t> newest_;
  std::vector<Writer> writers_;
  std::vector<NodeId> waits_;
  std::vector<Transfer> transfers_;
};

/// Block b of rank r, walked around the ring.
Rank around(Rank rank, std::int64_t steps, Rank ranks) {
  const std::int64_t n = ranks;
  return static_cast<Rank>(((rank + steps) % n + n) % n);
}

/// N - 1 steps; afterwards rank r has all contributions to block r.
void ring_reduce(DataFlow& flow, Rank n) {
  for (Rank step = 0; step + 1 < n; ++step) {
    for (Rank r = 0; r < n; ++r) {
      flow.move_block(r, around(r, 1, n), around(r, -1 - std::int64_t{step}, n), true);
    }
  }
}
/// N - 1 steps; before, rank r has all of block r.
void ring_gather(DataFlow& flow, Rank n) {
  for (Rank step = 0; step + 1 < n; ++step) {
    for (Rank r = 0; r < n; ++r) {
      flow.move_block(r, around(r, 1, n), around(r, -std::int64_t{step}, n), false);
    }
  }
}

/// Halves of what a rank still cares for go to partners ever farther away, and come back whole.
void halving_doubling(DataFlow& flow, Rank n) {
  const auto units = [&](Rank block) { return flow.unit_of_block(block); };
  std::vector<Rank> first(n, 0);  // blocks [first, first + length) are a rank's concern
  Rank length = n;
  for (Rank distance = 1; distance < n; distance *= 2) {
    length /= 2;
    for (Rank r = 0; r < n; ++r) {
      const bool upper = (r & distance) != 0;  // it keeps the upper half, and sends the lower
      const Rank theirs = first[r] + (upper ? 0 : length);
      flow.move(r, r ^ distance, units(theirs), units(theirs + length), true);
    }
    for (Rank r = 0; r < n; ++r) first[r] += (r & distance) != 0 ? length : 0;
  }
  for (Rank distance = n / 2; distance >= 1; distance /= 2) {
    for (Rank r = 0; r < n; ++r) {
      flow.move(r, r ^ distance, units(first[r]), units(first[r] + length), false);
    }
    for (Rank r = 0; r < n; ++r) first[r] -= (r & distance) != 0 ? length : 0;
    length *= 2;
  }
}

/// Each tree reduces its half of the buffer to its root and broadcasts it from there, chunk by chunk.
void double_binary_tree(DataFlow& flow, Rank n) {
  for (const bool second : {false, true}) {
    std::vector<TreePlace> places(n);
    std::vector<Rank> down;  // parents before their children
    for (Rank r = 0; r < n; ++r) places[r] = tree_place(r, n, second);
    for (Rank r = 0; r < n; ++r) {
      if (places[r].parent == kNobody) down.push_back(r);
    }
    for (std::size_t i = 0; i < down.size(); ++i) {
      for (const Rank child : places[down[i]].children) {
        if (child != kNobody) down.push_back(child);
      }
    }
    const std::uint32_t first = flow.unit_of_block(second ? 1 : 0);
    const std::uint32_t last = flow.unit_of_block(second ? 2 : 1);
    for (std::uint32_t unit = first; unit < last; ++unit) {
      for (auto it = down.rbegin(); it != down.rend(); ++it) {
        if (places[*it].parent != kNobody) flow.move(*it, places[*it].parent, unit, unit + 1, true);
      }
      for (const Rank r : down) {
        for (const Rank child : places[r].children) {
          if (child != kNobody) flow.move(r, child, unit, unit + 1, false);
        }
      }
    }
  }
}

/// A chain of ranks from rank 0 on, chunk by chunk.
void chain_broadcast(DataFlow& flow, Rank n) {
  for (Rank r = 0; r + 1 < n; ++r) flow.move_block(r, r + 1, 0, false);
}

/// Rank r sends its block for rank r + k to it, k = 1, 2, ...; the k-th waits until the (k - parallel)-th is
/// done, at the sender by itself, at the receiver by a word from there.
Result<CollectiveGraph, std::string> alltoall(const CollectiveParams& p, bool keep_transfers) {
  const Rank n = p.ranks;
  const Rank parallel = p.parallel == 0 ? n : p.parallel;
  GraphBuilder builder(n);
  Pipeline pipeline(builder, p.chunks_in_flight);
  // Unit s x n + d is what rank s has for rank d.
  std::vector<Bytes> sizes;
  for (Rank s = 0; s < n; ++s) {
    for (Rank d = 0; d < n; ++d) {
      sizes.push_back(bytes(mul_div(p.size.value, d + 1, n) - mul_div(p.size.value, d, n)));
    }
  }
  std::vector<Transfer> transfers;
  const auto note = [&](NodeId id, Transfer transfer) {
    transfers.resize(id + 1);
    transfers[id] = transfer;
  };
  struct Chunks {
    NodeId first = 0;
    NodeId last = 0;
  };
  std::vector<Chunks> of(std::size_t{n} * n);
  for (Rank k = 1; k < n; ++k) {
    for (Rank r = 0; r < n; ++r) {
      const Rank to = around(r, k, n);
      const std::uint32_t unit = r * n + to;
      const std::int64_t size = sizes[unit].value;
      const std::int64_t pieces =
          std::max<std::int64_t>(1, (size + p.chunk.value - 1) / p.chunk.value);
      Chunks& chunks = of[unit];
      for (std::int64_t i = 0; i < pieces; ++i) {
        const NodeId id =
            builder.message(r, to, bytes(mul_div(size, i + 1, pieces) - mul_div(size, i, pieces)));
        pipeline.add(id);
        if (i == 0) chunks.first = id;
        chunks.last = id;
        // The whole unit is there with its last chunk; the others carry parts of it.
        note(id, {unit, i + 1 == pieces ? 1u : 0u, false});
      }
      if (k <= parallel) continue;
      // The chunks of one connection finish in order or nearly so; all must have.
      const Chunks& sent = of[r * n + around(r, std::int64_t{k} - parallel, n)];
      for (NodeId id = sent.first; id <= sent.last; ++id)
        builder.wait(chunks.first, id, Moment::sent);
      const Rank before = around(to, -(std::int64_t{k} - parallel), n);
      const Chunks& received = of[before * n + to];
      const NodeId word = builder.message(to, r, bytes(0));
      note(word, {0, 0, false});
      for (NodeId id = received.first; id <= received.last; ++id)
        builder.wait(word, id, Moment::received);
      builder.wait(chunks.first, word, Moment::received);
      for (NodeId id = chunks.first + 1; id <= chunks.last; ++id)
        builder.wait(id, chunks.first, Moment::started);
    }
  }
  auto graph = builder.build();
  STRACK_CHECK(graph.ok());
  transfers.resize(graph.value().size());
  return CollectiveGraph{std::move(graph.value()), std::move(sizes),
                         keep_transfers ? std::move(transfers) : std::vector<Transfer>{}};
}

}  // namespace

std::string_view name_of(Collective collective) {
  return kNames[static_cast<std::size_t>(collective)];
}
std::optional<Collective> collective_named(std::string_view name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<Collective>(it - kNames.begin());
}

TreePlace tree_place(Rank rank, Rank ranks, bool second) {
  // The second tree is the first with ranks renamed: mirrored where their number is even, shifted by
  // one where it is odd, so that inner ranks of one are mostly leaves of the other.
  const auto rename = [&](Rank r, bool back) {
    if (!second || r == kNobody) return r;
    if (ranks % 2 == 0) return ranks - 1 - r;
    return back ? (r + 1) % ranks : (r + ranks - 1) % ranks;
  };
  const Rank r = rename(rank, false);
  TreePlace place;
  if (r == 0) {
    if (ranks > 1) place.children[1] = std::bit_floor(ranks - 1);
  } else {
    const Rank bit = r & (~r + 1);
    place.parent = (r ^ bit) | (bit << 1);
    if (place.parent >= ranks) place.parent = r ^ bit;
    Rank step = bit / 2;
    if (step > 0) {
      place.children[0] = r - step;
      while (step > 0 && r + step >= ranks) step /= 2;
      if (step > 0) place.children[1] = r + step;
    }
  }
  place.parent = rename(place.parent, true);
  for (Rank& child : place.children) child = rename(child, true);
  return place;
}

bool too_many_messages(const CollectiveParams& p) {
  // Each rank sends its buffer about twice, and no block in less than a message.
  const auto chunks = static_cast<std::uint64_t>(p.size / p.chunk) + 2 * std::uint64_t{p.ranks};
  return chunks * p.ranks > kMostMessages;
}

Result<CollectiveGraph, std::string> make_collective(const CollectiveParams& p,
                                                     bool keep_transfers) {
  const Rank n = p.ranks;
  if (n < 2) return fmt::format("{} ranks: a collective has at least 2", n);
  if (p.size < bytes(1)) return std::string("a collective has at least 1 byte");
  if (p.chunk < bytes(1) || p.chunk.value >= std::int64_t{1} << 32)
    return std::string("a chunk has from 1 byte to 4 GiB");
  if (p.collective == Collective::allreduce_halving_doubling && !std::has_single_bit(n)) {
    return fmt::format("{} ranks: halving-doubling works for powers of two, such as {}", n,
                       std::bit_floor(n));
  }
  if (too_many_messages(p)) {
    return fmt::format("more than {} messages. take larger chunks or fewer ranks",
                       2 * kMostMessages);
  }
  switch (p.collective) {
    case Collective::alltoall:
      return alltoall(p, keep_transfers);
    case Collective::allreduce_ring: {
      DataFlow flow(p, n);
      ring_reduce(flow, n);
      ring_gather(flow, n);
      return flow.finish(keep_transfers);
    }
    case Collective::reduce_scatter: {
      DataFlow flow(p, n);
      ring_reduce(flow, n);
      return flow.finish(keep_transfers);
    }
    case Collective::allgather: {
      DataFlow flow(p, n);
      ring_gather(flow, n);
      return flow.finish(keep_transfers);
    }
    case Collective::allreduce_halving_doubling: {
      DataFlow flow(p, n);
      halving_doubling(flow, n);
      return flow.finish(keep_transfers);
    }
    case Collective::allreduce_double_binary_tree: {
      DataFlow flow(p, 2);
      double_binary_tree(flow, n);
      return flow.finish(keep_transfers);
    }
    case Collective::broadcast: {
      DataFlow flow(p, 1);
      chain_broadcast(flow, n);
      return flow.finish(keep_transfers);
    }
  }
  return std::string("no such collective");
}

}  // namespace strack::workload
