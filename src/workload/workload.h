// Who sends what to whom, and when. A workload is made whole before a run and is the same for every
// transport.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "workload/graph.h"

namespace strack::workload {

using HostId = std::uint32_t;

/// One message on a connection of its own.
struct Flow {
  HostId src = 0;
  HostId dst = 0;
  Bytes size{0};    ///< at most 2^32 - 1 bytes
  Instant start{};  ///< when the message is ready to be sent
};

using Flows = std::vector<Flow>;

/// A graph of messages at work: which host is which rank, and when they begin.
struct Job {
  std::string name;
  std::shared_ptr<const Graph> graph;  ///< shared by jobs of the same kind
  std::vector<HostId> hosts;           ///< by rank; no host twice
  std::vector<Instant> starts;         ///< by rank
};

/// Everything that is to be sent in a run.
struct Workload {
  Flows flows;
  std::vector<Job> jobs;
};

}  // namespace strack::workload
