// What MRC's sender does beyond NSCC's: entropies assumed bad are replaced and probed.
#include "transports/uet/sender.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "core/message_queue.h"
#include "transports/mrc/params.h"

namespace strack::core {
namespace {

constexpr std::uint32_t kMtu = 4'000;
constexpr Instant kStart = Instant{} + ms(1);

class MrcSenderTest : public ::testing::Test {
 protected:
  MrcSenderTest() { EXPECT_EQ(sender.on_message({1, 16 * kMtu}, now), PostResult::accepted); }
  std::vector<Packet> send() {
    std::vector<Packet> sent;
    while (const auto packet = sender.poll_transmit(now)) sent.push_back(*packet);
    return sent;
  }
  [[nodiscard]] UetAck ack(std::uint32_t epsn, PathId path) const {
    UetAck a;
    a.sack.epsn = a.sack.sack_base = Psn{epsn};
    a.sack.psn = Psn{epsn} - 1u;
    a.sack.path_id = path;
    a.sack.bytes_recvd = epsn * kMtu;
    a.sack.timestamp = Timestamp::of(now - us(12));
    return a;
  }
  /// Nothing is heard, whatever is asked.
  void time_out() {
    const std::uint32_t before = sender.counters().timeouts;
    while (sender.counters().timeouts == before) {
      send();
      now = sender.next_deadline();
      sender.on_timeout(now);
    }
  }

  static MrcParams few_entropies() {
    MrcParams p =
        MrcParams::of(UetParams::for_link(gbps(100), us(12), bytes(kMtu), true, kb(150)).value());
    p.sleek_cwnd = {1, 8};  // of 56 packets
    p.entropies.active = 8;
    p.entropies.backups = 2;
    p.entropies.min_active = 2;
    return p.validated().value();
  }

  const MrcParams params = few_entropies();
  std::array<MessageSlot, 4> slots{};
  std::array<UetSent, UetParams::kMostTracked> records{};
  Instant now = kStart;
  UetSender<NoEvents, MrcParams> sender{params, slots, records, Psn{0}};
};

// [MRC.cc] [MRC.probe] [D78] The window is NSCC's; a base RTT between probes.
TEST_F(MrcSenderTest, Parameters) {
  EXPECT_EQ(sender.window().cwnd(), kb(225));
  EXPECT_EQ(params.entropies.probe_every, us(12));
  EXPECT_EQ(params.entropies.paths, 10u);
  EXPECT_EQ(params.spray.paths, 256u);
  EXPECT_EQ(MrcPathParams{}.active, 128u);
  EXPECT_EQ(MrcPathParams{}.backups, 64u);
  EXPECT_EQ(MrcPathParams{}.min_active, 16u);
}

// [MRC.bad] [MRC.backup] [MRC.probe] The last packet is lost: its entropy is replaced, and probed while the packet sent again is under way.
TEST_F(MrcSenderTest, ProbesWhatIsAssumedBad) {
  const auto sent = send();
  ASSERT_EQ(sent.size(), 16u);
  sender.on_receiving_ack(ack(15, sent[14].path_id), now);
  time_out();
  const auto again = send();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].psn, Psn{15});
  EXPECT_NE(again[0].path_id, sent[15].path_id);
  const Instant lost_at = now;
  EXPECT_EQ(sender.next_deadline(), lost_at + us(12));
  now = lost_at + us(12);
  sender.on_timeout(now);
  const auto probe = send();
  ASSERT_EQ(probe.size(), 1u);
  EXPECT_EQ(probe[0].type, PacketType::probe);
  EXPECT_EQ(probe[0].path_id, sent[15].path_id);
  // [MRC.probe.clean] It comes back: nothing is left to probe.
  UetAck answer = ack(15, sent[15].path_id);
  answer.sack.for_probe = true;
  answer.sack.probe_id = probe[0].probe_id;
  sender.on_receiving_ack(answer, now);
  EXPECT_GT(sender.next_deadline(), now + us(12));
}

// [MRC.tail] [MRC.bad] The last three packets are lost, and nothing is there to overtake them but a probe: when its answer comes, all three
// are sent again, by other entropies, and theirs are assumed bad.
TEST_F(MrcSenderTest, ATailThatAProbeFinds) {
  const auto sent = send();
  now = now + us(12);
  sender.on_receiving_ack(ack(13, sent[12].path_id), now);
  now = sender.next_deadline();
  sender.on_timeout(now);
  const auto probe = send();
  ASSERT_EQ(probe.size(), 1u);
  ASSERT_EQ(probe[0].type, PacketType::probe);
  now = now + us(12);
  UetAck answer = ack(13, probe[0].path_id);
  answer.sack.psn = Psn{13};
  answer.sack.for_probe = true;
  answer.sack.probe_id = probe[0].probe_id;
  sender.on_receiving_ack(answer, now);
  EXPECT_EQ(sender.counters().timeouts, 0u);
  const auto again = send();
  ASSERT_EQ(again.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].psn, Psn{13 + i});
    for (std::uint32_t lost = 13; lost < 16; ++lost)
      EXPECT_NE(again[i].path_id, sent[lost].path_id);
  }
  EXPECT_EQ(sender.next_deadline(), now + us(12));  // to probe the first of them
}

// [MRC.tail] In an episode of SLEEK, nothing comes back for a timeout: what was sent again that long ago speaks of its entropy.
TEST_F(MrcSenderTest, ATailThatATimeoutFinds) {
  const auto sent = send();
  now = now + us(12);
  UetAck later = ack(4, sent[11].path_id);
  later.sack.bitmap = 0b1111'1110;
  later.sack.ooo_count = 7;
  later.sack.psn = Psn{11};
  later.sack.bytes_recvd = 11 * kMtu;
  sender.on_receiving_ack(later, now);
  ASSERT_TRUE(sender.in_recovery());
  const auto again = send();  // 4, and 12 to 15
  ASSERT_EQ(again.size(), 5u);
  time_out();
  const auto third = send();
  ASSERT_GE(third.size(), 5u);
  EXPECT_EQ(third[0].psn, Psn{4});
  // Five entropies have lost a packet now, and one before: the first of the others takes over.
  for (const Packet& packet : again) EXPECT_NE(third[0].path_id, packet.path_id);
  EXPECT_NE(third[0].path_id, sent[4].path_id);
}

// [MRC.loss] [MRC.bad] Switches trim, and yet a packet that seven others have overtaken is lost without a trace: it is
// sent again at once, and its entropy is assumed bad.
TEST_F(MrcSenderTest, LostWithoutATrace) {
  EXPECT_TRUE(params.trimming);
  const auto sent = send();
  UetAck later = ack(4, sent[10].path_id);
  later.sack.bitmap = 0b111'1110;
  later.sack.ooo_count = 6;
  later.sack.psn = Psn{10};
  later.sack.bytes_recvd = 10 * kMtu;
  sender.on_receiving_ack(later, now);
  EXPECT_TRUE(send().empty());
  later.sack.bitmap = 0b1111'1110;
  later.sack.ooo_count = 7;
  later.sack.psn = Psn{11};
  later.sack.bytes_recvd = 11 * kMtu;
  sender.on_receiving_ack(later, now);
  const auto again = send();
  ASSERT_GE(again.size(), 1u);
  EXPECT_EQ(again[0].psn, Psn{4});
  for (const Packet& packet : again) EXPECT_NE(packet.path_id, sent[4].path_id);
  EXPECT_EQ(sender.next_deadline(), now + us(12));  // to probe it
}

// [MRC.probe] An idle connection probes nothing.
TEST_F(MrcSenderTest, IdleIsQuiet) {
  const auto sent = send();
  sender.on_receiving_ack(ack(15, sent[14].path_id), now);
  time_out();
  const auto again = send();
  sender.on_receiving_ack(ack(16, again.at(0).path_id), now);
  EXPECT_EQ(sender.next_deadline(), Instant::never());
  now = now + ms(1);
  EXPECT_TRUE(send().empty());
}

// [MRC.mark] The entropy of a marked packet is left out of the next round.
TEST_F(MrcSenderTest, Marks) {
  const auto sent = send();
  UetAck marked = ack(16, sent[15].path_id);
  marked.sack.ecn = true;
  sender.on_receiving_ack(marked, now);
  ASSERT_EQ(sender.on_message({2, 7 * kMtu}, now), PostResult::accepted);
  for (const Packet& packet : send()) EXPECT_NE(packet.path_id, sent[15].path_id);
}

}  // namespace
}  // namespace strack::core
