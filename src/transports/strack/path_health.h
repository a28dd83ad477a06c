// Which entropies lead nowhere at the moment [D39] [D41].
//
// The core learns from ECN which paths are crowded; from a dead one nothing comes back, not even a
// mark, and the rotation would go on losing a packet on it in every round. So this remembers the path
// of each packet under way, in memory that the host lends. One that is declared lost bars its path for a while, twice as long
// each time; one that arrives clears it. While a path is barred, its packets take another one. A
// random loss costs a path a short rest that nobody misses; a late packet's path is used again as
// soon as it has arrived after all.
//
// A dead link or switch takes many entropies with it, and to learn of each by a loss would take long.
// So once several are barred, all are suspects: packets take paths by which something has arrived
// since, and only one in eight tries a suspect. Where paths are known together, those are no suspects by which packets
// came that were sent after the lost ones [D115]: what is to be sent again has a way to go at once.
// There they are tried a few at a time, too, with pauses that grow while nothing comes of it [D158]: while no
// try arrives [D160].
//
// What was lost goes again by a proven path: one that something arrived by, that has lost nothing
// since, and not before all fell silent. Without any it takes the next after the one that lost it: so
// among n paths its n-th try at the latest takes a living one, whatever is believed of them. Where paths are
// known together, packets start that each at another path [D121], and proven is what an answer echoes [D130].
//
// Connections that take the same paths may know them together [D74]: what one loses none tries, what
// arrives for one clears a path for all. What packets are under way each remembers for itself.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/units.h"
#include "core/packet.h"
#include "transports/strack/path_selector.h"

namespace strack::core {

/// What is known of one path. Belongs to the host's memory; only PathHealth writes it.
struct PathRecord {
  Instant until{};            ///< barred so long
  std::uint8_t failures = 0;  ///< since something last arrived
  bool barred = false;
  bool suspect = false;  ///< nothing has arrived since the alarm
  bool listed = false;   ///< among the proven ones, where those are kept apart
};

/// What a packet was when it was sent last. Belongs to the host's memory.
struct SentRecord {
  PathId path = 0;
  std::uint16_t payload = 0;
  bool retransmission = false;
  bool settled = true;  ///< arrived, or never sent
  bool sought = false;  ///< a path of which nothing was known
  bool tried = false;   ///< [D158] a suspect
  Timestamp at{};
};

/// What is known of all paths together. Belongs to the host's memory where several share it, as do the
/// records then.
class PathKnowledge {
 private:
  friend class PathHealth;
  static constexpr std::uint32_t kProven = 32;

  std::array<PathId, kProven> proven_{};  ///< those that something arrived by last
  std::uint32_t proven_count_ = 0;
  std::uint32_t next_slot_ = 0;
  Bitmap<kMaxPaths> marked_{};  ///< the last answer by it told of a mark
  std::uint32_t barred_ = 0;
  std::uint32_t barred_suspects_ = 0;  ///< of these
  std::uint32_t suspects_ = 0;
  std::uint32_t sharers_ = 0;   ///< so far
  std::uint32_t arrivals_ = 0;  ///< of all of them; wraps
  bool silence_ = false;        ///< nothing has arrived for a timeout
  Instant next_alarm_{};
  std::uint8_t tries_ = 1;   ///< of suspects that may be made at once
  std::uint8_t pauses_ = 0;  ///< in a row, without a try that succeeded
  Instant next_try_{};       ///< where none may be made at once
};

class PathHealth {
 public:
  static constexpr Picoseconds kFirstBar = ms(20);
  static constexpr std::uint32_t kMostDoublings = 8;  ///< about 5 s
  static constexpr std::uint32_t kAlarm = 4;          ///< barred at a time
  static constexpr Picoseconds kNextAlarm = ms(50);   ///< after the last one, at the earliest
  static constexpr std::uint32_t kTryEvery = 8;
  static constexpr std::uint32_t kTurnsForTry = 4;    ///< of those, where paths are shared
  static constexpr std::uint32_t kMostSpared = 2;     ///< silent timeouts while others hear
  static constexpr Picoseconds kFirstPause = ms(20);  ///< between tries of suspects
  static constexpr std::uint8_t kMostPauses = 3;      ///< each twice as long as the one before
  static constexpr std::uint8_t kMostTries = 8;       ///< at once

  constexpr PathHealth() = default;
  /// A record for each path, and one for each packet that can be under way, a power of two; all as
  /// new. They must outlive it.
  constexpr PathHealth(std::span<PathRecord> paths, std::span<SentRecord> sent)
      : paths_(paths), sent_(sent) {
    STRACK_CHECK(!paths.empty());
    STRACK_CHECK(std::has_single_bit(sent.size()));
  }
  /// The same with others, on the same records. What all know must outlive it, too.
  constexpr PathHealth(std::span<PathRecord> paths, std::span<SentRecord> sent,
                       PathKnowledge& shared)
      : PathHealth(paths, sent) {
    shared_ = &shared;
    keeps_fresh_ = true;
    // Not all of them take the same proven path first.
    next_proven_ = shared.sharers_++ % PathKnowledge::kProven;
    others_ = shared.arrivals_;
  }

  /// The path for a packet that was to take `path`; `psn` is a data packet's.
  [[nodiscard]] constexpr PathId usable(PathId path, Purpose purpose, Psn psn, Instant now) {
    if (purpose == Purpose::probe_again) return probe_ = static_cast<PathId>(after(probe_));
    const PathKnowledge& k = known();
    if (k.barred_ == 0 && k.suspects_ == 0) return path;
    if (purpose != Purpose::news) {
      if (is_good(path, {}, now)) return path;
      if (const auto proven = next_proven(now)) return *proven;
      if (purpose == Purpose::probe) return static_cast<PathId>(after(probe_));
      const SentRecord& s = sent_[psn.value & mask()];
      seeks_ = true;
      // [D121] Many that were lost by one path do not all take the same next one.
      if (keeps_fresh_ && !s.sought) return seek_ = static_cast<PathId>(after(seek_));
      return static_cast<PathId>(after(s.path));
    }
    const bool nothing_to_lose = k.proven_count_ == 0 || k.suspects_ == 0;
    const bool its_turn = nothing_to_lose || next_turn();
    const May may{.end_bars = its_turn,
                  .try_suspects = nothing_to_lose || (its_turn && try_is_due(now))};
    if (is_good(path, may, now)) return take(path, nothing_to_lose, now);
    if (its_turn) {
      std::uint32_t other = path;
      for (std::uint32_t tried = 1; tried < count(); ++tried) {
        other = after(other);
        const auto one = static_cast<PathId>(other);
        if (is_good(one, may, now)) return take(one, nothing_to_lose, now);
      }
    }
    return next_proven(now).value_or(path);  // none is better than another
  }

  constexpr void sent(Psn psn, PathId path, std::uint16_t payload, bool retransmission,
                      Instant now = {}) {
    sent_[psn.value & mask()] = {.path = path,
                                 .payload = payload,
                                 .retransmission = retransmission,
                                 .settled = false,
                                 .sought = std::exchange(seeks_, false),
                                 .tried = std::exchange(tries_, false),
                                 .at = Timestamp::of(now)};
    if (!retransmission) newest_ = psn;
  }

  /// It has arrived. One that was sent twice says nothing: either may have been the one.
  constexpr void arrived(Psn psn) {
    SentRecord& s = sent_[psn.value & mask()];
    if (s.settled) return;
    s.settled = true;
    if (s.retransmission) return;
    if (keeps_fresh_) {
      // [D160] A SACK that tells of eight echoes one.
      if (s.tried && paths_[s.path].suspect) a_try_succeeded();
      leads_there(s.path);
    } else {
      works(s.path);
    }
  }

  /// Something has arrived by this path and was answered, as the echo in a SACK or pong says.
  constexpr void works(PathId path) {
    if (path >= count()) return;  // one that only pings take
    leads_there(path);
    PathRecord& p = paths_[path];
    if (p.suspect) {
      p.suspect = false;
      --known().suspects_;
      a_try_succeeded();
    }
    prove(path);
  }

  /// [D146] What the answer said of the path.
  constexpr void told(PathId path, bool marked) {
    if (path >= count()) return;
    Bitmap<kMaxPaths>& all = known().marked_;
    marked ? all.set(path) : all.clear(path);
  }
  /// For who begins to send: what the others have been told last.
  [[nodiscard]] constexpr const Bitmap<kMaxPaths>& marked() const { return known().marked_; }

  /// It was declared lost, while others arrived.
  constexpr void lost(Psn psn, Instant now) {
    const SentRecord& s = sent_[psn.value & mask()];
    if (s.settled) return;
    PathRecord& p = paths_[s.path];
    // Those that were under way together fail together, once.
    if (p.barred) return;
    PathKnowledge& k = known();
    p.barred = true;
    ++k.barred_;
    k.barred_suspects_ += p.suspect;
    p.until = now + kFirstBar * (std::int64_t{1} << p.failures);
    if (p.failures < kMostDoublings) ++p.failures;
    // What has failed before is no news, nor is a suspect [D160].
    const bool is_news = p.failures == 1 && !(keeps_fresh_ && p.suspect);
    if (barred_as_news() >= kAlarm && is_news && now >= k.next_alarm_) {
      k.next_alarm_ = now + kNextAlarm;
      suspect_all();
      if (keeps_fresh_) keep_fresh(psn);
    }
  }

  /// Much was declared lost, and nothing at all has arrived for a whole timeout. Perhaps the peer or
  /// the network is away, and no path is to blame; perhaps all that was thought to work is dead. So
  /// nothing is barred and nothing is proven. Where others with the same paths have heard something
  /// meanwhile, those are not to blame, and what is known of them stays; but not for ever [D41].
  constexpr void fall_silent() {
    PathKnowledge& k = known();
    const std::uint32_t others = k.arrivals_ - arrivals_;
    const bool others_hear = others != others_;
    others_ = others;
    if (others_hear && ++spared_ <= kMostSpared) return;
    spared_ = 0;
    if (k.silence_) return;
    k.silence_ = true;
    for (PathRecord& any : paths_) {
      any.barred = false;
      any.failures = 0;
    }
    k.barred_ = 0;
    suspect_all();
  }

  /// This host itself did not get it out: no path is to blame.
  constexpr void never_left(Psn psn) {
    SentRecord& s = sent_[psn.value & mask()];
    s.settled = s.retransmission = true;  // and none to its credit
  }

  [[nodiscard]] constexpr std::uint16_t payload(Psn psn) const {
    return sent_[psn.value & mask()].payload;
  }
  [[nodiscard]] constexpr Timestamp sent_at(Psn psn) const { return sent_[psn.value & mask()].at; }
  [[nodiscard]] constexpr std::uint32_t barred() const { return known().barred_; }

 private:
  static constexpr std::uint32_t kProven = PathKnowledge::kProven;

  [[nodiscard]] constexpr PathKnowledge& known() { return shared_ != nullptr ? *shared_ : own_; }
  [[nodiscard]] constexpr const PathKnowledge& known() const {
    return shared_ != nullptr ? *shared_ : own_;
  }
  [[nodiscard]] constexpr std::uint32_t mask() const {
    return static_cast<std::uint32_t>(sent_.size()) - 1;
  }
  [[nodiscard]] constexpr std::uint32_t count() const {
    return static_cast<std::uint32_t>(paths_.size());
  }
  [[nodiscard]] constexpr std::uint32_t after(std::uint32_t path) const {
    return path + 1 == count() ? 0 : path + 1;
  }

  /// [D130] It is not dead. But it is proven only by an answer: what is acknowledged among others may have a dead way back.
  constexpr void leads_there(PathId path) {
    PathKnowledge& k = known();
    k.silence_ = false;
    spared_ = 0;
    ++k.arrivals_;
    ++arrivals_;
    PathRecord& p = paths_[path];
    p.failures = 0;
    if (p.barred) unbar(p);
  }

  constexpr void unbar(PathRecord& path) {
    PathKnowledge& k = known();
    path.barred = false;
    --k.barred_;
    k.barred_suspects_ -= path.suspect;
  }
  /// Simulated hosts count all, as their results were made.
  [[nodiscard]] constexpr std::uint32_t barred_as_news() const {
    const PathKnowledge& k = known();
    return keeps_fresh_ ? k.barred_ - k.barred_suspects_ : k.barred_;
  }

  /// What a packet may do.
  struct May {
    bool end_bars = false;      ///< whose time is over
    bool try_suspects = false;  ///< take a path of which nothing is known since the alarm
  };

  [[nodiscard]] constexpr bool is_good(PathId path, May may, Instant now) {
    PathRecord& p = paths_[path];
    if (p.suspect && !may.try_suspects) return false;
    if (p.barred && now >= p.until && may.end_bars)
      unbar(p);  // the next failure bars it for longer
    return !p.barred;
  }

  /// One packet in eight; where paths are shared not always the last of them [D160].
  [[nodiscard]] constexpr bool next_turn() {
    static_assert(kTryEvery == 1 << 3);
    ++turn_;
    return turn_ % kTryEvery == (keeps_fresh_ ? draw() >> 29 : 0);
  }
  /// A number for each eight packets.
  [[nodiscard]] constexpr std::uint32_t draw() const { return turn_ / kTryEvery * 0x9e37'79b1u; }

  /// [D158] [D160] Simulated hosts try with every turn, as their results were made.
  [[nodiscard]] constexpr bool try_is_due(Instant now) const {
    const PathKnowledge& k = known();
    if (!keeps_fresh_) return true;
    return (draw() >> 20) % kTurnsForTry == 0 && (k.tries_ > 0 || now >= k.next_try_);
  }

  /// The path itself; a suspect that is tried where others are proven costs one of the tries.
  constexpr PathId take(PathId path, bool nothing_to_lose, Instant now) {
    PathKnowledge& k = known();
    if (!keeps_fresh_ || nothing_to_lose || !paths_[path].suspect) return path;
    tries_ = true;
    if (k.tries_ > 0) --k.tries_;
    if (k.tries_ == 0) {
      k.next_try_ = now + kFirstPause * (std::int64_t{1} << k.pauses_);
      if (k.pauses_ < kMostPauses) ++k.pauses_;
    }
    return path;
  }

  /// [D158] There is more to be found: two more at once.
  constexpr void a_try_succeeded() {
    PathKnowledge& k = known();
    k.pauses_ = 0;
    k.tries_ = std::min<std::uint8_t>(k.tries_ + 2, kMostTries);
  }

  [[nodiscard]] constexpr std::optional<PathId> next_proven(Instant now) {
    const PathKnowledge& k = known();
    for (std::uint32_t tried = 0; tried < k.proven_count_; ++tried) {
      next_proven_ = next_proven_ + 1 >= k.proven_count_ ? 0 : next_proven_ + 1;
      if (is_good(k.proven_[next_proven_], {}, now)) return k.proven_[next_proven_];
    }
    return std::nullopt;
  }

  constexpr void prove(PathId path) {
    PathKnowledge& k = known();
    if (keeps_fresh_) {
      // [D122] Each once. Otherwise those that are taken often are proven often and taken more, until few are left; and answers may be
      // lost on the ways back of all of these.
      if (paths_[path].listed) return;
      paths_[path].listed = true;
      if (k.proven_count_ == kProven) paths_[k.proven_[k.next_slot_ % kProven]].listed = false;
    } else if (k.proven_count_ > 0 && k.proven_[(k.next_slot_ - 1) % kProven] == path) {
      return;
    }
    k.proven_[k.next_slot_++ % kProven] = path;
    k.proven_count_ = std::min(k.proven_count_ + 1, kProven);
  }

  /// [D115] After an alarm: paths of packets that were sent after the lost one and have arrived. One that has failed since
  /// something last arrived by it stays a suspect, so that nothing old makes a dead path good twice.
  constexpr void keep_fresh(Psn lost) {
    const std::int32_t later = std::min(newest_ - lost, static_cast<std::int32_t>(mask()));
    for (std::int32_t i = 1; i <= later; ++i) {
      const SentRecord& s = sent_[(lost.value + static_cast<std::uint32_t>(i)) & mask()];
      PathRecord& p = paths_[s.path];
      if (!s.settled || s.retransmission || p.failures > 0 || !p.suspect) continue;
      p.suspect = false;
      --known().suspects_;
      prove(s.path);
    }
  }

  constexpr void suspect_all() {
    for (PathRecord& any : paths_) {
      any.suspect = true;
      any.listed = false;
    }
    PathKnowledge& k = known();
    k.suspects_ = count();
    k.barred_suspects_ = k.barred_;
    k.proven_count_ = 0;
    k.next_slot_ = 0;
    k.tries_ = 1;  // [D158]
    k.pauses_ = 0;
  }

  std::span<PathRecord> paths_;
  std::span<SentRecord> sent_;
  PathKnowledge own_;
  PathKnowledge* shared_ = nullptr;  ///< instead of it
  std::uint32_t next_proven_ = 0;
  std::uint32_t turn_ = 0;
  std::uint32_t arrivals_ = 0;  ///< this one's; wraps
  std::uint32_t others_ = 0;    ///< the others', when this one last fell silent
  std::uint32_t spared_ = 0;    ///< silent timeouts in a row that blamed nothing
  Psn newest_{};                ///< sent
  PathId probe_ = 0;
  PathId seek_ = 0;     ///< [D121] where the next packet starts to seek when no path is proven
  bool seeks_ = false;  ///< the packet that goes next
  bool tries_ = false;  ///< the packet that goes next, a suspect
  /// Where paths are shared, which is over UDP. Simulated hosts forget all at an alarm, as their results were made.
  bool keeps_fresh_ = false;
};

}  // namespace strack::core
