// Where a workload takes place: which host sends and receives what, and at which slot of its tables.
//
// Worked out before there is a host. A packet names its connection by the slot at the host it goes to,
// so both ends have to know the other's; and a run on several machines needs all slots, but only some
// of the hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host/graph_runner.h"
#include "sim/host/host.h"
#include "workload/workload.h"

namespace strack::sim {

/// Where the sender of a connection is.
struct SenderPlace {
  std::uint32_t job;
  std::uint32_t src;
  std::uint32_t dst;
  std::uint32_t slot;  ///< at the host src
};

struct Placement {
  std::vector<HostPlacement> hosts;
  std::vector<JobRun> jobs;
  /// Connections are numbered as they are placed: flows, then the channels of one job after the
  /// other. The first of them may be sampled or inspected: those are noted here.
  std::vector<SenderPlace> senders;
  std::uint64_t bytes = 0;  ///< all there is to send
};

/// Graphs and jobs must outlive the placement. `queue_slots` is the most messages that a channel's
/// transport may hold at once; so many `senders` are noted.
[[nodiscard]] Placement place(const workload::Workload& workload, std::uint32_t hosts,
                              std::uint32_t queue_slots, std::uint32_t senders);

}  // namespace strack::sim
