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

using sim::Kind;
using sim::param;
using Params = core::SmarttParams;

constexpr Scheme kSchemes[] = {
    {"smartt", "SMaRTT", "smartt",
     "SMaRTT (arXiv 2404.01630): marks and delay together, with REPS"},
};

constexpr sim::Key kKeys[] = {
    param<&Params::target_rtt>(
        {.name = "target_rtt_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"1.5 RTT\"",
         .needs = "a time is from 1 ns to 1000 s, such as target_rtt_us = \"1.5 RTT\"",
         .help = "Round-trip time that is aimed at."}),
    param<&Params::wtd_weight>(
        {.name = "wtd_weight",
         .kind = Kind::fraction,
         .fallback = "0.05",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as wtd_weight = 0.05",
         .help = "Weight of the newest mark in the share of marks."}),
    param<&Params::wtd_threshold>(
        {.name = "wtd_threshold",
         .kind = Kind::fraction,
         .fallback = "0.3",
         .needs =
             "it is a fraction from 0 to 1 with up to six decimals, such as wtd_threshold = 0.3",
         .help = "Below this share of marks nothing is decreased."}),
    param<&Params::fast_delay>({.name = "fast_delay_us",
                                .kind = Kind::time,
                                .unit = "us",
                                .fallback = "1",
                                .needs = "a delay is from 0 to 1 s, such as fast_delay_us = 1",
                                .help = "Queueing delay up to which fast increase goes on."}),
    param<&Params::fast_step>({.name = "fast_step",
                               .kind = Kind::fraction,
                               .fallback = "1",
                               .needs = "it is from 0 to 1000 packets, such as fast_step = 1",
                               .help = "Packets that fast increase adds for each."}),
    param<&Params::proportional>({.name = "proportional",
                                  .kind = Kind::fraction,
                                  .fallback = "2",
                                  .needs = "it is from 0 to 1000 packets, such as proportional = 2",
                                  .help = "Gain of the proportional increase, in packets."}),
    param<&Params::fair_increase>(
        {.name = "fair_increase",
         .kind = Kind::fraction,
         .fallback = "0.02",
         .needs =
             "it is a fraction from 0 to 1 with up to six decimals, such as fair_increase = 0.02",
         .help = "Additive increase per window, in BDPs."}),
    param<&Params::multiplicative>({.name = "multiplicative",
                                    .kind = Kind::fraction,
                                    .fallback = "1",
                                    .needs = "it is from 0 to 1000, such as multiplicative = 1",
                                    .help = "Gain of the multiplicative decrease."}),
    param<&Params::fair_decrease>({.name = "fair_decrease",
                                   .kind = Kind::fraction,
                                   .fallback = "0.5",
                                   .needs = "it is from 0 to 1000, such as fair_decrease = 0.5",
                                   .help = "Gain of the decrease in proportion to the window."}),
    param<&Params::adapt_period>(
        {.name = "adapt_period_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"1.5 RTT\"",
         .needs = "a time is from 1 ns to 1 s, such as adapt_period_us = \"1.5 RTT\"",
         .help = "After a loss the window becomes what such a period delivers."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "1.25 BDP, as far as the tracking window holds it",
         .needs = "a window is a size from min_cwnd, such as max_cwnd = \"1.25 BDP\"",
         .help = "Largest window, and the first."}),
    param<&Params::min_cwnd>(
        {.name = "min_cwnd",
         .kind = Kind::size,
         .fallback = "\"1 MTU\"",
         .needs = "a window is a size of at least one packet, such as min_cwnd = \"1 MTU\"",
         .help = "Smallest window."}),
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
    .switches = {.trimming = true},
    .section = kSection,
    .help =
        "SMaRTT, arXiv 2404.01630. Read when the scheme is smartt; with another these keys may be "
        "there, "
        "without effect.",
    .keys = kKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
