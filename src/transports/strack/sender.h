// STrack's sending end: Algorithm 1, the sender's bookkeeping, and loss detection and recovery.
//
// Decisions are here; arithmetic is in path_selector.h, congestion_window.h and achieved_bdp.h. The
// sender keeps one bit per packet between EPSN and the newest one sent: acknowledged or not. What a
// packet carries follows from its PSN (message_queue.h).
//
// Invariants: EPSN never goes back; acknowledged PSNs have been sent; a packet is sent only while
// inflight_bytes + payload <= cwnd (or as `window_rule` says); bytes_sent -
// bytes_claimed_retransmit counts every packet once, except those claimed lost and not yet sent
// again, which it does not count.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/units.h"
#include "core/events.h"
#include "core/message_queue.h"
#include "core/packet.h"
#include "core/transport.h"
#include "transports/strack/achieved_bdp.h"
#include "transports/strack/congestion_window.h"
#include "transports/strack/params.h"
#include "transports/strack/path_choice.h"
#include "transports/strack/path_selector.h"
#include "transports/strack/sender_counters.h"

namespace strack::core {

template <class Events = NoEvents, PathChoice Paths = PathSelector>
class Sender {
 public:
  using Ack = Sack;

  /// `params` and `queue` must outlive the sender; the queue's size is a power of two.
  constexpr Sender(const StrackParams& params, std::span<MessageSlot> queue, Psn initial_psn,
                   Events events = {}, Paths paths = {})
      : params_(&params),
        messages_(queue, initial_psn),
        paths_(paths),
        window_(params),
        epsn_(initial_psn),
        psn_next_(initial_psn),
        highest_received_(initial_psn - 1u),
        recovery_high_(initial_psn),
        recovery_next_(initial_psn),
        sent_before_probe_(initial_psn),
        events_(events) {}

  /// Accepts a message, or says that the host's queue is full.
  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (messages_.full()) {
      events_.on(Reached{Rare::message_queue_full});
      return PostResult::queue_full;
    }
    messages_.push(message, mtu());
    return PostResult::accepted;
  }

  /// [A1.L1] The next packet to put on the wire, if the window allows one. A host that sends several
  /// as one burst asks for those after the first with its path, `together`; a probe has its own.
  constexpr std::optional<Packet> poll_transmit(Instant now,
                                                std::optional<PathId> together = std::nullopt) {
    if (probes_wanted_ > 0) return make_probe(now);
    if (in_recovery()) {
      // [R.recovery.retransmit] Lowest first, each once per episode, and before anything new.
      skip_acknowledged();
      if (recovery_next_ < recovery_high_) {
        const Fragment fragment = messages_.fragment(recovery_next_, mtu());
        if (!window_allows(fragment.payload)) return std::nullopt;
        const Psn psn = recovery_next_;
        ++recovery_next_;
        ++counters_.retransmissions;
        probe_outstanding_ = false;  // [D10] its answer would come too soon to judge this packet by
        return make_data(psn, fragment, true, together, now);
      }
    }
    if (psn_next_ == messages_.end()) return std::nullopt;
    if (psn_next_ - epsn_ >= static_cast<std::int32_t>(params_->tracking_window)) {  // [D26]
      events_.on(Reached{Rare::tracking_window_full});
      return std::nullopt;
    }
    const Fragment fragment = messages_.fragment(psn_next_, mtu());
    if (!window_allows(fragment.payload)) return std::nullopt;
    if (!has_unacknowledged()) start_timers(now);
    const Psn psn = psn_next_;
    ++psn_next_;
    unique_bytes_sent_ += fragment.payload;
    return make_data(psn, fragment, false, together, now);
  }

  /// [A1.L4] One SACK, in any order, from a peer that may be mistaken or hostile.
  constexpr void on_receiving_ack(const Sack& sack, Instant now) {
    const Picoseconds age = Timestamp::of(now).since(sack.timestamp);
    if (const auto fault = find_fault(sack, age)) {  // [D25]
      ++counters_.sacks_rejected;
      events_.on(SackRejected{*fault});
      return;
    }
    if (params_->ecn_bitmap_reset > ps(0)) maybe_reset_ecn_bitmap(now);  // [D9]

    // [D27] The time it waited at the receiver is no part of the RTT.
    const Picoseconds measured_rtt = level(age - ns(sack.hold_time_ns), sack);
    const bool ecn = sack.ecn || is_late(measured_rtt);
    if (sack.ecn) marks_seen_ = true;
    // [A1.L5] [A1.L6] [A1.L7]
    paths_.feedback(*params_, sack.path_id, ecn ? PathNews::marked : PathNews::clean);
    const bool rtt_known = measured_rtt > ps(0);  // [D7] below the clock's tick: no RTT at all
    const Picoseconds qdelay =
        rtt_known ? window_.measured_qdelay(measured_rtt) : ps(0);  // [A1.L8-11]
    end_silence();
    probe_timer_ts_ = now + params_->probe_interval;  // [A1.L12]
    probes_wanted_ = 0;                               // [R.probe.send] the silence is over

    const Bytes acked = take_in(sack, now);
    events_.on(SackReceived{sack, measured_rtt, qdelay, acked});

    judge_probe(sack, measured_rtt, now);  // [A1.L13] [A1.L14]
    const Bytes achieved_bdp =             // [A1.L16] [A4.L3] [D29]
        achieved_.update(sack.for_probe ? bytes(0) : acked, window_.base_rtt(),
                         params_->target_qdelay, now);
    if (rtt_known) {
      window_.adjust_cwnd(*params_, {ecn, qdelay, acked, achieved_bdp}, now,
                          events_);  // [A1.L17]
    }
    detect_out_of_order(sack, now);  // [A1.L18]
    if (params_->reorder_time > ps(0)) detect_overdue(sack, now);
  }

  /// Acts on whatever is due at `now`; harmless when nothing is.
  constexpr void on_timeout(Instant now) {
    if (!has_unacknowledged()) return;
    if (now >= timeout_deadline()) {
      // [R.timeout.loss] Nothing moved EPSN for so long: all that is unacknowledged is lost.
      ++counters_.timeouts;
      ++consecutive_timeouts_;
      if (backoff_ < params_->rto_backoff_max) {  // [D15]
        ++backoff_;
      } else {
        events_.on(Reached{Rare::timeout_backoff_capped});
      }
      timeout_ts_ = now;
      probe_timer_ts_ = now + probe_wait();
      silent_ = !heard_;  // [D42]
      heard_ = false;
      declare_loss(LossCause::timeout, psn_next_, now);
    } else if (now >= probe_timer_ts_) {
      // [R.probe.send] No SACK for a while: ask. [R.probe.repeat] And ask again, should that get lost.
      if (probe_outstanding_) events_.on(Reached{Rare::probe_lost});
      probes_wanted_ =
          probe_asked_ ? static_cast<std::uint8_t>(params_->probe_copies) : 1;  // [D120]
      probe_anew_ = true;
      probe_timer_ts_ = now + probe_wait();
      if (probe_backoff_ < params_->probe_backoff_max) ++probe_backoff_;  // [D42]
    }
  }

  /// [D42] The host has heard of the peer by other means than a SACK: what is overdue is asked for soon.
  constexpr void on_peer_heard(Instant now) {
    if (probe_backoff_ == 0) return;
    probe_backoff_ = 0;
    probe_timer_ts_ = std::min(probe_timer_ts_, now + params_->probe_interval);
  }

  /// When on_timeout wants to be called; never, while nothing is unacknowledged.
  [[nodiscard]] constexpr Instant next_deadline() const {
    return has_unacknowledged() ? std::min(probe_timer_ts_, timeout_deadline()) : Instant::never();
  }

  /// [D21] Messages whose every packet is acknowledged, each reported once.
  constexpr std::optional<MessageId> poll_completion() {
    const std::optional<MessageId> done = messages_.pop_completed(epsn_);
    if (done) events_.on(MessageCompleted{*done});
    return done;
  }

  /// [R.inflight.equation] [D16]
  [[nodiscard]] constexpr Bytes inflight_bytes() const {
    return std::max(bytes(0), bytes_sent_ - bytes_recvd_ - bytes_claimed_retransmit_);
  }
  /// Nothing posted is unsent, nothing sent is unacknowledged.
  [[nodiscard]] constexpr bool idle() const { return epsn_ == messages_.end(); }
  [[nodiscard]] constexpr bool has_unacknowledged() const { return epsn_ != psn_next_; }
  [[nodiscard]] constexpr bool in_recovery() const { return epsn_ < recovery_high_; }
  [[nodiscard]] constexpr Psn epsn() const { return epsn_; }
  [[nodiscard]] constexpr Psn psn_next() const { return psn_next_; }
  [[nodiscard]] constexpr bool is_acknowledged(Psn psn) const {
    return psn < epsn_ || (psn < psn_next_ && acked_.test(psn.value));
  }
  [[nodiscard]] constexpr const Bitmap<kMaxTrackingWindow>& acked() const { return acked_; }
  [[nodiscard]] constexpr const CongestionWindow& window() const { return window_; }
  [[nodiscard]] constexpr const Paths& paths() const { return paths_; }
  [[nodiscard]] constexpr const AchievedBdp& achieved() const { return achieved_; }
  [[nodiscard]] constexpr const SenderCounters& counters() const { return counters_; }
  /// [D28] Timeouts since EPSN last rose: a host that has seen enough gives the peer up.
  [[nodiscard]] constexpr std::uint32_t consecutive_timeouts() const {
    return consecutive_timeouts_;
  }
  /// [D42] No SACK came in the whole time before the last timeout, nor since.
  [[nodiscard]] constexpr bool in_silence() const { return silent_; }
  [[nodiscard]] constexpr Bytes bytes_sent() const { return bytes_sent_; }
  [[nodiscard]] constexpr Bytes bytes_recvd() const { return bytes_recvd_; }
  [[nodiscard]] constexpr Bytes bytes_claimed_retransmit() const {
    return bytes_claimed_retransmit_;
  }
  /// [D16] The claimed bytes still waiting to be sent again. Walks the episode; for tests and reports.
  [[nodiscard]] constexpr Bytes claimed_unsent() {
    return in_recovery() ? unacknowledged_bytes(recovery_next_, recovery_high_) : bytes(0);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_->mtu.value);
  }

  // ---- Sending ----

  /// [R.inflight.window] [D19]
  [[nodiscard]] constexpr bool window_allows(std::uint16_t payload) const {
    const Bytes inflight = inflight_bytes();
    Bytes window = window_.cwnd();
    if (silent_ && params_->silent_window > bytes(0))  // [D42]
      window = std::min(window, params_->silent_window);
    if (params_->window_rule == WindowRule::overshoot) return inflight < window;
    return inflight + bytes(payload) <= window;
  }

  constexpr Packet make_data(Psn psn, const Fragment& fragment, bool retransmission,
                             std::optional<PathId> together, Instant now) {
    const Departure departure{retransmission ? Purpose::again : Purpose::news, fragment.payload,
                              psn, window_.cwnd_packets(), now};
    Packet packet;
    packet.type = PacketType::data;
    packet.retransmission = retransmission;
    packet.payload = fragment.payload;
    packet.path_id = together ? *together : paths_.next(*params_, departure, events_);  // [A1.L2]
    if (paths_.remembers()) paths_.sent(packet.path_id, departure);
    packet.psn = psn;
    packet.message_id = fragment.message_id;
    packet.offset = fragment.offset;
    packet.message_length = fragment.message_length;
    packet.timestamp = Timestamp::of(now);  // [D27]
    bytes_sent_ += bytes(fragment.payload);
    events_.on(PacketSent{packet, inflight_bytes(), window_.cwnd()});
    return packet;
  }

  /// [R.probe.send] [R.probe.base] Outside the window, on a path of its own choice, like data [D18].
  constexpr Packet make_probe(Instant now) {
    if (std::exchange(probe_anew_, false)) ++probe_id_;
    --probes_wanted_;
    probe_outstanding_ = true;
    sent_before_probe_ = psn_next_;
    ++counters_.probes_sent;
    Packet packet;
    packet.type = PacketType::probe;
    packet.probe_id = probe_id_;
    packet.psn = epsn_;
    packet.path_id = paths_.next(*params_,
                                 {probe_asked_ ? Purpose::probe_again : Purpose::probe, 0, epsn_,
                                  window_.cwnd_packets(), now},
                                 events_);
    probe_asked_ = true;
    packet.timestamp = Timestamp::of(now);
    events_.on(ProbeSent{probe_id_});
    return packet;
  }

  /// [D15] [D22] The first packet after idleness: what is measured from here on is about this burst.
  constexpr void start_timers(Instant now) {
    timeout_ts_ = now;  // [R.timeout.timer]
    heard_ = false;
    probe_timer_ts_ = now + params_->probe_interval;
    achieved_.restart(now);
  }

  // ---- Taking in a SACK ----

  /// [D25] What no honest receiver could have said. O(1).
  [[nodiscard]] constexpr std::optional<SackFault> find_fault(const Sack& sack,
                                                              Picoseconds age) const {
    // A PSN more than a quarter of the circle back is one that was never sent.
    if (psn_next_.value - sack.epsn.value > kOldest) return SackFault::epsn_not_sent;
    if (!sack.for_probe && psn_next_.value - 1 - sack.psn.value > kOldest)
      return SackFault::psn_not_sent;
    const std::int32_t base = sack.sack_base - sack.epsn;
    if (base < 0 || base >= static_cast<std::int32_t>(kMaxTrackingWindow)) {
      return SackFault::base_outside_window;
    }
    if (sack.bitmap != 0) {
      const auto top = static_cast<std::uint32_t>(63 - std::countl_zero(sack.bitmap));
      if (sack.sack_base + top >= psn_next_) return SackFault::bits_not_sent;
      // Bits are a part of what is held beyond EPSN, and EPSN itself is missing.
      if (std::popcount(sack.bitmap) > sack.ooo_count) return SackFault::contradiction;
      if (base == 0 && (sack.bitmap & 1) != 0) return SackFault::contradiction;
    }
    if (!sack.for_probe && sack.psn == sack.epsn) return SackFault::contradiction;
    if (static_cast<std::int32_t>(sack.bytes_recvd - unique_bytes_sent_) > 0) {
      return SackFault::bytes_never_sent;
    }
    if (sack.epsn == psn_next_ && sack.bytes_recvd != unique_bytes_sent_)
      return SackFault::bytes_missing;
    if (sack.ooo_count >= kMaxTrackingWindow) return SackFault::ooo_above_window;
    if (sack.path_id >= params_->max_paths) return SackFault::unknown_path;
    if (age < ps(0)) return SackFault::timestamp_ahead;
    return std::nullopt;
  }

  static constexpr std::uint32_t kOldest = 1u << 30;

  /// [D38] What counts as the packet's RTT: a small packet's as if it had been full, and none below
  /// what the hosts' own noise makes of any; so base_rtt, and with it how often the window may be cut,
  /// stays what feedback really takes.
  [[nodiscard]] constexpr Picoseconds level(Picoseconds rtt, const Sack& sack) const {
    if (params_->least_rtt == ps(0) || rtt <= ps(0)) return rtt;
    const std::int64_t full = params_->mtu.value;
    std::int64_t had = sack.for_probe ? 0 : full;
    if (!sack.for_probe && paths_.remembers())
      had = std::min<std::int64_t>(paths_.payload(sack.psn), full);
    const Picoseconds missing{mul_div(params_->full_packet_time.count(), full - had, full)};
    return std::max(rtt + missing, params_->least_rtt);
  }

  /// [D40] A late packet without a mark is the sign of a queue that has drained [A3.L5]. That is so
  /// where switches mark. On a path that has never marked anything it is the only sign of a queue
  /// there is, and has to count as its mark.
  [[nodiscard]] constexpr bool is_late(Picoseconds rtt) const {
    return params_->delay_marks && !marks_seen_ && rtt - window_.base_rtt() > params_->target_qhigh;
  }

  /// [R.bitmap.sender] [R.recovery.update] Notes everything the SACK says has arrived; returns the new bytes.
  constexpr Bytes take_in(const Sack& sack, Instant now) {
    if (!sack.for_probe) probe_outstanding_ = false;  // [D10] somebody else answered
    if (sack.epsn < epsn_) events_.on(Reached{Rare::stale_sack});

    Bytes acked{0};
    const auto more = static_cast<std::int32_t>(
        sack.bytes_recvd - static_cast<std::uint32_t>(bytes_recvd_.value));  // [D16]
    if (more > 0) {
      acked = bytes(more);
      bytes_recvd_ += acked;
    }
    if (sack.epsn > epsn_) advance_epsn(sack.epsn, now);
    if (!sack.for_probe && sack.psn >= epsn_) mark(sack.psn, 1);  // [D13]
    if (sack.bitmap != 0) {
      // What lies below EPSN is known already.
      const std::int32_t behind = epsn_ - sack.sack_base;
      if (behind <= 0) {
        mark(sack.sack_base, sack.bitmap);
      } else if (behind < static_cast<std::int32_t>(kSackBits)) {
        mark(epsn_, sack.bitmap >> behind);
      }
    }
    if (bytes_sent_ - bytes_recvd_ < bytes_claimed_retransmit_)
      events_.on(Reached{Rare::inflight_floored});
    return acked;
  }

  constexpr void advance_epsn(Psn epsn, Instant now) {
    withdraw_claims(epsn_, epsn);
    if (paths_.remembers()) {
      for (Psn psn = epsn_; psn < epsn; ++psn) paths_.arrived(psn);
    }
    const bool was_in_recovery = in_recovery();
    acked_.clear_range(epsn_.value, static_cast<std::uint32_t>(epsn - epsn_));
    epsn_ = epsn;
    // These never fall more than a window behind, or the distance between them would turn negative
    // one day.
    highest_received_ = max(highest_received_, epsn - 1u);
    recovery_high_ = max(recovery_high_, epsn);
    recovery_next_ = max(recovery_next_, epsn);
    timeout_ts_ = now;  // [R.timeout.update]
    heard_ = false;
    backoff_ = 0;
    consecutive_timeouts_ = 0;
    // [R.recovery.exit] All of the episode is acknowledged.
    if (was_in_recovery && !in_recovery()) events_.on(RecoveryEnded{epsn_});
  }

  /// Notes the PSNs base + i for each bit i set; all of them are at or above EPSN.
  constexpr void mark(Psn base, std::uint64_t bits) {
    if (bits == 0) return;
    const std::uint64_t fresh = acked_.merge64(base.value, bits);
    if (fresh == 0) return;
    const Psn lowest = base + static_cast<std::uint32_t>(std::countr_zero(fresh));
    const Psn highest = base + static_cast<std::uint32_t>(63 - std::countl_zero(fresh));
    highest_received_ = max(highest_received_, highest);
    if (paths_.remembers()) {
      for (std::uint64_t left = fresh; left != 0; left &= left - 1)
        paths_.arrived(base + static_cast<std::uint32_t>(std::countr_zero(left)));
    }
    if (in_recovery() && highest >= recovery_next_) withdraw_claims_of(base, fresh);
    note_early_completions(lowest, highest + 1);
  }

  /// [D21] A message may be whole before an earlier one is.
  constexpr void note_early_completions(Psn from, Psn to) {
    messages_.for_each_between(from, to, [this](MessageSlot& slot) {
      if (slot.state != SlotState::pending || slot.end() - 1u > highest_received_) return;
      const Psn open = max(slot.first, epsn_);
      if (acked_.all_set(open.value, static_cast<std::uint32_t>(slot.end() - open))) {
        messages_.complete_early(slot);
        events_.on(Reached{Rare::out_of_order_completion});
      }
    });
  }

  // ---- Loss ----

  /// [A1.L13] [R.probe.loss] [D10] The probe came back fast and alone: what was sent before it is lost.
  constexpr void judge_probe(const Sack& sack, Picoseconds measured_rtt, Instant now) {
    if (!sack.for_probe || sack.probe_id != probe_id_) return;
    if (!probe_outstanding_) {
      events_.on(Reached{Rare::probe_answer_overtaken});
      return;
    }
    probe_outstanding_ = false;
    if (measured_rtt <= ps(0) || measured_rtt >= params_->probe_rtt_limit) {
      events_.on(Reached{Rare::probe_answer_late});
      return;
    }
    const Psn high = params_->probe_recovers == ProbeRecovers::highest_received
                         ? highest_received_ + 1
                         : sent_before_probe_;  // [D17]
    if (high <= epsn_) return;
    events_.on(Reached{Rare::probe_verdict});
    declare_loss(LossCause::probe, high, now);  // [A1.L14]
  }

  /// [R.ooo.threshold] [D14] Too much has overtaken EPSN for it to be merely late.
  constexpr void detect_out_of_order(const Sack& sack, Instant now) {
    if (in_recovery() || sack.epsn != epsn_)
      return;  // [D17] one episode at a time, on the newest view
    const std::uint32_t window = params_->ooo_window == OooWindow::largest
                                     ? window_.largest_packets(now)  // [D61]
                                     : window_.cwnd_packets();
    const std::int64_t threshold =
        std::max<std::int64_t>(params_->ooo_cwnd.of(window), params_->ooo_min);
    if (sack.ooo_count <= threshold) return;
    declare_loss(LossCause::out_of_order, highest_received_ + 1, now);  // [R.ooo.range]
  }

  /// [D119] What this SACK answers left so long after EPSN did, for the last time, that EPSN is lost, and all that are as old; what was sent again, too.
  constexpr void detect_overdue(const Sack& sack, Instant now) {
    if (sack.for_probe || !paths_.remembers()) return;
    const Psn sent_end = in_recovery() ? recovery_next_ : psn_next_;
    Psn high = epsn_;
    while (high < sent_end && (acked_.test(high.value) ||
                               sack.timestamp.since(paths_.sent_at(high)) > params_->reorder_time))
      ++high;
    declare_loss(LossCause::out_of_order, high, now);
  }

  /// [R.loss.enter] [R.ooo.range] [D17] Starts an episode over [EPSN, high), or starts it over.
  constexpr void declare_loss(LossCause cause, Psn high, Instant now) {
    if (high <= epsn_) return;
    Bytes claimed{0};
    if (in_recovery()) {
      // Those still waiting to be sent again are claimed already.
      events_.on(Reached{Rare::episode_restarted});
      claimed += unacknowledged_bytes(epsn_, recovery_next_);
      claimed += unacknowledged_bytes(recovery_high_, high);
      recovery_high_ = max(recovery_high_, high);
    } else {
      claimed = unacknowledged_bytes(epsn_, high);
      recovery_high_ = high;
    }
    recovery_next_ = epsn_;
    bytes_claimed_retransmit_ += claimed;
    ++counters_.loss_episodes;
    events_.on(LossDeclared{cause, epsn_, recovery_high_, claimed});
    if (paths_.remembers()) blame_paths(cause, high, now);
  }

  /// [D39] [D41] What is lost tells of its path.
  constexpr void blame_paths(LossCause cause, Psn high, Instant now) {
    if (cause == LossCause::timeout && silent_) {
      paths_.fall_silent(*params_);
      return;
    }
    const Psn end = cause == LossCause::out_of_order ? high : recovery_high_;
    for (Psn psn = epsn_; psn < end; ++psn) {
      if (!acked_.test(psn.value)) paths_.lost(*params_, psn, now);
    }
  }

  constexpr void skip_acknowledged() {
    if (recovery_next_ < recovery_high_) {
      const auto left = static_cast<std::uint32_t>(recovery_high_ - recovery_next_);
      recovery_next_ = recovery_next_ + acked_.next_clear(recovery_next_.value, left);
    }
  }

  /// The payload of the unacknowledged packets in [from, to), all of them sent. O(packets), once
  /// per episode.
  constexpr Bytes unacknowledged_bytes(Psn from, Psn to) {
    Bytes total{0};
    messages_.for_each_between(from, to, [&](const MessageSlot& slot) {
      const Psn end = min(to, slot.end());
      Psn psn = max(from, slot.first);
      while (psn < end) {
        psn = psn + acked_.next_clear(psn.value, static_cast<std::uint32_t>(end - psn));
        if (psn < end) total += bytes(MessageQueue::fragment_of(slot, psn, mtu()).payload);
        ++psn;
      }
    });
    return total;
  }

  /// [D16] What was claimed lost and has arrived before it was sent again is claimed no longer.
  constexpr void withdraw_claims(Psn from, Psn to) {
    if (!in_recovery()) return;
    const Psn start = max(from, recovery_next_);
    const Psn stop = min(to, recovery_high_);
    if (start >= stop) return;
    withdraw(unacknowledged_bytes(start, stop));
  }
  constexpr void withdraw_claims_of(Psn base, std::uint64_t fresh) {
    for (; fresh != 0; fresh &= fresh - 1) {
      const Psn psn = base + static_cast<std::uint32_t>(std::countr_zero(fresh));
      if (psn >= recovery_next_ && psn < recovery_high_) {
        withdraw(bytes(messages_.fragment(psn, mtu()).payload));
      }
    }
  }
  constexpr void withdraw(Bytes claim) {
    if (claim == bytes(0)) return;
    bytes_claimed_retransmit_ -= claim;
    events_.on(Reached{Rare::claim_withdrawn});
  }

  /// [D42] Something was heard: no longer silence, whatever it says.
  constexpr void end_silence() {
    heard_ = true;
    silent_ = false;
    probe_backoff_ = 0;
    probe_asked_ = false;
  }
  [[nodiscard]] constexpr Picoseconds probe_wait() const {
    return params_->probe_interval * (std::int64_t{1} << probe_backoff_);
  }

  [[nodiscard]] constexpr Instant timeout_deadline() const {
    return timeout_ts_ + params_->rto * (std::int64_t{1} << backoff_);
  }

  constexpr void maybe_reset_ecn_bitmap(Instant now) {
    if (now - last_bitmap_reset_ts_ < params_->ecn_bitmap_reset) return;
    last_bitmap_reset_ts_ = now;
    paths_.reset_ecn_bitmap();
    events_.on(Reached{Rare::ecn_bitmap_reset});
  }

  const StrackParams* params_;
  MessageQueue messages_;
  Bitmap<kMaxTrackingWindow> acked_{};  ///< [R.bitmap.sender] from EPSN on
  Paths paths_;
  CongestionWindow window_;
  AchievedBdp achieved_{};

  Psn epsn_;              ///< all before it are acknowledged
  Psn psn_next_;          ///< the next new packet
  Psn highest_received_;  ///< the highest PSN known to have arrived
  Psn recovery_high_;     ///< one past the episode's last packet; at or below EPSN: no episode
  Psn recovery_next_;     ///< the episode's next packet to be sent again
  Psn sent_before_probe_;

  Bytes bytes_sent_{0};  ///< every transmission
  Bytes bytes_recvd_{0};
  Bytes bytes_claimed_retransmit_{0};
  Instant probe_timer_ts_{};
  Instant timeout_ts_{};
  Instant last_bitmap_reset_ts_{};
  std::uint32_t unique_bytes_sent_ =
      0;  ///< every packet once, wrapping like bytes_recvd on the wire
  SenderCounters counters_{};
  std::uint32_t consecutive_timeouts_ = 0;
  std::uint16_t probe_id_ = 0;
  std::uint8_t backoff_ = 0;
  std::uint8_t probe_backoff_ = 0;
  std::uint8_t probes_wanted_ = 0;
  bool heard_ = false;   ///< a SACK has come since the timeout's timer was set
  bool silent_ = false;  ///< and none between the last timeout and the time before
  bool probe_outstanding_ = false;
  bool probe_asked_ = false;  ///< since the last SACK
  bool probe_anew_ = false;   ///< the next one is no copy
  bool marks_seen_ = false;   ///< [D40] on this connection
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(Sender<>) <= 512, "the state budget of a NIC");
static_assert(TransportSender<Sender<>>);

}  // namespace strack::core
