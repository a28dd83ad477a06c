// Endpoints on real sockets, over loopback.
#include "udp/endpoint.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

using std::chrono::milliseconds;

std::vector<std::byte> pattern(std::size_t size, std::size_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 13 + seed + (i >> 9));
  return bytes;
}

struct Case {
  bool v6, keyed;
  std::uint32_t burst;
};

class EndpointTest : public ::testing::TestWithParam<Case> {
 protected:
  static EndpointOptions options(const Case& c) {
    EndpointOptions o;
    o.burst = c.burst;
    o.max_payload = 4'096;
    if (c.keyed) {
      o.key.emplace();
      o.key->fill(std::byte{7});
    }
    return o;
  }

  void open(const EndpointOptions& o, bool v6) {
    EndpointOptions listening = o;
    listening.listen = v6 ? "[::1]:0" : "127.0.0.1:0";
    for (const EndpointOptions& one : {listening, o}) {
      auto opened = Endpoint::open(one);
      ASSERT_TRUE(opened) << opened.error().text;
      ends_.push_back(std::move(opened.value()));
    }
    EXPECT_GE(ends_[0].file_descriptor(), 0);
    auto made = ends_[1].connect(ends_[0].local_address(), 3);
    ASSERT_TRUE(made) << made.error().text;
    id_[1] = made.value();
    until([&] { return count(0, Kind::accepted) == 1 && count(1, Kind::connected) == 1; });
    for (const Completion& c : seen_[0]) id_[0] = c.connection;
    seen_[0].clear();
    seen_[1].clear();
  }
  void poll() {
    for (std::size_t i = 0; i < 2; ++i) {
      ends_[i].poll();
      std::array<Completion, 32> room;
      for (const Completion& c : ends_[i].completions(room)) seen_[i].push_back(c);
    }
  }
  /// Turns both ends' cranks until something is so. Fails, rather than hang, after a long time.
  template <class Condition>
  void until(Condition&& condition) {
    const auto start = std::chrono::steady_clock::now();
    while (!condition()) {
      poll();
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    }
  }
  [[nodiscard]] std::size_t count(std::size_t i, Kind kind) const {
    return static_cast<std::size_t>(std::count_if(
        seen_[i].begin(), seen_[i].end(), [kind](const Completion& c) { return c.kind == kind; }));
  }

  std::vector<Endpoint> ends_;
  std::vector<Completion> seen_[2];
  ConnectionId id_[2]{};
};

TEST_P(EndpointTest, MessagesOfAllSizesBothWays) {
  open(options(GetParam()), GetParam().v6);
  if (HasFatalFailure()) return;
  const std::size_t payload = ends_[1].statistics(id_[1]).value().payload_bytes;
  EXPECT_EQ(payload, 4'096u);
  const std::vector<std::size_t> sizes{0,      1,         payload - 1, payload, payload + 1,
                                       65'536, 16u << 20, 2,           0};
  std::deque<std::vector<std::byte>> messages;
  std::deque<std::vector<std::byte>> buffers;
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      buffers.emplace_back(sizes[i]);
      ASSERT_EQ(ends_[side].post_receive(id_[side], Match::exactly(100 + i), buffers.back(), i),
                Status::ok);
    }
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      messages.push_back(pattern(sizes[i], side * 100 + i));
      ASSERT_EQ(ends_[side].send(id_[side], 100 + i, messages.back(), i), Status::ok);
    }
  }
  until([&] { return seen_[0].size() == 2 * sizes.size() && seen_[1].size() == 2 * sizes.size(); });
  if (HasFatalFailure()) return;
  for (std::size_t side = 0; side < 2; ++side) {
    std::size_t next = 0;
    for (const Completion& c : seen_[side]) {
      EXPECT_EQ(c.status, Status::ok);
      if (c.kind != Kind::received) continue;
      EXPECT_EQ(c.cookie, next++);
      EXPECT_EQ(c.tag, 100 + c.cookie);
      EXPECT_EQ(c.length, sizes[c.cookie]);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(buffers[side * sizes.size() + i], messages[(1 - side) * sizes.size() + i]) << i;
    }
  }
  const auto s = ends_[1].statistics(id_[1]).value();
  EXPECT_EQ(s.keyed, GetParam().keyed);
  EXPECT_EQ(s.messages_sent, sizes.size());
  EXPECT_GT(s.paths_used, 32u);
  EXPECT_GT(s.base_rtt_ns, 0u);
}

TEST_P(EndpointTest, WriteThenNoteThenClose) {
  open(options(GetParam()), GetParam().v6);
  if (HasFatalFailure()) return;
  std::vector<std::byte> region(1'000'000);
  auto key = ends_[0].register_region(region);
  ASSERT_TRUE(key);
  const auto bytes = pattern(900'000, 5);
  std::vector<std::byte> note(4);
  const auto word = pattern(4, 1);
  ASSERT_EQ(ends_[0].post_receive(kAnyConnection, Match::any(), note, 1), Status::ok);
  ASSERT_EQ(ends_[1].write(id_[1], key.value(), 100'000, bytes, 2), Status::ok);
  ASSERT_EQ(ends_[1].send(id_[1], 9, word, 3), Status::ok);
  ASSERT_EQ(ends_[1].close(id_[1]), Status::ok);
  until([&] { return count(0, Kind::peer_closed) == 1; });
  EXPECT_EQ(count(0, Kind::received), 1u);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), region.begin() + 100'000));
  ASSERT_EQ(ends_[0].close(id_[0]), Status::ok);
  until([&] { return count(0, Kind::closed) == 1 && count(1, Kind::closed) == 1; });
  EXPECT_EQ(count(1, Kind::written), 1u);
  EXPECT_EQ(ends_[0].send(id_[0], 0, word, 0), Status::unknown_connection);
}

INSTANTIATE_TEST_SUITE_P(Loopback, EndpointTest,
                         ::testing::Values(Case{false, false, 1}, Case{false, true, 1},
                                           Case{true, false, 8}, Case{true, true, 8}),
                         [](const auto& tested) {
                           return std::string(tested.param.v6 ? "IPv6" : "IPv4") +
                                  (tested.param.keyed ? "Keyed" : "Insecure") + "Burst" +
                                  std::to_string(tested.param.burst);
                         });

class EndpointLife : public EndpointTest {};
INSTANTIATE_TEST_SUITE_P(Loopback, EndpointLife, ::testing::Values(Case{false, true, 1}));

// An endpoint that is destroyed tells its peers.
TEST_P(EndpointLife, EndOfAnEndpointIsTold) {
  open(options(GetParam()), false);
  if (HasFatalFailure()) return;
  { const Endpoint gone = std::move(ends_[0]); }
  ends_[0] = std::move(Endpoint::open(EndpointOptions{}).value());
  until([&] { return count(1, Kind::failed) == 1; });
  EXPECT_EQ(seen_[1].back().status, Status::peer_aborted);
}

TEST_P(EndpointLife, WaitReturnsForCompletionsAndForTime) {
  open(options(GetParam()), false);
  if (HasFatalFailure()) return;
  EXPECT_FALSE(ends_[1].wait(milliseconds(1)));
  EXPECT_EQ(ends_[1].cancel_receives(4), 0u);
  std::vector<std::byte> buffer(8);
  ASSERT_EQ(ends_[1].post_receive(kAnyConnection, Match::any(), buffer, 4), Status::ok);
  EXPECT_EQ(ends_[1].cancel_receives(4), 1u);
  EXPECT_TRUE(ends_[1].wait(milliseconds(1)));
  EXPECT_LT(ends_[1].next_deadline(), std::chrono::seconds(10));
}

/// A child process with a listening endpoint that takes whatever comes; its port arrives through a
/// pipe.
struct Child {
  pid_t pid = -1;
  std::uint16_t port = 0;

  explicit Child(const EndpointOptions& o) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) std::abort();
    pid = ::fork();
    if (pid == 0) {
      EndpointOptions listening = o;
      listening.listen = "127.0.0.1:0";
      Endpoint endpoint = std::move(Endpoint::open(listening).value());
      const std::uint16_t own = endpoint.local_port();
      if (::write(pipe[1], &own, sizeof own) != sizeof own) _exit(1);
      std::vector<std::byte> buffer(1 << 20);
      std::array<Completion, 16> room;
      static_cast<void>(endpoint.post_receive(kAnyConnection, Match::any(), buffer, 0));
      while (true) {
        endpoint.wait(std::chrono::seconds(1));
        for (const Completion& c : endpoint.completions(room)) {
          if (c.kind == Kind::received)
            static_cast<void>(endpoint.post_receive(kAnyConnection, Match::any(), buffer, 0));
        }
      }
    }
    if (::read(pipe[0], &port, sizeof port) != sizeof port) std::abort();
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = -1;
  }
  ~Child() { end(); }
};

// Killed without a word: silence tells, and what was under way fails. Restarted: a new connection
// works.
TEST(EndpointPeers, KilledAndRestarted) {
  EndpointOptions o;
  o.key.emplace();
  o.peer_timeout = milliseconds(400);
  Child child(o);
  Endpoint endpoint = std::move(Endpoint::open(o).value());
  const auto address = [&] { return "127.0.0.1:" + std::to_string(child.port); };
  auto made = endpoint.connect(address());
  ASSERT_TRUE(made);
  const auto message = pattern(100'000, 1);
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 11), Status::ok);
  std::array<Completion, 8> room;
  std::vector<Completion> seen;
  const auto until = [&](Kind kind) {
    for (int i = 0; i < 600; ++i) {
      endpoint.wait(milliseconds(100));
      bool found = false;
      for (const Completion& c : endpoint.completions(room)) {
        seen.push_back(c);
        found |= c.kind == kind;
      }
      if (found) return true;
    }
    return false;
  };
  ASSERT_TRUE(until(Kind::sent));
  child.end();
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 12), Status::ok);
  ASSERT_TRUE(until(Kind::failed));
  EXPECT_EQ(seen.back().status, Status::peer_dead);
  EXPECT_EQ(seen[seen.size() - 2].kind, Kind::sent);
  EXPECT_EQ(seen[seen.size() - 2].cookie, 12u);
  EXPECT_EQ(seen[seen.size() - 2].status, Status::peer_dead);
  const Child again(o);
  made = endpoint.connect("127.0.0.1:" + std::to_string(again.port));
  ASSERT_TRUE(made);
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 13), Status::ok);
  ASSERT_TRUE(until(Kind::sent));
  EXPECT_EQ(seen.back().status, Status::ok);
}

// [D46] Killed without a word, and another at its address: the next packet tells, long before silence
// would.
TEST(EndpointPeers, RestartedAtTheSameAddress) {
  EndpointOptions o;
  o.key.emplace();
  Child child(o);
  Endpoint endpoint = std::move(Endpoint::open(o).value());
  const std::string address = "127.0.0.1:" + std::to_string(child.port);
  auto made = endpoint.connect(address);
  ASSERT_TRUE(made);
  const auto message = pattern(100'000, 1);
  std::array<Completion, 8> room;
  std::vector<Completion> seen;
  std::optional<Endpoint> again;
  const auto until = [&](Kind kind) {
    for (int i = 0; i < 6'000; ++i) {
      endpoint.wait(milliseconds(10));
      if (again) again->wait(milliseconds(0));
      for (const Completion& c : endpoint.completions(room)) seen.push_back(c);
      if (!seen.empty() && seen.back().kind == kind) return true;
    }
    return false;
  };
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 11), Status::ok);
  ASSERT_TRUE(until(Kind::sent));
  child.end();
  o.listen = address;
  auto opened = Endpoint::open(o);
  ASSERT_TRUE(opened) << opened.error().text;
  again.emplace(std::move(opened.value()));
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 12), Status::ok);
  ASSERT_TRUE(until(Kind::failed));
  EXPECT_EQ(seen.back().status, Status::peer_restarted);
}

// Stopped for a while, shorter than the limit: everything arrives afterwards.
TEST(EndpointPeers, StoppedAndContinued) {
  EndpointOptions o;
  o.key.emplace();
  const Child child(o);
  Endpoint endpoint = std::move(Endpoint::open(o).value());
  auto made = endpoint.connect("127.0.0.1:" + std::to_string(child.port));
  ASSERT_TRUE(made);
  std::array<Completion, 8> room;
  for (int i = 0; i < 600 && endpoint.statistics().connections == 0; ++i) {
    endpoint.wait(milliseconds(100));
  }
  static_cast<void>(endpoint.completions(room));
  ::kill(child.pid, SIGSTOP);
  const auto message = pattern(1 << 20, 1);
  ASSERT_EQ(endpoint.send(made.value(), 1, message, 11), Status::ok);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(endpoint.wait(milliseconds(50)));
  ::kill(child.pid, SIGCONT);
  bool done = false;
  for (int i = 0; i < 600 && !done; ++i) {
    endpoint.wait(milliseconds(100));
    for (const Completion& c : endpoint.completions(room)) {
      EXPECT_EQ(c.kind, Kind::sent);
      EXPECT_EQ(c.status, Status::ok);
      done = true;
    }
  }
  EXPECT_TRUE(done);
}

// A host with several addresses answers from the one that it was asked at; else its peer would take
// the answers for a stranger's.
TEST(EndpointPeers, AnyOfSeveralAddresses) {
  EndpointOptions listening;
  listening.listen = "0.0.0.0:0";
  listening.key.emplace();
  auto server = Endpoint::open(listening);
  ASSERT_TRUE(server) << server.error().text;
  EndpointOptions from_first;
  from_first.key = listening.key;
  from_first.bind = "127.0.0.1:0";
  auto client = Endpoint::open(from_first);
  ASSERT_TRUE(client) << client.error().text;
  // Linux takes all of 127/8 for its own, and would answer from 127.0.0.1.
  const std::string address = "127.0.0.2:" + std::to_string(server.value().local_port());
  const auto id = client.value().connect(address, 0);
  ASSERT_TRUE(id) << id.error().text;
  const std::vector<std::byte> message(100'000);
  ASSERT_EQ(client.value().send(id.value(), 1, message, 7), Status::ok);
  std::vector<std::byte> buffer(message.size());
  ASSERT_EQ(server.value().post_receive(kAnyConnection, Match::any(), buffer, 8), Status::ok);
  bool sent = false;
  const auto start = std::chrono::steady_clock::now();
  while (!sent && std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    std::array<Completion, 8> room;
    server.value().poll();
    server.value().completions(room);
    client.value().poll();
    for (const Completion& c : client.value().completions(room)) {
      ASSERT_EQ(c.status, Status::ok) << text(c.status);
      sent |= c.kind == Kind::sent;
    }
  }
  EXPECT_TRUE(sent);
}

TEST(EndpointOpen, SaysWhatIsWrong) {
  EndpointOptions o;
  o.listen = "localhost:1";
  auto opened = Endpoint::open(o);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("'localhost:1'"), std::string::npos);
  o.listen = "127.0.0.1:0";
  Endpoint endpoint = std::move(Endpoint::open(o).value());
  EXPECT_FALSE(endpoint.connect("[::1]:5"));
  EXPECT_FALSE(endpoint.connect("127.0.0.1:0"));
  EXPECT_FALSE(endpoint.connect("nonsense"));
  o.listen = endpoint.local_address();
  EXPECT_FALSE(Endpoint::open(o));  // in use
}

TEST(Resolve, NumericNamesAndDefaults) {
  EXPECT_EQ(resolve("127.0.0.1").value(), "127.0.0.1:4794");
  EXPECT_EQ(resolve("127.0.0.1:5").value(), "127.0.0.1:5");
  EXPECT_EQ(resolve("[::1]:5").value(), "[::1]:5");
  EXPECT_EQ(resolve("::1", 7).value(), "[::1]:7");
  EXPECT_FALSE(resolve("no such host.invalid:1"));
  EXPECT_FALSE(resolve("[::1"));
}

TEST(ParseKey, HexadecimalDigitsOnly) {
  const std::string hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";
  const auto key = parse_key("  " + hex + "\n");
  ASSERT_TRUE(key);
  EXPECT_EQ(key.value()[31], std::byte{0x1f});
  const auto complaint = [](const std::string& text) {
    const std::string rule =
        "a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them; ";
    const auto parsed = parse_key(text);
    const std::string said = parsed ? "nothing" : parsed.error().text;
    return said.starts_with(rule) ? said.substr(rule.size()) : said;
  };
  EXPECT_EQ(complaint(hex.substr(1)), "this has 63");
  EXPECT_EQ(complaint(hex + "00"), "this has 66");
  EXPECT_EQ(complaint(hex.substr(0, 63) + "g"), "character 64 of this is 'g'");
  EXPECT_EQ(complaint("-----BEGIN"), "character 1 of this is '-'");
  EXPECT_EQ(complaint("00\n00"), "character 3 of this is the byte 10");
  EXPECT_EQ(complaint(" \n"), "this is empty");
}

}  // namespace
}  // namespace strack::udp
