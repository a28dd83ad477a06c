// [D49] Ports that trim. What they have in common with others is in port_test.cpp.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sim/net/port.h"
#include "sim/net/port_testing.h"

namespace strack::sim {
namespace {

using namespace testing;
using Bench = PortBench<TrimmingPort>;

/// Room for two full packets, and for so many headers of 64 bytes.
SwitchParams room_for(std::int64_t headers) {
  SwitchParams params = deep_queue();
  params.queue_limit = bytes(2 * 4'160);
  params.trimming = {true, bytes(64), bytes(64 * headers)};
  return params;
}

std::vector<std::uint32_t> trimmed(const Bench& bench) {
  std::vector<std::uint32_t> all;
  for (const Transit& transit : bench.out) {
    if (transit.packet.trimmed()) all.push_back(static_cast<std::uint32_t>(transit.packet.w1));
  }
  return all;
}

// [D49] Of five at once one is sent, two wait, two lose their payload: their headers leave first.
TEST(Trimming, HeadersLeaveAheadOfData) {
  Bench bench(room_for(10));
  for (std::uint32_t i = 0; i < 5; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{0, kS + kL},
                                {3, kS + kC + kL},
                                {4, kS + 2 * kC + kL},
                                {1, 2 * kS + 2 * kC + kL},
                                {2, 3 * kS + 2 * kC + kL}}));
  EXPECT_EQ(trimmed(bench), (Numbers{3, 4}));
  EXPECT_EQ(bench.port.trims(), 2u);
  EXPECT_EQ(bench.drops.total(), 0u);
  EXPECT_EQ(bench.out[1].packet.payload(), 4'096u);  // what it had
}

// [D49] What is left of a packet is as large as is said.
TEST(Trimming, SizeOfTheHeader) {
  SwitchParams params = room_for(10);
  params.trimming.size = bytes(256);
  Bench bench(params);
  for (std::uint32_t i = 0; i < 4; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{0, kS + kL},
                                {3, kS + 4 * kC + kL},
                                {1, 2 * kS + 4 * kC + kL},
                                {2, 3 * kS + 4 * kC + kL}}));
}

// [D49] The headers' queue has a limit of its own; beyond it they are dropped, though they were cut.
TEST(Trimming, HeadersHaveALimit) {
  Bench bench(room_for(2));
  for (std::uint32_t i = 0; i < 6; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 3, 4, 1, 2}));
  EXPECT_EQ(bench.port.trims(), 3u);
  EXPECT_EQ(bench.drops.queue, 1u);
  // Once they have left there is room again.
  for (std::uint32_t i = 10; i < 15; ++i) bench.data(10 * kS, i);
  bench.run();
  EXPECT_EQ(bench.drops.queue, 1u);
  EXPECT_EQ(bench.port.trims(), 5u);
}

// Control goes before headers.
TEST(Trimming, ControlFirst) {
  Bench bench(room_for(10));
  for (std::uint32_t i = 0; i < 4; ++i) bench.data(0, i);
  bench.sack(1, 9);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 9, 3, 1, 2}));
}

// A packet that was cut before goes with the headers here, ahead of data, and as large as they are.
TEST(Trimming, CutElsewhere) {
  SimPacket header = SimPacket::data({1, 1}, 0, 4'096);
  header.w1 = 7;
  header.trim(false);
  {
    Bench idle(room_for(10));
    idle.add(5, header);
    idle.run();
    EXPECT_EQ(idle.seen(), (Seen{{7, 5 + kC + kL}}));
  }
  Bench busy(room_for(10));
  busy.port.wire.last_hop = true;
  busy.data(0, 0);
  busy.data(0, 1);
  busy.add(1, header);
  busy.run();
  EXPECT_EQ(busy.seen(), (Seen{{0, kS + kL}, {7, kS + kC + kL}, {1, 2 * kS + kC + kL}}));
  EXPECT_EQ(busy.port.trims(), 0u);
  EXPECT_FALSE(busy.out[1].packet.trimmed_last_hop());
  EXPECT_EQ(busy.port.take_interval().arrived, 2 * 4'160);  // the data alone
}

// What was cut on the way to a host says so.
TEST(Trimming, AtTheLastHop) {
  for (const bool last_hop : {false, true}) {
    Bench bench(room_for(10));
    bench.port.wire.last_hop = last_hop;
    for (std::uint32_t i = 0; i < 4; ++i) bench.data(0, i);
    bench.run();
    EXPECT_EQ(bench.out[1].packet.trimmed_last_hop(), last_hop);
    EXPECT_FALSE(bench.out[2].packet.trimmed_last_hop());
  }
}

// Of a packet no larger than a header, and of a probe, nothing can be cut: dropped.
TEST(Trimming, NothingToCut) {
  Bench bench(room_for(10));
  for (std::uint32_t i = 0; i < 3; ++i) bench.data(0, i);
  bench.data(1, 3, 0);
  bench.probe(1, 4);
  bench.data(1, 5, 1);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 5, 1, 2}));
  EXPECT_EQ(bench.drops.queue, 2u);
  EXPECT_EQ(bench.port.trims(), 1u);
}

// A trimmed packet is not marked however long the queue of data behind it.
TEST(Trimming, HeadersAreNotMarked) {
  SwitchParams params = room_for(10);
  params.kmin = params.kmax = bytes(1);
  Bench bench(params);
  for (std::uint32_t i = 0; i < 4; ++i) bench.data(0, i);
  bench.run();
  EXPECT_EQ(bench.numbers(), (Numbers{0, 3, 1, 2}));
  EXPECT_EQ(bench.marked(), (Numbers{0, 1}));
}

// Headers that wait are packets held: a run counts every one.
TEST(Trimming, HeldPackets) {
  Bench bench(room_for(10));
  for (std::uint32_t i = 0; i < 5; ++i) bench.data(0, i);
  bench.run(1);
  EXPECT_EQ(bench.port.packets_held(), 5u);
}

// Where a window ends does not show.
TEST(Trimming, WindowsDoNotShow) {
  const auto feed = [](Bench& bench, std::int64_t from, std::int64_t until) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      const std::int64_t time = (i / 4) * 100'000 + (i % 4) * 7;
      if (time >= from && time < until) bench.data(time, i);
    }
  };
  Bench whole(room_for(3));
  feed(whole, 0, 4'000'000);
  whole.run();
  EXPECT_GT(whole.port.trims(), 10u);
  for (const std::int64_t window : {1'000ll, 83'200ll, 100'000ll, 777'777ll}) {
    Bench cut(room_for(3));
    for (std::int64_t begin = 0; begin < 8'000'000; begin += window) {
      feed(cut, begin, begin + window);
      cut.run(begin + window);
    }
    EXPECT_EQ(cut.seen(), whole.seen()) << window;
    EXPECT_EQ(cut.fingerprint.value(), whole.fingerprint.value());
  }
}

}  // namespace
}  // namespace strack::sim
