// STrack+'s receiving end: which packets have come, and when to say so.
//
// It keeps no packet and no message: a payload is placed by its host the moment it arrives, and whether a message is
// whole follows from the arrival bitmap. Invariants: every PSN below EPSN has arrived; the EPSN packet has not; EPSN
// never goes back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/strack_plus/ack.h"
#include "transports/strack_plus/params.h"

namespace strack::core {

class PlusReceiver {
 public:
  using Ack = PlusAck;

  /// `params` must outlive the receiver.
  constexpr PlusReceiver(const PlusParams& params, Psn initial_psn)
      : params_(&params), epsn_(initial_psn), highest_(initial_psn - 1u) {}

  /// One packet off the network, and what happened to it there. Poll for a SACK afterwards.
  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant /*now*/) {
    if (signals.trimmed) return {ArrivalKind::trimmed};  // a loss like any other
    if (packet.path_id >= params_->max_paths) return {ArrivalKind::malformed};
    if (packet.type == PacketType::probe) {  // [PLUS.probe.answer]
      trigger(packet, signals.ecn, true);
      return {ArrivalKind::probe};
    }
    if (!fits_its_message(packet, params_->mtu_bytes())) return {ArrivalKind::malformed};
    const std::int32_t ahead = packet.psn - epsn_;
    if (ahead >= static_cast<std::int32_t>(params_->tracking_window))  // [PLUS.track]
      return {ArrivalKind::beyond_window};
    note_echo(packet, signals.ecn);
    if (ahead < 0 || arrived_.test(packet.psn.value)) {
      trigger(packet, signals.ecn, false);  // [PLUS.sack.duplicate] its sender does not know
      return {ArrivalKind::duplicate};
    }
    highest_ = max(highest_, packet.psn);
    if (ahead == 0) {
      advance_epsn();
    } else {
      arrived_.set(packet.psn.value);
      ++out_of_order_;
    }
    const bool whole = is_whole(packet);
    if (count_ >= params_->sack_packets ||  // [PLUS.sack]
        whole ||                            // [PLUS.sack.end]
        (packet.note & kPlusAsks) != 0 ||   // [PLUS.sack.ask]
        (ahead == 0 && params_->sack_on_epsn))
      trigger(packet, signals.ecn, false);
    return {ArrivalKind::accepted, whole};
  }

  constexpr std::optional<PlusAck> poll_ack(Instant /*now*/) {
    if (!due_) return std::nullopt;
    due_ = false;
    PlusAck ack;
    ack.epsn = epsn_;
    ack.timestamp = timestamp_;
    ack.echoes = echoes_;
    ack.count = count_;
    ack.for_probe = for_probe_;
    ack.ecn = ecn_;
    ack.path_id = path_id_;
    const std::uint32_t offset = segment();
    ack.base = epsn_ + offset;
    ack.none_beyond = for_probe_ && highest_ < ack.base + PlusAck::kBits;
    if (out_of_order_ > 0)
      ack.bitmap = arrived_.extract64(ack.base.value) & ((std::uint64_t{1} << PlusAck::kBits) - 1);
    // At the circle's end what follows belongs to the window's beginning.
    if (offset > PlusParams::kTracked - PlusAck::kBits)
      ack.bitmap &= (std::uint64_t{1} << (PlusParams::kTracked - offset)) - 1;
    count_ = 0;
    return ack;
  }

  /// It acts on arrivals only.
  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr bool has_arrived(Psn psn) const {
    const std::int32_t ahead = psn - epsn_;
    return ahead < 0 ||
           (ahead < static_cast<std::int32_t>(PlusParams::kTracked) && arrived_.test(psn.value));
  }
  /// A SACK is owed, and the next packet would have no place in it.
  [[nodiscard]] constexpr bool full() const { return due_ && count_ == PlusParams::kEchoes; }

 private:
  /// [PLUS.sack.echo] A place is free: whoever filled the last one has been polled.
  constexpr void note_echo(const Packet& packet, bool ecn) {
    if (count_ == PlusParams::kEchoes) --count_;
    echoes_[count_++] = {packet.psn, packet.path_id, ecn};
  }

  constexpr void trigger(const Packet& packet, bool ecn, bool for_probe) {
    due_ = true;
    timestamp_ = packet.timestamp;
    path_id_ = packet.path_id;
    ecn_ = ecn;
    for_probe_ = for_probe;
    psn_ = packet.psn;
  }

  /// [PLUS.sack.bitmap] Those around the packet, in steps from EPSN; [PLUS.probe.where] around the one a probe asks for.
  [[nodiscard]] constexpr std::uint32_t segment() const {
    const std::int32_t ahead = psn_ - epsn_;
    if (ahead <= 0) return 0;
    const std::uint32_t within = std::min(static_cast<std::uint32_t>(ahead),
                                          PlusParams::kTracked - 1);  // a probe's may be any
    return within / PlusAck::kBits * PlusAck::kBits;
  }

  constexpr void advance_epsn() {
    ++epsn_;
    if (out_of_order_ == 0) return;
    const std::uint32_t held = arrived_.next_clear(epsn_.value, PlusParams::kTracked - 1);
    arrived_.clear_range(epsn_.value, held);
    out_of_order_ -= held;
    epsn_ = epsn_ + held;
  }

  /// Of all messages, only that of the packet that has just come can have become whole.
  [[nodiscard]] constexpr bool is_whole(const Packet& packet) const {
    const bool last = packet.message_length - packet.offset == packet.payload;
    if (!last && packet.psn == highest_) return false;  // the usual case
    const std::uint32_t mtu = params_->mtu_bytes();
    const Psn first = packet.psn - packet.offset / mtu;
    const Psn end = first + MessageQueue::packet_count(packet.message_length, mtu);
    if (end - 1u > highest_) return false;
    const Psn from = max(first, epsn_);
    return from >= end || arrived_.all_set(from.value, static_cast<std::uint32_t>(end - from));
  }

  const PlusParams* params_;
  Bitmap<PlusParams::kTracked> arrived_{};  ///< beyond EPSN; EPSN's own bit is always clear
  std::array<PlusEcho, PlusParams::kEchoes> echoes_{};
  Psn epsn_;
  Psn highest_;  ///< the highest PSN that has arrived
  std::uint32_t out_of_order_ = 0;
  Psn psn_;  ///< of what triggers the next SACK, as are those below
  Timestamp timestamp_;
  PathId path_id_ = 0;
  std::uint8_t count_ = 0;  ///< echoes since the last SACK
  bool ecn_ = false;
  bool for_probe_ = false;
  bool due_ = false;
};

static_assert(TransportReceiver<PlusReceiver>);
static_assert(sizeof(PlusReceiver) <= 384, "the state budget of a NIC");

}  // namespace strack::core
