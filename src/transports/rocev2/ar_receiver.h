// The receiving end of RoCEv2 over switches that spray: places packets in whatever order they come, and
// asks for those that have not come in time.
//
// Invariants: every PSN below EPSN has arrived, the EPSN packet has not; nothing below asked_ is asked
// for again before nak_interval has passed; overdue_ <= highest_ + 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/rocev2/ar_ack.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/params.h"

namespace strack::core {

template <class Events = NoEvents>
class ArReceiver {
 public:
  using Ack = ArAck;

  /// `params` must outlive the receiver.
  constexpr ArReceiver(const RoceParams& params, Psn initial_psn, Events events = {})
      : params_(&params),
        epsn_(initial_psn),
        highest_(initial_psn - 1u),
        asked_(initial_psn),
        overdue_(initial_psn),
        events_(events) {}

  /// One packet off the network, and what happened to it there. Poll for acknowledgements afterwards.
  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant now) {
    events_.on(PacketArrived{packet, signals.ecn});
    if (signals.trimmed) return {ArrivalKind::trimmed, false};  // a loss like any other [D48]
    if (packet.type != PacketType::data || packet.path_id != 0 ||
        !fits_its_message(packet, static_cast<std::uint32_t>(params_->mtu.value))) {
      ++malformed_;
      return {ArrivalKind::malformed, false};
    }
    const std::int32_t ahead = packet.psn - epsn_;
    if (ahead >= static_cast<std::int32_t>(kArWindow)) {  // [AR.window]
      ++beyond_window_;
      return {ArrivalKind::beyond_window, false};
    }
    echo_ = packet.timestamp;
    if (signals.ecn && params_->dcqcn.variant != DcqcnVariant::off) notify(now);
    if (ahead < 0 || arrived_.test(packet.psn.value)) {  // [AR.duplicate]
      ++duplicates_;
      events_.on(RoceReached{RoceRare::duplicate});
      ack_due_ = true;
      return {ArrivalKind::duplicate, false};
    }
    place(packet.psn, ahead, now);
    bytes_since_ack_ += packet.payload;
    const bool whole = note_delivery(packet);
    if (whole || bytes_since_ack_ >= params_->ack_bytes.value ||
        now - ack_ts_ >= params_->ack_interval) {  // [AR.ack]
      ack_due_ = true;
    }
    watch_gaps(now);
    return {ArrivalKind::accepted, whole};
  }

  /// What is owed, one at a time: a CNP, NAKs, an ACK.
  constexpr std::optional<ArAck> poll_ack(Instant now) {
    ArAck ack;
    ack.epsn = epsn_;
    ack.timestamp = echo_;
    if (cnp_due_) {
      ack.kind = RoceAckKind::cnp;
      cnp_due_ = false;
    } else if (ask(ack, now)) {
      ack.kind = RoceAckKind::nak;
      said(now);  // a NAK tells what an ACK would
    } else if (ack_due_) {
      said(now);
    } else {
      return std::nullopt;
    }
    events_.on(RoceAckSent{ack});
    return ack;
  }

  /// Something is overdue now, or has been asked for in vain.
  constexpr void on_timeout(Instant now) { watch_gaps(now); }
  [[nodiscard]] constexpr Instant next_deadline() const {
    if (!has_gap()) return Instant::never();
    const Instant seen = gap_ts_ + params_->reorder_time;
    return asked_ > epsn_ ? std::min(seen, asked_ts_ + params_->nak_interval) : seen;
  }

  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr std::uint32_t duplicates() const { return duplicates_; }
  [[nodiscard]] constexpr std::uint32_t beyond_window() const { return beyond_window_; }
  [[nodiscard]] constexpr std::uint32_t malformed_packets() const { return malformed_; }

 private:
  /// Something beyond EPSN has come.
  [[nodiscard]] constexpr bool has_gap() const { return highest_ >= epsn_; }

  /// [AR.cnp]
  constexpr void notify(Instant now) {
    if (now - cnp_ts_ < params_->dcqcn.cnp_interval) {
      events_.on(RoceReached{RoceRare::cnp_suppressed});
      return;
    }
    cnp_ts_ = now;
    cnp_due_ = true;
  }

  /// [AR.place] Whatever its order, it has arrived.
  constexpr void place(Psn psn, std::int32_t ahead, Instant now) {
    const bool had_gap = has_gap();
    highest_ = max(highest_, psn);
    if (ahead == 0) {
      ++epsn_;
      const std::uint32_t held = arrived_.next_clear(epsn_.value, kArWindow - 1);
      arrived_.clear_range(epsn_.value, held);
      epsn_ = epsn_ + held;
      asked_ts_ = now;  // [AR.again] what was asked for comes
    } else {
      arrived_.set(psn.value);
    }
    asked_ = max(asked_, epsn_);
    overdue_ = max(overdue_, epsn_);
    if (!had_gap) {
      gap_ts_ = now;
      gap_high_ = highest_;
    }
  }

  /// [AR.overdue] Once in reorder_time: what is missing before the packet that was the highest then.
  /// [AR.again] And all of it again, when nothing of what was asked for has come for nak_interval.
  constexpr void watch_gaps(Instant now) {
    if (!has_gap()) return;
    if (now - gap_ts_ >= params_->reorder_time) {
      overdue_ = max(overdue_, gap_high_);
      gap_ts_ = now;
      gap_high_ = highest_;
    }
    if (asked_ > epsn_ && now - asked_ts_ >= params_->nak_interval) {
      asked_ = epsn_;
      events_.on(RoceReached{RoceRare::nak_repeated});
    }
  }

  /// [AR.nak] Names the next of the packets that are overdue and have not been asked for; false if
  /// there are none.
  constexpr bool ask(ArAck& nak, Instant now) {
    if (asked_ >= overdue_) return false;
    const auto left = static_cast<std::uint32_t>(overdue_ - asked_);
    const std::uint32_t held = arrived_.next_clear(asked_.value, left);
    if (held == left) {
      asked_ = overdue_;
      return false;
    }
    if (asked_ == epsn_) asked_ts_ = now;
    nak.from = asked_ + held;
    nak.missing = ~arrived_.extract64(nak.from.value);
    if (left - held < kArNakBits) nak.missing &= (std::uint64_t{1} << (left - held)) - 1;
    asked_ = min(nak.from + kArNakBits, overdue_);
    return true;
  }

  constexpr void said(Instant now) {
    ack_due_ = false;
    bytes_since_ack_ = 0;
    ack_ts_ = now;
  }

  /// [AR.deliver] [D21] Is the message of the packet that has just arrived whole?
  constexpr bool note_delivery(const Packet& packet) {
    const auto mtu = static_cast<std::uint32_t>(params_->mtu.value);
    const Psn first = packet.psn - packet.offset / mtu;
    const Psn end = first + MessageQueue::packet_count(packet.message_length, mtu);
    if (end - 1u > highest_) return false;
    const Psn from = max(first, epsn_);
    if (from < end && !arrived_.all_set(from.value, static_cast<std::uint32_t>(end - from)))
      return false;
    if (first > epsn_) events_.on(RoceReached{RoceRare::out_of_order_delivery});
    events_.on(MessageDelivered{packet.message_id});
    return true;
  }

  const RoceParams* params_;
  Bitmap<kArWindow> arrived_{};  ///< beyond EPSN; EPSN's own bit is always clear
  Psn epsn_;
  Psn highest_;   ///< that has arrived
  Psn asked_;     ///< all before it have come or been asked for
  Psn overdue_;   ///< all before it should have come
  Psn gap_high_;  ///< the highest at gap_ts_
  Timestamp echo_;
  Instant gap_ts_{};
  Instant asked_ts_{};  ///< when EPSN was asked for, or last moved
  Instant ack_ts_ = Instant::distant_past();
  Instant cnp_ts_ = Instant::distant_past();
  std::int64_t bytes_since_ack_ = 0;
  std::uint32_t duplicates_ = 0;
  std::uint32_t beyond_window_ = 0;
  std::uint32_t malformed_ = 0;
  bool ack_due_ = false;
  bool cnp_due_ = false;
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(ArReceiver<>) <= kArWindow / 8 + 128, "the state budget of a NIC");
static_assert(TransportReceiver<ArReceiver<>>);

}  // namespace strack::core
