// Parts of a file that take no room on its disk, and read as zeros.
#pragma once

#include <cstdint>

#include "transfer/messages.h"

namespace strack::transfer {

/// All of it. False also where the file system cannot say.
[[nodiscard]] bool is_hole(int fd, std::uint64_t offset, std::uint64_t length);
/// Makes it one. False where the file system cannot; then its bytes are as they were.
[[nodiscard]] bool make_hole(int fd, std::uint64_t offset, std::uint64_t length);
/// Of a block of zeros, without reading them.
[[nodiscard]] Digest zero_digest(std::uint32_t length);

}  // namespace strack::transfer
