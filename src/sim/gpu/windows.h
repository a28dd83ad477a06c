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
#include "sim/gpu/lossless_steps.h"
#include "sim/gpu/machine.h"
#include "sim/gpu/nearby.h"
#include "sim/gpu/sheets.h"
#include "sim/gpu/steps.h"
#include "sim/gpu/turns.h"
#include "sim/gpu/whole_switch.h"
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
  bool has_priorities = false;
};
/// Of this thread.
[[nodiscard]] Booking& booking();

template <class Protocol, class NetworkType, class SwitchType>
class GpuWindows {
 public:
  using Rules = HostRules<Protocol>;
  static constexpr bool kLossless = SwitchType::kLossless;

  GpuWindows(NetworkType& network, const PortRules& port_rules, const Rules& host_rules,
             std::uint32_t /*workers*/, std::size_t jobs)
      : machine_(*booking().machine),
        network_(network),
        desk_(std::make_unique<Desk>(network.topology, port_rules, host_rules)),
        next_event_(network.topology.hosts(), Instant::never()),
        posts_(kReceivesApart<Protocol> && !kLossless && jobs == 0 &&
                       !network.topology.params().has_servers()
                   ? 2 * network.topology.hosts()
                   : 0),
        ahead_(posts_.size() / 2),
        jobs_(jobs) {
    Field<Protocol, SwitchType>& field = desk_->field;
    seat_all();
    field.hosts = network.hosts.get();
    field.host_count = network.topology.hosts();
    field.seats = seats_.data();
    field.seat_count = static_cast<std::uint32_t>(seats_.size());
    field.switches = switches_.data();
    field.switch_count = static_cast<std::uint32_t>(switches_.size());
    field.turn_switches = turn_switches_.data();
    field.turn_switch_count = static_cast<std::uint32_t>(turn_switches_.size());
    field.port_rules = &desk_->port_rules;
    field.host_rules = &desk_->host_rules;
    field.mail = &desk_->mail;
    field.next_event = next_event_.data();
    field.posts = posts_.data();
    field.ahead = ahead_.data();
    field.sheets.finished = make_sheet<metrics::FlowRecord>(booking().flows);
    field.sheets.deliveries = make_sheet<Delivery>(booking().flows);
    field.sheets.moments = make_sheet<MessageMoment>(booking().moments);
    field.sheets.jobs = make_sheet<JobTally>(jobs);
    flows_ = booking().flows;
    if (kLossless) field.sheets.victims = make_sheet<std::uint32_t>(flows_);
    field.tally = make_sheet<Tally>(1);
    field.course = make_sheet<Course>(1);
    field.has_priorities = booking().has_priorities;
    field.pace = booking().pace;
    field.pace.waits = field.pace.waits || kLossless;  // whoever looks for rings of pauses
    field.pace.lookahead = network.topology.smallest_latency();
  }
  GpuWindows(const GpuWindows&) = delete;
  GpuWindows& operator=(const GpuWindows&) = delete;

  Instant start() {
    for (std::uint32_t h = 0; h < network_.topology.hosts(); ++h)
      next_event_[h] = network_.hosts[h].next_event();
    const Instant first = *std::min_element(next_event_.begin(), next_event_.end());
    constexpr bool kTrims = requires(typename SwitchType::PortType & port) { port.trims(); };
    Layout layout;
    layout.transport = typeid(TransportOf<Protocol>).name();
    layout.trims = kTrims;
    layout.pauses = kLossless;
    layout.seats = desk_->field.seat_count;
    layout.switches = desk_->field.switch_count;
    layout.turn_switches = desk_->field.turn_switch_count;
    layout.hosts = desk_->field.host_count;
    layout.apart = apart();
    layout.ahead = apart() && kReceivesAhead<Protocol>;
    if (kComesNear<Protocol>)
      layout.nearby = apart() ? sizeof(Nearby<Protocol, true>) : sizeof(Nearby<Protocol>);
    layout.nearby_receiver = sizeof(NearbyReceiver<Protocol>);
    layout.field = &desk_->field;
    machine_.start(layout);
    return first;
  }

  [[nodiscard]] std::unique_ptr<Exchange> make_exchange(Ranks* /*ranks*/,
                                                        std::uint64_t /*things*/) {
    report_.jobs.resize(jobs_);
    fresh_jobs_.resize(jobs_);
    if (kLossless) {
      victims_.resize(flows_);
      fresh_victims_.resize(flows_);
    }
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
    // Where this processor is the machine:
    std::unique_ptr<Nearby<Protocol>> nearby;
    std::unique_ptr<NearbyReceiver<Protocol>> nearby_receiver;
    std::unique_ptr<Nearby<Protocol, true>> nearby_apart;

    Desk(const Topology& t, const PortRules& ports, const HostRules<Protocol>& hosts)
        : topology(t),
          params(*hosts.transport),
          port_rules(ports),
          host_rules(hosts),
          mail(t.nodes()),
          nearby(std::make_unique<Nearby<Protocol>>()),
          nearby_receiver(std::make_unique<NearbyReceiver<Protocol>>()),
          nearby_apart(std::make_unique<Nearby<Protocol, true>>()) {
      host_rules.transport = &params;
      host_rules.sizes = &port_rules;
      host_rules.topology = &topology;
    }
  };

  /// A seat for each port, and a place for each switch that has to be looked at as a whole. Lists are done before
  /// anything points into them.
  void seat_all() {
    NodeId node = network_.topology.hosts();
    for (auto& owner : network_.switches) {
      const auto first = static_cast<std::uint32_t>(seats_.size());
      const bool by_turns = !kLossless && owner->sprays() && !owner->chooses_by_queues();
      for (std::uint32_t p = 0; p < owner->port_count(); ++p) {
        Seat<SwitchType>& seat = seats_.emplace_back();
        seat.owner = owner.get();
        seat.in = owner->in(p);
        seat.port = p;
        seat.is_part = owner->sprays() && !by_turns;
      }
      if (by_turns) {
        turn_switches_.push_back({owner.get(), first, {}});
      } else if (kLossless || owner->sprays()) {
        WholeSwitch<SwitchType>& whole = switches_.emplace_back();
        whole.owner = owner.get();
        whole.node = node;
        whole.first_seat = first;
      }
      ++node;
    }
    for (TurnSwitch& one : turn_switches_) {
      for (std::uint32_t p = 0; p < one.owner->port_count(); ++p)
        seats_[one.first_seat + p].turns = &one.turns;
    }
  }

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
    if (tally.victims != 0) tell_of_victims();
    return Instant{tally.next};
  }

  template <class T>
  void fetch(std::vector<T>& list, const T* sheet, std::uint32_t rows) {
    if (rows == 0) return;
    list.resize(rows);
    machine_.fetch(list.data(), sheet, rows * sizeof(T));
  }
  /// The sheet counts all of them.
  void tell_of_victims() {
    machine_.fetch(fresh_victims_.data(), desk_->field.sheets.victims,
                   fresh_victims_.size() * sizeof(std::uint32_t));
    for (std::uint32_t flow = 0; flow < victims_.size(); ++flow)
      report_.victims.insert(report_.victims.end(), fresh_victims_[flow] - victims_[flow], flow);
    victims_ = fresh_victims_;
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
    if constexpr (kLossless) {
      for (std::uint32_t i = field.switch_count; i-- > 0;) weigh(field, {i}, window);
    }
    for (std::uint32_t i = field.seat_count; i-- > 0;) {
      for (std::uint32_t s = 0; s < kShares; ++s) take(field, {i, true, s, kShares}, window);
    }
    for (std::uint32_t i = field.turn_switch_count; i-- > 0;) take_turns(field, {i}, window);
    if (apart()) {
      // What is received ahead is so beside what is sent, and after it as well as before it.
      for (std::uint32_t i = field.host_count; i-- > 0;)
        receive(field, {i}, window, desk_->nearby_receiver.get());
      const bool sends_first = window_ % 3 == 0;
      if (sends_first) emulate_sending(window);
      for (std::uint32_t i = field.switch_count; i-- > 0;) run_whole(field, {i}, window);
      emulate_ports(field, window);
      for (std::uint32_t i = field.host_count; i-- > 0;)
        receive_ahead(field, {i}, window, desk_->nearby_receiver.get());
      if (!sends_first) emulate_sending(window);
    } else {
      for (std::uint32_t i = field.host_count; i-- > 0;)
        host<false>(field, {i}, window, desk_->nearby.get());
      for (std::uint32_t i = field.switch_count; i-- > 0;) run_whole(field, {i}, window);
      emulate_ports(field, window);
    }
    const Tally tally = close_window(*field.tally);
    // Whether a machine that had gone on by itself would have done what it was then asked for.
    if (field.course->goes_on) STRACK_CHECK_OP(end_.ps, ==, field.course->end);
    *field.course = course_after(field.pace, window_, end_.ps, tally);
    return tally;
  }

  static void emulate_ports(const Field<Protocol, SwitchType>& field, const Window& window) {
    if constexpr (kLossless) {
      for (std::uint32_t i = field.seat_count; i-- > 0;) serve_lossless(field, {i}, window);
      for (std::uint32_t i = field.seat_count; i-- > 0;) keep_lossless(field, {i}, window);
    } else {
      alignas(Leaving) std::byte desktop[Desktop::kBytes];
      for (std::uint32_t i = field.seat_count; i-- > 0;)
        serve(field, {i}, window, Desktop::of(desktop, 1, 0));
      for (std::uint32_t i = field.seat_count; i-- > 0;) keep(field, {i}, window);
    }
  }
  void emulate_sending(const Window& window) {
    const Field<Protocol, SwitchType>& field = desk_->field;
    for (std::uint32_t i = field.host_count; i-- > 0;)
      send(field, {i}, window, desk_->nearby_apart.get());
  }
  [[nodiscard]] bool apart() const { return !posts_.empty(); }

  Machine& machine_;
  NetworkType& network_;
  std::unique_ptr<Desk> desk_;
  std::vector<Instant> next_event_;  ///< by host: when it has something to do by itself
  std::vector<Seat<SwitchType>> seats_;
  std::vector<WholeSwitch<SwitchType>> switches_;
  std::vector<TurnSwitch> turn_switches_;
  std::vector<Post>
      posts_;  ///< by host, where receiving ends work apart: no job waits for what they get,
               ///< nothing is paused, and all comes by the network; two for each
  std::vector<Ahead<typename HostInStep<Protocol>::IncomingEnd>> ahead_;  ///< likewise
  std::size_t jobs_;
  std::size_t flows_ = 0;
  std::vector<std::uint32_t> victims_;  ///< by flow: as many have been told of
  std::vector<std::uint32_t> fresh_victims_;
  HostReport report_;
  std::vector<JobTally> fresh_jobs_;
  std::uint64_t window_ = 1;
  std::uint64_t hops_ = 0;
  Instant end_{};
};

}  // namespace strack::sim::gpu
