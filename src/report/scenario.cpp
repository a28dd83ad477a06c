#include "report/scenario.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/differences.h"
#include "report/figures.h"
#include "report/network.h"

namespace strack::report {
namespace {

using metrics::RunInfo;
using metrics::Setting;

/// Rows of the table of settings; more would push what came of them out of sight.
constexpr std::size_t kMostSettings = 60;
/// Breakages told one by one in the text.
constexpr std::size_t kMostTold = 6;
/// Links to be drawn that the seed has chosen.
constexpr std::size_t kMostLinks = 2'000;

std::optional<std::uint32_t> whole(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint32_t count_of(const RunInfo& run, std::string_view key) {
  return whole(scenario_value(run, key)).value_or(0);
}

/// "0.25", "1/4", "1:4" or "25 %"
double fraction(std::string_view text) {
  const auto number = [](std::string_view part) {
    double value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    return value;
  };
  const std::size_t over = text.find_first_of("/:");
  if (over != std::string_view::npos) {
    const double below = number(text.substr(over + 1));
    return below > 0 ? number(text.substr(0, over)) / below : 0;
  }
  return text.ends_with('%') ? number(text) / 100 : number(text);
}

std::string plural(std::uint64_t count, std::string_view what) {
  const bool es = what.ends_with('h');
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : es ? "es" : "s");
}

/// The network as the settings have it; no racks where they do not say.
struct Shape {
  std::uint32_t tiers = 0;
  std::uint32_t hosts = 0;
  std::uint32_t hosts_per_rack = 0;
  std::uint32_t racks = 0;
  std::uint32_t racks_per_pod = 0;
  std::uint32_t uppers = 0;
  std::uint32_t cores_per_agg = 0;
  std::uint32_t parallel = 1;

  explicit Shape(const RunInfo& run)
      : tiers(count_of(run, "topology.tiers")),
        hosts(count_of(run, "topology.hosts")),
        hosts_per_rack(count_of(run, "topology.hosts_per_rack")),
        parallel(std::max(1U, count_of(run, "topology.links_per_spine"))) {
    const bool three = tiers == 3;
    uppers = count_of(run, three ? "topology.aggs_per_pod" : "topology.spines");
    if (three) {
      racks_per_pod = count_of(run, "topology.racks_per_pod");
      cores_per_agg = count_of(run, "topology.cores_per_agg");
    }
    const bool known = (tiers == 2 || (three && racks_per_pod > 0 && cores_per_agg > 0)) &&
                       hosts > 0 && hosts_per_rack > 0 && uppers > 0;
    if (known) racks = hosts / hosts_per_rack;
  }
  [[nodiscard]] bool known() const { return racks > 0; }
};

/// The keys of one [[failure]] or [[impairment]].
using Entry = std::map<std::string, const Setting*, std::less<>>;

std::vector<Entry> entries(const RunInfo& run, std::string_view section) {
  std::map<std::uint32_t, Entry> found;
  for (const Setting& setting : run.settings) {
    const std::string_view key = setting.key;
    if (!key.starts_with(section) || key.size() <= section.size() || key[section.size()] != '.')
      continue;
    const std::size_t dot = key.find('.', section.size() + 1);
    if (dot == std::string_view::npos) continue;
    const auto number = whole(key.substr(section.size() + 1, dot - section.size() - 1));
    if (number) found[*number][std::string(key.substr(dot + 1))] = &setting;
  }
  std::vector<Entry> all;
  for (auto& [number, entry] : found) all.push_back(std::move(entry));
  return all;
}

std::optional<std::uint32_t> number_in(const Entry& entry, std::string_view key) {
  const auto found = entry.find(key);
  return found == entry.end() ? std::nullopt : whole(found->second->value);
}

std::optional<Picoseconds> time_in(const Entry& entry, std::string_view key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->second->amount) return std::nullopt;
  return ps(*found->second->amount);
}

double fraction_in(const Entry& entry, std::string_view key, double otherwise) {
  const auto found = entry.find(key);
  return found == entry.end() ? otherwise : fraction(found->second->value);
}

/// Fills in which switch or link it is, and its name.
void name_place(Breakage& b, const Entry& entry, const Shape& shape) {
  const auto uplink = number_in(entry, "uplink");
  if (const auto at = entry.find("switch"); at != entry.end()) {
    b.trouble.from = at->second->value;
  } else if (const auto named = entry.find("link"); named != entry.end()) {
    b.trouble.from = named->second->value;  // of a network from a file: by its ends
  } else if (const auto host = number_in(entry, "host")) {
    b.trouble.from = fmt::format("host {}", *host);
    if (shape.known()) b.trouble.to = fmt::format("tor {}", *host / shape.hosts_per_rack);
  } else if (const auto rack = number_in(entry, "rack"); rack && uplink && shape.known()) {
    b.trouble.from = fmt::format("tor {}", *rack);
    b.trouble.to = shape.tiers == 3
                       ? fmt::format("agg {}", *rack / shape.racks_per_pod * shape.uppers + *uplink)
                       : fmt::format("spine {}", *uplink / shape.parallel);
  } else if (const auto agg = number_in(entry, "agg"); agg && uplink && shape.known()) {
    b.trouble.from = fmt::format("agg {}", *agg);
    b.trouble.to = fmt::format("core {}", *agg % shape.uppers * shape.cores_per_agg + *uplink);
  }
  if (const auto random = number_in(entry, "random_links")) {
    b.who = fmt::format("{} of {}, drawn by the seed", plural(*random, "link"),
                        plural(number_in(entry, "racks").value_or(16), "rack"));
  } else {
    b.who = b.trouble.to.empty() ? b.trouble.from
                                 : fmt::format("{} to {}", b.trouble.from, b.trouble.to);
  }
  if (b.who.empty()) b.who = "a link";
}

/// "down", "25 % of its rate, loses 0.1 % of packets"
std::string what_happens(const Entry& entry, bool down) {
  if (down) return "down";
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const double rate = fraction_in(entry, "rate", 1);
  if (rate < 1) add(fmt::format("{:.4g} % of its rate", rate * 100));
  const double loss = fraction_in(entry, "loss", 0);
  if (loss > 0) add(fmt::format("loses {:.4g} % of packets", loss * 100));
  const double errors = fraction_in(entry, "bit_error_rate", 0);
  if (errors > 0) add(fmt::format("a wrong bit in {:.3g}", 1 / errors));
  const auto way = entry.find("way");
  if (way != entry.end() && way->second->value != "both" && !text.empty())
    add(fmt::format("{} only", way->second->value));
  return text.empty() ? "impaired" : text;
}

Breakage breakage(const Entry& entry, bool down, const Shape& shape, std::size_t most_times) {
  Breakage b;
  b.trouble.down = down;
  name_place(b, entry, shape);
  const Picoseconds from = time_in(entry, "from_us").value_or(ps(0));
  const auto until = time_in(entry, "until_us");
  const auto period = time_in(entry, "period_us");
  std::string when = from > ps(0) ? fmt::format(" from {}", time_text(from)) : "";
  if (until) when += fmt::format(" to {}", time_text(*until));
  if (!until && from > ps(0)) when += " on";
  std::string what = what_happens(entry, down);
  if (period && *period > ps(0)) {
    const double duty = fraction_in(entry, "duty", 0.5);
    const auto held =
        ps(static_cast<std::int64_t>(static_cast<double>(period->count()) * duty + 0.5));
    what += fmt::format(" for {} of every {}", time_text(held), time_text(*period));
    for (Picoseconds at = from; !until || at < *until; at += *period) {
      b.more = b.times.size() == most_times;
      if (b.more) break;
      b.times.emplace_back(at, until ? std::min(at + held, *until) : at + held);
    }
  } else {
    b.times.emplace_back(from, until);
    if (from == ps(0) && !until) when = " throughout";
  }
  b.trouble.text = fmt::format("{}: {}{}", b.who, what, when);
  return b;
}

/// Of several that begin and end together.
std::string together(const std::vector<const Breakage*>& those) {
  const bool down = std::any_of(those.begin(), those.end(),
                                [](const Breakage* one) { return one->trouble.down; });
  const std::string what = down ? "down" : "impaired";
  std::string who = those.front()->who;
  if (who.ends_with(", drawn by the seed")) who = who.substr(0, who.find(", drawn"));
  if (those.size() > 1)
    who += fmt::format(" and {} other{}", those.size() - 1, those.size() == 2 ? "" : "s");
  return fmt::format("{} {}", who, what);
}

/// "128 hosts in 8 racks of 16 below 8 spines, ..."
std::string network_text(const RunInfo& run) {
  const Shape shape(run);
  std::string text = plural(run.hosts, "host");
  if (is_graph(run)) {
    text += fmt::format(" in the network of {}: {} and {}", scenario_value(run, "topology.file"),
                        plural(run.switches, "switch"), plural(run.links / 2, "link"));
  }
  if (shape.known()) {
    text += fmt::format(" in {} of {}", plural(shape.racks, "rack"), shape.hosts_per_rack);
    if (shape.tiers == 3) {
      text += fmt::format(
          ", {} of {} and {} below {}", plural(shape.racks / shape.racks_per_pod, "pod"),
          plural(shape.racks_per_pod, "rack"), plural(shape.uppers, "aggregation switch"),
          plural(std::uint64_t{shape.uppers} * shape.cores_per_agg, "core"));
    } else {
      text += fmt::format(" below {}", plural(shape.uppers, "spine"));
    }
    const std::string over = scenario_value(run, "topology.oversubscription");
    if (!over.empty() && over != "1" && over != "1:1") {
      text += fmt::format(", oversubscribed {}{}", over,
                          over.find_first_of(":/") == std::string::npos ? ":1" : "");
    }
  }
  if (const std::uint32_t nics = count_of(run, "topology.nics_per_server"); nics > 1) {
    text += fmt::format(", {} of {} NICs with links of their own inside",
                        plural(run.hosts / nics, "server"), nics);
  }
  if (run.host_rate > BitsPerSecond{0})
    text += fmt::format("; hosts send at {}", rate_text(run.host_rate));
  if (run.base_rtt > ps(0)) text += fmt::format(", base RTT {}", time_text(run.base_rtt));
  return text + (run.pfc ? ", lossless by PFC" : "") + ".";
}

std::string workload_text(std::span<const RunInfo* const> runs) {
  const RunInfo& first = *runs.front();
  if (first.workloads.size() > 1) {
    std::string all;
    for (const metrics::WorkloadInfo& w : first.workloads) {
      all +=
          fmt::format("{}{} ({}, {})", all.empty() ? "" : ", ", w.name, w.kind, size_text(w.bytes));
    }
    return fmt::format("Workloads: {}.", all);
  }
  const std::string kind = scenario_value(first, "workload.kind");
  std::map<Bytes, std::string> sizes;
  for (const RunInfo* run : runs) {
    if (const auto size = scenario_size(*run, "workload.size"))
      sizes.emplace(*size, size_text(*size));
  }
  const std::string begin = kind.empty() ? "Workload: " : fmt::format("Workload: {}, ", kind);
  if (sizes.size() < 2) return begin + what_is_sent(first) + ".";
  return fmt::format("{}{}, {} to {} each, {} sizes.", begin,
                     first.jobs > 0 ? plural(first.jobs, "job") : plural(first.flows, "flow"),
                     sizes.begin()->second, sizes.rbegin()->second, sizes.size());
}

void explain_troubles(TopologyFigure& figure) {
  if (!figure.troubles.empty()) {
    figure.caption +=
        " Dashed links and crossed-out switches are down at some time, dotted ones work badly.";
  }
  figure.caption += " Of more than there is room for, those with something wrong are drawn.";
}

}  // namespace

std::vector<Breakage> breakages(const RunInfo& run, std::size_t most_times) {
  const Shape shape(run);
  std::vector<Breakage> all;
  for (const Entry& entry : entries(run, "failure"))
    all.push_back(breakage(entry, true, shape, most_times));
  for (const Entry& entry : entries(run, "impairment"))
    all.push_back(breakage(entry, false, shape, most_times));
  return all;
}

std::vector<TimeSpan> spans_of(std::span<const Breakage> breakages, Picoseconds end) {
  std::vector<const Breakage*> apart;  // each of their times is a span
  for (const Breakage& b : breakages) apart.push_back(&b);
  const auto before_the_end = [end](const Breakage* b) {
    return std::count_if(b->times.begin(), b->times.end(),
                         [end](const auto& time) { return time.first < end; });
  };
  std::vector<TimeSpan> spans;
  while (true) {
    std::map<std::pair<Picoseconds, std::optional<Picoseconds>>, std::vector<const Breakage*>> at;
    for (const Breakage* b : apart) {
      for (const auto& time : b->times) {
        if (time.first >= end) break;
        const bool throughout = time.first == ps(0) && (!time.second || *time.second >= end);
        if (!throughout) at[time].push_back(b);
      }
    }
    const auto most = std::max_element(
        apart.begin(), apart.end(),
        [&](const auto* a, const auto* b) { return before_the_end(a) < before_the_end(b); });
    const auto count = most == apart.end() ? 0 : before_the_end(*most);
    if (spans.size() + at.size() <= kMostSpans || count < 2) {
      for (const auto& [time, those] : at) {
        spans.push_back(
            {in_us(time.first), time.second ? in_us(*time.second) : kUnknown, together(those)});
      }
      break;
    }
    const bool whole = count < static_cast<std::ptrdiff_t>((*most)->times.size()) || !(*most)->more;
    // Where its times were cut, it flaps on.
    const auto last = (*most)->times[static_cast<std::size_t>(count) - 1].second;
    spans.push_back({in_us((*most)->times.front().first), whole && last ? in_us(*last) : kUnknown,
                     fmt::format("{} flapping: {}{} times", (*most)->who, whole ? "" : "more than ",
                                 whole ? count : count - 1)});
    apart.erase(most);
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TimeSpan& a, const TimeSpan& b) { return a.from < b.from; });
  if (spans.size() <= kMostSpans) return spans;
  return {{spans.front().from, kUnknown, fmt::format("{} failures", spans.size())}};
}

std::optional<TopologyFigure> topology(FigureHead head, const RunInfo& run,
                                       std::span<const metrics::LinkInfo> links) {
  const Shape shape(run);
  if (is_graph(run)) {
    std::vector<Trouble> troubles;
    for (const Breakage& b : breakages(run)) troubles.push_back(b.trouble);
    auto graph = graph_topology(std::move(head), run, links, std::move(troubles));
    if (graph) explain_troubles(*graph);
    return graph;
  }
  if (!shape.known()) return std::nullopt;
  TopologyFigure figure;
  static_cast<FigureHead&>(figure) = std::move(head);
  figure.hosts = shape.hosts;
  figure.hosts_per_rack = shape.hosts_per_rack;
  figure.racks = shape.racks;
  figure.pods = shape.tiers == 3 ? shape.racks / shape.racks_per_pod : 0;
  figure.uppers = shape.uppers;
  figure.cores_per_agg = shape.cores_per_agg;
  figure.parallel = shape.parallel;
  const auto gbps = [&](std::string_view key) {
    const Setting* setting = setting_of(run, key);
    return setting != nullptr && setting->amount ? static_cast<double>(*setting->amount) / 1e9
                                                 : kUnknown;
  };
  figure.host_gbps = gbps("topology.host_gbps");
  figure.fabric_gbps = gbps("topology.fabric_gbps");
  if (figure.pods > 0) figure.core_gbps = gbps("topology.core_gbps");
  bool random = false;
  std::set<std::pair<std::string, std::string>> known;
  for (const Breakage& b : breakages(run)) {
    figure.troubles.push_back(b.trouble);
    random = random || b.trouble.from.empty();
    known.emplace(b.trouble.from, b.trouble.to);
  }
  // Which links the seed has drawn is seen from what they were when the run began.
  for (const metrics::LinkInfo& link : links) {
    if (!random || figure.troubles.size() >= kMostLinks) break;
    const bool up = link.from.starts_with("tor ") && !link.to.starts_with("host ");
    const double nominal = figure.fabric_gbps;
    const bool slow = in_gbps(link.rate) < nominal * 0.999;
    if (!up || (!link.down && !slow) || known.contains({link.from, link.to})) continue;
    figure.troubles.push_back({link.down, link.from, link.to,
                               fmt::format("{} to {}: {}, drawn by the seed", link.from, link.to,
                                           link.down ? "down when the run began" : "slow")});
  }
  if (figure.caption.empty()) figure.caption = "The switches and the links between them.";
  explain_troubles(figure);
  return figure;
}

std::vector<metrics::LinkInfo> graph_links(const RunInfo& run, const std::string& file) {
  if (!is_graph(run)) return {};
  const auto reader = metrics::ResultReader::open(file);
  if (!reader) return {};
  auto links = reader.value()->links();
  return links ? std::move(links.value()) : std::vector<metrics::LinkInfo>{};
}

std::vector<std::string> scenario_text(std::span<const RunInfo* const> runs,
                                       const std::vector<std::string>& transports, bool drawn) {
  if (runs.empty()) return {};
  const RunInfo& first = *runs.front();
  std::string names;
  for (const std::string& name : transports) names += (names.empty() ? "" : "; ") + name;
  std::vector<std::string> text;
  std::string described = scenario_value(first, "description");
  if (!described.empty()) {
    if (described.back() != '.') described += '.';
    text.push_back(std::move(described));
  }
  text.push_back(fmt::format("{} {} {}: {}.", network_text(first), workload_text(runs),
                             transports.size() == 1 ? "Transport" : "Transports", names));
  const std::vector<Breakage> broken = breakages(first);
  if (broken.empty() || drawn) return text;
  std::string told;
  for (std::size_t i = 0; i < std::min(broken.size(), kMostTold); ++i)
    told += (i > 0 ? "; " : "") + broken[i].trouble.text;
  if (broken.size() > kMostTold) told += fmt::format("; and {} more", broken.size() - kMostTold);
  text.push_back(fmt::format("What breaks: {}.", told));
  return text;
}

Table given_settings(std::string id, std::span<const RunInfo* const> runs) {
  Table table{std::move(id),
              "Settings that were given; all others are the defaults, or follow from them",
              {{"setting", "left"}, {"value", "left"}},
              {}};
  std::vector<std::string> keys;
  for (const RunInfo* run : runs) {
    for (const Setting& setting : run->settings) {
      if (setting.origin != "given" || setting.key == "name" || setting.key == "description" ||
          setting.key.starts_with("run.seed") || setting_of(*run, setting.key) == nullptr ||
          std::find(keys.begin(), keys.end(), setting.key) != keys.end())
        continue;
      keys.push_back(setting.key);
    }
  }
  const std::size_t shown = keys.size() > kMostSettings ? kMostSettings : keys.size();
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> values;
    for (const RunInfo* run : runs) {
      const Setting* setting = setting_of(*run, keys[i]);
      std::string value = setting == nullptr ? "-" : setting->value;
      std::erase(value, '"');
      if (std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
    }
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? "" : ", ") + value;
    table.rows.push_back({Cell(keys[i]), Cell(all)});
  }
  if (shown < keys.size()) {
    table.rows.push_back({Cell(fmt::format("and {} more", keys.size() - shown)),
                          Cell("in the result file's table `settings`")});
  }
  return table;
}

}  // namespace strack::report
