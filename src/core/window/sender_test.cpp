// The sending end of window-based transports, with a congestion control that does as the test says.
#include "core/window/sender.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "core/window/growth.h"
#include "core/window/receiver.h"

namespace strack::core {
namespace {

constexpr Bytes kMtu = bytes(1'000);

struct TestParams : WindowParams {
  Bytes cwnd = 10 * kMtu;
  Picoseconds gap{0};
};

/// Remembers what it is told.
class TestControl {
 public:
  constexpr explicit TestControl(const TestParams& params) : params_(&params) {}
  void on_ack(const TestParams&, const AckNews& news, Instant) { acks.push_back(news); }
  void on_loss(const TestParams&, const LossNews& news, Instant) { losses.push_back(news); }
  [[nodiscard]] Bytes cwnd() const { return params_->cwnd; }
  [[nodiscard]] Picoseconds pacing(const TestParams& params, Bytes) const { return params.gap; }

  std::vector<AckNews> acks;
  std::vector<LossNews> losses;

 private:
  const TestParams* params_;
};

TestParams params() {
  TestParams p;
  p.set_link(gbps(400), us(8), kMtu);
  return p;
}

/// A sender at work; packets leave 100 ns apart.
class Bench {
 public:
  explicit Bench(TestParams p = params(), Psn first = Psn{0})
      : parameters(p), sender(parameters, slots_, first) {}

  void post(std::uint32_t packets) {
    ASSERT_EQ(sender.on_message({next_id_++, packets * 1'000}, now), PostResult::accepted);
  }
  /// Sends all that may go; returns how many packets that were.
  int send() {
    int count = 0;
    while (const auto packet = sender.poll_transmit(now)) {
      sent.push_back(*packet);
      now = now + ns(100);
      ++count;
    }
    return count;
  }
  WindowAck ack(std::uint32_t epsn, std::uint32_t psn, std::uint64_t bitmap = 0) const {
    WindowAck a;
    a.epsn = a.sack_base = Psn{epsn};
    a.psn = Psn{psn};
    a.bitmap = bitmap;
    for (const Packet& packet : sent) {
      if (packet.psn == a.psn && packet.type == PacketType::data) {
        a.timestamp = packet.timestamp;
        a.path_id = packet.path_id;
      }
    }
    return a;
  }
  void give(const WindowAck& a) { sender.on_receiving_ack(a, now); }
  const std::vector<LossNews>& losses() const { return sender.control().losses; }

  TestParams parameters;
  std::array<MessageSlot, 8> slots_{};
  WindowSender<TestParams, TestControl> sender;
  std::vector<Packet> sent;
  Instant now = at(us(100));

 private:
  MessageId next_id_ = 0;
};

// [WIN.fit] [WIN.inflight] A packet goes while it fits the window whole; what is acknowledged makes room.
TEST(WindowSender, FillsTheWindow) {
  Bench b;
  b.parameters.cwnd = bytes(3'999);
  b.post(8);
  EXPECT_EQ(b.send(), 3);
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(3'000));
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(2'000));
  EXPECT_EQ(b.sender.acked_bytes(), bytes(1'000));
  EXPECT_EQ(b.send(), 1);
}

// [WIN.fit] A window smaller than a packet holds one.
TEST(WindowSender, OnePacketMayAlwaysGo) {
  Bench b;
  b.parameters.cwnd = bytes(10);
  b.post(2);
  EXPECT_EQ(b.send(), 1);
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.send(), 1);
}

// [WIN.pace] The control's gap lies between packets, and next_deadline says when it is over.
TEST(WindowSender, Paces) {
  Bench b;
  b.parameters.gap = us(2);
  b.post(3);
  ASSERT_TRUE(b.sender.poll_transmit(at(us(100))));
  EXPECT_TRUE(b.sender.poll_transmit(at(us(100))));  // one may follow late: a gap's credit
  EXPECT_FALSE(b.sender.poll_transmit(at(us(100))));
  EXPECT_EQ(b.sender.next_deadline(), at(us(102)));
  b.sender.on_timeout(at(us(102)));
  EXPECT_GT(b.sender.next_deadline(), at(us(102)));
  EXPECT_TRUE(b.sender.poll_transmit(at(us(102))));
}

// [WIN.track] No more than the tracking window between EPSN and the newest.
TEST(WindowSender, StopsAtTheTrackingWindow) {
  Bench b;
  b.parameters.tracking_window = 4;
  b.post(8);
  EXPECT_EQ(b.send(), 4);
  b.give(b.ack(0, 2));  // not the expected one
  EXPECT_EQ(b.send(), 0);
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.send(), 1);
}

// What each acknowledgement tells the control.
TEST(WindowSender, TellsTheControl) {
  Bench b;
  b.post(4);
  b.send();
  WindowAck a = b.ack(0, 2, 0b1010);
  a.ecn = true;
  a.utilisation = 77;
  a.hops = 4;
  b.now = at(us(110));
  b.give(a);
  ASSERT_EQ(b.sender.control().acks.size(), 1u);
  const AckNews& news = b.sender.control().acks[0];
  EXPECT_EQ(news.acked, bytes(3'000));  // 1 and 3 by the bitmap, 2 by the echo
  EXPECT_EQ(news.rtt, ns(9'800));
  EXPECT_EQ(news.epsn, Psn{0});
  EXPECT_EQ(news.psn_next, Psn{4});
  EXPECT_EQ(news.inflight, bytes(1'000));
  EXPECT_EQ(news.utilisation, 77);
  EXPECT_EQ(news.hops, 4);
  EXPECT_TRUE(news.ecn);
}

// [WIN.loss.order] On one path, a packet is lost when one sent three later has arrived: not before.
TEST(WindowSender, LostByOrder) {
  Bench b;
  b.post(8);
  b.send();
  b.give(b.ack(0, 1));
  b.give(b.ack(0, 2, 0b10));
  EXPECT_TRUE(b.losses().empty());
  b.give(b.ack(0, 3, 0b110));
  ASSERT_EQ(b.losses().size(), 1u);
  EXPECT_EQ(b.losses()[0].sign, LossSign::order);
  EXPECT_EQ(b.losses()[0].lost, bytes(1'000));
  EXPECT_TRUE(b.losses()[0].first);
  EXPECT_TRUE(b.sender.is_lost(Psn{0}));
  EXPECT_FALSE(b.sender.is_lost(Psn{4}));
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(4'000));
}

// [WIN.loss.order] Spread over paths, a window may overtake.
TEST(WindowSender, LostByOrderOverAWindow) {
  TestParams p = params();
  p.spray.policy = SprayPolicy::oblivious;
  p.adapt();
  p.cwnd = 6 * kMtu;
  Bench b(p);
  b.post(20);
  b.send();
  for (std::uint32_t psn = 1; psn <= 5; ++psn) {
    b.give(b.ack(0, psn));
    b.send();
  }
  EXPECT_TRUE(b.losses().empty());
  b.give(b.ack(0, 6));
  ASSERT_EQ(b.losses().size(), 1u);
  EXPECT_TRUE(b.sender.is_lost(Psn{0}));
}

// [WIN.again] What is lost goes before what is new, the lowest first, within the window.
TEST(WindowSender, RetransmitsLowestFirst) {
  Bench b;
  b.parameters.cwnd = 8 * kMtu;
  b.post(20);
  b.send();
  b.give(b.ack(0, 5, 0b10000));  // 4 and 5: 0, 1 and 2 are lost
  EXPECT_EQ(b.sender.lost_packets(), 3u);
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(3'000));
  b.sent.clear();
  EXPECT_EQ(b.send(), 5);
  EXPECT_EQ(b.sent[0].psn, Psn{0});
  EXPECT_EQ(b.sent[1].psn, Psn{1});
  EXPECT_EQ(b.sent[2].psn, Psn{2});
  EXPECT_TRUE(b.sent[2].retransmission);
  EXPECT_EQ(b.sent[3].psn, Psn{8});
  EXPECT_FALSE(b.sent[3].retransmission);
  EXPECT_EQ(b.sender.counters().retransmissions, 3u);
}

// What was only late is not sent again.
TEST(WindowSender, ArrivedAfterAll) {
  Bench b;
  b.post(8);
  b.send();
  b.give(b.ack(0, 3));
  ASSERT_EQ(b.sender.lost_packets(), 1u);
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.sender.lost_packets(), 0u);
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(6'000));
  EXPECT_EQ(b.send(), 0);
}

// [WIN.loss.again] A packet that was sent again is judged by time: lost once three that left after it arrived.
TEST(WindowSender, LostAgain) {
  Bench b;
  b.post(30);
  b.send();
  b.give(b.ack(0, 9, 0b1'1111'1110));  // all but 0
  b.send();                            // 0 again, then new ones from 10 on
  ASSERT_EQ(b.sent[10].psn, Psn{0});
  b.give(b.ack(0, 10, 0x3fe));
  b.give(b.ack(0, 11, 0x7fe));
  EXPECT_EQ(b.sender.lost_packets(), 0u);
  b.give(b.ack(0, 12, 0xffe));
  EXPECT_TRUE(b.sender.is_lost(Psn{0}));
}

// [WIN.episode] Losses until all is acknowledged that was in flight at the first of them are one episode.
TEST(WindowSender, OneEpisodePerWindow) {
  Bench b;
  b.post(40);
  b.send();                // 0 to 9
  b.give(b.ack(0, 3));     // 0 is lost
  b.give(b.ack(0, 8, 0));  // so are 1, 2, 4 and 5
  ASSERT_EQ(b.losses().size(), 2u);
  EXPECT_TRUE(b.losses()[0].first);
  EXPECT_FALSE(b.losses()[1].first);
  EXPECT_EQ(b.losses()[1].lost, bytes(4'000));
  EXPECT_EQ(b.sender.counters().loss_episodes, 1u);
  b.send();
  b.give(b.ack(10, 9));
  b.send();
  b.give(b.ack(10, 13));
  ASSERT_EQ(b.losses().size(), 3u);
  EXPECT_TRUE(b.losses()[2].first);
  EXPECT_EQ(b.sender.counters().loss_episodes, 2u);
}

// [WIN.nack] A packet that was cut off is lost at once, it alone; the control hears of no acknowledgement.
TEST(WindowSender, Nack) {
  Bench b;
  b.post(8);
  b.send();
  WindowAck a = b.ack(0, 5);
  a.kind = AckKind::nack;
  b.give(a);
  EXPECT_TRUE(b.sender.is_lost(Psn{5}));
  EXPECT_EQ(b.sender.lost_packets(), 1u);
  EXPECT_TRUE(b.sender.control().acks.empty());
  ASSERT_EQ(b.losses().size(), 1u);
  EXPECT_EQ(b.losses()[0].sign, LossSign::trimmed);
  b.give(a);  // the same again
  EXPECT_EQ(b.losses().size(), 1u);
}

// [WIN.probe.send] After three base RTTs without news a probe goes, and again; any news puts it off.
TEST(WindowSender, ProbesAfterSilence) {
  Bench b;
  b.post(2);
  b.send();  // at 100 and 100.1 us
  EXPECT_EQ(b.sender.next_deadline(), at(us(124)));
  b.now = at(us(110));
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.sender.next_deadline(), at(us(134)));
  b.now = at(us(134));
  b.sender.on_timeout(b.now);
  b.sent.clear();
  ASSERT_EQ(b.send(), 1);
  EXPECT_EQ(b.sent[0].type, PacketType::probe);
  EXPECT_EQ(b.sent[0].psn, Psn{1});
  EXPECT_EQ(b.sender.next_deadline(), at(us(158)));
  EXPECT_EQ(b.sender.counters().probes_sent, 1u);
}

WindowAck answer_to(const Packet& probe, std::uint32_t epsn) {
  WindowAck a;
  a.kind = AckKind::probe;
  a.epsn = a.sack_base = Psn{epsn};
  a.probe_id = probe.probe_id;
  a.path_id = probe.path_id;
  a.timestamp = probe.timestamp;
  return a;
}

// [WIN.probe.verdict] The probe came back alone: what was sent before it is lost.
TEST(WindowSender, ProbeFindsALoss) {
  Bench b;
  b.post(2);
  b.send();
  b.now = at(us(124));
  b.sender.on_timeout(b.now);
  b.send();
  b.now = at(us(164));  // slow, but nothing overtakes on one path
  b.give(answer_to(b.sent.back(), 0));
  ASSERT_EQ(b.losses().size(), 1u);
  EXPECT_EQ(b.losses()[0].sign, LossSign::probe);
  EXPECT_EQ(b.losses()[0].lost, bytes(2'000));
}

// [WIN.probe.verdict] Spread over paths, an answer that may have overtaken queued packets proves nothing;
// nor does one after other news.
TEST(WindowSender, ProbeThatProvesNothing) {
  TestParams p = params();
  p.spray.policy = SprayPolicy::oblivious;
  p.adapt();
  Bench b(p);
  b.post(4);
  b.send();
  b.now = at(us(124));
  b.sender.on_timeout(b.now);
  b.send();
  b.now = at(us(140));  // 16 us: two base RTTs
  b.give(answer_to(b.sent.back(), 0));
  EXPECT_TRUE(b.losses().empty());

  b.now = at(us(170));
  b.sender.on_timeout(b.now);
  b.send();
  const Packet probe = b.sent.back();
  ASSERT_EQ(probe.type, PacketType::probe);
  b.now = at(us(171));
  b.give(b.ack(0, 1));
  b.give(answer_to(probe, 0));
  EXPECT_TRUE(b.losses().empty());
}

// [WIN.timeout] [WIN.timeout.backoff] 25 base RTTs without progress: all is lost; the next waits twice as long.
TEST(WindowSender, TimesOut) {
  TestParams p = params();
  p.probe_interval = ps(0);
  Bench b(p);
  b.post(4);
  b.send();
  EXPECT_EQ(b.sender.next_deadline(), at(us(300)));
  b.sender.on_timeout(at(us(299)));
  EXPECT_TRUE(b.losses().empty());
  b.now = at(us(300));
  b.sender.on_timeout(b.now);
  ASSERT_EQ(b.losses().size(), 1u);
  EXPECT_EQ(b.losses()[0].sign, LossSign::timeout);
  EXPECT_EQ(b.losses()[0].lost, bytes(4'000));
  EXPECT_EQ(b.losses()[0].timeouts, 1u);
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(0));
  EXPECT_EQ(b.send(), 4);
  EXPECT_EQ(b.sender.next_deadline(), at(us(700)));
  b.now = at(us(700));
  b.sender.on_timeout(b.now);
  EXPECT_EQ(b.losses().back().timeouts, 2u);
  b.send();
  b.give(b.ack(1, 0));
  EXPECT_EQ(b.sender.next_deadline() - b.now, us(200));
}

// [WIN.path] A timeout is news of the path that packets take: PLB leaves it.
TEST(WindowSender, TimeoutTellsThePaths) {
  TestParams p = params();
  p.spray.policy = SprayPolicy::plb;
  p.probe_interval = ps(0);
  Bench b(p);
  b.post(1);
  b.send();
  b.now = at(us(300));
  b.sender.on_timeout(b.now);
  b.send();
  EXPECT_NE(b.sent[0].path_id, b.sent[1].path_id);
}

// [WIN.refuse] What cannot be true changes nothing.
TEST(WindowSender, RefusesNonsense) {
  Bench b;
  b.post(4);
  b.send();
  const auto refused = [&](const WindowAck& a) {
    const std::uint32_t before = b.sender.counters().acks_rejected;
    b.give(a);
    return b.sender.counters().acks_rejected == before + 1 && b.sender.epsn() == Psn{0} &&
           b.sender.inflight_bytes() == bytes(4'000);
  };
  EXPECT_TRUE(refused(b.ack(5, 0)));            // EPSN was never sent
  EXPECT_TRUE(refused(b.ack(0, 4)));            // nor the packet
  EXPECT_TRUE(refused(b.ack(0, 1, 0b1'0000)));  // nor one of the bitmap's
  EXPECT_TRUE(refused(b.ack(0, 0)));            // arrived and missing
  EXPECT_TRUE(refused(b.ack(0, 1, 1)));         // the same, by the bitmap
  WindowAck a = b.ack(1, 0);
  a.path_id = 128;
  EXPECT_TRUE(refused(a));  // such a path is not there
  a = b.ack(1, 0);
  a.timestamp = Timestamp::of(b.now + us(1));
  EXPECT_TRUE(refused(a));  // sent in the future
  a = b.ack(1, 0);
  a.sack_base = Psn{0};
  EXPECT_TRUE(refused(a));
}

// Messages complete once, also before an earlier one.
TEST(WindowSender, Completions) {
  Bench b;
  b.post(2);
  b.post(1);
  b.send();
  b.give(b.ack(0, 2));
  EXPECT_EQ(b.sender.poll_completion(), std::optional<MessageId>(1));
  EXPECT_FALSE(b.sender.poll_completion());
  b.give(b.ack(3, 0));
  EXPECT_EQ(b.sender.poll_completion(), std::optional<MessageId>(0));
  EXPECT_FALSE(b.sender.poll_completion());
  EXPECT_TRUE(b.sender.idle());
  EXPECT_EQ(b.sender.next_deadline(), Instant::never());
}

// An empty message is a packet in flight, though of no bytes: somebody waits for it.
TEST(WindowSender, EmptyMessage) {
  Bench b;
  b.post(0);
  ASSERT_EQ(b.send(), 1);
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(0));
  EXPECT_EQ(b.sender.next_deadline(), at(us(124)));
  b.give(b.ack(1, 0));
  EXPECT_TRUE(b.sender.poll_completion());
  EXPECT_EQ(b.sender.next_deadline(), Instant::never());
}

// Sequence numbers wrap, with a loss on both sides of zero.
TEST(WindowSender, Wraps) {
  Bench b(params(), Psn{0} - 2u);
  b.post(8);
  b.send();
  const std::uint32_t first = Psn{0}.value - 2;
  b.give(b.ack(first, first + 3));
  EXPECT_TRUE(b.sender.is_lost(Psn{first}));
  b.send();
  b.give(b.ack(first + 8, first));
  EXPECT_EQ(b.sender.inflight_bytes(), bytes(0));
  EXPECT_TRUE(b.sender.idle());
}

// A control that knows packets: it sends odd PSNs on path 1, and calls PSN 2 lost once it is told to.
class PacketTestControl : public TestControl {
 public:
  using TestControl::TestControl;
  PathId next_path(const TestParams&) { return static_cast<PathId>(count_++ % 2); }
  void on_sent(Psn psn, Bytes, PathId path, bool again, Instant) {
    sent.push_back({psn, path, again});
  }
  void on_left(Psn psn, Bytes, bool lost) { left.push_back({psn, 0, lost}); }
  [[nodiscard]] PacketFate fate_of(const TestParams&, Psn psn) const {
    if (psn == Psn{2} && two_is_lost) return PacketFate::lost;
    return psn > Psn{5} ? PacketFate::recent : PacketFate::open;
  }

  struct Told {
    Psn psn;
    PathId path = 0;
    bool flag = false;
  };
  std::vector<Told> sent;
  std::vector<Told> left;
  static inline bool two_is_lost = false;

 private:
  std::uint32_t count_ = 0;
};

// [WIN.loss.each] A control that knows packets gives each its path, hears of each, and says which are lost.
TEST(WindowSender, ControlThatKnowsPackets) {
  const TestParams p = params();
  std::array<MessageSlot, 8> slots{};
  WindowSender<TestParams, PacketTestControl> sender(p, slots, Psn{0});
  sender.on_message({1, 8'000}, at(us(100)));
  std::vector<Packet> packets;
  while (const auto packet = sender.poll_transmit(at(us(100)))) packets.push_back(*packet);
  ASSERT_EQ(packets.size(), 8u);
  EXPECT_EQ(packets[3].path_id, 1);
  EXPECT_EQ(sender.control().sent[3].path, 1);
  WindowAck ack;
  ack.epsn = ack.sack_base = Psn{0};
  ack.psn = Psn{7};
  ack.timestamp = packets[7].timestamp;
  sender.on_receiving_ack(ack, at(us(108)));
  EXPECT_EQ(sender.lost_packets(), 0u);  // seven later: order counts nothing
  ASSERT_EQ(sender.control().left.size(), 1u);
  EXPECT_EQ(sender.control().left[0].psn, Psn{7});
  EXPECT_FALSE(sender.control().left[0].flag);
  PacketTestControl::two_is_lost = true;
  sender.on_receiving_ack(ack, at(us(108)));
  PacketTestControl::two_is_lost = false;
  EXPECT_TRUE(sender.is_lost(Psn{2}));
  EXPECT_EQ(sender.lost_packets(), 1u);
  EXPECT_TRUE(sender.control().left[1].flag);
  ASSERT_TRUE(sender.poll_transmit(at(us(109))));
  EXPECT_TRUE(sender.control().sent.back().flag);
}

// --- The receiver

Packet data(std::uint32_t psn, std::uint32_t packets = 200) {
  Packet p;
  p.psn = Psn{psn};
  p.payload = 1'000;
  p.offset = psn * 1'000;
  p.message_length = packets * 1'000;
  p.timestamp = {77 + psn};
  p.path_id = 5;
  return p;
}

// [WIN.ack.each] [WIN.ack.echo] Each packet has its acknowledgement, with what happened to it.
TEST(WindowReceiver, AcknowledgesEach) {
  const TestParams p = params();
  WindowReceiver r(p, Psn{0});
  EXPECT_FALSE(r.poll_ack({}));
  const Signals signals{.ecn = true, .hops = 4, .utilisation = 900};
  EXPECT_EQ(r.on_packet(data(0), signals, {}).kind, ArrivalKind::accepted);
  const auto a = r.poll_ack({});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->kind, AckKind::data);
  EXPECT_EQ(a->epsn, Psn{1});
  EXPECT_EQ(a->psn, Psn{0});
  EXPECT_EQ(a->timestamp.ns, 77u);
  EXPECT_EQ(a->path_id, 5);
  EXPECT_TRUE(a->ecn);
  EXPECT_EQ(a->hops, 4);
  EXPECT_EQ(a->utilisation, 900);
  EXPECT_FALSE(r.poll_ack({}));
  EXPECT_EQ(r.on_packet(data(0), {}, {}).kind, ArrivalKind::duplicate);
  EXPECT_TRUE(r.poll_ack({}));
}

// [WIN.ack.segment] The bitmap tells of the 64 packets around the one that came.
TEST(WindowReceiver, TellsOfTheSegment) {
  const TestParams p = params();
  WindowReceiver r(p, Psn{0});
  r.on_packet(data(2), {}, {});
  r.on_packet(data(65), {}, {});
  r.on_packet(data(66), {}, {});
  const auto a = r.poll_ack({});
  EXPECT_EQ(a->epsn, Psn{0});
  EXPECT_EQ(a->sack_base, Psn{64});
  EXPECT_EQ(a->bitmap, 0b110u);
  r.on_packet(data(3), {}, {});
  EXPECT_EQ(r.poll_ack({})->bitmap, 0b1100u);
}

// [WIN.track] Beyond the tracking window nothing is taken, and nothing said.
TEST(WindowReceiver, BeyondTheWindow) {
  TestParams p = params();
  p.tracking_window = 4;
  WindowReceiver r(p, Psn{0});
  EXPECT_EQ(r.on_packet(data(4), {}, {}).kind, ArrivalKind::beyond_window);
  EXPECT_FALSE(r.poll_ack({}));
}

// [WIN.nack] A packet without its payload is answered by a NACK where the transport asks for that; else it is a
// loss like any other.
TEST(WindowReceiver, Trimmed) {
  TestParams p = params();
  WindowReceiver silent(p, Psn{0});
  EXPECT_EQ(silent.on_packet(data(0), {.trimmed = true}, {}).kind, ArrivalKind::trimmed);
  EXPECT_FALSE(silent.poll_ack({}));
  TestParams asks = p;
  asks.nacks = true;
  WindowReceiver r(asks, Psn{0});
  EXPECT_EQ(r.on_packet(data(0), {.trimmed = true}, {}).kind, ArrivalKind::trimmed);
  const auto a = r.poll_ack({});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->kind, AckKind::nack);
  EXPECT_EQ(a->psn, Psn{0});
  EXPECT_EQ(a->epsn, Psn{0});
  r.on_packet(data(0), {}, {});
  r.poll_ack({});
  r.on_packet(data(0), {.trimmed = true}, {});  // it is here: no reason to send it again
  EXPECT_EQ(r.poll_ack({})->kind, AckKind::data);
}

// [WIN.probe.answer] A probe is answered with the first segment.
TEST(WindowReceiver, AnswersProbes) {
  const TestParams p = params();
  WindowReceiver r(p, Psn{0});
  r.on_packet(data(2), {}, {});
  Packet probe;
  probe.type = PacketType::probe;
  probe.probe_id = 9;
  EXPECT_EQ(r.on_packet(probe, {}, {}).kind, ArrivalKind::probe);
  const auto a = r.poll_ack({});
  EXPECT_EQ(a->kind, AckKind::probe);
  EXPECT_EQ(a->probe_id, 9);
  EXPECT_EQ(a->bitmap, 0b100u);
}

// A message is delivered by whichever of its packets comes last.
TEST(WindowReceiver, Delivers) {
  const TestParams p = params();
  WindowReceiver r(p, Psn{0});
  EXPECT_FALSE(r.on_packet(data(0, 3), {}, {}).delivered);
  EXPECT_FALSE(r.on_packet(data(2, 3), {}, {}).delivered);
  EXPECT_TRUE(r.on_packet(data(1, 3), {}, {}).delivered);
  EXPECT_FALSE(r.on_packet(data(1, 3), {}, {}).delivered);
}

// --- What they are made of

// [WIN.growth] A window's acknowledgements add up to the whole step, whatever division drops.
TEST(WindowGrowth, AddsUp) {
  WindowGrowth growth;
  Bytes grown{0};
  for (int i = 0; i < 7; ++i) grown += growth.take(bytes(1'000), bytes(1'000), bytes(7'000));
  EXPECT_EQ(grown, bytes(1'000));
  EXPECT_EQ(growth.take(bytes(1'000), bytes(1'000), bytes(7'000)), bytes(142));
}

// Defaults follow from the link; each wrong value is named.
TEST(WindowParams, Faults) {
  const TestParams p = params();
  EXPECT_EQ(p.bdp, kb(400));
  EXPECT_EQ(p.rto, us(200));
  EXPECT_EQ(p.probe_interval, us(24));
  EXPECT_EQ(p.trackable(), bytes(1'024'000));
  EXPECT_FALSE(p.fault());
  const auto fault = [&](auto&& change) {
    TestParams wrong = p;
    change(wrong);
    const auto found = wrong.fault();
    return std::string(found ? found->field : "");
  };
  EXPECT_EQ(fault([](auto& w) { w.mtu = bytes(63); }), "mtu");
  EXPECT_EQ(fault([](auto& w) { w.base_rtt = ns(9); }), "base_rtt");
  EXPECT_EQ(fault([](auto& w) { w.tracking_window = 1'025; }), "tracking_window");
  EXPECT_EQ(fault([](auto& w) { w.reorder_packets = 0; }), "reorder_packets");
  EXPECT_EQ(fault([](auto& w) { w.reorder_cwnd = {-1, 1}; }), "reorder_cwnd");
  EXPECT_EQ(fault([](auto& w) { w.probe_interval = ps(-1); }), "probe_interval");
  EXPECT_EQ(fault([](auto& w) { w.rto = ps(0); }), "rto");
  EXPECT_EQ(fault([](auto& w) { w.rto_backoff_max = 11; }), "rto_backoff_max");
  EXPECT_EQ(fault([](auto& w) { w.spray.paths = 3; }), "paths");
}

}  // namespace
}  // namespace strack::core
