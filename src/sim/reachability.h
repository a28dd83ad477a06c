// Whether those who talk can reach each other at all: asked before a run, and in one that links have been cut in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/config.h"
#include "sim/net/topology.h"
#include "workload/workload.h"

namespace strack::sim {

/// Who reaches whom when all failures that never end, and begin until some moment, have begun. A link that loses
/// everything for good counts as one, though switches go on using it.
class Reachability {
 public:
  Reachability(const SimConfig& config, const Topology& topology, Instant begun_by);

  /// In both directions: links fail in both.
  [[nodiscard]] bool reaches(std::uint32_t src, std::uint32_t dst) const;

 private:
  const Topology& topology_;
  std::vector<bool> host_is_down_;  ///< its own link is
  std::vector<RouteTable> routes_;
};

/// From some moment on nothing gets through, ever. One wrong bit of ten leaves no packet whole.
[[nodiscard]] bool swallows_all(const Impairment& impairment);

struct UnreachablePair {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
};
/// The first pair of hosts of one job that has a channel and no way; none: it lacks none.
[[nodiscard]] std::optional<UnreachablePair> find_unreachable_pair(const Reachability& network,
                                                                   const workload::Job& job);
/// The first pair of hosts that the workload has talk and between which there is no way, in either
/// direction, with what is down from the start and for good.
[[nodiscard]] std::optional<UnreachablePair> find_unreachable_pair(
    const SimConfig& config, const workload::Workload& workload);

}  // namespace strack::sim
