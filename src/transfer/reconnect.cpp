#include "transfer/reconnect.h"

#include <algorithm>

namespace strack::transfer {

bool Reconnect::worthwhile(udp::Status status) {
  switch (status) {
    case udp::Status::peer_dead:
    case udp::Status::peer_restarted:
    case udp::Status::peer_aborted:
    case udp::Status::keys_exhausted:
    // In place of an answer, while the peer is not back yet.
    case udp::Status::timed_out:
    case udp::Status::unreachable:
    case udp::Status::went_silent:
    case udp::Status::busy:
      return true;
    default:
      return false;
  }
}

std::optional<std::chrono::milliseconds> Reconnect::next(Clock::time_point now) {
  if (!lost_at_) {
    lost_at_ = now;
    wait_ = kFirst;
  } else {
    wait_ = std::min(2 * wait_, kLongest);
  }
  const auto half = static_cast<std::uint64_t>(wait_.count() / 2);
  const std::chrono::milliseconds wait(half + rng_.next() % (half + 1));
  if (now + wait - *lost_at_ >= limit_) return std::nullopt;
  return wait;
}

}  // namespace strack::transfer
