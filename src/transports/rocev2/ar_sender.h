// The sending end of RoCEv2 over switches that spray: one queue pair with its rate limiter, and selective
// repeat. Which port each packet takes is the switches' affair.
//
// Invariants: una <= next; all before una are acknowledged; resend_ has bits in [una, next) only, and
// none before resend_from_.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bitmap.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/rocev2/ar_ack.h"
#include "transports/rocev2/dcqcn.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/params.h"
#include "transports/rocev2/sender.h"

namespace strack::core {

template <class Events = NoEvents>
class ArSender {
 public:
  using Ack = ArAck;

  /// `params` and `slots` must outlive the sender.
  constexpr ArSender(const RoceParams& params, std::span<MessageSlot> slots, Psn initial_psn,
                     Events events = {})
      : params_(&params),
        messages_(slots, initial_psn),
        una_(initial_psn),
        next_(initial_psn),
        resend_from_(initial_psn),
        dcqcn_(params.line_rate),
        events_(events) {}

  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (messages_.full()) {
      events_.on(RoceReached{RoceRare::message_queue_full});
      return PostResult::queue_full;
    }
    messages_.push(message, mtu());
    pace_deadline_ = Instant::never();
    return PostResult::accepted;
  }

  constexpr void on_receiving_ack(const ArAck& ack, Instant now) {
    pace_deadline_ = Instant::never();
    if (ack.qp != 0) return reject(ack);
    if (ack.kind == RoceAckKind::cnp) {
      ++counters_.cnps;
      dcqcn_.on_cnp(*params_, now, events_);  // [AR.cnp]
      events_.on(RoceAckReceived{ack, ps(0), bytes(0)});
      return;
    }
    const bool nak = ack.kind == RoceAckKind::nak;
    if (ack.epsn > next_ || (nak && !can_be(ack))) return reject(ack);  // [AR.refuse]
    // [AR.repeat] An ACK may have overtaken it: what that acknowledges is no longer missing, the rest is.
    const Psn from = max(ack.from, una_);
    const std::uint64_t missing = nak ? missing_from(ack, from) : 0;
    if (ack.epsn < una_ && missing == 0) {
      events_.on(RoceReached{nak ? RoceRare::stale_nak : RoceRare::stale_ack});
      return;
    }
    const Bytes acked = advance(max(ack.epsn, una_), now);
    if (nak) {
      ++counters_.naks;
      resend_count_ +=
          static_cast<std::uint32_t>(std::popcount(resend_.merge64(from.value, missing)));
      resend_from_ = min(resend_from_, from);
    }
    events_.on(RoceAckReceived{ack, Timestamp::of(now).since(ack.timestamp), acked});
  }

  /// [AR.timeout] No progress for so long: all that is not acknowledged. And the end of a wait that
  /// pacing asked for.
  constexpr void on_timeout(Instant now) {
    if (pace_deadline_ <= now) pace_deadline_ = Instant::never();
    if (!outstanding() || now < timeout_ts_ + params_->rto) return;
    ++counters_.timeouts;
    timeout_ts_ = now;
    for (Psn psn = una_; psn < next_; psn = psn + 64u) {
      const auto left = static_cast<std::uint32_t>(next_ - psn);
      resend_.merge64(psn.value, left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1);
    }
    resend_from_ = una_;
    resend_count_ = static_cast<std::uint32_t>(next_ - una_);
    events_.on(WentBack{0, una_, true});
  }

  /// The next packet, if there is one and the rate allows: what is to be sent again comes first.
  constexpr std::optional<Packet> poll_transmit(Instant now) {
    pace_deadline_ = Instant::never();
    if (resend_count_ == 0) {
      if (next_ >= messages_.end()) return std::nullopt;
      if (next_ - una_ >= static_cast<std::int32_t>(window())) {  // [AR.window]
        events_.on(RoceReached{RoceRare::outstanding_full});
        return std::nullopt;
      }
    }
    if (dcqcn_.ready(*params_, now, events_) > now) {  // [R.roce.pacing]
      pace_deadline_ = dcqcn_.ask_again(*params_);
      return std::nullopt;
    }
    if (resend_count_ == 0) {
      if (!outstanding()) timeout_ts_ = now;
      next_ = next_ + 1u;
      return send(next_ - 1u, false, now);
    }
    const Psn psn =
        resend_from_ +
        resend_.next_set(resend_from_.value, static_cast<std::uint32_t>(next_ - resend_from_));
    resend_.clear(psn.value);
    --resend_count_;
    resend_from_ = psn + 1u;
    ++counters_.retransmissions;
    return send(psn, true, now);
  }

  constexpr std::optional<MessageId> poll_completion() {
    const auto id = messages_.pop_completed(una_);
    if (id) events_.on(MessageCompleted{*id});
    return id;
  }

  [[nodiscard]] constexpr Instant next_deadline() const {
    return outstanding() ? std::min(pace_deadline_, timeout_ts_ + params_->rto) : pace_deadline_;
  }

  /// All before it are acknowledged.
  [[nodiscard]] constexpr Psn epsn() const { return una_; }
  [[nodiscard]] constexpr bool idle() const { return una_ >= messages_.end(); }
  [[nodiscard]] constexpr Bytes acked_bytes() const { return acked_; }
  [[nodiscard]] constexpr const RoceSenderCounters& counters() const { return counters_; }
  /// What may be sent at.
  [[nodiscard]] constexpr BitsPerSecond rate(Instant now) const {
    Dcqcn limiter = dcqcn_;  // a copy: looking must not change when events are worked off
    return limiter.rate(*params_, now);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_->mtu.value);
  }
  [[nodiscard]] constexpr std::uint32_t window() const {
    return std::min(params_->max_outstanding, kArWindow);
  }
  [[nodiscard]] constexpr bool outstanding() const { return una_ < next_; }

  constexpr void reject(const ArAck& ack) {
    ++counters_.acks_rejected;
    events_.on(RoceAckRejected{ack});
  }

  /// [AR.refuse] A NAK names packets that were sent, the first of them in bit 0, none acknowledged.
  [[nodiscard]] constexpr bool can_be(const ArAck& nak) const {
    if ((nak.missing & 1) == 0 || nak.from < nak.epsn) return false;
    return nak.from + static_cast<std::uint32_t>(std::bit_width(nak.missing)) <= next_;
  }

  /// What a NAK names from there on.
  [[nodiscard]] static constexpr std::uint64_t missing_from(const ArAck& nak, Psn from) {
    const auto known = static_cast<std::uint32_t>(from - nak.from);
    return known < kArNakBits ? nak.missing >> known : 0;
  }

  /// All before `epsn` are acknowledged; returns the payload that newly is.
  constexpr Bytes advance(Psn epsn, Instant now) {
    if (epsn == una_) return bytes(0);
    const auto count = static_cast<std::uint32_t>(epsn - una_);
    std::int64_t total = std::int64_t{count} * mtu();
    messages_.for_each_between(una_, epsn, [&](const MessageSlot& slot) {
      const Psn last = slot.end() - 1u;
      if (last < una_ || last >= epsn) return;
      total -= mtu() - MessageQueue::fragment_of(slot, last, mtu()).payload;
    });
    acked_ += bytes(total);
    if (resend_count_ > 0) forget_resends(count);
    una_ = epsn;
    resend_from_ = max(resend_from_, una_);
    timeout_ts_ = now;
    return bytes(total);
  }

  /// What was to be sent again has arrived after all.
  constexpr void forget_resends(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count;) {
      i += resend_.next_set(una_.value + i, count - i);
      if (i == count) break;
      resend_.clear(una_.value + i);
      --resend_count_;
      events_.on(RoceReached{RoceRare::overtaken_by_ack});
    }
  }

  constexpr Packet send(Psn psn, bool again, Instant now) {
    const Fragment part = messages_.fragment(psn, mtu());
    Packet packet;
    packet.retransmission = again;
    packet.payload = part.payload;
    packet.path_id = 0;  // [AR.spray] one entropy: switches do not look at it
    packet.psn = psn;
    packet.message_id = part.message_id;
    packet.offset = part.offset;
    packet.message_length = part.message_length;
    packet.timestamp = Timestamp::of(now);
    const Bytes size = bytes(part.payload) + params_->header;
    const BitsPerSecond rate = dcqcn_.rate(*params_, now, events_);
    dcqcn_.on_sent(*params_, size, now, events_);  // [R.roce.pacing]
    events_.on(RocePacketSent{packet, rate});
    return packet;
  }

  const RoceParams* params_;
  MessageQueue messages_;
  Psn una_;          ///< the first unacknowledged
  Psn next_;         ///< the first never sent
  Psn resend_from_;  ///< nothing before it is to be sent again
  std::uint32_t resend_count_ = 0;
  Bitmap<kArWindow> resend_{};                ///< to be sent again
  Instant timeout_ts_{};                      ///< the last progress
  Instant pace_deadline_ = Instant::never();  ///< set by a poll that pacing kept empty
  Bytes acked_{0};
  Dcqcn dcqcn_;
  RoceSenderCounters counters_{};
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(ArSender<>) <= kArWindow / 8 + 256, "the state budget of a NIC");
static_assert(TransportSender<ArSender<>>);

}  // namespace strack::core
