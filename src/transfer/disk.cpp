#include "transfer/disk.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "base/text.h"
#include "transfer/names.h"

namespace strack::transfer {
namespace {

timespec to_timespec(std::int64_t ns) {
  std::int64_t seconds = ns / 1'000'000'000;
  std::int64_t rest = ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

}  // namespace

Verdict failure(std::string_view what, int error) {
  const bool fatal = error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO ||
                     error == EMFILE || error == ENFILE;
  return {fatal ? Outcome::fatal : Outcome::refused,
          fmt::format("{}: {}{}", what, std::strerror(error),
                      error == EMFILE ? " at the receiver; `ulimit -n` raises its limit" : "")};
}

Verdict not_added(std::string_view what, std::string_view path, int error) {
  if (error != EACCES) return failure(what, error);
  const std::size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string_view::npos ? "." : printable(path.substr(0, slash));
  return {
      Outcome::refused,
      fmt::format("the receiver may not write into its folder '{}'; `chmod u+w` on it there, and "
                  "the same command goes on",
                  folder)};
}

std::array<timespec, 2> times(std::int64_t mtime_ns) {
  return {timespec{0, UTIME_NOW}, to_timespec(mtime_ns)};
}

void set_attributes(int fd, const Entry& entry) {
  ::futimens(fd, times(entry.mtime_ns).data());
  ::fchmod(fd, entry.mode);
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool write_all(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool read_all(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::string in_bytes(std::uint64_t size) {
  return size_text(bytes(static_cast<std::int64_t>(size)));
}

}  // namespace strack::transfer
