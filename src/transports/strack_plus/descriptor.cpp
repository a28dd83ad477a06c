// STrack+ as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/result.h"
#include "core/param_error.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/mark_keys.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"
#include "transports/strack_plus/params.h"
#include "transports/strack_plus/sim.h"

namespace strack::transports {
namespace {

using sim::field;
using sim::Kind;
using sim::kTebibyte;
using sim::param;
using sim::Setting;
using Params = core::PlusParams;

constexpr Scheme kSchemes[] = {
    {"strack-plus", "STrack+", "strack-plus",
     "STrack's window with a ring of clean paths, SACKs that tell of four, and losses by time"},
};
/// A SACK for each packet, and paths as in the paper: other code is reached.
constexpr std::string_view kVariants[] = {"strack-plus.sack_packets=1", "strack-plus.ring=0"};

constexpr sim::Key kKeys[] = {
    // [PLUS.mark]
    sim::mark_threshold(
        "kmin", "\"0.15 BDP\"", "a threshold is a size, such as kmin = \"0.15 BDP\"",
        "Where the switches' ECN marks begin, in the place of [switch] kmin: a mark takes a "
        "packet off a path and cuts no window, so it may come early."),
    sim::mark_threshold("kmax", "\"1 BDP\"",
                        "a threshold is a size not below kmin, such as kmax = \"1 BDP\"",
                        sim::kMarkKmaxHelp),
    sim::kMarkPmax,
    param<&Params::ring>({.name = "ring",
                          .kind = Kind::integer,
                          .fallback = "8",
                          .needs = "it is from 0 to 32 entropies, such as ring = 8",
                          .help = "Entropies of clean packets that are remembered, each to be used "
                                  "once; 0 remembers the "
                                  "last one as the paper does, and a mark takes it back."}),
    param<&Params::ring_sparse>(
        {.name = "ring_sparse",
         .kind = Kind::integer,
         .fallback = "16",
         .needs = "it is from 0 to 512 packets, such as ring_sparse = 16",
         .help = "With so few under way, and more to be sent, it remembers the last one alone; 0: "
                 "as many as ever."}),
    param<&Params::ring_delay>(
        {.name = "ring_delay",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "Where a SACK tells of marked packets only, the entropy of the one whose delay it "
                 "tells counts as clean if that is below the average."}),
    param<&Params::rotate_all>(
        {.name = "rotate_all",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help =
             "Otherwise all entropies in turn; false is the paper's rule, as many as two windows "
             "have packets."}),
    param<&Params::avoid>(
        {.name = "avoid",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "The rotation passes over entropies whose last packet was not answered."}),
    param<&Params::rather_marked>(
        {.name = "rather_marked",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "Where all entropies are marked or unanswered the next that is answered is taken, "
                 "marked or not; false: the next, whatever it is."}),
    param<&Params::avoid_for>(
        {.name = "avoid_for_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"100 RTT\"",
         .needs = "a time is from 0 to an hour, such as avoid_for_us = \"100 RTT\"",
         .help = "How often they are forgotten, as what was broken may be repaired."}),
    param<&Params::max_paths>(
        {.name = "max_paths",
         .kind = Kind::integer,
         .fallback = "256",
         .needs = "a connection sprays over 1 to 256 paths, such as max_paths = 256",
         .help = "Paths (entropies) a flow sprays over."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "1.35 BDP, as far as the tracking window holds it",
         .needs = "a window is a size from one packet to 1 TiB, such as max_cwnd = \"1.35 BDP\"",
         .help = "Largest window, and the first."}),
    param<&Params::first_cwnd>(
        {.name = "first_cwnd",
         .kind = Kind::size,
         .fallback = "\"0.25 BDP\"",
         .needs = "a window is a size from 0 to 1 TiB, such as first_cwnd = \"0.25 BDP\"",
         .help = "Until the first SACK a window is max_cwnd divided by the connections of its host "
                 "that send, but at least this; \"1 TiB\": max_cwnd for each."}),
    param<&Params::first_delay>(
        {.name = "first_delay",
         .kind = Kind::fraction,
         .fallback = "0.5",
         .needs = "it is a part from 0 to 1, such as first_delay = 0.5",
         .help = "The average queueing delay begins with this part of the first one; 0: with none, "
                 "as in the paper."}),
    param<&Params::target_qdelay>(
        {.name = "target_qdelay_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"2 RTT\"",
         .needs = "a delay is from 1 ns to 10 s, such as target_qdelay_us = 16",
         .help = "Queueing delay a small window settles at."}),
    param<&Params::target_full>(
        {.name = "target_full_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "1.75 RTT, at most target_qdelay_us",
         .needs = "a delay is from 0 to 10 s, such as target_full_us = 14",
         .help = "The same of the largest window, and in between in proportion; 0: as of a small "
                 "one."}),
    param<&Params::target_qhigh>(
        {.name = "target_qhigh_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "3 RTT, at least target_qdelay_us",
         .needs = "it is a delay not below target_qdelay_us, such as target_qhigh_us = \"3 RTT\"",
         .help = "Queueing delay beyond which the window may fall to what was delivered."}),
    param<&Params::cut_once>(
        {.name = "cut_once",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "After a cut the next waits for a packet that left later, and it deepens as the "
                 "average grows; false: for a base RTT, and it does not."}),
    param<&Params::sack_packets>(
        {.name = "sack_packets",
         .kind = Kind::integer,
         .fallback = "4",
         .needs = "a SACK tells of 1 to 4 packets, such as sack_packets = 4",
         .help = "A SACK for so many packets, with the entropy and the mark of each."}),
    param<&Params::sack_on_epsn>(
        {.name = "sack_on_epsn",
         .kind = Kind::flag,
         .fallback = "false",
         .needs = "it is true or false",
         .help = "And, as in the paper, one whenever the expected packet arrives."}),
    {.name = "tracking_window",
     .kind = Kind::integer,
     .fallback = "512",
     .low = {1},
     .high = {Params::kTracked},
     .needs = "a connection tracks 1 to 512 packets, such as tracking_window = 512",
     .field = field<&Params::tracking_window>(),
     .help = "Packets between the expected and the newest."},
    param<&Params::ooo_cwnd>(
        {.name = "ooo_cwnd",
         .kind = Kind::fraction,
         .fallback = "1",
         .needs = "it is from 0 to 1000 windows, such as ooo_cwnd = 1",
         .help = "Reordering, in windows, that counts as loss; 0: none does."}),
    param<&Params::rack>({.name = "rack_us",
                          .kind = Kind::time,
                          .unit = "us",
                          .fallback = "\"1.5 RTT\"",
                          .needs = "a time is from 0 to an hour, such as rack_us = \"1.5 RTT\"",
                          .help = "A packet is lost when one that left so much later has arrived; "
                                  "0: time says nothing."}),
    param<&Params::late>({.name = "late_us",
                          .kind = Kind::time,
                          .unit = "us",
                          .fallback = "\"4 RTT\"",
                          .needs = "a time is from 0 to an hour, such as late_us = \"4 RTT\"",
                          .help = "The same for some time after a packet that was called lost was "
                                  "only late, and two windows for ooo_cwnd's one; 0: as before."}),
    param<&Params::late_for>(
        {.name = "late_for_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"100 RTT\"",
         .needs = "a time is from 0 to an hour, such as late_for_us = \"100 RTT\"",
         .help = "How long."}),
    param<&Params::late_after>({.name = "late_after",
                                .kind = Kind::integer,
                                .fallback = "2",
                                .needs = "it is from 1 to 255 packets, such as late_after = 2",
                                .help = "So many have to be late before that is believed."}),
    param<&Params::probe_interval>(
        {.name = "probe_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"1 RTT\"",
         .needs = "a silence is at least 1 ns, such as probe_interval_us = \"1 RTT\"",
         .help = "Silence before a probe."}),
    param<&Params::probe_backoff_max>(
        {.name = "probe_backoff_max",
         .kind = Kind::integer,
         .fallback = "0",
         .needs = "it is from 0 to 20 doublings, such as probe_backoff_max = 2",
         .help = "Doublings of probe_interval_us at most, while no probe is answered."}),
    param<&Params::relative_probe>(
        {.name = "relative_probe",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help =
             "A probe's answer tells of what left before it, however long it took; false: only one "
             "that took less than 2 RTT does."}),
    param<&Params::probe_patience>(
        {.name = "probe_patience",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "A probe is not repeated before as much time as the last RTT; false: before "
                 "probe_interval_us."}),
    param<&Params::probe_due>(
        {.name = "probe_due",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "No probe while more may be sent and too little has been for a SACK; false: after "
                 "any silence."}),
    param<&Params::probe_self>(
        {.name = "probe_self",
         .kind = Kind::fraction,
         .fallback = "2.5",
         .needs = "it is from 0 to 1000 RTTs, such as probe_self = 2.5",
         .help =
             "Where the window is one packet it is sent again, without a probe, after so many of "
             "the last RTT; 0: a probe goes first, as ever."}),
    param<&Params::probe_unknown>(
        {.name = "probe_unknown",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help = "A probe asks for the first packet that is neither acknowledged nor lost; false: "
                 "for the expected one."}),
    param<&Params::probe_margin>(
        {.name = "probe_margin_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"0.5 RTT\"",
         .needs = "a time is from 0 to an hour, such as probe_margin_us = \"0.5 RTT\"",
         .help = "By how much it must have left before the probe."}),
    param<&Params::probe_tail>(
        {.name = "probe_tail_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "probe_margin_us and 0.25 RTT",
         .needs = "a time is from 0 to an hour, such as probe_tail_us = \"0.75 RTT\"",
         .help =
             "So long after the last packet that is to be sent a probe follows it; 0: none does."}),
    param<&Params::rto>({.name = "rto_us",
                         .kind = Kind::time,
                         .unit = "us",
                         .fallback = "\"25 RTT\"",
                         .needs = "a timeout is from 1 ns to an hour, such as rto_us = \"25 RTT\"",
                         .help = "Retransmission timeout."}),
};
constexpr std::string_view kSection = "strack-plus";

class PlusResolver : sim::Resolving {
 public:
  explicit PlusResolver(sim::Resolution& resolution) : Resolving(resolution) {}

  Params resolve() {
    Params p = checked(Params::for_link(topology().host_rate, out_.base_rtt, r_.mtu));
    take_fields(set_, kSection, kKeys, p);
    if (!set_.given("strack-plus.target_qhigh_us"))
      p.target_qhigh = std::max(p.target_qhigh, p.target_qdelay);
    if (!set_.given("strack-plus.target_full_us"))
      p.target_full = std::min(p.target_full, p.target_qdelay);
    if (!set_.given("strack-plus.probe_tail_us"))
      p.probe_tail = p.probe_margin + p.net_base_rtt / 4;
    p.derive();
    show_fields(set_, kSection, kKeys, p);
    return checked(p.validated());
  }

 private:
  /// What the core refuses is reported at the key it is about.
  Params checked(const Result<Params, core::ParamError>& params) {
    if (params) return params.value();
    const core::ParamError& error = params.error();
    const std::string field = error.field;
    const std::string message =
        fmt::format("{} would be {}. it must be {}", field, error.value, error.remedy);
    if (const Setting* setting = given_setting(set_, kSection, field)) setting->fail(message);
    throw sim::Failed{{r_.file, 0, message}};
  }
};

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution,
                                              const Scheme* /*scheme*/) {
  return sim::make_transport<sim::PlusProtocol>(PlusResolver(resolution).resolve());
}

}  // namespace

extern const Descriptor descriptor_of_strack_plus;
const Descriptor descriptor_of_strack_plus{
    .name = "strack_plus",
    .rank = 5,
    .schemes = kSchemes,
    .switches = {.ecn = kSection},  // [PLUS.mark]
    .section = kSection,
    .help =
        "STrack+, with a switch for each of its departures from the paper. Read when the scheme is "
        "strack-plus; with another these keys may be there, without effect.",
    .keys = kKeys,
    .resolve = resolve,
    .sacks = true,
    .udp = 2,
    .variants = kVariants,
    .target_qdelay = "strack-plus.target_qdelay_us",
};

}  // namespace strack::transports
