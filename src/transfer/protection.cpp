#include "transfer/protection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include <fmt/format.h>

#include "transfer/file_handle.h"

namespace strack::transfer {
namespace {

constexpr std::string_view kRemedy =
    "give both sides the same key with --key-file (`strack key` makes one), or allow anybody with "
    "--insecure";

}  // namespace

Result<std::optional<std::string>, std::string> protect(const Protection& protection,
                                                        udp::EndpointOptions& options) {
  options.insecure = protection.insecure;
  if (protection.key_file.empty()) return std::optional<std::string>();
  const std::string& name = protection.key_file;
  if (protection.insecure)
    return fmt::format("--key-file {} and --insecure contradict each other: give one of them",
                       name);
  const FileHandle file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return fmt::format("key file {}: {}. `strack key > {}` makes one", name, std::strerror(errno),
                       name);
  std::array<char, 4096> text;
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length < 0) return fmt::format("key file {}: {}", name, std::strerror(errno));
  const auto key = udp::parse_key({text.data(), static_cast<std::size_t>(length)});
  if (!key) return fmt::format("key file {}: {}", name, key.error().text);
  options.key = key.value();
  struct stat found {};
  if (::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 077) != 0)
    return std::optional(
        fmt::format("key file {} can be read by others (mode {:o}). `chmod 600 {}` keeps it secret",
                    name, found.st_mode & 0777, name));
  return std::optional<std::string>();
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("localhost");
}

Result<ListenAddress, std::string> listen_address(std::string_view bind,
                                                  const Protection& protection) {
  const bool open_to_all = !protection.key_file.empty() || protection.insecure;
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
  if (!protection.key_file.empty() || protection.insecure || is_loopback(address))
    return std::nullopt;
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
          "nobody answers at {}. is `{}` running there, and does the network let UDP "
          "through?{}",
          address, service,
          protection.key_file.empty()
              ? ""
              : " a listener whose key differs from this key file may stay silent, too");
    case udp::Status::key_refused:
      return protection.key_file.empty()
                 ? fmt::format("{} wants a key. give the one that its `{}` has with --key-file",
                               address, service)
                 : fmt::format(
                       "{} has another key than {}, or none. both sides need the same "
                       "--key-file",
                       address, protection.key_file);
    case udp::Status::not_listening:
      return fmt::format("{} takes no connections: `{}` is not what runs there", address, service);
    default:
      return fmt::format("no connection to {}: {}", address, udp::text(status));
  }
}

}  // namespace strack::transfer
