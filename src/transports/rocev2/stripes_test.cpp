#include "transports/rocev2/stripes.h"

#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"

namespace strack::core {
namespace {

RoceParams params_with(std::uint32_t qps, std::uint32_t stripe) {
  RoceParams params = RoceParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  params.qps_per_conn = qps;
  params.stripe_packets = stripe;
  return params;
}

/// [D32] The rule as it is written, on a number that has not wrapped.
std::uint32_t dealt_to(std::uint64_t psn, std::uint32_t qps, std::uint32_t stripe) {
  return static_cast<std::uint32_t>(psn / stripe % qps);
}

// [R.roce.stripe] [D32] Two packets to each of four in turn.
TEST(Stripes, QpOf_DealsStripesInTurn) {
  const Stripes stripes(params_with(4, 2));
  std::vector<std::uint32_t> dealt;
  for (std::uint32_t n = 0; n < 10; ++n) dealt.push_back(stripes.qp_of(Psn{n}));
  EXPECT_EQ(dealt, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 0, 0}));
  EXPECT_EQ(stripes.qps(), 4u);
}

// [R.roce.stripe] With one QP all packets are its own, one after the other.
TEST(Stripes, OneQpHasThemAll) {
  const Stripes stripes(params_with(1, 32));
  EXPECT_EQ(stripes.qp_of(Psn{77}), 0u);
  EXPECT_EQ(stripes.next(Psn{31}), Psn{32});
  EXPECT_EQ(stripes.next(Psn{0xffff'ffff}), Psn{0});
  EXPECT_EQ(stripes.first_of(0, Psn{45}), Psn{45});
  EXPECT_EQ(stripes.count(Psn{0xffff'fff0}, Psn{0x10}), 32u);
}

// [R.roce.stripe] [D32] After a stripe's last packet comes the first of the next stripe on this QP.
TEST(Stripes, Next_SkipsTheOthersStripes) {
  const Stripes stripes(params_with(4, 2));
  EXPECT_EQ(stripes.next(Psn{0}), Psn{1});
  EXPECT_EQ(stripes.next(Psn{1}), Psn{8});
  EXPECT_EQ(stripes.next(Psn{7}), Psn{14});
  EXPECT_EQ(stripes.next(Psn{0xffff'ffff}), Psn{6});
}

// [R.roce.stripe] [D32] Itself, later in this round, or in the next round.
TEST(Stripes, FirstOf_IsTheNextPacketOfAnyQp) {
  const Stripes stripes(params_with(4, 2));
  EXPECT_EQ(stripes.first_of(1, Psn{3}), Psn{3});
  EXPECT_EQ(stripes.first_of(2, Psn{3}), Psn{4});
  EXPECT_EQ(stripes.first_of(0, Psn{3}), Psn{8});
  EXPECT_EQ(stripes.first_of(0, Psn{0xffff'ffff}), Psn{0});
  EXPECT_EQ(stripes.first_of(2, Psn{0xffff'ffff}), Psn{4});
}

// [R.roce.stripe] [D32] Only this QP's packets count.
TEST(Stripes, Count_SkipsTheOthersPackets) {
  const Stripes stripes(params_with(4, 2));
  EXPECT_EQ(stripes.count(Psn{0}, Psn{0}), 0u);
  EXPECT_EQ(stripes.count(Psn{0}, Psn{1}), 1u);
  EXPECT_EQ(stripes.count(Psn{1}, Psn{8}), 1u);
  EXPECT_EQ(stripes.count(Psn{0}, Psn{17}), 5u);
  EXPECT_EQ(stripes.count(Psn{0xffff'fff9}, Psn{9}), 4u);  // ...f9, 0, 1, 8
}

// [R.roce.outstanding] [D32] A whole window of 2^23 packets on one of 16 QPs, across the wrap.
TEST(Stripes, Count_OfAWholeWindow) {
  const Stripes stripes(params_with(16, 32));
  const Psn from{0xffff'fe00};
  EXPECT_EQ(stripes.count(from, from + (1u << 23) * 16), 1u << 23);
  EXPECT_EQ(stripes.count(from + 31u, from + (1u << 23) * 16), (1u << 23) - 31);
}

class StripesWalk
    : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> {};

// [R.roce.stripe] [D32] All of it against the rule as written and a walk of three rounds, packet by
// packet, before, across and after the wrap at 2^32.
TEST_P(StripesWalk, AgreesWithEveryPacketDealtByHand) {
  const auto [qps, stripe, start] = GetParam();
  const Stripes stripes(params_with(qps, stripe));
  const std::uint32_t length = 3 * qps * stripe + 5;
  const auto owner = [&, qps = qps, stripe = stripe, start = start](std::uint32_t n) {
    return dealt_to(std::uint64_t{start} + n, qps, stripe);
  };

  std::vector<std::vector<std::uint32_t>> packets_of(qps);
  for (std::uint32_t n = 0; n < length; ++n) {
    ASSERT_EQ(stripes.qp_of(Psn{start} + n), owner(n)) << n;
    packets_of[owner(n)].push_back(n);
  }
  for (std::uint32_t qp = 0; qp < qps; ++qp) {
    const std::vector<std::uint32_t>& own = packets_of[qp];
    for (std::uint32_t i = 0; i + 1 < own.size(); ++i) {
      ASSERT_EQ(stripes.next(Psn{start} + own[i]), Psn{start} + own[i + 1]);
    }
    for (std::uint32_t i = 0; i < own.size(); i += 1 + i / 7) {
      for (std::uint32_t j = i; j < own.size(); j += 1 + j / 5) {
        ASSERT_EQ(stripes.count(Psn{start} + own[i], Psn{start} + own[j]), j - i);
      }
    }
    std::uint32_t first = 0;
    for (std::uint32_t n = 0; n <= own.back(); ++n) {
      if (own[first] < n) ++first;
      ASSERT_EQ(stripes.first_of(qp, Psn{start} + n), Psn{start} + own[first]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, StripesWalk,
    testing::Combine(testing::Values(1u, 2u, 4u, 16u), testing::Values(1u, 2u, 32u, 64u),
                     testing::Values(0u, 77u, 0x7fff'fff3u, 0xffff'ff85u, 0xffff'fffeu)));

}  // namespace
}  // namespace strack::core
