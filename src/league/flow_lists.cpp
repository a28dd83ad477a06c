// Cases whose flows no kind of workload has.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/prng.h"
#include "league/cases.h"

namespace strack::league {
namespace {

using workload::Flow;
using workload::Flows;
using workload::HostId;
using workload::Racks;

std::vector<HostId> shuffled_hosts(HostId first, HostId end, Rng rng) {
  std::vector<HostId> hosts(end - first);
  std::iota(hosts.begin(), hosts.end(), first);
  for (std::size_t i = hosts.size(); i > 1; --i) std::swap(hosts[i - 1], hosts[rng.below(i)]);
  return hosts;
}

}  // namespace

Flows incast_with_victims(const Racks& racks, std::uint64_t seed) {
  constexpr std::size_t kFanIn = 32;
  const std::vector<HostId> others =
      shuffled_hosts(racks.hosts_per_rack, racks.hosts, Rng(seed).stream("league/victims"));
  Flows flows;
  auto sender = others.begin();
  for (std::size_t i = 0; i < kFanIn; ++i) flows.push_back({*sender++, 0, mb(4), Instant{}});
  for (HostId victim = 1; victim < racks.hosts_per_rack; ++victim) {
    flows.push_back({*sender++, victim, kVictimSize, at(us(100))});
  }
  return flows;
}

Flows experts_alltoall(const Racks& racks, std::uint64_t seed) {
  constexpr double kSent = 4e6;  // by each rank
  const std::size_t group = std::min<std::size_t>(64, racks.hosts / 4);
  const std::vector<HostId> ranks =
      shuffled_hosts(0, racks.hosts, Rng(seed).stream("league/experts"));
  Flows flows;
  for (std::size_t first = 0; first + group <= ranks.size(); first += group) {
    // Ranks are in random order, so the first of a group may as well be its most popular expert.
    const auto weight = [](std::size_t expert) {
      return 1 / std::sqrt(static_cast<double>(expert + 1));
    };
    double all = 0;
    for (std::size_t expert = 0; expert < group; ++expert) all += weight(expert);
    for (std::size_t from = 0; from < group; ++from) {
      for (std::size_t to = 0; to < group; ++to) {
        if (from == to) continue;  // tokens of its own expert stay where they are
        const double share = weight(to) / (all - weight(from));
        flows.push_back({ranks[first + from], ranks[first + to],
                         bytes(static_cast<std::int64_t>(kSent * share)), Instant{}});
      }
    }
  }
  return flows;
}

}  // namespace strack::league
