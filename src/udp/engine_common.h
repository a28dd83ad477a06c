// What the engine's files share: small arithmetic, and the way of a small packet out. For them only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "udp/engine.h"

namespace strack::udp {

inline constexpr Picoseconds kShortestRetry = ms(2);
inline constexpr Picoseconds kLongestRetry = ms(256);
inline constexpr Picoseconds kCloseRetry = ms(20);
/// Packets that a connection still sends after it has found its counters used up: closes and their like.
inline constexpr std::uint64_t kCounterReserve = 1u << 16;

/// How far a counter that wraps is ahead of another.
[[nodiscard]] inline std::int32_t ahead(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}

/// How long a packet has been held back, as it travels: it does not wrap.
inline void add_hold(std::uint32_t& hold_ns, Picoseconds more) {
  const std::int64_t sum = hold_ns + std::max<std::int64_t>(more.count(), 0) / 1'000;
  hold_ns = static_cast<std::uint32_t>(std::min<std::int64_t>(sum, 0xffff'ffff));
}

template <class Encode>
void Engine::send_small(Connection& c, std::uint16_t entropy, bool ect, Encode&& encode) {
  if (small_count_ == kSmallBatch) flush_small();
  renew_key(c);
  std::uint8_t* packet = small_[small_count_].data();
  const std::uint64_t counter = c.keys.counter++;
  const wire::Envelope envelope{c.peer_id, keyed(), counter};
  std::size_t size = encode(wire::MutableBytes(packet, kSmallBytes), envelope);
  if (keyed()) {
    c.keys.seal.seal(packet, size, counter);
    size += wire::kTagBytes;
  }
  small_to_[small_count_] = c.peer;
  small_from_[small_count_] = c.local;
  small_pieces_[small_count_] = {packet, size};
  small_out_[small_count_] = {.to = &small_to_[small_count_],
                              .from = &small_from_[small_count_],
                              .pieces = {&small_pieces_[small_count_], 1},
                              .bytes = static_cast<std::uint32_t>(size),
                              .entropy = entropy,
                              .segment = 0,
                              .ect = ect,
                              .patient = true};
  ++small_count_;
}

}  // namespace strack::udp
