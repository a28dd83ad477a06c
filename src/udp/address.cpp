#include "udp/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

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

std::uint64_t Address::source() const {
  const bool link_local = v6 && ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
  std::uint64_t number = 0;
  const std::size_t from = link_local ? 8 : 0;
  for (std::size_t i = from; i < from + (v6 ? 8u : 4u); ++i) number = number << 8 | ip[i];
  return number;
}

bool Address::is_any() const { return ip == std::array<std::uint8_t, 16>{}; }

Result<std::vector<Address>, std::string> resolve_all(std::string_view host_and_port,
                                                      std::uint16_t default_port) {
  std::string host(host_and_port);
  std::string port = std::to_string(default_port);
  if (!host.empty() && host.front() == '[') {
    const std::size_t end = host.find(']');
    if (end == std::string::npos) return "address '" + host + "' lacks its ]";
    if (end + 1 < host.size() && host[end + 1] == ':') port = host.substr(end + 2);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':');
             colon != std::string::npos && host.find(':', colon + 1) == std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  // The resolver would take the remainder of a larger one.
  std::uint32_t number = 0;
  const auto [last, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (fault != std::errc{} || last != port.data() + port.size() || number > 65'535)
    return "'" + std::string(host_and_port) + "': port '" + port + "' is not a number up to 65535";
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  const auto cannot = [&](const char* why) {
    return "cannot resolve '" + std::string(host_and_port) + "': " + why;
  };
  if (error != 0) return cannot(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<Address> all;
  for (const addrinfo* found = list; found != nullptr; found = found->ai_next) {
    Address address;
    if (found->ai_family == AF_INET6) {
      address.v6 = true;
      sockaddr_in6 in{};
      std::memcpy(&in, found->ai_addr, sizeof in);
      std::memcpy(address.ip.data(), &in.sin6_addr, 16);
      address.port = ntohs(in.sin6_port);
      address.scope = in.sin6_scope_id;
    } else if (found->ai_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, found->ai_addr, sizeof in);
      std::memcpy(address.ip.data(), &in.sin_addr, 4);
      address.port = ntohs(in.sin_port);
    } else {
      continue;
    }
    if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
  }
  if (all.empty()) return cannot("it has no address of IPv4 or IPv6");
  return all;
}

}  // namespace strack::udp
