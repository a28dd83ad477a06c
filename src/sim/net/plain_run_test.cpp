// A port that lets packets lie where they came does what it does with queues: random arrivals, every number that it has.
#include "sim/net/plain_run.h"

#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/net/port_testing.h"

namespace strack::sim {
namespace {

using namespace testing;

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

/// What arrives in a window, in order: now and then nothing, now and then far more than the link can carry.
std::vector<Transit> arrivals(Rng& rng, std::uint64_t window, bool special) {
  std::vector<Transit> list;
  const std::uint64_t most = rng.below(4) == 0 ? 200 : 14;
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
    if (packet.is_control()) packet.w3 = rng.next();  // all of it is the transport's
    if (special && packet.is_whole() && rng.below(9) == 0) packet.trim(false);
    if (special && !packet.is_control() && rng.below(9) == 0)
      packet.set_priority(static_cast<std::uint32_t>(rng.below(4)));
    list.push_back({t(time), packet});
  }
  return list;
}

void expect_same(Side& a, Side& b) {
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
void expect_same_tallies(Side& a, Side& b) {
  const PortTally left = a.port.take_interval();
  const PortTally right = b.port.take_interval();
  EXPECT_EQ(left.carried, right.carried);
  EXPECT_EQ(left.arrived, right.arrived);
  EXPECT_EQ(left.queue_max, right.queue_max);
  EXPECT_EQ(left.marks, right.marks);
  EXPECT_EQ(left.drops, right.drops);
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

SwitchParams shallow_queue() {
  SwitchParams params;
  params.kmin = kb(40);
  params.kmax = kb(160);
  params.queue_limit = kb(400);
  return params;
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
