// By which window a sender measures reordering [D61].
#include <array>
#include <bit>
#include <cstdint>

#include <gtest/gtest.h>

#include "transports/strack/sender.h"

namespace strack::core {
namespace {

constexpr Instant kStart = at(us(100));

/// Twenty packets of 1000 bytes are out under a window of 60. A SACK tells of a queue of 108 us, which cuts
/// the window to 6, the bytes it acknowledges.
struct SenderReorderingTest : testing::Test {
  void send_and_cut() {
    EXPECT_EQ(sender.on_message({1, 20'000}, kStart), PostResult::accepted);
    while (sender.poll_transmit(kStart)) {
    }
    Sack congested = seven_held(kStart + us(116), us(116), 0b111'1110);
    congested.ooo_count = 7;
    congested.ecn = true;
    sender.on_receiving_ack(congested, kStart + us(116));
    EXPECT_EQ(sender.window().cwnd_packets(), 6u);
  }
  [[nodiscard]] static Sack seven_held(Instant now, Picoseconds rtt, std::uint64_t bits) {
    Sack sack;
    sack.bitmap = bits;
    sack.ooo_count = 7;
    sack.bytes_recvd = 1'000 * static_cast<std::uint32_t>(std::popcount(bits));
    sack.psn = Psn{1};
    sack.timestamp = Timestamp::of(now - rtt);
    return sack;
  }
  /// A SACK that changes nothing but what has arrived.
  [[nodiscard]] bool lost_at(Instant now) {
    sender.on_receiving_ack(seven_held(now, us(16), 0b1111'1110), now);
    return sender.in_recovery();
  }

  static StrackParams with_60_packets() {
    StrackParams p = StrackParams::for_link(gbps(8), us(8), bytes(1'000)).value();
    p.max_cwnd = bytes(60'000);
    p.alpha = bytes(0);
    p.eta = bytes(0);
    return p;
  }
  StrackParams params = with_60_packets();
  std::array<MessageSlot, 4> slots{};
  Sender<> sender{params, slots, Psn{0}};
};

// [R.ooo.threshold] [D61] The window that was cut counts for one more RTT, in which packets sent under
// it arrive; then the seventh held packet declares loss.
TEST_F(SenderReorderingTest, TheLargestWindowOfTheLastRttCounts) {
  send_and_cut();
  EXPECT_FALSE(sender.in_recovery());
  EXPECT_FALSE(lost_at(kStart + us(116 + 116) - ps(1)));
  EXPECT_TRUE(lost_at(kStart + us(116 + 116)));
}

// [D61] With `current` it does at once.
TEST_F(SenderReorderingTest, OrTheCurrentOne) {
  params.ooo_window = OooWindow::current;
  send_and_cut();
  EXPECT_TRUE(sender.in_recovery());
}

}  // namespace
}  // namespace strack::core
