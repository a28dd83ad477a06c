// A window on a GPU, as steps that each thread takes for one port or one host.
//
//   take    what has come by a port is looked at, packet by packet, and noted at the port it leaves by
//   serve   a port sorts what was noted for it, and works through its window as on any engine
//   keep    what came too early is kept for a later window
//   host    a host runs its window; beside the three others, which it shares nothing with
//
// All of it is the code that threads of a CPU run, and on the same objects (sim/cluster/network.h): memory
// has one address on both sides. Only who does what when is different, and results do not depend on that:
// what is noted at a port is sorted by time and, at one time, by the port it came in by, as a CPU finds it.
//
// A port has room for as many as ever were noted in one window. Where there are more, nothing is lost: it
// looks for them itself, and makes room.
#pragma once

#include <algorithm>
#include <cstdint>
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
};

/// A port of a switch, by its number among all: what arrives by it, and what leaves by it.
template <class SwitchType>
struct Seat {
  SwitchType* owner = nullptr;
  std::uint32_t port = 0;
  std::uint32_t taken = 0;  ///< of what has come by it, in this window
  bool keeps = false;       ///< something is left
  Inbox inbox;
};

/// All that steps work on.
template <class Protocol, class SwitchType>
struct Field {
  Host<Protocol>* hosts = nullptr;
  std::uint32_t host_count = 0;
  Seat<SwitchType>* seats = nullptr;  ///< a switch's ports are neighbours
  std::uint32_t seat_count = 0;
  const PortRules* port_rules = nullptr;
  const HostRules<Protocol>* host_rules = nullptr;
  MailFlags* mail = nullptr;
  Instant* next_event = nullptr;  ///< by host
  Sheets sheets;
  Tally* tally = nullptr;
  Course* course = nullptr;
  Pace pace;
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
  if (item.is_one && item.share == 0)
    static_cast<void>(seat.owner->gather(seat.port, window.number));
  wait_for_others();
  if (!item.is_one) return;
  Seat<SwitchType>* const first = field.seats + (item.number - seat.port);
  const std::span<const Transit> arrivals = seat.owner->gathered(seat.port, window.number);
  const auto size = static_cast<std::uint32_t>(arrivals.size());
  std::uint32_t at = item.share;
  for (; at < size && arrivals[at].time < window.end; at += item.shares) {
    const Transit& transit = arrivals[at];
    const std::int32_t port = seat.owner->route(transit.packet, transit.time);
    if (port < 0) [[unlikely]] {
      drop_unrouted(*seat.owner, transit);
      continue;
    }
    Inbox& inbox = first[port].inbox;
    const std::uint32_t place = fetch_add(inbox.count, 1u);
    if (place < inbox.capacity)
      inbox.list[place] =
          Note(transit, seat.port, field.port_rules->wire_size(transit.packet), window.end);
  }
  // One of those who share it stands at the first that is left, and tells; the others are beyond.
  if (at > size || (at > 0 && arrivals[at - 1].time >= window.end)) return;
  if (at < size) lower_to(field.tally->next, arrivals[at].time.ps);
  seat.taken = at;
  seat.keeps = at < size || (size > 0 && seat.owner->holds(seat.port));
}

/// More was noted for a port than it has room for: it makes room, and looks for itself.
template <class SwitchType>
void find_again(Seat<SwitchType>& seat, const Seat<SwitchType>* first, const PortRules& rules,
                const Window& window) {
  Inbox& inbox = seat.inbox;
  while (inbox.capacity < inbox.count)
    inbox.capacity = inbox.capacity == 0 ? 32 : 2 * inbox.capacity;
  ::operator delete(inbox.list);
  inbox.list = static_cast<Note*>(::operator new(inbox.capacity * sizeof(Note)));
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < seat.owner->port_count(); ++i) {
    const std::span<const Transit> arrivals = seat.owner->gathered(i, window.number);
    for (std::uint32_t t = 0; t < first[i].taken; ++t) {
      const Transit& transit = arrivals[t];
      if (seat.owner->route(transit.packet, transit.time) == static_cast<std::int32_t>(seat.port))
        inbox.list[found++] = Note(transit, i, rules.wire_size(transit.packet), window.end);
    }
  }
  STRACK_CHECK_OP(found, ==, inbox.count);
}

/// What was noted for a port, in order; all threads of a warp come here.
template <class SwitchType>
std::span<const Note> sorted_inbox(bool is_awake, Seat<SwitchType>& seat,
                                   const Seat<SwitchType>* first, const PortRules& rules,
                                   const Window& window) {
  Inbox& inbox = seat.inbox;
  const std::uint32_t count = is_awake ? inbox.count : 0;
  if (is_awake && count > inbox.capacity) find_again(seat, first, rules, window);
  Note* const list = is_awake ? inbox.list : nullptr;
  sort_together(list, count);
  if (count != 0) inbox.count = 0;
  return {list, count};
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

/// `leaving`: room for what leaves by this thread's port.
template <class Protocol, class SwitchType>
void serve(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
           LeavingList leaving) {
  using Light = LightPort<typename SwitchType::PortType>;
  Seat<SwitchType>& seat = field.seats[item.number];
  auto& port = seat.owner->port(seat.port);
  const bool is_awake = item.is_one && (seat.inbox.count != 0 || port.next_event() < window.end);
  const std::span<const Note> notes = sorted_inbox(
      is_awake, seat, field.seats + (item.number - seat.port), *field.port_rules, window);
  WindowContext context = context_of(window, field.mail);
  Fingerprint fingerprint;
  DropCounts drops;
  bool goes_on = is_awake;
  if constexpr (Light::kMayBe) {
    auto& light = static_cast<Light&>(port);
    const bool is_light = is_awake && notes.size() <= Light::kMostNotes && light.is_one();
    light.run(is_light, notes, port.rules_here(*field.port_rules), leaving, context, fingerprint,
              drops);
    goes_on = is_awake && !is_light;
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
    if (fingerprint.value() != 0) fetch_add(seat.owner->fingerprint.sum(), fingerprint.value());
    if (drops.queue != 0) fetch_add(seat.owner->drops.queue, drops.queue);
    if (drops.failure != 0) fetch_add(seat.owner->drops.failure, drops.failure);
    if (drops.error != 0) fetch_add(seat.owner->drops.error, drops.error);
  }
  tell(*field.tally, context.packet_hops,
       item.is_one ? std::min(context.next_event, port.next_event()) : Instant::never());
}

template <class Protocol, class SwitchType>
void keep(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  Seat<SwitchType>& seat = field.seats[item.number];
  if (item.is_one && seat.keeps) seat.owner->keep(seat.port, seat.taken, window.number);
}

template <class Protocol, class SwitchType>
void host(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window,
          Nearby<Protocol>* nearby) {
  using Task = typename HostInStep<Protocol>::Task;
  Instant& next = field.next_event[item.number];
  const bool is_awake =
      item.is_one && (next < window.end || field.mail->has_mail(window.number, item.number));
  auto& home = static_cast<HostInStep<Protocol>&>(field.hosts[item.number]);
  HostInStep<Protocol>& self = come_near(nearby, is_awake, home, *field.host_rules);
  typename Host<Protocol>::Mail mail;
  if (is_awake) mail.arrivals = self.gather(window.number);
  WindowContext context = context_of(window, field.mail);
  SheetReport report(field.sheets, *field.tally);
  // In each round a thread has a turn at every kind of task, for most of the time one leads to another.
  Task task = is_awake ? self.next_task(mail, window.end) : Task::nothing;
  const auto turn = [&](Task kind) {
    if (task == kind) {
      self.handle(kind, mail, *field.host_rules, context, report);
      task = self.next_task(mail, window.end);
    }
    wait_for_others();
  };
  while (any(task != Task::nothing)) {
    turn(Task::data);
    turn(Task::ack);
    turn(Task::timer);
    turn(Task::control);
    turn(Task::poll);
  }
  Instant first = next;
  if (is_awake) {
    first = self.keep(mail);
    next = first;
    report.close();
  }
  go_home(nearby, is_awake, *field.host_rules);
  tell(*field.tally, context.packet_hops,
       item.is_one ? std::min(first, context.next_event) : Instant::never());
}

}  // namespace strack::sim::gpu
