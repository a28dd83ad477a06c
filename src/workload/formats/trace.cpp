#include "workload/formats/trace.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/enum_words.h"
#include "base/prng.h"
#include "workload/formats/chakra_import.h"
#include "workload/formats/goal_binary.h"
#include "workload/formats/goal_import.h"

namespace strack::workload {
namespace {

constexpr std::array kMoments{Moment::started, Moment::sent, Moment::received};

[[nodiscard]] bool is_joint(const Graph::Node& node) { return node.computes && node.amount == 0; }

}  // namespace

std::string_view name_of(TraceFormat format) {
  constexpr auto kNames = words_of<TraceFormat>(
      {{TraceFormat::cm, "cm"}, {TraceFormat::goal, "goal"}, {TraceFormat::chakra, "chakra"}});
  return kNames[static_cast<std::size_t>(format)];
}

std::optional<TraceFormat> trace_format_of(std::string_view file_name) {
  if (file_name.ends_with(".cm")) return TraceFormat::cm;
  if (file_name.ends_with(".goal") || file_name.ends_with(".bin")) return TraceFormat::goal;
  if (file_name.ends_with(".et") || file_name.ends_with(".json")) return TraceFormat::chakra;
  return std::nullopt;
}

Result<Trace, TraceError> import_trace(std::span<const TraceFile> files,
                                       const TraceParams& params) {
  STRACK_CHECK(!files.empty());
  const TraceFile& first = files.front();
  if (params.format == TraceFormat::chakra) {
    std::vector<ChakraFile> each;
    for (const TraceFile& file : files) each.push_back({file.name, file.text});
    ChakraParams chakra;
    chakra.groups = {params.comm_groups.name, params.comm_groups.text};
    auto read = import_chakra(each, chakra);
    if (!read) {
      const ChakraError& error = read.error();
      return TraceError{error.file, 0, fmt::format("byte {}: {}", error.offset, error.message)};
    }
    return Trace{std::move(read.value().graph), {}, std::move(read.value().notes)};
  }
  if (files.size() > 1) {
    return TraceError{files[1].name, 0,
                      fmt::format("a second file. only Chakra's traces have a file for each rank, "
                                  "and this is {}",
                                  name_of(params.format))};
  }
  if (params.format == TraceFormat::goal) {
    auto read = is_goal_binary(first.text) ? import_goal_binary(first.text, params.calc_unit)
                                           : import_goal(first.text, params.calc_unit);
    if (!read) return TraceError{first.name, read.error().line, read.error().message};
    return Trace{std::move(read.value().graph), {}, std::move(read.value().notes)};
  }
  auto read = import_cm(first.text, params.start_unit);
  if (!read) return TraceError{first.name, read.error().line, read.error().message};
  return Trace{std::move(read.value().graph), std::move(read.value().failures),
               std::move(read.value().notes)};
}

GraphFigures figures_of(const Graph& graph) {
  GraphFigures out;
  std::vector<Bytes> sent(graph.ranks());
  std::vector<Bytes> received(graph.ranks());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Graph::Node& node = graph.node(id);
    if (node.computes) {
      if (!is_joint(node)) ++out.computations;
      out.computing += ps(node.amount);
    } else {
      sent[node.rank] += bytes(node.amount);
      received[graph.receiver(id)] += bytes(node.amount);
    }
  }
  const auto largest = [](const std::vector<Bytes>& of) {
    return static_cast<Rank>(std::max_element(of.begin(), of.end()) - of.begin());
  };
  if (graph.ranks() > 0) {
    out.top_sender = largest(sent);
    out.most_sent = sent[out.top_sender];
    out.top_receiver = largest(received);
    out.most_received = received[out.top_receiver];
  }
  for (const Graph::Timed& timed : graph.timed())
    out.last_start = std::max(out.last_start, timed.time);

  // Counted here and not taken from the graph, where a start time may be one of the waits.
  std::vector<std::uint32_t> left(graph.size());
  std::vector<std::uint32_t> before(graph.size());  // the longest chain that leads here
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Moment moment : kMoments) {
      for (const NodeId next : graph.after(moment, id)) ++left[next];
    }
  }
  std::vector<NodeId> ready;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (left[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    const std::uint32_t here = before[id] + (is_joint(graph.node(id)) ? 0 : 1);
    out.longest_chain = std::max(out.longest_chain, here);
    for (const Moment moment : kMoments) {
      for (const NodeId next : graph.after(moment, id)) {
        before[next] = std::max(before[next], here);
        if (--left[next] == 0) ready.push_back(next);
      }
    }
  }
  return out;
}

std::uint64_t fingerprint(const Graph& graph) {
  std::uint64_t value = 0;
  const auto add = [&](std::uint64_t part) { value = mix64(value ^ part); };
  add(graph.ranks());
  add(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Graph::Node& node = graph.node(id);
    add(node.rank);
    add(node.computes ? ~std::uint64_t{0} : node.channel);
    add(static_cast<std::uint64_t>(node.amount));
    for (const Moment moment : kMoments) {
      const auto successors = graph.after(moment, id);
      add(successors.size());
      for (const NodeId next : successors) add(next);
    }
  }
  for (const Channel& channel : graph.channels()) {
    add(channel.from);
    add(channel.to);
  }
  for (const Graph::Timed& timed : graph.timed()) {
    add(timed.node);
    add(static_cast<std::uint64_t>(timed.time.count()));
  }
  return value;
}

}  // namespace strack::workload
