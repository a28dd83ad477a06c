// A packet under way.
#pragma once

#include "base/units.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

/// A packet and when its last bit arrives.
struct Transit {
  Instant time;
  SimPacket packet;
};
static_assert(sizeof(Transit) == 40);

}  // namespace strack::sim
