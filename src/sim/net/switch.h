// An output-queued switch: takes a window's arrivals from all its lanes, routes each, and lets
// every port work through its share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"
#include "sim/net/plain_run.h"
#include "sim/net/port.h"
#include "sim/net/switch_base.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"

namespace strack::sim {

using SwitchScratch = ArrivalLists<NotedArrival>;

/// Of lossy ports, which drop or trim where a queue is full.
template <class PortT>
class BasicSwitch : public SwitchBase {
 public:
  using Scratch = SwitchScratch;
  using PortType = PortT;
  static constexpr bool kLossless = false;

  BasicSwitch(const SwitchInfo& info, const TopologyParams& topology, std::uint64_t salt)
      : SwitchBase(info, topology, salt), ports_(std::make_unique<PortType[]>(info.ports.size())) {}

  /// Runs one window; returns when it next has something to do by itself.
  Instant run(const PortRules& rules, WindowContext& context, Scratch& scratch) {
    scratch.prepare(port_count());
    const auto by_hash = [&](std::uint32_t, const Transit& transit) {
      const std::int32_t port = route(transit);
      if (port < 0) [[unlikely]]
        return;
      scratch.list(static_cast<std::size_t>(port))
          .push_back({transit.time, PlaceAndKind(transit.packet)});
    };
    Instant next = sprays() ? spray(rules, context, scratch) : collect(context, by_hash);
    for (std::uint32_t p = 0; p < port_count(); ++p) {
      std::vector<NotedArrival>& list = scratch.list(p);
      PortType& port = ports_[p];
      fetch_behind(p, ports_, scratch, context.window);
      if (list.empty() && port.next_event() >= context.end) {
        next = std::min(next, port.next_event());
        continue;
      }
      run_port(port, sort_arrivals(list, scratch.merged(), context.end), port.rules_here(rules),
               context);
      list.clear();
      next = std::min(next, port.next_event());
    }
    hold(context);
    return next;
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    SwitchBase::state(a);
    for (std::uint32_t p = 0; p < port_count(); ++p) a(ports_[p]);
  }

  PortType& port(std::uint32_t p) { return ports_[p]; }
  [[nodiscard]] const PortType& port(std::uint32_t p) const { return ports_[p]; }
  [[nodiscard]] std::uint64_t packets_held() const {
    std::uint64_t total = transits_held();
    for (std::uint32_t p = 0; p < port_count(); ++p) total += ports_[p].packets_held();
    return total;
  }

 private:
  void run_port(PortType& port, std::span<const NotedArrival> arrivals, const PortRules& rules,
                WindowContext& context) {
    if constexpr (PlainRun::kMayBe<PortType>) {
      if (PlainRun::fits(port)) [[likely]] {
        const std::size_t taken = PlainRun::run(port, arrivals, rules, context, fingerprint, drops);
        if (taken == arrivals.size()) [[likely]]
          return;
        arrivals = arrivals.subspan(taken);
      }
    }
    for (const NotedArrival& arrival : arrivals) {
      port.advance(arrival.time, rules, context, fingerprint, drops);
      port.take({arrival.time, &arrival.what.packet()}, rules, fingerprint, drops);
    }
    port.advance(context.end, rules, context, fingerprint, drops);
  }

  /// [D56] As collect(); ports among which the choice is by queue have then taken what is theirs.
  [[gnu::noinline]] Instant spray(const PortRules& rules, WindowContext& context,
                                  Scratch& scratch) {
    QueueSheet& queues = scratch.queues;
    note_queues(ports_, queues);
    return collect_sprayed(
        context, scratch,
        [&](std::uint32_t, const Transit& transit) { return route_or_open(transit); },
        [&](const SprayArrival& a) {
          scratch.list(static_cast<std::size_t>(a.egress))
              .push_back({a.time, PlaceAndKind(*a.packet)});
        },
        [&](std::uint32_t p, Instant now) {
          if (queues.next[p] < now) {
            ports_[p].advance(now, ports_[p].rules_here(rules), context, fingerprint, drops);
            queues.note(p, ports_[p]);
          }
          return queues.load[p];
        },
        [&](const SprayArrival& a) {
          const auto p = static_cast<std::uint32_t>(a.egress);
          PortType& port = ports_[p];
          const PortRules& here = port.rules_here(rules);
          port.advance(a.time, here, context, fingerprint, drops);
          port.take({a.time, a.packet}, here, fingerprint, drops);
          queues.note(p, port);
        });
  }

  std::unique_ptr<PortType[]> ports_;
};

using Switch = BasicSwitch<Port>;

}  // namespace strack::sim
