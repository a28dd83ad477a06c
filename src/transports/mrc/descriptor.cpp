// MRC as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/param_error.h"
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
             "rerouting; on one plane",
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
};
constexpr std::string_view kSection = "mrc";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  sim::Group& set = resolution.all.plain;
  // Where another transport runs, [uet] is not this one's to show.
  core::UetParams nscc;
  nscc.net_base_rtt = resolution.out.base_rtt;
  if (scheme != nullptr) nscc = resolve_nscc(resolution);
  core::MrcParams params = core::MrcParams::of(nscc);
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
};

}  // namespace strack::transports
