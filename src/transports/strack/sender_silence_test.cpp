// How a sender backs off while nobody answers [D42].
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "transports/strack/sender.h"

namespace strack::core {
namespace {

constexpr Instant kStart = at(seconds(1));

struct SenderSilenceTest : testing::Test {
  /// Eight packets of 1000 bytes are out.
  [[nodiscard]] Sender<> sending() {
    Sender<> sender(params, slots, Psn{0});
    EXPECT_EQ(sender.on_message({1, 8'000}, kStart), PostResult::accepted);
    send(sender, kStart);
    return sender;
  }
  /// The PSNs of everything that may go now.
  static std::vector<std::uint32_t> send(Sender<>& sender, Instant now) {
    std::vector<std::uint32_t> psns;
    while (const auto packet = sender.poll_transmit(now)) psns.push_back(packet->psn.value);
    return psns;
  }
  /// Of a receiver that has only the second packet.
  [[nodiscard]] static Sack second_arrived(Instant now) {
    Sack sack;
    sack.bitmap = 0b10;
    sack.ooo_count = 1;
    sack.bytes_recvd = 1'000;
    sack.psn = Psn{1};
    sack.timestamp = Timestamp::of(now - us(8));
    return sack;
  }

  StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(1'000)).value();
  std::array<MessageSlot, 4> slots{};
};

// [D42] Probes that nobody answers are sent at intervals that double, and any SACK sets them back.
TEST_F(SenderSilenceTest, ProbesBackOff) {
  params.probe_interval = us(10);
  params.probe_backoff_max = 3;
  params.rto = seconds(1);
  Sender<> sender = sending();
  Instant now = kStart;
  for (const std::int64_t wait : {10, 10, 20, 40, 80, 80}) {
    now = now + us(wait);
    EXPECT_EQ(sender.next_deadline(), now);
    sender.on_timeout(now);
    EXPECT_EQ(sender.poll_transmit(now).value().type, PacketType::probe);
  }
  sender.on_receiving_ack(second_arrived(now), now);
  EXPECT_EQ(sender.next_deadline(), now + us(10));
}

// [D42] The peer is known to be there again: no more waiting.
TEST_F(SenderSilenceTest, ThePeerIsHeardAgain) {
  params.probe_interval = us(10);
  params.probe_backoff_max = 10;
  params.rto = seconds(1);
  Sender<> sender = sending();
  sender.on_peer_heard(kStart);
  EXPECT_EQ(sender.next_deadline(), kStart + us(10));
  Instant now = kStart;
  for (int i = 0; i < 6; ++i) {
    now = sender.next_deadline();
    sender.on_timeout(now);
  }
  EXPECT_EQ(sender.next_deadline(), now + us(320));
  sender.on_peer_heard(now + us(5));
  EXPECT_EQ(sender.next_deadline(), now + us(15));
}

// [D42] After a timeout without any SACK little is sent at a time; the first SACK gives the window back.
TEST_F(SenderSilenceTest, LittleIsSent) {
  using Psns = std::vector<std::uint32_t>;
  params.probe_interval = seconds(1);
  params.silent_window = bytes(2'000);
  Sender<> sender = sending();
  Instant now = sender.next_deadline();
  sender.on_timeout(now);
  EXPECT_TRUE(sender.in_silence());
  EXPECT_EQ(send(sender, now), (Psns{0, 1}));
  now = sender.next_deadline();
  sender.on_timeout(now);
  EXPECT_EQ(send(sender, now), (Psns{0, 1}));
  sender.on_receiving_ack(second_arrived(now), now);
  EXPECT_FALSE(sender.in_silence());
  EXPECT_EQ(send(sender, now), (Psns{2, 3, 4, 5, 6, 7}));
  // Something has come since: this one is no silence.
  now = sender.next_deadline();
  sender.on_timeout(now);
  EXPECT_FALSE(sender.in_silence());
  EXPECT_EQ(send(sender, now), (Psns{0, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace strack::core
