// A port in two passes does what it does packet by packet: random arrivals, every number that a port has.
#include "sim/gpu/light_port.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/net/port_pair_testing.h"

namespace strack::sim::gpu {
namespace {

using namespace sim::testing;
using Light = LightPort<Port>;

constexpr std::uint64_t kBurst = 60;

TEST(LightPort, TwoPassesDoWhatOneDoes) {
  for (const bool priority : {true, false}) {
    SwitchParams params = shallow_queue();
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
      const std::vector<Transit> list = random_arrivals(rng, window, kBurst);
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
        expect_same_tallies(one, two);
      }
    }
    EXPECT_GT(two.drops.queue, 0u);
    EXPECT_GT(two.port.marks(), 0u);
  }
}

// [D116] A port is one as long as nothing goes before the usual data, and one again after that.
TEST(LightPort, WhatIsUrgentIsForTheOtherWay) {
  const PortRules rules(shallow_queue(kb(200)), HostParams{});
  Side one;
  Side two;
  auto& light = static_cast<Light&>(two.port);
  alignas(Leaving) std::byte memory[Desktop::kBytes];
  const Desktop desktop = Desktop::of(memory, 1, 0);
  Rng rng(3);
  int windows_of_light = 0;
  for (std::uint64_t window = 1; window <= 600; ++window) {
    std::vector<Transit> list = random_arrivals(rng, window, kBurst);
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
