// docs/protocol.md as a second implementer reads it: whether a packet is right, by the offsets of its bytes. Nothing of
// src/wire is used, so that a rule which is missing there is missed here.
#pragma once

#include "target.h"

namespace strack::decoders {

/// The number in network byte order of N bytes at `at`.
template <std::size_t N>
[[nodiscard]] inline std::uint64_t number_at(Bytes bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < N; ++i) value = value << 8 | bytes[at + i];
  return value;
}

/// Whether its header and its length are, which is all that can be told before it is opened.
[[nodiscard]] bool header_is_right(Bytes packet);
/// Whether a receiver takes it. The tag of a sealed one is not looked at, and its body lies open.
[[nodiscard]] bool packet_is_right(Bytes packet);
/// Whether it is a hello of another version, to be told so.
[[nodiscard]] bool is_foreign_hello(Bytes packet);
/// Whether the payload of a write to region 0 is a request.
[[nodiscard]] bool request_is_right(Bytes payload);
/// Whether it is one for atomics.
[[nodiscard]] bool atomic_is_right(Bytes payload);
/// Whether a sealed packet: then its last 16 bytes are the tag.
[[nodiscard]] bool is_sealed(Bytes packet);
/// Whether the SACK of transport 2 in this right packet is as its sender makes it: bits that mean nothing are 0.
[[nodiscard]] bool plus_sack_is_canonical(Bytes packet);

}  // namespace strack::decoders
