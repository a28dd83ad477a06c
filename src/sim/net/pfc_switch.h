// A lossless switch: output queues as in Switch, a buffer that all ports share, and priority flow
// control of the links that bring more than it can hold.
//
// The buffer couples the ports, so order in time between them counts. At one instant: arrivals (by
// port, then as they come), with the XOFF they ask for; then ports by number, each a departure, with
// the XONs it allows, or the end of a pause it was held by; then refreshes of XOFFs.
//
// In most windows, though, nothing of the kind can happen: no link is paused by us, and what arrives
// cannot bring any port to the threshold, in whatever order. Then each port works on its own, as in
// a lossy switch, with the same result to the bit: sums do not depend on order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/net/pfc_port.h"
#include "sim/net/shared_buffer.h"
#include "sim/net/switch_base.h"
#include "sim/net/topology.h"
#include "sim/net/tournament.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// A thread's working memory for lossless switches.
struct PfcScratch : ArrivalLists<PfcArrival> {
  std::vector<PfcArrival> all;
  Tournament ports;
};

/// Ports measure how full their links are where the transport asks for it.
template <class Meter>
class BasicPfcSwitch : public SwitchBase {
 public:
  using Scratch = PfcScratch;
  using PortType = BasicPfcPort<Meter>;
  static constexpr bool kLossless = true;

  BasicPfcSwitch(const SwitchInfo& info, const TopologyParams& topology, std::uint64_t salt,
                 const SharedBufferParams& buffer)
      : SwitchBase(info, topology, salt),
        ports_(std::make_unique<PortType[]>(info.ports.size())),
        buffer_(buffer),
        max_packet_(buffer.max_packet.value),
        next_event_(info.ports.size(), Instant::never()),
        refresh_at_(info.ports.size(), Instant::never()) {
    STRACK_CHECK_OP(info.ports.size(), ==, buffer.headroom.size());
    STRACK_CHECK_OP(info.ports.size(), <=, kMaxPorts);
  }

  /// Runs one window; returns when it next has something to do by itself.
  Instant run(const PortRules& rules, WindowContext& context, Scratch& scratch) {
    return run(order_matters(context.window), rules, context, scratch);
  }

  // ---- In parts, for engines that run its ports beside each other (switch_base.h) ----

  /// What may come in a window, as far as some of its ports can tell.
  struct Outlook {
    std::int64_t most = 0;            ///< bytes that a port may come to hold
    std::int64_t packets = 0;         ///< that may arrive
    Instant next = Instant::never();  ///< a port's next event
  };
  /// As far as each `step`-th port can, from `first` on.
  [[nodiscard]] Outlook outlook(std::uint64_t window, std::uint32_t first = 0,
                                std::uint32_t step = 1) const {
    Outlook seen;
    for (std::uint32_t i = first; i < port_count(); i += step) {
      seen.next = std::min(seen.next, next_event_[i]);
      const auto count = static_cast<std::int64_t>(arrivals_at_most(i, window));
      if (count == 0) continue;
      seen.packets += count;
      // Coarse and cheap: as if all that arrives were data packets of the largest size.
      seen.most = std::max(seen.most, buffer_.bytes_of(i) + count * max_packet_);
    }
    return seen;
  }
  /// Whether the window must be run event by event; `all` is what all ports can tell.
  [[nodiscard]] bool order_matters(const Outlook& all) const {
    return always_in_order_ || !buffer_.paused_ports().empty() ||
           !buffer_.stays_below(all.most, all.packets * max_packet_);
  }
  /// run() where that is known.
  Instant run(bool in_order, const PortRules& rules, WindowContext& context, Scratch& scratch) {
    if (in_order) ++windows_in_order_;
    const Instant next =
        in_order ? run_in_order(rules, context, scratch) : run_apart(rules, context, scratch);
    buffer_.note_use();
    return next;
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    SwitchBase::state(a);
    for (std::uint32_t p = 0; p < port_count(); ++p) a(ports_[p]);
    a(buffer_);
    a.fixed(next_event_);
    a.fixed(refresh_at_);
    a(next_refresh_, windows_in_order_);
    static_assert(sizeof(BasicPfcSwitch) == sizeof(SwitchBase) + 216, "list what is new");
  }

  /// A port's next event; to be noted again by whoever has run it.
  [[nodiscard]] Instant next_event(std::uint32_t p) const { return next_event_[p]; }
  void note_next_event(std::uint32_t p) { next_event_[p] = ports_[p].next_event(); }
  [[nodiscard]] Instant next_refresh() const { return next_refresh_; }
  [[nodiscard]] SharedBuffer& buffer() { return buffer_; }

  PortType& port(std::uint32_t p) { return ports_[p]; }
  [[nodiscard]] const PortType& port(std::uint32_t p) const { return ports_[p]; }
  [[nodiscard]] const SharedBuffer& buffer() const { return buffer_; }
  [[nodiscard]] std::uint64_t packets_held() const {
    std::uint64_t total = transits_held();
    for (std::uint32_t p = 0; p < port_count(); ++p) total += ports_[p].packets_held();
    return total;
  }
  /// Pause frames are made and consumed by switches: what conservation must count besides the hosts'
  /// packets.
  [[nodiscard]] std::uint64_t pauses_sent() const {
    std::uint64_t total = 0;
    for (std::uint32_t p = 0; p < port_count(); ++p) total += ports_[p].pauses_sent();
    return total;
  }
  [[nodiscard]] std::uint64_t pauses_received() const {
    std::uint64_t total = 0;
    for (std::uint32_t p = 0; p < port_count(); ++p) total += ports_[p].pauses_received();
    return total;
  }

  /// For tests: every window in order of time, though it need not be.
  void always_in_order(bool always) { always_in_order_ = always; }
  [[nodiscard]] std::uint64_t windows_in_order() const { return windows_in_order_; }

 private:
  [[nodiscard]] bool order_matters(std::uint64_t window) const {
    if (always_in_order_ || !buffer_.paused_ports().empty()) return true;
    return order_matters(outlook(window));
  }

  /// The port a packet goes to, or -1: a pause frame is for the very port it comes in by.
  [[nodiscard]] std::int32_t egress_of(std::uint32_t ingress, const Transit& transit) {
    if (transit.packet.is_pause()) [[unlikely]]
      return static_cast<std::int32_t>(ingress);
    return route(transit);
  }
  /// The same of a switch that sprays: kOpen, where its turn must come first.
  [[nodiscard]] std::int32_t egress_or_open(std::uint32_t ingress, const Transit& transit) {
    if (transit.packet.is_pause()) [[unlikely]]
      return static_cast<std::int32_t>(ingress);
    return route_or_open(transit);
  }

  Instant run_apart(const PortRules& rules, WindowContext& context, Scratch& scratch) {
    scratch.prepare(port_count());
    Instant next = sprays() ? spray(rules, context, scratch)
                            : collect(context, [&](std::uint32_t ingress, const Transit& transit) {
                                const std::int32_t egress = egress_of(ingress, transit);
                                if (egress < 0) [[unlikely]]
                                  return;
                                scratch.list(static_cast<std::size_t>(egress))
                                    .push_back({transit.time, &transit.packet, ingress,
                                                static_cast<std::uint32_t>(egress)});
                              });
    for (std::uint32_t p = 0; p < port_count(); ++p) {
      std::vector<PfcArrival>& list = scratch.list(p);
      fetch_behind(p, ports_, scratch, context.window);
      if (!list.empty() || next_event_[p] < context.end) {
        ports_[p].run(sort_arrivals(list, scratch.merged(), context.end), rules, context,
                      fingerprint, drops, buffer_);
        list.clear();
        next_event_[p] = ports_[p].next_event();
      }
      next = std::min(next, next_event_[p]);
    }
    hold(context);
    return next;
  }

  /// [D56] As collect(); ports among which the choice is by queue have then taken what is theirs.
  [[gnu::noinline]] Instant spray(const PortRules& rules, WindowContext& context,
                                  Scratch& scratch) {
    QueueSheet& queues = scratch.queues;
    note_queues(ports_, queues);
    const auto arrival_of = [](const SprayArrival& a) {
      return PfcArrival{a.time, a.packet, a.ingress, static_cast<std::uint32_t>(a.egress)};
    };
    return collect_sprayed(
        context, scratch,
        [&](std::uint32_t ingress, const Transit& transit) {
          return egress_or_open(ingress, transit);
        },
        [&](const SprayArrival& a) {
          scratch.list(static_cast<std::size_t>(a.egress)).push_back(arrival_of(a));
        },
        [&](std::uint32_t p, Instant now) {
          if (queues.next[p] < now) {
            ports_[p].advance(now, rules, context, fingerprint, drops, buffer_);
            queues.note(p, ports_[p]);
            next_event_[p] = queues.next[p];
          }
          return queues.load[p];
        },
        [&](const SprayArrival& a) {
          const auto p = static_cast<std::uint32_t>(a.egress);
          ports_[p].advance(a.time, rules, context, fingerprint, drops, buffer_);
          ports_[p].take(arrival_of(a), rules, buffer_);
          queues.note(p, ports_[p]);
          next_event_[p] = queues.next[p];
        });
  }

  Instant run_in_order(const PortRules& rules, WindowContext& context, Scratch& scratch) {
    std::vector<PfcArrival>& all = scratch.all;
    const Instant held = collect(context, [&](std::uint32_t ingress, const Transit& transit) {
      const std::int32_t egress =
          sprays() ? egress_or_open(ingress, transit) : egress_of(ingress, transit);
      if (egress == kNone) [[unlikely]]
        return;
      all.push_back({transit.time, &transit.packet, ingress, static_cast<std::uint32_t>(egress)});
    });
    const std::span<PfcArrival> list = sort_arrivals(all, scratch.merged(), context.end);
    Tournament& turn = scratch.ports;
    turn.reset(port_count());
    for (std::uint32_t p = 0; p < port_count(); ++p) turn.place(p, next_event_[p]);
    turn.build();

    std::size_t taken = 0;
    while (true) {
      const Instant arrival = taken < list.size() ? list[taken].time : Instant::never();
      const Instant first = std::min(turn.time(), next_refresh_);
      if (arrival <= first) {
        if (arrival == Instant::never()) break;
        arrive(list[taken++], rules, turn);
      } else if (first >= context.end) {
        break;
      } else if (turn.time() == first) {
        depart(turn.who(), rules, context, turn);
      } else {
        refresh(first, rules, turn);
      }
    }
    all.clear();
    hold(context);
    for (std::uint32_t p = 0; p < port_count(); ++p) next_event_[p] = turn.time_of(p);
    next_refresh_ = Instant::never();
    for (const std::uint32_t i : buffer_.paused_ports())
      next_refresh_ = std::min(next_refresh_, refresh_at_[i]);
    return std::min({held, turn.time(), next_refresh_});
  }

  void arrive(PfcArrival& arrival, const PortRules& rules, Tournament& turn) {
    const SimPacket& packet = *arrival.packet;
    if (arrival.egress == static_cast<std::uint32_t>(kOpen)) {
      arrival.egress = choose(choice_of(packet, arrival.time),
                              [this](std::uint32_t port) { return ports_[port].load(); });
    }
    PortType& port = ports_[arrival.egress];
    if (packet.is_control()) {
      port.accept_control(packet, arrival.time, rules);
    } else {
      const std::int64_t size = rules.wire_size(packet);
      const SharedBuffer::Verdict verdict = buffer_.admit(arrival.ingress, size);
      if (buffer_.must_pause(arrival.ingress, verdict)) {  // [R.pfc.xoff]
        buffer_.pause(arrival.ingress);
        send_xoff(arrival.ingress, arrival.time, rules, turn);
      }
      if (verdict == SharedBuffer::Verdict::dropped) [[unlikely]] {  // [R.pfc.violation]
        ++drops.violation;
        port.count_drop(size);
        fingerprint.add(packet, arrival.time);
        return;
      }
      port.accept_data(packet, size, arrival.ingress, arrival.time);
    }
    turn.update(arrival.egress, port.next_event());
  }

  void depart(std::uint32_t p, const PortRules& rules, WindowContext& context, Tournament& turn) {
    PortType& port = ports_[p];
    const Instant now = port.next_event();
    if (port.in_service() && port.finish(rules, context, fingerprint, drops, buffer_)) {
      // [R.pfc.xon] [D36] Every departure raises the threshold for all. A frame for this very port is in
      // time to be the next to leave.
      buffer_.resume_all([&](std::uint32_t ingress) {
        fingerprint.add(~std::uint64_t{ingress}, now);
        ports_[ingress].send_pause(ps(0), now, rules);
        turn.update(ingress, ports_[ingress].next_event());
      });
    }
    port.start_next(now, rules);
    turn.update(p, port.next_event());
  }

  void send_xoff(std::uint32_t ingress, Instant now, const PortRules& rules, Tournament& turn) {
    PortType& port = ports_[ingress];
    const Picoseconds time = port.wire.byte_time(rules.pause_bytes);
    STRACK_CHECK_OP(time.value, >, 1);
    fingerprint.add(ingress, now);
    port.send_pause(time, now, rules);
    turn.update(ingress, port.next_event());
    refresh_at_[ingress] = now + time / 2;  // [R.pfc.expiry]
    next_refresh_ = std::min(next_refresh_, refresh_at_[ingress]);
  }

  /// [R.pfc.expiry] XOFFs that still hold are sent again before they lapse.
  void refresh(Instant now, const PortRules& rules, Tournament& turn) {
    next_refresh_ = Instant::never();
    for (const std::uint32_t i : buffer_.paused_ports()) {
      if (refresh_at_[i] <= now) send_xoff(i, now, rules, turn);
      next_refresh_ = std::min(next_refresh_, refresh_at_[i]);
    }
  }

  std::unique_ptr<PortType[]> ports_;
  SharedBuffer buffer_;
  std::int64_t max_packet_;
  std::vector<Instant> next_event_;  ///< by port; side by side, so that idle ports are not touched
  std::vector<Instant> refresh_at_;  ///< by port; of those that are paused
  Instant next_refresh_ = Instant::never();
  bool always_in_order_ = false;
  std::uint64_t windows_in_order_ = 0;
};

using PfcSwitch = BasicPfcSwitch<NoMeter>;

}  // namespace strack::sim
