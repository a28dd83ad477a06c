// A port that lets packets lie where they came does what it does with queues: random arrivals, every number that it has.
#include "sim/net/plain_run.h"

#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/net/port_pair_testing.h"

namespace strack::sim {
namespace {

using namespace testing;

/// Some of it, where that is asked for, special: trimmed, or of a priority.
std::vector<Transit> arrivals(Rng& rng, std::uint64_t window, bool special) {
  std::vector<Transit> list = random_arrivals(rng, window, 200);
  for (Transit& transit : list) {
    SimPacket& packet = transit.packet;
    if (special && packet.is_whole() && rng.below(9) == 0) packet.trim(false);
    if (special && !packet.is_control() && rng.below(9) == 0)
      packet.set_priority(static_cast<std::uint32_t>(rng.below(4)));
  }
  return list;
}

/// Both ways, window after window; whether a window was plain from its begin to its end is counted.
void compare(const SwitchParams& params, std::uint64_t seed, bool special, int& plain,
             int& others) {
  const PortRules rules(params, HostParams{});
  Side one;
  Side two;
  Rng rng(seed);
  for (std::uint64_t window = 1; window <= 500; ++window) {
    const std::vector<Transit> list = arrivals(rng, window, special && window % 20 < 5);
    one.enter(window);
    two.enter(window);
    std::vector<PortArrival> coming;
    std::vector<NotedArrival> noted;
    for (const Transit& transit : list) {
      coming.push_back({transit.time, &transit.packet});
      noted.push_back({transit.time, PlaceAndKind(transit.packet)});
    }
    one.port.run(coming, rules, one.context, one.fingerprint, one.drops);
    std::size_t taken = 0;
    bool is_through = false;
    if (PlainRun::fits(two.port)) {
      taken = PlainRun::run(two.port, noted, rules, two.context, two.fingerprint, two.drops);
      is_through = taken == noted.size();
    }
    ++(is_through ? plain : others);
    if (!is_through) {
      const std::span<const PortArrival> rest = coming;
      two.port.run(rest.subspan(taken), rules, two.context, two.fingerprint, two.drops);
    }
    expect_same(one, two);
    if (window % 50 == 0) expect_same_tallies(one, two);
    if (::testing::Test::HasFailure()) FAIL() << "window " << window;
  }
}

TEST(PlainRun, DoesWhatThePortDoesPacketByPacket) {
  for (const bool priority : {true, false}) {
    SwitchParams params = shallow_queue();
    params.control_priority = priority;
    int plain = 0;
    int others = 0;
    compare(params, priority ? 1 : 2, false, plain, others);
    EXPECT_GT(plain, 400);
  }
}

// More waits than a window's lists hold: the port itself goes on.
TEST(PlainRun, LeavesTheRestToThePort) {
  SwitchParams params = deep_queue();
  params.queue_limit = mb(40);
  int plain = 0;
  int others = 0;
  compare(params, 3, false, plain, others);
  EXPECT_GT(plain, 300);
  EXPECT_GT(others, 5);
}

// [D116] [D49] What goes before the usual data, and what has been trimmed, is for the port.
TEST(PlainRun, LeavesWhatIsSpecialToThePort) {
  int plain = 0;
  int others = 0;
  compare(shallow_queue(), 4, true, plain, others);
  EXPECT_GT(plain, 200);
  EXPECT_GT(others, 50);
}

// [D87] A wire that may lose a packet, or is slow for a while, asks for more than is done here.
TEST(PlainRun, FitsWhereNothingIsWrong) {
  Port port;
  EXPECT_TRUE(PlainRun::fits(port));
  port.wire.loss_threshold = 1;
  EXPECT_FALSE(PlainRun::fits(port));
  port.wire.loss_threshold = 0;
  port.wire.bit_loss_threshold = 1;
  EXPECT_FALSE(PlainRun::fits(port));
  port.wire.bit_loss_threshold = 0;
  const std::vector<Outage> outages;
  port.wire.outages = &outages;
  EXPECT_FALSE(PlainRun::fits(port));
  port.wire.outages = nullptr;
  const std::vector<Spell> spells;
  port.wire.spells = &spells;
  EXPECT_FALSE(PlainRun::fits(port));
}

TEST(PlaceAndKind, SaysWhatThePacketSays) {
  const PortRules rules(deep_queue(), HostParams{});
  SimPacket ack = SimPacket::ack({0xf'ffff, 0xf'ffff}, 0xffff);
  ack.w3 = ~std::uint64_t{0};
  for (SimPacket packet : {SimPacket::data({0xf'ffff, 0xf'ffff}, 0xffff, 0xffff),
                           SimPacket::data({0, 0}, 0, 0), SimPacket::bare({5, 6}, 7), ack}) {
    const PlaceAndKind what(packet);
    EXPECT_EQ(&what.packet(), &packet);
    EXPECT_EQ(what.is_control(), packet.is_control());
    EXPECT_EQ(what.size(rules), rules.wire_size(packet));
    EXPECT_FALSE(what.is_special());
    packet.set_priority(1);
    EXPECT_TRUE(PlaceAndKind(packet).is_special());
  }
  SimPacket trimmed = SimPacket::data({1, 1}, 2, 4'096);
  trimmed.trim(true);
  EXPECT_TRUE(PlaceAndKind(trimmed).is_special());
}

}  // namespace
}  // namespace strack::sim
