#include "sim/engine/workers.h"

#include <utility>

namespace strack::sim {
namespace {

constexpr int kSpins = 4'000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

Workers::Workers(std::uint32_t threads, std::function<void(std::uint32_t)> work)
    : work_(std::move(work)), helpers_(threads > 0 ? threads - 1 : 0) {
  for (std::uint32_t i = 0; i < helpers_; ++i) threads_.emplace_back([this, i] { loop(i + 1); });
}

Workers::~Workers() {
  quit_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::round() {
  if (helpers_ == 0) {
    work_(0);
    return;
  }
  done_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work_(0);
  for (int spins = 0;; ++spins) {
    const std::uint32_t done = done_.load(std::memory_order_acquire);
    if (done == helpers_) return;
    if (spins < kSpins) {
      relax();
    } else {
      done_.wait(done, std::memory_order_acquire);
    }
  }
}

void Workers::loop(std::uint32_t thread) {
  std::uint64_t seen = 0;
  while (true) {
    for (int spins = 0; round_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < kSpins) {
        relax();
      } else {
        round_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (quit_.load()) return;
    work_(thread);
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_one();
  }
}

}  // namespace strack::sim
