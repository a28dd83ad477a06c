// Whole clusters in networks that are no Clos, and of servers with several NICs.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/host/connection.h"
#include "sim/net/network_graph.h"
#include "sim/reachability.h"
#include "sim/testing.h"
#include "workload/graph.h"

namespace strack::sim {
namespace {

using namespace testing;
using workload::GraphBuilder;
using workload::Moment;
using workload::NodeId;

NetworkGraph leaf_spine(std::uint32_t racks, std::uint32_t each, std::uint32_t spines) {
  NetworkGraph graph;
  const std::uint32_t hosts = racks * each;
  for (std::uint32_t h = 0; h < hosts; ++h) graph.hosts.push_back("host" + std::to_string(h));
  for (std::uint32_t s = 0; s < racks + spines; ++s)
    graph.switches.push_back("s" + std::to_string(s));
  for (std::uint32_t h = 0; h < hosts; ++h) {
    graph.host_links.push_back(h);
    graph.links.push_back({h, hosts + h / each, gbps(400), kLatency, {}});
  }
  for (std::uint32_t r = 0; r < racks; ++r) {
    for (std::uint32_t s = 0; s < spines; ++s)
      graph.links.push_back({hosts + r, hosts + racks + s, gbps(400), kLatency, {}});
  }
  return graph;
}
SimConfig in_graph(SimConfig config, NetworkGraph graph) {
  config.topology.graph = std::make_shared<const NetworkGraph>(std::move(graph));
  config.transport = transport_for(config);
  return config;
}

workload::Flows everybody(std::uint32_t hosts, Bytes size) {
  workload::Flows flows;
  for (std::uint32_t h = 0; h < hosts; ++h) flows.push_back(flow(h, (h + 5) % hosts, size));
  return flows;
}

// Written as a graph, a Clos network is the same to the last bit.
TEST(GraphRun, AClosNetworkWrittenAsAGraphIsTheSame) {
  const SimConfig clos = cluster(4, 4, 2);
  const SimConfig graph = in_graph(clos, leaf_spine(4, 4, 2));
  const workload::Flows flows = everybody(16, packets(100));
  const Outcome a = run(clos, flows);
  const Outcome b = run(graph, flows);
  EXPECT_EQ(b.ending, Ending::finished);
  EXPECT_EQ(a.counters.hash, b.counters.hash);
  for (std::uint32_t f = 0; f < 16; ++f) EXPECT_EQ(a.fct(f), b.fct(f));
}

TEST(GraphRun, ThreadsDoNotShow) {
  SimConfig config = in_graph(cluster(4, 4, 2), leaf_spine(4, 4, 2));
  const workload::Flows flows = everybody(16, packets(50));
  const std::uint64_t hash = run(config, flows).counters.hash;
  config.threads = 3;
  EXPECT_EQ(run(config, flows).counters.hash, hash);
}

// Every link has its own rate and latency: one packet from a host of 400 Gb/s to one of 100.
TEST(GraphRun, LinksHaveTheirOwnFigures) {
  NetworkGraph graph = leaf_spine(2, 1, 1);
  graph.links[1].rate = gbps(100);
  graph.links[1].latency = us(3);
  graph.links[2].latency = us(2);
  const Outcome outcome = run(in_graph(cluster(2, 1, 1), graph), {flow(0, 1, packets(1))});
  const Picoseconds there = 3 * kData + 4 * kData + us(1 + 2 + 1 + 3);
  EXPECT_EQ(outcome.flow(0).delivered, at(there));
  EXPECT_EQ(outcome.flow(0).end, at(there + 3 * kSack + 4 * kSack + us(1 + 2 + 1 + 3)));
}

// A link that is down from the start is routed around; when it is the only one, pairs are apart.
TEST(GraphRun, FailedLinksAreRoutedAround) {
  SimConfig config = in_graph(cluster(2, 2, 2), leaf_spine(2, 2, 2));
  Failure down;
  down.link = LinkRef{LinkRef::Tier::fabric, 4, 0};
  config.failures.failures.push_back(down);
  const workload::Workload work{{flow(0, 2, packets(20))}, {}};
  EXPECT_FALSE(find_unreachable_pair(config, work));
  const Outcome outcome = run_workload(config, work);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);

  down.link->lower = 5;
  config.failures.failures.push_back(down);
  const auto apart = find_unreachable_pair(config, work);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->src, 0u);
  EXPECT_EQ(apart->dst, 2u);
  EXPECT_FALSE(find_unreachable_pair(config, {{flow(0, 1, packets(1))}, {}}));
}

// [D111] The same in a Clos network: the only uplink, or a host's own link. A spine dead leaves none.
TEST(Reachability, OfAClosNetwork) {
  const auto with = [](Failure failure) {
    SimConfig config = cluster(2, 2, 1);
    config.failures.failures.push_back(failure);
    return config;
  };
  const workload::Workload across{{flow(0, 1, packets(1)), flow(1, 3, packets(1))}, {}};
  const workload::Workload inside{{flow(0, 1, packets(1)), flow(3, 2, packets(1))}, {}};
  Failure uplink;
  uplink.link = LinkRef{LinkRef::Tier::fabric, 0, 0};
  Failure host;
  host.link = LinkRef{LinkRef::Tier::host, 3, 0};
  Failure spine;
  spine.node = SwitchRef{SwitchRef::Tier::agg, 0};
  for (const Failure& failure : {uplink, host, spine}) {
    const auto apart = find_unreachable_pair(with(failure), across);
    ASSERT_TRUE(apart);
    EXPECT_EQ(apart->src, 1u);
    EXPECT_EQ(apart->dst, 3u);
  }
  EXPECT_FALSE(find_unreachable_pair(with(uplink), inside));
  EXPECT_FALSE(find_unreachable_pair(with(spine), inside));
  EXPECT_TRUE(find_unreachable_pair(with(host), inside));
  // What ends, or comes later, is not there from the start and for good.
  Failure later = uplink;
  later.from = at(us(1));
  EXPECT_FALSE(find_unreachable_pair(with(later), across));
  Failure ends = uplink;
  ends.until = at(us(1));
  EXPECT_FALSE(find_unreachable_pair(with(ends), across));
  EXPECT_FALSE(find_unreachable_pair(cluster(2, 2, 1), across));
}

// ---- Servers ----

/// 4 racks of 2 hosts: 4 servers of 2 NICs. Servers 0 and 1 have hosts 0, 2 and 1, 3.
SimConfig servers() {
  SimConfig config = cluster(4, 2, 2);
  config.topology.nics_per_server = 2;
  config.topology.server_rate = gbps(3'200);
  config.topology.server_latency = us(2);
  return config;
}

workload::Workload job_of(GraphBuilder& builder, std::vector<std::uint32_t> hosts) {
  workload::Job job;
  job.name = "job";
  job.graph = std::make_shared<const workload::Graph>(std::move(builder.build().value()));
  job.starts.assign(hosts.size(), Instant{});
  job.hosts = std::move(hosts);
  workload::Workload workload;
  workload.jobs.push_back(std::move(job));
  return workload;
}

// [D90] A message takes its bytes at the rate inside, and the latency; no packet goes anywhere.
TEST(ServerLinks, AMessageGoesByTheServersOwnLinks) {
  GraphBuilder builder(2);
  builder.message(0, 1, mb(4));
  const Outcome outcome = run_workload(servers(), job_of(builder, {0, 2}));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.told.jobs[0].end, at(us(10) + us(2)));
  EXPECT_EQ(outcome.counters.packet_hops, 0u);
  EXPECT_EQ(outcome.counters.acked, mb(4));
}

// What waits for it at the other end starts then; what waits for it here too.
TEST(ServerLinks, OthersWaitForItAtEitherEnd) {
  GraphBuilder builder(2);
  const NodeId out = builder.message(0, 1, mb(4));
  const NodeId back = builder.message(1, 0, mb(8));
  const NodeId again = builder.message(0, 1, mb(2));
  builder.wait(back, out, Moment::received);
  builder.wait(again, out, Moment::sent);
  const Outcome outcome = run_workload(servers(), job_of(builder, {0, 2}));
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.told.jobs[0].end, at(us(12) + us(20) + us(2)));
}

// A port sends one message after the other.
TEST(ServerLinks, MessagesWaitForEachOther) {
  SimConfig config = servers();
  config.topology.racks = 8;
  config.topology.nics_per_server = 4;  // server 0: hosts 0, 2, 4, 6
  GraphBuilder builder(3);
  builder.message(0, 1, mb(4));
  builder.message(0, 2, mb(4));
  const Outcome outcome = run_workload(config, job_of(builder, {0, 4, 6}));
  EXPECT_EQ(outcome.told.jobs[0].end, at(us(20) + us(2)));
}

TEST(ServerLinks, FlowsGoInsideTooAndTheOthersDoNot) {
  const Outcome outcome =
      run(servers(), {flow(0, 2, mb(4)), flow(0, 1, packets(1)), flow(1, 3, mb(8'000), at(us(1)))});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.fct(0), us(12));
  EXPECT_EQ(outcome.flow(0).delivered, at(us(12)));
  EXPECT_EQ(outcome.fct(1), kRackRtt);
  EXPECT_EQ(outcome.fct(2), ms(20) + us(2));
  EXPECT_EQ(outcome.flow(2).size, mb(8'000));
}

// What has not arrived when the run ends is told of.
TEST(ServerLinks, UnfinishedFlowsAreTold) {
  SimConfig config = servers();
  config.end = at(us(5));
  const Outcome outcome = run(config, {flow(0, 2, mb(4))});
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  EXPECT_EQ(outcome.finished(), 0u);
  EXPECT_EQ(outcome.flow(0).size, mb(4));
}

// A ring over all servers, inside and outside: any number of threads, and windows cut by sampling.
TEST(ServerLinks, NeitherThreadsNorWindowsShow) {
  SimConfig config = servers();
  GraphBuilder builder(8);
  std::vector<NodeId> last(8);
  for (std::uint32_t step = 0; step < 6; ++step) {
    std::vector<NodeId> now;
    for (std::uint32_t r = 0; r < 8; ++r) now.push_back(builder.message(r, (r + 1) % 8, kib(256)));
    if (step > 0) {
      for (std::uint32_t r = 0; r < 8; ++r)
        builder.wait(now[r], last[(r + 7) % 8], Moment::received);
    }
    last = now;
  }
  const workload::Workload work = job_of(builder, {0, 2, 1, 3, 4, 6, 5, 7});
  const Outcome one = run_workload(config, work);
  EXPECT_EQ(one.ending, Ending::finished);
  config.threads = 3;
  const Outcome three = run_workload(config, work);
  EXPECT_EQ(three.counters.hash, one.counters.hash);
  EXPECT_EQ(three.told.jobs[0].end, one.told.jobs[0].end);
  config.record.interval = ns(700);
  config.record.links = true;
  EXPECT_EQ(run_workload(config, work).counters.hash, one.counters.hash);
}

// ---- Flows above 4 GiB ----

static_assert(pieces_of(kLargestMessage) == 1 && pieces_of(kLargestMessage + 1) == 2);
static_assert(piece_size(kLargestMessage, 0) == kLargestMessage);
static_assert(piece_size(kLargestMessage + 2, 0) == kPiece && piece_size(2 * kPiece + 1, 2) == 1);

// [D91] Two pieces one behind the other, and one flow: 65,538 packets of 65,535 bytes, and a short one.
TEST(LargeFlow, IsOneFlowOfSeveralMessages) {
  SimConfig config = cluster(1, 2, 1);
  const Bytes mtu = bytes(65'535);
  const Derived derived = derive(config.topology, config.hosts, mtu);
  config.transport = make_transport<StrackProtocol>(
      core::StrackParams::for_link(config.topology.host_rate, derived.base_rtt, mtu).value());
  const Bytes size = bytes(kLargestMessage + 1);
  const Outcome outcome = run(config, {flow(0, 1, size)});
  EXPECT_EQ(outcome.ending, Ending::finished);
  ASSERT_EQ(outcome.told.flows.size(), 1u);
  EXPECT_EQ(outcome.flow(0).size, size);
  EXPECT_EQ(outcome.flow(0).packets, 2u * 32'769);
  EXPECT_EQ(outcome.counters.acked, size);
  // The port never rests: two pieces of 2^31 bytes with their headers. At the switch the short packet waits for
  // a full one before it.
  const Bytes wire = size + 2 * 32'769 * bytes(64);
  const Bytes full = bytes(65'535 + 64);
  EXPECT_EQ(outcome.fct(), wire / gbps(400) + full / gbps(400) + 2 * us(1) + 2 * (kSack + us(1)));
}

}  // namespace
}  // namespace strack::sim
