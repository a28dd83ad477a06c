// Which entropies lead nowhere at the moment [D39] [D41].
//
// The core learns from ECN which paths are crowded; from a dead one nothing comes back, not even a
// mark, and the rotation would go on losing a packet on it in every round. So the host remembers the
// path of each packet under way. One that is declared lost bars its path for a while, twice as long
// each time; one that arrives clears it. While a path is barred, its packets take another one. A
// random loss costs a path a short rest that nobody misses; a late packet's path is used again as
// soon as it has arrived after all.
//
// A dead link or switch takes many entropies with it, and to learn of each by a loss would take long.
// So once several are barred, all are suspects: packets take paths by which something has arrived
// since, and only one in eight tries a suspect.
//
// What was lost goes again by a proven path: one that something arrived by, that has lost nothing
// since, and not before all fell silent. Without any it takes the next after the one that lost it: so
// among n paths its n-th try at the latest takes a living one, whatever is believed of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/packet.h"

namespace strack::udp {

/// What a packet is sent for.
enum class Purpose : std::uint8_t {
  news,   ///< for the first time: it may try a path nothing is known of
  again,  ///< after its loss: to lose it once more would cost a timeout
  probe,
  probe_again,  ///< after one that was not answered: what was believed has been wrong
};

class PathHealth {
 public:
  static constexpr Picoseconds kFirstBar = ms(20);
  static constexpr std::uint32_t kMostDoublings = 8;  ///< about 5 s
  static constexpr std::uint32_t kAlarm = 4;          ///< barred at a time
  static constexpr Picoseconds kNextAlarm = ms(50);   ///< after the last one, at the earliest
  static constexpr std::uint32_t kTryEvery = 8;

  /// `window` packets at most are under way: a power of two.
  void resize(std::uint32_t paths, std::uint32_t window) {
    paths_.assign(paths, {});
    sent_.assign(window, {});
    proven_count_ = 0;
    barred_ = 0;
    suspects_ = 0;
    silence_ = false;
  }

  /// The path for a packet that was to take `path`; `psn` is a data packet's.
  [[nodiscard]] core::PathId usable(core::PathId path, Purpose purpose, core::Psn psn,
                                    Instant now) {
    if (purpose == Purpose::probe_again) return probe_ = static_cast<core::PathId>(after(probe_));
    if (barred_ == 0 && suspects_ == 0) return path;
    if (purpose != Purpose::news) {
      if (is_good(path, false, now)) return path;
      if (const auto proven = next_proven(now)) return *proven;
      core::PathId& last = purpose == Purpose::probe ? probe_ : sent_[psn.value & mask()].path;
      return static_cast<core::PathId>(after(last));
    }
    const bool may_try = proven_count_ == 0 || suspects_ == 0 || ++turn_ % kTryEvery == 0;
    if (is_good(path, may_try, now)) return path;
    if (may_try) {
      std::uint32_t other = path;
      for (std::uint32_t tried = 1; tried < count(); ++tried) {
        other = after(other);
        if (is_good(static_cast<core::PathId>(other), true, now))
          return static_cast<core::PathId>(other);
      }
    }
    return next_proven(now).value_or(path);  // none is better than another
  }

  /// For what is repeated until it is answered, and for answers: one that works as far as is known,
  /// and by turns just the next.
  [[nodiscard]] core::PathId for_control(Instant now) {
    ask_proven_ = !ask_proven_;
    if (ask_proven_) {
      if (const auto proven = next_proven(now)) return *proven;
    }
    control_ = static_cast<core::PathId>(after(control_));
    return control_;
  }

  void sent(core::Psn psn, core::PathId path, std::uint16_t payload, bool retransmission) {
    sent_[psn.value & mask()] = {path, payload, retransmission, false};
  }

  /// It has arrived. One that was sent twice says nothing: either may have been the one.
  void arrived(core::Psn psn) {
    Sent& s = sent_[psn.value & mask()];
    if (s.settled) return;
    s.settled = true;
    if (!s.retransmission) works(s.path);
  }

  /// Something has arrived by this path, as the echo in a SACK or pong says.
  void works(core::PathId path) {
    if (path >= count()) return;  // one that only pings take
    silence_ = false;
    Path& p = paths_[path];
    p.failures = 0;
    if (p.barred) {
      p.barred = false;
      --barred_;
    }
    if (p.suspect) {
      p.suspect = false;
      --suspects_;
    }
    if (proven_count_ > 0 && proven_[(next_slot_ - 1) % kProven] == path) return;
    proven_[next_slot_++ % kProven] = path;
    proven_count_ = std::min(proven_count_ + 1, kProven);
  }

  /// It was declared lost, while others arrived.
  void lost(core::Psn psn, Instant now) {
    const Sent& s = sent_[psn.value & mask()];
    if (s.settled) return;
    Path& p = paths_[s.path];
    // Those that were under way together fail together, once.
    if (p.barred) return;
    p.barred = true;
    ++barred_;
    p.until = now + kFirstBar * (std::int64_t{1} << p.failures);
    if (p.failures < kMostDoublings) ++p.failures;
    // What has failed before is no news.
    if (barred_ >= kAlarm && p.failures == 1 && now >= next_alarm_) {
      next_alarm_ = now + kNextAlarm;
      suspect_all();
    }
  }

  /// Much was declared lost, and nothing at all has arrived for a whole timeout. Perhaps the peer or
  /// the network is away, and no path is to blame; perhaps all that was thought to work is dead. So
  /// nothing is barred and nothing is proven.
  void fall_silent() {
    if (silence_) return;
    silence_ = true;
    for (Path& any : paths_) {
      any.barred = false;
      any.failures = 0;
    }
    barred_ = 0;
    suspect_all();
  }

  /// This host itself did not get it out: no path is to blame.
  void never_left(core::Psn psn) { sent_[psn.value & mask()].settled = true; }

  [[nodiscard]] std::uint16_t payload(core::Psn psn) const {
    return sent_[psn.value & mask()].payload;
  }
  [[nodiscard]] std::uint32_t barred() const { return barred_; }

 private:
  static constexpr std::uint32_t kProven = 32;
  struct Path {
    Instant until{};
    std::uint8_t failures = 0;  ///< since something last arrived
    bool barred = false;
    bool suspect = false;  ///< nothing has arrived since the alarm
  };
  struct Sent {
    core::PathId path = 0;
    std::uint16_t payload = 0;
    bool retransmission = false;
    bool settled = true;  ///< arrived, or never sent
  };

  [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(sent_.size()) - 1; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(paths_.size()); }
  [[nodiscard]] std::uint32_t after(std::uint32_t path) const {
    return path + 1 == count() ? 0 : path + 1;
  }

  [[nodiscard]] bool is_good(core::PathId path, bool may_try, Instant now) {
    Path& p = paths_[path];
    if (p.barred && now >= p.until && may_try) {  // the next failure bars it for longer
      p.barred = false;
      --barred_;
    }
    return !p.barred && (may_try || !p.suspect);
  }

  [[nodiscard]] std::optional<core::PathId> next_proven(Instant now) {
    for (std::uint32_t tried = 0; tried < proven_count_; ++tried) {
      next_proven_ = next_proven_ + 1 >= proven_count_ ? 0 : next_proven_ + 1;
      if (is_good(proven_[next_proven_], false, now)) return proven_[next_proven_];
    }
    return std::nullopt;
  }

  void suspect_all() {
    for (Path& any : paths_) any.suspect = true;
    suspects_ = count();
    proven_count_ = 0;
    next_slot_ = 0;
  }

  std::vector<Path> paths_;
  std::vector<Sent> sent_;
  std::array<core::PathId, kProven> proven_{};  ///< those that something arrived by last
  std::uint32_t proven_count_ = 0;
  std::uint32_t next_slot_ = 0;
  std::uint32_t next_proven_ = 0;
  std::uint32_t barred_ = 0;
  std::uint32_t suspects_ = 0;
  std::uint32_t turn_ = 0;
  core::PathId control_ = 0;
  core::PathId probe_ = 0;
  bool ask_proven_ = false;
  bool silence_ = false;  ///< nothing has arrived for a timeout
  Instant next_alarm_{};
};

}  // namespace strack::udp
