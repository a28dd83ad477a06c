// `strack demo` and `strack trace`: a core at work on small networks, that of the first transport that
// has something to show.
#pragma once

#include "transports/show.h"

namespace strack::cli {

int run_demo(const transports::DemoOptions& options);
int run_trace(const transports::TraceOptions& options);

}  // namespace strack::cli
