#include "transports/strack/sim_packing.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace strack::sim {
namespace {

using core::Psn;
using core::Sack;

constexpr Address kLast{SimPacket::kMaxHosts - 1, SimPacket::kMaxSlots - 1};
constexpr std::uint32_t kMax32 = std::numeric_limits<std::uint32_t>::max();

void expect_same(const Sack& a, const Sack& b) {
  EXPECT_EQ(a.bitmap, b.bitmap);
  EXPECT_EQ(a.epsn, b.epsn);
  EXPECT_EQ(a.sack_base, b.sack_base);
  EXPECT_EQ(a.bytes_recvd, b.bytes_recvd);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.timestamp.ns, b.timestamp.ns);
  EXPECT_EQ(a.hold_time_ns, b.hold_time_ns);
  EXPECT_EQ(a.path_id, b.path_id);
  EXPECT_EQ(a.ooo_count, b.ooo_count);
  EXPECT_EQ(a.probe_id, b.probe_id);
  EXPECT_EQ(a.for_probe, b.for_probe);
  EXPECT_EQ(a.ecn, b.ecn);
}

/// A SACK in answer to data, with every field at its largest.
Sack largest_sack() {
  Sack s;
  s.bitmap = ~std::uint64_t{0};
  s.epsn = Psn{kMax32 - 5};
  s.sack_base = s.epsn + 15 * 64;
  s.bytes_recvd = kMax32;
  s.psn = s.epsn + 1023;
  s.timestamp = {kMax32};
  s.path_id = 65'535;
  s.ooo_count = 1023;
  s.ecn = true;
  return s;
}

// A SACK comes out as it went in, across the wrap of PSNs, from the last segment, with 1023 out of
// order.
TEST(SackPacking, RoundTripOfLargestValues) {
  const SimPacket packed = pack(largest_sack(), kLast);
  expect_same(unpack_sack(packed), largest_sack());
  EXPECT_EQ(packed.dst(), kLast.host);
  EXPECT_EQ(packed.slot(), kLast.slot);
  EXPECT_TRUE(packed.is_control() && packed.is_backward());
  EXPECT_FALSE(packed.marked());
}

// A triggering PSN below EPSN tells the sender nothing: it comes out as the one just below.
TEST(SackPacking, PsnBelowEpsnBecomesTheOneJustBelow) {
  Sack s = largest_sack();
  s.epsn = s.sack_base = Psn{3};
  s.psn = Psn{kMax32 - 10};
  EXPECT_EQ(unpack_sack(pack(s, {1, 1})).psn, Psn{2});
}

// The usual SACK, for the packet just below EPSN, also where EPSN has just wrapped to 0.
TEST(SackPacking, PsnJustBelowAWrappedEpsn) {
  Sack s;
  s.epsn = s.sack_base = Psn{0};
  s.psn = Psn{kMax32};
  expect_same(unpack_sack(pack(s, {1, 1})), s);
}

// Each distance beyond EPSN that a tracking window allows is kept.
TEST(SackPacking, EveryPsnBeyondEpsn) {
  for (std::uint32_t ahead = 1; ahead < 1024; ++ahead) {
    Sack s = largest_sack();
    s.psn = s.epsn + ahead;
    ASSERT_EQ(unpack_sack(pack(s, {1, 1})).psn, s.psn);
  }
}

// Each of the sixteen segments is kept, beside the extremes of its neighbours in the word.
TEST(SackPacking, EverySegment) {
  for (std::uint32_t segment = 0; segment < 16; ++segment) {
    Sack s = largest_sack();
    s.sack_base = s.epsn + segment * 64;
    s.ooo_count = 0;
    s.psn = s.epsn - 1u;
    expect_same(unpack_sack(pack(s, {1, 1})), s);
  }
}

// A probe's SACK keeps the largest probe id. [R.probe.bit] Its PSN says nothing.
TEST(SackPacking, ForProbeKeepsItsId) {
  Sack s = largest_sack();
  s.for_probe = true;
  s.probe_id = 65'535;
  s.sack_base = s.epsn;
  s.psn = Psn{0};
  expect_same(unpack_sack(pack(s, kLast)), s);
}

// What a switch hashes does not depend on what a SACK says.
TEST(SackPacking, HeaderIgnoresWhatItSays) {
  Sack s = largest_sack();
  const std::uint64_t header = pack(s, {17, 4}).header();
  s.ecn = false;
  s.for_probe = true;
  s.sack_base = s.epsn;
  EXPECT_EQ(pack(s, {17, 4}).header(), header);
}

// Whatever the fields are together, none spills into another.
TEST(SackPacking, RoundTripOfRandomValues) {
  Rng rng(7);
  const auto u32 = [&] { return static_cast<std::uint32_t>(rng.next()); };
  for (int i = 0; i < 20'000; ++i) {
    Sack s;
    s.bitmap = rng.next();
    s.epsn = Psn{u32()};
    s.sack_base = s.epsn + 64 * static_cast<std::uint32_t>(rng.below(16));
    s.bytes_recvd = u32();
    s.psn = s.epsn + static_cast<std::uint32_t>(1 + rng.below(1023));
    s.timestamp = {u32()};
    s.path_id = static_cast<core::PathId>(rng.below(65'536));
    s.ooo_count = static_cast<std::uint16_t>(rng.below(1024));
    s.ecn = rng.below(2) == 1;
    expect_same(unpack_sack(pack(s, {1, 2})), s);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

// A base between two segments has no place in 32 bytes; only a forged probe asks for one.
TEST(SackPacking, ABaseBetweenSegmentsTellsNothing) {
  core::Sack sack;
  sack.epsn = core::Psn{100};
  sack.sack_base = core::Psn{103};
  sack.bitmap = 5;
  sack.ooo_count = 2;
  sack.for_probe = true;
  const core::Sack told = unpack_sack(pack(sack, {}));
  EXPECT_EQ(told.epsn, sack.epsn);
  EXPECT_EQ(told.sack_base, sack.epsn);
  EXPECT_EQ(told.bitmap, 0u);
}

}  // namespace
}  // namespace strack::sim
