#include "transfer/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "transfer/file_handle.h"
#include "udp/key_file.h"

namespace strack::transfer {
namespace {

/// So that no shared key is taken for one, nor a public key.
constexpr std::string_view kMark = "strack-identity ";
constexpr std::size_t kLongestName = 255;  // that is added; what is in a file counts
constexpr std::size_t kLargestFile = std::size_t{1} << 20;

std::string why(const std::string& what, const std::string& file) {
  return fmt::format("{} {}: {}", what, file, udp::why_no_key());
}

/// To its end. Nothing, and errno, if it cannot be read or is too large.
std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 4096> some;
  ssize_t got = 0;
  const udp::KeyFileReader reader(fd);
  do {
    got = reader.read(some.data(), some.size());
    if (got > 0) text.append(some.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargestFile) {
      errno = EFBIG;
      got = -1;
    }
  } while (got > 0 || (got < 0 && errno == EINTR));
  ::explicit_bzero(some.data(), some.size());
  if (got == 0) return text;
  ::explicit_bzero(text.data(), text.size());
  return std::nullopt;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return ::fsync(fd) == 0;
}

/// What is wrong with it, if anything.
std::optional<std::string> wrong_with(std::string_view name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isgraph(static_cast<unsigned char>(c)) != 0 && c != '#';
  });
  if (name.empty() || !good)
    return fmt::format("name \"{}\": it takes printable characters without spaces and #",
                       printable(name));
  if (udp::parse_key(name) || udp::parse_public_key(name))
    return fmt::format("name \"{}\" is a key itself, and --peer would not know which is meant",
                       name);
  return std::nullopt;
}

Result<std::vector<TrustedPeer>, std::string> parse_trusted(const std::string& file,
                                                            std::string_view text) {
  std::vector<TrustedPeer> peers;
  std::unordered_map<std::string, std::size_t> lines;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line = line.substr(0, std::min(line.find('#'), line.size()));
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) continue;
    line.remove_prefix(start);
    const std::size_t name_end = std::min(line.find_first_of(" \t\r"), line.size());
    const std::string name(line.substr(0, name_end));
    const auto key = udp::parse_public_key(
        line.substr(std::min(line.find_first_not_of(" \t\r", name_end), line.size())));
    if (!key)
      return fmt::format("{}:{}: {}. a line is NAME PUBLICKEY, as `strack key trust` writes it",
                         file, number, key.error().text);
    if (const auto wrong = wrong_with(name)) return fmt::format("{}:{}: {}", file, number, *wrong);
    const auto [other, is_new] = lines.emplace(name, number);
    if (!is_new)
      return fmt::format("{}:{}: {} has a key in line {} already. give one of them another name",
                         file, number, name, other->second);
    peers.push_back({name, key.value()});
  }
  return peers;
}

}  // namespace

Identity::~Identity() { ::explicit_bzero(secret.data(), secret.size()); }

Result<udp::Key, std::string> new_identity(const std::string& file) {
  const FileHandle handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!handle)
    return errno == EEXIST
               ? fmt::format(
                     "{} is there already, and an identity is not replaced. give another "
                     "name, or remove it if nobody trusts it any more",
                     file)
               : why("identity", file);
  udp::Key secret = udp::new_key();
  std::string text = fmt::format("{}{}\n", kMark, udp::key_text(secret));
  const bool written = ::fchmod(handle.get(), 0600) == 0 && write_all(handle.get(), text);
  ::explicit_bzero(text.data(), text.size());
  const udp::Key known = udp::public_key(secret);
  ::explicit_bzero(secret.data(), secret.size());
  if (!written) {
    const std::string problem = why("identity", file);
    ::unlink(file.c_str());
    return problem;
  }
  return known;
}

Result<Identity, std::string> read_identity(const std::string& file) {
  const FileHandle handle(udp::open_key_file(file));
  if (!handle) return fmt::format("{}. `strack key new {}` makes one", why("identity", file), file);
  auto text = read_all(handle.get());
  if (!text) return why("identity", file);
  if (!text->starts_with(kMark))
    return fmt::format(
        "{} is no identity. `strack key new FILE` makes one; a shared key goes with "
        "--key-file",
        file);
  auto key = udp::parse_key(std::string_view(*text).substr(kMark.size()));
  ::explicit_bzero(text->data(), text->size());
  if (!key)
    return fmt::format(
        "identity {}: behind its mark are 64 hexadecimal digits where it is whole, as `strack key "
        "new` writes it. was it cut off? remove it, and `strack key new {}` makes another",
        file, file);
  struct stat found {};
  const bool is_file = ::fstat(handle.get(), &found) == 0 && S_ISREG(found.st_mode);
  Identity identity{key.value(), is_file ? found.st_mode & 0777u : 0u};
  ::explicit_bzero(key.value().data(), key.value().size());
  return identity;
}

Result<std::vector<TrustedPeer>, std::string> read_trusted(const std::string& file) {
  const FileHandle handle(udp::open_key_file(file));
  if (!handle)
    return fmt::format("{}. `strack key trust {} NAME PUBLICKEY` makes one",
                       why("trusted peers", file), file);
  const auto text = read_all(handle.get());
  if (!text) return why("trusted peers", file);
  return parse_trusted(file, *text);
}

Result<bool, std::string> trust(const std::string& file, std::string_view name,
                                const udp::Key& key) {
  if (const auto wrong = wrong_with(name)) return *wrong;
  if (name.size() > kLongestName)
    return fmt::format("the name has {} characters: it takes {} at most", name.size(),
                       kLongestName);
  const FileHandle handle(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  // Two who add the same name at once must not both find that it is not there.
  if (!handle || ::flock(handle.get(), LOCK_EX) != 0) return why("trusted peers", file);
  const auto text = read_all(handle.get());
  if (!text) return why("trusted peers", file);
  const auto peers = parse_trusted(file, *text);
  if (!peers) return peers.error();
  for (const TrustedPeer& peer : peers.value()) {
    if (peer.name == name && peer.key == key) return false;
    if (peer.name == name)
      return fmt::format(
          "{} has another key for {}: {}. remove that line first, if it is to go, or give this one "
          "another name",
          file, name, udp::key_text(peer.key));
  }
  // Somebody's editor may have left the last line without its end.
  const bool ends = text->empty() || text->back() == '\n';
  const std::string line = fmt::format("{}{} {}\n", ends ? "" : "\n", name, udp::key_text(key));
  if (text->size() + line.size() > kLargestFile) {
    errno = EFBIG;
    return why("trusted peers", file);
  }
  if (!write_all(handle.get(), line)) return why("trusted peers", file);
  return true;
}

}  // namespace strack::transfer
