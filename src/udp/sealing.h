// The ciphers of docs/protocol.md by whichever library computes them fastest here. They differ in speed
// only: the bytes are the same, and each opens what another has sealed. libsodium is always there; others
// are looked for when the first key is made, and a program that finds none of them runs all the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "wire/wire.h"

namespace strack::udp {

using Secret = std::array<std::uint8_t, 32>;

/// A packet to be sealed where it lies: the header, what of the body is there already, and behind that
/// the payload, which is taken from elsewhere, and the tag. There must be room for all of it.
struct ToSeal {
  std::uint8_t* packet;
  std::size_t front;  ///< bytes there already, kSealedHeaderBytes of header included
  std::uint64_t counter;
  const std::uint8_t* payload = nullptr;
  std::size_t payload_bytes = 0;
};

/// One direction's key in one library's hands. Nothing allocates after it is made, and it is wiped in
/// the end.
class AeadKey {
 public:
  AeadKey() = default;
  AeadKey(const AeadKey&) = delete;
  AeadKey& operator=(const AeadKey&) = delete;
  virtual ~AeadKey() = default;

  virtual void seal(std::span<const ToSeal> burst) = 0;
  /// In place; false, and the bytes are worthless, if it is not authentic. There is at least a header
  /// and a tag.
  [[nodiscard]] virtual bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) = 0;
};

struct SealingLibrary {
  std::string_view name;
  std::unique_ptr<AeadKey> (*make)(wire::Cipher cipher, const Secret& key);
};

/// Those that are here, the fastest first; libsodium is the last. Needs crypto_ready().
[[nodiscard]] std::span<const SealingLibrary> sealing_libraries();
/// Null: it is not here. An empty name is the fastest's.
[[nodiscard]] const SealingLibrary* find_sealing_library(std::string_view name);

/// A packet's counter as the ciphers take it.
using AeadNonce = std::array<std::uint8_t, 12>;
[[nodiscard]] constexpr AeadNonce nonce_of(std::uint64_t counter) {
  AeadNonce nonce{};
  for (std::size_t i = 0; i < 8; ++i)
    nonce[4 + i] = static_cast<std::uint8_t>(counter >> (56 - 8 * i));
  return nonce;
}

namespace detail {
/// Null where the program was built without it, or this machine has it not.
[[nodiscard]] const SealingLibrary* ipsec_mb();
[[nodiscard]] const SealingLibrary* openssl();
/// By the flags of its manager: the processor has what it needs, and where it tests itself it has passed.
[[nodiscard]] bool ipsec_mb_is_usable(std::uint64_t features);
}  // namespace detail

}  // namespace strack::udp
