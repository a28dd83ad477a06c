// [strack-plus]: every key sets what it is named after, to the value that is given; what follows from others follows.
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "transports/strack_plus/sim.h"

namespace strack::sim {
namespace {

core::PlusParams plus_of(const std::string& keys) {
  const auto scenario =
      load_text("[transport]\nscheme = \"strack-plus\"\n[strack-plus]\n" + keys, "x.toml", {}, {});
  EXPECT_TRUE(scenario) << scenario.error().text();
  return params_of<PlusProtocol>(scenario.value().config);
}
std::string error_of(const std::string& keys) {
  const auto scenario =
      load_text("[transport]\nscheme = \"strack-plus\"\n[strack-plus]\n" + keys, "x.toml", {}, {});
  return scenario ? "" : scenario.error().text();
}

TEST(StrackPlusKeys, DefaultsAreTheLinks) {
  const core::PlusParams p = plus_of("");
  const core::PlusParams link =
      core::PlusParams::for_link(gbps(400), p.net_base_rtt, bytes(4'096)).value();
  EXPECT_EQ(p.max_cwnd, link.max_cwnd);
  EXPECT_EQ(p.target_qdelay, 2 * p.net_base_rtt);
  EXPECT_EQ(p.target_qhigh, 3 * p.net_base_rtt);
  EXPECT_EQ(p.probe_interval, p.net_base_rtt);
  EXPECT_EQ(p.probe_backoff_max, 0u);
  EXPECT_EQ(p.probe_tail, 3 * p.net_base_rtt / 4);
  EXPECT_EQ(p.rack, 3 * p.net_base_rtt / 2);
  EXPECT_EQ(p.rto, 25 * p.net_base_rtt);
  EXPECT_EQ(p.avoid_for, 100 * p.net_base_rtt);
  EXPECT_EQ(p.target_full, 7 * p.net_base_rtt / 4);
  EXPECT_EQ(p.late, 4 * p.net_base_rtt);
  EXPECT_EQ(p.late_for, 100 * p.net_base_rtt);
  EXPECT_EQ(p.late_after, 2u);
  EXPECT_EQ(p.ring_sparse, 16u);
  EXPECT_EQ(p.first_cwnd, link.first_cwnd);
  EXPECT_EQ(p.first_delay, (Ratio{1, 2}));
  EXPECT_TRUE(p.ring_delay);
  EXPECT_TRUE(p.cut_once);
  EXPECT_EQ(p.probe_self, (Ratio{5, 2}));
}

// [PLUS.mark] Switches mark by STrack+'s own thresholds, not by the paper's.
TEST(StrackPlusKeys, MarksOfItsOwn) {
  const auto marks = [](const std::string& keys) {
    const auto scenario = load_text(
        "[switch]\nkmin = 1000\nkmax = 2000\npmax = 0.5\n[transport]\nscheme = \"strack-plus\"\n"
        "[strack-plus]\n" +
            keys,
        "x.toml", {}, {});
    EXPECT_TRUE(scenario) << scenario.error().text();
    return scenario.value().config.switches;
  };
  const SwitchParams own = marks("");
  EXPECT_EQ(own.kmin, kb(60));
  EXPECT_EQ(own.kmax, kb(400));
  EXPECT_EQ(own.pmax, (Ratio{1}));
  const SwitchParams given = marks("kmin = \"0.25 BDP\"\nkmax = \"0.75 BDP\"\npmax = 0.25");
  EXPECT_EQ(given.kmin, kb(100));
  EXPECT_EQ(given.kmax, kb(300));
  EXPECT_EQ(given.pmax, (Ratio{1, 4}));
  EXPECT_EQ(error_of("kmin = \"2 BDP\""),
            "x.toml:4: kmin is 800 KB and kmax 400 KB. marks begin at kmin, so kmax must not be "
            "below it");
}

TEST(StrackPlusKeys, EachSetsItsField) {
  const core::PlusParams p = plus_of(R"(ring = 5
rotate_all = false
avoid = false
rather_marked = false
avoid_for_us = 70
max_paths = 32
max_cwnd = "300 KB"
target_qdelay_us = 11
target_qhigh_us = 23
target_full_us = 10
ring_sparse = 7
first_cwnd = "50 KB"
first_delay = 0.25
ring_delay = false
cut_once = false
late_us = 31
late_for_us = 501
late_after = 3
probe_self = 1.25
sack_packets = 3
sack_on_epsn = true
tracking_window = 300
ooo_cwnd = 0.5
rack_us = 13
probe_interval_us = 7
probe_backoff_max = 4
relative_probe = false
probe_patience = false
probe_due = false
probe_unknown = false
probe_margin_us = 3
probe_tail_us = 5
rto_us = 222
)");
  EXPECT_EQ(p.ring, 5u);
  EXPECT_FALSE(p.rotate_all);
  EXPECT_FALSE(p.avoid);
  EXPECT_FALSE(p.rather_marked);
  EXPECT_EQ(p.avoid_for, us(70));
  EXPECT_EQ(p.max_paths, 32u);
  EXPECT_EQ(p.max_cwnd, kb(300));
  EXPECT_EQ(p.target_qdelay, us(11));
  EXPECT_EQ(p.target_qhigh, us(23));
  EXPECT_EQ(p.target_full, us(10));
  EXPECT_EQ(p.first_cwnd, kb(50));
  EXPECT_EQ(p.first_delay, (Ratio{1, 4}));
  EXPECT_FALSE(p.ring_delay);
  EXPECT_FALSE(p.cut_once);
  EXPECT_EQ(p.ring_sparse, 7u);
  EXPECT_EQ(p.late, us(31));
  EXPECT_EQ(p.late_for, us(501));
  EXPECT_EQ(p.late_after, 3u);
  EXPECT_EQ(p.probe_self, (Ratio{5, 4}));
  EXPECT_EQ(p.sack_packets, 3u);
  EXPECT_TRUE(p.sack_on_epsn);
  EXPECT_EQ(p.tracking_window, 300u);
  EXPECT_EQ(p.ooo_cwnd, (Ratio{1, 2}));
  EXPECT_EQ(p.rack, us(13));
  EXPECT_EQ(p.probe_interval, us(7));
  EXPECT_EQ(p.probe_backoff_max, 4u);
  EXPECT_FALSE(p.relative_probe);
  EXPECT_FALSE(p.probe_patience);
  EXPECT_FALSE(p.probe_due);
  EXPECT_FALSE(p.probe_unknown);
  EXPECT_EQ(p.probe_margin, us(3));
  EXPECT_EQ(p.probe_tail, us(5));
  EXPECT_EQ(p.rto, us(222));
}

// [PLUS.high] [PLUS.probe.tail] Unless they are given themselves.
TEST(StrackPlusKeys, DerivedKeysFollow) {
  const core::PlusParams p = plus_of("target_qdelay_us = 100\nprobe_margin_us = 9\n");
  EXPECT_EQ(p.target_qhigh, us(100));
  EXPECT_EQ(p.probe_tail, us(9) + p.net_base_rtt / 4);
  EXPECT_EQ(p.target_full, 7 * p.net_base_rtt / 4);
  EXPECT_EQ(plus_of("target_qdelay_us = 5\n").target_full, us(5));  // [PLUS.target.full]
}

// [D42] From none to 20 doublings.
TEST(StrackPlusKeys, DoublingsOfProbes) {
  EXPECT_EQ(plus_of("probe_backoff_max = 0\n").probe_backoff_max, 0u);
  EXPECT_EQ(plus_of("probe_backoff_max = 20\n").probe_backoff_max, 20u);
  EXPECT_NE(error_of("probe_backoff_max = 21\n").find("it is from 0 to 20 doublings"),
            std::string::npos);
  EXPECT_NE(error_of("probe_backoff_max = -1\n").find("it is from 0 to 20 doublings"),
            std::string::npos);
}

}  // namespace
}  // namespace strack::sim
