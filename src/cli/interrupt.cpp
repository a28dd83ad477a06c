#include "cli/interrupt.h"

#include <signal.h>

namespace strack::cli {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> came{0};  ///< the signal
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler must not wait for a lock");

extern "C" void on_stop_signal(int number) {
  came.store(number, std::memory_order_relaxed);
  stop.store(true, std::memory_order_relaxed);
}

}  // namespace

std::atomic<bool>& stop_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (number == SIGHUP && old.sa_handler == SIG_IGN) continue;  // nohup
    struct sigaction action {};
    action.sa_handler = on_stop_signal;
    // Back to the default with the first: a second one kills.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);
  return stop;
}

bool signal_came() { return came.load(std::memory_order_relaxed) != 0; }

int interrupted_status() {
  const int number = came.load(std::memory_order_relaxed);
  return number == 0 ? kInterruptedStatus : 128 + number;
}

}  // namespace strack::cli
