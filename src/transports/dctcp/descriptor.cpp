// DCTCP as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>

#include "sim/scenario/fields.h"
#include "sim/scenario/mark_keys.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/dctcp/params.h"
#include "transports/dctcp/sim.h"

namespace strack::transports {
namespace {

using sim::Kind;
using sim::kTebibyte;
using sim::param;
using Params = core::DctcpParams;

constexpr Scheme kSchemes[] = {
    {"dctcp", "DCTCP", "dctcp",
     "DCTCP (RFC 8257): a window cut by the share of marked bytes, on a single path"},
};

constexpr sim::Key kKeys[] = {
    param<&Params::g>(
        {.name = "g",
         .kind = Kind::fraction,
         .fallback = "0.0625",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as g = 0.0625",
         .help = "Weight of the newest window's share of marked bytes."}),
    param<&Params::initial_alpha>(
        {.name = "initial_alpha",
         .kind = Kind::fraction,
         .fallback = "1",
         .needs = "it is a fraction from 0 to 1, such as initial_alpha = 1",
         .help = "What that average begins with."}),
    param<&Params::init_cwnd>(
        {.name = "init_cwnd",
         .kind = Kind::size,
         .fallback = "\"10 MTU\"",
         .needs = "a window is a size of at least one packet, such as init_cwnd = \"10 MTU\"",
         .help = "First window; it doubles each round trip until the first mark or loss."}),
    param<&Params::min_cwnd>(
        {.name = "min_cwnd",
         .kind = Kind::size,
         .fallback = "\"1 MTU\"",
         .needs = "a window is a size of at least one packet, such as min_cwnd = \"1 MTU\"",
         .help = "Smallest window."}),
    param<&Params::increase>({.name = "increase",
                              .kind = Kind::size,
                              .fallback = "\"1 MTU\"",
                              .needs = "it is a size, such as increase = \"1 MTU\"",
                              .help = "Additive increase per window."}),
    sim::mark_threshold(
        "kmin", "\"0.143 BDP\"", "a threshold is a size, such as kmin = \"0.143 BDP\"",
        "Switches mark all that leave more than this behind: a seventh of a BDP is the least "
        "with which one queue never runs dry."),
    sim::mark_threshold(
        "kmax", "\"0.143 BDP\"",
        "a threshold is a size not below kmin, such as kmax = \"0.143 BDP\"",
        "Above kmin, marks become likelier up to here instead; DCTCP wants a step."),
    sim::kMarkPmax,
};
constexpr std::string_view kSection = "dctcp";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::window_transport<sim::DctcpProtocol>(resolution, kSection, kKeys, scheme != nullptr);
}

}  // namespace

extern const Descriptor descriptor_of_dctcp;
const Descriptor descriptor_of_dctcp{
    .name = "dctcp",
    .rank = 50,
    .schemes = kSchemes,
    .switches = {.ecn = kSection},
    .section = kSection,
    .help =
        "DCTCP, RFC 8257. Read when the scheme is dctcp; with another these keys may be there, "
        "without effect.",
    .keys = kKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
