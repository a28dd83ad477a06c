// The handshake of Noise_IK_25519_ChaChaPoly_SHA256 (noiseprotocol.org, revision 34): two hosts that have a key pair
// each come by session keys in one round trip. The initiator knows the responder's public key beforehand and sends its
// own, which nobody else can read; who learns either private key later can still not read what was said.
//
// Pure: no clock, no sockets, no randomness of its own. SHA-256 since libsodium has its HMAC, which Noise's key derivation
// is made of. All that is secret is wiped when a handshake goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace strack::udp::noise {

using Secret = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;
using Hash = std::array<std::uint8_t, 32>;
using ConstBytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// An X25519 key pair.
struct KeyPair {
  Secret secret{};
  PublicKey public_key{};

  [[nodiscard]] static KeyPair from(const Secret& secret);
  KeyPair() = default;
  KeyPair(const KeyPair&) = default;
  KeyPair& operator=(const KeyPair&) = default;
  ~KeyPair();
};

/// Bytes around the payloads of the two messages.
inline constexpr std::size_t kFirstOverhead = 32 + (32 + 16) + 16;
inline constexpr std::size_t kSecondOverhead = 32 + 16;

/// What a handshake ends with.
struct SessionKeys {
  Secret initiators{};  ///< that the initiator sends with
  Secret responders{};
  Hash hash{};  ///< of all that was said: names the session, and is no secret

  SessionKeys() = default;
  SessionKeys(const SessionKeys&) = default;
  SessionKeys& operator=(const SessionKeys&) = default;
  ~SessionKeys();
};

/// One side of one handshake, whose messages are written and read in turn. After anything was refused it is of no use.
class Handshake {
 public:
  /// `prologue`: what both sides have seen before; the handshake fails where they differ.
  [[nodiscard]] static Handshake initiator(ConstBytes prologue, const KeyPair& own,
                                           const PublicKey& responder);
  [[nodiscard]] static Handshake responder(ConstBytes prologue, const KeyPair& own);
  Handshake(const Handshake&) = default;
  Handshake& operator=(const Handshake&) = default;
  ~Handshake();

  /// The initiator's message: e, es, s, ss and the payload. `ephemeral` is random and used once; `out` has room for
  /// kFirstOverhead more than the payload. False: the responder's key is none.
  [[nodiscard]] bool write_first(const Secret& ephemeral, ConstBytes payload, MutableBytes out);
  /// What `out` has room for is the message's payload. False: it was not made for this key, or changed on the way.
  [[nodiscard]] bool read_first(ConstBytes message, MutableBytes out);
  /// The responder's: e, ee, se and the payload.
  [[nodiscard]] bool write_second(const Secret& ephemeral, ConstBytes payload, MutableBytes out);
  [[nodiscard]] bool read_second(ConstBytes message, MutableBytes out);

  /// Who the other side is: after read_first() a responder knows, and that the initiator has the private key it knows
  /// from the first packet of the session on.
  [[nodiscard]] const PublicKey& peer() const { return peer_; }
  [[nodiscard]] SessionKeys finish() const;

 private:
  Handshake(ConstBytes prologue, const KeyPair& own, const PublicKey& responder);

  void mix_hash(ConstBytes bytes);
  void mix_key(ConstBytes secret);
  [[nodiscard]] bool mix_dh(const Secret& secret, const PublicKey& other);
  void seal(ConstBytes plain, MutableBytes out);
  [[nodiscard]] bool open(ConstBytes sealed, MutableBytes out);

  KeyPair own_;
  KeyPair ephemeral_;
  PublicKey peer_{};
  PublicKey peer_ephemeral_{};
  Secret chaining_{};
  Secret key_{};
  std::uint64_t counter_ = 0;
  Hash hash_{};
};

}  // namespace strack::udp::noise
