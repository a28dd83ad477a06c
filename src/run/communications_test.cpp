// What a training step's collectives take, in the simulator: as their formulas say where nothing stands in
// their way.
#include "run/communications.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/simulation.h"
#include "sim/transport.h"
#include "transports/strack/sim.h"
#include "workload/chain.h"
#include "workload/iterate.h"
#include "workload/training.h"

namespace strack::run {
namespace {

/// One rack of so many hosts, 400 Gb/s and 1 us; packets of 4096 + 64 bytes.
sim::SimConfig one_switch(std::uint32_t hosts) {
  sim::SimConfig config;
  config.topology.racks = 2;
  config.topology.hosts_per_rack = hosts;
  config.topology.spines = hosts;
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

struct Step : sim::Observer {
  explicit Step(const std::vector<workload::Job>& jobs) : communications(jobs) {}

  void on_mark(const metrics::JobMark& mark) override {
    if (auto done = communications.take(mark)) records[done->name].push_back(*done);
  }
  void on_job(const metrics::JobRecord& job) override { time = job.end - job.start; }

  Communications communications;
  std::map<std::string, std::vector<metrics::CommunicationRecord>> records;
  Picoseconds time{0};
};

struct Ran {
  std::map<std::string, std::vector<metrics::CommunicationRecord>> records;
  Picoseconds time{0};
  Picoseconds computation{0};
};
Ran run(const workload::TrainingParams& p, std::uint32_t iterations = 1) {
  workload::Graph graph = workload::make_training(p);
  if (iterations > 1) graph = workload::iterate(graph, iterations, us(10));
  std::vector<workload::HostId> hosts;
  for (workload::HostId host = 0; host < graph.ranks(); ++host) hosts.push_back(host);
  const std::vector<workload::Job> jobs{{"step", std::make_shared<const workload::Graph>(graph),
                                         hosts, std::vector<Instant>(hosts.size())}};
  sim::Simulation simulation(one_switch(graph.ranks()), workload::Workload{{}, jobs});
  Step step(jobs);
  EXPECT_EQ(simulation.run(step), sim::Ending::finished);
  return {step.records, step.time, workload::computation_time(graph)};
}

workload::TrainingParams small() {
  workload::TrainingParams p;
  p.model = {.layers = 2,
             .hidden = 1'024,
             .ffn = 1'024,
             .heads = 4,
             .kv_heads = 4,
             .vocab = 1'024,
             .sequence = 1'024,
             .gated = false,
             .experts = 1,
             .top_k = 1};
  p.bucket = mb(1'000);
  p.chunk = mb(1'000);
  return p;
}

constexpr Picoseconds kNear = bytes(4160) / gbps(400) + us(2);
constexpr Picoseconds kNearAck = 2 * (bytes(64) / gbps(400)) + us(2);

/// On the wire, with the acknowledgements of as much that comes the other way, or without.
Picoseconds wire(Bytes size, bool both_ways) {
  return size.count() * bytes(4160 + (both_ways ? 64 : 0)) / 4096 / gbps(400);
}
void expect_near(Picoseconds time, Picoseconds formula) {
  EXPECT_GE(time, 99 * formula / 100);
  EXPECT_LE(time, 101 * formula / 100);
}

// 2 (n - 1) steps, each a block on the wire and the way to the next.
TEST(Communications, GradientsTakeWhatARingTakes) {
  workload::TrainingParams p = small();
  p.dp = 4;
  const Ran ran = run(p);
  const auto& all = ran.records.at("gradients, allreduce");
  ASSERT_EQ(all.size(), 1u);
  const Bytes block = bytes(2 * workload::stage_cost(p, 0).dense_weights / 4);
  expect_near(all[0].end - all[0].begin, 6 * (wire(block, true) + kNear) + kNearAck);
  EXPECT_EQ(all[0].ranks, 4u);
  EXPECT_EQ(all[0].begin, all[0].first_begin);  // all compute as long
  // One bucket begins when the backward pass is over: nothing is hidden.
  EXPECT_EQ(all[0].begin - Instant{}, ran.computation);
  EXPECT_EQ(ran.time, all[0].end - Instant{});
}

// [D86] In buckets, all but the last are reduced while the backward pass goes on.
TEST(Communications, BucketsHideBehindTheBackwardPass) {
  workload::TrainingParams p = small();
  p.dp = 4;
  p.tflops = {20, 1};  // longer than its gradients
  p.bucket = bytes((2 * workload::stage_cost(p, 0).dense_weights + 9) / 10);
  const Ran ran = run(p);
  const auto& all = ran.records.at("gradients, allreduce");
  ASSERT_EQ(all.size(), 10u);
  expect_near(all[9].end - all[9].begin, 6 * (wire(p.bucket / 4, true) + kNear) + kNearAck);
  EXPECT_EQ(ran.time, ran.computation + (all[9].end - all[9].begin));
}

TEST(Communications, ZeroOneIsTheTwoHalves) {
  workload::TrainingParams p = small();
  p.dp = 4;
  p.zero = 1;
  const Ran ran = run(p);
  const Bytes block = bytes(2 * workload::stage_cost(p, 0).dense_weights / 4);
  for (const char* name : {"gradients, reduce-scatter", "weights, allgather"}) {
    const auto& all = ran.records.at(name);
    ASSERT_EQ(all.size(), 1u);
    expect_near(all[0].end - all[0].begin, 3 * (wire(block, true) + kNear) + kNearAck);
  }
}

// Activations of a microbatch, from one stage to the next: there, not acknowledged.
TEST(Communications, StagesHandOverActivations) {
  workload::TrainingParams p = small();
  p.pp = 2;
  p.microbatches = 2;
  const Ran ran = run(p);
  const auto& all = ran.records.at("activations to the next stage");
  ASSERT_EQ(all.size(), 2u);
  const Bytes size = bytes(1'024 * 1'024 * 2);
  EXPECT_EQ(all[0].bytes, size);
  expect_near(all[0].end - all[0].begin, wire(size, false) + kNear);
  EXPECT_EQ(ran.records.at("gradients to the stage before").size(), 2u);
}

// Each sends a block to every other at once; the busiest receives twice as much as others would.
TEST(Communications, ExpertsAreAsBusyAsTheBusiest) {
  workload::TrainingParams p = small();
  p.dp = 4;
  p.ep = 4;
  p.model.experts = 4;
  p.model.layers = 1;
  const Bytes tokens = bytes(1'024 * 1'024 * 2);
  const auto even = run(p).records.at("tokens to experts, alltoall");
  ASSERT_EQ(even.size(), 2u);
  expect_near(even[0].end - even[0].begin, 3 * wire(tokens / 4, true) + kNear + kNearAck);
  p.skew = {2, 1};
  const auto skewed = run(p).records.at("tokens to experts, alltoall");
  const Picoseconds busiest = 3 * wire(tokens / 2, false) + kNear + kNearAck;
  EXPECT_GE(skewed[0].end - skewed[0].begin, 99 * busiest / 100);
  EXPECT_LT(skewed[0].end - skewed[0].begin, 115 * busiest / 100);
}

// Steps one after the other: as many communications, and each of its own time.
TEST(Communications, EveryIterationHasItsOwn) {
  workload::TrainingParams p = small();
  p.dp = 2;
  const Ran once = run(p);
  const Ran thrice = run(p, 3);
  const auto& all = thrice.records.at("gradients, allreduce");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_LT(all[0].end, all[1].begin);
  EXPECT_LT(all[1].end, all[2].begin);
  EXPECT_EQ(all[0].end, once.records.at("gradients, allreduce")[0].end);
  EXPECT_GE(thrice.time, 3 * once.time);
}

}  // namespace
}  // namespace strack::run
