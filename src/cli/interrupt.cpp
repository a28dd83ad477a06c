#include "cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace strack::cli {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> came{0};  ///< the signal
std::atomic<bool> hangup{false};
std::atomic<bool> minds_terminal{false};  ///< there was one, and its end is this program's
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler must not wait for a lock");

/// Who passes signals on (mpirun, srun, timeout, a shell and its group) often passes one twice.
constexpr std::int64_t kTheSame = 2'000'000'000;  ///< ns

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // which a handler may call
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
std::atomic<std::int64_t> first_at{0};

/// Of a terminal's signals the kernel is the sender; all others have a process for one.
bool from_terminal(const siginfo_t* info) { return info != nullptr && info->si_code == SI_KERNEL; }

extern "C" void on_stop_signal(int number, siginfo_t* info, void* /*context*/) {
  int none = 0;
  if (came.compare_exchange_strong(none, number, std::memory_order_relaxed)) {
    first_at.store(now_ns(), std::memory_order_relaxed);
    stop.store(true, std::memory_order_relaxed);
    return;
  }
  // Ctrl-C is pressed by people, who mean it.
  const bool pressed = number == SIGINT && from_terminal(info);
  if (!pressed && now_ns() - first_at.load(std::memory_order_relaxed) < kTheSame) return;
  signal(number, SIG_DFL);
  raise(number);  // once this handler is left
}

bool has_terminal() {
  const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

extern "C" void on_hangup(int number, siginfo_t* info, void* context) {
  if (minds_terminal.load(std::memory_order_relaxed) && !has_terminal()) {
    on_stop_signal(number, info, context);
  } else {
    hangup.store(true, std::memory_order_relaxed);
  }
}

}  // namespace

std::atomic<bool>& read_again_on_hangup() {
  struct sigaction action {};
  sigaction(SIGHUP, nullptr, &action);
  minds_terminal.store(action.sa_handler != SIG_IGN && has_terminal(), std::memory_order_relaxed);
  action = {};
  action.sa_sigaction = on_hangup;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGHUP, &action, nullptr);
  return hangup;
}

std::atomic<bool>& stop_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (number == SIGHUP && old.sa_handler == SIG_IGN) continue;  // nohup
    struct sigaction action {};
    action.sa_sigaction = on_stop_signal;
    action.sa_flags = SA_SIGINFO;
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
