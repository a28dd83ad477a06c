// The seam between windows: how what was sent in one gets to whoever reads it in the next.
//
// A cluster's nodes run alone inside a window; everything between two windows goes through here. For
// threads that share memory, where a lane's two buffers change places by themselves, a barrier is all it
// takes. Ranks on several machines, each with some of the nodes (cluster/rank_exchange.h), also send the
// lanes that cross and find the earliest event of all; what nodes report (HostReport) is plain records,
// sent along. Nothing else of a cluster notices: results depend neither on who ran a node nor on the order
// in which they ran.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/engine/workers.h"

namespace strack::sim {

class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Runs one window: every worker does its share of the nodes. When it returns, whatever was sent in
  /// the window lies where it will be read in the next, and all records are where they are collected.
  /// Returns the earliest time at which anything happens anywhere.
  virtual Instant run_window() = 0;

  /// Before the first window: `earliest` is what happens first here. Returns what does anywhere. `stop` may
  /// be set at any time, and may be null.
  virtual Instant start(Instant earliest, const std::atomic<bool>* stop) {
    stop_ = stop;
    return earliest;
  }
  /// Whether somebody wants to stop: between two windows, the same answer for all.
  [[nodiscard]] virtual bool stopped() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed);
  }
  /// Whether everything is done, where it is known here or not.
  [[nodiscard]] virtual bool all_done(bool here) const { return here; }
  /// Packet-hops of others.
  [[nodiscard]] virtual std::uint64_t hops_elsewhere() const { return 0; }

 private:
  const std::atomic<bool>* stop_ = nullptr;
};

/// Threads of one process, which share lanes and reports.
class ThreadExchange final : public Exchange {
 public:
  /// `work(worker)` does that worker's share of a window and returns the earliest event it knows of.
  /// The caller is worker 0.
  ThreadExchange(std::uint32_t threads, std::function<Instant(std::uint32_t)> work)
      : work_(std::move(work)),
        earliest_(std::max(1u, threads)),
        workers_(threads,
                 [this](std::uint32_t worker) { earliest_[worker].time = work_(worker); }) {}

  Instant run_window() override {
    workers_.round();
    Instant next = Instant::never();
    for (const Earliest& e : earliest_) next = std::min(next, e.time);
    return next;
  }

 private:
  /// On a cache line of its own: each is written by another thread.
  struct alignas(64) Earliest {
    Instant time = Instant::never();
  };

  std::function<Instant(std::uint32_t)> work_;
  std::vector<Earliest> earliest_;
  Workers workers_;  ///< last: its threads use the others
};

}  // namespace strack::sim
