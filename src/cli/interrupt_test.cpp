#include "cli/interrupt.h"

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

// mpirun, srun and groups of processes pass a signal on that has come already: there is still a file to be put in order.
TEST(StopOnSignals, WhatComesTwiceAtOnceIsOne) {
  for (const int signal_number : {SIGTERM, SIGHUP}) {
    const int status = ending_after_two(signal_number);
    ASSERT_TRUE(WIFEXITED(status)) << signal_number;
    EXPECT_EQ(WEXITSTATUS(status), kStopped) << signal_number;
  }
}

// Who presses Ctrl-C again has waited long enough.
TEST(StopOnSignals, ASecondCtrlCEnds) {
  const int status = ending_after_two(SIGINT);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace strack::cli
