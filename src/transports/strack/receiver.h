// STrack's receiving end: which packets have come, and when to say so.
//
// It keeps no packet and no message: a payload is placed by its host the moment it arrives, and
// whether a message is whole follows from the arrival bitmap [D21]. Invariants: every PSN below
// EPSN has arrived; the EPSN packet has not; ooo_count is the number of bits set; EPSN and
// bytes_recvd never go back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/units.h"
#include "core/events.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/strack/params.h"

namespace strack::core {

template <class Events = NoEvents>
class Receiver {
 public:
  using Ack = Sack;

  /// `params` must outlive the receiver.
  constexpr Receiver(const StrackParams& params, Psn initial_psn, Events events = {})
      : params_(&params), epsn_(initial_psn), highest_(initial_psn - 1u), events_(events) {}

  /// One packet off the network, and what happened to it there. Poll for a SACK afterwards.
  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant /*now*/) {
    const bool ecn = signals.ecn;
    events_.on(PacketArrived{packet, ecn});
    if (signals.trimmed) return {ArrivalKind::trimmed, false};  // a loss like any other [D48]
    if (packet.type == PacketType::probe) {
      // [R.sack.probe] [R.probe.reply] A probe is answered at once.
      if (packet.path_id >= params_->max_paths) return malformed();
      trigger(packet, ecn);
      return {ArrivalKind::probe, false};
    }
    if (packet.path_id >= params_->max_paths ||
        !fits_its_message(packet, static_cast<std::uint32_t>(params_->mtu.value)))
      return malformed();
    const std::int32_t ahead = packet.psn - epsn_;
    if (ahead >= static_cast<std::int32_t>(params_->tracking_window)) {  // [D26]
      ++beyond_window_;
      return {ArrivalKind::beyond_window, false};
    }
    note_lpsn(ahead < 0 ? epsn_
                        : packet.psn);  // whatever lies below EPSN asks for the first segment
    marked_since_sack_ |= ecn;
    if (ahead < 0 || arrived_.test(packet.psn.value)) {
      // [D11] The sender does not know that we have it, or it would not have sent it again.
      ++duplicates_;
      events_.on(Reached{ahead < 0 ? Rare::duplicate_below_epsn : Rare::duplicate_above_epsn});
      trigger(packet, ecn);
      return {ArrivalKind::duplicate, false};
    }
    // [R.bitmap.receiver] [P.ooo_delivery] Whatever its order, it has arrived and can be placed.
    bytes_recvd_ += packet.payload;  // [R.sack.field.bytes_recvd]
    bytes_since_sack_ += packet.payload;
    highest_ = max(highest_, packet.psn);
    if (ahead == 0) {
      advance_epsn();
    } else {
      arrived_.set(packet.psn.value);
      ++ooo_count_;
    }
    const bool enough_bytes =
        bytes_since_sack_ >= static_cast<std::uint64_t>(params_->sack_bytes.value);
    if (enough_bytes ||
        (ahead == 0 && params_->sack_on_epsn)) {  // [R.sack.bytes] [R.sack.epsn] [D11]
      trigger(packet, ecn);
    }
    return {ArrivalKind::accepted, note_delivery(packet)};
  }

  /// The SACK owed, if any.
  constexpr std::optional<Sack> poll_ack(Instant /*now*/) {
    if (!sack_due_) return std::nullopt;
    sack_due_ = false;
    const Psn base = segment_base();
    const auto offset = static_cast<std::uint32_t>(base - epsn_);
    if (offset != 0) events_.on(Reached{Rare::later_segment});

    Sack sack;
    sack.epsn = epsn_;                             // [R.sack.field.epsn]
    sack.sack_base = base;                         // [R.sack.field.base]
    sack.bitmap = arrived_.extract64(base.value);  // [R.sack.field.bitmap]
    if (offset > kMaxTrackingWindow - kSackBits) {
      // The circle starts again here: what follows belongs to the window's beginning.
      sack.bitmap &= (std::uint64_t{1} << (kMaxTrackingWindow - offset)) - 1;
    }
    sack.bytes_recvd = bytes_recvd_;
    sack.ooo_count = ooo_count_;   // [R.sack.field.ooo] [D14]
    sack.path_id = echo_path_id_;  // [R.sack.echo] [D13]
    sack.timestamp = echo_timestamp_;
    sack.psn = echo_psn_;
    sack.ecn =
        params_->echo_rule == EchoRule::any_mark ? (echo_ecn_ || marked_since_sack_) : echo_ecn_;
    sack.for_probe = echo_is_probe_;  // [R.probe.bit]
    sack.probe_id = echo_probe_id_;
    marked_since_sack_ = false;
    lpsn_known_ = false;
    bytes_since_sack_ = 0;
    events_.on(SackSent{sack});
    return sack;
  }

  /// STrack's receiver acts on arrivals only.
  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr std::uint32_t bytes_recvd() const { return bytes_recvd_; }
  [[nodiscard]] constexpr std::uint16_t ooo_count() const { return ooo_count_; }
  [[nodiscard]] constexpr bool has_arrived(Psn psn) const {
    const std::int32_t ahead = psn - epsn_;
    return ahead < 0 ||
           (ahead < static_cast<std::int32_t>(kMaxTrackingWindow) && arrived_.test(psn.value));
  }
  [[nodiscard]] constexpr std::uint32_t duplicates() const { return duplicates_; }
  [[nodiscard]] constexpr std::uint32_t beyond_window() const { return beyond_window_; }
  [[nodiscard]] constexpr std::uint32_t malformed_packets() const { return malformed_; }
  [[nodiscard]] constexpr const Bitmap<kMaxTrackingWindow>& arrived() const { return arrived_; }

 private:
  constexpr Arrival malformed() {
    ++malformed_;
    return {ArrivalKind::malformed, false};
  }

  /// [R.sack.lpsn] The lowest PSN received since the last SACK.
  constexpr void note_lpsn(Psn psn) {
    if (!lpsn_known_ || psn < lpsn_) lpsn_ = psn;
    lpsn_known_ = true;
  }

  /// Owes the sender a SACK and remembers what it will echo.
  constexpr void trigger(const Packet& packet, bool ecn) {
    sack_due_ = true;
    echo_is_probe_ = packet.type == PacketType::probe;
    echo_path_id_ = packet.path_id;
    echo_timestamp_ = packet.timestamp;
    echo_psn_ = packet.psn;
    echo_probe_id_ = packet.probe_id;
    echo_ecn_ = ecn;
  }

  /// The expected packet has come: EPSN moves to the next one missing.
  constexpr void advance_epsn() {
    ++epsn_;
    if (ooo_count_ == 0) return;
    const std::uint32_t held = arrived_.next_clear(epsn_.value, kMaxTrackingWindow - 1);
    arrived_.clear_range(epsn_.value, held);
    ooo_count_ = static_cast<std::uint16_t>(ooo_count_ - held);
    epsn_ = epsn_ + held;
  }

  /// [D21] Is the message of the packet that has just arrived whole? Only that one can have become
  /// so.
  constexpr bool note_delivery(const Packet& packet) {
    const bool last = packet.message_length - packet.offset == packet.payload;
    if (!last && packet.psn == highest_)
      return false;  // the usual case: its last packets are still to come
    const auto mtu = static_cast<std::uint32_t>(params_->mtu.value);
    const Psn first = packet.psn - packet.offset / mtu;
    const Psn end = first + MessageQueue::packet_count(packet.message_length, mtu);
    if (end - 1u > highest_) return false;
    const Psn from = max(first, epsn_);
    if (from < end && !arrived_.all_set(from.value, static_cast<std::uint32_t>(end - from)))
      return false;
    if (first > epsn_) events_.on(Reached{Rare::out_of_order_delivery});
    events_.on(MessageDelivered{packet.message_id});
    return true;
  }

  /// [R.sack.segments] [R.sack.lpsn] [D12] The start of the segment this SACK tells of.
  constexpr Psn segment_base() {
    if (echo_is_probe_) {  // [R.probe.base] the probe says which
      const std::int32_t ahead = echo_psn_ - epsn_;
      if (ahead >= 0 && ahead < static_cast<std::int32_t>(params_->tracking_window))
        return echo_psn_;
      events_.on(Reached{Rare::probe_base_outside});
      return epsn_;
    }
    if (lpsn_ <= epsn_) return epsn_;
    return epsn_ + static_cast<std::uint32_t>(lpsn_ - epsn_) / kSackBits * kSackBits;
  }

  const StrackParams* params_;
  Bitmap<kMaxTrackingWindow> arrived_{};  ///< beyond EPSN; EPSN's own bit is always clear
  Psn epsn_;
  Psn highest_;  ///< the highest PSN that has arrived
  Psn lpsn_;
  std::uint32_t bytes_recvd_ = 0;
  std::uint64_t bytes_since_sack_ = 0;
  std::uint32_t duplicates_ = 0;
  std::uint32_t beyond_window_ = 0;
  std::uint32_t malformed_ = 0;
  Psn echo_psn_;
  Timestamp echo_timestamp_;
  PathId echo_path_id_ = 0;
  std::uint16_t echo_probe_id_ = 0;
  std::uint16_t ooo_count_ = 0;
  bool echo_ecn_ = false;
  bool echo_is_probe_ = false;
  bool sack_due_ = false;
  bool lpsn_known_ = false;
  bool marked_since_sack_ = false;
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(Receiver<>) <= 256, "the state budget of a NIC");
static_assert(TransportReceiver<Receiver<>>);

}  // namespace strack::core
