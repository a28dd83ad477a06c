#include "sim/simulation.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"
#include "transports/strack_plus/sim.h"

namespace strack::sim {
namespace {

using namespace testing;

/// What a flow alone in the network takes: n full packets, a window of w packets, s for the
/// serialisation of one on the slowest link, rtt for the first packet's way and its SACK's. Packet
/// k goes onto the wire when the one before it has, and the one w before it is acknowledged,
/// whichever is later:
///   at k x s if the window covers the round trip (w x s >= rtt), else at floor(k / w) x rtt + (k
///   mod w) x s.
/// Nothing ever waits in the network, so the flow ends one rtt after its last packet's first bit.
Picoseconds alone(std::int64_t n, std::int64_t w, Picoseconds s, Picoseconds rtt) {
  const std::int64_t last = n - 1;
  if (w * s >= rtt) return last * s + rtt;
  return (last / w) * rtt + (last % w) * s + rtt;
}
std::int64_t window_packets(const SimConfig& config) {
  return strack_params(config).max_cwnd / kMtu;
}

// ---- What follows from the topology ----

// Two tiers: four links each way, a whole packet and its SACK stored and forwarded at each.
TEST(Derive, TwoTiers) {
  const SimConfig config = cluster(4, 8, 2);
  const Derived d = derive(config.topology, config.hosts, kMtu);
  EXPECT_EQ(d.base_rtt, 4 * (ps(83'200) + us(1)) + 4 * (ps(1'280) + us(1)));
  EXPECT_EQ(d.base_rtt, ps(8'337'920));
  EXPECT_EQ(d.bdp, bytes(416'896));  // 50 bytes per ns
  EXPECT_EQ(d.hops, 4u);
  EXPECT_EQ(d.links, 2u * 32 + 2u * 8);
  EXPECT_EQ(d.switches, 6u);
}

// Three tiers, each with its own rate and latency: a byte takes 40, 20 and 10 ps.
TEST(Derive, ThreeTiersWithTheirOwnRates) {
  SimConfig config = pods(2, 2);
  config.topology.host_rate = gbps(200);
  config.topology.core_rate = gbps(800);
  config.topology.host_latency = ns(500);
  config.topology.core_latency = us(2);
  const Derived d = derive(config.topology, config.hosts, kMtu);
  const Picoseconds out =
      2 * (ps(4'160 * 40) + ns(500)) + 2 * (ps(4'160 * 20) + us(1)) + 2 * (ps(4'160 * 10) + us(2));
  const Picoseconds back =
      2 * (ps(64 * 40) + ns(500)) + 2 * (ps(64 * 20) + us(1)) + 2 * (ps(64 * 10) + us(2));
  EXPECT_EQ(d.base_rtt, out + back);
  EXPECT_EQ(d.bdp, gbps(200) * (out + back));
  EXPECT_EQ(d.hops, 6u);
  EXPECT_EQ(d.switches, 4u + 4u + 4u);
}

// ---- One flow alone, to the picosecond ----

// One packet inside a rack: stored and forwarded once, two cables; and its SACK the same way back.
TEST(OneFlow, OnePacketOverOneRack) {
  const Outcome outcome = run(cluster(1, 2, 1), {flow(0, 1, packets(1))});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.flow(0).delivered, at(2 * (ps(83'200) + us(1))));
  EXPECT_EQ(outcome.flow(0).end, at(2 * (ps(83'200) + us(1)) + 2 * (ps(1'280) + us(1))));
  EXPECT_EQ(outcome.counters.packet_hops, 4u);
}

// One packet between racks: four links each way.
TEST(OneFlow, OnePacketOverFourHops) {
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, packets(1))});
  EXPECT_EQ(outcome.flow(0).delivered, at(4 * (ps(83'200) + us(1))));
  EXPECT_EQ(outcome.flow(0).end, at(4 * (ps(83'200) + us(1)) + 4 * (ps(1'280) + us(1))));
  EXPECT_EQ(outcome.counters.packet_hops, 8u);
}

// One packet between pods: six links each way.
TEST(OneFlow, OnePacketOverSixHops) {
  const Outcome outcome = run(pods(2, 1), {flow(0, 3, packets(1))});
  EXPECT_EQ(outcome.flow(0).delivered, at(6 * (ps(83'200) + us(1))));
  EXPECT_EQ(outcome.flow(0).end, at(6 * (ps(83'200) + us(1)) + 6 * (ps(1'280) + us(1))));
}

// A small message takes the time of its own bytes: 100 and a header of 64.
TEST(OneFlow, LessThanOnePacket) {
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, bytes(100))});
  EXPECT_EQ(outcome.fct(), 4 * (ps(164 * 20) + us(1)) + 4 * (ps(1'280) + us(1)));
}

// [D20] A message of nothing is one packet with nothing but its header.
TEST(OneFlow, EmptyMessage) {
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, bytes(0))});
  EXPECT_EQ(outcome.fct(), 8 * (ps(64 * 20) + us(1)));
}

// The header's and the SACK's size are the host's to set.
TEST(OneFlow, OtherHeaderSizes) {
  SimConfig config = cluster(1, 2, 1);
  config.hosts.data_header = bytes(104);
  config.hosts.control_size = bytes(90);
  const Outcome outcome = run(config, {flow(0, 1, packets(1))});
  EXPECT_EQ(outcome.fct(), 2 * (ps(4'200 * 20) + us(1)) + 2 * (ps(90 * 20) + us(1)));
}

// From one packet to 16 MiB between racks: the link is never idle, for a window of one BDP covers
// the round trip (101 packets; the base RTT is 100.2 packet times). Nothing waits, nothing is sent
// twice.
TEST(OneFlow, FctIsTheFormula) {
  const SimConfig config = cluster(2, 2, 4);
  ASSERT_EQ(window_packets(config), 101);
  for (const std::int64_t n : {1, 2, 3, 10, 100, 101, 102, 103, 202, 203, 1'000, 4'096}) {
    const Outcome outcome = run(config, {flow(0, 3, packets(n))});
    EXPECT_EQ(outcome.fct(), alone(n, 101, kData, kBaseRtt)) << n;
    EXPECT_EQ(outcome.fct(), (n - 1) * kData + kBaseRtt) << n;
    EXPECT_EQ(outcome.flow(0).delivered, at((n - 1) * kData + 4 * (kData + kLatency))) << n;
    EXPECT_EQ(outcome.flow(0).packets, n);
    EXPECT_EQ(outcome.counters.retransmissions, 0u);
    EXPECT_EQ(outcome.counters.probes, 0u);
    EXPECT_EQ(outcome.counters.packet_hops, static_cast<std::uint64_t>(8 * n));
  }
}

// A window short of the round trip: bursts of w packets, one per RTT.
TEST(OneFlow, FctWithASmallWindow) {
  for (const std::int64_t w : {1, 2, 7, 50, 99, 100}) {
    SimConfig config = cluster(2, 2, 4);
    strack_params(config).max_cwnd = packets(w);
    for (const std::int64_t n : {1, 2, 7, 8, 50, 51, 500}) {
      const Outcome outcome = run(config, {flow(0, 3, packets(n))});
      ASSERT_EQ(outcome.fct(), alone(n, w, kData, kBaseRtt)) << w << " " << n;
    }
  }
}

// A BDP counts payload, a link carries headers too: that is why one BDP of payload covers the RTT
// only where rounding down to whole packets does not take more than the headers give. Here it does:
// 500 ns per link make an RTT of 52.14 packet times, and 52 packets fit the BDP.
TEST(OneFlow, FctWhereTheBdpIsAPacketShort) {
  SimConfig config = cluster(2, 2, 4);
  config.topology.host_latency = config.topology.fabric_latency = ns(500);
  config.transport = transport_for(config);
  const Picoseconds rtt = 4 * (kData + ns(500)) + 4 * (kSack + ns(500));
  ASSERT_EQ(window_packets(config), 52);
  ASSERT_LT(52 * kData, rtt);
  const Outcome outcome = run(config, {flow(0, 3, packets(1'000))});
  EXPECT_EQ(outcome.fct(), alone(1'000, 52, kData, rtt));
}

// A last packet that is not full, on a single path: it comes in right behind its predecessor, at
// every hop.
TEST(OneFlow, FctWithAShortLastPacket) {
  SimConfig config = cluster(2, 2, 4);
  strack_params(config).max_paths = 1;
  for (const std::int64_t size : {4'097, 8'191, 100'000, 1'000'000, 16'000'000}) {
    const std::int64_t full = size / 4'096;
    const Picoseconds tail = ps((size % 4'096 + 64) * 20);
    const Outcome outcome = run(config, {flow(0, 3, bytes(size))});
    EXPECT_EQ(outcome.fct(), (full - 1) * kData + tail + kBaseRtt) << size;
  }
}

// At 300 Gb/s a packet takes 110'933 ps, a third of a picosecond less than the quotient: each is
// rounded down by itself.
TEST(OneFlow, FctAtARateWithFractions) {
  SimConfig config = cluster(2, 2, 4);
  config.topology.host_rate = config.topology.fabric_rate = gbps(300);
  config.transport = transport_for(config);
  const Picoseconds rtt = 4 * (ps(110'933) + us(1)) + 4 * (ps(1'706) + us(1));
  ASSERT_EQ(derive(config.topology, config.hosts, kMtu).base_rtt, rtt);
  for (const std::int64_t n : {1, 2, 77, 1'000}) {
    const Outcome outcome = run(config, {flow(0, 3, packets(n))});
    EXPECT_EQ(outcome.fct(), alone(n, window_packets(config), ps(110'933), rtt)) << n;
  }
}

// Links slower and faster than the smallest latency's: packets wait for their window, and nothing
// shows.
TEST(OneFlow, FctWithDifferentLatencies) {
  for (const auto& [host, fabric] : {std::pair{us(3), us(1)}, std::pair{us(1), ps(2'500'001)},
                                     std::pair{ns(7), us(5)}, std::pair{us(5), ns(7)}}) {
    SimConfig config = cluster(2, 2, 4);
    config.topology.host_latency = host;
    config.topology.fabric_latency = fabric;
    config.transport = transport_for(config);
    const Picoseconds rtt = 4 * (kData + kSack) + 4 * host + 4 * fabric;
    const Outcome outcome = run(config, {flow(0, 3, packets(500))});
    EXPECT_EQ(outcome.fct(), alone(500, window_packets(config), kData, rtt));
  }
}

// Three tiers: inside a rack, inside a pod and between pods, with the core far away.
TEST(OneFlow, FctOnThreeTiers) {
  SimConfig config = pods(2, 2);
  config.topology.core_latency = us(4);
  config.transport = transport_for(config);
  const Picoseconds far = kBaseRtt + 2 * (kData + kSack + 2 * us(4));
  const std::int64_t w = window_packets(config);
  const auto fct = [&](std::uint32_t dst) {
    return run(config, {flow(0, dst, packets(300))}).fct();
  };
  EXPECT_EQ(fct(1), alone(300, w, kData, kRackRtt));
  EXPECT_EQ(fct(2), alone(300, w, kData, kBaseRtt));
  EXPECT_EQ(fct(4), alone(300, w, kData, far));
  EXPECT_EQ(fct(7), alone(300, w, kData, far));
}

// A fabric faster than its hosts: they set the pace.
TEST(OneFlow, FctWithAFasterCore) {
  SimConfig config = pods(2, 2);
  config.topology.host_rate = gbps(200);
  config.topology.core_rate = gbps(800);
  config.transport = transport_for(config);
  const Picoseconds rtt = derive(config.topology, config.hosts, kMtu).base_rtt;
  const Outcome outcome = run(config, {flow(0, 7, packets(300))});
  EXPECT_EQ(outcome.fct(), alone(300, window_packets(config), 2 * kData, rtt));
}

// Oblivious spray and a single path take the same time, alone.
TEST(OneFlow, FctOfTheOtherSchemes) {
  SimConfig config = cluster(2, 2, 4);
  strack_params(config).path_policy = core::PathPolicy::oblivious;
  EXPECT_EQ(run(config, {flow(0, 3, packets(300))}).fct(), 299 * kData + kBaseRtt);
  strack_params(config).max_paths = 1;
  const Outcome single = run(config, {flow(0, 3, packets(300))});
  EXPECT_EQ(single.fct(), 299 * kData + kBaseRtt);
}

// Path changes are counted from the second packet on: none on a single path, all but the first on a
// rotation.
TEST(OneFlow, PathChanges) {
  SimConfig config = cluster(2, 2, 4);
  strack_params(config).path_policy = core::PathPolicy::oblivious;
  EXPECT_EQ(run(config, {flow(0, 3, packets(300))}).flow(0).path_changes, 299u);
  strack_params(config).max_paths = 1;
  EXPECT_EQ(run(config, {flow(0, 3, packets(300))}).flow(0).path_changes, 0u);
}

// A flow starts when it says, in whatever order the list is.
TEST(OneFlow, StartTimes) {
  const Outcome outcome =
      run(cluster(2, 2, 2), {flow(0, 3, packets(2), at(us(70))), flow(0, 3, packets(2), at(us(30))),
                             flow(1, 2, packets(2), at(ps(1)))});
  EXPECT_EQ(outcome.flow(0).end, at(us(70) + kData + kBaseRtt));
  EXPECT_EQ(outcome.flow(1).end, at(us(30) + kData + kBaseRtt));
  EXPECT_EQ(outcome.flow(2).end, at(ps(1) + kData + kBaseRtt));
  EXPECT_EQ(outcome.flow(1).start, at(us(30)));
}

// [D27] The 32-bit clock in packets wraps after 4.294967296 s, in the middle of this flow: nothing
// shows.
TEST(OneFlow, AcrossTheClocksWrap) {
  const Instant start = at(ps(4'294'967'296'000) - us(20));
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, packets(1'000), start)});
  EXPECT_EQ(outcome.fct(), 999 * kData + kBaseRtt);
  EXPECT_EQ(outcome.counters.retransmissions, 0u);
}

// ---- Several flows ----

// Two senders, one receiver, a packet each: both reach the switch together, the lower port goes
// first.
TEST(ManyFlows, TwoSendersOnePacketEach) {
  const Outcome outcome = run(cluster(1, 3, 1), {flow(0, 2, packets(1)), flow(1, 2, packets(1))});
  EXPECT_EQ(outcome.flow(0).delivered, at(2 * (kData + kLatency)));
  EXPECT_EQ(outcome.flow(1).delivered, at(2 * (kData + kLatency) + kData));
  EXPECT_EQ(outcome.fct(0), kRackRtt);
  EXPECT_EQ(outcome.fct(1), kRackRtt + kData);
}

// Eight packets each, all within the window: they leave the switch in turn, 16 packet times in all.
TEST(ManyFlows, TwoSendersTakeTurnsInTheQueue) {
  const Outcome outcome = run(cluster(1, 3, 1), {flow(0, 2, packets(8)), flow(1, 2, packets(8))});
  EXPECT_EQ(outcome.fct(0), kRackRtt + 14 * kData);
  EXPECT_EQ(outcome.fct(1), kRackRtt + 15 * kData);
}

// In that queue 2 packets arrive per packet time: with the k-th pair there are k + 2 packets behind
// the one that leaves then, 9 with the last; that is the deepest.
TEST(ManyFlows, TwoSendersDeepestQueue) {
  const Outcome outcome = run(cluster(1, 3, 1), {flow(0, 2, packets(8)), flow(1, 2, packets(8))});
  EXPECT_EQ(outcome.counters.deepest_queue, bytes(9 * 4'160));
}

// Left behind at the 16 departures: 3 4 5 6 7 8 9, then 8 7 6 5 4 3 2 1 0 packets. Above 5: seven
// marks.
TEST(ManyFlows, TwoSendersMarks) {
  SimConfig config = cluster(1, 3, 1);
  config.switches.kmin = config.switches.kmax = bytes(5 * 4'160);
  const Outcome outcome = run(config, {flow(0, 2, packets(8)), flow(1, 2, packets(8))});
  EXPECT_EQ(outcome.counters.marks, 7u);
}

// A limit of 9 packets loses nothing; one byte less loses one packet, the last to come.
TEST(ManyFlows, TwoSendersDropAtTheVeryByte) {
  SimConfig config = cluster(1, 3, 1);
  config.switches.queue_limit = bytes(9 * 4'160);
  const workload::Flows flows{flow(0, 2, packets(8)), flow(1, 2, packets(8))};
  EXPECT_EQ(run(config, flows).counters.queue_drops, 0u);

  config.switches.queue_limit = bytes(9 * 4'160 - 1);
  const Outcome outcome = run(config, flows);
  EXPECT_EQ(outcome.counters.queue_drops, 1u);
  EXPECT_EQ(outcome.counters.retransmissions, 1u);
  EXPECT_EQ(outcome.flow(1).retransmissions, 1u);
  EXPECT_EQ(outcome.finished(), 2u);
}

// A host sends and receives: its SACK waits for the packet on the wire (the 27th, for the data
// comes after 26.04 packet times), goes before all others, and delays them by its own time.
TEST(Nic, SackBeforeQueuedData) {
  const Outcome outcome = run(cluster(1, 3, 1), {flow(0, 1, packets(1)), flow(1, 2, packets(50))});
  EXPECT_EQ(outcome.fct(0), 27 * kData + 2 * (kSack + kLatency));
  EXPECT_EQ(outcome.fct(1), 49 * kData + kSack + kRackRtt);
}

// The data comes at the very instant a packet has left the NIC (26 packet times): the SACK goes at
// once.
TEST(Nic, SackAtTheInstantThePortIsFree) {
  SimConfig config = cluster(1, 3, 1);
  config.topology.host_latency = 12 * kData;
  const Outcome outcome = run(config, {flow(0, 1, packets(1)), flow(1, 2, packets(50))});
  EXPECT_EQ(outcome.fct(0), 26 * kData + 2 * (kSack + 12 * kData));
}

// Two flows of one host share its port evenly: they end one packet time apart.
TEST(Nic, FlowsShareFairly) {
  const Outcome outcome =
      run(cluster(1, 3, 1), {flow(0, 1, packets(200)), flow(0, 2, packets(200))});
  EXPECT_EQ(outcome.fct(0), 398 * kData + kRackRtt);
  EXPECT_EQ(outcome.fct(1), 399 * kData + kRackRtt);
}

// [PLUS.first.share] A host's connections know how many of them send: of 40 packets that may be under way before
// the first SACK, two have 20 each; one that starts after the other's end has them all.
TEST(Nic, PlusSharesFirstWindows) {
  const auto first_flights = [](const workload::Flows& flows) {
    SimConfig config = cluster(1, 3, 1);
    const Derived derived = derive(config.topology, config.hosts, kMtu);
    core::PlusParams params =
        core::PlusParams::for_link(config.topology.host_rate, derived.base_rtt, kMtu).value();
    params.max_cwnd = packets(40);
    params.first_cwnd = kMtu;
    config.transport = make_transport<PlusProtocol>(params);
    config.record.inspect = 2;
    const Outcome outcome = run(config, flows);
    std::vector<int> counts(2);
    std::vector<bool> heard(2);
    for (const metrics::FlowEvent& event : outcome.told.events) {
      if (event.kind == metrics::EventKind::ack) heard[event.flow] = true;
      if (event.kind == metrics::EventKind::sent && !heard[event.flow]) ++counts[event.flow];
    }
    return counts;
  };
  EXPECT_EQ(first_flights({flow(0, 1, packets(100)), flow(0, 2, packets(100))}),
            (std::vector<int>{20, 20}));
  EXPECT_EQ(first_flights({flow(0, 1, packets(100)), flow(0, 2, packets(100), at(ms(1)))}),
            (std::vector<int>{40, 40}));
}

// A short flow does not wait for a long one that is under way: it gets every other packet.
TEST(Nic, ShortFlowBesideALongOne) {
  const Outcome outcome =
      run(cluster(1, 3, 1), {flow(0, 1, packets(300)), flow(0, 2, packets(10), at(100 * kData))});
  // Ready as packet 100 goes onto the wire or just before: its turn comes first or second.
  const Picoseconds fct = outcome.fct(1);
  EXPECT_GE(fct, 18 * kData + kRackRtt);
  EXPECT_LE(fct, 19 * kData + kRackRtt);
  EXPECT_EQ(outcome.fct(0), 309 * kData + kRackRtt);
}

// [D27] The RTT clock starts on the wire: of 15 flows of one host the last waits 14 packet times
// for its port, yet all measure the RTT of an idle network, to the nanosecond of the clock in
// packets.
TEST(Nic, WaitingForThePortIsNoQueueingDelay) {
  SimConfig config = cluster(1, 16, 1);
  config.record.interval = ms(1);
  config.record.flows = 15;
  workload::Flows flows;
  for (std::uint32_t i = 0; i < 15; ++i) flows.push_back(flow(0, i + 1, packets(1)));
  const Outcome outcome = run(config, flows);
  ASSERT_EQ(outcome.told.flow_samples.size(), 15u);
  for (const metrics::FlowSample& sample : outcome.told.flow_samples) {
    const std::int64_t sent = (sample.flow * kData).value;
    EXPECT_EQ(sample.rtt, ns((sent + kRackRtt.value) / 1'000 - sent / 1'000)) << sample.flow;
    EXPECT_EQ(outcome.fct(sample.flow), sample.flow * kData + kRackRtt);
  }
}

/// Two flows of so many packets that begin at once, the second with a priority.
workload::Workload second_first(workload::Flow usual, workload::Flow urgent,
                                std::uint8_t priority) {
  workload::Workload work{{usual, urgent}, {}};
  work.parts.resize(2);
  work.parts[0].flows = work.parts[1].flows = work.parts[1].first_flow = 1;
  work.parts[1].priority = priority;
  return work;
}

// [D116] At a NIC that has both to send, the one of the higher priority is as if it were alone.
TEST(Priority, AtTheNic) {
  const SimConfig config = cluster(2, 4, 2);
  const Picoseconds alone = run(config, {flow(0, 2, packets(40))}).fct();
  const auto together = [&](std::uint8_t priority) {
    return run_workload(config,
                        second_first(flow(0, 2, packets(40)), flow(0, 3, packets(40)), priority));
  };
  const Outcome first = together(1);
  EXPECT_EQ(first.fct(1), alone);
  EXPECT_EQ(first.fct(0), alone + 40 * kData);
  EXPECT_EQ(together(0).fct(0), alone + 39 * kData);  // in turns
}

// [D116] At a switch it waits for the packet on the wire, and for no other.
TEST(Priority, AtTheSwitch) {
  const SimConfig config = cluster(2, 4, 2);
  const Picoseconds alone = run(config, {flow(0, 2, packets(40))}).fct();
  const auto together = [&](std::uint8_t priority) {
    return run_workload(config,
                        second_first(flow(0, 2, packets(40)), flow(1, 2, packets(40)), priority));
  };
  const Outcome first = together(2);
  EXPECT_EQ(first.fct(1), alone + kData);
  EXPECT_EQ(first.fct(0), alone + 40 * kData);
  EXPECT_EQ(together(0).fct(1), alone + 40 * kData);
}

// A straggler puts bytes on its wire at its own rate, SACKs too; the switch sends to it at the
// port's.
TEST(Nic, Stragglers) {
  SimConfig config = cluster(1, 2, 1);
  config.hosts.straggler_share = {1, 1};
  config.hosts.straggler_rate = {1, 2};
  const Outcome outcome = run(config, {flow(0, 1, packets(10))});
  EXPECT_EQ(outcome.fct(), 9 * 2 * kData + (2 * kData + kLatency) + (kData + kLatency) +
                               (2 * kSack + kLatency) + (kSack + kLatency));
}

// A share of 1/4 slows down about a quarter of 256 hosts: within four standard deviations (7).
TEST(Nic, ShareOfStragglers) {
  SimConfig config = cluster(16, 16, 2);
  config.hosts.straggler_share = {1, 4};
  config.hosts.straggler_rate = {1, 2};
  const Outcome outcome = run(config, {});
  std::int64_t slow = 0;
  for (const metrics::LinkInfo& link : outcome.links) slow += link.rate == gbps(200) ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(slow), 64.0, 28.0);
}

// ---- What is recorded ----

// Every byte of a link is in one sample, and every acknowledged one of a flow.
TEST(Samples, AddUp) {
  SimConfig config = cluster(1, 2, 1);
  config.record.interval = us(10);
  config.record.links = true;
  config.record.flows = 1;
  const Outcome outcome = run(config, {flow(0, 1, packets(1'000))});
  EXPECT_EQ(outcome.carried(outcome.link("tor 0", "host 1")), bytes(1'000 * 4'160));
  EXPECT_EQ(outcome.carried(outcome.link("tor 0", "host 0")), bytes(1'000 * 64));
  Bytes acked{0};
  for (const metrics::FlowSample& sample : outcome.told.flow_samples) acked += sample.acked;
  EXPECT_EQ(acked, packets(1'000));
}

// A host's own link is a link like any other.
TEST(Samples, TellWhatHostsPutOnTheWire) {
  SimConfig config = cluster(1, 2, 1);
  config.record.interval = ms(1);
  config.record.links = true;
  const Outcome outcome = run(config, {flow(0, 1, packets(10))});
  EXPECT_EQ(outcome.carried(outcome.link("host 0", "tor 0")), 10 * bytes(4'160));
  EXPECT_EQ(outcome.carried(outcome.link("host 1", "tor 0")), 10 * bytes(64));
}

// A sample tells what happened up to its time, to the packet: the switch puts packet k on the wire
// to the receiver until (k + 2) x s + one latency.
TEST(Samples, EndAtTheirInstant) {
  SimConfig config = cluster(1, 2, 1);
  config.record.interval = ps(3'333'333);
  config.record.links = true;
  const Outcome outcome = run(config, {flow(0, 1, packets(1'000))});
  const std::uint32_t link = outcome.link("tor 0", "host 1");
  std::int64_t before = 0;
  for (std::int64_t i = 1; i <= 20; ++i) {
    const Picoseconds until = i * ps(3'333'333) - kLatency - kData;
    const std::int64_t packets_by_then = until < kData ? 0 : (until.value - 1) / kData.value;
    ASSERT_EQ(outcome.carried(link, at((i - 1) * ps(3'333'333)), at(i * ps(3'333'333))),
              bytes((packets_by_then - before) * 4'160))
        << i;
    before = packets_by_then;
  }
}

// Eight senders bring a last hop eight times what it can carry: what arrives shows, what is carried
// cannot. All that arrives is carried or dropped in the end; SACKs are no data.
TEST(Samples, ArrivalsAreWhatCameToTheQueue) {
  SimConfig config = cluster(1, 9, 1);
  config.switches.queue_limit = bytes(100 * 4'160);
  config.record.interval = us(5);
  config.record.links = true;
  workload::Flows flows;
  for (std::uint32_t i = 0; i < 8; ++i) flows.push_back(flow(i, 8, packets(200)));
  const Outcome outcome = run(config, flows);
  const std::uint32_t last_hop = outcome.link("tor 0", "host 8");
  const std::uint32_t back = outcome.link("tor 0", "host 0");
  Bytes peak{0};
  std::uint64_t drops = 0;
  std::uint64_t probes = 0;
  for (const metrics::LinkSample& sample : outcome.told.link_samples) {
    if (sample.link != last_hop) continue;
    peak = std::max(peak, sample.arrived);
    drops += sample.drops;
    EXPECT_LE(sample.carried, bytes(250'000 + 4'160)) << sample.time.ps;
  }
  // 8 x 50 bytes per ns, once the first microsecond's way is behind them.
  EXPECT_GT(peak, bytes(8 * 50 * 3'000));
  EXPECT_GT(drops, 0u);
  Bytes sent{0};
  for (std::uint32_t i = 0; i < 8; ++i) {
    sent += outcome.flow(i).packets * bytes(4'160) + outcome.flow(i).probes * bytes(64);
    probes += outcome.flow(i).probes;
  }
  EXPECT_EQ(outcome.arrived(last_hop), sent);
  if (probes == 0) {
    EXPECT_EQ(outcome.carried(last_hop), sent - static_cast<std::int64_t>(drops) * bytes(4'160));
  }
  EXPECT_EQ(outcome.arrived(back), bytes(0));
  EXPECT_GT(outcome.carried(back), bytes(0));
  // A host's own link has no queue: what arrives is the data it sends.
  EXPECT_EQ(outcome.arrived(outcome.link("host 0", "tor 0")),
            outcome.flow(0).packets * bytes(4'160) + outcome.flow(0).probes * bytes(64));
  EXPECT_EQ(outcome.arrived(outcome.link("host 8", "tor 0")), bytes(0));
}

// The same behind a lossless switch, where nothing is dropped.
TEST(Samples, ArrivalsAtALosslessSwitch) {
  SimConfig config = roce_cluster(1, 5, 1);
  config.record.interval = us(5);
  config.record.links = true;
  workload::Flows flows;
  for (std::uint32_t i = 0; i < 4; ++i) flows.push_back(flow(i, 4, packets(200)));
  const Outcome outcome = run(config, flows);
  const std::uint32_t last_hop = outcome.link("tor 0", "host 4");
  EXPECT_EQ(outcome.arrived(last_hop), bytes(4 * 200 * 4'160));
  EXPECT_EQ(outcome.arrived(outcome.link("tor 0", "host 0")), bytes(0));
}

// Which links are told of, by the tier they belong to.
TEST(Samples, OfOneTier) {
  SimConfig config = cluster(2, 2, 2);
  config.record.interval = us(10);
  config.record.links = true;
  const workload::Flows flows{flow(0, 2, packets(20)), flow(3, 1, packets(20))};
  using Ends = std::pair<std::string, std::string>;  // without their numbers
  const auto kinds = [&](RecordTier tier) {
    config.record.tier = tier;
    const Outcome outcome = run(config, flows);
    std::set<Ends> found;
    for (const metrics::LinkSample& sample : outcome.told.link_samples) {
      const metrics::LinkInfo& link = outcome.links[sample.link];
      found.emplace(link.from.substr(0, link.from.find(' ')), link.to.substr(0, link.to.find(' ')));
    }
    return found;
  };
  const Ends up{"host", "tor"};
  const Ends down{"tor", "host"};
  const Ends rise{"tor", "spine"};
  const Ends fall{"spine", "tor"};
  EXPECT_EQ(kinds(RecordTier::all), (std::set<Ends>{up, down, rise, fall}));
  EXPECT_EQ(kinds(RecordTier::fabric), (std::set<Ends>{rise, fall}));
  EXPECT_EQ(kinds(RecordTier::host), (std::set<Ends>{up, down}));
  EXPECT_EQ(kinds(RecordTier::last_hop), (std::set<Ends>{down}));
}

// Links that are down when the run begins are known as such, in both directions; those that fail
// later are not.
TEST(Samples, LinksThatAreDown) {
  SimConfig config = cluster(2, 2, 2);
  Failure from_start;
  from_start.link = LinkRef{LinkRef::Tier::fabric, 1, 0};
  Failure later;
  later.link = LinkRef{LinkRef::Tier::fabric, 0, 1};
  later.from = at(us(1));
  config.failures.failures = {from_start, later};
  const Outcome outcome = run(config, {});
  for (const metrics::LinkInfo& link : outcome.links) {
    const bool is_it = (link.from == "tor 1" && link.to == "spine 0") ||
                       (link.from == "spine 0" && link.to == "tor 1");
    EXPECT_EQ(link.down, is_it) << link.from << " to " << link.to;
  }
}

// Only queues above the threshold are told of.
TEST(Samples, QueuesAboveAThreshold) {
  SimConfig config = cluster(1, 3, 1);
  config.record.interval = ms(1);
  config.record.queues = true;
  const workload::Flows flows{flow(0, 2, packets(8)), flow(1, 2, packets(8))};
  config.record.queue_threshold = bytes(9 * 4'160 - 1);
  const Outcome deep = run(config, flows);
  ASSERT_EQ(deep.told.link_samples.size(), 1u);
  EXPECT_EQ(deep.told.link_samples[0].link, deep.link("tor 0", "host 2"));
  EXPECT_EQ(deep.told.link_samples[0].queue_max, bytes(9 * 4'160));
  EXPECT_EQ(deep.told.link_samples[0].qdelay_max, 9 * kData);
  config.record.queue_threshold = bytes(9 * 4'160);
  EXPECT_EQ(run(config, flows).told.link_samples.size(), 0u);
}

// Links are told with their ends, rates and latencies; numbered without gaps.
TEST(Samples, LinksHaveNames) {
  SimConfig config = cluster(2, 2, 2);
  config.topology.fabric_rate = gbps(800);
  config.topology.fabric_latency = us(2);
  const Outcome outcome = run(config, {});
  ASSERT_EQ(outcome.links.size(), 16u);
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(outcome.links[i].link, i);
  const metrics::LinkInfo& up = outcome.links[outcome.link("tor 1", "spine 0")];
  EXPECT_EQ(up.rate, gbps(800));
  EXPECT_EQ(up.latency, us(2));
  const metrics::LinkInfo& host = outcome.links[outcome.link("host 3", "tor 1")];
  EXPECT_EQ(host.rate, gbps(400));
  EXPECT_EQ(host.latency, us(1));
}

// The last word on progress: all flows, all bytes, all hops.
TEST(Samples, ProgressAtTheEnd) {
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, packets(5)), flow(1, 2, packets(6))});
  EXPECT_EQ(outcome.told.last_progress.flows, 2u);
  EXPECT_EQ(outcome.told.last_progress.flows_done, 2u);
  EXPECT_EQ(outcome.told.last_progress.bytes, 11u * 4'096);
  EXPECT_EQ(outcome.told.last_progress.bytes_acked, 11u * 4'096);
  EXPECT_EQ(outcome.told.last_progress.packet_hops, 88u);
}

// ---- The engine ----

// Nothing to do is done at once.
TEST(Engine, NoFlows) {
  const Outcome outcome = run(cluster(2, 2, 2), {});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.counters.windows, 0u);
}

// Idle time is skipped: flows seconds apart (a million windows each) take a window per hop and a
// few for timers.
TEST(Engine, IdleTimeIsSkipped) {
  workload::Flows flows;
  for (std::int64_t i = 0; i < 10; ++i) flows.push_back(flow(0, 3, packets(1), at(seconds(3 * i))));
  const Outcome outcome = run(cluster(2, 2, 2), flows);
  EXPECT_EQ(outcome.finished(), 10u);
  EXPECT_LE(outcome.counters.windows, 10u * 24);
}

// The end comes first: the flow that is done by then is, the others are told as they stand.
TEST(Engine, EndIsHonoured) {
  SimConfig config = cluster(1, 4, 1);
  config.end = at(us(20));
  const Outcome outcome = run(config, {flow(0, 1, packets(1)), flow(2, 3, packets(1'000)),
                                       flow(1, 0, packets(1), at(us(30)))});
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  ASSERT_EQ(outcome.told.flows.size(), 3u);
  EXPECT_EQ(outcome.fct(0), kRackRtt);
  EXPECT_EQ(outcome.flow(1).end, Instant::never());
  EXPECT_GT(outcome.flow(1).packets, 0u);
  EXPECT_EQ(outcome.flow(2).end, Instant::never());
  EXPECT_EQ(outcome.flow(2).packets, 0u);
  EXPECT_EQ(outcome.flow(2).src, 1u);
  EXPECT_EQ(outcome.flow(2).dst, 0u);
}

// To the picosecond: a flow that would end just then is unfinished, one picosecond later it is
// done.
TEST(Engine, EndToThePicosecond) {
  SimConfig config = cluster(1, 2, 1);
  config.end = at(9 * kData + kRackRtt);
  const Outcome cut = run(config, {flow(0, 1, packets(10))});
  EXPECT_EQ(cut.ending, Ending::time_limit);
  EXPECT_EQ(cut.flow(0).end, Instant::never());
  config.end = config.end + ps(1);
  const Outcome whole = run(config, {flow(0, 1, packets(10))});
  EXPECT_EQ(whole.ending, Ending::finished);
  EXPECT_EQ(whole.fct(), 9 * kData + kRackRtt);
}

// A host that is cut off for ever: its flow goes on trying, so only the end ends it.
TEST(Engine, EndWithAHostCutOff) {
  SimConfig config = cluster(1, 2, 1);
  Failure failure;
  failure.link = LinkRef{LinkRef::Tier::host, 1, 0};
  config.failures.failures.push_back(failure);
  config.end = at(ms(100));
  const Outcome outcome = run(config, {flow(0, 1, packets(1))});
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  EXPECT_EQ(outcome.flow(0).end, Instant::never());
  EXPECT_GT(outcome.counters.timeouts, 5u);
  EXPECT_GT(outcome.counters.failure_drops, 5u);
}

// Asked to stop before it begins, it does nothing and says so.
TEST(Engine, StopIsHonouredAtOnce) {
  const std::atomic<bool> stop{true};
  const Outcome outcome = run(cluster(2, 2, 2), {flow(0, 3, packets(5))}, &stop);
  EXPECT_EQ(outcome.ending, Ending::interrupted);
  EXPECT_EQ(outcome.counters.windows, 0u);
  ASSERT_EQ(outcome.told.flows.size(), 1u);
  EXPECT_EQ(outcome.flow(0).end, Instant::never());
}

// Asked to stop on the way, it tells what is done and what is not, each flow once.
TEST(Engine, StopIsHonouredOnTheWay) {
  struct StopAtFirst : Recorder {
    std::atomic<bool> stop{false};
    void on_flow(const metrics::FlowRecord& record) override {
      Recorder::on_flow(record);
      stop = true;
    }
  };
  for (const std::uint32_t threads : {1u, 2u}) {
    SimConfig config = cluster(1, 4, 1);
    config.threads = threads;
    Simulation simulation(config, {flow(0, 1, packets(1)), flow(2, 3, packets(500))});
    StopAtFirst observer;
    EXPECT_EQ(simulation.run(observer, &observer.stop), Ending::interrupted);
    ASSERT_EQ(observer.flows.size(), 2u);
    EXPECT_EQ(observer.flows[0].end, at(kRackRtt));
    EXPECT_EQ(observer.flows[1].end, Instant::never());
  }
}

}  // namespace
}  // namespace strack::sim
