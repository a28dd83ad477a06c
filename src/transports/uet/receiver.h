// UET's receiving end: which packets have come, what to say of it, and how much credit the sender wants.
//
// It places packets in any order. Invariants: every PSN below EPSN has arrived; the EPSN packet has not;
// ooo_count is the number of bits set.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/uet/ack.h"
#include "transports/uet/params.h"
#include "transports/uet/pull_pacer.h"

namespace strack::core {

class UetReceiver {
 public:
  using Ack = UetAck;

  /// `params` must outlive it, and so must `pacer`, which RCCC needs and others do not.
  constexpr UetReceiver(const UetParams& params, Psn initial_psn, PullPacer* pacer = nullptr,
                        std::uint32_t slot = 0)
      : params_(&params), pacer_(pacer), epsn_(initial_psn), highest_(initial_psn - 1u) {
    account_.slot = slot;
  }

  constexpr Arrival on_packet(const Packet& packet, const Signals& signals, Instant /*now*/) {
    if (packet.path_id >= params_->spray.paths) return {ArrivalKind::malformed};
    if (packet.type == PacketType::probe) {  // [SLEEK.probe.answer]
      tell_credit_ = pacer_ != nullptr;      // [RCCC.repeat]
      ask_for_credit(packet, false);
      owe(packet, signals.ecn);
      return {ArrivalKind::probe};
    }
    if (!fits_its_message(packet, mtu())) return {ArrivalKind::malformed};
    const std::int32_t ahead = packet.psn - epsn_;
    if (ahead >= static_cast<std::int32_t>(params_->tracking_window))
      return {ArrivalKind::beyond_window};
    const bool had = ahead < 0 || arrived_.test(packet.psn.value);
    ask_for_credit(packet, signals.trimmed && !had);
    if (had) {  // [UET.ack.duplicate] the sender does not know
      owe(packet, signals.ecn);
      return {ArrivalKind::duplicate};
    }
    if (signals.trimmed) {  // [UET.nack]
      owe(packet, signals.ecn);
      owed_ = Owed::nack;
      echo_last_hop_ = signals.trimmed_last_hop;
      return {ArrivalKind::trimmed};
    }
    return accept(packet, signals.ecn, ahead);
  }

  constexpr std::optional<UetAck> poll_ack(Instant /*now*/) {
    if (owed_ == Owed::nothing) return repeat_pull();
    UetAck ack;
    ack.kind = owed_ == Owed::nack ? UetAck::Kind::nack : UetAck::Kind::ack;
    ack.last_hop = ack.kind == UetAck::Kind::nack && echo_last_hop_;
    Sack& sack = ack.sack;
    sack.epsn = epsn_;
    sack.bytes_recvd = bytes_recvd_;
    sack.ooo_count = ooo_count_;
    sack.path_id = echo_.path_id;
    sack.timestamp = echo_.timestamp;
    sack.psn = echo_.psn;
    sack.probe_id = echo_.probe_id;
    sack.for_probe = echo_.type == PacketType::probe;
    sack.ecn = echo_ecn_;
    sack.sack_base = epsn_;
    if (ack.kind == UetAck::Kind::ack) {
      // [UET.ack.bitmap] From the lowest that came since the last one, or from the expected one.
      if (lowest_known_ && lowest_ > epsn_) sack.sack_base = lowest_;
      const auto offset = static_cast<std::uint32_t>(sack.sack_base - epsn_);
      sack.bitmap = arrived_.extract64(sack.sack_base.value);
      if (offset > UetParams::kMostTracked - kSackBits)  // the circle starts again there
        sack.bitmap &= (std::uint64_t{1} << (UetParams::kMostTracked - offset)) - 1;
      lowest_known_ = false;
      unacknowledged_ = bytes(0);
    }
    owed_ = Owed::nothing;
    return ack;
  }

  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const { return Instant::never(); }

  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr std::uint16_t ooo_count() const { return ooo_count_; }
  [[nodiscard]] constexpr const PullAccount& account() const { return account_; }
  /// [D117] A copy is in no pacer's queue, until it joins one again.
  constexpr void leave_queue() {
    account_.next = nullptr;
    account_.queued = false;
  }
  constexpr void join_queue() { pacer_->request(account_); }

 private:
  enum class Owed : std::uint8_t { nothing, ack, nack };

  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_->mtu.value);
  }

  /// [RCCC.repeat] Who asks may not have heard of what was granted.
  constexpr std::optional<UetAck> repeat_pull() {
    if (!tell_credit_) return std::nullopt;
    tell_credit_ = false;
    return account_.pull(params_->spray.paths);
  }

  constexpr void owe(const Packet& packet, bool ecn) {
    owed_ = Owed::ack;
    echo_ = packet;
    echo_ecn_ = ecn;
  }

  /// [RCCC.target] [RCCC.trimmed]
  constexpr void ask_for_credit(const Packet& packet, bool cut) {
    if (pacer_ == nullptr) return;
    account_.path = packet.path_id;  // [RCCC.path]
    account_.note_target(packet.note % UetNote::kTargetRange, packet.type == PacketType::probe);
    if (cut) account_.note_trimmed();
    pacer_->request(account_);
  }

  constexpr Arrival accept(const Packet& packet, bool ecn, std::int32_t ahead) {
    const bool first = !started_;
    started_ = true;
    bytes_recvd_ += packet.payload;
    unacknowledged_ += bytes(packet.payload);
    if (!lowest_known_ || packet.psn < lowest_) lowest_ = packet.psn;
    lowest_known_ = true;
    highest_ = max(highest_, packet.psn);
    if (ahead == 0) {
      advance_epsn();
    } else {
      arrived_.set(packet.psn.value);
      ++ooo_count_;
    }
    // [UET.ack.mark] [UET.ack.first] [UET.ack.request] [UET.ack.bytes] [D72] and a message that is whole
    const bool asked = (packet.note & UetNote::kAckBit) != 0;
    const bool whole = completes(packet);
    if (ecn || first || asked || whole || unacknowledged_ >= params_->ack_bytes) owe(packet, ecn);
    return {ArrivalKind::accepted, whole};
  }

  constexpr void advance_epsn() {
    ++epsn_;
    if (ooo_count_ == 0) return;
    const std::uint32_t held = arrived_.next_clear(epsn_.value, UetParams::kMostTracked - 1);
    arrived_.clear_range(epsn_.value, held);
    ooo_count_ = static_cast<std::uint16_t>(ooo_count_ - held);
    epsn_ = epsn_ + held;
  }

  /// Is the message of the packet that has just arrived whole?
  [[nodiscard]] constexpr bool completes(const Packet& packet) const {
    const bool last = packet.message_length - packet.offset == packet.payload;
    if (!last && packet.psn == highest_) return false;
    const Psn first = packet.psn - packet.offset / mtu();
    const Psn end = first + MessageQueue::packet_count(packet.message_length, mtu());
    if (end - 1u > highest_) return false;
    const Psn from = max(first, epsn_);
    return from >= end || arrived_.all_set(from.value, static_cast<std::uint32_t>(end - from));
  }

  const UetParams* params_;
  PullPacer* pacer_;
  PullAccount account_{};
  Bitmap<UetParams::kMostTracked> arrived_{};  ///< beyond EPSN
  Packet echo_{};                              ///< whose acknowledgement is owed
  Bytes unacknowledged_{0};
  Psn epsn_;
  Psn highest_;
  Psn lowest_;  ///< since the last acknowledgement
  std::uint32_t bytes_recvd_ = 0;
  std::uint16_t ooo_count_ = 0;
  Owed owed_ = Owed::nothing;
  bool echo_ecn_ = false;
  bool echo_last_hop_ = false;
  bool lowest_known_ = false;
  bool started_ = false;
  bool tell_credit_ = false;
};

static_assert(sizeof(UetReceiver) <= 288, "a NIC's state for each connection");
static_assert(TransportReceiver<UetReceiver>);

}  // namespace strack::core
