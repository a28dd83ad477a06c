// Threads that run one function over many items, window after window.
//
// Between windows everybody meets; inside one, each takes the next chunk of items. Waiting spins
// briefly and then sleeps, for the machine may have other work.
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

  std::function<void(std::uint32_t)> work_;
  std::uint32_t helpers_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> quit_{false};
  std::vector<std::thread> threads_;
};

}  // namespace strack::sim
