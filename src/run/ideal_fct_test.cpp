#include "run/ideal_fct.h"

#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/base_rtt.h"
#include "sim/net/network_graph.h"
#include "sim/simulation.h"
#include "sim/transport.h"
#include "transports/strack/sim.h"
#include "workload/collectives.h"
#include "workload/iterate.h"

namespace strack::run {
namespace {

using workload::Flow;
using workload::Flows;

/// 4 racks of 4 hosts, 4 spines, 400 Gb/s and 1 us everywhere; packets of 4096 + 64 bytes.
sim::SimConfig small() {
  sim::SimConfig config;
  config.topology.racks = 4;
  config.topology.hosts_per_rack = 4;
  config.topology.spines = 4;
  config.topology.host_latency = us(1);
  config.topology.fabric_latency = us(1);
  config.topology.core_latency = us(1);
  const auto derived = sim::derive(config.topology, config.hosts, bytes(4096));
  config.transport = sim::make_transport<sim::StrackProtocol>(
      core::StrackParams::for_link(gbps(400), derived.base_rtt, bytes(4096)).value());
  config.switches.kmin = derived.bdp / 4;
  config.switches.kmax = 3 * derived.bdp / 4;
  config.switches.queue_limit = 5 * derived.bdp;
  return config;
}

Picoseconds base_rtt(const sim::SimConfig& config) {
  return sim::derive(config.topology, config.hosts, config.mtu()).base_rtt;
}

constexpr Bytes kSize = kib(4000);                             // 1000 packets
constexpr Picoseconds kWire = bytes(1000 * 4160) / gbps(400);  // M/B
constexpr Picoseconds kPacket = bytes(4160) / gbps(400);

// M/B + base RTT, with the packet that both contain counted once.
TEST(IdealFct, OneFlow) {
  const auto config = small();
  EXPECT_EQ(ideal_fct(config, {{0, 4, kSize, {}}}), kWire - kPacket + base_rtt(config));
}

TEST(IdealFct, OnePacketTakesABaseRtt) {
  const auto config = small();
  EXPECT_EQ(ideal_fct(config, {{0, 4, bytes(4096), {}}}), base_rtt(config));
}

TEST(IdealFct, ASmallMessageIsSerialisedFaster) {
  const auto config = small();
  EXPECT_EQ(ideal_fct(config, {{0, 4, bytes(96), {}}}),
            base_rtt(config) - 4 * (bytes(4000) / gbps(400)));
}

TEST(IdealFct, WithinARackTheWayIsShorter) {
  const auto config = small();
  EXPECT_EQ(ideal_fct(config, {{0, 1, kSize, {}}}),
            kWire - kPacket + 2 * (kPacket + us(1)) + 2 * (bytes(64) / gbps(400) + us(1)));
}

TEST(IdealFct, AFlowIsReadyWhenItStarts) {
  const auto config = small();
  EXPECT_EQ(ideal_fct(config, {{0, 4, kSize, at(ms(3))}}), ideal_fct(config, {{0, 4, kSize, {}}}));
}

TEST(IdealFct, PermutationOnFullBisectionIsAsOneFlow) {
  const auto config = small();
  Flows flows;
  for (std::uint32_t h = 0; h < 16; ++h) flows.push_back({h, (h + 4) % 16, kSize, {}});
  EXPECT_EQ(ideal_fct(config, flows), kWire - kPacket + base_rtt(config));
}

// kM/B + base RTT
TEST(IdealFct, IncastIsTheReceiversPort) {
  const auto config = small();
  Flows flows;
  for (std::uint32_t h = 4; h < 12; ++h) flows.push_back({h, 0, kSize, {}});
  EXPECT_EQ(ideal_fct(config, flows), 8 * kWire - kPacket + base_rtt(config));
}

TEST(IdealFct, OversubscriptionMultipliesWhatLeavesARack) {
  auto config = small();
  config.topology.spines = 1;  // 4:1
  Flows flows;
  for (std::uint32_t h = 0; h < 16; ++h) flows.push_back({h, (h + 4) % 16, kSize, {}});
  EXPECT_EQ(ideal_fct(config, flows), 4 * kWire - kPacket + base_rtt(config));

  Flows inside;
  for (std::uint32_t h = 0; h < 16; ++h) inside.push_back({h, h ^ 1, kSize, {}});
  EXPECT_LT(ideal_fct(config, inside), kWire + base_rtt(config));
}

// Two of four uplinks down for good: half the capacity, for that rack's whole traffic.
TEST(IdealFct, DeadAndSlowLinksCarryLess) {
  auto config = small();
  Flows flows;
  for (std::uint32_t h = 0; h < 4; ++h) flows.push_back({h, h + 4, kSize, {}});
  sim::Failure failure;
  failure.link = sim::LinkRef{sim::LinkRef::Tier::fabric, 1, 0};
  config.failures.failures.push_back(failure);
  failure.link->upper = 1;
  config.failures.failures.push_back(failure);
  EXPECT_EQ(ideal_fct(config, flows), 2 * kWire - kPacket + base_rtt(config));

  // One that mends is not counted: it could be up whenever it matters.
  config.failures.failures[1].until = at(us(10));
  EXPECT_LT(ideal_fct(config, flows), 2 * kWire);

  sim::Impairment half;
  half.link = *config.failures.failures[0].link;
  half.rate = {1, 2};
  auto slow = small();
  slow.failures.impairments.push_back(half);
  const Picoseconds at_rack = bytes(1000 * 4160) / gbps(1400);  // three and a half uplinks
  EXPECT_EQ(ideal_fct(slow, flows), 4 * at_rack - kPacket + base_rtt(slow));

  // Only the way down counts for what comes to the rack.
  slow.failures.impairments[0].way = sim::LinkWay::down;
  EXPECT_EQ(ideal_fct(slow, flows), 4 * at_rack - kPacket + base_rtt(slow));
  slow.failures.impairments[0].way = sim::LinkWay::up;
  EXPECT_EQ(ideal_fct(slow, flows), kWire - kPacket + base_rtt(slow));
}

TEST(IdealFct, ThreeTiersHaveLongerPathsAndPods) {
  auto config = small();
  config.topology.tiers = 3;
  config.topology.racks_per_pod = 2;
  config.topology.aggs_per_pod = 4;
  config.topology.cores_per_agg = 1;  // 2:1 above the pods
  EXPECT_EQ(ideal_fct(config, {{0, 8, kSize, {}}}), kWire - kPacket + base_rtt(config));
  Flows flows;
  for (std::uint32_t h = 0; h < 8; ++h) flows.push_back({h, h + 8, kSize, {}});
  EXPECT_EQ(ideal_fct(config, flows), 2 * kWire - kPacket + base_rtt(config));
}

// Two flows that do not overlap need not wait for each other; two that do, wait in part.
TEST(IdealFct, ArrivalsOverTimeShareOnlyWhileTheyOverlap) {
  const auto config = small();
  const Picoseconds alone = ideal_fct(config, {{0, 4, kSize, {}}});
  EXPECT_EQ(ideal_fct(config, {{0, 4, kSize, {}}, {0, 8, kSize, at(2 * kWire)}}), alone);
  EXPECT_EQ(ideal_fct(config, {{0, 8, kSize, at(kWire / 2)}, {0, 4, kSize, {}}}),
            alone + kWire / 2);
}

TEST(IdealFct, NothingToSendTakesNoTime) { EXPECT_EQ(ideal_fct(small(), {}), ps(0)); }

/// Keeps the last end.
struct Last : sim::Observer {
  Picoseconds fct{0};
  void on_flow(const metrics::FlowRecord& flow) override { fct = flow.end - flow.start; }
};

// A flow alone in the simulated network is as fast as physics allows, to the picosecond.
TEST(IdealFct, IsWhatTheSimulatorTakesForOneFlow) {
  const auto config = small();
  for (const Bytes size : {bytes(100), bytes(4096), bytes(40'960), kSize}) {
    const Flows flows{{0, 4, size, {}}};
    sim::Simulation simulation(config, flows);
    Last last;
    EXPECT_EQ(simulation.run(last), sim::Ending::finished);
    EXPECT_EQ(last.fct, ideal_fct(config, flows)) << size.count();
  }
}

// So it is when the last packet is short, in order behind the others; where it can overtake the only
// other packet on another path, that much sooner.
TEST(IdealFct, AShortLastPacketFollowsTheOthers) {
  const auto config = small();
  const Picoseconds rtt = base_rtt(config);
  const auto wire = [](std::int64_t n) { return bytes(n) / gbps(400); };
  EXPECT_EQ(ideal_fct(config, {{0, 4, bytes(10 * 4096 + 100), {}}}), 9 * kPacket + wire(164) + rtt);
  EXPECT_EQ(ideal_fct(config, {{0, 4, bytes(4096 + 100), {}}}), rtt);
}

// And no flow is faster than that: whatever its size, whoever else its host sends to.
TEST(IdealFct, IsWhatTheSimulatorCannotBeat) {
  struct Slowest : sim::Observer {
    Picoseconds fct{0};
    void on_flow(const metrics::FlowRecord& flow) override {
      fct = std::max(fct, flow.end - flow.start);
    }
  };
  const auto config = small();
  const auto run = [&config](const Flows& flows) {
    sim::Simulation simulation(config, flows);
    Slowest slowest;
    EXPECT_EQ(simulation.run(slowest), sim::Ending::finished);
    return slowest.fct;
  };
  for (const std::int64_t size :
       {1, 4'095, 4'097, 5'000, 6'500, 8'191, 8'193, 12'000, 41'000, 100'001}) {
    const Flows lone{{0, 4, bytes(size), {}}};
    EXPECT_GE(run(lone), ideal_fct(config, lone)) << size;
    if (size > 8'192) {
      EXPECT_EQ(run(lone), ideal_fct(config, lone)) << size;
    }
    const Flows inside{{0, 1, bytes(size), {}}};
    EXPECT_EQ(run(inside), ideal_fct(config, inside)) << size;
    Flows both = lone;
    both.push_back({0, 8, bytes(size), {}});
    EXPECT_GE(run(both), ideal_fct(config, both)) << size;
    EXPECT_LE(run(both), ideal_fct(config, both) + 4 * kPacket) << size;
  }
}

// --- Jobs

/// A collective whose ranks exchange blocks of kSize, one message each, on these hosts.
workload::Job job_of(workload::Collective collective, const std::vector<workload::HostId>& hosts,
                     std::uint32_t parallel = 0) {
  const auto ranks = static_cast<workload::Rank>(hosts.size());
  const bool whole = collective == workload::Collective::broadcast;
  const auto made = workload::make_collective({.collective = collective,
                                               .ranks = ranks,
                                               .size = whole ? kSize : ranks * kSize,
                                               .chunk = kSize,
                                               .parallel = parallel});
  EXPECT_TRUE(made) << made.error();
  return {"job", std::make_shared<const workload::Graph>(made.value().graph), hosts,
          std::vector<Instant>(ranks)};
}
Picoseconds ideal_of(const sim::SimConfig& config, const workload::Job& job) {
  return ideal_jobs(config, {job}).front();
}

/// What follows when a message's last byte has left its port: the last packet's way, within a rack and
/// between two; and an acknowledgement's way.
constexpr Picoseconds kWord = bytes(64) / gbps(400);
constexpr Picoseconds kNear = kPacket + us(2);
constexpr Picoseconds kFar = 3 * kPacket + us(4);
constexpr Picoseconds kNearAck = 2 * kWord + us(2);
constexpr Picoseconds kFarAck = 4 * kWord + us(4);

/// A job of a hand-made graph.
workload::Job job_of(workload::GraphBuilder& builder, const std::vector<workload::HostId>& hosts) {
  auto built = builder.build();
  EXPECT_TRUE(built.ok());
  return {"job", std::make_shared<const workload::Graph>(built.value()), hosts,
          std::vector<Instant>(hosts.size())};
}

struct Jobs : sim::Observer {
  Picoseconds time{0};
  void on_job(const metrics::JobRecord& job) override { time = job.end - job.start; }
};
Picoseconds simulated(const sim::SimConfig& config, const workload::Job& job) {
  sim::Simulation simulation(config, workload::Workload{{}, {job}});
  Jobs jobs;
  EXPECT_EQ(simulation.run(jobs), sim::Ending::finished);
  return jobs.time;
}

TEST(IdealJobs, AChainIsTheSumOfItsLinks) {
  const auto config = small();
  workload::GraphBuilder builder(3);
  const auto there = builder.message(0, 1, kSize);
  const auto think = builder.compute(1, us(7));
  const auto on = builder.message(1, 2, kSize);
  builder.wait(think, there, workload::Moment::received);
  builder.wait(on, think, workload::Moment::sent);
  const auto after = builder.message(1, 0, bytes(96));
  builder.wait(after, on, workload::Moment::sent);
  const workload::Job job = job_of(builder, {0, 1, 4});
  const Picoseconds small_packet = bytes(160) / gbps(400);
  EXPECT_EQ(ideal_of(config, job),
            kWire + kNear + us(7) + kWire + kFar + kFarAck + 2 * small_packet + us(2) + kNearAck);
}

// Two messages leave one port, or arrive at one: one after the other. What has more behind it goes first.
TEST(IdealJobs, APortSendsOneThingAtATime) {
  const auto config = small();
  workload::GraphBuilder out(3);
  out.message(0, 1, kSize);
  out.message(0, 2, kSize);
  EXPECT_EQ(ideal_of(config, job_of(out, {0, 4, 8})), 2 * kWire + kFar + kFarAck);
  workload::GraphBuilder in(3);
  in.message(0, 2, kSize);
  in.message(1, 2, kSize);
  EXPECT_EQ(ideal_of(config, job_of(in, {0, 4, 8})), 2 * kWire + kFar + kFarAck);
  workload::GraphBuilder both(4);
  both.message(0, 1, kSize);
  const auto first = both.message(0, 2, kSize);
  both.wait(both.message(2, 3, kSize), first, workload::Moment::received);
  EXPECT_EQ(ideal_of(config, job_of(both, {0, 4, 8, 12})), 2 * (kWire + kFar) + kFarAck);
}

// A NIC's link that is slow one way slows what goes that way.
TEST(IdealJobs, SlowLinksCountTheirWay) {
  auto config = small();
  sim::Impairment quarter;
  quarter.link = {sim::LinkRef::Tier::host, 4, 0};
  quarter.rate = {1, 4};
  quarter.way = sim::LinkWay::up;
  config.failures.impairments = {quarter};
  workload::GraphBuilder builder(2);
  builder.message(0, 1, kSize);
  const workload::Job job = job_of(builder, {0, 4});
  EXPECT_EQ(ideal_of(config, job), kWire + kFar + kFarAck);
  config.failures.impairments[0].way = sim::LinkWay::down;
  EXPECT_GT(ideal_of(config, job), 4 * kWire);
}

// [D125] Who waits for two messages waits for its port to have carried both, before it goes on; whether they came ...
TEST(IdealJobs, WhatAJoinWaitsForCameThroughOnePort) {
  const auto config = small();
  workload::GraphBuilder in(4);
  const auto think = in.compute(2, us(7));
  for (const workload::Rank from : {0u, 1u})
    in.wait(think, in.message(from, 2, kSize), workload::Moment::received);
  in.wait(in.message(2, 3, kSize), think, workload::Moment::sent);
  EXPECT_EQ(ideal_of(config, job_of(in, {0, 4, 8, 12})),
            2 * kWire + kFar + us(7) + kWire + kFar + kFarAck);
  // ... or went and were acknowledged.
  workload::GraphBuilder out(3);
  const auto pause = out.compute(0, us(5));
  for (const workload::Rank to : {1u, 2u})
    out.wait(pause, out.message(0, to, kSize), workload::Moment::sent);
  out.wait(out.message(0, 1, kSize), pause, workload::Moment::sent);
  const workload::Job job = job_of(out, {0, 4, 8});
  EXPECT_EQ(ideal_of(config, job), 2 * kWire + kFar + kFarAck + us(5) + kWire + kFar + kFarAck);
  EXPECT_GE(simulated(config, job), ideal_of(config, job));
}

// [D125] What waits twice for the same message waits for one.
TEST(IdealJobs, AMessageComesOnce) {
  const auto config = small();
  workload::GraphBuilder builder(3);
  const auto there = builder.message(0, 1, kSize);
  const auto on = builder.message(1, 2, kSize);
  for (int i = 0; i < 3; ++i) builder.wait(on, there, workload::Moment::received);
  EXPECT_EQ(ideal_of(config, job_of(builder, {0, 4, 8})), 2 * (kWire + kFar) + kFarAck);
}

// [D125] Whichever of two messages comes last, three have to leave after it, one after the other.
TEST(IdealJobs, WhatFollowsLeavesByOnePort) {
  const auto config = small();
  workload::GraphBuilder builder(9);
  for (const workload::Rank middle : {1u, 2u}) {
    const auto there = builder.message(0, middle, kSize);
    for (workload::Rank i = 0; i < 3; ++i)
      builder.wait(builder.message(middle, 3 * middle + i, kSize), there,
                   workload::Moment::received);
  }
  const workload::Job job = job_of(builder, {0, 4, 8, 1, 9, 12, 2, 5, 13});
  EXPECT_EQ(ideal_of(config, job), 5 * kWire + 2 * kFar + kFarAck);
  EXPECT_GE(simulated(config, job), ideal_of(config, job));
}

// [D125] An iteration begins when all of the one before is sent and received, and the computation is over.
TEST(IdealJobs, IterationsAddUp) {
  const auto config = small();
  for (const workload::Collective collective :
       {workload::Collective::alltoall, workload::Collective::allreduce_ring}) {
    const workload::Job once = job_of(collective, {0, 4, 8, 12});
    workload::Job often = once;
    often.graph =
        std::make_shared<const workload::Graph>(workload::iterate(*once.graph, 3, us(20)));
    EXPECT_EQ(ideal_of(config, often), 3 * ideal_of(config, once) + 2 * us(20));
  }
}

// What waits for latency waits, though the port has time: the last of two chunks on the last of two hops.
TEST(IdealJobs, PortsCountBehindChainsToo) {
  const auto config = small();
  workload::GraphBuilder builder(3);
  for (int chunk = 0; chunk < 2; ++chunk) {
    const auto there = builder.message(0, 1, bytes(4096));
    builder.wait(builder.message(1, 2, bytes(4096)), there, workload::Moment::received);
  }
  EXPECT_EQ(ideal_of(config, job_of(builder, {0, 4, 8})), 3 * kPacket + 2 * kFar + kFarAck);
}

// Ranks that begin later, and times of their own.
TEST(IdealJobs, TimesAreKept) {
  const auto config = small();
  workload::GraphBuilder builder(3);
  builder.message(0, 2, bytes(4096));
  builder.not_before(builder.message(1, 2, bytes(4096)), us(30));
  workload::Job job = job_of(builder, {0, 4, 8});
  EXPECT_EQ(ideal_of(config, job), us(30) + base_rtt(config));
  job.starts = {at(us(10)), at(us(10)), at(us(10))};
  EXPECT_EQ(ideal_of(config, job), us(30) + base_rtt(config));
  job.starts = {at(us(10)), at(us(15)), at(us(10))};
  EXPECT_EQ(ideal_of(config, job), us(35) + base_rtt(config));
}

// N - 1 blocks to reduce and N - 1 to gather, each passed on when it is there.
TEST(IdealJobs, ARingIsItsChain) {
  const auto config = small();
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 4, 8, 12})),
            6 * (kWire + kFar) + kFarAck);
  // In one rack the way is shorter.
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 1, 2, 3})),
            6 * (kWire + kNear) + kNearAck);
}

// In chunks, the port never waits: the next chunk is there before the last has left.
TEST(IdealJobs, ARingInChunksIsItsBusiestPort) {
  const auto config = small();
  const auto made = workload::make_collective({.collective = workload::Collective::allreduce_ring,
                                               .ranks = 4,
                                               .size = 4 * kSize,
                                               .chunk = bytes(4096 * 10)});
  const workload::Job job{"job",
                          std::make_shared<const workload::Graph>(made.value().graph),
                          {0, 4, 8, 12},
                          std::vector<Instant>(4)};
  EXPECT_EQ(ideal_of(config, job), 6 * kWire + kFar + kFarAck);
}

TEST(IdealJobs, AllToAllSendsABlockToEveryOther) {
  const auto config = small();
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::alltoall, {0, 4, 8, 12})),
            3 * kWire - kPacket + base_rtt(config));
}

// A word without bytes is a header on the wire: who has received one block asks for the next.
TEST(IdealJobs, WordsCountWithTheirHeaders) {
  const auto config = small();
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::alltoall, {0, 4, 8}, 1)),
            2 * (kWire + kFar) + (4 * kWord + us(4)) + kFarAck);
}

// Two of four ranks in each rack, and every message leaves its rack: through one uplink, or two.
TEST(IdealJobs, OversubscribedRacksAreBusierThanPorts) {
  auto config = small();
  const workload::Job job = job_of(workload::Collective::allreduce_ring, {0, 4, 1, 5});
  config.topology.spines = 1;
  EXPECT_EQ(ideal_of(config, job), 12 * kWire - kPacket + base_rtt(config));
  config.topology.spines = 2;
  EXPECT_EQ(ideal_of(config, job), 6 * (kWire + kFar) + kFarAck);
  // Neighbours next to each other: every other way is short.
  config.topology.spines = 1;
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 1, 4, 5})),
            6 * kWire + 3 * kNear + 3 * kFar + kFarAck);
}

// One job's traffic is not another's limit.
TEST(IdealJobs, EachIsOnItsOwn) {
  auto config = small();
  config.topology.spines = 1;
  const workload::Job near = job_of(workload::Collective::allreduce_ring, {0, 1, 2});
  workload::Job far = near;
  far.hosts = {3, 4, 8};
  const std::vector<Picoseconds> both = ideal_jobs(config, {near, far});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0], ideal_of(config, near));
  EXPECT_EQ(both[1], ideal_of(config, far));
  EXPECT_LT(both[0], both[1]);
  EXPECT_TRUE(ideal_jobs(config, {}).empty());
}

// A job of one message is a flow; one of many cannot beat its limit, and a ring alone reaches it.
TEST(IdealJobs, IsWhatTheSimulatorCannotBeat) {
  const auto config = small();
  const workload::Job one = job_of(workload::Collective::broadcast, {0, 4});
  EXPECT_EQ(simulated(config, one), ideal_of(config, one));
  EXPECT_EQ(simulated(config, one), ideal_fct(config, {{0, 4, kSize, {}}}));
  const workload::Job ring = job_of(workload::Collective::allreduce_ring, {0, 4, 8, 12});
  EXPECT_GE(simulated(config, ring), ideal_of(config, ring));
  EXPECT_LT(simulated(config, ring), 103 * ideal_of(config, ring) / 100);
}

/// Within a hundredth of it.
void expect_near(Picoseconds time, Picoseconds formula, const char* what) {
  EXPECT_GE(time, 99 * formula / 100) << what;
  EXPECT_LE(time, 101 * formula / 100) << what;
}

// On one switch, where nothing stands in anyone's way, collectives take what is known of them: so many
// steps, each a block on the wire and the way to the next; a pipeline fills once. Who sends and
// receives at the same time has the acknowledgements of what comes on the wire beside what goes.
TEST(IdealJobs, CollectivesTakeWhatTheirFormulasSay) {
  using workload::Collective;
  const auto config = small();
  const std::vector<workload::HostId> rack{0, 1, 2, 3};
  const auto time = [&](Collective collective) {
    const workload::Job job = job_of(collective, rack);
    const Picoseconds taken = simulated(config, job);
    EXPECT_GE(taken, ideal_of(config, job));
    return taken;
  };
  constexpr Picoseconds kBoth = bytes(1000 * (4160 + 64)) / gbps(400);
  expect_near(time(Collective::allreduce_ring), 6 * (kBoth + kNear) + kNearAck, "ring");
  expect_near(time(Collective::allgather), 3 * (kBoth + kNear) + kNearAck, "allgather");
  expect_near(time(Collective::reduce_scatter), 3 * (kBoth + kNear) + kNearAck, "reduce-scatter");
  expect_near(time(Collective::alltoall), 3 * kBoth + kNear + kNearAck, "alltoall");
  expect_near(time(Collective::broadcast), 3 * (kWire + kNear) + kNearAck, "broadcast");

  // Half of the buffer, a quarter; a quarter, half.
  const auto halving =
      workload::make_collective({.collective = Collective::allreduce_halving_doubling,
                                 .ranks = 4,
                                 .size = 4 * kSize,
                                 .chunk = 4 * kSize});
  const workload::Job hd{"hd", std::make_shared<const workload::Graph>(halving.value().graph), rack,
                         std::vector<Instant>(4)};
  expect_near(simulated(config, hd), 6 * kBoth + 4 * kNear + kNearAck, "halving-doubling");

  // Ten chunks down a chain of four.
  const auto chain = workload::make_collective(
      {.collective = Collective::broadcast, .ranks = 4, .size = 10 * kSize, .chunk = kSize});
  const workload::Job pipeline{"chain",
                               std::make_shared<const workload::Graph>(chain.value().graph), rack,
                               std::vector<Instant>(4)};
  expect_near(simulated(config, pipeline), 12 * kBoth + 3 * kNear + kNearAck, "pipeline");
  EXPECT_EQ(ideal_of(config, pipeline), 12 * kWire + 3 * kNear + kNearAck);
}

// Double binary trees, a block in each: on every level a rank takes from two, or gives to two, by one port, but for the
// roots, which have one child. With 2^k ranks that is k - 1 levels of two and one of one, up and down.
TEST(IdealJobs, DoubleBinaryTreesTakeWhatTheirFormulaSays) {
  auto config = small();
  config.topology.hosts_per_rack = 8;
  for (const workload::Rank ranks : {4u, 8u}) {
    const auto made =
        workload::make_collective({.collective = workload::Collective::allreduce_double_binary_tree,
                                   .ranks = ranks,
                                   .size = 2 * kSize,
                                   .chunk = kSize});
    std::vector<workload::HostId> hosts(ranks);
    std::iota(hosts.begin(), hosts.end(), 0);
    const workload::Job job{"trees", std::make_shared<const workload::Graph>(made.value().graph),
                            hosts, std::vector<Instant>(ranks)};
    const int levels = ranks == 4 ? 2 : 3;
    const Picoseconds formula = (4 * levels - 2) * kWire + 2 * levels * kNear + kNearAck;
    EXPECT_EQ(ideal_of(config, job), formula);
    expect_near(simulated(config, job), formula, "trees");
  }
}

// [D90] Inside a server a message takes its bytes and the latency, whatever the network does.
TEST(IdealFct, InsideAServer) {
  sim::SimConfig config = small();
  config.topology.nics_per_server = 2;  // hosts 0 and 4 are one server
  config.topology.server_rate = gbps(3'200);
  config.topology.server_latency = us(2);
  EXPECT_EQ(ideal_fct(config, {{0, 4, mb(4), {}}}), us(12));
  EXPECT_GT(ideal_fct(config, {{0, 5, mb(4), {}}}), us(80));
}

// What a NIC's GPU sends its fellows goes through one port, one message after the other, however slow that is.
TEST(IdealJobs, InsideAServerMessagesQueue) {
  sim::SimConfig config = small();
  config.topology.nics_per_server = 2;  // hosts 0 and 4 are one server
  config.topology.server_rate = gbps(1);
  config.topology.server_latency = us(2);
  workload::GraphBuilder builder(2);
  builder.message(0, 1, kb(100));
  builder.message(0, 1, kb(25), true);
  const workload::Job job = job_of(builder, {0, 4});
  EXPECT_EQ(ideal_of(config, job), us(1'000) + us(2));
  EXPECT_GE(simulated(config, job), ideal_of(config, job));
}

// In a graph: the way there and back, and what the slower host's own link takes.
TEST(IdealFct, InAGraph) {
  sim::NetworkGraph graph;
  graph.hosts = {"a", "b"};
  graph.switches = {"s", "t"};
  graph.links = {{0, 2, gbps(400), us(1), "a-s"},
                 {1, 3, gbps(100), us(2), "b-t"},
                 {2, 3, gbps(400), us(1), "s-t"}};
  graph.host_links = {0, 1};
  sim::SimConfig config = small();
  config.topology.racks = 2;
  config.topology.hosts_per_rack = 1;
  config.topology.graph = std::make_shared<const sim::NetworkGraph>(graph);
  const auto trip = [](std::int64_t size) {
    return 2 * (bytes(size) / gbps(400) + us(1)) + bytes(size) / gbps(100) + us(2);
  };
  EXPECT_EQ(ideal_fct(config, {{0, 1, bytes(4'096), {}}}), trip(4'160) + trip(64));
  // Ten packets through the slow port, once the first is there.
  EXPECT_EQ(ideal_fct(config, {{0, 1, bytes(40'960), {}}}),
            trip(4'160) + 9 * (bytes(4'160) / gbps(100)) + trip(64));
  // Of any size: between the smallest and the largest packet no more than rounding is lost.
  const Picoseconds ideal = ideal_fct(config, {{0, 1, bytes(1'001), {}}});
  EXPECT_LE(ideal, trip(1'065) + trip(64));
  EXPECT_GE(ideal, trip(1'065) + trip(64) - ps(200));
}

// [D101] The direct link is slow, the way around it has more links: once something breaks, packets may take it.
TEST(IdealFct, ADetourMayBeFasterThanTheShortestPath) {
  sim::NetworkGraph graph;
  graph.hosts = {"a", "b"};
  graph.switches = {"s", "t", "u"};
  graph.links = {{0, 2, gbps(400), us(1), "a-s"},
                 {1, 3, gbps(400), us(1), "b-t"},
                 {2, 3, gbps(400), us(50), "s-t"},
                 {2, 4, gbps(400), us(1), "s-u"},
                 {4, 3, gbps(400), us(1), "u-t"}};
  graph.host_links = {0, 1};
  sim::SimConfig config = small();
  config.topology.racks = 2;
  config.topology.hosts_per_rack = 1;
  config.topology.graph = std::make_shared<const sim::NetworkGraph>(graph);
  const Flows flows{{0, 1, bytes(4'096), {}}};
  const auto links = [](std::int64_t size, int count) {
    return count * (bytes(size) / gbps(400) + us(1));
  };
  EXPECT_EQ(ideal_fct(config, flows), links(4'160, 3) + links(64, 3) + 2 * us(49));
  sim::Failure failure;
  failure.link = sim::LinkRef{sim::LinkRef::Tier::fabric, 2, 0};
  config.failures.failures.push_back(failure);
  EXPECT_EQ(ideal_fct(config, flows), links(4'160, 4) + links(64, 4));
  sim::Simulation simulation(config, flows);
  Last last;
  EXPECT_EQ(simulation.run(last), sim::Ending::finished);
  EXPECT_EQ(last.fct, ideal_fct(config, flows));
}

}  // namespace
}  // namespace strack::run
