// Connections set up and closed over loopback, a hundred thousand by default, and what memory that leaves behind:
//
//   udp_churn [--connections N] [--at-once N] [--keys none|shared|hosts]
//
// Two endpoints in one thread. Each connection carries one message and is closed by both sides. At a tenth, a half and
// the end it waits until the last ones are forgotten, which stay for a second to answer repetitions, and prints the
// resident set; exit status 1 if that has grown by more than a twentieth in between.
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "udp/endpoint.h"

namespace {

using namespace strack::udp;

constexpr std::size_t kMessage = 4'096;

struct Churn {
  std::string keys = "none";
  std::uint64_t connections = 100'000;
  std::uint64_t at_once = 64;

  std::uint64_t until = 0;  ///< so many may begin now
  std::uint64_t begun = 0;
  std::uint64_t closed = 0;
  std::uint64_t failed = 0;
};

[[nodiscard]] double resident_mb() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "udp_churn: {}\n", why);
  std::exit(1);
}

[[nodiscard]] std::array<EndpointOptions, 2> options(const std::string& keys) {
  std::array<EndpointOptions, 2> both;
  for (EndpointOptions& o : both) o.paths = 16;
  both[0].listen = "127.0.0.1:0";
  if (keys == "shared") {
    both[0].key = both[1].key = new_key();
  } else if (keys == "hosts") {
    for (EndpointOptions& o : both) o.identity = new_key();
    both[0].trusted = {public_key(*both[1].identity)};
    both[1].peer = public_key(*both[0].identity);
  }
  return both;
}

[[nodiscard]] Endpoint open(const EndpointOptions& o) {
  auto opened = Endpoint::open(o);
  if (!opened) die(opened.error().text);
  return std::move(opened.value());
}

/// Takes what the server has to say: every message's buffer is posted again, every peer's close is answered.
void serve(Endpoint& server, std::vector<std::byte>& memory) {
  server.poll();
  std::array<Completion, 64> room;
  for (const Completion& c : server.completions(room)) {
    if (c.kind == Kind::peer_closed) static_cast<void>(server.close(c.connection));
    if (c.kind == Kind::received) {
      const std::span<std::byte> buffer(memory.data() + c.cookie * kMessage, kMessage);
      if (server.post_receive(kAnyConnection, Match::any(), buffer, c.cookie) != Status::ok)
        die("post_receive");
    }
  }
}

void come_and_go(Churn& churn, Endpoint& client, const std::string& address,
                 std::span<const std::byte> message) {
  while (churn.begun < churn.until && churn.begun - churn.closed - churn.failed < churn.at_once) {
    auto made = client.connect(address, ++churn.begun);
    if (!made) die(made.error().text);
    if (client.send(made.value(), 0, message, 0) != Status::ok) die("send");
    if (churn.begun % 16 == 0) break;
  }
  client.poll();
  std::array<Completion, 64> room;
  for (const Completion& c : client.completions(room)) {
    if (c.kind == Kind::sent && c.status == Status::ok)
      static_cast<void>(client.close(c.connection));
    if (c.kind == Kind::closed) ++churn.closed;
    if (c.kind == Kind::failed) ++churn.failed;
  }
}

int run(Churn churn) {
  const auto both = options(churn.keys);
  Endpoint server = open(both[0]);
  Endpoint client = open(both[1]);
  const std::string address = server.local_address();
  std::vector<std::byte> memory(2 * churn.at_once * kMessage);
  for (std::uint64_t i = 0; i < 2 * churn.at_once; ++i) {
    const std::span<std::byte> buffer(memory.data() + i * kMessage, kMessage);
    if (server.post_receive(kAnyConnection, Match::any(), buffer, i) != Status::ok)
      die("post_receive");
  }
  const std::vector<std::byte> message(kMessage, std::byte{1});
  std::vector<double> resident;
  std::string line = "keys " + churn.keys + ":";
  const auto round = [&] {
    come_and_go(churn, client, address, message);
    serve(server, memory);
  };
  for (const std::uint64_t mark :
       {churn.connections / 10, churn.connections / 2, churn.connections}) {
    churn.until = mark;
    while (churn.closed + churn.failed < mark) round();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'500);
    while (std::chrono::steady_clock::now() < end) round();
    resident.push_back(resident_mb());
    line += fmt::format(" {:.1f} MB after {},", resident.back(), mark);
  }
  const double growth = resident.back() / resident.front() - 1;
  fmt::print("{} {:+.1f} % in between, {} of {} failed\n", line, 100 * growth, churn.failed,
             churn.connections);
  return churn.failed == 0 && growth <= 0.05 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Churn churn;
  CLI::App app("Connections set up and closed over loopback, and what memory that leaves behind");
  app.add_option("--connections", churn.connections, "how many, 10 or more")
      ->check(CLI::Range(std::uint64_t{10}, std::uint64_t{1'000'000'000}));
  app.add_option("--at-once", churn.at_once, "how many of them at a time")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{256}));
  app.add_option("--keys", churn.keys, "none, shared or hosts")
      ->check(CLI::IsMember({"none", "shared", "hosts"}));
  CLI11_PARSE(app, argc, argv);
  return run(churn);
}
