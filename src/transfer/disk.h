// What the receiver does to a disk, in small: verdicts on what went wrong, whole reads and writes, attributes.
#pragma once

#include <fcntl.h>
#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transfer/store.h"

namespace strack::transfer {

inline constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
inline constexpr int kFileFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// A verdict on an error of the system's. A disk that is full is so for the next file as well.
[[nodiscard]] Verdict failure(std::string_view what, int error);
/// The same for what cannot be added to the folder that `path` is in: mostly one that was finished read-only.
[[nodiscard]] Verdict not_added(std::string_view what, std::string_view path, int error);

/// Now for the access, as given for the modification.
[[nodiscard]] std::array<timespec, 2> times(std::int64_t mtime_ns);
/// Permissions and time. A file system that has none of these is no reason to refuse a file. The permissions
/// are last: a folder that has them is finished.
void set_attributes(int fd, const Entry& entry);

/// False with errno set.
[[nodiscard]] bool write_all(int fd, std::span<const std::byte> bytes, std::uint64_t offset);
/// False also where the file ends before.
[[nodiscard]] bool read_all(int fd, std::span<std::byte> bytes, std::uint64_t offset);

/// "b" of "a/b".
[[nodiscard]] std::string_view last_name(std::string_view path);
/// "12.5 MB".
[[nodiscard]] std::string in_bytes(std::uint64_t size);

}  // namespace strack::transfer
