// An IP address and UDP port, IPv4 or IPv6, as text and as what the kernel takes. Fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/result.h"

namespace strack::udp {

struct Address {
  std::array<std::uint8_t, 16> ip{};  ///< IPv4 in the first four
  std::uint32_t scope = 0;            ///< IPv6 link-local: the interface
  std::uint16_t port = 0;
  bool v6 = false;

  /// The same but for the port.
  [[nodiscard]] bool same_host(const Address& other) const {
    return v6 == other.v6 && ip == other.ip;
  }
  friend bool operator==(const Address&, const Address&) = default;

  /// "192.0.2.7:4794", "[2001:db8::7]:4794" or "[fe80::1%eth0]:4794"; nothing for anything else.
  [[nodiscard]] static std::optional<Address> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool is_loopback() const;
  /// "0.0.0.0" or "[::]".
  [[nodiscard]] bool is_any() const;
  /// Who counts as one where connections are counted: an IPv4 address, or an IPv6 network of 64 bits, any
  /// address of which a host can take; among link-local addresses, which share one, the host's part.
  [[nodiscard]] std::uint64_t source() const;
  /// IP and UDP headers of a datagram to there.
  [[nodiscard]] std::uint32_t header_bytes() const { return v6 ? 48 : 28; }
};

/// For tables of hosts, whatever the port.
struct SameHost {
  bool operator()(const Address& a, const Address& b) const { return a.same_host(b); }
};
struct HostHash {
  std::size_t operator()(const Address& a) const {
    std::uint64_t halves[2];
    std::memcpy(halves, a.ip.data(), sizeof halves);
    return static_cast<std::size_t>(mix64(halves[0] ^ mix64(halves[1])));
  }
};

/// All addresses of "name:port" or "name", each once, in the system's order of preference; or what is
/// wrong. A name may have several ("localhost" is often ::1 and 127.0.0.1), and a server listens at
/// some of them. Asks the resolver, so it may block.
[[nodiscard]] Result<std::vector<Address>, std::string> resolve_all(std::string_view host_and_port,
                                                                    std::uint16_t default_port);

}  // namespace strack::udp
