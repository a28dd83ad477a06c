#include "workload/jobs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/enum_words.h"
#include "base/prng.h"

namespace strack::workload {

std::string_view name_of(Placement placement) {
  constexpr auto kNames = words_of<Placement>({{Placement::random, "random"},
                                               {Placement::packed, "packed"},
                                               {Placement::striped, "striped"},
                                               {Placement::blocks, "blocks"},
                                               {Placement::listed, "hosts"}});
  return kNames[static_cast<std::size_t>(placement)];
}

namespace {

constexpr HostId kLastHost = (1u << 20) - 1;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > kLastHost)
    return std::nullopt;
  return value;
}

/// "0-7,16": the hosts 0 to 7 and 16.
Result<std::vector<HostId>, std::string> parse_hosts(std::string_view text) {
  std::vector<HostId> hosts;
  std::set<HostId> seen;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == part.npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return fmt::format("\"{}\" is no host, nor hosts such as 0-7", part);
    }
    for (HostId host = *first; host <= *last; ++host) {
      if (!seen.insert(host).second) return fmt::format("host {} is named twice", host);
      hosts.push_back(host);
    }
    if (part.size() == text.size()) return hosts;
    text.remove_prefix(part.size() + 1);
  }
}

void shuffle(std::vector<HostId>& items, std::uint64_t seed) {
  Rng rng = Rng(seed).stream("placement");
  for (auto i = static_cast<std::uint32_t>(items.size()) - 1; i > 0; --i)
    std::swap(items[i], items[rng.below(i + 1)]);
}

}  // namespace

Result<Placing, std::string> parse_placing(std::string_view text) {
  for (const Placement plain : {Placement::random, Placement::packed, Placement::striped}) {
    if (text == name_of(plain)) return Placing(plain);
  }
  constexpr std::string_view kBlocks = "blocks:";
  constexpr std::string_view kHosts = "hosts:";
  if (text.starts_with(kBlocks)) {
    Placing placing(Placement::blocks);
    const auto block = number(text.substr(kBlocks.size()));
    if (!block || *block == 0) return std::string("a block has at least one host");
    placing.block = *block;
    return placing;
  }
  if (text.starts_with(kHosts)) {
    auto hosts = parse_hosts(text.substr(kHosts.size()));
    if (!hosts) return hosts.error();
    Placing placing(Placement::listed);
    placing.hosts = std::move(hosts.value());
    return placing;
  }
  return std::string(
      "a placement is \"random\", \"packed\", \"striped\", \"blocks:8\" or \"hosts:0-7,16\"");
}

std::vector<HostId> place(const Racks& racks, const Placing& placing, std::uint32_t count,
                          std::uint64_t seed) {
  STRACK_CHECK(racks.hosts_per_rack >= 1);
  STRACK_CHECK_OP(racks.hosts % racks.hosts_per_rack, ==, 0);
  STRACK_CHECK_OP(count, <=, racks.hosts);
  if (placing.kind == Placement::listed) {
    STRACK_CHECK_OP(count, <=, placing.hosts.size());
    return {placing.hosts.begin(), placing.hosts.begin() + count};
  }
  std::vector<HostId> hosts(racks.hosts);
  std::iota(hosts.begin(), hosts.end(), HostId{0});
  if (placing.kind == Placement::random) {
    // All of them are drawn, whatever the count: a smaller job has the same hosts as the first
    // ranks of a larger one.
    shuffle(hosts, seed);
  } else if (placing.kind == Placement::blocks) {
    STRACK_CHECK_OP(racks.hosts_per_rack % placing.block, ==, 0);
    std::vector<HostId> blocks(racks.hosts / placing.block);
    std::iota(blocks.begin(), blocks.end(), HostId{0});
    shuffle(blocks, seed);
    for (std::uint32_t i = 0; i < racks.hosts; ++i)
      hosts[i] = blocks[i / placing.block] * placing.block + i % placing.block;
  } else if (placing.kind == Placement::striped) {
    const std::uint32_t rack_count = racks.hosts / racks.hosts_per_rack;
    for (std::uint32_t i = 0; i < racks.hosts; ++i)
      hosts[i] = i % rack_count * racks.hosts_per_rack + i / rack_count;
  }
  hosts.resize(count);
  return hosts;
}

std::vector<HostId> place_beside(const Racks& racks, const Placing& placing, std::uint32_t count,
                                 std::uint64_t seed, const std::vector<bool>& taken) {
  STRACK_CHECK_OP(taken.size(), ==, racks.hosts);
  const auto all = static_cast<std::uint32_t>(
      placing.kind == Placement::listed ? placing.hosts.size() : racks.hosts);
  const std::vector<HostId> order = place(racks, placing, all, seed);
  const std::uint32_t unit = placing.kind == Placement::blocks ? placing.block : 1;
  std::vector<HostId> hosts;
  for (auto first = order.begin(); first != order.end() && hosts.size() < count; first += unit) {
    if (std::none_of(first, first + unit, [&](HostId host) { return taken[host]; }))
      hosts.insert(hosts.end(), first, first + unit);
  }
  if (hosts.size() > count) hosts.resize(count);
  return hosts;
}

Result<std::vector<Job>, std::string> make_jobs(const JobsParams& params, std::uint64_t seed) {
  STRACK_CHECK(params.graph != nullptr);
  STRACK_CHECK(params.start_jitter >= ps(0));
  const std::uint32_t ranks = params.graph->ranks();
  const std::uint64_t needed = std::uint64_t{params.jobs} * ranks;
  if (needed > params.racks.hosts) {
    return fmt::format("{} jobs of {} ranks need {} hosts, and there are {}", params.jobs, ranks,
                       needed, params.racks.hosts);
  }
  const std::vector<HostId> hosts =
      params.hosts.empty()
          ? place(params.racks, params.placement, static_cast<std::uint32_t>(needed), seed)
          : params.hosts;
  STRACK_CHECK_OP(hosts.size(), ==, needed);
  Rng rng = Rng(seed).stream("job start jitter");
  std::vector<Job> jobs;
  jobs.reserve(params.jobs);
  auto next = hosts.begin();
  for (std::uint32_t j = 0; j < params.jobs; ++j) {
    Job& job = jobs.emplace_back();
    job.name = params.name;
    job.graph = params.graph;
    job.hosts.assign(next, next + ranks);
    next += ranks;
    job.starts.reserve(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const Picoseconds later =
          params.start_jitter == ps(0) ? ps(0) : ps(rng.between(0, params.start_jitter.count()));
      job.starts.push_back(params.start + later);
    }
  }
  return jobs;
}

CollectiveSize size_of(const CollectiveParams& p) {
  STRACK_CHECK(p.ranks >= 2 && p.size >= bytes(1) && p.chunk >= bytes(1));
  const std::uint64_t n = p.ranks;
  /// Messages of one of `parts` equal parts of the buffer.
  const auto pieces = [&](std::uint64_t parts) {
    const auto size = static_cast<std::uint64_t>(p.size.count());
    const std::uint64_t part = (size + parts - 1) / parts;
    const auto chunk = static_cast<std::uint64_t>(p.chunk.count());
    return std::max<std::uint64_t>(1, (part + chunk - 1) / chunk);
  };
  const std::uint64_t around = n * (n - 1) * pieces(n);  // every block to every other rank
  switch (p.collective) {
    case Collective::allreduce_ring:
      return {2 * around, n};
    case Collective::allgather:
    case Collective::reduce_scatter:
      return {around, n};
    case Collective::allreduce_halving_doubling: {
      std::uint64_t messages = 0;
      for (std::uint64_t parts = 2; parts <= n; parts *= 2) messages += 2 * n * pieces(parts);
      return {messages, n * static_cast<std::uint64_t>(std::bit_width(n) - 1)};
    }
    case Collective::allreduce_double_binary_tree:
      return {4 * (n - 1) * pieces(2), 4 * (n - 1)};
    case Collective::alltoall: {
      // And a word from each receiver that asks for the next.
      const std::uint64_t at_once =
          p.parallel == 0 ? n - 1 : std::min<std::uint64_t>(p.parallel, n - 1);
      return {around + n * (n - 1 - at_once), n * (n - 1)};
    }
    case Collective::broadcast:
      return {(n - 1) * pieces(1), n - 1};
  }
  return {};
}

}  // namespace strack::workload
