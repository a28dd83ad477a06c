#include "udp/crypto.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace strack::udp {
namespace {

/// BLAKE2b with a key over the joined parts.
template <std::size_t N>
std::array<std::uint8_t, N> hash(const Secret& key, std::string_view label,
                                 std::initializer_list<wire::ConstBytes> parts) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), N);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()),
                            label.size());
  for (const wire::ConstBytes part : parts) {
    crypto_generichash_update(&state, part.data(), part.size());
  }
  std::array<std::uint8_t, N> out;
  crypto_generichash_final(&state, out.data(), out.size());
  sodium_memzero(&state, sizeof state);
  return out;
}

/// 16 bytes of address, IPv4 mapped, and 2 of port.
std::array<std::uint8_t, 18> address_bytes(const Address& address) {
  std::array<std::uint8_t, 18> out{};
  if (address.v6) {
    std::copy(address.ip.begin(), address.ip.end(), out.begin());
  } else {
    out[10] = out[11] = 0xff;
    std::copy_n(address.ip.begin(), 4, out.begin() + 12);
  }
  out[16] = static_cast<std::uint8_t>(address.port >> 8);
  out[17] = static_cast<std::uint8_t>(address.port);
  return out;
}

std::array<std::uint8_t, 8> big_endian(std::uint64_t value) {
  std::array<std::uint8_t, 8> out;
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
  return out;
}

}  // namespace

bool crypto_ready() { return sodium_init() >= 0; }

std::uint8_t usable_ciphers() {
  const bool aes = crypto_aead_aes256gcm_is_available() != 0;
  return static_cast<std::uint8_t>(wire::kChaCha20Poly1305 | (aes ? wire::kAes256Gcm : 0));
}

std::uint8_t best_cipher(std::uint8_t offered) {
  const auto common = static_cast<std::uint8_t>(offered & usable_ciphers());
  if ((common & wire::kAes256Gcm) != 0) return wire::kAes256Gcm;
  return common & wire::kChaCha20Poly1305;
}

JobKey::JobKey(const Secret& psk) : psk_(psk), setup_(hash<32>(psk, "strack2 setup", {})) {
  const auto named = hash<32>(psk, "strack2 key id", {});
  id_ = std::uint32_t{named[0]} << 24 | std::uint32_t{named[1]} << 16 |
        std::uint32_t{named[2]} << 8 | named[3];
  if (id_ == 0) id_ = 1;
}

OwnKey::OwnKey(const Secret& secret, bool of_host)
    : identity(of_host ? std::optional(noise::KeyPair::from(secret)) : std::nullopt),
      door(of_host ? identity->public_key : secret) {}

JobKey::~JobKey() {
  sodium_memzero(psk_.data(), psk_.size());
  sodium_memzero(setup_.data(), setup_.size());
}

wire::Mac JobKey::hello_mac(wire::ConstBytes packet) const {
  return hash<wire::kTagBytes>(setup_, "hello", {packet});
}
wire::Mac JobKey::connect_mac(wire::ConstBytes packet) const {
  return hash<wire::kTagBytes>(setup_, "connect", {packet});
}
wire::Mac JobKey::accept_mac(const TermsBytes& initiator, wire::ConstBytes packet) const {
  return hash<wire::kTagBytes>(setup_, "accept", {initiator, packet});
}
wire::Mac JobKey::reset_mac(wire::ConstBytes packet, const Address& sender) const {
  return hash<wire::kTagBytes>(setup_, "reset", {packet, address_bytes(sender)});
}

std::array<Secret, 2> JobKey::session_keys(const TermsBytes& initiator,
                                           const TermsBytes& responder) const {
  auto both = hash<64>(psk_, "strack2 session", {initiator, responder});
  std::array<Secret, 2> keys;
  std::copy_n(both.begin(), 32, keys[0].begin());
  std::copy_n(both.begin() + 32, 32, keys[1].begin());
  sodium_memzero(both.data(), both.size());
  return keys;
}

std::array<std::uint8_t, kPrologueBytes> noise_prologue(wire::ConstBytes terms) {
  constexpr std::string_view kLabel = "strack2 noise";
  static_assert(kLabel.size() + wire::kTermsBytes == kPrologueBytes);
  std::array<std::uint8_t, kPrologueBytes> out;
  std::copy(kLabel.begin(), kLabel.end(), out.begin());
  std::copy_n(terms.begin(), wire::kTermsBytes, out.begin() + kLabel.size());
  return out;
}

JobKey handshake_key(const noise::SessionKeys& keys) {
  Secret secret = hash<32>(keys.initiators, "strack2 handshake", {keys.responders, keys.hash});
  const JobKey made(secret);
  sodium_memzero(secret.data(), secret.size());
  return made;
}

Secret reset_secret(const Secret& identity, std::uint32_t id, std::uint16_t port) {
  const std::array<std::uint8_t, 6> place{
      static_cast<std::uint8_t>(id >> 24),  static_cast<std::uint8_t>(id >> 16),
      static_cast<std::uint8_t>(id >> 8),   static_cast<std::uint8_t>(id),
      static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
  return hash<32>(identity, "strack2 reset secret", {place});
}

wire::Mac host_reset_mac(const Secret& reset_secret, wire::ConstBytes packet,
                         const Address& sender) {
  return hash<wire::kTagBytes>(reset_secret, "reset", {packet, address_bytes(sender)});
}

bool same(const wire::Mac& a, const wire::Mac& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

namespace {
constexpr std::uint64_t kPathOfStamp = 0xff;  ///< of the time, which is in picoseconds
}

wire::Cookie CookieJar::made_at(std::uint64_t time, const Address& from, bool keyed,
                                wire::ConstBytes terms) const {
  const auto stamp = big_endian(time);
  const std::array<std::uint8_t, 1> flag{static_cast<std::uint8_t>(keyed ? 1 : 0)};
  const auto proof = hash<24>(secret_, "", {stamp, address_bytes(from), flag, terms});
  wire::Cookie cookie;
  std::copy(stamp.begin(), stamp.end(), cookie.begin());
  std::copy(proof.begin(), proof.end(), cookie.begin() + 8);
  return cookie;
}

wire::Cookie CookieJar::make(const Address& from, bool keyed, wire::ConstBytes terms, Instant now,
                             std::uint8_t path) const {
  return made_at((static_cast<std::uint64_t>(now.ps) & ~kPathOfStamp) | path, from, keyed, terms);
}

bool CookieJar::is_good(const wire::Cookie& cookie, const Address& from, bool keyed,
                        wire::ConstBytes terms, Instant now) const {
  std::uint64_t time = 0;
  for (std::size_t i = 0; i < 8; ++i) time = time << 8 | cookie[i];
  const auto present = static_cast<std::uint64_t>(now.ps);
  const std::uint64_t since = time & ~kPathOfStamp;
  if (since > present || present - since > static_cast<std::uint64_t>(kLifetime.value))
    return false;
  const wire::Cookie expected = made_at(time, from, keyed, terms);
  return sodium_memcmp(expected.data(), cookie.data(), cookie.size()) == 0;
}

}  // namespace strack::udp
