// A trace in any of the formats of other tools, for those who do not care which: the command line and
// scenarios.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/formats/cm_import.h"
#include "workload/graph.h"

namespace strack::workload {

enum class TraceFormat : std::uint8_t { cm, goal, chakra };
/// "cm", "goal", "chakra"
[[nodiscard]] std::string_view name_of(TraceFormat format);
/// As a file's name ends: .cm; .goal, .bin; .et, .json; nothing for another.
[[nodiscard]] std::optional<TraceFormat> trace_format_of(std::string_view file_name);

struct TraceFile {
  std::string name;  ///< for errors
  std::string text;  ///< all of it
};

struct TraceParams {
  TraceFormat format = TraceFormat::cm;
  CmTime start_unit = CmTime::picoseconds;  ///< of a connection matrix
  Picoseconds calc_unit = ns(1);            ///< GOAL: the time of `calc 1`
  TraceFile comm_groups{};                  ///< Chakra: who is in which group; may be empty
};

struct Trace {
  Graph graph;
  std::vector<CmFailure> failures;  ///< of a connection matrix
  std::vector<std::string> notes;   ///< of the reader, for people
};

/// Where it is wrong: a line from 1, or 0 with the place, if there is one, in the message.
struct TraceError {
  std::string file;
  int line = 0;
  std::string message;
};

/// Several files, in the order of ranks, are for Chakra only.
[[nodiscard]] Result<Trace, TraceError> import_trace(std::span<const TraceFile> files,
                                                     const TraceParams& params);

/// What is in a graph, in numbers.
struct GraphFigures {
  std::uint32_t computations = 0;  ///< those without length are only joints, and not counted
  Picoseconds computing{0};        ///< all of them, one after the other
  Rank top_sender = 0;             ///< the lowest of those that send most
  Bytes most_sent{0};
  Rank top_receiver = 0;
  Bytes most_received{0};
  /// Nodes of the longest chain in which each waits for the one before; joints are not counted.
  std::uint32_t longest_chain = 0;
  Picoseconds last_start{0};  ///< the latest of the nodes' own start times
};
[[nodiscard]] GraphFigures figures_of(const Graph& graph);

/// Of all that decides how a graph runs: equal graphs have equal ones.
[[nodiscard]] std::uint64_t fingerprint(const Graph& graph);

}  // namespace strack::workload
