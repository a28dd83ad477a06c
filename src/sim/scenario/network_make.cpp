#include "sim/scenario/network_make.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/literals.h"
#include "sim/scenario/network_file.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

[[nodiscard]] std::string rate_text(BitsPerSecond rate) { return gbps_text(rate) + "Gbps"; }
/// As format_time(), without the blank.
[[nodiscard]] std::string time_text(Picoseconds time) {
  std::string text = workload::format_time(time);
  std::erase(text, ' ');
  return text;
}
[[nodiscard]] std::string figures(const LinkFigures& links) {
  return fmt::format("rate {}\nlatency {}\n", rate_text(links.rate), time_text(links.latency));
}

[[nodiscard]] workload::TextError wrong(std::string message) { return {0, std::move(message)}; }

/// Products of three of a shape's counts have 48 bits.
constexpr std::uint32_t kLargestCount = 65'536;
/// Said before anything is written.
[[nodiscard]] std::optional<workload::TextError> too_large(
    std::initializer_list<std::uint32_t> counts, std::uint64_t hosts, std::uint64_t switches,
    std::uint64_t links) {
  if (std::max(counts) <= kLargestCount && hosts <= NetworkLimits::kHosts &&
      switches <= NetworkLimits::kSwitches && links <= NetworkLimits::kLinks)
    return std::nullopt;
  return wrong(
      fmt::format("the network would be too large. it has at most {} hosts, {} switches "
                  "and {} links",
                  NetworkLimits::kHosts, NetworkLimits::kSwitches, NetworkLimits::kLinks));
}
/// What is made can be read.
[[nodiscard]] Result<std::string, workload::TextError> readable(std::string text) {
  const auto graph = parse_network(text);
  if (!graph) return wrong(graph.error().message);
  return text;
}

}  // namespace

Result<std::string, workload::TextError> make_dragonfly(const DragonflyParams& p) {
  if (p.groups < 2 || p.routers < 1 || p.hosts < 1 || p.globals < 1)
    return wrong("a dragonfly has two groups or more, with a router, a host and a global link");
  const std::uint64_t ports = std::uint64_t{p.routers} * p.globals;
  const std::uint64_t leaves = std::uint64_t{p.groups} * p.routers;
  const std::uint64_t inside = leaves * (p.plus ? p.routers : p.routers - 1) / (p.plus ? 1 : 2);
  if (const auto error =
          too_large({p.groups, p.routers, p.hosts, p.globals}, leaves * p.hosts,
                    (p.plus ? 2 : 1) * leaves, leaves * p.hosts + inside + p.groups * ports / 2))
    return *error;
  if (ports < p.groups - 1) {
    return wrong(fmt::format(
        "{} groups, and each has {} global links, {} of each of {} routers. every group is linked "
        "to "
        "every other: {} groups, or more global links, would work",
        p.groups, ports, p.globals, p.routers, ports + 1));
  }
  const std::string router = p.plus ? "spine" : "router";
  const std::string leaf = p.plus ? "leaf" : "router";
  std::string text =
      fmt::format("# A dragonfly{}: {} groups of {} {}{}, {} hosts each, {} global links each.\n",
                  p.plus ? "+" : "", p.groups, p.routers, leaf,
                  p.plus ? " switches and as many spines" : "s", p.hosts, p.globals);
  text += figures(p.links);
  text += fmt::format("hosts host[0-{}]\n", leaves * p.hosts - 1);
  for (const std::string& kind : p.plus ? std::vector{leaf, router} : std::vector{router})
    text += fmt::format("switches {}[0-{}]\n", kind, leaves - 1);
  for (std::uint32_t r = 0; r < leaves; ++r)
    text += fmt::format("link host[{}-{}] {}{}\n", r * p.hosts, (r + 1) * p.hosts - 1, leaf, r);
  for (std::uint32_t g = 0; g < p.groups; ++g) {
    const std::uint32_t first = g * p.routers;
    const std::uint32_t last = first + p.routers - 1;
    if (p.plus) {
      text += fmt::format("link leaf[{}-{}] spine[{}-{}]\n", first, last, first, last);
      continue;
    }
    for (std::uint32_t r = first; r < last; ++r)
      text += fmt::format("link router{} router[{}-{}]\n", r, r + 1, last);
  }
  // The k-th global link of a group leads to the group k + 1 further on, around and around while there are
  // ports for links to all of them; at the other end it is the one that leads back.
  const std::uint64_t rounds = ports / (p.groups - 1);
  const auto at = [&](std::uint64_t group, std::uint64_t port) {
    return fmt::format("{}{}", router, group * p.routers + port % p.routers);
  };
  const std::string latency = time_text(p.global_latency);
  std::map<std::string, std::uint32_t> pairs;
  for (std::uint32_t g = 0; g < p.groups; ++g) {
    for (std::uint32_t other = g + 1; other < p.groups; ++other) {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t there = round * (p.groups - 1) + other - g - 1;
        const std::uint64_t back = round * (p.groups - 1) + p.groups + g - other - 1;
        ++pairs[at(g, there) + " " + at(other, back)];
      }
    }
  }
  for (const auto& [pair, count] : pairs)
    text += fmt::format("link {} {}{}\n", pair, latency,
                        count > 1 ? fmt::format(" x{}", count) : std::string());
  return readable(std::move(text));
}

Result<std::string, workload::TextError> make_planes(const PlanesParams& p) {
  if (p.planes < 1 || p.leaves < 1 || p.hosts < 1 || p.spines < 1 ||
      std::uint64_t{p.leaves} * p.hosts < 2)
    return wrong("there is a plane, a leaf, a host and a spine at least, and two hosts");
  const std::uint64_t hosts = std::uint64_t{p.leaves} * p.hosts;
  const std::uint64_t above = std::uint64_t{p.leaves} + p.spines;
  const std::uint64_t uplinks = std::uint64_t{p.leaves} * p.spines;
  if (const auto error = too_large({p.planes, p.leaves, p.hosts, p.spines}, hosts,
                                   hosts + p.planes * above, hosts + p.planes * (hosts + uplinks)))
    return *error;
  std::string text = fmt::format(
      "# {} hosts, whose NICs have {} ports, each in a plane of its own: {} leaf switches of {} "
      "hosts "
      "below {} spines.\n# A NIC is a switch, whose ports take the entropies of a connection in "
      "turn.\n",
      hosts, p.planes, p.leaves, p.hosts, p.spines);
  text += figures(p.links);
  text += fmt::format("hosts host[0-{}]\nnics nic[0-{}]\n", hosts - 1, hosts - 1);
  for (std::uint32_t plane = 0; plane < p.planes; ++plane)
    text += fmt::format("switches p{}leaf[0-{}] p{}spine[0-{}]\n", plane, p.leaves - 1, plane,
                        p.spines - 1);
  const BitsPerSecond all = std::int64_t{p.planes} * p.links.rate;
  for (std::uint32_t h = 0; h < hosts; ++h)
    text += fmt::format("link host{} nic{} {}\n", h, h, rate_text(all));
  for (std::uint32_t plane = 0; plane < p.planes; ++plane) {
    for (std::uint32_t leaf = 0; leaf < p.leaves; ++leaf)
      text += fmt::format("link nic[{}-{}] p{}leaf{}\n", leaf * p.hosts, (leaf + 1) * p.hosts - 1,
                          plane, leaf);
    text += fmt::format("link p{}leaf[0-{}] p{}spine[0-{}]\n", plane, p.leaves - 1, plane,
                        p.spines - 1);
  }
  return readable(std::move(text));
}

}  // namespace strack::sim
