// [paths] for transports that spray by one of the policies of core/paths: their descriptors ask here.
#pragma once

#include "core/paths/params.h"
#include "sim/scenario/resolution.h"

namespace strack::sim {

/// The policy of the transport that runs: `usual`, and what [paths] says otherwise. What does not go
/// together is reported at its key. A transport that has a policy of its own leaves `policies` out: then only
/// the number of paths is the scenario's to say.
[[nodiscard]] core::SprayParams spray_of(Resolution& resolution, core::SprayParams usual,
                                         bool policies = true);

}  // namespace strack::sim
