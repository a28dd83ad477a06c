#include "udp/noise.h"

#include <sodium.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace strack::udp::noise {
namespace {

constexpr std::string_view kName = "Noise_IK_25519_ChaChaPoly_SHA256";
static_assert(kName.size() == std::tuple_size_v<Hash>, "it is the first hash as it stands");
static_assert(crypto_scalarmult_BYTES == 32 && crypto_hash_sha256_BYTES == 32);
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == 32);

constexpr std::size_t kTag = crypto_aead_chacha20poly1305_ietf_ABYTES;

/// Noise's: four zero bytes, then the counter, little endian.
std::array<std::uint8_t, 12> nonce_of(std::uint64_t counter) {
  std::array<std::uint8_t, 12> nonce{};
  for (std::size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<std::uint8_t>(counter >> 8 * i);
  return nonce;
}

Secret hmac(const Secret& key, ConstBytes first, ConstBytes second = {}) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  crypto_auth_hmacsha256_update(&state, first.data(), first.size());
  crypto_auth_hmacsha256_update(&state, second.data(), second.size());
  Secret out;
  crypto_auth_hmacsha256_final(&state, out.data());
  sodium_memzero(&state, sizeof state);
  return out;
}

/// HKDF with two outputs.
void derive(const Secret& chaining, ConstBytes input, Secret& first, Secret& second) {
  constexpr std::uint8_t kOne = 1;
  constexpr std::uint8_t kTwo = 2;
  Secret extracted = hmac(chaining, input);
  first = hmac(extracted, {&kOne, 1});
  second = hmac(extracted, first, {&kTwo, 1});
  sodium_memzero(extracted.data(), extracted.size());
}

}  // namespace

KeyPair KeyPair::from(const Secret& secret) {
  KeyPair pair;
  pair.secret = secret;
  crypto_scalarmult_base(pair.public_key.data(), secret.data());
  return pair;
}
KeyPair::~KeyPair() { sodium_memzero(secret.data(), secret.size()); }

SessionKeys::~SessionKeys() {
  sodium_memzero(initiators.data(), initiators.size());
  sodium_memzero(responders.data(), responders.size());
}

Handshake Handshake::initiator(ConstBytes prologue, const KeyPair& own,
                               const PublicKey& responder) {
  Handshake made(prologue, own, responder);
  made.peer_ = responder;
  return made;
}
Handshake Handshake::responder(ConstBytes prologue, const KeyPair& own) {
  return {prologue, own, own.public_key};
}

Handshake::Handshake(ConstBytes prologue, const KeyPair& own, const PublicKey& responder)
    : own_(own) {
  std::copy(kName.begin(), kName.end(), hash_.begin());
  chaining_ = hash_;
  mix_hash(prologue);
  mix_hash(responder);
}

Handshake::~Handshake() {
  sodium_memzero(chaining_.data(), chaining_.size());
  sodium_memzero(key_.data(), key_.size());
}

void Handshake::mix_hash(ConstBytes bytes) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  crypto_hash_sha256_update(&state, hash_.data(), hash_.size());
  crypto_hash_sha256_update(&state, bytes.data(), bytes.size());
  crypto_hash_sha256_final(&state, hash_.data());
}

void Handshake::mix_key(ConstBytes secret) {
  Secret before = chaining_;
  derive(before, secret, chaining_, key_);
  sodium_memzero(before.data(), before.size());
  counter_ = 0;
}

/// False where the other's point is one of the few that give the same secret to everybody.
bool Handshake::mix_dh(const Secret& secret, const PublicKey& other) {
  Secret shared;
  const bool good = crypto_scalarmult(shared.data(), secret.data(), other.data()) == 0;
  if (good) mix_key(shared);
  sodium_memzero(shared.data(), shared.size());
  return good;
}

void Handshake::seal(ConstBytes plain, MutableBytes out) {
  const auto nonce = nonce_of(counter_++);
  crypto_aead_chacha20poly1305_ietf_encrypt(out.data(), nullptr, plain.data(), plain.size(),
                                            hash_.data(), hash_.size(), nullptr, nonce.data(),
                                            key_.data());
  mix_hash(out.first(plain.size() + kTag));
}

bool Handshake::open(ConstBytes sealed, MutableBytes out) {
  const auto nonce = nonce_of(counter_++);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(out.data(), nullptr, nullptr, sealed.data(),
                                                sealed.size(), hash_.data(), hash_.size(),
                                                nonce.data(), key_.data()) != 0)
    return false;
  mix_hash(sealed);
  return true;
}

bool Handshake::write_first(const Secret& ephemeral, ConstBytes payload, MutableBytes out) {
  STRACK_CHECK_OP(out.size(), >=, payload.size() + kFirstOverhead);
  ephemeral_ = KeyPair::from(ephemeral);
  std::copy(ephemeral_.public_key.begin(), ephemeral_.public_key.end(), out.begin());
  mix_hash(ephemeral_.public_key);                      // e
  if (!mix_dh(ephemeral_.secret, peer_)) return false;  // es
  seal(own_.public_key, out.subspan(32));               // s
  if (!mix_dh(own_.secret, peer_)) return false;        // ss
  seal(payload, out.subspan(kFirstOverhead - kTag));
  return true;
}

bool Handshake::read_first(ConstBytes message, MutableBytes out) {
  if (message.size() != out.size() + kFirstOverhead) return false;
  std::copy_n(message.begin(), 32, peer_ephemeral_.begin());
  mix_hash(peer_ephemeral_);
  if (!mix_dh(own_.secret, peer_ephemeral_)) return false;
  if (!open(message.subspan(32, 32 + kTag), peer_)) return false;
  if (!mix_dh(own_.secret, peer_)) return false;
  return open(message.subspan(kFirstOverhead - kTag), out);
}

bool Handshake::write_second(const Secret& ephemeral, ConstBytes payload, MutableBytes out) {
  STRACK_CHECK_OP(out.size(), >=, payload.size() + kSecondOverhead);
  ephemeral_ = KeyPair::from(ephemeral);
  std::copy(ephemeral_.public_key.begin(), ephemeral_.public_key.end(), out.begin());
  mix_hash(ephemeral_.public_key);                                // e
  if (!mix_dh(ephemeral_.secret, peer_ephemeral_)) return false;  // ee
  if (!mix_dh(ephemeral_.secret, peer_)) return false;            // se
  seal(payload, out.subspan(32));
  return true;
}

bool Handshake::read_second(ConstBytes message, MutableBytes out) {
  if (message.size() != out.size() + kSecondOverhead) return false;
  std::copy_n(message.begin(), 32, peer_ephemeral_.begin());
  mix_hash(peer_ephemeral_);
  if (!mix_dh(ephemeral_.secret, peer_ephemeral_)) return false;
  if (!mix_dh(own_.secret, peer_ephemeral_)) return false;
  return open(message.subspan(32), out);
}

SessionKeys Handshake::finish() const {
  SessionKeys keys;
  derive(chaining_, {}, keys.initiators, keys.responders);
  keys.hash = hash_;
  return keys;
}

}  // namespace strack::udp::noise
