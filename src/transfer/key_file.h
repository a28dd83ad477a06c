// Files with keys, which may be pipes, as of `--key-file <(pass show job)`; but nobody waits for ever for what comes of one.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include "transfer/file_handle.h"

namespace strack::transfer {

/// Between two pieces of it.
inline constexpr std::chrono::milliseconds kPipePatience{5'000};

/// Opens it at once, also a pipe that nobody writes to.
[[nodiscard]] inline FileHandle open_key_file(const std::string& name) {
  return FileHandle(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}
/// As read(2); fails with ETIME where nothing comes.
[[nodiscard]] inline ssize_t read_key_file(int fd, char* into, std::size_t size) {
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(kPipePatience.count()));
    if (ready == 0) errno = ETIME;
    if (ready == 0 || (ready < 0 && errno != EINTR)) return -1;
    const ssize_t got = ready < 0 ? -1 : ::read(fd, into, size);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
  }
}
/// Why it failed, after that.
[[nodiscard]] inline std::string why_no_key() {
  return errno != ETIME
             ? std::strerror(errno)
             : "nothing came of it in five seconds. it takes a plain file, or a pipe that "
               "somebody writes to";
}

}  // namespace strack::transfer
