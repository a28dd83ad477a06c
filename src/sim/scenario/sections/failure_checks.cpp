// What several entries of [[failure]] and [[impairment]] come to together.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "sim/net/network_graph.h"
#include "sim/net/topology.h"
#include "sim/net/wire.h"
#include "sim/scenario/route_versions.h"
#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"

namespace strack::sim {
namespace {

/// What a link that works badly still carries, at least.
constexpr BitsPerSecond kLeastRate{1'000};

using Place = std::tuple<LinkRef::Tier, std::uint32_t, std::uint32_t>;
[[nodiscard]] Place place_of(const LinkRef& link) { return {link.tier, link.lower, link.upper}; }

class Checks : Resolving {
 public:
  Checks(Resolution& resolution, const std::vector<std::uint32_t>& entries)
      : Resolving(resolution), entries_(entries) {}

  void check() {
    const std::vector<Impairment>& all = out_.config.failures.impairments;
    std::map<Place, std::vector<std::uint32_t>> by_link;
    for (std::uint32_t i = 0; i < all.size(); ++i) by_link[place_of(all[i].link)].push_back(i);
    for (const auto& [place, some] : by_link) {
      for (const LinkWay way : {LinkWay::up, LinkWay::down}) check_rate(some, way);
    }
    check_routes();
    note_unmet();
    note_base_rtt();
  }

 private:
  /// [D99] In a graph a set of routes is large: every switch has one for every host.
  void check_routes() {
    const TopologyParams& t = topology();
    if (t.graph == nullptr || r_.all.failures.empty()) return;
    constexpr std::uint64_t kMost = 1u << 30;  // 4 bytes each
    const std::uint64_t each = std::uint64_t{t.hosts()} * t.graph->switches.size();
    const auto versions = static_cast<std::uint64_t>(route_versions(out_));
    if (each * versions <= kMost) return;
    const Group& last = r_.all.failures.back();
    throw Failed{
        {last.file, last.line,
         fmt::format("failures make {} sets of routes with this entry, each with {} hosts at {} "
                     "switches: {} GB. at most {} sets of this network are simulated: take a "
                     "longer period_us, or an earlier until_us",
                     versions, t.hosts(), t.graph->switches.size(),
                     each * versions * 4 / 1'000'000'000, kMost / each)}};
  }

  /// [D100] What transports are set up for is the network of the file.
  void note_base_rtt() {
    const std::vector<Failure>& all = out_.config.failures.failures;
    const bool reduced = std::any_of(all.begin(), all.end(), [](const Failure& f) {
      return f.from == Instant{} && f.until == Instant::never();
    });
    if (topology().graph == nullptr || !reduced) return;
    out_.notes.push_back(
        "the base RTT is that of the network with all its links: those that are down from the "
        "start may make paths longer. leave them out of the .net file to have it without them");
  }

  /// Whenever one begins, all that hold then take their part.
  void check_rate(const std::vector<std::uint32_t>& some, LinkWay way) {
    const std::vector<Impairment>& all = out_.config.failures.impairments;
    for (const std::uint32_t begins : some) {
      BitsPerSecond rate = rate_of(all[begins].link);
      std::vector<std::uint32_t> together;
      for (const std::uint32_t i : some) {
        const Impairment& bad = all[i];
        const bool holds = bad.from <= all[begins].from && all[begins].from < bad.until;
        if (!holds || (bad.way != LinkWay::both && bad.way != way)) continue;
        rate = bad.rate * rate;
        if (together.empty() || together.back() != entries_[i]) together.push_back(entries_[i]);
      }
      if (rate >= kLeastRate) continue;
      const Group& last = r_.all.impairments[*std::max_element(together.begin(), together.end())];
      std::string names;
      for (std::size_t i = 0; i < together.size(); ++i) {
        names += i == 0 ? "" : i + 1 < together.size() ? ", " : " and ";
        names += fmt::format("{}", together[i]);
      }
      throw Failed{
          {last.file, last.line,
           fmt::format("entries {} of [[impairment]], counted from 0, are about one link at "
                       "one time, and leave {} bit/s of it. at least {} must be left: take "
                       "larger rates, or let one of them say it all",
                       names, rate.count(), kLeastRate.count())}};
    }
  }

  [[nodiscard]] BitsPerSecond rate_of(const LinkRef& link) {
    const TopologyParams& t = topology();
    if (t.graph != nullptr) {
      return link.tier == LinkRef::Tier::host ? t.graph->link_of_host(link.lower).rate
                                              : t.graph->links[link.lower].rate;
    }
    return link.tier == LinkRef::Tier::host     ? t.host_rate
           : link.tier == LinkRef::Tier::fabric ? t.fabric_rate
                                                : t.core_rate;
  }

  /// What changes nothing is worth a word.
  void note_unmet() {
    Instant first = Instant::never();
    for (const WorkloadSpec& w : out_.workloads) {
      if (w.enabled) first = std::min(first, w.start);
    }
    const FailureParams& f = out_.config.failures;
    const auto over = [&](Instant until, Picoseconds lag, std::string_view what, Instant from) {
      if (until == Instant::never() || until + lag > first) return false;
      out_.notes.push_back(
          fmt::format("the {} from {} is over at {}, before the first workload starts at {}: no "
                      "packet meets it",
                      what, workload::format_time(from - Instant{}),
                      workload::format_time(until + lag - Instant{}),
                      workload::format_time(first - Instant{})));
      return true;
    };
    for (const Failure& failure : f.failures) {
      if (over(failure.until, f.convergence, "failure", failure.from)) break;
    }
    for (const Impairment& bad : f.impairments) {
      if (over(bad.until, ps(0), "impairment", bad.from)) break;
    }
    note_hidden();
  }

  /// An impairment of a link that is down all that time.
  void note_hidden() {
    const FailureParams& f = out_.config.failures;
    if (f.failures.empty() || f.impairments.empty()) return;
    const Topology network(topology());
    std::map<Place, std::vector<Outage>> down;
    for (const Failure& failure : f.failures) {
      for (const LinkRef& link : network.links_of(failure))
        down[place_of(link)].push_back({failure.from, failure.until});
    }
    for (std::size_t i = 0; i < f.impairments.size(); ++i) {
      const Impairment& bad = f.impairments[i];
      const auto found = down.find(place_of(bad.link));
      if (found == down.end()) continue;
      const bool hidden =
          std::any_of(found->second.begin(), found->second.end(),
                      [&](const Outage& o) { return o.from <= bad.from && o.until >= bad.until; });
      if (!hidden) continue;
      out_.notes.push_back(fmt::format(
          "entry {} of [[impairment]], counted from 0, is about a link that is down all that time: "
          "no packet meets it there",
          entries_[i]));
      return;
    }
  }

  const std::vector<std::uint32_t>& entries_;  ///< by impairment: which entry it is of
};

}  // namespace

void check_failures(Resolution& resolution, const std::vector<std::uint32_t>& entries) {
  Checks(resolution, entries).check();
}

}  // namespace strack::sim
