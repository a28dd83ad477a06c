// [uet] for a transport whose window is NSCC's by definition: its descriptor asks here.
#pragma once

#include "sim/scenario/resolution.h"
#include "transports/uet/params.h"

namespace strack::transports {

/// NSCC's parameters, as [uet] and the scenario's switches have them. What is wrong is reported at its key.
[[nodiscard]] core::UetParams resolve_nscc(sim::Resolution& resolution);

}  // namespace strack::transports
