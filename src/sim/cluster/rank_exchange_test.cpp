// Several ranks, which are threads here: all that a run tells, and in which order, is what one process tells.
#include "sim/cluster/rank_exchange.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/engine/thread_ranks.h"
#include "sim/mpi/engine.h"
#include "sim/simulation.h"
#include "sim/testing.h"
#include "workload/collectives.h"

namespace strack::sim {
namespace {

using namespace testing;
using Tier = LinkRef::Tier;

/// One list of everything, across the kinds of event.
struct Listener : Observer {
  Digest all;
  std::uint64_t events = 0;
  void on_flow(const metrics::FlowRecord& record) override { all << ++events << record; }
  void on_job(const metrics::JobRecord& r) override {
    all << ++events << r.job << r.start << r.end << r.messages;
  }
  void on_link_sample(const metrics::LinkSample& sample) override { all << ++events << sample; }
  void on_flow_sample(const metrics::FlowSample& sample) override { all << ++events << sample; }
  void on_flow_event(const metrics::FlowEvent& event) override { all << ++events << event; }
  void on_progress(const Progress& p) override {
    all << ++events << p.now << p.flows_done << p.jobs_done << p.bytes_acked << p.packet_hops;
  }
};

struct Told {
  Ending ending = Ending::stalled;
  std::uint64_t hash = 0;
  std::uint64_t windows = 0;
  std::uint64_t digest = 0;
  friend bool operator==(const Told&, const Told&) = default;
};

Told told_by(Simulation& simulation, const std::atomic<bool>* stop = nullptr) {
  Listener listener;
  Told told;
  told.ending = simulation.run(listener, stop);
  const metrics::Counters counters = simulation.counters();
  told.hash = counters.hash;
  told.windows = counters.windows;
  told.digest = (listener.all << counters).value();
  return told;
}

/// What rank 0 tells; that the others end alike is seen to.
Told run_on(std::uint32_t ranks, const SimConfig& config, const workload::Workload& work) {
  Told first;
  std::vector<Ending> endings(ranks);
  run_ranks(ranks, [&](Ranks& here) {
    SimConfig own = config;
    own.ranks = &here;
    Simulation simulation(own, work);
    const Told told = told_by(simulation);
    endings[here.rank()] = told.ending;
    if (here.rank() == 0) first = told;
  });
  EXPECT_EQ(endings, std::vector<Ending>(ranks, first.ending));
  return first;
}

void expect_same(const SimConfig& config, const workload::Workload& work,
                 const std::vector<std::uint32_t>& ranks) {
  Simulation simulation(config, work);
  const Told alone = told_by(simulation);
  for (const std::uint32_t count : ranks) {
    const Told told = run_on(count, config, work);
    EXPECT_EQ(told.hash, alone.hash) << count;
    EXPECT_TRUE(told == alone) << count;
  }
}

workload::Workload permutation(std::uint32_t hosts, Bytes size) {
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) to[i] = i;
  Rng rng = Rng(5).stream("permutation");
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[rng.below(i)]);
  workload::Workload work;
  for (std::uint32_t i = 0; i < hosts; ++i)
    work.flows.push_back(flow(i, to[i], size, at(ns(10 * (i % 7)))));
  return work;
}

/// Marks, drops, losses, failures, samples and events: all that there is to tell.
SimConfig troubled() {
  SimConfig config = cluster(5, 4, 4);
  config.topology.fabric_latency = ns(1'700);
  config.transport = transport_for(config);
  config.switches.kmin = kb(40);
  config.switches.kmax = kb(160);
  config.switches.pmax = {1, 2};
  config.switches.queue_limit = kb(200);
  config.failures.convergence = us(10);
  config.failures.impairments.push_back({{Tier::fabric, 0, 3}, {1, 1}, {1, 50}, 0});
  config.failures.impairments.push_back({{Tier::fabric, 3, 1}, {1, 2}, {0, 1}, 1e-7});
  Failure link;
  link.link = LinkRef{Tier::fabric, 2, 2};
  link.from = at(us(5));
  link.until = at(us(30));
  config.failures.failures.push_back(link);
  Failure node;
  node.node = SwitchRef{SwitchRef::Tier::agg, 0};
  node.from = at(us(8));
  config.failures.failures.push_back(node);
  config.record.interval = us(10);
  config.record.queues = true;
  config.record.links = true;
  config.record.flows = 16;
  config.record.inspect = 8;
  return config;
}

// [D80] Nothing that a run tells depends on the number of ranks.
TEST(RankExchange, TwoTiersWithEveryTrouble) {
  expect_same(troubled(), permutation(20, kb(200)), {1, 2, 3, 5});
}

// [D111] Those who are cut off for good end a run at the same window on all ranks.
TEST(RankExchange, AllEndWhereNobodyGetsThrough) {
  SimConfig config = cluster(3, 2, 1);
  Failure cut;
  cut.link = LinkRef{Tier::fabric, 2, 0};
  cut.from = at(us(20));
  config.failures.failures.push_back(cut);
  const workload::Workload work{{flow(0, 4, packets(1'000)), flow(2, 0, packets(10))}, {}};
  expect_same(config, work, {2, 3});
  Simulation simulation(config, work);
  EXPECT_EQ(told_by(simulation).ending, Ending::stalled);
}

// [D80] Nor where each rank has several threads.
TEST(RankExchange, ThreadsInsideRanks) {
  SimConfig config = troubled();
  config.threads = 2;
  expect_same(config, permutation(20, kb(100)), {2});
}

// [D80] Switches that spray have an order to keep: then spines are on one rank, whole.
TEST(RankExchange, SprayingSwitches) {
  for (const Routing routing : {Routing::power_of_two, Routing::destination_rotation}) {
    SimConfig config = cluster(4, 2, 2);
    config.topology.links_per_spine = 2;
    config.switches.routing = routing;
    config.switches.queue_limit = kb(200);
    expect_same(config, permutation(8, kb(100)), {2, 4});
  }
}

// [D80] Three tiers with different latencies, so that packets are held over windows; whole pods on ranks, and pods
// that ranks share.
TEST(RankExchange, ThreeTiers) {
  SimConfig config = pods(4, 2);
  config.topology.core_latency = ps(3'300'000);
  config.topology.host_latency = ns(300);
  config.transport = transport_for(config);
  config.switches.kmin = kb(50);
  config.switches.kmax = kb(200);
  config.switches.queue_limit = kb(100);
  config.failures.impairments.push_back({{Tier::core, 3, 1}, {1, 1}, {1, 50}, 0});
  expect_same(config, permutation(16, kb(100)), {2, 3, 4, 8});
}

// [D80] Jobs, with a record of each message, whose moments are seen at different hosts.
TEST(RankExchange, JobsAndTheirMessages) {
  SimConfig config = cluster(4, 2, 2);
  config.record.messages = true;
  config.record.inspect = 3;
  workload::Workload work = permutation(8, kb(20));
  workload::CollectiveParams ring;
  ring.collective = workload::Collective::allreduce_ring;
  ring.ranks = 8;
  ring.size = kb(400);
  const auto graph =
      std::make_shared<const workload::Graph>(workload::make_collective(ring).value().graph);
  work.jobs.push_back({"ring", graph, {0, 1, 2, 3, 4, 5, 6, 7}, std::vector<Instant>(8)});
  expect_same(config, work, {2, 4});
}

// [D80] A run that ends before its flows do: what is unfinished is told in the same order.
TEST(RankExchange, TimeLimit) {
  SimConfig config = troubled();
  config.end = at(us(17));
  expect_same(config, permutation(20, kb(400)), {2, 4});
}

// Whoever is told to stop, all stop after the same window.
TEST(RankExchange, OneStopsAll) {
  const workload::Workload work = permutation(20, mb(50));
  std::vector<Ending> endings(3);
  run_ranks(3, [&](Ranks& here) {
    SimConfig own = cluster(5, 4, 4);
    own.ranks = &here;
    const std::atomic<bool> stop{here.rank() == 2};
    Simulation simulation(own, work);
    endings[here.rank()] = told_by(simulation, &stop).ending;
  });
  EXPECT_EQ(endings, std::vector<Ending>(3, Ending::interrupted));
}

// A rank that is gone ends the others' run.
TEST(RankExchange, ALostRankIsNoticed) {
  const workload::Workload work = permutation(8, mb(1));
  std::atomic<int> noticed{0};
  run_ranks(3, [&](Ranks& here) {
    if (here.rank() == 1) {
      here.abort();
      return;
    }
    SimConfig own = cluster(4, 2, 2);
    own.ranks = &here;
    Simulation simulation(own, work);
    try {
      told_by(simulation);
    } catch (const RankLost&) {
      ++noticed;
    }
  });
  EXPECT_EQ(noticed, 2);
}

// What ranks think of one thing.
TEST(RankExchange, Votes) {
  run_ranks(2, [](Ranks& here) {
    const bool first = here.rank() == 0;
    const Vote yes = vote(here, true, 7);
    EXPECT_TRUE(yes.all && yes.first && yes.same);
    const Vote divided = vote(here, first, 7);
    EXPECT_TRUE(!divided.all && divided.first && divided.same);
    const Vote different = vote(here, !first, first ? 7 : 8);
    EXPECT_TRUE(!different.all && !different.first && !different.same);
  });
}

// [D80] What ranks cannot share is refused, with what would work.
TEST(RankExchange, WhatIsRefused) {
  SimConfig config = cluster(4, 2, 2);
  EXPECT_FALSE(mpi_refuses(config, 4));
  EXPECT_EQ(
      mpi_refuses(config, 5).value_or(""),
      "there are 5 ranks for 4 racks, and a rack is on one of them. say mpirun -n 4, or fewer");
  config.pfc.enabled = true;
  EXPECT_FALSE(mpi_refuses(config, 1));
  EXPECT_EQ(mpi_refuses(config, 2).value_or("").substr(0, 40),
            "the MPI engine has no lossless switches.");
}

}  // namespace
}  // namespace strack::sim
