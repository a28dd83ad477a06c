#include "transfer/rotate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "transfer/file_handle.h"
#include "transfer/identity.h"
#include "transfer/protection.h"

namespace strack::transfer {
namespace {

using Made = std::optional<udp::Key>;

std::string next_of(const std::string& file) { return file + std::string(kOtherKeys[0]); }
std::string last_of(const std::string& file) { return file + std::string(kOtherKeys[1]); }

bool is_there(const std::string& file) {
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0;
}

/// Of a link the old key would stay where it leads.
std::optional<std::string> is_link(const std::string& file) {
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return std::nullopt;
  return fmt::format("{} is a symbolic link: name the file that it leads to", file);
}

std::string still_there(const std::string& file) {
  return fmt::format(
      "{} is there: an earlier change has not come to its end. `strack key rotate {} --end` ends "
      "it, when nobody uses that key any more",
      last_of(file), file);
}

/// The public key of an identity, nothing for a shared key. Or what is wrong.
Result<Made, std::string> look_at(const std::string& file) {
  if (const auto identity = read_identity(file))
    return Made(udp::public_key(identity.value().secret));
  udp::EndpointOptions wiped;
  if (const auto read = read_shared_key(file, wiped.key); !read) return read.error();
  return Made();
}

Result<Made, std::string> write_shared(const std::string& file) {
  const FileHandle handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  udp::EndpointOptions wiped;
  wiped.key = udp::new_key();
  std::string text = udp::key_text(*wiped.key) + "\n";
  const bool written =
      handle &&
      ::write(handle.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(handle.get()) == 0;
  ::explicit_bzero(text.data(), text.size());
  if (written) return Made();
  const std::string problem = fmt::format("key file {}: {}", file, std::strerror(errno));
  if (handle) ::unlink(file.c_str());
  return problem;
}

}  // namespace

Result<Made, std::string> begin_rotation(const std::string& file) {
  if (const auto problem = is_link(file)) return *problem;
  const auto kind = look_at(file);
  if (!kind) return kind.error();
  if (is_there(last_of(file))) return still_there(file);
  if (is_there(next_of(file)))
    return fmt::format(
        "{} is there already. `strack key rotate {} --use` uses it, when all who need it have it",
        next_of(file), file);
  if (!kind.value()) return write_shared(next_of(file));
  const auto made = new_identity(next_of(file));
  if (!made) return made.error();
  return Made(made.value());
}

Result<Made, std::string> use_next_key(const std::string& file) {
  if (const auto problem = is_link(file)) return *problem;
  const auto kind = look_at(file);
  if (!kind) return kind.error();
  if (is_there(last_of(file))) return still_there(file);
  if (!is_there(next_of(file)))
    return fmt::format("there is no {}. `strack key rotate {}` makes it", next_of(file), file);
  auto next = look_at(next_of(file));
  if (!next) return next.error();
  if (next.value().has_value() != kind.value().has_value())
    return fmt::format("{} is a key of another kind than {}", next_of(file), file);
  if (::link(file.c_str(), last_of(file).c_str()) != 0)
    return fmt::format("{}: {}", last_of(file), std::strerror(errno));
  if (::rename(next_of(file).c_str(), file.c_str()) != 0) {
    const std::string problem = fmt::format("{}: {}", file, std::strerror(errno));
    ::unlink(last_of(file).c_str());
    return problem;
  }
  return next;
}

std::optional<std::string> end_rotation(const std::string& file) {
  const auto kind = look_at(file);  // not to throw away the only one
  if (!kind) return kind.error();
  if (::unlink(last_of(file).c_str()) == 0) return std::nullopt;
  return errno == ENOENT ? fmt::format(
                               "there is no {}: no change of {} is under way, or the new "
                               "key is not used yet (--use)",
                               last_of(file), file)
                         : fmt::format("{}: {}", last_of(file), std::strerror(errno));
}

}  // namespace strack::transfer
