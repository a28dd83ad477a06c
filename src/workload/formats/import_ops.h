// Traces that list what each rank does (GOAL, Chakra), turned into a graph of messages: sends and
// receives are matched, operations wait for one another.
//
// A receive is no node of the graph, it is a moment of the message that it matches. A message is
// placed when it arrives, whether or not the receive was reached; what requires a receive waits for
// both, the message and whatever the receive itself required.
//
// Matching: receives that name source and tag take the sends of that source and tag in the order they
// were added. Where a receive is from anybody or of any tag, the trace is played through beforehand, on
// a network without queues: a message goes to the first receive posted for it, or waits for one. Where
// that does not come to its end, receives that name both are matched first, then those with one wildcard,
// then those with two; each takes the first send that is left.
//
// Messages are numbered in the order of their tags where all tags differ, else in that of their sends:
// so a graph that was written as such a trace, each message's number as its tag, is read as it was, and
// a simulation of it gives the same bits. Connections are numbered with their first messages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/collectives.h"
#include "workload/formats/import_builder.h"
#include "workload/graph.h"

namespace strack::workload {

/// An operation, by its number.
using OpId = std::uint32_t;
inline constexpr std::int64_t kAnyTag = -1;

enum class OpKind : std::uint8_t { send, recv, compute, collective };

struct ImportOp {
  OpKind kind = OpKind::compute;
  Rank rank = 0;
  Rank peer = kNobody;      ///< kNobody: a receive from anybody
  std::int64_t tag = 0;     ///< kAnyTag: a receive of any
  std::int64_t amount = 0;  ///< bytes, picoseconds, or which collective
  std::uint64_t place = 0;  ///< in the file, for errors
};

/// What is wrong, and the operation it is wrong with.
struct OpError {
  OpId op = 0;
  std::string message;
  bool is_ring = false;  ///< it waits for itself
};

class ImportOps {
 public:
  explicit ImportOps(Rank ranks) : ranks_(ranks) {}

  OpId add(const ImportOp& op) {
    ops_.push_back(op);
    return static_cast<OpId>(ops_.size()) - 1;
  }
  /// `op` starts after `other` has ended, or after it has started. Both are of one rank.
  void require(OpId op, OpId other, bool has_started = false) {
    requirements_.push_back({op, other, has_started});
  }
  /// One collective of some ranks; every one of them has an operation of kind `collective` that joins
  /// it. It has to be one that make_collective accepts.
  void add_collective(const CollectiveParams& params,
                      std::shared_ptr<const std::vector<Rank>> members) {
    collectives_.push_back({params, std::move(members)});
  }
  /// An operation of kind `collective` is a part of that with this number, from 0 as they are added.
  void join(OpId op, std::uint32_t collective) { ops_[op].amount = collective; }
  /// It moves nothing after all.
  void make_empty(OpId op) {
    ops_[op].kind = OpKind::compute;
    ops_[op].amount = 0;
  }

  [[nodiscard]] const ImportOp& op(OpId id) const { return ops_[id]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }
  /// Receives whose size is not that of the message they get; the message's counts.
  [[nodiscard]] std::uint32_t other_sizes() const { return other_sizes_; }

  [[nodiscard]] Result<Graph, OpError> build();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Requirement {
    OpId op;
    OpId other;
    bool has_started;
  };
  struct Meeting {
    CollectiveParams params;
    std::shared_ptr<const std::vector<Rank>> members;  ///< by their rank within it
  };
  /// Which nodes an operation became.
  struct Nodes {
    NodeId gate = kNone;  ///< waits for what the operation requires
    NodeId end = kNone;   ///< its `end_moment` is the operation's end
    Moment end_moment = Moment::sent;
  };

  [[nodiscard]] std::optional<OpError> match();
  [[nodiscard]] bool has_wildcards() const;
  [[nodiscard]] bool match_by_playing();
  [[nodiscard]] std::optional<OpError> unmatched() const;
  [[nodiscard]] std::vector<OpId> numbering() const;
  void add_collectives(ImportBuilder& builder);
  void note_nodes(const ImportBuilder& builder, OpId op) { op_of_node_.resize(builder.size(), op); }

  Rank ranks_;
  std::vector<ImportOp> ops_;
  std::vector<Requirement> requirements_;
  std::vector<Meeting> collectives_;
  std::vector<OpId> partner_;  ///< a receive's send, a send's receive
  std::vector<Nodes> nodes_;
  std::vector<OpId> op_of_node_;
  std::uint32_t other_sizes_ = 0;
};

}  // namespace strack::workload
