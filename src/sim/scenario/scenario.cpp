#include "sim/scenario/scenario.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "sim/base_rtt.h"
#include "sim/net/sim_packet.h"
#include "sim/net/topology.h"
#include "sim/scenario/files.h"
#include "sim/scenario/lossless.h"
#include "sim/scenario/settings.h"
#include "sim/scenario/toml_text.h"
#include "sim/scenario/trace_scenario.h"
#include "workload/flow_list.h"
#include "workload/formats/topo_import.h"
#include "workload/formats/trace.h"
#include "workload/generators.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

std::uint64_t fingerprint(const workload::Flows& flows) {
  std::uint64_t value = 0;
  for (const workload::Flow& flow : flows) {
    for (const std::uint64_t part :
         {std::uint64_t{flow.src}, std::uint64_t{flow.dst},
          static_cast<std::uint64_t>(flow.size.value), static_cast<std::uint64_t>(flow.start.ps)}) {
      value = mix64(value ^ part);
    }
  }
  return value;
}

namespace fs = std::filesystem;

constexpr std::uint64_t kMostLinks = 1u << 26;
constexpr std::uint64_t kMostPorts = 65'535;  // of a switch
constexpr std::uint64_t kMostArrivals = 50'000'000;
constexpr Bytes kLargestFlow = bytes((std::int64_t{1} << 32) - 1);
/// What make_collective accepts, by its own measure.
constexpr Picoseconds kLeastLatency = ns(1);

[[nodiscard]] std::string ratio_text(Ratio ratio) {
  return ratio.den == 1 ? fmt::format("{}", ratio.num)
                        : fmt::format("\"{}:{}\"", ratio.num, ratio.den);
}
[[nodiscard]] std::string gbps_text(BitsPerSecond rate) {
  std::string text = fmt::format("{}.{:03}", rate / gbps(1), rate / mbps(1) % 1'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}
/// Exactly, as a value of a scenario file.
[[nodiscard]] std::string rate_literal(BitsPerSecond rate) {
  const BitsPerSecond unit = rate >= gbps(1) ? gbps(1) : mbps(1);
  std::string text =
      fmt::format("{}.{:0{}}", rate / unit, rate.count() % unit.count(), unit == gbps(1) ? 9 : 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return fmt::format("\"{} {}\"", text, unit == gbps(1) ? "Gb/s" : "Mb/s");
}
[[nodiscard]] Ratio reduced(std::int64_t num, std::int64_t den) {
  const std::int64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

/// Up to so many messages of a trace are recorded without being asked for.
constexpr std::uint32_t kMostMessagesRecorded = 200'000;

/// Makes the plain values of a scenario from its settings, section by section, and checks what
/// spans keys.
class Resolver {
 public:
  Resolver(Settings& settings, std::string file, fs::path folder)
      : all_(settings), set_(settings.plain), file_(std::move(file)), folder_(std::move(folder)) {}

  Scenario resolve() {
    if (set_.given("topology.file")) topology_file();
    set_.check_applies();
    top();
    rates_and_racks();
    if (topology().tiers == 2) {
      two_tiers();
    } else {
      three_tiers();
    }
    packets();
    latencies();
    yardsticks();
    scheme();
    switches();
    hosts();
    transport();
    rocev2();
    pfc();
    run();
    workload();
    for (Group& group : all_.failures) failure(group);
    for (Group& group : all_.impairments) impairment(group);
    record();
    out_.resolved = all_.to_toml();
    out_.settings = all_.list();
    if (out_.workload.kind == WorkloadKind::file) {
      // The text names the list; what was in it is part of what was run.
      out_.resolved += fmt::format("\n# the flow list: {} flows, fingerprint {:016x}\n",
                                   out_.workload.list.size(), fingerprint(out_.workload.list));
    }
    if (out_.workload.kind == WorkloadKind::trace) {
      const workload::Graph& graph = *out_.workload.graph;
      out_.resolved += fmt::format("\n# the trace: {} ranks, {} messages, fingerprint {:016x}\n",
                                   graph.ranks(), graph.messages(), workload::fingerprint(graph));
      for (const LinkRef& link : trace_failures_) {
        out_.resolved += fmt::format("# failed by the trace: {} {}, uplink {}\n",
                                     link.tier == LinkRef::Tier::fabric ? "rack" : "agg",
                                     link.lower, link.upper);
      }
    }
    return std::move(out_);
  }

 private:
  TopologyParams& topology() { return out_.config.topology; }

  /// Whether the first was said after the second; overrides come after the file.
  [[nodiscard]] bool said_after(const Setting& first, const Setting& second) const {
    if (first.given != second.given) return first.given;
    const bool first_overrides = first.file != file_;
    const bool second_overrides = second.file != file_;
    if (first_overrides != second_overrides) return first_overrides;
    return first.line > second.line;
  }
  /// Whichever of two settings was said last takes the blame for a contradiction between them.
  Setting& later(std::string_view a, std::string_view b) {
    return said_after(set_[a], set_[b]) ? set_[a] : set_[b];
  }

  /// The first of several settings that was said; one of them was.
  Setting& said(std::initializer_list<const char*> ids) {
    for (const char* id : ids) {
      if (set_.given(id)) return set_[id];
    }
    return set_[*(ids.end() - 1)];
  }

  /// Whichever of several settings was said last.
  Setting& last_said(std::initializer_list<const char*> ids) {
    Setting* last = &set_[*ids.begin()];
    for (const char* id : ids) {
      if (said_after(set_[id], *last)) last = &set_[id];
    }
    return *last;
  }

  void top() {
    if (!set_.given("name")) {
      const std::string stem = fs::path(file_).stem().string();
      set_["name"].settle({is_text(stem) ? stem : "scenario"});
    }
    out_.name = set_.text("name");
    out_.description = set_.text("description");
  }

  // --- topology

  /// An htsim topology gives values to keys, as if they stood in its place. The resolved scenario has
  /// those keys, so it needs no file beside it.
  void topology_file() {
    Setting& setting = set_["topology.file"];
    const std::string name = set_.text("topology.file");
    const std::string path = (folder_ / name).string();
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
    topology_queue_limit_ = f.queue_limit;
    out_.notes.insert(out_.notes.end(), f.notes.begin(), f.notes.end());
    setting.hidden = true;
  }
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
  template <class Agrees>
  void take(const char* id, Literal literal, const Agrees& agrees) {
    Setting& setting = set_[id];
    const Setting& file = set_["topology.file"];
    if (!setting.given) {
      setting.assign(std::move(literal), file.file, file.line);
    } else if (!agrees()) {
      later(id, "topology.file")
          .fail(fmt::format("{} is {}, but {} makes it {}. leave one of the two out",
                            setting.key->name, setting.literal.found(), file.literal.found(),
                            literal.found()));
    }
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
    rack_uplinks_ = up.count;
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
    rack_uplinks_ = up.count;
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

  void packets() {
    out_.config.hosts.data_header = set_.size("host.data_header");
    out_.config.hosts.control_size = set_.size("host.control_size");
    mtu_ = set_.size("transport.mtu");
  }

  [[nodiscard]] Picoseconds network_base_rtt() {
    return base_rtt(topology(), out_.config.hosts, mtu_, longest_reach(topology()));
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
  [[nodiscard]] static std::string time_literal(Picoseconds time) {
    return toml_string(workload::format_time(time));
  }
  [[nodiscard]] static std::string size_literal(Bytes size) {
    return fmt::format("{}", size.count());
  }

  void yardsticks() {
    out_.bdp = topology().host_rate * out_.base_rtt;
    const Yardsticks yardsticks{out_.bdp, out_.base_rtt, mtu_};
    set_.set_yardsticks(yardsticks);
    for (Group& group : all_.failures) group.set_yardsticks(yardsticks);
    for (Group& group : all_.impairments) group.set_yardsticks(yardsticks);
  }

  // --- switch, host

  void scheme() {
    out_.scheme = set_.choice<Scheme>("transport.scheme");
    out_.config.protocol = is_roce() ? Protocol::roce : Protocol::strack;
  }
  [[nodiscard]] bool is_roce() const { return out_.scheme == Scheme::rocev2; }

  void switches() {
    SwitchParams& s = out_.config.switches;
    const std::string from = is_roce() ? "rocev2." : "switch.";
    s.kmin = set_.size(from + "kmin");
    s.kmax = set_.size(from + "kmax");
    s.pmax = set_.fraction(from + "pmax");
    if (topology_queue_limit_) {
      // Only now are BDP and the like known, in which it may have been given.
      const Bytes limit = *topology_queue_limit_;
      take("switch.queue_limit", {limit.count()},
           [&] { return set_.size("switch.queue_limit") == limit; });
    }
    s.queue_limit = set_.size("switch.queue_limit");
    s.control_priority = set_.flag("switch.control_priority");
    out_.config.failures.convergence = set_.time("switch.convergence_us");
    if (s.kmin > s.kmax) {
      later(from + "kmin", from + "kmax")
          .fail(
              fmt::format("kmin is {} and kmax {}. marks begin at kmin, so kmax must not be below "
                          "it",
                          workload::format_size(s.kmin), workload::format_size(s.kmax)));
    }
    const Bytes packet = mtu_ + out_.config.hosts.data_header;
    if (s.queue_limit < packet) {
      later("switch.queue_limit", "transport.mtu")
          .fail(fmt::format("queue_limit is {}. a queue must hold a packet of {} bytes, or all are "
                            "dropped",
                            workload::format_size(s.queue_limit), packet.count()));
    }
  }

  void hosts() {
    HostParams& h = out_.config.hosts;
    h.start_jitter = set_.time("host.start_jitter_us");
    h.straggler_share = set_.fraction("host.straggler_share");
    h.straggler_rate = set_.fraction("host.straggler_rate");
    if (h.straggler_share.num > 0 && h.straggler_rate == Ratio{1, 1}) {
      set_["host.straggler_share"].fail(
          fmt::format("straggler_share is {}, but straggler_rate is 1, so nobody is slow. set "
                      "straggler_rate, such as straggler_rate = 0.5",
                      set_["host.straggler_share"].literal.found()));
    }
    if (h.straggler_share.num == 0 && h.straggler_rate != Ratio{1, 1}) {
      set_["host.straggler_rate"].fail(
          fmt::format("straggler_rate is {}, but straggler_share is 0, so nobody is slow. set "
                      "straggler_share, such as straggler_share = 0.01",
                      set_["host.straggler_rate"].literal.found()));
    }
  }

  // --- transport

  core::StrackParams checked(const Result<core::StrackParams, core::ParamError>& params) {
    if (params) return params.value();
    const core::ParamError& error = params.error();
    const std::string field = error.field;
    const std::string message =
        fmt::format("{} would be {}. it must be {}", field, error.value, error.remedy);
    if (field == "rate") set_["topology.link_gbps"].fail(message);
    if (field == "net_base_rtt")
      later("topology.base_rtt_us", "topology.host_latency_ns").fail(message);
    for (const std::string& name : {field, field + "_us"}) {
      if (Setting* setting = set_.find("transport", name); setting != nullptr && setting->given)
        setting->fail(message);
    }
    throw Failed{{file_, 0, message}};
  }

  void transport() {
    core::StrackParams& p = out_.config.transport;
    p = checked(core::StrackParams::for_link(topology().host_rate, out_.base_rtt, mtu_));

    Setting& policy = set_["transport.path_policy"];
    if (out_.scheme == Scheme::strack_oblivious) p.path_policy = core::PathPolicy::oblivious;
    if (policy.given) {
      const auto asked = set_.choice<core::PathPolicy>("transport.path_policy");
      const bool oblivious = asked == core::PathPolicy::oblivious;
      if (!is_roce() && oblivious != (out_.scheme == Scheme::strack_oblivious)) {
        later("transport.path_policy", "transport.scheme")
            .fail(fmt::format(
                "path_policy is {}, but the scheme is {}. {}", policy.literal.found(),
                set_["transport.scheme"].literal.found(),
                oblivious ? "say scheme = \"strack-oblivious\"" : "leave one of the two out"));
      }
      p.path_policy = asked;
    } else {
      policy.derived =
          p.path_policy == core::PathPolicy::oblivious ? "\"oblivious\"" : "\"adaptive\"";
    }
    Setting& paths = set_["transport.max_paths"];
    if (out_.scheme == Scheme::strack_single_path) p.max_paths = 1;
    if (paths.given) {
      if (out_.scheme == Scheme::strack_single_path && set_.count("transport.max_paths") != 1) {
        later("transport.max_paths", "transport.scheme")
            .fail(
                fmt::format("max_paths is {}, but the scheme is \"strack-single-path\". leave one "
                            "of the two out",
                            set_.count("transport.max_paths")));
      }
      p.max_paths = set_.count("transport.max_paths");
    } else {
      paths.derived = fmt::format("{}", p.max_paths);
    }
    p.min_paths = set_.count("transport.min_paths");
    p.recycle_moves_rotation = set_.flag("transport.recycle_moves_rotation");
    p.ecn_bitmap_reset = set_.time("transport.ecn_bitmap_reset_us");

    p.target_qdelay = set_.time("transport.target_qdelay_us");
    p.target_qhigh = 3 * p.target_qdelay;
    follow_time("transport.target_qhigh_us", p.target_qhigh);
    const Ratio ewma = set_.fraction("transport.ewma");
    p.ewma_q16 = Ratio{ewma.num, ewma.den}.of(65'536);
    follow_size("transport.alpha", p.alpha);
    follow_size("transport.beta", p.beta);
    follow_size("transport.eta", p.eta);
    p.gamma = set_.fraction("transport.gamma");
    if (p.gamma.den > 1'000'000)
      set_["transport.gamma"].fail_value(set_["transport.gamma"].key->needs);

    p.tracking_window = set_.count("transport.tracking_window");
    p.min_cwnd = set_.size("transport.min_cwnd");
    p.max_cwnd = std::clamp(p.bdp, mtu_, std::int64_t{p.tracking_window} * mtu_);
    if (!set_.given("transport.max_cwnd")) p.max_cwnd = std::max(p.max_cwnd, p.min_cwnd);
    follow_size("transport.max_cwnd", p.max_cwnd);
    p.increase_rule = set_.choice<core::IncreaseRule>("transport.increase_rule");
    p.window_rule = set_.choice<core::WindowRule>("transport.window_rule");

    p.sack_bytes = set_.size("transport.sack_bytes");
    p.sack_on_epsn = set_.flag("transport.sack_on_epsn");
    p.echo_rule = set_.choice<core::EchoRule>("transport.echo_rule");

    p.ooo_cwnd = set_.fraction("transport.ooo_cwnd");
    p.ooo_min = set_.count("transport.ooo_min");
    p.probe_interval = set_.time("transport.probe_interval_us");
    p.probe_rtt_limit = set_.time("transport.probe_rtt_limit_us");
    p.probe_recovers = set_.choice<core::ProbeRecovers>("transport.probe_recovers");
    p.rto = set_.time("transport.rto_us");
    p.rto_backoff_max = set_.count("transport.rto_backoff_max");
    p = checked(p.validated());
  }
  void follow_size(const char* id, Bytes& value) {
    if (set_.given(id)) {
      value = set_.size(id);
    } else {
      set_[id].derived = size_literal(value);
    }
  }
  void follow_time(const char* id, Picoseconds& value) {
    if (set_.given(id)) {
      value = set_.time(id);
    } else {
      set_[id].derived = time_literal(value);
    }
  }

  void follow_rate(const char* id, BitsPerSecond& value) {
    if (set_.given(id)) {
      value = set_.rate(id);
    } else {
      set_[id].derived = rate_literal(value);
    }
  }

  // --- rocev2, pfc

  /// What the core refuses is reported at the key it is about.
  [[noreturn]] void fail_roce(const core::ParamError& error) {
    std::string field = error.field;
    if (field.starts_with("dcqcn_")) field.erase(0, 6);
    for (const std::string& name : {field, field + "_us"}) {
      const Setting* setting = set_.find("rocev2", name);
      if (setting != nullptr && setting->given)
        setting->fail_value(fmt::format("it must be {}", error.remedy));
    }
    throw Failed{
        {file_, 0, fmt::format("{} would be {}. it must be {}", field, error.value, error.remedy)}};
  }

  void rocev2() {
    const BitsPerSecond line_rate = topology().host_rate;
    // Without rate control first: a set's constants may not suit this link until the file's own
    // have taken their place, and only the whole is checked.
    const auto plain =
        core::RoceParams::for_link(line_rate, out_.base_rtt, mtu_, core::DcqcnSet::off);
    if (!plain) fail_roce(plain.error());
    core::RoceParams& p = out_.config.roce;
    p = plain.value();
    p.header = out_.config.hosts.data_header;
    p.qps_per_conn = set_.count("rocev2.qps_per_conn");
    p.stripe_packets = set_.count("rocev2.stripe_packets");
    p.ack_bytes = set_.size("rocev2.ack_bytes");
    p.ack_interval = set_.time("rocev2.ack_interval_us");
    p.nak_interval = set_.time("rocev2.nak_interval_us");
    follow_time("rocev2.rto_us", p.rto);
    p.max_outstanding = set_.count("rocev2.max_outstanding");
    if (p.ack_bytes > std::int64_t{p.max_outstanding} * mtu_) {
      later("rocev2.max_outstanding", "rocev2.ack_bytes")
          .fail(fmt::format(
              "max_outstanding is {} and ack_bytes {}. a sender that may send no more "
              "would wait for an ACK that is not owed yet: ack_bytes = \"{} MTU\" or "
              "less would work",
              p.max_outstanding, workload::format_size(p.ack_bytes), p.max_outstanding));
    }

    const auto named = set_.choice<core::DcqcnSet>("rocev2.dcqcn");
    core::DcqcnParams& d = p.dcqcn;
    d = core::DcqcnParams::named(named, line_rate);
    Setting& variant = set_["rocev2.variant"];
    if (variant.given) {
      d.variant = set_.choice<core::DcqcnVariant>("rocev2.variant");
    } else {
      constexpr std::array<std::string_view, 3> kWords{"\"off\"", "\"paper\"", "\"nic\""};
      variant.derived = kWords[static_cast<std::size_t>(d.variant)];
    }
    Setting& g = set_["rocev2.g"];
    if (g.given) {
      d.g = set_.fraction("rocev2.g");
    } else {
      g.derived = fmt::format("\"{}/{}\"", d.g.num, d.g.den);
    }
    follow_time("rocev2.alpha_timer_us", d.alpha_timer);
    follow_time("rocev2.decrease_interval_us", d.decrease_interval);
    follow_time("rocev2.increase_timer_us", d.increase_timer);
    follow_size("rocev2.byte_counter", d.byte_counter);
    Setting& fast = set_["rocev2.fast_recovery"];
    if (fast.given) {
      d.fast_recovery = set_.count("rocev2.fast_recovery");
    } else {
      fast.derived = fmt::format("{}", d.fast_recovery);
    }
    follow_rate("rocev2.rate_ai", d.rate_ai);
    follow_rate("rocev2.rate_hai", d.rate_hai);
    follow_rate("rocev2.min_rate", d.min_rate);
    follow_time("rocev2.cnp_interval_us", d.cnp_interval);

    // Nobody reads it otherwise, and what nobody reads stops no run.
    if (!is_roce()) return;
    if (d.g.den > 1'000'000) g.fail_value(g.key->needs);
    if (named == core::DcqcnSet::off && d.variant != core::DcqcnVariant::off) {
      later("rocev2.variant", "rocev2.dcqcn")
          .fail(fmt::format("variant is {}, but dcqcn is \"off\", which has no constants for it. "
                            "name a set, such as dcqcn = \"paper2015\"",
                            variant.literal.found()));
    }
    const auto checked = p.validated();
    if (!checked) fail_roce(checked.error());
  }

  void pfc() {
    PfcParams& p = out_.config.pfc;
    Setting& enabled = set_["pfc.enabled"];
    p.enabled = enabled.given ? set_.flag("pfc.enabled") : is_roce();
    if (!enabled.given) enabled.derived = p.enabled ? "true" : "false";
    p.buffer_per_tbps = set_.size("pfc.buffer_per_tbps");
    p.alpha = set_.fraction("pfc.alpha");
    p.reserve = set_.size("pfc.reserve");
    if (set_.given("pfc.headroom")) p.headroom = set_.size("pfc.headroom");
    p.xon_offset = set_.size("pfc.xon_offset");
    p.quanta = set_.count("pfc.quanta");
    const std::vector<BufferPlan> plans = buffer_plans(out_.config);
    if (!set_.given("pfc.headroom")) {
      // One key, but each port's follows from its own link: that of the hosts' is shown.
      set_["pfc.headroom"].derived = size_literal(plans.front().groups.front().headroom);
    }
    if (!p.enabled) return;
    if (!out_.config.switches.control_priority) {
      // To blame is the last of all that turned both on.
      last_said({"switch.control_priority", "pfc.enabled", "transport.scheme"})
          .fail(fmt::format(
              "control_priority is false, but {}. a lossless switch has a class of "
              "its own for control packets: leave control_priority out, or set "
              "enabled = false in [pfc]",
              enabled.given ? "PFC is enabled" : "PFC is enabled, as the scheme rocev2 asks"));
    }
    for (const BufferPlan& plan : plans) check_buffer(plan);
    // A pause is renewed at half its time; the frame that does so must have left by its end, behind
    // the packet that may be in service then.
    const Bytes before_end = mtu_ + out_.config.hosts.data_header + p.frame;
    const std::int64_t least = 2 * 8 * before_end.count() / 512 + 1;
    if (p.quanta < least) {
      set_["pfc.quanta"].fail_value(
          fmt::format("a pause of {} bit times ends before a frame behind a packet of {} bytes can "
                      "renew it: quanta = {} or more would work",
                      512 * p.quanta, (before_end - p.frame).count(), least));
    }
  }

  void check_buffer(const BufferPlan& plan) {
    const PfcParams& p = out_.config.pfc;
    if (plan.ports() > kMaxPorts) {
      later("topology.hosts", "topology.hosts_per_rack")
          .fail(fmt::format("the network needs a {} with {} ports. a switch with PFC has at most "
                            "{}: take larger racks, or three tiers",
                            plan.tier, plan.ports(), kMaxPorts));
    }
    const Bytes packet = mtu_ + out_.config.hosts.data_header;
    // With nothing to share, every packet would start a pause.
    const Bytes needed = plan.kept + packet;
    if (plan.buffer >= needed) return;
    // To blame is the last thing said of all that makes a buffer small or a headroom large.
    Setting* last = &set_["pfc.enabled"];
    for (const char* id :
         {"transport.scheme", "topology.link_gbps", "topology.base_rtt_us",
          "topology.host_latency_ns", "topology.fabric_latency_ns", "topology.core_latency_ns",
          "pfc.buffer_per_tbps", "pfc.reserve", "pfc.headroom"}) {
      if (said_after(set_[id], *last)) last = &set_[id];
    }
    const Int128 exact = static_cast<Int128>(needed.count()) * p.buffer_per_tbps.count() /
                             std::max<std::int64_t>(1, plan.buffer.count()) +
                         1;
    const Int128 works = (exact + kb(1).count() - 1) / kb(1).count() * kb(1).count();
    const Ratio most = set_["pfc.buffer_per_tbps"].key->high;
    last->fail(fmt::format(
        "{} {} with {} ports has a buffer of {} for PFC, and the headroom and reserves of its "
        "ports take {}. {}",
        plan.tier.starts_with('a') ? "an" : "a", plan.tier, plan.ports(),
        workload::format_size(whole_kb(plan.buffer)),
        workload::format_size(whole_kb(plan.kept + kb(1) - bytes(1))),
        works > most.num
            ? "take a shorter base_rtt_us, or set a smaller headroom"
            : fmt::format("buffer_per_tbps = \"{}\" would work",
                          workload::format_size(bytes(static_cast<std::int64_t>(works))))));
  }
  /// Down to a figure that people can read.
  [[nodiscard]] static Bytes whole_kb(Bytes size) { return size / kb(1) * kb(1); }

  // --- run

  void run() {
    Setting& seed = set_["run.seed"];
    Setting& seeds = set_["run.seeds"];
    if (seed.given && seeds.given)
      later("run.seed", "run.seeds").fail("both seed and seeds are set. leave one out");
    if (seeds.given) {
      for (const std::int64_t value : std::get<std::vector<std::int64_t>>(seeds.value))
        out_.seeds.push_back(static_cast<std::uint64_t>(value));
      std::vector<std::uint64_t> sorted = out_.seeds;
      std::sort(sorted.begin(), sorted.end());
      if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
          twice != sorted.end()) {
        seeds.fail(fmt::format("seeds has {} twice. that run would only repeat itself", *twice));
      }
    } else {
      if (!seed.given) seed.settle({std::int64_t{1}});
      out_.seeds = {static_cast<std::uint64_t>(set_.integer("run.seed"))};
    }
    out_.config.seed = out_.seeds.front();
    out_.config.threads = set_.count("run.threads");
    if (set_.given("run.end_ms")) out_.config.end = at(set_.time("run.end_ms"));
  }

  /// A start must lie before the end of the run.
  void check_before_end(Instant start, const Setting& setting, std::string_view what) {
    if (start < out_.config.end) return;
    setting.fail(fmt::format("{} {}, but the run ends at {}. set a later end_ms, or leave it out",
                             what, workload::format_time(start - Instant{}),
                             workload::format_time(out_.config.end - Instant{})));
  }

  // --- workload

  void workload() {
    WorkloadSpec& w = out_.workload;
    w.kind = set_.choice<WorkloadKind>("workload.kind");
    w.start = at(set_.time("workload.start_us"));
    if (set_.given("workload.start_us"))
      check_before_end(w.start, set_["workload.start_us"],
                       has_jobs() ? "jobs start at" : "flows start at");
    switch (w.kind) {
      case WorkloadKind::permutation:
        w.size = flow_size();
        w.cross_rack = set_.flag("workload.cross_rack");
        break;
      case WorkloadKind::incast:
        incast();
        break;
      case WorkloadKind::random:
        random();
        break;
      case WorkloadKind::file:
        flow_list();
        break;
      case WorkloadKind::collective:
        collective();
        break;
      case WorkloadKind::trace:
        trace();
        break;
    }
  }
  [[nodiscard]] bool has_jobs() const {
    return out_.workload.kind == WorkloadKind::collective ||
           out_.workload.kind == WorkloadKind::trace;
  }
  void placement(workload::Placement usual) {
    Setting& setting = set_["workload.placement"];
    if (!setting.given) setting.settle({std::string(workload::name_of(usual))});
    out_.workload.placement = set_.choice<workload::Placement>("workload.placement");
  }

  /// The key serves collectives too, whose buffers may be larger than any one message.
  Bytes flow_size() {
    const Bytes size = set_.size("workload.size");
    if (size > kLargestFlow) set_["workload.size"].fail_value(set_["workload.size"].key->needs);
    return size;
  }

  void collective() {
    WorkloadSpec& w = out_.workload;
    workload::CollectiveParams& p = w.collective;
    p.collective = set_.choice<workload::Collective>("workload.collective");
    p.size = set_.size("workload.size");
    p.chunk = set_.size("workload.chunk");
    if (p.collective == workload::Collective::alltoall)
      p.parallel = set_.count("workload.parallel");
    placement(workload::Placement::random);
    ranks_and_jobs();

    // What make_collective would refuse is refused here, at its key and before anything is made.
    Setting& ranks = set_["workload.ranks"];
    if (p.collective == workload::Collective::allreduce_halving_doubling &&
        !std::has_single_bit(p.ranks)) {
      Setting& blamed = ranks.given ? later("workload.ranks", "workload.collective")
                                    : last_said({"workload.collective", "workload.jobs",
                                                 "topology.hosts", "topology.hosts_per_rack"});
      blamed.fail(fmt::format("{}. halving-doubling works for powers of two: ranks = {} would work",
                              ranks_found(), std::bit_floor(p.ranks)));
    }
    if (workload::too_many_messages(p)) {
      last_said({"workload.size", "workload.chunk", "workload.ranks", "workload.jobs",
                 "topology.hosts", "workload.kind"})
          .fail(fmt::format("a job would send some {} messages. that is too many: take a larger "
                            "chunk, a smaller size or fewer ranks",
                            workload::size_of(p).messages));
    }
  }

  void ranks_and_jobs() {
    WorkloadSpec& w = out_.workload;
    const std::uint32_t hosts = topology().hosts();
    w.jobs = set_.count("workload.jobs");
    Setting& ranks = set_["workload.ranks"];
    const std::uint32_t most = hosts / w.jobs;
    const std::string works =
        most >= 2 ? fmt::format("ranks = {}", most) : fmt::format("jobs = {}", hosts / 2);
    if (ranks.given) {
      w.collective.ranks = set_.count("workload.ranks");
      if (w.collective.ranks > most) {
        last_said({"workload.ranks", "workload.jobs", "topology.hosts"})
            .fail(fmt::format("jobs is {} and ranks {}, which takes {} hosts, one for each rank. "
                              "there are {}: {} would work",
                              w.jobs, w.collective.ranks,
                              std::uint64_t{w.jobs} * w.collective.ranks, hosts, works));
      }
      return;
    }
    w.collective.ranks = most;
    if (most < 2) {
      later("workload.jobs", "topology.hosts")
          .fail(fmt::format("jobs is {} and hosts {}. a job has at least 2 ranks, each on a host "
                            "of its own: {} would work",
                            w.jobs, hosts, works));
    }
    ranks.derived = fmt::format("{}", most);
  }
  [[nodiscard]] std::string ranks_found() {
    const std::uint32_t ranks = out_.workload.collective.ranks;
    return set_.given("workload.ranks") ? fmt::format("ranks is {}", ranks)
                                        : fmt::format("ranks is not given, which means {}", ranks);
  }

  void incast() {
    WorkloadSpec& w = out_.workload;
    const TopologyParams& t = topology();
    w.size = flow_size();
    w.fan_in = set_.count("workload.fan_in");
    w.receiver = set_.count("workload.receiver");
    if (w.receiver >= t.hosts()) {
      set_["workload.receiver"].fail_value(fmt::format(
          "there are {} hosts, so a receiver is from 0 to {}", t.hosts(), t.hosts() - 1));
    }
    const std::uint32_t others = t.hosts() - t.hosts_per_rack;
    if (w.fan_in > others) {
      later("workload.fan_in", "topology.hosts")
          .fail(fmt::format("fan_in is {}. senders are in other racks than the receiver, and there "
                            "are {} such hosts: fan_in = {} or more hosts would work",
                            w.fan_in, others, others));
    }
  }

  workload::SizeDistribution sizes() {
    // One way to say it at a time.
    std::string_view used;
    for (const char* id :
         {"workload.size", "workload.size_min", "workload.cdf", "workload.cdf_file"}) {
      const Setting& setting = set_[id];
      if (!setting.given) continue;
      if (!used.empty()) {
        later(std::string("workload.").append(used), id)
            .fail(fmt::format("both {} and {} are set. sizes follow from one: leave the other out",
                              used, setting.key->name));
      }
      used = setting.key->name;
    }
    if (set_.given("workload.size_min") != set_.given("workload.size_max")) {
      later("workload.size_min", "workload.size_max")
          .fail(
              "only one of size_min and size_max is set. sizes are uniform between the two: give "
              "both");
    }
    if (!used.empty() && used != "size") set_["workload.size"].hidden = true;
    if (used == "size_min") {
      const Bytes low = set_.size("workload.size_min");
      const Bytes high = set_.size("workload.size_max");
      if (low > high) {
        later("workload.size_min", "workload.size_max")
            .fail(fmt::format("size_min is {} and size_max {}. size_max must not be below size_min",
                              workload::format_size(low), workload::format_size(high)));
      }
      return workload::SizeDistribution::uniform(low, high);
    }
    if (used == "cdf") {
      const Setting& setting = set_["workload.cdf"];
      auto distribution = workload::SizeDistribution::from_points(
          std::get<std::vector<workload::CdfPoint>>(setting.value));
      if (!distribution) {
        setting.fail(fmt::format("point {} of cdf: {}", distribution.error().point + 1,
                                 distribution.error().message));
      }
      return distribution.value();
    }
    if (used == "cdf_file") return cdf_file();
    return workload::SizeDistribution::fixed(flow_size());
  }

  workload::SizeDistribution cdf_file() {
    Setting& setting = set_["workload.cdf_file"];
    const std::string name = set_.text("workload.cdf_file");
    const std::string text = beside(setting, name);
    const auto distribution = workload::parse_cdf(text);
    if (!distribution) {
      throw Failed{
          {(folder_ / name).string(), distribution.error().line, distribution.error().message}};
    }
    // The resolved scenario has the points themselves, so it needs no file beside it.
    std::vector<Literal> points;
    for (const workload::CdfPoint& point : distribution.value().points()) {
      const double probability =
          static_cast<double>(point.cumulative) / static_cast<double>(workload::kCertain);
      points.push_back({std::vector<Literal>{{point.size.count()}, {probability}}});
    }
    set_["workload.cdf"].assign({std::move(points)}, setting.file, setting.line);
    setting.hidden = true;
    return distribution.value();
  }

  /// The text of a file that a setting names.
  std::string beside(const Setting& setting, const std::string& name) {
    auto text = read_file(folder_ / name);
    if (!text) {
      setting.fail(fmt::format("{} is {}: {}", setting.key->name, workload::quoted(name),
                               text.error().message));
    }
    return text.value();
  }

  void random() {
    WorkloadSpec& w = out_.workload;
    w.cross_rack = set_.flag("workload.cross_rack");
    w.load = set_.fraction("workload.load");
    if (w.load.den > workload::kLargestLoadDenominator)
      set_["workload.load"].fail_value(set_["workload.load"].key->needs);
    w.sizes = sizes();
    Setting& flows = set_["workload.flows"];
    Setting& duration = set_["workload.duration_us"];
    if (flows.given && duration.given) {
      later("workload.flows", "workload.duration_us")
          .fail("both flows and duration_us are set. one follows from the other: leave one out");
    }
    const Int128 gap_q20 = workload::mean_gap_q20(random_params(out_));
    constexpr Int128 kPicosecondQ20 = 1 << 20;
    if (gap_q20 < kPicosecondQ20) {
      said({"workload.size", "workload.size_max", "workload.cdf", "workload.load", "workload.kind"})
          .fail(
              "more than one flow would arrive per picosecond. take larger sizes, a lower load or "
              "fewer hosts");
    }
    if (flows.given) {
      w.flows = static_cast<std::uint64_t>(set_.integer("workload.flows"));
      const Int128 needed_q20 = gap_q20 * static_cast<Int128>(w.flows);
      if (needed_q20 > static_cast<Int128>(workload::kLongestArrivals.count()) << 20) {
        flows.fail_value(fmt::format(
            "at this load they take more than an hour to arrive. {} flows "
            "or a higher load would work",
            std::max<std::int64_t>(
                1,
                static_cast<std::int64_t>(
                    (static_cast<Int128>(workload::kLongestArrivals.count()) << 20) / gap_q20))));
      }
      return;
    }
    if (!duration.given) duration.settle({std::int64_t{1'000}});
    w.duration = set_.time("workload.duration_us");
    const Setting& blamed = said({"workload.duration_us", "workload.load", "workload.kind"});
    if (const std::uint64_t expected = expected_flows(out_); expected > kMostArrivals) {
      blamed.fail(
          fmt::format("within duration_us some {} flows would arrive. at most {} are "
                      "simulated: take a shorter duration_us",
                      expected, kMostArrivals));
    }
    if (gap_q20 > static_cast<Int128>(workload::kLongestArrivals.count()) << 20) {
      blamed.fail("less than one flow an hour would arrive. take a higher load or smaller sizes");
    }
    if (out_.config.end != Instant::never() && w.start + w.duration > out_.config.end) {
      Setting& culprit = later("workload.duration_us", "run.end_ms");
      culprit.fail(
          fmt::format("flows arrive until {}, but the run ends at {}. take a later end_ms or "
                      "a shorter duration_us",
                      workload::format_time(w.start + w.duration - Instant{}),
                      workload::format_time(out_.config.end - Instant{})));
    }
  }

  void flow_list() {
    const Setting& setting = set_["workload.file"];
    if (!setting.given) {
      set_["workload.kind"].fail(
          "kind is \"file\", but no file is named. say which, such as file = \"flows.txt\"");
    }
    const std::string name = set_.text("workload.file");
    const std::string path = (folder_ / name).string();
    const auto flows = workload::parse_flow_list(beside(setting, name), topology().hosts());
    if (!flows) throw Failed{{path, flows.error().line, flows.error().message}};
    out_.workload.list = flows.value();
    for (const workload::Flow& flow : out_.workload.list) {
      check_before_end(out_.workload.start + (flow.start - Instant{}), setting,
                       fmt::format("{} has a flow that starts at", workload::quoted(name)));
    }
  }

  // --- trace

  void trace() {
    const Setting& setting = set_["workload.file"];
    if (!setting.given) {
      set_["workload.kind"].fail(
          "kind is \"trace\", but no file is named. say which, such as file = \"step.goal\"");
    }
    WorkloadSpec& w = out_.workload;
    w.trace = set_.text("workload.file");
    w.jobs = 1;
    placement(workload::Placement::packed);
    workload::Trace read = read_trace_named(setting, w.trace);
    if (read.graph.ranks() > topology().hosts()) {
      later("workload.file", "topology.hosts")
          .fail(
              fmt::format("{} has {} ranks, each on a host of its own. there are {} hosts: hosts = "
                          "{} would do",
                          workload::quoted(w.trace), read.graph.ranks(), topology().hosts(),
                          full_racks(read.graph.ranks())));
    }
    for (const workload::Graph::Timed& timed : read.graph.timed()) {
      check_before_end(w.start + timed.time, setting,
                       fmt::format("{} has a message that starts at", workload::quoted(w.trace)));
    }
    for (const workload::CmFailure& failed : read.failures) trace_failure(failed);
    out_.notes.insert(out_.notes.end(), read.notes.begin(), read.notes.end());
    w.graph = std::make_shared<const workload::Graph>(std::move(read.graph));
  }

  /// The hosts of as many racks as hold so many.
  [[nodiscard]] std::uint64_t full_racks(std::uint32_t hosts) {
    const std::uint64_t rack = topology().hosts_per_rack;
    return (hosts + rack - 1) / rack * rack;
  }

  workload::Trace read_trace_named(const Setting& setting, const std::string& name) {
    workload::TraceParams params;
    params.start_unit = set_.choice<workload::CmTime>("workload.time_unit");
    params.calc_unit = set_.time("workload.calc_unit_ns");
    enum class Format : std::uint8_t { automatic, cm, goal, chakra };
    const auto format = set_.choice<Format>("workload.format");
    if (format != Format::automatic) {
      params.format = static_cast<workload::TraceFormat>(static_cast<int>(format) - 1);
    } else if (const auto by_name = workload::trace_format_of(name)) {
      params.format = *by_name;
    } else {
      setting.fail(
          fmt::format("file is {}, and its name does not say what it is. names end in .cm, "
                      ".goal, .et or .json; for another say which, such as format = \"goal\"",
                      workload::quoted(name)));
    }
    // A key that another format reads would be there without effect.
    const auto only_for = [&](const char* id, workload::TraceFormat its) {
      Setting& key = set_[id];
      if (params.format == its) return;
      if (key.given && key.literal.text() != key.key->fallback) {
        key.fail(fmt::format("{} is {}, but the trace is {}. leave it out: it is for {}",
                             key.key->name, key.literal.found(), workload::name_of(params.format),
                             workload::name_of(its)));
      }
      key.hidden = true;
    };
    only_for("workload.time_unit", workload::TraceFormat::cm);
    only_for("workload.calc_unit_ns", workload::TraceFormat::goal);
    only_for("workload.comm_groups", workload::TraceFormat::chakra);
    if (set_.given("workload.comm_groups")) {
      const std::string groups = set_.text("workload.comm_groups");
      params.comm_groups = {(folder_ / groups).string(),
                            beside(set_["workload.comm_groups"], groups)};
    }

    const auto files = trace_files(folder_ / name);
    if (!files)
      setting.fail(fmt::format("file is {}: {}", workload::quoted(name), files.error().message));
    // What is wrong with the name is said at the key, what is wrong with the text at its line.
    std::vector<workload::TraceFile> texts;
    for (const fs::path& file : files.value()) {
      auto text = read_file(file);
      if (!text) {
        setting.fail(fmt::format("file is {}: {}", workload::quoted(name), text.error().message));
      }
      texts.push_back({file.string(), std::move(text.value())});
    }
    auto read = workload::import_trace(texts, params);
    if (!read) throw Failed{{read.error().file, read.error().line, read.error().message}};
    return std::move(read.value());
  }

  /// A failed link of a connection matrix: the n-th uplink of a ToR or of an aggregation switch.
  void trace_failure(const workload::CmFailure& failed) {
    const TopologyParams& t = topology();
    const auto wrong = [&](const std::string& message) {
      throw Failed{{(folder_ / out_.workload.trace).string(), failed.line, message}};
    };
    using Tier = workload::CmFailure::Tier;
    const bool is_tor = failed.tier == Tier::tor;
    if (failed.tier == Tier::core || (!is_tor && t.tiers == 2)) {
      wrong(fmt::format(
          "a failed link of {} switch. a link is known here by the switch below it: "
          "name a {}, or leave the line out and write [[failure]] in the scenario",
          failed.tier == Tier::core ? "a core" : "an AGG", t.tiers == 2 ? "TOR" : "TOR or an AGG"));
    }
    const std::uint32_t switches = is_tor ? t.racks : t.racks / t.racks_per_pod * t.aggs_per_pod;
    const std::uint32_t uplinks = is_tor ? rack_uplinks_ : t.cores_per_agg;
    const std::string_view name = is_tor ? "TOR" : "AGG";
    if (failed.switch_id >= switches) {
      wrong(fmt::format("switch_id is {}. the network has {} {} switches, so it is from 0 to {}",
                        failed.switch_id, switches, name, switches - 1));
    }
    if (failed.link_id >= uplinks) {
      wrong(
          fmt::format("link_id is {}. it is an uplink of the switch, and a {} has {}: from 0 to "
                      "{}",
                      failed.link_id, name, uplinks, uplinks - 1));
    }
    trace_failures_.push_back(
        {is_tor ? LinkRef::Tier::fabric : LinkRef::Tier::core, failed.switch_id, failed.link_id});
    Failure f;
    f.link = trace_failures_.back();
    out_.config.failures.failures.push_back(f);
  }

  // --- failure, impairment

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
  std::string named_by(Group& group, std::initializer_list<const char*> ways) {
    const std::string section(group.array()->name);
    std::string found;
    for (const char* way : ways) {
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
    return found;
  }

  LinkRef link(Group& group, const std::string& by) {
    const TopologyParams& t = topology();
    const std::string section(group.array()->name);
    if (by == "host")
      return {LinkRef::Tier::host, below(group, section + ".host", t.hosts(), "hosts"), 0};
    if (by == "rack") {
      return {LinkRef::Tier::fabric, below(group, section + ".rack", t.racks, "racks"),
              below(group, section + ".uplink", rack_uplinks_, "uplinks of a rack")};
    }
    if (t.tiers != 3) {
      group[section + ".agg"].fail_value(
          "two tiers have no aggregation switches. name a link by rack and uplink");
    }
    const std::uint32_t aggs = t.racks / t.racks_per_pod * t.aggs_per_pod;
    return {LinkRef::Tier::core, below(group, section + ".agg", aggs, "aggregation switches"),
            below(group, section + ".uplink", t.cores_per_agg, "uplinks of an aggregation switch")};
  }

  SwitchRef switch_ref(const Setting& setting) {
    const TopologyParams& t = topology();
    const std::string& text = std::get<std::string>(setting.value);
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
          rack_uplinks_, drawn.racks, most_per_rack, std::max(1u, most_per_rack) * drawn.racks));
    }
    return drawn;
  }

  void failure(Group& group) {
    const std::string by = named_by(group, {"rack", "agg", "host", "switch", "random_links"});
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
    if (by == "random_links") {
      RandomLinks drawn = random_links(group, rack_uplinks_ - 1);
      drawn.failure = f;
      out_.random_links.push_back(drawn);
      return;
    }
    if (by == "switch") {
      f.node = switch_ref(group["failure.switch"]);
    } else {
      f.link = link(group, by);
    }
    out_.config.failures.failures.push_back(f);
  }

  void impairment(Group& group) {
    const std::string by = named_by(group, {"rack", "agg", "host", "random_links"});
    Impairment i;
    i.rate = group.fraction("impairment.rate");
    i.loss = group.fraction("impairment.loss");
    i.bit_error_rate = group.real("impairment.bit_error_rate");
    if (i.rate == Ratio{1, 1} && i.loss.num == 0 && i.bit_error_rate <= 0) {
      throw Failed{
          {group.file, group.line,
           "[[impairment]] impairs nothing. set rate, loss or bit_error_rate, such as loss "
           "= 0.001"}};
    }
    if (by == "random_links") {
      RandomLinks drawn = random_links(group, rack_uplinks_);
      drawn.impaired = true;
      drawn.impairment = i;
      out_.random_links.push_back(drawn);
      return;
    }
    i.link = link(group, by);
    out_.config.failures.impairments.push_back(i);
  }

  // --- record

  void record() {
    RecordParams& r = out_.config.record;
    r.interval = set_.time("record.interval_us");
    r.queues = set_.flag("record.queues");
    r.queue_threshold = set_.size("record.queue_threshold");
    r.links = set_.flag("record.links");
    r.flows = set_.count("record.flows");
    r.tier = set_.choice<RecordTier>("record.tier");
    r.inspect = set_.count("record.inspect");
    enum class Messages : std::uint8_t { automatic, on, off };
    const auto messages = set_.choice<Messages>("record.messages");
    const WorkloadSpec& w = out_.workload;
    r.messages = messages == Messages::on ||
                 (messages == Messages::automatic && w.kind == WorkloadKind::trace &&
                  w.graph->messages() <= kMostMessagesRecorded);
    const bool asked = r.queues || r.links || r.flows > 0;
    if (asked && r.interval == ps(0)) {
      const char* id = r.queues ? "record.queues" : r.links ? "record.links" : "record.flows";
      set_[id].fail(
          fmt::format("{} is {}, but interval_us is 0, so nothing is sampled. set it, such "
                      "as interval_us = 10",
                      set_[id].key->name, set_[id].literal.found()));
    }
    if (!asked && r.interval > ps(0)) {
      set_["record.interval_us"].fail(fmt::format(
          "interval_us is {}, but nothing is to be sampled. set queues, links or flows, "
          "such as queues = true",
          set_["record.interval_us"].literal.found()));
    }
    if (r.queue_threshold > bytes(0) && !r.queues) {
      set_["record.queue_threshold"].fail(
          fmt::format("queue_threshold is {}, but queues is false. set queues = true",
                      set_["record.queue_threshold"].literal.found()));
    }
    if (r.tier != RecordTier::all && !r.queues && !r.links) {
      set_["record.tier"].fail(
          fmt::format("tier is {}, but no link is sampled. set links = true or queues = true",
                      set_["record.tier"].literal.found()));
    }
  }

 public:
  [[nodiscard]] static workload::RandomParams random_params(const Scenario& scenario) {
    const TopologyParams& t = scenario.config.topology;
    const WorkloadSpec& w = scenario.workload;
    return {.racks = {t.hosts(), t.hosts_per_rack},
            .host_rate = t.host_rate,
            .load = w.load,
            .sizes = w.sizes,
            .cross_rack = w.cross_rack,
            .flows = w.flows,
            .duration = w.duration};
  }

 private:
  Settings& all_;
  Group& set_;  ///< of all plain sections
  std::string file_;
  fs::path folder_;
  Scenario out_;
  Bytes mtu_{0};
  std::uint32_t rack_uplinks_ = 0;
  std::optional<Bytes> topology_queue_limit_;  ///< as the topology's file has it
  std::vector<LinkRef> trace_failures_;        ///< links that the trace says are down
};

/// `count` distinct numbers below `range`, in random order.
[[nodiscard]] std::vector<std::uint32_t> draw_distinct(Rng& rng, std::uint32_t count,
                                                       std::uint32_t range) {
  std::vector<std::uint32_t> numbers(range);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::uint32_t i = 0; i < count; ++i)
    std::swap(numbers[i], numbers[i + rng.below(range - i)]);
  numbers.resize(count);
  return numbers;
}

[[nodiscard]] workload::Flows make_flows(const Scenario& scenario, std::uint64_t seed) {
  const WorkloadSpec& w = scenario.workload;
  const TopologyParams& t = scenario.config.topology;
  const workload::Racks racks{t.hosts(), t.hosts_per_rack};
  workload::Flows flows;
  switch (w.kind) {
    case WorkloadKind::permutation:
      flows = workload::permutation({racks, w.size, w.cross_rack}, seed);
      break;
    case WorkloadKind::incast:
      flows = workload::incast({racks, w.fan_in, w.receiver, w.size}, seed);
      break;
    case WorkloadKind::random:
      flows = workload::random_traffic(Resolver::random_params(scenario), seed);
      break;
    case WorkloadKind::file:
      flows = w.list;
      break;
    case WorkloadKind::collective:
    case WorkloadKind::trace:
      STRACK_CHECK(false);
  }
  for (workload::Flow& flow : flows) flow.start = flow.start + (w.start - Instant{});
  workload::add_start_jitter(flows, scenario.config.hosts.start_jitter, seed);
  return flows;
}

[[nodiscard]] std::vector<workload::Job> make_jobs(const Scenario& scenario, std::uint64_t seed) {
  const WorkloadSpec& w = scenario.workload;
  const TopologyParams& t = scenario.config.topology;
  std::shared_ptr<const workload::Graph> graph = w.graph;
  std::string name = w.trace;
  if (w.kind == WorkloadKind::collective) {
    auto made = workload::make_collective(w.collective);
    STRACK_CHECK(made.ok());  // loading has refused what would not work
    graph = std::make_shared<const workload::Graph>(std::move(made.value().graph));
    name = workload::name_of(w.collective.collective);
  }
  auto jobs = workload::make_jobs({.racks = {t.hosts(), t.hosts_per_rack},
                                   .jobs = w.jobs,
                                   .graph = std::move(graph),
                                   .name = std::move(name),
                                   .placement = w.placement,
                                   .start = w.start,
                                   .start_jitter = scenario.config.hosts.start_jitter},
                                  seed);
  STRACK_CHECK(jobs.ok());
  return std::move(jobs.value());
}

}  // namespace

std::string ScenarioError::text() const {
  return line > 0 ? fmt::format("{}:{}: {}", file, line, message)
                  : fmt::format("{}: {}", file, message);
}

std::string_view name_of(Scheme scheme) {
  constexpr std::array<std::string_view, 4> kNames{"strack", "strack-oblivious",
                                                   "strack-single-path", "rocev2"};
  return kNames[static_cast<std::size_t>(scheme)];
}

std::string_view name_of(WorkloadKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"permutation", "incast",     "random",
                                                   "file",        "collective", "trace"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<Scenario, ScenarioError> load_text(std::string_view text, const std::string& file,
                                          const fs::path& folder,
                                          const std::vector<std::string>& overrides) {
  const auto entries = read_toml(text, file);
  if (!entries) return entries.error();
  try {
    Settings settings;
    for (const Entry& entry : entries.value()) settings.assign(entry, file);
    for (const std::string& override_text : overrides) settings.assign_override(override_text);
    return Resolver(settings, file, folder).resolve();
  } catch (const Failed& failed) {
    ScenarioError error = failed.error;
    if (error.file.empty()) error.file = file;  // about a default: the file is what lacks the key
    return error;
  }
}

Result<Scenario, ScenarioError> load(const fs::path& file,
                                     const std::vector<std::string>& overrides) {
  if (is_trace_name(file)) {
    const auto made = scenario_of_trace(file, overrides);
    if (!made) return made.error();
    return load_text(made.value(), file.string(), file.parent_path(), overrides);
  }
  const auto text = read_file(file);
  if (!text) return ScenarioError{file.string(), 0, text.error().message};
  return load_text(text.value(), file.string(), file.parent_path(), overrides);
}

SimConfig make_config(const Scenario& scenario, std::uint64_t seed) {
  SimConfig config = scenario.config;
  config.seed = seed;
  const TopologyParams& t = config.topology;
  const std::uint32_t uplinks = t.tiers == 2 ? t.spines * t.links_per_spine : t.aggs_per_pod;
  for (std::size_t i = 0; i < scenario.random_links.size(); ++i) {
    const RandomLinks& drawn = scenario.random_links[i];
    Rng rng = Rng(seed).stream(fmt::format("random links {}", i));
    for (const std::uint32_t rack : draw_distinct(rng, drawn.racks, t.racks)) {
      for (const std::uint32_t uplink : draw_distinct(rng, drawn.links / drawn.racks, uplinks)) {
        const LinkRef link{LinkRef::Tier::fabric, rack, uplink};
        if (drawn.impaired) {
          config.failures.impairments.push_back(drawn.impairment);
          config.failures.impairments.back().link = link;
        } else {
          config.failures.failures.push_back(drawn.failure);
          config.failures.failures.back().link = link;
        }
      }
    }
  }
  return config;
}

workload::Workload make_workload(const Scenario& scenario, std::uint64_t seed) {
  if (scenario.workload.jobs > 0) return {{}, make_jobs(scenario, seed)};
  return {make_flows(scenario, seed), {}};
}

std::uint64_t expected_flows(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  switch (w.kind) {
    case WorkloadKind::permutation:
      return scenario.config.topology.hosts();
    case WorkloadKind::incast:
      return w.fan_in;
    case WorkloadKind::file:
      return w.list.size();
    case WorkloadKind::collective:
    case WorkloadKind::trace:
      return 0;
    case WorkloadKind::random:
      break;
  }
  if (w.flows > 0) return w.flows;
  const Int128 gap_q20 = workload::mean_gap_q20(Resolver::random_params(scenario));
  STRACK_CHECK(gap_q20 > 0);
  return static_cast<std::uint64_t>((static_cast<Int128>(w.duration.count()) << 20) / gap_q20);
}

std::uint64_t expected_messages(const Scenario& scenario) {
  const WorkloadSpec& w = scenario.workload;
  if (w.kind == WorkloadKind::trace) return w.graph->messages();
  if (w.kind != WorkloadKind::collective) return 0;
  return w.jobs * workload::size_of(w.collective).messages;
}

std::string to_toml(const Scenario& scenario) { return scenario.resolved; }

}  // namespace strack::sim
