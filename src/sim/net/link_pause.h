// A link as its sender sees it under priority flow control: may data be sent now?
//
// Kept by whatever sends on the link, switch port or NIC; fed with the pause frames that come back
// on its other direction. Frames act the instant their last bit arrives. At one instant an arrival
// comes before an expiry, so a refresh that comes as the pause would end extends it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace strack::sim {

class LinkPause {
 public:
  /// [R.pfc.hold] Data must not start now.
  [[nodiscard]] bool holds(Instant now) const { return active_ && now < until_; }
  /// [R.pfc.expiry] When the pause ends by itself; never, where there is none.
  [[nodiscard]] Instant until() const { return active_ ? until_ : Instant::never(); }
  [[nodiscard]] bool active() const { return active_; }

  /// A pause frame has arrived: XOFF for `time` from now on, or XON where that is 0. Of two the
  /// newer counts. Returns true if this ended a pause.
  bool on_frame(Picoseconds time, Instant now) {
    ++frames_;
    if (active_ && until_ < now) end(until_);
    if (time == ps(0)) {
      const bool ended = active_;
      if (active_) end(now);
      return ended;
    }
    if (!active_) since_ = now;
    active_ = true;
    until_ = now + time;
    return false;
  }

  /// [R.pfc.expiry] Ends a pause whose time is over. Returns true if there was one.
  bool expire(Instant now) {
    if (!active_ || now < until_) return false;
    end(until_);
    return true;
  }

  /// How long data has been held, up to now. Exact at any time not before the last frame.
  [[nodiscard]] Picoseconds total(Instant now) const {
    return active_ ? total_ + (std::min(now, until_) - since_) : total_;
  }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  /// [D117]
  template <class Archive>
  void state(Archive& a) {
    a(active_, since_, until_, total_, reported_, frames_, reported_frames_);
    static_assert(sizeof(LinkPause) == 56, "list what is new");
  }

  /// Time held and frames received since the last time it was asked.
  struct Interval {
    Picoseconds paused{0};
    std::uint32_t frames = 0;
  };
  Interval take_interval(Instant now) {
    const Picoseconds paused = total(now);
    return {paused - std::exchange(reported_, paused),
            static_cast<std::uint32_t>(frames_ - std::exchange(reported_frames_, frames_))};
  }

 private:
  void end(Instant when) {
    STRACK_DCHECK(when >= since_);
    total_ += when - since_;
    active_ = false;
  }

  bool active_ = false;
  Instant since_{};
  Instant until_{};
  Picoseconds total_{0};
  Picoseconds reported_{0};
  std::uint64_t frames_ = 0;
  std::uint64_t reported_frames_ = 0;
};

}  // namespace strack::sim
