// What the readers of other tools' traces share: limits on what a file may ask for, numbers, and a
// graph builder that can say which node is part of a ring of waits, so that the reader can name its
// place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

/// Counts in a file are believed up to here; whatever else is allocated grows with the file itself.
inline constexpr Rank kMostRanks = Rank{1} << 20;
inline constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 40;
/// [D91] Of all messages of 4 GiB and more together: a line of a few bytes may ask for one that is 512.
inline constexpr std::int64_t kMostLargeBytes = std::int64_t{1} << 53;
inline constexpr std::string_view kTooMuchLarge =
    "with those before it, messages of 4 GiB and more have over 8 PiB together. at most that is "
    "read";
[[nodiscard]] inline std::int64_t large_bytes(std::int64_t size) {
  return size >> 32 > 0 ? size : 0;
}
inline constexpr std::int64_t kEndless = (std::int64_t{1} << 32) - 1;  ///< stands for no end at all
/// Of a start and of a computation.
inline constexpr Picoseconds kLongestWait = seconds(3'600);

/// A whole number, digits only; nothing for more than 18 of them.
[[nodiscard]] inline std::optional<std::int64_t> parse_whole(std::string_view text) {
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number || number->scale != 0 || text.front() == '-' || text.find('.') != text.npos)
    return std::nullopt;
  return number->digits;
}
/// The same, in a range.
[[nodiscard]] inline std::optional<std::int64_t> parse_within(std::string_view text,
                                                              std::int64_t least,
                                                              std::int64_t most) {
  const std::optional<std::int64_t> number = parse_whole(text);
  if (!number || *number < least || *number > most) return std::nullopt;
  return number;
}

/// The line of the first item that is too much of them; 0: none is.
template <class Items>
[[nodiscard]] int line_of_too_much(const Items& items) {
  std::int64_t large = 0;
  for (const auto& item : items) {
    large += large_bytes(item.size);
    if (large > kMostLargeBytes) return item.line;
  }
  return 0;
}

class ImportBuilder {
 public:
  explicit ImportBuilder(Rank ranks) : builder_(ranks) {}

  NodeId message(Rank from, Rank to, Bytes size, bool own_channel) {
    return builder_.message(from, to, size, own_channel);
  }
  NodeId compute(Rank rank, Picoseconds time) { return builder_.compute(rank, time); }
  void wait(NodeId node, NodeId other, Moment moment) {
    builder_.wait(node, other, moment);
    edges_.push_back({node, other});
  }
  void not_before(NodeId node, Picoseconds time) { builder_.not_before(node, time); }
  [[nodiscard]] std::uint32_t size() const { return builder_.size(); }

  /// The graph, or the lowest node of a ring of waits: readers make no other mistake.
  [[nodiscard]] Result<Graph, NodeId> build();

 private:
  struct Edge {
    NodeId node;
    NodeId other;
  };
  [[nodiscard]] NodeId find_ring() const;

  GraphBuilder builder_;
  std::vector<Edge> edges_;
};

}  // namespace strack::workload
