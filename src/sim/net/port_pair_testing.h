// What the tests of other ways through a port's window share: two ports, the same random arrivals for both, and every
// number that they have afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/net/port_testing.h"

namespace strack::sim::testing {

inline constexpr std::int64_t kPairWindow = 1'000'000;  // ps

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
    context.end = t(static_cast<std::int64_t>(window) * kPairWindow);
  }
};

/// Its queue marks, and drops.
inline SwitchParams shallow_queue(Bytes limit = kb(400)) {
  SwitchParams params;
  params.kmin = kb(40);
  params.kmax = kb(160);
  params.queue_limit = limit;
  return params;
}

/// What arrives in a window, in order: now and then nothing, and now and then up to `burst` packets, far more than the
/// link can carry.
inline std::vector<Transit> random_arrivals(Rng& rng, std::uint64_t window, std::uint64_t burst) {
  std::vector<Transit> list;
  const std::uint64_t most = rng.below(4) == 0 ? burst : 14;
  std::int64_t time = static_cast<std::int64_t>(window - 1) * kPairWindow;
  const std::int64_t end = time + kPairWindow;
  for (std::uint64_t n = rng.below(most); n > 0; --n) {
    time +=
        static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(2 * kPairWindow) / most));
    if (time >= end) break;
    SimPacket packet = SimPacket::data({1, 1}, static_cast<core::PathId>(rng.below(100)),
                                       static_cast<std::uint16_t>(60 + rng.below(65'475)));
    if (rng.below(3) == 0) packet = SimPacket::ack({1, 1}, 3);
    if (rng.below(20) == 0) packet = SimPacket::bare({1, 1}, 4);
    packet.w1 = rng.next();
    if (packet.is_control()) packet.w3 = rng.next();  // all of it is the transport's
    list.push_back({t(time), packet});
  }
  return list;
}

inline void expect_same(const Side& a, const Side& b) {
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
/// Since they were last asked.
inline void expect_same_tallies(Side& a, Side& b) {
  const PortTally left = a.port.take_interval();
  const PortTally right = b.port.take_interval();
  EXPECT_EQ(left.carried, right.carried);
  EXPECT_EQ(left.arrived, right.arrived);
  EXPECT_EQ(left.queue_max, right.queue_max);
  EXPECT_EQ(left.marks, right.marks);
  EXPECT_EQ(left.drops, right.drops);
}

}  // namespace strack::sim::testing
