// What stands in the way of a faster test, and what would help: limits of the system, and figures that tell of one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/client.h"
#include "udp/endpoint.h"

namespace strack::perf {

/// What this system allows; 0 where it is not known.
struct SystemLimits {
  std::uint64_t receive_buffer = 0;  ///< net.core.rmem_max
  std::uint64_t send_buffer = 0;     ///< net.core.wmem_max
  std::uint64_t descriptors = 0;     ///< ulimit -n
  bool may_exceed = false;           ///< of the buffers: CAP_NET_ADMIN
  std::uint64_t receive_errors =
      0;  ///< UDP datagrams lost to full buffers, of all programs, so far
};
[[nodiscard]] SystemLimits look_at_system();

/// One sentence each, the most telling first. `before` is the system as it was before the test.
[[nodiscard]] std::vector<std::string> hints(const ClientResult& result, const Plan& plan,
                                             const udp::EndpointOptions& settings,
                                             const SystemLimits& before, const SystemLimits& after);

/// Of a server, when it starts.
[[nodiscard]] std::vector<std::string> hints(const udp::EndpointOptions& settings,
                                             const SystemLimits& system);

}  // namespace strack::perf
