#include "transports/uet/sim_packing.h"

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

constexpr Address kTo{77, 5};

// [D70] A timestamp keeps 22 bits of 8 ns; [D68] a target 10.
TEST(UetPacking, Data) {
  core::Packet p;
  p.psn = core::Psn{0xfedc'ba98};
  p.payload = 4'096;
  p.path_id = 0xabcd;
  p.message_id = 0x1234'5678;
  p.offset = 0x9000'0000;
  p.message_length = 0xffff'0000;
  p.timestamp = {0x0102'030f};
  p.note = core::UetNote::kAckBit | 1'023;
  p.retransmission = true;
  const SimPacket s = pack_uet(p, kTo);
  EXPECT_EQ(s.payload(), 4'096u);
  const core::Packet q = unpack_uet(s);
  EXPECT_EQ(q.psn, p.psn);
  EXPECT_EQ(q.payload, p.payload);
  EXPECT_EQ(q.path_id, p.path_id);
  EXPECT_EQ(q.message_id, p.message_id);
  EXPECT_EQ(q.offset, p.offset);
  EXPECT_EQ(q.message_length, p.message_length);
  EXPECT_EQ(q.timestamp.ns, 0x0102'0308u);
  EXPECT_EQ(q.note, p.note);
  p.note = 7;
  EXPECT_EQ(unpack_uet(pack_uet(p, kTo)).note, 7);
}

TEST(UetPacking, Probe) {
  core::Packet p;
  p.type = core::PacketType::probe;
  p.probe_id = 1'023;
  p.psn = core::Psn{9};
  p.note = core::UetNote::kAckBit | 5;
  const core::Packet q = unpack_uet(pack_uet(p, kTo));
  EXPECT_EQ(q.type, core::PacketType::probe);
  EXPECT_EQ(q.probe_id, 1'023);
  EXPECT_EQ(q.note, p.note);
}

TEST(UetPacking, Ack) {
  core::UetAck a;
  a.sack.epsn = core::Psn{0xffff'fff0};
  a.sack.psn = core::Psn{0xffff'fff0} + 1'023u;
  a.sack.sack_base = core::Psn{0xffff'fff0} + 1'000u;
  a.sack.bitmap = 0x8000'0000'0000'0001;
  a.sack.bytes_recvd = 0xdead'beef;
  a.sack.ooo_count = 1'023;
  a.sack.timestamp = {0xffff'ffff};
  a.sack.path_id = 0xffff;
  a.sack.ecn = true;
  const core::UetAck b = unpack_uet_ack(pack_uet(a, kTo));
  EXPECT_EQ(b.kind, core::UetAck::Kind::ack);
  EXPECT_EQ(b.sack.epsn, a.sack.epsn);
  EXPECT_EQ(b.sack.psn, a.sack.psn);
  EXPECT_EQ(b.sack.sack_base, a.sack.sack_base);
  EXPECT_EQ(b.sack.bitmap, a.sack.bitmap);
  EXPECT_EQ(b.sack.bytes_recvd, a.sack.bytes_recvd);
  EXPECT_EQ(b.sack.ooo_count, a.sack.ooo_count);
  EXPECT_EQ(b.sack.timestamp, a.sack.timestamp);
  EXPECT_EQ(b.sack.path_id, a.sack.path_id);
  EXPECT_TRUE(b.sack.ecn);
  EXPECT_FALSE(b.sack.for_probe);
  a.sack.psn = a.sack.epsn - 9u;  // tells nothing
  EXPECT_EQ(unpack_uet_ack(pack_uet(a, kTo)).sack.psn, a.sack.epsn - 1u);
  a.sack.for_probe = true;
  a.sack.probe_id = 1'000;
  EXPECT_EQ(unpack_uet_ack(pack_uet(a, kTo)).sack.probe_id, 1'000);
}

TEST(UetPacking, NackAndPull) {
  core::UetAck a;
  a.kind = core::UetAck::Kind::nack;
  a.sack.psn = core::Psn{0x8000'0001};
  a.sack.epsn = core::Psn{0x7fff'ffff};
  a.sack.path_id = 300;
  a.last_hop = true;
  const core::UetAck b = unpack_uet_ack(pack_uet(a, kTo));
  EXPECT_EQ(b.kind, core::UetAck::Kind::nack);
  EXPECT_EQ(b.sack.psn, a.sack.psn);
  EXPECT_EQ(b.sack.epsn, a.sack.epsn);
  EXPECT_EQ(b.sack.path_id, 300);
  EXPECT_TRUE(b.last_hop);
  a.kind = core::UetAck::Kind::pull;
  a.pulled = 0xffff'fffe;
  const core::UetAck c = unpack_uet_ack(pack_uet(a, kTo));
  EXPECT_EQ(c.kind, core::UetAck::Kind::pull);
  EXPECT_EQ(c.pulled, 0xffff'fffeu);
}

// [D70] A timestamp's higher bits are left out, and disturb nothing.
TEST(UetPacking, LateTimestamp) {
  core::Packet p;
  p.timestamp = {0xffff'ffff};
  p.note = 1;
  const core::Packet q = unpack_uet(pack_uet(p, kTo));
  EXPECT_EQ(q.timestamp.ns, 0x01ff'fff8u);
  EXPECT_EQ(q.note, 1);
}

}  // namespace
}  // namespace strack::sim
