// The section [switch], and what a scenario shows of values that follow from others.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "sim/config.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

Scenario loaded(std::string_view text) {
  const auto scenario = load_text(text, "x.toml", {}, {});
  if (!scenario) {
    ADD_FAILURE() << scenario.error().text();
    return {};
  }
  return scenario.value();
}

std::string error_of(std::string_view text) {
  const auto scenario = load_text(text, "x.toml", {}, {});
  return scenario ? "loaded" : scenario.error().text();
}

// [D49] [D50] Trimming and ECN at the last hop are off and on by default.
TEST(Switch, TrimmingAndLastHop) {
  const SwitchParams usual = loaded("").config.switches;
  EXPECT_TRUE(usual.ecn_last_hop);
  EXPECT_FALSE(usual.trimming.enabled);
  const SwitchParams s = loaded(
                             "[switch]\necn_last_hop = false\ntrimming = true\ntrim_size = 128\n"
                             "trim_queue_limit = \"2 BDP\"")
                             .config.switches;
  EXPECT_FALSE(s.ecn_last_hop);
  EXPECT_TRUE(s.trimming.enabled);
  EXPECT_EQ(s.trimming.size, bytes(128));
  EXPECT_EQ(s.trimming.queue_limit, kb(800));
  EXPECT_EQ(loaded("[switch]\ntrimming = true").config.switches.trimming.size, bytes(64));
  EXPECT_EQ(loaded("[switch]\ntrimming = true").config.switches.trimming.queue_limit, kb(400));
  EXPECT_EQ(error_of("[switch]\ntrim_size = 128"),
            "x.toml:2: trim_size is set, but trimming is false. leave it out: it is for trimming = "
            "true");
  EXPECT_EQ(error_of("[switch]\ntrimming = true\ntrim_size = 4160"),
            "x.toml:3: trim_size is 4160. a packet has 4160 bytes, so nothing would be cut off: "
            "trim_size = 64 would do");
}

// [D56] [AR.spray] A scheme may wish for a routing; what the scenario says goes before it.
TEST(Switch, Routing_AsTheSchemeWants) {
  const Scenario wished = loaded("[transport]\nscheme = \"roce-ar\"");
  EXPECT_EQ(wished.config.switches.routing, Routing::least_queue);
  EXPECT_TRUE(wished.config.pfc.enabled);
  EXPECT_EQ(loaded("[transport]\nscheme = \"roce-ar\"\n[switch]\nrouting = \"ecmp\"")
                .config.switches.routing,
            Routing::ecmp);
}

// [NDP.switches] A scheme may wish for trimming and short queues, too; where nothing is dropped, that means nothing.
TEST(Switch, Trimming_AsTheSchemeWants) {
  const auto switches = [](const std::string& more) {
    return loaded("[transport]\nscheme = \"ndp\"\n" + more).config.switches;
  };
  EXPECT_TRUE(switches("").trimming.enabled);
  EXPECT_EQ(switches("").queue_limit, bytes(8 * 4'096));
  EXPECT_EQ(switches("[switch]\nqueue_limit = \"1 BDP\"").queue_limit, kb(400));
  EXPECT_FALSE(switches("[switch]\ntrimming = false").trimming.enabled);
  EXPECT_EQ(switches("[switch]\ntrimming = false").queue_limit, kb(2'000));
  EXPECT_FALSE(switches("[pfc]\nenabled = true").trimming.enabled);
  EXPECT_FALSE(loaded("[transport]\nscheme = \"nscc\"").config.switches.trimming.enabled);
  const std::string shown = to_toml(loaded("[transport]\nscheme = \"ndp\""));
  EXPECT_NE(shown.find("\n# trimming = true  # follows: "), std::string::npos);
  EXPECT_NE(shown.find("\nqueue_limit = \"8 MTU\"  # 32.768 KB\n"), std::string::npos);
  // [NDP.ack] Every packet is acknowledged.
  EXPECT_NE(shown.find("\n# ack_bytes = 1  # follows: "), std::string::npos);
  EXPECT_NE(to_toml(loaded("[transport]\nscheme = \"rccc\"")).find("\n# ack_bytes = 16384  #"),
            std::string::npos);
}

// What switches cannot do as they are set up is worth a word.
TEST(Switch, Notes) {
  const auto notes = [](std::string_view text) { return loaded(text).notes; };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes("[switch]\nqueue_limit = \"20 MTU\""),
            Notes{"queue_limit is 81.92 KB, and marks begin beyond kmin, 100 KB: no packet will be "
                  "marked"});
  EXPECT_EQ(notes("[switch]\nqueue_limit = \"1 BDP\""), Notes{});
  EXPECT_EQ(notes("[transport]\nscheme = \"ndp\""), Notes{});
  EXPECT_EQ(notes("[transport]\nscheme = \"ndp\"\n[switch]\ntrimming = false"),
            Notes{"trimming is false, but scheme ndp is made for switches that trim"});
  EXPECT_EQ(notes("[switch]\ntrimming = true\n[pfc]\nenabled = true"),
            Notes{"trimming is true, but with PFC nothing is dropped, so nothing is trimmed"});
  EXPECT_EQ(
      notes("[transport]\nscheme = \"rocev2\"\n[switch]\nrouting = \"round-robin\""),
      Notes{"routing is round-robin, but scheme rocev2 takes packets that overtake others for "
            "losses"});
}

// [D50] A scheme may wish for no marks at the last hop, a transport for trimming; what the scenario says goes
// before it.
TEST(Switch, MarksAndTrimmingAsTheSchemeWants) {
  const Scenario credit = loaded("[transport]\nscheme = \"rccc\"");
  EXPECT_FALSE(credit.config.switches.ecn_last_hop);
  EXPECT_NE(to_toml(credit).find("\n# ecn_last_hop = false  # follows: "), std::string::npos);
  EXPECT_TRUE(loaded("[transport]\nscheme = \"rccc\"\n[switch]\necn_last_hop = true")
                  .config.switches.ecn_last_hop);
  EXPECT_TRUE(loaded("[transport]\nscheme = \"nscc\"").config.switches.ecn_last_hop);
  EXPECT_TRUE(loaded("[transport]\nscheme = \"smartt\"").config.switches.trimming.enabled);
  EXPECT_FALSE(loaded("[transport]\nscheme = \"smartt\"\n[switch]\ntrimming = false")
                   .config.switches.trimming.enabled);
  EXPECT_FALSE(loaded("").config.switches.trimming.enabled);
}

// [MRC.switches] [MRC.routes] Static routes are a wish, too.
TEST(Switch, RoutesAsTheSchemeWants) {
  const Scenario fixed = loaded("[transport]\nscheme = \"mrc\"");
  EXPECT_EQ(fixed.config.failures.convergence, seconds(1));
  EXPECT_NE(to_toml(fixed).find("\n# convergence_us = 1000000  # follows: "), std::string::npos);
  EXPECT_TRUE(fixed.config.switches.trimming.enabled);
  EXPECT_FALSE(fixed.config.switches.ecn_last_hop);
  EXPECT_EQ(loaded("[transport]\nscheme = \"mrc\"\n[switch]\nconvergence_us = 50")
                .config.failures.convergence,
            us(50));
  EXPECT_EQ(loaded("").config.failures.convergence, us(100));
}

// [D56] Each routing by its word; ECMP, where nobody asks for another.
TEST(Switch, Routing) {
  EXPECT_EQ(loaded("").config.switches.routing, Routing::ecmp);
  EXPECT_NE(to_toml(loaded("")).find("\n# routing = \"ecmp\"  # follows: "), std::string::npos);
  const std::pair<std::string_view, Routing> words[] = {
      {"ecmp", Routing::ecmp},
      {"round-robin", Routing::round_robin},
      {"power-of-two", Routing::power_of_two},
      {"drill", Routing::drill},
      {"least-queue", Routing::least_queue},
      {"destination-rotation", Routing::destination_rotation}};
  for (const auto& [word, routing] : words) {
    EXPECT_EQ(loaded("[switch]\nrouting = \"" + std::string(word) + "\"").config.switches.routing,
              routing);
  }
  EXPECT_EQ(error_of("[switch]\nrouting = \"adaptive\""),
            "x.toml:2: routing is \"adaptive\". a routing is \"ecmp\", \"round-robin\", "
            "\"power-of-two\", \"drill\", \"least-queue\" or \"destination-rotation\"");
}

TEST(ToToml, ShowsWhatFollows) {
  const std::string text = to_toml(loaded(""));
  EXPECT_NE(text.find("\nkmin = \"0.25 BDP\"  # 100 KB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nrto_us = \"25 RTT\"  # 200 us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n# spines = 64  # follows: as oversubscription asks\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n# host_gbps = 400  # follows: link_gbps\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace strack::sim
