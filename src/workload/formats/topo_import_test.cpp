#include "workload/formats/topo_import.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

HtsimTopology read(std::string_view text) {
  const auto topology = import_topo(text);
  EXPECT_TRUE(topology) << topology.error().line << ": " << topology.error().message;
  return topology ? topology.value() : HtsimTopology{};
}
ClosFigures figures(std::string_view text) {
  const auto clos = clos_of(read(text));
  EXPECT_TRUE(clos) << clos.error().line << ": " << clos.error().message;
  return clos ? clos.value() : ClosFigures{};
}

TEST(TopoImport, ReadsTwoTiers) {
  const HtsimTopology topology = read(trace("leaf-spine-32.topo"));
  EXPECT_EQ(topology.nodes, 32u);
  EXPECT_EQ(topology.podsize, 32u);
  ASSERT_EQ(topology.tiers.size(), 2u);
  EXPECT_EQ(topology.tiers[0].line, 6);
  EXPECT_EQ(topology.tiers[0].downlink_speed, gbps(400));
  EXPECT_EQ(topology.tiers[0].radix_down, 8u);
  EXPECT_EQ(topology.tiers[0].radix_up, 4u);
  EXPECT_EQ(topology.tiers[0].oversubscribed, 2u);
  EXPECT_EQ(topology.tiers[0].downlink_latency, us(1));
  EXPECT_EQ(topology.tiers[0].switch_latency, ns(500));
  EXPECT_EQ(topology.tiers[0].queue_up, mb(1));
  EXPECT_EQ(topology.tiers[1].bundle, 2u);

  const ClosFigures clos = figures(trace("leaf-spine-32.topo"));
  EXPECT_EQ(clos.tiers, 2);
  EXPECT_EQ(clos.racks, 4u);
  EXPECT_EQ(clos.hosts_per_rack, 8u);
  EXPECT_EQ(clos.spines, 2u);
  EXPECT_EQ(clos.links_per_spine, 2u);
  EXPECT_EQ(clos.host_rate, gbps(400));
  EXPECT_EQ(clos.fabric_rate, gbps(400));
  // 4 links of 1 us and 3 switches of 0.5 us from rack to rack, 2 links and 1 switch inside.
  EXPECT_EQ(2 * clos.host_latency, ns(2'500));
  EXPECT_EQ(2 * clos.host_latency + 2 * clos.fabric_latency, ns(5'500));
  EXPECT_EQ(clos.queue_limit, mb(1));
  EXPECT_TRUE(clos.notes.empty());
}

TEST(TopoImport, AByteOrderMarkIsNoText) {
  EXPECT_EQ(read("\xef\xbb\xbf" + trace("leaf-spine-32.topo")).nodes, 32u);
}

TEST(TopoImport, ReadsThreeTiers) {
  const ClosFigures clos = figures(trace("pods-64.topo"));
  EXPECT_EQ(clos.tiers, 3);
  EXPECT_EQ(clos.racks, 16u);
  EXPECT_EQ(clos.hosts_per_rack, 4u);
  EXPECT_EQ(clos.racks_per_pod, 4u);
  EXPECT_EQ(clos.aggs_per_pod, 4u);
  EXPECT_EQ(clos.cores_per_agg, 4u);
  EXPECT_EQ(clos.core_rate, gbps(100));
  EXPECT_EQ(clos.host_latency, ns(500));
  EXPECT_EQ(clos.core_latency, us(2));
  EXPECT_FALSE(clos.queue_limit);
}

// Two pods of two racks; each aggregation switch has two bundles of two links to the cores.
TEST(TopoImport, BundlesOfThreeTiersAreSwitchesOfTheirOwn) {
  constexpr std::string_view kPods =
      "Nodes 8\nTiers 3\nPodsize 4\n"
      "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up {}\nDownlink_Latency_ns 1000\n"
      "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down {}\nRadix_Up {}\nDownlink_Latency_ns 1000\n"
      "Bundle {}\n"
      "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nBundle 2\n";
  const ClosFigures cores = figures(fmt::format(fmt::runtime(kPods), 2, 2, 4, 1));
  EXPECT_EQ(cores.aggs_per_pod, 2u);
  EXPECT_EQ(cores.cores_per_agg, 4u);
  EXPECT_EQ(cores.notes,
            (std::vector<std::string>{
                "bundles of 2 links to Tier 2: each of its switches becomes 2 with one "
                "link each"}));
  // Below too: two aggregation switches a pod with bundles of two, so four with half the uplinks.
  const ClosFigures both = figures(fmt::format(fmt::runtime(kPods), 4, 4, 4, 2));
  EXPECT_EQ(both.aggs_per_pod, 4u);
  EXPECT_EQ(both.cores_per_agg, 2u);
  EXPECT_EQ(both.notes.size(), 2u);
  const auto odd = clos_of(read(fmt::format(fmt::runtime(kPods), 3, 6, 4, 3)));
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message,
            "Radix_Up 4 with a Bundle of 3 below. such a switch is split into 3 here, so it is a "
            "multiple of that");
}

constexpr std::string_view kHeader = "nodes 8\nTIERS 2\nPodSize 8\n";
constexpr std::string_view kTor =
    "tier 0\ndownlink_speed_gbps 100\nradix_down 4\nradix_up 2\ndownlink_latency_ns 1\n";
constexpr std::string_view kSpine =
    "tier 1\ndownlink_speed_gbps 200\nradix_down 2\ndownlink_latency_ns 1\n";
std::string with(std::string_view header, std::string_view tor, std::string_view spine) {
  return fmt::format("{}{}{}", header, tor, spine);
}

TEST(TopoImport, QueuesOfSeveralSizesAreAllTheLargest) {
  const ClosFigures clos =
      figures(with(kHeader, std::string(kTor) + "queue_up 5\nqueue_down 7\n", kSpine));
  EXPECT_EQ(clos.queue_limit, bytes(7));
  ASSERT_EQ(clos.notes.size(), 1u);
  EXPECT_EQ(clos.notes[0], "queues of 5 to 7 bytes: all ports have the largest here");
}

// Four ports of 100 down, two of 200 up: 2 by ports, 1 by rates.
TEST(TopoImport, OversubscriptionIsThatOfPortsOrRates) {
  for (const char* ratio : {"1", "2"})
    figures(with(kHeader, std::string(kTor) + "oversubscribed " + ratio + "\n", kSpine));
}

struct Wrong {
  std::string text;
  const char* error;
};
TEST(TopoImport, SaysWhichLineCannotBe) {
  const Wrong wrongs[] = {
      {"", "0: no Nodes. a topology has some, such as Nodes 32"},
      {"Nodes 32\n", "0: no Tiers. write Tiers 2 or Tiers 3"},
      {"Nodes 32\nTiers 2\n", "0: no Podsize. a pod has so many hosts, in two tiers Podsize 32"},
      {"Nodes 32\nTiers 2\nPodsize 32\n", "0: no Tier 0 of 2 tiers"},
      {"Nodes 9999999999\n", "1: Nodes is \"9999999999\". it is a number from 2 to 1048576"},
      {"Nodes 32\nTiers 4\n", "2: Tiers is \"4\". it is a number from 2 to 3"},
      {"Nodes 1 2\n", "1: Nodes has 2 values. it has one, such as Nodes 2"},
      {"Nodes 32\nNodes 32\n", "2: Nodes a second time. it is written once"},
      {"Speed 5\n",
       "1: \"Speed\" is no word of a topology. those are Nodes, Tiers, Podsize and Tier, then "
       "Downlink_speed_Gbps, Radix_Down, Radix_Up, Oversubscribed, Bundle, Downlink_Latency_ns, "
       "Switch_Latency_ns, Queue_Up and Queue_Down"},
      {"Radix_Down 8\n", "1: Radix_Down before any Tier. it belongs to one, such as Tier 0"},
      {"Tier 0\n", "1: no Tiers before the first Tier. write Tiers 2 or Tiers 3"},
      {"Tiers 2\nTier 2\n", "2: Tier 2 of 2 tiers. they count from 0 to 1"},
      {"Tiers 2\nTier 0\nTier 0\n", "3: Tier 0 a second time, after line 2. it is written once"},
      {"Tiers 2\nTier 0\nNodes 4\n", "3: Nodes after a Tier. the header comes first"},
      {"Tiers 2\nTier 1\nRadix_Up 4\n", "3: Radix_Up in Tier 1. the top tier has nothing above it"},
      {with(kHeader, "tier 0\nradix_down 4\n", kSpine),
       "4: no Downlink_speed_Gbps in Tier 0. write one, such as Downlink_speed_Gbps 400"},
      {with(kHeader, "tier 0\nradix_down 4\ndownlink_speed_gbps 1\ndownlink_latency_ns 5\n",
            kSpine),
       "4: no Radix_Up in Tier 0. write one, such as Radix_Up 8"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto topology = import_topo(wrong.text);
    ASSERT_FALSE(topology) << wrong.text;
    EXPECT_EQ(fmt::format("{}: {}", topology.error().line, topology.error().message), wrong.error);
  }
}

TEST(TopoImport, SaysWhatNoNetworkOfOursIs) {
  const std::string core = "tier 2\ndownlink_speed_gbps 1\nradix_down 2\ndownlink_latency_ns 1\n";
  const std::string agg = std::string(kSpine) + "radix_up 2\n";
  const Wrong wrongs[] = {
      {with("nodes 9\ntiers 2\npodsize 8\n", kTor, kSpine),
       "4: 9 Nodes in pods of 8. Nodes is a multiple of Podsize"},
      {with("nodes 9\ntiers 2\npodsize 9\n", kTor, kSpine),
       "4: a Podsize of 9 in racks of 4. it is a multiple of Tier 0's Radix_Down"},
      {with("nodes 16\ntiers 2\npodsize 8\n", kTor, kSpine),
       "0: 2 pods in two tiers, with nothing between them. write Podsize 16"},
      {with("nodes 16\ntiers 2\npodsize 16\n", kTor, kSpine),
       "9: Radix_Down 2 in Tier 1. with what is below it is 4, one link (or bundle) to each"},
      {with(kHeader, std::string(kTor) + "bundle 2\n", kSpine),
       "4: Bundle 2 in Tier 0. a host has one link here"},
      {with(kHeader, kTor, std::string(kSpine) + "bundle 4\n"),
       "4: Radix_Up 2 in bundles of 4. it is a multiple of the Bundle of Tier 1"},
      {with(kHeader, std::string(kTor) + "oversubscribed 4\n", kSpine),
       "4: Oversubscribed 4 in Tier 0, but a switch has 400 Gb/s down and 400 up. leave it out, or "
       "change Radix_Up"},
      {with("nodes 16\ntiers 3\npodsize 8\n", kTor, agg) + core + "bundle 2\n",
       "14: Radix_Down 2 in Tier 2. with what is below it is 4, one link (or bundle) to each"},
      {with("nodes 24\ntiers 3\npodsize 8\n", kTor, agg) + core,
       "14: Radix_Down 2 in Tier 2. with what is below it is 3, one link (or bundle) to each"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto clos = clos_of(read(wrong.text));
    ASSERT_FALSE(clos) << wrong.text;
    EXPECT_EQ(fmt::format("{}: {}", clos.error().line, clos.error().message), wrong.error);
  }
}

}  // namespace
}  // namespace strack::workload
