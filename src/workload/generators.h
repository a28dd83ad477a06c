// Workloads made from a seed: permutation, incast, random traffic. Each draws from named streams of
// its own, so one seed gives the same flows on every machine and compiler, whatever else is random
// in a run.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "base/units.h"
#include "workload/sizes.h"
#include "workload/workload.h"

namespace strack::workload {

/// Where hosts are: host h is in rack h / hosts_per_rack.
struct Racks {
  std::uint32_t hosts = 0;
  std::uint32_t hosts_per_rack = 0;

  [[nodiscard]] std::uint32_t rack_of(HostId host) const { return host / hosts_per_rack; }
};

/// Every host sends to exactly one other and receives from exactly one; with cross_rack, of another
/// rack. All start at 0, in the order of their senders.
struct PermutationParams {
  Racks racks;
  Bytes size{0};
  bool cross_rack = false;
};
[[nodiscard]] Flows permutation(const PermutationParams& params, std::uint64_t seed);

/// fan_in distinct hosts, none of the receiver's rack, send to the receiver. All start at 0.
struct IncastParams {
  Racks racks;
  std::uint32_t fan_in = 0;
  HostId receiver = 0;
  Bytes size{0};
};
[[nodiscard]] Flows incast(const IncastParams& params, std::uint64_t seed);

/// Flows arrive as a Poisson process; source and destination are uniform. The load is what hosts
/// send on average, as payload, in parts of their rate. In order of start.
struct RandomParams {
  Racks racks;
  BitsPerSecond host_rate{0};
  Ratio load{0, 1};
  SizeDistribution sizes;
  bool cross_rack = false;
  std::uint64_t flows = 0;  ///< so many; 0: as many as arrive within `duration`
  Picoseconds duration{0};
};
/// Limits within which all of random_traffic's arithmetic is exact.
inline constexpr std::int64_t kLargestLoadDenominator = 1'000'000;
inline constexpr std::uint64_t kMostFlows = 100'000'000;
inline constexpr Picoseconds kLongestArrivals = seconds(3'600);

[[nodiscard]] Flows random_traffic(const RandomParams& params, std::uint64_t seed);

/// Mean time between two arrivals anywhere, in 2^-20 ps.
[[nodiscard]] Int128 mean_gap_q20(const RandomParams& params);

/// Delays every start by up to `jitter`, uniformly.
void add_start_jitter(Flows& flows, Picoseconds jitter, std::uint64_t seed);

/// -ln(u / 2^64) in 2^-40, rounded down, for u > 0: an exponential variate of mean 1 from a uniform
/// one. By integer squaring alone; std::log may differ in its last bit from one C library to the
/// next.
[[nodiscard]] std::uint64_t exponential_q40(std::uint64_t u);

}  // namespace strack::workload
