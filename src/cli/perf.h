// `strack perf`: how fast an endpoint is between two hosts (src/perf). Each function is one command and returns the program's exit status: 0, 1 for a test that did not end well, 2
// for a mistake of the user's, 130 after Ctrl-C.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "perf/plan.h"
#include "transfer/protection.h"
#include "udp/endpoint.h"

namespace strack::cli {

/// What both sides can say about the transport. Texts are as people write them.
struct PerfTransport {
  std::uint32_t paths = 256;
  std::uint32_t burst = 0;          ///< 0: as the path takes them
  std::string policy = "adaptive";  ///< or "oblivious"
  std::string rate = "10Gb/s";
  std::uint32_t payload = 8192;
  std::string spin = "50us";
  std::uint32_t threads = 0;  ///< that move packets; 0: the program's own does
  std::string peer_timeout = "10s";
  std::string sealing;  ///< a library; empty: the fastest
  std::string scheme;   ///< a transport of the program; empty: its first. The client's counts
  transfer::Protection protection;
};

/// For an endpoint of `strack perf`. Or what is wrong.
[[nodiscard]] Result<udp::EndpointOptions, std::string> endpoint_options(
    const PerfTransport& transport);

struct PerfServerOptions {
  PerfTransport transport;
  std::string bind;  ///< empty: port 4794, of all addresses where there is a key
  bool once = false;
  bool json = false;
  std::string metrics;  ///< "127.0.0.1:9100"; empty: none
};
int perf_server(const PerfServerOptions& options);

struct PerfClientOptions {
  bool per_path = false;
  bool csv = false;  ///< path by path
  PerfTransport transport;
  perf::PlanWords plan;
  std::string reconnect = "10s";  ///< how long it is tried to get a lost connection back
  bool json = false;
};
int perf_client(const PerfClientOptions& options);

}  // namespace strack::cli
