// The seam between windows: how what was sent in one gets to whoever reads it in the next.
//
// A cluster's nodes run alone inside a window; everything between two windows goes through here. Now
// there are threads that share memory, where a lane's two buffers change places by themselves and a
// barrier is all it takes. An engine on several machines, each with some of the nodes, would also send
// the lanes that cross and find the earliest event of all; what nodes report (HostReport) is plain
// records, to be sent along. Nothing else of a cluster would notice: results depend neither on who ran a
// node nor on the order in which they ran.
#pragma once

#include <algorithm>
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
