// A packet as the simulated network moves it: 32 bytes, four words, packed once and unpacked once.
//
// Word 0 is the network's; so is, of packets that wait with the data, the upper half of word 3. The
// rest is the transport's, and means nothing here: a transport packs and unpacks it beside its own
// code (sim/net/packing.h for what all have in common).
//
// Fields live in whole 64-bit words, so that a copy is four loads and stores, and never reads a
// word of which only a part has just been written (that stalls the processor). The ECN mark is set
// on the copy that leaves a queue.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "core/packet.h"

namespace strack::sim {

/// Where a packet goes: a host, and the connection's place in its tables. Both are below their bounds:
/// whoever places connections checks it, once (SimPacket::kMaxHosts, kMaxSlots).
struct Address {
  std::uint32_t host = 0;
  std::uint32_t slot = 0;
};

/// Word 0, from bit 0 on. What ECMP hashes keeps the places it had when hashes were first recorded,
/// so that a route is a mask away; the entropy lies in three pieces for its sake.
///
///    0-19  destination host           24-31, 34-35, 58-63  entropy, 16 bits, low ones first
///   20, 57 priority                   32     the transport's own flag
///   21     control: goes before data  33     backward: to the connection's sender
///   22     bare: no payload           36     marked
///   23     trimmed                    37-56  connection slot at the destination
///
/// Control that is not bare is a pause frame. Its word 1 is how long, in ps; 0 lets go.
///
/// Word 3's upper half, where the packet is not control:
///
///   32-47  payload, as sent           50     marked at the last hop
///   48     held                       51     trimmed at the last hop
///   49     victim                     52-63  largest utilisation of the path, where it is measured
///   51-63  the port it came in by, while it waits in a lossless switch that does not measure
///
/// So a transport has words 1 and 2, the lower half of word 3 and the flag (161 bits); of control
/// packets all but word 0, and the flag (193 bits). Word 1 is part of the digest: what tells packets of
/// a connection apart belongs there.
struct SimPacket {
  std::uint64_t w0 = 0;
  std::uint64_t w1 = 0;
  std::uint64_t w2 = 0;
  std::uint64_t w3 = 0;

  static constexpr int kHostBits = 20;
  static constexpr int kSlotBits = 20;
  static constexpr std::uint32_t kPriorities = 4;
  static constexpr std::uint32_t kMaxHosts = 1u << kHostBits;
  static constexpr std::uint32_t kMaxSlots = 1u << kSlotBits;
  static constexpr std::uint32_t kMaxUtilisation = (1u << 12) - 1;  ///< 4 full links
  static constexpr std::uint32_t kMaxIngress = 1u << 13;

  // ---- Making one: the network's part; the transport fills in the rest ----

  /// Forward, with so many bytes of payload.
  [[nodiscard]] static constexpr SimPacket data(Address to, core::PathId entropy,
                                                std::uint16_t payload) {
    return {address(to) | spread(entropy), 0, 0, std::uint64_t{payload} << kPayloadShift};
  }
  /// Forward, without payload, waiting its turn with the data: a probe.
  [[nodiscard]] static constexpr SimPacket bare(Address to, core::PathId entropy) {
    return {address(to) | spread(entropy) | kBareBit, 0, 0, 0};
  }
  /// Backward and ahead of data: what a receiver has to say.
  [[nodiscard]] static constexpr SimPacket ack(Address to, core::PathId entropy) {
    return {address(to) | spread(entropy) | kBareBit | kControlBit | kBackwardBit, 0, 0, 0};
  }
  /// [R.pfc.frame] A pause frame: from one end of a link to the other, never routed.
  [[nodiscard]] static constexpr SimPacket pause(Picoseconds time) {
    return {kControlBit | kBackwardBit, static_cast<std::uint64_t>(time.value), 0, 0};
  }

  // ---- What switches and hosts read ----

  [[nodiscard]] constexpr std::uint32_t dst() const {
    return static_cast<std::uint32_t>(w0) & (kMaxHosts - 1);
  }
  [[nodiscard]] constexpr std::uint32_t slot() const {
    return static_cast<std::uint32_t>(w0 >> kSlotShift) & (kMaxSlots - 1);
  }
  [[nodiscard]] constexpr core::PathId entropy() const {
    return static_cast<core::PathId>(((w0 >> 24) & 0xff) | (((w0 >> 34) & 3) << 8) |
                                     ((w0 >> 58) << 10));
  }
  [[nodiscard]] constexpr bool is_control() const { return (w0 & kControlBit) != 0; }
  [[nodiscard]] constexpr bool is_bare() const { return (w0 & kBareBit) != 0; }
  [[nodiscard]] constexpr bool is_backward() const { return (w0 & kBackwardBit) != 0; }
  [[nodiscard]] constexpr bool is_pause() const {
    return (w0 & (kControlBit | kBareBit)) == kControlBit;
  }
  [[nodiscard]] constexpr bool marked() const { return (w0 & kMarkedBit) != 0; }
  [[nodiscard]] constexpr bool trimmed() const { return (w0 & kTrimmedBit) != 0; }
  /// Carries its payload: neither bare nor control nor trimmed.
  [[nodiscard]] constexpr bool is_whole() const {
    return (w0 & (kControlBit | kBareBit | kTrimmedBit)) == 0;
  }
  /// Of a packet that is not control: its payload when it was sent.
  [[nodiscard]] constexpr std::uint32_t payload() const {
    return static_cast<std::uint32_t>(w3 >> kPayloadShift) & 0xffff;
  }
  [[nodiscard]] constexpr Picoseconds pause_time() const { return {static_cast<std::int64_t>(w1)}; }
  /// [D116] 0 is the usual one; those above go before it.
  [[nodiscard]] constexpr std::uint32_t priority() const {
    return static_cast<std::uint32_t>(((w0 >> kLowPriorityShift) & 1) |
                                      ((w0 >> (kHighPriorityShift - 1)) & 2));
  }
  [[nodiscard]] constexpr bool is_urgent() const { return (w0 & kPriorityMask) != 0; }
  /// Once, by whoever sends it.
  constexpr void set_priority(std::uint32_t priority) {
    w0 |= (std::uint64_t{priority & 1} << kLowPriorityShift) |
          (std::uint64_t{priority >> 1} << kHighPriorityShift);
  }
  /// What a switch hashes: destination, connection, entropy and direction; the header's fields in a
  /// real network.
  [[nodiscard]] constexpr std::uint64_t header() const { return w0 & kHeaderMask; }

  // ---- What ports note on a packet that is not control ----

  constexpr void mark(bool last_hop = false) {
    w0 |= kMarkedBit;
    if (last_hop) w3 |= kMarkedLastHopBit;
  }
  [[nodiscard]] constexpr bool marked_last_hop() const { return (w3 & kMarkedLastHopBit) != 0; }
  constexpr void trim(bool last_hop) {
    w0 |= kTrimmedBit;
    if (last_hop) w3 |= kTrimmedLastHopBit;
  }
  [[nodiscard]] constexpr bool trimmed_last_hop() const {
    return trimmed() && (w3 & kTrimmedLastHopBit) != 0;
  }

  /// [R.pfc.victim] Held: a pause kept it waiting at the port it has just left. Victim: it was held,
  /// and then the queue it was bound for proved short.
  [[nodiscard]] constexpr bool held() const { return (w3 & kHeldBit) != 0; }
  [[nodiscard]] constexpr bool victim() const { return (w3 & kVictimBit) != 0; }
  constexpr void set_held(bool held) { w3 = held ? w3 | kHeldBit : w3 & ~kHeldBit; }
  constexpr void set_victim() { w3 |= kVictimBit; }

  /// [R.pfc.account] While it waits in a lossless switch: the port it came in by.
  [[nodiscard]] constexpr std::uint32_t ingress() const {
    return static_cast<std::uint32_t>(w3 >> kIngressShift);
  }
  constexpr void set_ingress(std::uint32_t port) {
    w3 = (w3 & ((std::uint64_t{1} << kIngressShift) - 1)) | (std::uint64_t{port} << kIngressShift);
  }

  [[nodiscard]] constexpr std::uint32_t utilisation() const {
    return static_cast<std::uint32_t>(w3 >> kUtilisationShift);
  }
  /// A link of the path is so full: the fullest counts.
  constexpr void note_utilisation(std::uint32_t utilisation) {
    const std::uint64_t value = utilisation < kMaxUtilisation ? utilisation : kMaxUtilisation;
    if (value > w3 >> kUtilisationShift)
      w3 = (w3 & ((std::uint64_t{1} << kUtilisationShift) - 1)) | (value << kUtilisationShift);
  }

  // ---- The transport's bit of word 0 ----

  [[nodiscard]] constexpr bool flag() const { return (w0 & kFlagBit) != 0; }
  constexpr void set_flag(bool flag) { w0 |= flag ? kFlagBit : 0; }

 private:
  [[nodiscard]] static constexpr std::uint64_t address(Address to) {
    return to.host | (std::uint64_t{to.slot} << kSlotShift);
  }
  [[nodiscard]] static constexpr std::uint64_t spread(core::PathId entropy) {
    return (std::uint64_t{entropy & 0xffu} << 24) | (std::uint64_t{(entropy >> 8) & 3u} << 34) |
           (std::uint64_t{static_cast<std::uint32_t>(entropy) >> 10} << 58);
  }

  static constexpr std::uint64_t kControlBit = std::uint64_t{1} << 21;
  static constexpr std::uint64_t kBareBit = std::uint64_t{1} << 22;
  static constexpr std::uint64_t kTrimmedBit = std::uint64_t{1} << 23;
  static constexpr std::uint64_t kFlagBit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kBackwardBit = std::uint64_t{1} << 33;
  static constexpr std::uint64_t kMarkedBit = std::uint64_t{1} << 36;
  static constexpr int kSlotShift = 37;
  static constexpr int kLowPriorityShift = 20;
  static constexpr int kHighPriorityShift = 57;
  static constexpr std::uint64_t kPriorityMask =
      (std::uint64_t{1} << kLowPriorityShift) | (std::uint64_t{1} << kHighPriorityShift);
  static constexpr std::uint64_t kHeaderMask =
      ~(kControlBit | kBareBit | kTrimmedBit | kFlagBit | kMarkedBit | kPriorityMask);

  static constexpr int kPayloadShift = 32;
  static constexpr std::uint64_t kHeldBit = std::uint64_t{1} << 48;
  static constexpr std::uint64_t kVictimBit = std::uint64_t{1} << 49;
  static constexpr std::uint64_t kMarkedLastHopBit = std::uint64_t{1} << 50;
  static constexpr std::uint64_t kTrimmedLastHopBit = std::uint64_t{1} << 51;
  static constexpr int kIngressShift = 51;
  static constexpr int kUtilisationShift = 52;

  static_assert(kHostBits <= kLowPriorityShift && kSlotShift + kSlotBits <= kHighPriorityShift &&
                    kHighPriorityShift < 58,
                "beside the entropy's pieces");
};
static_assert(sizeof(SimPacket) == 32, "two to a cache line");
static_assert(sizeof(core::PathId) == 2, "an entropy is whole in word 0");
static_assert(SimPacket::kMaxHosts >= 1u << 20);
static_assert(SimPacket::data({0xf'ffff, 0xf'ffff}, 0xffff, 0).entropy() == 0xffff);
static_assert(SimPacket::data({0xf'ffff, 0xf'ffff}, 0, 0).entropy() == 0);
static_assert(SimPacket::data({5, 6}, 0xa5, 9).header() ==
                  (5u | (std::uint64_t{0xa5} << 24) | (std::uint64_t{6} << 37)),
              "the key that recorded hashes were made with");

}  // namespace strack::sim
