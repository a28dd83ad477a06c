#include "transfer/protection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "transfer/file_handle.h"
#include "transfer/identity.h"
#include "udp/key_file.h"

namespace strack::transfer {
namespace {

constexpr std::string_view kRemedy =
    "give both sides the same key with --key-file (`strack key` makes one), or each its own with "
    "--identity (`strack key new`), or allow anybody with --insecure";

using Warning = std::optional<std::string>;
constexpr std::size_t kKeyDigits = 64;

Warning warn_of_readers(const char* what, const std::string& name, unsigned mode) {
  return fmt::format("{} {} can be read by others (mode {:o}). `chmod 600 {}` keeps it secret",
                     what, name, mode & 0777, name);
}

/// Who can write there can let anybody in.
Warning warn_of_writers(const std::string& name) {
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || (found.st_mode & 022) == 0)
    return std::nullopt;
  return fmt::format(
      "trusted peers {} can be changed by others (mode {:o}). `chmod go-w {}` keeps it yours", name,
      found.st_mode & 0777, name);
}

bool is_there(const std::string& name) {
  struct stat found {};
  return ::lstat(name.c_str(), &found) == 0;
}

/// Nothing is read of what has to be waited for, such as a FIFO: it would hold up every connection.
std::optional<std::string> not_plain(const std::string& name) {
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0)
    return fmt::format("key file {}: {}", name, std::strerror(errno));
  if (S_ISREG(found.st_mode)) return std::nullopt;
  return fmt::format("key file {}: it is no plain file", name);
}

Warning both(const Warning& first, const Warning& second) {
  if (!first || !second) return first ? first : second;
  return *first + ". " + *second;
}

/// [D95] A key of this host's own, and those of others.
Result<Warning, std::string> protect_by_identity(const Protection& protection,
                                                 udp::EndpointOptions& options, bool again) {
  const std::string& name = protection.identity_file;
  if (!protection.key_file.empty() || protection.insecure)
    return fmt::format("--identity {} and {} contradict each other: give one of them", name,
                       protection.insecure ? "--insecure" : "--key-file");
  auto identity = read_identity(name);
  if (!identity) return identity.error();
  options.identity = identity.value().secret;
  ::explicit_bzero(identity.value().secret.data(), identity.value().secret.size());
  Warning warning;
  if (identity.value().readable_by_others())
    warning = warn_of_readers("identity", name, identity.value().mode);
  for (std::size_t i = 0; i < kOtherKeys.size(); ++i) {
    const std::string other_name = name + std::string(kOtherKeys[i]);
    if (!is_there(other_name)) continue;
    auto other = not_plain(other_name) ? Result<Identity, std::string>(*not_plain(other_name))
                                       : read_identity(other_name);
    if (!other && again) return other.error();
    if (!other) {  // half copied, perhaps: whoever connects does not need it
      warning = both(warning, other.error());
      continue;
    }
    options.other_keys[i] = other.value().secret;
    if (other.value().readable_by_others())
      warning = both(warning, warn_of_readers("identity", other_name, other.value().mode));
  }
  options.trusted.clear();
  std::vector<TrustedPeer> peers;
  if (!protection.trust_file.empty()) {
    auto read = read_trusted(protection.trust_file);
    if (!read) return read.error();
    peers = std::move(read.value());
    if (peers.empty() && protection.peer.empty() && !again)
      return fmt::format(
          "--trust {}: there is no key in it, so nobody could connect. `strack key trust {} NAME "
          "PUBLICKEY` adds one",
          protection.trust_file, protection.trust_file);
    for (const TrustedPeer& peer : peers) options.trusted.push_back(peer.key);
  }
  if (!protection.peer.empty()) {
    const auto named = std::find_if(peers.begin(), peers.end(), [&](const TrustedPeer& peer) {
      return peer.name == protection.peer;
    });
    const auto key = udp::parse_public_key(protection.peer);
    if (named == peers.end() && !key)
      return protection.trust_file.empty()
                 ? fmt::format("--peer {}: {}. for a name give the file that has it with --trust",
                               protection.peer, key.error().text)
                 : fmt::format(
                       "--peer {}: {} has no peer {}. `strack key trust {} {} PUBLICKEY` adds "
                       "it",
                       protection.peer, protection.trust_file, protection.peer,
                       protection.trust_file, protection.peer);
    options.peer = named != peers.end() ? named->key : key.value();
  }
  return both(warning, warn_of_writers(protection.trust_file));
}

}  // namespace

Result<std::optional<std::string>, std::string> read_shared_key(const std::string& name,
                                                                std::optional<udp::Key>& out) {
  const bool typed = name == "-";
  const FileHandle file =
      typed ? FileHandle(::dup(STDIN_FILENO)) : FileHandle(udp::open_key_file(name));
  if (!file)
    return fmt::format("key file {}: {}. `strack key > {}` makes one", name, std::strerror(errno),
                       name);
  std::array<char, 4096> text;
  // A pipe may bring it in pieces, and stay open after it.
  const udp::KeyFileReader reader(file.get());
  std::size_t length = 0;
  while (length < text.size() &&
         std::string_view(text.data(), length).find('\n', kKeyDigits) == std::string_view::npos) {
    char* const into = text.data() + length;
    const ssize_t count = typed ? ::read(file.get(), into, text.size() - length)
                                : reader.read(into, text.size() - length);
    if (count < 0) return fmt::format("key file {}: {}", name, udp::why_no_key());
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  auto key = udp::parse_key({text.data(), length});
  ::explicit_bzero(text.data(), text.size());
  if (!key) return fmt::format("key file {}: {}", name, key.error().text);
  out = key.value();
  ::explicit_bzero(key.value().data(), key.value().size());
  struct stat found {};
  if (::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 077) != 0)
    return warn_of_readers("key file", name, found.st_mode);
  return Warning();
}

Result<std::optional<std::string>, std::string> protect(const Protection& protection,
                                                        udp::EndpointOptions& options, bool again) {
  options.insecure = protection.insecure;
  options.other_keys = {};
  if (!protection.identity_file.empty()) return protect_by_identity(protection, options, again);
  if (!protection.trust_file.empty() || !protection.peer.empty())
    return fmt::format(
        "{} without --identity: who knows others by their keys needs one, too. `strack "
        "key new FILE` makes it",
        protection.peer.empty() ? "--trust" : "--peer");
  if (protection.key_file.empty()) return std::optional<std::string>();
  const std::string& name = protection.key_file;
  if (protection.insecure)
    return fmt::format("--key-file {} and --insecure contradict each other: give one of them",
                       name);
  // Who has connections waits for nothing.
  if (const auto wrong = again && name != "-" ? not_plain(name) : std::nullopt) return *wrong;
  auto warning = read_shared_key(name, options.key);
  for (std::size_t i = 0; i < kOtherKeys.size() && warning && name != "-"; ++i) {
    const std::string other_name = name + std::string(kOtherKeys[i]);
    if (!is_there(other_name)) continue;
    const auto other = not_plain(other_name) ? Result<Warning, std::string>(*not_plain(other_name))
                                             : read_shared_key(other_name, options.other_keys[i]);
    if (!other && again) return other.error();
    warning = both(warning.value(), other ? other.value() : Warning(other.error()));
  }
  return warning;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("localhost");
}

Result<ListenAddress, std::string> listen_address(std::string_view bind,
                                                  const Protection& protection) {
  if (!protection.identity_file.empty() && protection.trust_file.empty())
    return fmt::format(
        "--identity {} without --trust: nobody could connect. `strack key trust FILE "
        "NAME PUBLICKEY` makes a file of those who may",
        protection.identity_file);
  const bool open_to_all = protection.keyed() || protection.insecure;
  if (bind.empty())
    return ListenAddress{fmt::format("{}:{}", open_to_all ? "0.0.0.0" : "127.0.0.1", kDefaultPort)};
  const auto resolved = udp::resolve(bind, kDefaultPort);
  if (!resolved)
    return fmt::format(
        "--bind {}: {}. write an address of this host and a port, such as "
        "0.0.0.0:{}",
        bind, resolved.error().text, kDefaultPort);
  if (!open_to_all && !is_loopback(resolved.value()))
    return fmt::format("listening at {} without a key would serve anybody who can reach it. {}",
                       resolved.value(), kRemedy);
  return ListenAddress{resolved.value()};
}

std::optional<std::string> unprotected(std::string_view address, const Protection& protection) {
  if (!protection.identity_file.empty() && protection.peer.empty())
    return fmt::format(
        "--identity {} without --peer: whom to expect at {}? give its public key, or "
        "its name in the file of --trust",
        protection.identity_file, address);
  if (protection.keyed() || protection.insecure || is_loopback(address)) return std::nullopt;
  return fmt::format(
      "connecting to {} without a key: nothing would be encrypted, and anybody could "
      "answer. {}",
      address, kRemedy);
}

std::string explain(udp::Status status, std::string_view address, std::string_view service,
                    const Protection& protection) {
  switch (status) {
    case udp::Status::timed_out:
      return fmt::format(
          "nobody answers at {}. is `{}` running there, has it room for more, and does the network "
          "let UDP through?{}",
          address, service,
          !protection.identity_file.empty() ? " a listener that does not trust this host's key, or "
                                              "is not --peer, stays silent, too"
          : protection.key_file.empty()
              ? " a listener with --identity stays silent to who has no --identity, too"
              : " a listener whose key differs from this key file may stay silent, too");
    case udp::Status::key_refused:
      if (!protection.identity_file.empty())
        return fmt::format(
            "{} has no key of its own, as --identity here needs there: its `{}` runs "
            "with a shared key or none",
            address, service);
      return protection.key_file.empty()
                 ? fmt::format("{} wants a key. give the one that its `{}` has with --key-file",
                               address, service)
                 : fmt::format(
                       "{} has another key than {}, or none. both sides need the same "
                       "--key-file",
                       address, protection.key_file);
    case udp::Status::unreachable:
      return fmt::format(
          "this host has no way to {}: no route, or nothing answers at that address in its "
          "network. `ip route get` with the address shows which way it would take",
          address);
    case udp::Status::not_listening:
      return fmt::format("{} takes no connections: `{}` is not what runs there", address, service);
    default:
      return fmt::format("no connection to {}: {}", address, udp::text(status));
  }
}

}  // namespace strack::transfer
