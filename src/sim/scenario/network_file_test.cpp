#include "sim/scenario/network_file.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/network_make.h"

namespace strack::sim {
namespace {

NetworkGraph read(std::string_view text) {
  auto graph = parse_network(text);
  if (!graph) {
    ADD_FAILURE() << graph.error().line << ": " << graph.error().message;
    return {};
  }
  return std::move(graph.value());
}
std::string error_of(std::string_view text) {
  const auto graph = parse_network(text);
  return graph ? "read" : std::to_string(graph.error().line) + ": " + graph.error().message;
}

TEST(NetworkFile, RangesAndFigures) {
  const NetworkGraph graph = read(R"(# two leaves, two spines
rate 400Gbps
latency 500ns
hosts h[0-3]
switches leaf[0-1] spine[0-1]
link h[0-1] leaf0
link h[2-3] leaf1 200Gb/s 1us
link leaf[0-1] spine[0-1] 800Gbps x2
)");
  EXPECT_EQ(graph.hosts, (std::vector<std::string>{"h0", "h1", "h2", "h3"}));
  EXPECT_EQ(graph.switches.size(), 4u);
  ASSERT_EQ(graph.links.size(), 4u + 8u);
  EXPECT_EQ(graph.links[0].name, "h0-leaf0");
  EXPECT_EQ(graph.links[0].a, 0u);
  EXPECT_EQ(graph.links[0].b, 4u);
  EXPECT_EQ(graph.links[0].rate, gbps(400));
  EXPECT_EQ(graph.links[0].latency, ns(500));
  EXPECT_EQ(graph.links[3].rate, gbps(200));
  EXPECT_EQ(graph.links[3].latency, us(1));
  EXPECT_EQ(graph.links[4].name, "leaf0-spine0:0");
  EXPECT_EQ(graph.links[11].name, "leaf1-spine1:1");
  EXPECT_EQ(graph.links[11].rate, gbps(800));
  EXPECT_EQ(graph.switch_of(2), 1u);
}

// Hosts are numbered before switches, wherever they stand; the order is theirs.
TEST(NetworkFile, HostsMayComeLast) {
  const NetworkGraph graph = read("switch s\nhost b a\nlink s a 1Gbps 1ns\nlink b s 1Gbps 1ns\n");
  EXPECT_EQ(graph.name(0), "b");
  EXPECT_EQ(graph.name(2), "s");
  EXPECT_EQ(graph.links[0].a, 2u);
  EXPECT_EQ(graph.links[0].b, 1u);
  EXPECT_EQ(graph.host_links, (std::vector<std::uint32_t>{1, 0}));
}

TEST(NetworkFile, WhatIsWrongIsNamed) {
  const std::string start = "rate 1Gbps\nlatency 1us\nhosts a b\nswitches s t\n";
  const auto after = [&](std::string_view rest) { return error_of(start + std::string(rest)); };
  EXPECT_EQ(error_of(""), "0: the network has 0 hosts. it needs two or more");
  EXPECT_EQ(error_of("node a"),
            "1: \"node\" is no statement. a line begins with hosts, switches, nics, link, rate or "
            "latency");
  EXPECT_EQ(error_of("hosts a[3-1]"),
            "1: \"a[3-1]\" has no range in its brackets. write whole numbers without leading "
            "zeros, the smaller one first, 65536 of them at most, such as leaf[0-3]");
  EXPECT_EQ(error_of("hosts a a"), "1: \"a\" is there already. no two have the same name");
  EXPECT_EQ(error_of("rate fast"), "1: rate takes one value with its unit, such as rate 400Gbps");
  EXPECT_EQ(error_of("latency 0ns"), "1: a latency of 0 ps. it is from 1 ns to 1 s, such as 500ns");
  EXPECT_EQ(after("link a"), "5: a link has two ends, such as link leaf0 spine0 400Gbps 500ns");
  EXPECT_EQ(after("link a x"),
            "5: there is no \"x\" above this line. name it in a line hosts or switches first");
  EXPECT_EQ(after("link a b"),
            "5: a link between the hosts \"a\" and \"b\". packets are forwarded by switches: put "
            "one between them");
  EXPECT_EQ(after("link a s x65"),
            "5: \"x65\" is no number of parallel links. there may be x1 to x64");
  EXPECT_EQ(after("link a s 0Gbps").substr(0, 22), "5: a link of 0 bit/s. ");
  EXPECT_EQ(after("link a s 0ns").substr(0, 18), "5: a latency of 0 ");
  EXPECT_EQ(error_of(std::string("hosts a\0b", 9)),
            "1: \"a\\x00b\" is no name. a name is a word, or several such as leaf[0-3]");
  EXPECT_EQ(after("link s s"), "5: a link from \"s\" to itself. it has two ends");
  EXPECT_EQ(after("link a s fast"),
            "5: \"fast\" is neither a rate, nor a latency, nor a number of parallel links. write "
            "such as 400Gbps, 500ns or x2");
  EXPECT_EQ(after("link a s\nlink a s"),
            "6: there is a link \"a-s\" already. parallel links are written x2, at once");
  EXPECT_EQ(after("link a s\nlink t a\nlink b s"),
            "6: \"a\" has two links. a host has one: a NIC with several ports is a switch between "
            "the host and the network");
  EXPECT_EQ(after("link a s"), "0: the host \"b\" has no link. write one, such as link b leaf0");
  EXPECT_EQ(error_of("hosts a b\nswitches s\nlink a s"),
            "3: the link has no rate. add one, such as 400Gbps, or a line rate 400Gbps before it");
  EXPECT_EQ(
      error_of("rate 1Gbps\nhosts a b\nswitches s\nlink a s"),
      "4: the link has no latency. add one, such as 500ns, or a line latency 500ns before it");
  EXPECT_EQ(error_of("hosts h[0-99999]").substr(0, 22), "1: \"h[0-99999]\" has no");
}

// [D112]
TEST(NetworkFile, NicsHaveOneHost) {
  const std::string start = "rate 1Gbps\nlatency 1us\nhosts a b\nswitch s\nnics n[0-1]\n";
  const NetworkGraph graph =
      read(start + "switch t\nlink a n0\nlink b n1\nlink n[0-1] s\nlink s t");
  EXPECT_EQ(graph.switches, (std::vector<std::string>{"s", "n0", "n1", "t"}));
  EXPECT_EQ(graph.nics, (std::vector<bool>{false, true, true, false}));
  EXPECT_TRUE(graph.is_nic(1));
  EXPECT_FALSE(graph.is_nic(3));
  EXPECT_NE(fingerprint(graph),
            fingerprint(read("rate 1Gbps\nlatency 1us\nhosts a b\nswitch s n[0-1] t\n"
                             "link a n0\nlink b n1\nlink n[0-1] s\nlink s t")));
  EXPECT_EQ(error_of(start + "link a n0\nlink b n0\nlink n[0-1] s"),
            "7: the NIC \"n0\" has two hosts. it has one: name it in a line switches");
  EXPECT_EQ(error_of(start + "link a n0\nlink b s\nlink n[0-1] s"),
            "0: the NIC \"n1\" has no host. link one to it, or name it in a line switches");
}

// Each would do something else than it says.
TEST(NetworkFile, FiguresOfTheWrongKind) {
  EXPECT_EQ(error_of("rate x2"), "1: rate takes one value with its unit, such as rate 400Gbps");
  EXPECT_EQ(error_of("rate 500ns"), "1: rate takes one value with its unit, such as rate 400Gbps");
  EXPECT_EQ(error_of("latency 400Gbps"),
            "1: latency takes one value with its unit, such as latency 500ns");
  EXPECT_EQ(error_of("latency 1us\nhosts a b\nswitches s\nlink a s 400Gbps 100Gbps"),
            "4: \"100Gbps\" is a second one of its kind. a link has one rate, one latency and one "
            "number of parallel links");
}

// A link is called by its ends, whichever comes first: so no two have the same.
TEST(NetworkFile, LinksTheOtherWayRoundAreTheSame) {
  const std::string start = "rate 1Gbps\nlatency 1us\nhosts a b\nswitches s t\n";
  EXPECT_EQ(error_of(start + "link s t\nlink t s"),
            "6: there is a link \"t-s\" already. parallel links are written x2, at once");
  EXPECT_EQ(error_of(start + "link s t x2\nlink t s x3"),
            "6: there is a link \"t-s:0\" already. parallel links are written x2, at once");
}

TEST(NetworkFile, NamesHaveBounds) {
  std::string brackets = "hosts ";
  for (int i = 0; i < 80; ++i) brackets += "[0]";
  EXPECT_EQ(error_of(brackets).substr(error_of(brackets).find("\" has")),
            "\" has 80 brackets. there are at most 4");
  EXPECT_EQ(error_of("hosts " + std::string(257, 'a')),
            "1: a name of 257 bytes. it has at most 256");
  EXPECT_EQ(error_of("hosts a[0-999][0-999]"),
            "1: the line names more than 65536. write shorter ranges");
  EXPECT_EQ(error_of("hosts a[00-03]"),
            "1: \"a[00-03]\" has no range in its brackets. write whole numbers without leading "
            "zeros, the smaller one first, 65536 of them at most, such as leaf[0-3]");
  const NetworkGraph last =
      read("hosts h[4294967294-4294967295]\nswitch s\nlink h[4294967294-4294967295] s 1Gbps 1us");
  EXPECT_EQ(last.hosts, (std::vector<std::string>{"h4294967294", "h4294967295"}));
}

TEST(NetworkFile, AFingerprintIsOfNamesToo) {
  const auto of = [](const std::string& names) {
    return fingerprint(read("rate 1Gbps\nlatency 1us\nhosts " + names + "\nswitch s\nlink " +
                            names.substr(0, names.find(' ')) + " s\nlink " +
                            names.substr(names.find(' ') + 1) + " s"));
  };
  EXPECT_EQ(of("a b"), of("a b"));
  EXPECT_NE(of("a b"), of("a c"));
  EXPECT_NE(of("a bc"), of("ab c"));
}

// 9 groups of 4 routers with 2 hosts and 2 global links each: every pair of groups has one link.
TEST(Dragonfly, EveryGroupIsLinkedToEveryOther) {
  const NetworkGraph graph = read(make_dragonfly({}).value());
  EXPECT_EQ(graph.hosts.size(), 72u);
  EXPECT_EQ(graph.switches.size(), 36u);
  EXPECT_EQ(graph.links.size(), 72u + 9 * 6 + 36);
  // A host, up to three routers' links, a host.
  EXPECT_EQ(graph_diameter(graph), 5);
  std::vector<std::uint32_t> globals(36);
  for (const NetworkGraph::Link& link : graph.links) {
    if (std::min(link.a, link.b) < 72 || (link.a - 72) / 4 == (link.b - 72) / 4) continue;
    EXPECT_EQ(link.latency, us(1));
    ++globals[link.a - 72];
    ++globals[link.b - 72];
  }
  for (const std::uint32_t count : globals) EXPECT_EQ(count, 2u);
}

TEST(Dragonfly, PlusHasLeavesAndSpines) {
  DragonflyParams p;
  p.groups = 3;
  p.plus = true;
  const NetworkGraph graph = read(make_dragonfly(p).value());
  EXPECT_EQ(graph.hosts.size(), 24u);
  EXPECT_EQ(graph.switches.size(), 24u);
  // 8 ports of a group for two other groups: four links to each.
  EXPECT_EQ(graph.links.size(), 24u + 3 * 16 + 3 * 4);
  p.groups = 10;
  EXPECT_EQ(make_dragonfly(p).error().message,
            "10 groups, and each has 8 global links, 2 of each of 4 routers. every group is linked "
            "to every other: 9 groups, or more global links, would work");
}

// Counts whose products have more than 32 bits; and what could not be read.
TEST(Dragonfly, TooLargeIsRefusedBeforeItIsWritten) {
  const std::string too_large =
      "the network would be too large. it has at most 65536 hosts, 65536 switches and 1048576 "
      "links";
  DragonflyParams p;
  p.routers = 65'536;
  p.globals = 65'536;
  EXPECT_EQ(make_dragonfly(p).error().message, too_large);
  p = {};
  p.hosts = 4'294'967'295;
  EXPECT_EQ(make_dragonfly(p).error().message, too_large);
  PlanesParams planes;
  planes.leaves = planes.hosts = 65'536;
  EXPECT_EQ(make_planes(planes).error().message, too_large);
  p = {};
  p.groups = 2;
  p.routers = 1;
  p.globals = 65;
  EXPECT_FALSE(make_dragonfly(p));  // 65 parallel links
}

TEST(Planes, ANicHasAPortInEach) {
  const NetworkGraph graph = read(make_planes({}).value());
  EXPECT_EQ(graph.hosts.size(), 16u);
  EXPECT_EQ(graph.switches.size(), 16u + 2 * 8);
  EXPECT_EQ(graph.link_of_host(3).rate, gbps(800));
  EXPECT_EQ(graph.links.size(), 16u + 2 * 16 + 2 * 16);
  EXPECT_EQ(graph_diameter(graph), 6);
  EXPECT_TRUE(graph.is_nic(15));
  EXPECT_FALSE(graph.is_nic(16));
}

}  // namespace
}  // namespace strack::sim
