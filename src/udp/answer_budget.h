// How often strangers are answered [D45]. An answer to somebody who has proved nothing costs this
// endpoint time and its socket's buffer, which its connections need; so there is a rate for all
// strangers together, and one for each part of the network, so that no part uses up all.
//
// Fixed memory, whoever asks: parts are told apart by a hash that strangers do not know.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/prng.h"
#include "base/units.h"
#include "udp/address.h"

namespace strack::udp {

class AnswerBudget {
 public:
  struct Rate {
    std::int64_t per_second;
    std::int64_t burst;  ///< answers that may go out at once after a rest

    [[nodiscard]] constexpr Picoseconds interval() const { return seconds(1) / per_second; }
    /// One more. `used_until`: when all that was sent would have been sent, had it been sent evenly.
    [[nodiscard]] bool take(Instant& used_until, Instant now) const {
      if (used_until > now + (burst - 1) * interval()) return false;
      used_until = std::max(used_until, now) + interval();
      return true;
    }
  };

  AnswerBudget(Rate all, Rate part, std::uint64_t secret)
      : all_(all), part_(part), secret_(secret) {}

  /// Whether one more may be sent there. `spare`: only if plenty is left; for what is merely useful.
  [[nodiscard]] bool take(const Address& to, Instant now, bool spare = false) {
    Instant& part = parts_[mix64(prefix(to) ^ secret_) % kParts];
    if (!has_room(all_, everybody_, now, spare) || !has_room(part_, part, now, spare)) return false;
    return all_.take(everybody_, now) && part_.take(part, now);
  }

 private:
  static constexpr std::size_t kParts = 256;

  [[nodiscard]] static bool has_room(Rate rate, Instant used_until, Instant now, bool spare) {
    const std::int64_t burst = spare ? rate.burst / 2 : rate.burst;
    return used_until <= now + (burst - 1) * rate.interval();
  }
  /// An IPv4 /24 or an IPv6 /48: who can choose addresses has about so many.
  [[nodiscard]] static std::uint64_t prefix(const Address& address) {
    std::uint64_t value = address.v6 ? 1 : 0;
    for (std::size_t i = 0; i < (address.v6 ? 6u : 3u); ++i) value = value << 8 | address.ip[i];
    return value;
  }

  Rate all_;
  Rate part_;
  std::uint64_t secret_;
  Instant everybody_{};
  std::array<Instant, kParts> parts_{};
};

}  // namespace strack::udp
