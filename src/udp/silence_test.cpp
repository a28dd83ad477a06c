// Many connections to a host that does not answer, together [D55].
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp::testing {
namespace {

constexpr unsigned kMany = 200;

EndpointOptions for_many() {
  EndpointOptions o = options();
  o.message_slots = 2;
  o.max_connections = 2 * kMany;
  return o;
}

/// So many connections, each with a message under way that ends only when the peer says so.
struct Crowd {
  Crowd() : duo(for_many()) {
    for (unsigned i = 0; i < kMany; ++i) {
      auto made = duo.client().connect(duo.hosts[0]->address(), i);
      EXPECT_TRUE(made);
      ids.push_back(made.value());
    }
    duo.run(ms(100));
    EXPECT_EQ(duo.of(1, Kind::connected).size(), kMany);
    buffers.resize(kMany, std::vector<std::byte>(kLength));
    for (auto& buffer : buffers)
      EXPECT_EQ(duo.server().post_receive(kAnyConnection, Match::any(), buffer, 0), Status::ok);
  }
  /// The network falls silent in the middle of all messages.
  void send_into_silence(Picoseconds length) {
    duo.world.faults().silent_from = duo.world.now();
    duo.world.faults().silent_until = duo.world.now() + length;
    for (unsigned i = 0; i < kMany; ++i)
      EXPECT_EQ(duo.client().send(ids[i], 1, message, i), Status::ok);
  }

  static constexpr std::size_t kLength = 20'000;
  Duo duo;
  std::vector<ConnectionId> ids;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::byte> message = pattern(kLength);
};

// [D55] After the first timeouts, whatever the number of connections: the budget of one host. All of them
// are given up in time.
TEST(SilentHost, IsSentToWithinOneBudget) {
  Crowd crowd;
  crowd.send_into_silence(seconds(20));
  crowd.duo.run(ms(20));
  const EndpointStatistics before = crowd.duo.client().statistics();
  crowd.duo.run(seconds(10));
  const EndpointStatistics after = crowd.duo.client().statistics();
  EXPECT_LE(after.datagrams_sent - before.datagrams_sent, 661u);
  EXPECT_GT(after.datagrams_sent - before.datagrams_sent, 600u);  // and the budget is used
  EXPECT_EQ(crowd.duo.of(1, Kind::failed).size(), kMany);
  for (const Completion& c : crowd.duo.of(1, Kind::failed)) EXPECT_EQ(c.status, Status::peer_dead);
}

// [D55] The first answer is news for all of them.
TEST(SilentHost, IsNoticedByAllWhenItIsBack) {
  Crowd crowd;
  crowd.send_into_silence(seconds(5));
  crowd.duo.run(seconds(5));
  EXPECT_EQ(crowd.duo.of(1, Kind::sent).size(), 0u);
  crowd.duo.run(seconds(1));
  EXPECT_EQ(crowd.duo.of(1, Kind::sent).size(), kMany);
  for (const auto& buffer : crowd.buffers) EXPECT_EQ(buffer, crowd.message);
}

// [D55] Idle ones ask for each other.
TEST(SilentHost, IsAskedByFewOfThoseThatAreIdle) {
  Crowd crowd;
  crowd.duo.world.faults().silent_from = crowd.duo.world.now();
  crowd.duo.world.faults().silent_until = Instant::never();
  crowd.duo.run(ms(2'700));  // each has asked once
  const EndpointStatistics before = crowd.duo.client().statistics();
  crowd.duo.run(ms(7'500));
  EXPECT_LE(crowd.duo.client().statistics().datagrams_sent - before.datagrams_sent, 661u);
  EXPECT_EQ(crowd.duo.of(1, Kind::failed).size(), kMany);
}

// [D55] Nobody is at that port, and it does not say so. The first question of each is its own; what is
// repeated is on the budget. Who lives at that host is not held up.
TEST(SilentHost, DoesNotHoldUpWhoLivesThere) {
  const auto time_of_transfer = [](unsigned lost) {
    Duo duo(for_many());
    Address nobody = duo.hosts[0]->address();
    nobody.port = 9;
    for (unsigned i = 0; i < lost; ++i) EXPECT_TRUE(duo.client().connect(nobody, i));
    duo.run(seconds(1));
    const EndpointStatistics before = duo.client().statistics();
    duo.run(seconds(3));
    EXPECT_LE(duo.client().statistics().datagrams_sent - before.datagrams_sent, 300u);
    duo.connect();
    const auto message = pattern(3'000'000);
    std::vector<std::byte> buffer(message.size());
    EXPECT_EQ(duo.server().post_receive(duo.id[0], Match::any(), buffer, 1), Status::ok);
    EXPECT_EQ(duo.client().send(duo.id[1], 1, message, 1), Status::ok);
    const Instant start = duo.world.now();
    while (duo.of(1, Kind::sent).empty() && duo.world.now() < start + ms(500)) duo.run(us(100));
    EXPECT_EQ(buffer, message);
    return duo.world.now() - start;
  };
  const Picoseconds alone = time_of_transfer(0);
  EXPECT_LT(alone, ms(500));
  EXPECT_EQ(time_of_transfer(kMany), alone);
}

}  // namespace
}  // namespace strack::udp::testing
