// Ports of a lossless switch beside each other, in windows in which no order between them counts (pfc_switch.h): steps.h
// with another serve. What they have in common is the account of the buffer (side_account.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "sim/gpu/side_account.h"
#include "sim/gpu/steps.h"
#include "sim/net/pfc_port.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

template <class Protocol, class SwitchType>
void serve_lossless(const Field<Protocol, SwitchType>& field, const Item& item,
                    const Window& window) {
  Seat<SwitchType>& seat = field.seats[item.number];
  SwitchType& owner = *seat.owner;
  auto& port = owner.port(seat.port);
  const bool is_mine = item.is_one && !seat.is_part;
  const bool is_awake =
      is_mine && (seat.inbox.count != 0 || owner.next_event(seat.port) < window.end);
  const PortRules& rules = *field.port_rules;
  const std::span<const Note> notes = sorted_inbox(is_awake, seat, rules, window);
  WindowContext context = context_of(window, field.mail);
  Fingerprint fingerprint;
  DropCounts drops;
  SideAccount account(owner.buffer());
  std::size_t next = 0;
  bool goes_on = is_awake;
  while (any(goes_on)) {
    if (!goes_on) continue;
    const bool comes = next < notes.size();
    const Instant until = comes ? notes[next].time(window.end) : window.end;
    if (port.next_event() < until) {
      port.step(rules, context, fingerprint, drops, account);
    } else if (comes) {
      port.take({until, notes[next].packet(), notes[next].ingress(), seat.port}, rules, account);
      ++next;
    } else {
      goes_on = false;
    }
  }
  if (is_awake) {
    account.close();
    owner.note_next_event(seat.port);
    add_up(owner, fingerprint, drops);
    seat.inbox.make_room(static_cast<std::uint32_t>(notes.size()));
  }
  tell(*field.tally, context.packet_hops,
       is_mine ? std::min(context.next_event, owner.next_event(seat.port)) : Instant::never());
}

/// keep(), and what is looked at when all ports are done.
template <class Protocol, class SwitchType>
void keep_lossless(const Field<Protocol, SwitchType>& field, const Item& item,
                   const Window& window) {
  keep(field, item, window);
  const Seat<SwitchType>& seat = field.seats[item.number];
  if (item.is_one && !seat.is_part && seat.port == 0) seat.owner->buffer().note_use();
}

}  // namespace strack::sim::gpu
