// Swift's keys: those of its own section, and of transports whose windows are Swift's.
#pragma once

#include <array>

#include "sim/scenario/fields.h"
#include "sim/scenario/keys.h"
#include "transports/swift/params.h"

namespace strack::transports {

inline constexpr std::array kSwiftKeys{
    sim::param<&core::SwiftParams::base_target>(
        {.name = "base_target_us",
         .kind = sim::Kind::time,
         .unit = "us",
         .fallback = "\"1 RTT\"",
         .needs = "a delay is from 1 ns to 1 s, such as base_target_us = \"1 RTT\"",
         .help = "Delay that is aimed at, before hops and flows add to it."}),
    sim::param<&core::SwiftParams::hop_target>(
        {.name = "hop_target_us",
         .kind = sim::Kind::time,
         .unit = "us",
         .otherwise = "base_target_us / 6.55",
         .needs = "a delay is from 0 to 1 s, such as hop_target_us = 1",
         .help = "What each link of the path adds."}),
    sim::param<&core::SwiftParams::fs_range>(
        {.name = "fs_range_us",
         .kind = sim::Kind::time,
         .unit = "us",
         .otherwise = "5 x base_target_us",
         .needs = "a delay is from 0 to 1 s, such as fs_range_us = \"5 RTT\"",
         .help = "What many flows on one link add at most."}),
    sim::param<&core::SwiftParams::fs_min>(
        {.name = "fs_min",
         .kind = sim::Kind::fraction,
         .fallback = "0.1",
         .needs = "a window is from 0.001 to 1000 packets, such as fs_min = 0.1",
         .help = "A window of so many packets has all of that ..."}),
    sim::param<&core::SwiftParams::fs_max>(
        {.name = "fs_max",
         .kind = sim::Kind::fraction,
         .fallback = "100",
         .needs = "a window is from 0.001 to 1000 packets, such as fs_max = 100",
         .help = "... and one of so many nothing."}),
    sim::param<&core::SwiftParams::ai>({.name = "ai",
                                        .kind = sim::Kind::fraction,
                                        .fallback = "1",
                                        .needs = "it is from 0 to 1000 packets, such as ai = 1",
                                        .help = "Additive increase, in packets per round trip."}),
    sim::param<&core::SwiftParams::beta>(
        {.name = "beta",
         .kind = sim::Kind::fraction,
         .fallback = "0.8",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as beta = 0.8",
         .help = "Strength of the multiplicative decrease."}),
    sim::param<&core::SwiftParams::max_mdf>(
        {.name = "max_mdf",
         .kind = sim::Kind::fraction,
         .fallback = "0.5",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as max_mdf = 0.5",
         .help = "The most that one decrease takes; a loss takes that."}),
    sim::param<&core::SwiftParams::retx_reset>(
        {.name = "retx_reset",
         .kind = sim::Kind::integer,
         .fallback = "5",
         .needs = "it is from 1 to 1000 timeouts, such as retx_reset = 5",
         .help = "After so many timeouts in a row the window is the smallest."}),
    sim::param<&core::SwiftParams::init_cwnd>(
        {.name = "init_cwnd",
         .kind = sim::Kind::size,
         .otherwise = "1 BDP, as far as the tracking window holds it",
         .needs = "a window is a size from min_cwnd to max_cwnd, such as init_cwnd = \"1 BDP\"",
         .help = "First window."}),
    sim::param<&core::SwiftParams::min_cwnd>(
        {.name = "min_cwnd",
         .kind = sim::Kind::size,
         .otherwise = "a hundredth of a packet",
         .needs = "a window is a size, such as min_cwnd = 41",
         .help = "Smallest window; one below a packet is paced."}),
    sim::param<&core::SwiftParams::max_cwnd>(
        {.name = "max_cwnd",
         .kind = sim::Kind::size,
         .otherwise = "the tracking window",
         .needs = "a window is a size from min_cwnd, such as max_cwnd = \"2 BDP\"",
         .help = "Largest window."})};

}  // namespace strack::transports
