// What all transports have in common of a packet's way through the simulated network: core::Packet
// in the transport's part of 32 bytes. A transport whose packets carry more packs them itself.
//
//   data   psn, timestamp           message id, offset   message length   (word by word, lower half
//   probe  wanted base, timestamp   probe id                               first); flag: sent again
#pragma once

#include <cstdint>

#include "core/packet.h"
#include "sim/net/sim_packet.h"

namespace strack::sim {

[[nodiscard]] constexpr SimPacket pack(const core::Packet& p, Address to) {
  const bool probe = p.type == core::PacketType::probe;
  SimPacket s = probe ? SimPacket::bare(to, p.path_id) : SimPacket::data(to, p.path_id, p.payload);
  s.set_flag(p.retransmission);
  s.w1 = p.psn.value | (std::uint64_t{p.timestamp.ns} << 32);
  s.w2 = probe ? p.probe_id : (p.message_id | (std::uint64_t{p.offset} << 32));
  s.w3 |= p.message_length;
  return s;
}

[[nodiscard]] constexpr core::Packet unpack_packet(const SimPacket& s) {
  core::Packet p;
  p.type = s.is_bare() ? core::PacketType::probe : core::PacketType::data;
  p.retransmission = s.flag();
  p.path_id = s.entropy();
  p.psn = {static_cast<std::uint32_t>(s.w1)};
  p.timestamp = {static_cast<std::uint32_t>(s.w1 >> 32)};
  if (s.is_bare()) {
    p.probe_id = static_cast<std::uint16_t>(s.w2);
  } else {
    p.message_id = static_cast<std::uint32_t>(s.w2);
    p.offset = static_cast<std::uint32_t>(s.w2 >> 32);
    p.message_length = static_cast<std::uint32_t>(s.w3);
    p.payload = static_cast<std::uint16_t>(s.payload());
  }
  return p;
}

}  // namespace strack::sim
