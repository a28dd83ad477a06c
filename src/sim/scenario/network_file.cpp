#include "sim/scenario/network_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/prng.h"
#include "sim/net/sim_packet.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

using workload::quoted;

constexpr std::uint64_t kMostHosts = NetworkLimits::kHosts;
constexpr std::uint64_t kMostSwitches = NetworkLimits::kSwitches;
constexpr std::uint64_t kMostLinks = NetworkLimits::kLinks;
constexpr std::uint64_t kMostPorts = 65'535;     // of a switch
constexpr std::uint64_t kMostRoutes = 1u << 27;  // hosts x switches, 4 bytes each
constexpr std::uint64_t kMostEdges = 8'192;      // switches with hosts
constexpr std::uint32_t kMostParallel = 64;
constexpr std::size_t kMostBrackets = 4;  // of a name
constexpr std::size_t kLongestName = 256;
static_assert(kMostHosts <= SimPacket::kMaxHosts);

/// What is wrong, on its way out of the parser.
struct Wrong {
  workload::TextError error;
};
[[noreturn]] void fail(int line, std::string message) { throw Wrong{{line, std::move(message)}}; }

[[nodiscard]] std::optional<std::uint32_t> number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;  // leaf[00-03] is not leaf[0-3]
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "leaf[0-3]": leaf0 to leaf3; a name without brackets is itself. Several brackets are nested.
void expand(int line, std::string_view text, std::vector<std::string>& names) {
  const std::size_t open = text.find('[');
  if (open == text.npos) {
    const auto unseen = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (text.find(']') != text.npos || text.empty() ||
        std::any_of(text.begin(), text.end(), unseen))
      fail(line, fmt::format("{} is no name. a name is a word, or several such as leaf[0-3]",
                             quoted(text)));
    names.emplace_back(text);
    return;
  }
  const std::size_t close = text.find(']', open);
  const std::string_view range =
      close == text.npos ? std::string_view{} : text.substr(open + 1, close - open - 1);
  const std::size_t dash = range.find('-');
  const auto first = number(range.substr(0, dash));
  const auto last = dash == range.npos ? first : number(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMostHosts) {
    fail(line,
         fmt::format("{} has no range in its brackets. write whole numbers without leading zeros, "
                     "the smaller one first, {} of them at most, such as leaf[0-3]",
                     quoted(text), kMostHosts));
  }
  for (std::uint64_t i = *first; i <= *last; ++i) {
    expand(line, fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)), names);
    if (names.size() > kMostHosts)
      fail(line, fmt::format("the line names more than {}. write shorter ranges", kMostHosts));
  }
}
[[nodiscard]] std::vector<std::string> names_of(int line, std::string_view text) {
  if (text.size() > kLongestName)
    fail(line, fmt::format("a name of {} bytes. it has at most {}", text.size(), kLongestName));
  const auto brackets = static_cast<std::size_t>(std::count(text.begin(), text.end(), '['));
  if (brackets > kMostBrackets) {
    fail(line, fmt::format("{} has {} brackets. there are at most {}", quoted(text), brackets,
                           kMostBrackets));
  }
  std::vector<std::string> names;
  expand(line, text, names);
  return names;
}

class Parser {
 public:
  NetworkGraph parse(std::string_view text) {
    workload::LineReader reader(text);
    while (const auto line = reader.next()) take(*line);
    finish();
    return std::move(graph_);
  }

 private:
  void take(const workload::Line& line) {
    const std::string_view word = line.fields.front();
    if (word == "hosts" || word == "host") {
      declare(line, graph_.hosts, kMostHosts, "hosts");
    } else if (word == "switches" || word == "switch") {
      declare(line, graph_.switches, kMostSwitches, "switches");
    } else if (word == "nics" || word == "nic") {
      const std::size_t first = graph_.switches.size();
      declare(line, graph_.switches, kMostSwitches, "switches");
      graph_.nics.resize(first);
      graph_.nics.resize(graph_.switches.size(), true);
    } else if (word == "link" || word == "links") {
      links(line);
    } else if (word == "rate" || word == "latency") {
      const Figure wanted = word == "rate" ? Figure::rate : Figure::latency;
      if (line.fields.size() != 2 || figure(line.fields[1], usual_) != wanted) {
        fail(line.number, fmt::format("{} takes one value with its unit, such as {}", word,
                                      word == "rate" ? "rate 400Gbps" : "latency 500ns"));
      }
      check(line.number, word == "rate", word != "rate", usual_);
    } else {
      fail(line.number, fmt::format("{} is no statement. a line begins with hosts, switches, nics, "
                                    "link, rate or latency",
                                    quoted(word)));
    }
  }

  void declare(const workload::Line& line, std::vector<std::string>& list, std::uint64_t most,
               std::string_view what) {
    if (line.fields.size() < 2)
      fail(line.number,
           fmt::format("{} without a name. write some, such as {} a[0-3]", what, what));
    for (std::size_t i = 1; i < line.fields.size(); ++i) {
      for (std::string& name : names_of(line.number, line.fields[i])) {
        const Node node{&list == &graph_.hosts, static_cast<std::uint32_t>(list.size())};
        if (!nodes_.emplace(name, node).second)
          fail(line.number,
               fmt::format("{} is there already. no two have the same name", quoted(name)));
        list.push_back(std::move(name));
        if (list.size() > most)
          fail(line.number, fmt::format("there are more than {} {}. that is the most", most, what));
      }
    }
  }

  struct Node {
    bool host;
    std::uint32_t place;
  };
  struct Figures {
    BitsPerSecond rate{0};
    Picoseconds latency{0};
    std::uint32_t parallel = 1;
  };

  enum class Figure : std::uint8_t { none, rate, latency, parallel };

  /// A rate, a latency or "x2", by its unit; none: none of these.
  static Figure figure(std::string_view text, Figures& figures) {
    if (text.starts_with('x')) {
      const auto count = number(text.substr(1));
      if (!count || *count < 1 || *count > kMostParallel) return Figure::none;
      figures.parallel = *count;
      return Figure::parallel;
    }
    const auto amount = workload::parse_amount(text);
    if (!amount) return Figure::none;
    if (const auto unit = workload::rate_unit(amount->unit)) {
      const auto value = workload::exact_product(amount->number, *unit);
      if (!value) return Figure::none;
      figures.rate = {*value};
      return Figure::rate;
    }
    if (const auto unit = workload::time_unit(amount->unit)) {
      const auto value = workload::exact_product(amount->number, *unit);
      if (!value) return Figure::none;
      figures.latency = ps(*value);
      return Figure::latency;
    }
    return Figure::none;
  }

  static void check(int line, bool rate, bool latency, const Figures& f) {
    if (rate &&
        (f.rate < mbps(1) || f.rate > gbps(100'000) || f.rate.count() % mbps(1).count() != 0)) {
      fail(line, fmt::format("a link of {} bit/s. a rate is a whole number of Mb/s up to 100 Tb/s, "
                             "such as 400Gbps",
                             f.rate.count()));
    }
    if (latency && (f.latency < ns(1) || f.latency > seconds(1))) {
      fail(line, fmt::format("a latency of {}. it is from 1 ns to 1 s, such as 500ns",
                             workload::format_time(f.latency)));
    }
  }

  /// Links keep the nodes as they were declared: hosts get their numbers once all are known.
  struct Ends {
    Node a;
    Node b;
  };

  void links(const workload::Line& line) {
    if (line.fields.size() < 3)
      fail(line.number, "a link has two ends, such as link leaf0 spine0 400Gbps 500ns");
    Figures figures = usual_;
    std::array<bool, 4> given{};  // by Figure
    for (std::size_t i = 3; i < line.fields.size(); ++i) {
      const Figure what = figure(line.fields[i], figures);
      if (what != Figure::none && std::exchange(given[static_cast<std::size_t>(what)], true)) {
        fail(line.number, fmt::format("{} is a second one of its kind. a link has one rate, one "
                                      "latency and one number of parallel links",
                                      quoted(line.fields[i])));
      }
      if (what == Figure::none) {
        if (line.fields[i].starts_with('x') && number(line.fields[i].substr(1)))
          fail(line.number, fmt::format("{} is no number of parallel links. there may be x1 to x{}",
                                        quoted(line.fields[i]), kMostParallel));
        fail(line.number,
             fmt::format("{} is neither a rate, nor a latency, nor a number of parallel links. "
                         "write such as 400Gbps, 500ns or x2",
                         quoted(line.fields[i])));
      }
    }
    const auto is_given = [&](Figure what) { return given[static_cast<std::size_t>(what)]; };
    if (figures.rate == BitsPerSecond{0} && !is_given(Figure::rate))
      fail(line.number,
           "the link has no rate. add one, such as 400Gbps, or a line rate 400Gbps "
           "before it");
    if (figures.latency == ps(0) && !is_given(Figure::latency))
      fail(line.number,
           "the link has no latency. add one, such as 500ns, or a line latency 500ns "
           "before it");
    check(line.number, true, true, figures);
    const std::vector<std::string> first = names_of(line.number, line.fields[1]);
    const std::vector<std::string> second = names_of(line.number, line.fields[2]);
    for (const std::string& a : first) {
      for (const std::string& b : second) link(line.number, a, b, figures);
    }
  }

  void link(int line, const std::string& a, const std::string& b, const Figures& figures) {
    const Node from = find(line, a);
    const Node to = find(line, b);
    if (a == b) fail(line, fmt::format("a link from {} to itself. it has two ends", quoted(a)));
    if (from.host && to.host) {
      fail(line,
           fmt::format("a link between the hosts {} and {}. packets are forwarded by switches: "
                       "put one between them",
                       quoted(a), quoted(b)));
    }
    for (std::uint32_t i = 0; i < figures.parallel; ++i) {
      const std::string which = figures.parallel == 1 ? "" : fmt::format(":{}", i);
      std::string name = fmt::format("{}-{}{}", a, b, which);
      // Whoever names it may begin with either end.
      const std::string turned = fmt::format("{}-{}{}", b, a, which);
      if (!names_.insert(name).second || (turned != name && !names_.insert(turned).second)) {
        fail(line, fmt::format("there is a link {} already. parallel links are written x2, at once",
                               quoted(name)));
      }
      graph_.links.push_back({0, 0, figures.rate, figures.latency, std::move(name)});
      ends_.push_back({from, to});
      lines_.push_back(line);
    }
    if (graph_.links.size() > kMostLinks)
      fail(line, fmt::format("there are more than {} links. that is the most", kMostLinks));
  }

  [[nodiscard]] Node find(int line, const std::string& name) const {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) {
      fail(line, fmt::format("there is no {} above this line. name it in a line hosts or switches "
                             "first",
                             quoted(name)));
    }
    return found->second;
  }

  void finish() {
    const auto hosts = static_cast<std::uint32_t>(graph_.hosts.size());
    if (hosts < 2) fail(0, fmt::format("the network has {} hosts. it needs two or more", hosts));
    const auto id = [hosts](const Node& node) { return node.place + (node.host ? 0 : hosts); };
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    graph_.host_links.assign(hosts, kNone);
    std::vector<std::uint64_t> ports(graph_.switches.size());
    for (std::uint32_t l = 0; l < graph_.links.size(); ++l) {
      graph_.links[l].a = id(ends_[l].a);
      graph_.links[l].b = id(ends_[l].b);
      for (const Node& end : {ends_[l].a, ends_[l].b}) {
        if (!end.host) {
          if (++ports[end.place] > kMostPorts)
            fail(lines_[l], fmt::format("{} has more than {} ports. that is the most",
                                        quoted(graph_.switches[end.place]), kMostPorts));
        } else if (std::exchange(graph_.host_links[end.place], l) != kNone) {
          fail(lines_[l],
               fmt::format("{} has two links. a host has one: a NIC with several ports is a switch "
                           "between the host and the network",
                           quoted(graph_.hosts[end.place])));
        }
      }
    }
    for (std::uint32_t h = 0; h < hosts; ++h) {
      if (graph_.host_links[h] == kNone)
        fail(0, fmt::format("the host {} has no link. write one, such as link {} leaf0",
                            quoted(graph_.hosts[h]), graph_.hosts[h]));
    }
    if (!graph_.nics.empty()) check_nics();
    check_size();
  }

  /// [D112] A NIC has one host, and the network at its other ports.
  void check_nics() {
    graph_.nics.resize(graph_.switches.size());
    std::vector<std::uint32_t> served(graph_.switches.size());
    for (std::uint32_t h = 0; h < graph_.host_count(); ++h) {
      const std::uint32_t at = graph_.switch_of(h);
      if (graph_.nics[at] && ++served[at] > 1) {
        fail(lines_[graph_.host_links[h]],
             fmt::format("the NIC {} has two hosts. it has one: name it in a line switches",
                         quoted(graph_.switches[at])));
      }
    }
    for (std::uint32_t s = 0; s < served.size(); ++s) {
      if (graph_.nics[s] && served[s] == 0)
        fail(0, fmt::format("the NIC {} has no host. link one to it, or name it in a line switches",
                            quoted(graph_.switches[s])));
    }
  }

  void check_size() const {
    if (std::uint64_t{graph_.hosts.size()} * graph_.switches.size() > kMostRoutes) {
      fail(0, fmt::format("{} hosts and {} switches. their product, which is what routes take, is "
                          "at most {}",
                          graph_.hosts.size(), graph_.switches.size(), kMostRoutes));
    }
    std::vector<bool> edge(graph_.switches.size());
    for (std::uint32_t h = 0; h < graph_.host_count(); ++h) edge[graph_.switch_of(h)] = true;
    const auto edges = static_cast<std::uint64_t>(std::count(edge.begin(), edge.end(), true));
    if (edges > kMostEdges) {
      fail(0, fmt::format("{} switches have hosts, and at most {} may: put several hosts at one",
                          edges, kMostEdges));
    }
    if (const auto longest = graph_diameter(graph_); longest > GraphDistances::kMostHops) {
      fail(0, fmt::format("some hosts are {} links or more from each other, and at most {} are "
                          "simulated",
                          longest, GraphDistances::kMostHops));
    }
  }

  NetworkGraph graph_;
  Figures usual_;
  std::unordered_map<std::string, Node> nodes_;
  std::unordered_set<std::string> names_;  ///< of links, by either end
  std::vector<Ends> ends_;                 ///< by link
  std::vector<int> lines_;
};

}  // namespace

Result<NetworkGraph, workload::TextError> parse_network(std::string_view text) {
  try {
    return Parser().parse(text);
  } catch (const Wrong& wrong) {
    return wrong.error;
  }
}

bool is_network_name(std::string_view file) { return file.ends_with(".net"); }

std::uint64_t fingerprint(const NetworkGraph& graph) {
  std::uint64_t value = mix64(graph.hosts.size()) ^ graph.switches.size();
  for (const NetworkGraph::Link& link : graph.links) {
    for (const std::uint64_t part :
         {std::uint64_t{link.a}, std::uint64_t{link.b}, static_cast<std::uint64_t>(link.rate.value),
          static_cast<std::uint64_t>(link.latency.value)})
      value = mix64(value ^ part);
  }
  for (const std::vector<std::string>* names : {&graph.hosts, &graph.switches}) {
    for (const std::string& name : *names) {
      for (const char c : name) value = mix64(value ^ static_cast<unsigned char>(c));
      value = mix64(value ^ (std::uint64_t{name.size()} << 8));
    }
  }
  for (std::size_t s = 0; s < graph.nics.size(); ++s) {
    if (graph.nics[s]) value = mix64(value ^ s);
  }
  return value;
}

}  // namespace strack::sim
