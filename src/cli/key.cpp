#include "cli/key.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/text.h"
#include "transfer/identity.h"
#include "transfer/rotate.h"

namespace strack::cli {
namespace {

int print(const std::string& text) {
  fmt::print("{}\n", text);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int new_key() { return print(udp::key_text(udp::new_key())); }

int key_new(const std::string& file) {
  const auto made = transfer::new_identity(file);
  if (!made) return fail(made.error());
  return print(udp::key_text(made.value()));
}

int key_show(const std::string& file) {
  const auto read = transfer::read_identity(file);
  if (!read) return fail(read.error());
  return print(udp::key_text(udp::public_key(read.value().secret)));
}

int key_rotate(const std::string& file, bool use, bool end) {
  if (end) {
    if (const auto wrong = transfer::end_rotation(file)) return fail(*wrong);
    return print(fmt::format("{}.old is gone: {} alone counts now", file, file));
  }
  const auto made = use ? transfer::use_next_key(file) : transfer::begin_rotation(file);
  if (!made) return fail(made.error());
  if (made.value()) return print(udp::key_text(*made.value()));
  return print(use ? fmt::format("{} is the new key; {}.old is still taken", file, file)
                   : fmt::format("{}.new is made. bring it to the other hosts, beside the key that "
                                 "they have",
                                 file));
}

int key_trust(const std::string& file, const std::string& name, const std::string& key) {
  const auto parsed = udp::parse_public_key(key);
  if (!parsed)
    return fail(fmt::format("public key {}: {}. `strack key show` prints it on the peer's host",
                            key, parsed.error().text));
  const auto added = transfer::trust(file, name, parsed.value());
  if (!added) return fail(added.error());
  return print(fmt::format("{} {} {}", name, added.value() ? "is now in" : "was in", file));
}

}  // namespace strack::cli
