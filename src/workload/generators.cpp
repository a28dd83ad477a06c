#include "workload/generators.h"

#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"

namespace strack::workload {
namespace {

__extension__ using Uint128 = unsigned __int128;

void check_racks(const Racks& racks) {
  STRACK_CHECK(racks.hosts >= 2);
  STRACK_CHECK(racks.hosts_per_rack >= 1);
  STRACK_CHECK_OP(racks.hosts % racks.hosts_per_rack, ==, 0);
}

}  // namespace

Flows permutation(const PermutationParams& params, std::uint64_t seed) {
  check_racks(params.racks);
  const std::uint32_t hosts = params.racks.hosts;
  // A host may not send into its own group: its rack, or itself alone.
  const std::uint32_t group = params.cross_rack ? params.racks.hosts_per_rack : 1;
  STRACK_CHECK(hosts >= 2 * group);

  Rng rng = Rng(seed).stream("permutation");
  std::vector<HostId> dst(hosts);
  std::iota(dst.begin(), dst.end(), 0);
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(dst[i], dst[rng.below(i + 1)]);

  // Whoever sends into its own group g swaps with a random host outside g that does not send into
  // g: neither then sends into its own. There always is one: outside are at least as many hosts as
  // in g, and fewer than that send into g from outside, because this one does so from inside.
  for (HostId src = 0; src < hosts; ++src) {
    const std::uint32_t own = src / group;
    while (dst[src] / group == own) {
      const auto other = static_cast<HostId>(rng.below(hosts));
      if (other / group != own && dst[other] / group != own) std::swap(dst[src], dst[other]);
    }
  }

  Flows flows;
  flows.reserve(hosts);
  for (HostId src = 0; src < hosts; ++src) flows.push_back({src, dst[src], params.size, Instant{}});
  return flows;
}

Flows incast(const IncastParams& params, std::uint64_t seed) {
  check_racks(params.racks);
  STRACK_CHECK(params.receiver < params.racks.hosts);
  std::vector<HostId> senders;
  senders.reserve(params.racks.hosts);
  for (HostId host = 0; host < params.racks.hosts; ++host) {
    if (params.racks.rack_of(host) != params.racks.rack_of(params.receiver))
      senders.push_back(host);
  }
  STRACK_CHECK_OP(params.fan_in, <=, senders.size());

  Rng rng = Rng(seed).stream("incast");
  Flows flows;
  flows.reserve(params.fan_in);
  for (std::size_t i = 0; i < params.fan_in; ++i) {
    std::swap(senders[i], senders[i + rng.below(senders.size() - i)]);
    flows.push_back({senders[i], params.receiver, params.size, Instant{}});
  }
  return flows;
}

std::uint64_t exponential_q40(std::uint64_t u) {
  STRACK_CHECK(u > 0);
  // u = mantissa x 2^(63 - zeros), with the mantissa in [1, 2) and 63 bits after the point.
  const auto zeros = static_cast<unsigned>(std::countl_zero(u));
  std::uint64_t mantissa = u << zeros;
  // Squaring doubles the logarithm, so each overflow past 2 is its next bit.
  std::uint64_t log2_q40 = 0;
  for (int bit = 39; bit >= 0; --bit) {
    const Uint128 square = static_cast<Uint128>(mantissa) * mantissa;  // in [1, 4), 126 bits
    if ((square >> 127) != 0) {
      log2_q40 |= std::uint64_t{1} << bit;
      mantissa = static_cast<std::uint64_t>(square >> 64);
    } else {
      mantissa = static_cast<std::uint64_t>(square >> 63);
    }
  }
  const std::uint64_t minus_log2_q40 = (std::uint64_t{zeros + 1} << 40) - log2_q40;
  constexpr std::uint64_t kLn2Q64 = 0xb172'17f7'd1cf'79ab;  // ln 2 x 2^64
  return static_cast<std::uint64_t>((static_cast<Uint128>(minus_log2_q40) * kLn2Q64) >> 64);
}

Int128 mean_gap_q20(const RandomParams& params) {
  STRACK_CHECK(params.load.num > 0);
  STRACK_CHECK(params.load.den > 0 && params.load.den <= kLargestLoadDenominator);
  STRACK_CHECK(params.host_rate > BitsPerSecond{0});
  // bits / (load x rate x hosts) seconds, in ps: the mean's own 2 x kCertain leaves a factor of 4 =
  // 8 / 2.
  return params.sizes.scaled_mean() * 4 * params.load.den * (1 << 20) /
         (static_cast<Int128>(params.load.num) * params.host_rate.count() * params.racks.hosts);
}

Flows random_traffic(const RandomParams& params, std::uint64_t seed) {
  check_racks(params.racks);
  STRACK_CHECK(params.flows > 0 || params.duration > ps(0));
  STRACK_CHECK(params.flows <= kMostFlows && params.duration <= kLongestArrivals);
  const std::uint32_t hosts = params.racks.hosts;
  const std::uint32_t group = params.cross_rack ? params.racks.hosts_per_rack : 1;
  STRACK_CHECK(hosts >= 2 * group);
  const Int128 gap_q20 = mean_gap_q20(params);
  // An exponential variate is at most 64 ln 2 < 45 times its mean, so no time below overflows.
  STRACK_CHECK(gap_q20 * static_cast<Int128>(params.flows) <=
               static_cast<Int128>(kLongestArrivals.count()) << 20);
  STRACK_CHECK(gap_q20 > 0 && gap_q20 <= static_cast<Int128>(kLongestArrivals.count()) << 20);

  Rng arrivals = Rng(seed).stream("random arrivals");
  Rng places = Rng(seed).stream("random places");
  Rng sizes = Rng(seed).stream("random sizes");
  Flows flows;
  flows.reserve(params.flows);
  Int128 time_q20 = 0;
  while (params.flows == 0 || flows.size() < params.flows) {
    time_q20 += gap_q20 * exponential_q40(arrivals.next() | 1) >> 40;
    const Picoseconds start{static_cast<std::int64_t>(time_q20 >> 20)};
    if (params.flows == 0 && start >= params.duration) break;
    STRACK_CHECK(flows.size() < kMostFlows);
    const auto src = static_cast<HostId>(places.below(hosts));
    // Uniform over the hosts outside src's group: count on from the group's end, around the circle.
    const std::uint32_t group_end = (src / group + 1) * group;
    const auto dst = static_cast<HostId>((group_end + places.below(hosts - group)) % hosts);
    flows.push_back({src, dst, params.sizes.draw(sizes), at(start)});
  }
  return flows;
}

void add_start_jitter(Flows& flows, Picoseconds jitter, std::uint64_t seed) {
  STRACK_CHECK(jitter >= ps(0));
  if (jitter == ps(0)) return;
  Rng rng = Rng(seed).stream("start jitter");
  for (Flow& flow : flows) flow.start = flow.start + ps(rng.between(0, jitter.count()));
}

}  // namespace strack::workload
