// The cryptography of docs/protocol.md: keys, MACs, cookies, sealing and opening, replay. Primitives
// are libsodium's, and for packets sealing.h's; here is only which bytes go into them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bitmap.h"
#include "base/units.h"
#include "udp/address.h"
#include "udp/noise.h"
#include "udp/sealing.h"
#include "wire/wire.h"

namespace strack::udp {

using TermsBytes = std::array<std::uint8_t, wire::kTermsBytes>;

/// Must have returned true once before anything else here is used.
[[nodiscard]] bool crypto_ready();
/// The ciphers this machine has, as a set of wire::Cipher.
[[nodiscard]] std::uint8_t usable_ciphers();
/// The one to use out of a set that both sides have: AES-256-GCM where both have it in hardware.
[[nodiscard]] std::uint8_t best_cipher(std::uint8_t offered);

/// Everything that follows from a pre-shared key before there is a connection.
class JobKey {
 public:
  explicit JobKey(const Secret& psk);
  JobKey(const JobKey&) = default;
  JobKey& operator=(const JobKey&) = default;
  ~JobKey();
  [[nodiscard]] std::uint32_t id() const { return id_; }
  /// `packet` is all before the MAC.
  [[nodiscard]] wire::Mac hello_mac(wire::ConstBytes packet) const;
  [[nodiscard]] wire::Mac connect_mac(wire::ConstBytes packet) const;
  [[nodiscard]] wire::Mac accept_mac(const TermsBytes& initiator, wire::ConstBytes packet) const;
  [[nodiscard]] wire::Mac reset_mac(wire::ConstBytes packet, const Address& sender) const;
  /// The two directions' keys: the initiator's sending key first.
  [[nodiscard]] std::array<Secret, 2> session_keys(const TermsBytes& initiator,
                                                   const TermsBytes& responder) const;

 private:
  Secret psk_;
  Secret setup_;
  std::uint32_t id_;
};

/// A key that an endpoint takes connections by: shared, or a host's own.
struct OwnKey {
  OwnKey(const Secret& secret, bool of_host);

  std::optional<noise::KeyPair> identity;  ///< of a host
  JobKey door;                             ///< what set-up's first MACs are made with
};

// [D95] Between hosts that have keys of their own. The responder's public key takes the place of the shared key for
// set-up's first MACs: who knows it is worth an answer. What Noise's handshake gives takes it for the rest.

/// What both sides have seen before the handshake.
inline constexpr std::size_t kPrologueBytes = 13 + wire::kTermsBytes;
[[nodiscard]] std::array<std::uint8_t, kPrologueBytes> noise_prologue(wire::ConstBytes terms);
/// In the place of the shared key, for the accept's MAC and the session's keys.
[[nodiscard]] JobKey handshake_key(const noise::SessionKeys& keys);
/// [D97] What a host's resets for one of its connection ids are made with. The peer gets it in the handshake; the
/// host itself can always make it again, whatever it has forgotten.
[[nodiscard]] Secret reset_secret(const Secret& identity, std::uint32_t id, std::uint16_t port);
/// `sender`: two endpoints of one host may have the same port at different addresses, and know different connections.
[[nodiscard]] wire::Mac host_reset_mac(const Secret& reset_secret, wire::ConstBytes packet,
                                       const Address& sender);

/// In constant time.
[[nodiscard]] bool same(const wire::Mac& a, const wire::Mac& b);

/// One direction's cipher.
class SealingKey {
 public:
  SealingKey() = default;
  SealingKey(wire::Cipher cipher, const Secret& key, std::string_view library = {}) {
    set(cipher, key, *find_sealing_library(library));
  }

  void set(wire::Cipher cipher, const Secret& key, const SealingLibrary& library) {
    key_ = library.make(cipher, key);
  }

  void seal(std::span<const ToSeal> burst) const { key_->seal(burst); }
  /// Encrypts packet[kSealedHeaderBytes, size) in place and puts the tag behind it, where there
  /// must be room.
  void seal(std::uint8_t* packet, std::size_t size, std::uint64_t counter) const {
    const ToSeal one{packet, size, counter};
    key_->seal({&one, 1});
  }
  /// Decrypts a whole datagram's body in place; false, and the bytes are worthless, if it is not
  /// authentic.
  [[nodiscard]] bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) const {
    return datagram.size() >= wire::kSealedHeaderBytes + wire::kTagBytes &&
           key_->open(datagram, counter);
  }

 private:
  std::unique_ptr<AeadKey> key_;
};

/// Which of a peer's counters have been seen. [protocol: Replay]
class ReplayWindow {
 public:
  static constexpr std::uint32_t kBits = 4096;

  /// Seen, or too old to tell.
  [[nodiscard]] bool is_old(std::uint64_t counter) const {
    if (counter >= next_) return false;
    return next_ - counter > kBits || seen_.test(static_cast<std::uint32_t>(counter));
  }
  /// Only for a counter that is not old, of a packet that has proved authentic.
  void note(std::uint64_t counter) {
    if (counter >= next_) {
      const std::uint64_t ahead = counter + 1 - next_;
      if (ahead >= kBits) {
        seen_.clear_all();
      } else {
        seen_.clear_range(static_cast<std::uint32_t>(next_), static_cast<std::uint32_t>(ahead));
      }
      next_ = counter + 1;
    }
    seen_.set(static_cast<std::uint32_t>(counter));
  }

 private:
  std::uint64_t next_ = 0;  ///< one past the highest
  Bitmap<kBits> seen_{};
};

/// Stateless proof that an initiator can receive at its address. [protocol: Set-up]
class CookieJar {
 public:
  static constexpr Picoseconds kLifetime = seconds(5);

  explicit CookieJar(const Secret& secret) : secret_(secret) {}
  /// `path`: by which the challenge goes; who returns the cookie shows that it leads back [D170].
  [[nodiscard]] wire::Cookie make(const Address& from, bool keyed, wire::ConstBytes terms,
                                  Instant now, std::uint8_t path = 0) const;
  [[nodiscard]] static std::uint8_t path_of(const wire::Cookie& cookie) { return cookie[7]; }
  [[nodiscard]] bool is_good(const wire::Cookie& cookie, const Address& from, bool keyed,
                             wire::ConstBytes terms, Instant now) const;

 private:
  [[nodiscard]] wire::Cookie made_at(std::uint64_t time, const Address& from, bool keyed,
                                     wire::ConstBytes terms) const;
  Secret secret_;
};

}  // namespace strack::udp
