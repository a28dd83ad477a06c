// Networks from files, and servers with several NICs, as scenario files say it.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/network_make.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

constexpr std::string_view kNetwork = R"(rate 400Gbps
latency 500ns
hosts h[0-7]
switches leaf[0-1] spine[0-1]
link h[0-3] leaf0
link h[4-7] leaf1
link leaf[0-1] spine[0-1] 800Gbps 1us
)";

class Networks : public ::testing::Test {
 protected:
  Networks() : folder_(std::filesystem::path(::testing::TempDir()) / "strack-networks") {
    std::filesystem::create_directories(folder_);
    write("two.net", kNetwork);
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] Scenario loaded(const std::string& text) const {
    const auto scenario =
        load_text("[topology]\nfile = \"two.net\"\n" + text, "x.toml", folder_, {});
    if (!scenario) {
      ADD_FAILURE() << scenario.error().text();
      return {};
    }
    return scenario.value();
  }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    const auto scenario =
        load_text("[topology]\nfile = \"two.net\"\n" + text, "x.toml", folder_, {});
    return scenario ? "loaded" : scenario.error().text();
  }

  std::filesystem::path folder_;
};

// [D99] Each change of a large graph is another large set of routes.
TEST_F(Networks, SetsOfRoutesAreBounded) {
  write("large.net",
        "rate 400Gbps\nlatency 500ns\nhosts h[0-4095]\nswitches s[0-511]\nlink h[0-4095] s0\n"
        "link s[1-511] s0\n");
  const auto flapping = [&](int until) {
    return load_text(
        "[topology]\nfile = \"large.net\"\n[[failure]]\nlink = \"s3-s0\"\n"
        "period_us = 10\nuntil_us = " +
            std::to_string(until) + "\n",
        "x.toml", folder_, {});
  };
  const auto refused = flapping(9'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "x.toml:3: failures make 1800 sets of routes with this entry, each with 4096 hosts at "
            "512 switches: 15 GB. at most 512 sets of this network are simulated: take a longer "
            "period_us, or an earlier until_us");
  const auto few = flapping(100);
  const auto more = flapping(200);
  ASSERT_TRUE(few.ok() && more.ok());
  EXPECT_EQ(memory_estimate(more.value()) - memory_estimate(few.value()),
            20 * bytes(4'096 * 512 * 4));
}

// [MRC.planes] MRC has as many planes as NICs have ports.
TEST_F(Networks, MrcKnowsThePlanes) {
  write("planes.net", make_planes({}).value());
  const auto planes = [&](const std::string& file, const std::string& more = "") {
    const auto scenario =
        load_text("[topology]\nfile = \"" + file + "\"\n[transport]\nscheme = \"mrc\"\n" + more,
                  "x.toml", folder_, {});
    if (!scenario) return scenario.error().text();
    const std::string text = to_toml(scenario.value());
    const std::size_t at = text.find("planes = ");
    return text.substr(at, text.find_first_of(" \n", at + 9) - at);
  };
  EXPECT_EQ(planes("planes.net"), "planes = 2");
  EXPECT_EQ(planes("two.net"), "planes = 1");
  EXPECT_EQ(planes("planes.net", "[mrc]\nplanes = 1"), "planes = 1");
  EXPECT_EQ(planes("planes.net", "[mrc]\nplanes = 9").substr(0, 9), "x.toml:6:");
  write("uneven.net",
        "rate 400Gbps\nlatency 500ns\nhosts a b\nnics n0 n1\nswitches s t\nlink a n0\nlink b n1\n"
        "link n0 s\nlink n1 s\nlink n1 t\nlink s t\n");
  EXPECT_EQ(planes("uneven.net"), "planes = 1");
}

// [D100]
TEST_F(Networks, TheBaseRttIsOfAllLinks) {
  const std::vector<std::string> notes = loaded("[[failure]]\nlink = \"spine0-leaf0\"\n").notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].substr(0, 56), "the base RTT is that of the network with all its links: ");
  EXPECT_TRUE(loaded("[[failure]]\nlink = \"spine0-leaf0\"\nfrom_us = 1\n").notes.empty());
}

// Links between switches are sampled too: 8 of hosts and 4 above them, both ways.
TEST_F(Networks, SamplesCountLinksBetweenSwitches) {
  const auto rows = [&](const char* tier) {
    const std::string note =
        loaded(std::string("[record]\ninterval_us = 0.001\nlinks = true\ntier = \"") + tier +
               "\"\n[workload]\nkind = \"permutation\"\nsize = \"100 GB\"\n")
            .notes.at(0);
    return std::stod(note.substr(note.find("some ") + 5));
  };
  EXPECT_NEAR(rows("all") / rows("fabric"), 3.0, 0.01);
}

TEST_F(Networks, AFileSaysItAll) {
  const Scenario s = loaded("");
  const TopologyParams& t = s.config.topology;
  ASSERT_NE(t.graph, nullptr);
  EXPECT_EQ(t.hosts(), 8u);
  EXPECT_EQ(t.hosts_per_rack, 4u);  // neighbours
  EXPECT_EQ(t.host_rate, gbps(400));
  EXPECT_EQ(t.fabric_rate, gbps(800));
  // h0, leaf0, spine, leaf1, h4 and back: 2 x (4160 + 64) B at 400 and at 800 Gb/s, 6 us of latency.
  EXPECT_EQ(s.base_rtt, 2 * (bytes(4'160) / gbps(400) + bytes(4'160) / gbps(800)) +
                            2 * (bytes(64) / gbps(400) + bytes(64) / gbps(800)) + us(6));
  // It loads again, and says what was in the file.
  EXPECT_NE(to_toml(s).find("file = \"two.net\""), std::string::npos);
  EXPECT_NE(to_toml(s).find("# the network: 8 hosts, 4 switches, 12 links, fingerprint "),
            std::string::npos);
  EXPECT_EQ(to_toml(s).find("spines"), std::string::npos);
  const auto again = load_text(to_toml(s), "again.toml", folder_, {});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_toml(again.value()), to_toml(s));
}

TEST_F(Networks, ErrorsNameTheFileAndItsLine) {
  write("bad.net", "hosts a b\nlink a b\n");
  const auto scenario = load_text("[topology]\nfile = \"bad.net\"\n", "x.toml", folder_, {});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().line, 2);
  EXPECT_EQ(scenario.error().file, (folder_ / "bad.net").string());
  EXPECT_EQ(error_of("spines = 4\n"),
            "x.toml:3: spines is 4, but \"two.net\" is a network of its own. leave one of the two "
            "out");
  EXPECT_EQ(error_of("hosts = 16\n"),
            "x.toml:3: hosts is 16, but \"two.net\" makes it 8. leave one of the two out");
}

TEST_F(Networks, LinksAndSwitchesFailByName) {
  const Scenario s = loaded(R"([[failure]]
link = "spine1-leaf0"
[[failure]]
link = "h5-leaf1"
[[failure]]
switch = "spine0"
[[impairment]]
switch = "leaf1"
rate = 0.5
)");
  const auto& failures = s.config.failures.failures;
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].link, (LinkRef{LinkRef::Tier::fabric, 9, 0}));
  EXPECT_EQ(s.config.topology.graph->links[9].name, "leaf0-spine1");
  EXPECT_EQ(failures[1].link, (LinkRef{LinkRef::Tier::host, 5, 0}));
  EXPECT_EQ(failures[2].node->index, 2u);
  EXPECT_EQ(s.config.failures.impairments.size(), 6u);
  EXPECT_EQ(error_of("[[failure]]\nlink = \"leaf0-leaf1\"\n"),
            "x.toml:4: link is \"leaf0-leaf1\". the network has no such link. one of its links is "
            "\"leaf1-spine1\"");
  EXPECT_EQ(error_of("[[failure]]\nswitch = \"tor 1\"\n"),
            "x.toml:4: switch is \"tor 1\". the network has no such switch. one of its switches is "
            "\"leaf0\"");
  EXPECT_EQ(
      error_of("[[failure]]\nrack = 1\nuplink = 0\n"),
      "x.toml:4: rack is 1. a network from a file has no tiers. name a link by its ends, such "
      "as link = \"leaf0-spine1\"");
  EXPECT_EQ(error_of("[[failure]]\nrandom_links = 2\n").substr(0, 26),
            "x.toml:4: random_links is ");
  const auto clos = load_text("[[failure]]\nlink = \"a-b\"\n", "x.toml", {}, {});
  ASSERT_FALSE(clos);
  EXPECT_EQ(clos.error().text(),
            "x.toml:2: link is \"a-b\". links have names in a network from a .net file only. name "
            "this one by rack and uplink");
}

TEST_F(Networks, BuffersAreThoseOfItsSwitches) {
  const auto plans = buffer_plans(loaded("[pfc]\nenabled = true\n").config);
  ASSERT_EQ(plans.size(), 2u);
  std::uint32_t switches = 0;
  for (const BufferPlan& plan : plans) switches += plan.switches;
  EXPECT_EQ(switches, 4u);
}

TEST_F(Networks, UnequalHostsAreTold) {
  write("mixed.net", std::string(kNetwork) + "hosts old\nlink old leaf1 100Gbps\n");
  const auto scenario = load_text("[topology]\nfile = \"mixed.net\"\n", "x.toml", folder_, {});
  ASSERT_TRUE(scenario) << scenario.error().text();
  ASSERT_EQ(scenario.value().about.size(), 2u);
  EXPECT_EQ(scenario.value().about[1],
            "hosts' links are not equal: transports are set up for the fastest, 400 Gb/s; the "
            "slowest has 100");
  EXPECT_EQ(scenario.value().config.topology.hosts_per_rack, 1u);
}

// ---- Servers ----

constexpr const char* kRails = R"([topology]
hosts = 64
hosts_per_rack = 4
nics_per_server = 8
[workload]
kind = "collective"
ranks = 16
)";

TEST(Servers, RanksAreServerByServer) {
  const auto scenario = load_text(std::string(kRails) + "placement = \"packed\"\n", "x.toml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const TopologyParams& t = scenario.value().config.topology;
  EXPECT_EQ(t.server_rate, gbps(3'600));
  EXPECT_EQ(t.server_latency, t.host_latency);
  const auto hosts = place_jobs(scenario.value(), 1)[0];
  ASSERT_EQ(hosts.size(), 16u);
  for (std::uint32_t r = 0; r < 16; ++r) {
    EXPECT_EQ(t.server_of(hosts[r]), r / 8);
    EXPECT_EQ(t.nic_of(hosts[r]), r % 8);
  }
}

// Blocks are whole servers here, drawn by the seed; and nobody is where others are.
TEST(Servers, BlocksAreWithinServers) {
  const auto scenario =
      load_text(std::string(kRails) + "placement = \"blocks:8\"\njobs = 3\n", "x.toml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const TopologyParams& t = scenario.value().config.topology;
  const auto hosts = place_jobs(scenario.value(), 1)[0];
  ASSERT_EQ(hosts.size(), 48u);
  std::set<std::uint32_t> servers;
  for (std::uint32_t r = 0; r < 48; ++r) {
    EXPECT_EQ(t.server_of(hosts[r]), t.server_of(hosts[r / 8 * 8]));
    servers.insert(t.server_of(hosts[r]));
  }
  EXPECT_EQ(servers.size(), 6u);
}

TEST(Servers, WhatIsWrongIsNamed) {
  const auto error_of = [](const std::string& text) {
    const auto scenario = load_text(text, "x.toml");
    return scenario ? "loaded" : scenario.error().text();
  };
  EXPECT_EQ(
      error_of("[topology]\nhosts = 24\nhosts_per_rack = 4\nnics_per_server = 4\n"),
      "x.toml:4: nics_per_server is 4 and there are 6 racks. NIC i of a server is in the i-th "
      "of so many racks: hosts = 32 would work");
  EXPECT_EQ(
      error_of("[topology]\nserver_gbps = 900\n"),
      "x.toml:2: server_gbps is set, but nics_per_server is 1: no host has another one in its "
      "server. set it too, such as nics_per_server = 8");
  EXPECT_EQ(error_of(std::string(kRails) + "placement = \"blocks:16\"\n"),
            "x.toml:8: placement is \"blocks:16\". a block is within a server, and servers have 8 "
            "NICs: \"blocks:8\" would work");
}

}  // namespace
}  // namespace strack::sim
