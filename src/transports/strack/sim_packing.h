// A SACK in the simulated network's 32 bytes; data and probes travel as sim/net/packing.h says.
//
//   epsn, timestamp   bitmap   bytes_recvd, then from bit 32 of the word on: segment 4, ooo_count 10,
//   16 for the triggering psn's distance from epsn or the probe id, for_probe, echoed mark
//
// The path is the entropy: a SACK goes back by the path whose packet it answers.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "core/packet.h"
#include "sim/net/packing.h"
#include "sim/net/sim_packet.h"
#include "transports/strack/params.h"

namespace strack::sim {

static_assert(core::kMaxTrackingWindow <= 1u << 10, "ooo_count and the segments have 10 bits");
static_assert(core::kSackBits == 64);

/// A PSN below EPSN tells the sender nothing, so only those above keep their distance. The
/// simulated sender asks for no other base than its EPSN, so a base is a segment's; an answer to a
/// probe that nobody sent keeps its bitmap for itself.
[[nodiscard]] constexpr SimPacket pack(const core::Sack& s, Address to) {
  const std::int32_t distance = s.sack_base - s.epsn;
  const bool told = distance % 64 == 0;
  const std::int32_t base = told ? distance : 0;
  const std::int32_t ahead = s.psn - s.epsn;
  const std::uint64_t echo =
      s.for_probe ? s.probe_id : static_cast<std::uint32_t>(ahead > 0 ? ahead : 0);
  STRACK_DCHECK(echo < 1u << 16);
  SimPacket p = SimPacket::ack(to, s.path_id);
  p.w1 = s.epsn.value | (std::uint64_t{s.timestamp.ns} << 32);
  p.w2 = told ? s.bitmap : 0;
  p.w3 = s.bytes_recvd | (static_cast<std::uint64_t>(base / 64) << 32) |
         (std::uint64_t{s.ooo_count} << 36) | (echo << 46) | (std::uint64_t{s.for_probe} << 62) |
         (std::uint64_t{s.ecn} << 63);
  return p;
}

[[nodiscard]] constexpr core::Sack unpack_sack(const SimPacket& p) {
  core::Sack s;
  s.path_id = p.entropy();
  s.ecn = (p.w3 >> 63) != 0;
  s.for_probe = ((p.w3 >> 62) & 1) != 0;
  s.epsn = {static_cast<std::uint32_t>(p.w1)};
  s.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
  s.bitmap = p.w2;
  s.bytes_recvd = static_cast<std::uint32_t>(p.w3);
  s.sack_base = s.epsn + static_cast<std::uint32_t>((p.w3 >> 32) & 0xf) * 64;
  s.ooo_count = static_cast<std::uint16_t>((p.w3 >> 36) & 0x3ff);
  const auto echo = static_cast<std::uint32_t>(p.w3 >> 46) & 0xffff;
  if (s.for_probe) {
    s.probe_id = static_cast<std::uint16_t>(echo);
  } else {
    s.psn = echo == 0 ? s.epsn - 1u : s.epsn + echo;
  }
  return s;
}

}  // namespace strack::sim
