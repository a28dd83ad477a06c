// What a transport's core costs, measured by the transport's own loop: transports/<name>/core_bench.cpp
// has its benchmarks and one Registration.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace strack::bench {

struct CoreBench {
  std::string_view transport;
  void (*print_sizes)();  ///< of its state, in one line
  /// Takes so many packets all the way round, without anything else, to be counted by valgrind;
  /// false if one was lost.
  bool (*bare_loop)(std::uint64_t packets, std::uint32_t window);
};

[[nodiscard]] std::vector<CoreBench>& core_benches();

struct Registration {
  explicit Registration(const CoreBench& bench) { core_benches().push_back(bench); }
};

}  // namespace strack::bench
