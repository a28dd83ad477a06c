// UET as the rest of the program knows it: its schemes, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/result.h"
#include "core/param_error.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/mark_keys.h"
#include "sim/scenario/resolution.h"
#include "sim/scenario/spray.h"
#include "sim/transport.h"
#include "transports/uet/params.h"
#include "transports/uet/resolve.h"
#include "transports/uet/sim.h"
#include "transports/uet/sim_rccc.h"

namespace strack::transports {
namespace {

using sim::Kind;
using sim::kTebibyte;
using sim::param;
using sim::Setting;
using Params = core::UetParams;

constexpr Scheme kSchemes[] = {
    {"nscc", "UET NSCC", "nscc",
     "Ultra Ethernet's window-based congestion control, NSCC, with SLEEK or trimming for losses"},
    {.name = "rccc",
     .label = "UET RCCC",
     .role = "rccc",
     .help = "Ultra Ethernet's receiver credit, RCCC: one pacer per NIC",
     .ecn_last_hop = false},
    {.name = "nscc-rccc",
     .label = "UET NSCC and RCCC",
     .role = "nscc-rccc",
     .help = "both together",
     .ecn_last_hop = false},
    {.name = "ndp",
     .label = "NDP",
     .role = "ndp",
     .help = "NDP as the limit of receiver credit: one packet at a time, all entropies in turn",
     .trims = true,  // [NDP.switches]
     .queue_limit = "\"8 MTU\""},
};
constexpr const Scheme& kNscc = kSchemes[0];
constexpr const Scheme& kRccc = kSchemes[1];
constexpr const Scheme& kBoth = kSchemes[2];
constexpr const Scheme& kNdp = kSchemes[3];

constexpr sim::Key kKeys[] = {
    sim::mark_threshold("kmin", "\"0.2 BDP\"", "a threshold is a size, such as kmin = \"0.2 BDP\"",
                        "ECN marks begin where a departing packet leaves more than this behind."),
    sim::mark_threshold("kmax", "\"0.8 BDP\"", "a threshold is a size, such as kmax = \"0.8 BDP\"",
                        sim::kMarkKmaxHelp),
    sim::kMarkPmax,
    param<&Params::target_qdelay>(
        {.name = "target_qdelay_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "0.75 RTT with trimming, 1 RTT without",
         .needs = "a delay is from 1 ns to 10 s, such as target_qdelay_us = 8",
         .help = "Queueing delay the window settles at."}),
    param<&Params::max_cwnd>(
        {.name = "max_cwnd",
         .kind = Kind::size,
         .otherwise = "1.5 BDP, at most 512 packets",
         .needs = "a window is from one packet to 1024, such as max_cwnd = \"1.5 BDP\"",
         .help = "Largest window, and the first."}),
    {.name = "ewma",
     .kind = Kind::fraction,
     .fallback = "0.0125",
     .low = {1, 65'536},
     .high = {1},
     .needs = "a weight is above 0 and at most 1, such as ewma = 0.0125",
     .help = "Weight of a new delay in the average."},
    param<&Params::damp_late>(
        {.name = "damp_late",
         .kind = Kind::flag,
         .fallback = "true",
         .needs = "it is true or false",
         .help =
             "A delay above the target without a mark counts as a quarter of the base RTT in the "
             "average, as uet-htsim does; the standard does not say so."}),
    param<&Params::qa_threshold>(
        {.name = "qa_threshold_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "4 x target_qdelay_us",
         .needs = "a delay is from 0 to 40 s, such as qa_threshold_us = 32",
         .help = "Queueing delay beyond which the window may fall to what was delivered."}),
    param<&Params::ack_bytes>(
        {.name = "ack_bytes",
         .kind = Kind::size,
         .otherwise = "16384, or 1 for ndp, so that every packet is acknowledged",
         .needs = "it is a size from 1 byte to 1 GiB, such as ack_bytes = 16384",
         .help =
             "An acknowledgement at least every so many bytes; \"1 MTU\" is one for each packet."}),
    param<&Params::rto>({.name = "rto_us",
                         .kind = Kind::time,
                         .unit = "us",
                         .otherwise = "15 us and six full queues, at least 2 RTT",
                         .needs = "a timeout is from 1 ns to an hour, such as rto_us = 100",
                         .help = "Retransmission timeout."}),
    param<&Params::rto_backoff_max>(
        {.name = "rto_backoff_max",
         .kind = Kind::integer,
         .fallback = "3",
         .needs = "it is from 0 to 10 doublings, such as rto_backoff_max = 3",
         .help = "Doublings of the timeout at most."}),
    param<&Params::pull_quantum>({.name = "pull_quantum",
                                  .kind = Kind::integer,
                                  .otherwise = "4, or 1 for ndp",
                                  .needs = "it is from 1 to 1024 packets, such as pull_quantum = 4",
                                  .help = "Packets of credit in one pull."}),
    param<&Params::pacer_rate>(
        {.name = "pacer_rate",
         .kind = Kind::fraction,
         .otherwise = "0.99, or 1 for ndp",
         .needs = "a share is from 0.001 to 2 with up to six decimals, such as pacer_rate = 0.99",
         .help = "What receivers ask for together, in parts of their link's rate."}),
    param<&Params::speculative>({.name = "speculative",
                                 .kind = Kind::integer,
                                 .otherwise = "max_cwnd in packets",
                                 .needs = "it is from 0 to 1024 packets, such as speculative = 100",
                                 .help = "Packets that a connection sends before it has credit."}),
};
constexpr std::string_view kSection = "uet";

class UetResolver : sim::Resolving {
 public:
  UetResolver(sim::Resolution& resolution, const Scheme* scheme)
      : Resolving(resolution), scheme_(scheme) {}

  Params resolve() {
    const sim::SwitchParams& switches = out_.config.switches;
    Params p = checked(Params::for_link(topology().host_rate, out_.base_rtt, r_.mtu,
                                        switches.trimming.enabled, switches.queue_limit));
    p.header = out_.config.hosts.data_header;
    p.nscc = scheme_ == nullptr || scheme_ == &kNscc || scheme_ == &kBoth;
    p.rccc = scheme_ == &kRccc || scheme_ == &kBoth || scheme_ == &kNdp;
    if (scheme_ == &kNdp) p.become_ndp();
    if (set_.given("uet.target_qdelay_us")) {
      p.target_qdelay = set_.time("uet.target_qdelay_us");
      p.follow_target();
    }
    take_fields(set_, kSection, kKeys, p);
    p.ewma_q16 = set_.fraction("uet.ewma").of(65'536);
    show_fields(set_, kSection, kKeys, p);
    if (scheme_ != nullptr) p.spray = sim::spray_of(r_, p.spray);
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

  const Scheme* scheme_;
};

}  // namespace

core::UetParams resolve_nscc(sim::Resolution& resolution) {
  return UetResolver(resolution, nullptr).resolve();
}

namespace {

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  const Params params = UetResolver(resolution, scheme).resolve();
  if (params.rccc) return sim::make_transport<sim::RcccProtocol>(params);
  return sim::make_transport<sim::NsccProtocol>(params);
}

}  // namespace

extern const Descriptor descriptor_of_uet;
const Descriptor descriptor_of_uet{
    .name = "uet",
    .rank = 20,
    .schemes = kSchemes,
    .switches = {.ecn = kSection},
    .section = kSection,
    .help =
        "Ultra Ethernet's transport, and NDP. Read when the scheme is one of theirs (nscc, rccc, "
        "nscc-rccc, ndp); with another these keys may be set, and mean nothing. Paths are those of "
        "[paths], mixed over 128 by default.",
    .keys = kKeys,
    .resolve = resolve,
    .sacks = true,
};

}  // namespace strack::transports
