// HPCC as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>

#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/hpcc/params.h"
#include "transports/hpcc/sim.h"

namespace strack::transports {
namespace {

using sim::Kind;
using sim::param;
using Params = core::HpccParams;

constexpr Scheme kSchemes[] = {
    {"hpcc", "HPCC", "hpcc",
     "HPCC (SIGCOMM 2019): a window that follows the fullest link's utilisation, on a single path"},
};

constexpr sim::Key kKeys[] = {
    param<&Params::eta>({.name = "eta",
                         .kind = Kind::fraction,
                         .fallback = "0.95",
                         .needs = "it is a fraction from 0.001 to 1, such as eta = 0.95",
                         .help = "Utilisation of the fullest link that is aimed at."}),
    param<&Params::max_stage>({.name = "max_stage",
                               .kind = Kind::integer,
                               .fallback = "5",
                               .needs = "it is from 0 to 1000 round trips, such as max_stage = 5",
                               .help = "Additive steps before the next multiplicative one."}),
    param<&Params::wai>({.name = "wai",
                         .kind = Kind::size,
                         .otherwise = "10 Mb/s for each 25 Gb/s of the link",
                         .needs = "it is a size, such as wai = 160",
                         .help = "Additive increase of the window."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "1 BDP, as far as the tracking window holds it",
         .needs = "a window is a size of at least one packet, such as max_cwnd = \"1 BDP\"",
         .help = "Largest window, and the first."}),
    param<&Params::min_cwnd>({.name = "min_cwnd",
                              .kind = Kind::size,
                              .otherwise = "1 Gb/s",
                              .needs = "a window is a size up to max_cwnd, such as min_cwnd = 1000",
                              .help = "Smallest window; one below a packet is paced."}),
};
constexpr std::string_view kSection = "hpcc";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::window_transport<sim::HpccProtocol>(resolution, kSection, kKeys, scheme != nullptr);
}

}  // namespace

extern const Descriptor descriptor_of_hpcc;
const Descriptor descriptor_of_hpcc{
    .name = "hpcc",
    .rank = 53,
    .schemes = kSchemes,
    .switches = {.lossless = true},
    .section = kSection,
    .help =
        "HPCC, SIGCOMM 2019. Read when the scheme is hpcc; with another these keys may be there, "
        "without effect.",
    .keys = kKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
