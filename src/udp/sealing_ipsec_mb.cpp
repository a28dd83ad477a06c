// Intel's Multi-Buffer Crypto for IPsec: a packet's blocks in AVX-512 registers, four at a time. Its header
// is needed to build this, the library itself is loaded by programs that find it.
#include "udp/sealing.h"

#if __has_include(<intel-ipsec-mb.h>)

#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <sodium.h>

#include "base/shared_library.h"

namespace strack::udp {
namespace {

constexpr std::size_t kHeader = wire::kSealedHeaderBytes;

/// Only the functions in it are used, which hold no state: threads can share it.
const IMB_MGR* manager = nullptr;

class IpsecGcm final : public AeadKey {
 public:
  explicit IpsecGcm(const Secret& key) { IMB_AES256_GCM_PRE(manager, key.data(), &key_); }
  ~IpsecGcm() override { sodium_memzero(&key_, sizeof key_); }

  void seal(std::span<const ToSeal> burst) override {
    gcm_context_data context;
    for (const ToSeal& one : burst) {
      const auto nonce = nonce_of(one.counter);
      std::uint8_t* body = one.packet + kHeader;
      std::uint8_t* rest = one.packet + one.front;
      std::uint8_t* tag = rest + one.payload_bytes;
      IMB_AES256_GCM_INIT(manager, &key_, &context, nonce.data(), one.packet, kHeader);
      IMB_AES256_GCM_ENC_UPDATE(manager, &key_, &context, body, body, one.front - kHeader);
      IMB_AES256_GCM_ENC_UPDATE(manager, &key_, &context, rest, one.payload, one.payload_bytes);
      IMB_AES256_GCM_ENC_FINALIZE(manager, &key_, &context, tag, wire::kTagBytes);
    }
    sodium_memzero(&context, sizeof context);
  }
  bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) override {
    const auto nonce = nonce_of(counter);
    std::uint8_t* body = datagram.data() + kHeader;
    const std::size_t size = datagram.size() - kHeader - wire::kTagBytes;
    gcm_context_data context;
    wire::Mac tag;
    IMB_AES256_GCM_DEC(manager, &key_, &context, body, body, size, nonce.data(), datagram.data(),
                       kHeader, tag.data(), tag.size());
    sodium_memzero(&context, sizeof context);
    return sodium_memcmp(tag.data(), body + size, tag.size()) == 0;
  }

 private:
  alignas(64) gcm_key_data key_;
};

class IpsecChaCha final : public AeadKey {
 public:
  explicit IpsecChaCha(const Secret& key) : key_(key) {}
  ~IpsecChaCha() override { sodium_memzero(key_.data(), key_.size()); }

  void seal(std::span<const ToSeal> burst) override {
    chacha20_poly1305_context_data context;
    for (const ToSeal& one : burst) {
      const auto nonce = nonce_of(one.counter);
      std::uint8_t* body = one.packet + kHeader;
      std::uint8_t* rest = one.packet + one.front;
      std::uint8_t* tag = rest + one.payload_bytes;
      IMB_CHACHA20_POLY1305_INIT(manager, key_.data(), &context, nonce.data(), one.packet, kHeader);
      IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, key_.data(), &context, body, body,
                                       one.front - kHeader);
      IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, key_.data(), &context, rest, one.payload,
                                       one.payload_bytes);
      IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager, &context, tag, wire::kTagBytes);
    }
    sodium_memzero(&context, sizeof context);
  }
  bool open(std::span<std::uint8_t> datagram, std::uint64_t counter) override {
    const auto nonce = nonce_of(counter);
    std::uint8_t* body = datagram.data() + kHeader;
    const std::size_t size = datagram.size() - kHeader - wire::kTagBytes;
    chacha20_poly1305_context_data context;
    wire::Mac tag;
    IMB_CHACHA20_POLY1305_INIT(manager, key_.data(), &context, nonce.data(), datagram.data(),
                               kHeader);
    IMB_CHACHA20_POLY1305_DEC_UPDATE(manager, key_.data(), &context, body, body, size);
    IMB_CHACHA20_POLY1305_DEC_FINALIZE(manager, &context, tag.data(), tag.size());
    sodium_memzero(&context, sizeof context);
    return sodium_memcmp(tag.data(), body + size, tag.size()) == 0;
  }

 private:
  Secret key_;
};

/// Null: it is not here, or has no use for this processor.
const IMB_MGR* load() {
  const auto opened = open_library("libIPSec_MB.so.1");
  if (!opened) return nullptr;
  void* const library = opened.value();
  const auto version =
      reinterpret_cast<decltype(&imb_get_version)>(dlsym(library, "imb_get_version"));
  const auto make = reinterpret_cast<decltype(&alloc_mb_mgr)>(dlsym(library, "alloc_mb_mgr"));
  const auto start =
      reinterpret_cast<decltype(&init_mb_mgr_auto)>(dlsym(library, "init_mb_mgr_auto"));
  // An older one than it was built for may lack functions in its table.
  if (version == nullptr || make == nullptr || start == nullptr || version() < IMB_VERSION_NUM)
    return nullptr;
  IMB_MGR* made = make(0);
  if (made == nullptr) return nullptr;
  start(made, nullptr);
  return detail::ipsec_mb_is_usable(made->features) ? made : nullptr;
}

constexpr SealingLibrary kIpsecMb{
    "ipsec-mb", [](wire::Cipher cipher, const Secret& key) -> std::unique_ptr<AeadKey> {
      if (cipher == wire::kAes256Gcm) return std::make_unique<IpsecGcm>(key);
      return std::make_unique<IpsecChaCha>(key);
    }};

}  // namespace

bool detail::ipsec_mb_is_usable(std::uint64_t features) {
  constexpr std::uint64_t kHardware = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
  if ((features & kHardware) != kHardware) return false;
  return (features & IMB_FEATURE_SELF_TEST) == 0 || (features & IMB_FEATURE_SELF_TEST_PASS) != 0;
}

const SealingLibrary* detail::ipsec_mb() {
  manager = load();
  return manager == nullptr ? nullptr : &kIpsecMb;
}

}  // namespace strack::udp

#else

namespace strack::udp {
bool detail::ipsec_mb_is_usable(std::uint64_t /*features*/) { return false; }
const SealingLibrary* detail::ipsec_mb() { return nullptr; }
}  // namespace strack::udp

#endif
