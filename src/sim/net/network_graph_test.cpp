#include "sim/net/network_graph.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/net/topology.h"

namespace strack::sim {
namespace {

/// a and c are at s0, b at s1, d at s3; s0 and s3 are linked by way of s1 and of s2.
///              b
///              |
///   a, c - s0 - s1 - s3 - d
///            \- s2 -/
NetworkGraph diamond() {
  NetworkGraph graph;
  graph.hosts = {"a", "b", "c", "d"};
  graph.switches = {"s0", "s1", "s2", "s3"};
  const auto link = [&](std::uint32_t a, std::uint32_t b, BitsPerSecond rate, Picoseconds latency) {
    graph.links.push_back({a, b, rate, latency, graph.name(a) + "-" + graph.name(b)});
  };
  link(0, 4, gbps(400), us(1));
  link(5, 1, gbps(200), us(1));  // named from the switch's side: s1 - b
  link(2, 4, gbps(400), us(1));
  link(7, 3, gbps(400), us(2));
  link(4, 5, gbps(400), us(1));
  link(4, 6, gbps(400), us(1));
  link(5, 7, gbps(400), us(1));
  link(6, 7, gbps(100), us(3));
  graph.host_links = {0, 1, 2, 3};
  return graph;
}

TEST(NetworkGraph, HostsAreAtTheirSwitches) {
  const NetworkGraph graph = diamond();
  EXPECT_EQ(graph.switch_of(0), 0u);
  EXPECT_EQ(graph.switch_of(1), 1u);
  EXPECT_EQ(graph.switch_of(2), 0u);
  EXPECT_EQ(graph.switch_of(3), 3u);
  EXPECT_EQ(graph.name(3), "d");
  EXPECT_EQ(graph.name(7), "s3");
}

TEST(GraphDistances, CountLinksBetweenHosts) {
  const GraphDistances distances(diamond());
  EXPECT_EQ(distances.edges(), 3u);
  EXPECT_EQ(distances.between(0, 2), 2);
  EXPECT_EQ(distances.between(0, 1), 3);
  EXPECT_EQ(distances.between(0, 3), 4);
  EXPECT_EQ(distances.between(3, 1), 3);
  EXPECT_EQ(graph_diameter(diamond()), 4);
}

// 4160 bytes: 83.2 ns at 400 Gb/s, 166.4 at 200, 332.8 at 100.
TEST(GraphTrips, TakeTheBestOfTheShortestPaths) {
  const NetworkGraph graph = diamond();
  const GraphTrips trips(graph, bytes(4'160));
  EXPECT_EQ(trips(0, 2), 2 * (ps(83'200) + us(1)));
  EXPECT_EQ(trips(0, 1), 2 * (ps(83'200) + us(1)) + ps(166'400) + us(1));
  EXPECT_EQ(trips(0, 3), 3 * (ps(83'200) + us(1)) + ps(83'200) + us(2));
}

// The longest of all: by way of s2, with its slow link.
TEST(GraphBaseRtt, IsThatOfTheWorstPath) {
  const Picoseconds data = 3 * ps(83'200) + ps(332'800) + us(1 + 1 + 3 + 2);
  const Picoseconds control = 3 * ps(1'280) + ps(5'120) + us(1 + 1 + 3 + 2);
  EXPECT_EQ(graph_base_rtt(diamond(), bytes(4'160), bytes(64)), data + control);
}

class GraphTopology : public ::testing::Test {
 protected:
  GraphTopology() : topology_(params()) {}

  static TopologyParams params() {
    TopologyParams params;
    params.graph = std::make_shared<const NetworkGraph>(diamond());
    params.racks = 4;
    params.hosts_per_rack = 1;
    params.host_latency = params.fabric_latency = us(1);
    return params;
  }
  /// The peers that a switch may send to.
  [[nodiscard]] std::vector<std::string> ways(std::uint32_t sw, std::uint32_t host,
                                              const std::vector<LinkRef>& down = {}) const {
    const auto tables = make_routes(topology_, [&](const LinkRef& ref) {
      return std::find(down.begin(), down.end(), ref) != down.end();
    });
    const RouteTable::Group group = tables[sw].groups[tables[sw].group_of_rack[host]];
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < group.count; ++i)
      names.push_back(
          topology_.name(topology_.switches()[sw].ports[tables[sw].ports[group.first + i]].peer));
    return names;
  }
  static LinkRef between_switches(std::uint32_t link) { return {LinkRef::Tier::fabric, link, 0}; }

  Topology topology_;
};

using Names = std::vector<std::string>;

TEST_F(GraphTopology, LinksHaveTheirOwnFigures) {
  EXPECT_EQ(topology_.links(), 4u + 12u);
  const SwitchInfo& s1 = topology_.switches()[1];
  ASSERT_EQ(s1.ports.size(), 3u);
  EXPECT_EQ(s1.ports[0].peer, 1u);
  EXPECT_EQ(s1.ports[0].rate, gbps(200));
  EXPECT_EQ(s1.ports[0].sends, LinkWay::down);
  EXPECT_EQ(s1.ports[0].reverse, 1u);
  EXPECT_EQ(s1.ports[1].sends, LinkWay::down);  // s0-s1, from its second end
  EXPECT_EQ(s1.ports[2].sends, LinkWay::up);
  EXPECT_EQ(topology_.host_link(1).peer, 5u);
  EXPECT_EQ(topology_.host_link(3).latency, us(2));
  EXPECT_EQ(topology_.hops(0, 3), 4);
  EXPECT_EQ(topology_.name(5), "s1");
  // Every link's two directions know each other.
  for (const SwitchInfo& info : topology_.switches()) {
    for (const PortInfo& port : info.ports) {
      if (port.peer < 4) continue;
      const SwitchInfo& peer = topology_.switches()[port.peer - 4];
      const auto back = std::find_if(peer.ports.begin(), peer.ports.end(),
                                     [&](const PortInfo& p) { return p.link == port.reverse; });
      ASSERT_NE(back, peer.ports.end());
      EXPECT_EQ(back->reverse, port.link);
    }
  }
}

// [D92] Counted in links.
TEST_F(GraphTopology, RoutesAreShortestPaths) {
  EXPECT_EQ(ways(0, 3), (Names{"s1", "s2"}));
  EXPECT_EQ(ways(0, 1), (Names{"s1"}));
  EXPECT_EQ(ways(0, 0), (Names{"a"}));
  EXPECT_EQ(ways(0, 2), (Names{"c"}));
  EXPECT_EQ(ways(2, 1), (Names{"s0", "s3"}));
}

TEST_F(GraphTopology, RoutesGoAroundWhatIsDown) {
  EXPECT_EQ(ways(0, 3, {between_switches(4)}), (Names{"s2"}));
  EXPECT_EQ(ways(0, 1, {between_switches(4)}), (Names{"s2"}));  // now three links
  EXPECT_EQ(ways(0, 3, {between_switches(4), between_switches(5)}), Names{});
  // Whether a host's own link is up its port will see.
  EXPECT_EQ(ways(0, 0, {{LinkRef::Tier::host, 0, 0}}), (Names{"a"}));
}

TEST_F(GraphTopology, ASwitchFailsWithAllItsLinks) {
  Failure failure;
  failure.node = SwitchRef{SwitchRef::Tier::tor, 1};
  EXPECT_EQ(topology_.links_of(failure),
            (std::vector<LinkRef>{
                {LinkRef::Tier::host, 1, 0}, between_switches(4), between_switches(6)}));
}

// [D89] NIC i of a server is at the i-th ToR of its group.
TEST(Servers, NicsAreOnRails) {
  TopologyParams t;
  t.racks = 16;
  t.hosts_per_rack = 4;
  t.nics_per_server = 8;
  // 8 servers: 4 in the group of racks 0 to 7, 4 in that of racks 8 to 15.
  EXPECT_EQ(t.host_of(0, 0), 0u);
  EXPECT_EQ(t.host_of(0, 1), 4u);
  EXPECT_EQ(t.host_of(1, 0), 1u);
  EXPECT_EQ(t.host_of(4, 0), 32u);
  EXPECT_EQ(t.host_of(7, 7), 63u);
  for (std::uint32_t host = 0; host < t.hosts(); ++host)
    EXPECT_EQ(t.host_of(t.server_of(host), t.nic_of(host)), host);
}

}  // namespace
}  // namespace strack::sim
