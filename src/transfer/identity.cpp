#include "transfer/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "transfer/file_handle.h"

namespace strack::transfer {
namespace {

/// So that no shared key is taken for one, nor a public key.
constexpr std::string_view kMark = "strack-identity ";
constexpr std::size_t kLargestFile = std::size_t{1} << 20;

std::string why(const std::string& what, const std::string& file) {
  return fmt::format("{} {}: {}", what, file, std::strerror(errno));
}

std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 4096> some;
  while (text.size() < kLargestFile) {
    const ssize_t got = ::read(fd, some.data(), some.size());
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(some.data(), static_cast<std::size_t>(got));
  }
  ::explicit_bzero(some.data(), some.size());
  return text;
}

bool write_all(int fd, std::string_view text) {
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(fd) == 0;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.front() != '#' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isgraph(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

Result<udp::Key, std::string> new_identity(const std::string& file) {
  const FileHandle handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!handle)
    return errno == EEXIST
               ? fmt::format(
                     "{} is there already, and an identity is not replaced. give another "
                     "name, or remove it if nobody trusts it any more",
                     file)
               : why("identity", file);
  const udp::Key secret = udp::new_key();
  std::string text = fmt::format("{}{}\n", kMark, udp::key_text(secret));
  const bool written = ::fchmod(handle.get(), 0600) == 0 && write_all(handle.get(), text);
  ::explicit_bzero(text.data(), text.size());
  if (!written) {
    const std::string problem = why("identity", file);
    ::unlink(file.c_str());
    return problem;
  }
  return udp::public_key(secret);
}

Result<Identity, std::string> read_identity(const std::string& file) {
  const FileHandle handle(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!handle) return fmt::format("{}. `strack key new {}` makes one", why("identity", file), file);
  auto text = read_all(handle.get());
  if (!text) return why("identity", file);
  if (!text->starts_with(kMark))
    return fmt::format(
        "{} is no identity. `strack key new FILE` makes one; a shared key goes with "
        "--key-file",
        file);
  const auto key = udp::parse_key(std::string_view(*text).substr(kMark.size()));
  ::explicit_bzero(text->data(), text->size());
  if (!key) return fmt::format("identity {}: {}", file, key.error().text);
  struct stat found {};
  const bool open_to_others =
      ::fstat(handle.get(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 077) != 0;
  return Identity{key.value(), open_to_others};
}

Result<std::vector<TrustedPeer>, std::string> read_trusted(const std::string& file) {
  const FileHandle handle(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!handle)
    return fmt::format("{}. `strack key trust {} NAME PUBLICKEY` makes one",
                       why("trusted peers", file), file);
  const auto text = read_all(handle.get());
  if (!text) return why("trusted peers", file);
  std::vector<TrustedPeer> peers;
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line = line.substr(0, std::min(line.find('#'), line.size()));
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) continue;
    line.remove_prefix(start);
    const std::size_t name_end = std::min(line.find_first_of(" \t\r"), line.size());
    const auto key = udp::parse_key(line.substr(name_end));
    if (!key)
      return fmt::format("{}:{}: {}. a line is NAME PUBLICKEY, as `strack key trust` writes it",
                         file, number, key.error().text);
    peers.push_back({std::string(line.substr(0, name_end)), key.value()});
  }
  return peers;
}

Result<bool, std::string> trust(const std::string& file, std::string_view name,
                                const udp::Key& key) {
  if (!is_name(name))
    return fmt::format("name \"{}\": it takes printable characters without spaces, and no # first",
                       name);
  if (::access(file.c_str(), F_OK) == 0) {
    const auto peers = read_trusted(file);
    if (!peers) return peers.error();
    for (const TrustedPeer& peer : peers.value()) {
      if (peer.name == name && peer.key == key) return false;
      if (peer.name == name)
        return fmt::format("{} has another key for {}: {}. remove that line first, if it is to go",
                           file, name, udp::key_text(peer.key));
    }
  }
  const FileHandle handle(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!handle) return why("trusted peers", file);
  // Somebody's editor may have left the last line without its end.
  char last = '\n';
  const off_t size = ::lseek(handle.get(), 0, SEEK_END);
  if (size > 0 && ::pread(handle.get(), &last, 1, size - 1) != 1) return why("trusted peers", file);
  const std::string line =
      fmt::format("{}{} {}\n", last == '\n' ? "" : "\n", name, udp::key_text(key));
  if (!write_all(handle.get(), line)) return why("trusted peers", file);
  return true;
}

}  // namespace strack::transfer
