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
#include <type_traits>

#include "base/units.h"
#include "sim/gpu/atomics.h"
#include "sim/host/host.h"
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
  enum class Task : std::uint8_t { nothing, data, ack, timer, control, poll };
  [[nodiscard, gnu::always_inline]] Task next_task(const Mail& mail, Instant end) {
    switch (this->upcoming(mail, end)) {
      case Base::Due::arrival:
        return mail.arrivals[mail.next].packet.is_backward() ? Task::ack : Task::data;
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

/// One host's place. A hole between two of them sees to it that the same member of neighbours lies in different banks.
template <class Protocol>
struct Nearby {
  using HostType = HostInStep<Protocol>;
  using OutgoingEnd = typename HostType::OutgoingEnd;
  using IncomingEnd = typename HostType::IncomingEnd;

  HostType* home;
  OutgoingEnd* outgoing_home;  ///< null: it has not come
  IncomingEnd* incoming_home;
  alignas(HostType) std::byte host[sizeof(HostType)];
  alignas(OutgoingEnd) std::byte outgoing[sizeof(OutgoingEnd)];
  alignas(IncomingEnd) std::byte incoming[sizeof(IncomingEnd)];
  static constexpr std::size_t kSize =
      sizeof(home) * 3 + sizeof(host) + sizeof(outgoing) + sizeof(incoming);
  std::byte hole[kSize % 16 == 0 ? 8 : 16];

  [[nodiscard]] HostType& host_here() { return *reinterpret_cast<HostType*>(host); }
  [[nodiscard]] OutgoingEnd* outgoing_here() { return reinterpret_cast<OutgoingEnd*>(outgoing); }
  [[nodiscard]] IncomingEnd* incoming_here() { return reinterpret_cast<IncomingEnd*>(incoming); }
};

/// Where there is room for enough of them.
template <class Protocol>
inline constexpr bool kComesNear = HostInStep<Protocol>::kMoves &&
                                   sizeof(Nearby<Protocol>) <= std::size_t{3} << 10;

/// By all threads of a warp.
inline void copy_together(void* to, const void* from, std::size_t bytes) {
  using Word [[gnu::may_alias]] = std::uint64_t;
  auto* const words = static_cast<Word*>(to);
  const auto* const source = static_cast<const Word*>(from);
  for (std::size_t i = lane(); i < bytes / sizeof(Word); i += kLanes) words[i] = source[i];
}

/// Gives what somebody owns another place.
template <class T>
void replace(std::unique_ptr<T>& owner, T* place) {
  static_cast<void>(owner.release());
  owner.reset(place);
}

/// Hosts of a warp's threads that are awake; each is then where this says. `nearby` has a place for each thread.
template <class Protocol>
HostInStep<Protocol>& come_near(Nearby<Protocol>* nearby, bool is_awake, HostInStep<Protocol>& home,
                                const HostRules<Protocol>& rules) {
  if constexpr (!kComesNear<Protocol>) {
    return home;
  } else {
    Nearby<Protocol>& mine = nearby[lane()];
    if (is_awake) {
      mine.home = &home;
      auto* outgoing = home.only_outgoing();
      mine.outgoing_home = outgoing == nullptr ? nullptr : outgoing->get();
      if (outgoing != nullptr) replace(*outgoing, mine.outgoing_here());
      auto* incoming = home.only_incoming();
      mine.incoming_home = incoming == nullptr ? nullptr : incoming->get();
      if (incoming != nullptr) replace(*incoming, mine.incoming_here());
    }
    wait_for_others();
    for (std::uint32_t awake = ballot(is_awake); awake != 0; awake &= awake - 1) {
      Nearby<Protocol>& place = nearby[std::countr_zero(awake)];
      copy_together(place.host, place.home, sizeof place.host);
      if (place.outgoing_home != nullptr)
        copy_together(place.outgoing, place.outgoing_home, sizeof place.outgoing);
      if (place.incoming_home != nullptr)
        copy_together(place.incoming, place.incoming_home, sizeof place.incoming);
    }
    wait_for_others();
    if (is_awake) mine.host_here().on_moved(rules);
    return mine.host_here();
  }
}

template <class Protocol>
void go_home([[maybe_unused]] Nearby<Protocol>* nearby, [[maybe_unused]] bool is_awake,
             [[maybe_unused]] const HostRules<Protocol>& rules) {
  if constexpr (kComesNear<Protocol>) {
    Nearby<Protocol>& mine = nearby[lane()];
    if (is_awake) {
      // A connection may have ended meanwhile.
      auto* outgoing = mine.host_here().only_outgoing();
      if (outgoing != nullptr && outgoing->get() == mine.outgoing_here()) {
        replace(*outgoing, mine.outgoing_home);
      } else {
        mine.outgoing_home = nullptr;
      }
      auto* incoming = mine.host_here().only_incoming();
      if (incoming != nullptr && incoming->get() == mine.incoming_here()) {
        replace(*incoming, mine.incoming_home);
      } else {
        mine.incoming_home = nullptr;
      }
    }
    wait_for_others();
    for (std::uint32_t awake = ballot(is_awake); awake != 0; awake &= awake - 1) {
      const Nearby<Protocol>& place = nearby[std::countr_zero(awake)];
      copy_together(place.home, place.host, sizeof place.host);
      if (place.outgoing_home != nullptr)
        copy_together(place.outgoing_home, place.outgoing, sizeof place.outgoing);
      if (place.incoming_home != nullptr)
        copy_together(place.incoming_home, place.incoming, sizeof place.incoming);
    }
    wait_for_others();
    if (is_awake) mine.home->on_moved(rules);
  }
}

}  // namespace strack::sim::gpu
