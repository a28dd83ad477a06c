#include "sim/net/switch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/net/network_graph.h"
#include "sim/net/switch_testing.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using namespace testing;
using Bench = SwitchBench;

// A packet for a host of this rack goes to that host's port.
TEST(Switch, Route_ToItsOwnHosts) {
  Bench bench(leaf_spine(3, 4, 2), 1, 99);
  for (std::uint32_t h = 0; h < 4; ++h) bench.arrive(4, h * 10, data_packet(4 + h, 0, 0, h));
  bench.run();
  for (std::uint32_t h = 0; h < 4; ++h) {
    ASSERT_EQ(bench.out[h].size(), 1u);
    EXPECT_EQ(bench.out[h][0].packet.w1, h);
    EXPECT_EQ(bench.out[h][0].time, t(h * 10 + kS + kL));
  }
}

// Racks are found for every host, also where their size is no power of two: none for another rack
// stays here.
TEST(Switch, Route_RackOfEveryHost) {
  for (const std::uint32_t size : {1u, 3u, 7u, 64u, 100u}) {
    Bench bench(leaf_spine(9, size, 1), 4, 1);
    std::uint64_t remote = 0;
    for (std::uint32_t h = 0; h < 9 * size; ++h) {
      bench.arrive(0, h, data_packet(h, 0, 0));
      remote += h / size != 4;
    }
    bench.run();
    for (std::uint32_t p = 0; p < size; ++p) EXPECT_EQ(bench.out[p].size(), 1u);
    EXPECT_EQ(bench.out[size].size(), remote);
  }
}

// The same header always takes the same way; a mark or a retransmission does not move it.
TEST(Switch, Ecmp_OneHeaderOneWay) {
  Bench bench(leaf_spine(2, 1, 64), 0, 5);
  for (std::uint32_t i = 0; i < 50; ++i) {
    SimPacket packet = data_packet(1, 3, 17, i);
    if (i % 2 == 1) packet.mark();
    bench.arrive(0, i, packet);
  }
  bench.run();
  std::size_t used = 0;
  for (const auto& port : bench.out) used += !port.empty();
  EXPECT_EQ(used, 1u);
}

// 64 uplinks, 256 flows x 64 paths: uniform. 63 degrees of freedom: beyond 113 once in 10'000.
TEST(Switch, Ecmp_SpreadsUniformly) {
  for (const std::uint64_t salt : {1ull, 0x123456789abcdefull, ~0ull}) {
    Bench bench(leaf_spine(2, 1, 64), 0, salt);
    for (std::uint32_t slot = 0; slot < 256; ++slot) {
      for (core::PathId path = 0; path < 64; ++path) bench.arrive(0, 0, data_packet(1, slot, path));
    }
    bench.run();
    std::vector<std::uint64_t> counts;
    for (std::uint32_t u = 0; u < 64; ++u) counts.push_back(bench.out[1 + u].size());
    EXPECT_LT(chi_square(counts), 113.0) << salt;
  }
}

// The 256 paths of a single flow spread as well as random ones would.
TEST(Switch, Ecmp_SpreadsThePathsOfOneFlow) {
  Bench bench(leaf_spine(2, 1, 64), 0, 77);
  for (core::PathId path = 0; path < 256; ++path) bench.arrive(0, 0, data_packet(1, 0, path));
  bench.run();
  std::vector<std::uint64_t> counts;
  for (std::uint32_t u = 0; u < 64; ++u) counts.push_back(bench.out[1 + u].size());
  EXPECT_LT(chi_square(counts), 113.0);
}

// Many destinations on one path spread too.
TEST(Switch, Ecmp_SpreadsDestinations) {
  Bench bench(leaf_spine(128, 64, 64), 0, 4);
  for (std::uint32_t dst = 64; dst < 128 * 64; ++dst) bench.arrive(0, 0, data_packet(dst, 0, 0));
  bench.run();
  std::vector<std::uint64_t> counts;
  for (std::uint32_t u = 0; u < 64; ++u) counts.push_back(bench.out[64 + u].size());
  EXPECT_LT(chi_square(counts), 113.0);
}

// With an uplink gone, the live ones share evenly: no neighbour inherits it all. 62 degrees of
// freedom.
TEST(Switch, Ecmp_UniformOverLiveUplinks) {
  Bench bench(leaf_spine(2, 1, 64), 0, 8);
  std::vector<RouteVersion> versions;
  versions.push_back({Instant{}, bench.without_uplink(10)});
  bench.sw.set_routes(std::move(versions));
  for (std::uint32_t slot = 0; slot < 256; ++slot) {
    for (core::PathId path = 0; path < 64; ++path) bench.arrive(0, 0, data_packet(1, slot, path));
  }
  bench.run();
  std::vector<std::uint64_t> counts;
  for (std::uint32_t u = 0; u < 64; ++u) {
    if (u == 10) {
      EXPECT_TRUE(bench.out[1 + u].empty());
    } else {
      counts.push_back(bench.out[1 + u].size());
    }
  }
  EXPECT_LT(chi_square(counts), 112.0);
}

// Two switches' choices for one header have nothing to do with each other: all 64 pairs of 8 x 8
// uplinks are equally frequent, even for salts that differ in one bit.
TEST(Switch, Ecmp_SaltsAreIndependent) {
  for (const std::uint64_t other : {2ull, 0x8000000000000001ull, 0x5eedull}) {
    std::vector<std::vector<std::uint32_t>> choice(2);
    for (std::uint32_t which = 0; which < 2; ++which) {
      Bench bench(leaf_spine(2, 1, 8), 0, which == 0 ? 1 : other);
      std::uint32_t psn = 0;
      for (std::uint32_t slot = 0; slot < 128; ++slot) {
        for (core::PathId path = 0; path < 64; ++path) {
          bench.arrive(0, 0, data_packet(1, slot, path, psn++));
        }
      }
      bench.run();
      choice[which].resize(psn);
      for (std::uint32_t u = 0; u < 8; ++u) {
        for (const Transit& transit : bench.out[1 + u]) {
          choice[which][static_cast<std::uint32_t>(transit.packet.w1)] = u;
        }
      }
    }
    std::vector<std::uint64_t> pairs(64);
    for (std::size_t i = 0; i < choice[0].size(); ++i) ++pairs[choice[0][i] * 8 + choice[1][i]];
    EXPECT_LT(chi_square(pairs), 113.0) << other;
  }
}

// Arrivals from several ports are served in order of time, at one time in order of port.
TEST(Switch, Merge_ByTimeThenPort) {
  Bench bench(leaf_spine(2, 4, 1), 0, 1);
  bench.arrive(3, 5, data_packet(0, 0, 0, 30));
  bench.arrive(2, 5, data_packet(0, 0, 0, 20));
  bench.arrive(1, 5, data_packet(0, 0, 0, 10));
  bench.arrive(1, 7, data_packet(0, 0, 0, 11));
  bench.arrive(4, 4, data_packet(0, 0, 0, 40));
  bench.arrive(2, 7, data_packet(0, 0, 0, 21));
  bench.run();
  std::vector<std::uint64_t> order;
  for (const Transit& transit : bench.out[0]) order.push_back(transit.packet.w1);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{40, 10, 20, 30, 11, 21}));
}

// The same with more arrivals than the small sort takes.
TEST(Switch, Merge_ManyArrivals) {
  Bench bench(leaf_spine(2, 40, 1), 0, 1);
  for (std::uint32_t p = 1; p < 40; ++p) {
    for (std::uint32_t i = 0; i < 10; ++i)
      bench.arrive(p, i * 100, data_packet(0, 0, 0, i * 100 + p));
  }
  bench.run();
  ASSERT_EQ(bench.out[0].size(), 390u);
  for (std::uint32_t k = 0; k < 390; ++k) {
    ASSERT_EQ(bench.out[0][k].packet.w1, k / 39 * 100 + k % 39 + 1);
  }
}

// What arrives after the window is kept for its own, and nothing is lost or served early.
TEST(Switch, Held_UntilItsWindow) {
  Bench bench(leaf_spine(2, 2, 1), 0, 1);
  bench.arrive(1, 100, data_packet(0, 0, 0, 1));
  bench.arrive(1, 1'500, data_packet(0, 0, 0, 2));
  bench.arrive(1, 2'500, data_packet(0, 0, 0, 3));
  EXPECT_EQ(bench.run(1'000), t(1'500));
  EXPECT_EQ(bench.sw.packets_held(), 3u);
  bench.arrive(1, 2'600, data_packet(0, 0, 0, 4));
  EXPECT_EQ(bench.run(2'000), t(2'500));
  EXPECT_EQ(bench.sw.packets_held(), 4u);
  EXPECT_EQ(bench.run(3'000), t(100 + kS));
  bench.run();
  ASSERT_EQ(bench.out[0].size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.out[0][i].packet.w1, i + 1);
    EXPECT_EQ(bench.out[0][i].time, t(100 + (i + 1) * kS + kL));
  }
  EXPECT_EQ(bench.sw.packets_held(), 0u);
}

// Routes change at an instant: a packet that arrives then takes the new ones, one just before the
// old ones.
TEST(Switch, Routes_ChangeAtAnInstant) {
  Bench bench(leaf_spine(2, 1, 2), 0, 1);
  std::vector<RouteVersion> versions;
  versions.push_back({Instant{}, bench.without_uplink(0)});
  versions.push_back({t(1'000), bench.without_uplink(1)});
  versions.push_back({t(2'000), bench.without_uplink(0)});
  bench.sw.set_routes(std::move(versions));
  for (const std::int64_t time : {0, 999, 1'000, 1'999, 2'000}) {
    bench.arrive(0, time, data_packet(1, 0, 0, static_cast<std::uint32_t>(time)));
  }
  bench.run();
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  for (const Transit& transit : bench.out[1]) first.push_back(transit.packet.w1);
  for (const Transit& transit : bench.out[2]) second.push_back(transit.packet.w1);
  EXPECT_EQ(first, (std::vector<std::uint64_t>{1'000, 1'999}));
  EXPECT_EQ(second, (std::vector<std::uint64_t>{0, 999, 2'000}));
}

// No live uplink: dropped and counted as such, while packets for the rack's own hosts still arrive.
TEST(Switch, Routes_NoneLeft) {
  Bench bench(leaf_spine(2, 2, 1), 0, 1);
  std::vector<RouteVersion> versions;
  versions.push_back({Instant{}, bench.without_uplink(0)});
  bench.sw.set_routes(std::move(versions));
  bench.arrive(0, 0, data_packet(2, 0, 0));
  bench.arrive(0, 1, data_packet(1, 0, 0));
  bench.run();
  EXPECT_EQ(bench.sw.drops.no_route, 1u);
  EXPECT_EQ(bench.sw.drops.total(), 1u);
  EXPECT_EQ(bench.out[1].size(), 1u);
}

/// Hosts whose NICs have a port in each of three planes, of one leaf switch each.
TopologyParams three_planes(std::uint32_t hosts) {
  NetworkGraph graph;
  for (std::uint32_t h = 0; h < hosts; ++h) {
    graph.hosts.push_back("host" + std::to_string(h));
    graph.switches.push_back("nic" + std::to_string(h));
    graph.nics.push_back(true);
    graph.host_links.push_back(h);
    graph.links.push_back({h, hosts + h, gbps(600), us(1), {}});
  }
  for (std::uint32_t l = 0; l < 3; ++l) {
    graph.switches.push_back("leaf" + std::to_string(l));
    graph.nics.push_back(false);
    for (std::uint32_t h = 0; h < hosts; ++h)
      graph.links.push_back({hosts + h, 2 * hosts + l, gbps(200), us(1), {}});
  }
  TopologyParams params = leaf_spine(hosts, 1, 3);
  params.graph = std::make_shared<const NetworkGraph>(std::move(graph));
  return params;
}

// [D112] A NIC's ports take entropies in turn, from one that is drawn for each pair of hosts: what goes there and what comes
// back are in one plane.
TEST(Switch, Nic_PortsTakeEntropiesInTurn) {
  constexpr std::uint32_t kHosts = 8;
  const TopologyParams params = three_planes(kHosts);
  const Topology topology(params);
  const Bench there(params, topology.switches()[0], 1);
  std::vector<std::int32_t> firsts;
  for (std::uint32_t other = 1; other < kHosts; ++other) {
    const Bench back(params, topology.switches()[other], 2);
    const std::int32_t first = there.sw.route(data_packet(other, 0, 0), t(0));
    firsts.push_back(first);
    for (std::uint32_t entropy = 0; entropy < 256; ++entropy) {
      const auto path = static_cast<core::PathId>(entropy);
      // Port 0 is the host's.
      const std::int32_t port = 1 + (first - 1 + static_cast<std::int32_t>(entropy)) % 3;
      EXPECT_EQ(there.sw.route(data_packet(other, 5, path), t(0)), port);
      EXPECT_EQ(back.sw.route(SimPacket::ack({0, 7}, path), t(0)), port);
    }
  }
  EXPECT_EQ(firsts, (std::vector<std::int32_t>{1, 1, 1, 2, 2, 3, 2}));
}

// [D112] What a leaf sends to a NIC is for its host: the last hop, as is what the NIC hands on.
TEST(Switch, Nic_IsBehindTheLastHop) {
  const Topology topology(three_planes(2));
  const SwitchInfo& nic = topology.switches()[1];
  const SwitchInfo& leaf = topology.switches()[2];
  EXPECT_TRUE(nic.nic);
  EXPECT_FALSE(leaf.nic);
  EXPECT_TRUE(topology.is_last_hop(nic.ports[0]));
  EXPECT_FALSE(topology.is_last_hop(nic.ports[1]));
  EXPECT_TRUE(topology.is_last_hop(leaf.ports[0]));
}

}  // namespace
}  // namespace strack::sim
