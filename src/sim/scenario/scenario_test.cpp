#include "sim/scenario/scenario.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/units.h"
#include "sim/base_rtt.h"
#include "sim/config.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/samples_testing.h"
#include "sim/scenario/transport_testing.h"
#include "sim/simulation.h"
#include "transports/descriptor.h"

namespace strack::sim {
namespace {

Scenario loaded(std::string_view text, const std::vector<std::string>& overrides = {}) {
  const auto scenario = load_text(text, "x.toml", {}, overrides);
  if (!scenario) {
    ADD_FAILURE() << scenario.error().text();
    return {};
  }
  return scenario.value();
}

std::string error_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
  const auto scenario = load_text(text, "x.toml", {}, overrides);
  return scenario ? "loaded" : scenario.error().text();
}

workload::Flows flows_of(const Scenario& scenario, std::uint64_t seed) {
  return make_workload(scenario, seed).flows;
}

std::string override_error(const std::string& override_text) {
  return error_of("", {override_text});
}

/// A folder for the files of one test, gone with it.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("scenario_test_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// --- Defaults: the paper's evaluation

TEST(Defaults, TopologyIsThePapers) {
  const Scenario s = loaded("");
  const TopologyParams& t = s.config.topology;
  EXPECT_EQ(t.tiers, 2);
  EXPECT_EQ(t.hosts(), 8'192u);
  EXPECT_EQ(t.racks, 128u);
  EXPECT_EQ(t.hosts_per_rack, 64u);
  EXPECT_EQ(t.spines, 64u);
  EXPECT_EQ(t.links_per_spine, 1u);
  EXPECT_EQ(t.host_rate, gbps(400));
  EXPECT_EQ(t.fabric_rate, gbps(400));
  EXPECT_EQ(s.base_rtt, us(8));
  EXPECT_EQ(s.bdp, kb(400));
  EXPECT_EQ(s.oversubscription, (Ratio{1, 1}));
  // 8 us less four times 4160 and 64 bytes at 400 Gb/s, over eight links.
  EXPECT_EQ(t.host_latency, ps(957'760));
  EXPECT_EQ(t.fabric_latency, ps(957'760));
}

TEST(Defaults, SwitchesAndHostsAreThePapers) {
  const Scenario s = loaded("");
  EXPECT_EQ(s.config.switches.kmin, kb(100));
  EXPECT_EQ(s.config.switches.kmax, kb(300));
  EXPECT_EQ(s.config.switches.pmax, (Ratio{1, 1}));
  EXPECT_EQ(s.config.switches.queue_limit, mb(2));
  EXPECT_TRUE(s.config.switches.control_priority);
  EXPECT_EQ(s.config.failures.convergence, us(100));
  EXPECT_EQ(s.config.hosts.data_header, bytes(64));
  EXPECT_EQ(s.config.hosts.control_size, bytes(64));
  EXPECT_EQ(s.config.hosts.start_jitter, ps(0));
  EXPECT_EQ(s.config.hosts.straggler_share, (Ratio{0, 1}));
  EXPECT_EQ(s.config.hosts.straggler_rate, (Ratio{1, 1}));
}

// The table's defaults say what the core's own say, on every link.
TEST(Defaults, TransportIsWhatTheCoreDerives) {
  for (const char* gigabits : {"40", "100", "200", "400", "800", "1600"}) {
    for (const char* rtt : {"4", "8", "100"}) {
      const Scenario s = loaded("[topology]\nlink_gbps = " + std::string(gigabits) +
                                "\nbase_rtt_us = " + rtt + "\n[switch]\nqueue_limit = \"1 MB\"");
      const auto expected =
          core::StrackParams::for_nic(s.config.topology.host_rate, s.base_rtt, bytes(4'096));
      ASSERT_TRUE(expected);
      expect_same(params_of<StrackProtocol>(s.config), expected.value());
    }
  }
}

// The same for RoCEv2, its set of DCQCN's constants included: the table and the core have one default.
TEST(Defaults, RoceIsWhatTheCoreDerives) {
  for (const char* gigabits : {"40", "100", "200", "400", "800", "1600"}) {
    for (const char* rtt : {"4", "8", "100"}) {
      const Scenario s =
          loaded("[topology]\nlink_gbps = " + std::string(gigabits) + "\nbase_rtt_us = " + rtt +
                 "\n[switch]\nqueue_limit = \"1 MB\"\n"
                 "[transport]\nscheme = \"rocev2\"");
      const auto expected =
          core::RoceParams::for_link(s.config.topology.host_rate, s.base_rtt, bytes(4'096));
      ASSERT_TRUE(expected);
      expect_same(params_of<RoceProtocol>(s.config), expected.value());
    }
  }
}

TEST(Defaults, PfcIsTheSimulators) {
  const PfcParams usual;
  const PfcParams p = loaded("").config.pfc;
  EXPECT_FALSE(p.enabled);
  EXPECT_EQ(p.buffer_per_tbps, usual.buffer_per_tbps);
  EXPECT_EQ(p.alpha, usual.alpha);
  EXPECT_EQ(p.reserve, usual.reserve);
  EXPECT_EQ(p.headroom, usual.headroom);
  EXPECT_EQ(p.xon_offset, usual.xon_offset);
  EXPECT_EQ(p.frame, usual.frame);
  EXPECT_EQ(p.quanta, usual.quanta);
}

TEST(Defaults, TheRest) {
  const Scenario s = loaded("");
  EXPECT_EQ(s.name, "x");
  EXPECT_EQ(s.description, "");
  EXPECT_EQ(s.scheme, "strack");
  EXPECT_EQ(s.workloads.front().kind, WorkloadKind::permutation);
  EXPECT_EQ(s.workloads.front().size, mb(16));
  EXPECT_EQ(s.seeds, std::vector<std::uint64_t>{1});
  EXPECT_EQ(s.config.seed, 1u);
  EXPECT_EQ(s.config.threads, 1u);
  EXPECT_EQ(s.config.end, Instant::never());
  EXPECT_EQ(s.config.record.interval, ps(0));
  EXPECT_TRUE(s.config.failures.failures.empty());
}

// --- What follows from what

TEST(Topology, OversubscriptionSetsTheUplinks) {
  EXPECT_EQ(loaded("[topology]\noversubscription = \"4:1\"").config.topology.spines, 16u);
  EXPECT_EQ(loaded("[topology]\noversubscription = 8").config.topology.spines, 8u);
  EXPECT_EQ(loaded("[topology]\noversubscription = \"1/2\"").config.topology.spines, 128u);
  // Half as fast below as above.
  EXPECT_EQ(loaded("[topology]\nhost_gbps = 200").config.topology.spines, 32u);
  EXPECT_EQ(loaded("[topology]\nlinks_per_spine = 4").config.topology.spines, 16u);
}

TEST(Topology, SpinesSetTheOversubscription) {
  const Scenario s = loaded("[topology]\nspines = 24");
  EXPECT_EQ(s.config.topology.spines, 24u);
  EXPECT_EQ(s.oversubscription, (Ratio{8, 3}));
  // Both may be said when they agree.
  EXPECT_EQ(loaded("[topology]\nspines = 16\noversubscription = 4").oversubscription,
            (Ratio{4, 1}));
}

TEST(Topology, ThreeTiers) {
  const Scenario s =
      loaded("[topology]\ntiers = 3\noversubscription = 2\ncore_oversubscription = 4");
  const TopologyParams& t = s.config.topology;
  EXPECT_EQ(t.racks_per_pod, 16u);
  EXPECT_EQ(t.aggs_per_pod, 32u);
  EXPECT_EQ(t.cores_per_agg, 4u);
  EXPECT_EQ(s.base_rtt, us(8));
  // 8 us less six times 4160 and 64 bytes at 400 Gb/s, over twelve links.
  EXPECT_EQ(t.host_latency + t.fabric_latency + t.core_latency, ps((8'000'000 - 506'880) / 4));
}

TEST(Topology, BaseRttIsKeptAtEveryRate) {
  for (const char* text : {"link_gbps = 100", "link_gbps = 200", "link_gbps = 800",
                           "host_gbps = 100\nfabric_gbps = 400", "base_rtt_us = 12.5"}) {
    const Scenario s = loaded("[topology]\n" + std::string(text));
    EXPECT_EQ(s.base_rtt, std::string_view(text).starts_with("base") ? ns(12'500) : us(8)) << text;
    EXPECT_EQ(s.bdp, s.config.topology.host_rate * s.base_rtt) << text;
    EXPECT_EQ(params_of<StrackProtocol>(s.config).net_base_rtt, s.base_rtt) << text;
  }
}

// What the scenario says is what the simulator will find.
TEST(Topology, BaseRttIsTheSimulators) {
  for (const char* text : {"", "link_gbps = 800", "link_gbps = 300", "tiers = 3",
                           "tiers = 3\ncore_gbps = 800", "oversubscription = \"8:1\"",
                           "host_gbps = 200", "host_latency_ns = 500\nfabric_latency_ns = 700"}) {
    const Scenario s =
        loaded("[topology]\nhosts = 1024\nhosts_per_rack = 16\n" + std::string(text));
    const Derived derived = derive(s.config.topology, s.config.hosts, s.config.mtu());
    EXPECT_EQ(s.base_rtt, derived.base_rtt) << text;
    EXPECT_EQ(s.bdp, derived.bdp) << text;
  }
}

// A third of a rate does not serialise in whole picoseconds; then it is kept to a picosecond for
// each link.
TEST(Topology, BaseRttIsNearlyKeptWherePicosecondsDoNotDivide) {
  const Scenario s = loaded("[topology]\nlink_gbps = 300\noversubscription = 1");
  EXPECT_LE(s.base_rtt, us(8));
  EXPECT_GT(s.base_rtt, us(8) - ps(4));
}

TEST(Topology, LatenciesSetTheBaseRtt) {
  const Scenario s = loaded("[topology]\nhost_latency_ns = 500\nfabric_latency_ns = \"1.5 us\"");
  EXPECT_EQ(s.config.topology.host_latency, ns(500));
  EXPECT_EQ(s.config.topology.fabric_latency, ns(1'500));
  EXPECT_EQ(s.base_rtt, us(8) + ps(337'920));
}

TEST(Switch, RelativeSizesFollowTheLink) {
  const Scenario s = loaded("[topology]\nlink_gbps = 800\n[switch]\nkmin = \"2 MTU\"");
  EXPECT_EQ(s.config.switches.kmin, bytes(8'192));
  EXPECT_EQ(s.config.switches.kmax, kb(600));
  EXPECT_EQ(s.config.switches.queue_limit, mb(4));
}

TEST(Transport, SchemesChooseThePaths) {
  EXPECT_EQ(params_of<StrackProtocol>(loaded("[transport]\nscheme = \"strack-oblivious\"").config)
                .path_policy,
            core::PathPolicy::oblivious);
  const Scenario single = loaded("[transport]\nscheme = \"strack-single-path\"");
  EXPECT_EQ(params_of<StrackProtocol>(single.config).max_paths, 1u);
  EXPECT_EQ(single.scheme, "strack-single-path");
  EXPECT_EQ(single.transport->name, "strack");
  EXPECT_EQ(params_of<StrackProtocol>(loaded("[transport]\npath_policy = \"bitmap_only\"").config)
                .path_policy,
            core::PathPolicy::bitmap_only);
}

TEST(Transport, EveryFieldCanBeSet) {
  const Scenario s = loaded(R"([transport]
mtu = 2048
max_paths = 32
min_paths = 4
path_policy = "recycle_only"
recycle_moves_rotation = false
ecn_bitmap_reset_us = 100
target_qdelay_us = 6
target_qhigh_us = "4 RTT"
ewma = "1/16"
alpha = "10 KB"
beta = "5 MTU"
eta = 100
gamma = 0.75
max_cwnd = "1.5 BDP"
min_cwnd = "2 MTU"
increase_rule = "per_ack"
window_rule = "overshoot"
sack_bytes = "4 KiB"
sack_on_epsn = false
echo_rule = "any_mark"
tracking_window = 512
ooo_cwnd = 0.5
ooo_min = 3
ooo_window = "current"
probe_interval_us = "2 RTT"
probe_rtt_limit_us = 12
probe_recovers = "highest_received"
rto_us = 300
rto_backoff_max = 0
path_health = true
delay_marks = true
least_rtt_us = "0.5 RTT"
full_packet_time_us = 13
probe_backoff_max = 7
silent_window = "4 MTU"
)");
  auto p = core::StrackParams::for_link(gbps(400), us(8), bytes(2'048)).value();
  p.max_paths = 32;
  p.min_paths = 4;
  p.path_policy = core::PathPolicy::recycle_only;
  p.recycle_moves_rotation = false;
  p.ecn_bitmap_reset = us(100);
  p.target_qdelay = us(6);
  p.target_qhigh = us(32);
  p.ewma_q16 = 4'096;
  p.alpha = kb(10);
  p.beta = bytes(10'240);
  p.eta = bytes(100);
  p.gamma = {3, 4};
  p.max_cwnd = kb(600);
  p.min_cwnd = bytes(4'096);
  p.increase_rule = core::IncreaseRule::per_ack;
  p.window_rule = core::WindowRule::overshoot;
  p.sack_bytes = kib(4);
  p.sack_on_epsn = false;
  p.echo_rule = core::EchoRule::any_mark;
  p.tracking_window = 512;
  p.ooo_cwnd = {1, 2};
  p.ooo_min = 3;
  p.ooo_window = core::OooWindow::current;
  p.probe_interval = us(16);
  p.probe_rtt_limit = us(12);
  p.probe_recovers = core::ProbeRecovers::highest_received;
  p.rto = us(300);
  p.rto_backoff_max = 0;
  p.path_health = true;
  p.delay_marks = true;
  p.least_rtt = us(4);
  p.full_packet_time = us(13);
  p.probe_backoff_max = 7;
  p.silent_window = bytes(8'192);
  expect_same(params_of<StrackProtocol>(s.config), p);
}

// --- RoCEv2

TEST(Roce, TheSchemeChoosesTheProtocol) {
  EXPECT_EQ(loaded("").transport->name, "strack");
  const Scenario s =
      loaded("[transport]\nscheme = \"rocev2\"\nmtu = 2048\n[host]\ndata_header = 58");
  EXPECT_EQ(s.scheme, "rocev2");
  EXPECT_EQ(s.transport->name, "rocev2");
  EXPECT_EQ(s.config.mtu(), bytes(2'048));
  EXPECT_EQ(params_of<RoceProtocol>(s.config).header, bytes(58));
  EXPECT_TRUE(s.config.pfc.enabled);
}

// The paper: DCQCN's threshold is one BDP.
TEST(Roce, HasThresholdsOfItsOwn) {
  const std::string text =
      "[switch]\nkmin = 1000\nkmax = 2000\npmax = 0.5\n[rocev2]\nkmax = \"2 BDP\"\npmax = 0.25\n"
      "[transport]\nscheme = ";
  const SwitchParams strack = loaded(text + "\"strack\"").config.switches;
  EXPECT_EQ(strack.kmin, bytes(1'000));
  EXPECT_EQ(strack.kmax, bytes(2'000));
  EXPECT_EQ(strack.pmax, (Ratio{1, 2}));
  const SwitchParams roce = loaded(text + "\"rocev2\"").config.switches;
  EXPECT_EQ(roce.kmin, kb(400));
  EXPECT_EQ(roce.kmax, kb(800));
  EXPECT_EQ(roce.pmax, (Ratio{1, 4}));
}

constexpr std::string_view kRoce = "transport.scheme = \"rocev2\"\n";

TEST(Roce, EveryFieldCanBeSet) {
  const Scenario s = loaded(std::string(kRoce) + R"([rocev2]
qps_per_conn = 4
stripe_packets = 8
ack_bytes = "2 MTU"
ack_interval_us = 3
nak_interval_us = "2 RTT"
rto_us = "1 ms"
max_outstanding = 1000
dcqcn = "paper2015"
variant = "nic"
g = "1/16"
initial_alpha = 0.5
alpha_timer_us = 2
decrease_interval_us = 5
increase_timer_us = 7
byte_counter = "1 MB"
fast_recovery = 3
rate_ai = "40 Mb/s"
rate_hai = 0.5
min_rate = "100 Mb/s"
cnp_interval_us = 6
)");
  auto p = core::RoceParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  p.qps_per_conn = 4;
  p.stripe_packets = 8;
  p.ack_bytes = bytes(8'192);
  p.ack_interval = us(3);
  p.nak_interval = us(16);
  p.rto = ms(1);
  p.max_outstanding = 1'000;
  p.dcqcn.variant = core::DcqcnVariant::nic;
  p.dcqcn.g = {1, 16};
  p.dcqcn.initial_alpha = {1, 2};
  p.dcqcn.alpha_timer = us(2);
  p.dcqcn.decrease_interval = us(5);
  p.dcqcn.increase_timer = us(7);
  p.dcqcn.byte_counter = mb(1);
  p.dcqcn.fast_recovery = 3;
  p.dcqcn.rate_ai = mbps(40);
  p.dcqcn.rate_hai = mbps(500);
  p.dcqcn.min_rate = mbps(100);
  p.dcqcn.cnp_interval = us(6);
  expect_same(params_of<RoceProtocol>(s.config), p);
}

TEST(Roce, ASetIsNamedAndOneValueChanged) {
  struct Named {
    const char* name;
    core::DcqcnSet set;
  };
  for (const Named& named :
       {Named{"paper2015", core::DcqcnSet::paper2015},
        Named{"nic-default", core::DcqcnSet::nic_default},
        Named{"hpcc-ns3", core::DcqcnSet::hpcc_ns3}, Named{"off", core::DcqcnSet::off},
        Named{"uet-htsim", core::DcqcnSet::uet_htsim}}) {
    const std::string text =
        std::string(kRoce) + "[rocev2]\ndcqcn = \"" + std::string(named.name) + "\"\n";
    auto p = core::RoceParams::for_link(gbps(400), us(8), bytes(4'096), named.set).value();
    expect_same(params_of<RoceProtocol>(loaded(text).config), p);
    p.dcqcn.increase_timer = us(9);
    expect_same(params_of<RoceProtocol>(loaded(text + "increase_timer_us = 9").config), p);
  }
}

// What a set means on this link is shown, and what is shown is exact.
TEST(Roce, AUnsetValueFollowsTheSet) {
  const std::string text = to_toml(loaded(
      "[topology]\nlink_gbps = 12.5\nbase_rtt_us = 40\n[rocev2]\ndcqcn = \"paper2015\"\ng = 0.5"));
  for (const char* line :
       {"\n# variant = \"paper\"  # follows: as dcqcn names it\n", "\ng = 0.5\n",
        "\n# rate_ai = \"12.5 Mb/s\"  # follows", "\n# rate_hai = \"125 Mb/s\"  # follows",
        "\n# byte_counter = 3125000  # follows", "\n# cnp_interval_us = \"50 us\"  # follows",
        "\n# fast_recovery = 5  # follows",
        "\n# rto_us = \"134217.728 us\"  # follows: the shortest"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// One file is for all schemes: the keys of the others are there, without effect.
TEST(Roce, ReadsOnlyItsOwnKeys) {
  const std::string text =
      "[transport]\npath_policy = \"bitmap_only\"\nmax_paths = 8\nrto_us = 77\n"
      "[rocev2]\nrto_us = 99\nmin_rate = \"500 Gb/s\"\n";
  EXPECT_EQ(params_of<StrackProtocol>(loaded(text).config).rto, us(77));
  EXPECT_EQ(
      params_of<RoceProtocol>(loaded(text, {"transport.scheme=rocev2", "rocev2.min_rate=1"}).config)
          .rto,
      us(99));
  // Values that would not work together are only found by the scheme that reads them.
  EXPECT_EQ(error_of(text, {"transport.scheme=rocev2"}),
            "x.toml:7: min_rate is \"500 Gb/s\". it must be from 1 Mb/s to the link's rate");
}

// On a link far slower than a set was made for, its rates end at the link's.
TEST(Roce, ASetIsCutToASlowLink) {
  const std::string slow = "[topology]\nlink_gbps = \"10 Mb/s\"\nbase_rtt_us = \"500 ms\"\n";
  const std::string named = slow + "[rocev2]\ndcqcn = \"nic-default\"\n";
  const std::vector<std::string> roce{"transport.scheme=rocev2", "pfc.enabled=false"};
  loaded(named);
  EXPECT_EQ(params_of<RoceProtocol>(loaded(named, roce).config).dcqcn.rate_hai, mbps(10));
  EXPECT_EQ(
      params_of<RoceProtocol>(loaded(named + "rate_hai = \"5 Mb/s\"", roce).config).dcqcn.rate_hai,
      mbps(5));
}

TEST(Roce, FewOutstandingPacketsNeedAcksAsOften) {
  const auto failed =
      load_text("[transport]\nscheme = \"rocev2\"\n[rocev2]\nmax_outstanding = 4", "x.toml");
  ASSERT_FALSE(failed);
  EXPECT_EQ(
      failed.error().text(),
      "x.toml:4: max_outstanding is 4 and ack_bytes 65.536 KB. a sender that may send no more "
      "would wait for an ACK that is not owed yet: ack_bytes = \"4 MTU\" or less would work");
  loaded("[transport]\nscheme = \"rocev2\"\n[rocev2]\nmax_outstanding = 4\nack_bytes = \"4 MTU\"");
  // [AR.window] A window that the ends can track counts as well.
  EXPECT_EQ(error_of("[transport]\nscheme = \"roce-ar\"\n[rocev2]\nack_bytes = \"4097 MTU\""),
            "x.toml:4: ack_bytes is \"4097 MTU\". it must be no more than the packets of a window "
            "hold, such as 16 MTU");
  loaded("[transport]\nscheme = \"roce-ar\"\n[rocev2]\nack_bytes = \"4096 MTU\"");
}

// --- PFC

TEST(Pfc, EveryFieldCanBeSet) {
  const PfcParams p = loaded(R"([pfc]
enabled = true
buffer_per_tbps = "2 MB"
alpha = 0.25
xoff = "3 MB"
reserve = 0
headroom = "200 KB"
xon_offset = "2 MTU"
quanta = 200
)")
                          .config.pfc;
  EXPECT_TRUE(p.enabled);
  EXPECT_EQ(p.buffer_per_tbps, mb(2));
  EXPECT_EQ(p.alpha, (Ratio{1, 4}));
  EXPECT_EQ(p.xoff, mb(3));
  EXPECT_EQ(p.reserve, bytes(0));
  EXPECT_EQ(p.headroom, kb(200));
  EXPECT_EQ(p.xon_offset, bytes(8'192));
  EXPECT_EQ(p.quanta, 200u);
  EXPECT_EQ(p.frame, bytes(64));
}

TEST(Pfc, FollowsTheSchemeUnlessSaid) {
  EXPECT_TRUE(loaded("", {"transport.scheme=rocev2"}).config.pfc.enabled);
  EXPECT_FALSE(loaded("", {"transport.scheme=rocev2", "pfc.enabled=false"}).config.pfc.enabled);
  EXPECT_FALSE(loaded("").config.pfc.enabled);
  EXPECT_TRUE(loaded("", {"pfc.enabled=true"}).config.pfc.enabled);
  EXPECT_NE(
      to_toml(loaded("")).find("\n# enabled = false  # follows: as the scheme's transport wants"),
      std::string::npos);
}

// 128 ports of 400 Gb/s: 51.2 Tb/s and 256 MB. What comes after XOFF: two latencies at 400 Gb/s
// (957.76 ns each), three packets of 4160 bytes, a frame of 64.
TEST(Pfc, BuffersFollowTheSwitches) {
  const auto plans = buffer_plans(loaded("", {"pfc.enabled=true"}).config);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].tier, "ToR");
  EXPECT_EQ(plans[0].switches, 128u);
  EXPECT_EQ(plans[0].ports(), 128u);
  EXPECT_EQ(plans[0].buffer, mb(256));
  EXPECT_EQ(plans[0].groups[0].headroom, bytes(2 * 47'888 + 3 * 4'160 + 64));
  EXPECT_EQ(plans[0].kept, 128 * (plans[0].groups[0].headroom + kib(4)));
  EXPECT_EQ(plans[1].tier, "spine");
  EXPECT_EQ(plans[1].switches, 64u);
  EXPECT_EQ(plans[1].ports(), 128u);

  const auto three =
      buffer_plans(loaded("[topology]\ntiers = 3\n[pfc]\nheadroom = \"50 KB\"").config);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[1].tier, "aggregation switch");
  EXPECT_EQ(three[1].switches, 512u);
  EXPECT_EQ(three[1].ports(), 32u);
  EXPECT_EQ(three[2].tier, "core");
  EXPECT_EQ(three[2].switches, 1'024u);
  EXPECT_EQ(three[2].ports(), 8u);
  EXPECT_EQ(three[2].groups[0].headroom, kb(50));
}

// --- Workloads

TEST(Workload, Incast) {
  const Scenario s = loaded(
      "[topology]\nhosts = 128\nhosts_per_rack = 16\n"
      "[workload]\nkind = \"incast\"\nfan_in = 112\nreceiver = 100\nsize = \"1 MB\"\nstart_us = 3");
  const workload::Flows flows = flows_of(s, 1);
  ASSERT_EQ(flows.size(), 112u);
  EXPECT_EQ(expected_flows(s), 112u);
  for (const workload::Flow& flow : flows) {
    EXPECT_EQ(flow.dst, 100u);
    EXPECT_NE(flow.src / 16, 6u);
    EXPECT_EQ(flow.size, mb(1));
    EXPECT_EQ(flow.start, at(us(3)));
  }
}

TEST(Workload, PermutationCrossRack) {
  const Scenario s = loaded(
      "[topology]\nhosts = 8\nhosts_per_rack = 4\n[workload]\ncross_rack = true\nsize = 4096");
  for (const workload::Flow& flow : flows_of(s, 7)) EXPECT_NE(flow.src / 4, flow.dst / 4);
  EXPECT_EQ(expected_flows(s), 8u);
}

TEST(Workload, RandomWithEachKindOfSizes) {
  const std::string begin =
      "[topology]\nhosts = 128\nhosts_per_rack = 16\n[workload]\nkind = \"random\"\nflows = 500\n";
  for (const workload::Flow& flow : flows_of(loaded(begin + "size = 777"), 1))
    EXPECT_EQ(flow.size, bytes(777));
  for (const workload::Flow& flow :
       flows_of(loaded(begin + "size_min = 10\nsize_max = \"20 B\""), 1)) {
    EXPECT_GE(flow.size, bytes(10));
    EXPECT_LE(flow.size, bytes(20));
  }
  std::set<std::int64_t> sizes;
  for (const workload::Flow& flow :
       flows_of(loaded(begin + "cdf = [[\"1 KB\", 0.5], [1001, 1]]"), 1)) {
    sizes.insert(flow.size.count());
  }
  EXPECT_EQ(sizes, (std::set<std::int64_t>{1'000, 1'001}));
}

TEST(Workload, RandomDurationExpectsItsFlows) {
  const Scenario s = loaded(
      "[topology]\nhosts = 128\nhosts_per_rack = 16\n"
      "[workload]\nkind = \"random\"\nload = 0.5\nsize = \"100 KB\"\nduration_us = 500");
  EXPECT_EQ(expected_flows(s), 16'000u);  // 128 x 500 us x 200 Gb/s / 100 KB
  EXPECT_NEAR(static_cast<double>(flows_of(s, 1).size()), 16'000, 500);
}

TEST(Workload, CdfFromAFileIsInlineInTheResolvedScenario) {
  const Folder folder;
  folder.write("sizes.txt", "1000 0.25\n10KB 0.7\n1MB 1\n");
  const auto file = folder.write("a.toml",
                                 "[workload]\nkind = \"random\"\nflows = 10\n"
                                 "cdf_file = \"sizes.txt\"\n");
  const auto s = load(file);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_NE(to_toml(s.value()).find("cdf = [[1000, 0.25], [10000, 0.7], [1000000, 1.0]]\n"),
            std::string::npos);
  const Scenario again = loaded(to_toml(s.value()));
  EXPECT_EQ(again.workloads.front().sizes, s.value().workloads.front().sizes);
}

TEST(Workload, FlowsFromAFile) {
  const Folder folder;
  folder.write("flows.txt", "0 1 16MB 0\n1 127 4096 10us\n");
  const auto file =
      folder.write("a.toml",
                   "[topology]\nhosts = 128\nhosts_per_rack = 16\n"
                   "[workload]\nkind = \"file\"\nfile = \"flows.txt\"\nstart_us = 1\n");
  const auto s = load(file);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s.value().name, "a");
  const workload::Flows flows = flows_of(s.value(), 1);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[1].dst, 127u);
  EXPECT_EQ(flows[1].start, at(us(11)));
  const auto again = load_text(to_toml(s.value()), "x.toml", folder.path());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again.value().workloads.front().list.size(), 2u);
}

TEST(Workload, JitterDelaysStarts) {
  const Scenario s =
      loaded("[topology]\nhosts = 128\nhosts_per_rack = 16\n[host]\nstart_jitter_us = 10");
  std::set<std::int64_t> starts;
  for (const workload::Flow& flow : flows_of(s, 1)) {
    EXPECT_LE(flow.start, at(us(10)));
    starts.insert(flow.start.ps);
  }
  EXPECT_GT(starts.size(), 100u);
}

/// 8 racks of 16 hosts, and a collective of 64 KB.
const std::string kCollective =
    "topology.hosts = 128\ntopology.hosts_per_rack = 16\n[workload]\nkind = \"collective\"\nsize = "
    "65536\n";

TEST(Workload, CollectiveTakesAllHostsUnlessSaid) {
  const Scenario s = loaded(kCollective);
  EXPECT_EQ(s.workloads.front().kind, WorkloadKind::collective);
  EXPECT_EQ(name_of(s.workloads.front().kind), "collective");
  EXPECT_EQ(s.workloads.front().collective.collective, workload::Collective::allreduce_ring);
  EXPECT_EQ(s.workloads.front().collective.size, bytes(65'536));
  EXPECT_EQ(s.workloads.front().collective.chunk, kib(128));
  EXPECT_EQ(s.workloads.front().collective.ranks, 128u);
  EXPECT_EQ(s.workloads.front().collective.parallel, 0u);
  EXPECT_EQ(s.workloads.front().jobs, 1u);
  EXPECT_EQ(s.workloads.front().placement.kind, workload::Placement::random);
  EXPECT_NE(to_toml(s).find("# ranks = 128  # follows: all hosts over jobs\n"), std::string::npos);
  EXPECT_EQ(to_toml(s).find("parallel"), std::string::npos);
  EXPECT_EQ(expected_flows(s), 0u);
  EXPECT_EQ(expected_messages(s), 2u * 127 * 128);

  const workload::Workload made = make_workload(s, 1);
  EXPECT_TRUE(made.flows.empty());
  ASSERT_EQ(made.jobs.size(), 1u);
  EXPECT_EQ(made.jobs[0].name, "allreduce-ring");
  EXPECT_EQ(made.jobs[0].hosts.size(), 128u);
  EXPECT_EQ(made.jobs[0].graph->messages(), 2u * 127 * 128);
}

TEST(Workload, CollectiveEveryFieldCanBeSet) {
  const Scenario s = loaded(kCollective + R"(collective = "alltoall"
chunk = "1 KiB"
chunks_in_flight = 2
ranks = 10
jobs = 3
parallel = 2
placement = "packed"
start_us = 5
[host]
start_jitter_us = 2
)");
  EXPECT_EQ(s.workloads.front().collective.collective, workload::Collective::alltoall);
  EXPECT_EQ(s.workloads.front().collective.chunk, kib(1));
  EXPECT_EQ(s.workloads.front().collective.chunks_in_flight, 2u);
  EXPECT_EQ(s.workloads.front().collective.ranks, 10u);
  EXPECT_EQ(s.workloads.front().collective.parallel, 2u);
  EXPECT_EQ(s.workloads.front().jobs, 3u);
  const workload::Workload made = make_workload(s, 1);
  ASSERT_EQ(made.jobs.size(), 3u);
  EXPECT_EQ(made.jobs[0].graph, made.jobs[2].graph);
  EXPECT_EQ(made.jobs[2].hosts.front(), 20u);
  std::set<std::int64_t> starts;
  for (const Instant start : made.jobs[1].starts) {
    EXPECT_GE(start, at(us(5)));
    EXPECT_LE(start, at(us(7)));
    starts.insert(start.ps);
  }
  EXPECT_EQ(starts.size(), 10u);
}

// [D63] Blocks stay within racks, and a list is taken as it stands.
TEST(Workload, CollectivePlacementInBlocksAndByList) {
  const Scenario blocks = loaded(kCollective + "ranks = 16\nplacement = \"blocks:4\"");
  const std::vector<workload::HostId> hosts = make_workload(blocks, 1).jobs[0].hosts;
  for (std::size_t i = 0; i < 16; i += 4) {
    EXPECT_EQ(hosts[i] % 4, 0u);
    for (std::uint32_t k = 1; k < 4; ++k) EXPECT_EQ(hosts[i + k], hosts[i] + k);
  }
  EXPECT_NE(make_workload(blocks, 2).jobs[0].hosts, hosts);
  const Scenario listed = loaded(kCollective + "ranks = 3\nplacement = \"hosts:7,2-3\"");
  EXPECT_EQ(make_workload(listed, 1).jobs[0].hosts, (std::vector<workload::HostId>{7, 2, 3}));
  EXPECT_EQ(error_of(kCollective + "placement = \"blocks:12\""),
            "x.toml:6: placement is \"blocks:12\". a block is within a rack, and racks have 16 "
            "hosts: \"blocks:8\" would work");
  EXPECT_EQ(
      error_of(kCollective + "ranks = 3\nplacement = \"hosts:0-1\""),
      "x.toml:7: placement is \"hosts:0-1\". it names 2 hosts, and there are 3 ranks to place");
  EXPECT_EQ(
      error_of(kCollective + "ranks = 3\nplacement = \"hosts:0-128\""),
      "x.toml:7: placement is \"hosts:0-128\". there is no host 128: hosts are numbered from 0 "
      "to 127");
}

TEST(Workload, CollectivePlacementFollowsTheSeed) {
  const Scenario random = loaded(kCollective + "ranks = 16");
  EXPECT_EQ(make_workload(random, 1).jobs[0].hosts, make_workload(random, 1).jobs[0].hosts);
  EXPECT_NE(make_workload(random, 1).jobs[0].hosts, make_workload(random, 2).jobs[0].hosts);
  const Scenario striped = loaded(kCollective + "ranks = 16\nplacement = \"striped\"");
  EXPECT_EQ(make_workload(striped, 1).jobs[0].hosts[1], 16u);
}

// A buffer may be larger than a message; the graph is not made until it is asked for.
TEST(Workload, CollectiveBuffersMayBeLarge) {
  const Scenario s = loaded(kCollective, {"workload.size=1099511627776", "workload.chunk=1 GB"});
  EXPECT_EQ(s.workloads.front().collective.size, bytes(std::int64_t{1} << 40));
}

TEST(Workload, CollectivesHaveTheNamesOfTheirMakers) {
  const auto collectives = find_key("workload", "collective")->words;
  for (std::size_t i = 0; i < collectives.size(); ++i)
    EXPECT_EQ(collectives[i], name_of(static_cast<workload::Collective>(i)));
}

// --- Every key, there and back

// One value other than the default for each key; transports may leave theirs to samples_testing.h.
constexpr Sample kSamples[] = {
    {"", "name", "\"n \\\"quoted\\\" \\\\ \\t\"", ""},
    {"", "description", "\"über\"", ""},
    {"topology", "tiers", "3", ""},
    {"topology", "hosts", "1024", ""},
    {"topology", "hosts_per_rack", "32", ""},
    {"topology", "oversubscription", "\"4:1\"", ""},
    {"topology", "spines", "32", ""},
    {"topology", "links_per_spine", "2", ""},
    {"topology", "racks_per_pod", "8", "tiers = 3"},
    {"topology", "aggs_per_pod", "32", "tiers = 3"},
    {"topology", "core_oversubscription", "2", "tiers = 3"},
    {"topology", "cores_per_agg", "4", "tiers = 3"},
    {"topology", "link_gbps", "800", ""},
    {"topology", "host_gbps", "\"200 Gb/s\"", ""},
    {"topology", "fabric_gbps", "800", ""},
    {"topology", "core_gbps", "800", "tiers = 3"},
    {"topology", "base_rtt_us", "8.5", ""},
    {"topology", "host_latency_ns", "500", "fabric_latency_ns = 700"},
    {"topology", "fabric_latency_ns", "500", "host_latency_ns = 700"},
    {"topology", "core_latency_ns", "500", "tiers = 3\nhost_latency_ns = 1\nfabric_latency_ns = 2"},
    {"topology", "nics_per_server", "8", ""},
    {"topology", "server_gbps", "900", "nics_per_server = 8"},
    {"topology", "server_latency_ns", "700", "nics_per_server = 8"},
    {"switch", "routing", "\"drill\"", ""},
    {"switch", "kmin", "\"0.1 BDP\"", ""},
    {"switch", "kmax", "350000", ""},
    {"switch", "pmax", "0.25", ""},
    {"switch", "queue_limit", "\"3 MiB\"", ""},
    {"switch", "control_priority", "false", ""},
    {"switch", "ecn_last_hop", "false", ""},
    {"switch", "trimming", "true", ""},
    {"switch", "trim_size", "128", "trimming = true"},
    {"switch", "trim_queue_limit", "\"2 BDP\"", "trimming = true"},
    {"switch", "convergence_us", "\"1 ms\"", ""},
    {"pfc", "enabled", "true", ""},
    {"pfc", "buffer_per_tbps", "\"4 MB\"", ""},
    {"pfc", "alpha", "0.5", ""},
    {"pfc", "xoff", "\"1 MB\"", ""},
    {"pfc", "reserve", "0", ""},
    {"pfc", "headroom", "\"100 KB\"", ""},
    {"pfc", "xon_offset", "\"2 MTU\"", ""},
    {"pfc", "quanta", "1000", ""},
    {"host", "data_header", "48", ""},
    {"host", "control_size", "80", ""},
    {"host", "start_jitter_us", "2.5", ""},
    {"host", "straggler_share", "\"1 %\"", "straggler_rate = 0.5"},
    {"host", "straggler_rate", "\"1/3\"", "straggler_share = 0.5"},
    {"transport", "scheme", "\"strack-oblivious\"", ""},
    {"transport", "mtu", "1024", ""},
    {"transport", "max_paths", "64", ""},
    {"transport", "min_paths", "4", ""},
    {"transport", "path_policy", "\"bitmap_only\"", ""},
    {"transport", "recycle_moves_rotation", "false", ""},
    {"transport", "ecn_bitmap_reset_us", "50", ""},
    {"transport", "path_health", "true", ""},
    {"transport", "delay_marks", "true", ""},
    {"transport", "least_rtt_us", "200", ""},
    {"transport", "full_packet_time_us", "13", ""},
    {"transport", "target_qdelay_us", "10", ""},
    {"transport", "target_qhigh_us", "30", ""},
    {"transport", "ewma", "0.25", ""},
    {"transport", "alpha", "1", ""},
    {"transport", "beta", "2", ""},
    {"transport", "eta", "3", ""},
    {"transport", "gamma", "0.5", ""},
    {"transport", "max_cwnd", "\"2 BDP\"", ""},
    {"transport", "min_cwnd", "8192", ""},
    {"transport", "increase_rule", "\"per_ack\"", ""},
    {"transport", "window_rule", "\"overshoot\"", ""},
    {"transport", "sack_bytes", "1", ""},
    {"transport", "sack_on_epsn", "false", ""},
    {"transport", "echo_rule", "\"any_mark\"", ""},
    {"transport", "tracking_window", "256", ""},
    {"transport", "ooo_cwnd", "1.5", ""},
    {"transport", "ooo_min", "9", ""},
    {"transport", "ooo_window", "\"current\"", ""},
    {"transport", "probe_interval_us", "99", ""},
    {"transport", "probe_rtt_limit_us", "98", ""},
    {"transport", "probe_recovers", "\"highest_received\"", ""},
    {"transport", "rto_us", "\"50 RTT\"", ""},
    {"transport", "rto_backoff_max", "5", ""},
    {"transport", "probe_backoff_max", "7", ""},
    {"transport", "silent_window", "\"4 MTU\"", ""},
    {"paths", "policy", "\"reps\"", ""},
    {"paths", "count", "64", ""},
    {"paths", "reps_freeze_us", "0", ""},
    {"paths", "reps_explore", "8", ""},
    {"paths", "plb_marked", "0.25", ""},
    {"paths", "plb_rounds", "2", ""},
    {"paths", "plb_round_us", "\"2 RTT\"", ""},
    {"paths", "flowlet_gap_us", "100", ""},
    {"paths", "flowlet_life_us", "70", ""},
    {"rocev2", "qps_per_conn", "16", ""},
    {"rocev2", "stripe_packets", "64", ""},
    {"rocev2", "ack_bytes", "1", ""},
    {"rocev2", "ack_interval_us", "0", ""},
    {"rocev2", "nak_interval_us", "\"10 RTT\"", ""},
    {"rocev2", "rto_us", "\"67 ms\"", ""},
    {"rocev2", "reorder_us", "20", ""},
    {"rocev2", "max_outstanding", "128", ""},
    {"rocev2", "kmin", "\"0.5 BDP\"", ""},
    {"rocev2", "kmax", "\"1 MB\"", ""},
    {"rocev2", "pmax", "0.01", ""},
    {"rocev2", "dcqcn", "\"paper2015\"", ""},
    {"rocev2", "variant", "\"off\"", ""},
    {"rocev2", "g", "0.0625", ""},
    {"rocev2", "initial_alpha", "0.25", ""},
    {"rocev2", "shared_alpha_us", "\"1 RTT\"", ""},
    {"rocev2", "alpha_timer_us", "55", ""},
    {"rocev2", "decrease_interval_us", "50", ""},
    {"rocev2", "increase_timer_us", "\"1 ms\"", ""},
    {"rocev2", "byte_counter", "\"10 MB\"", ""},
    {"rocev2", "fast_recovery", "5", ""},
    {"rocev2", "rate_ai", "\"40 Mb/s\"", ""},
    {"rocev2", "rate_hai", "0.4", ""},
    {"rocev2", "min_rate", "\"10 Mb/s\"", ""},
    {"rocev2", "cnp_interval_us", "50", ""},
    {"workload", "kind", "\"incast\"", ""},
    {"workload", "size", "\"64 KiB\"", ""},
    {"workload", "cross_rack", "true", ""},
    {"workload", "fan_in", "8", "kind = \"incast\""},
    {"workload", "receiver", "77", "kind = \"incast\""},
    {"workload", "load", "0.3", "kind = \"random\""},
    {"workload", "flows", "100", "kind = \"random\""},
    {"workload", "duration_us", "10", "kind = \"random\""},
    {"workload", "size_min", "10", "kind = \"random\"\nsize_max = \"1 GB\""},
    {"workload", "size_max", "\"1 GB\"", "kind = \"random\"\nsize_min = 20"},
    {"workload", "cdf", "[[\"1 KB\", 0.125], [2000, 1]]", "kind = \"random\"\nflows = 5"},
    {"workload", "collective", "\"broadcast\"", "kind = \"collective\""},
    {"workload", "chunk", "\"1 MB\"", "kind = \"collective\""},
    {"workload", "chunks_in_flight", "4", "kind = \"collective\""},
    {"workload", "ranks", "100", "kind = \"collective\""},
    {"workload", "jobs", "8", "kind = \"collective\""},
    {"workload", "parallel", "4", "kind = \"collective\"\ncollective = \"alltoall\""},
    {"workload", "placement", "\"striped\"", "kind = \"collective\""},
    {"workload", "start_us", "7", ""},
    {"workload", "name", "\"steps\"", ""},
    {"workload", "iterations", "3", "kind = \"collective\"\nranks = 8"},
    {"workload", "compute_us", "3", "kind = \"collective\"\nranks = 8\niterations = 2"},
    {"workload", "share_hosts", "true", "kind = \"collective\""},
    {"workload", "repeats", "3", "every_us = 5"},
    {"workload", "every_us", "3", "repeats = 2"},
    {"workload", "priority", "2", ""},
    {"workload", "model", "\"llama3-8b\"", "kind = \"training\"\ndp = 8"},
    {"workload", "layers", "4", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "hidden", "1024", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "ffn", "1024", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "heads", "16", "kind = \"training\"\nmodel = \"llama3-8b\"\ndp = 8"},
    {"workload", "kv_heads", "8", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "vocab", "1000", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "sequence", "100", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "experts", "8", "kind = \"training\"\nmodel = \"mixtral-8x7b\"\ndp = 8"},
    {"workload", "top_k", "1", "kind = \"training\"\nmodel = \"mixtral-8x7b\"\ndp = 8"},
    {"workload", "gated", "false", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "tp", "4", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "pp", "2", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "dp", "4", "kind = \"training\"\nmodel = \"llama2-7b\""},
    {"workload", "ep", "2", "kind = \"training\"\nmodel = \"mixtral-8x7b\"\ndp = 8"},
    {"workload", "zero", "1", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "micro_batch", "2", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "batch", "32", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "bucket", "\"1 MB\"", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "weight_bytes", "4", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "gradient_bytes", "4", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "gpu_tflops", "100", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "efficiency", "0.25", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "nvlink_gbps", "100", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "recompute", "true", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"workload", "expert_skew", "1.5",
     "kind = \"training\"\nmodel = \"mixtral-8x7b\"\nep = 2\ndp = 8"},
    {"workload", "rails", "2", "kind = \"training\"\nmodel = \"llama2-7b\"\ndp = 8"},
    {"failure", "rack", "3", "uplink = 2"},
    {"failure", "agg", "3", "uplink = 2"},
    {"failure", "uplink", "2", "rack = 2"},
    {"failure", "host", "100", ""},
    {"failure", "switch", "\"tor 3\"", ""},
    {"failure", "random_links", "32", ""},
    {"failure", "racks", "8", "random_links = 16"},
    {"failure", "from_us", "10", "host = 1"},
    {"failure", "until_us", "20", "host = 1"},
    {"failure", "period_us", "5", "host = 1\nuntil_us = 20"},
    {"failure", "duty", "0.25", "host = 1\nuntil_us = 20\nperiod_us = 5"},
    {"impairment", "rack", "3", "loss = 0.5\nuplink = 2"},
    {"impairment", "agg", "3", "loss = 0.5\nuplink = 2"},
    {"impairment", "uplink", "2", "loss = 0.5\nrack = 2"},
    {"impairment", "host", "100", "loss = 0.5"},
    {"impairment", "from_us", "10", "loss = 0.5\nhost = 1"},
    {"impairment", "until_us", "20", "loss = 0.5\nhost = 1"},
    {"impairment", "switch", "\"spine 3\"", "loss = 0.5"},
    {"impairment", "random_links", "32", "loss = 0.5"},
    {"impairment", "racks", "8", "loss = 0.5\nrandom_links = 16"},
    {"impairment", "rate", "0.25", "host = 1"},
    {"impairment", "way", "\"down\"", "host = 1\nloss = 0.5"},
    {"impairment", "scale_queue", "true", "host = 1\nrate = 0.25"},
    {"impairment", "loss", "0.000001", "host = 1"},
    {"impairment", "bit_error_rate", "1e-15", "host = 1"},
    {"record", "interval_us", "10", "queues = true"},
    {"record", "queues", "true", "interval_us = 5"},
    {"record", "queue_threshold", "\"0.25 BDP\"", "queues = true\ninterval_us = 5"},
    {"record", "links", "true", "interval_us = 5"},
    {"record", "tier", "\"last-hop\"", "links = true\ninterval_us = 5"},
    {"record", "flows", "8", "interval_us = 5"},
    {"record", "messages", "\"on\"", ""},
    {"record", "inspect", "4", ""},
    {"run", "seed", "12345", ""},
    {"run", "seeds", "[5, 6, 7]", ""},
    {"run", "threads", "4", ""},
    {"run", "end_ms", "100", ""},
    {"run", "only", "\"permutation\"", ""},
};

std::string text_of(const Sample& sample) {
  const Section* section = find_section(sample.section);
  std::string text;
  if (sample.key == "agg") text += "[topology]\ntiers = 3\n";
  if (!sample.section.empty()) {
    text += section->array ? "[[" + std::string(section->name) + "]]\n"
                           : "[" + std::string(section->name) + "]\n";
  }
  return text + std::string(sample.around) + "\n" + std::string(sample.key) + " = " +
         std::string(sample.value) + "\n";
}

TEST(EveryKey, HasASample) {
  std::set<std::pair<std::string_view, std::string_view>> sampled;
  for (const Sample& sample : with_transports(kSamples))
    sampled.insert({sample.section, sample.key});
  for (const Key& key : keys()) {
    // They need files: see Workload, trace_test.cpp and networks_test.cpp.
    if (key.name == "file" || key.name == "link" || key.name == "cdf_file" ||
        key.applies == "kind=trace")
      continue;
    EXPECT_TRUE(sampled.contains({key.section, key.name})) << key.section << "." << key.name;
  }
}

TEST(EveryKey, MakesADifferenceAndRoundTrips) {
  for (const Sample& sample : with_transports(kSamples)) {
    const std::string text = text_of(sample);
    const Scenario s = loaded(text);
    const std::string resolved = to_toml(s);
    std::string line = "\n";
    line.append(sample.key).append(" = ");
    EXPECT_NE(("\n" + resolved).find(line), std::string::npos) << text << resolved;
    EXPECT_NE(resolved, to_toml(loaded(""))) << text;
    const Scenario again = loaded(resolved);
    EXPECT_EQ(to_toml(again), resolved) << text;
    expect_same_transport(again.config, s.config);
    EXPECT_EQ(again.config.pfc.enabled, s.config.pfc.enabled);
    EXPECT_EQ(again.base_rtt, s.base_rtt);
    EXPECT_EQ(again.seeds, s.seeds);
    EXPECT_EQ(again.name, s.name);
  }
}

// A file that serves one scheme serves the others: every key may stand beside rocev2. All but two:
// lossless switches have no queue in which control packets could wait behind data, and one class of data.
TEST(EveryKey, LoadsUnderRoceToo) {
  for (const Sample& sample : with_transports(kSamples)) {
    if (sample.key == "scheme" || sample.key.ends_with("priority")) continue;
    const std::string text = text_of(sample);
    const Scenario s = loaded(text, {"transport.scheme=rocev2"});
    EXPECT_EQ(s.scheme, "rocev2") << text;
    const Scenario again = loaded(to_toml(s));
    EXPECT_EQ(to_toml(again), to_toml(s)) << text;
    expect_same(params_of<RoceProtocol>(again.config), params_of<RoceProtocol>(s.config));
    EXPECT_EQ(again.config.switches.kmin, s.config.switches.kmin);
    EXPECT_EQ(again.config.switches.kmax, s.config.switches.kmax);
  }
}

TEST(EveryKey, CanBeOverridden) {
  for (const Sample& sample : with_transports(kSamples)) {
    const Section* section = find_section(sample.section);
    std::string path(sample.section);
    if (section->array) path += ".0";
    if (!path.empty()) path += ".";
    // The same text, but with the key's own line as an override.
    std::string text = text_of(sample);
    const std::string resolved = to_toml(loaded(text));
    text.erase(text.rfind('\n', text.size() - 2) + 1);
    const Scenario s =
        loaded(text, {path + std::string(sample.key) + "=" + std::string(sample.value)});
    EXPECT_EQ(to_toml(s), resolved) << sample.section << "." << sample.key;
  }
}

// A type that no key accepts is refused by every key, with its line and what would work.
TEST(EveryKey, RefusesWhatItIsNot) {
  for (const Sample& sample : with_transports(kSamples)) {
    Sample wrong = sample;
    wrong.value = "1979-05-27";
    const std::string text = text_of(wrong);
    const Key* key = find_key(sample.section, sample.key);
    const auto line = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(error_of(text), "x.toml:" + std::to_string(line) + ": " + std::string(sample.key) +
                                  " is a date or time of day. " + key->remedy());
  }
}

TEST(ToToml, IsTheWholeScenario) {
  const Scenario s = loaded("[topology]\nhosts = 128\nhosts_per_rack = 16\n[run]\nseed = 9");
  for (const Key& key : keys()) {
    const Section* section = find_section(key.section);
    if (section->array || !key.applies.empty() || key.name == "end_ms" || key.name == "seeds" ||
        key.name == "file" || key.name == "only" || key.name.starts_with("server_") ||
        key.section == "paths" || key.section == "window") {  // shown with transports that read it
      continue;
    }
    EXPECT_NE(to_toml(s).find(std::string(key.name) + " = "), std::string::npos) << key.name;
  }
}

TEST(ToToml, OfACompositeScenarioReloads) {
  const Scenario s = loaded(R"(
[topology]
tiers = 3
hosts = 256
hosts_per_rack = 8
racks_per_pod = 4
link_gbps = 12.5
base_rtt_us = 40
[[failure]]
random_links = 8
racks = 4
[[failure]]
switch = "core 3"
from_us = 10
[[impairment]]
host = 3
loss = 0.125
[run]
seeds = [3, 4]
)");
  const Scenario again = loaded(to_toml(s));
  EXPECT_EQ(to_toml(again), to_toml(s));
  EXPECT_EQ(again.config.failures.failures.size(), 1u);
  EXPECT_EQ(again.random_links.size(), 1u);
  EXPECT_EQ(again.config.topology.host_latency, s.config.topology.host_latency);
  const SimConfig one = make_config(s, 3);
  const SimConfig two = make_config(again, 3);
  ASSERT_EQ(one.failures.failures.size(), two.failures.failures.size());
  for (std::size_t i = 1; i < one.failures.failures.size(); ++i) {
    EXPECT_EQ(one.failures.failures[i].link->lower, two.failures.failures[i].link->lower);
    EXPECT_EQ(one.failures.failures[i].link->upper, two.failures.failures[i].link->upper);
  }
}

// --- Overrides

TEST(Override, ComesAfterTheFile) {
  EXPECT_EQ(loaded("[topology]\nlink_gbps = 200", {"topology.link_gbps=800"}).bdp, kb(800));
  EXPECT_EQ(loaded("", {"workload.size=64 KB"}).workloads.front().size, kb(64));
  EXPECT_EQ(loaded("", {"workload.size=64KB", "workload.size=\"128 KB\""}).workloads.front().size,
            kb(128));
  EXPECT_EQ(loaded("", {"name=7"}).name, "7");
  EXPECT_EQ(loaded("", {" transport.scheme = strack-oblivious "}).scheme, "strack-oblivious");
  EXPECT_EQ(loaded("", {"run.seeds=[4, 5]"}).seeds, (std::vector<std::uint64_t>{4, 5}));
}

// The command line's --seed must work on a file that lists seeds.
TEST(Override, SeedReplacesSeeds) {
  EXPECT_EQ(loaded("[run]\nseeds = [1, 2]", {"run.seed=7"}).seeds, std::vector<std::uint64_t>{7});
  EXPECT_EQ(loaded("[run]\nseed = 1", {"run.seeds=[7, 8]"}).seeds,
            (std::vector<std::uint64_t>{7, 8}));
  EXPECT_EQ(loaded("", {"run.seed=0x5eed42"}).seeds, std::vector<std::uint64_t>{0x5eed42});
}

TEST(Override, EntriesOfArraysAreNumbered) {
  const std::string text = "[[failure]]\nrandom_links = 64\n";
  EXPECT_EQ(loaded(text, {"failure.0.random_links=256"}).random_links[0].links, 256u);
  EXPECT_EQ(loaded(text, {"failure.1.host=5"}).config.failures.failures.size(), 1u);
}

TEST(Override, ErrorsNameIt) {
  EXPECT_EQ(override_error("topology.link_gbps=0"),
            "--set topology.link_gbps: link_gbps is 0. a link needs a positive rate, such as "
            "link_gbps = 400");
  EXPECT_EQ(override_error("topology.link_gbps"),
            "--set: \"topology.link_gbps\" has no =. write section.key=value, such as --set "
            "topology.link_gbps=800");
  EXPECT_EQ(override_error("topolgy.link_gbps=1"),
            "--set: unknown section topolgy. did you mean topology?");
  EXPECT_EQ(override_error("banana.link_gbps=1"),
            "--set: unknown section banana. the sections are " + section_names());
  EXPECT_EQ(override_error("scheme=strack"),
            "--set: unknown key scheme above the first section. it is a key of [transport]");
  EXPECT_EQ(override_error("topology.link_gps=1"),
            "--set: unknown key link_gps in [topology]. did you mean link_gbps?");
  EXPECT_EQ(override_error("failure.host=1"),
            "--set: failure.host names no entry. number it from 0, such as --set "
            "failure.0.from_us=100");
  EXPECT_EQ(override_error("failure.1.host=1"),
            "--set failure.1: it does not follow the last one. the next is failure.0");
  EXPECT_EQ(override_error("name=\xff"), "--set: it is not text. write it in UTF-8");
  EXPECT_EQ(override_error("workload.size="),
            "--set workload.size: size is \"\". a flow or a collective's buffer has 1 byte to 1 "
            "TiB, such as size = \"16 MB\"");
}

// --- Errors: the place, what was found, what would work

TEST(Error, NotToml) {
  EXPECT_EQ(
      error_of("[topology]\nhosts = \n"),
      "x.toml:2: error while parsing key-value pair: expected value, saw '\\n'. a line is key "
      "= value, [section] or a # comment");
  EXPECT_TRUE(error_of("[topology]\nhosts = 1\nhosts = 2\n").starts_with("x.toml:3: "));
  // A character the TOML library stumbles over unless told otherwise.
  EXPECT_TRUE(error_of("\n[`x]\n").starts_with("x.toml:2: ")) << error_of("\n[`x]\n");
  EXPECT_TRUE(error_of("\n\u02d2 = 1\n").starts_with("x.toml:2: "));
}

TEST(Error, UnknownSections) {
  EXPECT_EQ(error_of("\n[topolgy]\nhosts = 1"),
            "x.toml:2: unknown section [topolgy]. did you mean [topology]?");
  EXPECT_EQ(error_of("[banana]"),
            "x.toml:1: unknown section [banana]. the sections are " + section_names());
  EXPECT_EQ(error_of("topology = 5"),
            "x.toml:1: topology is 5. it is a section: write [topology] above its keys");
  EXPECT_EQ(error_of("[failure]\nhost = 3"),
            "x.toml:1: failure is a table. there can be several: write [[failure]] above its keys");
  EXPECT_EQ(error_of("[[topology]]\nhosts = 3"),
            "x.toml:1: topology is a list. it is a section: write [topology] above its keys");
}

TEST(Error, UnknownKeys) {
  EXPECT_EQ(error_of("[topology]\n\nlink_gps = 400"),
            "x.toml:3: unknown key link_gps in [topology]. did you mean link_gbps?");
  EXPECT_EQ(error_of("[topology]\nfan_in = 4"),
            "x.toml:2: unknown key fan_in in [topology]. it is a key of [workload]");
  EXPECT_EQ(error_of("[topology]\nfan_inn = 4"),
            "x.toml:2: unknown key fan_inn in [topology]. did you mean fan_in in [workload]?");
  EXPECT_EQ(error_of("[record]\nbanana = 4"),
            "x.toml:2: unknown key banana in [record]. its keys are interval_us, queues, "
            "queue_threshold, links, tier, flows, messages, inspect");
  EXPECT_EQ(error_of("hosts = 4"),
            "x.toml:1: unknown key hosts above the first section. it is a key of [topology]");
  EXPECT_TRUE(
      error_of("[host]\nkmin = 4")
          .starts_with("x.toml:2: unknown key kmin in [host]. it is a key of [switch] and of ["));
  EXPECT_EQ(error_of("[rocev2]\nrto = 4"),
            "x.toml:2: unknown key rto in [rocev2]. did you mean rto_us?");
  EXPECT_EQ(error_of("[rocev2]\ndcqn = \"off\""),
            "x.toml:2: unknown key dcqn in [rocev2]. did you mean dcqcn?");
  EXPECT_EQ(error_of("[rocev2]\nrate_hia = 40"),
            "x.toml:2: unknown key rate_hia in [rocev2]. did you mean rate_hai?");
  EXPECT_EQ(error_of("[pfc]\nenable = true"),
            "x.toml:2: unknown key enable in [pfc]. did you mean enabled?");
  EXPECT_EQ(error_of("[roce]\nkmin = 4"),
            "x.toml:1: unknown section [roce]. did you mean [rocev2]?");
  EXPECT_EQ(error_of("[[failure]]\nhots = 4"),
            "x.toml:2: unknown key hots in [[failure]]. did you mean host?");
  EXPECT_EQ(
      error_of("[topology.more]\nx = 1"),
      "x.toml:1: unknown key more in [topology]. its keys are file, tiers, hosts, hosts_per_rack, "
      "oversubscription, spines, links_per_spine, racks_per_pod, aggs_per_pod, "
      "core_oversubscription, cores_per_agg, link_gbps, host_gbps, fabric_gbps, core_gbps, "
      "base_rtt_us, host_latency_ns, fabric_latency_ns, core_latency_ns, nics_per_server, "
      "server_gbps, server_latency_ns");
}

// The first line that is wrong is the one reported.
TEST(Error, InTheOrderOfLines) {
  EXPECT_TRUE(error_of("[workload]\nx = 1\n[topology]\ny = 1").starts_with("x.toml:2: "));
  EXPECT_TRUE(error_of("[topology]\nhosts = 0\n[run]\nx = 1").starts_with("x.toml:2: "));
}

TEST(Error, ImpossibleValues) {
  EXPECT_EQ(error_of("[topology]\nlink_gbps = 0"),
            "x.toml:2: link_gbps is 0. a link needs a positive rate, such as link_gbps = 400");
  EXPECT_EQ(error_of("[topology]\nlink_gbps = -400"),
            "x.toml:2: link_gbps is -400. a link needs a positive rate, such as link_gbps = 400");
  EXPECT_EQ(
      error_of("[topology]\nlink_gbps = \"400 GB/s\""),
      "x.toml:2: link_gbps is \"400 GB/s\". a link needs a positive rate, such as link_gbps = "
      "400");
  EXPECT_EQ(error_of("[topology]\nlink_gbps = 0.0015"),
            "x.toml:2: link_gbps is 0.0015. a rate is a whole number of Mb/s, such as 400 for 400 "
            "Gb/s");
  EXPECT_EQ(error_of("[topology]\nhosts = 1.5"),
            "x.toml:2: hosts is 1.5. a network has 2 to 1048576 hosts, such as hosts = 8192");
  EXPECT_EQ(error_of("[topology]\nhosts = \"many\""),
            "x.toml:2: hosts is \"many\". a network has 2 to 1048576 hosts, such as hosts = 8192");
  EXPECT_EQ(error_of("[topology]\nhosts = [1]"),
            "x.toml:2: hosts is a list. a network has 2 to 1048576 hosts, such as hosts = 8192");
  EXPECT_EQ(
      error_of("[topology]\nbase_rtt_us = nan"),
      "x.toml:2: base_rtt_us is nan. a base RTT is from 10 ns to 1 s, such as base_rtt_us = 8");
  EXPECT_EQ(error_of("[topology]\nbase_rtt_us = \"1 RTT\""),
            "x.toml:2: base_rtt_us is \"1 RTT\". the RTT follows from it. say it in us or ns");
  EXPECT_EQ(error_of("[transport]\nmtu = \"0.1 BDP\""),
            "x.toml:2: mtu is \"0.1 BDP\". the BDP follows from it. say it in bytes");
  EXPECT_EQ(error_of("[switch]\npmax = 1.5"),
            "x.toml:2: pmax is 1.5. a probability is from 0 to 1, such as pmax = 1");
  EXPECT_EQ(error_of("[switch]\ncontrol_priority = 1"),
            "x.toml:2: control_priority is 1. it is true or false");
  EXPECT_EQ(error_of("[workload]\nsize = 0"),
            "x.toml:2: size is 0. a flow or a collective's buffer has 1 byte to 1 TiB, such as "
            "size = \"16 MB\"");
  EXPECT_EQ(error_of("[workload]\nsize = \"5 TB\""),
            "x.toml:2: size is \"5 TB\". a flow or a collective's buffer has 1 byte to 1 TiB, such "
            "as size = \"16 MB\"");
  EXPECT_EQ(error_of("[workload]\nsize = \"1.5 B\""),
            "x.toml:2: size is \"1.5 B\". a flow or a collective's buffer has 1 byte to 1 TiB, "
            "such as size = \"16 MB\"");
  EXPECT_EQ(error_of("[workload]\nsize = \"100000000 BDP\""),
            "x.toml:2: size is \"100000000 BDP\". a flow or a collective's buffer has 1 byte to 1 "
            "TiB, such as size = \"16 MB\"");
  EXPECT_EQ(
      error_of("[workload]\nkind = \"allreduce\""),
      "x.toml:2: kind is \"allreduce\". a workload is \"permutation\", \"incast\", \"random\", "
      "\"file\", \"collective\", \"trace\" or \"training\"");
  EXPECT_EQ(
      error_of("[transport]\nscheme = \"roce\""),
      "x.toml:2: scheme is \"roce\". a scheme is " + quoted_words(transports::scheme_names()));
  EXPECT_EQ(error_of("[run]\nseeds = []"),
            "x.toml:2: seeds is a list. seeds are numbers from 0 to 2^63 - 1, such as seeds = [1, "
            "2, 3]");
  EXPECT_EQ(error_of("[run]\nseed = -1"),
            "x.toml:2: seed is -1. a seed is a number from 0 to 2^63 - 1, such as seed = 1");
  EXPECT_EQ(error_of("[transport]\ngamma = 0.1234567"),
            "x.toml:2: gamma is 0.1234567. it is a fraction from 0 to 1 with up to six decimals, "
            "such as gamma = 0.8");
}

TEST(Error, TopologyContradictions) {
  EXPECT_EQ(error_of("[topology]\nhosts = 100"),
            "x.toml:2: hosts is 100 and hosts_per_rack 64. racks are full: hosts = 128 would work");
  EXPECT_EQ(
      error_of("[topology]\nhosts = 64"),
      "x.toml:2: hosts is 64 and hosts_per_rack 64, which is one rack. a network has at least "
      "two: hosts = 128 would work");
  EXPECT_EQ(
      error_of("[topology]\noversubscription = \"3:1\""),
      "x.toml:2: oversubscription is \"3:1\". 64 links of 400 Gb/s below need whole uplinks of "
      "400 Gb/s: oversubscription = \"64:21\" gives 21");
  EXPECT_EQ(error_of("[topology]\nfabric_gbps = 600"),
            "x.toml:2: oversubscription is not given, which means 1:1. 64 links of 400 Gb/s below "
            "need whole uplinks of 600 Gb/s: oversubscription = \"64:63\" gives 42");
  EXPECT_EQ(error_of("[topology]\nlinks_per_spine = 3"),
            "x.toml:2: oversubscription is not given, which means 1:1. 64 links of 400 Gb/s below "
            "need whole uplinks of 400 Gb/s, 3 to each: oversubscription = \"64:63\" gives 63");
  EXPECT_EQ(error_of("[topology]\noversubscription = 4\nspines = 64"),
            "x.toml:3: oversubscription is 4, but 64 spines make it 1:1. leave one of the two out");
  EXPECT_EQ(error_of("[topology]\nspines = 64", {"topology.oversubscription=4"}),
            "--set topology.oversubscription: oversubscription is 4, but 64 spines make it 1:1. "
            "leave one of the two out");
  EXPECT_EQ(error_of("[topology]\nracks_per_pod = 8"),
            "x.toml:2: racks_per_pod is set, but tiers is 2. leave it out: it is for tiers = 3");
  EXPECT_EQ(error_of("[topology]\ntiers = 3\nracks_per_pod = 3"),
            "x.toml:3: racks_per_pod is 3 and there are 128 racks. two or more whole pods are "
            "needed: racks_per_pod = 64 would work");
  EXPECT_EQ(
      error_of("[topology]\nhosts = 1048576\nhosts_per_rack = 1\noversubscription = 1"),
      "x.toml:3: the network needs spines with 1048576 ports. a switch has at most 65535: take "
      "larger racks, or three tiers");
  EXPECT_EQ(error_of("[topology]\nbase_rtt_us = 8\nhost_latency_ns = 1000"),
            "x.toml:3: both base_rtt_us and host_latency_ns are set. one follows from the other: "
            "leave one out");
  EXPECT_EQ(
      error_of("[topology]\nhost_latency_ns = 1000"),
      "x.toml:2: host_latency_ns is set, but fabric_latency_ns is not. give all latencies, or "
      "base_rtt_us instead");
  EXPECT_EQ(error_of("[topology]\nbase_rtt_us = 0.2"),
            "x.toml:2: base_rtt_us is 0.2. on this path packets alone take 337.92 ns on the wire: "
            "base_rtt_us = 1 or more would work");
  EXPECT_EQ(error_of("[topology]\nlink_gbps = 10"),
            "x.toml:2: base_rtt_us is not given, which means 8. on this path packets alone take "
            "13516.8 ns on the wire: base_rtt_us = 14 or more would work");
}

TEST(Error, SwitchAndHostContradictions) {
  EXPECT_EQ(error_of("[switch]\nkmin = \"1 BDP\""),
            "x.toml:2: kmin is 400 KB and kmax 300 KB. marks begin at kmin, so kmax must not be "
            "below it");
  EXPECT_EQ(error_of("[switch]\nqueue_limit = 1000"),
            "x.toml:2: queue_limit is 1 KB. a queue must hold a packet of 4160 bytes, or all are "
            "dropped");
  EXPECT_EQ(error_of("[host]\nstraggler_share = 0.1"),
            "x.toml:2: straggler_share is 0.1, but straggler_rate is 1, so nobody is slow. set "
            "straggler_rate, such as straggler_rate = 0.5");
  EXPECT_EQ(error_of("[host]\nstraggler_rate = 0.1"),
            "x.toml:2: straggler_rate is 0.1, but straggler_share is 0, so nobody is slow. set "
            "straggler_share, such as straggler_share = 0.01");
}

TEST(Error, TransportContradictions) {
  EXPECT_EQ(error_of("[transport]\nscheme = \"strack-single-path\"\nmax_paths = 8"),
            "x.toml:3: max_paths is 8, but the scheme is \"strack-single-path\". leave one of the "
            "two out");
  EXPECT_EQ(error_of("[transport]\npath_policy = \"oblivious\""),
            "x.toml:2: path_policy is \"oblivious\", but the scheme is \"strack\". say scheme = "
            "\"strack-oblivious\"");
  EXPECT_EQ(error_of("[transport]\nscheme = \"strack-oblivious\"\npath_policy = \"adaptive\""),
            "x.toml:3: path_policy is \"adaptive\", but the scheme is \"strack-oblivious\". leave "
            "one of the two out");
  // What only the core knows to be wrong is reported at the key it is about.
  EXPECT_EQ(
      error_of("[transport]\nmin_cwnd = 100"),
      "x.toml:2: min_cwnd would be 100. it must be at least one mtu, or nothing could ever be "
      "sent");
  EXPECT_EQ(error_of("[transport]\n\ntarget_qhigh_us = 4"),
            "x.toml:3: target_qhigh would be 4000000. it must be a delay not below target_qdelay");
}

TEST(Error, RoceImpossibleValues) {
  // Out of range and of the wrong kind, whatever the scheme.
  EXPECT_EQ(error_of("[rocev2]\nqps_per_conn = 32"),
            "x.toml:2: qps_per_conn is 32. a connection has 1, 2, 4, 8 or 16 queue pairs, such as "
            "qps_per_conn = 4");
  EXPECT_EQ(error_of("[rocev2]\nmin_rate = \"500 Kb/s\""),
            "x.toml:2: min_rate is \"500 Kb/s\". it is a rate from 1 Mb/s to the link's, such as "
            "min_rate = \"1 Gb/s\"");
  EXPECT_EQ(error_of("[rocev2]\nmin_rate = \"0.5 Mb/s\""),
            "x.toml:2: min_rate is \"0.5 Mb/s\". it is a rate from 1 Mb/s to the link's, such as "
            "min_rate = \"1 Gb/s\"");
  EXPECT_EQ(
      error_of("[rocev2]\ndcqcn = \"default\""),
      "x.toml:2: dcqcn is \"default\". a set is \"paper2015\", \"nic-default\", \"hpcc-ns3\", "
      "\"off\" or \"uet-htsim\"");
  EXPECT_EQ(error_of("[rocev2]\ng = 1.5"),
            "x.toml:2: g is 1.5. it is a fraction from 0 to 1 with up to six decimals, such as g = "
            "\"1/256\"");
  EXPECT_EQ(error_of("[rocev2]\nmax_outstanding = 0"),
            "x.toml:2: max_outstanding is 0. it is from 1 to 8388608 packets, such as "
            "max_outstanding = 8388608");
  EXPECT_EQ(error_of("[rocev2]\nbyte_counter = true"),
            "x.toml:2: byte_counter is true. it is a size up to 1 TiB, such as byte_counter = \"10 "
            "MB\", or 0 for none");
}

TEST(Error, RoceContradictions) {
  const std::string roce(kRoce);
  EXPECT_EQ(error_of(roce + "[rocev2]\nqps_per_conn = 3"),
            "x.toml:3: qps_per_conn is 3. it must be 1, 2, 4, 8 or 16");
  EXPECT_EQ(error_of(roce + "[rocev2]\nstripe_packets = 33"),
            "x.toml:3: stripe_packets is 33. it must be a power of two up to 65536");
  EXPECT_EQ(error_of(roce + "[rocev2]\nkmin = \"2 BDP\""),
            "x.toml:3: kmin is 800 KB and kmax 400 KB. marks begin at kmin, so kmax must not be "
            "below it");
  EXPECT_EQ(error_of(roce + "[rocev2]\nrate_ai = 500"),
            "x.toml:3: rate_ai is 500. it must be from 0 to the link's rate");
  EXPECT_EQ(error_of(roce + "[rocev2]\ng = 0.1234567"),
            "x.toml:3: g is 0.1234567. it is a fraction from 0 to 1 with up to six decimals, such "
            "as g = \"1/256\"");
  EXPECT_EQ(
      error_of(roce + "[rocev2]\ndcqcn = \"off\"\nvariant = \"nic\""),
      "x.toml:4: variant is \"nic\", but dcqcn is \"off\", which has no constants for it. name "
      "a set, such as dcqcn = \"paper2015\"");
}

TEST(Error, PfcContradictions) {
  EXPECT_EQ(error_of("[pfc]\nalpha = 0"),
            "x.toml:2: alpha is 0. it is from 1/1024 to 64, such as alpha = \"1/8\"");
  EXPECT_EQ(
      error_of("[pfc]\nheadroom = 0"),
      "x.toml:2: headroom is 0. a headroom is a positive size, such as headroom = \"100 KB\"; "
      "left out, it is what the link needs");
  EXPECT_EQ(error_of("[pfc]\nquanta = 65536"),
            "x.toml:2: quanta is 65536. a pause lasts 1 to 65535 quanta, such as quanta = 65535");
  EXPECT_EQ(
      error_of("[pfc]\nenabled = true\nquanta = 2"),
      "x.toml:3: quanta is 2. a pause of 1024 bit times ends before a frame behind a packet of "
      "4160 bytes can renew it: quanta = 133 or more would work");
  const std::string small = "[pfc]\nenabled = true\nbuffer_per_tbps = \"200 KB\"\n";
  EXPECT_EQ(error_of(small),
            "x.toml:3: a ToR with 128 ports has a buffer of 10.24 MB for PFC, and the headroom and "
            "reserves of its ports take 14.39 MB. buffer_per_tbps = \"282 KB\" would work");
  loaded("[pfc]\nenabled = true\nbuffer_per_tbps = \"282 KB\"");
  EXPECT_EQ(error_of("[pfc]\nenabled = true\nheadroom = \"3 MB\""),
            "x.toml:3: a ToR with 128 ports has a buffer of 256 MB for PFC, and the headroom and "
            "reserves of its ports take 384.525 MB. buffer_per_tbps = \"7.511 MB\" would work");
  // A long way needs much headroom: the default buffer is not for that.
  EXPECT_EQ(error_of("[topology]\nbase_rtt_us = \"1 ms\"", {"transport.scheme=rocev2"}),
            "--set transport.scheme: a ToR with 128 ports has a buffer of 256 MB for PFC, and the "
            "headroom and "
            "reserves of its ports take 1601.59 MB. buffer_per_tbps = \"31.282 MB\" would work");
  EXPECT_EQ(error_of("[topology]\nhosts = 32768\nhosts_per_rack = 1", {"pfc.enabled=true"}),
            "x.toml:3: the network needs a spine with 32768 ports. a switch with PFC has at most "
            "8192: take larger racks, or three tiers");
  // Without PFC nothing of this matters.
  loaded("[pfc]\nquanta = 1\nheadroom = \"1 GB\"");
}

TEST(Error, WorkloadContradictions) {
  const std::string small = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n[workload]\n";
  EXPECT_EQ(error_of(small + "kind = \"incast\"\nfan_in = 113"),
            "x.toml:5: fan_in is 113. senders are in other racks than the receiver, and there are "
            "112 such hosts: fan_in = 112 or more hosts would work");
  EXPECT_EQ(error_of(small + "kind = \"incast\"\nreceiver = 128"),
            "x.toml:5: receiver is 128. there are 128 hosts, so a receiver is from 0 to 127");
  EXPECT_EQ(error_of(small + "fan_in = 8"),
            "x.toml:4: fan_in is set, but kind is \"permutation\". leave it out: it is for kind = "
            "incast");
  const std::string random = small + "kind = \"random\"\n";
  EXPECT_EQ(error_of(random + "flows = 1\nduration_us = 1"),
            "x.toml:6: both flows and duration_us are set. one follows from the other: leave one "
            "out");
  EXPECT_EQ(error_of(random + "size = 1\nsize_min = 1\nsize_max = 2"),
            "x.toml:6: both size and size_min are set. sizes follow from one: leave the other out");
  EXPECT_EQ(
      error_of(random + "size_min = 1"),
      "x.toml:5: only one of size_min and size_max is set. sizes are uniform between the two: "
      "give both");
  EXPECT_EQ(error_of(random + "size_min = 3\nsize_max = 2"),
            "x.toml:6: size_min is 3 B and size_max 2 B. size_max must not be below size_min");
  EXPECT_EQ(error_of(random + "cdf = [[1, 0.5]]"),
            "x.toml:5: point 1 of cdf: the last probability is 0.5. the last one must be 1");
  EXPECT_EQ(
      error_of(random + "cdf = [1, 0.5]"),
      "x.toml:5: cdf is a list. a distribution is a list of points, such as cdf = [[\"4 KB\", "
      "0.5], [\"1 MB\", 1.0]]");
  EXPECT_EQ(error_of(random + "load = 0.1234567"),
            "x.toml:5: load is 0.1234567. a load is above 0 and up to 1 with up to six decimals, "
            "such as load = 0.5");
  EXPECT_EQ(error_of(random + "duration_us = \"1000 s\""),
            "x.toml:5: within duration_us some 200000000 flows would arrive. at most 50000000 are "
            "simulated: take a shorter duration_us");
  EXPECT_EQ(error_of(random + "size = \"4 GB\"\nload = 0.000001\nflows = 2000000"),
            "x.toml:7: flows is 2000000. at this load they take more than an hour to arrive. 5 "
            "flows or a higher load would work");
  EXPECT_EQ(error_of(small + "kind = \"file\""),
            "x.toml:4: kind is \"file\", but no file is named. say which, such as file = "
            "\"flows.txt\"");
  EXPECT_EQ(error_of(small + "kind = \"file\"\nfile = \"no-such.txt\""),
            "x.toml:5: file is \"no-such.txt\": there is no such file");
}

TEST(Error, CollectiveContradictions) {
  EXPECT_EQ(
      error_of(kCollective + "collective = \"allreduce-hd\"\nranks = 96"),
      "x.toml:7: ranks is 96. halving-doubling works for powers of two: ranks = 64 would work");
  EXPECT_EQ(
      error_of(kCollective + "collective = \"allreduce-hd\"\njobs = 3"),
      "x.toml:7: ranks is not given, which means 42. halving-doubling works for powers of two: "
      "ranks = 32 would work");
  EXPECT_EQ(error_of(kCollective + "ranks = 64\njobs = 3"),
            "x.toml:7: jobs is 3 and ranks 64, which takes 192 hosts, one for each rank. there are "
            "128: ranks = 42 would work");
  EXPECT_EQ(error_of(kCollective + "jobs = 65"),
            "x.toml:6: jobs is 65 and hosts 128. a job has at least 2 ranks, each on a host of its "
            "own: jobs = 64 would work");
  EXPECT_EQ(error_of(kCollective + "chunk = 1\n", {"workload.size=10 MB"}),
            "--set workload.size: a job would send some 2540000000 messages. that is too many: "
            "take a larger "
            "chunk, a smaller size or fewer ranks");
  EXPECT_EQ(error_of(kCollective + "start_us = 1000\n[run]\nend_ms = 1"),
            "x.toml:6: jobs start at 1 ms, but the run ends at 1 ms. set a later end_ms, or leave "
            "it out");
}

// The connections of jobs are sampled and inspected as flows are.
TEST(Collective, IsRecorded) {
  const Scenario s = loaded(kCollective + "[record]\nflows = 8\ninterval_us = 5\ninspect = 2");
  EXPECT_EQ(s.config.record.flows, 8u);
  EXPECT_EQ(s.config.record.inspect, 2u);
}

// Whatever the maker of graphs refuses has been refused on loading.
TEST(Error, CollectivesThatCannotBeMadeDoNotLoad) {
  const auto refused = [](workload::CollectiveParams p) {
    EXPECT_FALSE(workload::make_collective(p));
    const std::string text = kCollective + "collective = \"" + std::string(name_of(p.collective)) +
                             "\"\nchunk = " + std::to_string(p.chunk.count()) +
                             "\nranks = " + std::to_string(p.ranks);
    EXPECT_NE(error_of(text, {"workload.size=" + std::to_string(p.size.count())}), "loaded");
  };
  using workload::Collective;
  refused({Collective::allreduce_halving_doubling, 100, kb(1), kb(1), 0});
  // 128 x (size / chunk + 256) is one more than is accepted.
  const Bytes size = bytes(200'000'000 / 128 - 256 + 1);
  for (const Collective kind : {Collective::allreduce_ring, Collective::alltoall})
    refused({kind, 128, size, bytes(1), 0});
}

TEST(Error, CollectiveKeysAreForCollectives) {
  for (const char* line :
       {"collective = \"alltoall\"", "chunk = 1000", "ranks = 4", "jobs = 2", "parallel = 2"}) {
    const std::string key(line, std::string_view(line).find(' '));
    for (const char* kind : {"permutation", "incast", "random"}) {
      EXPECT_EQ(error_of("[workload]\nkind = \"" + std::string(kind) + "\"\n" + line),
                "x.toml:3: " + key + " is set, but kind is \"" + kind +
                    "\". leave it out: it is for kind = collective" +
                    (key == "chunk" || key == "jobs" ? " or training" : ""));
    }
  }
  EXPECT_EQ(
      error_of(kCollective + "parallel = 2"),
      "x.toml:6: parallel is set, but collective is \"allreduce-ring\". leave it out: it is for "
      "collective = alltoall");
  EXPECT_EQ(error_of(kCollective + "fan_in = 2"),
            "x.toml:6: fan_in is set, but kind is \"collective\". leave it out: it is for kind = "
            "incast");
}

TEST(Error, CollectiveImpossibleValues) {
  const auto error = [](const char* line) { return error_of(kCollective + line); };
  EXPECT_EQ(
      error("collective = \"gossip\""),
      "x.toml:6: collective is \"gossip\". a collective is \"allreduce-ring\", \"allreduce-hd\", "
      "\"allreduce-dbt\", \"alltoall\", \"allgather\", \"reduce-scatter\" or \"broadcast\"");
  EXPECT_EQ(error("chunk = 0"),
            "x.toml:6: chunk is 0. a chunk has 1 to 4294967295 bytes, such as chunk = \"128 KiB\"");
  EXPECT_EQ(
      error("chunk = \"4 GiB\""),
      "x.toml:6: chunk is \"4 GiB\". a chunk has 1 to 4294967295 bytes, such as chunk = \"128 "
      "KiB\"");
  EXPECT_EQ(error("ranks = 1"),
            "x.toml:6: ranks is 1. a job has 2 to 1048576 ranks, such as ranks = 32");
  EXPECT_EQ(error("jobs = 0"), "x.toml:6: jobs is 0. there are 1 to 524288 jobs, such as jobs = 8");
  EXPECT_EQ(
      error("collective = \"alltoall\"\nparallel = -1"),
      "x.toml:7: parallel is -1. it is a number of connections, or 0 for all, such as parallel "
      "= 8");
  EXPECT_EQ(error("placement = \"near\""),
            "x.toml:6: placement is \"near\". a placement is \"random\", \"packed\", \"striped\", "
            "\"blocks:8\" or \"hosts:0-7,16\"");
  EXPECT_EQ(error("placement = \"blocks:0\""),
            "x.toml:6: placement is \"blocks:0\". a block has at least one host");
  EXPECT_EQ(error("placement = \"hosts:3-x\""),
            "x.toml:6: placement is \"hosts:3-x\". \"3-x\" is no host, nor hosts such as 0-7");
  EXPECT_EQ(error_of(kCollective, {"workload.size=2 TB"}),
            "--set workload.size: size is \"2 TB\". a flow or a collective's buffer has 1 byte to "
            "1 TiB, such as size = \"16 MB\"");
}

TEST(Error, RunContradictions) {
  EXPECT_EQ(error_of("[run]\nseed = 1\nseeds = [1, 2]"),
            "x.toml:3: both seed and seeds are set. leave one out");
  EXPECT_EQ(error_of("[run]\nseeds = [3, 1, 3]"),
            "x.toml:2: seeds has 3 twice. that run would only repeat itself");
  EXPECT_EQ(error_of("[workload]\nstart_us = 1000\n[run]\nend_ms = 1"),
            "x.toml:2: flows start at 1 ms, but the run ends at 1 ms. set a later end_ms, or leave "
            "it out");
  EXPECT_EQ(
      error_of("[workload]\nkind = \"random\"\nduration_us = 1001\n[run]\nend_ms = 1"),
      "x.toml:5: flows arrive until 1.001 ms, but the run ends at 1 ms. take a later end_ms or "
      "a shorter duration_us");
  EXPECT_EQ(
      error_of("[[failure]]\nhost = 1\nfrom_us = 5000\n[run]\nend_ms = 1"),
      "x.toml:3: it breaks at 5 ms, but the run ends at 1 ms. set a later end_ms, or leave it "
      "out");
}

TEST(Error, FailureContradictions) {
  EXPECT_EQ(
      error_of("\n[[failure]]\nfrom_us = 1"),
      "x.toml:2: [[failure]] does not say what. name a link, such as rack = 3 and uplink = 7, "
      "or random_links = 64");
  EXPECT_EQ(
      error_of("[[failure]]"),
      "x.toml:1: [[failure]] does not say what. name a link, such as rack = 3 and uplink = 7, "
      "or random_links = 64");
  EXPECT_EQ(error_of("[[failure]]\nhost = 3\nrandom_links = 64"),
            "x.toml:3: both host and random_links are set. an entry is about one thing: write "
            "another [[failure]] for the other");
  EXPECT_EQ(error_of("[[failure]]\nrack = 3"),
            "x.toml:2: rack is 3, but uplink is not set. say which, such as uplink = 0");
  EXPECT_EQ(
      error_of("[[failure]]\nhost = 3\nuplink = 1"),
      "x.toml:3: uplink is 1, but there is neither rack nor agg. say whose, such as rack = 3");
  EXPECT_EQ(error_of("[[failure]]\nhost = 3\nracks = 1"),
            "x.toml:3: racks is 1, but random_links is not set. racks says how many racks "
            "random_links are on");
  EXPECT_EQ(error_of("[[failure]]\nrack = 128\nuplink = 0"),
            "x.toml:2: rack is 128. there are 128 racks, so it is from 0 to 127");
  EXPECT_EQ(error_of("[[failure]]\nrack = 0\nuplink = 64"),
            "x.toml:3: uplink is 64. there are 64 uplinks of a rack, so it is from 0 to 63");
  EXPECT_EQ(error_of("[[failure]]\nagg = 0\nuplink = 1"),
            "x.toml:2: agg is 0. two tiers have no aggregation switches. name a link by rack and "
            "uplink");
  EXPECT_EQ(error_of("[[failure]]\nhost = 8192"),
            "x.toml:2: host is 8192. there are 8192 hosts, so it is from 0 to 8191");
  EXPECT_EQ(error_of("[[failure]]\nswitch = \"spine\""),
            "x.toml:2: switch is \"spine\". a switch is named by tier and number, such as switch = "
            "\"spine 3\"");
  EXPECT_EQ(error_of("[[failure]]\nswitch = \"core 3\""),
            "x.toml:2: switch is \"core 3\". the tiers are tor and spine, such as \"spine 3\"");
  EXPECT_EQ(
      error_of("[[failure]]\nswitch = \"spine 64\""),
      "x.toml:2: switch is \"spine 64\". there are 64 of that tier, so it is from \"spine 0\" "
      "to \"spine 63\"");
  EXPECT_EQ(error_of("[[failure]]\nhost = 1\nfrom_us = 5\nuntil_us = 5"),
            "x.toml:4: until_us is 5 us and from_us 5 us. it can only mend after it broke");
  EXPECT_EQ(error_of("[[failure]]\nrandom_links = 60"),
            "x.toml:2: racks is not given, which means 16, and random_links 60. each rack has the "
            "same number of them: racks = 4 would work");
  EXPECT_EQ(error_of("[[failure]]\nrandom_links = 64\nracks = 1"),
            "x.toml:2: random_links is 64. a rack has 64 uplinks and 1 racks can spare 63 each: "
            "random_links = 63 would work");
  EXPECT_EQ(
      error_of("[topology]\nhosts = 128\nhosts_per_rack = 16\n[[failure]]\nrandom_links = 64"),
      "x.toml:5: racks is not given, which means 16. the network has 8 racks: racks = 8 would "
      "work");
  EXPECT_EQ(error_of("[[impairment]]\nhost = 1"),
            "x.toml:1: [[impairment]] impairs nothing. set rate, loss or bit_error_rate, such as "
            "loss = 0.001");
  EXPECT_EQ(
      error_of("[[impairment]]\nhost = 1\nrate = 0"),
      "x.toml:3: rate is 0. a rate is a part of the link's, from 0.001 to 1, such as rate = 0.5");
}

TEST(Error, RecordContradictions) {
  EXPECT_EQ(
      error_of("[record]\nqueues = true"),
      "x.toml:2: queues is true, but interval_us is 0, so nothing is sampled. set it, such as "
      "interval_us = 10");
  EXPECT_EQ(
      error_of("[record]\ninterval_us = 10"),
      "x.toml:2: interval_us is 10, but nothing is to be sampled. set queues, links or flows, "
      "such as queues = true");
  EXPECT_EQ(error_of("[record]\ninterval_us = 10\nlinks = true\nqueue_threshold = 5"),
            "x.toml:4: queue_threshold is 5, but queues is false. set queues = true");
  EXPECT_EQ(error_of("[record]\ninterval_us = 10\nflows = 1\ntier = \"fabric\""),
            "x.toml:4: tier is \"fabric\", but no link is sampled. set links = true or queues = "
            "true");
  EXPECT_EQ(error_of("[record]\ninterval_us = 10\nlinks = true\ntier = \"spine\""),
            "x.toml:4: tier is \"spine\". a tier is \"all\", \"fabric\", \"host\" or \"last-hop\"");
  EXPECT_EQ(error_of("[record]\ninspect = 100001"),
            "x.toml:2: inspect is 100001. it is a number of flows up to 100000, such as inspect = "
            "4");
  // Events are no samples.
  EXPECT_EQ(
      error_of("[record]\ninspect = 4\ninterval_us = 10"),
      "x.toml:3: interval_us is 10, but nothing is to be sampled. set queues, links or flows, "
      "such as queues = true");
}

TEST(Record, TiersAndInspectedFlows) {
  const auto tier = [](const std::string& name) {
    return loaded("[record]\ninterval_us = 10\nlinks = true\ntier = \"" + name + "\"")
        .config.record.tier;
  };
  EXPECT_EQ(tier("all"), RecordTier::all);
  EXPECT_EQ(tier("fabric"), RecordTier::fabric);
  EXPECT_EQ(tier("host"), RecordTier::host);
  EXPECT_EQ(tier("last-hop"), RecordTier::last_hop);
  const Scenario s = loaded("[record]\ninspect = 4");
  EXPECT_EQ(s.config.record.inspect, 4u);
  EXPECT_EQ(s.config.record.interval, ps(0));
}

TEST(Error, FilesBesideTheScenarioAreNamed) {
  const Folder folder;
  folder.write("flows.txt", "0 1 16MB 0\n0 0 16MB 0\n");
  folder.write("late.txt", "0 1 16MB 2ms\n");
  folder.write("sizes.txt", "10 0.5\n");
  const auto error = [&folder](std::string_view text) {
    const auto s = load(folder.write("a.toml", text));
    return s ? "loaded" : s.error().text();
  };
  const std::string here = folder.path().string() + "/";
  EXPECT_EQ(error("[workload]\nkind = \"file\"\nfile = \"flows.txt\""),
            here + "flows.txt:2: src and dst are both 0. a flow goes to another host");
  EXPECT_EQ(error("[workload]\nkind = \"file\"\nfile = \"late.txt\"\n[run]\nend_ms = 1"),
            here +
                "a.toml:3: \"late.txt\" has a flow that starts at 2 ms, but the run ends at 1 ms. "
                "set a later end_ms, or leave it out");
  EXPECT_EQ(error("[workload]\nkind = \"random\"\ncdf_file = \"sizes.txt\""),
            here + "sizes.txt:1: the last probability is 0.5. the last one must be 1");
  EXPECT_EQ(error("[workload]\nkind = \"file\"\nfile = \".\""),
            here + "a.toml:3: file is \".\": it is a folder. name a file in it");
}

TEST(Load, SaysWhenThereIsNoFile) {
  const auto s = load("no-such-folder/no-such.toml");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().text(), "no-such-folder/no-such.toml: there is no such file");
}

// --- The scenarios that come along

// Both formulas of before, written out once more: two hosts in one rack, and the longest way.
TEST(BaseRtt, IsSerialisationAndLatencyThereAndBack) {
  TopologyParams t;
  t.host_latency = ns(100);
  t.fabric_latency = ns(200);
  t.core_latency = ns(400);
  const HostParams hosts;
  const Picoseconds wire = bytes(4'160) / gbps(400) + bytes(64) / gbps(400);
  EXPECT_EQ(base_rtt(t, hosts, bytes(4'096), Reach::rack), 2 * wire + ns(400));
  EXPECT_EQ(base_rtt(t, hosts, bytes(4'096), Reach::fabric), 4 * wire + ns(1'200));
  EXPECT_EQ(base_rtt(t, hosts, bytes(4'096), Reach::core), 6 * wire + ns(2'800));
  EXPECT_EQ(longest_reach(t), Reach::fabric);
  t.tiers = 3;
  EXPECT_EQ(longest_reach(t), Reach::core);
}

class Shipped : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, Shipped,
                         testing::Values("permutation", "incast32", "random-load", "links-down",
                                         "small", "compare-1024", "allreduce", "dead-spine",
                                         "degraded-spine"));

TEST_P(Shipped, LoadsAndRoundTrips) {
  const auto s =
      load(std::filesystem::path(STRACK_SCENARIOS) / (std::string(GetParam()) + ".toml"));
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s.value().name, GetParam());
  EXPECT_FALSE(s.value().description.empty());
  EXPECT_EQ(to_toml(loaded(to_toml(s.value()))), to_toml(s.value()));
  const workload::Workload made = make_workload(s.value(), 1);
  EXPECT_FALSE(made.flows.empty() && made.jobs.empty());
  // For `strack sim compare`.
  EXPECT_EQ(loaded(to_toml(s.value()), {"transport.scheme=rocev2"}).scheme, "rocev2");
}

TEST(Shipped, PermutationIsTheDefault) {
  const auto s = load(std::filesystem::path(STRACK_SCENARIOS) / "permutation.toml");
  ASSERT_TRUE(s);
  const Scenario plain = loaded("");
  EXPECT_EQ(s.value().config.topology.host_latency, plain.config.topology.host_latency);
  EXPECT_EQ(s.value().config.topology.spines, plain.config.topology.spines);
  EXPECT_EQ(s.value().config.switches.queue_limit, plain.config.switches.queue_limit);
  expect_same(params_of<StrackProtocol>(s.value().config), params_of<StrackProtocol>(plain.config));
  EXPECT_EQ(s.value().workloads.front().size, plain.workloads.front().size);
}

TEST(Shipped, LinksDownIsThePapers) {
  const auto s = load(std::filesystem::path(STRACK_SCENARIOS) / "links-down.toml");
  ASSERT_TRUE(s);
  EXPECT_EQ(make_config(s.value(), 1).failures.failures.size(), 64u);
}

// --- For people

TEST(Documentation, HasEveryKey) {
  const std::string help = help_text();
  const std::string page = documentation();
  for (const Key& key : keys()) {
    EXPECT_NE(help.find("\n  " + std::string(key.name)), std::string::npos) << key.name;
    EXPECT_NE(page.find("\n| `" + std::string(key.name) + "` |"), std::string::npos) << key.name;
  }
}

TEST(Documentation, HelpFitsATerminal) {
  const std::string text = help_text();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    EXPECT_LE(end, 100u) << rest.substr(0, end);
    if (end == rest.npos) break;
    rest.remove_prefix(end + 1);
  }
}

TEST(MemoryEstimate, GrowsWithTheCluster) {
  const Scenario small = loaded("[topology]\nhosts = 128\nhosts_per_rack = 16");
  const Scenario large = loaded("");
  EXPECT_GT(memory_estimate(small), bytes(0));
  EXPECT_GT(memory_estimate(large), 4 * memory_estimate(small));
  EXPECT_GT(memory_estimate(loaded("[topology]\ntiers = 3")), memory_estimate(large));
}

TEST(MemoryEstimate, OfACollectiveGrowsWithItsMessages) {
  const Bytes few = memory_estimate(loaded(kCollective));
  const Bytes many =
      memory_estimate(loaded(kCollective, {"workload.chunk=16", "workload.size=32 KB"}));
  EXPECT_EQ(expected_messages(loaded(kCollective)) * 16,
            expected_messages(loaded(kCollective, {"workload.chunk=16", "workload.size=32 KB"})));
  EXPECT_GT(many, few + mb(40));
}

// RoCEv2 has no window, so its queues may hold what switches hold, or all there is to send.
TEST(MemoryEstimate, OfRoceIsBoundedByBuffersAndBytes) {
  const auto estimate = [](std::string_view text, std::vector<std::string> overrides = {}) {
    const Bytes strack = memory_estimate(loaded(text, overrides));
    overrides.emplace_back("transport.scheme=rocev2");
    const Scenario roce = loaded(text, overrides);
    EXPECT_GE(memory_estimate(roce), strack / 2);
    return memory_estimate(roce);
  };
  const Bytes usual = estimate("");
  EXPECT_GT(usual, mb(500));
  EXPECT_LT(usual, mb(2'000));
  EXPECT_LT(estimate("", {"workload.size=64 KB"}), mb(200));
  EXPECT_LT(estimate("", {"pfc.buffer_per_tbps=500 KB"}), usual / 2);
  EXPECT_LT(estimate("[workload]\nkind = \"incast\"\nsize = \"16 MB\""), mb(200));
  EXPECT_LT(estimate("[topology]\nhosts = 128\nhosts_per_rack = 16\n"
                     "[workload]\nkind = \"random\"\nflows = 1000\nsize = \"4 GB\""),
            mb(300));
}

}  // namespace
}  // namespace strack::sim
