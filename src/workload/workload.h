// Who sends what to whom, and when. A workload is made whole before a run and is the same for every
// transport.
#pragma once

#include <algorithm>
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

/// [D116] From 0 on; the higher, the sooner its data is sent.
inline constexpr std::uint32_t kPriorities = 4;

/// One of a scenario's workloads: which of the flows and jobs of a run are its own.
struct Part {
  std::string name;
  std::string kind;
  std::uint32_t first_flow = 0;
  std::uint32_t flows = 0;
  std::uint32_t first_job = 0;
  std::uint32_t jobs = 0;
  std::uint32_t iterations = 1;  ///< of each of its jobs,
  Picoseconds compute{0};        ///< and what every rank computes between them
  std::uint8_t priority = 0;     ///< of its data, below kPriorities
};

/// Everything that is to be sent in a run.
struct Workload {
  Flows flows;
  std::vector<Job> jobs;
  std::vector<Part> parts = {};  ///< in the order of the scenario; what a test makes has none

  [[nodiscard]] bool has_priorities() const {
    return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.priority > 0; });
  }
};

}  // namespace strack::workload
