// Collective operations as graphs of messages: chunked, pipelined, for the ranks of one job.
//
// An algorithm only says which piece of the buffer goes from whom to whom and whether it is added to
// what is there or replaces it, in one order that would work. What each message has to wait for
// follows: whatever wrote the piece it carries. The same account is what tests verify them by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/graph.h"

namespace strack::workload {

enum class Collective : std::uint8_t {
  allreduce_ring,
  allreduce_halving_doubling,
  allreduce_double_binary_tree,
  alltoall,
  allgather,
  reduce_scatter,
  broadcast,
};
[[nodiscard]] std::string_view name_of(Collective collective);
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);

struct CollectiveParams {
  Collective collective = Collective::allreduce_ring;
  Rank ranks = 0;
  Bytes size{0};                       ///< of every rank's whole buffer
  Bytes chunk = bytes(131'072);        ///< largest message
  std::uint32_t chunks_in_flight = 0;  ///< [D66] of a connection; 0: all that are ready
  std::uint32_t parallel = 0;  ///< AllToAll: connections active at each sender and receiver; 0: all
};

/// What a message does to the receiver's buffer. Units are the smallest pieces that algorithms move.
struct Transfer {
  std::uint32_t first_unit = 0;
  std::uint32_t units = 0;
  bool adds = false;  ///< to what the receiver has, instead of replacing it
};

struct CollectiveGraph {
  Graph graph;
  std::vector<Bytes> unit_sizes;
  std::vector<Transfer> transfers;  ///< by node; kept where asked for
};

/// More than are simulated; make_collective refuses them.
[[nodiscard]] bool too_many_messages(const CollectiveParams& params);

/// The graph, or why this many ranks or bytes do not work.
[[nodiscard]] Result<CollectiveGraph, std::string> make_collective(const CollectiveParams& params,
                                                                   bool keep_transfers = false);

/// A rank's place in one of the two trees of the double binary tree.
struct TreePlace {
  Rank parent = kNobody;
  Rank children[2] = {kNobody, kNobody};
};
[[nodiscard]] TreePlace tree_place(Rank rank, Rank ranks, bool second);

}  // namespace strack::workload
