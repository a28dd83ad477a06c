// What breaks, what is lost by it, and that every flow completes all the same.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/simulation.h"
#include "sim/testing.h"
#include "workload/graph.h"

namespace strack::sim {
namespace {

using namespace testing;
using Tier = LinkRef::Tier;

void break_link(SimConfig& config, LinkRef link, Instant from = {},
                Instant until = Instant::never()) {
  Failure failure;
  failure.link = link;
  failure.from = from;
  failure.until = until;
  config.failures.failures.push_back(failure);
}

void kill_switch(SimConfig& config, SwitchRef node, Instant from = {},
                 Instant until = Instant::never()) {
  Failure failure;
  failure.node = node;
  failure.from = from;
  failure.until = until;
  config.failures.failures.push_back(failure);
}

void impair(SimConfig& config, LinkRef link, Ratio rate, Ratio loss, double bit_error_rate = 0) {
  Impairment bad;
  bad.link = link;
  bad.rate = rate;
  bad.loss = loss;
  bad.bit_error_rate = bit_error_rate;
  config.failures.impairments.push_back(bad);
}

/// Every host sends to the one in the same place of the next rack.
workload::Flows to_next_rack(const SimConfig& config, Bytes size) {
  workload::Flows flows;
  const std::uint32_t hosts = config.topology.hosts();
  for (std::uint32_t h = 0; h < hosts; ++h) {
    flows.push_back(flow(h, (h + config.topology.hosts_per_rack) % hosts, size));
  }
  return flows;
}

void expect_all_done(const Outcome& outcome, std::size_t flows) {
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.finished(), flows);
  for (const metrics::FlowRecord& record : outcome.told.flows) {
    EXPECT_LE(record.delivered, record.end) << record.flow;
  }
}

// ---- Down from the start ----

// An uplink that is down from the start is routed around at both ends: nothing is lost, nothing
// uses it.
TEST(DownFromTheStart, RoutedAroundWithoutLoss) {
  SimConfig config = cluster(2, 4, 4);
  break_link(config, {Tier::fabric, 0, 1});
  config.record.interval = ms(10);
  config.record.links = true;
  const Outcome outcome = run(config, to_next_rack(config, packets(200)));
  expect_all_done(outcome, 8);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_EQ(outcome.counters.no_route_drops, 0u);
  EXPECT_EQ(outcome.counters.retransmissions, 0u);
  EXPECT_EQ(outcome.carried(outcome.link("tor 0", "spine 1")), bytes(0));
  EXPECT_EQ(outcome.carried(outcome.link("spine 1", "tor 0")), bytes(0));
  EXPECT_EQ(outcome.carried(outcome.link("tor 1", "spine 1")), bytes(0));
  for (const std::string spine : {"spine 0", "spine 2", "spine 3"}) {
    EXPECT_GT(outcome.carried(outcome.link("tor 0", spine)), bytes(0));
    EXPECT_GT(outcome.carried(outcome.link(spine, "tor 0")), bytes(0));
  }
}

// [D56] Whichever way a switch sprays, a dead port is not chosen; the live ones are.
TEST(DownFromTheStart, SprayedAround) {
  for (const Routing routing : {Routing::round_robin, Routing::power_of_two, Routing::drill,
                                Routing::least_queue, Routing::destination_rotation}) {
    SimConfig config = cluster(2, 4, 4);
    config.switches.routing = routing;
    break_link(config, {Tier::fabric, 0, 1});
    config.record.interval = ms(10);
    config.record.links = true;
    const Outcome outcome = run(config, to_next_rack(config, packets(50)));
    expect_all_done(outcome, 8);
    EXPECT_EQ(outcome.counters.failure_drops + outcome.counters.no_route_drops, 0u);
    EXPECT_EQ(outcome.carried(outcome.link("tor 0", "spine 1")), bytes(0));
    EXPECT_EQ(outcome.carried(outcome.link("tor 1", "spine 1")), bytes(0));
    for (const std::string spine : {"spine 0", "spine 2", "spine 3"})
      EXPECT_GT(outcome.carried(outcome.link("tor 0", spine)), bytes(0));
  }
}

// A flow alone takes as long as if nothing were broken.
TEST(DownFromTheStart, SameFct) {
  SimConfig config = cluster(2, 2, 4);
  break_link(config, {Tier::fabric, 0, 1});
  break_link(config, {Tier::fabric, 1, 2});
  EXPECT_EQ(run(config, {flow(0, 3, packets(500))}).fct(), 499 * kData + kBaseRtt);
}

// No way at all: dropped for want of a route at the first switch, and the flow waits for ever.
TEST(DownFromTheStart, NoRoute) {
  SimConfig config = cluster(2, 2, 2);
  break_link(config, {Tier::fabric, 0, 0});
  break_link(config, {Tier::fabric, 0, 1});
  config.end = at(ms(1));
  const Outcome outcome = run(config, {flow(0, 3, packets(1)), flow(0, 1, packets(1))});
  EXPECT_EQ(outcome.ending, Ending::time_limit);
  EXPECT_EQ(outcome.flow(0).end, Instant::never());
  EXPECT_NE(outcome.flow(1).end, Instant::never());
  EXPECT_GT(outcome.counters.no_route_drops, 0u);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
}

// Mended after a while: until routes have followed nothing gets through, then everything does.
TEST(DownFromTheStart, NoRouteUntilMended) {
  SimConfig config = cluster(2, 2, 1);
  config.failures.convergence = us(30);
  break_link(config, {Tier::fabric, 0, 0}, Instant{}, at(us(100)));
  const Outcome outcome = run(config, {flow(0, 3, packets(10))});
  expect_all_done(outcome, 1);
  EXPECT_GT(outcome.flow(0).delivered, at(us(130)));
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_GT(outcome.counters.no_route_drops, 0u);
}

// ---- Cut for good ----

/// Two racks of two, one spine: the only way between them is cut at 20 us and stays so.
SimConfig cut_apart() {
  SimConfig config = cluster(2, 2, 1);
  config.failures.convergence = us(10);
  break_link(config, {Tier::fabric, 1, 0}, at(us(20)));
  return config;
}

// [D111] Who is cut off would try for ever: the run ends as stalled, and says who it is. For any number of
// threads at the same moment.
TEST(CutForGood, TheRunEnds) {
  SimConfig config = cut_apart();
  const workload::Flows flows{flow(0, 1, packets(1)), flow(0, 2, packets(1'000))};
  const Outcome outcome = run(config, flows);
  EXPECT_EQ(outcome.ending, Ending::stalled);
  EXPECT_EQ(outcome.finished(), 1u);
  EXPECT_EQ(outcome.flow(1).end, Instant::never());
  EXPECT_EQ(outcome.told.warnings,
            std::vector<std::string>{
                "host 0 and host 2 have no way to each other since 20 us: what is down between "
                "them never comes up again. nobody else has anything left to do, so the run ends "
                "here"});
  EXPECT_GT(outcome.told.last_progress.now, at(ms(100)));
  EXPECT_LT(outcome.told.last_progress.now, at(ms(1'000)));
  config.threads = 3;
  const Outcome threads = run(config, flows);
  EXPECT_EQ(threads.counters.hash, outcome.counters.hash);
  EXPECT_EQ(threads.told.last_progress.now, outcome.told.last_progress.now);
}

// [D111] What was done before counts, and whoever has a way is waited for, however late.
TEST(CutForGood, OthersAreWaitedFor) {
  const Outcome early = run(cut_apart(), {flow(0, 2, packets(1))});
  expect_all_done(early, 1);
  const Outcome late =
      run(cut_apart(), {flow(0, 2, packets(1'000)), flow(1, 0, packets(1), at(ms(300)))});
  EXPECT_EQ(late.ending, Ending::stalled);
  EXPECT_EQ(late.flow(1).end, at(ms(300) + 2 * kData + 2 * kSack + 4 * kLatency));
  // A cut that ends is none.
  SimConfig mended = cut_apart();
  mended.failures.failures[0].until = at(ms(200));
  expect_all_done(run(mended, {flow(0, 2, packets(1'000))}), 1);
}

// [D111] A job too, once its longest computation can be over.
TEST(CutForGood, JobsEndToo) {
  workload::GraphBuilder builder(2);
  builder.compute(0, ms(150));
  builder.message(0, 1, packets(1'000));
  workload::Job job;
  job.name = "job";
  job.graph = std::make_shared<const workload::Graph>(std::move(builder.build().value()));
  job.hosts = {0, 2};
  job.starts.assign(2, Instant{});
  const Outcome outcome = run_workload(cut_apart(), {{}, {job}});
  EXPECT_EQ(outcome.ending, Ending::stalled);
  EXPECT_EQ(outcome.told.warnings.size(), 1u);
  EXPECT_GT(outcome.told.last_progress.now, at(ms(400)));
}

/// Rack 0's link to spine 0 loses everything from 20 us on.
SimConfig with_hole(std::uint32_t spines) {
  SimConfig config = cluster(2, 2, spines);
  config.failures.impairments.push_back({.link = {Tier::fabric, 0, 0},
                                         .loss = {1, 1},
                                         .from = at(us(20)),
                                         .until = Instant::never()});
  return config;
}

// [D111] A link that loses everything is as good as none: the last one ends the run, ...
TEST(CutForGood, AHoleIsACut) {
  const Outcome outcome = run(with_hole(1), {flow(0, 2, packets(1'000))});
  EXPECT_EQ(outcome.ending, Ending::stalled);
  ASSERT_EQ(outcome.told.warnings.size(), 1u);
  EXPECT_EQ(outcome.told.warnings[0].substr(0, 55),
            "host 0 and host 2 have no way to each other since 20 us");
  SimConfig mended = with_hole(1);
  mended.failures.impairments[0].until = at(ms(2));
  expect_all_done(run(mended, {flow(0, 2, packets(1'000))}), 1);
}

// ... and so does one of several for those whose switches keep to it; who tries others gets through.
TEST(CutForGood, WhoKeepsToAHoleEndsTheRun) {
  expect_all_done(run(with_hole(2), {flow(0, 2, packets(1'000))}), 1);
  SimConfig one_path = with_hole(2);
  strack_params(one_path).max_paths = 1;
  workload::Flows flows;
  for (int i = 0; i < 16; ++i) flows.push_back(flow(0, 2, packets(200)));
  const Outcome outcome = run(one_path, flows);
  EXPECT_EQ(outcome.ending, Ending::stalled);
  EXPECT_EQ(outcome.told.warnings,
            std::vector<std::string>{
                "nothing has got through for a second, and a link loses everything for good since "
                "20 us: whoever is left keeps to a way over it, so the run ends here"});
  EXPECT_GT(outcome.finished(), 0u);
  EXPECT_LT(outcome.finished(), 16u);
}

// ---- Down at a time: to the picosecond ----

/// One packet, one spine; its uplink is dark from `from` until `until`.
Outcome one_packet_with_outage(Picoseconds from, Picoseconds until) {
  SimConfig config = cluster(2, 1, 1);
  config.failures.convergence = ms(1);  // routes never learn of it
  break_link(config, {Tier::fabric, 0, 0}, at(from), at(until));
  return run(config, {flow(0, 1, packets(1))});
}
// The packet's serialisation onto the uplink begins when the ToR has it whole, and its last bit is
// at the spine one packet time and one latency later.
constexpr Picoseconds kUplinkStart = kData + kLatency;
constexpr Picoseconds kUplinkArrival = kUplinkStart + kData + kLatency;

// Dark in the very instant the last bit arrives: lost, once, and sent again.
TEST(DownAtATime, CutAtItsLastBit) {
  const Outcome outcome = one_packet_with_outage(kUplinkArrival, kUplinkArrival + ps(1));
  expect_all_done(outcome, 1);
  EXPECT_EQ(outcome.counters.failure_drops, 1u);
  EXPECT_EQ(outcome.counters.retransmissions, 1u);
}

// Dark one picosecond later: it has arrived.
TEST(DownAtATime, NotCutJustAfterItsLastBit) {
  const Outcome outcome = one_packet_with_outage(kUplinkArrival + ps(1), kUplinkArrival + ps(2));
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_EQ(outcome.fct(), kBaseRtt);
}

// Light again in the very instant the first bit leaves: it gets through.
TEST(DownAtATime, NotCutAtItsFirstBit) {
  const Outcome outcome = one_packet_with_outage(kUplinkStart - ps(1), kUplinkStart);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_EQ(outcome.fct(), kBaseRtt);
}

// Light one picosecond later: its first bit is lost, and so it is.
TEST(DownAtATime, CutAtItsFirstBit) {
  const Outcome outcome = one_packet_with_outage(kUplinkStart, kUplinkStart + ps(1));
  expect_all_done(outcome, 1);
  EXPECT_EQ(outcome.counters.failure_drops, 1u);
}

// The SACK on the same cable, the other way, is cut like data.
TEST(DownAtATime, CutsSacksToo) {
  const Picoseconds back =
      4 * (kData + kLatency) + 3 * (kSack + kLatency);  // its last bit at ToR 0
  const Outcome outcome = one_packet_with_outage(back, back + ps(1));
  expect_all_done(outcome, 1);
  EXPECT_EQ(outcome.counters.failure_drops, 1u);
  EXPECT_EQ(outcome.flow(0).delivered, at(4 * (kData + kLatency)));
  EXPECT_GT(outcome.fct(), kBaseRtt);
}

// Routes follow exactly one convergence delay later. A packet that reaches the switch at that
// instant avoids the dead uplink, whichever it is; one picosecond earlier it is lost if that is its
// uplink, and it has one of two.
TEST(DownAtATime, RoutesFollowAtAnInstant) {
  const Instant converged = at(us(30));
  for (const Picoseconds early : {ps(0), ps(1)}) {
    std::uint64_t lost = 0;
    for (std::uint32_t uplink = 0; uplink < 2; ++uplink) {
      SimConfig config = cluster(2, 1, 2);
      config.failures.convergence = us(20);
      strack_params(config).max_paths = 1;
      break_link(config, {Tier::fabric, 0, uplink}, at(us(10)));
      const Outcome outcome =
          run(config, {flow(0, 1, packets(1), converged - kUplinkStart - early)});
      expect_all_done(outcome, 1);
      lost += outcome.counters.failure_drops;
    }
    EXPECT_EQ(lost, early == ps(0) ? 0u : 1u);
  }
}

// In a busy network: losses from the failure until convergence, then the link is left alone; all
// flows complete.
TEST(DownAtATime, LossesUntilConvergenceThenRoutedAround) {
  SimConfig config = cluster(2, 4, 4);
  config.failures.convergence = us(50);
  config.record.interval = us(10);
  config.record.links = true;
  break_link(config, {Tier::fabric, 0, 2}, at(us(50)));
  const Outcome outcome = run(config, to_next_rack(config, packets(3'000)));
  expect_all_done(outcome, 8);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
  EXPECT_GE(outcome.counters.retransmissions, 1u);
  // Only what was on its way to that spine as routes changed: no more than the cable holds.
  EXPECT_LE(outcome.counters.no_route_drops, 14u);
  const std::uint32_t up = outcome.link("tor 0", "spine 2");
  const std::uint32_t down = outcome.link("spine 2", "tor 0");
  EXPECT_GT(outcome.carried(up, Instant{}, at(us(50))), bytes(0));
  EXPECT_EQ(outcome.carried(up, at(us(120))), bytes(0));
  EXPECT_EQ(outcome.carried(down, at(us(120))), bytes(0));
}

// Up again: used again, one convergence delay later.
TEST(DownAtATime, UpAgainIsUsedAgain) {
  SimConfig config = cluster(2, 4, 4);
  config.failures.convergence = us(20);
  config.record.interval = us(10);
  config.record.links = true;
  break_link(config, {Tier::fabric, 0, 2}, at(us(50)), at(us(100)));
  const Outcome outcome = run(config, to_next_rack(config, packets(4'000)));
  expect_all_done(outcome, 8);
  const std::uint32_t up = outcome.link("tor 0", "spine 2");
  EXPECT_EQ(outcome.carried(up, at(us(90)), at(us(110))), bytes(0));
  EXPECT_GT(outcome.carried(up, at(us(130))), bytes(0));
}

// A link that flaps is lost and found each time.
TEST(DownAtATime, Flapping) {
  SimConfig config = cluster(2, 4, 4);
  config.failures.convergence = us(5);
  for (std::int64_t i = 0; i < 8; ++i) {
    break_link(config, {Tier::fabric, 0, 1}, at(us(20 + 20 * i)), at(us(30 + 20 * i)));
  }
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 8);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
}

// A host's own link: nothing can be routed around it, but all completes once it is back.
TEST(DownAtATime, HostLink) {
  SimConfig config = cluster(2, 4, 4);
  break_link(config, {Tier::host, 1, 0}, at(us(20)), at(us(200)));
  const Outcome outcome = run(config, to_next_rack(config, packets(500)));
  expect_all_done(outcome, 8);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
  EXPECT_GT(outcome.flow(1).end, at(us(200)));
}

// ---- Switches ----

// A spine that is dead from the start: nothing lost.
TEST(SwitchDead, SpineFromTheStart) {
  SimConfig config = cluster(4, 4, 4);
  kill_switch(config, {SwitchRef::Tier::agg, 3});
  const Outcome outcome = run(config, to_next_rack(config, packets(200)));
  expect_all_done(outcome, 16);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_EQ(outcome.counters.no_route_drops, 0u);
}

// A spine that dies: what is in it and on its way there is lost; the flows complete over the
// others.
TEST(SwitchDead, SpineDies) {
  SimConfig config = cluster(4, 4, 4);
  config.failures.convergence = us(50);
  kill_switch(config, {SwitchRef::Tier::agg, 3}, at(us(40)));
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 16);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
}

// A ToR that dies takes its rack along until it is back.
TEST(SwitchDead, TorDiesAndComesBack) {
  SimConfig config = cluster(3, 4, 4);
  config.failures.convergence = us(20);
  kill_switch(config, {SwitchRef::Tier::tor, 1}, at(us(40)), at(us(300)));
  const Outcome outcome = run(config, to_next_rack(config, packets(500)));
  expect_all_done(outcome, 12);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
  for (std::uint32_t h = 0; h < 8; ++h) EXPECT_GT(outcome.flow(h).end, at(us(300))) << h;
}

// Three tiers: an aggregation switch and a core die.
TEST(SwitchDead, AggAndCore) {
  SimConfig config = pods(3, 2);
  config.failures.convergence = us(30);
  kill_switch(config, {SwitchRef::Tier::agg, 1}, at(us(30)));
  kill_switch(config, {SwitchRef::Tier::core, 0}, at(us(60)));
  workload::Flows flows;
  for (std::uint32_t h = 0; h < 12; ++h) flows.push_back(flow(h, (h + 5) % 12, packets(1'000)));
  const Outcome outcome = run(config, flows);
  expect_all_done(outcome, 12);
  EXPECT_GT(outcome.counters.failure_drops, 0u);
}

// ---- Links that work badly ----

// Half the rate on a host's cable, both ways: its packets take twice as long there, and so do SACKs
// to it.
TEST(Impaired, HalfTheRateOfAHostLink) {
  SimConfig config = cluster(1, 2, 1);
  impair(config, {Tier::host, 0, 0}, {1, 2}, {0, 1});
  const Outcome outcome = run(config, {flow(0, 1, packets(100))});
  EXPECT_EQ(outcome.fct(), 99 * 2 * kData + (2 * kData + kLatency) + (kData + kLatency) +
                               (kSack + kLatency) + (2 * kSack + kLatency));
  EXPECT_EQ(outcome.links[outcome.link("host 0", "tor 0")].rate, gbps(200));
  EXPECT_EQ(outcome.links[outcome.link("tor 0", "host 0")].rate, gbps(200));
  EXPECT_EQ(outcome.links[outcome.link("host 1", "tor 0")].rate, gbps(400));
}

// One way of a cable: only what a host sends is slow, and only what is sent to it.
TEST(Impaired, OneWayOfAHostLink) {
  for (const LinkWay way : {LinkWay::up, LinkWay::down}) {
    SimConfig config = cluster(1, 2, 1);
    impair(config, {Tier::host, 0, 0}, {1, 2}, {0, 1});
    config.failures.impairments[0].way = way;
    const bool up = way == LinkWay::up;
    const Outcome outcome = run(config, {flow(0, 1, packets(100))});
    EXPECT_EQ(outcome.links[outcome.link("host 0", "tor 0")].rate, gbps(up ? 200 : 400));
    EXPECT_EQ(outcome.links[outcome.link("tor 0", "host 0")].rate, gbps(up ? 400 : 200));
    EXPECT_EQ(outcome.fct(),
              (up ? 2 : 1) * 100 * kData + kData + 4 * kLatency + kSack + (up ? 1 : 2) * kSack);
  }
}

// [D87] Half the rate for packets that begin to leave before the 41st would: 20 of them at half the rate.
TEST(Impaired, ForAWhile) {
  SimConfig config = cluster(1, 2, 1);
  impair(config, {Tier::host, 0, 0}, {1, 2}, {0, 1});
  Impairment& bad = config.failures.impairments[0];
  bad.way = LinkWay::up;
  bad.until = at(40 * kData);
  const Picoseconds rest = kData + 4 * kLatency + 2 * kSack;
  const Outcome first = run(config, {flow(0, 1, packets(100))});
  EXPECT_EQ(first.fct(), 20 * 2 * kData + 80 * kData + rest);
  EXPECT_EQ(first.links[first.link("host 0", "tor 0")].rate, gbps(400));
  bad.from = at(10 * kData);
  EXPECT_EQ(run(config, {flow(0, 1, packets(100))}).fct(), 15 * 2 * kData + 85 * kData + rest);
  // Over before anything is sent, or after it all.
  bad.from = at(seconds(1));
  bad.until = Instant::never();
  EXPECT_EQ(run(config, {flow(0, 1, packets(100))}).fct(), 100 * kData + rest);
}

// [D87] A queue stands for the time that it takes at the rate of then.
TEST(Impaired, QueuesAreAsLongInTimeAsTheLinkIsSlow) {
  SimConfig config = cluster(1, 3, 1);
  impair(config, {Tier::host, 2, 0}, {1, 4}, {0, 1});
  config.failures.impairments[0].way = LinkWay::down;
  config.failures.impairments[0].until = at(us(20));
  config.record.interval = us(10);
  config.record.queues = true;
  const Outcome outcome = run(config, {flow(0, 2, packets(300)), flow(1, 2, packets(300))});
  expect_all_done(outcome, 2);
  int slow = 0;
  int fast = 0;
  for (const metrics::LinkSample& sample : outcome.told.link_samples) {
    if (sample.link != outcome.link("tor 0", "host 2") || sample.queue_max == bytes(0)) continue;
    const bool bad = sample.time <= at(us(20));
    ++(bad ? slow : fast);
    EXPECT_EQ(sample.qdelay_max, sample.queue_max / (bad ? gbps(100) : gbps(400)));
  }
  EXPECT_EQ(slow, 2);
  EXPECT_GT(fast, 0);
}

// [D87] All that begins to leave in 10 us is lost, and nothing else.
TEST(Impaired, LossForAWhile) {
  SimConfig config = cluster(2, 4, 1);
  impair(config, {Tier::fabric, 0, 0}, {1, 1}, {1, 1});
  config.failures.impairments[0].from = at(us(20));
  config.failures.impairments[0].until = at(us(30));
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 8);
  const auto most = static_cast<std::uint64_t>(us(10) / kSack);
  EXPECT_GT(outcome.counters.error_drops, 50u);
  EXPECT_LT(outcome.counters.error_drops, most);
}

// Up is from the rack, down to it.
TEST(Impaired, OneWayOfAnUplink) {
  SimConfig config = cluster(2, 1, 1);
  impair(config, {Tier::fabric, 0, 0}, {1, 4}, {0, 1});
  config.failures.impairments[0].way = LinkWay::down;
  const Outcome outcome = run(config, {flow(0, 1, packets(1))});
  EXPECT_EQ(outcome.links[outcome.link("tor 0", "spine 0")].rate, gbps(400));
  EXPECT_EQ(outcome.links[outcome.link("spine 0", "tor 0")].rate, gbps(100));
}

// [D75] A quarter of the rate with a quarter of the queue: what waits for it at most is as long in time.
TEST(Impaired, ScaledQueue) {
  for (const bool scaled : {false, true}) {
    SimConfig config = cluster(1, 3, 1);
    config.switches.queue_limit = 40 * (packets(1) + config.hosts.data_header);
    impair(config, {Tier::host, 2, 0}, {1, 4}, {0, 1});
    config.failures.impairments[0].way = LinkWay::down;
    config.failures.impairments[0].scale_queue = scaled;
    const Outcome outcome = run(config, {flow(0, 2, packets(200)), flow(1, 2, packets(200))});
    expect_all_done(outcome, 2);
    EXPECT_EQ(outcome.counters.deepest_queue,
              (scaled ? 10 : 40) * (packets(1) + config.hosts.data_header));
  }
}

// A degraded uplink in a busy network: adaptive spraying gives it less than its share, and all
// complete.
TEST(Impaired, QuarterOfTheRateOfAnUplink) {
  SimConfig config = cluster(2, 4, 4);
  config.switches.kmin = kb(80);
  config.switches.kmax = kb(320);
  config.switches.queue_limit = mb(1);
  config.record.interval = ms(10);
  config.record.links = true;
  impair(config, {Tier::fabric, 0, 0}, {1, 4}, {0, 1});
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 8);
  EXPECT_GT(outcome.counters.marks, 0u);
  const Bytes slow = outcome.carried(outcome.link("tor 0", "spine 0"));
  const Bytes fast = outcome.carried(outcome.link("tor 0", "spine 1"));
  EXPECT_GT(slow, bytes(0));
  EXPECT_LT(2 * slow, fast);
}

// One packet in 50 is lost on one uplink: lost as often as that, and only that is sent again, or
// little more.
TEST(Impaired, RandomLoss) {
  SimConfig config = cluster(2, 4, 1);  // all go over it
  impair(config, {Tier::fabric, 0, 0}, {1, 1}, {1, 50});
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 8);
  const auto crossings = static_cast<double>(outcome.counters.data_packets_sent +
                                             outcome.counters.control_packets_sent);
  EXPECT_NEAR(static_cast<double>(outcome.counters.error_drops), crossings / 50,
              crossings / 50 * 0.25);
  EXPECT_EQ(outcome.counters.failure_drops, 0u);
  EXPECT_EQ(outcome.counters.queue_drops, 0u);
}

// Two entries for one link add up: a slower one takes no loss away.
TEST(Impaired, EntriesForOneLinkAddUp) {
  SimConfig config = cluster(2, 4, 1);
  impair(config, {Tier::fabric, 0, 0}, {1, 1}, {1, 50});
  impair(config, {Tier::fabric, 0, 0}, {1, 2}, {0, 1});
  const Outcome outcome = run(config, to_next_rack(config, packets(2'000)));
  expect_all_done(outcome, 8);
  EXPECT_GT(outcome.counters.error_drops, 0u);
  EXPECT_EQ(outcome.links[outcome.link("tor 0", "spine 0")].rate, gbps(200));
}

// Bit errors of 1e-6 lose one full packet in 30 and one SACK in 2000.
TEST(Impaired, BitErrors) {
  SimConfig config = cluster(1, 2, 1);
  impair(config, {Tier::host, 1, 0}, {1, 1}, {0, 1}, 1e-6);
  const Outcome outcome = run(config, {flow(0, 1, packets(30'000))});
  expect_all_done(outcome, 1);
  const double expected = static_cast<double>(outcome.counters.data_packets_sent) * 4'160 * 8e-6;
  EXPECT_NEAR(static_cast<double>(outcome.counters.error_drops), expected, expected * 0.2);
}

// However many bits are wrong, up to all of them: nothing gets through.
TEST(Impaired, EveryBitAnError) {
  for (const double rate : {0.01, 0.125, 0.5, 1.0}) {
    SimConfig config = cluster(1, 2, 1);
    config.end = at(us(500));
    impair(config, {Tier::host, 1, 0}, {1, 1}, {0, 1}, rate);
    const Outcome outcome = run(config, {flow(0, 1, packets(1))});
    EXPECT_EQ(outcome.counters.data_packets_delivered, 0u) << rate;
    EXPECT_EQ(outcome.ending, Ending::time_limit) << rate;
  }
}

// A link that silently loses everything, and that no route avoids: retransmissions take other
// paths.
TEST(Impaired, SilentlyDeadUplink) {
  SimConfig config = cluster(2, 2, 4);
  impair(config, {Tier::fabric, 0, 0}, {1, 1}, {1, 1});
  const Outcome outcome = run(config, to_next_rack(config, packets(500)));
  expect_all_done(outcome, 4);
  EXPECT_GT(outcome.counters.error_drops, 0u);
}

// A healthy part of the network does not notice a broken one.
TEST(Impaired, OthersAreUntouched) {
  SimConfig config = cluster(2, 2, 2);
  impair(config, {Tier::host, 2, 0}, {1, 1}, {1, 10});
  break_link(config, {Tier::host, 3, 0}, at(us(5)), at(us(50)));
  const Outcome outcome = run(config, {flow(2, 3, packets(200)), flow(0, 1, packets(500))});
  expect_all_done(outcome, 2);
  EXPECT_EQ(outcome.fct(1), 499 * kData + kRackRtt);
}

// Every kind at once, in a small cluster with shallow queues: all flows complete, whatever the
// seed.
TEST(Impaired, EverythingAtOnce) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimConfig config = cluster(4, 4, 4);
    config.seed = seed;
    config.switches.kmin = kb(40);
    config.switches.kmax = kb(160);
    config.switches.queue_limit = kb(300);
    config.failures.convergence = us(30);
    break_link(config, {Tier::fabric, 0, 0});
    break_link(config, {Tier::fabric, 1, 1}, at(us(30)), at(us(120)));
    kill_switch(config, {SwitchRef::Tier::agg, 3}, at(us(60)), at(us(150)));
    impair(config, {Tier::fabric, 2, 2}, {1, 2}, {1, 100}, 1e-7);
    impair(config, {Tier::host, 5, 0}, {1, 1}, {1, 50});
    const Outcome outcome = run(config, to_next_rack(config, packets(500)));
    expect_all_done(outcome, 16);
  }
}

}  // namespace
}  // namespace strack::sim
