// The choice of a port: each policy by itself, then in a switch.
#include "sim/net/spraying.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"
#include "sim/net/switch_testing.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using namespace testing;

constexpr Routing kSpraying[] = {Routing::round_robin, Routing::power_of_two, Routing::drill,
                                 Routing::least_queue, Routing::destination_rotation};
constexpr std::array<std::uint16_t, 4> kPorts{10, 11, 12, 13};

/// Loads by port; index 0 is port 10's.
using Loads = std::array<std::int64_t, 4>;

/// A policy with its four ports.
class Chooser {
 public:
  explicit Chooser(Routing routing, std::uint64_t seed = 7) : sprayer_(routing, seed) {}

  std::uint32_t operator()(const Loads& loads = {}) { return (*this)(turn_, loads); }
  std::uint32_t operator()(SprayTurn& turn, const Loads& loads = {}) {
    return sprayer_.choose(kPorts, turn, [&](std::uint32_t port) { return loads[port - 10]; });
  }
  /// How often each is chosen of so many.
  std::vector<std::uint64_t> counts(std::uint32_t times, const Loads& loads) {
    std::vector<std::uint64_t> all(4);
    for (std::uint32_t i = 0; i < times; ++i) ++all[(*this)(loads)-10];
    return all;
  }

 private:
  Sprayer sprayer_;
  SprayTurn turn_;
};

// [D56] One after the other in the order of ports, from one that is drawn, whatever their queues are.
TEST(Sprayer, RoundRobin) {
  std::set<std::uint32_t> first;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Chooser choose(Routing::round_robin, seed);
    std::uint32_t port = choose({0, 9, 9, 9});
    first.insert(port);
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t next = choose({0, 9, 9, 9});
      EXPECT_EQ(next, port == 13 ? 10 : port + 1);
      port = next;
    }
  }
  EXPECT_EQ(first, (std::set<std::uint32_t>{10, 11, 12, 13}));
}

// [D57] The shorter of two different ones: of four lengths the longest never, and the others in 3, 2
// and 1 of the 6 pairs.
TEST(Sprayer, PowerOfTwo) {
  Chooser choose(Routing::power_of_two);
  const auto counts = choose.counts(12'000, {40, 10, 30, 20});
  EXPECT_EQ(counts[0], 0u);
  EXPECT_NEAR(static_cast<double>(counts[1]), 6'000, 220);
  EXPECT_NEAR(static_cast<double>(counts[3]), 4'000, 210);
  EXPECT_NEAR(static_cast<double>(counts[2]), 2'000, 170);
}

// [D57] Of equals the first drawn, so all alike. 3 degrees of freedom: beyond 21.1 once in 10'000.
TEST(Sprayer, PowerOfTwo_Equals) {
  Chooser choose(Routing::power_of_two);
  EXPECT_LT(chi_square(choose.counts(12'000, {5, 5, 5, 5})), 21.1);
}

// [D57] Two drawn and the last choice: once it has found the shortest it stays there, until another
// that is drawn is shorter.
TEST(Sprayer, Drill) {
  Chooser choose(Routing::drill);
  while (choose({40, 10, 30, 20}) != 11) {
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(choose({40, 10, 30, 20}), 11u);
  // Its queue grows: the shortest is found again, and kept.
  bool found = false;
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t port = choose({40, 50, 30, 20});
    if (found) {
      EXPECT_EQ(port, 13u);
    }
    found = found || port == 13;
    EXPECT_NE(port, 11u);
  }
  EXPECT_TRUE(found);
  // Of equals one that was drawn just now: nothing sticks where nothing is to gain.
  EXPECT_LT(chi_square(choose.counts(12'000, {5, 5, 5, 5})), 21.1);
}

// [D57] The shortest of all; of equals one is drawn, all alike. 2 degrees of freedom.
TEST(Sprayer, LeastQueue) {
  Chooser choose(Routing::least_queue);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(choose({40, 20, 30, 10}), 13u);
  const auto counts = choose.counts(9'000, {5, 5, 9, 5});
  EXPECT_EQ(counts[2], 0u);
  EXPECT_LT(chi_square({counts[0], counts[1], counts[3]}), 18.4);
}

// [D58] Every place once before any comes again, in an order that is drawn: with four places steps of
// 1 and 3, never 2, which would leave out half of them.
TEST(Sprayer, DestinationRotation) {
  Chooser choose(Routing::destination_rotation);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (int destination = 0; destination < 100; ++destination) {
    SprayTurn turn;
    std::vector<std::uint32_t> order;
    for (int i = 0; i < 8; ++i) order.push_back(choose(turn));
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + 4, order.begin() + 4));
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.begin() + 4).size(), 4u);
    seen.insert({order[0], turn.step});
  }
  EXPECT_EQ(seen.size(), 8u);
  for (const auto& [start, step] : seen) EXPECT_EQ(step % 2, 1u);
}

// [D58] Whatever their number, no place is left out.
TEST(Sprayer, DestinationRotation_AnyNumberOfPorts) {
  for (std::uint16_t count = 2; count <= 96; ++count) {
    std::vector<std::uint16_t> ports;
    for (std::uint16_t p = 0; p < count; ++p) ports.push_back(p);
    Sprayer sprayer(Routing::destination_rotation, count);
    SprayTurn turn;
    std::set<std::uint32_t> seen;
    for (std::uint16_t i = 0; i < count; ++i)
      seen.insert(sprayer.choose(ports, turn, [](std::uint32_t) { return std::int64_t{0}; }));
    EXPECT_EQ(seen.size(), count);
  }
}

// ---- In a switch ----

SimPacket ack_packet(std::uint32_t dst, std::uint32_t number) {
  SimPacket packet = SimPacket::ack({dst, 0}, 0);
  packet.w1 = number;
  return packet;
}

/// A ToR of so many hosts under so many spines, one of three racks.
struct Tor : SwitchBench {
  Tor(Routing routing, std::uint32_t hosts, std::uint32_t spines)
      : SwitchBench(leaf_spine(3, hosts, spines), 0, 5) {
    sw.set_routing(routing, 99);
  }
};

/// By a packet's number, the port it left by.
std::vector<std::uint32_t> ports_of(const SwitchBench& bench, std::size_t packets) {
  std::vector<std::uint32_t> all(packets, ~0u);
  for (std::uint32_t p = 0; p < bench.out.size(); ++p) {
    for (const Transit& transit : bench.out[p])
      all[static_cast<std::uint32_t>(transit.packet.w1)] = p;
  }
  return all;
}

// [D56] Turns are taken in order of time, by whichever port packets come in; at one time by port.
// What is for the rack's own hosts takes no turn.
TEST(Spraying, InOrderOfTime) {
  Tor bench(Routing::round_robin, 4, 4);
  bench.arrive(3, 10, data_packet(4, 0, 0, 0));
  bench.arrive(3, 40, data_packet(5, 0, 0, 4));
  bench.arrive(2, 20, data_packet(6, 0, 0, 1));
  bench.arrive(2, 30, data_packet(1, 0, 0, 6));
  bench.arrive(1, 30, data_packet(8, 0, 0, 3));
  bench.arrive(0, 30, data_packet(7, 0, 0, 2));
  bench.arrive(0, 50, data_packet(9, 0, 0, 5));
  bench.run();
  const auto ports = ports_of(bench, 7);
  for (std::uint32_t i = 1; i < 6; ++i) EXPECT_EQ(ports[i] - 4, (ports[i - 1] - 4 + 1) % 4) << i;
  EXPECT_EQ(ports[6], 1u);
}

// [D57] Queues are what they are when the packet comes, the one in service included: at the very time
// at which it leaves it still counts. Rack 1 can be reached by port 1 only, and fills its queue.
TEST(Spraying, LeastQueue_AsItIsThen) {
  Tor bench(Routing::least_queue, 1, 2);
  std::vector<RouteVersion> versions;
  versions.push_back({Instant{}, bench.without({LinkRef::Tier::fabric, 1, 1})});
  bench.sw.set_routes(std::move(versions));
  bench.arrive(0, 0, data_packet(1, 0, 0, 0));
  bench.arrive(0, kS, data_packet(2, 0, 0, 1));      // one packet against none
  bench.arrive(0, kS + 1, data_packet(2, 0, 0, 2));  // the first has left
  bench.arrive(0, kS + 2, data_packet(1, 0, 0, 3));
  bench.arrive(0, kS + 3, data_packet(2, 0, 0, 4));  // two against one
  bench.arrive(0, kS + 4, data_packet(1, 0, 0, 5));
  bench.arrive(0, 2 * kS + 1, data_packet(2, 0, 0, 6));  // three against one
  bench.arrive(0, 3 * kS + 1, data_packet(2, 0, 0, 7));  // two against one
  bench.run();
  EXPECT_EQ(ports_of(bench, 8), (std::vector<std::uint32_t>{1, 2, 1, 1, 2, 1, 2, 2}));
}

// [D57] The same packets in one window or in many: no policy can tell.
TEST(Spraying, WindowsDoNotShow) {
  for (const Routing routing : kSpraying) {
    std::vector<std::vector<std::uint32_t>> ways;
    for (const std::int64_t window : {100'000'000, 1'000'000, 70'000}) {
      Tor bench(routing, 4, 3);
      Rng rng(3);
      for (std::uint32_t p = 0; p < 4; ++p) {
        std::int64_t time = 0;
        for (std::uint32_t i = 0; i < 100; ++i) {
          time += rng.between(0, 160'000);
          bench.arrive(p, time,
                       data_packet(static_cast<std::uint32_t>(rng.below(12)), p, 0, p * 100 + i));
        }
      }
      std::vector<std::uint32_t> ports(400, ~0u);
      for (std::int64_t end = window; end <= 100'000'000; end += window) {
        bench.run(end);
        const auto now = ports_of(bench, 400);
        for (std::size_t i = 0; i < 400; ++i) ports[i] = std::min(ports[i], now[i]);
      }
      EXPECT_EQ(bench.sw.packets_held(), 0u);
      ways.push_back(ports);
    }
    EXPECT_EQ(ways[1], ways[0]) << static_cast<int>(routing);
    EXPECT_EQ(ways[2], ways[0]) << static_cast<int>(routing);
  }
}

// [D56] Control is hashed: one header, one way, and it takes no turn of data's.
TEST(Spraying, ControlIsHashed) {
  Tor bench(Routing::round_robin, 1, 4);
  for (std::uint32_t i = 0; i < 8; ++i) {
    bench.arrive(0, 10 * i, data_packet(1, 0, 0, i));
    bench.arrive(0, 10 * i + 5, ack_packet(1, 8 + i));
  }
  bench.run();
  const auto ports = ports_of(bench, 16);
  for (std::uint32_t i = 1; i < 8; ++i) {
    EXPECT_EQ(ports[i] - 1, (ports[i - 1] - 1 + 1) % 4);
    EXPECT_EQ(ports[8 + i], ports[8]);
  }
}

// [D58] With rotation it has turns of its own; each rack has its own too, so that packets for one do not
// move those of another.
TEST(Spraying, DestinationRotation_OneTurnForEachRackAndKind) {
  Tor bench(Routing::destination_rotation, 1, 4);
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (const std::uint32_t dst : {1u, 2u}) {
      bench.arrive(0, number, data_packet(dst, 0, 0, number));
      ++number;
      bench.arrive(0, number, ack_packet(dst, number));
      ++number;
    }
  }
  bench.run();
  const auto ports = ports_of(bench, number);
  for (std::uint32_t kind = 0; kind < 4; ++kind) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 4; ++i) seen.insert(ports[4 * i + kind]);
    EXPECT_EQ(seen, (std::set<std::uint32_t>{1, 2, 3, 4})) << kind;
  }
}

// [D58] Above ToRs a turn is a pod's: packets for its racks share it.
TEST(Spraying, DestinationRotation_OneTurnForEachPod) {
  TopologyParams params = leaf_spine(6, 1, 1);
  params.tiers = 3;
  params.racks_per_pod = 2;
  params.aggs_per_pod = 1;
  params.cores_per_agg = 4;
  params.core_latency = us(1);
  const Topology topology(params);
  const SwitchInfo& agg = topology.switches()[6];
  ASSERT_EQ(agg.ref.tier, SwitchRef::Tier::agg);
  SwitchBench bench(params, agg, 5);
  bench.sw.set_routing(Routing::destination_rotation, 99);
  // Racks 2 and 3 in turn, with one for racks 4 and 5 between.
  const std::uint32_t to[] = {2, 4, 3, 5, 2, 5, 3, 4};
  for (std::uint32_t i = 0; i < 8; ++i) bench.arrive(0, i, data_packet(to[i], 0, 0, i));
  bench.run();
  const auto ports = ports_of(bench, 8);
  for (const std::uint32_t pod : {0u, 1u}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = pod; i < 8; i += 2) seen.insert(ports[i]);
    EXPECT_EQ(seen, (std::set<std::uint32_t>{2, 3, 4, 5})) << pod;
  }
}

// [D56] From the instant at which routes change, nothing goes to a port that they leave out;
// once they bring it back it takes its share.
TEST(Spraying, DeadPortsAreNotChosen) {
  for (const Routing routing : kSpraying) {
    Tor bench(routing, 1, 3);
    std::vector<RouteVersion> versions;
    versions.push_back({Instant{}, bench.all_up()});
    versions.push_back({t(5'000'000), bench.without_uplink(1)});
    versions.push_back({t(10'000'000), bench.all_up()});
    bench.sw.set_routes(std::move(versions));
    for (std::uint32_t i = 0; i < 300; ++i)
      bench.arrive(0, 50'000 * i, data_packet(1 + i % 2, 0, 0, i));
    bench.run();
    const auto ports = ports_of(bench, 300);
    const auto uses = [&](std::uint32_t from, std::uint32_t port) {
      return std::count(ports.begin() + from, ports.begin() + from + 100, port);
    };
    EXPECT_EQ(uses(100, 2), 0) << static_cast<int>(routing);
    for (const std::uint32_t port : {1u, 2u, 3u}) {
      EXPECT_GT(uses(0, port), 10) << static_cast<int>(routing);
      EXPECT_GT(uses(200, port), 10) << static_cast<int>(routing);
    }
    EXPECT_GT(uses(100, 1), 20) << static_cast<int>(routing);
    EXPECT_GT(uses(100, 3), 20) << static_cast<int>(routing);
  }
}

}  // namespace
}  // namespace strack::sim
