// Windowed conservative execution: the smallest link latency L is the lookahead. In a window [W, W
// + L) every node runs alone over what has reached it; whatever it sends arrives in a later one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/cluster/partition.h"
#include "sim/cluster/rank_exchange.h"
#include "sim/engine/exchange.h"
#include "sim/engine/memory_nodes.h"
#include "sim/host/host.h"
#include "sim/net/port.h"
#include "sim/net/wire.h"

namespace strack::sim {

template <class Protocol, class NetworkType, class SwitchType>
class Windows {
 public:
  using Rules = HostRules<Protocol>;

  Windows(NetworkType& network, const PortRules& port_rules, const Rules& host_rules,
          std::uint32_t workers, std::size_t jobs)
      : network_(network),
        port_rules_(port_rules),
        host_rules_(host_rules),
        mail_(network.topology.nodes()),
        next_event_(network.topology.nodes(), Instant::never()),
        workers_(workers, Worker(network.part.ranks())) {
    for (Worker& worker : workers_) {
      worker.report.jobs.resize(jobs);
      stores_.push_back(&worker.store);
    }
    share_out();
    bring_near();
  }

  /// Hosts are ready: returns the first thing that happens at all.
  Instant start() {
    for (std::uint32_t h = network_.part.first_host(); h < network_.part.end_host(); ++h)
      next_event_[h] = network_.hosts[h].next_event();
    return *std::min_element(next_event_.begin(), next_event_.end());
  }

  /// What runs windows, from here on: all that there is to do is `things`, by this process or with others.
  [[nodiscard]] std::unique_ptr<Exchange> make_exchange(Ranks* ranks, std::uint64_t things) {
    auto own =
        std::make_unique<ThreadExchange>(static_cast<std::uint32_t>(workers_.size()),
                                         [this](std::uint32_t worker) { return run(worker); });
    if (network_.part.alone()) return own;
    RankPart part{ranks, &network_.part, network_.lanes.get(), &mail_, {}, {}, {}, things};
    for (Worker& worker : workers_) {
      part.outboxes.push_back(&worker.outbox);
      part.reports.push_back(&worker.report);
      part.contexts.push_back(&worker.context);
    }
    return std::make_unique<RankExchange>(std::move(part), std::move(own));
  }

  /// Hosts, switches and what they write of flows are about to be looked at, and perhaps changed. Then
  /// they are given back. Here they are at hand anyway.
  void look() {}
  void give_back() {}

  /// To be called before each window, by one thread.
  void begin(Instant end) {
    end_ = end;
    if (workers_.size() > 1) LaneStore::even_out(stores_);
    for (Worker& worker : workers_) {
      for (Share* share : {&worker.edge, &worker.core, &worker.hosts})
        share->next.store(share->begin, std::memory_order_relaxed);
    }
  }
  /// And after it.
  void finish() { ++window_; }

  /// A worker's share of the window; returns the earliest event that it knows of.
  Instant run(std::uint32_t number) {
    Worker& worker = workers_[number];
    WindowContext& context = worker.context;
    context.window = window_;
    context.end = end_;
    context.mail = &mail_;
    context.store = &worker.store;
    context.next_event = Instant::never();
    // Its own share, then what others have not come to yet; switches first, which are the large pieces.
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& owner = workers_[(number + i) % workers_.size()];
      for (Share* share : {&owner.edge, &owner.core}) {
        run_switches(*share, &owner == &worker, worker);
      }
      Share& hosts = owner.hosts;
      for (std::uint32_t at = hosts.take(kHostChunk); at < hosts.end; at = hosts.take(kHostChunk)) {
        // Beyond its own hosts only a worker that is alone looks ahead: others may be at work there.
        const std::uint32_t end = std::min(at + kHostChunk, hosts.end);
        run_hosts(at, end, workers_.size() == 1 ? hosts.end : end, worker);
      }
    }
    return context.next_event;
  }

  /// Calls visit(report) for what each worker's hosts have reported.
  template <class Visit>
  void for_each_report(Visit&& visit) {
    for (Worker& worker : workers_) visit(worker.report);
  }

  [[nodiscard]] std::uint64_t packet_hops() const {
    std::uint64_t hops = 0;
    for (const Worker& worker : workers_) hops += worker.context.packet_hops;
    return hops;
  }
  /// [D117] Between two windows. Whoever reads it may have other threads.
  template <class Archive>
  void state(Archive& a) {
    std::uint64_t hops = packet_hops();
    a(window_, hops);
    a.fixed(next_event_);
    mail_.state(a, window_);
    if constexpr (Archive::kLoads) workers_.front().context.packet_hops = hops;
  }

  /// The number of the next window; the first is 1.
  [[nodiscard]] std::uint64_t window() const { return window_; }

 private:
  /// What a worker begins with in every window, so that it finds its nodes in its own caches, and their lanes,
  /// which whoever first sends on them allocates, in the memory beside it. Others help when they are done.
  struct alignas(64) Share {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::atomic<std::uint32_t> next{0};

    [[nodiscard]] std::uint32_t take(std::uint32_t count) {
      // Where nothing is left it is only looked at: all come by here at the end of a window.
      if (next.load(std::memory_order_relaxed) >= end) return end;
      return next.fetch_add(count, std::memory_order_relaxed);
    }
  };

  /// What one thread works with. Aligned so that threads do not share cache lines.
  struct alignas(128) Worker {
    explicit Worker(std::uint32_t ranks) : outbox(ranks) {}
    Worker(const Worker& other) : outbox(other.outbox) {}  ///< before anything is in it
    Worker& operator=(const Worker&) = delete;

    WindowContext context;
    LaneStore store;
    typename SwitchType::Scratch scratch;
    HostReport report;
    Outbox outbox;  ///< where there are other ranks
    Share edge;     ///< ToRs, by their place in Partition::switches()
    Share core;     ///< other switches, likewise
    Share hosts;
  };

  /// A worker's hosts are those of its ToRs, as far as that can be.
  void share_out() {
    const std::span<const std::uint32_t> switches = network_.part.switches();
    const auto& infos = network_.topology.switches();
    const auto tors = static_cast<std::uint32_t>(
        std::count_if(switches.begin(), switches.end(),
                      [&](std::uint32_t s) { return infos[s].ref.tier == SwitchRef::Tier::tor; }));
    share_out(&Worker::edge, 0, tors);
    share_out(&Worker::core, tors, static_cast<std::uint32_t>(switches.size()));
    share_out(&Worker::hosts, network_.part.first_host(), network_.part.end_host());
  }
  void share_out(Share Worker::*share, std::uint32_t begin, std::uint32_t end) {
    const std::uint64_t things = end - begin;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      (workers_[w].*share).begin = begin + static_cast<std::uint32_t>(things * w / workers_.size());
      (workers_[w].*share).end =
          begin + static_cast<std::uint32_t>(things * (w + 1) / workers_.size());
    }
  }

  /// What each worker begins with lies beside it, where memory is in several nodes.
  void bring_near() {
    const MemoryNodes nodes = MemoryNodes::here();
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      const MemoryNodes::Node* node = nodes.node_of(w, static_cast<std::uint32_t>(workers_.size()));
      if (node == nullptr) return;
      const Worker& worker = workers_[w];
      const std::uint32_t hosts = worker.hosts.end - worker.hosts.begin;
      move_to(*node, network_.hosts.get() + worker.hosts.begin, hosts * sizeof(network_.hosts[0]));
      for (const Share* share : {&worker.edge, &worker.core}) {
        for (std::uint32_t at = share->begin; at < share->end; ++at) {
          SwitchType& sw = *network_.switches[network_.part.switches()[at]];
          move_to(*node, &sw.port(0), sw.port_count() * sizeof(sw.port(0)));
        }
      }
    }
  }

  /// A worker takes the next of its own share before it runs one: what is taken it may look at ahead. Where it helps
  /// others it takes what it runs.
  void run_switches(Share& share, bool own, Worker& worker) {
    std::uint32_t at = share.take(1);
    while (at < share.end) {
      const std::uint32_t next = own ? share.take(1) : share.end;
      run_switch(at, std::min(next, share.end), share.end, worker);
      at = own ? next : share.take(1);
    }
  }
  void run_switch(std::uint32_t at, std::uint32_t next, std::uint32_t end, Worker& worker) {
    const std::span<const std::uint32_t> switches = network_.part.switches();
    const std::uint32_t s = switches[at];
    worker.scratch.following = next < end && has_work(network_.topology.hosts() + switches[next])
                                   ? network_.switches[switches[next]].get()
                                   : nullptr;
    const NodeId node = network_.topology.hosts() + s;
    WindowContext& context = worker.context;
    if (has_work(node)) {
      next_event_[node] = network_.switches[s]->run(port_rules_, context, worker.scratch);
      if (const auto cuts = network_.part.cuts(s); !cuts.empty())
        worker.outbox.take(cuts, network_.part, network_.lanes.get(), window_);
    }
    context.next_event = std::min(context.next_event, next_event_[node]);
  }
  /// `last` is where those end of whom some come next. Idle ones are passed over, at the cost of a look at each.
  void run_hosts(std::uint32_t begin, std::uint32_t end, std::uint32_t last, Worker& worker) {
    WindowContext& context = worker.context;
    std::array<std::uint32_t, kHostChunk + kHostsAhead> at_work;
    std::uint32_t size = 0;
    Instant next = context.next_event;
    for (std::uint32_t h = begin; h < end; ++h) {
      if (has_work(h)) {
        at_work[size++] = h;
      } else {
        next = std::min(next, next_event_[h]);
      }
    }
    context.next_event = next;
    if (size == 0) return;
    const std::uint32_t here = size;
    for (std::uint32_t h = end; h < std::min(end + kHostsAhead, last); ++h) {
      if (has_work(h)) at_work[size++] = h;
    }
    const auto& hosts = network_.hosts;
    for (std::uint32_t i = 0; i < here; ++i) {
      if (i + kHostsAhead < size) hosts[at_work[i + kHostsAhead]].fetch_ahead();
      if (i + kEndsAhead < size) hosts[at_work[i + kEndsAhead]].fetch_ends_ahead(window_);
      if (i + kArrivalsAhead < size)
        hosts[at_work[i + kArrivalsAhead]].fetch_arrivals_ahead(window_);
      Instant& event = next_event_[at_work[i]];
      event = hosts[at_work[i]].run(host_rules_, context, worker.report);
      context.next_event = std::min(context.next_event, event);
    }
  }

  static constexpr std::uint32_t kHostChunk = 64;
  static constexpr std::uint32_t kHostsAhead = 4;
  static constexpr std::uint32_t kEndsAhead = 2;
  static constexpr std::uint32_t kArrivalsAhead = 1;

  [[nodiscard]] bool has_work(NodeId node) const {
    return next_event_[node] < end_ || mail_.has_mail(window_, node);
  }

  NetworkType& network_;
  const PortRules& port_rules_;
  const Rules& host_rules_;
  MailFlags mail_;
  std::vector<Instant> next_event_;  ///< by node: when it has something to do by itself
  std::vector<Worker> workers_;
  std::vector<LaneStore*> stores_;  ///< theirs
  std::uint64_t window_ = 1;
  Instant end_{};
};

}  // namespace strack::sim
