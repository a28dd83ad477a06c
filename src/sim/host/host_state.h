// [D117] The state of a host and of its connections, for checkpoints (sim/engine/archive.h).
//
// Cores are copied byte by byte, so that no transport has to list what is in its own. They are made as ever before
// that, which sets their pointers: to parameters, to what watches them, to memory that their ends own. An end that
// owns more than the slots of its messages lists it:
//
//   template <class Visit> void for_each_owned(const Params&, std::size_t slots, Visit&&);   // spans
//
// Where receivers stand in a queue of their NIC's, the protocol knows it by slots: queue_of(), unlink(), enqueue().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/engine/archive.h"
#include "sim/host/connection.h"
#include "sim/host/host.h"
#include "sim/host/host_rules.h"

namespace strack::sim {

template <class Protocol>
class HostState {
  using HostType = Host<Protocol>;
  using OutgoingEnd = Outgoing<Protocol>;
  using IncomingEnd = Incoming<Protocol>;
  using Nic = typename Protocol::Nic;
  static constexpr bool kQueues = requires(const Nic& nic) { Protocol::queue_of(nic); };

 public:
  HostState(HostType& host, const HostRules<Protocol>& rules) : host_(host), rules_(rules) {}

  /// For cluster/receiver_sweep.h: what is on the wire to a host, for a later window, and its receiving ends.
  static std::vector<Transit>& held(HostType& host) { return host.held_; }
  static std::vector<std::unique_ptr<IncomingEnd>>& receivers(HostType& host) {
    return host.incoming_;
  }

  /// `next` is the next window.
  template <class Archive>
  void state(Archive& a, std::uint64_t next) {
    HostType& h = host_;
    a(h.port, h.fingerprint, h.data_sent, h.control_sent, h.data_received, h.control_received,
      h.victim_packets, h.victim_channels, h.now_, h.timer_, h.totals_, h.running_, h.next_start_,
      h.graphs_, h.held_);
    if constexpr (Protocol::kReceiverTimers) a(h.receiver_timers());
    if (h.server != nullptr) h.server->state(a, next);
    ends(a, h.outgoing_);
    ends(a, h.incoming_);
    if constexpr (!std::is_empty_v<Nic>) nic(a);
    constexpr std::size_t kInherited =
        (std::is_empty_v<Nic> ? 0 : sizeof(Nic)) +
        (Protocol::kReceiverTimers ? sizeof(DeadlineHeap) : std::size_t{0});
    static_assert(sizeof(HostType) == kInherited + sizeof(typename HostType::FlowTotals) + 672,
                  "list what is new");
  }

 private:
  template <class Archive, class End>
  void ends(Archive& a, std::vector<std::unique_ptr<End>>& all) {
    for (std::uint32_t slot = 0; slot < all.size(); ++slot) {
      bool there = all[slot] != nullptr;
      a(there);
      if (!there) continue;
      if constexpr (Archive::kLoads)
        all[slot] = make<End>(slot, [](auto&... of) { return std::make_unique<End>(of...); });
      find_pointers_of<End>(slot);
      end(a, *all[slot]);
    }
  }

  /// An end as its host would make it: build(arguments...).
  template <class End, class Build>
  decltype(auto) make(std::uint32_t slot, Build&& build) {
    if constexpr (std::is_same_v<End, OutgoingEnd>) {
      const OutgoingFlow& flow = host_.pending_[slot];
      const std::uint32_t number =
          flow.job == kNoJob ? flow.flow : rules_.jobs[flow.job].first_flow + flow.flow;
      auto events = host_.events_of(number, rules_);
      return build(*rules_.transport, flow, events, host_.nic());
    } else {
      return build(*rules_.transport, host_.expected_[slot], slot, host_.nic());
    }
  }
  static auto& core_of(OutgoingEnd& o) { return o.sender; }
  static auto& core_of(IncomingEnd& in) { return in.receiver; }

  /// Memory in which nothing has been.
  template <class T>
  class Blank {
   public:
    Blank() {
      std::memset(memory_, 0, sizeof(T));
      // Or the compiler sees that whoever is made here has no use for zeros.
      asm volatile("" : : "r"(memory_) : "memory");
    }
    Blank(const Blank&) = delete;
    Blank& operator=(const Blank&) = delete;
    ~Blank() { object_->~T(); }
    template <class... Of>
    T& make(Of&&... of) {
      object_ = new (memory_) T(std::forward<Of>(of)...);
      return *object_;
    }

   private:
    alignas(T) std::byte memory_[sizeof(T)];
    T* object_ = nullptr;
  };

  /// Where cores of such an end, and what it owns, have pointers: where two that have just been made both do.
  template <class End>
  void find_pointers_of(std::uint32_t slot) {
    std::array<Blank<End>, 2> blanks;  // what they own is not at one place
    for (Blank<End>& blank : blanks) {
      const bool first = &blank == &blanks[0];
      End& fresh = make<End>(slot, [&](auto&... of) -> End& { return blank.make(of...); });
      list_regions(fresh);
      std::size_t i = 0;
      const auto note = [&](auto objects) {
        note_pointers(i++, find_pointers(std::as_bytes(objects), regions_), first);
      };
      note(std::span(&core_of(fresh), 1));
      for_each_owned(fresh, note);
    }
  }
  void note_pointers(std::size_t i, const std::vector<PointerAt>& found, bool first) {
    if (pointers_.size() <= i) pointers_.resize(i + 1);
    if (first) {
      pointers_[i] = found;
    } else {
      std::erase_if(pointers_[i], [&](const PointerAt& at) {
        return std::find(found.begin(), found.end(), at) == found.end();
      });
    }
  }
  template <class End>
  void list_regions(End& end) {
    regions_.assign({region_of(*rules_.transport), region_of(rules_.watches), region_of(host_),
                     region_of(end)});
    for_each_owned(end, [&](auto owned) { regions_.push_back(region_of(owned)); });
  }

  template <class Archive>
  void end(Archive& a, OutgoingEnd& o) {
    a(o.line, o.line_head, o.packets, o.path_changes, o.pieces_posted, o.pieces_done, o.timer_index,
      o.last_path, o.queued);
    using End = typename Protocol::SendingEnd;
    static_assert(sizeof(OutgoingEnd) <= sizeof(End) + 112, "list what is new");
    core(a, o, o.sender);
  }
  template <class Archive>
  void end(Archive& a, IncomingEnd& in) {
    a(in.flow.pieces, in.victims, in.hops);
    if constexpr (Protocol::kReceiverTimers) a(in.armed);
    using End = typename Protocol::ReceivingEnd;
    static_assert(sizeof(IncomingEnd) <= sizeof(End) + (Protocol::kReceiverTimers ? 40 : 32),
                  "list what is new");
    if constexpr (kQueues && !Archive::kLoads) {
      auto alone = in.receiver;
      std::memcpy(static_cast<void*>(&alone), &in.receiver, sizeof alone);  // what is between, too
      Protocol::unlink(alone);
      core(a, in, alone);
    } else {
      core(a, in, in.receiver);
    }
  }

  /// The core of an end, and what the end owns for it.
  template <class Archive, class End, class Core>
  void core(Archive& a, End& end, Core& core) {
    list_regions(end);
    std::size_t i = 0;
    a.objects(std::span(&core, 1), Regions(regions_), pointers_[i++]);
    for_each_owned(end, [&](auto owned) { a.objects(owned, Regions(regions_), pointers_[i++]); });
  }
  template <class Visit>
  void for_each_owned(OutgoingEnd& o, Visit&& visit) {
    using End = typename Protocol::SendingEnd;
    if constexpr (requires { o.for_each_owned(*rules_.transport, o.flow.slots, visit); }) {
      o.for_each_owned(*rules_.transport, o.flow.slots, visit);
    } else {
      static_assert(sizeof(End) == sizeof o.sender + sizeof o.slots,
                    "it has more than slots and a sender: for_each_owned()");
      visit(std::span(o.slots.get(), o.flow.slots));
    }
  }
  template <class Visit>
  void for_each_owned(IncomingEnd& in, Visit&& visit) {
    using End = typename Protocol::ReceivingEnd;
    if constexpr (requires { in.for_each_owned(*rules_.transport, visit); }) {
      in.for_each_owned(*rules_.transport, visit);
    } else {
      static_assert(sizeof(End) == sizeof in.receiver,
                    "it has more than a receiver: for_each_owned()");
    }
  }

  /// What connections share. Behind them, since some of them may wait in its queue.
  template <class Archive>
  void nic(Archive& a) {
    Nic& nic = host_.nic();
    regions_.assign({region_of(*rules_.transport), region_of(host_)});
    for (const bool first : {true, false}) {
      Blank<Nic> blank;
      Nic& fresh = blank.make();
      if constexpr (HostType::kNicActs)
        fresh.set_up(*rules_.transport, host_.port.wire.byte_time.rate());
      note_pointers(0, find_pointers(std::as_bytes(std::span(&fresh, 1)), regions_), first);
    }
    if constexpr (!kQueues) {
      a.objects(std::span(&nic, 1), Regions(regions_), pointers_[0]);
    } else {
      std::vector<std::uint32_t> queue = Protocol::queue_of(nic);
      Nic alone = nic;
      Protocol::unlink(alone);
      a.objects(std::span(&alone, 1), Regions(regions_), pointers_[0]);
      a(queue);
      if constexpr (Archive::kLoads) {
        nic = alone;
        for (const std::uint32_t slot : queue) {
          if (slot >= host_.incoming_.size() || host_.incoming_[slot] == nullptr) return a.fail();
          Protocol::enqueue(host_.incoming_[slot]->receiver);
        }
      }
    }
  }

  HostType& host_;
  const HostRules<Protocol>& rules_;
  std::vector<Region> regions_;
  std::vector<std::vector<PointerAt>> pointers_;  ///< of a core, and of what its end owns
};

}  // namespace strack::sim
