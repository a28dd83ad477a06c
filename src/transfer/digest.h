// Checksums of files: BLAKE2b of every block, and of all of these together.
//
// A file's digest is BLAKE2b-256 over its size (8 bytes, network order) and the BLAKE2b-256 of its blocks
// in order. So a block can be checked on its own, in any order, and a resumed transfer needs no
// second look at the bytes that it keeps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "transfer/messages.h"

namespace strack::transfer {

[[nodiscard]] Digest block_digest(std::span<const std::byte> block);
[[nodiscard]] Digest file_digest(std::uint64_t size, std::span<const Digest> blocks);
/// What a path is known by where its length must not matter.
using PathKey = std::array<std::uint8_t, 16>;
[[nodiscard]] PathKey path_key(std::string_view path);
struct PathKeyHash {
  std::size_t operator()(const PathKey& key) const;
};
/// A file name for any path: its key as 32 hexadecimal digits.
[[nodiscard]] std::string path_id(std::string_view path);
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);

}  // namespace strack::transfer
