// What a transport can show of itself on small networks, for people to look at: `strack demo` and
// `strack trace`.
#pragma once

#include <cstdint>

namespace strack::transports {

struct DemoOptions {
  std::uint64_t seed = 1;
  bool plain = false;  ///< no colours
};

struct TraceOptions {
  std::uint64_t seed = 1;
  std::uint32_t packets = 12;
  std::uint32_t lose = 3;  ///< the n-th data packet is lost; 0: none
};

/// What it can show; null where it has nothing. Each returns the program's status.
struct Show {
  /// Prints a table of transfers, good days and bad, and whatever else shows it at work.
  int (*demo)(const DemoOptions& options) = nullptr;
  /// Prints every decision of both cores during one short transfer.
  int (*trace)(const TraceOptions& options) = nullptr;
};

}  // namespace strack::transports
