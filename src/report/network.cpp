#include "report/network.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "report/figures.h"

namespace strack::report {
namespace {

using metrics::LinkInfo;
using metrics::RunInfo;

constexpr std::size_t kMostOfALevel = 120;
/// Higher drawings are not looked at.
constexpr std::uint32_t kMostLevels = 6;

struct Switch {
  std::string name;
  std::uint32_t hosts = 0;
  std::uint32_t level = 0;
  std::uint32_t place = 0;
  std::vector<std::uint32_t> others = {};  ///< that it is linked to, each once
};

class Graph {
 public:
  Graph(const RunInfo& run, std::span<const LinkInfo> links) {
    // A host's only link has its number; so switches are met in the order of their hosts.
    for (const LinkInfo& link : links) {
      if (link.link < run.hosts) ++switches[number(link.to)].hosts;
    }
    for (const LinkInfo& link : links) {
      if (link.link < run.hosts || hosts_link(link, run, links)) continue;
      const std::uint32_t a = number(link.from);
      const std::uint32_t b = number(link.to);
      if (a > b) continue;  // the other direction
      DrawnLink& drawn = between.try_emplace({a, b}, DrawnLink{a, b, 0, 0}).first->second;
      ++drawn.count;
      drawn.gbps = std::max(drawn.gbps, in_gbps(link.rate));
    }
    for (const auto& [ends, link] : between) {
      switches[ends.first].others.push_back(ends.second);
      switches[ends.second].others.push_back(ends.first);
    }
    find_levels();
    for (std::uint32_t level = 0; level < levels.size(); ++level) arrange(level);
  }

  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] bool ring() const {
    if (switches.size() < 3) return false;
    const auto inside = std::count_if(between.begin(), between.end(), [&](const auto& one) {
      return switches[one.first.first].level == switches[one.first.second].level;
    });
    return levels.size() > kMostLevels || 2 * static_cast<std::size_t>(inside) > between.size();
  }

  std::vector<Switch> switches;
  std::map<std::pair<std::uint32_t, std::uint32_t>, DrawnLink> between;
  std::vector<std::uint32_t> levels;  ///< how many switches each has

 private:
  /// From a switch to a host: the way back of the host's own link.
  [[nodiscard]] bool hosts_link(const LinkInfo& link, const RunInfo& run,
                                std::span<const LinkInfo> links) {
    if (hosts_.empty()) {
      for (const LinkInfo& one : links) {
        if (one.link < run.hosts) hosts_.insert(one.from);
      }
    }
    return hosts_.contains(link.to);
  }

  std::uint32_t number(const std::string& name) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(switches.size()));
    if (is_new) switches.push_back({name});
    return found->second;
  }

  void find_levels() {
    constexpr std::uint32_t kUnknownLevel = UINT32_MAX;
    std::deque<std::uint32_t> next;
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      switches[s].level = switches[s].hosts > 0 ? 0 : kUnknownLevel;
      if (switches[s].hosts > 0) next.push_back(s);
    }
    std::uint32_t highest = 0;
    for (; !next.empty(); next.pop_front()) {
      const Switch& from = switches[next.front()];
      for (const std::uint32_t other : from.others) {
        if (switches[other].level != kUnknownLevel) continue;
        highest = switches[other].level = from.level + 1;
        next.push_back(other);
      }
    }
    for (Switch& one : switches) {
      if (one.level == kUnknownLevel) one.level = highest;  // nobody reaches it
    }
    levels.assign(highest + 1, 0);
    for (const Switch& one : switches) ++levels[one.level];
  }

  /// From left to right as what is below is on average, so that few lines cross.
  void arrange(std::uint32_t level) {
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      if (switches[s].level != level) continue;
      double sum = 0;
      double below = 0;
      for (const std::uint32_t other : switches[s].others) {
        if (switches[other].level + 1 != level) continue;
        sum += switches[other].place;
        ++below;
      }
      order.emplace_back(below > 0 ? sum / below : 0, s);
    }
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < order.size(); ++i) switches[order[i].second].place = i;
  }

  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::set<std::string, std::less<>> hosts_;
};

/// Links are named by their ends, whichever comes first, parallel ones with a number behind; hosts by their
/// numbers.
class Ends {
 public:
  Ends(const RunInfo& run, std::span<const LinkInfo> links) {
    for (const LinkInfo& link : links) {
      ends_.try_emplace(link.from + "-" + link.to, link.from, link.to);
      if (link.link < run.hosts)
        ends_.try_emplace(fmt::format("host {}", link.link), link.from, link.to);
    }
  }
  void fill_in(Trouble& trouble) const {
    const std::string_view name = trouble.from;
    auto found = ends_.find(name);
    if (found == ends_.end()) found = ends_.find(name.substr(0, name.rfind(':')));
    if (found == ends_.end()) return;
    std::tie(trouble.from, trouble.to) = found->second;
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> ends_;
};

/// "400 Gbps", "100 Gbps to 400 Gbps"; empty: there are none.
class Rates {
 public:
  void add(BitsPerSecond rate) {
    low_ = any_ ? std::min(low_, rate) : rate;
    high_ = any_ ? std::max(high_, rate) : rate;
    any_ = true;
  }
  [[nodiscard]] std::string text() const {
    if (!any_) return "";
    return low_ == high_ ? rate_text(low_)
                         : fmt::format("{} to {}", rate_text(low_), rate_text(high_));
  }

 private:
  bool any_ = false;
  BitsPerSecond low_{0};
  BitsPerSecond high_{0};
};

std::string rates_of(const RunInfo& run, std::span<const LinkInfo> links, const Graph& graph) {
  Rates hosts;
  Rates others;
  for (const LinkInfo& link : links) {
    if (link.link < run.hosts)
      hosts.add(link.rate);
    else if (graph.find(link.from) && graph.find(link.to))
      others.add(link.rate);
  }
  std::string text = fmt::format("host links {}", hosts.text());
  if (!others.text().empty()) text += fmt::format(" · links between switches {}", others.text());
  return text;
}

/// What is drawn of it, in the order of levels and places.
void keep(TopologyFigure& figure, const Graph& graph) {
  std::set<std::string, std::less<>> broken;
  for (const Trouble& trouble : figure.troubles) {
    for (const std::string& name : {trouble.from, trouble.to}) {
      if (broken.size() < kMostOfALevel) broken.insert(name);
    }
  }
  std::vector<std::uint32_t> order(graph.switches.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Switch& x = graph.switches[a];
    const Switch& y = graph.switches[b];
    return std::pair(x.level, x.place) < std::pair(y.level, y.place);
  });
  std::map<std::uint32_t, std::uint32_t> kept;
  for (const std::uint32_t s : order) {
    const Switch& one = graph.switches[s];
    if (one.place >= kMostOfALevel && one.place + 1 != graph.levels[one.level] &&
        !broken.contains(one.name))
      continue;
    kept.emplace(s, static_cast<std::uint32_t>(figure.switches.size()));
    figure.switches.push_back({one.name, one.level, one.place, one.hosts});
  }
  for (const auto& [ends, link] : graph.between) {
    const auto a = kept.find(ends.first);
    const auto b = kept.find(ends.second);
    if (a != kept.end() && b != kept.end())
      figure.links.push_back({a->second, b->second, link.count, link.gbps});
  }
}

}  // namespace

bool is_graph(const RunInfo& run) { return scenario_value(run, "topology.file").ends_with(".net"); }

std::optional<TopologyFigure> graph_topology(FigureHead head, const RunInfo& run,
                                             std::span<const LinkInfo> links,
                                             std::vector<Trouble> troubles) {
  if (links.empty()) return std::nullopt;
  const Graph graph(run, links);
  TopologyFigure figure;
  static_cast<FigureHead&>(figure) = std::move(head);
  figure.hosts = run.hosts;
  figure.troubles = std::move(troubles);
  const Ends ends(run, links);
  for (Trouble& trouble : figure.troubles) {
    if (!graph.find(trouble.from)) ends.fill_in(trouble);
  }
  figure.levels = graph.levels;
  figure.ring = graph.ring();
  figure.rates = rates_of(run, links, graph);
  keep(figure, graph);
  if (figure.caption.empty()) {
    figure.caption =
        figure.ring
            ? "All switches in a ring, with the number of hosts at each, and the links between "
              "them."
            : "The switches, with the number of hosts at each, and the links between them: the "
              "higher, the further from hosts.";
  }
  return figure;
}

}  // namespace strack::report
