// Jobs: graphs of messages run by whole clusters.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/testing.h"
#include "workload/collectives.h"
#include "workload/graph.h"

namespace strack::sim {
namespace {

using namespace testing;
using workload::Collective;
using workload::GraphBuilder;
using workload::Moment;
using workload::NodeId;

workload::Job job_of(GraphBuilder& builder, std::vector<std::uint32_t> hosts, Instant start = {}) {
  auto built = builder.build();
  STRACK_CHECK(built.ok());
  workload::Job job;
  job.name = "job";
  job.graph = std::make_shared<const workload::Graph>(std::move(built.value()));
  job.starts.assign(hosts.size(), start);
  job.hosts = std::move(hosts);
  return job;
}
workload::Job collective(Collective kind, std::vector<std::uint32_t> hosts, Bytes size, Bytes chunk,
                         std::uint32_t parallel = 0) {
  auto made = workload::make_collective(
      {kind, static_cast<std::uint32_t>(hosts.size()), size, chunk, parallel});
  STRACK_CHECK(made.ok());
  workload::Job job;
  job.name = workload::name_of(kind);
  job.graph = std::make_shared<const workload::Graph>(std::move(made.value().graph));
  job.starts.assign(hosts.size(), Instant{});
  job.hosts = std::move(hosts);
  return job;
}
workload::Workload only(workload::Job job) {
  workload::Workload workload;
  workload.jobs.push_back(std::move(job));
  return workload;
}
Picoseconds job_time(const Outcome& outcome, std::size_t i = 0) {
  return outcome.told.jobs.at(i).end - outcome.told.jobs.at(i).start;
}

/// One packet's way through a rack, and its acknowledgement's.
constexpr Picoseconds kThere = 2 * (kData + kLatency);
constexpr Picoseconds kBack = 2 * (kSack + kLatency);

enum class Speaks { strack, roce };

class Jobs : public ::testing::TestWithParam<Speaks> {
 protected:
  [[nodiscard]] static SimConfig network(std::uint32_t racks, std::uint32_t hosts,
                                         std::uint32_t spines) {
    SimConfig config = roce_cluster(racks, hosts, spines);
    config.pfc.enabled = GetParam() == Speaks::roce;
    if (GetParam() == Speaks::strack) config.transport = transport_for(config);
    return config;
  }
};

// A chain: each starts the instant the one before has been received.
TEST_P(Jobs, MessageStartsWhenAnotherIsReceived) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, packets(1));
  const NodeId b = builder.message(1, 2, packets(1));
  builder.wait(b, a, Moment::received);
  const Outcome outcome = run_workload(network(1, 4, 1), only(job_of(builder, {2, 0, 3})));
  EXPECT_EQ(outcome.ending, Ending::finished);
  ASSERT_EQ(outcome.told.jobs.size(), 1u);
  // The second leaves behind the first one's acknowledgement, which was there before it.
  EXPECT_EQ(outcome.told.jobs[0].start, Instant{});
  EXPECT_EQ(outcome.told.jobs[0].end, at(kThere + kSack + kThere + kBack));
  EXPECT_EQ(outcome.told.jobs[0].messages, 2u);
  EXPECT_EQ(outcome.told.jobs[0].bytes, packets(2));
  EXPECT_EQ(outcome.told.jobs[0].ranks, 3u);
}

// Where it is asked for, every message with bytes is reported as a flow.
TEST_P(Jobs, MessagesAreRecordedAsFlows) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, packets(1));
  const NodeId word = builder.message(1, 2, bytes(0));
  const NodeId b = builder.message(1, 2, packets(1));
  builder.wait(b, a, Moment::received);
  builder.wait(word, a, Moment::received);
  SimConfig config = network(1, 4, 1);
  const workload::Workload work = only(job_of(builder, {2, 0, 3}));
  EXPECT_TRUE(run_workload(config, work).told.flows.empty());
  const std::uint64_t hash = run_workload(config, work).counters.hash;
  config.record.messages = true;
  const Outcome outcome = run_workload(config, work);
  EXPECT_EQ(outcome.counters.hash, hash);
  ASSERT_EQ(outcome.told.flows.size(), 2u);
  const metrics::FlowRecord& first = outcome.told.flows[0];
  // Behind the two connections, by their nodes: one of them has two messages.
  EXPECT_EQ(first.flow, 2u);
  EXPECT_EQ(first.src, 2u);
  EXPECT_EQ(first.dst, 0u);
  EXPECT_EQ(first.size, packets(1));
  EXPECT_EQ(first.start, Instant{});
  EXPECT_EQ(first.delivered, at(kThere));
  EXPECT_EQ(first.end, at(kThere + kBack));
  const metrics::FlowRecord& second = outcome.told.flows[1];
  EXPECT_EQ(second.flow, 2u + b);
  EXPECT_EQ(second.src, 0u);
  EXPECT_EQ(second.dst, 3u);
  EXPECT_EQ(second.start, at(kThere));
  // The word is acknowledged after it.
  EXPECT_LT(second.end, outcome.told.jobs.at(0).end);
}

// Stopped on their way, they have no end; what was acknowledged is counted.
TEST_P(Jobs, UnfinishedMessagesAreRecordedToo) {
  GraphBuilder builder(2);
  builder.message(0, 1, packets(1), true);
  const NodeId later = builder.message(0, 1, packets(1'000), true);
  const NodeId never = builder.message(0, 1, packets(1), true);
  builder.wait(never, later, Moment::sent);
  SimConfig config = network(1, 2, 1);
  config.record.messages = true;
  config.end = at(us(10));
  const Outcome outcome = run_workload(config, only(job_of(builder, {0, 1})));
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  ASSERT_EQ(outcome.told.flows.size(), 2u);
  // Every connection has one message here, and its number.
  EXPECT_EQ(outcome.told.flows[0].flow, 0u);
  EXPECT_NE(outcome.told.flows[0].end, Instant::never());
  EXPECT_EQ(outcome.told.flows[1].flow, 1u);
  EXPECT_EQ(outcome.told.flows[1].end, Instant::never());
  EXPECT_GT(outcome.counters.acked, packets(1));
  EXPECT_LT(outcome.counters.acked, packets(1'002));
}

// And when another of the sender's own is acknowledged.
TEST_P(Jobs, MessageStartsWhenAnotherIsSent) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, packets(1));
  const NodeId b = builder.message(0, 2, packets(1));
  builder.wait(b, a, Moment::sent);
  const Outcome outcome = run_workload(network(1, 4, 1), only(job_of(builder, {0, 1, 2})));
  EXPECT_EQ(outcome.told.jobs.at(0).end, at(2 * (kThere + kBack)));
}

// Computations take their time; several of a rank run side by side.
TEST_P(Jobs, ComputationsTakeTheirTime) {
  GraphBuilder builder(2);
  const NodeId first = builder.compute(0, us(7));
  const NodeId other = builder.compute(0, us(5));
  const NodeId a = builder.message(0, 1, packets(1));
  const NodeId last = builder.compute(1, us(3));
  builder.wait(a, first, Moment::sent);
  builder.wait(a, other, Moment::sent);
  builder.wait(last, a, Moment::received);
  const Outcome outcome = run_workload(network(1, 2, 1), only(job_of(builder, {0, 1})));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.told.jobs.at(0).start, Instant{});
  // The message is acknowledged before the receiver has finished computing.
  EXPECT_EQ(outcome.told.jobs.at(0).end, at(us(7) + kThere + us(3)));
}

// A message may start with another, or at a time, or with a job that starts later.
TEST_P(Jobs, StartsByTimeAndByStart) {
  GraphBuilder builder(3);
  const NodeId a = builder.message(0, 1, packets(1));
  const NodeId b = builder.message(0, 2, packets(1));
  builder.not_before(a, us(20));
  builder.wait(b, a, Moment::started);
  const Outcome outcome =
      run_workload(network(1, 3, 1), only(job_of(builder, {0, 1, 2}, at(us(10)))));
  EXPECT_EQ(outcome.told.jobs.at(0).start, at(us(30)));
  EXPECT_EQ(outcome.told.jobs.at(0).end, at(us(30) + kData + kThere + kBack));
}

// More messages than a connection has slots for: they wait in line, none is lost, and the line is
// kept busy.
TEST_P(Jobs, MoreMessagesThanSlots) {
  GraphBuilder builder(2);
  for (int i = 0; i < 1'000; ++i) builder.message(0, 1, packets(1));
  const Outcome outcome = run_workload(network(1, 2, 1), only(job_of(builder, {0, 1})));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(job_time(outcome), 999 * kData + kThere + kBack);
  EXPECT_EQ(outcome.counters.data_packets_delivered, 1'000u);
}

// A chain of starts as long as the graph: by a list, not by recursion.
TEST_P(Jobs, LongChainOfStarts) {
  GraphBuilder builder(2);
  NodeId before = builder.message(0, 1, bytes(0));
  for (int i = 0; i < 100'000; ++i) {
    const NodeId next = builder.compute(0, ps(0));
    builder.wait(next, before, Moment::started);
    before = next;
  }
  const Outcome outcome = run_workload(network(1, 2, 1), only(job_of(builder, {0, 1})));
  EXPECT_EQ(outcome.ending, Ending::finished);
}

// Empty messages are messages.
TEST_P(Jobs, EmptyMessages) {
  GraphBuilder builder(2);
  const NodeId a = builder.message(0, 1, bytes(0));
  const NodeId b = builder.message(1, 0, bytes(0));
  builder.wait(b, a, Moment::received);
  const Outcome outcome = run_workload(network(1, 2, 1), only(job_of(builder, {0, 1})));
  EXPECT_EQ(outcome.ending, Ending::finished);
}

// A run may have flows and jobs; a run that is cut short says which jobs were not done.
TEST_P(Jobs, BesideFlowsAndCutShort) {
  GraphBuilder builder(2);
  builder.message(0, 1, packets(1'000));
  workload::Workload workload = only(job_of(builder, {0, 1}));
  workload.flows = {flow(2, 3, packets(10))};
  SimConfig config = network(1, 4, 1);
  config.end = at(us(20));
  const Outcome outcome = run_workload(config, workload);
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  EXPECT_EQ(outcome.finished(), 1u);
  ASSERT_EQ(outcome.told.jobs.size(), 1u);
  EXPECT_EQ(outcome.told.jobs[0].end, Instant::never());
  EXPECT_EQ(outcome.told.last_progress.jobs, 1u);
  EXPECT_EQ(outcome.told.last_progress.jobs_done, 0u);
}

// On a network where nobody is in anybody's way, ring collectives take what the formula says: each
// rank sends its steps' bytes one after the other at line rate. All within one chunk's time.
TEST_P(Jobs, RingTakesWhatTheFormulaSays) {
  constexpr std::uint32_t kRanks = 8;
  const Bytes chunk = packets(32);
  for (const auto& [kind, steps] :
       {std::pair{Collective::allreduce_ring, 14}, std::pair{Collective::allgather, 7},
        std::pair{Collective::reduce_scatter, 7}}) {
    // Blocks so long that a chunk is back before its turn comes: the pipeline never runs dry.
    const std::int64_t chunks = 4;
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t i = 0; i < kRanks; ++i) hosts.push_back(i);
    const Outcome outcome = run_workload(
        network(1, kRanks, 1), only(collective(kind, hosts, kRanks * chunks * chunk, chunk)));
    EXPECT_EQ(outcome.ending, Ending::finished);
    // Each link also carries the acknowledgements of what comes the other way.
    const std::int64_t acks = GetParam() == Speaks::strack ? 32 : 2;  // of a chunk
    const Picoseconds chunk_time = 32 * kData + acks * kSack;
    const Picoseconds formula = steps * chunks * chunk_time + kThere + kBack;
    EXPECT_NEAR(static_cast<double>(job_time(outcome).value), static_cast<double>(formula.value),
                static_cast<double>(chunk_time.value))
        << workload::name_of(kind);
  }
}

// The double binary tree's busiest ranks send and receive twice the buffer.
TEST_P(Jobs, DoubleBinaryTreeNearItsLimit) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t i = 0; i < 16; ++i) hosts.push_back(i);
  const Outcome outcome =
      run_workload(network(1, 16, 1), only(collective(Collective::allreduce_double_binary_tree,
                                                      hosts, packets(8'192), packets(32))));
  EXPECT_EQ(outcome.ending, Ending::finished);
  const Picoseconds limit = 2 * 8'192 * kData;
  EXPECT_GE(job_time(outcome), limit);
  EXPECT_LE(job_time(outcome), 2 * limit);
}

// Many jobs at once: all finish, each with its own times, whatever the number of threads.
TEST_P(Jobs, ManyJobsForAnyNumberOfThreads) {
  const auto digest = [](std::uint32_t threads) {
    SimConfig config = network(4, 8, 4);
    config.threads = threads;
    workload::Workload workload;
    const Collective kinds[] = {Collective::allreduce_ring, Collective::alltoall,
                                Collective::allreduce_halving_doubling,
                                Collective::allreduce_double_binary_tree};
    for (std::uint32_t j = 0; j < 4; ++j) {
      std::vector<std::uint32_t> hosts;
      for (std::uint32_t r = 0; r < 8; ++r) hosts.push_back(r * 4 + j);
      workload.jobs.push_back(collective(kinds[j], hosts, packets(512), packets(8), 3));
    }
    const Outcome outcome = run_workload(config, workload);
    EXPECT_EQ(outcome.ending, Ending::finished);
    EXPECT_EQ(outcome.told.jobs.size(), 4u);
    Digest all;
    for (const metrics::JobRecord& r : outcome.told.jobs) all << r.job << r.start << r.end;
    all << outcome.counters;
    return all.value();
  };
  const std::uint64_t one = digest(1);
  EXPECT_EQ(digest(2), one);
  EXPECT_EQ(digest(3), one);
}

INSTANTIATE_TEST_SUITE_P(Protocols, Jobs, ::testing::Values(Speaks::strack, Speaks::roce),
                         [](const auto& protocol) {
                           return protocol.param == Speaks::roce ? "roce" : "strack";
                         });

}  // namespace
}  // namespace strack::sim
