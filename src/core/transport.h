// The contract between a protocol core and whoever hosts it: a simulated NIC, a UDP socket, a test.
//
// A core decides, a host does. The host owns time, bytes, memory for posted messages, sockets or queues;
// the core owns the protocol's state and is told everything through its arguments. Any protocol whose
// core satisfies these concepts runs in any host, so a host is written once.
//
//   sender.on_message(message, now);  // or on_receiving_ack, on_timeout
//   while (auto packet = sender.poll_transmit(now)) port.enqueue(*packet);
//   while (auto id = sender.poll_completion()) completed(*id);
//   timer.arm(sender.next_deadline());
//
//   const Arrival arrival = receiver.on_packet(packet, signals, now);
//   if (arrival.kind == ArrivalKind::accepted) place(payload);
//   if (arrival.delivered) tell_the_user(packet.message_id);
//   while (auto ack = receiver.poll_ack(now)) port.enqueue_control(*ack);
//   timer.arm(receiver.next_deadline());
//
// Poll again after ...
//  - on_message, on_receiving_ack, on_timeout: poll_transmit may have something new. After any of them
//    the host polls until it gets nothing, or, when its port takes one packet at a time, remembers that
//    the connection may have more and polls again each time the port is free. A poll that gave nothing
//    stays empty until the next on_* call or until next_deadline().
//  - poll_transmit: next_deadline may have moved (the first packet starts the timers). It may also have
//    moved after each on_*.
//  - on_receiving_ack: poll_completion. Messages may complete in another order than they were posted.
//  - on_packet: poll_ack, before the next on_packet of the connection; an unpolled SACK is replaced.
// Calling early or again is harmless: on_timeout before the deadline does nothing, a poll with nothing
// to say says nothing. `now` must never run backwards within one connection.
//
// What a host must do besides:
//  - stamp packet.timestamp as the packet goes onto the wire [D27]. poll_transmit fills in its own
//    `now`, right for a host that sends at once. A queue inside a NIC is no part of the network's RTT.
//  - send what it polled: a polled packet counts as in flight. Dropping it is a loss like any other.
//  - carry SACKs ahead of queued data, and probes with the data [D18].
//  - deliver signals of the very packet they come with; map path_id to an entropy the same way throughout.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "core/packet.h"

namespace strack::core {

/// A message as its owner posts it. [D20] At most 2^32 - 1 bytes; none at all is fine.
struct Message {
  MessageId id = 0;
  std::uint32_t length = 0;
};

enum class PostResult : std::uint8_t {
  accepted,
  queue_full,  ///< the host's message queue has no free slot: post again after a completion
};

/// What the network has done to a packet on its way, told on arrival. A host says what it knows: what
/// it does not measure stays as it is here.
struct Signals {
  bool ecn = false;           ///< marked, by any queue on the way
  bool ecn_last_hop = false;  ///< by the queue of the receiver's own link: says nothing of the path
  bool trimmed = false;       ///< its payload was cut off by a full queue; `payload` tells how much
  bool trimmed_last_hop = false;  ///< by the queue of the receiver's own link
  std::uint8_t hops = 0;          ///< links it has passed
  std::uint16_t utilisation =
      0;  ///< the fullest link of its path, kFullUtilisation: all it can carry

  /// A link that carries what it can, with no queue.
  static constexpr std::uint16_t kFullUtilisation = 1'024;

  friend constexpr bool operator==(const Signals&, const Signals&) = default;
};

enum class ArrivalKind : std::uint8_t {
  accepted,       ///< new: the host places the payload
  duplicate,      ///< had it: the host drops the payload, the core acknowledges again
  beyond_window,  ///< a PSN that cannot be tracked: dropped, counted
  out_of_order,   ///< not the one a protocol that keeps order expects: dropped, counted
  malformed,      ///< contradicts itself: dropped, counted
  probe,          ///< no payload
  trimmed,        ///< no payload any more: the network has cut it off
};

struct Arrival {
  ArrivalKind kind = ArrivalKind::malformed;
  bool delivered = false;  ///< this packet was the last missing one of its message
};

template <class S>
concept TransportSender = requires(S sender, const S& idle, const Message& message,
                                   const typename S::Ack& ack, Instant now) {
  { sender.on_message(message, now) } -> std::same_as<PostResult>;
  { sender.on_receiving_ack(ack, now) } -> std::same_as<void>;
  { sender.on_timeout(now) } -> std::same_as<void>;
  { sender.poll_transmit(now) } -> std::same_as<std::optional<Packet>>;
  { sender.poll_completion() } -> std::same_as<std::optional<MessageId>>;
  { idle.next_deadline() } -> std::same_as<Instant>;
};

template <class R>
concept TransportReceiver = requires(R receiver, const R& idle, const Packet& packet,
                                     const Signals& signals, Instant now) {
  typename R::Ack;
  { receiver.on_packet(packet, signals, now) } -> std::same_as<Arrival>;
  { receiver.poll_ack(now) } -> std::same_as<std::optional<typename R::Ack>>;
  { receiver.on_timeout(now) } -> std::same_as<void>;
  { idle.next_deadline() } -> std::same_as<Instant>;
};

/// Both ends of one protocol: what a host is parameterised with.
template <class S, class R>
concept Transport =
    TransportSender<S> && TransportReceiver<R> && std::same_as<typename S::Ack, typename R::Ack>;

}  // namespace strack::core
