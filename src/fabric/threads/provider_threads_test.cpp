// Threads at the provider: several at one endpoint (FI_THREAD_SAFE), and one for each domain (FI_THREAD_DOMAIN). Runs under the thread sanitizer.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace strack::fabric {
namespace {

constexpr std::uint64_t kThreads = 4;
constexpr std::uint64_t kRounds = 40;

/// What an operation's context is: whoever reads the completion says so here.
struct Mark {
  std::atomic<int> done{0};
};

/// Takes what there is of a queue that others read, too.
bool take(fid_cq* cq) {
  fi_cq_tagged_entry entry{};
  const ssize_t got = fi_cq_read(cq, &entry, 1);
  if (got == 1 && entry.op_context != nullptr) ++static_cast<Mark*>(entry.op_context)->done;
  return got == 1 || got == -FI_EAGAIN;
}

/// Until all marks are set, within seconds, looking at both endpoints' queues.
bool reached(World& world, std::initializer_list<Mark*> marks) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (Mark* mark : marks) {
    while (mark->done == 0) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (!take(world[i].tx) || !take(world[i].rx)) return false;
      }
      if (std::chrono::steady_clock::now() > end) return false;
    }
  }
  return true;
}

/// Messages short and long, a write and an atomic, over and over; returns how many were right.
std::uint64_t work(World& world, std::uint64_t thread, std::uint64_t key) {
  std::uint64_t right = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::size_t size = round % 4 == 3 ? 100'000 : 8 + round;
    const auto sent = pattern(size, static_cast<unsigned>(thread * kRounds + round));
    std::vector<unsigned char> received(size);
    Mark sent_mark;
    Mark received_mark;
    const auto again = [](auto&& call) {
      ssize_t got = -FI_EAGAIN;
      while (got == -FI_EAGAIN) got = call();
      return got;
    };
    if (again([&] {
          return fi_trecv(world[1].ep, received.data(), size, nullptr, FI_ADDR_UNSPEC, thread, 0,
                          &received_mark);
        }) != 0)
      return 0;
    if (again([&] {
          return fi_tsend(world[0].ep, sent.data(), size, nullptr, 1, thread, &sent_mark);
        }) != 0)
      return 0;
    if (!reached(world, {&sent_mark, &received_mark})) return 0;
    const std::uint64_t one = 1;
    const std::uint64_t value = thread * kRounds + round;
    Mark added;
    Mark written;
    if (fi_atomic(world[0].ep, &one, 1, nullptr, 1, 0, key, FI_UINT64, FI_SUM, &added) != 0 ||
        fi_write(world[0].ep, &value, 8, nullptr, 1, 8 * (thread + 1), key, &written) != 0 ||
        !reached(world, {&added, &written}))
      return 0;
    right += received == sent ? 1u : 0u;
  }
  return right;
}

// Four threads, one endpoint: every message comes whole to its receive, every sum counts.
TEST(Threads, FourAtOneEndpoint) {
  World world;
  std::array<std::uint64_t, kThreads + 1> there{};
  const std::uint64_t key = world.expose(there.data(), sizeof there, 1);
  std::array<std::uint64_t, kThreads> right{};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { right[i] = work(world, i, key); });
  for (std::thread& one : threads) one.join();
  for (std::uint64_t i = 0; i < kThreads; ++i) EXPECT_EQ(right[i], kRounds) << "thread " << i;
  // Both sides' keepers are done with it when the endpoints are closed.
  for (World::Member& one : world.all) EXPECT_EQ(fi_close(&one.ep->fid), 0);
  EXPECT_EQ(there[0], kThreads * kRounds);
  for (std::uint64_t i = 0; i < kThreads; ++i)
    EXPECT_EQ(there[i + 1], i * kRounds + kRounds - 1) << "thread " << i;
  for (World::Member& one : world.all) {
    EXPECT_EQ(fi_close(&one.tx->fid), 0);
    EXPECT_EQ(fi_close(&one.rx->fid), 0);
  }
  world.all.clear();
}

// Each has a domain of its own, and nothing of the others' is touched.
TEST(Threads, OneForEachDomain) {
  std::array<std::uint64_t, kThreads> right{};
  std::vector<std::thread> threads;
  static_cast<void>(provider());
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      World world(2, 0, 0, FI_THREAD_DOMAIN);
      EXPECT_EQ(world.info->domain_attr->threading, FI_THREAD_DOMAIN);
      std::array<std::uint64_t, kThreads + 1> there{};
      const std::uint64_t key = world.expose(there.data(), sizeof there, 1);
      right[i] = work(world, i, key);
    });
  }
  for (std::thread& one : threads) one.join();
  for (std::uint64_t i = 0; i < kThreads; ++i) EXPECT_EQ(right[i], kRounds) << "thread " << i;
}

}  // namespace
}  // namespace strack::fabric
