#include "udp/sealing.h"

#include <sodium.h>

#include <cstring>
#include <vector>

namespace strack::udp {
namespace {

static_assert(crypto_aead_aes256gcm_ABYTES == wire::kTagBytes);
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == wire::kTagBytes);
static_assert(crypto_aead_aes256gcm_NPUBBYTES == std::tuple_size_v<AeadNonce>);
static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == std::tuple_size_v<AeadNonce>);

/// libsodium takes a message in one piece: the payload is brought in first.
struct Body {
  std::uint8_t* data;
  std::size_t size;
};
Body whole_body(const ToSeal& one) {
  if (one.payload_bytes > 0) std::memcpy(one.packet + one.front, one.payload, one.payload_bytes);
  return {one.packet + wire::kSealedHeaderBytes,
          one.front - wire::kSealedHeaderBytes + one.payload_bytes};
}
Body sealed_body(std::span<std::uint8_t> datagram) {
  return {datagram.data() + wire::kSealedHeaderBytes,
          datagram.size() - wire::kSealedHeaderBytes - wire::kTagBytes};
}

class SodiumGcm final : public AeadKey {
 public:
  explicit SodiumGcm(const Secret& key) { crypto_aead_aes256gcm_beforenm(&state_, key.data()); }
  ~SodiumGcm() override { sodium_memzero(&state_, sizeof state_); }

  void seal(std::span<const ToSeal> burst) override {
    for (const ToSeal& one : burst) {
      const auto nonce = nonce_of(one.counter);
      const Body body = whole_body(one);
      crypto_aead_aes256gcm_encrypt_detached_afternm(
          body.data, body.data + body.size, nullptr, body.data, body.size, one.packet,
          wire::kSealedHeaderBytes, nullptr, nonce.data(), &state_);
    }
  }
  bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) override {
    const auto nonce = nonce_of(counter);
    const Body body = sealed_body(datagram);
    return crypto_aead_aes256gcm_decrypt_detached_afternm(
               body.data, nullptr, body.data, body.size, body.data + body.size, datagram.data(),
               wire::kSealedHeaderBytes, nonce.data(), &state_) == 0;
  }

 private:
  crypto_aead_aes256gcm_state state_;
};

class SodiumChaCha final : public AeadKey {
 public:
  explicit SodiumChaCha(const Secret& key) : key_(key) {}
  ~SodiumChaCha() override { sodium_memzero(key_.data(), key_.size()); }

  void seal(std::span<const ToSeal> burst) override {
    for (const ToSeal& one : burst) {
      const auto nonce = nonce_of(one.counter);
      const Body body = whole_body(one);
      crypto_aead_chacha20poly1305_ietf_encrypt_detached(
          body.data, body.data + body.size, nullptr, body.data, body.size, one.packet,
          wire::kSealedHeaderBytes, nullptr, nonce.data(), key_.data());
    }
  }
  bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) override {
    const auto nonce = nonce_of(counter);
    const Body body = sealed_body(datagram);
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
               body.data, nullptr, body.data, body.size, body.data + body.size, datagram.data(),
               wire::kSealedHeaderBytes, nonce.data(), key_.data()) == 0;
  }

 private:
  Secret key_;
};

constexpr SealingLibrary kSodium{
    "libsodium", [](wire::Cipher cipher, const Secret& key) -> std::unique_ptr<AeadKey> {
      if (cipher == wire::kAes256Gcm) return std::make_unique<SodiumGcm>(key);
      return std::make_unique<SodiumChaCha>(key);
    }};

}  // namespace

std::span<const SealingLibrary> sealing_libraries() {
  static const std::vector<SealingLibrary> here = [] {
    std::vector<SealingLibrary> found;
    for (const SealingLibrary* one : {detail::ipsec_mb(), detail::openssl(), &kSodium}) {
      if (one != nullptr) found.push_back(*one);
    }
    return found;
  }();
  return here;
}

const SealingLibrary* find_sealing_library(std::string_view name) {
  for (const SealingLibrary& one : sealing_libraries()) {
    if (name.empty() || one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace strack::udp
