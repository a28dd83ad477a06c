// What physics allows: lower bounds on the slowest flow's completion time and on every job's,
// printed beside every result.
#pragma once

#include <vector>

#include "base/units.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::run {

/// No scheduling of any kind can bring the largest flow completion time below this.
///
/// Every port, and every rack's and pod's bundle of uplinks, is a server of its goodput's rate. Of
/// all ways to serve, first come first served makes the longest sojourn shortest; so the longest
/// sojourn there, and the rest of a base RTT, are a bound. Where all flows start together it is the
/// familiar one: M/B + base RTT for a permutation, kM/B + base RTT for an incast, times the
/// oversubscription where a rack's whole traffic leaves it; only that a base RTT contains the
/// serialisation of one packet that M/B contains too, and it is counted once, so that a flow alone
/// in the network takes exactly this long; but a message of two packets, whose second is short and may
/// overtake on another path, can take its full time in order. Packets of a message are sent in order. Links that are down or slow from the start to the end
/// count with what they can carry; failures in between, stragglers and jitter are left out.
[[nodiscard]] Picoseconds ideal_fct(const sim::SimConfig& config, const workload::Flows& flows);

/// Each job's: its longest chain of messages, acknowledgements and computations, with all that its ports
/// have to send and to receive along the way (ideal_graph.h); or all it sends through the uplinks of its
/// busiest rack or pod, at their rate, and the rest of a base RTT. No job can be faster, alone in the
/// network; what other jobs send through the same links is not counted.
[[nodiscard]] std::vector<Picoseconds> ideal_jobs(const sim::SimConfig& config,
                                                  const std::vector<workload::Job>& jobs);

}  // namespace strack::run
