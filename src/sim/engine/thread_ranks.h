// Ranks that are threads of one process, for tests: what MPI does, with a table between them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "sim/engine/ranks.h"

namespace strack::sim::testing {

/// Where all lay down their parcels, and take them when all have.
class Table {
 public:
  explicit Table(std::uint32_t ranks) : parcels_(ranks) {}

  void exchange(std::uint32_t rank, std::span<const Parcel> out, std::vector<Parcel>& in) {
    {
      const std::lock_guard lock(mutex_);
      parcels_[rank].assign(out.begin(), out.end());
    }
    meet();
    in.clear();
    for (const std::vector<Parcel>& from : parcels_) in.push_back(from[rank]);
    meet();
  }
  /// One does not come any more: the others need not wait.
  void lose() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    all_.notify_all();
  }
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(parcels_.size()); }

 private:
  void meet() {
    std::unique_lock lock(mutex_);
    const std::uint64_t meeting = meetings_;
    if (++there_ == parcels_.size()) {
      there_ = 0;
      ++meetings_;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return meetings_ != meeting || lost_; });
    if (meetings_ == meeting) throw RankLost("another rank does not answer");
  }

  std::mutex mutex_;
  std::condition_variable all_;
  std::vector<std::vector<Parcel>> parcels_;  ///< by sender, then by receiver
  std::uint64_t meetings_ = 0;
  std::size_t there_ = 0;
  bool lost_ = false;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Table& table, std::uint32_t rank) : table_(table), rank_(rank) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t count() const override { return table_.ranks(); }
  void exchange(std::span<const Parcel> out, std::vector<Parcel>& in) override {
    table_.exchange(rank_, out, in);
  }
  void watch(const std::atomic<bool>* /*stop*/) override {}
  void abort() override { table_.lose(); }

 private:
  Table& table_;
  std::uint32_t rank_;
};

/// Calls work(rank) on so many threads, this one being the first rank's.
inline void run_ranks(std::uint32_t count, const std::function<void(Ranks&)>& work) {
  Table table(count);
  std::vector<std::thread> others;
  for (std::uint32_t r = 1; r < count; ++r) {
    others.emplace_back([&table, &work, r] {
      ThreadRank rank(table, r);
      work(rank);
    });
  }
  ThreadRank first(table, 0);
  work(first);
  for (std::thread& other : others) other.join();
}

}  // namespace strack::sim::testing
