#include "sim/engine/workers.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

// Each thread runs its share once per round, whatever their number; zero means the caller alone.
TEST(Workers, Round_EveryThreadOnce) {
  for (const std::uint32_t threads : {0u, 1u, 2u, 3u, 8u}) {
    std::vector<int> runs(threads == 0 ? 1 : threads, 0);  // each counted by its own thread
    Workers workers(threads, [&](std::uint32_t thread) { ++runs[thread]; });
    for (int round = 1; round <= 200; ++round) {
      workers.round();
      for (const int count : runs) ASSERT_EQ(count, round);
    }
  }
}

// The caller is thread 0, the others are others.
TEST(Workers, Round_CallerIsThreadZero) {
  std::vector<std::thread::id> ids(3);
  Workers workers(3, [&](std::uint32_t thread) { ids[thread] = std::this_thread::get_id(); });
  workers.round();
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[2], ids[0]);
  EXPECT_NE(ids[1], ids[2]);
}

// What one round wrote, plainly and by any thread, all threads read in the next.
TEST(Workers, Round_SeesTheRoundBefore) {
  constexpr std::uint32_t kThreads = 4;
  std::vector<std::uint64_t> now(kThreads, 1);
  std::vector<std::uint64_t> next(kThreads, 0);
  Workers workers(kThreads, [&](std::uint32_t thread) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : now) sum += value;
    next[thread] = sum % 1'000'003;
  });
  std::uint64_t expected = 1;
  for (int round = 0; round < 500; ++round) {
    workers.round();
    now.swap(next);
    expected = expected * kThreads % 1'000'003;
    for (const std::uint64_t value : now) ASSERT_EQ(value, expected);
  }
}

// Threads that have gone to sleep wake up for the next round.
TEST(Workers, Round_AfterALongPause) {
  std::atomic<int> runs{0};
  Workers workers(3, [&](std::uint32_t) { ++runs; });
  for (int round = 1; round <= 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    workers.round();
    ASSERT_EQ(runs.load(), 3 * round);
  }
}

// A caller that is done long before its helpers waits for them.
TEST(Workers, Round_WaitsForTheSlowest) {
  std::atomic<bool> done{false};
  Workers workers(2, [&](std::uint32_t thread) {
    if (thread == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
  });
  workers.round();
  EXPECT_TRUE(done.load());
}

// Far more threads than processors: whoever waits lets the others run, and every round comes to its end.
TEST(Workers, Round_MoreThreadsThanProcessors) {
  constexpr std::uint32_t kThreads = 48;
  std::vector<int> runs(kThreads, 0);  // each counted by its own thread
  Workers workers(kThreads, [&](std::uint32_t thread) { ++runs[thread]; });
  for (int round = 1; round <= 50; ++round) {
    workers.round();
    for (const int count : runs) ASSERT_EQ(count, round);
  }
}

// Where memory is in two nodes and the threads need both, each stays at its own; the caller as long as there are workers.
TEST(Workers, Threads_StayAtTheirNodes) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<int> usable;
  for (int p = 0; p < CPU_SETSIZE && usable.size() < 2; ++p) {
    if (CPU_ISSET(static_cast<std::size_t>(p), &before)) usable.push_back(p);
  }
  if (usable.size() < 2) usable.push_back(usable.front());  // on one processor they have no choice
  const auto folder = std::filesystem::path(::testing::TempDir()) / "strack_workers_nodes";
  for (std::size_t n = 0; n < 2; ++n) {
    const auto node = folder / ("node" + std::to_string(n));
    std::filesystem::create_directories(node);
    std::ofstream(node / "cpulist") << usable[n] << '\n';
  }
  std::vector<int> seen(2, -1);
  {
    Workers workers(
        2, [&](std::uint32_t thread) { seen[thread] = sched_getcpu(); },
        MemoryNodes(folder, before));
    for (int round = 0; round < 5; ++round) {
      workers.round();
      EXPECT_EQ(seen, usable);
    }
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  std::filesystem::remove_all(folder);
}

// Ending without a single round hangs nothing.
TEST(Workers, End_WithoutARound) {
  for (int i = 0; i < 50; ++i) Workers workers(4, [](std::uint32_t) {});
}

}  // namespace
}  // namespace strack::sim
