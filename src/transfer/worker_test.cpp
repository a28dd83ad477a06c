#include "transfer/worker.h"

#include <poll.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

void wait_until_delivered(Worker& worker) {
  while (worker.pending() > 0) {
    pollfd waiting{worker.wake_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 10'000), 1) << "nothing wakes the waiting thread";
    worker.deliver();
  }
}

TEST(Worker, RunsAndDeliversInOrder) {
  Worker worker;
  std::vector<int> run;
  std::vector<int> delivered;
  const std::thread::id here = std::this_thread::get_id();
  for (int i = 0; i < 1000; ++i) {
    worker.run(
        [&run, i, here] {
          EXPECT_NE(std::this_thread::get_id(), here);
          run.push_back(i);
        },
        [&delivered, i, here] {
          EXPECT_EQ(std::this_thread::get_id(), here);
          delivered.push_back(i);
        });
  }
  wait_until_delivered(worker);
  ASSERT_EQ(delivered.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(run[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(delivered[static_cast<std::size_t>(i)], i);
  }
}

TEST(Worker, WhatIsDeliveredMayAskForMore) {
  Worker worker;
  int left = 20;
  std::function<void()> again = [&] {
    if (--left > 0) worker.run([] {}, again);
  };
  worker.run([] {}, again);
  wait_until_delivered(worker);
  EXPECT_EQ(left, 0);
}

TEST(Worker, ItsEndWaitsForAllJobs) {
  std::atomic<int> count{0};
  {
    Worker worker;
    for (int i = 0; i < 50; ++i) worker.run([&] { ++count; }, [] { ADD_FAILURE(); });
  }
  EXPECT_EQ(count, 50);
}

}  // namespace
}  // namespace strack::transfer
