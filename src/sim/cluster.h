// A cluster while it runs: hosts of one protocol, switches of one kind, and the windows they run in.
//
// For simulation.cpp, which instantiates it; everybody else uses simulation.h. The parts, in the order
// in which they come to work: cluster/placement.h (who sends what, at which slot), network.h (building),
// windows.h (running, through engine/exchange.h), recorder.h (telling), accounts.h (totals).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/cluster/accounts.h"
#include "sim/cluster/cut_guard.h"
#include "sim/cluster/network.h"
#include "sim/cluster/pause_guard.h"
#include "sim/cluster/placement.h"
#include "sim/cluster/rank_exchange.h"
#include "sim/cluster/receiver_sweep.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/windows.h"
#include "sim/engine/archive.h"
#include "sim/engine/exchange.h"
#include "sim/engine/keeper.h"
#include "sim/host/host.h"
#include "sim/net/pfc_switch.h"
#include "sim/net/switch.h"
#include "sim/simulation.h"
#include "sim/transport.h"

namespace strack::sim {

/// What a Simulation asks of it, whatever it is made of.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual Ending run(Observer& observer, const std::atomic<bool>* stop) = 0;
  /// [D117] Before it runs. False: this engine keeps no state.
  [[nodiscard]] virtual bool keep_by(Keeper& /*keeper*/) { return false; }
  /// Before it runs: it goes on with what another has kept, and tells of the jobs that were done by then. False:
  /// that is not of this run, and now it must not be run.
  [[nodiscard]] virtual bool resume(Loader& /*from*/, Observer& /*observer*/) { return false; }
  [[nodiscard]] virtual metrics::Counters counters() const = 0;
  [[nodiscard]] virtual std::vector<metrics::LinkInfo> links() const = 0;
  [[nodiscard]] virtual std::vector<metrics::ChannelInfo> channels() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
  /// Before it runs: what this job does, its driver decides. All its ranks begin at the same time.
  virtual void drive(std::uint32_t /*job*/, workload::Driver& /*driver*/) {
    STRACK_CHECK(false);  // only a cluster that this process runs alone has drivers
  }
};

/// `WindowsType` is the engine: threads of this process, or another that gives the same (sim/gpu).
template <class Protocol, class SwitchType,
          template <class, class, class> class WindowsType = Windows>
class ClusterOf final : public Cluster {
  using NetworkType = Network<Host<Protocol>, SwitchType>;

 public:
  ClusterOf(const SimConfig& config, workload::Workload workload)
      : config_(config),
        params_(std::make_unique<typename Protocol::Params>(params_of<Protocol>(config))),
        workload_(std::move(workload)),
        placement_(place_all(config_, workload_)),
        network_(config_),
        port_rules_(rules_of(config_)),
        recorder_(config_, workload_, network_, std::move(placement_.senders)),
        host_rules_{params_.get(), &port_rules_, recorder_.watches, placement_.jobs,
                    &network_.topology},
        guard_(network_.topology),
        cuts_(config_, network_.topology, workload_),
        sweep_(config_.sweep_after),
        windows_(network_, port_rules_, host_rules_, workers_of(config_), workload_.jobs.size()),
        lookahead_(network_.topology.smallest_latency()) {
    STRACK_CHECK(lookahead_ > ps(0));
    network_.scale_queues(port_rules_);
    STRACK_CHECK(alone() || !NetworkType::kLossless);
    for (std::uint32_t h = network_.part.first_host(); h < network_.part.end_host(); ++h)
      network_.hosts[h].prepare(std::move(placement_.hosts[h]), *host_rules_.transport);
    placement_.hosts = {};
    for (JobRun& run : placement_.jobs) run.recorded = config_.record.messages;
  }

  Ending run(Observer& observer, const std::atomic<bool>* stop) override {
    const std::unique_ptr<Exchange> exchange = windows_.make_exchange(config_.ranks, things());
    const Picoseconds interval = config_.record.interval;
    if (!resumed_) {
      recorder_.begin();
      recorder_.report_empty_jobs(observer, cuts_);
      course_.next = windows_.start();
      course_.next_sample = interval > ps(0) ? Instant{} + interval : Instant::never();
    }
    auto& [next, next_sample, hops_at_progress, cut_off] = course_;
    next = exchange->start(next, stop);
    while (true) {
      if (exchange->all_done(recorder_.all_done()))
        return finish(observer, next_sample, Ending::finished);
      if (exchange->stopped()) {
        keep(true);
        return finish(observer, next_sample, Ending::interrupted);
      }
      if (next == Instant::never() || guard_.deadlocked() || cut_off)
        return finish(observer, next_sample, Ending::stalled);
      if (next >= config_.end) {
        begin_ = config_.end;
        return finish(observer, next_sample, Ending::time_limit);
      }
      begin_ = next;
      while (next_sample <= begin_) {
        sample(observer, next_sample);
        next_sample = next_sample + interval;
      }
      // A window may end early, so that an interval ends before anything of a later one has
      // happened.
      end_ = std::min({begin_ + lookahead_, config_.end, next_sample});
      windows_.begin(end_);
      next = exchange->run_window();
      windows_.finish();
      hops_elsewhere_ = exchange->hops_elsewhere();
      windows_.for_each_report([&](HostReport& report) { recorder_.take(report); });
      recorder_.report_finished(observer, cuts_);
      sweep_receivers();
      if (recorder_.inspects() && windows_.window() % kWindowsPerReport == 0) {
        windows_.look();
        tell(observer, [&](Observer& to) { recorder_.report_events(to); });
        windows_.give_back();
      }
#if defined(STRACK_DCHECK_ENABLED) && STRACK_DCHECK_ENABLED
      if (alone()) check_conservation(network_, windows_.window());
#endif
      if constexpr (NetworkType::kLossless) {
        if (guard_.due(begin_)) {
          windows_.look();
          guard_.check(network_.switches, begin_, recorder_.bytes_acked, observer);
        }
      }
      if (cuts_.due(begin_)) cut_off = nobody_gets_through(observer);
      const std::uint64_t hops = packet_hops();
      if (hops - hops_at_progress > kProgressHops) {
        hops_at_progress = hops;
        observer.on_progress(progress());
        if (keeper_ != nullptr && keeper_->due()) keep(false);
      }
    }
  }

  [[nodiscard]] bool keep_by(Keeper& keeper) override {
    const bool driven = std::any_of(placement_.jobs.begin(), placement_.jobs.end(),
                                    [](const JobRun& run) { return run.driver != nullptr; });
    if (!kKeeps || !alone() || driven) return false;
    keeper_ = &keeper;
    return true;
  }
  [[nodiscard]] bool resume(Loader& from, Observer& observer) override {
    if (!kKeeps || !alone()) return false;
    recorder_.begin();
    state(from);
    if (!from.done()) return false;
    resumed_ = true;
    recorder_.repeat_jobs(observer);
    return true;
  }

  [[nodiscard]] metrics::Counters counters() const override {
    metrics::Counters c = of_all_ ? *of_all_ : counters_of(network_, std::max(begin_, end_));
    c.victim_flows += recorder_.victim_flows();
    c.pause_loops = guard_.loops();
    c.packet_hops = packet_hops();
    c.windows = windows_.window() - 1;
    c.acked = bytes(static_cast<std::int64_t>(recorder_.bytes_acked));
    return c;
  }
  [[nodiscard]] Instant now() const override { return std::max(begin_, end_); }
  void drive(std::uint32_t job, workload::Driver& driver) override {
    STRACK_CHECK(alone());
    STRACK_CHECK_OP(workload_.jobs[job].graph->size(), ==, 0u);
    placement_.jobs[job].driver = &driver;
    placement_.jobs[job].recorded = false;
    recorder_.drive(job);
  }
  [[nodiscard]] std::vector<metrics::LinkInfo> links() const override { return links_of(network_); }
  [[nodiscard]] std::vector<metrics::ChannelInfo> channels() const override {
    return recorder_.channels();
  }

  /// Receiving ends that there are now.
  [[nodiscard]] std::uint64_t receivers() {
    std::uint64_t all = 0;
    for (auto& host : network_.all_hosts()) {
      for (const auto& end : receivers_of(host)) {
        if (end != nullptr) ++all;
      }
    }
    return all;
  }

 private:
  /// Whether the engine's nodes are at hand between windows.
  static constexpr bool kKeeps =
      requires(WindowsType<Protocol, NetworkType, SwitchType> & windows, Saver& a) {
    windows.state(a);
  };
  /// What the loop over windows remembers from one to the next.
  struct Course {
    Instant next{};
    Instant next_sample{};
    std::uint64_t hops_at_progress = 0;
    bool cut_off = false;
  };

  /// [D117] Between two windows.
  template <class Archive>
  void state([[maybe_unused]] Archive& a) {
    if constexpr (kKeeps) {
      a(course_, begin_, end_);
      a.section("windows");
      windows_.state(a);
      network_.state(a, host_rules_, windows_.window());
      a.section("recorder");
      for (JobRun& run : placement_.jobs) a.fixed(run.waits);
      a(recorder_, guard_, cuts_);
      a.section("end");
    }
  }
  void sweep_receivers() {
    if constexpr (kKeeps && kReceiversCanGo<Protocol>) {
      if (alone() && sweep_.due(recorder_.flows_done, workload_.flows.size()))
        sweep_.run(network_, windows_.window(), recorder_.flows_done);
    }
  }
  void keep(bool stopped) {
    if (keeper_ == nullptr) return;
    keeper_->keep([this](Saver& a) { state(a); }, progress(), stopped);
  }

  static Placement place_all(const SimConfig& config, const workload::Workload& workload) {
    // A NIC's send queue: enough for messages of one packet to fill the pipe twice.
    const Bytes mtu = config.mtu();
    const Bytes bdp = derive(config.topology, config.hosts, mtu).bdp;
    const auto slots =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(2 * bdp / mtu, 16, 1'024));
    return place(workload, config.topology.hosts(), slots,
                 std::max(config.record.flows, config.record.inspect));
  }

  static PortRules rules_of(const SimConfig& config) {
    PortRules rules(config.switches, config.hosts, config.pfc);
    // [D51] One base RTT of a full packet.
    if constexpr (Protocol::kMeasuresPath)
      rules.measured_over = derive(config.topology, config.hosts, config.mtu()).base_rtt;
    return rules;
  }

  static std::uint32_t workers_of(const SimConfig& config) { return std::max(1u, config.threads); }

  [[nodiscard]] bool alone() const { return network_.part.alone(); }
  [[nodiscard]] std::uint64_t packet_hops() const {
    return windows_.packet_hops() + hops_elsewhere_;
  }
  /// Flows, and nodes of jobs: each of them is done some day.
  [[nodiscard]] std::uint64_t things() const {
    std::uint64_t all = workload_.flows.size();
    for (const workload::Job& job : workload_.jobs) all += job.graph->size();
    return all;
  }

  /// Has what(observer) tell something. Where there are several ranks all of them do so, and rank 0's observer
  /// is told.
  template <class What>
  void tell(Observer& observer, What&& what) {
    if (alone()) {
      what(observer);
      return;
    }
    Gathering told;
    what(told);
    told.gather(*config_.ranks);
    told.tell(observer);
  }

  void sample(Observer& observer, Instant time) {
    windows_.look();
    tell(observer, [&](Observer& to) { recorder_.sample(to, time); });
    windows_.give_back();
  }

  Ending finish(Observer& observer, Instant next_sample, Ending ending) {
    windows_.look();
    tell(observer, [&](Observer& to) { recorder_.report_events(to); });
    if (config_.record.interval > ps(0)) {
      const auto sample = [&](Instant time) {
        tell(observer, [&](Observer& to) { recorder_.sample(to, time); });
      };
      for (; ending == Ending::time_limit && next_sample < config_.end;
           next_sample = next_sample + config_.record.interval)
        sample(next_sample);
      // The last one may be shorter.
      sample(std::min(next_sample, std::max(end_, begin_)));
    }
    if (ending != Ending::finished) report_unfinished(observer);
    if (!alone()) of_all_ = gather(*config_.ranks, counters_of(network_, now()));
    observer.on_progress(progress());
    return ending;
  }

  /// Rank 0 knows, and tells the others.
  bool nobody_gets_through(Observer& observer) {
    const bool here = cuts_.check(begin_, recorder_.progress()) && !recorder_.all_done();
    if (here) observer.on_warning(cuts_.text());
    return alone() ? here : vote(*config_.ranks, here).first;
  }

  void report_unfinished(Observer& observer) {
    Gathering told;
    recorder_.report_unfinished_flows(told);
    if (!alone()) told.gather(*config_.ranks);
    for (metrics::FlowRecord& record : told.flows) recorder_.complete(record);
    told.tell(observer);
    recorder_.report_unfinished_jobs(observer);
  }

  [[nodiscard]] Progress progress() const {
    return {now(),
            recorder_.flows_done,
            workload_.flows.size(),
            recorder_.jobs_done,
            workload_.jobs.size(),
            recorder_.bytes_acked,
            placement_.bytes,
            packet_hops()};
  }

  static constexpr std::uint64_t kWindowsPerReport = 64;  ///< events wait so long at most
  static constexpr std::uint64_t kProgressHops = 2'000'000;

  const SimConfig config_;
  /// Hosts keep its address, so it lies where they do: on a GPU, beside the network.
  const std::unique_ptr<const typename Protocol::Params> params_;
  const workload::Workload workload_;
  Placement placement_;
  NetworkType network_;
  const PortRules port_rules_;
  Recorder<Protocol, NetworkType> recorder_;
  const HostRules<Protocol> host_rules_;
  std::conditional_t<NetworkType::kLossless, PauseGuard, NoPauseGuard> guard_;
  CutGuard cuts_;
  ReceiverSweep sweep_;
  WindowsType<Protocol, NetworkType, SwitchType> windows_;
  const Picoseconds lookahead_;
  Course course_;
  Keeper* keeper_ = nullptr;  ///< of what is to be gone on with; null: nobody
  bool resumed_ = false;
  Instant begin_{};
  Instant end_{};
  std::uint64_t hops_elsewhere_ = 0;         ///< on other ranks
  std::optional<metrics::Counters> of_all_;  ///< ranks' nodes, once the run is over
};

}  // namespace strack::sim
