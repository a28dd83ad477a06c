// RoCEv2's receiving end: takes each QP's packets in order, and says so seldom.
//
// Invariant, per QP: `expected` is this QP's, and all of its packets before it have arrived.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/rocev2/ack.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/params.h"
#include "transports/rocev2/stripes.h"

namespace strack::core {

/// One QP's receiving context. Belongs to the host's memory; only the receiver writes it.
struct RoceReceiverQp {
  Psn expected;
  Timestamp echo;  ///< of the newest packet
  Instant ack_ts = Instant::distant_past();
  Instant nak_ts = Instant::distant_past();
  Instant cnp_ts = Instant::distant_past();
  std::int64_t bytes_since_ack = 0;
  bool nak_sent = false;  ///< for `expected`
  bool ack_due = false;
  bool nak_due = false;
  bool cnp_due = false;
};
static_assert(sizeof(RoceReceiverQp) <= 64, "the state budget of a NIC");

template <class Events = NoEvents>
class RoceReceiver {
 public:
  using Ack = RoceAck;

  /// `params` and `qps` must outlive the receiver; there are params.qps_per_conn of the latter.
  constexpr RoceReceiver(const RoceParams& params, std::span<RoceReceiverQp> qps, Psn initial_psn,
                         Events events = {})
      : params_(&params), qps_(qps.data()), events_(events) {
    STRACK_CHECK(qps.size() == params.qps_per_conn);
    const Stripes stripes(params);
    for (std::uint32_t i = 0; i < stripes.qps(); ++i) {
      qps_[i] = {};
      qps_[i].expected = stripes.first_of(i, initial_psn);
    }
  }

  /// One packet off the network, and what happened to it there. Poll for acknowledgements afterwards.
  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant now) {
    const bool ecn = signals.ecn;
    events_.on(PacketArrived{packet, ecn});
    if (signals.trimmed) return {ArrivalKind::trimmed, false};  // a loss like any other [D48]
    const Stripes stripes(*params_);
    const auto mtu = static_cast<std::uint32_t>(params_->mtu.value);
    if (packet.type != PacketType::data || packet.path_id >= stripes.qps() ||
        stripes.qp_of(packet.psn) != packet.path_id || !fits_its_message(packet, mtu)) {
      ++malformed_;  // [R.roce.refuse]
      return {ArrivalKind::malformed, false};
    }
    RoceReceiverQp& qp = qps_[packet.path_id];
    qp.echo = packet.timestamp;
    if (ecn && params_->dcqcn.variant != DcqcnVariant::off) notify(qp, packet.path_id, now);
    const std::int32_t ahead = packet.psn - qp.expected;
    if (ahead > 0) {  // [R.roce.order]
      ++out_of_order_;
      refuse(qp, packet.path_id, now);
      return {ArrivalKind::out_of_order, false};
    }
    const Psn first = packet.psn - packet.offset / mtu;
    const Psn end = first + MessageQueue::packet_count(packet.message_length, mtu);
    const bool last = stripes.next(packet.psn) >= end;
    if (ahead == 0) {
      qp.expected = stripes.next(packet.psn);
      qp.nak_sent = false;
    } else {
      ++duplicates_;
      events_.on(RoceReached{RoceRare::duplicate});
    }
    qp.bytes_since_ack += packet.payload;
    if (last || qp.bytes_since_ack >= params_->ack_bytes.value ||
        now - qp.ack_ts >= params_->ack_interval) {  // [R.roce.ack]
      qp.ack_due = true;
      due_ |= static_cast<std::uint16_t>(1u << packet.path_id);
    }
    if (ahead < 0) return {ArrivalKind::duplicate, false};
    return {ArrivalKind::accepted, last && note_delivery(stripes, packet.message_id, first, end)};
  }

  /// What is owed, one at a time: of a QP its CNP first.
  constexpr std::optional<RoceAck> poll_ack(Instant now) {
    if (due_ == 0) return std::nullopt;
    const auto index = static_cast<PathId>(std::countr_zero(due_));
    RoceReceiverQp& qp = qps_[index];
    RoceAck ack{RoceAckKind::ack, index, qp.expected, qp.echo};
    if (qp.cnp_due) {
      ack.kind = RoceAckKind::cnp;
      qp.cnp_due = false;
    } else {
      if (qp.nak_due) ack.kind = RoceAckKind::nak;
      qp.nak_due = false;
      qp.ack_due = false;  // a NAK tells what an ACK would
      qp.bytes_since_ack = 0;
      qp.ack_ts = now;
    }
    if (!qp.nak_due && !qp.ack_due) due_ &= static_cast<std::uint16_t>(due_ - 1);
    events_.on(RoceAckSent{ack});
    return ack;
  }

  /// It acts on arrivals only.
  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

  [[nodiscard]] constexpr const RoceReceiverQp& qp(std::uint32_t i) const { return qps_[i]; }
  [[nodiscard]] constexpr std::uint32_t duplicates() const { return duplicates_; }
  [[nodiscard]] constexpr std::uint32_t out_of_order() const { return out_of_order_; }
  [[nodiscard]] constexpr std::uint32_t malformed_packets() const { return malformed_; }

 private:
  /// [R.dcqcn.cnp]
  constexpr void notify(RoceReceiverQp& qp, PathId index, Instant now) {
    if (now - qp.cnp_ts < params_->dcqcn.cnp_interval) {
      events_.on(RoceReached{RoceRare::cnp_suppressed});
      return;
    }
    qp.cnp_ts = now;
    qp.cnp_due = true;
    due_ |= static_cast<std::uint16_t>(1u << index);
  }

  /// [R.roce.nak] [R.roce.nak_repeat] A later packet has come instead of the expected one.
  constexpr void refuse(RoceReceiverQp& qp, PathId index, Instant now) {
    if (qp.nak_sent) {
      if (now - qp.nak_ts < params_->nak_interval) {
        events_.on(RoceReached{RoceRare::nak_suppressed});
        return;
      }
      events_.on(RoceReached{RoceRare::nak_repeated});
    }
    qp.nak_sent = true;
    qp.nak_ts = now;
    qp.nak_due = true;
    due_ |= static_cast<std::uint16_t>(1u << index);
  }

  /// [D21] Is the message whole whose last packet on this QP has just arrived?
  constexpr bool note_delivery(const Stripes& stripes, MessageId id, Psn first, Psn end) {
    bool earliest = true;
    for (std::uint32_t i = 0; i < stripes.qps(); ++i) {
      if (stripes.first_of(i, max(first, qps_[i].expected)) < end) return false;
      earliest = earliest && qps_[i].expected >= first;
    }
    if (!earliest) events_.on(RoceReached{RoceRare::out_of_order_delivery});
    events_.on(MessageDelivered{id});
    return true;
  }

  const RoceParams* params_;
  RoceReceiverQp* qps_;
  std::uint32_t duplicates_ = 0;
  std::uint32_t out_of_order_ = 0;
  std::uint32_t malformed_ = 0;
  std::uint16_t due_ = 0;  ///< QPs that owe something
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(RoceReceiver<>) <= 64, "the state budget of a NIC");
static_assert(TransportReceiver<RoceReceiver<>>);

}  // namespace strack::core
