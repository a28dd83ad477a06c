// [topology], networks that are no Clos, and servers with several NICs.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base_rtt.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/network_file.h"
#include "sim/scenario/sections/sections.h"
#include "workload/amount.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

/// Hosts of one switch, where all of them have as many and one after the other; else 1.
[[nodiscard]] std::uint32_t neighbours(const NetworkGraph& graph) {
  std::uint32_t each = 1;
  while (each < graph.host_count() && graph.switch_of(each) == graph.switch_of(0)) ++each;
  if (each == graph.host_count() || graph.host_count() % each != 0) return 1;
  std::vector<bool> seen(graph.switches.size());
  for (std::uint32_t h = 0; h < graph.host_count(); h += each) {
    const std::uint32_t at = graph.switch_of(h);
    if (seen[at]) return 1;
    seen[at] = true;
    for (std::uint32_t i = 1; i < each; ++i) {
      if (graph.switch_of(h + i) != at) return 1;
    }
  }
  return each;
}

class GraphResolver : Resolving {
 public:
  explicit GraphResolver(Resolution& resolution) : Resolving(resolution) {}

  void read() {
    const Setting& setting = set_["topology.file"];
    const std::string name = set_.text("topology.file");
    auto read = parse_network(beside(setting, name));
    if (!read) throw Failed{{(r_.folder / name).string(), read.error().line, read.error().message}};
    auto graph = std::make_shared<const NetworkGraph>(std::move(read.value()));
    topology().graph = graph;
    take("topology.hosts", std::int64_t{graph->host_count()});
    take("topology.hosts_per_rack", std::int64_t{neighbours(*graph)});
    // It has all of these of its own.
    for (const char* id :
         {"topology.tiers", "topology.oversubscription", "topology.spines",
          "topology.links_per_spine", "topology.racks_per_pod", "topology.aggs_per_pod",
          "topology.core_oversubscription", "topology.cores_per_agg", "topology.link_gbps",
          "topology.host_gbps", "topology.fabric_gbps", "topology.core_gbps",
          "topology.base_rtt_us", "topology.host_latency_ns", "topology.fabric_latency_ns",
          "topology.core_latency_ns"}) {
      Setting& other = set_[id];
      if (other.given) {
        later(id, "topology.file")
            .fail(fmt::format("{} is {}, but {} is a network of its own. leave one of the two out",
                              other.key->name, other.literal.found(), workload::quoted(name)));
      }
      other.hidden = true;
    }
  }

  void resolve() {
    TopologyParams& t = topology();
    const NetworkGraph& graph = *t.graph;
    t.hosts_per_rack = set_.count("topology.hosts_per_rack");
    t.racks = graph.host_count() / t.hosts_per_rack;
    t.tiers = 2;
    t.spines = t.hosts_per_rack;
    t.host_rate = t.fabric_rate = BitsPerSecond{0};
    t.host_latency = t.fabric_latency = seconds(1);
    for (const NetworkGraph::Link& link : graph.links) {
      const bool host = std::min(link.a, link.b) < graph.host_count();
      BitsPerSecond& rate = host ? t.host_rate : t.fabric_rate;
      Picoseconds& latency = host ? t.host_latency : t.fabric_latency;
      rate = std::max(rate, link.rate);
      latency = std::min(latency, link.latency);
    }
    if (t.fabric_rate == BitsPerSecond{0}) {  // one switch, or none of them linked
      t.fabric_rate = t.host_rate;
      t.fabric_latency = t.host_latency;
    }
    out_.base_rtt = longest_base_rtt(t, out_.config.hosts, r_.mtu);
    notes(graph);
  }

 private:
  using Resolving::take;
  void take(const char* id, std::int64_t value) {
    take(id, {value}, [&] { return set_.integer(id) == value; });
  }

  void notes(const NetworkGraph& graph) {
    const auto slowest = std::min_element(graph.host_links.begin(), graph.host_links.end(),
                                          [&](std::uint32_t a, std::uint32_t b) {
                                            return graph.links[a].rate < graph.links[b].rate;
                                          });
    out_.about.push_back(fmt::format(
        "network: {} switches and {} links, as in {}; its base RTT is {}", graph.switches.size(),
        graph.links.size(), workload::quoted(set_.text("topology.file")),
        workload::format_time(out_.base_rtt)));
    if (graph.links[*slowest].rate != topology().host_rate) {
      out_.about.push_back(fmt::format(
          "hosts' links are not equal: transports are set up for the fastest, {} Gb/s; the slowest "
          "has {}",
          gbps_text(topology().host_rate), gbps_text(graph.links[*slowest].rate)));
    }
  }
};

class ServerResolver : Resolving {
 public:
  explicit ServerResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    TopologyParams& t = topology();
    t.nics_per_server = set_.count("topology.nics_per_server");
    Setting& rate = set_["topology.server_gbps"];
    Setting& latency = set_["topology.server_latency_ns"];
    if (!t.has_servers()) {
      for (const Setting* setting : {&rate, &latency}) {
        if (setting->given)
          setting->fail(
              fmt::format("{} is set, but nics_per_server is 1: no host has another one "
                          "in its server. set it too, such as nics_per_server = 8",
                          setting->key->name));
      }
      return;
    }
    const std::uint32_t groups_of = t.graph != nullptr ? t.hosts() : t.racks;
    if (groups_of % t.nics_per_server != 0) {
      std::uint32_t works = t.nics_per_server;
      while (groups_of % works != 0) --works;
      later("topology.nics_per_server", "topology.hosts")
          .fail(t.graph != nullptr
                    ? fmt::format("nics_per_server is {} and there are {} hosts. servers are full: "
                                  "nics_per_server = {} would work",
                                  t.nics_per_server, t.hosts(), works)
                    : fmt::format("nics_per_server is {} and there are {} racks. NIC i of a server "
                                  "is in the i-th of so many racks: hosts = {} would work",
                                  t.nics_per_server, t.racks,
                                  (t.racks / t.nics_per_server + 1) * t.nics_per_server *
                                      t.hosts_per_rack));
    }
    if (!rate.given) rate.settle({std::int64_t{3'600}});
    t.server_rate = set_.rate("topology.server_gbps");
    t.server_latency = t.host_latency;
    if (latency.given)
      t.server_latency = set_.time("topology.server_latency_ns");
    else
      latency.derived = time_literal(t.server_latency);
    out_.about.push_back(fmt::format(
        "servers: {} of {} NICs{}; what hosts of a server send each other goes by links inside it "
        "({} Gb/s, {}), which are not simulated packet by packet",
        t.hosts() / t.nics_per_server, t.nics_per_server,
        t.graph != nullptr ? "" : ", NIC i of each at rail switch i of its group",
        gbps_text(t.server_rate), workload::format_time(t.server_latency)));
  }
};

}  // namespace

void read_network_file(Resolution& resolution) { GraphResolver(resolution).read(); }
void resolve_graph(Resolution& resolution) { GraphResolver(resolution).resolve(); }
void resolve_servers(Resolution& resolution) { ServerResolver(resolution).resolve(); }

}  // namespace strack::sim
