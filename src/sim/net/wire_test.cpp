#include "sim/net/wire.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::sim {
namespace {

Instant t(std::int64_t picoseconds) { return at(ps(picoseconds)); }

// A byte takes 40, 20 and 10 ps at 200, 400 and 800 Gb/s.
TEST(ByteTime, WholePicosecondsPerByte) {
  EXPECT_EQ(ByteTime(gbps(200))(1), ps(40));
  EXPECT_EQ(ByteTime(gbps(400))(1), ps(20));
  EXPECT_EQ(ByteTime(gbps(800))(1), ps(10));
  EXPECT_EQ(ByteTime(gbps(400))(4'160), ps(83'200));
  EXPECT_EQ(ByteTime(gbps(400))(0), ps(0));
}

// At 300 Gb/s a byte takes 26 2/3 ps: a packet's time is rounded down once, not once per byte.
TEST(ByteTime, FractionOfAPicosecondPerByte) {
  const ByteTime time(gbps(300));
  EXPECT_EQ(time(1), ps(26));
  EXPECT_EQ(time(2), ps(53));
  EXPECT_EQ(time(3), ps(80));
  EXPECT_EQ(time(4'160), ps(110'933));
  EXPECT_EQ(time(64), ps(1'706));
}

// Every rate and size agrees with the unit types' own division.
TEST(ByteTime, AgreesWithTheUnitTypes) {
  for (const BitsPerSecond rate : {mbps(1), gbps(1), gbps(7), gbps(10), gbps(25), gbps(33),
                                   gbps(100), gbps(300), gbps(400), gbps(800), gbps(1'600)}) {
    const ByteTime time(rate);
    for (std::int64_t size = 1; size < 70'000; size += 61) {
      ASSERT_EQ(time(size), bytes(size) / rate) << rate.value << " " << size;
    }
  }
}

// The rate can be read back: an impairment is a fraction of it.
TEST(ByteTime, KeepsItsRate) { EXPECT_EQ(ByteTime(gbps(300)).rate(), gbps(300)); }

// A wire without outages cuts nothing.
TEST(Wire, IsCut_NeverWithoutOutages) { EXPECT_FALSE(Wire{}.is_cut(t(0), Instant::never())); }

// A packet is lost whose last bit arrives as the outage begins, not one that arrives just before.
TEST(Wire, IsCut_AtTheBeginning) {
  const std::vector<Outage> outages{{t(1'000), t(2'000)}};
  Wire wire;
  wire.outages = &outages;
  EXPECT_FALSE(wire.is_cut(t(500), t(999)));
  EXPECT_TRUE(wire.is_cut(t(500), t(1'000)));
}

// A packet is lost whose first bit leaves before the link is up again, not one that leaves just
// then.
TEST(Wire, IsCut_AtTheEnd) {
  const std::vector<Outage> outages{{t(1'000), t(2'000)}};
  Wire wire;
  wire.outages = &outages;
  EXPECT_TRUE(wire.is_cut(t(1'999), t(3'000)));
  EXPECT_FALSE(wire.is_cut(t(2'000), t(3'000)));
}

// An outage shorter than a packet's flight still cuts it; so does one that contains it whole.
TEST(Wire, IsCut_ShorterAndLongerThanAPacket) {
  const std::vector<Outage> outages{{t(1'000), t(1'001)}, {t(5'000), t(9'000)}};
  Wire wire;
  wire.outages = &outages;
  EXPECT_TRUE(wire.is_cut(t(0), t(3'000)));
  EXPECT_TRUE(wire.is_cut(t(6'000), t(7'000)));
  EXPECT_FALSE(wire.is_cut(t(1'001), t(4'999)));
  EXPECT_FALSE(wire.is_cut(t(9'000), t(99'000)));
}

// An outage that never ends cuts everything from its beginning on.
TEST(Wire, IsCut_ForEver) {
  const std::vector<Outage> outages{{t(0), Instant::never()}};
  Wire wire;
  wire.outages = &outages;
  EXPECT_TRUE(wire.is_cut(t(0), t(1)));
  EXPECT_TRUE(wire.is_cut(at(seconds(1'000'000)), at(seconds(1'000'001))));
}

std::int64_t losses(Wire& wire, std::int64_t draws, std::int64_t size) {
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < draws; ++i) lost += wire.is_corrupted(size, t(0)) ? 1 : 0;
  return lost;
}

// A healthy wire loses nothing and draws nothing.
TEST(Wire, IsCorrupted_NeverOnAHealthyWire) {
  Wire wire;
  wire.rng = 42;
  EXPECT_EQ(losses(wire, 10'000, 4'160), 0);
  EXPECT_EQ(wire.rng, 42u);
}

// One packet in 16 is lost: of 160'000 within four standard deviations (97) of 10'000.
TEST(Wire, IsCorrupted_RandomLossFrequency) {
  Wire wire;
  wire.rng = 1;
  wire.loss_threshold = std::uint64_t{1} << 60;
  EXPECT_NEAR(static_cast<double>(losses(wire, 160'000, 4'160)), 10'000.0, 4 * 97.0);
}

// Random loss does not look at the size of a packet.
TEST(Wire, IsCorrupted_RandomLossIgnoresSize) {
  Wire wire;
  wire.rng = 1;
  wire.loss_threshold = std::uint64_t{1} << 60;
  Wire same = wire;
  EXPECT_EQ(losses(wire, 10'000, 64), losses(same, 10'000, 4'160));
}

// Losses come singly: the chance of one right after another is the same as at any time.
TEST(Wire, IsCorrupted_RandomLossHasNoMemory) {
  Wire wire;
  wire.rng = 5;
  wire.loss_threshold = std::uint64_t{1} << 62;  // one in four
  std::int64_t pairs = 0;
  bool before = false;
  for (int i = 0; i < 160'000; ++i) {
    const bool lost = wire.is_corrupted(64, t(0));
    pairs += lost && before ? 1 : 0;
    before = lost;
  }
  EXPECT_NEAR(static_cast<double>(pairs), 10'000.0, 500.0);
}

// With 2^-20 lost per byte, a 4096-byte packet is lost one time in 256, and a 64-byte one 64 times
// less often.
TEST(Wire, IsCorrupted_BitErrorsGrowWithSize) {
  Wire wire;
  wire.rng = 9;
  wire.bit_loss_threshold = std::uint64_t{1} << 44;
  EXPECT_NEAR(static_cast<double>(losses(wire, 256'000, 4'096)), 1'000.0, 4 * 31.6);
  EXPECT_NEAR(static_cast<double>(losses(wire, 1'638'400, 64)), 100.0, 4 * 10.0);
}

// So many errors that every packet has one: lost for certain, not wrapped around to almost never.
TEST(Wire, IsCorrupted_MoreThanOneErrorPerPacket) {
  Wire wire;
  wire.rng = 9;
  wire.bit_loss_threshold = std::uint64_t{1} << 60;
  EXPECT_EQ(losses(wire, 1'000, 4'096), 1'000);
}

// Both kinds together: 1/16 + 15/16 x 1/16 of the packets.
TEST(Wire, IsCorrupted_LossAndBitErrorsAdd) {
  Wire wire;
  wire.rng = 11;
  wire.loss_threshold = std::uint64_t{1} << 60;
  wire.bit_loss_threshold = std::uint64_t{1} << 48;  // x 4096 = 2^60
  EXPECT_NEAR(static_cast<double>(losses(wire, 256'000, 4'096)), 31'000.0, 4 * 165.0);
}

// Two megabytes in a queue at a rate where a byte is not a whole number of picoseconds: exact, no overflow.
TEST(ByteTime, LargeQueuesAtOddRates) {
  EXPECT_EQ(ByteTime(gbps(120))(2'000'000), ps(133'333'333));
}

// The digest tells what happened and when, in whatever order nodes got there.
TEST(Fingerprint, DependsOnWhatAndWhenNotOnOrder) {
  const auto digest = [](std::uint64_t a, std::int64_t when_a, std::uint64_t b,
                         std::int64_t when_b) {
    Fingerprint f;
    f.add(a, t(when_a));
    f.add(b, t(when_b));
    return f.value();
  };
  EXPECT_EQ(digest(1, 10, 2, 20), digest(1, 10, 2, 20));
  EXPECT_NE(digest(1, 10, 2, 20), digest(1, 10, 3, 20));
  EXPECT_NE(digest(1, 10, 2, 20), digest(1, 10, 2, 21));
  EXPECT_EQ(digest(1, 10, 2, 20), digest(2, 20, 1, 10));
  EXPECT_NE(digest(1, 10, 2, 20), digest(2, 10, 1, 20));
}

// Mail written in window k is there in window k + 1, for that node, and in no other window.
TEST(MailFlags, ForOneNodeInTheNextWindow) {
  MailFlags mail(3);
  for (std::uint64_t window = 1; window < 4; ++window) EXPECT_FALSE(mail.has_mail(window, 1));
  mail.set(5, 1);
  EXPECT_FALSE(mail.has_mail(5, 1));
  EXPECT_TRUE(mail.has_mail(6, 1));
  EXPECT_FALSE(mail.has_mail(6, 0));
  EXPECT_FALSE(mail.has_mail(6, 2));
  EXPECT_FALSE(mail.has_mail(7, 1));
  EXPECT_FALSE(mail.has_mail(8, 1));
}

// Sending puts the packet into the lane, gives the peer mail and remembers the earliest arrival.
TEST(WindowContext, Send_FillsLaneAndMail) {
  Lane lane;
  MailFlags mail(9);
  Wire wire;
  wire.lane = &lane;
  wire.peer = 8;
  WindowContext context;
  context.window = 4;
  context.mail = &mail;
  SimPacket packet;
  packet.w1 = 77;

  context.send(wire, packet, t(500));
  context.send(wire, packet, t(600)).mark();

  EXPECT_TRUE(mail.has_mail(5, 8));
  EXPECT_EQ(context.next_event, t(500));
  ASSERT_EQ(lane.arrivals(5).size(), 2u);
  EXPECT_EQ(lane.arrivals(5)[0].time, t(500));
  EXPECT_EQ(lane.arrivals(5)[0].packet.w1, 77u);
  EXPECT_FALSE(lane.arrivals(5)[0].packet.marked());
  EXPECT_TRUE(lane.arrivals(5)[1].packet.marked());
}

}  // namespace
}  // namespace strack::sim
