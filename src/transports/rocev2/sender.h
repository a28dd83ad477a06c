// RoCEv2's sending end: a reliable connection over one or more queue pairs, each with go-back-N, its
// own rate limiter and its own path.
//
// The memory of messages and of QPs is the host's. What a packet carries follows from its PSN
// (message_queue.h), so sending again needs no state but where to start. A poll that gives nothing
// because of pacing leaves behind, in next_deadline(), when to come again.
//
// Invariants, per QP: una <= next <= high; una, next and high are this QP's; all before una are
// acknowledged; nothing at or beyond high has been sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/rocev2/ack.h"
#include "transports/rocev2/dcqcn.h"
#include "transports/rocev2/events.h"
#include "transports/rocev2/params.h"
#include "transports/rocev2/shared_alpha.h"
#include "transports/rocev2/stripes.h"

namespace strack::core {

/// One QP's sending context. Belongs to the host's memory; only the sender writes it.
struct RoceSenderQp {
  Psn una;               ///< the first unacknowledged
  Psn next;              ///< the next to be sent
  Psn high;              ///< the first never sent
  Instant timeout_ts{};  ///< [R.roce.timeout] the last progress
  Dcqcn dcqcn{BitsPerSecond{0}};
};
static_assert(sizeof(RoceSenderQp) <= 128, "the state budget of a NIC");

struct RoceSenderCounters {
  std::uint32_t retransmissions = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t cnps = 0;
  std::uint32_t naks = 0;
  std::uint32_t acks_rejected = 0;
};

template <class Events = NoEvents>
class RoceSender {
 public:
  using Ack = RoceAck;

  /// `params`, `slots` and `qps` must outlive the sender; there are params.qps_per_conn of the latter. So must
  /// `alpha`, which is there if flows share one [D118].
  constexpr RoceSender(const RoceParams& params, std::span<MessageSlot> slots,
                       std::span<RoceSenderQp> qps, Psn initial_psn, Events events = {},
                       SharedAlpha* alpha = nullptr)
      : params_(&params),
        messages_(slots, initial_psn),
        qps_(qps.data()),
        alpha_(alpha),
        events_(events) {
    STRACK_CHECK(qps.size() == params.qps_per_conn);
    const Stripes stripes(params);
    for (std::uint32_t i = 0; i < stripes.qps(); ++i) {
      const Psn first = stripes.first_of(i, initial_psn);
      qps_[i] = RoceSenderQp{first, first, first, {}, Dcqcn(params.line_rate)};
    }
  }

  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (messages_.full()) {
      events_.on(RoceReached{RoceRare::message_queue_full});
      return PostResult::queue_full;
    }
    messages_.push(message, mtu());
    pace_deadline_ = Instant::never();
    return PostResult::accepted;
  }

  constexpr void on_receiving_ack(const RoceAck& ack, Instant now) {
    pace_deadline_ = Instant::never();
    const Stripes stripes(*params_);
    if (ack.qp >= stripes.qps()) return reject(ack);
    RoceSenderQp& qp = qps_[ack.qp];
    if (ack.kind == RoceAckKind::cnp) {
      ++counters_.cnps;
      const AlphaLease lease(qp.dcqcn, alpha_, *params_, now);
      qp.dcqcn.on_cnp(*params_, now, events_);
      events_.on(RoceAckReceived{ack, ps(0), bytes(0)});
      return;
    }
    // [R.roce.refuse] It expects a packet of another QP, or one beyond all that was sent.
    if (stripes.qp_of(ack.epsn) != ack.qp || ack.epsn > qp.high) return reject(ack);
    if (ack.epsn < qp.una) {
      events_.on(
          RoceReached{ack.kind == RoceAckKind::nak ? RoceRare::stale_nak : RoceRare::stale_ack});
      return;
    }
    const Psn before = qp.una;
    Bytes acked{0};
    if (ack.epsn > before) {
      acked = payload_between(stripes, before, ack.epsn);
      acked_ += acked;
      qp.una = ack.epsn;
      qp.timeout_ts = now;
      if (qp.next < qp.una) {
        qp.next = qp.una;
        events_.on(RoceReached{RoceRare::overtaken_by_ack});
      }
      if (stripes.qps() > 1) note_early_completions(stripes, before, ack.epsn);
    }
    if (ack.kind == RoceAckKind::nak) {
      ++counters_.naks;
      go_back(ack.qp, now, false);  // [R.roce.go_back]
    }
    events_.on(RoceAckReceived{ack, Timestamp::of(now).since(ack.timestamp), acked});
  }

  /// [R.roce.timeout] And the end of a wait that pacing asked for.
  constexpr void on_timeout(Instant now) {
    if (pace_deadline_ <= now) pace_deadline_ = Instant::never();
    for (std::uint32_t i = 0; i < params_->qps_per_conn; ++i) {
      if (!outstanding(qps_[i]) || now < qps_[i].timeout_ts + params_->rto) continue;
      ++counters_.timeouts;
      go_back(static_cast<PathId>(i), now, true);
    }
  }

  /// The next packet, if a QP has one and its rate allows; QPs take turns.
  constexpr std::optional<Packet> poll_transmit(Instant now) {
    pace_deadline_ = Instant::never();
    const Stripes stripes(*params_);
    Instant earliest = Instant::never();
    for (std::uint32_t i = 0; i < stripes.qps(); ++i) {
      const std::uint32_t index = (turn_ + i) & (stripes.qps() - 1);
      RoceSenderQp& qp = qps_[index];
      if (qp.next >= messages_.end()) continue;
      if (stripes.count(qp.una, qp.next) >= params_->max_outstanding) {  // [R.roce.outstanding]
        events_.on(RoceReached{RoceRare::outstanding_full});
        continue;
      }
      const AlphaLease lease(qp.dcqcn, alpha_, *params_, now);
      if (qp.dcqcn.ready(*params_, now, events_) > now) {  // [R.roce.pacing]
        earliest = std::min(earliest, qp.dcqcn.ask_again(*params_));
        continue;
      }
      turn_ = static_cast<std::uint8_t>(index + 1);
      return send(stripes, static_cast<PathId>(index), now);
    }
    pace_deadline_ = earliest;
    return std::nullopt;
  }

  constexpr std::optional<MessageId> poll_completion() {
    const auto id = messages_.pop_completed(epsn());
    if (id) events_.on(MessageCompleted{*id});
    return id;
  }

  [[nodiscard]] constexpr Instant next_deadline() const {
    Instant deadline = pace_deadline_;
    for (std::uint32_t i = 0; i < params_->qps_per_conn; ++i) {
      if (outstanding(qps_[i])) deadline = std::min(deadline, qps_[i].timeout_ts + params_->rto);
    }
    return deadline;
  }

  /// All before it are acknowledged, on every QP.
  [[nodiscard]] constexpr Psn epsn() const {
    Psn least = qps_[0].una;
    for (std::uint32_t i = 1; i < params_->qps_per_conn; ++i) least = min(least, qps_[i].una);
    return least;
  }
  [[nodiscard]] constexpr bool idle() const { return epsn() >= messages_.end(); }
  [[nodiscard]] constexpr Bytes acked_bytes() const { return acked_; }
  [[nodiscard]] constexpr const RoceSenderCounters& counters() const { return counters_; }
  [[nodiscard]] constexpr const RoceSenderQp& qp(std::uint32_t i) const { return qps_[i]; }
  /// What all QPs may send at, together and at most the line's rate.
  [[nodiscard]] constexpr BitsPerSecond rate(Instant now) const {
    BitsPerSecond sum{0};
    for (std::uint32_t i = 0; i < params_->qps_per_conn; ++i) {
      Dcqcn limiter = qps_[i].dcqcn;  // a copy: looking must not change when events are worked off
      sum += limiter.rate(*params_, now);
    }
    return std::min(sum, params_->line_rate);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_->mtu.value);
  }
  [[nodiscard]] static constexpr bool outstanding(const RoceSenderQp& qp) {
    return qp.una < qp.high;
  }

  constexpr void reject(const RoceAck& ack) {
    ++counters_.acks_rejected;
    events_.on(RoceAckRejected{ack});
  }

  constexpr Packet send(const Stripes& stripes, PathId index, Instant now) {
    RoceSenderQp& qp = qps_[index];
    const Fragment part = messages_.fragment(qp.next, mtu());
    Packet packet;
    packet.retransmission = qp.next < qp.high;
    packet.payload = part.payload;
    packet.path_id = index;  // [R.roce.stripe]
    packet.psn = qp.next;
    packet.message_id = part.message_id;
    packet.offset = part.offset;
    packet.message_length = part.message_length;
    packet.timestamp = Timestamp::of(now);

    if (!outstanding(qp)) qp.timeout_ts = now;  // [R.roce.timeout] it starts with the first packet
    qp.next = stripes.next(qp.next);
    qp.high = max(qp.high, qp.next);
    if (packet.retransmission) ++counters_.retransmissions;

    const Bytes size = bytes(part.payload) + params_->header;
    const BitsPerSecond rate = qp.dcqcn.rate(*params_, now, events_);
    qp.dcqcn.on_sent(*params_, size, now, events_);  // [R.roce.pacing]
    events_.on(RocePacketSent{packet, rate});
    return packet;
  }

  constexpr void go_back(PathId index, Instant now, bool timeout) {
    RoceSenderQp& qp = qps_[index];
    qp.next = qp.una;
    qp.timeout_ts = now;
    events_.on(WentBack{index, qp.una, timeout});
  }

  /// The payload of one QP's packets in [from, to).
  constexpr Bytes payload_between(const Stripes& stripes, Psn from, Psn to) {
    std::int64_t total = std::int64_t{stripes.count(from, to)} * mtu();
    messages_.for_each_between(from, min(to, messages_.end()), [&](const MessageSlot& slot) {
      const Psn last = slot.end() - 1u;
      if (last < from || last >= to || stripes.qp_of(last) != stripes.qp_of(from)) return;
      total -= mtu() - MessageQueue::fragment_of(slot, last, mtu()).payload;
    });
    return bytes(total);
  }

  /// [D21] One QP's acknowledgement may complete a message though an earlier one, on another QP, is
  /// not.
  constexpr void note_early_completions(const Stripes& stripes, Psn from, Psn to) {
    const Psn all = epsn();
    messages_.for_each_between(from, min(to, messages_.end()), [&](MessageSlot& slot) {
      if (slot.state != SlotState::pending || slot.end() <= all) return;
      for (std::uint32_t i = 0; i < stripes.qps(); ++i) {
        if (stripes.first_of(i, max(slot.first, qps_[i].una)) < slot.end()) return;
      }
      messages_.complete_early(slot);
      events_.on(RoceReached{RoceRare::out_of_order_completion});
    });
  }

  const RoceParams* params_;
  MessageQueue messages_;
  RoceSenderQp* qps_;
  SharedAlpha* alpha_;
  Bytes acked_{0};
  Instant pace_deadline_ = Instant::never();  ///< set by a poll that pacing kept empty
  RoceSenderCounters counters_{};
  std::uint8_t turn_ = 0;  ///< whose turn it is
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(RoceSender<>) <= 128, "the state budget of a NIC");
static_assert(TransportSender<RoceSender<>>);

}  // namespace strack::core
