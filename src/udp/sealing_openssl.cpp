// OpenSSL 3, loaded by programs that find it; its headers are needed to build this.
#include "udp/sealing.h"

#if __has_include(<openssl/evp.h>)

#include <dlfcn.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/shared_library.h"

namespace strack::udp {
namespace {

constexpr std::size_t kHeader = wire::kSealedHeaderBytes;

struct Functions {
  decltype(&EVP_aes_256_gcm) aes_256_gcm = nullptr;
  decltype(&EVP_chacha20_poly1305) chacha20_poly1305 = nullptr;
  decltype(&EVP_CIPHER_CTX_new) make = nullptr;
  decltype(&EVP_CIPHER_CTX_free) free = nullptr;  ///< wipes it
  decltype(&EVP_CipherInit_ex) init = nullptr;
  decltype(&EVP_CipherUpdate) update = nullptr;
  decltype(&EVP_CipherFinal_ex) final = nullptr;
  decltype(&EVP_CIPHER_CTX_ctrl) control = nullptr;
};
Functions evp;

class EvpKey final : public AeadKey {
 public:
  EvpKey(wire::Cipher cipher, const Secret& key) : context_(evp.make()) {
    STRACK_CHECK(context_ != nullptr);
    const bool aes = cipher == wire::kAes256Gcm;
    STRACK_CHECK(evp.init(context_, aes ? evp.aes_256_gcm() : evp.chacha20_poly1305(), nullptr,
                          key.data(), nullptr, 1) == 1);
  }
  ~EvpKey() override { evp.free(context_); }

  void seal(std::span<const ToSeal> burst) override {
    for (const ToSeal& one : burst) {
      std::uint8_t* body = one.packet + kHeader;
      std::uint8_t* rest = one.packet + one.front;
      const bool done =
          begin(one.packet, one.counter, 1) && update(body, body, one.front - kHeader) &&
          update(rest, one.payload, one.payload_bytes) && end(rest) &&
          evp.control(context_, EVP_CTRL_AEAD_GET_TAG, wire::kTagBytes, rest + one.payload_bytes) ==
              1;
      STRACK_CHECK(done);
    }
  }
  bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) override {
    std::uint8_t* body = datagram.data() + kHeader;
    const std::size_t size = datagram.size() - kHeader - wire::kTagBytes;
    return begin(datagram.data(), counter, 0) && update(body, body, size) &&
           evp.control(context_, EVP_CTRL_AEAD_SET_TAG, wire::kTagBytes, body + size) == 1 &&
           end(body);
  }

 private:
  bool begin(const std::uint8_t* header, std::uint64_t counter, int encrypt) {
    const auto nonce = nonce_of(counter);
    int n = 0;
    return evp.init(context_, nullptr, nullptr, nullptr, nonce.data(), encrypt) == 1 &&
           evp.update(context_, nullptr, &n, header, kHeader) == 1;
  }
  bool update(std::uint8_t* out, const std::uint8_t* in, std::size_t size) {
    int n = 0;
    return size == 0 || evp.update(context_, out, &n, in, static_cast<int>(size)) == 1;
  }
  /// Checks the tag where there is one. There is nothing left to write.
  bool end(std::uint8_t* nowhere) {
    int n = 0;
    return evp.final(context_, nowhere, &n) == 1;
  }

  EVP_CIPHER_CTX* context_;
};

/// A library whose configuration leaves out what its ciphers need has all functions, and they fail.
bool works() {
  const Secret key{};
  EVP_CIPHER_CTX* const trial = evp.make();
  if (trial == nullptr) return false;
  const bool both = evp.init(trial, evp.aes_256_gcm(), nullptr, key.data(), nullptr, 1) == 1 &&
                    evp.init(trial, evp.chacha20_poly1305(), nullptr, key.data(), nullptr, 1) == 1;
  evp.free(trial);
  return both;
}

bool load() {
  const auto opened = open_library("libcrypto.so.3");
  if (!opened) return false;
  void* const library = opened.value();
  bool all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    all = all && function != nullptr;
  };
  find(evp.aes_256_gcm, "EVP_aes_256_gcm");
  find(evp.chacha20_poly1305, "EVP_chacha20_poly1305");
  find(evp.make, "EVP_CIPHER_CTX_new");
  find(evp.free, "EVP_CIPHER_CTX_free");
  find(evp.init, "EVP_CipherInit_ex");
  find(evp.update, "EVP_CipherUpdate");
  find(evp.final, "EVP_CipherFinal_ex");
  find(evp.control, "EVP_CIPHER_CTX_ctrl");
  return all && works();
}

constexpr SealingLibrary kOpenssl{
    "openssl", [](wire::Cipher cipher, const Secret& key) -> std::unique_ptr<AeadKey> {
      return std::make_unique<EvpKey>(cipher, key);
    }};

}  // namespace

const SealingLibrary* detail::openssl() { return load() ? &kOpenssl : nullptr; }

}  // namespace strack::udp

#else

namespace strack::udp {
const SealingLibrary* detail::openssl() { return nullptr; }
}  // namespace strack::udp

#endif
