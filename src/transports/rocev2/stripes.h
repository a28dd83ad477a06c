// Which of a connection's packets belong to which QP. [R.roce.stripe] [D32]
//
// Packets are numbered through; stripes of a fixed length are dealt to the QPs in turn. Both numbers
// are powers of two, so all of this holds across the wrap of a PSN.
#pragma once

#include <bit>
#include <cstdint>

#include "core/packet.h"
#include "transports/rocev2/params.h"

namespace strack::core {

class Stripes {
 public:
  constexpr explicit Stripes(const RoceParams& params)
      : qp_mask_(params.qps_per_conn - 1),
        shift_(static_cast<std::uint32_t>(std::countr_zero(params.stripe_packets))) {}

  [[nodiscard]] constexpr std::uint32_t qps() const { return qp_mask_ + 1; }
  [[nodiscard]] constexpr std::uint32_t qp_of(Psn psn) const {
    return (psn.value >> shift_) & qp_mask_;
  }

  /// The packet that follows on the same QP.
  [[nodiscard]] constexpr Psn next(Psn psn) const {
    const Psn following = psn + 1u;
    return (following.value & (length() - 1)) != 0 ? following : following + (qp_mask_ << shift_);
  }

  /// The first packet of a QP at or after `from`.
  [[nodiscard]] constexpr Psn first_of(std::uint32_t qp, Psn from) const {
    const std::uint32_t ahead = (qp - qp_of(from)) & qp_mask_;
    if (ahead == 0) return from;
    return Psn{from.value & ~(length() - 1)} + (ahead << shift_);
  }

  /// How many packets of their QP lie in [from, to), both of the same QP.
  [[nodiscard]] constexpr std::uint32_t count(Psn from, Psn to) const {
    const auto rank = [this](Psn psn) {
      return (((psn.value >> shift_) >> std::popcount(qp_mask_)) << shift_) |
             (psn.value & (length() - 1));
    };
    // Ranks wrap at 2^32 / qps.
    return (rank(to) - rank(from)) & (~std::uint32_t{0} >> std::popcount(qp_mask_));
  }

 private:
  [[nodiscard]] constexpr std::uint32_t length() const { return std::uint32_t{1} << shift_; }

  std::uint32_t qp_mask_;
  std::uint32_t shift_;
};

}  // namespace strack::core
