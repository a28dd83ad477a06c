// Where congestion controls settle, in the whole simulator: several flows for long on one link, against what
// their papers derive. 400 Gb/s, packets of 4096 bytes in 4160 on the wire, 83.2 ns each; a base RTT of 8 us, a BDP
// of 96 packets; all senders in other racks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "metrics/records.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"

namespace strack::conformance {
namespace {

constexpr std::int64_t kMtu = 4'096;
constexpr std::int64_t kOnWire = 4'160;

/// The second half of a run, sampled each microsecond.
struct Settled : sim::Observer {
  std::map<Instant, std::int64_t> windows;  ///< bytes, all flows together
  std::vector<std::int64_t> rtts;           ///< ps
  std::vector<metrics::LinkSample> link;    ///< of the receiver's link
  Instant from{};
  std::uint32_t bottleneck = 0;

  void on_flow_sample(const metrics::FlowSample& sample) override {
    if (sample.time < from) return;
    windows[sample.time] += sample.cwnd.count();
    rtts.push_back(sample.rtt.count());
  }
  void on_link_sample(const metrics::LinkSample& sample) override {
    if (sample.time >= from && sample.link == bottleneck) link.push_back(sample);
  }
  [[nodiscard]] double utilisation() const {
    std::int64_t carried = 0;
    for (const auto& sample : link) carried += sample.carried.count();
    return static_cast<double>(carried) / (static_cast<double>(link.size()) * 50'000);
  }
  [[nodiscard]] Bytes deepest_queue() const {
    Bytes deepest{0};
    for (const auto& sample : link) deepest = std::max(deepest, sample.queue_max);
    return deepest;
  }
};
double mean(const std::vector<std::int64_t>& values) {
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

Settled settle(const std::string& scheme, std::uint32_t flows, const std::string& keys) {
  const auto scenario = sim::load_text(
      "[topology]\nhosts = 16\nhosts_per_rack = 2\nbase_rtt_us = 8\n[workload]\nkind = "
      "\"incast\"\nsize = \"1 GB\"\nfan_in = " +
          std::to_string(flows) + "\n[transport]\nscheme = \"" + scheme +
          "\"\n[record]\ninterval_us = 1\nlinks = true\nqueues = true\ntier = \"last-hop\"\nflows "
          "= 8\n"
          "[run]\nend_ms = 2\n" +
          keys,
      "fixed point", {}, {});
  Settled settled;
  EXPECT_TRUE(scenario) << scenario.error().text();
  if (!scenario) return settled;
  sim::Simulation simulation(sim::make_config(scenario.value(), 1),
                             sim::make_workload(scenario.value(), 1));
  settled.from = at(us(1'000));
  const auto workload = sim::make_workload(scenario.value(), 1);
  const std::string receiver = "host " + std::to_string(workload.flows.front().dst);
  for (const metrics::LinkInfo& info : simulation.links()) {
    if (info.to == receiver) settled.bottleneck = info.link;
  }
  simulation.run(settled);
  EXPECT_FALSE(settled.link.empty()) << receiver;
  return settled;
}

// Swift: the delay settles at the target. Below it each of N flows adds a packet per RTT, so that the delay
// rises by N x 83.2 ns; news of it is one RTT old, in which it rises as much again. A cut takes 0.8 of the excess, once
// per RTT. So the delay stays within twice that rise of the target, on both sides.
TEST(FixedPoint, SwiftHoldsTheTargetDelay) {
  constexpr std::uint32_t kFlows = 4;
  const Settled s =
      settle("swift", kFlows, "[swift]\nbase_target_us = 16\nhop_target_us = 0\nfs_range_us = 0\n");
  const double rise = kFlows * 83'200.0;
  EXPECT_NEAR(mean(s.rtts), 16e6, rise);
  const auto [low, high] = std::minmax_element(s.rtts.begin(), s.rtts.end());
  EXPECT_GT(static_cast<double>(*low), 16e6 - 2.5 * rise);
  EXPECT_LT(static_cast<double>(*high), 16e6 + 2.5 * rise);
  EXPECT_GT(s.utilisation(), 0.999);
  // Another target, another delay: nothing else holds it there.
  const Settled t =
      settle("swift", kFlows, "[swift]\nbase_target_us = 12\nhop_target_us = 0\nfs_range_us = 0\n");
  EXPECT_NEAR(mean(t.rtts), 12e6, rise);
}

// DCTCP (SIGCOMM 2010, section 3.3): N flows in step reach W* = (BDP + K)/N packets when the queue reaches K; in the
// RTT until they hear of it each adds one more. The share of marks in a sawtooth is that of one RTT in it, so that alpha
// ~ sqrt(2/W*), the window falls by (W* + 1) alpha/2 and the queue is at most K + N packets. K has 14 packets here.
TEST(FixedPoint, DctcpOscillatesBelowTheThreshold) {
  constexpr std::uint32_t kFlows = 2;
  const Settled s = settle("dctcp", kFlows, "");
  const double bdp = 400'000.0 / kOnWire;
  const double threshold = 0.143 * bdp;
  const double full = (bdp + threshold) / kFlows;
  const double swing = (full + 1) * std::sqrt(2 / full) / 2;
  const auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [low, high] = std::minmax_element(s.windows.begin(), s.windows.end(), smaller);
  const double largest = static_cast<double>(high->second) / kMtu;
  const double smallest = static_cast<double>(low->second) / kMtu;
  EXPECT_NEAR(largest, kFlows * (full + 1), 0.05 * largest);
  EXPECT_NEAR(largest - smallest, kFlows * swing, 0.3 * kFlows * swing);
  EXPECT_LE(s.deepest_queue().count() / kOnWire, static_cast<std::int64_t>(threshold) + 3 * kFlows);
  EXPECT_GT(s.utilisation(), 0.999);
}

// [HPCC.utilisation] HPCC: where the window no longer changes, W = W eta/U + W_AI, so U = eta / (1 - W_AI/W): with W = eta BDP/N,
// 0.1 % above eta. The link carries that and no queue stands.
TEST(FixedPoint, HpccUsesEtaOfTheLink) {
  constexpr std::uint32_t kFlows = 4;
  const Settled s = settle("hpcc", kFlows, "");
  EXPECT_NEAR(s.utilisation(), 0.95, 0.01);
  EXPECT_LE(s.deepest_queue(), bytes(2 * kFlows * kOnWire));
  const Settled t = settle("hpcc", kFlows, "[hpcc]\neta = 0.8\n");
  EXPECT_NEAR(t.utilisation(), 0.8, 0.01);
}

// [RCCC.path] [RCCC.again] [RCCC.repeat] Credit finds its way past a spine that is dead and that nobody routes around.
TEST(Credit, PassesADeadSpine) {
  for (const char* scheme : {"rccc", "nscc-rccc", "ndp"}) {
    for (const char* trimming : {"false", "true"}) {
      const auto scenario = sim::load_text(
          "[topology]\nhosts = 16\nhosts_per_rack = 4\n[workload]\nsize = \"1 MB\"\n[switch]\n"
          "convergence_us = \"1 s\"\n[[failure]]\nswitch = \"spine 1\"\nfrom_us = 5\n[run]\nend_ms "
          "= 10\n",
          "dead spine", {},
          {std::string("transport.scheme=") + scheme, std::string("switch.trimming=") + trimming});
      ASSERT_TRUE(scenario) << scenario.error().text();
      sim::Simulation simulation(sim::make_config(scenario.value(), 1),
                                 sim::make_workload(scenario.value(), 1));
      sim::Observer observer;
      EXPECT_EQ(simulation.run(observer), sim::Ending::finished) << scheme << ' ' << trimming;
    }
  }
}

// [SMARTT.trim] [WIN.nack] Over switches that trim, losses are told and not timed: an incast that overflows the queue ends
// without a timeout or a probe's verdict, each trimmed packet sent again.
TEST(Trimming, SmarttIsToldOfEachLoss) {
  const auto scenario = sim::load_text(
      "[topology]\nhosts = 16\nhosts_per_rack = 2\n[workload]\nkind = \"incast\"\nsize = \"400 "
      "KB\"\n"
      "fan_in = 12\n[switch]\ntrimming = true\nqueue_limit = \"1 BDP\"\n[transport]\nscheme = "
      "\"smartt\"\n",
      "trimming", {}, {});
  ASSERT_TRUE(scenario) << scenario.error().text();
  sim::Simulation simulation(sim::make_config(scenario.value(), 1),
                             sim::make_workload(scenario.value(), 1));
  sim::Observer observer;
  ASSERT_EQ(simulation.run(observer), sim::Ending::finished);
  EXPECT_GT(simulation.counters().retransmissions, 100u);
  EXPECT_EQ(simulation.counters().timeouts, 0u);
}

}  // namespace
}  // namespace strack::conformance
