// [window] and [paths] under window-based transports: what they set, and what does not go together.
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "core/window/params.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "transports/dctcp/sim.h"
#include "transports/swift/sim.h"

namespace strack::sim {
namespace {

Scenario loaded(const std::string& text) {
  auto scenario = load_text(text, "x.toml", {}, {});
  EXPECT_TRUE(scenario) << scenario.error().text();
  return std::move(scenario).value();
}
std::string error_of(const std::string& text) {
  const auto scenario = load_text(text, "x.toml", {}, {});
  return scenario ? "" : scenario.error().text();
}
const core::WindowParams& window_of(const Scenario& scenario) {
  return params_of<DctcpProtocol>(scenario.config);
}
const std::string kDctcp = "[transport]\nscheme = \"dctcp\"\n";

// One path by default: three packets out of order are a loss, and any probe that comes back proves one.
TEST(Window, Defaults) {
  const Scenario s = loaded(kDctcp);
  const core::WindowParams& p = window_of(s);
  EXPECT_EQ(p.spray.policy, core::SprayPolicy::single);
  EXPECT_EQ(p.reorder_packets, 3u);
  EXPECT_EQ(p.reorder_cwnd, (Ratio{0, 1}));
  EXPECT_EQ(p.probe_rtt_limit, ps(0));
  EXPECT_EQ(p.rto, 25 * s.base_rtt);
  EXPECT_EQ(p.spray.flowlet_life, p.rto);
}

// Another policy brings another notion of order, unless the file has its own.
TEST(Window, PoliciesBringTheirOrder) {
  const Scenario s = loaded(kDctcp + "[paths]\npolicy = \"reps\"\n");
  EXPECT_EQ(window_of(s).spray.policy, core::SprayPolicy::reps);
  EXPECT_EQ(window_of(s).reorder_cwnd, (Ratio{1, 1}));
  EXPECT_EQ(window_of(s).probe_rtt_limit, 2 * s.base_rtt);
  const Scenario own =
      loaded(kDctcp +
             "[paths]\npolicy = \"reps\"\n[window]\nreorder_cwnd = 0.5\nrto_us = 99\n"
             "probe_rtt_limit_us = 7\n");
  EXPECT_EQ(window_of(own).reorder_cwnd, (Ratio{1, 2}));
  EXPECT_EQ(window_of(own).probe_rtt_limit, us(7));
  EXPECT_EQ(window_of(own).rto, us(99));
  EXPECT_EQ(window_of(own).spray.flowlet_life, us(99));
}

// What follows from a key follows it, unless it was given itself.
TEST(Window, DerivedKeysFollow) {
  const std::string swift = "[transport]\nscheme = \"swift\"\n[swift]\nbase_target_us = 20\n";
  const Scenario derived = loaded(swift);
  const auto& p = params_of<SwiftProtocol>(derived.config);
  EXPECT_EQ(p.fs_range, us(100));
  EXPECT_EQ(p.hop_target, ps(3'053'435));
  const Scenario given = loaded(swift + "hop_target_us = 0\n");
  const auto& own = params_of<SwiftProtocol>(given.config);
  EXPECT_EQ(own.hop_target, ps(0));
  EXPECT_EQ(own.fs_range, us(100));
}

// What the core refuses is reported where it was said.
TEST(Window, ErrorsNameTheirKey) {
  EXPECT_EQ(error_of(kDctcp + "[dctcp]\ninit_cwnd = 100\n"),
            "x.toml:4: init_cwnd would be 100. it must be from min_cwnd to 1024 mtu");
  EXPECT_EQ(error_of(kDctcp + "[window]\ntracking_window = 4\n"),
            "x.toml:4: init_cwnd would be 40960. it must be from min_cwnd to 1024 mtu");
  EXPECT_EQ(
      error_of("[transport]\nscheme = \"hpcc\"\n[paths]\npolicy = \"oblivious\"\ncount = 512\n"),
      "x.toml:5: paths would be 512. it must be at most 256: each has a utilisation");
  EXPECT_EQ(error_of("[transport]\nscheme = \"swift\"\n[swift]\nfs_min = 100\n"),
            "x.toml:4: fs_min would be 100. it must be well below fs_max");
  // Where another transport runs, nobody reads them.
  EXPECT_EQ(error_of("[dctcp]\ninit_cwnd = 100\n"), "");
}

}  // namespace
}  // namespace strack::sim
