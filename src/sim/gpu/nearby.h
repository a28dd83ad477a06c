// A host's state where its thread reaches it soonest. Threads of a warp have a host each, and each of their reads
// is of another host: in memory, or its cache, these are as many lines as threads, one after the other; in memory
// that a multiprocessor has for itself all of them are read at once. So a host comes near for a window, with its
// connection where it has just one each way, and goes home after it.
//
// On the host of the GPU it moves as well, to memory like any other: what must not move shows in tests.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/host/host.h"
#include "sim/host/report.h"
#include "sim/net/lane.h"
#include "sim/net/sim_packet.h"
#include "sim/net/wire.h"

namespace strack::sim::gpu {

/// A host as it looks from inside; nothing is added to it.
template <class Protocol>
class HostInStep : public Host<Protocol> {
 public:
  using Base = Host<Protocol>;
  using typename Base::IncomingEnd;
  using typename Base::Mail;
  using typename Base::OutgoingEnd;
  using typename Base::Rules;

  /// What is to do, by what is done for it: hosts in step that do one of these do much the same.
  enum class Task : std::uint8_t { nothing, data, say, ack, timer, control, poll };
  /// `apart`: its mail is its post, and this is its number.
  template <bool apart>
  [[nodiscard, gnu::always_inline]] Task next_task(const Mail& mail, Instant end,
                                                   std::uint32_t number) {
    switch (this->upcoming(mail, end)) {
      case Base::Due::arrival: {
        const SimPacket& packet = mail.arrivals[mail.next].packet;
        if constexpr (apart) return packet.dst() == number ? Task::ack : Task::say;
        return packet.is_backward() ? Task::ack : Task::data;
      }
      case Base::Due::timer:
        return Task::timer;
      case Base::Due::port:
        return this->port.has_control() ? Task::control : Task::poll;
      case Base::Due::nothing:
        break;
    }
    return Task::nothing;
  }
  template <class Report>
  [[gnu::always_inline]] void handle(Task task, Mail& mail, const Rules& rules,
                                     WindowContext& context, Report& report) {
    if (task == Task::data) {
      this->receive_data(mail.arrivals[mail.next++].packet, rules, report);
    } else if (task == Task::say) {
      this->port.send_control(mail.arrivals[mail.next++].packet);
    } else if (task == Task::ack) {
      this->receive_backward(mail.arrivals[mail.next++].packet, rules, report);
    } else if (task == Task::timer) {
      this->on_timer(rules, report);
    } else if (task == Task::control) {
      this->port.serve_control(this->now_, rules.sizes->control_size, context, this->fingerprint,
                               this->control_sent);
    } else {
      this->port.serve_turns(this->now_, context, this->fingerprint, this->poll_of(rules));
    }
    if constexpr (Base::kNicActs) this->poll_nic();
  }

  /// [D90] What its fellows in the server have sent, before all else; and after all else what it has for them.
  void receive_from_fellows(std::uint64_t window) {
    if (this->server != nullptr) [[unlikely]]
      this->receive_inside(window);
  }
  void hand_over_to_fellows(WindowContext& context) {
    if (this->server != nullptr) [[unlikely]]
      this->server->hand_over(context);
  }
  /// A packet that only a receiving end is concerned with: what that has to say goes to say(packet).
  template <class Report, class Say>
  [[gnu::always_inline]] void receive_apart(IncomingEnd& incoming, const SimPacket& packet,
                                            Instant now, Report& report, Say&& say) {
    const core::Arrival arrival = incoming.receiver.on_packet(
        Protocol::unpack(packet), Base::signals_of(packet, incoming), now);
    if (arrival.delivered && --incoming.flow.pieces == 0)
      report.on_delivery({incoming.flow.flow, now});
    while (const auto ack = incoming.receiver.poll_ack(now))
      say(Protocol::pack_ack(*ack, {incoming.flow.src, incoming.flow.src_slot}));
  }
  /// What comes by the wire in that window is all that comes, and for one receiving end or for those who send.
  [[nodiscard]] bool may_receive_ahead() {
    return this->held_.empty() && only_incoming() != nullptr;
  }
  [[nodiscard]] std::span<const Transit> coming(std::uint64_t window) const {
    return this->in->arrivals(window);
  }
  [[nodiscard]] IncomingEnd& receiver_of(const SimPacket& packet, const Rules& rules) {
    return this->incoming_at(packet, rules);
  }

  /// Its bits, and those of its connections, may lie elsewhere for a window: nothing points into them from outside
  /// but the clocks of logs. A NIC's shared object is pointed to.
  static constexpr bool kMoves = std::is_empty_v<typename Base::Nic>;
  /// Who owns the connection, where there is just one each way; null where there is none yet.
  [[nodiscard]] std::unique_ptr<OutgoingEnd>* only_outgoing() {
    return this->outgoing_.size() == 1 && this->outgoing_[0] ? &this->outgoing_[0] : nullptr;
  }
  [[nodiscard]] std::unique_ptr<IncomingEnd>* only_incoming() {
    return this->incoming_.size() == 1 && this->incoming_[0] ? &this->incoming_[0] : nullptr;
  }
  /// It lies elsewhere now.
  void on_moved(const Rules& rules) {
    if (rules.watches.empty()) [[likely]]
      return;
    for (const auto& o : this->outgoing_) {
      if (o && o->log != nullptr) o->log->set_clock(&this->now_);
    }
  }
};

/// A transport whose receiving ends share nothing with what sends beside them, where no job waits for what comes:
/// these work through a window ahead of the rest, in threads of their own.
template <class Protocol>
inline constexpr bool kReceivesApart =
    !Protocol::kReceiverTimers && std::is_empty_v<typename Protocol::Nic>;

/// What a host whose receiving ends have worked ahead has to look at, in order of time: what came for its sending
/// ends, and what its receiving ends have to say, which others are to get.
struct Post {
  Transit* list = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t size = 0;

  void push(Instant time, const SimPacket& packet) {
    if (size == capacity) grow();
    list[size++] = {time, packet};
  }
  [[nodiscard]] std::span<const Transit> all() const { return {list, size}; }

 private:
  void grow() {
    const std::uint32_t larger = capacity == 0 ? 16 : 2 * capacity;
    auto* room = static_cast<Transit*>(::operator new(larger * sizeof(Transit)));
    for (std::uint32_t i = 0; i < size; ++i) room[i] = list[i];
    ::operator delete(list);
    list = room;
    capacity = larger;
  }
};

/// Receiving ends that are their bits: what comes in the next window can be received before it begins, on a copy, and
/// nobody sees it until then.
template <class Protocol>
inline constexpr bool kReceivesAhead = kReceivesApart<Protocol>&&
    std::is_trivially_copyable_v<typename HostInStep<Protocol>::IncomingEnd>;

/// What a host has received ahead, of the window of that number.
template <class IncomingEnd>
struct Ahead {
  std::uint64_t window = 0;
  IncomingEnd* end = nullptr;  ///< its receiving end as it is then; or else room for it
  std::uint32_t taken = 0;     ///< of what comes by the wire
  std::uint32_t data = 0;
  std::uint32_t control = 0;
  bool delivered = false;
  Delivery delivery;

  void on_delivery(const Delivery& one) {
    delivery = one;
    delivered = true;
  }
};

/// Until the same member of neighbours lies in different banks.
constexpr std::size_t hole_after(std::size_t size) { return size % 16 == 0 ? 8 : 16; }

/// One host's place; with its receiving end, unless that works apart.
template <class Protocol, bool apart = false>
struct Nearby {
  using HostType = HostInStep<Protocol>;
  using OutgoingEnd = typename HostType::OutgoingEnd;
  using IncomingEnd = typename HostType::IncomingEnd;

  HostType* home;
  OutgoingEnd* outgoing_home;  ///< null: it has not come
  IncomingEnd* incoming_home;
  alignas(HostType) std::byte host[sizeof(HostType)];
  alignas(OutgoingEnd) std::byte outgoing[sizeof(OutgoingEnd)];
  alignas(8) std::byte incoming[apart ? 8 : sizeof(IncomingEnd)];
  static_assert(alignof(IncomingEnd) <= 8);
  std::byte hole[hole_after(sizeof(home) * 3 + sizeof(host) + sizeof(outgoing) + sizeof(incoming))];

  [[nodiscard]] HostType& host_here() { return *reinterpret_cast<HostType*>(host); }
  [[nodiscard]] OutgoingEnd* outgoing_here() { return reinterpret_cast<OutgoingEnd*>(outgoing); }
  [[nodiscard]] IncomingEnd* incoming_here() { return reinterpret_cast<IncomingEnd*>(incoming); }
};

/// One receiving end's place.
template <class Protocol>
struct NearbyReceiver {
  using IncomingEnd = typename HostInStep<Protocol>::IncomingEnd;

  IncomingEnd* home;  ///< null: it has not come
  alignas(IncomingEnd) std::byte incoming[sizeof(IncomingEnd)];
  std::byte hole[hole_after(sizeof(home) + sizeof(incoming))];

  [[nodiscard]] IncomingEnd* incoming_here() { return reinterpret_cast<IncomingEnd*>(incoming); }
};

/// Where there is room for enough of them.
template <class Protocol>
inline constexpr bool kComesNear = HostInStep<Protocol>::kMoves &&
                                   sizeof(Nearby<Protocol>) <= std::size_t{3} << 10;

/// By all threads of a warp, a word each at a time: near, where it is after wait_for_copies(), and home again.
template <std::size_t bytes>
void copy_near_together(std::byte (&to)[bytes], const void* from) {
  auto* const words = reinterpret_cast<Word*>(to);
  const auto* const source = static_cast<const Word*>(from);
  static_assert(bytes % sizeof(Word) == 0);
  constexpr std::size_t kWords = bytes / sizeof(Word);
  STRACK_GPU_UNROLL
  for (std::size_t first = 0; first < kWords; first += kLanes) {
    if (const std::size_t i = first + lane(); i < kWords) copy_near(words + i, source + i);
  }
}
template <std::size_t bytes>
void copy_home_together(void* to, const std::byte (&from)[bytes]) {
  auto* const words = static_cast<Word*>(to);
  const auto* const source = reinterpret_cast<const Word*>(from);
  constexpr std::size_t kWords = bytes / sizeof(Word);
  STRACK_GPU_UNROLL
  for (std::size_t first = 0; first < kWords; first += kLanes) {
    if (const std::size_t i = first + lane(); i < kWords) words[i] = source[i];
  }
}

/// Gives what somebody owns another place.
template <class T>
void replace(std::unique_ptr<T>& owner, T* place) {
  static_cast<void>(owner.release());
  owner.reset(place);
}

/// Hosts of a warp's threads that are awake; each is then where this says. `nearby` has a place for each thread.
template <class Protocol, bool apart>
HostInStep<Protocol>& come_near(Nearby<Protocol, apart>* nearby, bool is_awake,
                                HostInStep<Protocol>& home, const HostRules<Protocol>& rules) {
  if constexpr (!kComesNear<Protocol>) {
    return home;
  } else {
    Nearby<Protocol, apart>& mine = nearby[lane()];
    if (is_awake) {
      mine.home = &home;
      auto* outgoing = home.only_outgoing();
      mine.outgoing_home = outgoing == nullptr ? nullptr : outgoing->get();
      if (outgoing != nullptr) replace(*outgoing, mine.outgoing_here());
      auto* incoming = apart ? nullptr : home.only_incoming();
      mine.incoming_home = incoming == nullptr ? nullptr : incoming->get();
      if (incoming != nullptr) replace(*incoming, mine.incoming_here());
    }
    wait_for_others();
    for (std::uint32_t awake = ballot(is_awake); awake != 0; awake &= awake - 1) {
      Nearby<Protocol, apart>& place = nearby[std::countr_zero(awake)];
      copy_near_together(place.host, place.home);
      if (place.outgoing_home != nullptr) copy_near_together(place.outgoing, place.outgoing_home);
      if (!apart && place.incoming_home != nullptr)
        copy_near_together(place.incoming, place.incoming_home);
    }
    wait_for_copies();
    wait_for_others();
    if (is_awake) mine.host_here().on_moved(rules);
    return mine.host_here();
  }
}

template <class Protocol, bool apart>
void go_home([[maybe_unused]] Nearby<Protocol, apart>* nearby, [[maybe_unused]] bool is_awake,
             [[maybe_unused]] const HostRules<Protocol>& rules) {
  if constexpr (kComesNear<Protocol>) {
    Nearby<Protocol, apart>& mine = nearby[lane()];
    if (is_awake) {
      // A connection may have ended meanwhile.
      auto* outgoing = mine.host_here().only_outgoing();
      if (outgoing != nullptr && outgoing->get() == mine.outgoing_here()) {
        replace(*outgoing, mine.outgoing_home);
      } else {
        mine.outgoing_home = nullptr;
      }
      auto* incoming = apart ? nullptr : mine.host_here().only_incoming();
      if (incoming != nullptr && incoming->get() == mine.incoming_here()) {
        replace(*incoming, mine.incoming_home);
      } else {
        mine.incoming_home = nullptr;
      }
    }
    wait_for_others();
    for (std::uint32_t awake = ballot(is_awake); awake != 0; awake &= awake - 1) {
      const Nearby<Protocol, apart>& place = nearby[std::countr_zero(awake)];
      copy_home_together(place.home, place.host);
      if (place.outgoing_home != nullptr) copy_home_together(place.outgoing_home, place.outgoing);
      if (!apart && place.incoming_home != nullptr)
        copy_home_together(place.incoming_home, place.incoming);
    }
    wait_for_others();
    if (is_awake) mine.home->on_moved(rules);
  }
}

/// The one receiving end of each thread's host, where there is just one and it is there already; null elsewhere. Its
/// host goes on thinking that it is at home.
template <class Protocol>
typename HostInStep<Protocol>::IncomingEnd* come_near(NearbyReceiver<Protocol>* nearby,
                                                      bool is_awake, HostInStep<Protocol>& host) {
  NearbyReceiver<Protocol>& mine = nearby[lane()];
  auto* const owner = is_awake ? host.only_incoming() : nullptr;
  if (is_awake) mine.home = owner == nullptr ? nullptr : owner->get();
  wait_for_others();
  for (std::uint32_t there = ballot(owner != nullptr); there != 0; there &= there - 1) {
    NearbyReceiver<Protocol>& place = nearby[std::countr_zero(there)];
    copy_near_together(place.incoming, place.home);
  }
  wait_for_copies();
  wait_for_others();
  return owner == nullptr ? nullptr : mine.incoming_here();
}
/// Home, or to where `mine.home` has been pointed since.
template <class Protocol>
void go_home(NearbyReceiver<Protocol>* nearby, bool is_near) {
  wait_for_others();
  for (std::uint32_t there = ballot(is_near); there != 0; there &= there - 1) {
    const NearbyReceiver<Protocol>& place = nearby[std::countr_zero(there)];
    copy_home_together(place.home, place.incoming);
  }
  wait_for_others();
}

}  // namespace strack::sim::gpu
