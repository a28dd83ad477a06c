#include "sim/net/port.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sim/net/port_testing.h"

namespace strack::sim {
namespace {

using namespace testing;
using Bench = PortBench<Port>;

// One packet through an idle port: its serialisation, then the cable.
TEST(Port, Fifo_OnePacket) {
  Bench bench;
  bench.data(5, 1);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, 5 + kS + kL}}));
  EXPECT_EQ(bench.port.next_event(), Instant::never());
  EXPECT_EQ(bench.hops(), 1u);
}

// Two senders at one instant: first come first served, the second right behind the first.
TEST(Port, Fifo_TwoSendersShareTheLink) {
  Bench bench;
  for (std::uint32_t i = 0; i < 4; ++i) {
    bench.data(kS * i, 10 + i);
    bench.data(kS * i, 20 + i);
  }
  bench.run();
  Seen expected;
  for (std::uint32_t i = 0; i < 4; ++i) {
    expected.push_back({10 + i, (2 * i + 1) * kS + kL});
    expected.push_back({20 + i, (2 * i + 2) * kS + kL});
  }
  EXPECT_EQ(bench.seen(), expected);
}

// Packets of different sizes each take their own time, without a gap.
TEST(Port, Fifo_DifferentSizes) {
  Bench bench;
  bench.data(0, 1, 4'096);
  bench.data(1, 2, 936);  // 1000 bytes on the wire
  bench.data(2, 3, 0);    // 64
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, 83'200 + kL}, {2, 103'200 + kL}, {3, 104'480 + kL}}));
}

// After an idle time the next packet is served when it comes, not when the last one left.
TEST(Port, Fifo_IdleTimeIsNotSaved) {
  Bench bench;
  bench.data(0, 1);
  bench.data(10 * kS, 2);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {2, 11 * kS + kL}}));
}

// At 300 Gb/s, where a byte is no whole number of picoseconds, each packet's time is rounded down
// by itself.
TEST(Port, Fifo_RateWithFractions) {
  Bench bench(deep_queue(), gbps(300));
  for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{0, 110'933 + kL}, {1, 221'866 + kL}, {2, 332'799 + kL}}));
}

// Where a window ends does not show: the same packets, cut into windows anywhere, leave at the same
// times.
TEST(Port, Fifo_WindowsDoNotShow) {
  const auto feed = [](Bench& bench, std::int64_t from, std::int64_t until) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      const std::int64_t time = (i / 2) * 100'000 + (i % 2) * 7;
      if (time < from || time >= until) continue;
      if (i % 7 == 3) {
        bench.sack(time, i);
      } else {
        bench.data(time, i);
      }
    }
  };
  Bench whole;
  feed(whole, 0, 4'000'000);
  whole.run();
  for (const std::int64_t window : {1'000ll, 83'200ll, 100'000ll, 777'777ll}) {
    Bench cut;
    for (std::int64_t begin = 0; begin < 8'000'000; begin += window) {
      feed(cut, begin, begin + window);
      cut.run(begin + window);
    }
    EXPECT_EQ(cut.seen(), whole.seen()) << window;
    EXPECT_EQ(cut.fingerprint.value(), whole.fingerprint.value());
  }
}

// A departure at the end of a window belongs to the next one.
TEST(Port, Fifo_DepartureAtTheEndOfAWindow) {
  Bench bench;
  bench.data(0, 1);
  bench.run(kS);
  EXPECT_TRUE(bench.out.empty());
  EXPECT_EQ(bench.port.next_event(), t(kS));
  EXPECT_EQ(bench.port.packets_held(), 1u);
  bench.run(kS + 1);
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}}));
  EXPECT_EQ(bench.port.packets_held(), 0u);
}

// A wire that is down loses what it is given, at the same pace, and counts it.
TEST(Port, Failure_CountedAtTheSamePace) {
  Bench bench;
  const std::vector<Outage> outages{
      {t(0), t(kS)}};  // the first packet starts within, the second just after
  bench.port.wire.outages = &outages;
  bench.data(0, 1);
  bench.data(0, 2);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{2, 2 * kS + kL}}));
  EXPECT_EQ(bench.drops.failure, 1u);
  EXPECT_EQ(bench.drops.total(), 1u);
}

// A wire that corrupts loses packets too, counted apart.
TEST(Port, Error_CountedApart) {
  Bench bench;
  bench.port.wire.loss_threshold = ~std::uint64_t{0};
  bench.data(0, 1);
  bench.run();
  EXPECT_TRUE(bench.out.empty());
  EXPECT_EQ(bench.drops.error, 1u);
  EXPECT_EQ(bench.drops.total(), 1u);
}

SwitchParams marking(std::int64_t kmin, std::int64_t kmax, Ratio pmax = {1, 1}) {
  SwitchParams params = deep_queue();
  params.kmin = bytes(kmin);
  params.kmax = bytes(kmax);
  params.pmax = pmax;
  return params;
}

// The mark goes to the packet that leaves a long queue behind, not to the one that finds it: of
// five that come together the first leaves 4 behind, the second 3, and so on.
TEST(Port, Ecn_JudgedOnTheQueueLeftBehind) {
  Bench bench(marking(2 * 4'160, 2 * 4'160));
  for (std::uint32_t i = 0; i < 5; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.marked(), (Numbers{0, 1}));
  EXPECT_EQ(bench.port.marks(), 2u);
}

// A queue of exactly kmin does not mark; one byte more can.
TEST(Port, Ecn_KminItselfDoesNotMark) {
  Bench at_kmin(marking(4'160, 4'160));
  at_kmin.data(0, 0);
  at_kmin.data(0, 1);
  at_kmin.run();
  EXPECT_EQ(at_kmin.marked(), Numbers{});

  Bench above(marking(4'159, 4'160));
  above.data(0, 0);
  above.data(0, 1);
  above.run();
  EXPECT_EQ(above.marked(), Numbers{0});
}

// A queue of exactly kmax marks always, even with the smallest pmax.
TEST(Port, Ecn_KmaxAlwaysMarks) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Bench bench(marking(0, 4'160, {1, 1'000'000}));
    bench.port.seed(seed);
    bench.data(0, 0);
    bench.data(0, 1);
    bench.run();
    ASSERT_EQ(bench.marked(), Numbers{0});
  }
}

/// A port that leaves exactly 11 packets (45'760 bytes) behind at each of `count` departures.
std::uint64_t marks_at_constant_depth(const SwitchParams& params, std::uint32_t count) {
  Bench bench(params);
  bench.port.seed(12'345);
  for (std::uint32_t i = 0; i < 11; ++i) bench.data(0, i);
  for (std::uint32_t i = 0; i < count; ++i) bench.data(kS * i + kS / 2, i);
  bench.run(kS * count + 1);
  EXPECT_EQ(bench.out.size(), count);
  return bench.port.marks();
}

// Half way between kmin and kmax, half of pmax: 1/4 of 16'000, within four standard deviations
// (55).
TEST(Port, Ecn_ProbabilityBetween) {
  const std::uint64_t marks = marks_at_constant_depth(marking(35'760, 55'760, {1, 2}), 16'000);
  EXPECT_NEAR(static_cast<double>(marks), 4'000.0, 4 * 55.0);
}

// A tenth of the way, with pmax 1: 1/10.
TEST(Port, Ecn_ProbabilityNearKmin) {
  const std::uint64_t marks = marks_at_constant_depth(marking(44'760, 54'760), 16'000);
  EXPECT_NEAR(static_cast<double>(marks), 1'600.0, 4 * 38.0);
}

// With pmax 0 nothing is marked until kmax.
TEST(Port, Ecn_PmaxZero) {
  EXPECT_EQ(marks_at_constant_depth(marking(0, 45'761, {0, 1}), 1'000), 0u);
  EXPECT_EQ(marks_at_constant_depth(marking(0, 45'760, {0, 1}), 1'000), 1'000u);
}

// SACKs are never marked, whatever they leave behind; probes are, like data [D18].
TEST(Port, Ecn_ProbesButNotSacks) {
  Bench bench(marking(0, 1));
  bench.sack(0, 0);
  bench.probe(0, 1);
  bench.data(0, 2);
  bench.data(0, 3);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(bench.marked(), (Numbers{1, 2}));
}

// SACKs that wait in their own queue do not count as queue.
TEST(Port, Ecn_WaitingSacksDoNotCount) {
  Bench bench(marking(0, 1));
  bench.data(0, 0);
  for (std::uint32_t i = 1; i < 50; ++i) bench.sack(1, i);
  bench.run();
  EXPECT_EQ(bench.marked(), Numbers{});
}

// An arrival at the very instant of a departure is left behind by it: one picosecond later it is
// not.
TEST(Port, Ecn_ArrivalAtTheInstantOfDeparture) {
  Bench together(marking(0, 1));
  together.data(0, 0);
  together.data(kS, 1);
  together.run();
  EXPECT_EQ(together.marked(), Numbers{0});
  EXPECT_EQ(together.seen()[1].arrival, 2 * kS + kL);

  Bench later(marking(0, 1));
  later.data(0, 0);
  later.data(kS + 1, 1);
  later.run();
  EXPECT_EQ(later.marked(), Numbers{});
  EXPECT_EQ(later.seen()[1].arrival, 2 * kS + 1 + kL);
}

SwitchParams limited(std::int64_t limit) {
  SwitchParams params = deep_queue();
  params.queue_limit = bytes(limit);
  return params;
}

// A packet that fills the queue to its limit is taken; had the limit been one byte less, it is
// dropped. The packet in service does not count.
TEST(Port, Drop_AtExactlyTheLimit) {
  Bench fits(limited(2 * 4'160));
  for (std::uint32_t i = 0; i < 3; ++i) fits.data(0, i);
  fits.run();
  EXPECT_EQ(fits.numbers(), (Numbers{0, 1, 2}));
  EXPECT_EQ(fits.drops.total(), 0u);

  Bench over(limited(2 * 4'160 - 1));
  for (std::uint32_t i = 0; i < 3; ++i) over.data(0, i);
  over.run();
  EXPECT_EQ(over.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(over.drops.queue, 1u);
  EXPECT_EQ(over.drops.total(), 1u);
}

// The very byte: a payload that reaches the limit is taken, the same packet with one byte more is
// not.
TEST(Port, Drop_OneByteMore) {
  for (const std::uint16_t extra : {std::uint16_t{0}, std::uint16_t{1}}) {
    Bench bench(limited(4'160 + 164));
    bench.data(0, 0);
    bench.data(0, 1);
    bench.data(0, 2, static_cast<std::uint16_t>(100 + extra));
    bench.run();
    EXPECT_EQ(bench.drops.queue, extra);
    EXPECT_EQ(bench.out.size(), 3u - extra);
  }
}

// After a drop a smaller packet may still fit: tail drop looks at bytes, not at turns.
TEST(Port, Drop_ASmallerPacketStillFits) {
  Bench bench(limited(4'160 + 64));
  bench.data(0, 0);
  bench.data(0, 1);
  bench.data(0, 2);
  bench.data(0, 3, 0);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 1, 3}));
}

// Room is made when service begins, so at the instant of a departure the queue is still full.
TEST(Port, Drop_RoomIsMadeAtDeparture) {
  Bench bench(limited(4'160));
  bench.data(0, 0);
  bench.data(0, 1);
  bench.data(kS, 2);      // as 0 leaves: 1 still waits
  bench.data(kS + 1, 3);  // 1 is in service
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 1, 3}));
  EXPECT_EQ(bench.drops.queue, 1u);
}

// An idle port serves a packet even where nothing may wait.
TEST(Port, Drop_NothingMayWait) {
  Bench bench(limited(0));
  bench.data(0, 0);
  bench.data(1, 1);
  bench.data(kS + 1, 2);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 2}));
}

// A SACK overtakes the data that waits, not the packet in service.
TEST(Port, Priority_OvertakesQueuedData) {
  Bench bench;
  bench.data(0, 0);
  bench.data(0, 1);
  bench.data(0, 2);
  bench.sack(10, 3);
  bench.run();
  EXPECT_EQ(bench.seen(),
            (Seen{{0, kS + kL}, {3, kS + kC + kL}, {1, 2 * kS + kC + kL}, {2, 3 * kS + kC + kL}}));
}

// SACKs keep their order among themselves.
TEST(Port, Priority_SacksInOrder) {
  Bench bench;
  bench.data(0, 0);
  bench.data(1, 1);
  for (std::uint32_t i = 2; i < 40; ++i) bench.sack(2, i);
  bench.run();
  ASSERT_EQ(bench.out.size(), 40u);
  EXPECT_EQ(bench.numbers()[0], 0u);
  for (std::uint32_t i = 2; i < 40; ++i) EXPECT_EQ(bench.numbers()[i - 1], i);
  EXPECT_EQ(bench.numbers()[39], 1u);
}

// A SACK that comes as a packet leaves goes before the data that has waited for this moment.
TEST(Port, Priority_AtTheInstantOfDeparture) {
  Bench bench;
  bench.data(0, 0);
  bench.data(0, 1);
  bench.sack(kS, 2);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 2, 1}));
}

// One picosecond later the data is in service, and is not displaced.
TEST(Port, Priority_NotPreemptive) {
  Bench bench;
  bench.data(0, 0);
  bench.data(0, 1);
  bench.sack(kS + 1, 2);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{0, kS + kL}, {1, 2 * kS + kL}, {2, 2 * kS + kC + kL}}));
}

// A probe waits like data [D18].
TEST(Port, Priority_NotForProbes) {
  Bench bench;
  bench.data(0, 0);
  bench.data(0, 1);
  bench.probe(1, 2);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{0, kS + kL}, {1, 2 * kS + kL}, {2, 2 * kS + kC + kL}}));
}

// A SACK is taken however full the data queue is.
TEST(Port, Priority_SacksAreNotDropped) {
  Bench bench(limited(0));
  bench.data(0, 0);
  bench.sack(1, 1);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(bench.drops.total(), 0u);
}

// [D116] The highest priority first, each in order of arrival; control before all; what is on the wire stays there.
TEST(Port, Priority_HighestFirst) {
  Bench bench;
  bench.data(0, 1);
  bench.data(1, 2);
  bench.urgent(2, 11);
  bench.urgent(3, 31, 3);
  bench.urgent(4, 12);
  bench.urgent(5, 21, 2);
  bench.sack(6, 99);
  bench.run(7);
  EXPECT_EQ(bench.port.packets_held(), 7u);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL},
                                {99, kS + kC + kL},
                                {31, 2 * kS + kC + kL},
                                {21, 3 * kS + kC + kL},
                                {11, 4 * kS + kC + kL},
                                {12, 5 * kS + kC + kL},
                                {2, 6 * kS + kC + kL}}));
  EXPECT_EQ(bench.port.packets_held(), 0u);
  EXPECT_EQ(bench.port.deepest_queue(), 5 * 4'160);
  EXPECT_EQ(bench.port.load(), 0);
}

// [D116] Each has a limit of its own: full of one, there is room for another.
TEST(Port, Priority_LimitsAreTheirOwn) {
  SwitchParams params = deep_queue();
  params.queue_limit = bytes(2 * 4'160);
  Bench bench(params);
  for (std::uint32_t i = 0; i < 5; ++i) bench.data(i, i);
  for (std::uint32_t i = 0; i < 4; ++i) bench.urgent(10 + i, 10 + i);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 10, 11, 1, 2}));
  EXPECT_EQ(bench.drops.queue, 4u);
  EXPECT_EQ(bench.port.take_interval().queue_max, 4 * 4'160);
}

// [D116] And marks of its own: a queue of others is no congestion of one's own.
TEST(Port, Priority_MarksAreTheirOwn) {
  SwitchParams params = deep_queue();
  params.kmin = params.kmax = bytes(2 * 4'160 - 1);
  Bench bench(params);
  for (std::uint32_t i = 0; i < 4; ++i) bench.data(i, i);
  bench.urgent(10, 10);
  bench.urgent(11, 11);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 10, 11, 1, 2, 3}));
  // 0 leaves three of its own behind, 1 two; both that go before leave few of theirs.
  EXPECT_EQ(bench.marked(), (Numbers{0, 1}));
  for (std::uint32_t i = 0; i < 3; ++i) bench.urgent(1'000'000'000'000 + i, 20 + i);
  bench.run(2'000'000'000'000);
  EXPECT_EQ(bench.marked(), (Numbers{0, 1, 20}));
}

// Without priority a SACK waits its turn, ...
TEST(Port, NoPriority_WaitsItsTurn) {
  SwitchParams params = deep_queue();
  params.control_priority = false;
  Bench bench(params);
  bench.data(0, 0);
  bench.data(0, 1);
  bench.sack(1, 2);
  bench.data(2, 3);
  bench.run();
  EXPECT_EQ(bench.seen(),
            (Seen{{0, kS + kL}, {1, 2 * kS + kL}, {2, 2 * kS + kC + kL}, {3, 3 * kS + kC + kL}}));
}

// ... counts as queue with its own size, and is dropped where it does not fit.
TEST(Port, NoPriority_CountsAndIsDropped) {
  SwitchParams params = limited(128);
  params.control_priority = false;
  params.kmin = bytes(127);
  params.kmax = bytes(128);
  Bench bench(params);
  bench.data(0, 0);
  bench.sack(1, 1);
  bench.sack(1, 2);
  bench.sack(1, 3);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 1, 2}));
  EXPECT_EQ(bench.marked(), Numbers{0});
  EXPECT_EQ(bench.drops.queue, 1u);
}

// An interval's tally: bytes on the wire, the deepest queue, marks and drops; the next starts with
// the queue as it is.
TEST(Port, Tally_PerInterval) {
  SwitchParams params = limited(2 * 4'160);
  params.kmin = params.kmax = bytes(4'160);
  Bench bench(params);
  for (std::uint32_t i = 0; i < 4; ++i) bench.data(0, i);
  bench.run(kS + 1);
  const Port::Tally first = bench.port.take_interval();
  EXPECT_EQ(first.carried, 4'160);
  EXPECT_EQ(first.arrived, 4 * 4'160);  // the dropped one too
  EXPECT_EQ(first.queue_max, 2 * 4'160);
  EXPECT_EQ(first.marks, 1u);
  EXPECT_EQ(first.drops, 1u);
  bench.run();
  const Port::Tally second = bench.port.take_interval();
  EXPECT_EQ(second.carried, 2 * 4'160);
  EXPECT_EQ(second.arrived, 0);
  EXPECT_EQ(second.queue_max, 4'160);
  EXPECT_EQ(second.marks, 0u);
  EXPECT_EQ(second.drops, 0u);
  EXPECT_EQ(bench.port.deepest_queue(), 2 * 4'160);
}

// [D50] A mark by a port to a host says that it was the last hop; one in the fabric does not.
TEST(Port, Mark_SaysWhetherAtTheLastHop) {
  for (const bool last_hop : {false, true}) {
    SwitchParams params = deep_queue();
    params.kmin = params.kmax = bytes(4'160 - 1);
    Bench bench(params);
    bench.port.wire.last_hop = last_hop;
    for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
    bench.run();
    EXPECT_EQ(bench.marked(), (Numbers{0, 1}));
    EXPECT_EQ(bench.out[0].packet.marked_last_hop(), last_hop);
    EXPECT_EQ(bench.out[2].packet.marked_last_hop(), false);
  }
}

// [D50] Where ECN is off at the last hop, ports to hosts do not mark, and others still do.
TEST(Port, Mark_OffAtTheLastHop) {
  for (const bool last_hop : {false, true}) {
    SwitchParams params = deep_queue();
    params.kmin = params.kmax = bytes(4'160 - 1);
    params.ecn_last_hop = false;
    Bench bench(params);
    bench.port.wire.last_hop = last_hop;
    for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
    bench.run();
    EXPECT_EQ(bench.marked(), last_hop ? Numbers{} : (Numbers{0, 1}));
  }
}

// [D75] Rules for a part of the queue: all sizes are that part, and marks come as often at that part of
// a queue.
TEST(Port, ScaledRules) {
  SwitchParams params;
  params.kmin = kb(100);
  params.kmax = kb(500);
  params.queue_limit = mb(1);
  params.trimming.queue_limit = mb(2);
  const PortRules rules(params, HostParams{});
  const PortRules quarter = rules.scaled({1, 4});
  EXPECT_EQ(quarter.kmin, 25'000);
  EXPECT_EQ(quarter.kmax, 125'000);
  EXPECT_EQ(quarter.queue_limit, 250'000);
  EXPECT_EQ(quarter.header_limit, 500'000);
  EXPECT_EQ(quarter.mark_slope, 4 * rules.mark_slope);
  EXPECT_EQ(quarter.control_size, rules.control_size);

  Port port;
  EXPECT_EQ(&port.rules_here(rules), &rules);
  port.scale_queue(rules, {1, 2});
  port.scale_queue(rules, {1, 2});  // entries for one link add up
  EXPECT_EQ(port.rules_here(rules).queue_limit, 250'000);
}

}  // namespace
}  // namespace strack::sim
