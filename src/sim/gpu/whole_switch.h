// Switches at which order between ports counts. Those that spray choose for one packet after the other; a lossless one
// goes event by event as long as it has paused a link, or may have to. A thread runs such a switch's whole window as
// a CPU does, and its ports have no threads of their own then.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "sim/gpu/steps.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

template <class SwitchType>
struct WholeSwitch {
  SwitchType* owner = nullptr;
  std::uint32_t node = 0;
  std::uint32_t first_seat = 0;
  Instant next = Instant::never();  ///< when it has something to do by itself
  bool is_awake = false;            ///< a lossless one: in this window it does
  bool in_order = false;            ///< ... event by event
  typename SwitchType::Scratch scratch;
};

/// A lossless switch's window: as a whole, or by its ports. By a warp; before all else.
template <class Protocol, class SwitchType>
void weigh(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  WholeSwitch<SwitchType>& self = field.switches[item.number];
  if (!item.is_one) return;  // then no thread of the warp has one
  const SwitchType& owner = *self.owner;
  typename SwitchType::Outlook all = owner.outlook(window.number, item.share, item.shares);
  all.most = -least_of_all(-all.most);
  all.packets = sum_of_all(static_cast<std::uint32_t>(all.packets));
  all.next = Instant{least_of_all(all.next.ps)};
  const bool in_order = owner.order_matters(all);
  const bool is_whole = in_order || owner.sprays();
  for (std::uint32_t p = item.share; p < owner.port_count(); p += item.shares) {
    Seat<SwitchType>& seat = field.seats[self.first_seat + p];
    seat.is_part = is_whole;
    seat.holds = owner.holds(p);  // a window as a whole may have changed it
  }
  if (item.share != 0) return;
  self.in_order = in_order;
  self.next = is_whole ? std::min(all.next, owner.next_refresh()) : Instant::never();
  self.is_awake = is_whole && (all.packets > 0 || self.next < window.end);
}

template <class Protocol, class SwitchType>
void run_whole(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  WholeSwitch<SwitchType>& self = field.switches[item.number];
  WindowContext context = context_of(window, field.mail);
  Instant next = Instant::never();
  if (item.is_one) {
    if constexpr (SwitchType::kLossless) {
      if (self.is_awake)
        self.next = self.owner->run(self.in_order, *field.port_rules, context, self.scratch);
    } else {
      if (self.next < window.end || field.mail->has_mail(window.number, self.node))
        self.next = self.owner->run(*field.port_rules, context, self.scratch);
    }
    next = self.next;
  }
  tell(*field.tally, context.packet_hops, std::min(next, context.next_event));
}

}  // namespace strack::sim::gpu
