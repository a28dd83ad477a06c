// RoCEv2 and PFC in whole clusters: to the picosecond where nothing interferes, by theory where
// flows meet.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"
#include "transports/rocev2/ar_sim.h"
#include "transports/rocev2/shared_sim.h"
#include "workload/generators.h"

namespace strack::sim {
namespace {

using namespace testing;
using core::DcqcnSet;

workload::Flows incast(const SimConfig& config, std::uint32_t senders, Bytes size) {
  return workload::incast(
      {{config.topology.hosts(), config.topology.hosts_per_rack}, senders, 0, size}, 1);
}

Picoseconds max_fct(const Outcome& outcome) {
  Picoseconds most{0};
  for (const metrics::FlowRecord& f : outcome.told.flows) most = std::max(most, f.end - f.start);
  return most;
}

/// What no incast of whole packets can beat: the last hop's time for all of them, and a round trip
/// for the last.
Picoseconds incast_limit(std::int64_t senders, Bytes size) {
  return (senders * (size / kMtu) - 1) * kData + kBaseRtt;
}

void expect_lossless(const Outcome& outcome) {
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.counters.lossless_violations, 0u);
  EXPECT_EQ(outcome.counters.queue_drops, 0u);
  EXPECT_EQ(outcome.counters.retransmissions, 0u);
  EXPECT_EQ(outcome.counters.pause_loops, 0u);
  EXPECT_TRUE(outcome.told.warnings.empty());
}

// ---- One flow alone ----

// [R.roce.pacing] [R.dcqcn.start] At line rate from the first packet on, with no window to wait for.
TEST(RoceFlow, LineRateToThePicosecond) {
  for (const std::int64_t n : {1, 2, 17, 1'000}) {
    const Outcome outcome = run(roce_cluster(2, 2, 2), {flow(0, 3, packets(n))});
    expect_lossless(outcome);
    EXPECT_EQ(outcome.fct(), (n - 1) * kData + kBaseRtt) << n;
    EXPECT_EQ(outcome.flow(0).packets, static_cast<std::uint32_t>(n));
    EXPECT_EQ(outcome.counters.pause_frames, 0u);
    EXPECT_EQ(outcome.counters.cnps, 0u);
  }
}

// [R.roce.stripe] Several QPs share the port and use several paths; alone, that changes nothing.
TEST(RoceFlow, SeveralQpsAtLineRate) {
  SimConfig config = roce_cluster(2, 2, 2);
  roce_params(config).qps_per_conn = 4;
  config.record.interval = us(1);
  config.record.links = true;
  const Outcome outcome = run(config, {flow(0, 3, packets(1'024))});
  expect_lossless(outcome);
  EXPECT_EQ(outcome.fct(), 1'023 * kData + kBaseRtt);
  EXPECT_GT(outcome.flow(0).path_changes, 0u);
  EXPECT_GT(outcome.carried(outcome.link("tor 0", "spine 0")), bytes(0));
  EXPECT_GT(outcome.carried(outcome.link("tor 0", "spine 1")), bytes(0));
}

// [R.roce.go_back] [R.roce.timeout] Losses on the wire are made good, a lost tail by the timeout.
TEST(RoceFlow, RecoversFromLoss) {
  SimConfig config = roce_cluster(2, 2, 2);
  config.failures.impairments.push_back({{LinkRef::Tier::host, 0, 0}, {1, 1}, {1, 100}, 0});
  roce_params(config).rto = us(500);
  const Outcome outcome = run(config, {flow(0, 3, packets(2'000))});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_GT(outcome.counters.error_drops, 5u);
  EXPECT_GE(outcome.flow(0).naks, 5u);
  EXPECT_GT(outcome.flow(0).retransmissions, outcome.counters.error_drops / 2);
}

// ---- Several flows through one link ----

// [R.pfc.xoff] [R.pfc.headroom] The paper's incast: nothing is dropped, the last hop is busy as long as all
// are sending, and the slowest of 32 flows finishes within a tenth of the limit. (Of 8 a few finish
// early and the rest must first find the rate they left: a tenth more.)
TEST(RoceIncast, DeliversAtLineRate) {
  for (const std::uint32_t senders : {2u, 8u, 32u}) {
    SimConfig config = roce_cluster(3, 32, 32);
    config.record.interval = us(50);
    config.record.links = true;
    const Bytes size = packets(16'000'000 / 4'096);
    const Outcome outcome = run(config, incast(config, senders, size));
    expect_lossless(outcome);
    const Picoseconds limit = incast_limit(senders, size);
    EXPECT_GE(max_fct(outcome), limit);
    EXPECT_LE(max_fct(outcome), (Ratio{senders == 8 ? 12 : 11, 10} * limit))
        << senders << " senders";

    Instant first_end = Instant::never();
    for (const metrics::FlowRecord& f : outcome.told.flows) first_end = std::min(first_end, f.end);
    const Instant until = at(us(50) * ((first_end - Instant{}) / us(50)));
    const Bytes carried = outcome.carried(outcome.link("tor 0", "host 0"), at(us(50)), until);
    EXPECT_GE(carried, (Ratio{999, 1'000} * (gbps(400) * (until - at(us(50)))))) << senders;
  }
}

// [R.pfc.violation] Without rate control PFC alone keeps every packet, however many send, with one path or four, and over links
// of unequal length.
TEST(RoceIncast, NoDropFrom512Senders) {
  for (const std::uint32_t qps : {1u, 4u}) {
    for (const DcqcnSet set : {DcqcnSet::off, core::kDefaultDcqcn}) {
      SimConfig config = roce_cluster(9, 64, 16, set);
      roce_params(config).qps_per_conn = qps;
      config.topology.fabric_latency = ns(2'300);
      const Outcome outcome = run(config, incast(config, 512, packets(64)));
      expect_lossless(outcome);
      EXPECT_GT(outcome.counters.pause_frames, 100u);
      EXPECT_GT(outcome.counters.ports_paused, 32u);
    }
  }
}

// [R.pfc.violation] Headroom that is too small is found out, and said.
TEST(RoceIncast, TooLittleHeadroomIsAViolation) {
  SimConfig config = roce_cluster(3, 16, 16, DcqcnSet::off);
  config.pfc.headroom = kib(8);
  roce_params(config).rto = us(500);
  const Outcome outcome = run(config, incast(config, 32, packets(1'000)));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_GT(outcome.counters.lossless_violations, 0u);
  EXPECT_GT(outcome.counters.retransmissions, 0u);
}

/// Mean rates of flows that never end, over the second half of a run, and what was marked then.
struct Shares {
  std::vector<double> gbps;
  double total = 0;
  double marked = 0;
  std::uint64_t pause_frames = 0;
};
Shares shares(std::uint32_t senders, BitsPerSecond rate, DcqcnSet set, Bytes kmin, Bytes kmax,
              Ratio pmax, Picoseconds time) {
  SimConfig config = cluster(2, senders + 1, senders + 1);
  config.topology.host_rate = config.topology.fabric_rate = rate;
  const Derived derived = derive(config.topology, config.hosts, kMtu);
  config.transport = make_transport<RoceProtocol>(
      core::RoceParams::for_link(rate, derived.base_rtt, kMtu, set).value());
  config.pfc.enabled = true;
  config.switches.kmin = kmin;
  config.switches.kmax = kmax;
  config.switches.pmax = pmax;
  config.record.interval = us(500);
  config.record.links = true;
  config.record.flows = senders;
  config.end = at(time);
  workload::Flows flows;
  for (std::uint32_t i = 0; i < senders; ++i)
    flows.push_back(flow(i, senders + 1, bytes(4'000'000'000)));
  const Outcome outcome = run(config, flows);
  const Instant half = at(time / 2);
  Shares result;
  result.pause_frames = outcome.counters.pause_frames;
  result.gbps.resize(senders);
  const double seconds = static_cast<double>((time / 2).value) * 1e-12;
  for (const metrics::FlowSample& s : outcome.told.flow_samples) {
    if (s.time > half) result.gbps[s.flow] += static_cast<double>(s.acked.value) * 8e-9 / seconds;
  }
  for (const double share : result.gbps) result.total += share;
  const std::uint32_t last_hop = outcome.link("tor 1", "host " + std::to_string(senders + 1));
  double packets_there = 0;
  for (const metrics::LinkSample& s : outcome.told.link_samples) {
    if (s.time <= half || s.link != last_hop) continue;
    packets_there += static_cast<double>(s.carried.value) / 4'160;
    result.marked += s.marks;
  }
  result.marked /= packets_there;
  return result;
}

// [R.dcqcn.fast] [R.dcqcn.additive] [R.dcqcn.cut] The fluid model of DCQCN has one fixed point: all N flows at C/N, and a share of
// marked packets of p* = ((R_AI N^2 / (t C^2)) (1/B + N/(T C))^2)^(1/3), in packets and seconds, t
// and T the alpha and increase timers. With the constants and the ECN curve of the 2015 paper, for
// which it was derived, rates after convergence agree; the share of marks does as well as a linear
// approximation to a sawtooth can.
TEST(RoceConvergence, AgreesWithTheFluidModel) {
  for (const std::uint32_t n : {2u, 4u, 8u}) {
    const Shares got = shares(n, gbps(40), DcqcnSet::paper2015, kb(5), kb(200), {1, 100}, ms(200));
    const double fair = 40.0 * 4'096 / 4'160 / n;
    for (const double share : got.gbps) EXPECT_NEAR(share, fair, 0.12 * fair) << n << " flows";
    EXPECT_GT(got.total, 0.98 * fair * n) << n << " flows";

    const double c = 40e9 / (4'160 * 8);
    const double ai = 40e6 / (4'160 * 8);
    const double b = 10e6 / 4'160;
    const double t = 55e-6;
    const double p = std::cbrt(ai * n * n / (t * c * c) * std::pow(1 / b + n / (t * c), 2));
    EXPECT_GT(got.marked, p / 2) << n << " flows";
    EXPECT_LT(got.marked, p * 2) << n << " flows";
  }
}

// Two flows on one link: fair shares of it, with every published set of constants. Two of the sets do
// it by rates alone; what NICs ship lets PFC help.
TEST(RoceConvergence, TwoFlowsShareFairly) {
  for (const DcqcnSet set : {DcqcnSet::paper2015, DcqcnSet::nic_default, DcqcnSet::hpcc_ns3}) {
    const Shares got = shares(2, gbps(400), set, kb(400), kb(400), {1, 1}, ms(20));
    const double fair = 200.0 * 4'096 / 4'160;
    for (const double share : got.gbps)
      EXPECT_NEAR(share, fair, 0.15 * fair) << static_cast<int>(set);
    if (set != DcqcnSet::nic_default) {
      EXPECT_EQ(got.pause_frames, 0u);
    }
  }
}

// ---- Pauses and their victims ----

// [R.pfc.victim] [R.pfc.hold] Three senders in the receiver's rack and one in another share its link, so the far
// one is held to a quarter of the line rate by pauses of the link between the racks. Behind it, in
// the same queue packet by packet, waits a flow to a host with an idle link: it gets a quarter too,
// though three quarters are free. That is head-of-line blocking, and the flow is the victim.
TEST(Pfc, VictimIsHeldToTheCulpritsRate) {
  SimConfig config = roce_cluster(2, 6, 1, DcqcnSet::off);
  config.record.interval = us(100);
  config.record.flows = 5;
  config.record.links = true;
  config.end = at(ms(10));
  const Bytes endless = bytes(4'000'000'000);
  // Flow 0 is the victim, flow 1 the culprit beside it, flows 2 to 4 the others.
  const Outcome outcome =
      run(config, {flow(0, 6, endless), flow(1, 7, endless), flow(8, 7, endless),
                   flow(9, 7, endless), flow(10, 7, endless)});
  std::vector<double> rate(5);
  for (const metrics::FlowSample& s : outcome.told.flow_samples) {
    if (s.time > at(ms(5))) rate[s.flow] += static_cast<double>(s.acked.value) * 8e-9 / 5e-3;
  }
  const double line = 400.0 * 4'096 / 4'160;
  EXPECT_NEAR(rate[1], line / 4, 0.05 * line);
  EXPECT_NEAR(rate[0], rate[1], 0.02 * line);
  EXPECT_NEAR(rate[1] + rate[2] + rate[3] + rate[4], line, 0.02 * line);
  EXPECT_EQ(outcome.counters.lossless_violations, 0u);
  EXPECT_GT(outcome.flow(0).victim_packets, 1'000u);
  EXPECT_GT(outcome.flow(0).victim_packets, 10 * outcome.flow(1).victim_packets);
  for (const std::uint32_t neighbour : {2u, 3u, 4u})
    EXPECT_EQ(outcome.flow(neighbour).victim_packets, 0u);
  // The victim's own NIC is paused as well: half the uplink's time or more.
  Picoseconds paused{0};
  for (const metrics::LinkSample& s : outcome.told.link_samples) {
    if (s.link == outcome.link("host 0", "tor 0") && s.time > at(ms(5))) paused += s.paused;
  }
  EXPECT_GT(paused, ms(2));
}

// [R.pfc.victim] Who starts long after a pause has ended was not held by it.
TEST(Pfc, NoVictimLongAfterThePause) {
  SimConfig config = roce_cluster(2, 6, 1, DcqcnSet::off);
  const Outcome outcome =
      run(config, {flow(1, 7, packets(4'000)), flow(8, 7, packets(4'000)),
                   flow(9, 7, packets(4'000)), flow(1, 6, packets(1), at(ms(50)))});
  expect_lossless(outcome);
  EXPECT_GT(outcome.counters.pause_frames, 0u);
  EXPECT_EQ(outcome.fct(3), kBaseRtt);
  EXPECT_EQ(outcome.flow(3).victim_packets, 0u);
}

// [R.pfc.hold] ACKs are not paused: a flow whose data goes the other way loses no more than the time
// that others' ACKs take on its NIC's link.
TEST(Pfc, AcksPassPausedPorts) {
  SimConfig config = roce_cluster(2, 6, 1, DcqcnSet::off);
  const Outcome outcome = run(config, {flow(7, 0, packets(2'000)), flow(0, 7, packets(8'000)),
                                       flow(8, 7, packets(8'000)), flow(9, 7, packets(8'000))});
  expect_lossless(outcome);
  EXPECT_GT(outcome.counters.pause_frames, 0u);
  const Picoseconds alone = 1'999 * kData + kBaseRtt;
  EXPECT_GE(outcome.fct(0), alone);
  EXPECT_LE(outcome.fct(0), (Ratio{101, 100} * alone));
}

// PFC is not RoCEv2's alone: STrack over a lossless network loses nothing.
TEST(Pfc, WorksWithStrack) {
  SimConfig config = roce_cluster(3, 16, 16);
  config.transport = transport_for(config);
  config.pfc.buffer_per_tbps = mb(1);
  const Outcome outcome = run(config, incast(config, 32, packets(500)));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.counters.lossless_violations, 0u);
  EXPECT_GT(outcome.counters.pause_frames, 0u);
}

// ---- The engine ----

// Bit for bit the same for any number of threads, with pauses, losses and several QPs.
TEST(RoceEngine, ThreadsDoNotMatter) {
  const auto digest = [](std::uint32_t threads) {
    SimConfig config = roce_cluster(4, 16, 4);
    config.threads = threads;
    roce_params(config).qps_per_conn = 2;
    roce_params(config).rto = us(500);
    config.pfc.buffer_per_tbps = mb(2);
    config.record = {us(10), true, bytes(0), true, 8};
    config.failures.impairments.push_back({{LinkRef::Tier::fabric, 1, 2}, {1, 2}, {1, 500}, 0});
    workload::Flows flows = incast(config, 40, packets(300));
    for (const workload::Flow& f : workload::permutation({{64, 16}, packets(300), false}, 3))
      flows.push_back(f);
    const Outcome outcome = run(config, flows);
    EXPECT_EQ(outcome.ending, Ending::finished);
    EXPECT_GT(outcome.counters.pause_frames, 0u);
    EXPECT_GT(outcome.counters.naks, 0u);
    Digest all;
    for (const auto& r : outcome.told.flows) all << r;
    for (const auto& s : outcome.told.link_samples) all << s;
    for (const auto& s : outcome.told.flow_samples) all << s;
    all << outcome.counters;
    return all.value();
  };
  const std::uint64_t one = digest(1);
  EXPECT_EQ(digest(2), one);
  EXPECT_EQ(digest(5), one);
}

// [R.dcqcn.cnp] Rates and CNPs are recorded over time.
TEST(RoceRecords, RateAndCnpsOverTime) {
  SimConfig config = roce_cluster(2, 4, 4, DcqcnSet::hpcc_ns3);
  config.record.interval = us(10);
  config.record.flows = 3;
  const Outcome outcome = run(
      config, {flow(0, 4, packets(2'000)), flow(1, 4, packets(2'000)), flow(2, 4, packets(2'000))});
  expect_lossless(outcome);
  std::uint64_t cnps = 0;
  BitsPerSecond least = gbps(400);
  for (const metrics::FlowSample& s : outcome.told.flow_samples) {
    cnps += s.cnps;
    if (s.rate > BitsPerSecond{0}) least = std::min(least, s.rate);
  }
  std::uint64_t in_records = 0;
  for (const metrics::FlowRecord& r : outcome.told.flows) in_records += r.cnps;
  EXPECT_GT(cnps, 0u);
  EXPECT_EQ(cnps, in_records);
  EXPECT_EQ(in_records, outcome.counters.cnps);
  EXPECT_LT(least, gbps(100));
  EXPECT_GE(least, gbps(1));
}

// [D118] One alpha of all flows: another run than with one for each, and the same bits for any number of
// threads and whatever is recorded, though that cuts windows short.
TEST(RoceSharedAlpha, AnyNumberOfThreads) {
  for (const DcqcnSet set : {DcqcnSet::uet_htsim, core::kDefaultDcqcn}) {
    SimConfig config = roce_cluster(3, 8, 4, set);
    const workload::Flows flows = incast(config, 16, packets(1'000));
    const std::uint64_t own = run(config, flows).counters.hash;
    core::RoceParams params = roce_params(std::as_const(config));
    params.dcqcn.shared_alpha = kBaseRtt;
    config.transport = make_transport<SharedRoceProtocol>(params);
    const Outcome one = run(config, flows);
    expect_lossless(one);
    EXPECT_NE(one.counters.hash, own);
    for (const std::uint32_t threads : {2u, 4u}) {
      config.threads = threads;
      config.record.interval = threads == 4 ? ns(3'700) : ps(0);
      config.record.queues = threads == 4;
      EXPECT_EQ(run(config, flows).counters.hash, one.counters.hash) << threads;
    }
  }
}

// ---- Over switches that spray ----

/// The network of roce_cluster() whose switches spray by least queue, and NICs that do not mind.
SimConfig ar_cluster(std::uint32_t racks, std::uint32_t hosts_per_rack, std::uint32_t spines) {
  SimConfig config = roce_cluster(racks, hosts_per_rack, spines);
  config.transport = make_transport<ArProtocol>(roce_params(std::as_const(config)));
  config.switches.routing = Routing::least_queue;
  return config;
}

workload::Flows to_next_rack(const SimConfig& config, Bytes size) {
  workload::Flows flows;
  const std::uint32_t hosts = config.topology.hosts();
  for (std::uint32_t h = 0; h < hosts; ++h)
    flows.push_back(flow(h, (h + config.topology.hosts_per_rack) % hosts, size));
  return flows;
}

// [AR.spray] Alone, a flow takes as long as on one path.
TEST(RoceAr, LineRateToThePicosecond) {
  for (const std::int64_t n : {1, 2, 17, 1'000}) {
    const Outcome outcome = run(ar_cluster(2, 2, 2), {flow(0, 3, packets(n))});
    expect_lossless(outcome);
    EXPECT_EQ(outcome.fct(), (n - 1) * kData + kBaseRtt) << n;
  }
}

// [AR.spray] [AR.place] Where hashes make flows meet on a link, sprayed packets fill all links: a whole
// rack sends to the next at nearly its rate, and nothing is repeated for having come out of order.
TEST(RoceAr, FillsAllLinks) {
  const SimConfig config = ar_cluster(2, 8, 8);
  const Outcome sprayed = run(config, to_next_rack(config, packets(500)));
  expect_lossless(sprayed);
  const SimConfig hashed = roce_cluster(2, 8, 8);
  const Outcome met = run(hashed, to_next_rack(hashed, packets(500)));
  const Picoseconds ideal = 499 * kData + kBaseRtt;
  EXPECT_LT(max_fct(sprayed), ideal * 11 / 10);
  EXPECT_GT(max_fct(met), ideal * 3 / 2);
}

// [AR.overdue] [AR.repeat] With a link that loses one packet in a hundred, what is repeated is what was lost,
// and only a loss at the very end waits for a timeout.
TEST(RoceAr, RepeatsWhatWasLost) {
  SimConfig config = ar_cluster(2, 4, 4);
  config.failures.impairments.push_back({{LinkRef::Tier::fabric, 0, 1}, {1, 1}, {1, 100}, 0});
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_GT(outcome.counters.error_drops, 20u);
  EXPECT_GT(outcome.counters.retransmissions, 10u);
  EXPECT_LE(outcome.counters.retransmissions, outcome.counters.error_drops);
  EXPECT_EQ(outcome.counters.timeouts, 0u);
}

}  // namespace
}  // namespace strack::sim
