// A port in two passes does what it does packet by packet: random arrivals, every number that a port has.
#include "sim/gpu/light_port.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/net/port_testing.h"

namespace strack::sim::gpu {
namespace {

using namespace sim::testing;
using Light = LightPort<Port>;

constexpr std::int64_t kWindow = 1'000'000;  // ps

/// A port with its wire, and what it has told.
struct Side {
  Port port;
  Lane lane;
  MailFlags mail{1};
  Fingerprint fingerprint;
  DropCounts drops;
  WindowContext context;

  Side() {
    port.wire.lane = &lane;
    port.wire.byte_time = ByteTime(gbps(400));
    port.wire.latency = us(1);
    port.seed(77);
    context.mail = &mail;
  }
  void enter(std::uint64_t window) {
    context.window = window;
    context.end = t(static_cast<std::int64_t>(window) * kWindow);
  }
};

/// What arrives in a window, in order. Now and then nothing, and now and then more than a link can carry.
std::vector<Transit> arrivals(Rng& rng, std::uint64_t window) {
  std::vector<Transit> list;
  const std::uint64_t most = rng.below(4) == 0 ? 60 : 14;
  std::int64_t time = static_cast<std::int64_t>(window - 1) * kWindow;
  const std::int64_t end = time + kWindow;
  for (std::uint64_t n = rng.below(most); n > 0; --n) {
    time += static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(2 * kWindow) / most));
    if (time >= end) break;
    SimPacket packet = SimPacket::data({1, 1}, static_cast<core::PathId>(rng.below(100)),
                                       static_cast<std::uint16_t>(60 + rng.below(65'475)));
    if (rng.below(3) == 0) packet = SimPacket::ack({1, 1}, 3);
    if (rng.below(20) == 0) packet = SimPacket::bare({1, 1}, 4);
    packet.w1 = rng.next();
    list.push_back({t(time), packet});
  }
  return list;
}

void expect_same(const Side& a, const Side& b) {
  EXPECT_EQ(a.port.next_event(), b.port.next_event());
  EXPECT_EQ(a.port.load(), b.port.load());
  EXPECT_EQ(a.port.packets_held(), b.port.packets_held());
  EXPECT_EQ(a.port.deepest_queue(), b.port.deepest_queue());
  EXPECT_EQ(a.port.marks(), b.port.marks());
  EXPECT_EQ(a.fingerprint.value(), b.fingerprint.value());
  EXPECT_EQ(a.drops.queue, b.drops.queue);
  EXPECT_EQ(a.context.packet_hops, b.context.packet_hops);
  EXPECT_EQ(a.context.next_event, b.context.next_event);
  const auto left = a.lane.arrivals(a.context.window + 1);
  const auto right = b.lane.arrivals(b.context.window + 1);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].time, right[i].time);
    EXPECT_EQ(left[i].packet.w0, right[i].packet.w0);
    EXPECT_EQ(left[i].packet.w1, right[i].packet.w1);
    EXPECT_EQ(left[i].packet.w3, right[i].packet.w3);
  }
}

TEST(LightPort, TwoPassesDoWhatOneDoes) {
  for (const bool priority : {true, false}) {
    SwitchParams params;
    params.kmin = kb(40);
    params.kmax = kb(160);
    params.queue_limit = kb(400);
    params.control_priority = priority;
    const PortRules rules(params, HostParams{});
    Side one;
    Side two;
    auto& light = static_cast<Light&>(two.port);
    ASSERT_TRUE(light.is_one());
    alignas(Leaving) std::byte memory[Desktop::kBytes];
    const Desktop desktop = Desktop::of(memory, 1, 0);
    Rng rng(priority ? 1 : 2);
    for (std::uint64_t window = 1; window <= 400; ++window) {
      const std::vector<Transit> list = arrivals(rng, window);
      one.enter(window);
      two.enter(window);
      std::vector<PortArrival> coming;
      std::vector<Note> notes;
      for (const Transit& transit : list) {
        coming.push_back({transit.time, &transit.packet});
        notes.emplace_back(transit, 5, rules.wire_size(transit.packet), two.context.end);
        EXPECT_EQ(notes.back().time(two.context.end), transit.time);
        EXPECT_EQ(notes.back().packet(), &transit.packet);
        EXPECT_EQ(notes.back().size(rules), rules.wire_size(transit.packet));
        EXPECT_EQ(notes.back().is_control(), transit.packet.is_control());
      }
      one.port.run(coming, rules, one.context, one.fingerprint, one.drops);
      ASSERT_TRUE(light.is_small(rules, two.context.end));
      sort_together(notes.data(), static_cast<std::uint32_t>(notes.size()), desktop.notes, true);
      light.run(true, notes, rules, desktop, two.context, two.fingerprint, two.drops);
      expect_same(one, two);
      if (window % 50 == 0) {
        const PortTally a = one.port.take_interval();
        const PortTally b = two.port.take_interval();
        EXPECT_EQ(a.carried, b.carried);
        EXPECT_EQ(a.arrived, b.arrived);
        EXPECT_EQ(a.queue_max, b.queue_max);
        EXPECT_EQ(a.marks, b.marks);
        EXPECT_EQ(a.drops, b.drops);
      }
    }
    EXPECT_GT(two.drops.queue, 0u);
    EXPECT_GT(two.port.marks(), 0u);
  }
}

// [D116] A port is one as long as nothing goes before the usual data, and one again after that.
TEST(LightPort, WhatIsUrgentIsForTheOtherWay) {
  SwitchParams params;
  params.kmin = kb(40);
  params.kmax = kb(160);
  params.queue_limit = kb(200);
  const PortRules rules(params, HostParams{});
  Side one;
  Side two;
  auto& light = static_cast<Light&>(two.port);
  alignas(Leaving) std::byte memory[Desktop::kBytes];
  const Desktop desktop = Desktop::of(memory, 1, 0);
  Rng rng(3);
  int windows_of_light = 0;
  for (std::uint64_t window = 1; window <= 600; ++window) {
    std::vector<Transit> list = arrivals(rng, window);
    const bool some = window % 20 < 5;
    one.enter(window);
    two.enter(window);
    std::vector<PortArrival> coming;
    std::vector<Note> notes;
    for (Transit& transit : list) {
      if (some && !transit.packet.is_control())
        transit.packet.set_priority(static_cast<std::uint32_t>(rng.below(4)));
      coming.push_back({transit.time, &transit.packet});
      notes.emplace_back(transit, 5, rules.wire_size(transit.packet), two.context.end);
      EXPECT_EQ(notes.back().packet(), &transit.packet);
      EXPECT_EQ(notes.back().is_urgent(), transit.packet.is_urgent());
    }
    one.port.run(coming, rules, one.context, one.fingerprint, one.drops);
    if (light.is_usual(notes)) {
      ++windows_of_light;
      sort_together(notes.data(), static_cast<std::uint32_t>(notes.size()), desktop.notes, true);
      light.run(true, notes, rules, desktop, two.context, two.fingerprint, two.drops);
    } else {
      two.port.run(coming, rules, two.context, two.fingerprint, two.drops);
    }
    expect_same(one, two);
  }
  EXPECT_GT(windows_of_light, 100);
  EXPECT_LT(windows_of_light, 450);
  EXPECT_GT(two.drops.queue, 0u);
}

TEST(LightPort, AWireThatLosesPacketsIsNone) {
  Port port;
  EXPECT_TRUE(static_cast<Light&>(port).is_one());
  port.wire.loss_threshold = 1;
  EXPECT_FALSE(static_cast<Light&>(port).is_one());
  port.wire.loss_threshold = 0;
  const std::vector<Outage> outages;
  port.wire.outages = &outages;
  EXPECT_FALSE(static_cast<Light&>(port).is_one());
}

TEST(Notes, AreInOrderOfTimeAndThenOfTheirPorts) {
  const SimPacket packet = SimPacket::data({1, 1}, 0, 100);
  const Instant end = t(1'000);
  const Transit early{t(10), packet};
  const Transit late{t(11), packet};
  std::vector<Note> notes{Note(late, 0, 164, end), Note(early, 9, 164, end),
                          Note(early, 2, 164, end)};
  sort_notes(notes.data(), 3);
  EXPECT_EQ(notes[0].packet(), &early.packet);
  EXPECT_EQ(notes[2].packet(), &late.packet);
  const auto taken = arrivals_of(notes, end);
  EXPECT_EQ(taken[0].time, t(10));
  EXPECT_EQ(taken[2].time, t(11));
  EXPECT_EQ(taken[2].packet, &late.packet);
}

}  // namespace
}  // namespace strack::sim::gpu
