// Whole transfers between two cores over a scripted network: every single loss, every kind of
// disorder.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "duet/duet.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::duet {
namespace {

using core::Packet;
using core::PacketType;
using core::Psn;
using core::Receiver;
using core::Sack;
using core::Sender;
using core::StrackParams;

constexpr Picoseconds kOneWay = us(4);
constexpr Picoseconds kByteTime = ps(20);        // 400 Gb/s
constexpr Picoseconds kPacketTime = ps(83'200);  // 4096 + 64 bytes

/// Delivers after one way, unless the script says otherwise. The n-th of its kind is counted from
/// 0.
struct ScriptedNet {
  std::function<Fate(int n, const Packet&, Instant)> on_data = [](int, const Packet&, Instant) {
    return Fate::after(kOneWay);
  };
  std::function<Fate(int n, const Packet&, Instant)> on_probe = on_data;
  std::function<Fate(int n, const Sack&, Instant)> on_sack = [](int, const Sack&, Instant) {
    return Fate::after(kOneWay);
  };
  int data = 0;
  int probes = 0;
  int sacks = 0;
  std::map<core::PathId, int> sent_on;

  Fate fate_of(std::size_t /*flow*/, const Packet& packet, Instant now) {
    if (packet.type == PacketType::probe) return on_probe(probes++, packet, now);
    ++sent_on[packet.path_id];
    return on_data(data++, packet, now);
  }
  Fate fate_of(std::size_t /*flow*/, const Sack& sack, Instant now) {
    return on_sack(sacks++, sack, now);
  }
  bool mark_on_arrival(std::size_t /*flow*/, const Packet& /*packet*/, bool ecn, Instant /*now*/) {
    return ecn;
  }
};

StrackParams params_400g() { return StrackParams::for_link(gbps(400), us(8), bytes(4096)).value(); }

/// One connection over a scripted network.
class Transfer {
 public:
  explicit Transfer(const StrackParams& params = params_400g(), Psn initial = Psn{0})
      : params_(params), duet_(net) {
    duet_.add_flow([&](auto slots) { return Sender<>(params_, slots, initial); },
                   [&] { return Receiver<>(params_, initial); }, kByteTime);
  }

  void post(core::MessageId id, std::uint32_t length) { duet_.post(0, {id, length}); }
  bool run(Picoseconds limit = ms(50)) { return duet_.run(at(limit)); }
  bool step() { return duet_.step(); }

  [[nodiscard]] auto& flow() { return duet_.flow(0); }
  [[nodiscard]] const Sender<>& sender() { return flow().sender; }
  [[nodiscard]] const Receiver<>& receiver() { return flow().receiver; }
  [[nodiscard]] Instant now() const { return duet_.now(); }

  /// Everything posted has been delivered and completed exactly once, and nothing is left over.
  void expect_finished(std::size_t messages) {
    EXPECT_EQ(flow().delivered.size(), messages);
    EXPECT_EQ(flow().completed.size(), messages);
    std::set<core::MessageId> ids;
    for (const auto& [id, when] : flow().delivered) ids.insert(id);
    EXPECT_EQ(ids.size(), messages);
    EXPECT_TRUE(sender().idle());
    EXPECT_EQ(sender().inflight_bytes(), bytes(0));
    EXPECT_EQ(sender().counters().sacks_rejected, 0u);
  }

  ScriptedNet net;

 private:
  StrackParams params_;
  Duet<Sender<>, Receiver<>, core::MessageSlot, ScriptedNet> duet_;
};

constexpr std::uint32_t kPackets = 40;
constexpr std::uint32_t kLength = kPackets * 4096 - 1000;  // the last packet is a short one

// [D28] No set-up is needed: the first packet out is data, and its arrival is all a receiver waits
// for.
TEST(Transfer, OnePacketTakesSerialisationAndOneRoundTrip) {
  Transfer t;
  t.post(7, 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.flow().delivered[0].second, at(kPacketTime + kOneWay));
  EXPECT_EQ(t.flow().completed[0].second, at(kPacketTime + 2 * kOneWay));
  EXPECT_EQ(t.flow().packets_sent, 1u);
  EXPECT_EQ(t.flow().acks_sent, 1u);
}

// [R.sack.epsn] In order, every packet is acknowledged, so the last acknowledgement follows the
// last packet.
TEST(Transfer, InOrderTakesSerialisationOfAllAndOneRoundTrip) {
  Transfer t;
  t.post(1, kPackets * 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.flow().completed[0].second, at(kPackets * kPacketTime + 2 * kOneWay));
  EXPECT_EQ(t.flow().packets_sent, kPackets);
  EXPECT_EQ(t.flow().acks_sent, kPackets);
}

// [P.window] A window of one BDP keeps the link busy but for the headers, which the window does not
// count. [D20]
TEST(Transfer, LongTransferRunsNearLineRate) {
  Transfer t;
  t.post(1, 16'000'000);
  ASSERT_TRUE(t.run());
  const Picoseconds ideal = 3907 * kPacketTime + 2 * kOneWay;
  EXPECT_GE(t.now() - at(ps(0)), ideal - us(1));
  EXPECT_LE(t.now() - at(ps(0)), ideal + us(10));
  EXPECT_EQ(t.sender().counters().retransmissions, 0u);
}

// [R.loss.enter] [R.recovery.retransmit] Whichever single data packet is lost, the transfer
// completes, and no later than a timeout allows.
TEST(Transfer, AnySingleDataPacketMayBeLost) {
  for (int lost = 0; lost < static_cast<int>(kPackets); ++lost) {
    SCOPED_TRACE(lost);
    Transfer t;
    t.net.on_data = [&](int n, const Packet&, Instant) {
      return n == lost ? Fate::lost() : Fate::after(kOneWay);
    };
    t.post(1, kLength);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    // A probe's patience (24 us), its round trip, and one for what is sent again: no timeout (200
    // us).
    EXPECT_LT(t.now(), at(us(60)));
    EXPECT_EQ(t.sender().counters().timeouts, 0u);
    EXPECT_GE(t.sender().counters().retransmissions, 1u);
  }
}

// [R.probe.loss] [D17] The last packet has none behind it to betray its loss: the probe finds it.
TEST(Transfer, LostLastPacketIsFoundByTheProbe) {
  Transfer t;
  t.net.on_data = [](int n, const Packet&, Instant) {
    return n == static_cast<int>(kPackets) - 1 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.post(1, kLength);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().probes_sent, 1u);
  EXPECT_EQ(t.sender().counters().retransmissions, 1u);
  EXPECT_EQ(t.sender().counters().timeouts, 0u);
}

// [D17] Recovering only up to the highest packet received cannot see a lost tail: then the timeout
// must.
TEST(Transfer, LostLastPacketNeedsTheTimeoutWhenProbesRecoverOnlyBelowTheHighestReceived) {
  StrackParams params = params_400g();
  params.probe_recovers = core::ProbeRecovers::highest_received;
  Transfer t(params);
  t.net.on_data = [](int n, const Packet&, Instant) {
    return n == static_cast<int>(kPackets) - 1 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.post(1, kLength);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().timeouts, 1u);
}

// [R.ooo.threshold] [R.ooo.range] A loss with more than a window behind it is found by the count of
// what overtook it.
TEST(Transfer, LossInALongTransferIsFoundByTheOutOfOrderCount) {
  Transfer t;
  t.net.on_data = [](int n, const Packet&, Instant) {
    return n == 200 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.post(1, 4'000'000);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().loss_episodes, 1u);
  EXPECT_EQ(t.sender().counters().probes_sent, 0u);
  EXPECT_EQ(t.sender().counters().timeouts, 0u);
  EXPECT_GE(t.sender().counters().retransmissions, 1u);
}

// [R.sack.field.epsn] [R.sack.field.bytes_recvd] Acknowledgements are cumulative: any one may be
// lost.
TEST(Transfer, AnySingleSackMayBeLost) {
  for (int lost = 0; lost < static_cast<int>(kPackets); ++lost) {
    SCOPED_TRACE(lost);
    Transfer t;
    t.net.on_sack = [&](int n, const Sack&, Instant) {
      return n == lost ? Fate::lost() : Fate::after(kOneWay);
    };
    t.post(1, kLength);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    EXPECT_EQ(t.sender().counters().retransmissions, 0u);
  }
}

// [R.probe.send] The very last SACK lost: a probe fetches it again and nothing is sent twice.
TEST(Transfer, LostLastSackIsFetchedByAProbe) {
  Transfer t;
  t.net.on_sack = [](int n, const Sack&, Instant) {
    return n == static_cast<int>(kPackets) - 1 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.post(1, kLength);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().probes_sent, 1u);
  EXPECT_EQ(t.sender().counters().retransmissions, 0u);
}

// [R.probe.repeat] A lost probe, or its lost answer, is followed by another one.
TEST(Transfer, ProbesMayBeLostToo) {
  for (const bool lose_answer : {false, true}) {
    Transfer t;
    t.net.on_data = [](int n, const Packet&, Instant) {
      return n == 9 ? Fate::lost() : Fate::after(kOneWay);
    };
    t.net.on_probe = [&](int n, const Packet&, Instant) {
      return n == 0 && !lose_answer ? Fate::lost() : Fate::after(kOneWay);
    };
    bool answer_lost = false;
    t.net.on_sack = [&](int, const Sack& sack, Instant) {
      if (lose_answer && sack.for_probe && !answer_lost) {
        answer_lost = true;
        return Fate::lost();
      }
      return Fate::after(kOneWay);
    };
    t.post(1, 10 * 4096);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    EXPECT_EQ(t.sender().counters().probes_sent, 2u);
    EXPECT_EQ(t.sender().counters().retransmissions, 1u);
    EXPECT_EQ(t.sender().counters().timeouts, 0u);
  }
}

// [R.timeout.loss] With every probe lost, the timeout recovers.
TEST(Transfer, TimeoutRecoversWhenNoProbeGetsThrough) {
  Transfer t;
  t.net.on_data = [](int n, const Packet&, Instant) {
    return n == 9 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.net.on_probe = [](int, const Packet&, Instant) { return Fate::lost(); };
  t.post(1, 10 * 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().timeouts, 1u);
  EXPECT_EQ(t.sender().counters().retransmissions, 1u);
}

// [D17] A retransmission lost in its turn is found again.
TEST(Transfer, RetransmissionMayBeLost) {
  for (int losses = 1; losses <= 5; ++losses) {
    SCOPED_TRACE(losses);
    Transfer t;
    int left = losses;
    t.net.on_data = [&](int, const Packet& packet, Instant) {
      if (packet.psn == Psn{3} && left > 0) {
        --left;
        return Fate::lost();
      }
      return Fate::after(kOneWay);
    };
    t.post(1, kLength);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    EXPECT_GE(t.sender().counters().retransmissions, static_cast<std::uint32_t>(losses));
  }
}

// [R.timeout.loss] [D15] Nothing gets through for five milliseconds; then everything does, within
// the longest timeout.
TEST(Transfer, EverythingMayBeLostForAWhile) {
  Transfer t;
  const Instant back = at(ms(5));
  const auto dead = [&](Instant now) { return now < back ? Fate::lost() : Fate::after(kOneWay); };
  t.net.on_data = [&](int, const Packet&, Instant now) { return dead(now); };
  t.net.on_probe = t.net.on_data;
  t.net.on_sack = [&](int, const Sack&, Instant now) { return dead(now); };
  t.post(1, kLength);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_GE(t.sender().counters().timeouts, 4u);
  EXPECT_LT(t.now(), back + 8 * us(200) + us(100));
}

// [P.ooo_delivery] [D14] Packets overtaking each other by less than the threshold are no losses.
TEST(Transfer, ReorderingWithinTheWindowCausesNoRetransmission) {
  Transfer t;
  t.net.on_data = [](int n, const Packet&, Instant) {
    return Fate::after(kOneWay + (n % 7) * kPacketTime * 3);
  };
  t.post(1, 2'000'000);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.sender().counters().retransmissions, 0u);
  EXPECT_EQ(t.receiver().duplicates(), 0u);
}

// [D21] A message whose packets came first is delivered first, and completes first.
TEST(Transfer, LaterMessageIsNotHeldBackByALostPacketOfAnEarlierOne) {
  Transfer t;
  t.net.on_data = [](int n, const Packet&, Instant) {
    return n == 0 ? Fate::lost() : Fate::after(kOneWay);
  };
  t.post(1, 4 * 4096);
  t.post(2, 8 * 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(2);
  EXPECT_EQ(t.flow().delivered[0].first, 2u);
  EXPECT_EQ(t.flow().completed[0].first, 2u);
}

// [D11] [R.sack.field.bytes_recvd] Every packet and every SACK twice: each is counted once.
TEST(Transfer, DuplicationIsHarmless) {
  Transfer t;
  t.net.on_data = [](int, const Packet&, Instant) {
    return Fate{.copies = 2, .delay = kOneWay, .copy_delay = kOneWay + us(1)};
  };
  t.net.on_sack = [](int, const Sack&, Instant) {
    return Fate{.copies = 2, .delay = kOneWay, .copy_delay = kOneWay + us(2)};
  };
  t.post(1, kLength);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.flow().payload_placed, kLength);
  EXPECT_EQ(t.receiver().duplicates(), kPackets);
  EXPECT_EQ(t.sender().counters().retransmissions, 0u);
}

// [D26] [R.bitmap.receiver] Sequence numbers wrap at 2^32 anywhere in a transfer, with losses
// around the wrap.
TEST(Transfer, SequenceNumbersWrap) {
  for (std::uint32_t before = 0; before <= kPackets; ++before) {
    SCOPED_TRACE(before);
    Transfer t(params_400g(), Psn{0u - before});
    t.net.on_data = [](int n, const Packet&, Instant) {
      return n % 10 == 7 ? Fate::lost() : Fate::after(kOneWay);
    };
    t.post(1, kLength);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    EXPECT_EQ(t.receiver().epsn(), Psn{kPackets - before});
  }
}

// [R.inflight.window] [D19] With a window of one packet, each waits for the last one's
// acknowledgement.
TEST(Transfer, WindowOfOnePacketIsStopAndWait) {
  StrackParams params = params_400g();
  params.max_cwnd = params.mtu;
  Transfer t(params);
  t.post(1, 5 * 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.now(), at(5 * (kPacketTime + 2 * kOneWay)));
}

// [D26] The same when the tracking window is what allows no more than one.
TEST(Transfer, TrackingWindowOfOnePacketIsStopAndWait) {
  StrackParams params = params_400g();
  params.tracking_window = 1;
  Transfer t(params);
  t.post(1, 5 * 4096);
  ASSERT_TRUE(t.run());
  t.expect_finished(1);
  EXPECT_EQ(t.now(), at(5 * (kPacketTime + 2 * kOneWay)));
}

// [D24] [R.recovery.retransmit] A path that swallows everything costs retransmissions, never the
// transfer: what is sent again takes another path.
TEST(Transfer, BlackholedPathsAreSurvived) {
  for (const int dead : {1, 32, 128}) {
    SCOPED_TRACE(dead);
    Transfer t;
    t.net.on_data = [&](int, const Packet& packet, Instant) {
      return packet.path_id >= 1 && packet.path_id <= dead ? Fate::lost() : Fate::after(kOneWay);
    };
    t.net.on_probe = t.net.on_data;
    t.post(1, 2'000'000);
    ASSERT_TRUE(t.run());
    t.expect_finished(1);
    EXPECT_GT(t.sender().counters().retransmissions, 0u);
  }
}

// [D20] Messages of no bytes at all are delivered and completed like others, among others.
TEST(Transfer, EmptyMessagesAreMessages) {
  Transfer t;
  t.post(1, 0);
  t.post(2, 5000);
  t.post(3, 0);
  ASSERT_TRUE(t.run());
  t.expect_finished(3);
  EXPECT_EQ(t.flow().packets_sent, 4u);
}

// ---- The four scenarios of ECN and RTT, seen through whole transfers ----

// [Q1] Unmarked and below target: a full window stays full.
TEST(Quadrant, CleanAndFastKeepsTheWindowFull) {
  Transfer t;
  t.post(1, 4'000'000);
  while (t.step()) ASSERT_EQ(t.sender().window().cwnd(), kb(400));
  t.expect_finished(1);
}

// [Q2] Marked but fast: the path is left, the window is not touched.
TEST(Quadrant, MarkedAndFastSwitchesPathAndKeepsTheWindow) {
  StrackParams params = params_400g();
  params.max_paths = 16;
  Transfer t(params);
  t.net.on_data = [](int, const Packet& packet, Instant) {
    return Fate::after(kOneWay, packet.path_id == 5);
  };
  t.post(1, 8'000'000);
  while (t.step()) ASSERT_EQ(t.sender().window().cwnd(), kb(400));
  t.expect_finished(1);
  // Of 1954 packets an even share would be 122.
  EXPECT_LT(t.net.sent_on[5], 20);
  for (core::PathId path = 0; path < 16; ++path) {
    if (path == 5) continue;
    EXPECT_GT(t.net.sent_on[path], 60) << path;
  }
}

// [Q2] [P.oblivious] The oblivious variant goes on using the marked path.
TEST(Quadrant, ObliviousSprayIgnoresTheMark) {
  StrackParams params = params_400g();
  params.max_paths = 16;
  params.path_policy = core::PathPolicy::oblivious;
  Transfer t(params);
  t.net.on_data = [](int, const Packet& packet, Instant) {
    return Fate::after(kOneWay, packet.path_id == 5);
  };
  t.post(1, 8'000'000);
  ASSERT_TRUE(t.run());
  EXPECT_NEAR(t.net.sent_on[5], 122, 1);
}

// [Q3] Marked and slow: the window falls, at most once per base RTT, and not below what the cuts
// allow.
TEST(Quadrant, MarkedAndSlowCutsTheWindow) {
  Transfer t;
  t.net.on_data = [](int, const Packet&, Instant) { return Fate::after(kOneWay + us(16), true); };
  t.post(1, 4'000'000);
  Bytes before = t.sender().window().cwnd();
  Instant last_cut = Instant::distant_past();
  int cuts = 0;
  while (t.step()) {
    const Bytes after = t.sender().window().cwnd();
    if (after < before) {
      ++cuts;
      EXPECT_GT(t.now() - last_cut, us(8));
      EXPECT_GE(after, before / 2);
      last_cut = t.now();
    }
    before = after;
  }
  t.expect_finished(1);
  EXPECT_GE(cuts, 3);
  EXPECT_LT(t.sender().window().cwnd(), kb(200));
}

// [Q3] [A3.L10] Deep congestion with little delivered: the window falls to what was delivered in
// one step.
TEST(Quadrant, DeepCongestionFallsToWhatWasDelivered) {
  Transfer t;
  // A bottleneck of a fortieth of the link: packets leave it 3.2 us apart.
  Instant exit{};
  t.net.on_data = [&](int, const Packet&, Instant now) {
    exit = std::max(exit, now) + us(3) + ns(200);
    return Fate::after(exit - now + kOneWay, true);
  };
  t.post(1, 2'000'000);
  Bytes before = t.sender().window().cwnd();
  bool fell = false;
  while (t.step()) {
    const Bytes after = t.sender().window().cwnd();
    if (after < before / 4) fell = true;
    before = after;
  }
  EXPECT_TRUE(fell);
  EXPECT_EQ(t.flow().delivered.size(), 1u);
}

// [Q4] Slow but unmarked: the queue has drained behind these packets, and a reduced window grows
// again.
TEST(Quadrant, UnmarkedAndSlowRefillsTheWindow) {
  Transfer t;
  bool congested = true;
  t.net.on_data = [&](int, const Packet&, Instant) {
    return Fate::after(kOneWay + us(30), congested);
  };
  t.post(1, 40'000'000);
  while (t.step() && t.sender().window().cwnd() > kb(100)) {
  }
  congested = false;
  // Let what was marked come home first.
  const Instant settled = t.now() + us(40);
  while (t.now() < settled) ASSERT_TRUE(t.step());
  const Bytes reduced = t.sender().window().cwnd();
  Bytes before = reduced;
  while (t.now() < settled + us(200) && t.step()) {
    EXPECT_GE(t.sender().window().cwnd(), before);
    before = t.sender().window().cwnd();
  }
  EXPECT_GT(before, 2 * reduced);
}

}  // namespace
}  // namespace strack::duet
