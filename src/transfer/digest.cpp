#include "transfer/digest.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"

namespace strack::transfer {

Digest block_digest(std::span<const std::byte> block) {
  STRACK_CHECK(sodium_init() >= 0);
  Digest digest;
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(block.data()), block.size(), nullptr,
                     0);
  return digest;
}

Digest file_digest(std::uint64_t size, std::span<const Digest> blocks) {
  STRACK_CHECK(sodium_init() >= 0);
  std::array<std::uint8_t, 8> head;
  for (std::size_t i = 0; i < head.size(); ++i)
    head[i] = static_cast<std::uint8_t>(size >> (56 - 8 * i));
  Digest digest;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, digest.size());
  crypto_generichash_update(&state, head.data(), head.size());
  for (const Digest& block : blocks) crypto_generichash_update(&state, block.data(), block.size());
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

PathKey path_key(std::string_view path) {
  STRACK_CHECK(sodium_init() >= 0);
  PathKey key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(path.data()),
                     path.size(), nullptr, 0);
  return key;
}

std::size_t PathKeyHash::operator()(const PathKey& key) const {
  std::size_t hash = 0;
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

std::string path_id(std::string_view path) { return hex(path_key(path)); }

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();  // the end of a C string
  return text;
}

}  // namespace strack::transfer
