// The receiving end of window-based transports: which packets have come, and an acknowledgement for each.
//
// It keeps no packet and no message: a payload is placed by its host the moment it arrives, and whether a
// message is whole follows from the arrival bitmap. Invariants: every PSN below EPSN has arrived; the EPSN
// packet has not; EPSN never goes back.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "core/window/ack.h"
#include "core/window/params.h"

namespace strack::core {

class WindowReceiver {
 public:
  using Ack = WindowAck;

  /// `params` must outlive the receiver.
  constexpr WindowReceiver(const WindowParams& params, Psn initial_psn)
      : params_(&params), epsn_(initial_psn), highest_(initial_psn - 1u) {}

  /// One packet off the network, and what happened to it there. Poll for an acknowledgement afterwards.
  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant /*now*/) {
    if (packet.path_id >= params_->spray.paths) return {ArrivalKind::malformed};
    if (packet.type == PacketType::probe) {  // [WIN.probe.answer]
      if (signals.trimmed) return {ArrivalKind::trimmed};
      answer(packet, signals, AckKind::probe);
      return {ArrivalKind::probe};
    }
    if (!fits_its_message(packet, params_->mtu_bytes())) return {ArrivalKind::malformed};
    const std::int32_t ahead = packet.psn - epsn_;
    if (ahead >= static_cast<std::int32_t>(params_->tracking_window))  // [WIN.track]
      return {ArrivalKind::beyond_window};
    const bool had = ahead < 0 || arrived_.test(packet.psn.value);
    if (signals.trimmed) {  // [WIN.nack]
      if (params_->nacks) answer(packet, signals, had ? AckKind::data : AckKind::nack);
      return {ArrivalKind::trimmed};
    }
    answer(packet, signals,
           AckKind::data);  // [WIN.ack.each] a duplicate too: its sender does not know
    if (had) return {ArrivalKind::duplicate};
    highest_ = max(highest_, packet.psn);
    if (ahead == 0) {
      advance_epsn();
    } else {
      arrived_.set(packet.psn.value);
      ++out_of_order_;
    }
    return {ArrivalKind::accepted, is_whole(packet)};
  }

  constexpr std::optional<WindowAck> poll_ack(Instant /*now*/) {
    if (!due_) return std::nullopt;
    due_ = false;
    const std::uint32_t offset = segment();
    WindowAck ack = echo_;
    ack.epsn = epsn_;
    ack.sack_base = epsn_ + offset;
    if (out_of_order_ > 0) ack.bitmap = arrived_.extract64(ack.sack_base.value);
    // At the circle's end what follows belongs to the window's beginning.
    if (offset > kWindowTracking - kSackBits)
      ack.bitmap &= (std::uint64_t{1} << (kWindowTracking - offset)) - 1;
    return ack;
  }

  /// It acts on arrivals only.
  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }

 private:
  constexpr void answer(const Packet& packet, const Signals& signals, AckKind kind) {
    due_ = true;
    echo_.psn = packet.psn;
    echo_.timestamp = packet.timestamp;
    echo_.probe_id = packet.probe_id;
    echo_.path_id = packet.path_id;
    echo_.utilisation = signals.utilisation;
    echo_.hops = signals.hops;
    echo_.kind = kind;
    echo_.ecn = signals.ecn;
  }

  /// [WIN.ack.segment] The start of the 64 PSNs around the packet, counted from EPSN; a probe's are the first.
  [[nodiscard]] constexpr std::uint32_t segment() const {
    const std::int32_t ahead = echo_.psn - epsn_;
    if (ahead <= 0 || echo_.kind == AckKind::probe) return 0;
    return static_cast<std::uint32_t>(ahead) / kSackBits * kSackBits;
  }

  constexpr void advance_epsn() {
    ++epsn_;
    if (out_of_order_ == 0) return;
    const std::uint32_t held = arrived_.next_clear(epsn_.value, kWindowTracking - 1);
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

  const WindowParams* params_;
  Bitmap<kWindowTracking> arrived_{};  ///< beyond EPSN; EPSN's own bit is always clear
  WindowAck echo_{};
  Psn epsn_;
  Psn highest_;  ///< the highest PSN that has arrived
  std::uint32_t out_of_order_ = 0;
  bool due_ = false;
};

static_assert(TransportReceiver<WindowReceiver>);
static_assert(sizeof(WindowReceiver) <= 256, "the state budget of a NIC");

}  // namespace strack::core
