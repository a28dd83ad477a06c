// Many connections to one peer: together no more under way than its port takes, and each in its turn.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::size_t kMany = 200;
constexpr std::size_t kMessage = 300'000;

/// So many connections over one link whose queue holds 10 ms; each sends one message.
struct Many {
  explicit Many(const SimulatedFaults& more = {}) : duo(made_options(), with_link(more)) {
    for (std::size_t i = 0; i < kMany; ++i) {
      const auto made = duo.client().connect(duo.hosts[0]->address(), i);
      EXPECT_TRUE(made) << made.error().text;
      ids.push_back(made.value());
    }
    duo.run(ms(300));
    EXPECT_EQ(duo.of(1, Kind::connected).size(), kMany);
    const auto accepted = duo.of(0, Kind::accepted);
    sinks.assign(accepted.size(), std::vector<std::byte>(kMessage));
    for (std::size_t i = 0; i < accepted.size(); ++i)
      EXPECT_EQ(duo.server().post_receive(accepted[i].connection, Match::any(), sinks[i], i),
                Status::ok);
    message = pattern(kMessage);
    for (const ConnectionId id : ids) EXPECT_EQ(duo.client().send(id, 1, message, 0), Status::ok);
  }

  static EndpointOptions made_options() {
    EndpointOptions o = options(false);
    o.max_payload = 4'096;
    o.paths = 8;
    o.rate_bps = 1'000'000'000;
    o.max_connections = 2 * kMany;
    o.max_connections_per_source = kMany;
    return o;
  }
  static SimulatedFaults with_link(SimulatedFaults faults) {
    faults.link = gbps(1);
    faults.one_way = us(20);
    return faults;
  }

  [[nodiscard]] std::uint64_t sum(std::uint64_t ConnectionStatistics::*field) {
    std::uint64_t all = 0;
    for (const ConnectionId id : ids) {
      if (const auto found = duo.client().statistics(id)) all += (*found).*field;
    }
    return all;
  }
  [[nodiscard]] std::size_t sent() const { return duo.of(1, Kind::sent).size(); }

  Duo duo;
  std::vector<ConnectionId> ids;
  std::vector<std::vector<std::byte>> sinks;
  std::vector<std::byte> message;
};

// [D128] Without it each has a window of its own under way, and the queue drops half of all.
TEST(ManyConnections, NothingIsDroppedAndAllHaveTheirTurns) {
  Many many;
  std::size_t half_way = 0;
  while (many.sent() < kMany && many.duo.world.now() < at(seconds(20))) {
    many.duo.run(ms(1));
    if (many.sent() == 0) continue;
    if (half_way == 0) {
      // Whoever is first is not far ahead of the others.
      for (const ConnectionId id : many.ids) {
        const auto found = many.duo.client().statistics(id);
        half_way += found && 2 * found->data_bytes_sent >= kMessage ? 1u : 0u;
      }
      EXPECT_GE(half_way, kMany * 3 / 4);
    }
  }
  EXPECT_EQ(many.sent(), kMany);
  EXPECT_EQ(many.duo.world.lost, 0u);
  EXPECT_EQ(many.sum(&ConnectionStatistics::retransmissions), 0u);
  for (const auto& sink : many.sinks) EXPECT_EQ(sink, many.message);
}

// [D129] However many are asked for: no more questions at once than a host answers, and the next ones when these are up.
TEST(ManyConnections, AreSetUpInTurns) {
  Duo duo(Many::made_options());
  std::vector<SimulatedWorld::Captured> tape;
  duo.world.capture = &tape;
  std::vector<ConnectionId> ids;
  for (std::size_t i = 0; i < kMany; ++i)
    ids.push_back(duo.client().connect(duo.hosts[0]->address(), i).value());
  EXPECT_EQ(tape.size(), 128u);
  // One that is not wanted any more makes no question, or room for another's.
  duo.client().abort(ids.back());
  duo.client().abort(ids.front());
  EXPECT_EQ(tape.size(), 129u);
  duo.world.capture = nullptr;
  duo.run(ms(300));
  EXPECT_EQ(duo.of(1, Kind::connected).size(), kMany - 2);
}

// Whoever goes while it waits, or while others wait for it, leaves its place to them.
TEST(ManyConnections, WhoeverGoesLeavesItsPlace) {
  Many many;
  many.duo.run(ms(20));
  const std::size_t before = many.sent();
  ASSERT_LT(before, kMany / 2);
  for (std::size_t i = 0; i < kMany; i += 2) many.duo.client().abort(many.ids[i]);
  many.duo.run(seconds(2));
  std::size_t whole = 0;
  for (const auto& sink : many.sinks) whole += sink == many.message ? 1u : 0u;
  EXPECT_GE(whole, kMany / 2);
  EXPECT_LT(whole, kMany);
}

// What was lost while all waited goes again.
TEST(ManyConnections, GoOnAfterASilence) {
  Many many;
  many.duo.run(ms(20));
  many.duo.world.faults().silent_from = many.duo.world.now();
  many.duo.world.faults().silent_until = many.duo.world.now() + ms(300);
  many.duo.run(seconds(6));
  EXPECT_GT(many.duo.world.lost, 0u);
  EXPECT_EQ(many.sent(), kMany);
  for (const auto& sink : many.sinks) EXPECT_EQ(sink, many.message);
}

}  // namespace
}  // namespace strack::udp
