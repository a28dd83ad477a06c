// SMaRTT as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>

#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/smartt/params.h"
#include "transports/smartt/sim.h"

namespace strack::transports {
namespace {

using sim::field;
using sim::Kind;
using sim::kNanosecond;
using sim::kSecond;
using sim::kTebibyte;
using Params = core::SmarttParams;

constexpr Scheme kSchemes[] = {
    {"smartt", "SMaRTT", "smartt",
     "SMaRTT (arXiv 2404.01630): marks and delay together, with REPS"},
};

constexpr sim::Key kKeys[] = {
    {.name = "target_rtt_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"1.5 RTT\"",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a time is from 1 ns to 1 s, such as target_rtt_us = \"1.5 RTT\"",
     .field = field<&Params::target_rtt>(),
     .help = "Round-trip time that is aimed at."},
    {.name = "wtd_weight",
     .kind = Kind::fraction,
     .fallback = "0.05",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as wtd_weight = 0.05",
     .field = field<&Params::wtd_weight>(),
     .help = "Weight of the newest mark in the share of marks."},
    {.name = "wtd_threshold",
     .kind = Kind::fraction,
     .fallback = "0.3",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as wtd_threshold = 0.3",
     .field = field<&Params::wtd_threshold>(),
     .help = "Below this share of marks nothing is decreased."},
    {.name = "fast_delay_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "1",
     .high = {kSecond},
     .needs = "a delay is from 0 to 1 s, such as fast_delay_us = 1",
     .field = field<&Params::fast_delay>(),
     .help = "Queueing delay up to which fast increase goes on."},
    {.name = "fast_step",
     .kind = Kind::fraction,
     .fallback = "1",
     .high = {1'000},
     .needs = "it is from 0 to 1000 packets, such as fast_step = 1",
     .field = field<&Params::fast_step>(),
     .help = "Packets that fast increase adds for each."},
    {.name = "proportional",
     .kind = Kind::fraction,
     .fallback = "2",
     .high = {1'000},
     .needs = "it is from 0 to 1000 packets, such as proportional = 2",
     .field = field<&Params::proportional>(),
     .help = "Gain of the proportional increase, in packets."},
    {.name = "fair_increase",
     .kind = Kind::fraction,
     .fallback = "0.02",
     .high = {1},
     .needs = "it is a fraction from 0 to 1 with up to six decimals, such as fair_increase = 0.02",
     .field = field<&Params::fair_increase>(),
     .help = "Additive increase per window, in BDPs."},
    {.name = "multiplicative",
     .kind = Kind::fraction,
     .fallback = "1",
     .high = {1'000},
     .needs = "it is from 0 to 1000, such as multiplicative = 1",
     .field = field<&Params::multiplicative>(),
     .help = "Gain of the multiplicative decrease."},
    {.name = "fair_decrease",
     .kind = Kind::fraction,
     .fallback = "0.5",
     .high = {1'000},
     .needs = "it is from 0 to 1000, such as fair_decrease = 0.5",
     .field = field<&Params::fair_decrease>(),
     .help = "Gain of the decrease in proportion to the window."},
    {.name = "adapt_period_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"1.5 RTT\"",
     .low = {kNanosecond},
     .high = {kSecond},
     .needs = "a time is from 1 ns to 1 s, such as adapt_period_us = \"1.5 RTT\"",
     .field = field<&Params::adapt_period>(),
     .help = "After a loss the window becomes what such a period delivers."},
    {.name = "max_cwnd",
     .kind = Kind::size,
     .otherwise = "1.25 BDP, as far as the tracking window holds it",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size from min_cwnd, such as max_cwnd = \"1.25 BDP\"",
     .field = field<&Params::max_cwnd>(),
     .help = "Largest window, and the first."},
    {.name = "min_cwnd",
     .kind = Kind::size,
     .fallback = "\"1 MTU\"",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size of at least one packet, such as min_cwnd = \"1 MTU\"",
     .field = field<&Params::min_cwnd>(),
     .help = "Smallest window."},
};
constexpr std::string_view kSection = "smartt";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::window_transport<sim::SmarttProtocol>(resolution, kSection, kKeys, scheme != nullptr);
}

}  // namespace

extern const Descriptor descriptor_of_smartt;
const Descriptor descriptor_of_smartt{
    .name = "smartt",
    .rank = 52,
    .schemes = kSchemes,
    .section = kSection,
    .help =
        "SMaRTT, arXiv 2404.01630. Read when the scheme is smartt; with another these keys may be "
        "there, "
        "without effect.",
    .keys = kKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
