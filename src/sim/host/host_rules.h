// What a host is told before it runs: its part of the workload, and what all hosts share.
#pragma once

#include <span>
#include <vector>

#include "sim/host/connection.h"
#include "sim/host/graph_runner.h"
#include "sim/host/protocol.h"
#include "sim/net/port.h"
#include "sim/net/topology.h"

namespace strack::sim {

/// What of the workload takes place at one host, worked out before there is a host
/// (sim/cluster/placement.h). A connection's slot is its place in the list.
struct HostPlacement {
  std::vector<OutgoingFlow> outgoing;
  std::vector<IncomingFlow> incoming;
  std::vector<JobDue> dues;  ///< ranks seated here, and nodes that wait for a time
};

/// What hosts share.
template <class Protocol>
struct HostRules {
  const typename Protocol::Params* transport = nullptr;
  const PortRules* sizes = nullptr;
  std::span<SenderWatch>
      watches;  ///< of the flows that are sampled or inspected; each is written by
                ///< its sender's host alone
  std::span<JobRun> jobs;
  const Topology* topology = nullptr;
};

}  // namespace strack::sim
