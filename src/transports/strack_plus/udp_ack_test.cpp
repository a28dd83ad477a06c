#include "transports/strack_plus/udp_ack.h"

#include <vector>

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

using core::PlusAck;
using core::Psn;

void expect_same(const PlusAck& a, const PlusAck& b) {
  EXPECT_EQ(a.epsn, b.epsn);
  EXPECT_EQ(a.base, b.base);
  EXPECT_EQ(a.bitmap, b.bitmap);
  EXPECT_EQ(a.timestamp, b.timestamp);
  EXPECT_EQ(a.path_id, b.path_id);
  EXPECT_EQ(a.for_probe, b.for_probe);
  EXPECT_EQ(a.none_beyond, b.none_beyond);
  EXPECT_EQ(a.ecn, b.ecn);
  ASSERT_EQ(a.count, b.count);
  for (std::uint32_t i = 0; i < a.count; ++i) {
    EXPECT_EQ(a.echoes[i].psn, b.echoes[i].psn) << i;
    EXPECT_EQ(a.echoes[i].path_id, b.echoes[i].path_id) << i;
    EXPECT_EQ(a.echoes[i].ecn, b.echoes[i].ecn) << i;
  }
}

PlusAck four_packets() {
  PlusAck ack;
  ack.epsn = Psn{0xfffffff0};
  ack.base = ack.epsn + 56;
  ack.bitmap = 0x80'0000'0000'0001;
  ack.timestamp = {77};
  ack.count = 4;
  ack.echoes = {{{ack.epsn + 511u, 255, true},
                 {ack.epsn - 1u, 0, false},
                 {ack.epsn + 1u, 128, false},
                 {ack.epsn + 56u, 9, true}}};
  ack.path_id = 9;
  ack.ecn = true;
  return ack;
}

// [D98] In fields that STrack uses for counts.
TEST(PlusOverTheWire, FourPacketsAndTheirMarks) {
  const PlusAck ack = four_packets();
  const core::Sack sack = to_wire(ack, Psn{1});
  EXPECT_EQ(sack.psn, ack.epsn + 56u);  // the engine knows by it how long it was held
  EXPECT_EQ(sack.path_id, 9);
  EXPECT_TRUE(sack.ecn);
  EXPECT_EQ(sack.probe_id, 0);  // which the format wants of all that answer no probe
  expect_same(from_wire(sack), ack);
}

TEST(PlusOverTheWire, APacketAlone) {
  PlusAck ack = four_packets();
  ack.echoes[0] = ack.echoes[3];
  ack.count = 1;
  ack.bitmap = 0;
  const core::Sack sack = to_wire(ack, Psn{1});
  EXPECT_EQ(sack.bytes_recvd, 0u);
  EXPECT_EQ(sack.ooo_count, 0u);
  EXPECT_EQ(sack.bitmap, 0u);
  expect_same(from_wire(sack), ack);
}

TEST(PlusOverTheWire, AProbeAndWhatWasOwed) {
  for (const bool none_beyond : {false, true}) {
    PlusAck ack = four_packets();
    ack.count = 3;
    ack.for_probe = true;
    ack.none_beyond = none_beyond;
    ack.base = ack.epsn;
    const core::Sack sack = to_wire(ack, Psn{5});
    EXPECT_EQ(sack.psn, Psn{5});
    expect_same(from_wire(sack), ack);
    ack.count = 0;
    expect_same(from_wire(to_wire(ack, Psn{5})), ack);
  }
}

// Below EPSN one is as good as another; four that a probe is told of are three.
TEST(PlusOverTheWire, WhatIsNotTold) {
  PlusAck ack = four_packets();
  ack.echoes[1].psn = ack.epsn - 300u;
  EXPECT_EQ(from_wire(to_wire(ack, Psn{0})).echoes[1].psn, ack.epsn - 1u);
  ack.for_probe = true;
  EXPECT_EQ(from_wire(to_wire(ack, Psn{0})).count, 3);
}

// The numbers of tests/wire/vectors/transport_2.txt, which are packed there from docs/protocol.md alone.
TEST(PlusOverTheWire, VectorsOfTheFormat) {
  struct Case {
    std::vector<core::PlusEcho> others;
    bool probe;
    std::uint64_t bitmap;  ///< as it travels, without the 56 bits of its own
    std::uint32_t bytes_recvd;
    std::uint16_t ooo_count;
  };
  const Psn epsn{1000};
  const core::PlusEcho below{epsn - 1u, 255, true};
  const core::PlusEcho far{epsn + 511u, 255, true};
  for (const Case& one : {
           Case{{}, false, 0, 0, 0},
           Case{{{epsn + 3u, 4, true}}, false, 0, 0x0008'200d, 0},
           Case{{{epsn + 3u, 4, false}, below}, false, 0, 0xe000'200e, 0x003f},
           Case{{far, {epsn - 1u, 0, false}, {epsn + 1u, 128, false}},
                false,
                0x40,
                0x000f'ffff,
                0x0040},
           Case{{far, far, far}, false, 0xff, 0xffff'ffff, 0xffff},
           Case{{{epsn + 60u, 2, false}}, true, 0, 0x0000'10f1, 0},
       }) {
    PlusAck ack;
    ack.epsn = epsn;
    ack.base = epsn;
    ack.bitmap = 6;
    ack.for_probe = one.probe;
    for (const core::PlusEcho& echo : one.others) ack.echoes[ack.count++] = echo;
    if (!one.probe) ack.echoes[ack.count++] = {epsn + 2u, 9, false};
    ack.path_id = 9;
    const core::Sack sack = to_wire(ack, Psn{5});
    EXPECT_EQ(sack.bitmap, one.bitmap << PlusAck::kBits | 6);
    EXPECT_EQ(sack.bytes_recvd, one.bytes_recvd);
    EXPECT_EQ(sack.ooo_count, one.ooo_count);
    expect_same(from_wire(sack), ack);
  }
}

// Whatever a peer sends, it is read to something that the sender can judge.
TEST(PlusOverTheWire, AnyBitsAreRead) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto bits = [&](std::uint64_t n) {
      return (seed * 0x9e3779b97f4a7c15 + n) * 0xbf58476d1ce4e5b9;
    };
    core::Sack sack;
    sack.bitmap = bits(1);
    sack.bytes_recvd = static_cast<std::uint32_t>(bits(2));
    sack.ooo_count = static_cast<std::uint16_t>(bits(3));
    sack.for_probe = (seed & 1) != 0;
    const PlusAck ack = from_wire(sack);
    EXPECT_LE(ack.count, core::PlusParams::kEchoes);
    EXPECT_EQ(ack.bitmap >> PlusAck::kBits, 0u);
    for (std::uint32_t i = 0; i < ack.count; ++i) EXPECT_LT(ack.echoes[i].path_id, 256);
  }
}

}  // namespace
}  // namespace strack::udp
