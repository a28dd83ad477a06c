// Switches whose packets take turns, whatever waits at their ports: which port a packet gets follows from how many came
// before it, so that is one thread's work; where it goes then is its port's, as ever. A step between take and serve.
#pragma once

#include <cstdint>
#include <new>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/gpu/steps.h"
#include "sim/net/switch_base.h"

namespace strack::sim::gpu {

struct TurnSwitch {
  SwitchBase* owner = nullptr;
  std::uint32_t first_seat = 0;
  TakenTurns turns;
};

template <class T>
T* make_list(std::uint32_t items) {
  return static_cast<T*>(::operator new(items * sizeof(T)));
}

/// Room for all that were noted; what found none is looked for again.
template <class SwitchType>
void make_room(TurnSwitch& self, const Seat<SwitchType>* first, const PortRules& rules,
               const Window& window) {
  TakenTurns& turns = self.turns;
  Inbox& inbox = turns.inbox;
  if (turns.room < inbox.count) {
    while (turns.room < inbox.count) turns.room = turns.room == 0 ? 64 : 2 * turns.room;
    ::operator delete(turns.sorted);
    ::operator delete(turns.choices);
    ::operator delete(turns.chosen);
    turns.sorted = make_list<Note>(turns.room);
    turns.choices = make_list<SwitchBase::Choice>(turns.room);
    turns.chosen = make_list<std::uint16_t>(turns.room);
  }
  if (inbox.count <= inbox.capacity) return;
  ::operator delete(inbox.list);
  inbox.capacity = turns.room;
  inbox.list = make_list<Note>(inbox.capacity);
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < self.owner->port_count(); ++i) {
    const SwitchBase::Gathered arrivals = self.owner->gathered(i, window.number);
    for (std::uint32_t t = 0; t < first[i].taken; ++t) {
      const Transit& transit = arrivals[t];
      if (self.owner->is_open(transit.packet, transit.time))
        inbox.list[found++] = Note(transit, i, rules.wire_size(transit.packet), window.end);
    }
  }
  STRACK_CHECK_OP(found, ==, inbox.count);
}

/// By a warp: the order, and among what each chooses, is all threads' work.
template <class Protocol, class SwitchType>
void take_turns(const Field<Protocol, SwitchType>& field, const Item& item, const Window& window) {
  if (!item.is_one) return;  // then no thread of the warp has one
  TurnSwitch& self = field.turn_switches[item.number];
  Seat<SwitchType>* const first = field.seats + self.first_seat;
  TakenTurns& turns = self.turns;
  const std::uint32_t count = turns.inbox.count;
  if (item.share == 0) make_room(self, first, *field.port_rules, window);
  wait_for_others();
  const Note* const list = turns.inbox.list;
  for (std::uint32_t i = item.share; i < count; i += item.shares) {
    const Note note = list[i];
    std::uint32_t before = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
      if (list[j] < note) ++before;
    }
    turns.sorted[before] = note;
    turns.choices[before] = self.owner->choice_of(*note.packet(), note.time(window.end));
  }
  wait_for_others();
  if (item.share == 0) {
    for (std::uint32_t i = 0; i < count; ++i)
      turns.chosen[i] = static_cast<std::uint16_t>(
          self.owner->choose(turns.choices[i], [](std::uint32_t) { return std::int64_t{0}; }));
    turns.count = count;
    turns.inbox.count = 0;
  }
  wait_for_others();
  for (std::uint32_t i = item.share; i < count; i += item.shares)
    note_at(first[turns.chosen[i]].inbox, turns.sorted[i]);
}

}  // namespace strack::sim::gpu
