// [[failure]] and [[impairment]]: what breaks, and what works badly.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "sim/net/network_graph.h"
#include "sim/net/topology.h"
#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr Key kFailureKeys[] = {
    {.name = "link",
     .kind = Kind::text,
     .needs = "a link is named by its two ends, such as link = \"leaf0-spine1\"",
     .help = "In a network from a .net file: the link between two of its nodes, \"leaf0-spine1\"; "
             "of parallel ones one, \"leaf0-spine1:0\"."},
    {.name = "rack",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "a rack is a number from 0, such as rack = 3",
     .help = "With uplink: a link above this rack's ToR."},
    {.name = "agg",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "an aggregation switch is a number from 0, such as agg = 3",
     .help = "With uplink, three tiers: a link above this aggregation switch (pod x aggs_per_pod + "
             "its place in the pod)."},
    {.name = "uplink",
     .kind = Kind::integer,
     .high = {262'143},
     .needs = "an uplink is a number from 0, such as uplink = 7",
     .help = "Which of its uplinks."},
    {.name = "host",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "a host is a number from 0, such as host = 5",
     .help = "The link of this host."},
    {.name = "switch",
     .kind = Kind::text,
     .needs = "a switch is named by tier and number, such as switch = \"spine 3\"",
     .help = "A switch and all its links: \"tor 5\", \"spine 3\"; with three tiers \"tor 5\", "
             "\"agg 3\", \"core 7\"; in a network from a .net file, its name."},
    {.name = "random_links",
     .kind = Kind::integer,
     .low = {1},
     .high = {1'000'000},
     .needs = "it is a number of links, such as random_links = 64",
     .help =
         "So many links above ToRs, drawn by the seed, the same number on each of `racks` racks."},
    {.name = "racks",
     .kind = Kind::integer,
     .otherwise = "16",
     .low = {1},
     .high = {1'048'576},
     .needs = "it is a number of racks that divides random_links, such as racks = 16",
     .help = "How many racks the random links are on."},
    {.name = "from_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {3'600 * kSecond},
     .needs = "a time is from 0 to an hour, such as from_us = 100",
     .help = "When it breaks; 0 is from the start."},
    {.name = "until_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "for ever",
     .low = {1},
     .high = {3'600 * kSecond},
     .needs = "a time is up to an hour, such as until_us = 500",
     .help = "When it mends; when it stops flapping."},
    {.name = "period_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "it breaks once",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "a period is from 1 ns to an hour, such as period_us = 200",
     .help =
         "It flaps: breaks anew every so often, from from_us until until_us or the run's end_ms."},
    {.name = "duty",
     .kind = Kind::fraction,
     .otherwise = "0.5, where it flaps",
     .low = {1, 1'000'000},
     .high = {1},
     .needs = "it is a part of the period above 0 and up to 1, such as duty = 0.25",
     .help = "The part of each period in which it is down."},
};

constexpr auto kWayWords =
    words_of<LinkWay>({{LinkWay::both, "both"}, {LinkWay::up, "up"}, {LinkWay::down, "down"}});

constexpr Key kImpairmentKeys[] = {
    {.name = "link",
     .kind = Kind::text,
     .needs = "a link is named by its two ends, such as link = \"leaf0-spine1\"",
     .help = "As in a failure."},
    {.name = "rack",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "a rack is a number from 0, such as rack = 3",
     .help = "As in a failure."},
    {.name = "agg",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "an aggregation switch is a number from 0, such as agg = 3",
     .help = "As in a failure."},
    {.name = "uplink",
     .kind = Kind::integer,
     .high = {262'143},
     .needs = "an uplink is a number from 0, such as uplink = 7",
     .help = "As in a failure."},
    {.name = "host",
     .kind = Kind::integer,
     .high = {1'048'575},
     .needs = "a host is a number from 0, such as host = 5",
     .help = "As in a failure."},
    {.name = "switch",
     .kind = Kind::text,
     .needs = "a switch is named by tier and number, such as switch = \"spine 3\"",
     .help = "All links of a switch, named as in a failure."},
    {.name = "random_links",
     .kind = Kind::integer,
     .low = {1},
     .high = {1'000'000},
     .needs = "it is a number of links, such as random_links = 64",
     .help = "As in a failure."},
    {.name = "racks",
     .kind = Kind::integer,
     .otherwise = "16",
     .low = {1},
     .high = {1'048'576},
     .needs = "it is a number of racks that divides random_links, such as racks = 16",
     .help = "As in a failure."},
    {.name = "rate",
     .kind = Kind::fraction,
     .fallback = "1",
     .low = {1, 1'000},
     .high = {1},
     .needs = "a rate is a part of the link's, from 0.001 to 1, such as rate = 0.5",
     .help = "What it carries, in parts of its rate."},
    {.name = "way",
     .kind = Kind::choice,
     .words = kWayWords,
     .fallback = "\"both\"",
     .needs = "a way is",
     .help = "Which direction of the link works badly; up is away from hosts."},
    {.name = "scale_queue",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .help = "A switch's queue before it, and the thresholds of marks there, are the same part as "
             "`rate`, so that a full one drains as fast as elsewhere. With PFC it means nothing."},
    {.name = "loss",
     .kind = Kind::fraction,
     .fallback = "0",
     .high = {1},
     .needs = "a loss is from 0 to 1, such as loss = 0.001",
     .help = "Share of packets lost, at random. 1 is a hole: switches go on using the link, and "
             "nothing "
             "comes out."},
    {.name = "bit_error_rate",
     .kind = Kind::real,
     .fallback = "0.0",
     .high = {1},
     .needs = "a bit error rate is from 0 to 1, such as bit_error_rate = 1e-9",
     .help = "Probability that a bit is wrong; a packet with a wrong bit is lost."},
    {.name = "from_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "0",
     .high = {3'600 * kSecond},
     .needs = "a time is from 0 to an hour, such as from_us = 100",
     .help = "When it begins; 0 is from the start."},
    {.name = "until_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "for ever",
     .low = {1},
     .high = {3'600 * kSecond},
     .needs = "a time is up to an hour, such as until_us = 500",
     .help = "When it ends. Routes know nothing of it, before and after."},
};

class FailureResolver : Resolving {
 public:
  explicit FailureResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    for (Group& group : r_.all.failures) failure(group);
    std::vector<std::uint32_t> entries;
    for (std::uint32_t i = 0; i < r_.all.impairments.size(); ++i) {
      impairment(r_.all.impairments[i]);
      entries.resize(out_.config.failures.impairments.size(), i);
    }
    check_failures(r_, entries);
  }

 private:
  /// Reads a number that must be below a count of something.
  static std::uint32_t below(Group& group, const std::string& id, std::uint32_t count,
                             std::string_view things) {
    const std::uint32_t value = group.count(id);
    if (value >= count) {
      group[id].fail_value(
          fmt::format("there are {} {}, so it is from 0 to {}", count, things, count - 1));
    }
    return value;
  }

  /// The one way a link (or switch) is named in this entry; it fails on none and on several.
  std::string named_by(Group& group) {
    const std::string section(group.array()->name);
    std::string found;
    for (const char* way : {"link", "rack", "agg", "host", "switch", "random_links"}) {
      const Setting& setting = group[section + "." + way];
      if (!setting.given) continue;
      if (!found.empty()) {
        setting.fail(
            fmt::format("both {} and {} are set. an entry is about one thing: write "
                        "another [[{}]] for the other",
                        found, way, section));
      }
      found = way;
    }
    if (found.empty()) {
      throw Failed{
          {group.file, group.line,
           fmt::format("[[{}]] does not say what. name a link, such as rack = 3 and uplink "
                       "= 7, or random_links = 64",
                       section)}};
    }
    const bool wants_uplink = found == "rack" || found == "agg";
    if (const Setting& uplink = group[section + ".uplink"]; uplink.given != wants_uplink) {
      if (wants_uplink) {
        group[section + "." + found].fail(
            fmt::format("{} is {}, but uplink is not set. say which, such as uplink = 0", found,
                        group.count(section + "." + found)));
      }
      uplink.fail(
          fmt::format("uplink is {}, but there is neither rack nor agg. say whose, such as "
                      "rack = 3",
                      uplink.literal.found()));
    }
    if (const Setting& racks = group[section + ".racks"]; racks.given && found != "random_links") {
      racks.fail(
          fmt::format("racks is {}, but random_links is not set. racks says how many racks "
                      "random_links are on",
                      racks.literal.found()));
    }
    check_kind(group, found);
    return found;
  }
  /// Tiers are a Clos network's, names a file's.
  void check_kind(Group& group, const std::string& by) {
    const Setting& setting = group[std::string(group.array()->name) + "." + by];
    const bool graph = topology().graph != nullptr;
    if (graph && (by == "rack" || by == "agg" || by == "random_links")) {
      setting.fail_value(
          "a network from a file has no tiers. name a link by its ends, such as link = "
          "\"leaf0-spine1\"");
    }
    if (!graph && by == "link") {
      setting.fail_value(
          "links have names in a network from a .net file only. name this one by rack and uplink");
    }
  }

  LinkRef link(Group& group, const std::string& by) {
    const TopologyParams& t = topology();
    const std::string section(group.array()->name);
    if (by == "link") return link_named(group[section + ".link"]);
    if (by == "host")
      return {LinkRef::Tier::host, below(group, section + ".host", t.hosts(), "hosts"), 0};
    if (by == "rack") {
      return {LinkRef::Tier::fabric, below(group, section + ".rack", t.racks, "racks"),
              below(group, section + ".uplink", r_.rack_uplinks, "uplinks of a rack")};
    }
    if (t.tiers != 3) {
      group[section + ".agg"].fail_value(
          "two tiers have no aggregation switches. name a link by rack and uplink");
    }
    const std::uint32_t aggs = t.racks / t.racks_per_pod * t.aggs_per_pod;
    return {LinkRef::Tier::core, below(group, section + ".agg", aggs, "aggregation switches"),
            below(group, section + ".uplink", t.cores_per_agg, "uplinks of an aggregation switch")};
  }

  /// Of a network from a file, whichever end comes first.
  LinkRef link_named(const Setting& setting) {
    const NetworkGraph& graph = *topology().graph;
    const std::string& text = std::get<std::string>(setting.value);
    const auto turned = [&](const NetworkGraph::Link& link) {
      const std::string& name = link.name;
      const std::size_t colon =
          name.find(':', graph.name(link.a).size() + graph.name(link.b).size());
      return fmt::format("{}-{}{}", graph.name(link.b), graph.name(link.a),
                         colon == name.npos ? "" : name.substr(colon));
    };
    for (std::uint32_t l = 0; l < graph.links.size(); ++l) {
      const NetworkGraph::Link& link = graph.links[l];
      if (link.name != text && turned(link) != text) continue;
      const std::uint32_t host = std::min(link.a, link.b);
      if (host < graph.host_count()) return {LinkRef::Tier::host, host, 0};
      return {LinkRef::Tier::fabric, l, 0};
    }
    setting.fail_value(fmt::format("the network has no such link. one of its links is \"{}\"",
                                   graph.links.back().name));
  }

  SwitchRef switch_ref(const Setting& setting) {
    const TopologyParams& t = topology();
    const std::string& text = std::get<std::string>(setting.value);
    if (t.graph != nullptr) {
      const std::vector<std::string>& names = t.graph->switches;
      const auto found = std::find(names.begin(), names.end(), text);
      if (found == names.end()) {
        setting.fail_value(fmt::format(
            "the network has no such switch. one of its switches is \"{}\"", names.front()));
      }
      return {SwitchRef::Tier::tor, static_cast<std::uint32_t>(found - names.begin())};
    }
    workload::LineReader reader(text);
    const std::optional<workload::Line> words = reader.next();
    const auto number = words && words->fields.size() == 2 && words->number == 1
                            ? workload::parse_decimal(words->fields[1])
                            : std::nullopt;
    if (!number || number->scale != 0 || number->digits < 0) setting.fail_value(setting.key->needs);
    struct Tier {
      std::string_view word;
      SwitchRef::Tier tier;
      std::uint32_t count;
    };
    const std::uint32_t pods = t.tiers == 3 ? t.racks / t.racks_per_pod : 1;
    const std::vector<Tier> tiers =
        t.tiers == 2
            ? std::vector<Tier>{{"tor", SwitchRef::Tier::tor, t.racks},
                                {"spine", SwitchRef::Tier::agg, t.spines}}
            : std::vector<Tier>{{"tor", SwitchRef::Tier::tor, t.racks},
                                {"agg", SwitchRef::Tier::agg, pods * t.aggs_per_pod},
                                {"core", SwitchRef::Tier::core, t.aggs_per_pod * t.cores_per_agg}};
    for (const Tier& tier : tiers) {
      if (tier.word != words->fields[0]) continue;
      if (number->digits >= tier.count) {
        setting.fail_value(
            fmt::format("there are {} of that tier, so it is from \"{} 0\" to \"{} {}\"",
                        tier.count, tier.word, tier.word, tier.count - 1));
      }
      return {tier.tier, static_cast<std::uint32_t>(number->digits)};
    }
    setting.fail_value(t.tiers == 2 ? "the tiers are tor and spine, such as \"spine 3\""
                                    : "the tiers are tor, agg and core, such as \"core 3\"");
  }

  RandomLinks random_links(Group& group, std::uint32_t most_per_rack) {
    const std::string section(group.array()->name);
    const TopologyParams& t = topology();
    Setting& links = group[section + ".random_links"];
    Setting& racks = group[section + ".racks"];
    RandomLinks drawn;
    drawn.links = group.count(section + ".random_links");
    if (!racks.given) racks.settle({std::int64_t{16}});
    drawn.racks = group.count(section + ".racks");
    const std::string found = racks.given ? fmt::format("racks is {}", drawn.racks)
                                          : "racks is not given, which means 16";
    const Setting& blamed = racks.given ? racks : links;
    if (drawn.racks > t.racks) {
      blamed.fail(fmt::format("{}. the network has {} racks: racks = {} would work", found, t.racks,
                              std::gcd(drawn.links, t.racks)));
    }
    if (drawn.links % drawn.racks != 0) {
      blamed.fail(
          fmt::format("{}, and random_links {}. each rack has the same number of them: "
                      "racks = {} would work",
                      found, drawn.links, std::gcd(drawn.links, drawn.racks)));
    }
    if (drawn.links / drawn.racks > most_per_rack) {
      links.fail_value(fmt::format(
          "a rack has {} uplinks and {} racks can spare {} each: "
          "random_links = {} would work",
          r_.rack_uplinks, drawn.racks, most_per_rack, std::max(1u, most_per_rack) * drawn.racks));
    }
    return drawn;
  }

  void failure(Group& group) {
    const std::string by = named_by(group);
    Failure f;
    f.from = at(group.time("failure.from_us"));
    const Setting& until = group["failure.until_us"];
    if (until.given) f.until = at(group.time("failure.until_us"));
    if (f.until <= f.from) {
      until.fail(fmt::format("until_us is {} and from_us {}. it can only mend after it broke",
                             workload::format_time(f.until - Instant{}),
                             workload::format_time(f.from - Instant{})));
    }
    check_before_end(f.from, group["failure.from_us"], "it breaks at");
    if (by == "switch") {
      f.node = switch_ref(group["failure.switch"]);
    } else if (by != "random_links") {
      f.link = link(group, by);
    }
    const std::vector<Failure> all = flaps(group, f);
    count_flaps(group, all.size());
    if (by == "random_links") {
      RandomLinks drawn = random_links(group, r_.rack_uplinks - 1);
      drawn.failures = all;
      out_.random_links.push_back(drawn);
      return;
    }
    std::vector<Failure>& failures = out_.config.failures.failures;
    failures.insert(failures.end(), all.begin(), all.end());
  }

  /// Each time that it breaks: once, or once a period.
  std::vector<Failure> flaps(Group& group, const Failure& whole) {
    const Setting& period_key = group["failure.period_us"];
    Setting& duty_key = group["failure.duty"];
    if (!period_key.given) {
      if (duty_key.given) {
        duty_key.fail_value(
            "that is a part of a period, and there is none: set period_us too, such as period_us = "
            "200");
      }
      return {whole};
    }
    if (!duty_key.given) duty_key.settle({0.5});
    const Picoseconds period = group.time("failure.period_us");
    const Picoseconds down = group.fraction("failure.duty") * period;
    const Instant end = std::min(whole.until, out_.config.end);
    if (end == Instant::never()) {
      period_key.fail_value(
          "it would flap for ever. say when it stops, such as until_us = 1000, or when the run "
          "does");
    }
    if (down == ps(0))
      duty_key.fail_value("it would never be down. take a larger duty or period_us");
    constexpr std::int64_t kMost = 1'000;  // every change is another set of routes
    const std::int64_t times = ((end - whole.from).count() + period.count() - 1) / period.count();
    if (times > kMost) {
      period_key.fail_value(
          fmt::format("that is {} times until {}, and at most {} are simulated: period_us = {} "
                      "would work",
                      times, workload::format_time(end - Instant{}), kMost,
                      ((end - whole.from).count() / kMost + us(1).count()) / us(1).count()));
    }
    std::vector<Failure> all;
    for (std::int64_t i = 0; i < times; ++i) {
      Failure& one = all.emplace_back(whole);
      one.from = whole.from + i * period;
      one.until = std::min(one.from + down, whole.until);
    }
    return all;
  }

  /// All entries together, and all links of each.
  void count_flaps(Group& group, std::size_t times) {
    if (times <= 1) return;
    constexpr std::uint64_t kMost = 100'000;
    const Setting& links = group["failure.random_links"];
    flaps_ += times * (links.given ? group.count("failure.random_links") : 1);
    if (flaps_ > kMost) {
      group["failure.period_us"].fail_value(fmt::format(
          "with what flaps before it, links would break {} times, and at most {} are simulated: "
          "take a longer period_us, or fewer links",
          flaps_, kMost));
    }
  }

  void times_of(Group& group, Impairment& i) {
    i.from = at(group.time("impairment.from_us"));
    const Setting& until = group["impairment.until_us"];
    if (until.given) i.until = at(group.time("impairment.until_us"));
    if (i.until <= i.from) {
      until.fail(fmt::format("until_us is {} and from_us {}. it can only end after it began",
                             workload::format_time(i.until - Instant{}),
                             workload::format_time(i.from - Instant{})));
    }
    check_before_end(i.from, group["impairment.from_us"], "it begins at");
    if (i.passes() && i.scale_queue) {
      group["impairment.scale_queue"].fail(
          "scale_queue is true, but the impairment passes. a queue has one length in a run: leave "
          "scale_queue out, or from_us and until_us");
    }
  }

  void impairment(Group& group) {
    const std::string by = named_by(group);
    Impairment i;
    i.rate = group.fraction("impairment.rate");
    i.loss = group.fraction("impairment.loss");
    i.bit_error_rate = group.real("impairment.bit_error_rate");
    i.way = group.choice<LinkWay>("impairment.way");
    i.scale_queue = group.flag("impairment.scale_queue");
    if (i.scale_queue && i.rate == Ratio{1, 1}) {
      group["impairment.scale_queue"].fail(
          "scale_queue is true, but rate is 1. a queue is scaled as the rate is: set rate, such as "
          "rate = 0.25, or leave scale_queue out");
    }
    if (i.rate == Ratio{1, 1} && i.loss.num == 0 && i.bit_error_rate <= 0) {
      throw Failed{
          {group.file, group.line,
           "[[impairment]] impairs nothing. set rate, loss or bit_error_rate, such as loss "
           "= 0.001"}};
    }
    times_of(group, i);
    if (by == "random_links") {
      RandomLinks drawn = random_links(group, r_.rack_uplinks);
      drawn.impaired = true;
      drawn.impairment = i;
      out_.random_links.push_back(drawn);
      return;
    }
    Failure named;
    if (by == "switch") {
      named.node = switch_ref(group["impairment.switch"]);
    } else {
      named.link = link(group, by);
    }
    for (const LinkRef& ref : Topology(topology()).links_of(named)) {
      i.link = ref;
      out_.config.failures.impairments.push_back(i);
    }
  }

  std::uint64_t flaps_ = 0;  ///< times that something breaks which flaps
};

}  // namespace

const SectionKeys kFailureSection{{"failure", true,
                                   "Something that breaks, and perhaps mends, once or every so "
                                   "often: a link (rack and uplink, agg and uplink, host, or "
                                   "in a network from a .net file its name), "
                                   "a switch, or random "
                                   "links."},
                                  kFailureKeys};
const SectionKeys kImpairmentSection{
    {"impairment", true,
     "A link that works badly, or all links of a switch: named as in a failure, or random links."},
    kImpairmentKeys};
void resolve_failures(Resolution& resolution) { FailureResolver(resolution).resolve(); }

}  // namespace strack::sim
