// UET's packets in the simulated network's 32 bytes.
//
//   data   word 1: psn, from bit 32 on timestamp 22 bits in 8 ns [D70], target 10; else as sim/net/packing.h,
//          but that the flag asks for an acknowledgement
//   ack    epsn, timestamp   bitmap   bytes_recvd, then from bit 32 on: ooo_count 10, base's distance from
//          epsn 10, 10 for the triggering psn's or the probe id, for_probe, echoed mark
//   other  flag set; bit 63 of word 3: a pull, and word 1 is the credit. A NACK as an ACK, but word 2 is its
//          psn, and bit 62 of word 3 the last hop
//
// The path is the entropy: what answers a packet goes back by its path.
#pragma once

#include <cstdint>

#include "core/packet.h"
#include "sim/net/packing.h"
#include "sim/net/sim_packet.h"
#include "transports/uet/ack.h"
#include "transports/uet/params.h"

namespace strack::sim {

[[nodiscard]] constexpr SimPacket pack_uet(const core::Packet& p, Address to) {
  core::Packet flagged = p;
  flagged.retransmission = (p.note & core::UetNote::kAckBit) != 0;
  SimPacket s = pack(flagged, to);
  const std::uint64_t target = p.note % core::UetNote::kTargetRange;
  const std::uint64_t time = (p.timestamp.ns >> 3) & 0x3f'ffff;
  s.w1 = p.psn.value | (time << 32) | (target << 54);
  return s;
}

[[nodiscard]] constexpr core::Packet unpack_uet(const SimPacket& s) {
  core::Packet p = unpack_packet(s);
  p.retransmission = false;  // nobody asks
  p.timestamp = {static_cast<std::uint32_t>((s.w1 >> 32) & 0x3f'ffff) << 3};
  p.note = static_cast<std::uint16_t>((s.w1 >> 54) | (s.flag() ? core::UetNote::kAckBit : 0u));
  return p;
}

[[nodiscard]] constexpr SimPacket pack_uet(const core::UetAck& a, Address to) {
  const core::Sack& s = a.sack;
  SimPacket p = SimPacket::ack(to, s.path_id);
  if (a.kind == core::UetAck::Kind::pull) {
    p.set_flag(true);
    p.w1 = a.pulled;
    p.w3 = std::uint64_t{1} << 63;
    return p;
  }
  p.w1 = s.epsn.value | (std::uint64_t{s.timestamp.ns} << 32);
  p.w3 = s.bytes_recvd | (std::uint64_t{s.ooo_count} << 32);
  if (a.kind == core::UetAck::Kind::nack) {
    p.set_flag(true);
    p.w2 = s.psn.value;
    p.w3 |= std::uint64_t{a.last_hop} << 62;
    return p;
  }
  // A PSN below EPSN tells the sender nothing, so only those above keep their distance.
  const std::int32_t ahead = s.psn - s.epsn;
  const std::uint64_t echo =
      s.for_probe ? s.probe_id : static_cast<std::uint32_t>(ahead > 0 ? ahead : 0);
  p.w2 = s.bitmap;
  p.w3 |= (static_cast<std::uint64_t>((s.sack_base - s.epsn) & 0x3ff) << 42) |
          ((echo & 0x3ff) << 52) | (std::uint64_t{s.for_probe} << 62) |
          (std::uint64_t{s.ecn} << 63);
  return p;
}

[[nodiscard]] constexpr core::UetAck unpack_uet_ack(const SimPacket& p) {
  core::UetAck a;
  core::Sack& s = a.sack;
  s.path_id = p.entropy();
  if (p.flag() && (p.w3 >> 63) != 0) {
    a.kind = core::UetAck::Kind::pull;
    a.pulled = static_cast<std::uint32_t>(p.w1);
    return a;
  }
  s.epsn = {static_cast<std::uint32_t>(p.w1)};
  s.sack_base = s.epsn;
  s.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
  s.bytes_recvd = static_cast<std::uint32_t>(p.w3);
  s.ooo_count = static_cast<std::uint16_t>((p.w3 >> 32) & 0x3ff);
  if (p.flag()) {
    a.kind = core::UetAck::Kind::nack;
    a.last_hop = ((p.w3 >> 62) & 1) != 0;
    s.psn = {static_cast<std::uint32_t>(p.w2)};
    return a;
  }
  s.bitmap = p.w2;
  s.sack_base = s.epsn + static_cast<std::uint32_t>((p.w3 >> 42) & 0x3ff);
  s.for_probe = ((p.w3 >> 62) & 1) != 0;
  s.ecn = (p.w3 >> 63) != 0;
  const auto echo = static_cast<std::uint32_t>(p.w3 >> 52) & 0x3ff;
  if (s.for_probe) {
    s.probe_id = static_cast<std::uint16_t>(echo);
  } else {
    s.psn = echo == 0 ? s.epsn - 1u : s.epsn + echo;
  }
  return a;
}

}  // namespace strack::sim
