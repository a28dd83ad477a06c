// The Falcon-like transport as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <array>
#include <memory>

#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/falcon_like/params.h"
#include "transports/falcon_like/sim.h"
#include "transports/swift/keys.h"

namespace strack::transports {
namespace {

using sim::Kind;
using sim::param;
using Params = core::FalconParams;

constexpr Scheme kSchemes[] = {
    {"falcon-like", "Falcon-like", "falcon-like",
     "as far as Falcon is published: four flows, each on a path and with a Swift window"},
};

/// Swift's, of each flow.
constexpr std::array kOfEachFlow{
    param<&Params::init_cwnd>(
        {.name = "init_cwnd",
         .kind = Kind::size,
         .otherwise = "32 MTU, as far as the tracking window holds it",
         .needs = "a window is a size from min_cwnd to max_cwnd, such as init_cwnd = \"32 MTU\"",
         .help = "First window of each flow."}),
    param<&Params::min_cwnd>({.name = "min_cwnd",
                              .kind = Kind::size,
                              .otherwise = "a hundredth of a packet",
                              .needs = "a window is a size, such as min_cwnd = 41",
                              .help = "Smallest window of a flow."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "the tracking window",
         .needs = "a window is a size from min_cwnd, such as max_cwnd = \"2 BDP\"",
         .help = "Largest window of a flow."})};
constexpr std::array kOwn{
    param<&Params::plb_delay>(
        {.name = "plb_delay",
         .kind = Kind::fraction,
         .fallback = "1.01",
         .needs = "it is from 1 to 1000 times the target, such as plb_delay = 1.01",
         .help = "A packet later than this times the target counts against its path."}),
    param<&Params::plb_late>(
        {.name = "plb_late",
         .kind = Kind::fraction,
         .fallback = "0.5",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as plb_late = 0.5",
         .help = "A window with this share of them is congested."}),
    param<&Params::plb_rounds>({.name = "plb_rounds",
                                .kind = Kind::integer,
                                .fallback = "5",
                                .needs = "it is from 1 to 1000 windows, such as plb_rounds = 5",
                                .help = "After so many in a row the flow draws another path."}),
    param<&Params::rack_window>(
        {.name = "rack_window_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "0.25 RTT",
         .needs = "a time is from 0 to 1 s, such as rack_window_us = \"0.25 RTT\"",
         .help = "A packet is lost when one that left so much later on its flow has arrived."})};
constexpr auto kKeys = sim::joined(sim::revised(kSwiftKeys, kOfEachFlow), kOwn);
constexpr std::string_view kSection = "falcon-like";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::window_transport<sim::FalconProtocol>(resolution, kSection, kKeys, scheme != nullptr);
}

}  // namespace

extern const Descriptor descriptor_of_falcon_like;
const Descriptor descriptor_of_falcon_like{
    .name = "falcon_like",
    .rank = 54,
    .schemes = kSchemes,
    .section = kSection,
    .help =
        "Four flows, PLB, RACK and Swift's windows. Read when the scheme is falcon-like; with "
        "another "
        "these keys may be there, without effect.",
    .keys = kKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
