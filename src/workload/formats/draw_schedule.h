// A small graph of messages as a picture (SVG): ranks are horizontal lines, messages arrows from
// where they leave to where they have arrived, computations bars. Time follows a simple model, not a
// simulation: a rank sends one message at a time, in the order in which they become ready; a message
// takes its bytes at the rate and then the latency, its acknowledgement the latency once more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

struct DrawParams {
  std::string_view title = "schedule";
  Picoseconds latency = us(1);
  BitsPerSecond rate = gbps(400);
};

/// More than this nobody can read.
inline constexpr Rank kMostDrawnRanks = 64;
inline constexpr std::uint32_t kMostDrawnNodes = 2'000;

/// When a node begins and when it is done, where that is.
struct DrawnNode {
  Picoseconds start{0};     ///< first byte leaves, or the computation begins
  Picoseconds last_out{0};  ///< last byte has left, or the computation ends
  Picoseconds done{0};      ///< wholly received, or the computation ends
};
/// The model's times, or why there are none: too long, or a rate or latency that makes no sense.
[[nodiscard]] Result<std::vector<DrawnNode>, TextError> model_schedule(const Graph& graph,
                                                                       const DrawParams& params);

struct Drawing {
  std::string svg;
};
[[nodiscard]] Result<Drawing, TextError> draw_schedule(const Graph& graph,
                                                       const DrawParams& params);

}  // namespace strack::workload
