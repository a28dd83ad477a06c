// A NIC's port: one packet at a time, control before data, connections in turn; [D116] those of a higher
// priority before the others, as long as they have anything to send.
//
// A packet is polled from its connection when the port is free, so the RTT clock starts as it goes
// onto the wire, and nothing queues in the NIC but what receivers say. A pause frame from the ToR
// holds data back, not control.
//
// A NIC of several ports, one in each plane, is a switch beyond this port [D112].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/net/link_pause.h"
#include "sim/net/packet_ring.h"
#include "sim/net/wire.h"

namespace strack::sim {

/// Connections waiting for the port, first come, first served. Grows to the most there ever were.
class TurnList {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  void push(std::uint32_t slot) {
    if (tail_ - head_ == ring_.size()) grow();
    ring_[tail_++ & (ring_.size() - 1)] = slot;
  }
  std::uint32_t pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(ring_, head_, tail_);
  }
  /// Takes one out of the middle: a flow is done while it waits. Rare.
  void erase(std::uint32_t slot) {
    const std::size_t waiting = tail_ - head_;
    for (std::size_t i = 0; i < waiting; ++i) {
      const std::uint32_t next = pop();
      if (next != slot) push(next);
    }
  }

 private:
  void grow() {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(4, 2 * ring_.size()));
    const std::size_t waiting = tail_ - head_;
    for (std::size_t i = 0; i < waiting; ++i) larger[i] = pop();
    ring_.swap(larger);
    head_ = 0;
    tail_ = waiting;
  }

  std::vector<std::uint32_t> ring_;  ///< a power of two
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

/// A connection's place in the port's order.
struct Turn {
  std::uint32_t slot = 0;
  std::uint32_t priority = 0;
};

/// [D116] A list for each priority; the highest that is not empty goes first.
class TurnLists {
 public:
  [[nodiscard]] bool empty() const { return usual_.empty() && waiting() == 0; }
  [[nodiscard]] std::size_t size() const { return usual_.size() + waiting(); }
  void push(Turn turn) {
    if (turn.priority == 0) [[likely]]
      return usual_.push(turn.slot);
    if (urgent_ == nullptr) urgent_ = std::make_unique<Urgent>();
    urgent_->lists[turn.priority - 1].push(turn.slot);
    ++urgent_->waiting;
  }
  Turn pop() {
    if (waiting() == 0) [[likely]]
      return {usual_.pop(), 0};
    std::uint32_t highest = SimPacket::kPriorities - 1;
    while (urgent_->lists[highest - 1].empty()) --highest;
    --urgent_->waiting;
    return {urgent_->lists[highest - 1].pop(), highest};
  }
  void erase(Turn turn) {
    if (turn.priority == 0) return usual_.erase(turn.slot);
    TurnList& list = urgent_->lists[turn.priority - 1];
    urgent_->waiting -= list.size();
    list.erase(turn.slot);
    urgent_->waiting += list.size();
  }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    bool urgent = waiting() > 0;
    a(usual_, urgent);
    if (!urgent) return;
    if (urgent_ == nullptr) urgent_ = std::make_unique<Urgent>();
    a(urgent_->waiting);
    a.fixed(urgent_->lists);
  }

 private:
  struct Urgent {
    std::size_t waiting = 0;
    std::array<TurnList, SimPacket::kPriorities - 1> lists;
  };
  [[nodiscard]] std::size_t waiting() const { return urgent_ == nullptr ? 0 : urgent_->waiting; }

  TurnList usual_;
  std::unique_ptr<Urgent> urgent_;  ///< from the first of them on
};

class NicPort {
 public:
  /// What went onto the wire, was lost on it or held back, since the last time it was asked.
  struct Tally {
    std::int64_t carried = 0;
    std::int64_t arrived = 0;  ///< the data of that: a NIC has no queue for it
    Picoseconds paused{0};
    std::uint32_t drops = 0;
    std::uint32_t pause_frames = 0;
  };

  Wire wire;
  DropCounts drops;

  /// When it next has something to send; never, if nothing is wanted of it.
  [[nodiscard, gnu::always_inline]] Instant next_event(Instant now) const {
    if (!wanted_) return Instant::never();
    const Instant free = std::max(free_, now);
    return control_.empty() && pause_.holds(free) ? pause_.until() : free;
  }

  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(wire, drops, free_, pause_, held_left_, wanted_, interval_, control_, turns_);
    static_assert(sizeof(NicPort) == 296, "list what is new");
  }

  void send_control(const SimPacket& packet) {
    control_.push(packet);
    wanted_ = true;
  }

  /// A connection may have something to send. `queued` is its own: whether it is in the list.
  void take_turn(Turn turn, bool& queued, Instant now) {
    end_lapsed_pause(now);
    wanted_ = true;
    if (queued) return;
    queued = true;
    turns_.push(turn);
  }
  /// A connection that waits is done.
  void forget(Turn turn) { turns_.erase(turn); }

  /// [R.pfc.hold] [R.pfc.expiry] The ToR asks for silence, or lets go.
  void on_pause(Picoseconds time, Instant now) {
    end_lapsed_pause(now);
    if (pause_.on_frame(time, now)) mark_held();
  }

  /// Sends one packet, if there is any: control, or that of the first connection for which
  /// poll(slot, send) calls send(packet, size, whether it is data). It returns false for a connection
  /// that has nothing, which is then out of the list.
  template <class Poll>
  void serve(Instant now, std::int64_t control_size, WindowContext& context,
             Fingerprint& fingerprint, std::uint64_t& control_sent, Poll&& poll) {
    if (has_control()) {
      serve_control(now, control_size, context, fingerprint, control_sent);
    } else {
      serve_turns(now, context, fingerprint, std::forward<Poll>(poll));
    }
  }
  [[nodiscard]] bool has_control() const { return !control_.empty(); }
  void serve_control(Instant now, std::int64_t control_size, WindowContext& context,
                     Fingerprint& fingerprint, std::uint64_t& control_sent) {
    send(control_.front(), control_size, now, context, fingerprint);
    control_.pop();
    ++control_sent;
  }
  template <class Poll>
  void serve_turns(Instant now, WindowContext& context, Fingerprint& fingerprint, Poll&& poll) {
    if (pause_.expire(now)) [[unlikely]]
      mark_held();
    while (!turns_.empty()) {
      const Turn turn = turns_.pop();
      const bool sent = poll(turn.slot, [&](SimPacket& packet, std::int64_t size, bool data) {
        turns_.push(turn);
        interval_.arrived += size;
        if (held_left_ > 0) [[unlikely]] {
          --held_left_;
          packet.set_held(data);
        }
        send(packet, size, now, context, fingerprint);
      });
      if (sent) return;
      if (held_left_ > 0) [[unlikely]]
        --held_left_;  // it waited in vain
    }
    wanted_ = false;
  }

  Tally take_interval(Instant now) {
    const LinkPause::Interval held = pause_.take_interval(now);
    interval_.paused = held.paused;
    interval_.pause_frames = held.frames;
    return std::exchange(interval_, {});
  }
  /// How long data was held back, up to an instant.
  [[nodiscard]] Picoseconds paused(Instant now) const { return pause_.total(now); }
  [[nodiscard]] std::uint64_t pauses_received() const { return pause_.frames(); }

 private:
  void send(const SimPacket& packet, std::int64_t size, Instant now, WindowContext& context,
            Fingerprint& fingerprint) {
    free_ = now + wire.time_to_send(size, now);
    const Instant arrival = free_ + wire.latency;
    ++context.packet_hops;
    interval_.carried += size;
    if (wire.is_cut(now, arrival)) [[unlikely]] {
      ++drops.failure;
      ++interval_.drops;
      fingerprint.add(packet, now);
    } else if (wire.is_corrupted(size, now)) [[unlikely]] {
      ++drops.error;
      ++interval_.drops;
      fingerprint.add(packet, now);
    } else {
      context.send(wire, packet, arrival);
    }
  }

  /// [R.pfc.victim] A pause ends: the connections that wait for the port now were held by it, and
  /// their next packets with them.
  void mark_held() { held_left_ = static_cast<std::uint32_t>(turns_.size()); }
  /// A pause that ended while nothing was to be sent held nobody who comes later.
  void end_lapsed_pause(Instant now) {
    if (pause_.active() && pause_.until() < now) [[unlikely]] {
      pause_.expire(now);
      mark_held();
    }
  }

  Instant free_{};
  LinkPause pause_;
  std::uint32_t held_left_ = 0;  ///< so many packets more were held by the last pause
  bool wanted_ = false;
  Tally interval_;
  PacketRing control_;
  TurnLists turns_;  ///< connections that may have something to send
};

}  // namespace strack::sim
