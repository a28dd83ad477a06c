// How the tools' connections are protected, and words for when they do not come about: what the
// command line's --key-file, --insecure, --identity, --trust and --peer mean.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "udp/endpoint.h"

namespace strack::transfer {

struct Protection {
  std::string key_file;  ///< empty: none
  bool insecure = false;
  std::string identity_file{};  ///< this host's own key, instead of a shared one; empty: none
  std::string trust_file{};     ///< with an identity: the peers that there are
  std::string peer{};           ///< with an identity: whom to expect, by name or public key

  [[nodiscard]] bool keyed() const { return !key_file.empty() || !identity_file.empty(); }
};

/// [D141] While a key is changed: beside its file, the one that is to come and the one that was. Connections are taken by
/// all of them.
inline constexpr std::array<std::string_view, 2> kOtherKeys{".new", ".old"};

inline constexpr std::uint16_t kDefaultPort = 4794;

/// From its file, or standard input if that is "-"; returns a warning that others can read it, or nothing. Or says what is
/// wrong.
[[nodiscard]] Result<std::optional<std::string>, std::string> read_shared_key(
    const std::string& file, std::optional<udp::Key>& key);
/// Fills in keys and insecure; returns a warning or nothing. Or says what is wrong. `again`: for an endpoint that is
/// open, where it is no mistake that nobody is trusted any more.
[[nodiscard]] Result<std::optional<std::string>, std::string> protect(const Protection& protection,
                                                                      udp::EndpointOptions& options,
                                                                      bool again = false);

/// "127.0.0.1:4794", "[::1]:4794": numeric, as udp::resolve gives it.
[[nodiscard]] bool is_loopback(std::string_view address);

/// Where to listen: `bind`, completed by the default port, or a default that follows from the
/// protection: this host only where there is none. Or says why not.
struct ListenAddress {
  std::string text;
};
[[nodiscard]] Result<ListenAddress, std::string> listen_address(std::string_view bind,
                                                                const Protection& protection);

/// What is wrong with connecting there without a key, if anything.
[[nodiscard]] std::optional<std::string> unprotected(std::string_view address,
                                                     const Protection& protection);

/// A connection that did not come up, and what to do about it. `service` is what should run there:
/// "strack recv".
[[nodiscard]] std::string explain(udp::Status status, std::string_view address,
                                  std::string_view service, const Protection& protection);

}  // namespace strack::transfer
