// The core's loop of bench/, for another processor: `packets COUNT WINDOW` takes so many packets all the way round, and `packets` says how
// large the state is.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core_bench.h"

namespace strack::bench {

std::vector<CoreBench>& core_benches() {
  static std::vector<CoreBench> all;
  return all;
}

}  // namespace strack::bench

int main(int argc, char** argv) {
  const strack::bench::CoreBench& bench = strack::bench::core_benches().front();
  if (argc == 1) {
    bench.print_sizes();
    return 0;
  }
  if (argc != 3) {
    std::fprintf(stderr, "usage: packets [COUNT WINDOW]\n");
    return 2;
  }
  const std::uint64_t packets = std::strtoull(argv[1], nullptr, 10);
  const auto window = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  return bench.bare_loop(packets, window) ? 0 : 1;
}
