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

std::uint64_t shard_of(ConnectionId id) { return static_cast<std::uint64_t>(id) >> 56; }

/// A server that sends every message back, in a thread of its own, until everybody has left.
class Echo {
 public:
  Echo(bool keyed, std::uint32_t threads, std::size_t connections)
      : endpoint_(std::move(ThreadedEndpoint::open(listening(keyed), threads).value())),
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
