// Every event of some flows, as the observer is told of them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"
#include "workload/collectives.h"

namespace strack::sim {
namespace {

using namespace testing;
using metrics::EventKind;
using metrics::FlowEvent;
using metrics::LossCause;

/// The clock in packets ticks once per nanosecond.
constexpr Picoseconds kTick = ns(1);

/// Everybody from other racks to host 0, one after the other, with queues that mark and overflow.
SimConfig crowded(std::uint32_t inspect) {
  SimConfig config = cluster(4, 8, 4);
  config.switches.kmin = kb(100);
  config.switches.kmax = kb(300);
  config.switches.queue_limit = kb(600);
  config.record.inspect = inspect;
  return config;
}
workload::Flows incast(std::uint32_t senders, std::int64_t count) {
  workload::Flows flows;
  for (std::uint32_t i = 0; i < senders; ++i)
    flows.push_back(flow(8 + i, 0, packets(count), at(ns(i))));
  return flows;
}

std::vector<FlowEvent> events_of(const Outcome& outcome, std::uint32_t flow, EventKind kind) {
  std::vector<FlowEvent> some;
  for (const FlowEvent& event : outcome.told.events) {
    if (event.flow == flow && event.kind == kind) some.push_back(event);
  }
  return some;
}
std::size_t losses(const Outcome& outcome, std::uint32_t flow, LossCause cause) {
  const std::vector<FlowEvent> all = events_of(outcome, flow, EventKind::loss);
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [cause](const FlowEvent& e) { return e.cause == cause; }));
}
std::set<std::uint32_t> paths_of(const std::vector<FlowEvent>& events) {
  std::set<std::uint32_t> paths;
  for (const FlowEvent& event : events) paths.insert(event.path.value());
  return paths;
}
std::uint64_t digest(const Outcome& outcome) {
  Digest all;
  for (const FlowEvent& event : outcome.told.events) all << event;
  return all.value();
}

// One packet: sent, acknowledged one RTT later, and nothing else.
TEST(Inspect, OnePacket) {
  SimConfig config = cluster(1, 2, 1);
  config.record.inspect = 1;
  const Outcome outcome = run(config, {flow(0, 1, bytes(1'000), at(us(3)))});
  const Picoseconds rtt = 2 * (ps(1'064 * 20) + kLatency) + 2 * (kSack + kLatency);
  ASSERT_EQ(outcome.told.events.size(), 2u);
  const FlowEvent& sent = outcome.told.events[0];
  EXPECT_EQ(sent.time, at(us(3)));
  EXPECT_EQ(sent.flow, 0u);
  EXPECT_EQ(sent.kind, EventKind::sent);
  EXPECT_EQ(sent.psn, 0u);
  EXPECT_TRUE(sent.path.has_value());
  EXPECT_FALSE(sent.ecn || sent.rtt || sent.acked || sent.rate || sent.cause);
  EXPECT_EQ(sent.cwnd, strack_params(config).max_cwnd);
  EXPECT_EQ(sent.inflight, bytes(1'000));
  const FlowEvent& ack = outcome.told.events[1];
  EXPECT_EQ(ack.time, at(us(3) + rtt));
  EXPECT_EQ(ack.kind, EventKind::ack);
  EXPECT_EQ(ack.psn, 1u);
  EXPECT_EQ(ack.path, sent.path);
  EXPECT_EQ(ack.ecn, false);
  EXPECT_GT(ack.rtt.value(), rtt - kTick);
  EXPECT_LT(ack.rtt.value(), rtt + kTick);
  EXPECT_EQ(ack.acked, bytes(1'000));
  EXPECT_TRUE(ack.cwnd.has_value());
  EXPECT_EQ(ack.inflight, bytes(0));
  EXPECT_FALSE(ack.rate || ack.cause);
}

// What the events say adds up to what the flow's own row says.
TEST(Inspect, AddsUpToTheFlow) {
  const Outcome outcome = run(crowded(3), incast(8, 400));
  ASSERT_EQ(outcome.ending, Ending::finished);
  std::uint64_t resent_in_all = 0;
  for (std::uint32_t f = 0; f < 3; ++f) {
    const metrics::FlowRecord& record = outcome.flow(f);
    const auto sent = events_of(outcome, f, EventKind::sent);
    const auto resent = events_of(outcome, f, EventKind::resent);
    EXPECT_EQ(sent.size() + resent.size(), record.packets);
    EXPECT_EQ(resent.size(), record.retransmissions);
    EXPECT_EQ(events_of(outcome, f, EventKind::probe).size(), record.probes);
    EXPECT_EQ(losses(outcome, f, LossCause::timeout), record.timeouts);
    resent_in_all += resent.size();
    // New packets come in order, each once.
    for (std::uint32_t i = 0; i < sent.size(); ++i) ASSERT_EQ(sent[i].psn, i);
    EXPECT_EQ(sent.front().time, record.start);
    Bytes acked{0};
    for (const EventKind kind : {EventKind::ack, EventKind::probe_ack}) {
      for (const FlowEvent& event : events_of(outcome, f, kind)) acked += event.acked.value();
    }
    EXPECT_EQ(acked, record.size);
    EXPECT_EQ(outcome.told.events.back().inflight, bytes(0));
  }
  EXPECT_GT(resent_in_all, 0u);
  for (const FlowEvent& event : outcome.told.events) EXPECT_LT(event.flow, 3u);
}

// The first acknowledgements are of packets that met no queue; later ones carry marks. No packet is
// faster than an empty network, and the window is kept.
TEST(Inspect, AcknowledgementsTellOfQueues) {
  const SimConfig config = crowded(8);
  const Outcome outcome = run(config, incast(8, 400));
  std::uint64_t marked = 0;
  for (std::uint32_t f = 0; f < 8; ++f) {
    const auto acks = events_of(outcome, f, EventKind::ack);
    ASSERT_GT(acks.size(), 0u);
    for (const FlowEvent& ack : acks) {
      ASSERT_GE(ack.rtt.value(), kBaseRtt - kTick);
      marked += ack.ecn.value() ? 1u : 0u;
    }
    for (const FlowEvent& sent : events_of(outcome, f, EventKind::sent))
      ASSERT_LE(sent.inflight.value(), sent.cwnd.value());
  }
  const auto first = events_of(outcome, 0, EventKind::ack).front();
  EXPECT_EQ(first.ecn, false);
  EXPECT_LE(first.rtt.value(), kBaseRtt + kTick);
  EXPECT_EQ(first.psn, 1u);
  EXPECT_EQ(first.acked, kMtu);
  EXPECT_GT(marked, 100u);
}

// A sprayed flow uses many paths and hears of them all, one on a single path of one.
TEST(Inspect, PathsAreThoseUsed) {
  SimConfig config = crowded(1);
  const Outcome sprayed = run(config, incast(8, 400));
  const auto used = paths_of(events_of(sprayed, 0, EventKind::sent));
  EXPECT_GT(used.size(), 4u);
  for (const std::uint32_t path : paths_of(events_of(sprayed, 0, EventKind::ack)))
    EXPECT_EQ(used.count(path), 1u) << path;
  std::uint32_t changes = 0;
  std::uint32_t last = 0;
  bool any = false;
  for (const FlowEvent& event : sprayed.told.events) {
    if (event.kind != EventKind::sent && event.kind != EventKind::resent) continue;
    if (any && event.path != last) ++changes;
    last = event.path.value();
    any = true;
  }
  EXPECT_EQ(changes, sprayed.flow(0).path_changes);

  strack_params(config).max_paths = 1;
  const Outcome single = run(config, incast(8, 400));
  EXPECT_EQ(paths_of(events_of(single, 0, EventKind::sent)).size(), 1u);
}

// The receiver's link is down for a while: probes, and in the end a timeout, from which the flow
// recovers.
TEST(Inspect, ProbesAndTimeouts) {
  SimConfig config = cluster(1, 2, 1);
  config.record.inspect = 1;
  Failure failure;
  failure.link = LinkRef{LinkRef::Tier::host, 1, 0};
  failure.from = at(us(5));
  failure.until = at(ms(2));
  config.failures.failures.push_back(failure);
  const Outcome outcome = run(config, {flow(0, 1, packets(500))});
  ASSERT_EQ(outcome.ending, Ending::finished);
  const metrics::FlowRecord& record = outcome.flow(0);
  EXPECT_GT(record.timeouts, 0u);
  EXPECT_EQ(losses(outcome, 0, LossCause::timeout), record.timeouts);
  const auto probes = events_of(outcome, 0, EventKind::probe);
  ASSERT_GT(probes.size(), 0u);
  EXPECT_EQ(probes.size(), record.probes);
  for (const FlowEvent& probe : probes) {
    EXPECT_TRUE(probe.path && probe.psn && probe.cwnd && probe.inflight);
    EXPECT_FALSE(probe.rtt || probe.ecn || probe.acked || probe.cause);
  }
  for (const FlowEvent& loss : events_of(outcome, 0, EventKind::loss))
    EXPECT_TRUE(loss.psn && loss.cwnd && loss.inflight && !loss.path);
}

// Rows come in order of time, then of flows; the same ones for any number of threads.
TEST(Inspect, OrderForAnyNumberOfThreads) {
  const auto told = [](std::uint32_t threads) {
    SimConfig config = crowded(16);
    config.threads = threads;
    return run(config, incast(24, 200));
  };
  const Outcome one = told(1);
  const std::vector<FlowEvent>& events = one.told.events;
  EXPECT_GT(events.size(), 16u * 400);
  for (std::size_t i = 1; i < events.size(); ++i) {
    ASSERT_TRUE(events[i - 1].time < events[i].time ||
                (events[i - 1].time == events[i].time && events[i - 1].flow <= events[i].flow))
        << i;
  }
  for (const std::uint32_t threads : {2u, 3u, 4u}) EXPECT_EQ(digest(told(threads)), digest(one));
}

// Looking changes nothing, and needs no sampling.
TEST(Inspect, ChangesNothing) {
  const Outcome looked_at = run(crowded(100), incast(8, 400));
  const Outcome alone = run(crowded(0), incast(8, 400));
  EXPECT_EQ(looked_at.counters.hash, alone.counters.hash);
  EXPECT_EQ(looked_at.counters.windows, alone.counters.windows);
  EXPECT_TRUE(alone.told.events.empty());
  EXPECT_TRUE(looked_at.told.flow_samples.empty());
  EXPECT_TRUE(looked_at.told.link_samples.empty());
}

// Samples and events each of their own number of flows.
TEST(Inspect, BesideSamples) {
  SimConfig config = crowded(3);
  config.record.interval = us(10);
  config.record.flows = 1;
  const Outcome few = run(config, incast(8, 100));
  for (const metrics::FlowSample& sample : few.told.flow_samples) EXPECT_EQ(sample.flow, 0u);
  EXPECT_FALSE(few.told.flow_samples.empty());
  EXPECT_FALSE(events_of(few, 2, EventKind::ack).empty());
  config.record.flows = 5;
  config.record.inspect = 1;
  const Outcome many = run(config, incast(8, 100));
  const auto& samples = many.told.flow_samples;
  EXPECT_TRUE(
      std::any_of(samples.begin(), samples.end(), [](const auto& s) { return s.flow == 4; }));
  for (const FlowEvent& event : many.told.events) EXPECT_EQ(event.flow, 0u);
}

// A run that stops in the middle has told all until then.
TEST(Inspect, ToTheTimeLimit) {
  SimConfig config = crowded(1);
  config.end = at(us(20));
  const Outcome outcome = run(config, incast(2, 400));
  ASSERT_EQ(outcome.ending, Ending::time_limit);
  EXPECT_EQ(events_of(outcome, 0, EventKind::sent).size(), outcome.flow(0).packets);
  EXPECT_GT(outcome.told.events.back().time, at(us(19)));
  EXPECT_LT(outcome.told.events.back().time, at(us(20)));
}

// ---- RoCEv2 ----

TEST(InspectRoce, RatesAndNotifications) {
  SimConfig config = roce_cluster(2, 4, 4, core::DcqcnSet::hpcc_ns3);
  config.record.inspect = 3;
  const Outcome outcome = run(
      config, {flow(0, 4, packets(2'000)), flow(1, 4, packets(2'000)), flow(2, 4, packets(2'000))});
  ASSERT_EQ(outcome.ending, Ending::finished);
  BitsPerSecond least = gbps(400);
  for (std::uint32_t f = 0; f < 3; ++f) {
    EXPECT_EQ(events_of(outcome, f, EventKind::sent).size(), outcome.flow(f).packets);
    const auto cnps = events_of(outcome, f, EventKind::cnp);
    EXPECT_EQ(cnps.size(), outcome.flow(f).cnps);
    EXPECT_GT(cnps.size(), 0u);
    for (const FlowEvent& cnp : cnps) {
      EXPECT_EQ(cnp.path, 0u);
      EXPECT_FALSE(cnp.psn || cnp.rtt || cnp.acked || cnp.cwnd || cnp.inflight);
      least = std::min(least, cnp.rate.value());
    }
    for (const FlowEvent& ack : events_of(outcome, f, EventKind::ack)) {
      ASSERT_GE(ack.rtt.value(), kBaseRtt - kTick);
      ASSERT_FALSE(ack.ecn || ack.cwnd || ack.inflight);
    }
  }
  EXPECT_LT(least, gbps(200));
  EXPECT_GT(least, BitsPerSecond{0});
}

// Losses: a NAK, and right after it that the sender goes back; or a timeout. Paths are QPs.
TEST(InspectRoce, GoesBack) {
  SimConfig config = roce_cluster(2, 4, 4);
  roce_params(config).qps_per_conn = 2;
  roce_params(config).rto = us(100);
  config.record.inspect = 1;
  config.failures.impairments.push_back({{LinkRef::Tier::host, 0, 0}, {1, 1}, {1, 100}, 0});
  const Outcome outcome = run(config, {flow(0, 4, packets(2'000))});
  ASSERT_EQ(outcome.ending, Ending::finished);
  const metrics::FlowRecord& record = outcome.flow(0);
  EXPECT_EQ(events_of(outcome, 0, EventKind::resent).size(), record.retransmissions);
  EXPECT_EQ(events_of(outcome, 0, EventKind::nak).size(), record.naks);
  EXPECT_GT(record.naks, 0u);
  EXPECT_EQ(losses(outcome, 0, LossCause::nak), record.naks);
  EXPECT_EQ(losses(outcome, 0, LossCause::timeout), record.timeouts);
  EXPECT_EQ(paths_of(events_of(outcome, 0, EventKind::sent)), (std::set<std::uint32_t>{0, 1}));
  const std::vector<FlowEvent>& events = outcome.told.events;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    if (events[i].kind != EventKind::nak) continue;
    EXPECT_EQ(events[i + 1].kind, EventKind::loss);
    EXPECT_EQ(events[i + 1].psn, events[i].psn);
    EXPECT_EQ(events[i + 1].path, events[i].path);
    EXPECT_TRUE(events[i + 1].rate.has_value());
  }
}

TEST(InspectRoce, ThreadsDoNotMatterNorDoesLooking) {
  const auto told = [](std::uint32_t threads, std::uint32_t inspect) {
    SimConfig config = roce_cluster(4, 8, 4);
    config.threads = threads;
    config.record.inspect = inspect;
    return run(config, incast(24, 100));
  };
  const Outcome one = told(1, 8);
  EXPECT_GT(one.told.events.size(), 800u);
  EXPECT_EQ(digest(told(3, 8)), digest(one));
  EXPECT_EQ(told(1, 0).counters.hash, one.counters.hash);
}

// ---- Jobs ----

// The connections of jobs are numbered job by job, channel by channel.
TEST(InspectJobs, FirstConnections) {
  const auto made = workload::make_collective(
      {workload::Collective::allreduce_ring, 4, packets(16), packets(1), 0});
  ASSERT_TRUE(made.ok());
  const auto graph = std::make_shared<const workload::Graph>(made.value().graph);
  ASSERT_EQ(graph->channels().size(), 4u);
  const auto told = [&](const RecordParams& record, std::uint32_t threads) {
    SimConfig config = cluster(2, 4, 2);
    config.record = record;
    config.threads = threads;
    workload::Workload work;
    for (std::uint32_t j = 0; j < 2; ++j) {
      workload::Job job;
      job.graph = graph;
      job.hosts = {j, 2 + j, 4 + j, 6 + j};
      job.starts.assign(4, Instant{});
      work.jobs.push_back(job);
    }
    Simulation simulation(config, work);
    Outcome outcome;
    outcome.ending = simulation.run(outcome.told);
    outcome.counters = simulation.counters();
    return std::pair{outcome, simulation.channels()};
  };
  RecordParams record;
  record.interval = us(5);
  record.flows = 5;
  record.inspect = 6;
  const auto [outcome, channels] = told(record, 1);
  ASSERT_EQ(outcome.ending, Ending::finished);
  ASSERT_EQ(channels.size(), 6u);
  std::uint64_t sent = 0;
  for (std::uint32_t f = 0; f < 6; ++f) {
    EXPECT_EQ(channels[f].flow, f);
    EXPECT_EQ(channels[f].job, f / 4);
    const workload::Channel& channel = graph->channels()[f % 4];
    EXPECT_EQ(channels[f].src, 2 * channel.from + f / 4);
    EXPECT_EQ(channels[f].dst, 2 * channel.to + f / 4);
    // Each rank of a ring sends 2 (n - 1) / n of the buffer to the next.
    const auto events = events_of(outcome, f, EventKind::sent);
    EXPECT_EQ(events.size(), 16u * 2 * 3 / 4);
    sent += events.size();
    if (f == 5) continue;
    Bytes acked{0};
    for (const metrics::FlowSample& s : outcome.told.flow_samples) {
      if (s.flow == f) acked += s.acked;
    }
    EXPECT_EQ(acked, packets(24));
  }
  EXPECT_EQ(sent, 6u * 24);
  for (const metrics::FlowSample& s : outcome.told.flow_samples) EXPECT_LT(s.flow, 5u);
  EXPECT_EQ(digest(told(record, 3).first), digest(outcome));
  const auto [alone, none] = told({}, 1);
  EXPECT_EQ(alone.counters.hash, outcome.counters.hash);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace strack::sim
