// A STrack+ acknowledgement in the wire format's SACK.
//
// The packet that triggered it is the SACK's own echo. Up to three others take the 56 bits that STrack has other
// uses for: bits 0 and 1 say how many there are, and from bit 2 on each has its distance from EPSN (9 bits; 0: it
// lies below), its entropy (8) and its mark (1). The lowest 32 of the 56 are bytes_recvd, the next 16 ooo_count,
// the last 8 the bitmap's highest byte. That nothing lies beyond a probe's bitmap is in probe_id.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/packet.h"
#include "transports/strack_plus/ack.h"

namespace strack::udp {

inline constexpr std::uint32_t kOtherEchoes = 3;
inline constexpr std::uint32_t kEchoBits = 18;
inline constexpr std::uint64_t kPlusBitmap = (std::uint64_t{1} << core::PlusAck::kBits) - 1;
static_assert(2 + kOtherEchoes * kEchoBits == 32 + 16 + (64 - core::PlusAck::kBits));

/// `probe`: the PSN of the probe that triggered it, if one did.
[[nodiscard]] constexpr core::Sack to_wire(const core::PlusAck& ack, core::Psn probe) {
  const std::uint32_t others =
      std::min<std::uint32_t>(ack.count - (ack.for_probe ? 0u : 1u), kOtherEchoes);
  std::uint64_t bits = others;
  for (std::uint32_t i = 0; i < others; ++i) {
    const core::PlusEcho& echo = ack.echoes[i];
    const std::int32_t ahead = echo.psn - ack.epsn;
    const std::uint64_t place = (ahead > 0 ? static_cast<std::uint64_t>(ahead) : 0) |
                                std::uint64_t{echo.path_id} << 9 | std::uint64_t{echo.ecn} << 17;
    bits |= place << (2 + kEchoBits * i);
  }
  core::Sack sack;
  sack.epsn = ack.epsn;
  sack.sack_base = ack.base;
  sack.bitmap = (ack.bitmap & kPlusBitmap) | (bits >> 48) << core::PlusAck::kBits;
  sack.bytes_recvd = static_cast<std::uint32_t>(bits);
  sack.ooo_count = static_cast<std::uint16_t>(bits >> 32);
  sack.psn = ack.for_probe ? probe : ack.echoes[ack.count - 1u].psn;
  sack.timestamp = ack.timestamp;
  sack.path_id = ack.path_id;
  sack.probe_id = ack.none_beyond ? 1 : 0;
  sack.for_probe = ack.for_probe;
  sack.ecn = ack.ecn;
  return sack;
}

[[nodiscard]] constexpr core::PlusAck from_wire(const core::Sack& sack) {
  const std::uint64_t bits = sack.bytes_recvd | std::uint64_t{sack.ooo_count} << 32 |
                             (sack.bitmap >> core::PlusAck::kBits) << 48;
  core::PlusAck ack;
  ack.epsn = sack.epsn;
  ack.base = sack.sack_base;
  ack.bitmap = sack.bitmap & kPlusBitmap;
  ack.timestamp = sack.timestamp;
  ack.path_id = sack.path_id;
  ack.for_probe = sack.for_probe;
  ack.ecn = sack.ecn;
  ack.none_beyond = sack.for_probe && sack.probe_id != 0;
  ack.count = static_cast<std::uint8_t>(bits & 3);
  for (std::uint32_t i = 0; i < ack.count; ++i) {
    const std::uint64_t place = bits >> (2 + kEchoBits * i);
    const auto ahead = static_cast<std::uint32_t>(place & 0x1ff);
    ack.echoes[i] = {ahead == 0 ? ack.epsn - 1u : ack.epsn + ahead,
                     static_cast<core::PathId>((place >> 9) & 0xff), ((place >> 17) & 1) != 0};
  }
  if (!sack.for_probe) ack.echoes[ack.count++] = {sack.psn, sack.path_id, sack.ecn};
  return ack;
}

}  // namespace strack::udp
