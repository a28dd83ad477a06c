// STrack's core at work on small networks: its transfers adaptive beside oblivious, the window of an
// incast over time, and all decisions of a short one.
#pragma once

#include "transports/show.h"

namespace strack::transports {

int strack_demo(const DemoOptions& options);
int strack_trace(const TraceOptions& options);

}  // namespace strack::transports
