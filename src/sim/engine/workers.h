// Threads that run one function over many items, window after window.
//
// Between windows everybody meets; inside one, each takes the next chunk of items. Who waits spins briefly, where there
// is a processor for every thread; then it lets others run, of whom one may be the thread that it waits for; then it
// sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace strack::sim {

class Workers {
 public:
  /// `work(thread)` is run by every thread, once per round; the caller is thread 0.
  Workers(std::uint32_t threads, std::function<void(std::uint32_t)> work);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// One round: returns when all threads are through.
  void round();

 private:
  void loop(std::uint32_t thread);
  /// Until it is another value; which it then is.
  std::uint32_t await_other(const std::atomic<std::uint32_t>& word, std::uint32_t value) const;

  std::function<void(std::uint32_t)> work_;
  std::uint32_t helpers_;
  int spins_;                            ///< before a waiting thread lets others run
  std::atomic<std::uint32_t> round_{0};  ///< of 32 bits, as the kernel's sleepers want it
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> quit_{false};
  std::vector<std::thread> threads_;
};

}  // namespace strack::sim
