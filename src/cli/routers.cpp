#include "cli/routers.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace strack::cli {
namespace {

constexpr int kMostHops = 16;
/// Switches that answer take a few milliseconds; some wait.
constexpr std::chrono::milliseconds kPatience{300};
constexpr std::uint8_t kTimeExceeded6 = 3;  // ICMPv6

struct Peer {
  sockaddr_storage address{};
  socklen_t length = 0;
  [[nodiscard]] bool is_6() const { return address.ss_family == AF_INET6; }
};

/// "192.0.2.7:4794" or "[2001:db8::7]:4794"; length 0 otherwise.
Peer parse(const std::string& text) {
  Peer peer;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return peer;
  const auto port =
      htons(static_cast<std::uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10)));
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    auto* to = reinterpret_cast<sockaddr_in6*>(&peer.address);
    host = host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), &to->sin6_addr) != 1) return peer;
    to->sin6_family = AF_INET6;
    to->sin6_port = port;
    peer.length = sizeof(*to);
  } else {
    auto* to = reinterpret_cast<sockaddr_in*>(&peer.address);
    if (inet_pton(AF_INET, host.c_str(), &to->sin_addr) != 1) return peer;
    to->sin_family = AF_INET;
    to->sin_port = port;
    peer.length = sizeof(*to);
  }
  return peer;
}

/// A socket from a port of the kernel's choice that hears of what has become of its datagrams; -1: none.
int open_socket(const Peer& peer) {
  const int made = socket(peer.address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const int on = 1;
  const bool heard = peer.is_6() ? setsockopt(made, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on) == 0
                                 : setsockopt(made, IPPROTO_IP, IP_RECVERR, &on, sizeof on) == 0;
  if (!heard || connect(made, reinterpret_cast<const sockaddr*>(&peer.address), peer.length) != 0) {
    close(made);
    return -1;
  }
  return made;
}

/// Who says that a datagram had no hops left; empty: nobody, or something else was said.
std::string next_router(int socket, bool& more) {
  std::array<char, 64> data{};
  std::array<char, 512> control{};
  iovec part{data.data(), data.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  more = recvmsg(socket, &message, MSG_ERRQUEUE) >= 0;
  if (!more) return {};
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    const bool is_4 = head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_RECVERR;
    const bool is_6 = head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_RECVERR;
    if (!is_4 && !is_6) continue;
    const auto* error = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(head));
    const bool exceeded =
        is_4 ? error->ee_origin == SO_EE_ORIGIN_ICMP && error->ee_type == ICMP_TIME_EXCEEDED
             : error->ee_origin == SO_EE_ORIGIN_ICMP6 && error->ee_type == kTimeExceeded6;
    if (!exceeded) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const auto* who = reinterpret_cast<const sockaddr*>(error + 1);  // SO_EE_OFFENDER
    const void* address =
        who->sa_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(who)->sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(who)->sin_addr);
    if (inet_ntop(who->sa_family, address, text.data(), text.size()) != nullptr) return text.data();
  }
  return {};
}

/// The sockets, closed at the end.
class Sockets {
 public:
  Sockets(const Peer& peer, std::size_t count) : is_6_(peer.is_6()) {
    while (all_.size() < count) {
      const int made = open_socket(peer);
      if (made < 0) return;
      all_.push_back({made, POLLERR, 0});
    }
  }
  ~Sockets() {
    for (const pollfd& one : all_) close(one.fd);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  /// One datagram from each of them. It is no packet of any protocol, should it arrive.
  void send(int hops) {
    for (const pollfd& one : all_) {
      if (is_6_) {
        setsockopt(one.fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof hops);
      } else {
        setsockopt(one.fd, IPPROTO_IP, IP_TTL, &hops, sizeof hops);
      }
      [[maybe_unused]] const auto sent = ::send(one.fd, "", 1, 0);
    }
  }
  std::set<std::string> hear() {
    std::set<std::string> found;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0 ||
          ::poll(all_.data(), all_.size(), static_cast<int>(left.count())) <= 0)
        return found;
      for (const pollfd& one : all_) {
        int pending = 0;  // an error that was also kept for the next call
        socklen_t size = sizeof pending;
        if (one.revents != 0) getsockopt(one.fd, SOL_SOCKET, SO_ERROR, &pending, &size);
        for (bool more = one.revents != 0; more;) {
          if (std::string router = next_router(one.fd, more); !router.empty())
            found.insert(std::move(router));
        }
      }
    }
  }

 private:
  bool is_6_;
  std::vector<pollfd> all_;
};

}  // namespace

std::vector<std::vector<std::string>> routers_to(const std::string& address, std::size_t ports) {
  std::vector<std::vector<std::string>> hops;
  const Peer peer = parse(address);
  if (peer.length == 0) return hops;
  Sockets sockets(peer, ports);
  for (int hop = 1; hop <= kMostHops; ++hop) {
    sockets.send(hop);
    const std::set<std::string> found = sockets.hear();
    if (found.empty()) break;
    hops.emplace_back(found.begin(), found.end());
  }
  return hops;
}

}  // namespace strack::cli
