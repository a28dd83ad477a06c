#include "workload/generators.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/testing.h"
#include "base/units.h"

namespace strack::workload {
namespace {

/// One number for a whole workload, so that any change of any bit shows.
std::uint64_t fingerprint(const Flows& flows) {
  std::uint64_t hash = 0;
  for (const Flow& flow : flows) {
    for (const std::uint64_t word : {std::uint64_t{flow.src}, std::uint64_t{flow.dst},
                                     static_cast<std::uint64_t>(flow.size.count()),
                                     static_cast<std::uint64_t>(flow.start.ps)}) {
      hash = mix64(hash ^ word);
    }
  }
  return hash;
}

class PermutationOf : public testing::TestWithParam<Racks> {};
INSTANTIATE_TEST_SUITE_P(Sizes, PermutationOf,
                         testing::Values(Racks{2, 1}, Racks{3, 1}, Racks{4, 2}, Racks{6, 3},
                                         Racks{128, 16}, Racks{128, 64}, Racks{8192, 64}));

TEST_P(PermutationOf, EverybodySendsOnceAndReceivesOnce) {
  for (const bool cross_rack : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Flows flows = permutation({GetParam(), mb(2), cross_rack}, seed);
      ASSERT_EQ(flows.size(), GetParam().hosts);
      std::set<HostId> receivers;
      for (HostId host = 0; host < GetParam().hosts; ++host) {
        const Flow& flow = flows[host];
        ASSERT_EQ(flow.src, host);
        ASSERT_NE(flow.dst, host);
        if (cross_rack) {
          ASSERT_NE(GetParam().rack_of(flow.src), GetParam().rack_of(flow.dst));
        }
        ASSERT_EQ(flow.size, mb(2));
        ASSERT_EQ(flow.start, Instant{});
        ASSERT_TRUE(receivers.insert(flow.dst).second);
      }
    }
  }
}

TEST(Permutation, EverybodyIsAsLikelyAReceiver) {
  std::vector<int> chosen(16);
  for (std::uint64_t seed = 0; seed < 15'000; ++seed)
    ++chosen[permutation({{16, 4}, mb(1), false}, seed)[3].dst];
  EXPECT_EQ(chosen[3], 0);
  double chi_square = 0;
  for (std::size_t host = 0; host < chosen.size(); ++host) {
    if (host != 3) chi_square += (chosen[host] - 1'000.0) * (chosen[host] - 1'000.0) / 1'000.0;
  }
  EXPECT_LT(chi_square, 36.1);  // 14 degrees of freedom, one in a thousand
}

TEST(Permutation, IsTheSameEverywhere) {
  EXPECT_EQ(fingerprint(permutation({{8'192, 64}, mb(16), false}, 1)), 12'620'216'611'395'083'274u);
  EXPECT_EQ(fingerprint(permutation({{8'192, 64}, mb(16), true}, 1)), 12'004'963'250'713'926'562u);
}

TEST(Incast, SendersAreDistinctAndElsewhere) {
  for (const std::uint32_t fan_in : {1u, 8u, 32u, 112u}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Flows flows = incast({{128, 16}, fan_in, 20, mb(16)}, seed);
      ASSERT_EQ(flows.size(), fan_in);
      std::set<HostId> senders;
      for (const Flow& flow : flows) {
        ASSERT_EQ(flow.dst, 20u);
        ASSERT_NE(flow.src / 16, 1u);
        ASSERT_LT(flow.src, 128u);
        ASSERT_TRUE(senders.insert(flow.src).second);
      }
    }
  }
}

TEST(Incast, IsTheSameEverywhere) {
  EXPECT_EQ(fingerprint(incast({{8'192, 64}, 32, 0, mb(16)}, 1)), 9'142'700'857'550'005'949u);
}

// Against std::log, which is good to 2^-50 or so; ours drops at most a few units in 2^-40.
TEST(Exponential, IsMinusTheLogarithm) {
  Rng rng(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t u = rng.next() >> (i % 64);
    if (u == 0) continue;
    const double expected = 64 * std::log(2.0) - std::log(static_cast<double>(u));
    ASSERT_NEAR(static_cast<double>(exponential_q40(u)) * 0x1p-40, expected, 1e-11) << u;
  }
  EXPECT_EQ(exponential_q40(std::uint64_t{1} << 63), 762'123'384'785u);  // ln 2
  EXPECT_EQ(exponential_q40(1), 48'775'896'626'291u);                    // 64 ln 2
  EXPECT_LE(exponential_q40(~std::uint64_t{0}), 1u);
}

RandomParams half_load() {
  return {.racks = {64, 8},
          .host_rate = gbps(400),
          .load = {1, 2},
          .sizes = SizeDistribution::uniform(kb(1), kb(199)),
          .cross_rack = false,
          .flows = 50'000,
          .duration = ps(0)};
}

// 100 KB at 200 Gb/s is 4 us, shared by 64 hosts.
TEST(RandomTraffic, MeanGapFollowsFromTheLoad) {
  EXPECT_EQ(mean_gap_q20(half_load()) >> 20, us(4).count() / 64);
}

TEST(RandomTraffic, OffersTheLoad) {
  const RandomParams params = half_load();
  const Flows flows = random_traffic(params, 1);
  ASSERT_EQ(flows.size(), 50'000u);
  std::int64_t sent = 0;
  Instant before{};
  for (const Flow& flow : flows) {
    ASSERT_LE(before, flow.start);
    ASSERT_NE(flow.src, flow.dst);
    ASSERT_LT(flow.src, 64u);
    ASSERT_LT(flow.dst, 64u);
    before = flow.start;
    sent += flow.size.count();
  }
  const auto capacity = static_cast<double>((gbps(400) * (before - Instant{})).count() * 64);
  EXPECT_NEAR(static_cast<double>(sent) / capacity, 0.5, 0.01);
}

// In a Poisson process the gaps' standard deviation equals their mean.
TEST(RandomTraffic, GapsAreExponential) {
  const Flows flows = random_traffic(half_load(), 2);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 1; i < flows.size(); ++i) {
    const auto gap = static_cast<double>((flows[i].start - flows[i - 1].start).count());
    sum += gap;
    squares += gap * gap;
  }
  const auto n = static_cast<double>(flows.size() - 1);
  const double mean = sum / n;
  EXPECT_NEAR(mean, 62'500, 900);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean) / mean, 1.0, 0.02);
}

TEST(RandomTraffic, EveryPairIsAsLikely) {
  RandomParams params = half_load();
  params.racks = {8, 2};
  params.flows = 56'000;
  std::vector<int> pairs(64);
  for (const Flow& flow : random_traffic(params, 3)) ++pairs[flow.src * 8 + flow.dst];
  for (std::uint32_t pair = 0; pair < 64; ++pair) {
    if (pair / 8 == pair % 8) {
      EXPECT_EQ(pairs[pair], 0);
    } else {
      EXPECT_NEAR(pairs[pair], 1'000, 130);  // four standard deviations
    }
  }
}

TEST(RandomTraffic, CrossRackLeavesTheRack) {
  RandomParams params = half_load();
  params.cross_rack = true;
  std::set<HostId> from_nine;
  for (const Flow& flow : random_traffic(params, 4)) {
    ASSERT_NE(flow.src / 8, flow.dst / 8);
    if (flow.src == 9) from_nine.insert(flow.dst);
  }
  EXPECT_EQ(from_nine.size(), 56u);
}

TEST(RandomTraffic, EndsWithItsDuration) {
  RandomParams params = half_load();
  params.flows = 0;
  params.duration = ms(1);
  const Flows flows = random_traffic(params, 5);
  EXPECT_NEAR(static_cast<double>(flows.size()), 16'000, 500);
  EXPECT_LT(flows.back().start, at(ms(1)));
}

TEST(RandomTraffic, IsTheSameEverywhere) {
  EXPECT_EQ(fingerprint(random_traffic(half_load(), 1)), 5'587'564'958'389'228'629u);
}

TEST(StartJitter, DelaysByUpToThatMuch) {
  Flows flows(10'000, Flow{0, 1, mb(1), at(us(5))});
  add_start_jitter(flows, us(10), 1);
  Picoseconds sum{0};
  for (const Flow& flow : flows) {
    ASSERT_GE(flow.start, at(us(5)));
    ASSERT_LE(flow.start, at(us(15)));
    sum += flow.start - at(us(5));
  }
  EXPECT_NEAR(static_cast<double>(sum.count()) / 1e10, 5.0, 0.15);
}

TEST(StartJitter, NoneChangesNothing) {
  Flows flows{{0, 1, mb(1), at(us(5))}};
  add_start_jitter(flows, ps(0), 1);
  EXPECT_EQ(flows[0].start, at(us(5)));
}

}  // namespace
}  // namespace strack::workload
