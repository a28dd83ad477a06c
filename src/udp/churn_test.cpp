// Connections that come and go: whatever became of them, nothing of them stays. `bench/udp_churn` does the same
// 100,000 times over sockets.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

struct Kinds {
  EndpointOptions server;
  EndpointOptions client;
  int rounds;
};

EndpointOptions listening(EndpointOptions o) {
  o.listen = "127.0.0.1:4794";
  return o;
}

Kinds unkeyed() { return {listening(options(false)), options(false), 20}; }
Kinds keyed() { return {listening(options(true)), options(true), 15}; }
Kinds between_hosts() {
  Kinds kinds{listening(options(false)), options(false), 5};
  kinds.server.identity.emplace().fill(std::byte{1});
  kinds.client.identity.emplace().fill(std::byte{2});
  kinds.server.trusted = {public_key(*kinds.client.identity)};
  kinds.client.peer = public_key(*kinds.server.identity);
  return kinds;
}

constexpr int kAtOnce = 50;

/// Fifty connections by turns: closed in order, aborted by either side, given up before they were up.
struct Churn : Duo {
  explicit Churn(const Kinds& kinds) : Duo(options(false)), message(pattern(3'000)) {
    engines[0] = std::make_unique<Engine>(kinds.server, networks[0]);
    engines[1] = std::make_unique<Engine>(kinds.client, networks[1]);
    all = {engines[0].get(), engines[1].get()};
    buffers.assign(kAtOnce, std::vector<std::byte>(message.size()));
    for (auto& log : seen) log.reserve(1'024);
  }

  void round() {
    std::array<ConnectionId, kAtOnce> ids{};
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      ASSERT_EQ(server().post_receive(kAnyConnection, Match::any(), buffers[i], i), Status::ok);
      auto made = client().connect(hosts[0]->address(), i);
      ASSERT_TRUE(made) << made.error().text;
      ids[i] = made.value();
      if (i % 10 == 9) {
        ASSERT_EQ(client().close(ids[i]), Status::ok);  // not up yet: given up
      } else {
        ASSERT_EQ(client().send(ids[i], i, message, i), Status::ok);
      }
    }
    run(ms(50));
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      if (i % 10 == 8) {
        EXPECT_EQ(client().abort(ids[i]), Status::ok);
      } else if (i % 10 != 9) {
        EXPECT_EQ(client().close(ids[i]), Status::ok);
      }
    }
    run(ms(50));
    for (const Completion& c : of(0, Kind::peer_closed)) {
      EXPECT_EQ(static_cast<std::uint64_t>(c.connection) % 10 == 0 ? server().abort(c.connection)
                                                                   : server().close(c.connection),
                Status::ok);
    }
    EXPECT_EQ(of(0, Kind::received).size(), 45u);
    for (std::size_t i = 0; i < kAtOnce; ++i) static_cast<void>(server().cancel_receives(i));
    run(seconds(4));  // what lingers, or is half open, is forgotten by then
    closed += of(1, Kind::closed).size();
    failed += of(1, Kind::failed).size();
    seen[0].clear();
    seen[1].clear();
    EXPECT_EQ(server().connections_held(), 0u);
    EXPECT_EQ(client().connections_held(), 0u);
  }

  std::vector<std::byte> message;
  std::vector<std::vector<std::byte>> buffers;
  std::size_t closed = 0;
  std::size_t failed = 0;
};

void come_and_go(const Kinds& kinds) {
  Churn churn(kinds);
  churn.round();
  const auto live = [] { return allocations - releases; };
  const std::uint64_t before = live();
  for (int i = 1; i < kinds.rounds; ++i) churn.round();
  // Blocks of memory, the engines' and the network's: not one more.
  EXPECT_EQ(live(), before);
  EXPECT_EQ(churn.closed + churn.failed, static_cast<std::size_t>(kinds.rounds) * kAtOnce);
  EXPECT_GE(churn.closed, static_cast<std::size_t>(kinds.rounds) * 30);
  EXPECT_EQ(churn.server().statistics().connections, 0u);
  EXPECT_EQ(churn.server().statistics().held_bytes, 0u);
}

TEST(ChurnTest, WithoutAKeyNothingStays) { come_and_go(unkeyed()); }
TEST(ChurnTest, WithASharedKeyNothingStays) { come_and_go(keyed()); }
TEST(ChurnTest, WithKeysOfHostsNothingStays) { come_and_go(between_hosts()); }

}  // namespace
}  // namespace strack::udp
