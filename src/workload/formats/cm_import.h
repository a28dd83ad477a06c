// htsim's connection matrices (.cm): who sends how much to whom, at a time or when a trigger fires.
//
//   Nodes 4                                   Header; wrong counts are said.
//   Connections 2
//   Triggers 1
//   Failures 0
//   0->1 id 1 start 0 size 100000 recv_done_trigger 1
//   1->2 id 2 trigger 1 size 100000
//   trigger id 1 oneshot
//
// A connection's words come in any order: id n, msg n, size bytes, start t or trigger n,
// send_done_trigger n, recv_done_trigger n, prio n, addon. `#` begins a comment. Every line is a
// connection of its own; lines of one id with a msg are messages on one. The number behind msg may be left
// out. A size of 0 has no end in htsim; here it is the largest message there is.
//
// htsim's triggers are heard everywhere at once; here a rank knows only what happens at its own host.
// A flow that waits for something at another rank waits for a message without bytes from there, which
// is counted in `words`.
//  - oneshot: starts all flows that name it. One flow fires it, for a second fire stops htsim.
//  - barrier count k: the same, once k flows have fired it.
//  - multishot: every fire starts the next flow that names it, in the order of the file. Which fire
//    comes first is not known before a run, so the k-th line that fires it starts the k-th that waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/amount.h"
#include "workload/graph.h"

namespace strack::workload {

/// What `start` counts in. The programs that read these files differ, so the user has to say.
enum class CmTime : std::uint8_t { picoseconds, microseconds };

/// `failure switch_type TOR switch_id 3 link_id 1`, for the caller to make a broken link of.
struct CmFailure {
  enum class Tier : std::uint8_t { tor, agg, core };
  Tier tier = Tier::tor;
  std::uint32_t switch_id = 0;
  std::uint32_t link_id = 0;
  int line = 0;
};

struct CmImport {
  Graph
      graph;  ///< nodes in the order of connection lines, [D91] several for a large one; helpers come after
  std::uint32_t flows = 0;  ///< connection lines
  std::uint32_t words = 0;  ///< messages without bytes that carry a trigger to another rank
  std::vector<CmFailure> failures;
  std::vector<std::string> notes;  ///< what is not as htsim would have it, for people
};

[[nodiscard]] Result<CmImport, TextError> import_cm(std::string_view text, CmTime start_unit);

}  // namespace strack::workload
