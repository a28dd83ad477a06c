// [window] and [paths] under window-based transports: what they set, and what does not go together.
#include <string>
#include <vector>

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

// [FALCON.tlp] A transport's source may name another silence; and [FALCON.plb.move] have a policy of its own, so
// that of [paths] only the number is shown.
TEST(Window, AsTheSourceHasIt) {
  const std::string falcon = to_toml(loaded("[transport]\nscheme = \"falcon-like\"\n"));
  EXPECT_NE(falcon.find("\n# probe_interval_us = \"50 us\"  # follows"), std::string::npos);
  EXPECT_EQ(falcon.find("\n# policy = "), std::string::npos);
  EXPECT_NE(falcon.find("\n# count = 256  # follows"), std::string::npos);
  const std::string dctcp = to_toml(loaded(kDctcp));
  EXPECT_NE(dctcp.find("\n# probe_interval_us = \"24 us\"  # follows"), std::string::npos);
  EXPECT_NE(dctcp.find("\n# policy = \"single\"  # follows"), std::string::npos);
  EXPECT_NE(
      to_toml(loaded("[transport]\nscheme = \"falcon-like\"\n[window]\nprobe_interval_us = 9\n"))
          .find("\nprobe_interval_us = 9\n"),
      std::string::npos);
}

// Whatever transport reads it, a timeout below the base RTT of 8 us is refused; where nobody does, it means nothing.
TEST(Window, TimeoutsAreAtLeastTheBaseRtt) {
  const std::string remedy =
      ". no answer can come before the base RTT, 8 us, so a timeout is at least that: rto_us = "
      "\"25 RTT\" would do";
  EXPECT_EQ(error_of(kDctcp + "[window]\nrto_us = 1\n"), "x.toml:4: rto_us is 1" + remedy);
  EXPECT_EQ(error_of(kDctcp + "[window]\nrto_us = 8\n"), "");
  EXPECT_EQ(error_of("[transport]\nrto_us = 7\n"), "x.toml:2: rto_us is 7" + remedy);
  EXPECT_EQ(error_of("[transport]\nscheme = \"rocev2\"\n[rocev2]\nrto_us = 0.5\n"),
            "x.toml:4: rto_us is 0.5" + remedy);
  EXPECT_EQ(error_of("[transport]\nscheme = \"nscc\"\n[uet]\nrto_us = 0.5\n"),
            "x.toml:4: rto_us is 0.5" + remedy);
  EXPECT_EQ(error_of("[window]\nrto_us = 1\n"), "");
}

// What was given and nothing reads is worth a word, but for sections of other transports in a file.
TEST(Window, WhatNobodyReads) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(loaded(kDctcp + "[switch]\nkmin = 1000\n[window]\nrto_us = 99\n").unread,
            Names{"switch.kmin"});
  EXPECT_EQ(loaded(kDctcp + "rto_us = 99\n[uet]\nrto_us = 99\n").unread, Names{"transport.rto_us"});
  const Scenario strack = loaded("[switch]\nkmin = 1000\n[window]\nrto_us = 99\n");
  EXPECT_EQ(strack.unread, Names{"window.rto_us"});
  EXPECT_EQ(strack.notes,
            Names{"nothing in this run reads window.rto_us: scheme strack has no use for it, or a "
                  "key of its own"});
  EXPECT_EQ(loaded("[transport]\nscheme = \"falcon-like\"\n[paths]\npolicy = \"reps\"\ncount = 8\n")
                .unread,
            Names{"paths.policy"});
  // What is written out for one scheme can be run again, without a word.
  for (const std::string_view scheme : {"rocev2", "dctcp", "falcon-like", "strack"}) {
    const std::string whole =
        to_toml(loaded("[transport]\nscheme = \"" + std::string(scheme) + "\"\n"));
    EXPECT_EQ(loaded(whole).unread, Names{}) << scheme;
  }
  const auto set = load_text(kDctcp, "x.toml", {}, {"uet.rto_us=99"});
  ASSERT_TRUE(set);
  EXPECT_EQ(set.value().unread, Names{"uet.rto_us"});
}

// What the core refuses is reported where it was said.
TEST(Window, ErrorsNameTheirKey) {
  EXPECT_EQ(error_of(kDctcp + "[dctcp]\ninit_cwnd = 100\n"),
            "x.toml:4: init_cwnd would be 100. it must be from min_cwnd to 1024 mtu");
  EXPECT_EQ(error_of(kDctcp + "[window]\ntracking_window = 4\n"),
            "x.toml:4: init_cwnd would be 40960. it must be from min_cwnd to 1024 mtu");
  EXPECT_EQ(
      error_of("[transport]\nscheme = \"hpcc\"\n[paths]\npolicy = \"oblivious\"\ncount = 512\n"),
      "x.toml:5: count is 512. with scheme hpcc it must be at most 256: each has a utilisation");
  EXPECT_EQ(error_of("[transport]\nscheme = \"falcon-like\"\n[paths]\ncount = 1\n"),
            "x.toml:4: count is 1. with scheme falcon-like it must be at least 4");
  EXPECT_EQ(error_of("[transport]\nscheme = \"swift\"\n[swift]\nfs_min = 100\n"),
            "x.toml:4: fs_min would be 100. it must be well below fs_max");
  EXPECT_EQ(error_of(kDctcp + "[window]\nprobe_interval_us = \"1 ps\"\n"),
            "x.toml:4: probe_interval would be 1. it must be 0, or from 1 ns to an hour");
  EXPECT_EQ(
      error_of("[transport]\nscheme = \"swift\"\n[swift]\nmax_cwnd = \"1025 MTU\"\n"),
      "x.toml:4: max_cwnd would be 4198400. it must be at most the tracking window, 1024 mtu");
  EXPECT_NE(
      error_of("[transport]\nscheme = \"falcon-like\"\n[falcon-like]\nmax_cwnd = \"1025 MTU\"\n"),
      "");
  // Where another transport runs, nobody reads them.
  EXPECT_EQ(error_of("[dctcp]\ninit_cwnd = 100\n"), "");
}

}  // namespace
}  // namespace strack::sim
