// What connections to one peer know together of the ways there, with many of them.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

constexpr std::size_t kMessage = 20'000;

EndpointOptions crowd_options(const std::string& transport, std::uint32_t paths) {
  EndpointOptions o = options(false);
  o.transport = transport;
  o.paths = paths;
  o.rate_bps = 40'000'000'000;
  return o;
}

SimulatedFaults crowd_faults(std::uint32_t spines, std::uint32_t dead, std::uint64_t hash_seed) {
  SimulatedFaults f;
  f.spines = spines;
  f.dead_spines = dead;
  f.hash_seed = hash_seed;
  return f;
}

/// Connections between two hosts with spines between them, of which some can die.
struct Crowd {
  Crowd(const std::string& transport, const SimulatedFaults& faults, std::uint32_t paths,
        std::uint32_t count)
      : duo(crowd_options(transport, paths), faults), message(pattern(kMessage)), sink(kMessage) {
    add(count);
  }
  void add(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto made = duo.client().connect(duo.hosts[0]->address(), i);
      ASSERT_TRUE(made) << made.error().text;
      ids.push_back(made.value());
    }
    for (int i = 0; i < 200 && duo.of(1, Kind::connected).size() < ids.size(); ++i) duo.run(ms(5));
    ASSERT_EQ(duo.of(1, Kind::connected).size(), ids.size());
    duo.run(ms(20));
  }
  void spines_die() { duo.world.faults().spines_die_at = duo.world.now(); }
  /// Each connection from this one on sends so many messages; how long until all are acknowledged.
  Picoseconds send(std::size_t from, std::uint32_t messages) {
    const std::size_t wanted = duo.of(1, Kind::sent).size() + messages * (ids.size() - from);
    for (const Completion& one : duo.of(0, Kind::accepted)) {
      for (std::uint32_t i = 0; i < messages; ++i)
        EXPECT_EQ(duo.server().post_receive(one.connection, Match::any(), sink, 0), Status::ok);
    }
    const Instant start = duo.world.now();
    for (std::size_t i = from; i < ids.size(); ++i) {
      for (std::uint32_t n = 0; n < messages; ++n)
        EXPECT_EQ(duo.client().send(ids[i], 1, message, 0), Status::ok);
    }
    while (duo.of(1, Kind::sent).size() < wanted && duo.world.now() - start < seconds(60))
      duo.run(ms(1));
    EXPECT_EQ(duo.of(1, Kind::sent).size(), wanted);
    return duo.world.now() - start;
  }
  std::uint64_t retransmissions(std::size_t from = 0) const {
    std::uint64_t sum = 0;
    for (std::size_t i = from; i < ids.size(); ++i)
      sum += duo.engines[1]->statistics(ids[i])->retransmissions;
    return sum;
  }

  Duo duo;
  std::vector<ConnectionId> ids;
  std::vector<std::byte> message;
  std::vector<std::byte> sink;
};

struct SharedPaths : ::testing::TestWithParam<std::string> {};

// [D74] [D131] A new connection does not have to find out what others know: the first loses 20 packets or more in its first four messages.
TEST_P(SharedPaths, ANewConnectionKnowsWhatIsDead) {
  Crowd crowd(GetParam(), crowd_faults(4, 1, 1), 64, 1);
  crowd.spines_die();
  crowd.send(0, 4);
  const std::uint64_t first = crowd.retransmissions();
  EXPECT_GE(first, 15u);
  for (int i = 0; i < 20; ++i) crowd.send(0, 4);
  crowd.add(1);
  crowd.send(1, 4);
  EXPECT_LE(crowd.retransmissions(1), first / 3) << "those whose time to be tried again has come";
}

// [D74] Of a thousand that have a message under way when a spine dies, each loses the packets that were on it, and all but a few have what is
// missing one round trip later.
TEST_P(SharedPaths, AThousandSurviveADeadSpine) {
  Crowd crowd(GetParam(), crowd_faults(4, 1, 2), 64, 1'000);
  crowd.spines_die();
  EXPECT_LT(crowd.send(0, 1), ms(100));
  EXPECT_LT(crowd.retransmissions(), 6'000u) << "of 20,000 packets, a quarter must be lost";
}

/// What a dead spine of four adds to the time of a message on each of so many connections.
Picoseconds cost_of_a_dead_spine(const std::string& transport, std::uint64_t seed,
                                 std::uint32_t count) {
  Crowd crowd(transport, crowd_faults(4, 1, seed), 64, count);
  const Picoseconds healthy = crowd.send(0, 1);
  crowd.spines_die();
  return crowd.send(0, 1) - healthy;
}

// [D74] [D146] What costs one connection a millisecond or two costs a thousand a few timeouts and no more, though all that
// was under way may have been lost, and they wait for each other. Some of these took half a second, or more than five.
TEST_P(SharedPaths, ADeadSpineCostsAThousandLittleMoreThanOne) {
  Picoseconds one{0};
  Picoseconds thousand{0};
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    one = std::max(one, cost_of_a_dead_spine(GetParam(), seed, 1));
  for (const std::uint64_t seed : {2u, 4u, 5u, 10u})
    thousand = std::max(thousand, cost_of_a_dead_spine(GetParam(), seed, 1'000));
  EXPECT_GE(one, ms(1)) << "or nothing was lost";
  EXPECT_LE(one, ms(5));
  EXPECT_LE(thousand, ms(100));
  EXPECT_LE(thousand, 70 * one);
}

// [D146] A new connection begins with what others have been told of marks, and keeps it to itself from then on: who is alone
// has to find out with a packet or two by each of the slow paths.
TEST_P(SharedPaths, ANewConnectionKnowsWhatIsSlow) {
  SimulatedFaults faults = crowd_faults(4, 0, 3);
  faults.slow_spines = 1;
  const auto slow_share = [&](Crowd& crowd, std::size_t which, std::uint32_t messages) {
    std::uint64_t all = 0;
    std::uint64_t slow = 0;
    const auto count = [&](int sign) {
      for (const PathStatistics& path : crowd.duo.client().path_statistics(crowd.ids[which])) {
        all += static_cast<std::uint64_t>(sign) * path.packets;
        if (meets_slow_spine(faults, crowd.duo.hosts[1]->address(), crowd.duo.hosts[0]->address(),
                             static_cast<std::uint16_t>(path.path)))
          slow += static_cast<std::uint64_t>(sign) * path.packets;
      }
    };
    count(-1);
    crowd.send(which, messages);
    count(1);
    return static_cast<double>(slow) / static_cast<double>(all);
  };
  Crowd crowd(GetParam(), faults, 64, 1);
  EXPECT_TRUE(crowd.duo.client().keep_path_statistics(crowd.ids[0]));
  const double alone = slow_share(crowd, 0, 1);
  for (int i = 0; i < 20; ++i) crowd.send(0, 4);
  crowd.add(1);
  EXPECT_TRUE(crowd.duo.client().keep_path_statistics(crowd.ids[1]));
  const double told = slow_share(crowd, 1, 1);
  EXPECT_GT(alone, 0.2) << "a quarter of the paths are slow";
  EXPECT_LT(told, 0.05);
}

// [D41] [D74] What one believes wrongly does not hold up the others: with up to three quarters of 2 to 8 spines dead, all end.
TEST_P(SharedPaths, NoSetOfDeadPathsStopsAnyOfThem) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto spines = static_cast<std::uint32_t>(rng.between(2, 8));
    const auto dead = static_cast<std::uint32_t>(rng.between(1, std::max(1u, spines * 3 / 4)));
    const auto paths = static_cast<std::uint32_t>(rng.between(8, 64));
    SimulatedFaults faults = crowd_faults(spines, dead, seed);
    const auto lives = [&](std::size_t from, std::size_t to) {
      for (std::uint16_t e = 0; e < paths; ++e) {
        if (!meets_dead_spine(faults, SimulatedWorld::address_of(from),
                              SimulatedWorld::address_of(to), e))
          return true;
      }
      return false;
    };
    while (!lives(0, 1) || !lives(1, 0)) faults.hash_seed += 1'000;
    Crowd crowd(GetParam(), faults, paths, 8);
    crowd.duo.world.faults().loss = {rng.between(0, 5), 100};
    crowd.spines_die();
    crowd.send(0, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, SharedPaths, ::testing::Values("strack", "strack_plus"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace strack::udp
