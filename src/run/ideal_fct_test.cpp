#include "run/ideal_fct.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/base_rtt.h"
#include "sim/simulation.h"
#include "sim/transport.h"
#include "transports/strack/sim.h"
#include "workload/collectives.h"

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

// N - 1 blocks to reduce and N - 1 to gather, through every port.
TEST(IdealJobs, ARingIsItsBusiestPort) {
  const auto config = small();
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 4, 8, 12})),
            6 * kWire - kPacket + base_rtt(config));
  // In one rack the way is shorter.
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 1, 2, 3})),
            6 * kWire - kPacket + 2 * (kPacket + us(1)) + 2 * (bytes(64) / gbps(400) + us(1)));
}

TEST(IdealJobs, AllToAllSendsABlockToEveryOther) {
  const auto config = small();
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::alltoall, {0, 4, 8, 12})),
            3 * kWire - kPacket + base_rtt(config));
}

// A word without bytes is a header on the wire, and the shortest way that anything takes.
TEST(IdealJobs, WordsCountWithTheirHeaders) {
  const auto config = small();
  const Picoseconds word = bytes(64) / gbps(400);
  const Picoseconds rtt =
      sim::base_rtt(config.topology, config.hosts, bytes(0), sim::Reach::fabric);
  EXPECT_EQ(rtt, 8 * word + us(8));
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::alltoall, {0, 4, 8}, 1)),
            2 * kWire + word + rtt - word);
}

// Two of four ranks in each rack, and every message leaves its rack: through one uplink, or two.
TEST(IdealJobs, OversubscribedRacksAreBusierThanPorts) {
  auto config = small();
  const workload::Job job = job_of(workload::Collective::allreduce_ring, {0, 4, 1, 5});
  config.topology.spines = 1;
  EXPECT_EQ(ideal_of(config, job), 12 * kWire - kPacket + base_rtt(config));
  config.topology.spines = 2;
  EXPECT_EQ(ideal_of(config, job), 6 * kWire - kPacket + base_rtt(config));
  // Neighbours next to each other: one message leaves each rack at a time.
  config.topology.spines = 1;
  EXPECT_EQ(ideal_of(config, job_of(workload::Collective::allreduce_ring, {0, 1, 4, 5})),
            6 * kWire - kPacket + base_rtt(config));
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

// A job of one message is a flow; one of many cannot beat its limit.
TEST(IdealJobs, IsWhatTheSimulatorCannotBeat) {
  struct Jobs : sim::Observer {
    Picoseconds time{0};
    void on_job(const metrics::JobRecord& job) override { time = job.end - job.start; }
  };
  const auto config = small();
  const auto run = [&config](const workload::Job& job) {
    sim::Simulation simulation(config, workload::Workload{{}, {job}});
    Jobs jobs;
    EXPECT_EQ(simulation.run(jobs), sim::Ending::finished);
    return jobs.time;
  };
  const workload::Job one = job_of(workload::Collective::broadcast, {0, 4});
  EXPECT_EQ(run(one), ideal_of(config, one));
  EXPECT_EQ(run(one), ideal_fct(config, {{0, 4, kSize, {}}}));
  const workload::Job ring = job_of(workload::Collective::allreduce_ring, {0, 4, 8, 12});
  EXPECT_GE(run(ring), ideal_of(config, ring));
  EXPECT_LT(run(ring), 2 * ideal_of(config, ring));
}

}  // namespace
}  // namespace strack::run
