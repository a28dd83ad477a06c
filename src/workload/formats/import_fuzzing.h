// What the fuzzers of readers of text check of every answer.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

/// An error is one line of words about a line that exists.
inline void check_error(const TextError& error, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  STRACK_CHECK(error.line >= 0 && error.line <= lines);
  STRACK_CHECK(!error.message.empty());
  STRACK_CHECK(error.message.find('\n') == error.message.npos);
}

/// Nothing is sent to oneself, nor beyond what a message can be, and every node starts some time.
inline void check_graph(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Graph::Node& node = graph.node(id);
    STRACK_CHECK(node.rank < graph.ranks() && node.amount >= 0);
    if (node.computes) continue;
    STRACK_CHECK(graph.receiver(id) < graph.ranks() && graph.receiver(id) != node.rank);
    STRACK_CHECK(node.amount < std::int64_t{1} << 32);
  }
}

}  // namespace strack::workload
