#include "cli/demo.h"

#include "cli/text.h"
#include "transports/registry.h"

namespace strack::cli {

int run_demo(const transports::DemoOptions& options) {
  for (const transports::Descriptor* transport : transports::all()) {
    if (transport->show.demo != nullptr) return transport->show.demo(options);
  }
  return fail("no transport of this program has a demonstration");
}

int run_trace(const transports::TraceOptions& options) {
  for (const transports::Descriptor* transport : transports::all()) {
    if (transport->show.trace != nullptr) return transport->show.trace(options);
  }
  return fail("no transport of this program shows its decisions");
}

}  // namespace strack::cli
