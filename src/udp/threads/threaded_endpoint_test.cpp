// Endpoints that share an address, and threads that share an endpoint. A program of its own, which the thread sanitizer runs.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "udp/atomics.h"
#include "udp/endpoint.h"

namespace strack::udp {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBytes = 20'000;

std::vector<std::byte> pattern(std::uint64_t seed) {
  std::vector<std::byte> bytes(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(i * 13 + seed * 31);
  return bytes;
}

EndpointOptions options(bool keyed) {
  EndpointOptions o;
  o.paths = 8;
  if (keyed) o.key.emplace().fill(std::byte{7});
  return o;
}
EndpointOptions listening(bool keyed) {
  EndpointOptions o = options(keyed);
  o.listen = keyed ? "[::1]:0" : "127.0.0.1:0";
  return o;
}

/// [D95] Two hosts that know each other's keys.
Key host_key(std::byte of) {
  Key key;
  key.fill(of);
  return key;
}
EndpointOptions host(std::byte own, std::byte other) {
  EndpointOptions o = options(false);
  o.identity = host_key(own);
  o.trusted = {public_key(host_key(other))};
  o.peer = o.trusted.front();
  return o;
}
EndpointOptions listening_host() {
  EndpointOptions o = host(std::byte{1}, std::byte{2});
  o.listen = "127.0.0.1:0";
  return o;
}

std::uint64_t shard_of(ConnectionId id) { return static_cast<std::uint64_t>(id) >> 56; }

/// A server that sends every message back, in a thread of its own, until everybody has left.
class Echo {
 public:
  Echo(bool keyed, std::uint32_t threads, std::size_t connections)
      : Echo(listening(keyed), threads, connections) {}
  Echo(const EndpointOptions& settings, std::uint32_t threads, std::size_t connections)
      : endpoint_(std::move(ThreadedEndpoint::open(settings, threads).value())),
        left_(connections),
        thread_([this] { run(); }) {}
  ~Echo() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::string address() const { return endpoint_.local_address(); }

  ThreadedEndpoint endpoint_;
  std::map<std::uint64_t, int> connections_of_;  ///< of each thread; after join()

 private:
  void run() {
    std::array<Completion, 32> room;
    std::map<ConnectionId, std::vector<std::byte>> buffers;
    while (left_ > 0) {
      for (const Completion& c : endpoint_.wait(room, milliseconds(100))) {
        std::vector<std::byte>& buffer = buffers[c.connection];
        if (c.kind == Kind::accepted) {
          ++connections_of_[shard_of(c.connection)];
          buffer.resize(kBytes);
          EXPECT_EQ(endpoint_.post_receive(c.connection, Match::any(), buffer, 0), Status::ok);
        } else if (c.kind == Kind::received && c.status == Status::ok) {
          EXPECT_EQ(endpoint_.send(c.connection, c.tag, std::span(buffer).first(c.length), 0),
                    Status::ok);
        } else if (c.kind == Kind::sent && c.status == Status::ok) {
          EXPECT_EQ(endpoint_.post_receive(c.connection, Match::any(), buffer, 0), Status::ok);
        } else if (c.kind == Kind::peer_closed) {
          EXPECT_EQ(endpoint_.close(c.connection), Status::ok);
        } else if (c.kind == Kind::closed || c.kind == Kind::failed) {
          EXPECT_EQ(c.kind, Kind::closed) << text(c.status);
          --left_;
        }
      }
    }
  }

  std::size_t left_;
  std::thread thread_;
};

/// One connection of a client: some messages there and back, one after the other, then it closes.
struct Talk {
  std::vector<std::byte> message, answer;
  int rounds = 3;
};

template <class Client>
void on(Client& client, Talk& talk, const Completion& c) {
  if (c.kind != Kind::received || c.status != Status::ok) return;
  EXPECT_EQ(talk.answer, talk.message);
  if (--talk.rounds == 0) {
    EXPECT_EQ(client.close(c.connection), Status::ok);
    return;
  }
  talk.answer.assign(kBytes, std::byte{0});
  EXPECT_EQ(client.post_receive(c.connection, Match::any(), talk.answer, c.cookie), Status::ok);
  EXPECT_EQ(client.send(c.connection, 1, talk.message, c.cookie), Status::ok);
}

template <class Client>
void begin(Client& client, Talk& talk, const std::string& address, std::uint64_t number) {
  talk.message = pattern(number);
  talk.answer.resize(kBytes);
  auto made = client.connect(address, number);
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(client.post_receive(made.value(), Match::any(), talk.answer, number), Status::ok);
  EXPECT_EQ(client.send(made.value(), 1, talk.message, number), Status::ok);
}

// [D107] Connections from many ports to one address: every packet reaches the thread whose connection it is of.
TEST(ThreadedEndpointTest, PacketsFindTheirThread) {
  for (const bool keyed : {false, true}) {
    constexpr std::size_t kConnections = 24;
    Echo echo(keyed, 3, kConnections);
    auto opened = Endpoint::open(options(keyed));
    ASSERT_TRUE(opened);
    Endpoint client = std::move(opened.value());
    std::vector<Talk> talks(kConnections);
    for (std::size_t i = 0; i < kConnections; ++i) begin(client, talks[i], echo.address(), i);
    std::array<Completion, 32> room;
    for (std::size_t left = kConnections; left > 0;) {
      client.wait(milliseconds(100));
      for (const Completion& c : client.completions(room)) {
        if (c.kind == Kind::received) on(client, talks[c.cookie], c);
        if (c.kind == Kind::closed || c.kind == Kind::failed) --left;
        EXPECT_NE(c.kind, Kind::failed) << text(c.status);
      }
    }
    echo.join();
    EXPECT_GE(echo.connections_of_.size(), 2u);  // by nonces: one gets all once in 10^11 times
    const EndpointStatistics s = echo.endpoint_.statistics();
    EXPECT_EQ(s.connections_made, kConnections);
    EXPECT_EQ(s.connections, 0u);
    // What is repeated after more than a second, on a busy machine, is unknown by then; packets at the wrong thread
    // would be thousands.
    EXPECT_LE(s.refused_unknown, kConnections);
    EXPECT_EQ(s.refused_forged, 0u);
  }
}

// Several threads of the program at one endpoint, each with connections of its own; one more takes what completes.
TEST(ThreadedEndpointTest, AnyThreadMayCall) {
  constexpr std::size_t kThreads = 3, kEach = 4, kAll = kThreads * kEach;
  Echo echo(true, 2, kAll);
  auto opened = ThreadedEndpoint::open(options(true), 2);
  ASSERT_TRUE(opened);
  ThreadedEndpoint client = std::move(opened.value());
  EXPECT_EQ(client.threads(), 2u);
  EXPECT_EQ(client.local_address(), "");
  std::vector<Talk> talks(kAll);
  std::atomic<std::size_t> begun = 0;
  std::vector<std::thread> callers;
  for (std::size_t t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (std::size_t i = t * kEach; i < (t + 1) * kEach; ++i) {
        begin(client, talks[i], echo.address(), i);
        ++begun;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  std::set<std::uint64_t> shards;
  std::array<Completion, 8> room;
  for (std::size_t left = kAll; left > 0;) {
    for (const Completion& c : client.wait(room, milliseconds(100))) {
      shards.insert(shard_of(c.connection));
      if (c.kind == Kind::connected) {
        EXPECT_EQ(client.peer_address(c.connection), echo.address());
        EXPECT_TRUE(client.statistics(c.connection));
      }
      if (c.kind == Kind::received) on(client, talks[c.cookie], c);
      if (c.kind == Kind::closed || c.kind == Kind::failed) --left;
      EXPECT_NE(c.kind, Kind::failed) << text(c.status);
    }
  }
  EXPECT_EQ(shards.size(), 2u);  // by turns
  EXPECT_EQ(client.statistics().connections_made, kAll);
}

// [D95] [D107] Hosts with keys of their own: whichever thread a connection comes to knows the key, and who is there.
TEST(ThreadedEndpointTest, HostKeys) {
  constexpr std::size_t kConnections = 12;
  Echo echo(listening_host(), 3, kConnections);
  auto opened = ThreadedEndpoint::open(host(std::byte{2}, std::byte{1}), 2);
  ASSERT_TRUE(opened);
  ThreadedEndpoint client = std::move(opened.value());
  EXPECT_NE(client.sealing(), "");
  std::vector<Talk> talks(kConnections);
  for (std::size_t i = 0; i < kConnections; ++i) begin(client, talks[i], echo.address(), i);
  std::array<Completion, 8> room;
  for (std::size_t left = kConnections; left > 0;) {
    for (const Completion& c : client.wait(room, milliseconds(100))) {
      if (c.kind == Kind::connected) {
        EXPECT_EQ(client.peer_key(c.connection), public_key(host_key(std::byte{1})));
        EXPECT_TRUE(client.statistics(c.connection).value().keyed);
      }
      if (c.kind == Kind::received) on(client, talks[c.cookie], c);
      if (c.kind == Kind::closed || c.kind == Kind::failed) --left;
      EXPECT_NE(c.kind, Kind::failed) << text(c.status);
    }
  }
  echo.join();
  EXPECT_GE(echo.connections_of_.size(), 2u);  // by nonces: one gets all once in 177,000 times
  EXPECT_EQ(echo.endpoint_.statistics().refused_untrusted, 0u);
}

// Threads that all send on the same connections and all take what completes: nothing is lost, doubled, or out of its place.
TEST(ThreadedEndpointTest, ContentionForTheSameConnections) {
  constexpr std::size_t kThreads = 4, kEach = 50, kConnections = 2;
  auto server = ThreadedEndpoint::open(listening(true), 2);
  auto client = ThreadedEndpoint::open(options(true), 2);
  ASSERT_TRUE(server);
  ASSERT_TRUE(client);
  std::vector<ConnectionId> to;
  for (std::size_t i = 0; i < kConnections; ++i)
    to.push_back(client.value().connect(server.value().local_address(), i).value());

  constexpr std::size_t kAll = kThreads * kEach;
  // Who receives: two threads take completions and post again.
  std::vector<std::array<std::byte, 8>> slots(kConnections * 64);
  std::array<std::atomic<int>, kAll> received{};
  std::atomic<std::size_t> arrived = 0, accepted = 0;
  const auto serve = [&] {
    std::array<Completion, 4> room;
    while (arrived < kAll) {
      for (const Completion& c : server.value().wait(room, milliseconds(10))) {
        if (c.kind == Kind::accepted) {
          const std::size_t first = accepted++ * 64;
          for (std::size_t i = first; i < first + 64; ++i)
            EXPECT_EQ(server.value().post_receive(c.connection, Match::any(), slots[i], i),
                      Status::ok);
        } else if (c.kind == Kind::received) {
          EXPECT_EQ(c.status, Status::ok);
          EXPECT_EQ(std::to_integer<std::uint64_t>(slots[c.cookie][0]), c.tag);
          ++received[c.tag];
          ++arrived;
          EXPECT_EQ(
              server.value().post_receive(c.connection, Match::any(), slots[c.cookie], c.cookie),
              Status::ok);
        }
      }
    }
  };
  // Who sends: each thread its own numbers, on either connection by turns, and takes whatever has completed.
  std::array<std::array<std::byte, 8>, kAll> messages{};
  std::array<std::atomic<int>, kAll> sent{};
  std::atomic<std::size_t> acknowledged = 0;
  const auto take = [&](milliseconds timeout) {
    std::array<Completion, 4> room;
    for (const Completion& c : client.value().wait(room, timeout)) {
      if (c.kind != Kind::sent) continue;
      EXPECT_EQ(c.status, Status::ok);
      ++sent[c.cookie];
      ++acknowledged;
    }
  };
  const auto post = [&](std::size_t thread) {
    for (std::size_t i = thread * kEach; i < (thread + 1) * kEach; ++i) {
      messages[i].fill(static_cast<std::byte>(i));
      while (client.value().send(to[i % kConnections], i, messages[i], i) == Status::would_block)
        take(milliseconds(1));
    }
    while (acknowledged < kAll) take(milliseconds(1));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(serve);
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(post, i);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kAll; ++i) {
    EXPECT_EQ(received[i], 1) << i;
    EXPECT_EQ(sent[i], 1) << i;
  }
}

// [D107] `EndpointOptions::threads`: the same behind an `Endpoint`, which then needs nobody to poll it.
TEST(ThreadedEndpointTest, AnEndpointMayHaveThreads) {
  EndpointOptions with_threads = listening(true);
  with_threads.threads = 2;
  auto server = Endpoint::open(with_threads);
  ASSERT_TRUE(server);
  EXPECT_EQ(server.value().threads(), 2u);
  EXPECT_NE(server.value().local_port(), 0);
  EXPECT_EQ(server.value().next_deadline(), std::chrono::nanoseconds::max());
  auto client = Endpoint::open(options(true));
  ASSERT_TRUE(client);
  EXPECT_EQ(client.value().threads(), 0u);
  const std::vector<std::byte> message = pattern(5);
  auto made = client.value().connect(server.value().local_address());
  ASSERT_TRUE(made);
  EXPECT_EQ(client.value().send(made.value(), 3, message, 0), Status::ok);
  std::array<Completion, 1> room;
  while (client.value().statistics(made.value()).value().messages_sent == 0)
    client.value().wait(milliseconds(10));  // held there until somebody posts a receive
  ASSERT_TRUE(server.value().wait(milliseconds(10'000)));
  ASSERT_EQ(server.value().completions(room).size(), 1u);
  ASSERT_EQ(room[0].kind, Kind::accepted);
  const ConnectionId peer = room[0].connection;
  EXPECT_EQ(server.value().peer_address(peer),
            "[::1]:" + std::to_string(client.value().local_port()));
  std::array<ConnectionId, 2> up;
  EXPECT_EQ(server.value().connections(up), 1u);
  EXPECT_EQ(up[0], peer);
  std::vector<std::byte> buffer(kBytes);
  EXPECT_EQ(server.value().post_receive(peer, Match::any(), buffer, 9), Status::ok);
  ASSERT_TRUE(server.value().wait(milliseconds(10'000)));
  ASSERT_EQ(server.value().completions(room).size(), 1u);
  EXPECT_EQ(room[0].cookie, 9u);
  EXPECT_EQ(buffer, message);
  // And back, in two parts.
  std::vector<std::byte> answer(kBytes);
  EXPECT_EQ(client.value().post_receive(made.value(), Match::any(), answer, 4), Status::ok);
  const std::span<const std::byte> whole(message);
  EXPECT_EQ(server.value().send(peer, 5, whole.first(3), whole.subspan(3), 8), Status::ok);
  while (client.value().statistics(made.value()).value().messages_received == 0)
    client.value().wait(milliseconds(10));
  EXPECT_EQ(answer, message);
  ASSERT_TRUE(server.value().wait(milliseconds(10'000)));
  ASSERT_EQ(server.value().completions(room).size(), 1u);
  EXPECT_EQ(room[0].cookie, 8u);
  EXPECT_FALSE(server.value().poll());
  EXPECT_EQ(server.value().statistics().connections, 1u);
  Endpoint moved = std::move(server.value());
  EXPECT_EQ(moved.abort(peer), Status::ok);
}

/// A value of a server's, and a client that adds to it; both have threads.
class Adding {
 public:
  explicit Adding(std::span<std::uint64_t> value)
      : server_(std::move(ThreadedEndpoint::open(listening(false), 1).value())),
        client_(std::move(ThreadedEndpoint::open(options(false), 1).value())) {
    auto made = client_.connect(server_.local_address());
    EXPECT_TRUE(made);
    id_ = made.value();
    std::array<Completion, 1> room;
    while (server_.wait(room, milliseconds(100)).empty()) {
    }
    EXPECT_EQ(room[0].kind, Kind::accepted);
    const ConnectionId peer = room[0].connection;
    while (client_.wait(room, milliseconds(100)).empty()) {
    }
    EXPECT_EQ(room[0].kind, Kind::connected);
    auto region = server_.register_region(std::as_writable_bytes(value), peer, Access::both);
    EXPECT_TRUE(region);
    region_ = region.value();
  }
  void ask() {
    EXPECT_EQ(client_.atomic(id_, region_, 0, AtomicOp::sum, ValueType::uint64,
                             std::as_writable_bytes(std::span(before_)),
                             std::as_bytes(std::span(kOne)), {}, 7),
              Status::ok);
  }
  /// Whether it was done within this time.
  bool done(milliseconds within) {
    std::array<Completion, 1> room;
    if (client_.wait(room, within).empty()) return false;
    EXPECT_EQ(room[0].kind, Kind::atomic);
    EXPECT_EQ(room[0].status, Status::ok);
    EXPECT_EQ(room[0].cookie, 7u);
    return true;
  }
  /// What the last found.
  [[nodiscard]] std::uint64_t before() const { return before_[0]; }

 private:
  static constexpr std::array<std::uint64_t, 1> kOne{1};
  ThreadedEndpoint server_;
  ThreadedEndpoint client_;
  ConnectionId id_{};
  RegionKey region_{};
  std::array<std::uint64_t, 1> before_{};
};

// [D154] Atomics wait for each other, whichever of a process's endpoints does them: nobody changes values while somebody
// else is alone with them, and of a thousand additions by two at once none is lost.
TEST(ThreadedEndpointTest, AtomicsAreAloneWithValues) {
  constexpr std::uint64_t kTimes = 500;
  std::array<std::uint64_t, 1> value{};
  std::array<Adding, 2> both{Adding(value), Adding(value)};
  {
    const auto alone = alone_with_values();
    for (Adding& one : both) one.ask();
    for (Adding& one : both) EXPECT_FALSE(one.done(milliseconds(50)));
  }
  for (Adding& one : both) EXPECT_TRUE(one.done(milliseconds(20'000)));
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads[i] = std::thread([&one = both[i]] {
      for (std::uint64_t n = 0; n < kTimes; ++n) {
        one.ask();
        ASSERT_TRUE(one.done(milliseconds(20'000)));
      }
    });
  }
  for (std::thread& one : threads) one.join();
  both[0].ask();
  EXPECT_TRUE(both[0].done(milliseconds(20'000)));
  EXPECT_EQ(both[0].before(), 2 + 2 * kTimes);
}

// An endpoint that ends in the middle of everything ends its threads, and its peers learn of it.
TEST(ThreadedEndpointTest, EndsInTheMiddle) {
  auto server = std::make_unique<ThreadedEndpoint>(
      std::move(ThreadedEndpoint::open(listening(true), 2).value()));
  auto client = ThreadedEndpoint::open(options(true), 2);
  ASSERT_TRUE(client);
  const std::vector<std::byte> message = pattern(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto made = client.value().connect(server->local_address(), i);
    ASSERT_TRUE(made);
    EXPECT_EQ(client.value().send(made.value(), 0, message, i), Status::ok);
  }
  std::array<Completion, 8> room;
  std::size_t up = 0;
  while (up < 4) {
    for (const Completion& c : server->wait(room, milliseconds(100)))
      up += c.kind == Kind::accepted;
  }
  server.reset();
  std::size_t failed = 0;
  while (failed < 4) {
    for (const Completion& c : client.value().wait(room, milliseconds(100))) {
      if (c.kind != Kind::failed) continue;
      EXPECT_EQ(c.status, Status::peer_aborted);
      ++failed;
    }
  }
}

TEST(ThreadedEndpointTest, SaysWhatIsWrong) {
  EXPECT_EQ(ThreadedEndpoint::open(listening(false), 0).error().text,
            "threads is 0. it takes 1 to 64");
  EXPECT_EQ(ThreadedEndpoint::open(listening(false), 65).error().text,
            "threads is 65. it takes 1 to 64");
  EndpointOptions simulated = listening(false);
  simulated.datapath = "simulated";
  EXPECT_EQ(ThreadedEndpoint::open(simulated, 2).error().text,
            "datapath is \"simulated\". threads take \"kernel\"");
  EndpointOptions o = listening(false);
  o.shards = 65;
  EXPECT_EQ(Endpoint::open(o).error().text, "shards is 65. it takes 1 to 64");
  o = listening(false);
  o.threads = 65;
  EXPECT_EQ(Endpoint::open(o).error().text, "threads is 65. it takes 1 to 64");
  o.threads = 0;
  o.shards = 2;
  o.shard = 2;
  EXPECT_EQ(Endpoint::open(o).error().text, "shard is 2. it takes less than shards");
  o.shard = 1;
  EXPECT_EQ(Endpoint::open(o).error().text,
            "shard 1 with port 0. all shards listen at the port that shard 0 has");
  auto opened = ThreadedEndpoint::open(listening(false), 1);
  ASSERT_TRUE(opened);
  std::vector<std::byte> buffer(8);
  EXPECT_EQ(opened.value().post_receive(kAnyConnection, Match::any(), buffer, 0),
            Status::unknown_connection);
  EXPECT_FALSE(opened.value().register_region(buffer, kAnyConnection));
  EXPECT_EQ(opened.value().close(ConnectionId{std::uint64_t{9} << 56 | 1}),
            Status::unknown_connection);
  EXPECT_TRUE(opened.value().wait({}, milliseconds(0)).empty());
}

}  // namespace
}  // namespace strack::udp
