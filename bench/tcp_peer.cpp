// What the kernel's TCP makes of the tests of `strack perf`, for bench/udp_bench.py to put beside:
//
//   tcp_peer server ADDRESS PORT
//   tcp_peer client ADDRESS PORT [--pattern stream|pingpong] [--size BYTES] [--seconds S] [--spin]
//
// One connection, IPv4, one thread on each side. The client says what it wants and prints JSON with
// the names that `strack perf client --json` has. --spin asks both sides never to sleep: they look
// for bytes again and again.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "transfer/histogram.h"

namespace {

using Clock = std::chrono::steady_clock;

/// What the client sends first. Both ends run on one machine, so it goes as it lies in memory.
struct Request {
  std::uint32_t pingpong;
  std::uint32_t spin;
  std::uint64_t size;
};

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "error: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

void set(int socket, int level, int option, int value, const char* name) {
  if (setsockopt(socket, level, option, &value, sizeof value) != 0) fail(name);
}

int make_socket(const std::string& congestion) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) fail("socket");
  if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                 static_cast<socklen_t>(congestion.size())) != 0)
    fail("congestion control '" + congestion + "'");
  return made;
}

sockaddr_in place_of(const std::string& address, std::uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1) {
    fmt::print(stderr, "error: '{}' is no IPv4 address, such as 127.0.0.1\n", address);
    std::exit(2);
  }
  return place;
}

/// A small message goes at once, and a spinning socket never sleeps.
void prepare(int socket, bool spin) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  if (spin && fcntl(socket, F_SETFL, O_NONBLOCK) != 0) fail("O_NONBLOCK");
}

bool try_again() { return errno == EAGAIN || errno == EINTR; }

void send_all(int socket, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (!try_again())
      fail("send");
  }
}

/// Fills `bytes`. False if the peer has ended before the first of them.
bool receive_all(int socket, std::span<char> bytes) {
  bool any = false;
  while (!bytes.empty()) {
    const ssize_t n = recv(socket, bytes.data(), bytes.size(), 0);
    if (n > 0) {
      any = true;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n == 0) {
      if (!any) return false;
      errno = ECONNRESET;
      fail("a message without its end");
    } else if (!try_again()) {
      fail("recv");
    }
  }
  return true;
}

template <typename T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

void serve(const std::string& address, std::uint16_t port, const std::string& congestion) {
  const int listener = make_socket(congestion);
  set(listener, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  const sockaddr_in place = place_of(address, port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) fail("bind");
  if (listen(listener, 1) != 0) fail("listen");
  const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (peer < 0) fail("accept");
  Request request{};
  if (!receive_all(peer, bytes_of(request))) return;
  prepare(peer, request.spin != 0);
  std::vector<char> buffer(request.size);
  if (request.pingpong != 0) {
    while (receive_all(peer, buffer)) send_all(peer, buffer);
  } else {
    std::uint64_t received = 0;
    for (;;) {
      const ssize_t n = recv(peer, buffer.data(), buffer.size(), 0);
      if (n == 0) break;
      if (n > 0)
        received += static_cast<std::uint64_t>(n);
      else if (!try_again())
        fail("recv");
    }
    send_all(peer, bytes_of(received));
  }
  close(peer);
  close(listener);
}

std::uint64_t ns(Clock::duration span) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(span).count());
}

void ask(const std::string& address, std::uint16_t port, const std::string& congestion,
         const Request& request, double seconds) {
  const int peer = make_socket(congestion);
  const sockaddr_in place = place_of(address, port);
  if (connect(peer, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) fail("connect");
  Request said = request;
  send_all(peer, bytes_of(said));
  prepare(peer, request.spin != 0);

  std::vector<char> buffer(request.size, 'x');
  strack::transfer::Histogram halves;
  std::uint64_t sent = 0, received = 0;
  const auto began = Clock::now();
  const auto until =
      began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (auto now = began; now < until;) {
    send_all(peer, buffer);
    sent += request.size;
    if (request.pingpong != 0) {
      if (!receive_all(peer, buffer)) {
        errno = ECONNRESET;
        fail("the server has left");
      }
      received += request.size;
    }
    const auto then = std::exchange(now, Clock::now());
    if (request.pingpong != 0) halves.add(ns(now - then) / 2);
  }
  if (shutdown(peer, SHUT_WR) != 0) fail("shutdown");
  if (request.pingpong == 0 && !receive_all(peer, bytes_of(received))) received = 0;
  const double took = static_cast<double>(ns(Clock::now() - began)) / 1e9;
  close(peer);

  fmt::print(R"({{"ok": {}, "seconds": {:.6f}, "bytes": {}, "gbps": {:.6f})", sent == received,
             took, received, static_cast<double>(received) * 8e-9 / took);
  if (request.pingpong != 0) {
    const auto us = [](std::uint64_t value) { return static_cast<double>(value) / 1e3; };
    fmt::print(R"(, "half_round_trip_us": {{"min": {:.3f}, "mean": {:.3f}, "p50": {:.3f}, )"
               R"("p99": {:.3f}, "max": {:.3f}}})",
               us(halves.lowest()), us(halves.mean()), us(halves.percentile(500)),
               us(halves.percentile(990)), us(halves.highest()));
  }
  fmt::print("}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string address, pattern = "stream", congestion = "cubic";
  std::uint16_t port = 0;
  std::uint64_t size = 1'000'000;
  double seconds = 5;
  bool spin = false;
  CLI::App app{"One TCP connection, measured as `strack perf` measures its own.", "tcp_peer"};
  app.require_subcommand(1);
  auto* server = app.add_subcommand("server", "takes one client");
  auto* client = app.add_subcommand("client", "asks a server and prints JSON");
  for (CLI::App* command : {server, client}) {
    command->add_option("ADDRESS", address)->required();
    command->add_option("PORT", port)->required();
    command->add_option("--congestion", congestion, "congestion control")->capture_default_str();
  }
  client->add_option("--pattern", pattern, "stream: one way; pingpong: each is answered")
      ->check(CLI::IsMember({"stream", "pingpong"}))
      ->capture_default_str();
  client->add_option("--size", size, "of a message, and of a call of send")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  client->add_option("--seconds", seconds, "how long")->capture_default_str();
  client->add_flag("--spin", spin, "never sleep, on both sides");
  CLI11_PARSE(app, argc, argv);

  if (*server) {
    serve(address, port, congestion);
  } else {
    ask(address, port, congestion, {pattern == "pingpong" ? 1u : 0u, spin ? 1u : 0u, size},
        seconds);
  }
  return 0;
}
