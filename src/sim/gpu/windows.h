// Windows on a machine of sim/gpu/machine.h: in a cluster's eyes an engine like threads (cluster/windows.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/engine/exchange.h"
#include "sim/gpu/light_port.h"
#include "sim/gpu/machine.h"
#include "sim/gpu/nearby.h"
#include "sim/gpu/sheets.h"
#include "sim/gpu/steps.h"
#include "sim/host/host.h"
#include "sim/net/port.h"
#include "sim/net/wire.h"
#include "sim/transport.h"

namespace strack::sim::gpu {

/// The machine of the cluster that is being made, and how much there will be to tell of.
struct Booking {
  Machine* machine = nullptr;
  std::size_t flows = 0;
  std::size_t moments = 0;
  Pace pace;  ///< but for the lookahead, which is the network's
};
/// Of this thread.
[[nodiscard]] Booking& booking();

template <class Protocol, class NetworkType, class SwitchType>
class GpuWindows {
 public:
  using Rules = HostRules<Protocol>;

  GpuWindows(NetworkType& network, const PortRules& port_rules, const Rules& host_rules,
             std::uint32_t /*workers*/, std::size_t jobs)
      : machine_(*booking().machine),
        network_(network),
        desk_(std::make_unique<Desk>(network.topology, port_rules, host_rules)),
        next_event_(network.topology.hosts(), Instant::never()),
        jobs_(jobs) {
    Field<Protocol, SwitchType>& field = desk_->field;
    for (auto& owner : network.switches) {
      for (std::uint32_t p = 0; p < owner->port_count(); ++p) {
        seats_.emplace_back();
        seats_.back().owner = owner.get();
        seats_.back().port = p;
      }
    }
    field.hosts = network.hosts.get();
    field.host_count = network.topology.hosts();
    field.seats = seats_.data();
    field.seat_count = static_cast<std::uint32_t>(seats_.size());
    field.port_rules = &desk_->port_rules;
    field.host_rules = &desk_->host_rules;
    field.mail = &desk_->mail;
    field.next_event = next_event_.data();
    field.sheets.finished = make_sheet<metrics::FlowRecord>(booking().flows);
    field.sheets.deliveries = make_sheet<Delivery>(booking().flows);
    field.sheets.moments = make_sheet<MessageMoment>(booking().moments);
    field.sheets.jobs = make_sheet<JobTally>(jobs);
    field.tally = make_sheet<Tally>(1);
    field.course = make_sheet<Course>(1);
    field.pace = booking().pace;
    field.pace.lookahead = network.topology.smallest_latency();
  }
  GpuWindows(const GpuWindows&) = delete;
  GpuWindows& operator=(const GpuWindows&) = delete;

  Instant start() {
    for (std::uint32_t h = 0; h < network_.topology.hosts(); ++h)
      next_event_[h] = network_.hosts[h].next_event();
    const Instant first = *std::min_element(next_event_.begin(), next_event_.end());
    constexpr bool kTrims = requires(typename SwitchType::PortType & port) { port.trims(); };
    machine_.start({typeid(TransportOf<Protocol>).name(), kTrims, desk_->field.seat_count,
                    desk_->field.host_count, kComesNear<Protocol> ? sizeof(Nearby<Protocol>) : 0,
                    &desk_->field});
    return first;
  }

  [[nodiscard]] std::unique_ptr<Exchange> make_exchange(Ranks* /*ranks*/,
                                                        std::uint64_t /*things*/) {
    report_.jobs.resize(jobs_);
    fresh_jobs_.resize(jobs_);
    const Tally nothing;
    machine_.store(desk_->field.tally, &nothing, sizeof(Tally));
    forget_jobs();
    return std::make_unique<WindowExchange>(*this);
  }

  void look() { machine_.pull(); }
  void give_back() { machine_.push(); }

  void begin(Instant end) { end_ = end; }
  void finish() { ++window_; }

  template <class Visit>
  void for_each_report(Visit&& visit) {
    visit(report_);
  }
  [[nodiscard]] std::uint64_t packet_hops() const { return hops_; }
  [[nodiscard]] std::uint64_t window() const { return window_; }

 private:
  class WindowExchange final : public Exchange {
   public:
    explicit WindowExchange(GpuWindows& windows) : windows_(windows) {}
    Instant run_window() override { return windows_.run(); }
    /// Not while the machine is ahead.
    [[nodiscard]] bool stopped() const override {
      return Exchange::stopped() && windows_.machine_.halt();
    }

   private:
    GpuWindows& windows_;
  };

  /// What steps read beside the network, where the machine reaches it.
  struct Desk {
    Topology topology;
    typename Protocol::Params params;
    PortRules port_rules;
    HostRules<Protocol> host_rules;
    MailFlags mail;
    Field<Protocol, SwitchType> field;
    std::unique_ptr<Nearby<Protocol>> nearby;  ///< where this processor is the machine

    Desk(const Topology& t, const PortRules& ports, const HostRules<Protocol>& hosts)
        : topology(t),
          params(*hosts.transport),
          port_rules(ports),
          host_rules(hosts),
          mail(t.nodes()),
          nearby(std::make_unique<Nearby<Protocol>>()) {
      host_rules.transport = &params;
      host_rules.sizes = &port_rules;
      host_rules.topology = &topology;
    }
  };

  template <class T>
  [[nodiscard]] T* make_sheet(std::size_t rows) {
    return static_cast<T*>(machine_.make_sheet(rows * sizeof(T)));
  }

  Instant run() {
    const Tally tally = machine_.emulated() ? emulate() : machine_.run_window(window_, end_.ps);
    hops_ = tally.packet_hops;
    report_.bytes_acked += tally.bytes_acked;
    fetch(report_.finished, desk_->field.sheets.finished, tally.finished);
    fetch(report_.deliveries, desk_->field.sheets.deliveries, tally.deliveries);
    fetch(report_.moments, desk_->field.sheets.moments, tally.moments);
    if (tally.job_changes != 0) {
      machine_.fetch(fresh_jobs_.data(), desk_->field.sheets.jobs,
                     fresh_jobs_.size() * sizeof(JobTally));
      for (std::size_t j = 0; j < fresh_jobs_.size(); ++j) report_.jobs[j].add(fresh_jobs_[j]);
      forget_jobs();
    }
    return Instant{tally.next};
  }

  template <class T>
  void fetch(std::vector<T>& list, const T* sheet, std::uint32_t rows) {
    if (rows == 0) return;
    list.resize(rows);
    machine_.fetch(list.data(), sheet, rows * sizeof(T));
  }
  void forget_jobs() {
    std::fill(fresh_jobs_.begin(), fresh_jobs_.end(), JobTally{});
    if (!fresh_jobs_.empty())
      machine_.store(desk_->field.sheets.jobs, fresh_jobs_.data(),
                     fresh_jobs_.size() * sizeof(JobTally));
  }

  /// Backwards, and hosts between: in whatever order threads come, nothing may depend on it.
  Tally emulate() {
    const Machine::Turn turn(machine_);
    const Window window{window_, end_};
    const Field<Protocol, SwitchType>& field = desk_->field;
    constexpr std::uint32_t kShares = 4;
    Leaving leaving[LeavingList::kMost];
    for (std::uint32_t i = field.seat_count; i-- > 0;) {
      for (std::uint32_t s = 0; s < kShares; ++s) take(field, {i, true, s, kShares}, window);
    }
    for (std::uint32_t i = field.host_count; i-- > 0;)
      host(field, {i}, window, desk_->nearby.get());
    for (std::uint32_t i = field.seat_count; i-- > 0;) serve(field, {i}, window, {leaving, 1});
    for (std::uint32_t i = field.seat_count; i-- > 0;) keep(field, {i}, window);
    const Tally tally = close_window(*field.tally);
    // Whether a machine that had gone on by itself would have done what it was then asked for.
    if (field.course->goes_on) STRACK_CHECK_OP(end_.ps, ==, field.course->end);
    *field.course = course_after(field.pace, window_, end_.ps, tally);
    return tally;
  }

  Machine& machine_;
  NetworkType& network_;
  std::unique_ptr<Desk> desk_;
  std::vector<Instant> next_event_;  ///< by host: when it has something to do by itself
  std::vector<Seat<SwitchType>> seats_;
  std::size_t jobs_;
  HostReport report_;
  std::vector<JobTally> fresh_jobs_;
  std::uint64_t window_ = 1;
  std::uint64_t hops_ = 0;
  Instant end_{};
};

}  // namespace strack::sim::gpu
