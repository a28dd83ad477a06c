// A window on a GPU, as steps that each thread takes for one port or one host.
//
//   take    what has come by a port is looked at, packet by packet, and noted at the port it leaves by
//   serve   a port sorts what was noted for it, and works through its window as on any engine
//   keep    what came too early is kept for a later window
//   host    a host runs its window; beside the three others, which it shares nothing with. Where that can be, its
//           receiving ends *receive* first, and then the rest of it *sends*; most of what there is to receive then has
//           been *received ahead*, beside what was sent in the window before
//
// Switches at which order between ports counts are another matter: whole_switch.h.
//
// All of it is the code that threads of a CPU run, and on the same objects (sim/cluster/network.h): memory
// has one address on both sides. Only who does what when is different, and results do not depend on that:
// what is noted at a port is sorted by time and, at one time, by the port it came in by, as a CPU finds it.
//
// A port has room for more than ever were noted for it in one window. Where there are more still, nothing is
// lost: its warp looks for them, and makes room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/gpu/light_port.h"
#include "sim/gpu/nearby.h"
#include "sim/gpu/notes.h"
#include "sim/gpu/sheets.h"
#include "sim/host/host.h"
#include "sim/net/port.h"
#include "sim/net/switch_base.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

/// What is noted for a port in a window.
struct Inbox {
  Note* list = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t count = 0;  ///< also of those that found no room

  /// Ahead of need, while nothing is noted: whoever finds no room costs everybody a window of waiting.
  void make_room(std::uint32_t noted) {
    if (noted <= capacity / 4 * 3) [[likely]]
      return;
    if (capacity == 0) capacity = kFirst;
    while (noted > capacity / 4 * 3) capacity *= 2;
    ::operator delete(list);
    list = static_cast<Note*>(::operator new(capacity * sizeof(Note)));
  }

 private:
  static constexpr std::uint32_t kFirst = 64;
};

/// By all threads at once. What finds no room is counted.
inline void note_at(Inbox& inbox, const Note& note) {
  const std::uint32_t place = fetch_add(inbox.count, 1u);
  if (place < inbox.capacity) inbox.list[place] = note;
}

/// What a switch has chosen for packets that it does not hash; they are noted apart first.
struct TakenTurns {
  Inbox inbox;
  Note* sorted = nullptr;
  SwitchBase::Choice* choices = nullptr;
  std::uint16_t* chosen = nullptr;  ///< the egress port
  std::uint32_t room = 0;           ///< of the three
  std::uint32_t count = 0;          ///< of this window
};

/// A port of a switch, by its number among all: what arrives by it, and what leaves by it.
template <class SwitchType>
struct Seat {
  SwitchType* owner = nullptr;
  const Lane* in = nullptr;
  std::uint32_t port = 0;
  std::uint32_t taken = 0;  ///< of what has come by it, in this window
  bool keeps = false;       ///< something is left
  bool holds = false;       ///< of earlier windows
  bool is_part = false;     ///< the switch runs as a whole in this window (whole_switch.h)
  Inbox inbox;
  TakenTurns* turns = nullptr;  ///< of a switch whose packets take them (turns.h)
};

template <class SwitchType>
struct WholeSwitch;  // whole_switch.h
struct TurnSwitch;   // turns.h

/// All that steps work on.
template <class Protocol, class SwitchType>
struct Field {
  Host<Protocol>* hosts = nullptr;
  std::uint32_t host_count = 0;
  Seat<SwitchType>* seats = nullptr;  ///< a switch's ports are neighbours
  std::uint32_t seat_count = 0;
  WholeSwitch<SwitchType>* switches = nullptr;  ///< those that may have to run as a whole
  std::uint32_t switch_count = 0;
  TurnSwitch* turn_switches = nullptr;  ///< those whose packets take turns
  std::uint32_t turn_switch_count = 0;
  const PortRules* port_rules = nullptr;
  const HostRules<Protocol>* host_rules = nullptr;
  Post* posts =
      nullptr;  ///< by host, where receiving ends work apart: of this window, and of the next
  Ahead<typename HostInStep<Protocol>::IncomingEnd>* ahead = nullptr;  ///< likewise
  MailFlags* mail = nullptr;
  Instant* next_event = nullptr;  ///< by host
  Sheets sheets;
  Tally* tally = nullptr;
  Course* course = nullptr;
  Pace pace;
  bool has_priorities = false;  ///< [D116] some packets do

  [[nodiscard]] Post& post_of(std::uint32_t host, std::uint64_t window) const {
    return posts[2 * host + (window & 1)];
  }
};

struct Window {
  std::uint64_t number = 0;
  Instant end{};
};

/// What a thread works on. Threads of a warp go through steps side by side, and where their ways part they
/// take turns; so each loop begins with all of them, those who have nothing to do included.
struct Item {
  std::uint32_t number = 0;
  bool is_one = true;       ///< otherwise the thread is there for the others
  std::uint32_t share = 0;  ///< of several threads that share it, which
  std::uint32_t shares = 1;
};

// ---- Steps ----

/// The port that a packet leaves by, or SwitchBase::kNone. A pause frame is for the very port it comes in by.
template <class SwitchType>
[[nodiscard]] std::int32_t way_of(const SwitchType& owner, std::uint32_t ingress,
                                  const Transit& transit) {
  if constexpr (SwitchType::kLossless) {
    if (transit.packet.is_pause()) [[unlikely]]
      return static_cast<std::int32_t>(ingress);
  }
  return owner.route(transit.packet, transit.time);
}

/// A packet that no port leads on for.
template <class SwitchType>
void drop_unrouted(SwitchType& owner, const Transit& transit) {
  Fingerprint fingerprint;
  fingerprint.add(transit.packet, transit.time);
  fetch_add(owner.drops.no_route, std::uint64_t{1});
  fetch_add(owner.fingerprint.sum(), fingerprint.value());
}

template <class Protocol, class SwitchType>
void take(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  Seat<SwitchType>& seat = field.seats[item.number];
  if (!item.is_one || seat.is_part) return;
  Seat<SwitchType>* const first = field.seats + (item.number - seat.port);
  SwitchBase::Gathered arrivals;
  if (seat.holds) {
    arrivals = seat.owner->gathered(seat.port, window.number);
  } else {
    arrivals.fresh = seat.in->arrivals(window.number);
  }
  const auto size = static_cast<std::uint32_t>(arrivals.size());
  std::uint32_t at = item.share;
  for (; at < size && arrivals[at].time < window.end; at += item.shares) {
    const Transit& transit = arrivals[at];
    if (seat.turns != nullptr && seat.owner->is_open(transit.packet, transit.time)) {
      note_at(seat.turns->inbox,
              Note(transit, seat.port, field.port_rules->wire_size(transit.packet), window.end));
      continue;
    }
    const std::int32_t port = way_of(*seat.owner, seat.port, transit);
    if (port < 0) [[unlikely]] {
      drop_unrouted(*seat.owner, transit);
      continue;
    }
    note_at(first[port].inbox,
            Note(transit, seat.port, field.port_rules->wire_size(transit.packet), window.end));
  }
  // One of those who share it stands at the first that is left, and tells; the others are beyond.
  if (at > size || (at > 0 && arrivals[at - 1].time >= window.end)) return;
  if (at < size) lower_to(field.tally->next, arrivals[at].time.ps);
  seat.taken = at;
  seat.keeps = at < size || seat.holds;
}

/// More was noted for this port than it has room for: room is made, and all threads of a warp look for it.
template <class SwitchType>
void find_again(Seat<SwitchType>& seat, const PortRules& rules, const Window& window) {
  Inbox& inbox = seat.inbox;
  const std::uint32_t noted = inbox.count;
  wait_for_others();
  if (lane() == 0) {
    inbox.make_room(noted);
    inbox.count = 0;
  }
  wait_for_others();
  const Seat<SwitchType>* const first = &seat - seat.port;
  for (std::uint32_t i = lane(); i < seat.owner->port_count(); i += kLanes) {
    const SwitchBase::Gathered arrivals = seat.owner->gathered(i, window.number);
    for (std::uint32_t t = 0; t < first[i].taken; ++t) {
      const Transit& transit = arrivals[t];
      if (seat.turns != nullptr && seat.owner->is_open(transit.packet, transit.time)) continue;
      if (way_of(*seat.owner, i, transit) == static_cast<std::int32_t>(seat.port))
        inbox.list[fetch_add(inbox.count, 1u)] =
            Note(transit, i, rules.wire_size(transit.packet), window.end);
    }
  }
  const std::uint32_t chosen = seat.turns != nullptr ? seat.turns->count : 0;
  for (std::uint32_t i = lane(); i < chosen; i += kLanes) {
    if (seat.turns->chosen[i] == seat.port)
      inbox.list[fetch_add(inbox.count, 1u)] = seat.turns->sorted[i];
  }
  wait_for_others();
  STRACK_CHECK_OP(inbox.count, ==, noted);
}

/// What was noted for a port; all threads of a warp come here.
template <class SwitchType>
std::span<Note> whole_inbox(bool is_awake, Seat<SwitchType>& seat, const PortRules& rules,
                            const Window& window) {
  Inbox& inbox = seat.inbox;
  const std::uint32_t count = is_awake ? inbox.count : 0;
  std::uint32_t lacking = ballot(is_awake && count > inbox.capacity);
  for (; lacking != 0; lacking &= lacking - 1) {
    const std::uint64_t whose = of_lane(reinterpret_cast<std::uintptr_t>(&seat),
                                        static_cast<std::uint32_t>(std::countr_zero(lacking)));
    find_again(*reinterpret_cast<Seat<SwitchType>*>(whose), rules, window);
  }
  if (count != 0) inbox.count = 0;
  return {is_awake ? inbox.list : nullptr, count};
}
/// The same, in order.
template <class SwitchType>
std::span<const Note> sorted_inbox(bool is_awake, Seat<SwitchType>& seat, const PortRules& rules,
                                   const Window& window) {
  const std::span<Note> notes = whole_inbox(is_awake, seat, rules, window);
  sort_together(notes.data(), static_cast<std::uint32_t>(notes.size()), {}, false);
  return notes;
}

inline WindowContext context_of(const Window& window, MailFlags* mail) {
  WindowContext context;
  context.window = window.number;
  context.end = window.end;
  context.mail = mail;
  return context;
}

/// Of a thread's window, by all threads of a warp at once: one speaks for them.
inline void tell(Tally& tally, std::uint64_t packet_hops, Instant next) {
  const std::uint64_t hops = sum_of_all(static_cast<std::uint32_t>(packet_hops));
  const std::int64_t first = least_of_all(next.ps);
  if (lane() != 0) return;
  if (hops != 0) fetch_add(tally.packet_hops, hops);
  lower_to(tally.next, first);
}

/// What a port's window came to, for its switch.
template <class SwitchType>
void add_up(SwitchType& owner, const Fingerprint& fingerprint, const DropCounts& drops) {
  if (fingerprint.value() != 0) fetch_add(owner.fingerprint.sum(), fingerprint.value());
  if (drops.queue != 0) fetch_add(owner.drops.queue, drops.queue);
  if (drops.failure != 0) fetch_add(owner.drops.failure, drops.failure);
  if (drops.error != 0) fetch_add(owner.drops.error, drops.error);
}

template <class Protocol, class SwitchType>
void serve(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
           const Desktop& desktop) {
  using Light = LightPort<typename SwitchType::PortType>;
  Seat<SwitchType>& seat = field.seats[item.number];
  auto& port = seat.owner->port(seat.port);
  const bool is_mine = item.is_one && !seat.is_part;
  const bool is_awake = is_mine && (seat.inbox.count != 0 || port.next_event() < window.end);
  const std::span<Note> notes = whole_inbox(is_awake, seat, *field.port_rules, window);
  const auto count = static_cast<std::uint32_t>(notes.size());
  WindowContext context = context_of(window, field.mail);
  Fingerprint fingerprint;
  DropCounts drops;
  bool goes_on = is_awake;
  if constexpr (Light::kMayBe) {
    auto& light = static_cast<Light&>(port);
    const PortRules& rules = port.rules_here(*field.port_rules);
    const bool is_light = is_awake && count <= Light::kMostNotes && light.is_one() &&
                          field.pace.lookahead <= Light::kLongest &&
                          light.is_small(rules, window.end) &&
                          (!field.has_priorities || light.is_usual(notes));
    sort_together(notes.data(), count, desktop.notes, is_light);
    light.run(is_light, notes, rules, desktop, context, fingerprint, drops);
    goes_on = is_awake && !is_light;
  } else {
    sort_together(notes.data(), count, {}, false);
  }
  std::span<const PortArrival> arrivals;
  if (goes_on) arrivals = arrivals_of(notes, window.end);
  std::size_t next = 0;
  while (any(goes_on)) {
    if (goes_on)
      goes_on = port.step(arrivals, next, port.rules_here(*field.port_rules), context, fingerprint,
                          drops);
  }
  if (is_awake) {
    add_up(*seat.owner, fingerprint, drops);
    seat.inbox.make_room(count);
  }
  tell(*field.tally, context.packet_hops,
       is_mine ? std::min(context.next_event, port.next_event()) : Instant::never());
}

template <class Protocol, class SwitchType>
void keep(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  Seat<SwitchType>& seat = field.seats[item.number];
  if (!item.is_one || !seat.keeps || seat.is_part) return;
  seat.owner->keep(seat.port, seat.taken, window.number);
  seat.holds = seat.owner->holds(seat.port);
}

/// One receiving end's window, or as many as a warp's threads have.
template <class Protocol, class Report>
void receive_some(HostInStep<Protocol>& self, typename Host<Protocol>::Mail& mail, Instant until,
                  typename HostInStep<Protocol>::IncomingEnd* near,
                  const HostRules<Protocol>& rules, Post& post, Report& report, std::uint32_t& data,
                  std::uint32_t& control) {
  const std::size_t size = mail.arrivals.size();
  Transit coming;  // asked for while the one before it is worked on
  coming.time = Instant::never();
  if (mail.next < size) coming = mail.arrivals[mail.next];
  while (any(mail.next < size && coming.time < until)) {
    if (mail.next < size && coming.time < until) {
      const Transit transit = coming;
      if (++mail.next < size) coming = mail.arrivals[mail.next];
      if (transit.packet.is_backward()) {
        post.push(transit.time, transit.packet);
      } else {
        ++(transit.packet.is_whole() ? data : control);
        auto& incoming = near != nullptr ? *near : self.receiver_of(transit.packet, rules);
        self.receive_apart(incoming, transit.packet, transit.time, report,
                           [&](const SimPacket& said) { post.push(transit.time, said); });
      }
    }
    wait_for_others();
  }
}

/// What has been received ahead is so from now on.
template <class Protocol, class IncomingEnd>
void take_over(HostInStep<Protocol>& self, Ahead<IncomingEnd>& ahead, SheetReport& report) {
  std::unique_ptr<IncomingEnd>& owner = *self.only_incoming();
  IncomingEnd* const before = owner.release();
  owner.reset(ahead.end);
  ahead.end = before;
  ahead.window = 0;
  self.data_received += ahead.data;
  self.control_received += ahead.control;
  if (ahead.delivered) report.on_delivery(ahead.delivery);
}

/// Receiving ends work through their window, ahead of the rest of their hosts, and leave these their post.
template <class Protocol, class SwitchType>
void receive(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
             NearbyReceiver<Protocol>* nearby) {
  if constexpr (kReceivesApart<Protocol>) {
    const bool is_awake = item.is_one && (field.next_event[item.number] < window.end ||
                                          field.mail->has_mail(window.number, item.number));
    auto& self = static_cast<HostInStep<Protocol>&>(field.hosts[item.number]);
    Post& post = field.post_of(item.number, window.number);
    SheetReport report(field.sheets, *field.tally);
    typename Host<Protocol>::Mail mail;
    if (is_awake) {
      mail.arrivals = self.gather(window.number);
      auto& ahead = field.ahead[item.number];
      if (ahead.window == window.number) {
        take_over(self, ahead, report);
        mail.next = ahead.taken;
        STRACK_DCHECK(mail.arrivals[mail.next - 1].time < window.end);
      } else {
        post.size = 0;
      }
    }
    const bool is_more =
        is_awake && mail.next < mail.arrivals.size() && mail.arrivals[mail.next].time < window.end;
    std::uint32_t data = 0;
    std::uint32_t control = 0;
    if (any(is_more)) {
      auto* const near = come_near(nearby, is_more, self);
      receive_some(self, mail, window.end, near, *field.host_rules, post, report, data, control);
      go_home(nearby, near != nullptr);
    }
    if (is_awake) {
      self.data_received += data;
      self.control_received += control;
      self.hold(mail);
    }
  }
}

/// After a window's ports, and beside what is left of its hosts: what they have sent is received, as far as it surely
/// comes in the next window. Hosts do not know of it before that.
template <class Protocol, class SwitchType>
void receive_ahead(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
                   NearbyReceiver<Protocol>* nearby) {
  if constexpr (kReceivesAhead<Protocol>) {
    using IncomingEnd = typename HostInStep<Protocol>::IncomingEnd;
    const std::uint64_t next = window.number + 1;
    const Instant until = surely_in_next(field.pace, window.end);
    auto& self = static_cast<HostInStep<Protocol>&>(field.hosts[item.number]);
    Ahead<IncomingEnd>& ahead = field.ahead[item.number];
    typename Host<Protocol>::Mail mail;
    bool is_one =
        item.is_one && field.mail->has_mail(next, item.number) && self.may_receive_ahead();
    if (is_one) {
      mail.arrivals = self.coming(next);
      is_one = !mail.arrivals.empty() && mail.arrivals[0].time < until;
    }
    if (!is_one) mail.arrivals = {};
    if (!any(is_one)) return;
    Post& post = field.post_of(item.number, next);
    auto* const near = come_near(nearby, is_one, self);
    if (is_one) {
      if (ahead.end == nullptr)
        ahead.end = static_cast<IncomingEnd*>(::operator new(sizeof(IncomingEnd)));
      nearby[lane()].home = ahead.end;
      ahead.data = 0;
      ahead.control = 0;
      ahead.delivered = false;
      post.size = 0;
    }
    receive_some(self, mail, until, near, *field.host_rules, post, ahead, ahead.data,
                 ahead.control);
    go_home(nearby, is_one);
    if (is_one) {
      ahead.taken = static_cast<std::uint32_t>(mail.next);
      ahead.window = next;
    }
  }
}

/// `apart`: its receiving ends have worked ahead.
template <bool apart, class Protocol, class SwitchType>
void host(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
          Nearby<Protocol, apart>* nearby) {
  using Task = typename HostInStep<Protocol>::Task;
  Instant& next = field.next_event[item.number];
  const bool is_awake =
      item.is_one && (next < window.end || field.mail->has_mail(window.number, item.number));
  auto& home = static_cast<HostInStep<Protocol>&>(field.hosts[item.number]);
  HostInStep<Protocol>& self = come_near(nearby, is_awake, home, *field.host_rules);
  typename Host<Protocol>::Mail mail;
  if (is_awake) {
    if constexpr (apart) {
      mail.arrivals = field.post_of(item.number, window.number).all();
    } else {
      mail.arrivals = self.gather(window.number);
      self.receive_from_fellows(window.number);
    }
  }
  WindowContext context = context_of(window, field.mail);
  SheetReport report(field.sheets, *field.tally);
  // In each round a thread has a turn at every kind of task, for most of the time one leads to another. What is
  // asked for less often has its turn in every other round: then there are more who take it together.
  const auto upcoming = [&] {
    return self.template next_task<apart>(mail, window.end, item.number);
  };
  Task task = is_awake ? upcoming() : Task::nothing;
  const auto turn = [&](Task kind) {
    if (task == kind) {
      self.handle(kind, mail, *field.host_rules, context, report);
      task = upcoming();
    }
    wait_for_others();
  };
  for (bool is_even = true; any(task != Task::nothing); is_even = !is_even) {
    if constexpr (apart) {
      turn(Task::say);
    } else {
      turn(Task::data);
    }
    if (!apart || is_even) {
      turn(Task::ack);
      turn(Task::timer);
    }
    turn(Task::control);
    turn(Task::poll);
  }
  Instant first = next;
  if (is_awake) {
    if constexpr (apart) {
      first = self.next_event_or_arrival();
    } else {
      self.hand_over_to_fellows(context);
      first = self.keep(mail);
    }
    next = first;
    report.close();
  }
  go_home(nearby, is_awake, *field.host_rules);
  tell(*field.tally, context.packet_hops,
       item.is_one ? std::min(first, context.next_event) : Instant::never());
}

template <class Protocol, class SwitchType>
void send(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
          Nearby<Protocol, true>* nearby) {
  if constexpr (kReceivesApart<Protocol>) host<true>(field, item, window, nearby);
}

}  // namespace strack::sim::gpu
