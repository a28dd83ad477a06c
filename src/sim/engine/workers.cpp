#include "sim/engine/workers.h"

#include <sched.h>

#include <utility>

namespace strack::sim {
namespace {

constexpr int kSpins = 2'000;  ///< some ten microseconds, at 40 cycles or more each
constexpr int kYields = 50;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Processors that this process may use; of those that it has been given, not of the machine's.
std::uint32_t processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  return std::thread::hardware_concurrency();
}

}  // namespace

Workers::Workers(std::uint32_t threads, std::function<void(std::uint32_t)> work, MemoryNodes nodes)
    : work_(std::move(work)),
      nodes_(std::move(nodes)),
      helpers_(threads > 0 ? threads - 1 : 0),
      spins_(threads <= processors() ? kSpins : 0) {
  for (std::uint32_t i = 0; i < helpers_; ++i) threads_.emplace_back([this, i] { loop(i + 1); });
  if (nodes_.node_of(0, threads) != nullptr) {
    callers_.emplace();
    settle(0);
  }
}

void Workers::settle(std::uint32_t thread) const {
  if (const MemoryNodes::Node* node = nodes_.node_of(thread, helpers_ + 1)) stay_at(*node);
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
  std::uint32_t done = done_.load(std::memory_order_acquire);
  while (done != helpers_) done = await_other(done_, done);
}

void Workers::loop(std::uint32_t thread) {
  settle(thread);
  std::uint32_t seen = 0;
  while (true) {
    await_other(round_, seen);
    ++seen;
    if (quit_.load()) return;
    work_(thread);
    if (done_.fetch_add(1, std::memory_order_release) + 1 == helpers_) done_.notify_one();
  }
}

std::uint32_t Workers::await_other(const std::atomic<std::uint32_t>& word,
                                   std::uint32_t value) const {
  for (int tries = 0;; ++tries) {
    const std::uint32_t now = word.load(std::memory_order_acquire);
    if (now != value) return now;
    if (tries < spins_) {
      relax();
    } else if (tries < spins_ + kYields) {
      std::this_thread::yield();
    } else {
      word.wait(value, std::memory_order_acquire);
    }
  }
}

}  // namespace strack::sim
