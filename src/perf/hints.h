// What stands in the way of a faster test, and what would help: limits of the system, and figures that tell of one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/client.h"
#include "udp/endpoint.h"

namespace strack::perf {

/// What this system tells of itself; 0 where it is not known.
struct SystemLimits {
  /// UDP datagrams lost to full buffers, of all programs, so far.
  std::uint64_t receive_errors = 0;
};
[[nodiscard]] SystemLimits look_at_system();

/// One sentence each, the most telling first. `before` is the system as it was before the test.
[[nodiscard]] std::vector<std::string> hints(const ClientResult& result, const Plan& plan,
                                             const udp::EndpointOptions& settings,
                                             const SystemLimits& before, const SystemLimits& after);

/// Of an endpoint: what the system did not give it.
[[nodiscard]] std::vector<std::string> hints(const udp::SocketLimits& limits, std::uint32_t paths);

}  // namespace strack::perf
