#include "sim/net/topology.h"

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"

namespace strack::sim {
namespace {

using Tier = LinkRef::Tier;
using Ports = std::vector<std::uint16_t>;

TopologyParams two_tiers(std::uint32_t racks, std::uint32_t hosts_per_rack, std::uint32_t spines,
                         std::uint32_t links_per_spine = 1) {
  TopologyParams params;
  params.racks = racks;
  params.hosts_per_rack = hosts_per_rack;
  params.spines = spines;
  params.links_per_spine = links_per_spine;
  params.host_latency = ns(600);
  params.fabric_latency = ns(700);
  params.core_latency = ns(500);
  return params;
}

TopologyParams three_tiers(std::uint32_t pods, std::uint32_t racks_per_pod,
                           std::uint32_t hosts_per_rack, std::uint32_t aggs,
                           std::uint32_t cores_per_agg) {
  TopologyParams params = two_tiers(pods * racks_per_pod, hosts_per_rack, 0);
  params.tiers = 3;
  params.racks_per_pod = racks_per_pod;
  params.aggs_per_pod = aggs;
  params.cores_per_agg = cores_per_agg;
  return params;
}

std::vector<TopologyParams> all_kinds() {
  return {two_tiers(4, 3, 2),    two_tiers(3, 8, 2),         two_tiers(5, 4, 2, 3),
          two_tiers(2, 1, 1),    three_tiers(3, 2, 2, 2, 2), three_tiers(2, 3, 8, 2, 1),
          two_tiers(1, 4, 2, 1), three_tiers(4, 4, 4, 4, 4)};
}

std::tuple<Tier, std::uint32_t, std::uint32_t> name(const LinkRef& ref) {
  return {ref.tier, ref.lower, ref.upper};
}
using Names = std::set<std::tuple<Tier, std::uint32_t, std::uint32_t>>;

std::vector<RouteTable> routes(const Topology& topology, const Names& down = {}) {
  return make_routes(topology, [&](const LinkRef& ref) { return down.count(name(ref)) != 0; });
}

Ports ports(const RouteTable& table, std::uint32_t rack) {
  const RouteTable::Group group = table.groups[table.group_of_rack[rack]];
  return {table.ports.begin() + group.first, table.ports.begin() + group.first + group.count};
}

// ---- Nodes, ports and links ----

// 128 racks of 64 hosts under 64 spines, the paper's cluster: 8192 hosts, 192 switches, and every
// link in both directions: 2 x 8192 to hosts, 2 x 128 x 64 between switches.
TEST(Topology, Counts_TwoTiers) {
  const Topology topology(two_tiers(128, 64, 64));
  EXPECT_EQ(topology.hosts(), 8'192u);
  EXPECT_EQ(topology.switches().size(), 192u);
  EXPECT_EQ(topology.nodes(), 8'384u);
  EXPECT_EQ(topology.links(), 2u * 8'192 + 2u * 8'192);
  EXPECT_EQ(topology.tor(0).ports.size(), 128u);
  EXPECT_EQ(topology.tor(0).down_ports, 64u);
  EXPECT_EQ(topology.switches()[128].ports.size(), 128u);
  EXPECT_EQ(topology.switches()[128].down_ports, 128u);
}

// 8:1 oversubscription: 32 hosts share 4 uplinks.
TEST(Topology, Counts_Oversubscribed) {
  const Topology topology(two_tiers(16, 32, 4));
  EXPECT_EQ(topology.switches().size(), 20u);
  EXPECT_EQ(topology.links(), 2u * 512 + 2u * 64);
  EXPECT_EQ(topology.tor(3).ports.size(), 36u);
  EXPECT_EQ(topology.switches()[16].ports.size(), 16u);
}

// Three parallel links to each of 2 spines: 6 uplinks, two neighbours.
TEST(Topology, Counts_ParallelLinks) {
  const Topology topology(two_tiers(5, 4, 2, 3));
  EXPECT_EQ(topology.switches().size(), 7u);
  EXPECT_EQ(topology.links(), 2u * 20 + 2u * 30);
  const SwitchInfo& tor = topology.tor(1);
  ASSERT_EQ(tor.ports.size(), 10u);
  for (std::uint32_t u = 0; u < 6; ++u) {
    EXPECT_EQ(tor.ports[4 + u].peer, 20u + 5u + u / 3);
    EXPECT_EQ(name(tor.ports[4 + u].ref), name({Tier::fabric, 1, u}));
  }
  EXPECT_EQ(topology.switches()[5].ports.size(), 15u);
}

// 4 pods of 4 racks and 2 aggregation switches with 3 cores each: 16 ToRs, 8 aggs, 6 cores.
TEST(Topology, Counts_ThreeTiers) {
  const Topology topology(three_tiers(4, 4, 8, 2, 3));
  EXPECT_EQ(topology.hosts(), 128u);
  EXPECT_EQ(topology.pods(), 4u);
  EXPECT_EQ(topology.switches().size(), 16u + 8u + 6u);
  EXPECT_EQ(topology.links(), 2u * 128 + 2u * 16 * 2 + 2u * 8 * 3);
  EXPECT_EQ(topology.tor(0).ports.size(), 10u);
  EXPECT_EQ(topology.switches()[16].ports.size(), 7u);
  EXPECT_EQ(topology.switches()[16].down_ports, 4u);
  EXPECT_EQ(topology.switches()[24].ports.size(), 4u);
  EXPECT_EQ(topology.switches()[24].down_ports, 4u);
}

// A core switch meets the same aggregation switch of every pod: core c those numbered c /
// cores_per_agg.
TEST(Topology, Cores_MeetOneAggOfEachPod) {
  const Topology topology(three_tiers(3, 2, 2, 2, 2));
  const NodeId first_agg = topology.hosts() + 6;
  for (std::uint32_t c = 0; c < 4; ++c) {
    const SwitchInfo& core = topology.switches()[6 + 6 + c];
    EXPECT_EQ(core.ref.tier, SwitchRef::Tier::core);
    ASSERT_EQ(core.ports.size(), 3u);
    for (std::uint32_t pod = 0; pod < 3; ++pod) {
      EXPECT_EQ(core.ports[pod].peer, first_agg + 2 * pod + c / 2);
    }
  }
}

// Nodes are numbered hosts, ToRs, middle, cores; a rack's hosts are consecutive, by port.
TEST(Topology, Numbers_InOrder) {
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    for (std::uint32_t s = 0; s < topology.switches().size(); ++s) {
      EXPECT_EQ(topology.switches()[s].node, topology.hosts() + s);
    }
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const SwitchInfo& tor = topology.tor(topology.rack_of(h));
      const PortInfo& port = tor.ports[h % params.hosts_per_rack];
      EXPECT_EQ(port.peer, h);
      EXPECT_EQ(port.reverse, h);
      EXPECT_EQ(name(port.ref), name({Tier::host, h, 0}));
    }
  }
}

// Every link number from 0 on is used once: a host's own number, then all ports in order.
TEST(Topology, Links_NumberedOnce) {
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    LinkId next = topology.hosts();
    for (const SwitchInfo& s : topology.switches()) {
      for (const PortInfo& port : s.ports) EXPECT_EQ(port.link, next++);
    }
    EXPECT_EQ(topology.links(), next);
  }
}

// A port's reverse link is the one by which its peer sends here, under the same name; and back.
TEST(Topology, Links_ReversePairsUp) {
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    std::vector<const PortInfo*> by_link(topology.links(), nullptr);
    std::vector<NodeId> owner(topology.links(), 0);
    for (const SwitchInfo& s : topology.switches()) {
      for (const PortInfo& port : s.ports) {
        by_link[port.link] = &port;
        owner[port.link] = s.node;
      }
    }
    for (const SwitchInfo& s : topology.switches()) {
      for (const PortInfo& port : s.ports) {
        if (port.ref.tier == Tier::host) continue;
        const PortInfo* back = by_link[port.reverse];
        ASSERT_NE(back, nullptr);
        EXPECT_EQ(back->reverse, port.link);
        EXPECT_EQ(back->peer, s.node);
        EXPECT_EQ(owner[port.reverse], port.peer);
        EXPECT_EQ(name(back->ref), name(port.ref));
      }
    }
  }
}

// Down ports come before up ports, and lead to lower tiers.
TEST(Topology, Ports_DownBeforeUp) {
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    for (const SwitchInfo& s : topology.switches()) {
      for (std::uint32_t p = 0; p < s.ports.size(); ++p) {
        EXPECT_EQ(s.ports[p].peer < s.node, p < s.down_ports);
      }
    }
  }
}

// Each tier has its own rate and latency; the smallest latency is among those there are.
TEST(Topology, RatesAndLatencies_PerTier) {
  TopologyParams params = three_tiers(2, 2, 2, 2, 2);
  params.host_rate = gbps(200);
  params.fabric_rate = gbps(400);
  params.core_rate = gbps(800);
  const Topology three(params);
  EXPECT_EQ(three.rate(Tier::host), gbps(200));
  EXPECT_EQ(three.rate(Tier::fabric), gbps(400));
  EXPECT_EQ(three.rate(Tier::core), gbps(800));
  EXPECT_EQ(three.latency(Tier::host), ns(600));
  EXPECT_EQ(three.latency(Tier::fabric), ns(700));
  EXPECT_EQ(three.latency(Tier::core), ns(500));
  EXPECT_EQ(three.smallest_latency(), ns(500));
  EXPECT_EQ(Topology(two_tiers(2, 2, 2)).smallest_latency(), ns(600));
}

// Names that people know the nodes by.
TEST(Topology, Name_OfEveryKind) {
  const Topology two(two_tiers(4, 3, 2));
  EXPECT_EQ(two.name(0), "host 0");
  EXPECT_EQ(two.name(11), "host 11");
  EXPECT_EQ(two.name(12), "tor 0");
  EXPECT_EQ(two.name(17), "spine 1");
  const Topology three(three_tiers(3, 2, 2, 2, 2));
  EXPECT_EQ(three.name(12 + 6 + 5), "agg 5");
  EXPECT_EQ(three.name(12 + 6 + 6), "core 0");
}

// A failed link is one link.
TEST(Topology, LinksOf_OneLink) {
  const Topology topology(two_tiers(4, 3, 2));
  Failure failure;
  failure.link = LinkRef{Tier::fabric, 2, 1};
  const auto links = topology.links_of(failure);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(name(links[0]), name({Tier::fabric, 2, 1}));
}

// A dead switch takes all its links along: a spine its downlinks, a ToR its hosts' too, an agg both
// ways.
TEST(Topology, LinksOf_ADeadSwitch) {
  const auto links = [](const Topology& topology, SwitchRef node) {
    Failure failure;
    failure.node = node;
    Names names;
    for (const LinkRef& ref : topology.links_of(failure)) names.insert(name(ref));
    return names;
  };
  const Topology two(two_tiers(3, 2, 2));
  EXPECT_EQ(links(two, {SwitchRef::Tier::agg, 1}),
            (Names{{Tier::fabric, 0, 1}, {Tier::fabric, 1, 1}, {Tier::fabric, 2, 1}}));
  EXPECT_EQ(
      links(two, {SwitchRef::Tier::tor, 1}),
      (Names{{Tier::host, 2, 0}, {Tier::host, 3, 0}, {Tier::fabric, 1, 0}, {Tier::fabric, 1, 1}}));
  const Topology three(three_tiers(2, 2, 1, 2, 2));
  EXPECT_EQ(
      links(three, {SwitchRef::Tier::agg, 3}),
      (Names{{Tier::fabric, 2, 1}, {Tier::fabric, 3, 1}, {Tier::core, 3, 0}, {Tier::core, 3, 1}}));
  EXPECT_EQ(links(three, {SwitchRef::Tier::core, 3}),
            (Names{{Tier::core, 1, 1}, {Tier::core, 3, 1}}));
}

// ---- Routes ----

// All links up: from a ToR any uplink, from a spine the links to that rack.
TEST(Routes, AllUp_TwoTiers) {
  const Topology topology(two_tiers(3, 4, 2, 2));
  const auto tables = routes(topology);
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 0; to < 3; ++to) {
      EXPECT_EQ(ports(tables[from], to), from == to ? Ports{} : (Ports{4, 5, 6, 7}));
    }
  }
  for (std::uint32_t spine = 0; spine < 2; ++spine) {
    for (std::uint16_t to = 0; to < 3; ++to) {
      EXPECT_EQ(ports(tables[3 + spine], to), (Ports{static_cast<std::uint16_t>(2 * to),
                                                     static_cast<std::uint16_t>(2 * to + 1)}));
    }
  }
}

// Three tiers: inside a pod up to any agg and down; between pods up twice.
TEST(Routes, AllUp_ThreeTiers) {
  const Topology topology(three_tiers(2, 2, 3, 2, 2));
  const auto tables = routes(topology);
  EXPECT_EQ(ports(tables[0], 1), (Ports{3, 4}));  // ToR 0: hosts 0-2, aggs 3, 4
  EXPECT_EQ(ports(tables[0], 2), (Ports{3, 4}));
  EXPECT_EQ(ports(tables[4], 1), (Ports{1}));  // agg 0 of pod 0: racks 0, 1, cores 2, 3
  EXPECT_EQ(ports(tables[4], 2), (Ports{2, 3}));
  EXPECT_EQ(ports(tables[4 + 4], 2), (Ports{1}));  // core 0: pods 0, 1
}

// A rack's own uplink is down: its ToR no longer uses it, ...
TEST(Routes, LinkDown_AtTheTor) {
  const Topology topology(two_tiers(3, 2, 3));
  const auto tables = routes(topology, {{Tier::fabric, 0, 1}});
  EXPECT_EQ(ports(tables[0], 1), (Ports{2, 4}));
  EXPECT_EQ(ports(tables[0], 2), (Ports{2, 4}));
}

// ... and remote racks avoid that spine on the way there, but not on the way elsewhere.
TEST(Routes, LinkDown_Remotely) {
  const Topology topology(two_tiers(3, 2, 3));
  const auto tables = routes(topology, {{Tier::fabric, 0, 1}});
  EXPECT_EQ(ports(tables[1], 0), (Ports{2, 4}));
  EXPECT_EQ(ports(tables[1], 2), (Ports{2, 3, 4}));
  EXPECT_EQ(ports(tables[3 + 1], 0), Ports{});
  EXPECT_EQ(ports(tables[3 + 1], 2), (Ports{2}));
}

// One of two parallel links is down: the spine still leads there, by the other.
TEST(Routes, LinkDown_OfParallelLinks) {
  const Topology topology(two_tiers(2, 1, 2, 2));
  const auto tables = routes(topology, {{Tier::fabric, 0, 1}});
  EXPECT_EQ(ports(tables[0], 1), (Ports{1, 3, 4}));
  EXPECT_EQ(ports(tables[1], 0), (Ports{1, 2, 3, 4}));
  EXPECT_EQ(ports(tables[2], 0), (Ports{0}));
}

// All of a rack's uplinks are down: nobody has a route to it, it has none to anybody, others are
// untouched.
TEST(Routes, LinkDown_AllOfARack) {
  const Topology topology(two_tiers(3, 2, 2));
  const auto tables = routes(topology, {{Tier::fabric, 0, 0}, {Tier::fabric, 0, 1}});
  EXPECT_EQ(ports(tables[0], 1), Ports{});
  EXPECT_EQ(ports(tables[1], 0), Ports{});
  EXPECT_EQ(ports(tables[1], 2), (Ports{2, 3}));
}

// Two racks with no spine in common have no route, though each has an uplink.
TEST(Routes, LinkDown_NoSpineInCommon) {
  const Topology topology(two_tiers(3, 1, 2));
  const auto tables = routes(topology, {{Tier::fabric, 0, 0}, {Tier::fabric, 1, 1}});
  EXPECT_EQ(ports(tables[0], 1), Ports{});
  EXPECT_EQ(ports(tables[1], 0), Ports{});
  EXPECT_EQ(ports(tables[0], 2), (Ports{2}));
  EXPECT_EQ(ports(tables[1], 2), (Ports{1}));
}

// Three tiers, an agg that lost its cores: still used inside its pod, not to other pods, nor from
// them.
TEST(Routes, LinkDown_AggWithoutCores) {
  const Topology topology(three_tiers(2, 2, 1, 2, 2));
  const auto tables = routes(topology, {{Tier::core, 0, 0}, {Tier::core, 0, 1}});
  EXPECT_EQ(ports(tables[0], 1), (Ports{1, 2}));
  EXPECT_EQ(ports(tables[0], 2), (Ports{2}));
  EXPECT_EQ(ports(tables[2], 0), (Ports{2}));
  EXPECT_EQ(ports(tables[2], 3), (Ports{1, 2}));
}

// A dead spine is nobody's next hop.
TEST(Routes, SwitchDead) {
  const Topology topology(two_tiers(3, 2, 3));
  Failure failure;
  failure.node = SwitchRef{SwitchRef::Tier::agg, 2};
  Names down;
  for (const LinkRef& ref : topology.links_of(failure)) down.insert(name(ref));
  const auto tables = routes(topology, down);
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 0; to < 3; ++to) {
      EXPECT_EQ(ports(tables[from], to), from == to ? Ports{} : (Ports{2, 3}));
    }
  }
}

/// The meaning of routing, written for clarity: down wherever a switch stands above the
/// destination, up elsewhere, over live links to switches that get there themselves.
class Oracle {
 public:
  Oracle(const Topology& topology, const Names& down) : topology_(topology), down_(down) {}

  [[nodiscard]] Ports next(std::uint32_t s, std::uint32_t rack) const {
    const SwitchInfo& info = topology_.switches()[s];
    if (s == rack) return {};
    const bool downwards = above(s, rack);
    Ports result;
    for (std::uint32_t p = 0; p < info.ports.size(); ++p) {
      if ((p < info.down_ports) != downwards || info.ports[p].peer < topology_.hosts()) continue;
      const std::uint32_t peer = info.ports[p].peer - topology_.hosts();
      if (downwards && !above(peer, rack)) continue;
      if (down_.count(name(info.ports[p].ref)) != 0 || !reaches(peer, rack)) continue;
      result.push_back(static_cast<std::uint16_t>(p));
    }
    return result;
  }

 private:
  [[nodiscard]] bool reaches(std::uint32_t s, std::uint32_t rack) const {
    return s == rack || !next(s, rack).empty();
  }
  /// Whether links lead down from here to the rack, dead or alive.
  [[nodiscard]] bool above(std::uint32_t s, std::uint32_t rack) const {
    if (s == rack) return true;
    const SwitchInfo& info = topology_.switches()[s];
    for (std::uint32_t p = 0; p < info.down_ports; ++p) {
      if (info.ports[p].peer < topology_.hosts()) continue;
      if (above(info.ports[p].peer - topology_.hosts(), rack)) return true;
    }
    return false;
  }

  const Topology& topology_;
  const Names& down_;
};

// With any links down, the groups are exactly the live ports from which the destination is
// reachable.
TEST(Routes, AgreeWithTheirMeaningForRandomFailures) {
  Rng rng(2);
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    for (int round = 0; round < 12; ++round) {
      Names down;
      for (const SwitchInfo& s : topology.switches()) {
        for (const PortInfo& port : s.ports) {
          if (port.ref.tier != Tier::host && rng.chance({round, 24})) down.insert(name(port.ref));
        }
      }
      const auto tables = routes(topology, down);
      const Oracle oracle(topology, down);
      for (std::uint32_t s = 0; s < topology.switches().size(); ++s) {
        for (std::uint32_t rack = 0; rack < params.racks; ++rack) {
          ASSERT_EQ(ports(tables[s], rack), oracle.next(s, rack))
              << "switch " << s << " rack " << rack;
        }
      }
    }
  }
}

// Whichever port each switch picks, a packet reaches its rack in as many hops as the tiers allow.
TEST(Routes, EveryChoiceReachesTheRack) {
  for (const TopologyParams& params : all_kinds()) {
    const Topology topology(params);
    const auto tables = routes(topology);
    for (std::uint32_t from = 0; from < params.racks; ++from) {
      for (std::uint32_t to = 0; to < params.racks; ++to) {
        std::set<std::uint32_t> here{from};
        int hops = 0;
        while (here != std::set<std::uint32_t>{to}) {
          std::set<std::uint32_t> there;
          for (const std::uint32_t s : here) {
            const Ports choice = ports(tables[s], to);
            ASSERT_FALSE(choice.empty());
            for (const std::uint16_t p : choice) {
              there.insert(topology.switches()[s].ports[p].peer - topology.hosts());
            }
          }
          here = there;
          ASSERT_LE(++hops, params.tiers == 3 ? 4 : 2);
        }
      }
    }
  }
}

// Links between two hosts: inside a rack, a pod, and beyond.
TEST(Topology, Hops) {
  const Topology two(two_tiers(4, 8, 2));
  EXPECT_EQ(two.hops(0, 7), 2);
  EXPECT_EQ(two.hops(0, 8), 4);
  EXPECT_EQ(two.hops(31, 0), 4);
  const Topology three(three_tiers(2, 3, 4, 2, 2));
  EXPECT_EQ(three.hops(0, 3), 2);
  EXPECT_EQ(three.hops(0, 11), 4);
  EXPECT_EQ(three.hops(11, 12), 6);
}

}  // namespace
}  // namespace strack::sim
