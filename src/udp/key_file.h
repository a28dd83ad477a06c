// Files with keys, which may be pipes, as of `--key-file <(pass show job)`; but nobody waits for ever for what comes of one.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace strack::udp {

/// How long who reads one waits for what comes of it, altogether.
inline constexpr std::chrono::seconds kKeyFilePatience{5};

/// One that is read to its end, or until it has what it wants, or until that time is over.
class KeyFileReader {
 public:
  explicit KeyFileReader(int fd) : fd_(fd) {}
  /// As read(2); fails with ETIME where nothing comes.
  [[nodiscard]] ssize_t read(char* into, std::size_t size) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now());
      pollfd waiting{fd_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, std::max(0, static_cast<int>(left.count())));
      if (ready == 0) errno = ETIME;
      if (ready == 0 || (ready < 0 && errno != EINTR)) return -1;
      const ssize_t got = ready < 0 ? -1 : ::read(fd_, into, size);
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  int fd_;
  Clock::time_point until_ = Clock::now() + kKeyFilePatience;
};

/// Opens it at once, also a pipe that nobody writes to; as open(2).
[[nodiscard]] inline int open_key_file(const std::string& name) {
  return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}
/// The first word in it. For whoever holds up others meanwhile: a little is read, and not for long. Nothing, and
/// errno, where that fails.
[[nodiscard]] inline std::optional<std::string> first_word_of(const std::string& file) {
  const int fd = open_key_file(file);
  if (fd < 0) return std::nullopt;
  const KeyFileReader reader(fd);
  std::array<char, 4'096> text;
  std::size_t length = 0;
  std::size_t end = std::string_view::npos;
  std::size_t begin = end;
  ssize_t got = 1;
  constexpr const char* kSpaces = " \t\r\n";
  while (got > 0 && end == std::string_view::npos && length < text.size()) {
    got = reader.read(&text[length], text.size() - length);
    length += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    const std::string_view all(text.data(), length);
    begin = all.find_first_not_of(kSpaces);
    end = begin == all.npos ? begin : all.find_first_of(kSpaces, begin);
  }
  const int error = errno;
  ::close(fd);
  std::optional<std::string> word;
  if (got >= 0 && begin == std::string_view::npos) word.emplace();
  if (got >= 0 && !word) word.emplace(&text[begin], std::min(end, length) - begin);
  ::explicit_bzero(text.data(), text.size());
  errno = error;
  return word;
}
/// Why it failed, after that.
[[nodiscard]] inline std::string why_no_key() {
  return errno != ETIME
             ? std::strerror(errno)
             : "nothing came of it in five seconds. it takes a plain file, or a pipe that "
               "somebody writes to";
}

}  // namespace strack::udp
