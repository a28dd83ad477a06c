// The sending end of window-based transports: what is in flight, what is lost, what goes next. How much may
// be in flight is the congestion control's to say (control.h), which path a packet takes the spray's.
//
// One bit per packet between EPSN and the newest one sent says whether it is acknowledged, another whether
// it is lost and waits to be sent again. What a packet carries follows from its PSN (message_queue.h).
//
// Invariants: EPSN never goes back; acknowledged PSNs have been sent; lost ones are not acknowledged;
// inflight is the payload of all that is sent, not acknowledged and not lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/units.h"
#include "core/events.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/paths/news.h"
#include "core/paths/spray.h"
#include "core/transport.h"
#include "core/window/ack.h"
#include "core/window/control.h"
#include "core/window/params.h"

namespace strack::core {

struct WindowCounters {
  std::uint32_t retransmissions = 0;
  std::uint32_t loss_episodes = 0;
  std::uint32_t probes_sent = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t nacks = 0;
  std::uint32_t acks_rejected = 0;
};

struct WindowAckReceived {
  const WindowAck& ack;
  Picoseconds rtt;
  Bytes acked;
};
struct WindowLoss {
  LossSign sign;
  Psn from;
  Bytes lost;
};

template <class Params, WindowControl<Params> Control, class Events = NoEvents>
class WindowSender {
 public:
  using Ack = WindowAck;

  /// `params` and `queue` must outlive the sender; the queue's size is a power of two.
  constexpr WindowSender(const Params& params, std::span<MessageSlot> queue, Psn initial_psn,
                         Events events = {})
      : params_(&params),
        messages_(queue, initial_psn),
        spray_(params.spray),
        control_(params),
        epsn_(initial_psn),
        psn_next_(initial_psn),
        highest_received_(initial_psn - 1u),
        judged_(initial_psn),
        lost_next_(initial_psn),
        episode_end_(initial_psn),
        sent_before_probe_(initial_psn),
        events_(events) {}

  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (messages_.full()) return PostResult::queue_full;
    messages_.push(message, params_->mtu_bytes());
    return PostResult::accepted;
  }

  /// The next packet to put on the wire, if there is one and the window allows it.
  constexpr std::optional<Packet> poll_transmit(Instant now) {
    if (probe_wanted_) return make_probe(now);
    paced_ = false;
    if (lost_count_ > 0) {  // [WIN.again] before anything new, the lowest first
      const Psn psn = next_lost();
      const Fragment fragment = messages_.fragment(psn, params_->mtu_bytes());
      if (!may_send(fragment.payload, now)) return std::nullopt;
      lost_.clear(psn.value);
      --lost_count_;
      lost_next_ = psn + 1;
      judged_ = max(judged_, lost_next_);
      resent_ = Timestamp::of(now);
      overtaken_by_ = 0;
      resent_unheard_ = true;
      probe_outstanding_ = false;  // its answer would come too soon to judge this packet by
      ++counters_.retransmissions;
      return make_data(psn, fragment, true, now);
    }
    if (psn_next_ == messages_.end()) return std::nullopt;
    if (psn_next_ - epsn_ >= static_cast<std::int32_t>(params_->tracking_window))  // [WIN.track]
      return std::nullopt;
    const Fragment fragment = messages_.fragment(psn_next_, params_->mtu_bytes());
    if (!may_send(fragment.payload, now)) return std::nullopt;
    const Psn psn = psn_next_;
    ++psn_next_;
    return make_data(psn, fragment, false, now);
  }

  /// One acknowledgement, in any order, from a peer that may be mistaken or hostile.
  constexpr void on_receiving_ack(const WindowAck& ack, Instant now) {
    const Picoseconds rtt = Timestamp::of(now).since(ack.timestamp);
    if (!can_be_true(ack) || rtt < ps(0)) {  // [WIN.refuse]
      ++counters_.acks_rejected;
      return;
    }
    probe_at_ = now + params_->probe_interval;  // [WIN.probe.send] the silence is over
    probe_wanted_ = false;
    if (ack.kind != AckKind::probe) probe_outstanding_ = false;

    const Bytes acked = take_in(ack, now);
    events_.on(WindowAckReceived{ack, rtt, acked});
    spray_.feedback(params_->spray, ack.path_id, news_of(ack), now);  // [WIN.path]
    if (ack.kind == AckKind::nack) {
      ++counters_.nacks;
      if (ack.psn >= epsn_) lose(ack.psn, ack.psn + 1, LossSign::trimmed, now);  // [WIN.nack]
    } else {
      control_.on_ack(*params_,
                      {acked, rtt, epsn_, psn_next_, inflight_, ack.path_id, ack.utilisation,
                       ack.hops, ack.ecn},
                      now);
    }
    if (ack.kind == AckKind::probe) judge_by_probe(ack, rtt, now);
    judge_by_order(ack, now);
  }

  /// Acts on whatever is due at `now`; harmless when nothing is.
  constexpr void on_timeout(Instant now) {
    if (paced_ && now >= pace_until_) paced_ = false;  // [WIN.pace] the host will poll
    if (inflight_packets_ == 0) return;
    if (now >= timeout_deadline()) {
      // [WIN.timeout] Nothing moved EPSN for so long: all that is unacknowledged is lost.
      ++counters_.timeouts;
      ++timeouts_in_a_row_;
      if (backoff_ < params_->rto_backoff_max) ++backoff_;  // [WIN.timeout.backoff]
      timeout_from_ = now;
      probe_at_ = now + params_->probe_interval;
      spray_.feedback(params_->spray, last_path_, PathNews::timed_out, now);  // [WIN.path]
      lose(epsn_, psn_next_, LossSign::timeout, now);
    } else if (probes() && now >= probe_at_) {  // [WIN.probe.send] and again, should that get lost
      probe_wanted_ = true;
      probe_at_ = now + params_->probe_interval;
    }
  }

  [[nodiscard]] constexpr Instant next_deadline() const {
    Instant next = paced_ ? pace_until_ : Instant::never();
    if (inflight_packets_ > 0) {
      next = std::min(next, timeout_deadline());
      if (probes()) next = std::min(next, probe_at_);
    }
    return next;
  }

  constexpr std::optional<MessageId> poll_completion() { return messages_.pop_completed(epsn_); }

  /// Nothing posted is unsent, nothing sent is unacknowledged.
  [[nodiscard]] constexpr bool idle() const { return epsn_ == messages_.end(); }
  [[nodiscard]] constexpr Bytes inflight_bytes() const { return inflight_; }
  [[nodiscard]] constexpr Bytes acked_bytes() const { return acked_bytes_; }
  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr Psn psn_next() const { return psn_next_; }
  [[nodiscard]] constexpr bool is_acknowledged(Psn psn) const {
    return psn < epsn_ || (psn < psn_next_ && acked_.test(psn.value));
  }
  [[nodiscard]] constexpr bool is_lost(Psn psn) const {
    return psn >= epsn_ && psn < psn_next_ && lost_.test(psn.value);
  }
  [[nodiscard]] constexpr std::uint32_t lost_packets() const { return lost_count_; }
  [[nodiscard]] constexpr const Control& control() const { return control_; }
  [[nodiscard]] constexpr const WindowCounters& counters() const { return counters_; }

 private:
  static constexpr bool kKnowsPackets = PacketControl<Control, Params>;

  // ---- Sending ----

  [[nodiscard]] constexpr bool may_send(std::uint16_t payload, Instant now) {
    // [WIN.fit] A packet has to fit the window; alone it may always go, at the control's pace.
    if (inflight_packets_ > 0 && inflight_ + bytes(payload) > control_.cwnd()) return false;
    paced_ = now < pace_until_;  // [WIN.pace]
    return !paced_;
  }

  constexpr Packet make_data(Psn psn, const Fragment& fragment, bool again, Instant now) {
    if (inflight_packets_ == 0) {  // what is measured from here on is about this burst
      timeout_from_ = now;
      probe_at_ = now + params_->probe_interval;
    }
    inflight_ += bytes(fragment.payload);
    ++inflight_packets_;
    const Picoseconds gap = control_.pacing(*params_, bytes(fragment.payload));
    if (gap > ps(0)) pace_until_ = std::max(pace_until_ + gap, now);
    Packet packet = make(now);
    if constexpr (kKnowsPackets)
      control_.on_sent(psn, bytes(fragment.payload), packet.path_id, again, now);
    packet.retransmission = again;
    packet.payload = fragment.payload;
    packet.psn = psn;
    packet.message_id = fragment.message_id;
    packet.offset = fragment.offset;
    packet.message_length = fragment.message_length;
    return packet;
  }

  /// [WIN.probe.send] Outside the window, on a path like data's.
  constexpr Packet make_probe(Instant now) {
    probe_wanted_ = false;
    probe_outstanding_ = true;
    sent_before_probe_ = psn_next_;
    ++counters_.probes_sent;
    Packet packet = make(now);
    packet.type = PacketType::probe;
    packet.probe_id = ++probe_id_;
    packet.psn = epsn_;
    return packet;
  }

  constexpr Packet make(Instant now) {
    Packet packet;
    if constexpr (kKnowsPackets) {
      last_path_ = control_.next_path(*params_);
    } else {
      last_path_ = spray_.next(params_->spray, now);
    }
    packet.path_id = last_path_;
    packet.timestamp = Timestamp::of(now);
    return packet;
  }

  [[nodiscard]] constexpr Psn next_lost() {
    lost_next_ = max(lost_next_, epsn_);
    const auto left = static_cast<std::uint32_t>(psn_next_ - lost_next_);
    lost_next_ = lost_next_ + lost_.next_set(lost_next_.value, left);
    STRACK_DCHECK(lost_next_ < psn_next_);
    return lost_next_;
  }

  // ---- Taking in an acknowledgement ----

  /// [WIN.refuse] What no honest receiver could have said is refused whole. O(1).
  [[nodiscard]] constexpr bool can_be_true(const WindowAck& ack) const {
    // A PSN more than a quarter of the circle back is one that was never sent.
    if (psn_next_.value - ack.epsn.value > kOldest) return false;
    if (ack.kind != AckKind::probe && psn_next_.value - 1 - ack.psn.value > kOldest) return false;
    if (ack.kind == AckKind::data && ack.psn == ack.epsn) return false;  // arrived, and missing
    const std::int32_t base = ack.sack_base - ack.epsn;
    if (base < 0 || base >= static_cast<std::int32_t>(kWindowTracking)) return false;
    if (ack.bitmap != 0) {
      const auto top = static_cast<std::uint32_t>(63 - std::countl_zero(ack.bitmap));
      if (ack.sack_base + top >= psn_next_) return false;
      if (base == 0 && (ack.bitmap & 1) != 0) return false;
    }
    return ack.path_id < params_->spray.paths;
  }
  static constexpr std::uint32_t kOldest = 1u << 30;

  [[nodiscard]] static constexpr PathNews news_of(const WindowAck& ack) {
    if (ack.kind == AckKind::nack) return PathNews::trimmed;
    return ack.ecn ? PathNews::marked : PathNews::clean;
  }

  /// [WIN.inflight] Notes everything it says has arrived; returns the new bytes.
  constexpr Bytes take_in(const WindowAck& ack, Instant now) {
    const Bytes before = acked_bytes_;
    if (ack.bitmap != 0) {
      // What lies below EPSN is known already.
      const std::int32_t behind = epsn_ - ack.sack_base;
      if (behind <= 0) {
        note_arrivals(ack.sack_base, ack.bitmap);
      } else if (behind < static_cast<std::int32_t>(kSackBits)) {
        note_arrivals(epsn_, ack.bitmap >> behind);
      }
    }
    if (ack.kind == AckKind::data && ack.psn >= epsn_) note_arrivals(ack.psn, 1);
    if (ack.epsn > epsn_) advance_epsn(ack.epsn, now);
    return acked_bytes_ - before;
  }

  /// The PSNs base + i for each bit i set; all of them are at or above EPSN.
  constexpr void note_arrivals(Psn base, std::uint64_t bits) {
    const std::uint64_t fresh = acked_.merge64(base.value, bits);
    if (fresh == 0) return;
    for (std::uint64_t left = fresh; left != 0; left &= left - 1)
      count_arrival(base + static_cast<std::uint32_t>(std::countr_zero(left)));
    const Psn lowest = base + static_cast<std::uint32_t>(std::countr_zero(fresh));
    const Psn highest = base + static_cast<std::uint32_t>(63 - std::countl_zero(fresh));
    highest_received_ = max(highest_received_, highest);
    note_early_completions(lowest, highest + 1);
  }

  constexpr void count_arrival(Psn psn) {
    const Bytes payload{messages_.fragment(psn, params_->mtu_bytes()).payload};
    acked_bytes_ += payload;
    if (lost_.test(psn.value)) {  // it was only late
      lost_.clear(psn.value);
      --lost_count_;
    } else {
      leave_flight(psn, payload, false);
    }
  }

  constexpr void leave_flight(Psn psn, Bytes payload, bool lost) {
    if constexpr (kKnowsPackets) control_.on_left(psn, payload, lost);
    inflight_ -= payload;
    --inflight_packets_;
  }

  constexpr void advance_epsn(Psn epsn, Instant now) {
    for_each_missing(epsn_, epsn, [this](Psn psn) { count_arrival(psn); });
    acked_.clear_range(epsn_.value, static_cast<std::uint32_t>(epsn - epsn_));
    epsn_ = epsn;
    // These never fall more than a window behind, or the distance between them would turn negative one day.
    highest_received_ = max(highest_received_, epsn - 1u);
    judged_ = max(judged_, epsn);
    lost_next_ = max(lost_next_, epsn);
    episode_end_ = max(episode_end_, epsn);
    sent_before_probe_ = max(sent_before_probe_, epsn);
    timeout_from_ = now;  // [WIN.timeout]
    backoff_ = 0;
    timeouts_in_a_row_ = 0;
  }

  /// A message may be whole before an earlier one is.
  constexpr void note_early_completions(Psn from, Psn to) {
    messages_.for_each_between(from, to, [this](MessageSlot& slot) {
      if (slot.state != SlotState::pending || slot.end() - 1u > highest_received_) return;
      const Psn open = max(slot.first, epsn_);
      if (acked_.all_set(open.value, static_cast<std::uint32_t>(slot.end() - open)))
        messages_.complete_early(slot);
    });
  }

  /// Calls visit(psn) for each PSN in [from, to) that is not acknowledged; all of them are sent.
  template <class Visit>
  constexpr void for_each_missing(Psn from, Psn to, Visit&& visit) {
    for (Psn psn = from; psn < to; ++psn) {
      psn = psn + acked_.next_clear(psn.value, static_cast<std::uint32_t>(to - psn));
      if (psn < to) visit(psn);
    }
  }

  // ---- Loss ----

  /// Declares all in [from, to) lost that is neither acknowledged nor lost already.
  constexpr void lose(Psn from, Psn to, LossSign sign, Instant now) {
    Bytes lost{0};
    std::uint32_t newly = 0;
    for_each_missing(from, to, [&](Psn psn) {
      if (lost_.test(psn.value)) return;
      const Bytes payload{messages_.fragment(psn, params_->mtu_bytes()).payload};
      lost_.set(psn.value);
      ++lost_count_;
      leave_flight(psn, payload, true);
      lost += payload;
      ++newly;
      lost_next_ = min(lost_next_, psn);
    });
    if (sign != LossSign::trimmed) judged_ = max(judged_, to);
    if (newly == 0) return;
    const bool first = epsn_ >= episode_end_;  // [WIN.episode]
    if (first) {
      episode_end_ = psn_next_;
      ++counters_.loss_episodes;
    }
    if (sign == LossSign::timeout) resent_unheard_ = false;
    events_.on(WindowLoss{sign, from, lost});
    control_.on_loss(*params_, {sign, lost, first, timeouts_in_a_row_, inflight_}, now);
  }

  /// [WIN.loss.order] So many that were sent later have arrived that it is not merely late.
  constexpr void judge_by_order(const WindowAck& ack, Instant now) {
    if constexpr (kKnowsPackets) return judge_each(now);
    const auto least = static_cast<std::int64_t>(params_->reorder_packets);
    const bool overtakes =
        resent_unheard_ && ack.kind == AckKind::data && ack.timestamp.since(resent_) > ps(0);
    if (overtakes) ++overtaken_by_;
    if (highest_received_ - epsn_ < least && overtaken_by_ < least) return;
    std::int64_t reorder = least;
    if (params_->reorder_cwnd.num > 0)
      reorder = std::max(reorder, params_->reorder_cwnd.of(control_.cwnd() / params_->mtu));

    // Sent once: by sequence number.
    const Psn from = max(judged_, epsn_);
    if (highest_received_ - from >= reorder)
      lose(from, highest_received_ + 1 - static_cast<std::uint32_t>(reorder), LossSign::order, now);
    // [WIN.loss.again] Sent again: by time, as so many were that left after the last of them.
    if (resent_unheard_ && overtaken_by_ >= reorder && lost_count_ == 0) {
      resent_unheard_ = false;
      overtaken_by_ = 0;
      if (epsn_ < judged_) lose(epsn_, judged_, LossSign::order, now);
    }
  }

  /// [WIN.loss.each] Where the control knows packets, it says which are lost.
  constexpr void judge_each(Instant now) {
    if constexpr (kKnowsPackets) {
      for (Psn psn = epsn_; psn < psn_next_; ++psn) {
        psn = psn + acked_.next_clear(psn.value, static_cast<std::uint32_t>(psn_next_ - psn));
        if (psn == psn_next_) return;
        if (lost_.test(psn.value)) continue;
        const PacketFate fate = control_.fate_of(*params_, psn);
        if (fate == PacketFate::recent) return;
        if (fate == PacketFate::lost) lose(psn, psn + 1, LossSign::order, now);
      }
    }
  }

  /// [WIN.probe.verdict] The probe came back and nothing else did: what was sent before it is lost.
  constexpr void judge_by_probe(const WindowAck& ack, Picoseconds rtt, Instant now) {
    if (ack.probe_id != probe_id_ || !probe_outstanding_) return;
    probe_outstanding_ = false;
    if (params_->probe_rtt_limit > ps(0) && rtt >= params_->probe_rtt_limit) return;
    if (epsn_ < sent_before_probe_) lose(epsn_, sent_before_probe_, LossSign::probe, now);
  }

  [[nodiscard]] constexpr bool probes() const { return params_->probe_interval > ps(0); }
  [[nodiscard]] constexpr Instant timeout_deadline() const {
    return timeout_from_ + params_->rto * (std::int64_t{1} << backoff_);
  }

  const Params* params_;
  MessageQueue messages_;
  Bitmap<kWindowTracking> acked_{};  ///< from EPSN on
  Bitmap<kWindowTracking> lost_{};   ///< declared lost, not sent again yet
  Spray spray_;
  Control control_;

  Psn epsn_;              ///< all before it are acknowledged
  Psn psn_next_;          ///< the next new packet
  Psn highest_received_;  ///< the highest PSN known to have arrived
  Psn judged_;       ///< of those below it, order says nothing any more: lost once, or sent again
  Psn lost_next_;    ///< none below it is lost
  Psn episode_end_;  ///< one past the last packet that was sent when a loss episode began
  Psn sent_before_probe_;

  Bytes inflight_{0};
  Bytes acked_bytes_{0};
  Instant probe_at_{};
  Instant timeout_from_{};
  Instant pace_until_{};
  Timestamp resent_;  ///< when the last retransmission left
  WindowCounters counters_{};
  std::uint32_t timeouts_in_a_row_ = 0;
  std::uint32_t inflight_packets_ = 0;  ///< as some are empty
  std::uint32_t lost_count_ = 0;
  std::uint32_t overtaken_by_ = 0;  ///< packets that left after `resent_` and have arrived
  std::uint16_t probe_id_ = 0;
  PathId last_path_ = 0;
  std::uint8_t backoff_ = 0;
  bool probe_wanted_ = false;
  bool probe_outstanding_ = false;
  bool paced_ = false;           ///< the last poll was held back by the pace alone
  bool resent_unheard_ = false;  ///< something was sent again since order was last judged by time
  [[no_unique_address]] Events events_;
};

}  // namespace strack::core
