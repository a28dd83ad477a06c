// [topology]: the network, and what follows from it.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/base_rtt.h"
#include "sim/scenario/literals.h"
#include "sim/scenario/network_file.h"
#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"
#include "workload/formats/topo_import.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr std::uint64_t kMostLinks = 1u << 26;
constexpr std::uint64_t kMostPorts = 65'535;  // of a switch
constexpr Picoseconds kLeastLatency = ns(1);

[[nodiscard]] Ratio reduced(std::int64_t num, std::int64_t den) {
  const std::int64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

constexpr Key kKeys[] = {
    {.name = "file",
     .kind = Kind::text,
     .otherwise = "the keys below say it all",
     .needs = "it names a network, such as file = \"leaf-spine.topo\" or \"dragonfly.net\"",
     .help =
         "A network in a file beside the scenario. One that ends in .net is a graph of any shape: "
         "hosts, switches, and links with rates and latencies of their own (docs/networks.md); "
         "packets go by shortest paths, and of the keys below only those of servers may stand "
         "beside it. Any other is an htsim topology (.topo): it sets the number of tiers, hosts "
         "and switches, all rates and latencies, and the queue_limit if it has one. Keys that it "
         "sets may stand beside it only with the same value."},
    {.name = "tiers",
     .kind = Kind::integer,
     .fallback = "2",
     .low = {2},
     .high = {3},
     .needs = "a network has 2 or 3 switch tiers",
     .help = "Switch tiers: 2 is ToRs and spines, 3 is ToRs, aggregation and core."},
    {.name = "hosts",
     .kind = Kind::integer,
     .fallback = "8192",
     .low = {2},
     .high = {1'048'576},
     .needs = "a network has 2 to 1048576 hosts, such as hosts = 8192",
     .help = "Hosts in all; a multiple of hosts_per_rack."},
    {.name = "hosts_per_rack",
     .kind = Kind::integer,
     .fallback = "64",
     .low = {1},
     .high = {4'096},
     .needs = "a rack has 1 to 4096 hosts, such as hosts_per_rack = 64",
     .help = "Hosts below each ToR."},
    {.name = "oversubscription",
     .kind = Kind::fraction,
     .otherwise = "1, or what spines or aggs_per_pod make it",
     .low = {1, 64},
     .high = {4'096},
     .needs = "it is what a rack's hosts can send over what its uplinks can carry, such as "
              "oversubscription = \"4:1\"",
     .help = "Host rates over uplink rates of a ToR; sets the number of uplinks. 4 and \"4:1\" "
             "mean the same."},
    {.name = "spines",
     .kind = Kind::integer,
     .otherwise = "as oversubscription asks",
     .low = {1},
     .high = {4'096},
     .needs = "a network has 1 to 4096 spines, such as spines = 64",
     .applies = "tiers=2",
     .help = "Spine switches; every ToR is linked to every one."},
    {.name = "links_per_spine",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {64},
     .needs = "a ToR has 1 to 64 links to each spine",
     .applies = "tiers=2",
     .help = "Parallel links between a ToR and a spine."},
    {.name = "racks_per_pod",
     .kind = Kind::integer,
     .fallback = "16",
     .low = {1},
     .high = {4'096},
     .needs = "a pod has 1 to 4096 racks, such as racks_per_pod = 16",
     .applies = "tiers=3",
     .help = "Racks in a pod; divides the number of racks."},
    {.name = "aggs_per_pod",
     .kind = Kind::integer,
     .otherwise = "as oversubscription asks",
     .low = {1},
     .high = {4'096},
     .needs = "a pod has 1 to 4096 aggregation switches, such as aggs_per_pod = 16",
     .applies = "tiers=3",
     .help = "Aggregation switches in a pod; every ToR of the pod is linked to every one."},
    {.name = "core_oversubscription",
     .kind = Kind::fraction,
     .otherwise = "1, or what cores_per_agg makes it",
     .low = {1, 64},
     .high = {4'096},
     .needs = "it is what comes up to an aggregation switch over what its uplinks can carry, such "
              "as \"2:1\"",
     .applies = "tiers=3",
     .help = "Oversubscription of the aggregation switches; sets cores_per_agg."},
    {.name = "cores_per_agg",
     .kind = Kind::integer,
     .otherwise = "as core_oversubscription asks",
     .low = {1},
     .high = {4'096},
     .needs = "an aggregation switch is linked to 1 to 4096 cores, such as cores_per_agg = 16",
     .applies = "tiers=3",
     .help = "Core switches above each aggregation switch, the same for the a-th of every pod."},
    {.name = "link_gbps",
     .kind = Kind::rate,
     .fallback = "400",
     .low = {1'000'000},
     .high = {100 * kSecond},
     .needs = "a link needs a positive rate, such as link_gbps = 400",
     .help = "Rate of every link that has no rate of its own below."},
    {.name = "host_gbps",
     .kind = Kind::rate,
     .otherwise = "link_gbps",
     .low = {1'000'000},
     .high = {100 * kSecond},
     .needs = "a link needs a positive rate, such as host_gbps = 400",
     .help = "Rate of the links between hosts and ToRs."},
    {.name = "fabric_gbps",
     .kind = Kind::rate,
     .otherwise = "link_gbps",
     .low = {1'000'000},
     .high = {100 * kSecond},
     .needs = "a link needs a positive rate, such as fabric_gbps = 400",
     .help = "Rate of the links above ToRs."},
    {.name = "core_gbps",
     .kind = Kind::rate,
     .otherwise = "link_gbps",
     .low = {1'000'000},
     .high = {100 * kSecond},
     .needs = "a link needs a positive rate, such as core_gbps = 400",
     .applies = "tiers=3",
     .help = "Rate of the links above aggregation switches."},
    {.name = "base_rtt_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "8, or what the latencies make it",
     .low = {10 * kNanosecond},
     .high = {kSecond},
     .needs = "a base RTT is from 10 ns to 1 s, such as base_rtt_us = 8",
     .help = "A full data packet out and a SACK back over the longest path without queues, "
             "serialisation included. The links' latencies follow from it, the same for all."},
    {.name = "host_latency_ns",
     .kind = Kind::time,
     .unit = "ns",
     .otherwise = "as base_rtt_us asks",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a link's latency is from 1 ns to 1 s, such as host_latency_ns = 1000",
     .help =
         "One way, host to ToR. Latencies stand instead of base_rtt_us: give all of them or none."},
    {.name = "fabric_latency_ns",
     .kind = Kind::time,
     .unit = "ns",
     .otherwise = "as base_rtt_us asks",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a link's latency is from 1 ns to 1 s, such as fabric_latency_ns = 1000",
     .help = "One way, above ToRs."},
    {.name = "core_latency_ns",
     .kind = Kind::time,
     .unit = "ns",
     .otherwise = "as base_rtt_us asks",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a link's latency is from 1 ns to 1 s, such as core_latency_ns = 1000",
     .applies = "tiers=3",
     .help = "One way, above aggregation switches."},
    {.name = "nics_per_server",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {64},
     .needs = "a server has 1 to 64 NICs, such as nics_per_server = 8",
     .help =
         "Servers with so many NICs, each a host with a GPU of its own: NIC i of a server is at "
         "the i-th ToR of its group, its rail, and a group has hosts_per_rack servers; in a "
         "network of a file, a server's hosts follow each other. Ranks are placed server by "
         "server."},
    {.name = "server_gbps",
     .kind = Kind::rate,
     .otherwise = "3600, where servers have several NICs",
     .low = {1'000'000'000},
     .high = {1'000'000'000'000'000},
     .needs = "it is a rate of 1 to 1000000 Gb/s, such as server_gbps = 3600",
     .help = "Of a host to the others of its server, one way. That traffic is not simulated packet "
             "by packet: a message takes its time at this rate, behind those before it, and the "
             "latency."},
    {.name = "server_latency_ns",
     .kind = Kind::time,
     .unit = "ns",
     .otherwise = "host_latency_ns, where servers have several NICs",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a link's latency is from 1 ns to 1 s, such as server_latency_ns = 1000",
     .help = "One way, inside a server. Windows are as long as the smallest latency of all: a "
             "short one makes runs slower."},
};

class TopologyResolver : Resolving {
 public:
  explicit TopologyResolver(Resolution& resolution) : Resolving(resolution) {}

  /// An htsim topology gives values to keys, as if they stood in its place. The resolved scenario has
  /// those keys, so it needs no file beside it.
  void read_file() {
    Setting& setting = set_["topology.file"];
    const std::string name = set_.text("topology.file");
    if (is_network_name(name)) {
      read_network_file(r_);
      return;
    }
    const std::string path = (r_.folder / name).string();
    const auto read = workload::import_topo(beside(setting, name));
    if (!read) throw Failed{{path, read.error().line, read.error().message}};
    const auto made = workload::clos_of(read.value());
    if (!made) throw Failed{{path, made.error().line, made.error().message}};
    const workload::ClosFigures& f = made.value();

    take("topology.tiers", std::int64_t{f.tiers});
    take("topology.hosts", std::int64_t{f.racks} * f.hosts_per_rack);
    take("topology.hosts_per_rack", std::int64_t{f.hosts_per_rack});
    if (f.tiers == 2) {
      take("topology.spines", std::int64_t{f.spines});
      take("topology.links_per_spine", std::int64_t{f.links_per_spine});
    } else {
      take("topology.racks_per_pod", std::int64_t{f.racks_per_pod});
      take("topology.aggs_per_pod", std::int64_t{f.aggs_per_pod});
      take("topology.cores_per_agg", std::int64_t{f.cores_per_agg});
    }
    take("topology.host_gbps", f.host_rate);
    take("topology.fabric_gbps", f.fabric_rate);
    if (f.tiers == 3) take("topology.core_gbps", f.core_rate);
    take("topology.host_latency_ns", f.host_latency);
    take("topology.fabric_latency_ns", f.fabric_latency);
    if (f.tiers == 3) take("topology.core_latency_ns", f.core_latency);
    for (const char* id : {"topology.link_gbps", "topology.base_rtt_us"}) {
      if (!set_.given(id)) continue;
      later(id, "topology.file")
          .fail(fmt::format("{} is {}, but {} has {} of its own. leave one of the two out",
                            set_[id].key->name, set_[id].literal.found(), workload::quoted(name),
                            set_[id].key->kind == Kind::rate ? "rates" : "latencies"));
    }
    r_.topology_queue_limit = f.queue_limit;
    out_.notes.insert(out_.notes.end(), f.notes.begin(), f.notes.end());
    setting.hidden = true;
  }

  void resolve() {
    if (topology().graph != nullptr) {
      resolve_graph(r_);
    } else {
      resolve_clos();
    }
    resolve_servers(r_);
    yardsticks();
  }

 private:
  using Resolving::take;
  /// A value that the topology's file decides.
  void take(const char* id, std::int64_t value) {
    take(id, {value}, [&] { return set_.integer(id) == value; });
  }
  void take(const char* id, BitsPerSecond value) {
    std::string text = rate_literal(value);
    take(id, {text.substr(1, text.size() - 2)}, [&] { return set_.rate(id) == value; });
  }
  void take(const char* id, Picoseconds value) {
    take(id, {workload::format_time(value)}, [&] { return set_.time(id) == value; });
  }

  void resolve_clos() {
    rates_and_racks();
    if (topology().tiers == 2) {
      two_tiers();
    } else {
      three_tiers();
    }
    latencies();
  }

  BitsPerSecond rate(const char* id) {
    Setting& setting = set_[id];
    const BitsPerSecond value = set_.rate(setting.given ? id : "topology.link_gbps");
    if (value.count() % mbps(1).count() != 0) {
      (setting.given ? setting : set_["topology.link_gbps"])
          .fail_value("a rate is a whole number of Mb/s, such as 400 for 400 Gb/s");
    }
    if (!setting.given) setting.derived = gbps_text(value);
    return value;
  }

  void rates_and_racks() {
    TopologyParams& t = topology();
    t.tiers = static_cast<int>(set_.integer("topology.tiers"));
    t.host_rate = rate("topology.host_gbps");
    t.fabric_rate = rate("topology.fabric_gbps");
    t.core_rate = rate("topology.core_gbps");

    const std::uint32_t hosts = set_.count("topology.hosts");
    t.hosts_per_rack = set_.count("topology.hosts_per_rack");
    if (hosts % t.hosts_per_rack != 0) {
      const std::uint32_t below = hosts / t.hosts_per_rack * t.hosts_per_rack;
      later("topology.hosts", "topology.hosts_per_rack")
          .fail(fmt::format("hosts is {} and hosts_per_rack {}. racks are full: hosts = {} would "
                            "work",
                            hosts, t.hosts_per_rack,
                            std::max(below, t.hosts_per_rack) + t.hosts_per_rack));
    }
    t.racks = hosts / t.hosts_per_rack;
    if (t.racks < 2) {
      later("topology.hosts", "topology.hosts_per_rack")
          .fail(
              fmt::format("hosts is {} and hosts_per_rack {}, which is one rack. a network has at "
                          "least two: hosts = {} would work",
                          hosts, t.hosts_per_rack, 2 * t.hosts_per_rack));
    }
  }

  /// How many uplinks an oversubscription asks for, in whole groups of `group`; or, where their
  /// number is given, what the oversubscription then is.
  struct Uplinks {
    std::uint32_t count;
    Ratio oversubscription;
  };
  Uplinks uplinks(const char* over_id, const char* count_id, std::uint32_t below,
                  BitsPerSecond below_rate, BitsPerSecond rate, std::uint32_t group) {
    const std::int64_t down = below * (below_rate / mbps(1));
    const std::int64_t up = rate / mbps(1);
    Setting& over = set_[over_id];
    Setting& count = set_[count_id];
    if (count.given) {
      const std::uint32_t links = set_.count(count_id) * group;
      const Ratio actual = reduced(down, links * up);
      if (over.given && set_.fraction(over_id) != actual) {
        later(over_id, count_id)
            .fail(fmt::format("{} is {}, but {} {} make it {}:{}. leave one of the two out",
                              over.key->name, over.literal.found(), set_.count(count_id),
                              count.key->name, actual.num, actual.den));
      }
      if (!over.given) over.derived = ratio_text(actual);
      return {links, actual};
    }
    const bool asked = over.given;
    if (!asked) over.settle({std::int64_t{1}});
    const Ratio ratio = set_.fraction(over_id);
    const Int128 wanted = static_cast<Int128>(down) * ratio.den;
    const Int128 per_group = static_cast<Int128>(up) * ratio.num * group;
    const Int128 groups = wanted / per_group;
    if (wanted % per_group != 0 || groups < 1 || groups * group > kMostPorts) {
      const auto near = static_cast<std::int64_t>(
          std::clamp<Int128>(groups, 1, static_cast<Int128>(kMostPorts / group)));
      const Ratio works = reduced(down, near * group * up);
      const std::string found =
          asked ? fmt::format("{} is {}", over.key->name, over.literal.found())
                : fmt::format("{} is not given, which means 1:1", over.key->name);
      Setting& blamed = asked ? over : blame_for_uplinks();
      blamed.fail(
          fmt::format("{}. {} links of {} Gb/s below need whole uplinks of {} Gb/s{}: {} = "
                      "\"{}:{}\" gives {}",
                      found, below, gbps_text(below_rate), gbps_text(rate),
                      group == 1 ? "" : fmt::format(", {} to each", group), over.key->name,
                      works.num, works.den, near * group));
    }
    const auto links = static_cast<std::uint32_t>(groups * group);
    count.derived = fmt::format("{}", links / group);
    return {links, ratio};
  }
  /// With nothing said about oversubscription, what else could have led to a fraction of an uplink.
  Setting& blame_for_uplinks() {
    Setting* last = &set_["topology.link_gbps"];
    for (const char* id :
         {"topology.hosts_per_rack", "topology.host_gbps", "topology.fabric_gbps",
          "topology.core_gbps", "topology.racks_per_pod", "topology.links_per_spine"}) {
      Setting& setting = set_[id];
      if (said_after(setting, *last)) last = &setting;
    }
    return *last;
  }

  void check_size(std::uint64_t ports, std::string_view which, std::uint64_t links) {
    Setting& hosts = later("topology.hosts", "topology.hosts_per_rack");
    if (ports > kMostPorts) {
      hosts.fail(
          fmt::format("the network needs {} with {} ports. a switch has at most {}: take "
                      "larger racks, or three tiers",
                      which, ports, kMostPorts));
    }
    if (links > kMostLinks) {
      hosts.fail(fmt::format("the network has {} links. at most {} are simulated: take fewer hosts",
                             links, kMostLinks));
    }
  }

  void two_tiers() {
    TopologyParams& t = topology();
    t.links_per_spine = set_.count("topology.links_per_spine");
    const Uplinks up = uplinks("topology.oversubscription", "topology.spines", t.hosts_per_rack,
                               t.host_rate, t.fabric_rate, t.links_per_spine);
    t.spines = up.count / t.links_per_spine;
    out_.oversubscription = up.oversubscription;
    r_.rack_uplinks = up.count;
    check_size(std::uint64_t{t.racks} * t.links_per_spine, "spines",
               std::uint64_t{t.racks} * (t.hosts_per_rack + up.count));
    check_size(std::uint64_t{t.hosts_per_rack} + up.count, "ToRs", 0);
  }

  void three_tiers() {
    TopologyParams& t = topology();
    t.racks_per_pod = set_.count("topology.racks_per_pod");
    if (t.racks % t.racks_per_pod != 0 || t.racks / t.racks_per_pod < 2) {
      std::uint32_t works = std::max(1u, t.racks / 2);
      while (works > 1 && t.racks % works != 0) --works;
      Setting& blamed = set_["topology.racks_per_pod"].given
                            ? set_["topology.racks_per_pod"]
                            : later("topology.hosts", "topology.tiers");
      blamed.fail(
          fmt::format("racks_per_pod is {} and there are {} racks. two or more whole pods "
                      "are needed: racks_per_pod = {} would work",
                      t.racks_per_pod, t.racks, works));
    }
    const Uplinks up = uplinks("topology.oversubscription", "topology.aggs_per_pod",
                               t.hosts_per_rack, t.host_rate, t.fabric_rate, 1);
    t.aggs_per_pod = up.count;
    out_.oversubscription = up.oversubscription;
    r_.rack_uplinks = up.count;
    const Uplinks core = uplinks("topology.core_oversubscription", "topology.cores_per_agg",
                                 t.racks_per_pod, t.fabric_rate, t.core_rate, 1);
    t.cores_per_agg = core.count;
    const std::uint64_t pods = t.racks / t.racks_per_pod;
    check_size(pods, "cores",
               std::uint64_t{t.racks} * (t.hosts_per_rack + up.count) +
                   pods * t.aggs_per_pod * t.cores_per_agg);
    check_size(std::uint64_t{t.hosts_per_rack} + up.count, "ToRs", 0);
    check_size(std::uint64_t{t.racks_per_pod} + core.count, "aggregation switches", 0);
  }

  [[nodiscard]] Picoseconds network_base_rtt() {
    return base_rtt(topology(), out_.config.hosts, r_.mtu, longest_reach(topology()));
  }

  void latencies() {
    tier_latencies();
    // All are positive, also that of a tier which is not there.
    if (topology().tiers == 2) topology().core_latency = kLeastLatency;
  }
  void tier_latencies() {
    TopologyParams& t = topology();
    struct Tier {
      const char* id;
      Picoseconds* latency;
    };
    std::vector<Tier> tiers{{"topology.host_latency_ns", &t.host_latency},
                            {"topology.fabric_latency_ns", &t.fabric_latency}};
    if (t.tiers == 3) tiers.push_back({"topology.core_latency_ns", &t.core_latency});

    Setting& rtt = set_["topology.base_rtt_us"];
    const auto given = std::find_if(tiers.begin(), tiers.end(),
                                    [this](const Tier& tier) { return set_.given(tier.id); });
    if (given != tiers.end()) {
      if (rtt.given) {
        later("topology.base_rtt_us", given->id)
            .fail(fmt::format("both base_rtt_us and {} are set. one follows from the other: leave "
                              "one out",
                              set_[given->id].key->name));
      }
      for (const Tier& tier : tiers) {
        if (!set_.given(tier.id)) {
          set_[given->id].fail(
              fmt::format("{} is set, but {} is not. give all latencies, or "
                          "base_rtt_us instead",
                          set_[given->id].key->name, set_[tier.id].key->name));
        }
        *tier.latency = set_.time(tier.id);
      }
      out_.base_rtt = network_base_rtt();
      rtt.derived = time_literal(out_.base_rtt);
      return;
    }

    // Each tier is crossed twice on the way out and twice on the way back.
    const bool asked = rtt.given;
    if (!asked) rtt.settle({std::int64_t{8}});
    const Picoseconds wanted = set_.time("topology.base_rtt_us");
    const auto parts = static_cast<std::int64_t>(tiers.size());
    // The latencies are still zero: this is what packets take on the wires alone.
    const Picoseconds fixed = network_base_rtt();
    const Picoseconds least = fixed + 4 * parts * kLeastLatency;
    if (wanted < least) {
      const std::string remedy = fmt::format(
          "on this path packets alone take {} on the wire: base_rtt_us = {} or more would work",
          workload::format_time(fixed), (least.count() + us(1).count() - 1) / us(1).count());
      if (asked) rtt.fail_value(remedy);
      later("topology.link_gbps", "transport.mtu")
          .fail(fmt::format("base_rtt_us is not given, which means 8. {}", remedy));
    }
    const Picoseconds sum = (wanted - fixed) / 4;
    for (const Tier& tier : tiers) *tier.latency = sum / parts;
    t.host_latency += sum - parts * (sum / parts);
    out_.base_rtt = network_base_rtt();
    for (const Tier& tier : tiers) set_[tier.id].derived = time_literal(*tier.latency);
  }

  void yardsticks() {
    out_.bdp = topology().host_rate * out_.base_rtt;
    const Yardsticks yardsticks{out_.bdp, out_.base_rtt, r_.mtu};
    set_.set_yardsticks(yardsticks);
    for (Group& group : r_.all.workloads) group.set_yardsticks(yardsticks);
    for (Group& group : r_.all.failures) group.set_yardsticks(yardsticks);
    for (Group& group : r_.all.impairments) group.set_yardsticks(yardsticks);
  }
};

}  // namespace

const SectionKeys kTopologySection{{"topology", false,
                                    "The network: a Clos of two or three switch tiers, or any "
                                    "graph from a file. Host h is in rack "
                                    "h / hosts_per_rack."},
                                   kKeys};
void read_topology_file(Resolution& resolution) { TopologyResolver(resolution).read_file(); }
void resolve_topology(Resolution& resolution) { TopologyResolver(resolution).resolve(); }

}  // namespace strack::sim
