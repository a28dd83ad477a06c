// STrack+'s packets in the simulated network's 32 bytes.
//
//   data   as sim/net/packing.h, but that the flag asks for a SACK
//   SACK   epsn, timestamp; then bit by bit: bitmap 56, its base in steps of 56 from epsn 4, count 3, for_probe 1;
//          four distances of PSNs from epsn 9 each, three entropies 8 each, four marks
//
// The flag says of a probe's answer that nothing has arrived beyond the bitmap.
// What triggered a SACK has its entropy, and its mark among the four: the last echo's, or a probe's.
#pragma once

#include <cstdint>

#include "core/packet.h"
#include "sim/net/packing.h"
#include "sim/net/sim_packet.h"
#include "transports/strack_plus/ack.h"

namespace strack::sim {

[[nodiscard]] constexpr SimPacket pack_plus(const core::Packet& p, Address to) {
  core::Packet flagged = p;
  flagged.retransmission = (p.note & core::kPlusAsks) != 0;
  return pack(flagged, to);
}

[[nodiscard]] constexpr core::Packet unpack_plus(const SimPacket& s) {
  core::Packet p = unpack_packet(s);
  p.retransmission = false;  // nobody asks
  p.note = s.flag() ? core::kPlusAsks : std::uint16_t{0};
  return p;
}

static_assert(core::PlusParams::kTracked <= 1u << 9, "a distance has 9 bits");
static_assert(core::PlusParams::kEchoes == 4 && core::PlusAck::kBits == 56);

/// A PSN below EPSN tells the sender nothing, so only those above keep their distance.
[[nodiscard]] constexpr SimPacket pack_plus(const core::PlusAck& a, Address to) {
  SimPacket p = SimPacket::ack(to, a.path_id);
  p.w1 = a.epsn.value | (std::uint64_t{a.timestamp.ns} << 32);
  p.set_flag(a.none_beyond);
  const auto steps = static_cast<std::uint64_t>(a.base - a.epsn) / 56;
  p.w2 = a.bitmap | (steps << 56) | (std::uint64_t{a.count} << 60) |
         (std::uint64_t{a.for_probe} << 63);
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const core::PlusEcho& echo = a.echoes[i];
    const std::int32_t ahead = echo.psn - a.epsn;
    p.w3 |= static_cast<std::uint64_t>(ahead > 0 ? ahead : 0) << (9 * i);
    if (i < 3) p.w3 |= std::uint64_t{echo.path_id} << (36 + 8 * i);
    p.w3 |= std::uint64_t{echo.ecn} << (60 + i);
  }
  if (a.for_probe) p.w3 |= std::uint64_t{a.ecn} << 63;
  return p;
}

[[nodiscard]] constexpr core::PlusAck unpack_plus_ack(const SimPacket& p) {
  core::PlusAck a;
  a.path_id = p.entropy();
  a.epsn = {static_cast<std::uint32_t>(p.w1)};
  a.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
  a.bitmap = p.w2 & ((std::uint64_t{1} << 56) - 1);
  const auto steps = static_cast<std::uint32_t>((p.w2 >> 56) & 0xf);
  a.count = static_cast<std::uint8_t>((p.w2 >> 60) & 7);
  a.for_probe = (p.w2 >> 63) != 0;
  a.base = a.epsn + steps * 56;
  a.none_beyond = p.flag();
  for (std::uint32_t i = 0; i < 4 && i < a.count; ++i) {
    core::PlusEcho& echo = a.echoes[i];
    const auto ahead = static_cast<std::uint32_t>(p.w3 >> (9 * i)) & 0x1ff;
    echo.psn = ahead == 0 ? a.epsn - 1u : a.epsn + ahead;
    echo.path_id = static_cast<core::PathId>((p.w3 >> (36 + 8 * i)) & 0xff);
    echo.ecn = ((p.w3 >> (60 + i)) & 1) != 0;
    if (!a.for_probe && i + 1u == a.count) {
      echo.path_id = a.path_id;
      a.ecn = echo.ecn;
    }
  }
  if (a.for_probe) a.ecn = (p.w3 >> 63) != 0;
  return a;
}

}  // namespace strack::sim
