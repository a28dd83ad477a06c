// Graphs and traces as tests of this folder want to see them.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/graph.h"

namespace strack::workload {

/// One line for each node: what it is, and in brackets what it waits for and its time.
inline std::string describe(const Graph& graph) {
  std::vector<std::vector<std::string>> waits(graph.size());
  const std::pair<Moment, const char*> moments[] = {
      {Moment::started, "started"}, {Moment::sent, "sent"}, {Moment::received, "received"}};
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const auto& [moment, name] : moments) {
      for (const NodeId next : graph.after(moment, id))
        waits[next].push_back(fmt::format("{} {}", id, name));
    }
  }
  for (const Graph::Timed& timed : graph.timed())
    waits[timed.node].push_back(fmt::format("{} ps", timed.time.count()));
  std::string out;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Graph::Node& node = graph.node(id);
    out += node.computes
               ? fmt::format("{}: {} computes {} ps", id, node.rank, node.amount)
               : fmt::format("{}: {}->{} {} B", id, node.rank, graph.receiver(id), node.amount);
    std::sort(waits[id].begin(), waits[id].end());
    if (!waits[id].empty()) out += fmt::format(" [{}]", fmt::join(waits[id], ", "));
    out += '\n';
  }
  return out;
}

inline std::string trace(const std::string& name) {
  std::ifstream file(std::string(STRACK_TRACES) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace strack::workload
