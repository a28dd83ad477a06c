// A packet as the simulated network moves it: 32 bytes, four words, packed once and unpacked once.
//
// Fields live in whole 64-bit words, so that a copy is four loads and stores, and never reads a
// word of which only a part has just been written (that stalls the processor). The ECN mark is set
// on the copy that leaves a queue.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "core/packet.h"
#include "transports/rocev2/ack.h"

namespace strack::sim {

/// `ack` is what a receiver sends back, whatever the protocol; `pause` concerns one link only.
enum class PacketKind : std::uint8_t { data, probe, ack, pause };

/// Word 0 is the same for all kinds, from bit 0 on: destination host 24, path 8, kind 2, marked 1,
/// flag 1, echoed mark 1, connection slot 27. The others, lower half first:
///
///   data   psn, timestamp           message id, offset   message length, payload 16 bits, ingress 14,
///                                                        held 1, victim 1
///   probe  wanted base, timestamp   probe id
///   SACK   epsn, timestamp          bitmap               bytes_recvd, then segment 4 bits, ooo_count 10,
///                                                        18 for the triggering psn beyond epsn or the probe id
///   RoCEv2 ACK, NAK, CNP: epsn, timestamp   kind         (the QP is the path)
///   pause  how long, in ps; 0 lets go
struct SimPacket {
  std::uint64_t w0 = 0;
  std::uint64_t w1 = 0;
  std::uint64_t w2 = 0;
  std::uint64_t w3 = 0;

  static constexpr std::uint32_t kMaxHosts = 1u << 24;
  static constexpr std::uint32_t kMaxSlots = 1u << 27;
  static constexpr std::uint32_t kMaxPorts = 1u << 14;  ///< of a lossless switch

  [[nodiscard]] std::uint32_t dst() const { return static_cast<std::uint32_t>(w0) & 0xff'ffff; }
  [[nodiscard]] core::PathId path() const { return static_cast<core::PathId>((w0 >> 24) & 0xff); }
  [[nodiscard]] PacketKind kind() const { return static_cast<PacketKind>((w0 >> 32) & 3); }
  [[nodiscard]] bool is_control() const { return (w0 & kAckBit) != 0; }
  [[nodiscard]] bool marked() const { return (w0 & kMarkedBit) != 0; }
  [[nodiscard]] std::uint32_t slot() const { return static_cast<std::uint32_t>(w0 >> 37); }
  [[nodiscard]] std::uint32_t payload() const {
    return static_cast<std::uint32_t>(w3 >> 32) & 0xffff;
  }
  void mark() { w0 |= kMarkedBit; }

  /// [R.pfc.victim] Data only. Held: a pause kept it waiting at the port it has just left. Victim: it
  /// was held, and then the queue it was bound for proved short.
  [[nodiscard]] bool held() const { return (w3 & kHeldBit) != 0; }
  [[nodiscard]] bool victim() const { return (w3 & kVictimBit) != 0; }
  void set_held(bool held) { w3 = held ? w3 | kHeldBit : w3 & ~kHeldBit; }
  void set_victim() { w3 |= kVictimBit; }

  /// [R.pfc.account] Data and probes, while they wait in a lossless switch: the port they came in by.
  [[nodiscard]] std::uint32_t ingress() const {
    return static_cast<std::uint32_t>(w3 >> kIngressShift) & (kMaxPorts - 1);
  }
  void set_ingress(std::uint32_t port) {
    w3 = (w3 & ~(std::uint64_t{kMaxPorts - 1} << kIngressShift)) |
         (std::uint64_t{port} << kIngressShift);
  }

  /// What a switch hashes: destination, connection, path and direction; the header's fields in a
  /// real network.
  [[nodiscard]] std::uint64_t header() const {
    return w0 & ~(kMarkedBit | kFlagBit | kEchoBit | kProbeBit);
  }

  [[nodiscard]] static SimPacket from(const core::Packet& p, std::uint32_t dst,
                                      std::uint32_t slot) {
    const bool probe = p.type == core::PacketType::probe;
    SimPacket s;
    s.w0 = dst | (std::uint64_t{p.path_id} << 24) | (probe ? kProbeBit : 0) |
           (p.retransmission ? kFlagBit : 0) | (std::uint64_t{slot} << 37);
    s.w1 = p.psn.value | (std::uint64_t{p.timestamp.ns} << 32);
    s.w2 = probe ? p.probe_id : (p.message_id | (std::uint64_t{p.offset} << 32));
    s.w3 = p.message_length | (std::uint64_t{p.payload} << 32);
    return s;
  }
  [[nodiscard]] core::Packet to_packet() const {
    core::Packet p;
    p.type = kind() == PacketKind::probe ? core::PacketType::probe : core::PacketType::data;
    p.retransmission = (w0 & kFlagBit) != 0;
    p.path_id = path();
    p.psn = {static_cast<std::uint32_t>(w1)};
    p.timestamp = {static_cast<std::uint32_t>(w1 >> 32)};
    if (p.type == core::PacketType::probe) {
      p.probe_id = static_cast<std::uint16_t>(w2);
    } else {
      p.message_id = static_cast<std::uint32_t>(w2);
      p.offset = static_cast<std::uint32_t>(w2 >> 32);
      p.message_length = static_cast<std::uint32_t>(w3);
      p.payload = static_cast<std::uint16_t>(w3 >> 32);
    }
    return p;
  }

  /// A PSN below EPSN tells the sender nothing, so only those above keep their distance. The
  /// simulated sender asks for no other base than its EPSN, so a base is a segment's.
  [[nodiscard]] static SimPacket from(const core::Sack& s, std::uint32_t dst, std::uint32_t slot) {
    const std::int32_t base = s.sack_base - s.epsn;
    STRACK_DCHECK(base % 64 == 0);
    const std::int32_t ahead = s.psn - s.epsn;
    const std::uint64_t echo =
        s.for_probe ? s.probe_id : static_cast<std::uint32_t>(ahead > 0 ? ahead : 0);
    SimPacket p;
    p.w0 = dst | (std::uint64_t{s.path_id} << 24) | kAckBit | (s.for_probe ? kFlagBit : 0) |
           (s.ecn ? kEchoBit : 0) | (std::uint64_t{slot} << 37);
    p.w1 = s.epsn.value | (std::uint64_t{s.timestamp.ns} << 32);
    p.w2 = s.bitmap;
    p.w3 = s.bytes_recvd | (static_cast<std::uint64_t>(base / 64) << 32) |
           (std::uint64_t{s.ooo_count} << 36) | (echo << 46);
    return p;
  }
  [[nodiscard]] static SimPacket from(const core::RoceAck& a, std::uint32_t dst,
                                      std::uint32_t slot) {
    SimPacket p;
    p.w0 = dst | (std::uint64_t{a.qp} << 24) | kAckBit | (std::uint64_t{slot} << 37);
    p.w1 = a.epsn.value | (std::uint64_t{a.timestamp.ns} << 32);
    p.w2 = static_cast<std::uint64_t>(a.kind);
    return p;
  }
  [[nodiscard]] core::RoceAck to_roce_ack() const {
    core::RoceAck a;
    a.kind = static_cast<core::RoceAckKind>(w2);
    a.qp = path();
    a.epsn = {static_cast<std::uint32_t>(w1)};
    a.timestamp = {static_cast<std::uint32_t>(w1 >> 32)};
    return a;
  }

  /// [R.pfc.frame] A pause frame: from one end of a link to the other, never routed.
  [[nodiscard]] static SimPacket pause(Picoseconds time) {
    SimPacket p;
    p.w0 = kAckBit | kProbeBit;
    p.w1 = static_cast<std::uint64_t>(time.value);
    return p;
  }
  [[nodiscard]] Picoseconds pause_time() const { return {static_cast<std::int64_t>(w1)}; }

  [[nodiscard]] core::Sack to_sack() const {
    core::Sack s;
    s.path_id = path();
    s.ecn = (w0 & kEchoBit) != 0;
    s.for_probe = (w0 & kFlagBit) != 0;
    s.epsn = {static_cast<std::uint32_t>(w1)};
    s.timestamp = {static_cast<std::uint32_t>(w1 >> 32)};
    s.bitmap = w2;
    s.bytes_recvd = static_cast<std::uint32_t>(w3);
    s.sack_base = s.epsn + static_cast<std::uint32_t>((w3 >> 32) & 0xf) * 64;
    s.ooo_count = static_cast<std::uint16_t>((w3 >> 36) & 0x3ff);
    const auto echo = static_cast<std::uint32_t>(w3 >> 46);
    if (s.for_probe) {
      s.probe_id = static_cast<std::uint16_t>(echo);
    } else {
      s.psn = echo == 0 ? s.epsn - 1u : s.epsn + echo;
    }
    return s;
  }

 private:
  static constexpr std::uint64_t kProbeBit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kAckBit = std::uint64_t{2} << 32;
  static constexpr std::uint64_t kMarkedBit = std::uint64_t{1} << 34;
  static constexpr std::uint64_t kFlagBit = std::uint64_t{1}
                                            << 35;  ///< retransmission, or SACK for a probe
  static constexpr std::uint64_t kEchoBit = std::uint64_t{1} << 36;
  static constexpr int kIngressShift = 48;
  static constexpr std::uint64_t kHeldBit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kVictimBit = std::uint64_t{1} << 63;
};
static_assert(sizeof(SimPacket) == 32);

}  // namespace strack::sim
