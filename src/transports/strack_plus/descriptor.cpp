// STrack+ as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/result.h"
#include "core/param_error.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"
#include "transports/strack_plus/params.h"
#include "transports/strack_plus/sim.h"

namespace strack::transports {
namespace {

using sim::field;
using sim::Kind;
using sim::kNanosecond;
using sim::kSecond;
using sim::kTebibyte;
using sim::Setting;
using Params = core::PlusParams;

constexpr Scheme kSchemes[] = {
    {"strack-plus", "STrack+", "strack-plus",
     "STrack's window with a ring of clean paths, SACKs that tell of four, and losses by time"},
};
/// A SACK for each packet, and all departures off: other code is reached.
constexpr std::string_view kVariants[] = {"strack-plus.sack_packets=1", "strack-plus.ring=0"};

constexpr sim::Key kKeys[] = {
    {.name = "ring",
     .kind = Kind::integer,
     .fallback = "8",
     .high = {Params::kRing},
     .needs = "it is from 0 to 8 entropies, such as ring = 8",
     .field = field<&Params::ring>(),
     .help =
         "Entropies of clean packets that are remembered, each to be used once; 0 remembers the "
         "last one as the paper does, and a mark takes it back."},
    {.name = "rotate_all",
     .kind = Kind::flag,
     .fallback = "true",
     .needs = "it is true or false",
     .field = field<&Params::rotate_all>(),
     .help = "Otherwise all entropies in turn; false is the paper's rule, as many as two windows "
             "have packets."},
    {.name = "avoid",
     .kind = Kind::flag,
     .fallback = "true",
     .needs = "it is true or false",
     .field = field<&Params::avoid>(),
     .help = "The rotation passes over entropies whose last packet was not answered."},
    {.name = "avoid_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"100 RTT\"",
     .high = {3'600 * kSecond},
     .needs = "a time is from 0 to an hour, such as avoid_us = \"100 RTT\"",
     .field = field<&Params::avoid_for>(),
     .help = "How often they are forgotten, as what was broken may be repaired."},
    {.name = "max_paths",
     .kind = Kind::integer,
     .fallback = "256",
     .low = {1},
     .high = {256},
     .needs = "a connection sprays over 1 to 256 paths, such as max_paths = 256",
     .field = field<&Params::max_paths>(),
     .help = "Paths (entropies) a flow sprays over."},
    {.name = "max_cwnd",
     .kind = Kind::size,
     .otherwise = "1.35 BDP, as far as the tracking window holds it",
     .low = {1},
     .high = {kTebibyte},
     .needs = "a window is a size from one packet to 1 TiB, such as max_cwnd = \"1.35 BDP\"",
     .field = field<&Params::max_cwnd>(),
     .help = "Largest window, and the first."},
    {.name = "target_qdelay_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"1 RTT\"",
     .low = {kNanosecond},
     .high = {10 * kSecond},
     .needs = "a delay is from 1 ns to 10 s, such as target_qdelay_us = 8",
     .field = field<&Params::target_qdelay>(),
     .help = "Queueing delay the window settles at."},
    {.name = "sack_packets",
     .kind = Kind::integer,
     .fallback = "4",
     .low = {1},
     .high = {Params::kEchoes},
     .needs = "a SACK tells of 1 to 4 packets, such as sack_packets = 4",
     .field = field<&Params::sack_packets>(),
     .help = "A SACK for so many packets, with the entropy and the mark of each."},
    {.name = "sack_on_epsn",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .field = field<&Params::sack_on_epsn>(),
     .help = "And, as in the paper, one whenever the expected packet arrives."},
    {.name = "tracking_window",
     .kind = Kind::integer,
     .fallback = "512",
     .low = {1},
     .high = {Params::kTracked},
     .needs = "a connection tracks 1 to 512 packets, such as tracking_window = 512",
     .field = field<&Params::tracking_window>(),
     .help = "Packets between the expected and the newest."},
    {.name = "ooo_cwnd",
     .kind = Kind::fraction,
     .fallback = "1",
     .high = {1'000},
     .needs = "it is from 0 to 1000 windows, such as ooo_cwnd = 1",
     .field = field<&Params::ooo_cwnd>(),
     .help = "Reordering, in windows, that counts as loss; 0: none does."},
    {.name = "rack_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"1.5 RTT\"",
     .high = {3'600 * kSecond},
     .needs = "a time is from 0 to an hour, such as rack_us = \"1.5 RTT\"",
     .field = field<&Params::rack>(),
     .help =
         "A packet is lost when one that left so much later has arrived; 0: time says nothing."},
    {.name = "probe_interval_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"2 RTT\"",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "a silence is at least 1 ns, such as probe_interval_us = \"2 RTT\"",
     .field = field<&Params::probe_interval>(),
     .help = "Silence before a probe."},
    {.name = "relative_probe",
     .kind = Kind::flag,
     .fallback = "true",
     .needs = "it is true or false",
     .field = field<&Params::relative_probe>(),
     .help = "A probe's answer tells of what left before it, however long it took; false: only one "
             "that took less than 2 RTT does."},
    {.name = "probe_margin_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"0.5 RTT\"",
     .high = {3'600 * kSecond},
     .needs = "a time is from 0 to an hour, such as probe_margin_us = \"0.5 RTT\"",
     .field = field<&Params::probe_margin>(),
     .help = "By how much it must have left before the probe."},
    {.name = "rto_us",
     .kind = Kind::time,
     .unit = "us",
     .fallback = "\"25 RTT\"",
     .low = {kNanosecond},
     .high = {3'600 * kSecond},
     .needs = "a timeout is from 1 ns to an hour, such as rto_us = \"25 RTT\"",
     .field = field<&Params::rto>(),
     .help = "Retransmission timeout."},
};
constexpr std::string_view kSection = "strack-plus";

class PlusResolver : sim::Resolving {
 public:
  explicit PlusResolver(sim::Resolution& resolution) : Resolving(resolution) {}

  Params resolve() {
    Params p = checked(Params::for_link(topology().host_rate, out_.base_rtt, r_.mtu));
    take_fields(set_, kSection, kKeys, p);
    p.target_qhigh = 3 * p.target_qdelay;
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
    for (const std::string& name : {field, field + "_us"}) {
      if (Setting* setting = set_.find(kSection, name); setting != nullptr && setting->given)
        setting->fail(message);
    }
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
    .section = kSection,
    .help =
        "STrack+, with a switch for each of its departures from the paper. Read when the scheme is "
        "strack-plus; with another these keys may be there, without effect.",
    .keys = kKeys,
    .resolve = resolve,
    .variants = kVariants,
    .target_qdelay = "strack-plus.target_qdelay_us",
};

}  // namespace strack::transports
