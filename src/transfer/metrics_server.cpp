#include "transfer/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(50);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

std::optional<SocketAddress> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  std::string host(text.substr(0, colon));
  SocketAddress address;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.length = sizeof *six;
    if (inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return std::nullopt;
    return address;
  }
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  four->sin_family = AF_INET;
  four->sin_port = htons(port);
  address.length = sizeof *four;
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) != 1) return std::nullopt;
  return address;
}

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     bool with_body) {
  return fmt::format(
      "HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), with_body ? body : std::string_view{});
}

}  // namespace

Result<MetricsServer, std::string> MetricsServer::open(std::string_view address,
                                                       std::function<std::string()> text,
                                                       std::chrono::milliseconds patience) {
  const auto parsed = parse_address(address);
  if (!parsed)
    return fmt::format(
        "'{}' is not an address for metrics. write one such as 127.0.0.1:9100 or "
        "[::1]:9100",
        address);
  FileHandle socket(
      ::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&parsed->storage), parsed->length) !=
          0 ||
      ::listen(socket.get(), static_cast<int>(kMostClients)) != 0)
    return fmt::format("metrics cannot be served at {}: {}", address, std::strerror(errno));
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  const bool six = bound.storage.ss_family == AF_INET6;
  const std::uint16_t port =
      ntohs(six ? reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port
                : reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
  return MetricsServer(std::move(socket),
                       fmt::format("{}:{}", address.substr(0, address.rfind(':')), port),
                       std::move(text), patience);
}

void MetricsServer::poll() {
  const auto now = Clock::now();
  if (now - looked_ < kInterval) return;
  looked_ = now;
  while (clients_.size() < kMostClients) {
    FileHandle socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) break;
    clients_.push_back({std::move(socket), now, {}, {}, 0});
  }
  std::erase_if(clients_,
                [&](Client& client) { return now - client.since > patience_ || serve(client); });
}

bool MetricsServer::serve(Client& client) {
  while (client.answer.empty()) {
    std::array<char, 1024> buffer;
    const ssize_t count = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
    if (count == 0) return true;
    if (count < 0) return errno != EAGAIN && errno != EINTR;
    client.request.append(buffer.data(), static_cast<std::size_t>(count));
    const bool whole = client.request.find("\r\n\r\n") != std::string::npos ||
                       client.request.find("\n\n") != std::string::npos;
    if (!whole && client.request.size() < kMostRequestBytes) continue;
    static constexpr std::string_view kPlain = "text/plain; charset=utf-8";
    const std::string_view line =
        std::string_view(client.request).substr(0, client.request.find_first_of("\r\n"));
    const bool head = line.starts_with("HEAD ");
    const std::string_view rest = line.substr(std::min(line.size(), line.find(' ') + 1));
    const std::string_view path = rest.substr(0, rest.find_first_of(" ?"));
    if (!whole) {
      client.answer = response("431 Request Header Fields Too Large", kPlain, "too long\n", true);
    } else if (!line.starts_with("GET ") && !head) {
      client.answer = response("405 Method Not Allowed", kPlain, "only GET\n", true);
    } else if (path != "/metrics" && path != "/") {
      client.answer = response("404 Not Found", kPlain, "try /metrics\n", !head);
    } else {
      client.answer =
          response("200 OK", "text/plain; version=0.0.4; charset=utf-8", text_(), !head);
    }
  }
  while (client.sent < client.answer.size()) {
    const ssize_t count = ::send(client.socket.get(), client.answer.data() + client.sent,
                                 client.answer.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0) return errno != EAGAIN && errno != EINTR;
    client.sent += static_cast<std::size_t>(count);
  }
  ::shutdown(client.socket.get(), SHUT_WR);
  return true;
}

}  // namespace strack::transfer
