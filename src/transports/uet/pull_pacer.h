// RCCC at the receiving end: what each connection wants and has been given, and the one pacer of a NIC that
// gives credit to all of them in turn, at the rate of its link.
//
// The queue of those who want credit runs through the connections' own state, so nothing is allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "core/packet.h"
#include "transports/uet/ack.h"
#include "transports/uet/params.h"

namespace strack::core {

/// A connection's account at its receiver. Does not move while it is in a pacer's queue.
struct PullAccount {
  std::uint32_t slot = 0;     ///< the connection's name at its host
  std::uint32_t granted = 0;  ///< [D68] packets of credit so far, wrapping
  std::uint32_t target = 0;   ///< and how many there should be
  std::uint32_t trimmed = 0;  ///< packets that came without their payload
  PullAccount* next = nullptr;
  PathId path = 0;  ///< of the last packet that came, and from there on
  bool queued = false;

  [[nodiscard]] constexpr std::int32_t wanted() const {
    return static_cast<std::int32_t>(target - granted);
  }
  /// [RCCC.path] What was granted, to be told by a path of its own: one that leads nowhere takes one pull, not all.
  [[nodiscard]] constexpr UetAck pull(std::uint32_t paths) {
    UetAck ack;
    ack.kind = UetAck::Kind::pull;
    ack.pulled = granted;
    ack.sack.path_id = path;
    path = static_cast<PathId>((path + 1u) % paths);
    return ack;
  }
  /// [RCCC.trimmed] What was cut off has to be sent again, and needs credit again.
  constexpr void note_trimmed() {
    ++trimmed;
    ++target;
  }
  /// [RCCC.target] The newest target, of which a packet shows the low bits. A data packet's leaves out what
  /// was trimmed: its sender may not know yet, and counted by both it would be lost between them.
  constexpr void note_target(std::uint32_t shown, bool with_trimmed) {
    const std::uint32_t told = with_trimmed ? shown : shown + trimmed;
    const std::uint32_t ahead = (told - granted) % UetNote::kTargetRange;
    if (ahead > UetNote::kFarthestTarget) return;  // an old packet's
    if (static_cast<std::int32_t>(granted + ahead - target) > 0) target = granted + ahead;
  }
};

/// Credit for one connection.
struct Pull {
  std::uint32_t slot = 0;
  UetAck ack{};
};

class PullPacer {
 public:
  /// `rate`: of the NIC's link. `params` must outlive it.
  constexpr void set_up(const UetParams& params, BitsPerSecond rate) {
    params_ = &params;
    rate_ = rate;
  }

  /// The account may want something now.
  constexpr void request(PullAccount& account) {
    if (account.queued || account.wanted() <= 0) return;
    account.queued = true;
    account.next = nullptr;
    if (last_ == nullptr) {
      first_ = &account;
    } else {
      last_->next = &account;
    }
    last_ = &account;
  }

  /// [RCCC.pacer] The next credit, if it is time. [RCCC.pull.quantum] [RCCC.turns] So much at a time, to all
  /// who want some in turn, and [RCCC.target] nobody more than wanted.
  constexpr std::optional<Pull> poll(Instant now) {
    if (first_ == nullptr || now < free_at_) return std::nullopt;
    PullAccount& account = *first_;
    first_ = account.next;
    if (first_ == nullptr) last_ = nullptr;
    account.queued = false;
    const std::uint32_t credit =
        std::min(static_cast<std::uint32_t>(account.wanted()), params_->pull_quantum);
    account.granted += credit;
    free_at_ = std::max(free_at_, now) + time_of(credit);
    request(account);
    return Pull{account.slot, account.pull(params_->spray.paths)};
  }

  /// Calls visit(account) for all who wait, the first first.
  template <class Visit>
  constexpr void for_each_waiting(Visit&& visit) const {
    for (const PullAccount* one = first_; one != nullptr; one = one->next) visit(*one);
  }
  /// Whoever waited has to ask again.
  constexpr void forget_queue() { first_ = last_ = nullptr; }

  constexpr void on_timeout(Instant /*now*/) {}
  [[nodiscard]] constexpr Instant next_deadline() const {
    return first_ == nullptr ? Instant::never() : free_at_;
  }

 private:
  /// What the credit brings takes so long on the link, at the pacer's share of its rate.
  [[nodiscard]] constexpr Picoseconds time_of(std::uint32_t packets) const {
    const Bytes wire = std::int64_t{packets} * (params_->mtu + params_->header);
    return {mul_div((wire / rate_).value, params_->pacer_rate.den, params_->pacer_rate.num)};
  }

  const UetParams* params_ = nullptr;
  BitsPerSecond rate_{0};
  PullAccount* first_ = nullptr;
  PullAccount* last_ = nullptr;
  Instant free_at_{};
};

}  // namespace strack::core
