#include "udp/path_mtu.h"

#include <vector>

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

/// Probes a path that takes `takes` until it rests; returns what was probed.
std::vector<std::uint32_t> search(PathMtu& mtu, std::uint32_t takes, Instant& now) {
  std::vector<std::uint32_t> probes;
  while (mtu.deadline() != Instant::never() && mtu.deadline() < now + seconds(10)) {
    now = std::max(now, mtu.deadline());
    const std::uint32_t size = mtu.probe(us(100), now);
    if (size == 0) continue;
    probes.push_back(size);
    if (size <= takes) mtu.answered(size, now + us(100));
  }
  return probes;
}

// [D43] One probe suffices where the path takes all.
TEST(PathMtuTest, WidePathTakesOneProbe) {
  PathMtu mtu;
  Instant now = at(seconds(1));
  mtu.start(8'260, now);
  EXPECT_EQ(mtu.size(), 1'200u);
  EXPECT_EQ(search(mtu, 9'000, now), (std::vector<std::uint32_t>{8'260}));
  EXPECT_EQ(mtu.size(), 8'260u);
  EXPECT_EQ(mtu.deadline(), Instant::never());
}

// [D43] Whatever it takes, what is found is close to it, never beyond, and few probes are sent.
TEST(PathMtuTest, NarrowPathIsFoundWithFewProbes) {
  for (const std::uint32_t takes : {1'200u, 1'240u, 1'452u, 1'472u, 3'000u, 8'952u, 60'000u}) {
    PathMtu mtu;
    Instant now = at(seconds(1));
    mtu.start(65'068, now);
    const auto probes = search(mtu, takes, now);
    EXPECT_LE(mtu.size(), takes);
    EXPECT_GT(mtu.size() + PathMtu::kGap, takes);
    EXPECT_LE(probes.size(), 45u) << takes;
  }
  PathMtu mtu;
  Instant now = at(seconds(1));
  mtu.start(8'260, now);
  EXPECT_EQ(search(mtu, 1'472, now),
            (std::vector<std::uint32_t>{8'260, 8'260, 8'260, 1'452, 4'856, 4'856, 4'856,
                                        3'154, 3'154, 3'154, 2'303, 2'303, 2'303, 1'877,
                                        1'877, 1'877, 1'664, 1'664, 1'664, 1'558, 1'558,
                                        1'558, 1'505, 1'505, 1'505, 1'478, 1'478, 1'478}));
  EXPECT_EQ(mtu.size(), 1'452u);
}

// [D43] After a minute it is tried again, and a path that has grown is used.
TEST(PathMtuTest, AWiderPathIsFoundAfterAMinute) {
  PathMtu mtu;
  Instant now = at(seconds(1));
  mtu.start(8'260, now);
  search(mtu, 1'472, now);
  EXPECT_EQ(mtu.deadline(), now + PathMtu::kRaiseAfter);
  now = mtu.deadline();
  EXPECT_EQ(search(mtu, 9'000, now), (std::vector<std::uint32_t>{8'260}));
  EXPECT_EQ(mtu.size(), 8'260u);
}

// [D43] Only when the small one of two probes is answered and the full one is not, twice in a row.
TEST(PathMtuTest, LoweredOnlyWhenSmallOnesPass) {
  PathMtu mtu;
  const Instant now = at(seconds(1));
  mtu.start(8'260, now);
  EXPECT_FALSE(mtu.doubt(true, now)) << "nothing to lower";
  mtu.answered(8'260, now);
  EXPECT_TRUE(mtu.doubt(true, now));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(mtu.doubt(false, now)) << "nobody there";
  for (int i = 0; i < 10; ++i) {
    mtu.small_answered();
    mtu.full_answered();
    EXPECT_TRUE(mtu.doubt(false, now)) << "both";
  }
  mtu.small_answered();
  EXPECT_TRUE(mtu.doubt(false, now));
  mtu.full_answered();
  EXPECT_TRUE(mtu.doubt(false, now));
  EXPECT_EQ(mtu.size(), 8'260u);
  mtu.small_answered();
  EXPECT_TRUE(mtu.doubt(false, now));
  mtu.small_answered();
  EXPECT_FALSE(mtu.doubt(false, now));
  EXPECT_EQ(mtu.size(), 1'200u);
  EXPECT_EQ(mtu.deadline(), now);
}

// [D43] This host's own device is believed, and asked again later as any path.
TEST(PathMtuTest, OwnDeviceIsBelieved) {
  PathMtu mtu;
  Instant now = at(seconds(1));
  mtu.start(8'260, now);
  mtu.answered(8'260, now);
  mtu.limit(1'472, now);
  EXPECT_EQ(mtu.size(), 1'472u);
  EXPECT_TRUE(search(mtu, 1'472, now).empty());
  now = mtu.deadline();
  EXPECT_EQ(mtu.probe(us(1), now), 8'260u);
}

// [D43] Pieces are whole blocks, and together all of the packet.
TEST(PathMtuTest, PiecesCoverThePacketOnce) {
  for (const std::uint32_t mtu : {512u, 1'000u, 8'192u, 65'000u}) {
    for (const std::uint32_t whole : {1u, mtu / 3, mtu - 1, mtu}) {
      const std::uint32_t piece = piece_bytes(mtu, 1'132);
      EXPECT_LE(piece, std::max(1'132u, block_bytes(mtu)));
      std::uint64_t seen = 0;
      for (std::uint32_t place = 0; place < whole; place += piece) {
        const std::uint64_t bits = blocks_of(mtu, whole, place, std::min(piece, whole - place));
        EXPECT_NE(bits, 0u);
        EXPECT_EQ(seen & bits, 0u);
        seen |= bits;
      }
      EXPECT_EQ(seen, blocks_of(mtu, whole, 0, whole));
    }
  }
  EXPECT_EQ(blocks_of(8'192, 8'192, 1, 128), 0u);
  EXPECT_EQ(blocks_of(8'192, 8'192, 0, 127), 0u);
  EXPECT_EQ(blocks_of(8'192, 8'192, 8'192, 0), 0u);
  EXPECT_EQ(blocks_of(8'192, 8'000, 7'936, 128), 0u);
  EXPECT_EQ(blocks_of(8'192, 8'000, 7'936, 64), std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace strack::udp
