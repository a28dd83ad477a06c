#include "udp/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace strack::udp {

std::optional<Address> Address::parse(std::string_view text) {
  Address address;
  std::string host;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find("]:");
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 2);
    address.v6 = true;
  } else {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || rest != port.data() + port.size()) return std::nullopt;
  if (address.v6) {
    if (const std::size_t percent = host.find('%'); percent != std::string::npos) {
      address.scope = if_nametoindex(host.c_str() + percent + 1);
      if (address.scope == 0) return std::nullopt;
      host.resize(percent);
    }
  }
  if (inet_pton(address.v6 ? AF_INET6 : AF_INET, host.c_str(), address.ip.data()) != 1)
    return std::nullopt;
  return address;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  inet_ntop(v6 ? AF_INET6 : AF_INET, ip.data(), host.data(), host.size());
  std::string result = v6 ? "[" : "";
  result += host.data();
  if (v6) {
    std::array<char, IF_NAMESIZE> name{};
    if (scope != 0 && if_indextoname(scope, name.data()) != nullptr)
      result += '%' + std::string(name.data());
    result += ']';
  }
  return result + ':' + std::to_string(port);
}

bool Address::is_loopback() const {
  if (!v6) return ip[0] == 127;
  static constexpr std::array<std::uint8_t, 16> kLoopback{0, 0, 0, 0, 0, 0, 0, 0,
                                                          0, 0, 0, 0, 0, 0, 0, 1};
  return ip == kLoopback;
}

bool Address::is_any() const { return ip == std::array<std::uint8_t, 16>{}; }

}  // namespace strack::udp
