// The Falcon-like transport as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>

#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/falcon_like/params.h"
#include "transports/falcon_like/sim.h"

namespace strack::transports {
namespace {

using sim::field;
using sim::Kind;
using sim::kNanosecond;
using sim::kSecond;
using sim::kTebibyte;
using Params = core::FalconParams;

constexpr Scheme kSchemes[] = {
    {"falcon-like", "Falcon-like", "falcon-like",
     "as far as Falcon is published: four flows, each on a path and with a Swift window"},
};

constexpr sim::Key kKeys[] = {
    {.name = "base_target_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"1 RTT\"",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a delay is from 1 ns to 1 s, such as base_target_us = \"1 RTT\"",
     .field = field<&Params::base_target>(),
     .help = "Delay that is aimed at, before hops and flows add to it."},
    {.name = "hop_target_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "base_target_us / 6.55",
     .high = {kSecond},
     .needs = "a delay is from 0 to 1 s, such as hop_target_us = 1",
     .field = field<&Params::hop_target>(),
     .help = "What each link of the path adds."},
    {.name = "fs_range_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "5 x base_target_us",
     .high = {kSecond},
     .needs = "a delay is from 0 to 1 s, such as fs_range_us = \"5 RTT\"",
     .field = field<&Params::fs_range>(),
     .help = "What many flows on one link add at most."},
    {.name = "fs_min",
     .kind = Kind::fraction,
     .fallback = "0.1",
     .low = {1, 1'000},
     .high = {1'000},
     .needs = "a window is from 0.001 to 1000 packets, such as fs_min = 0.1",
     .field = field<&Params::fs_min>(),
     .help = "A window of so many packets has all of that ..."},
    {.name = "fs_max",
     .kind = Kind::fraction,
     .fallback = "100",
     .low = {1, 1'000},
     .high = {1'000},
     .needs = "a window is from 0.001 to 1000 packets, such as fs_max = 100",
     .field = field<&Params::fs_max>(),
     .help = "... and one of so many nothing."},
    {.name = "ai",
     .kind = Kind::fraction,
     .fallback = "1",
     .high = {1'000},
     .needs = "it is from 0 to 1000 packets, such as ai = 1",
     .field = field<&Params::ai>(),
     .help = "Additive increase, in packets per round trip."},
    {.name = "beta",
     .kind = Kind::fraction,
     .fallback = "0.8",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as beta = 0.8",
     .field = field<&Params::beta>(),
     .help = "Strength of the multiplicative decrease."},
    {.name = "max_mdf",
     .kind = Kind::fraction,
     .fallback = "0.5",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as max_mdf = 0.5",
     .field = field<&Params::max_mdf>(),
     .help = "The most that one decrease takes; a loss takes that."},
    {.name = "retx_reset",
     .kind = Kind::integer,
     .fallback = "5",
     .low = {1},
     .high = {1'000},
     .needs = "it is from 1 to 1000 timeouts, such as retx_reset = 5",
     .field = field<&Params::retx_reset>(),
     .help = "After so many timeouts in a row the window is the smallest."},
    {.name = "init_cwnd",
     .kind = Kind::size,
     .otherwise = "32 MTU, as far as the tracking window holds it",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size from min_cwnd to max_cwnd, such as init_cwnd = \"32 MTU\"",
     .field = field<&Params::init_cwnd>(),
     .help = "First window of each flow."},
    {.name = "min_cwnd",
     .kind = Kind::size,
     .otherwise = "a hundredth of a packet",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size, such as min_cwnd = 41",
     .field = field<&Params::min_cwnd>(),
     .help = "Smallest window of a flow."},
    {.name = "max_cwnd",
     .kind = Kind::size,
     .otherwise = "the tracking window",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size from min_cwnd, such as max_cwnd = \"2 BDP\"",
     .field = field<&Params::max_cwnd>(),
     .help = "Largest window of a flow."},
    {.name = "plb_delay",
     .kind = Kind::fraction,
     .fallback = "1.01",
     .low = {1},
     .high = {1'000},
     .needs = "it is from 1 to 1000 times the target, such as plb_delay = 1.01",
     .field = field<&Params::plb_delay>(),
     .help = "A packet later than this times the target counts against its path."},
    {.name = "plb_late",
     .kind = Kind::fraction,
     .fallback = "0.5",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as plb_late = 0.5",
     .field = field<&Params::plb_late>(),
     .help = "A window with this share of them is congested."},
    {.name = "plb_rounds",
     .kind = Kind::integer,
     .fallback = "5",
     .low = {1},
     .high = {1'000},
     .needs = "it is from 1 to 1000 windows, such as plb_rounds = 5",
     .field = field<&Params::plb_rounds>(),
     .help = "After so many in a row the flow draws another path."},
    {.name = "rack_window_us",
     .kind = Kind::time,
     .unit = "us",
     .otherwise = "0.25 RTT",
     .high = {kSecond},
     .needs = "a time is from 0 to 1 s, such as rack_window_us = \"0.25 RTT\"",
     .field = field<&Params::rack_window>(),
     .help = "A packet is lost when one that left so much later on its flow has arrived."},
};
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
