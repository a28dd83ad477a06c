// Threads that run one function over many items, window after window.
//
// Between windows everybody meets; inside one, each takes the next chunk of items. Who waits spins briefly, where there
// is a processor for every thread; then it lets others run, of whom one may be the thread that it waits for; then it
// sleeps. On a machine with several nodes of memory each thread stays at its own, where there are enough to need several
// (memory_nodes.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "sim/engine/memory_nodes.h"

namespace strack::sim {

class Workers {
 public:
  /// `work(thread)` is run by every thread, once per round; the caller is thread 0.
  Workers(std::uint32_t threads, std::function<void(std::uint32_t)> work,
          MemoryNodes nodes = MemoryNodes::here());
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// One round: returns when all threads are through.
  void round();

 private:
  void loop(std::uint32_t thread);
  void settle(std::uint32_t thread) const;
  /// Until it is another value; which it then is.
  std::uint32_t await_other(const std::atomic<std::uint32_t>& word, std::uint32_t value) const;

  std::function<void(std::uint32_t)> work_;
  MemoryNodes nodes_;
  std::uint32_t helpers_;
  int spins_;                            ///< before a waiting thread lets others run
  std::atomic<std::uint32_t> round_{0};  ///< of 32 bits, as the kernel's sleepers want it
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> quit_{false};
  std::optional<KeepsAffinity> callers_;  ///< the caller goes where it was when all is done
  std::vector<std::thread> threads_;
};

}  // namespace strack::sim
