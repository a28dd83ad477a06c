// STrack+'s sending end: Algorithm 1 with the paper's window (transports/strack/congestion_window.h), paths.h for
// entropies, and a loss detection that knows when each packet left.
//
// One bit per packet between EPSN and the newest says whether it is acknowledged, another whether it is lost and
// waits to be sent again; a byte for each two says when they left. What a packet carries follows from its PSN.
//
// Invariants: EPSN never goes back; acknowledged PSNs have been sent; lost ones are not acknowledged; inflight is
// the payload of all that is sent, not acknowledged and not lost.
#pragma once

#include <algorithm>
#include <array>
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
#include "core/transport.h"
#include "transports/strack/achieved_bdp.h"
#include "transports/strack/congestion_window.h"
#include "transports/strack_plus/ack.h"
#include "transports/strack_plus/counters.h"
#include "transports/strack_plus/host.h"
#include "transports/strack_plus/params.h"
#include "transports/strack_plus/paths.h"

namespace strack::core {

/// `Paths`: PlusPaths, or one that remembers packets, too (guarded_paths.h).
template <class Events = NoEvents, class Paths = PlusPaths>
class PlusSender {
 public:
  using Ack = PlusAck;

  /// `params`, `queue` and `host`, if any, must outlive the sender; the queue's size is a power of two.
  constexpr PlusSender(const PlusParams& params, std::span<MessageSlot> queue, Psn initial_psn,
                       Events events = {}, Paths paths = {}, PlusHost* host = nullptr)
      : params_(&params),
        host_(host),
        messages_(queue, initial_psn),
        paths_(paths),
        window_(params),
        epsn_(initial_psn),
        psn_next_(initial_psn),
        highest_received_(initial_psn - 1u),
        judged_(initial_psn),
        lost_next_(initial_psn),
        events_(events) {}

  constexpr PostResult on_message(const Message& message, Instant /*now*/) {
    if (messages_.full()) return PostResult::queue_full;
    const bool rested = idle();
    messages_.push(message, params_->mtu_bytes());
    if (host_ != nullptr && rested && !idle()) ++host_->sending;
    return PostResult::accepted;
  }

  /// The next packet to put on the wire, if there is one and the window allows it. `together`: on the path
  /// of the burst that it goes with.
  constexpr std::optional<Packet> poll_transmit(Instant now,
                                                std::optional<PathId> together = std::nullopt) {
    if (probes_wanted_ > 0) return make_probe(now);
    if (lost_count_ > 0) {  // [PLUS.again] before anything new, the lowest first
      const Psn psn = next_lost();
      const Fragment fragment = messages_.fragment(psn, params_->mtu_bytes());
      if (!fits(fragment)) return std::nullopt;
      lost_.clear(psn.value);
      --lost_count_;
      lost_next_ = psn + 1;
      ++counters_.retransmissions;
      watch_tail(true, now);
      return make_data(psn, fragment, true, together, now);
    }
    if (psn_next_ == messages_.end()) return std::nullopt;
    if (psn_next_ - epsn_ >= static_cast<std::int32_t>(params_->tracking_window))  // [PLUS.track]
      return std::nullopt;
    const Fragment fragment = messages_.fragment(psn_next_, params_->mtu_bytes());
    if (!fits(fragment)) return std::nullopt;
    const Psn psn = psn_next_;
    if (psn == epsn_) start_timers(now);
    ++psn_next_;
    watch_tail(false, now);
    return make_data(psn, fragment, false, together, now);
  }

  /// One SACK, in any order, from a peer that may be mistaken or hostile.
  constexpr void on_receiving_ack(const PlusAck& ack, Instant now) {
    const Picoseconds age = Timestamp::of(now).since(ack.timestamp);
    on_receiving_ack(ack, age, age, now);
  }
  /// The same from a host that knows better what of the packet's age was the network's.
  constexpr void on_receiving_ack(const PlusAck& ack, Picoseconds age, Picoseconds rtt,
                                  Instant now) {
    if (age < ps(0) || !can_be_true(ack, *params_, psn_next_)) {  // [PLUS.refuse]
      ++counters_.acks_rejected;
      return;
    }
    const bool rested = idle();
    if (first_) begin(rtt);
    probe_backoff_ = since_sack_ = 0;
    port_busy_ = false;
    heard_ = true;
    silent_ = false;

    late_now_ = 0;
    count_first_copies(ack, age, now);
    const Bytes acked = take_in(ack, now);
    believe_late(now);
    last_rtt_ = rtt;
    if (asks_itself()) {
      probe_at_ = now + self_wait();
      probes_wanted_ = 0;
    } else if (!tail_ || epsn_ == psn_next_) {
      probe_at_ = now + params_->probe_interval;  // [PLUS.probe.send] the silence is over
      probes_wanted_ = 0;
    }
    events_.on(PlusAckReceived{ack, rtt, acked});
    learn_paths(ack, rtt);
    if (rtt > ps(0)) {  // [PLUS.window] below the clock's tick it is none
      const Picoseconds qdelay = window_.measured_qdelay(rtt);
      const Bytes achieved = achieved_.update(ack.for_probe ? bytes(0) : acked, window_.base_rtt(),
                                              params_->target_qdelay, now);
      const WindowAim aim{target(qdelay), rtt,
                          params_->cut_once ? &cut_by_ : nullptr};  // [PLUS.cut]
      window_.adjust_cwnd(*params_, aim, {ack.ecn, qdelay, acked, achieved}, now, events_);
    }
    if (ack.for_probe) judge_by_probe(ack, age, now);
    judge_by_order(now);
    if (!ack.for_probe && params_->rack > ps(0))  // [PLUS.rack]
      judge_by_time(age + (tolerant(now) ? std::max(params_->late, params_->rack) : params_->rack),
                    epsn_, psn_next_, LossCause::out_of_order, now);
    if (host_ != nullptr && idle() && !rested) --host_->sending;
  }

  /// Acts on whatever is due at `now`; harmless when nothing is.
  constexpr void on_timeout(Instant now) {
    if (epsn_ == psn_next_) return;
    if (now >= timeout_deadline()) {  // [PLUS.timeout]
      ++counters_.timeouts;
      if (backoff_ < params_->rto_backoff_max) ++backoff_;
      timeout_from_ = now;
      probe_at_ = now + probe_wait();
      silent_ = !heard_;  // [D42]
      heard_ = false;
      lose_all(epsn_, psn_next_, LossCause::timeout, now);
      if (silent_ || !params_->path_health) paths_.fall_silent();  // [D41]
    } else if (now >= probe_at_ && asks_itself()) {                // [PLUS.probe.self]
      tail_ = false;
      lose_all(epsn_, psn_next_, LossCause::probe, now);
      probe_at_ = now + self_wait();
    } else if (now >= probe_at_ && !tail_ && more_before_sack()) {  // [PLUS.probe.due]
      port_busy_ = true;
      probe_at_ = now + params_->probe_interval;
    } else if (now >= probe_at_) {  // [PLUS.probe.send] and again, should that get lost
      probes_wanted_ =
          probe_backoff_ > 0 ? static_cast<std::uint8_t>(params_->probe_copies) : 1;  // [D120]
      probe_at_ = now + probe_wait();
      if (probe_backoff_ < params_->probe_backoff_max) ++probe_backoff_;  // [D42]
    }
  }

  /// [D42] The host has heard of the peer by other means than a SACK: what is overdue is asked for soon.
  constexpr void on_peer_heard(Instant now) {
    if (probe_backoff_ == 0) return;
    probe_backoff_ = 0;
    probe_at_ = std::min(probe_at_, now + params_->probe_interval);
  }

  [[nodiscard]] constexpr Instant next_deadline() const {
    return epsn_ == psn_next_ ? Instant::never() : std::min(probe_at_, timeout_deadline());
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
  /// [D42] No SACK came in the whole time before the last timeout, nor since.
  [[nodiscard]] constexpr bool in_silence() const { return silent_; }
  [[nodiscard]] constexpr const CongestionWindow& window() const { return window_; }
  [[nodiscard]] constexpr const AchievedBdp& achieved() const { return achieved_; }
  [[nodiscard]] constexpr const Paths& paths() const { return paths_; }
  [[nodiscard]] constexpr const PlusCounters& counters() const { return counters_; }

 private:
  // ---- Sending ----

  [[nodiscard]] constexpr bool fits(const Fragment& fragment) const {
    const Bytes window = silent_ && params_->silent_window > bytes(0)  // [D42]
                             ? std::min(window_.cwnd(), params_->silent_window)
                             : allowed();
    return inflight_ + bytes(fragment.payload) <= window;
  }
  [[nodiscard]] constexpr Bytes allowed() const {
    if (!first_ || host_ == nullptr) return window_.cwnd();
    return std::min(window_.cwnd(), host_->first_window(*params_));  // [PLUS.first.share]
  }
  /// The first SACK: [PLUS.first.share] from here on the window is its own, [PLUS.first.delay] and so is the average.
  constexpr void begin(Picoseconds rtt) {
    const Picoseconds qdelay = rtt > ps(0) ? window_.measured_qdelay(rtt) : ps(0);
    window_.begin(*params_, allowed(), ps(params_->first_delay.of(qdelay.value)));
    first_ = false;
  }

  constexpr Packet make_data(Psn psn, const Fragment& fragment, bool again,
                             std::optional<PathId> together, Instant now) {
    inflight_ += bytes(fragment.payload);
    if (since_sack_ < params_->sack_packets) {
      ++since_sack_;
      if (port_busy_ && !tail_) probe_at_ = now + params_->probe_interval;  // [PLUS.probe.due]
    }
    if (asks_itself()) probe_at_ = now + self_wait();  // [PLUS.probe.self]
    sent_at_[pair(psn)] = unit(now);
    const Departure departure{again ? Purpose::again : Purpose::news, fragment.payload, psn,
                              window_.cwnd_packets(), now};
    Packet packet = make(departure, together);
    if constexpr (Paths::kRemembers) paths_.sent(packet.path_id, departure);
    packet.retransmission = again;
    packet.payload = fragment.payload;
    packet.psn = psn;
    packet.message_id = fragment.message_id;
    packet.offset = fragment.offset;
    packet.message_length = fragment.message_length;
    const std::uint32_t most = std::min(window_.cwnd_packets(), params_->tracking_window);
    if (again || most < 2 * params_->sack_packets) packet.note = kPlusAsks;  // [PLUS.sack.ask]
    return packet;
  }

  /// [PLUS.probe.due] Too little has left since the last SACK for another, and more may leave: the port is busy.
  [[nodiscard]] constexpr bool more_before_sack() {
    return params_->probe_due && since_sack_ < params_->sack_packets && port_is_busy();
  }
  /// Something new might leave, and has not.
  [[nodiscard]] constexpr bool port_is_busy() {
    return lost_count_ == 0 && psn_next_ != messages_.end() &&
           psn_next_ - epsn_ < static_cast<std::int32_t>(params_->tracking_window) &&
           fits(messages_.fragment(psn_next_, params_->mtu_bytes()));
  }
  /// [PLUS.ring.sparse] Its packets are so far apart that a ring would be full of old news.
  [[nodiscard]] constexpr bool is_sparse() {
    return inflight_ <= std::int64_t{params_->ring_sparse} * params_->mtu && port_is_busy();
  }

  /// [PLUS.target.full] It falls in proportion to the window, as long as the queue is within a small one's.
  [[nodiscard]] constexpr Picoseconds target(Picoseconds qdelay) const {
    if (params_->target_full == ps(0) ||
        std::max(qdelay, window_.avg_qdelay()) >= params_->target_qdelay)
      return params_->target_qdelay;
    return params_->target_qdelay -
           ps(mul_div((params_->target_qdelay - params_->target_full).value, window_.cwnd().value,
                      params_->max_cwnd.value));
  }

  /// [PLUS.probe.self] The one packet of the smallest window is a question itself.
  [[nodiscard]] constexpr bool asks_itself() const {
    return params_->probe_self.num > 0 && last_rtt_ > ps(0) && window_.cwnd_packets() == 1 &&
           inflight_ <= params_->mtu;
  }
  [[nodiscard]] constexpr Picoseconds self_wait() const {
    return std::max(params_->probe_interval, ps(params_->probe_self.of(last_rtt_.value)));
  }

  /// [PLUS.probe.send] Outside the window, on a path like data's.
  constexpr Packet make_probe(Instant now) {
    --probes_wanted_;
    tail_ = false;
    ++counters_.probes_sent;
    const Purpose purpose = probe_backoff_ > 1 ? Purpose::probe_again : Purpose::probe;
    Packet packet = make({purpose, 0, epsn_, window_.cwnd_packets(), now}, std::nullopt);
    packet.type = PacketType::probe;
    packet.psn = params_->probe_unknown ? first_unknown() : epsn_;
    return packet;
  }

  /// [PLUS.probe.where] The first that is under way, as far as anybody knows; EPSN if none is.
  [[nodiscard]] constexpr Psn first_unknown() const {
    const auto sent = static_cast<std::uint32_t>(psn_next_ - epsn_);
    for (std::uint32_t at = 0; at < sent; at += 64) {
      const Psn psn = epsn_ + at;
      const std::uint64_t known = acked_.extract64(psn.value) | lost_.extract64(psn.value);
      const auto skipped = static_cast<std::uint32_t>(std::countr_one(known));
      if (skipped < 64) return at + skipped < sent ? psn + skipped : epsn_;
    }
    return epsn_;
  }

  constexpr Packet make(const Departure& departure, std::optional<PathId> together) {
    Packet packet;
    packet.path_id = together ? paths_.take(*params_, *together) : paths_.next(*params_, departure);
    packet.timestamp = Timestamp::of(departure.now);
    return packet;
  }

  /// [PLUS.probe.tail] Nothing follows the last packet that could tell of it; for a few packets a SACK comes sooner.
  constexpr void watch_tail(bool again, Instant now) {
    if (params_->probe_tail == ps(0)) return;
    const bool was = tail_;
    tail_ = lost_count_ == 0 && psn_next_ == messages_.end() &&
            (again || psn_next_ - epsn_ > static_cast<std::int32_t>(2 * params_->sack_packets));
    if (tail_) {
      probe_at_ = now + params_->probe_tail;
    } else if (was) {
      probe_at_ = now + params_->probe_interval;
    }
  }

  /// The first packet after idleness: what is measured from here on is about this burst.
  constexpr void start_timers(Instant now) {
    timeout_from_ = now;
    heard_ = false;
    if (!asks_itself()) last_rtt_ = ps(0);  // one packet at a time is no idleness
    probe_at_ = now + params_->probe_interval;
    achieved_.restart(now);
  }

  [[nodiscard]] constexpr Psn next_lost() {
    lost_next_ = max(lost_next_, epsn_);
    const auto left = static_cast<std::uint32_t>(psn_next_ - lost_next_);
    lost_next_ = lost_next_ + lost_.next_set(lost_next_.value, left);
    STRACK_DCHECK(lost_next_ < psn_next_);
    return lost_next_;
  }

  // ---- Taking in a SACK ----

  constexpr void learn_paths(const PlusAck& ack, Picoseconds rtt) {
    const bool sparse = is_sparse();
    const bool shorter = is_shorter(ack, rtt);
    for (std::uint32_t i = 0; i < ack.count; ++i) {  // [PLUS.sack.echo]
      const bool clean = !ack.echoes[i].ecn || (shorter && i + 1u == ack.count);
      paths_.feedback(*params_, ack.echoes[i].path_id, !clean, sparse);
    }
    if (ack.for_probe) paths_.feedback(*params_, ack.path_id, ack.ecn, sparse);
  }
  /// [PLUS.ring.delay] Where all are marked a mark says nothing, and delay does: of the last packet, whose time it is.
  [[nodiscard]] constexpr bool is_shorter(const PlusAck& ack, Picoseconds rtt) const {
    if (!params_->ring_delay || ack.for_probe || rtt <= ps(0)) return false;
    for (std::uint32_t i = 0; i < ack.count; ++i) {
      if (!ack.echoes[i].ecn) return false;
    }
    return rtt - window_.base_rtt() < window_.avg_qdelay();
  }

  /// Notes everything it says has arrived; returns the new bytes.
  constexpr Bytes take_in(const PlusAck& ack, Instant now) {
    const Bytes before = acked_bytes_;
    if (ack.bitmap != 0) {
      // What lies below EPSN is known already.
      const std::int32_t behind = epsn_ - ack.base;
      if (behind <= 0) {
        note_arrivals(ack.base, ack.bitmap);
      } else if (behind < static_cast<std::int32_t>(PlusAck::kBits)) {
        note_arrivals(epsn_, ack.bitmap >> behind);
      }
    }
    for (std::uint32_t i = 0; i < ack.count; ++i) {
      if (ack.echoes[i].psn >= epsn_) note_arrivals(ack.echoes[i].psn, 1);
    }
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
    if constexpr (Paths::kRemembers) paths_.arrived(psn);
    if (lost_.test(psn.value)) {  // it was only late
      note_late();
      lost_.clear(psn.value);
      --lost_count_;
    } else {
      inflight_ -= payload;
    }
  }

  constexpr void advance_epsn(Psn epsn, Instant now) {
    for_each_missing(epsn_, epsn, [this](Psn psn) { count_arrival(psn); });
    acked_.clear_range(epsn_.value, static_cast<std::uint32_t>(epsn - epsn_));
    epsn_ = epsn;
    // These never fall more than a window behind, or the distance between them would turn negative one day.
    highest_received_ = max(highest_received_, epsn - 1u);
    judged_ = max(judged_, epsn);
    lost_next_ = max(lost_next_, epsn);
    timeout_from_ = now;  // [PLUS.timeout]
    heard_ = false;
    backoff_ = 0;
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

  constexpr void lose(Psn psn, LossCause cause, Instant now) {
    if (lost_.test(psn.value)) return;
    if constexpr (Paths::kRemembers) {  // [D39] but in silence no path is to blame [D41]
      if (cause != LossCause::timeout || !silent_) paths_.lost(psn, now);
    }
    lost_.set(psn.value);
    ++lost_count_;
    inflight_ -= bytes(messages_.fragment(psn, params_->mtu_bytes()).payload);
    lost_next_ = min(lost_next_, psn);
    judged_ = max(judged_, psn + 1);
  }

  /// All that is missing of [from, to).
  constexpr void lose_all(Psn from, Psn to, LossCause cause, Instant now) {
    const std::uint32_t before = lost_count_;
    for_each_missing(from, to, [&](Psn psn) { lose(psn, cause, now); });
    report(cause, from, before);
  }

  constexpr void report(LossCause cause, Psn from, std::uint32_t before) {
    if (lost_count_ > before)
      events_.on(
          LossDeclared{cause, from, judged_, std::int64_t{lost_count_ - before} * params_->mtu});
  }

  /// [PLUS.late] Packets that had been sent again for nothing: their first copies have come. What is sent again asks for a
  /// SACK, so of the last one that this tells of its time says which copy it is. Any other is a first copy; and the packet
  /// had been sent again, if it left less than a base RTT ago.
  constexpr void count_first_copies(const PlusAck& ack, Picoseconds age, Instant now) {
    for (std::uint32_t i = 0; i < ack.count; ++i) {
      const Psn psn = ack.echoes[i].psn;
      if (psn < epsn_ || psn >= judged_ || acked_.test(psn.value) || lost_.test(psn.value))
        continue;
      const bool last = i + 1u == ack.count && !ack.for_probe;
      if (last && units(age) >= kStamps) continue;
      const auto since = static_cast<std::uint8_t>(unit(now) - sent_at_[pair(psn)]);
      if (units(last ? age : window_.base_rtt()) > since + 2) note_late();
    }
  }
  constexpr void note_late() {
    if (late_now_ < 0xff) ++late_now_;
  }
  constexpr void believe_late(Instant now) {
    if (late_now_ == 0) return;
    late_seen_ =
        static_cast<std::uint8_t>(std::min((now < late_until_ ? late_seen_ : 0) + late_now_, 0xff));
    late_until_ = now + params_->late_for;
  }
  [[nodiscard]] constexpr bool tolerant(Instant now) const {
    return params_->late > ps(0) && late_seen_ >= params_->late_after && now < late_until_;
  }

  /// [PLUS.order] One has arrived whose PSN is a window higher: a distance, so that what is missing in between counts
  /// as overtaken, too, and nobody has to count bits. Only where a packet was sent once do sequence numbers say when.
  constexpr void judge_by_order(Instant now) {
    if (params_->ooo_cwnd.num == 0) return;
    const std::int64_t overtaken =
        std::max<std::int64_t>(params_->ooo_cwnd.of(window_.largest_packets(now)),
                               params_->ooo_min) *
        (tolerant(now) ? 2 : 1);  // [PLUS.late]
    const Psn from = max(judged_, epsn_);
    if (highest_received_ - from < overtaken) return;
    lose_all(from, highest_received_ + 1 - static_cast<std::uint32_t>(overtaken),
             LossCause::out_of_order, now);
  }

  /// [PLUS.rack] All of [from, end) that left more than `ago` ago. One that left later than another with a lower PSN
  /// ends the search, as long as both were sent once.
  constexpr void judge_by_time(Picoseconds ago, Psn from, Psn end, LossCause cause, Instant now) {
    const std::int64_t most = units(ago);
    if (most >= kStamps) return;  // [PLUS.rack.time] so long ago nobody knows
    const std::uint32_t before = lost_count_;
    const std::uint8_t present = unit(now);
    for (Psn psn = from; psn < end; ++psn) {
      psn = psn + acked_.next_clear(psn.value, static_cast<std::uint32_t>(end - psn));
      if (psn == end) break;
      const auto age = static_cast<std::uint8_t>(present - sent_at_[pair(psn)]);
      if (age > most) {
        lose(psn, cause, now);
      } else if (psn >= judged_) {
        break;
      }
    }
    report(cause, from, before);
  }

  /// [PLUS.probe.verdict] What left before the probe did has not come, and the probe has. Of what lies below and
  /// beyond its bitmap the answer says nothing, unless that none of it has come.
  constexpr void judge_by_probe(const PlusAck& ack, Picoseconds age, Instant now) {
    const Psn from = max(epsn_, ack.base);
    const Psn end = ack.none_beyond ? psn_next_ : min(psn_next_, ack.base + PlusAck::kBits);
    if (params_->relative_probe) {
      judge_by_time(age + params_->probe_margin, from, end, LossCause::probe, now);
    } else if (age < params_->probe_rtt_limit) {
      judge_by_time(age, from, end, LossCause::probe, now);
    }
  }

  // ---- [PLUS.rack.time] Departures, a byte for two packets ----

  static constexpr std::int64_t kStamps = 256;

  [[nodiscard]] static constexpr std::uint32_t pair(Psn psn) {
    return psn.value / 2 % (PlusParams::kTracked / 2);
  }
  [[nodiscard]] constexpr std::uint8_t unit(Instant t) const {
    return static_cast<std::uint8_t>(Timestamp::of(t).ns >> params_->stamp_shift);
  }
  [[nodiscard]] constexpr std::int64_t units(Picoseconds span) const {
    const std::int64_t ns = (span.value + 999) / 1'000;
    return (ns + (std::int64_t{1} << params_->stamp_shift) - 1) >> params_->stamp_shift;
  }

  [[nodiscard]] constexpr Picoseconds probe_wait() const {
    const Picoseconds answer = params_->probe_patience ? last_rtt_ : ps(0);  // [PLUS.probe.again]
    return std::max(params_->probe_interval, answer) * (std::int64_t{1} << probe_backoff_);
  }
  [[nodiscard]] constexpr Instant timeout_deadline() const {
    return timeout_from_ + params_->rto * (std::int64_t{1} << backoff_);
  }

  const PlusParams* params_;
  PlusHost* host_;
  MessageQueue messages_;
  Bitmap<PlusParams::kTracked> acked_{};  ///< from EPSN on
  Bitmap<PlusParams::kTracked> lost_{};   ///< declared lost, not sent again yet
  std::array<std::uint8_t, PlusParams::kTracked / 2> sent_at_{};
  Paths paths_;
  CongestionWindow window_;
  Picoseconds cut_by_{0};  ///< [PLUS.cut] the average delay at the last cut
  AchievedBdp achieved_{};

  Psn epsn_;              ///< all before it are acknowledged
  Psn psn_next_;          ///< the next new packet
  Psn highest_received_;  ///< the highest PSN known to have arrived
  Psn judged_;            ///< all that are sent and not below it were sent once
  Psn lost_next_;         ///< none below it is lost
  std::uint32_t lost_count_ = 0;
  Bytes inflight_{0};
  Bytes acked_bytes_{0};
  Instant probe_at_{};
  Picoseconds last_rtt_{0};
  Instant timeout_from_{};
  Instant late_until_{};  ///< [PLUS.late]
  PlusCounters counters_{};
  std::uint8_t backoff_ = 0;
  std::uint8_t probe_backoff_ = 0;
  std::uint8_t probes_wanted_ = 0;
  std::uint8_t since_sack_ = 0;  ///< data packets that have left, up to sack_packets
  bool port_busy_ = false;       ///< since the last SACK a probe's time came too soon
  bool tail_ = false;            ///< the next probe is the last packet's
  std::uint8_t late_now_ = 0;    ///< [PLUS.late] packets of this SACK that had been called lost
  std::uint8_t late_seen_ = 0;   ///< and of those before
  bool first_ = true;            ///< [PLUS.first.share] no SACK has come yet
  bool heard_ = false;           ///< since the last timeout, or EPSN's last step
  bool silent_ = false;          ///< and not between the last timeout and the time before
  [[no_unique_address]] Events events_;
};

static_assert(TransportSender<PlusSender<>>);
static_assert(sizeof(PlusSender<>) <= 768, "the state budget of a NIC");

}  // namespace strack::core
