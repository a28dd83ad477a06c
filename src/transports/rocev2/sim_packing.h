// RoCEv2's ACK, NAK and CNP in the simulated network's 32 bytes; data travels as sim/net/packing.h
// says.
//
//   epsn, timestamp   kind   (the QP is the entropy)
#pragma once

#include <cstdint>

#include "sim/net/packing.h"
#include "sim/net/sim_packet.h"
#include "transports/rocev2/ack.h"

namespace strack::sim {

[[nodiscard]] constexpr SimPacket pack(const core::RoceAck& a, Address to) {
  SimPacket p = SimPacket::ack(to, a.qp);
  p.w1 = a.epsn.value | (std::uint64_t{a.timestamp.ns} << 32);
  p.w2 = static_cast<std::uint64_t>(a.kind);
  return p;
}

[[nodiscard]] constexpr core::RoceAck unpack_roce_ack(const SimPacket& p) {
  core::RoceAck a;
  a.kind = static_cast<core::RoceAckKind>(p.w2);
  a.qp = p.entropy();
  a.epsn = {static_cast<std::uint32_t>(p.w1)};
  a.timestamp = {static_cast<std::uint32_t>(p.w1 >> 32)};
  return a;
}

}  // namespace strack::sim
