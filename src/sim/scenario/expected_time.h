// About how long a run takes: what pools of runs are ordered by, and what decides between threads and a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/scenario/scenario.h"

namespace strack::sim {

/// In seconds, within a factor of two: a thread as measured on a 2.6 GHz EPYC, a GPU by the table of docs/simulator.md, "On an
/// H200" (1024 to 65536 hosts), which it meets within a fifth.
struct ExpectedTime {
  double cpu = 0;  ///< with one thread
  std::optional<double>
      gpu;  ///< on a GPU, its start included; nothing where threads are faster in any case

  /// Threads get in each other's way: 16 on as many virtual processors were 8.6 times as fast as one (8192 x 16 MB).
  [[nodiscard]] double with(std::uint32_t threads) const {
    return cpu / threads * (1 + 0.055 * (threads - 1));
  }
  /// Whether a GPU is done before so many threads are.
  [[nodiscard]] bool gpu_beats(std::uint32_t threads) const { return gpu && *gpu < with(threads); }
};
/// For how long the simulated hosts send, at least, in seconds of theirs.
[[nodiscard]] double expected_duration(const Scenario& scenario);
[[nodiscard]] ExpectedTime expected_time(const Scenario& scenario);

}  // namespace strack::sim
