// [D166] When a host in software asks a peer that is silent: no sooner than that has lately answered.
//
// A process that waits for a processor answers what it was sent when it gets one, and its SACKs say how long that has waited.
// To ask it meanwhile only gives it more to do, and many senders that ask ask for as much as they send.
#pragma once

#include <algorithm>

#include "base/units.h"
#include "transports/strack/params.h"
#include "transports/strack/udp_params.h"

namespace strack::udp {

class Patience {
 public:
  /// No longer, whatever a peer says; three questions of a silence fit into kLongestProbeWait.
  static constexpr Picoseconds kLongest = kLongestProbeWait / 4;

  constexpr Patience() = default;
  explicit constexpr Patience(Picoseconds least) : least_(least), wait_(least) {}

  /// One more SACK, of a packet that was `held` at either end before it was looked at. `asked`: meanwhile the peer was asked
  /// whether it is there. Returns whether the wait is another one now.
  constexpr bool on_sack(Picoseconds held, bool asked) {
    const Picoseconds before = wait_;
    held = std::max(std::min(held, kLongest), least_);
    if (held <= wait_) {
      wait_ -= std::max(ps((wait_ - held).count() / 64), std::min(wait_ - held, ns(1)));
    } else if (asked) {
      wait_ += ps((held - wait_).count() / 2);
    }
    return wait_ != before;
  }
  [[nodiscard]] constexpr Picoseconds wait() const { return wait_; }
  [[nodiscard]] constexpr Picoseconds least() const { return least_; }

 private:
  Picoseconds least_{0};
  Picoseconds wait_{0};
};

/// [D172] One connection's part of it. The peer is the same for all that take the same ways, and each alone hears too little of a peer that
/// has a thousand to answer.
class SharedPatience {
 public:
  constexpr SharedPatience() = default;
  /// `least`: this connection's own.
  constexpr SharedPatience(Patience& all, Picoseconds least) : all_(&all), least_(least) {
    if (all.least() == ps(0)) all = Patience(least);
  }
  /// As Patience's; returns whether `apply` has something new.
  constexpr bool on_sack(Picoseconds held, bool asked) {
    all_->on_sack(held, asked);
    return wait() != applied_;
  }
  /// Questions from the next SACK on.
  constexpr void apply(core::StrackParams& params) {
    applied_ = wait();
    params.probe_interval = applied_;
    params.probe_backoff_max = doublings(applied_, kLongestProbeWait);
  }
  [[nodiscard]] constexpr Picoseconds wait() const { return std::max(all_->wait(), least_); }

 private:
  Patience* all_ = nullptr;
  Picoseconds least_{0};
  Picoseconds applied_{0};
};

}  // namespace strack::udp
