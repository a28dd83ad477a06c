#include "sim/net/pfc_port.h"

#include <cstdint>
#include <deque>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "sim/net/packing.h"

namespace strack::sim {
namespace {

constexpr std::int64_t kS = 83'200;     ///< a full data packet, 4160 bytes at 400 Gb/s
constexpr std::int64_t kC = 1'280;      ///< a SACK, and a pause frame: 64 bytes
constexpr std::int64_t kL = 1'000'000;  ///< the link's latency

Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

SwitchParams queue_params() {
  SwitchParams params;
  params.kmin = params.kmax = bytes(2 * 4'160);
  params.pmax = {0, 1};
  return params;
}

SharedBufferParams vast_buffer() {
  SharedBufferParams params;
  params.buffer = mb(1'000);
  params.headroom.assign(4, kb(100));
  params.max_packet = bytes(4'160);
  return params;
}

/// One port at 400 Gb/s with 1 us of cable behind it, and what came out at the far end.
class Bench {
 public:
  Bench() : rules_(queue_params(), HostParams{}, PfcParams{}) {
    port.wire.lane = &lane_;
    port.wire.byte_time = ByteTime(gbps(400));
    port.wire.latency = us(1);
    context_.mail = &mail_;
    context_.window = 1;
  }

  void data(std::int64_t time, std::uint32_t number, bool held = false) {
    core::Packet packet;
    packet.psn = core::Psn{number};
    packet.payload = 4'096;
    SimPacket p = pack(packet, {1, 1});
    p.set_held(held);
    add(time, p);
  }
  void sack(std::int64_t time, std::uint32_t number) {
    SimPacket packet = SimPacket::ack({1, 1}, 0);
    packet.w1 = number;
    packet.w2 = packet.w3 = ~std::uint64_t{0};
    add(time, packet);
  }
  void pause(std::int64_t time, std::int64_t picoseconds) {
    add(time, SimPacket::pause(ps(picoseconds)));
  }

  /// Lets the port work up to `end`; what it sent is added to `out`.
  void run(std::int64_t end = 1'000'000'000'000) {
    context_.end = t(end);
    port.run(waiting_, rules_, context_, fingerprint, drops, buffer);
    waiting_.clear();
    for (const Transit& transit : lane_.arrivals(context_.window + 1)) out.push_back(transit);
    ++context_.window;
  }

  struct Seen {
    std::uint32_t number;
    std::int64_t arrival;
    bool operator==(const Seen&) const = default;
    friend void PrintTo(const Seen& seen, std::ostream* stream) {
      *stream << "packet " << seen.number << " at " << seen.arrival;
    }
  };
  [[nodiscard]] std::vector<Seen> seen() const {
    std::vector<Seen> all;
    for (const Transit& transit : out)
      all.push_back({static_cast<std::uint32_t>(transit.packet.w1), transit.time.ps});
    return all;
  }
  template <class Property>
  [[nodiscard]] std::vector<std::uint32_t> those(Property&& property) const {
    std::vector<std::uint32_t> all;
    for (const Transit& transit : out) {
      if (transit.packet.is_whole() && property(transit.packet))
        all.push_back(static_cast<std::uint32_t>(transit.packet.w1));
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> held() const {
    return those([](const SimPacket& p) { return p.held(); });
  }
  [[nodiscard]] std::vector<std::uint32_t> victims() const {
    return those([](const SimPacket& p) { return p.victim(); });
  }
  [[nodiscard]] const PortRules& rules() const { return rules_; }
  [[nodiscard]] std::uint64_t hops() const { return context_.packet_hops; }

  PfcPort port;
  SharedBuffer buffer{vast_buffer()};
  std::vector<Transit> out;
  DropCounts drops;
  Fingerprint fingerprint;

 private:
  void add(std::int64_t time, const SimPacket& packet) {
    packets_.push_back(packet);
    waiting_.push_back({t(time), &packets_.back(), 2, 0});
  }

  Lane lane_;
  MailFlags mail_{1};
  WindowContext context_;
  PortRules rules_;
  std::deque<SimPacket> packets_;
  std::vector<PfcArrival> waiting_;
};

using Seen = std::vector<Bench::Seen>;
using Numbers = std::vector<std::uint32_t>;

// Without a pause it is a port like any other: in order, control first, back to back.
TEST(PfcPort, NoPause_LikeAnyPort) {
  Bench bench;
  bench.data(0, 1);
  bench.data(10, 2);
  bench.sack(20, 3);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {3, kS + kC + kL}, {2, 2 * kS + kC + kL}}));
  EXPECT_EQ(bench.hops(), 3u);
  EXPECT_EQ(bench.port.data_departures(), 2u);
}

// A control packet's words are its own: nothing is written into them on the way.
TEST(PfcPort, NoPause_LeavesControlAlone) {
  Bench bench;
  bench.sack(0, 7);
  bench.sack(1, 8);
  bench.run();
  ASSERT_EQ(bench.out.size(), 2u);
  for (const Transit& transit : bench.out) {
    EXPECT_EQ(transit.packet.w2, ~std::uint64_t{0});
    EXPECT_EQ(transit.packet.w3, ~std::uint64_t{0});
  }
}

// [R.pfc.account] [D36] A data packet is counted for the port it came in by until its last bit has left.
TEST(PfcPort, Account_UntilTheLastBitHasLeft) {
  Bench bench;
  bench.data(0, 1);
  bench.sack(0, 9);
  bench.run(kS);
  EXPECT_EQ(bench.buffer.bytes_of(2), 4'160);
  bench.run(kS + 1);
  EXPECT_EQ(bench.buffer.bytes_of(2), 0);
}

// [R.pfc.hold] The packet in service is finished, the next one starts when the pause is over:
// [R.pfc.expiry] to the picosecond.
TEST(PfcPort, Hold_AfterThePacketInService) {
  Bench bench;
  bench.data(0, 1);
  bench.data(0, 2);
  bench.pause(10, 1'000'000);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {2, 10 + 1'000'000 + kS + kL}}));
}

// [R.pfc.hold] [R.pfc.expiry] An idle port holds what comes, and wakes by itself.
TEST(PfcPort, Hold_WakesAtTheExpiry) {
  Bench bench;
  bench.pause(10, 1'000'000);
  bench.data(500, 1);
  bench.run(600);
  EXPECT_EQ(bench.port.next_event(), t(1'000'010));
  EXPECT_EQ(bench.port.packets_held(), 1u);
  bench.run(1'000'010);
  EXPECT_EQ(bench.port.next_event(), t(1'000'010));
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, 1'000'010 + kS + kL}}));
}

// [R.pfc.hold] A pause that arrives as a packet leaves is in time for the next one.
TEST(PfcPort, Hold_AtTheInstantOfADeparture) {
  Bench bench;
  bench.data(0, 1);
  bench.data(0, 2);
  bench.pause(kS, 500'000);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {2, kS + 500'000 + kS + kL}}));
}

// [R.pfc.hold] Control passes a paused port, without delay; and data does not slip in behind it.
TEST(PfcPort, Hold_ControlPasses) {
  Bench bench;
  bench.pause(0, 1'000'000);
  bench.data(1, 1);
  bench.sack(2, 2);
  bench.sack(3, 3);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{2, 2 + kC + kL}, {3, 2 + 2 * kC + kL}, {1, 1'000'000 + kS + kL}}));
}

// [R.pfc.expiry] A pause that ends while control is on the wire holds nothing longer.
TEST(PfcPort, Hold_ExpiresUnderControl) {
  Bench bench;
  bench.pause(0, 1'000);
  bench.data(1, 1);
  bench.sack(900, 2);
  bench.data(1'001, 3);
  bench.run();
  EXPECT_EQ(bench.seen(),
            (Seen{{2, 900 + kC + kL}, {1, 900 + kC + kS + kL}, {3, 900 + kC + 2 * kS + kL}}));
  EXPECT_EQ(bench.held(), (Numbers{1}));
  EXPECT_EQ(bench.port.pause().total(t(1'000'000)), ps(1'000));
}

// [R.pfc.hold] An XON starts data that instant.
TEST(PfcPort, Xon_EndsThePause) {
  Bench bench;
  bench.pause(0, 1'000'000);
  bench.data(1, 1);
  bench.pause(400'000, 0);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, 400'000 + kS + kL}}));
  EXPECT_EQ(bench.port.pause().total(t(2'000'000)), ps(400'000));
}

// [R.pfc.expiry] A refresh before the expiry, or at its very instant, extends the pause.
TEST(PfcPort, Refresh_Extends) {
  Bench bench;
  bench.pause(0, 1'000);
  bench.data(1, 1);
  bench.pause(500, 1'000);
  bench.pause(1'500, 1'000);
  bench.run(2'000);
  EXPECT_EQ(bench.port.next_event(), t(2'500));
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, 2'500 + kS + kL}}));
}

// [R.pfc.hold] Paused time and frames are told by interval, whether or not there was anything to hold.
TEST(PfcPort, Tally_PausedTime) {
  Bench bench;
  bench.pause(100, 1'000);
  bench.run(600);
  PortTally tally = bench.port.take_interval(t(600));
  EXPECT_EQ(tally.paused, ps(500));
  EXPECT_EQ(tally.pause_frames, 1u);
  bench.run(5'000);
  tally = bench.port.take_interval(t(5'000));
  EXPECT_EQ(tally.paused, ps(500));
  EXPECT_EQ(tally.pause_frames, 0u);
  bench.pause(6'000, 700);
  bench.pause(6'100, 0);
  bench.run(10'000);
  tally = bench.port.take_interval(t(10'000));
  EXPECT_EQ(tally.paused, ps(100));
  EXPECT_EQ(tally.pause_frames, 2u);
  EXPECT_EQ(bench.port.pause().total(t(10'000)), ps(1'100));
  EXPECT_EQ(bench.port.pauses_received(), 3u);
}

// [R.pfc.frame] A pause frame goes at once on an idle wire, and is a packet-hop of 64 bytes.
TEST(PfcPort, Send_OnAnIdleWire) {
  Bench bench;
  bench.port.send_pause(ps(777), t(5), bench.rules());
  EXPECT_EQ(bench.port.packets_held(), 1u);
  bench.run();
  ASSERT_EQ(bench.out.size(), 1u);
  EXPECT_EQ(bench.out[0].time, t(5 + kC + kL));
  EXPECT_TRUE(bench.out[0].packet.is_pause());
  EXPECT_EQ(bench.out[0].packet.pause_time(), ps(777));
  EXPECT_EQ(bench.hops(), 1u);
  EXPECT_EQ(bench.port.pauses_sent(), 1u);
  EXPECT_EQ(bench.port.take_interval(t(0)).carried, 64);
}

// [R.pfc.frame] On a busy wire it follows the packet in service, before control and data.
TEST(PfcPort, Send_BeforeAllThatWaits) {
  Bench bench;
  bench.data(0, 1);
  bench.data(0, 2);
  bench.sack(0, 3);
  bench.run(100);
  bench.port.send_pause(ps(777), t(100), bench.rules());
  bench.run();
  EXPECT_EQ(
      bench.seen(),
      (Seen{{1, kS + kL}, {777, kS + kC + kL}, {3, kS + 2 * kC + kL}, {2, 2 * kS + 2 * kC + kL}}));
}

// [R.pfc.frame] Of two unsent frames the newer takes the place of the older; one on the wire stays.
TEST(PfcPort, Send_NewerTakesThePlace) {
  Bench bench;
  bench.data(0, 1);
  bench.run(100);
  bench.port.send_pause(ps(777), t(100), bench.rules());
  bench.port.send_pause(ps(0), t(200), bench.rules());
  bench.run(kS + 1);
  bench.port.send_pause(ps(555), t(kS + 1), bench.rules());
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {0, kS + kC + kL}, {555, kS + 2 * kC + kL}}));
  EXPECT_EQ(bench.port.pauses_sent(), 2u);
}

// [R.pfc.frame] A paused port may still pause others: frames are not held.
TEST(PfcPort, Send_ThoughPaused) {
  Bench bench;
  bench.pause(0, 1'000'000);
  bench.data(1, 1);
  bench.run(10);
  bench.port.send_pause(ps(777), t(10), bench.rules());
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{777, 10 + kC + kL}, {1, 1'000'000 + kS + kL}}));
}

// A frame is lost with its link like any packet, and counted.
TEST(PfcPort, Send_LostToAnOutage) {
  Bench bench;
  const std::vector<Outage> outages{{t(0), t(1'000)}};
  bench.port.wire.outages = &outages;
  bench.port.send_pause(ps(777), t(5), bench.rules());
  bench.run();
  EXPECT_TRUE(bench.out.empty());
  EXPECT_EQ(bench.drops.failure, 1u);
}

// [R.pfc.victim] What waits as a pause ends was held by it; the packet in service was not, nor what
// comes later, and the next hop starts afresh.
TEST(PfcPort, Held_WhatWaitsAsAPauseEnds) {
  Bench bench;
  bench.data(0, 1);
  bench.data(1, 2, /*held=*/true);
  bench.pause(10, 200'000);
  bench.data(20, 3);
  bench.data(200'011, 4, /*held=*/true);
  bench.run();
  EXPECT_EQ(bench.held(), (Numbers{2, 3}));
}

// [R.pfc.victim] The same where an XON ends it, also while the port is busy.
TEST(PfcPort, Held_UntilXon) {
  Bench bench;
  bench.data(0, 1);
  bench.data(1, 2);
  bench.pause(10, 200'000);
  bench.pause(500, 0);
  bench.data(600, 3);
  bench.run();
  EXPECT_EQ(bench.seen(), (Seen{{1, kS + kL}, {2, 2 * kS + kL}, {3, 3 * kS + kL}}));
  EXPECT_EQ(bench.held(), (Numbers{2}));
}

// [R.pfc.victim] Two pauses: what was there at the second one's end was held, once.
TEST(PfcPort, Held_TwoPauses) {
  Bench bench;
  bench.pause(0, 1'000);
  for (std::uint32_t i = 1; i <= 3; ++i) bench.data(i, i);
  bench.pause(2'000, 100'000);
  bench.data(90'000, 4);
  bench.data(102'001, 5);
  bench.run();
  EXPECT_EQ(bench.held(), (Numbers{1, 2, 3, 4}));
}

// [R.pfc.victim] [D37] A held packet that finds nothing waiting is a victim, though one be in
// service; one that finds another waiting is not, nor one that was not held.
TEST(PfcPort, Victim_HeldForAnEmptyQueue) {
  Bench bench;
  bench.data(0, 1, true);
  bench.data(1, 2, true);
  bench.data(2, 3, true);  // finds one waiting
  bench.data(1'000'000, 4, false);
  bench.run();
  EXPECT_EQ(bench.victims(), (Numbers{1, 2}));
  EXPECT_TRUE(bench.held().empty());
}

}  // namespace
}  // namespace strack::sim
