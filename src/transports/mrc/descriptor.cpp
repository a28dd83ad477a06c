// MRC as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/param_error.h"
#include "sim/net/network_graph.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"
#include "transports/mrc/params.h"
#include "transports/mrc/sim.h"
#include "transports/uet/resolve.h"

namespace strack::transports {
namespace {

using sim::Kind;
using sim::param;
using Entropies = core::MrcPathParams;

constexpr Scheme kSchemes[] = {
    // [MRC.switches] [MRC.routes]
    {.name = "mrc",
     .label = "MRC",
     .role = "mrc",
     .help = "MRC (OCP, 2026): NSCC over entropies that are skipped, replaced and probed, without "
             "rerouting",
     .ecn_last_hop = false,
     .reroutes = false},
};

constexpr sim::Key kKeys[] = {
    param<&Entropies::active>({.name = "active",
                               .kind = Kind::integer,
                               .fallback = "128",
                               .needs = "it is a power of two from 1 to 256, such as active = 128",
                               .help = "Entropies in rotation."}),
    param<&Entropies::backups>(
        {.name = "backups",
         .kind = Kind::integer,
         .fallback = "64",
         .needs = "it is from 0 to 255, with active up to 256, such as backups = 64",
         .help = "Entropies that wait to take the place of those that are assumed bad."}),
    param<&Entropies::min_active>({.name = "min_active",
                                   .kind = Kind::integer,
                                   .otherwise = "16, or all",
                                   .needs = "it is from 1 to active, such as min_active = 16",
                                   .help = "So many stay in use, whatever is lost on them."}),
    param<&Entropies::probe_every>(
        {.name = "probe_every_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "the base RTT",
         .needs = "a time is from 1 ns to 1 s, such as probe_every_us = 8",
         .help = "How often a connection probes one of the entropies that are assumed bad."}),
    param<&Entropies::planes>(
        {.name = "planes",
         .kind = Kind::integer,
         .otherwise = "the ports of a NIC, if all have as many",
         .needs = "it is from 1 to 8, such as planes = 4",
         .help = "Planes: entropy e is of plane e modulo planes, by which backups are chosen, and "
                 "which is left out when nothing comes by it."}),
};
constexpr std::string_view kSection = "mrc";

/// [MRC.planes] Ports of the NICs towards the network; 1 where they differ, or are more than can be told apart.
std::uint32_t planes_of(const sim::TopologyParams& topology) {
  if (topology.graph == nullptr) return 1;
  const sim::NetworkGraph& graph = *topology.graph;
  std::vector<std::uint32_t> ports(graph.switches.size());
  for (const sim::NetworkGraph::Link& link : graph.links) {
    if (std::min(link.a, link.b) < graph.host_count()) continue;
    for (const std::uint32_t end : {link.a, link.b}) ++ports[end - graph.host_count()];
  }
  std::uint32_t planes = 0;
  for (std::size_t s = 0; s < ports.size(); ++s) {
    if (!graph.is_nic(s)) continue;
    if (planes != 0 && ports[s] != planes) return 1;
    planes = ports[s];
  }
  return planes >= 1 && planes <= Entropies::kMostPlanes ? planes : 1;
}

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  sim::Group& set = resolution.all.plain;
  // Where another transport runs, [uet] is not this one's to show.
  core::UetParams nscc;
  nscc.net_base_rtt = resolution.out.base_rtt;
  if (scheme != nullptr) nscc = resolve_nscc(resolution);
  core::MrcParams params = core::MrcParams::of(nscc);
  params.entropies.planes = planes_of(resolution.out.config.topology);
  take_fields(set, kSection, kKeys, params.entropies);
  if (!set.given("mrc.min_active"))
    params.entropies.min_active = std::min(params.entropies.min_active, params.entropies.active);
  show_fields(set, kSection, kKeys, params.entropies);
  if (scheme == nullptr) return nullptr;
  const auto checked = params.validated();
  if (checked) return sim::make_transport<sim::MrcProtocol>(checked.value());
  const core::ParamError& error = checked.error();
  const std::string message =
      fmt::format("{} would be {}. it must be {}", error.field, error.value, error.remedy);
  for (const char* name : {error.field, "active"}) {
    if (const sim::Setting* setting = given_setting(set, kSection, name)) setting->fail(message);
  }
  throw sim::Failed{{resolution.file, 0, message}};
}

}  // namespace

extern const Descriptor descriptor_of_mrc;
const Descriptor descriptor_of_mrc{
    .name = "mrc",
    .rank = 25,
    .schemes = kSchemes,
    .switches = {.ecn = "uet", .trimming = true},
    .section = kSection,
    .help =
        "MRC's entropies, read when the scheme is mrc; with another these keys may be set, and "
        "mean nothing. Its window and its acknowledgements are those of [uet].",
    .keys = kKeys,
    .resolve = resolve,
    .sacks = true,
};

}  // namespace strack::transports
