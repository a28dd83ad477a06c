// What one data packet costs in a core: poll_transmit, on_packet, poll_ack, on_receiving_ack.
//
// `core_bench` prints the state sizes and the time per packet of every transport that has a
// core_bench.cpp in its folder. `core_bench --transport T --packets N --window W` runs the bare loop
// of one, to be counted by valgrind: bench/instructions does that and prints instructions per packet.
#include "core_bench.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <benchmark/benchmark.h>

namespace strack::bench {

std::vector<CoreBench>& core_benches() {
  static std::vector<CoreBench> all;
  return all;
}

}  // namespace strack::bench

namespace {

const char* option(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (name == argv[i]) return argv[i + 1];
  }
  return "";
}
std::uint64_t number(int argc, char** argv, std::string_view name) {
  return std::strtoull(option(argc, argv, name), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::uint64_t packets = number(argc, argv, "--packets")) {
    const std::string_view asked = option(argc, argv, "--transport");
    for (const strack::bench::CoreBench& bench : strack::bench::core_benches()) {
      if (bench.transport != asked) continue;
      const auto window = static_cast<std::uint32_t>(number(argc, argv, "--window"));
      return bench.bare_loop(packets, window) ? 0 : 1;
    }
    std::fprintf(stderr, "error: --transport is none that has a benchmark\n");
    return 2;
  }
  for (const strack::bench::CoreBench& bench : strack::bench::core_benches()) bench.print_sizes();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
