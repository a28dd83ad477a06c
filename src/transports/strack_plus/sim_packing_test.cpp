#include "transports/strack_plus/sim_packing.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

using core::PlusAck;
using core::PlusEcho;
using core::Psn;

constexpr Address kLast{SimPacket::kMaxHosts - 1, SimPacket::kMaxSlots - 1};

void expect_same(const PlusAck& a, const PlusAck& b) {
  EXPECT_EQ(a.bitmap, b.bitmap);
  EXPECT_EQ(a.epsn, b.epsn);
  EXPECT_EQ(a.base, b.base);
  EXPECT_EQ(a.timestamp.ns, b.timestamp.ns);
  EXPECT_EQ(a.for_probe, b.for_probe);
  EXPECT_EQ(a.none_beyond, b.none_beyond);
  EXPECT_EQ(a.ecn, b.ecn);
  EXPECT_EQ(a.path_id, b.path_id);
  ASSERT_EQ(a.count, b.count);
  for (std::uint32_t i = 0; i < a.count; ++i) {
    EXPECT_EQ(a.echoes[i].psn, b.echoes[i].psn) << i;
    EXPECT_EQ(a.echoes[i].path_id, b.echoes[i].path_id) << i;
    EXPECT_EQ(a.echoes[i].ecn, b.echoes[i].ecn) << i;
  }
}

/// In answer to data, with every field at its largest.
PlusAck largest() {
  PlusAck a;
  a.bitmap = (std::uint64_t{1} << 56) - 1;
  a.epsn = Psn{0xffff'fff0};
  a.base = a.epsn + 9 * 56;
  a.timestamp = {0xffff'ffff};
  for (std::uint32_t i = 0; i < 4; ++i)
    a.echoes[i] = {a.epsn + (511 - i), static_cast<core::PathId>(255 - i), true};
  a.count = 4;
  a.path_id = 252;
  a.ecn = true;
  return a;
}

// A SACK comes out as it went in, across the wrap of PSNs.
TEST(PlusPacking, RoundTripOfLargestValues) {
  const SimPacket packed = pack_plus(largest(), kLast);
  expect_same(unpack_plus_ack(packed), largest());
  EXPECT_EQ(packed.dst(), kLast.host);
  EXPECT_EQ(packed.slot(), kLast.slot);
  EXPECT_TRUE(packed.is_control() && packed.is_backward());
}

// A probe's answer has its own entropy and mark beside the echoes'; PSNs below EPSN come out as the one before.
TEST(PlusPacking, ProbeAnswer) {
  PlusAck a;
  a.epsn = a.base = Psn{100};
  a.for_probe = true;
  a.path_id = 200;
  a.ecn = true;
  a.echoes[0] = {Psn{40}, 3, false};
  a.echoes[1] = {Psn{103}, 4, true};
  a.count = 2;
  PlusAck expected = a;
  expected.echoes[0].psn = Psn{99};
  expect_same(unpack_plus_ack(pack_plus(a, kLast)), expected);
  a.count = expected.count = 0;
  a.ecn = expected.ecn = false;
  a.none_beyond = expected.none_beyond = true;
  a.base = expected.base = a.epsn + 9 * 56;
  expect_same(unpack_plus_ack(pack_plus(a, kLast)), expected);
}

// [PLUS.sack.ask] The flag of a data packet says that it asks, and nothing of retransmission.
TEST(PlusPacking, DataAsks) {
  core::Packet p;
  p.payload = 1'000;
  p.message_length = 1'000;
  p.psn = Psn{7};
  p.retransmission = true;
  EXPECT_EQ(unpack_plus(pack_plus(p, kLast)).note, 0);
  p.note = core::kPlusAsks;
  const core::Packet back = unpack_plus(pack_plus(p, kLast));
  EXPECT_EQ(back.note, core::kPlusAsks);
  EXPECT_EQ(back.psn, Psn{7});
  EXPECT_FALSE(back.retransmission);
}

}  // namespace
}  // namespace strack::sim
