#include "sim/net/pfc_switch.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"
#include "sim/net/pfc_testing.h"

namespace strack::sim {
namespace {

using testing::buffer_with;
using testing::data_packet;
using testing::Offer;
using testing::one_rack;
using testing::PfcBench;
using testing::sack_packet;
using testing::t;

constexpr std::int64_t kS = 83'200;               ///< a full data packet, 4160 bytes at 400 Gb/s
constexpr std::int64_t kC = 1'280;                ///< a SACK, and a pause frame: 64 bytes
constexpr std::int64_t kL = 1'000'000;            ///< every link's latency
constexpr std::int64_t kP = 4'160;                ///< a full data packet, in bytes
constexpr std::int64_t kXoff = 65'535 * 64 * 20;  ///< what an XOFF is good for, in ps

/// Four hosts. One port alone reaches the threshold with its second full packet: 2 kP is what is
/// left of 4 kP.
SharedBufferParams two_packets(std::int64_t more = 0, Bytes xon_offset = bytes(0)) {
  return buffer_with(5, bytes(4 * kP + more), {1, 1}, kb(100), bytes(0), xon_offset);
}

struct Frame {
  std::int64_t time;
  std::int64_t pause;
  bool operator==(const Frame&) const = default;
  friend void PrintTo(const Frame& f, std::ostream* stream) {
    *stream << (f.pause == 0 ? "XON" : "XOFF") << " of " << f.pause << " at " << f.time;
  }
};
using Frames = std::vector<Frame>;

Frames frames(const std::vector<Transit>& sent) {
  Frames all;
  for (const Transit& transit : sent) {
    if (transit.packet.is_pause())
      all.push_back({transit.time.ps, transit.packet.pause_time().value});
  }
  return all;
}

// [R.pfc.xoff] [R.pfc.frame] The packet that reaches the threshold brings an XOFF at once where the
// way back is idle: it is there after 64 bytes and the cable.
TEST(PfcSwitch, Xoff_AtOnceOnAnIdleLink) {
  PfcBench bench(one_rack(4), two_packets());
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 80'000, data_packet(0));
  bench.run(80'000 + kC + 1);
  EXPECT_EQ(frames(bench.out[1]), (Frames{{80'000 + kC + kL, kXoff}}));
  EXPECT_TRUE(bench.sw.buffer().paused(1));
  EXPECT_EQ(bench.sw.pauses_sent(), 1u);
}

// [R.pfc.xoff] One more byte to share, and the second packet does not reach it.
TEST(PfcSwitch, Xoff_NotOneByteEarlier) {
  PfcBench bench(one_rack(4), two_packets(/*more=*/1));
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 80'000, data_packet(0));
  bench.run(82'000);
  EXPECT_TRUE(frames(bench.out[1]).empty());
}

// [R.pfc.frame] Where the way back is busy the XOFF follows the packet in service, before what waits.
TEST(PfcSwitch, Xoff_AfterThePacketInService) {
  PfcBench bench(one_rack(4), two_packets(), testing::no_marks());
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 80'000, data_packet(0));
  bench.arrive(3, 79'000, sack_packet(1, 1));
  bench.arrive(3, 79'500, sack_packet(1, 2));
  bench.run();
  ASSERT_GE(bench.out[1].size(), 3u);
  EXPECT_EQ(frames(bench.out[1])[0], (Frame{79'000 + 2 * kC + kL, kXoff}));
  EXPECT_EQ(bench.out[1][2].time, t(79'000 + 3 * kC + kL));  // the second SACK
}

// [R.pfc.account] [D36] SACKs are not counted: any number of them pauses nobody.
TEST(PfcSwitch, Account_DataOnly) {
  PfcBench bench(one_rack(4), two_packets());
  for (int i = 0; i < 1'000; ++i) bench.arrive(1, i, sack_packet(0));
  bench.run(1'001);
  EXPECT_EQ(bench.sw.buffer().bytes_of(1), 0);
  EXPECT_EQ(bench.sw.pauses_sent(), 0u);
}

// [R.pfc.xon] The first departure leaves kP of the port's and T = 3 kP: with an offset of 2 kP it is
// let go that instant, ...
TEST(PfcSwitch, Xon_AtTheDeparture) {
  PfcBench bench(one_rack(4), two_packets(0, bytes(2 * kP)));
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 80'000, data_packet(0));
  bench.run();
  EXPECT_EQ(frames(bench.out[1]), (Frames{{80'000 + kC + kL, kXoff}, {1'000 + kS + kC + kL, 0}}));
  EXPECT_FALSE(bench.sw.buffer().paused(1));
}

// [R.pfc.xon] ... with one byte more only when it holds nothing.
TEST(PfcSwitch, Xon_NotOneByteEarlier) {
  PfcBench bench(one_rack(4), two_packets(0, bytes(2 * kP + 1)));
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 80'000, data_packet(0));
  bench.run();
  EXPECT_EQ(frames(bench.out[1]),
            (Frames{{80'000 + kC + kL, kXoff}, {1'000 + 2 * kS + kC + kL, 0}}));
}

// [R.pfc.xon] [R.pfc.threshold] [D36] Another port's packet leaves by another port, and that lets go of
// this one.
TEST(PfcSwitch, Xon_ByAnothersDeparture) {
  // Port 2 holds kP, so T for port 1 is 4 kP - 3 kP with its second packet: headroom and XOFF.
  PfcBench bench(one_rack(4), two_packets());
  bench.arrive(0, 0, SimPacket::pause(us(500)));  // nothing leaves to host 0
  bench.arrive(2, 10'000, data_packet(3));
  bench.arrive(1, 20'000, data_packet(0));
  bench.arrive(1, 30'000, data_packet(0));
  bench.run(400'000'000);
  EXPECT_EQ(frames(bench.out[1])[0], (Frame{30'000 + kC + kL, kXoff}));
  EXPECT_EQ(frames(bench.out[1])[1], (Frame{10'000 + kS + kC + kL, 0}));
  EXPECT_EQ(frames(bench.out[1]).size(), 2u);
}

// [R.pfc.expiry] An XOFF that holds is sent again after half its time, and again, until the XON.
TEST(PfcSwitch, Refresh_HalfwayToTheExpiry) {
  PfcBench bench(one_rack(4), two_packets());
  bench.arrive(0, 0, SimPacket::pause(ps(kXoff * 5 / 4)));
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 2'000, data_packet(0));
  std::int64_t time = 1'000'000;
  while (time < 200'000'000) {
    const Instant next = bench.run(time);
    if (time == 1'000'000) {
      EXPECT_EQ(next, t(2'000 + kXoff / 2));
    }
    time = next == Instant::never() ? 200'000'000 : next.ps + 1'000'000;
  }
  const std::int64_t out = kXoff * 5 / 4;  // when data moves again
  EXPECT_EQ(frames(bench.out[1]), (Frames{{2'000 + kC + kL, kXoff},
                                          {2'000 + kXoff / 2 + kC + kL, kXoff},
                                          {2'000 + kXoff + kC + kL, kXoff},
                                          {out + kS + kC + kL, 0}}));
}

// A paused link does not keep the switch from stopping: when all is quiet nothing remains to do.
TEST(PfcSwitch, Refresh_EndsWithThePause) {
  PfcBench bench(one_rack(4), two_packets());
  bench.arrive(1, 1'000, data_packet(0));
  bench.arrive(1, 2'000, data_packet(0));
  EXPECT_EQ(bench.run(500'000'000), Instant::never());
  EXPECT_EQ(bench.sw.packets_held(), 0u);
}

// [R.pfc.hold] [R.pfc.victim] [D37] Head-of-line blocking, by hand: the spine pauses the uplink for 10 us,
// and a packet for an idle host waits behind one for a busy host. At the next switch the one finds
// others waiting, the other an empty queue: that one is the victim.
TEST(PfcSwitch, Victim_BehindAPausedPort) {
  PfcBench first(one_rack(4), buffer_with(5, mb(10), {1, 8}, kb(100)));
  first.arrive(4, 0, SimPacket::pause(us(10)));
  first.arrive(0, 5'000, data_packet(4, 1));
  first.arrive(1, 6'000, data_packet(5, 2));
  first.arrive(0, 10'000'000, data_packet(6, 3));
  first.run();
  ASSERT_EQ(first.out[4].size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first.out[4][i].packet.w1, i + 1);
    EXPECT_EQ(first.out[4][i].time, t(10'000'000 + (i + 1) * kS + kL));
    EXPECT_TRUE(first.out[4][i].packet.held());  // the third arrived in the instant of the expiry
  }
  SwitchParams marks;
  marks.kmin = bytes(kP);
  marks.kmax = kb(100);
  PfcBench second(one_rack(4), buffer_with(5, mb(10), {1, 8}, kb(100)), marks);
  const auto arrive = [&](std::uint32_t port, std::int64_t time, SimPacket packet,
                          std::uint32_t dst) {
    packet.w0 = (packet.w0 & ~std::uint64_t{0xff'ffff}) | dst;
    second.arrive(port, time, packet);
  };
  for (std::uint32_t i = 0; i < 3; ++i) arrive(3, i, data_packet(0, 10 + i), 0);
  arrive(4, 100, first.out[4][0].packet, 0);  // finds two waiting
  arrive(4, 200, first.out[4][1].packet, 1);
  second.run();
  EXPECT_FALSE(second.out[0][3].packet.victim());
  EXPECT_TRUE(second.out[1][0].packet.victim());
  EXPECT_FALSE(second.out[1][0].packet.held());
}

// [R.pfc.violation] [R.pfc.headroom] A peer that does not obey fills the headroom, and then packets
// are dropped and counted.
TEST(PfcSwitch, Violation_WhenHeadroomIsFull) {
  PfcBench bench(one_rack(4), buffer_with(5, bytes(4 * kP), {1, 1}, bytes(3 * kP)));
  bench.arrive(0, 0, SimPacket::pause(us(500)));
  for (int i = 0; i < 10; ++i) bench.arrive(1, 1'000 + i * kS, data_packet(0));
  bench.run(2'000'000);
  EXPECT_EQ(bench.sw.drops.violation, 5u);
  EXPECT_EQ(bench.sw.drops.total(), 5u);
  EXPECT_EQ(bench.sw.buffer().headroom_bytes(1), 3 * kP);
  EXPECT_EQ(bench.sw.packets_held(), 5u);
  const PortTally tally = bench.sw.port(0).take_interval(t(2'000'000));
  EXPECT_EQ(tally.drops, 5u);
  EXPECT_EQ(tally.arrived, 10 * kP);
}

// [R.pfc.headroom] The bound is tight. The packet that does not fit any more arrives at `trigger`; a
// packet has just started on the way back; and the peer starts one just before the XOFF takes
// effect. Then the headroom is filled to the last byte, and with one byte less there is a drop.
TEST(PfcSwitch, Headroom_NotOneByteTooMuch) {
  // So long that the XOFF comes 1 ps too late for the 14th packet after the trigger.
  const std::int64_t latency = (12 * kS - kC + 2) / 2;
  const Bytes bound = link_headroom(gbps(400), ps(latency), bytes(kP), bytes(64));
  EXPECT_EQ(bound, bytes(15 * kP + 1));  // a fifth of a byte, rounded up
  for (const std::int64_t less : {0, 1, 2}) {
    // Two packets fit under the threshold and do not reach it, the third does not fit.
    PfcBench bench(one_rack(4, ps(latency)),
                   buffer_with(5, bytes(4 * kP + 100), {1, 1}, bound - bytes(less)));
    const std::int64_t trigger = 3 * kS + latency;
    bench.peers[0].offer = [&, count = 0]() mutable -> Offer {
      return {count++ == 0 ? ps(0) : us(1'000), SimPacket::pause(us(500))};
    };
    bench.peers[1].offer = [] { return Offer{ps(0), data_packet(0)}; };
    // Arrives at port 1 just before the trigger, from a host that is otherwise silent.
    bench.peers[2].offer = [&, count = 0]() mutable -> Offer {
      return {count++ == 0 ? ps(trigger - 1 - kS - latency) : us(1'000), data_packet(1)};
    };
    bench.run_with_peers(20'000'000);
    EXPECT_EQ(bench.sw.buffer().peak_headroom(), (less == 2 ? 14 : 15) * kP) << less;
    EXPECT_EQ(bench.sw.drops.violation, less == 2 ? 1u : 0u) << less;
  }
}

/// Random traffic of some peers: bursts of data for one host or all, SACKs, pauses of the switch.
class RandomTraffic {
 public:
  RandomTraffic(std::uint64_t seed, std::uint32_t hosts, std::uint16_t payload, bool pauses)
      : rng_(seed), hosts_(hosts), payload_(payload), pauses_(pauses) {}

  Offer operator()() {
    Offer offer;
    if (burst_ == 0) {
      burst_ = 1 + rng_.below(600'000u / payload_);
      gap_ = rng_.below(3) == 0 ? rng_.between(0, 40'000) : 0;
      incast_ = rng_.below(2) == 0;
      sizes_ = rng_.below(3);
      if (rng_.below(3) == 0) offer.gap = ps(rng_.between(0, 4'000'000));
    }
    --burst_;
    offer.gap += ps(gap_);
    const auto kind = rng_.below(100);
    const auto dst = static_cast<std::uint32_t>(incast_ ? 0 : rng_.below(hosts_ + 1));
    if (pauses_ && kind < 2) {
      offer.packet = SimPacket::pause(ps(kind == 0 ? 0 : rng_.between(1, 3'000'000)));
    } else if (kind < 12) {
      offer.packet = sack_packet(dst, number_++);
    } else {
      const auto payload =
          sizes_ == 0 ? static_cast<std::uint16_t>(rng_.between(1, payload_)) : payload_;
      offer.packet = data_packet(dst, number_++, payload);
      if (rng_.below(8) == 0) offer.packet.set_held(true);
    }
    return offer;
  }

 private:
  Rng rng_;
  std::uint32_t hosts_;
  std::uint16_t payload_;
  bool pauses_;
  std::uint64_t burst_ = 0;
  std::int64_t gap_ = 0;
  bool incast_ = false;
  std::uint64_t sizes_ = 0;
  std::uint32_t number_ = 0;
};

// [R.pfc.headroom] [R.pfc.hold] Where peers obey nothing is ever dropped: several latencies and MTUs,
// random timing, everybody sending to everybody and at times all to one.
TEST(PfcSwitch, Headroom_NoDropsWherePeersObey) {
  for (const std::int64_t latency : {50'000, 500'000, 2'000'000}) {
    for (const std::uint16_t payload : std::vector<std::uint16_t>{1'024, 4'096, 9'000}) {
      const Bytes packet = bytes(payload + 64);
      const Bytes headroom = link_headroom(gbps(400), ps(latency), packet, bytes(64));
      std::int64_t peak = 0;
      std::uint64_t pauses = 0;
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SharedBufferParams params = buffer_with(5, bytes(30'000), {1, 2}, headroom);
        params.max_packet = packet;
        PfcBench bench(one_rack(4, ps(latency)), params);
        for (std::uint32_t p = 0; p < 5; ++p)
          bench.peers[p].offer = RandomTraffic(mix64(seed) + p, 4, payload, /*pauses=*/true);
        bench.run_with_peers(100'000'000);
        ASSERT_EQ(bench.sw.drops.total(), 0u)
            << latency << " ps, " << payload << " bytes, " << seed;
        peak = std::max(peak, bench.sw.buffer().peak_headroom());
        pauses += bench.sw.pauses_sent();
      }
      EXPECT_GT(pauses, 100u);
      // The search comes close: within two packets of the bound.
      EXPECT_GT(peak, (headroom - 2 * packet).value) << latency << " ps, " << payload << " bytes";
      EXPECT_LE(peak, headroom.value);
    }
  }
}

/// Everything one can see of a switch, but for what ports note on data: where it came in, or how full
/// they are.
template <class Bench>
std::vector<std::uint64_t> trace_of(Bench& bench, Instant now) {
  std::vector<std::uint64_t> all;
  const auto note = [&](auto value) { all.push_back(static_cast<std::uint64_t>(value)); };
  for (std::uint32_t p = 0; p < bench.out.size(); ++p) {
    for (const Transit& transit : bench.out[p]) {
      note(transit.time.ps);
      const std::uint64_t notes = transit.packet.is_control() ? 0 : ~std::uint64_t{0} << 51;
      for (const std::uint64_t word :
           {transit.packet.w0, transit.packet.w1, transit.packet.w2, transit.packet.w3 & ~notes})
        note(word);
    }
    auto& port = bench.sw.port(p);
    note(port.next_event().ps);
    note(port.deepest_queue());
    note(port.marks());
    note(port.packets_held());
    note(port.pauses_sent());
    note(port.pauses_received());
    note(port.pause().total(now).value);
    const PortTally tally = port.take_interval(now);
    note(tally.carried);
    note(tally.arrived);
    note(tally.queue_max);
    note(tally.drops);
    note(tally.paused.value);
    const SharedBuffer& buffer = bench.sw.buffer();
    note(buffer.bytes_of(p));
    note(buffer.headroom_bytes(p));
    note(buffer.paused(p) ? 1 : 0);
  }
  note(bench.sw.buffer().shared_used());
  note(bench.sw.buffer().peak_headroom());
  note(bench.sw.buffer().peak());
  note(bench.sw.fingerprint.value());
  note(bench.sw.drops.total());
  note(bench.hops());
  return all;
}

// In order of time or each port on its own: the same to the bit, under random traffic with incast,
// pauses both ways, marks and lost packets.
TEST(PfcSwitch, Order_DoesNotMatterWhereItIsLeftOut) {
  std::uint64_t in_order = 0;
  std::uint64_t windows = 0;
  std::uint64_t pauses = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<std::uint64_t> traces[2];
    for (const bool always : {false, true}) {
      Rng rng(seed);
      SwitchParams marks;
      marks.kmin = bytes(20'000);
      marks.kmax = bytes(80'000);
      marks.pmax = {1, 2};
      const auto shared = bytes(rng.between(800'000, 2'000'000));
      const auto headroom = seed % 3 == 0 ? bytes(20'000) : bytes(70'000);
      PfcBench bench(one_rack(4, ps(500'000)),
                     buffer_with(5, shared, {1, 4}, headroom, bytes(4'096), bytes(8'192)), marks);
      bench.sw.always_in_order(always);
      for (std::uint32_t p = 0; p < 5; ++p) {
        bench.peers[p].offer = RandomTraffic(mix64(seed) + p, 4, 4'096, /*pauses=*/true);
        bench.peers[p].stop = t(60'000'000 + 5'000'000 * p);
        bench.sw.port(p).seed(rng.next());
        bench.sw.port(p).wire.rng = rng.next();
        if (seed % 2 == 0) bench.sw.port(p).wire.loss_threshold = ~std::uint64_t{0} / 1'000;
      }
      bench.run_with_peers(100'000'000);
      traces[always ? 1 : 0] = trace_of(bench, t(100'000'000));
      if (!always) {
        in_order += bench.sw.windows_in_order();
        windows += 200;
        pauses += bench.sw.pauses_sent();
      }
    }
    ASSERT_EQ(traces[0], traces[1]) << "seed " << seed;
  }
  // All of it has been at work.
  EXPECT_GT(pauses, 100u);
  EXPECT_GT(in_order, windows / 20);
  EXPECT_LT(in_order, windows * 19 / 20);
}

// [D56] So too where the switch sprays: over two uplinks, by each policy.
TEST(PfcSwitch, Order_DoesNotMatterToSpraying) {
  for (const Routing routing : {Routing::round_robin, Routing::power_of_two, Routing::drill,
                                Routing::least_queue, Routing::destination_rotation}) {
    std::uint64_t in_order = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      std::vector<std::uint64_t> traces[2];
      for (const bool always : {false, true}) {
        TopologyParams topology = one_rack(4, ps(500'000));
        topology.spines = 2;
        PfcBench bench(topology, buffer_with(6, bytes(1'500'000), {1, 4}, bytes(70'000),
                                             bytes(4'096), bytes(8'192)));
        bench.sw.set_routing(routing, seed);
        bench.sw.always_in_order(always);
        for (std::uint32_t p = 0; p < 6; ++p) {
          bench.peers[p].offer = RandomTraffic(mix64(seed) + p, 7, 4'096, /*pauses=*/true);
          bench.peers[p].stop = t(30'000'000);
        }
        bench.run_with_peers(50'000'000);
        traces[always ? 1 : 0] = trace_of(bench, t(50'000'000));
        if (!always) in_order += bench.sw.windows_in_order();
      }
      ASSERT_EQ(traces[0], traces[1]) << static_cast<int>(routing) << ", seed " << seed;
    }
    EXPECT_GT(in_order, 10u) << static_cast<int>(routing);
    EXPECT_LT(in_order, 390u) << static_cast<int>(routing);
  }
}

/// Random traffic through a switch; its trace, and the largest utilisation that data has seen.
template <class SwitchType>
std::pair<std::vector<std::uint64_t>, std::uint32_t> random_run(std::uint64_t seed) {
  testing::PfcBenchOf<SwitchType> bench(
      one_rack(4, ps(500'000)),
      buffer_with(5, bytes(400'000), {1, 4}, bytes(70'000), bytes(4'096), bytes(8'192)));
  bench.measure_over(us(4));
  for (std::uint32_t p = 0; p < 5; ++p)
    bench.peers[p].offer = RandomTraffic(mix64(seed) + p, 4, 4'096, /*pauses=*/true);
  bench.run_with_peers(60'000'000);
  EXPECT_GT(bench.sw.pauses_sent(), 0u);
  std::uint32_t most = 0;
  for (const auto& sent : bench.out) {
    for (const Transit& transit : sent) {
      if (!transit.packet.is_control()) most = std::max(most, transit.packet.utilisation());
    }
  }
  return {trace_of(bench, t(60'000'000)), most};
}

// [D51] [R.pfc.account] A switch that measures keeps the account of its buffer beside the packets, and
// does to them what one that does not measure does. A link with a queue of hundreds of KB is more than full.
TEST(PfcSwitch, Measuring_ChangesNothingElse) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto plain = random_run<PfcSwitch>(seed);
    const auto measured = random_run<BasicPfcSwitch<UtilisationMeter>>(seed);
    ASSERT_EQ(plain.first, measured.first) << seed;
    EXPECT_GT(measured.second, 1'024u) << seed;
  }
}

// Where windows are cut shows nowhere.
TEST(PfcSwitch, Order_WindowsMayBeCutAnywhere) {
  std::vector<std::uint64_t> traces[2];
  for (const bool cut : {false, true}) {
    PfcBench bench(one_rack(4, ps(500'000)), buffer_with(5, bytes(100'000), {1, 4}, kb(70)));
    for (std::uint32_t p = 0; p < 5; ++p)
      bench.peers[p].offer = RandomTraffic(p, 4, 4'096, /*pauses=*/true);
    Rng rng(5);
    for (std::int64_t time = 0; cut && time < 30'000'000; time += rng.between(1, 900'000))
      bench.run_with_peers(time);
    bench.run_with_peers(30'000'000);
    traces[cut ? 1 : 0] = trace_of(bench, t(30'000'000));
  }
  EXPECT_EQ(traces[0], traces[1]);
}

// Every packet is somewhere: sent by peers or made here = received, dropped, held or under way.
TEST(PfcSwitch, Conservation) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    PfcBench bench(one_rack(4, ps(500'000)), buffer_with(5, bytes(50'000), {1, 4}, kb(20)));
    for (std::uint32_t p = 0; p < 5; ++p)
      bench.peers[p].offer = RandomTraffic(mix64(seed) + p, 4, 4'096, /*pauses=*/true);
    for (std::int64_t time = 5'000'000; time <= 50'000'000; time += 5'000'000) {
      bench.run_with_peers(time);
      std::uint64_t sent = bench.sw.pauses_sent();
      std::uint64_t gone = bench.sw.pauses_received() + bench.sw.drops.total();
      for (const testing::Peer& peer : bench.peers) {
        sent += peer.sent;
        gone += peer.received.size() + peer.pause.frames();
      }
      ASSERT_EQ(sent, gone + bench.sw.packets_held() + bench.under_way());
    }
    // [R.pfc.account] Nobody sends any more: the buffer empties, and no link stays paused.
    for (testing::Peer& peer : bench.peers) peer.stop = t(0);
    bench.run_with_peers(400'000'000);
    EXPECT_EQ(bench.sw.packets_held(), 0u);
    EXPECT_EQ(bench.sw.buffer().shared_used(), 0);
    for (std::uint32_t p = 0; p < 5; ++p) {
      EXPECT_EQ(bench.sw.buffer().bytes_of(p), 0);
      EXPECT_EQ(bench.sw.buffer().headroom_bytes(p), 0);
      EXPECT_FALSE(bench.sw.buffer().paused(p));
    }
  }
}

}  // namespace
}  // namespace strack::sim
