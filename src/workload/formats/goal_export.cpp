#include "workload/formats/goal_export.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::workload {
namespace {

struct Wait {
  NodeId other = 0;
  Moment moment = Moment::sent;
};

std::optional<TextError> check_times(const Graph& graph, Picoseconds calc_unit) {
  const auto wrong = [&](NodeId id, Picoseconds time) {
    return TextError{0,
                     fmt::format("the time of node {} is {}, no multiple of {}, the time of calc "
                                 "1. take 1 ps",
                                 id, format_time(time), format_time(calc_unit))};
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Graph::Node& node = graph.node(id);
    if (node.computes && node.amount % calc_unit.count() != 0) return wrong(id, ps(node.amount));
  }
  for (const Graph::Timed& timed : graph.timed()) {
    if (timed.time.count() % calc_unit.count() != 0) return wrong(timed.node, timed.time);
  }
  return std::nullopt;
}

}  // namespace

Result<GoalExport, TextError> export_goal(const Graph& graph, Picoseconds calc_unit) {
  STRACK_CHECK(calc_unit > ps(0));
  if (graph.size() == 0) return TextError{0, "no operations. a schedule has at least one"};
  if (auto error = check_times(graph, calc_unit)) return *error;

  std::vector<std::vector<NodeId>> own(graph.ranks());
  std::vector<std::vector<NodeId>> incoming(graph.ranks());
  std::vector<std::vector<Graph::Timed>> timed(graph.ranks());
  std::vector<std::vector<Wait>> waits(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    own[graph.node(id).rank].push_back(id);
    if (!graph.node(id).computes) incoming[graph.receiver(id)].push_back(id);
    for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
      for (const NodeId next : graph.after(moment, id)) waits[next].push_back({id, moment});
    }
  }
  for (const Graph::Timed& t : graph.timed()) timed[graph.node(t.node).rank].push_back(t);

  GoalExport out;
  auto at = std::back_inserter(out.text);
  const auto label = [&](NodeId id) {
    return fmt::format("{}{}", graph.node(id).computes ? 'c' : 'm', id);
  };
  fmt::format_to(at, "num_ranks {}\n", graph.ranks());
  for (Rank r = 0; r < graph.ranks(); ++r) {
    fmt::format_to(at, "\nrank {} {{\n", r);
    for (const NodeId id : own[r]) {
      const Graph::Node& node = graph.node(id);
      if (node.computes) {
        fmt::format_to(at, "c{}: calc {}\n", id, node.amount / calc_unit.count());
      } else {
        fmt::format_to(at, "m{}: send {}b to {} tag {}\n", id, node.amount, graph.receiver(id), id);
      }
    }
    for (const NodeId id : incoming[r]) {
      fmt::format_to(at, "r{}: recv {}b from {} tag {}\n", id, graph.node(id).amount,
                     graph.node(id).rank, id);
    }
    // Times as differences, one after the other, so that a single CPU keeps them too.
    std::stable_sort(timed[r].begin(), timed[r].end(),
                     [](const Graph::Timed& a, const Graph::Timed& b) { return a.time < b.time; });
    Picoseconds before = ps(0);
    for (std::size_t i = 0; i < timed[r].size(); ++i) {
      fmt::format_to(at, "t{}: calc {} cpu 1\n", i, (timed[r][i].time - before) / calc_unit);
      if (i > 0) fmt::format_to(at, "t{} requires t{}\n", i, i - 1);
      before = timed[r][i].time;
    }
    for (std::size_t i = 0; i < timed[r].size(); ++i)
      fmt::format_to(at, "{} requires t{}\n", label(timed[r][i].node), i);
    for (const NodeId id : own[r]) {
      for (const Wait& wait : waits[id]) {
        if (wait.moment == Moment::received) {
          fmt::format_to(at, "{} requires r{}\n", label(id), wait.other);
        } else {
          fmt::format_to(at, "{} {} {}\n", label(id),
                         wait.moment == Moment::started ? "irequires" : "requires",
                         label(wait.other));
        }
      }
    }
    out.text += "}\n";
  }
  return out;
}

}  // namespace strack::workload
