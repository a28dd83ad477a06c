#include "transports/strack/path_choice.h"

#include <array>
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "transports/strack/sender.h"

namespace strack::core {
namespace {

constexpr Instant kStart = at(seconds(1));

StrackParams eight_paths() {
  StrackParams params = StrackParams::for_link(gbps(100), us(8), bytes(1'000)).value();
  params.max_paths = 8;
  params.ooo_cwnd = {0, 1};
  params.ooo_min = 2;
  return params;
}

/// Keeps the last RTT that counted.
struct RttSink {
  Picoseconds* rtt;
  template <class Event>
  constexpr void on(const Event& /*event*/) const {}
  void on(const SackReceived& event) const { *rtt = event.rtt; }
};

struct PathChoiceTest : testing::Test {
  using GuardedSender = Sender<RttSink, GuardedPaths>;

  [[nodiscard]] GuardedSender make() {
    return {params, slots, Psn{0}, RttSink{&rtt}, GuardedPaths(&health)};
  }
  /// So many packets of 1000 bytes.
  static void post(GuardedSender& sender, std::uint32_t count) {
    ASSERT_EQ(sender.on_message({1, 1'000 * count}, kStart), PostResult::accepted);
  }
  [[nodiscard]] static Sack sack(Psn epsn, std::uint64_t bits, const Packet& trigger, Instant now,
                                 Picoseconds took) {
    Sack sack;
    sack.epsn = sack.sack_base = epsn;
    sack.bitmap = bits;
    sack.ooo_count = static_cast<std::uint16_t>(std::popcount(bits));
    sack.bytes_recvd = 1'000 * (epsn.value + sack.ooo_count);
    sack.psn = trigger.psn;
    sack.path_id = trigger.path_id;
    sack.timestamp = Timestamp::of(now - took);
    return sack;
  }

  StrackParams params = eight_paths();
  std::array<MessageSlot, 4> slots{};
  std::array<PathRecord, 8> paths{};
  std::array<SentRecord, kMaxTrackingWindow> packets{};
  PathHealth health{paths, packets};
  Picoseconds rtt{0};
};

// Without memory it is Algorithm 2, choice by choice.
TEST_F(PathChoiceTest, Guarded_WithoutMemoryIsAlgorithm2) {
  PathSelector plain;
  GuardedPaths guarded;
  NoEvents none;
  Rng rng(7);
  EXPECT_FALSE(guarded.remembers());
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const Departure packet{static_cast<Purpose>(rng.below(4)), 1'000, Psn{i},
                           static_cast<std::uint32_t>(rng.between(1, 8)), kStart};
    ASSERT_EQ(guarded.next(params, packet, none), plain.next(params, packet, none));
    const auto path = static_cast<PathId>(rng.below(8));
    const auto news = static_cast<PathNews>(rng.below(4));
    plain.feedback(params, path, news);
    guarded.feedback(params, path, news);
  }
}

// A trimmed packet met a full queue; of a lost one the paper's bitmap learns nothing.
TEST_F(PathChoiceTest, Selector_Feedback) {
  PathSelector selector;
  selector.feedback(params, 1, PathNews::marked);
  selector.feedback(params, 2, PathNews::trimmed);
  selector.feedback(params, 3, PathNews::timed_out);
  EXPECT_TRUE(selector.is_marked(1));
  EXPECT_TRUE(selector.is_marked(2));
  EXPECT_FALSE(selector.is_marked(3));
  selector.feedback(params, 1, PathNews::clean);
  EXPECT_FALSE(selector.is_marked(1));
}

// [D39] The core itself bars the path of what it declares lost.
TEST_F(PathChoiceTest, Sender_AvoidsThePathOfWhatWasLost) {
  GuardedSender sender = make();
  post(sender, 20);
  std::array<Packet, 4> sent;
  for (Packet& packet : sent) packet = sender.poll_transmit(kStart).value();
  const Instant now = kStart + us(8);
  sender.on_receiving_ack(sack(Psn{0}, 0b1110, sent[3], now, us(8)), now);
  EXPECT_EQ(health.barred(), 1u);
  const Packet again = sender.poll_transmit(now).value();
  EXPECT_TRUE(again.retransmission);
  while (const auto packet = sender.poll_transmit(now)) {
    EXPECT_NE(packet->path_id, sent[0].path_id);
  }
  EXPECT_NE(again.path_id, sent[0].path_id);
}

// [D41] A whole timeout without a SACK: each further transmission takes the next path.
TEST_F(PathChoiceTest, Sender_InSilenceEachTransmissionTakesTheNextPath) {
  params.probe_interval = seconds(1);
  GuardedSender sender = make();
  post(sender, 1);
  PathId path = sender.poll_transmit(kStart).value().path_id;
  for (int i = 0; i < 8; ++i) {
    const Instant now = sender.next_deadline();
    sender.on_timeout(now);
    const Packet again = sender.poll_transmit(now).value();
    EXPECT_EQ(again.path_id, (path + 1) % 8);
    path = again.path_id;
  }
  EXPECT_EQ(health.barred(), 0u);
}

// With oblivious spray there is none of this.
TEST_F(PathChoiceTest, Sender_ObliviousBarsNothing) {
  params.path_policy = PathPolicy::oblivious;
  GuardedSender sender = make();
  post(sender, 20);
  Packet last;
  for (int i = 0; i < 4; ++i) last = sender.poll_transmit(kStart).value();
  const Instant now = kStart + us(8);
  sender.on_receiving_ack(sack(Psn{0}, 0b1110, last, now, us(8)), now);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(health.barred(), 0u);
}

// [D119] A packet that was sent again and is lost again is noticed by what was sent well after it and has come, in the same episode;
// what is as young as that is not blamed.
TEST_F(PathChoiceTest, Sender_WhatIsOverdueIsLostInAnEpisodeToo) {
  params.reorder_time = us(20);
  params.ooo_cwnd = {1, 1};
  GuardedSender sender = make();
  post(sender, 60);
  const auto first = sender.poll_transmit(kStart).value();
  const auto second = sender.poll_transmit(kStart).value();
  sender.on_receiving_ack(sack(Psn{0}, 0b10, second, kStart + us(8), us(8)), kStart + us(8));
  EXPECT_FALSE(sender.in_recovery()) << "order says nothing yet, nor does time";

  const Instant later = kStart + us(21);
  const auto third = sender.poll_transmit(later).value();
  sender.on_receiving_ack(sack(Psn{0}, 0b110, third, later + us(8), us(8)), later + us(8));
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(health.barred(), 1u);
  const auto again = sender.poll_transmit(later + us(8)).value();
  EXPECT_TRUE(again.retransmission);
  EXPECT_EQ(again.psn, first.psn);

  // It is lost, too.
  const Instant soon = later + us(8 + 20);
  const auto fourth = sender.poll_transmit(soon).value();
  sender.on_receiving_ack(sack(Psn{0}, 0b1110, fourth, soon + us(8), us(8)), soon + us(8));
  EXPECT_FALSE(sender.poll_transmit(soon + us(8)).value().retransmission) << "not more than that";
  const Instant then = later + us(8 + 21);
  const auto fifth = sender.poll_transmit(then).value();
  Sack last = sack(Psn{0}, 0b101110, fifth, then + us(8), us(8));
  sender.on_receiving_ack(last, then + us(8));
  EXPECT_EQ(sender.counters().loss_episodes, 2u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
  EXPECT_EQ(health.barred(), 2u) << "and nothing that was sent since";
  const auto third_time = sender.poll_transmit(then + us(8)).value();
  EXPECT_EQ(third_time.psn, first.psn);
  EXPECT_NE(third_time.path_id, again.path_id);
}

// [D120] A probe goes by several paths at a time, as one question.
TEST_F(PathChoiceTest, Sender_ASecondProbeGoesSeveralWays) {
  params.probe_copies = 4;
  GuardedSender sender = make();
  post(sender, 1);
  (void)sender.poll_transmit(kStart).value();
  const Instant now = kStart + params.probe_interval;
  sender.on_timeout(now);
  EXPECT_EQ(sender.poll_transmit(now).value().probe_id, 1);
  EXPECT_FALSE(sender.poll_transmit(now)) << "it may just be early";
  for (std::uint16_t question = 2; question <= 3; ++question) {
    sender.on_timeout(kStart + question * params.probe_interval);
    std::set<PathId> taken;
    while (const auto probe = sender.poll_transmit(now)) {
      ASSERT_EQ(probe->type, PacketType::probe);
      EXPECT_EQ(probe->probe_id, question);
      taken.insert(probe->path_id);
    }
    EXPECT_GE(taken.size(), 3u) << "the first goes as data would, the others by turns";
  }
  // The first answer is enough.
  sender.on_timeout(kStart + 4 * params.probe_interval);
  Packet probe = sender.poll_transmit(now).value();
  Sack answer = sack(Psn{0}, 0, probe, now + us(8), us(8));
  answer.for_probe = true;
  answer.probe_id = probe.probe_id;
  sender.on_receiving_ack(answer, now + us(8));
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(sender.poll_transmit(now + us(8)).value().type, PacketType::data);
}

// Several packets that a host sends as one take the first one's path.
TEST_F(PathChoiceTest, Sender_ABurstTakesOnePath) {
  GuardedSender sender = make();
  post(sender, 20);
  const PathId path = sender.poll_transmit(kStart).value().path_id;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sender.poll_transmit(kStart, path).value().path_id, path);
  EXPECT_NE(sender.poll_transmit(kStart).value().path_id, path);
}

// [D38] A shorter RTT than the hosts' own noise is none, and a small packet's counts as a full one's.
TEST_F(PathChoiceTest, Sender_LevelsRtts) {
  params.least_rtt = us(200);
  params.full_packet_time = us(100);
  GuardedSender sender = make();
  ASSERT_EQ(sender.on_message({1, 1'500}, kStart), PostResult::accepted);
  const Packet full = sender.poll_transmit(kStart).value();
  const Packet half = sender.poll_transmit(kStart).value();
  const Instant now = kStart + us(300);
  sender.on_receiving_ack(sack(Psn{1}, 0, full, now, us(50)), now);
  EXPECT_EQ(rtt, us(200));
  Sack last = sack(Psn{2}, 0, half, now, us(250));
  last.bytes_recvd = 1'500;
  sender.on_receiving_ack(last, now);
  EXPECT_EQ(rtt, us(300));
}

// [D40] Until the first mark, a late packet counts as marked.
TEST_F(PathChoiceTest, Sender_DelayIsAMarkUntilTheFirstMark) {
  for (const bool on : {false, true}) {
    params.delay_marks = on;
    GuardedSender sender = make();
    post(sender, 10);
    std::array<Packet, 3> sent;
    for (Packet& packet : sent) packet = sender.poll_transmit(kStart).value();
    const Instant now = kStart + ms(1);
    const Picoseconds late = params.net_base_rtt + params.target_qhigh + us(1);
    sender.on_receiving_ack(sack(Psn{1}, 0, sent[0], now, late), now);
    EXPECT_EQ(sender.paths().is_marked(sent[0].path_id), on);
    Sack marked = sack(Psn{2}, 0, sent[1], now, us(8));
    marked.ecn = true;
    sender.on_receiving_ack(marked, now);
    EXPECT_TRUE(sender.paths().is_marked(sent[1].path_id));
    sender.on_receiving_ack(sack(Psn{3}, 0, sent[2], now, late), now);
    EXPECT_FALSE(sender.paths().is_marked(sent[2].path_id));
  }
}

}  // namespace
}  // namespace strack::core
