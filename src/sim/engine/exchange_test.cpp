#include "sim/engine/exchange.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::sim {
namespace {

// The earliest event of all workers counts, whoever knows of it, in every window anew.
TEST(ThreadExchange, TheEarliestOfAllWorkers) {
  for (const std::uint32_t threads : {1u, 2u, 3u}) {
    std::int64_t window = 0;
    ThreadExchange exchange(threads, [&](std::uint32_t worker) {
      return at(ps(100 * window + (worker + 1 == threads ? 5 : 50)));
    });
    for (window = 1; window < 20; ++window)
      ASSERT_EQ(exchange.run_window(), at(ps(100 * window + 5))) << threads;
  }
}

// Nothing anywhere: never.
TEST(ThreadExchange, NothingToCome) {
  ThreadExchange exchange(2, [](std::uint32_t) { return Instant::never(); });
  EXPECT_EQ(exchange.run_window(), Instant::never());
}

// What every worker wrote in a window is there for all in the next.
TEST(ThreadExchange, WhatWasSentIsThereAfterwards) {
  constexpr std::uint32_t kThreads = 3;
  std::vector<std::vector<int>> lanes(2, std::vector<int>(kThreads));
  int window = 0;
  std::vector<int> wrong(kThreads);
  ThreadExchange exchange(kThreads, [&](std::uint32_t worker) {
    const auto now = static_cast<std::size_t>(window & 1);
    for (const int value : lanes[now ^ 1]) wrong[worker] += value == window - 1 ? 0 : 1;
    lanes[now][worker] = window;
    return Instant{};
  });
  for (window = 1; window < 200; ++window) exchange.run_window();
  for (const int w : wrong) EXPECT_EQ(w, 0);
}

}  // namespace
}  // namespace strack::sim
