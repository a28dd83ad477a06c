// What physics allows a graph of messages: its longest chain, and what each NIC has to send and to
// receive along the way. For ideal_fct.h.
#pragma once

#include "base/units.h"
#include "run/trips.h"
#include "sim/config.h"
#include "workload/workload.h"

namespace strack::run {

/// No job can be faster, alone in the network, from its first message or computation to the last
/// acknowledgement.
///
/// Each message begins no earlier than the longest chain of messages, acknowledgements and computations
/// before it allows, and after it has left its NIC the longest chain behind it is still to come. In
/// between the NIC puts every message on the wire at its rate, one byte at a time. The best order for
/// one NIC is known: of what has come up, that with the longest chain behind it; so the time of that
/// order is a bound, and the largest over all NICs, both ways, is this one. [D125] Along a chain the same holds for
/// whoever waits for several messages, which come through its port one after the other, and for several that
/// wait for one event. It is exact for a chain, for collectives whose ranks are limited by latency or by their
/// ports, and for iterations of these with computation between.
[[nodiscard]] Picoseconds ideal_graph(const sim::SimConfig& config, const Trips& trips,
                                      const workload::Job& job);

}  // namespace strack::run
