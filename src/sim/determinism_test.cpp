// The same bits on every run, for any number of threads and any compiler.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"
#include "sim/simulation.h"
#include "sim/testing.h"

namespace strack::sim {
namespace {

using namespace testing;
using Tier = LinkRef::Tier;

/// 128 hosts with queues that mark and drop, links that lose packets, some that fail, stragglers.
SimConfig troubled_cluster(std::uint64_t seed, std::uint32_t threads) {
  SimConfig config = cluster(8, 16, 8);  // 2:1 oversubscribed
  config.topology.fabric_latency = ns(1'700);
  config.transport = transport_for(config);
  config.seed = seed;
  config.threads = threads;
  config.switches.kmin = kb(80);
  config.switches.kmax = kb(320);
  config.switches.pmax = {1, 2};
  config.switches.queue_limit = kb(400);
  config.hosts.straggler_share = {1, 32};
  config.hosts.straggler_rate = {1, 3};
  config.failures.convergence = us(20);
  config.failures.impairments.push_back({{Tier::fabric, 0, 3}, {1, 1}, {1, 100}, 0});
  config.failures.impairments.push_back({{Tier::fabric, 5, 1}, {1, 2}, {0, 1}, 1e-7});
  config.failures.impairments.push_back({{Tier::host, 77, 0}, {1, 1}, {1, 200}, 0});
  Failure link;
  link.link = LinkRef{Tier::fabric, 2, 2};
  link.from = at(us(15));
  link.until = at(us(60));
  config.failures.failures.push_back(link);
  Failure node;
  node.node = SwitchRef{SwitchRef::Tier::agg, 6};
  node.from = at(us(25));
  config.failures.failures.push_back(node);
  config.record.interval = us(10);
  config.record.queues = true;
  config.record.links = true;
  config.record.flows = 16;
  config.record.inspect = 8;
  return config;
}

/// Everybody sends 400 KB to somebody and receives from somebody.
workload::Flows permutation(std::uint32_t hosts, std::uint64_t seed) {
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) to[i] = i;
  Rng rng = Rng(seed).stream("permutation");
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[rng.below(i)]);  // one cycle
  workload::Flows flows;
  for (std::uint32_t i = 0; i < hosts; ++i)
    flows.push_back(flow(i, to[i], kb(400), at(ns(10 * (i % 7)))));
  return flows;
}

Outcome troubled_run(std::uint64_t seed, std::uint32_t threads) {
  return run(troubled_cluster(seed, threads), permutation(128, 5));
}

/// Everything that the run told, in the order it did.
std::uint64_t digest(const Outcome& outcome) {
  Digest all;
  for (const metrics::FlowRecord& record : outcome.told.flows) all << record;
  all << outcome.counters;
  return all.value();
}

// The run is worth its name: it finishes, and on the way everything happens that can.
TEST(Determinism, TheRunHasEverything) {
  const Outcome outcome = troubled_run(1, 1);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.finished(), 128u);
  EXPECT_GT(outcome.counters.marks, 0u);
  EXPECT_GT(outcome.counters.queue_drops, 0u);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
  EXPECT_GT(outcome.counters.error_drops, 0u);
  EXPECT_GT(outcome.counters.retransmissions, 0u);
  EXPECT_GT(outcome.counters.probes, 0u);
}

// One, two, three and four threads give the same records, counters and fingerprint of every node.
TEST(Determinism, AnyNumberOfThreads) {
  const Outcome one = troubled_run(1, 1);
  for (const std::uint32_t threads : {2u, 3u, 4u}) {
    const Outcome many = troubled_run(1, threads);
    EXPECT_EQ(many.counters.hash, one.counters.hash) << threads;
    EXPECT_EQ(many.counters.windows, one.counters.windows) << threads;
    EXPECT_EQ(digest(many), digest(one)) << threads;
  }
}

// [D56] So do switches that spray, lossy and lossless, by each policy, while a link fails and mends.
TEST(Determinism, AnyNumberOfThreads_Spraying) {
  for (const bool lossless : {false, true}) {
    std::vector<std::uint64_t> hashes;
    for (const Routing routing :
         {Routing::ecmp, Routing::round_robin, Routing::power_of_two, Routing::drill,
          Routing::least_queue, Routing::destination_rotation}) {
      SimConfig config = cluster(4, 8, 4);
      config.switches.routing = routing;
      config.switches.kmin = kb(40);
      config.switches.kmax = kb(160);
      config.switches.queue_limit = kb(200);
      config.pfc.enabled = lossless;
      config.failures.convergence = us(5);
      Failure link;
      link.link = LinkRef{Tier::fabric, 1, 2};
      link.from = at(us(12));
      link.until = at(us(25));
      config.failures.failures.push_back(link);
      const workload::Flows flows = permutation(32, 5);
      const Outcome one = run(config, flows);
      EXPECT_EQ(one.finished(), 32u);
      config.threads = 3;
      const Outcome three = run(config, flows);
      EXPECT_EQ(three.counters.hash, one.counters.hash) << static_cast<int>(routing);
      EXPECT_EQ(digest(three), digest(one)) << static_cast<int>(routing);
      for (const std::uint64_t hash : hashes) EXPECT_NE(hash, one.counters.hash);
      hashes.push_back(one.counters.hash);
    }
  }
}

// The observer is told the same things in the same order, samples included.
TEST(Determinism, ObserverOrderForAnyNumberOfThreads) {
  /// One list of everything, across the kinds of event.
  struct Listener : Observer {
    Digest all;
    std::uint64_t events = 0;
    void on_flow(const metrics::FlowRecord& record) override { all << ++events << record; }
    void on_link_sample(const metrics::LinkSample& sample) override { all << ++events << sample; }
    void on_flow_sample(const metrics::FlowSample& sample) override { all << ++events << sample; }
    void on_flow_event(const metrics::FlowEvent& event) override { all << ++events << event; }
    void on_progress(const Progress& p) override {
      all << ++events << p.now << p.flows_done << p.bytes_acked << p.packet_hops;
    }
  };
  std::vector<std::uint64_t> digests;
  for (const std::uint32_t threads : {1u, 2u, 3u, 4u}) {
    Simulation simulation(troubled_cluster(1, threads), permutation(128, 5));
    Listener listener;
    simulation.run(listener);
    EXPECT_GT(listener.events, 1'000u);
    digests.push_back(listener.all.value());
  }
  EXPECT_EQ(digests, std::vector<std::uint64_t>(4, digests[0]));
}

// Flows are told in order of their end, and at one end in order of their number.
TEST(Determinism, FlowsInOrderOfTheirEnd) {
  const Outcome outcome = troubled_run(1, 2);
  for (std::size_t i = 1; i < outcome.told.flows.size(); ++i) {
    const metrics::FlowRecord& a = outcome.told.flows[i - 1];
    const metrics::FlowRecord& b = outcome.told.flows[i];
    EXPECT_TRUE(a.end < b.end || (a.end == b.end && a.flow < b.flow));
  }
}

// Sampling looks and does not touch.
TEST(Determinism, RecordingChangesNothing) {
  SimConfig silent = troubled_cluster(1, 1);
  silent.record = {};
  EXPECT_EQ(digest(run(silent, permutation(128, 5))), digest(troubled_run(1, 1)));
}

// Where the engine cuts time into windows does not show. Flows in a corner of the network where
// nobody else is make it cut elsewhere, and no other flow's record changes in any field.
TEST(Determinism, WindowsDoNotShow) {
  const auto records = [](Picoseconds step) {
    SimConfig config = troubled_cluster(1, 1);
    config.record = {};
    workload::Flows flows = permutation(112, 5);  // the last rack is idle
    for (std::int64_t i = 0; step > ps(0) && i < 200; ++i) {
      flows.push_back(flow(126, 127, bytes(1), at(ps(77) + i * step)));
    }
    const Outcome outcome = run(config, flows);
    std::vector<std::uint64_t> digests;
    for (std::uint32_t f = 0; f < 112; ++f)
      digests.push_back((Digest{} << outcome.flow(f)).value());
    return digests;
  };
  const std::vector<std::uint64_t> expected = records(ps(0));
  EXPECT_EQ(records(ps(123'457)), expected);
  EXPECT_EQ(records(ps(1'234'567)), expected);
}

// Three tiers, with different latencies, so that packets are held over windows.
TEST(Determinism, ThreeTiersForAnyNumberOfThreads) {
  const auto digest_of = [](std::uint32_t threads) {
    SimConfig config = pods(4, 4);
    config.topology.core_latency = ps(3'300'000);
    config.topology.host_latency = ns(300);
    config.transport = transport_for(config);
    config.switches.kmin = kb(50);
    config.switches.kmax = kb(200);
    config.switches.queue_limit = kb(400);
    config.failures.impairments.push_back({{Tier::core, 3, 1}, {1, 1}, {1, 50}, 0});
    config.threads = threads;
    const Outcome outcome = run(config, permutation(32, 9));
    EXPECT_EQ(outcome.finished(), 32u);
    return digest(outcome);
  };
  const std::uint64_t one = digest_of(1);
  for (const std::uint32_t threads : {2u, 3u, 4u}) EXPECT_EQ(digest_of(threads), one);
}

// One seed, one result.
TEST(Determinism, SameSeedSameResult) {
  EXPECT_EQ(digest(troubled_run(7, 1)), digest(troubled_run(7, 1)));
}

// Another seed is another run: other salts, other losses, other marks.
TEST(Determinism, OtherSeedOtherResult) {
  EXPECT_NE(digest(troubled_run(1, 1)), digest(troubled_run(2, 1)));
  EXPECT_NE(troubled_run(1, 1).counters.hash, troubled_run(2, 1).counters.hash);
}

// The very bits, the same from GCC and Clang, optimised or not. Whatever changes what the simulator
// computes (the protocol, the model, a random stream, an order) changes this value: then run this
// test, see that the change is meant, copy the value it prints, and say so under "Results" in
// CHANGELOG.md.
TEST(Determinism, TheVeryBits) { EXPECT_EQ(digest(troubled_run(1, 2)), 2259266449399727918u); }

}  // namespace
}  // namespace strack::sim
