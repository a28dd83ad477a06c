#include "cli/interrupt.h"

#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

constexpr int kStopped = 7;

/// How a process ends that gets a signal twice and then says whether it was told to stop.
int ending_after_two(int signal_number) {
  const pid_t child = fork();
  if (child == 0) {
    const std::atomic<bool>& stop = stop_on_signals();
    raise(signal_number);
    raise(signal_number);
    _exit(stop.load() ? kStopped : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

/// The same where the signals are those of Ctrl-C at a terminal, which the kernel sends.
int ending_after_two_keys() {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  EXPECT_GE(child, 0);
  if (child == 0) {
    const std::atomic<bool>& stop = stop_on_signals();
    if (write(STDOUT_FILENO, "a", 1) != 1) _exit(1);
    while (!stop.load()) usleep(1'000);
    if (write(STDOUT_FILENO, "b", 1) != 1) _exit(1);
    usleep(10'000'000);
    usleep(10'000'000);
    _exit(stop.load() ? kStopped : 1);
  }
  for (const char said : {'a', 'b'}) {
    // A terminal repeats what is typed, too: "^C".
    char heard = 0;
    while (heard != said && read(terminal, &heard, 1) == 1) {
    }
    EXPECT_EQ(heard, said);
    EXPECT_EQ(write(terminal, "\x03", 1), 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(terminal);
  return status;
}

// mpirun, srun, timeout and groups of processes pass a signal on that has come already: there is still a file to be put
// in order.
TEST(StopOnSignals, WhatComesTwiceAtOnceIsOne) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = ending_after_two(signal_number);
    ASSERT_TRUE(WIFEXITED(status)) << signal_number;
    EXPECT_EQ(WEXITSTATUS(status), kStopped) << signal_number;
  }
}

// Who presses Ctrl-C again has waited long enough.
TEST(StopOnSignals, ASecondCtrlCEnds) {
  const int status = ending_after_two_keys();
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace strack::cli
