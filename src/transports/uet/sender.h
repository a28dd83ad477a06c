// UET's sending end: when a packet may go (NSCC's window, RCCC's credit), what is lost (trims, SLEEK, timeouts),
// and what is sent again.
//
// One bit per packet says whether it is acknowledged, one whether it waits to be sent again. Invariants:
// una never goes back; what is acknowledged has been sent and waits no more; inflight counts each packet
// once, and those declared lost not at all until they are sent again.
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
#include "core/paths/spray.h"
#include "core/transport.h"
#include "transports/uet/ack.h"
#include "transports/uet/nscc.h"
#include "transports/uet/params.h"

namespace strack::core {

struct UetCounters {
  std::uint32_t retransmissions = 0;
  std::uint32_t nacks = 0;
  std::uint32_t recoveries = 0;  ///< SLEEK's
  std::uint32_t probes_sent = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t acks_rejected = 0;
};

/// What is remembered of each packet's last transmission.
struct UetSent {
  PathId path = 0;
  std::uint16_t tick = 0;  ///< when, in 64ths of the timeout, wrapping
};

/// `Params` are UetParams, or add to them who chooses entropies.
template <class Events = NoEvents, class Params = UetParams>
class UetSender {
 public:
  using Ack = UetAck;
  using Paths = typename Params::Paths;

  /// `params` and the memory must outlive the sender: a power of two of message slots, and a record for
  /// each packet of the tracking window, so that it can time out, and its path be told.
  constexpr UetSender(const Params& params, std::span<MessageSlot> queue,
                      std::span<UetSent> records, Psn initial_psn, Events events = {})
      : params_(&params),
        messages_(queue, initial_psn),
        records_(records.data()),
        paths_(params.path_params()),
        window_(params),
        una_(initial_psn),
        psn_next_(initial_psn),
        highest_acked_(initial_psn - 1u),
        recovery_end_(initial_psn),
        recovery_next_(initial_psn),
        tail_end_(initial_psn),
        sent_before_probe_(initial_psn),
        speculative_from_(initial_psn),
        events_(events) {
    STRACK_CHECK(records.size() == UetParams::kMostTracked);
  }

  constexpr PostResult on_message(const Message& message, Instant now) {
    if (messages_.full()) return PostResult::queue_full;
    // [RCCC.speculative] [D69] What waits already has told of itself, and its credit brings the rest.
    if (params_->rccc && backlog() == 0) speculate();
    if (idle()) restart_timers(now);
    messages_.push(message, mtu());
    return PostResult::accepted;
  }

  constexpr std::optional<Packet> poll_transmit(Instant now) {
    if (probe_wanted_) return make_probe(now);
    if constexpr (kProbesPaths) {
      if (const std::optional<PathId> path = std::exchange(path_to_probe_, std::nullopt))
        return make_question(*path, now);
    }
    if (waiting_ > 0) {  // [UET.resend.first]
      // [SLEEK.window] What SLEEK sends again is not held back.
      if (!in_recovery() && !may_send()) return make_request(now);
      const Psn psn = una_ + lost_.next_set(una_.value, UetParams::kMostTracked);
      lost_.clear(psn.value);
      --waiting_;
      ++counters_.retransmissions;
      probe_outstanding_ = false;  // its answer would come too soon to judge this packet by
      if (psn == una_) timer_start_ = now;
      return make_data(psn, true, now);
    }
    if (psn_next_ == messages_.end()) return std::nullopt;
    if (!may_send()) return make_request(now);
    if (psn_next_ - una_ >= static_cast<std::int32_t>(params_->tracking_window))
      return std::nullopt;
    if (una_ == psn_next_) restart_timers(now);
    return make_data(psn_next_, false, now);
  }

  constexpr void on_receiving_ack(const UetAck& ack, Instant now) {
    if (ack.kind == UetAck::Kind::pull) {
      on_pull(ack.pulled, now);
      return;
    }
    if (has_fault(ack)) {
      ++counters_.acks_rejected;
      return;
    }
    if (max(ack.sack.psn, ack.sack.epsn - 1u) >= speculative_from_)
      speculative_ = 0;  // [RCCC.speculative] not for what answers older packets
    if (ack.kind == UetAck::Kind::nack) {
      on_nack(ack, now);
    } else {
      on_ack(ack.sack, now);
    }
  }

  /// Acts on whatever is due; harmless when nothing is.
  constexpr void on_timeout(Instant now) {
    if (!timing()) return;
    if constexpr (kProbesPaths) {
      if (una_ != psn_next_) {  // kept by its value: the whole of it Clang 14 loses, on a GPU
        if (const auto p = paths_.poll_probe(params_->path_params(), now)) path_to_probe_ = *p;
      }
    }
    if (una_ != psn_next_ && now >= timeout_deadline()) {
      ++counters_.timeouts;
      if (backoff_ < params_->rto_backoff_max) ++backoff_;
      lose_old(now);
      timer_start_ = heard_ = now;
      // [SLEEK.probe] What is sent again asks as well as a probe that is due now would.
      if (now >= probe_deadline()) probe_asked_ = now;
      // [RCCC.rts] Without credit it can but ask.
      if (params_->rccc && !has_credit()) probe_wanted_ = true;
      return;
    }
    if (now >= probe_deadline()) {  // [SLEEK.probe]
      probe_wanted_ = true;
      probe_asked_ = now;
    }
    if (now >= credit_deadline()) {  // [RCCC.again]
      probe_wanted_ = true;
      ask_again(now);
    }
  }
  [[nodiscard]] constexpr Instant next_deadline() const {
    if (!timing()) return Instant::never();
    const Instant next = std::min(probe_deadline(), credit_deadline());
    if (una_ == psn_next_) return next;
    const Instant deadline = std::min(next, timeout_deadline());
    if constexpr (kProbesPaths) {
      return std::min(deadline, paths_.next_probe());
    } else {
      return deadline;
    }
  }

  constexpr std::optional<MessageId> poll_completion() { return messages_.pop_completed(una_); }

  [[nodiscard]] constexpr bool idle() const { return una_ == messages_.end(); }
  [[nodiscard]] constexpr bool in_recovery() const { return una_ < recovery_end_; }
  [[nodiscard]] constexpr Bytes inflight() const {
    return std::max(bytes(0), sent_ - received_ - declared_lost_);
  }
  [[nodiscard]] constexpr Bytes bytes_recvd() const { return received_; }
  [[nodiscard]] constexpr Psn una() const { return una_; }
  [[nodiscard]] constexpr Psn psn_next() const { return psn_next_; }
  [[nodiscard]] constexpr std::uint32_t waiting() const { return waiting_; }
  [[nodiscard]] constexpr std::int32_t credit() const { return credit_; }
  [[nodiscard]] constexpr const NsccWindow& window() const { return window_; }
  [[nodiscard]] constexpr const UetCounters& counters() const { return counters_; }

 private:
  /// Some choosers want entropies probed that no packet may take.
  static constexpr bool kProbesPaths = requires(Paths paths, const Params& params, Instant now) {
    paths.poll_probe(params.path_params(), now);
  };

  [[nodiscard]] constexpr std::uint32_t mtu() const {
    return static_cast<std::uint32_t>(params_->mtu.value);
  }
  [[nodiscard]] constexpr std::uint16_t payload(Psn psn) {
    return messages_.fragment(psn, mtu()).payload;
  }

  // ---- Sending ----

  /// [NSCC.send] [RCCC.send]
  [[nodiscard]] constexpr bool may_send() const {
    if (params_->nscc && inflight() + params_->mtu > window_.cwnd()) return false;
    return !params_->rccc || has_credit();
  }
  [[nodiscard]] constexpr bool has_credit() const { return credit_ > 0 || speculative_ > 0; }
  /// The receiver was told of more than it has granted, so credit is on its way.
  [[nodiscard]] constexpr bool expects_credit() const {
    return credit_ > 0 || static_cast<std::int32_t>(told_ - pulled_) > 0;
  }
  /// [RCCC.speculative] What is on its way counts, so that many small messages are no way around credit.
  constexpr void speculate() {
    const auto under_way = static_cast<std::uint32_t>(psn_next_ - una_);
    const std::uint32_t room = params_->speculative - std::min(params_->speculative, under_way);
    speculative_ = std::max(speculative_, room);
    speculative_from_ = psn_next_;
    speculates_on_ = under_way > 0;
  }

  /// Packets that are still to be sent, for the first time or again.
  [[nodiscard]] constexpr std::uint32_t backlog() const {
    return static_cast<std::uint32_t>(messages_.end() - psn_next_) + waiting_;
  }

  /// [RCCC.target] All that waits, but no more than a window, and [RCCC.nscc] than NSCC would send.
  [[nodiscard]] constexpr std::uint32_t target() const {
    std::int64_t want = std::min<std::int64_t>(backlog(), window_.max_cwnd() / params_->mtu);
    if (params_->nscc) want = std::min(want, window_.cwnd() / params_->mtu + 1);
    want = std::clamp<std::int64_t>(want - credit_, 0, UetNote::kFarthestTarget);
    return pulled_ + static_cast<std::uint32_t>(want);
  }

  /// [UET.ack.request] When nothing more can follow until this is acknowledged.
  [[nodiscard]] constexpr bool asks_ack(bool again) const {
    if (again || backlog() == 0) return true;
    if (params_->rccc && !has_credit()) return true;
    return params_->nscc &&
           (window_.cwnd() - inflight() < params_->mtu || window_.cwnd() < params_->ack_bytes);
  }
  /// [RCCC.trimmed] The receiver adds what it saw trimmed; a probe tells all, should they disagree.
  constexpr std::uint16_t note(bool asks, bool probe = false) {
    std::uint32_t shown = 0;
    if (params_->rccc) {
      const std::uint32_t wanted = target();
      if (static_cast<std::int32_t>(wanted - told_) > 0) told_ = wanted;
      shown = (wanted - (probe ? 0 : nacked_)) % UetNote::kTargetRange;
    }
    return static_cast<std::uint16_t>(shown | (asks ? UetNote::kAckBit : 0u));
  }

  constexpr Packet make_data(Psn psn, bool again, Instant now) {
    const Fragment fragment = messages_.fragment(psn, mtu());
    Packet packet;
    packet.retransmission = again;
    packet.payload = fragment.payload;
    packet.path_id = paths_.next(params_->path_params(), now);
    packet.psn = psn;
    packet.message_id = fragment.message_id;
    packet.offset = fragment.offset;
    packet.message_length = fragment.message_length;
    packet.timestamp = Timestamp::of(now);
    record(psn) = {packet.path_id, tick(now)};
    sent_ += bytes(fragment.payload);
    if (!again) {
      ++psn_next_;
      sent_once_ += fragment.payload;
    }
    credit_from_ = now;
    if (params_->rccc && !(again && in_recovery())) {
      if (credit_ > 0) {
        --credit_;
      } else if (speculative_ > 0) {
        --speculative_;
      }
    }
    packet.note = note(asks_ack(again));
    return packet;
  }

  /// [SLEEK.probe] A question without payload, outside the window.
  constexpr Packet make_probe(Instant now) {
    probe_wanted_ = false;
    probe_outstanding_ = true;
    sent_before_probe_ = psn_next_;
    probe_id_ = static_cast<std::uint16_t>((probe_id_ + 1u) % kProbeIds);
    return make_question(paths_.next(params_->path_params(), now), now);
  }
  /// [RCCC.rts] The same, at once, where the receiver knows of nothing that waits. Sent right behind data, it may
  /// overtake it, so its answer is no verdict on what is missing.
  constexpr std::optional<Packet> make_request(Instant now) {
    if (!params_->rccc || has_credit() || expects_credit()) return std::nullopt;
    credit_from_ = now;
    return make_question(paths_.next(params_->path_params(), now), now);
  }
  constexpr Packet make_question(PathId path, Instant now) {
    ++counters_.probes_sent;
    Packet packet;
    packet.type = PacketType::probe;
    packet.probe_id = probe_id_;
    packet.psn = una_;
    packet.path_id = path;
    packet.timestamp = Timestamp::of(now);
    packet.note = note(true, true);
    return packet;
  }
  static constexpr std::uint32_t kProbeIds = 1'024;

  // ---- What the receiver says ----

  /// What no honest receiver could have said.
  [[nodiscard]] constexpr bool has_fault(const UetAck& ack) const {
    const Sack& sack = ack.sack;
    if (psn_next_.value - sack.epsn.value > kOldest) return true;
    if (!sack.for_probe && psn_next_.value - 1 - sack.psn.value > kOldest) return true;
    if (sack.path_id >= params_->path_params().paths) return true;
    if (static_cast<std::int32_t>(sack.bytes_recvd - sent_once_) > 0) return true;
    if (sack.epsn == psn_next_ && sack.bytes_recvd != sent_once_) return true;
    if (ack.kind == UetAck::Kind::nack) return false;
    const std::int32_t base = sack.sack_base - sack.epsn;
    if (base < 0 || base >= static_cast<std::int32_t>(UetParams::kMostTracked)) return true;
    if (sack.ooo_count >= UetParams::kMostTracked) return true;
    if (!sack.for_probe && sack.psn == sack.epsn) return true;
    if (sack.bitmap == 0) return false;
    const auto top = static_cast<std::uint32_t>(63 - std::countl_zero(sack.bitmap));
    return sack.sack_base + top >= psn_next_ || (base == 0 && (sack.bitmap & 1) != 0) ||
           std::popcount(sack.bitmap) > sack.ooo_count;
  }
  static constexpr std::uint32_t kOldest = 1u << 30;

  /// [UET.timestamp] [D70] The time since the echoed packet left, of which packets have the low bits.
  [[nodiscard]] static constexpr Picoseconds age(Timestamp sent, Instant now) {
    return ns((Timestamp::of(now).ns - sent.ns) % kTimestampRange);
  }
  static constexpr std::uint32_t kTimestampRange = 1u << 25;

  constexpr void on_ack(const Sack& sack, Instant now) {
    const Picoseconds rtt = age(sack.timestamp, now);
    const Picoseconds delay = rtt > ps(0) ? window_.measured_delay(*params_, rtt) : ps(0);
    heard_ = now;
    probe_asked_ = Instant::distant_past();
    if constexpr (kProbesPaths) {
      if (sack.for_probe) paths_.on_probe(params_->path_params(), sack.path_id, sack.ecn, now);
    }
    if (!sack.for_probe) {
      paths_.feedback(params_->path_params(), sack.path_id,
                      sack.ecn ? PathNews::marked : PathNews::clean, now);
    }
    const Bytes acked = take_in(sack, now);
    events_.on(SackReceived{sack, rtt, delay, acked});
    if (params_->nscc && !sack.for_probe) {
      window_.on_ack(*params_, {sack.ecn, rtt > ps(0), delay, acked, inflight()}, now);
    }
    if (params_->sleek) sleek(sack, delay, now);
  }

  /// [UET.nack.resend] [NSCC.nack] Its payload was cut off: it is sent again, once for each NACK.
  constexpr void on_nack(const UetAck& ack, Instant now) {
    const Sack& sack = ack.sack;
    const Picoseconds rtt = age(sack.timestamp, now);
    if (rtt > ps(0)) window_.measured_delay(*params_, rtt);
    heard_ = now;
    ++counters_.nacks;
    paths_.feedback(params_->path_params(), sack.path_id, news_of(ack), now);
    if (sack.psn < una_ || acked_.test(sack.psn.value) || lost_.test(sack.psn.value)) return;
    const Bytes size = bytes(payload(sack.psn));
    declare_lost(sack.psn);
    ++nacked_;
    ++told_;            // [RCCC.trimmed]
    if (params_->nscc)  // [RCCC.nscc] at the last hop, the receiver's credit deals with it
      window_.on_nack(*params_, size, inflight(), params_->rccc && ack.last_hop, now);
  }

  /// [UET.nack.last_hop] The path was good: its last queue is shared by all of them.
  [[nodiscard]] static constexpr PathNews news_of(const UetAck& nack) {
    if (!nack.last_hop) return PathNews::trimmed;
    return nack.sack.ecn ? PathNews::marked : PathNews::clean;
  }

  /// [RCCC.pull]
  constexpr void on_pull(std::uint32_t pulled, Instant now) {
    const auto more = static_cast<std::int32_t>(pulled - pulled_);
    if (!params_->rccc || more <= 0 || more > kMostPulled) return;
    pulled_ = pulled;
    credit_ += more;
    credit_asks_ = 0;
    credit_from_ = now;
    // [RCCC.speculative] Credit that older packets asked for takes the place of as much of it.
    const std::uint32_t less = speculates_on_ ? static_cast<std::uint32_t>(more) : speculative_;
    speculative_ -= std::min(speculative_, less);
  }
  static constexpr std::int32_t kMostPulled = 1 << 16;

  constexpr Bytes take_in(const Sack& sack, Instant now) {
    Bytes acked{0};
    const auto more =
        static_cast<std::int32_t>(sack.bytes_recvd - static_cast<std::uint32_t>(received_.value));
    if (more > 0) acked = bytes(more);
    received_ += acked;
    if (sack.epsn > una_) advance(sack.epsn, now);
    if (!sack.for_probe && sack.psn >= una_) mark(sack.psn, 1);
    const std::int32_t behind = una_ - sack.sack_base;
    if (behind <= 0) {
      mark(sack.sack_base, sack.bitmap);
    } else if (behind < static_cast<std::int32_t>(kSackBits)) {
      mark(una_, sack.bitmap >> behind);
    }
    return acked;
  }

  constexpr void advance(Psn to, Instant now) {
    const auto count = static_cast<std::uint32_t>(to - una_);
    while (waiting_ > 0) {  // what has arrived need not be sent again
      const std::uint32_t ahead = lost_.next_set(una_.value, count);
      if (ahead == count) break;
      withdraw(una_ + ahead);
    }
    acked_.clear_range(una_.value, count);
    una_ = to;
    highest_acked_ = max(highest_acked_, una_ - 1u);
    recovery_end_ = max(recovery_end_, una_);
    recovery_next_ = max(recovery_next_, una_);
    tail_end_ = max(tail_end_, una_);
    speculative_from_ = max(speculative_from_, una_);
    restart_timers(now);
  }

  /// Notes the PSNs base + i for each bit i set; all of them are at or above una.
  constexpr void mark(Psn base, std::uint64_t bits) {
    const std::uint64_t fresh = bits == 0 ? 0 : acked_.merge64(base.value, bits);
    if (fresh == 0) return;
    const Psn lowest = base + static_cast<std::uint32_t>(std::countr_zero(fresh));
    const Psn highest = base + static_cast<std::uint32_t>(63 - std::countl_zero(fresh));
    highest_acked_ = max(highest_acked_, highest);
    for (std::uint64_t left = fresh; waiting_ > 0 && left != 0; left &= left - 1) {
      const Psn psn = base + static_cast<std::uint32_t>(std::countr_zero(left));
      if (lost_.test(psn.value)) withdraw(psn);
    }
    messages_.for_each_between(lowest, highest + 1, [this](MessageSlot& slot) {
      if (slot.state != SlotState::pending || slot.end() - 1u > highest_acked_) return;
      const Psn open = max(slot.first, una_);
      if (acked_.all_set(open.value, static_cast<std::uint32_t>(slot.end() - open)))
        messages_.complete_early(slot);
    });
  }

  // ---- Losses ----

  constexpr void declare_lost(Psn psn) {
    if (acked_.test(psn.value) || lost_.test(psn.value)) return;
    lost_.set(psn.value);
    ++waiting_;
    declared_lost_ += bytes(payload(psn));
  }
  /// It was not lost after all.
  constexpr void withdraw(Psn psn) {
    lost_.clear(psn.value);
    --waiting_;
    declared_lost_ -= bytes(payload(psn));
  }

  /// [SLEEK.enter] [SLEEK.probe.verdict] Too much has overtaken what is missing, or a probe has, through empty queues.
  constexpr void sleek(const Sack& sack, Picoseconds delay, Instant now) {
    if (!in_recovery() && waiting_ == 0 && sack.epsn == una_ && sack.ooo_count >= threshold())
      recover(psn_next_, now);
    if (sack.for_probe && sack.probe_id == probe_id_ && probe_outstanding_) {
      probe_outstanding_ = false;
      // [SLEEK.probe.late]
      if (delay < params_->target_qdelay && una_ < sent_before_probe_)
        recover(tail_end_ = sent_before_probe_, now);
    }
    if (in_recovery()) queue_missing(now);
  }
  /// [SLEEK.threshold] In packets.
  [[nodiscard]] constexpr std::int64_t threshold() const {
    const Bytes some = std::min(params_->sleek_cwnd * window_.cwnd(), window_.max_cwnd());
    return std::max<std::int64_t>(some / params_->mtu, params_->sleek_min);
  }
  constexpr void recover(Psn end, Instant now) {
    ++counters_.recoveries;
    recovery_end_ = max(recovery_end_, end);
    recovery_next_ = una_;
    events_.on(LossDeclared{LossCause::out_of_order, una_, end, bytes(0)});
    queue_missing(now);
  }
  /// [SLEEK.range] What is missing of the next window's worth, each packet once in an episode.
  /// [SLEEK.paths] The path policy hears of those that were overtaken, [MRC.tail] or are as surely lost: the rest may be under way.
  constexpr void queue_missing(Instant now) {
    const auto window = static_cast<std::uint32_t>(window_.cwnd() / params_->mtu);
    const Psn end = min(recovery_end_, una_ + window);
    for (; recovery_next_ < end; ++recovery_next_) {
      if (acked_.test(recovery_next_.value) || lost_.test(recovery_next_.value)) continue;
      declare_lost(recovery_next_);
      const bool tail =
          Params::kTailsSpeak && (recovery_next_ < tail_end_ || is_old(recovery_next_, now));
      if (recovery_next_ < highest_acked_ || tail)
        paths_.feedback(params_->path_params(), record(recovery_next_).path, Params::kOvertaken,
                        now);
    }
  }

  /// [UET.timeout] [D71] Nothing moved for so long: what was sent before that and is missing is lost.
  constexpr void lose_old(Instant now) {
    events_.on(LossDeclared{LossCause::timeout, una_, psn_next_, bytes(0)});
    if (in_recovery()) {  // [SLEEK.timeout]
      recovery_next_ = tail_end_ = una_;
      queue_missing(now);
      return;
    }
    for (Psn psn = una_; psn < psn_next_; ++psn) {
      if (acked_.test(psn.value) || lost_.test(psn.value) || !is_old(psn, now)) continue;
      declare_lost(psn);
      paths_.feedback(params_->path_params(), record(psn).path, PathNews::timed_out, now);
      if (params_->nscc) window_.on_loss(*params_, bytes(payload(psn)));  // [NSCC.timeout]
    }
  }

  [[nodiscard]] constexpr UetSent& record(Psn psn) const {
    return records_[psn.value % UetParams::kMostTracked];
  }
  /// Its last transmission is a timeout ago.
  [[nodiscard]] constexpr bool is_old(Psn psn, Instant now) const {
    return static_cast<std::uint16_t>(tick(now) - record(psn).tick) >= kTicks - 1;
  }
  [[nodiscard]] constexpr std::uint16_t tick(Instant now) const {
    return static_cast<std::uint16_t>(mul_div(now.ps, kTicks, params_->rto.value));
  }
  static constexpr std::uint16_t kTicks = 64;

  // ---- Timers ----

  /// Something is unacknowledged, or waits for credit.
  [[nodiscard]] constexpr bool timing() const {
    return una_ != psn_next_ || (params_->rccc && una_ != messages_.end());
  }
  constexpr void restart_timers(Instant now) {
    timer_start_ = now;
    heard_ = now;
    backoff_ = 0;
  }
  [[nodiscard]] constexpr Instant timeout_deadline() const {
    return timer_start_ + params_->rto * (std::int64_t{1} << backoff_);
  }
  [[nodiscard]] constexpr Instant probe_deadline() const {
    if (!params_->sleek || una_ == psn_next_) return Instant::never();
    if (probe_asked_ != Instant::distant_past()) return probe_asked_ + params_->probe_again;
    return heard_ + (backlog() == 0 ? params_->probe_idle : params_->probe_busy);
  }

  /// [RCCC.again] Asks once more where no credit has come for so long: a pull was lost, or what asked for it. The
  /// first time after 5 base RTTs, then twice as long, and so on.
  [[nodiscard]] constexpr Instant credit_deadline() const {
    if (!params_->rccc || has_credit() || backlog() == 0) return Instant::never();
    return std::max(credit_from_, heard_) +
           params_->probe_again * (std::int64_t{1} << credit_asks_);
  }
  constexpr void ask_again(Instant now) {
    credit_from_ = now;
    if (credit_asks_ < params_->rto_backoff_max) ++credit_asks_;
  }

  const Params* params_;
  MessageQueue messages_;
  UetSent* records_;  ///< by PSN
  Bitmap<UetParams::kMostTracked> acked_{};
  Bitmap<UetParams::kMostTracked> lost_{};  ///< waits to be sent again
  Paths paths_;
  NsccWindow window_;

  Psn una_;       ///< all before it are acknowledged
  Psn psn_next_;  ///< the next new packet
  Psn highest_acked_;
  Psn recovery_end_;   ///< SLEEK's episode ends there; at or below una: there is none
  Psn recovery_next_;  ///< all before it has been sent again in this episode
  Psn tail_end_;       ///< a probe has told of all before it
  Psn sent_before_probe_;
  Psn speculative_from_;  ///< the first packet since speculation began

  Bytes sent_{0};  ///< every transmission
  Bytes received_{0};
  Bytes declared_lost_{0};
  Instant timer_start_{};
  Instant heard_{};
  Instant probe_asked_ = Instant::distant_past();
  std::uint32_t sent_once_ = 0;  ///< every packet once, wrapping like bytes_recvd
  std::uint32_t waiting_ = 0;
  Instant credit_from_{};          ///< the last credit, packet, or question for credit
  std::uint32_t pulled_ = 0;       ///< packets granted so far, wrapping
  std::uint32_t told_ = 0;         ///< and how many the receiver should know of
  std::uint32_t nacked_ = 0;       ///< packets that were sent again for a NACK
  std::int32_t credit_ = 0;        ///< packets
  std::uint32_t speculative_ = 0;  ///< packets that may still go without
  UetCounters counters_{};
  std::uint16_t probe_id_ = 0;
  std::uint8_t backoff_ = 0;
  std::uint8_t credit_asks_ = 0;  ///< since the last credit
  bool speculates_on_ = false;    ///< speculation began while older packets were on their way
  bool probe_wanted_ = false;
  bool probe_outstanding_ = false;
  std::optional<PathId> path_to_probe_;
  [[no_unique_address]] Events events_;
};

static_assert(sizeof(UetSender<>) <= 1'024, "a NIC's state for each connection");
static_assert(TransportSender<UetSender<>>);

}  // namespace strack::core
