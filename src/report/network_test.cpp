// Networks from files as drawings: levels, order, what is kept of large ones, and whose ends a trouble names.
#include "report/network.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "report/scenario.h"

namespace strack::report {
namespace {

using metrics::LinkInfo;
using metrics::RunInfo;

/// As a run tells of its links: of each two rows; hosts' own come first, by their numbers.
class Net {
 public:
  explicit Net(std::uint32_t hosts) { run.hosts = hosts; }

  void host(const std::string& name, const std::string& at, std::int64_t rate = 400) {
    up_.push_back({static_cast<std::uint32_t>(up_.size()), name, at, gbps(rate), ns(500), false});
  }
  void link(const std::string& a, const std::string& b, std::int64_t rate = 400) {
    rest_.emplace_back(a, b, gbps(rate));
  }
  [[nodiscard]] std::vector<LinkInfo> links() const {
    std::vector<LinkInfo> all = up_;
    const auto add = [&](const std::string& from, const std::string& to, BitsPerSecond rate) {
      all.push_back({static_cast<std::uint32_t>(all.size()), from, to, rate, ns(500), false});
    };
    for (const LinkInfo& one : up_) add(one.to, one.from, one.rate);
    for (const auto& [a, b, rate] : rest_) {
      add(a, b, rate);
      add(b, a, rate);
    }
    return all;
  }
  [[nodiscard]] TopologyFigure drawn(std::vector<Trouble> troubles = {}) const {
    auto figure = graph_topology({"net", "The network", "", {}}, run, links(), std::move(troubles));
    EXPECT_TRUE(figure);
    return *figure;
  }

  RunInfo run;

 private:
  std::vector<LinkInfo> up_;
  std::vector<std::tuple<std::string, std::string, BitsPerSecond>> rest_;
};

std::vector<std::string> names(const TopologyFigure& figure) {
  std::vector<std::string> all;
  for (const DrawnSwitch& one : figure.switches) all.push_back(one.name);
  return all;
}

/// Two pods of two leaves with two hosts each, and two aggregation switches each below two cores. The file names
/// what is above first, and the second pod's part of it before the first's.
Net fat_tree() {
  Net net(8);
  for (int h = 0; h < 8; ++h) net.host("gpu" + std::to_string(h), "leaf" + std::to_string(h / 2));
  for (const int pod : {1, 0}) {
    for (int agg = 0; agg < 2; ++agg) {
      const std::string name = "agg" + std::to_string(2 * pod + agg);
      for (int core = 0; core < 2; ++core) net.link("core" + std::to_string(core), name, 800);
      for (int leaf = 0; leaf < 2; ++leaf) net.link(name, "leaf" + std::to_string(2 * pod + leaf));
    }
  }
  return net;
}

TEST(NetworkDrawing, LevelsAreAsFarFromHostsAndInTheOrderOfWhatIsBelow) {
  const TopologyFigure figure = fat_tree().drawn();
  EXPECT_EQ(figure.hosts, 8U);
  EXPECT_FALSE(figure.ring);
  EXPECT_EQ(figure.levels, (std::vector<std::uint32_t>{4, 4, 2}));
  EXPECT_EQ(names(figure), (std::vector<std::string>{"leaf0", "leaf1", "leaf2", "leaf3", "agg0",
                                                     "agg1", "agg2", "agg3", "core0", "core1"}));
  EXPECT_EQ(figure.switches[3].hosts, 2U);
  EXPECT_EQ(figure.switches[3].place, 3U);
  EXPECT_EQ(figure.switches[4].hosts, 0U);
  EXPECT_EQ(figure.switches[4].level, 1U);
  EXPECT_EQ(figure.links.size(), 8U + 8U);
  EXPECT_EQ(figure.rates, "host links 400 Gb/s · links between switches 400 Gb/s to 800 Gb/s");
}

TEST(NetworkDrawing, ParallelLinksAreOneLine) {
  Net net(2);
  net.host("a", "x");
  net.host("b", "y", 100);
  for (int i = 0; i < 3; ++i) net.link("x", "y", 200);
  const TopologyFigure figure = net.drawn();
  ASSERT_EQ(figure.links.size(), 1U);
  EXPECT_EQ(figure.links[0].count, 3U);
  EXPECT_EQ(figure.links[0].gbps, 200);
  EXPECT_EQ(figure.rates, "host links 100 Gb/s to 400 Gb/s · links between switches 200 Gb/s");
}

TEST(NetworkDrawing, ASwitchAloneHasNoLinks) {
  Net net(2);
  net.host("a", "x");
  net.host("b", "x");
  const TopologyFigure figure = net.drawn();
  EXPECT_EQ(names(figure), (std::vector<std::string>{"x"}));
  EXPECT_EQ(figure.switches[0].hosts, 2U);
  EXPECT_TRUE(figure.links.empty());
  EXPECT_FALSE(figure.ring);
  EXPECT_EQ(figure.rates, "host links 400 Gb/s");
}

// All routers of a dragonfly have hosts: levels say nothing.
TEST(NetworkDrawing, WhereMostLinksAreWithinLevelsThereIsARing) {
  Net net(3);
  for (int i = 0; i < 3; ++i) net.host("h" + std::to_string(i), "r" + std::to_string(i));
  net.link("r0", "r1");
  net.link("r1", "r2");
  net.link("r2", "r0");
  EXPECT_TRUE(net.drawn().ring);
  net.link("r0", "top");
  net.link("r1", "top");
  net.link("r2", "top");
  EXPECT_FALSE(net.drawn().ring);  // three of six
  EXPECT_EQ(net.drawn().levels, (std::vector<std::uint32_t>{3, 1}));
}

TEST(NetworkDrawing, TroublesGetTheEndsOfTheLinksTheyName) {
  const TopologyFigure figure = fat_tree().drawn({{true, "core1-agg2", "", "one"},
                                                  {true, "agg2-core1", "", "the same"},
                                                  {true, "agg0-leaf1:3", "", "of several"},
                                                  {true, "core0", "", "a switch"},
                                                  {false, "gpu5-leaf2", "", "of a host"},
                                                  {false, "host 7", "", "by its number"},
                                                  {false, "nobody", "", "not there"}});
  std::vector<std::pair<std::string, std::string>> ends;
  for (const Trouble& one : figure.troubles) ends.emplace_back(one.from, one.to);
  EXPECT_EQ(ends, (std::vector<std::pair<std::string, std::string>>{{"core1", "agg2"},
                                                                    {"agg2", "core1"},
                                                                    {"agg0", "leaf1"},
                                                                    {"core0", ""},
                                                                    {"gpu5", "leaf2"},
                                                                    {"gpu7", "leaf3"},
                                                                    {"nobody", ""}}));
}

// Of 500 leaves the first are kept, the last, and what is broken; so are links between two that are.
TEST(NetworkDrawing, OfManySwitchesThoseThatCanBeDrawnAreKept) {
  Net net(500);
  for (int h = 0; h < 500; ++h) {
    net.host("h" + std::to_string(h), "leaf" + std::to_string(h));
    net.link("leaf" + std::to_string(h), "spine");
  }
  const TopologyFigure figure = net.drawn({{true, "leaf333-spine", "", "down"}});
  EXPECT_EQ(figure.levels, (std::vector<std::uint32_t>{500, 1}));
  ASSERT_EQ(figure.switches.size(), 120U + 2 + 1);
  EXPECT_EQ(figure.switches[120].name, "leaf333");
  EXPECT_EQ(figure.switches[120].place, 333U);
  EXPECT_EQ(figure.switches[121].name, "leaf499");
  EXPECT_EQ(figure.links.size(), 122U);
}

TEST(NetworkDrawing, ARunOfANetworkFileIsDrawnFromItsLinks) {
  Net net = fat_tree();
  net.run.settings = {{"topology.file", "pods.net", {}, "given"},
                      {"failure.0.link", "core1-agg2", {}, "given"},
                      {"failure.0.from_us", "0", 0, "default"}};
  const auto figure = topology({"net", "", "", {}}, net.run, net.links());
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->switches.size(), 10U);
  ASSERT_EQ(figure->troubles.size(), 1U);
  EXPECT_EQ(figure->troubles[0].text, "core1-agg2: down throughout");
  EXPECT_EQ(figure->caption,
            "The switches, with the number of hosts at each, and the links between them: the "
            "higher, the further from hosts. Dashed links and crossed-out switches are down at "
            "some time, dotted ones work badly. Of more than there is room for, those with "
            "something wrong are drawn.");
  EXPECT_FALSE(topology({"net", "", "", {}}, net.run, {}));  // nothing is known of it
}

}  // namespace
}  // namespace strack::report
