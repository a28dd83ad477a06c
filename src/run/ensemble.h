// Runs that share a GPU: each is a thread of this process, since kernels of several processes take turns and those of
// one do not.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "run/pool.h"
#include "sim/scenario/expected_time.h"

namespace strack::run {

/// How a run of a pool ended that was no process of its own.
struct EndOfRun {
  int status = 0;     ///< as `strack sim run` ends
  std::string words;  ///< why it failed, if it did
};

/// Makes a run here, from its scenario to its result file. The file is what `strack sim run` writes.
[[nodiscard]] EndOfRun run_here(const PoolRun& run, const std::string& engine,
                                std::atomic<bool>& stop);

/// One that is under way.
class RunHere {
 public:
  RunHere(const PoolRun& run, const std::string& engine);
  ~RunHere();
  RunHere(const RunHere&) = delete;
  RunHere& operator=(const RunHere&) = delete;

  void interrupt() { stop_.store(true, std::memory_order_relaxed); }
  /// Once it is done.
  [[nodiscard]] std::optional<EndOfRun> end();

 private:
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
  EndOfRun end_;
  std::thread thread_;
};

/// Whether a pool gives a run to the GPU, by the word of its --engine, and how long it then takes.
[[nodiscard]] std::optional<double> gpu_weight(const std::string& engine,
                                               const sim::ExpectedTime& time);

}  // namespace strack::run
