// `strack demo` and `strack trace`: the protocol core at work on small networks, for people to look
// at.
#pragma once

#include <cstdint>

namespace strack::cli {

struct DemoOptions {
  std::uint64_t seed = 1;
  bool plain = false;  ///< no colours
};

/// Prints a table of transfers, good days and bad, adaptive beside oblivious, and the window of an
/// incast over time.
int run_demo(const DemoOptions& options);

struct TraceOptions {
  std::uint64_t seed = 1;
  std::uint32_t packets = 12;
  std::uint32_t lose = 3;  ///< the n-th data packet is lost; 0: none
};

/// Prints every decision of both cores during one short transfer.
int run_trace(const TraceOptions& options);

}  // namespace strack::cli
