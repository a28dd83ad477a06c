// What cores hand to each other through their hosts: plain structs, no bytes and no byte order.
//
// A simulated network moves these as they are; a real one encodes them once at its edge.
// Fields have the widths they have on the wire, and wrapping ones are compared by distance.
#pragma once

#include <cstdint>

#include "base/serial.h"
#include "base/units.h"

namespace strack::core {

/// A packet's place in its connection's sequence.
using Psn = Serial<struct PsnTag>;

/// An index into the sender's entropies. What the header carries for it is the host's business.
using PathId = std::uint16_t;

/// Names a message within its connection. Chosen by whoever posts it; the core only carries it.
using MessageId = std::uint32_t;

/// [D27] Nanoseconds on the sender's clock, 32 bits, wrapping every 4.3 seconds.
struct Timestamp {
  std::uint32_t ns = 0;

  [[nodiscard]] static constexpr Timestamp of(Instant t) {
    return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(t.ps) / 1'000)};
  }
  /// Time passed since `earlier`; negative when `earlier` lies ahead, or over 2.1 seconds back.
  [[nodiscard]] constexpr Picoseconds since(Timestamp earlier) const {
    return strack::ns(static_cast<std::int32_t>(ns - earlier.ns));
  }
  friend constexpr bool operator==(const Timestamp&, const Timestamp&) = default;
};

enum class PacketType : std::uint8_t {
  data,   ///< carries part of a message
  probe,  ///< asks for a SACK at once; no payload
};

/// Sender to receiver. [D20] [D21] A data packet says by itself where its payload belongs.
struct Packet {
  PacketType type = PacketType::data;
  bool retransmission = false;  ///< sent before; for counting only, a receiver treats both alike
  std::uint16_t payload = 0;    ///< bytes of the message in this packet
  PathId path_id = 0;           ///< [A1.L2] the path this packet takes
  std::uint16_t probe_id = 0;   ///< probe only: comes back in the SACK it asks for
  Psn psn;  ///< data: its sequence number; probe: [R.probe.base] the SACK base wanted
  MessageId message_id = 0;          ///< data only
  std::uint32_t offset = 0;          ///< data only: where in the message the payload starts
  std::uint32_t message_length = 0;  ///< data only: the whole message's length
  Timestamp timestamp;               ///< [D27] when it went onto the wire; the host stamps it
  std::uint16_t note = 0;  ///< for the receiver, as the transport means it; not all have one
};
static_assert(sizeof(Packet) <= 32, "small enough to be moved as whole words");

/// How many packets' arrival one SACK can tell.
inline constexpr std::uint32_t kSackBits = 64;

/// Receiver to sender. [R.sack.echo] What it echoes is the triggering packet's, a probe's included.
struct Sack {
  std::uint64_t bitmap = 0;       ///< [R.sack.field.bitmap] arrivals from sack_base on
  Psn epsn;                       ///< [R.sack.field.epsn] all before it have been received
  Psn sack_base;                  ///< [R.sack.field.base] the PSN of bitmap bit 0
  std::uint32_t bytes_recvd = 0;  ///< [R.sack.field.bytes_recvd] without duplicates, wrapping
  Psn psn;              ///< [D13] echo: the data packet that is hereby known to have arrived
  Timestamp timestamp;  ///< echo: when that packet went onto the wire
  std::uint32_t hold_time_ns =
      0;               ///< [D27] how long the receiving host held this back; the host fills it
  PathId path_id = 0;  ///< echo: the path it took
  std::uint16_t ooo_count = 0;  ///< [R.sack.field.ooo] packets held beyond epsn
  std::uint16_t probe_id = 0;   ///< the probe it answers
  bool for_probe = false;       ///< [R.probe.bit] triggered by a probe; then `psn` says nothing
  bool ecn = false;             ///< echo: was it marked
};
static_assert(sizeof(Sack) == 40);

}  // namespace strack::core
