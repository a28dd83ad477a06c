// RoCEv2 as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/enum_words.h"
#include "core/param_error.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"
#include "transports/rocev2/ar_sim.h"
#include "transports/rocev2/params.h"
#include "transports/rocev2/shared_sim.h"
#include "transports/rocev2/sim.h"
#include "workload/amount.h"

namespace strack::transports {
namespace {

using core::DcqcnSet;
using core::DcqcnVariant;
using sim::Kind;
using sim::kLargestBdp;
using sim::param;
using sim::Setting;
using Params = core::RoceParams;

constexpr Scheme kSchemes[] = {
    {.name = "rocev2",
     .label = "RoCEv2",
     .role = "rocev2",
     .help = "RoCEv2 with DCQCN and PFC",
     .colour = Colour::orange,
     .in_order = true},
    {.name = "roce-ar",
     .label = "RoCEv2, adaptive routing",
     .role = "roce-ar",
     .help = "RoCEv2 whose packets switches spray, placed in any order and repeated selectively",
     .routing = sim::Routing::least_queue,
     .colour = Colour::brown},
};
constexpr metrics::CounterName kCounters[] = {{"cnps", "CNP"}, {"naks", "NAK"}};
/// The scheme whose receivers take packets in any order.
[[nodiscard]] bool places_in_any_order(const Scheme* scheme) {
  return scheme != nullptr && scheme->name == "roce-ar";
}

constexpr auto kDcqcnWords = words_of<DcqcnSet>({{DcqcnSet::paper2015, "paper2015"},
                                                 {DcqcnSet::nic_default, "nic-default"},
                                                 {DcqcnSet::hpcc_ns3, "hpcc-ns3"},
                                                 {DcqcnSet::off, "off"},
                                                 {DcqcnSet::uet_htsim, "uet-htsim"}});
constexpr auto kVariantWords = words_of<DcqcnVariant>(
    {{DcqcnVariant::off, "off"}, {DcqcnVariant::paper, "paper"}, {DcqcnVariant::nic, "nic"}});
/// The core alone says which is the default.
constexpr std::string_view kDefaultSet = "\"nic-default\"";
static_assert(kDefaultSet.substr(1, kDefaultSet.size() - 2) ==
              kDcqcnWords[static_cast<std::size_t>(core::kDefaultDcqcn)]);

constexpr sim::Key kKeys[] = {
    param<&Params::qps_per_conn>(
        {.name = "qps_per_conn",
         .kind = Kind::integer,
         .fallback = "1",
         .needs = "a connection has 1, 2, 4, 8 or 16 queue pairs, such as qps_per_conn = 4",
         .help = "Queue pairs of a connection, each with a path of its own: 1, 2, 4, 8 or 16. With "
                 "roce-ar there is one, whose packets switches spray."}),
    param<&Params::stripe_packets>(
        {.name = "stripe_packets",
         .kind = Kind::integer,
         .fallback = "32",
         .needs = "a stripe has a power of two of packets up to 65536, such as stripe_packets = 32",
         .help =
             "So many packets go to one queue pair before the next one's turn; a power of two."}),
    param<&Params::ack_bytes>(
        {.name = "ack_bytes",
         .kind = Kind::size,
         .fallback = "\"16 MTU\"",
         .needs = "it is a size from 1 byte to 1 GiB, such as ack_bytes = \"16 MTU\"",
         .help = "An ACK at least every so many bytes."}),
    param<&Params::ack_interval>(
        {.name = "ack_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"4 RTT\"",
         .needs = "an interval is from 0 to an hour, such as ack_interval_us = \"4 RTT\"",
         .help = "And with the first packet that comes so long after the last ACK."}),
    param<&Params::nak_interval>(
        {.name = "nak_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"25 RTT\"",
         .needs = "an interval is from 1 ns to an hour, such as nak_interval_us = \"25 RTT\"",
         .help = "A NAK that has had no effect is repeated after so long."}),
    param<&Params::rto>(
        {.name = "rto_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "the shortest InfiniBand timeout, 4.096 us x 2^n, of at least 2000 RTT",
         .needs = "a timeout is from 1 ns to an hour, such as rto_us = \"16 ms\"",
         .help = "Retransmission timeout of a queue pair."}),
    param<&Params::reorder_time>(
        {.name = "reorder_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "\"4 RTT\"",
         .needs = "a time is from 1 ns to an hour, such as reorder_us = \"4 RTT\"",
         .help =
             "Scheme roce-ar: a packet is asked for again when one that was sent after it has been "
             "there for so long."}),
    param<&Params::max_outstanding>(
        {.name = "max_outstanding",
         .kind = Kind::integer,
         .fallback = "8388608",
         .needs = "it is from 1 to 8388608 packets, such as max_outstanding = 8388608",
         .help = "Unacknowledged packets of a queue pair at most. There is no other window; with "
                 "roce-ar, 4096 packets."}),
    {.name = "kmin",
     .kind = Kind::size,
     .fallback = "\"1 BDP\"",
     .high = {kLargestBdp},
     .needs = "a threshold is a size, such as kmin = \"1 BDP\"",
     .help = "Where the switches' ECN marks begin, in the place of [switch] kmin. The STrack paper "
             "sets DCQCN's threshold to one BDP."},
    {.name = "kmax",
     .kind = Kind::size,
     .fallback = "\"1 BDP\"",
     .high = {kLargestBdp},
     .needs = "a threshold is a size, such as kmax = \"1 BDP\"",
     .help = "In the place of [switch] kmax."},
    {.name = "pmax",
     .kind = Kind::fraction,
     .fallback = "1",
     .high = {1},
     .needs = "a probability is from 0 to 1, such as pmax = 1",
     .help = "In the place of [switch] pmax."},
    {.name = "dcqcn",
     .kind = Kind::choice,
     .words = kDcqcnWords,
     .fallback = kDefaultSet,
     .needs = "a set is",
     .help = "A published set of DCQCN's constants, scaled to the link where its source means a "
             "share of the link: those of the 2015 paper, what NICs come with, those of the HPCC "
             "authors' simulator, of Ultra Ethernet's; or no rate control, so that PFC alone holds "
             "senders back. The keys below change single values of the set."},
    param<&Params::dcqcn, &core::DcqcnParams::variant>(
        {.name = "variant",
         .kind = Kind::choice,
         .words = kVariantWords,
         .otherwise = "as dcqcn names it",
         .needs = "a variant is",
         .help =
             "No rate control; the rules of the 2015 paper; or the NICs' rules, with alpha on its "
             "timer and a least time between two cuts."}),
    param<&Params::dcqcn, &core::DcqcnParams::g>(
        {.name = "g",
         .kind = Kind::fraction,
         .otherwise = "as dcqcn names it",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as g = \"1/256\"",
         .help = "Weight of news in alpha."}),
    param<&Params::dcqcn, &core::DcqcnParams::initial_alpha>(
        {.name = "initial_alpha",
         .kind = Kind::fraction,
         .fallback = "1",
         .needs = "it is a fraction from 0 to 1 with up to six decimals, such as initial_alpha = 1",
         .help = "Alpha at the first CNP: with 1 it halves the rate, with less it cuts less."}),
    param<&Params::dcqcn, &core::DcqcnParams::shared_alpha>(
        {.name = "shared_alpha_us",
         .kind = Kind::time,
         .unit = "us",
         .fallback = "0",
         .needs = "it is 0, or from a base RTT to 1 s, such as shared_alpha_us = \"1 RTT\"",
         .help = "All flows of the run share one alpha, which is told what they did to it this "
                 "often, from a base RTT to 1 s; 0: each queue pair has its own. Over lossless "
                 "switches, and not with roce-ar."}),
    param<&Params::dcqcn, &core::DcqcnParams::alpha_timer>(
        {.name = "alpha_timer_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "as dcqcn names it",
         .needs = "a timer is from 1 ns to 1 s, such as alpha_timer_us = 55",
         .help = "How often alpha moves without CNPs."}),
    param<&Params::dcqcn, &core::DcqcnParams::decrease_interval>(
        {.name = "decrease_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "as dcqcn names it",
         .needs = "an interval is from 0 to 1 s, such as decrease_interval_us = 4",
         .help = "Least time between two cuts, in the variant nic."}),
    param<&Params::dcqcn, &core::DcqcnParams::increase_timer>(
        {.name = "increase_timer_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "as dcqcn names it",
         .needs = "a timer is from 1 ns to 1 s, such as increase_timer_us = 300",
         .help = "Time between two increases."}),
    param<&Params::dcqcn, &core::DcqcnParams::byte_counter>(
        {.name = "byte_counter",
         .kind = Kind::size,
         .otherwise = "as dcqcn names it",
         .needs = "it is a size up to 1 TiB, such as byte_counter = \"10 MB\", or 0 for none",
         .help = "An increase each time so many bytes have been sent, too; 0 is never."}),
    param<&Params::dcqcn, &core::DcqcnParams::fast_recovery>(
        {.name = "fast_recovery",
         .kind = Kind::integer,
         .otherwise = "as dcqcn names it",
         .needs = "it is from 0 to 1000 increases, such as fast_recovery = 5",
         .help = "So many increases halve the way back to the target rate before that rises."}),
    param<&Params::dcqcn, &core::DcqcnParams::rate_ai>(
        {.name = "rate_ai",
         .kind = Kind::rate,
         .otherwise = "as dcqcn names it",
         .needs = "it is a rate up to the link's, such as rate_ai = \"80 Mb/s\"",
         .help = "Additive increase of the target rate."}),
    param<&Params::dcqcn, &core::DcqcnParams::rate_hai>(
        {.name = "rate_hai",
         .kind = Kind::rate,
         .otherwise = "as dcqcn names it",
         .needs = "it is a rate up to the link's, such as rate_hai = \"800 Mb/s\"",
         .help = "Hyper increase of the target rate."}),
    param<&Params::dcqcn, &core::DcqcnParams::min_rate>(
        {.name = "min_rate",
         .kind = Kind::rate,
         .otherwise = "as dcqcn names it",
         .needs = "it is a rate from 1 Mb/s to the link's, such as min_rate = \"1 Gb/s\"",
         .help = "The least rate of a queue pair."}),
    param<&Params::dcqcn, &core::DcqcnParams::cnp_interval>(
        {.name = "cnp_interval_us",
         .kind = Kind::time,
         .unit = "us",
         .otherwise = "as dcqcn names it",
         .needs = "an interval is from 0 to 1 s, such as cnp_interval_us = 50",
         .help = "A receiver sends at most one CNP per queue pair in this time; 0 is one for every "
                 "mark."}),
};
constexpr std::string_view kSection = "rocev2";

class RoceResolver : sim::Resolving {
 public:
  RoceResolver(sim::Resolution& resolution, const Scheme* scheme)
      : Resolving(resolution), scheme_(scheme) {}

  Params resolve() {
    const BitsPerSecond line_rate = topology().host_rate;
    // Without rate control first: a set's constants may not suit this link until the file's own
    // have taken their place, and only the whole is checked.
    const auto plain = Params::for_link(line_rate, out_.base_rtt, r_.mtu, DcqcnSet::off);
    if (!plain) fail(plain.error());
    Params p = plain.value();
    p.header = out_.config.hosts.data_header;
    const auto named = set_.choice<DcqcnSet>("rocev2.dcqcn");
    p.dcqcn = core::DcqcnParams::named(named, line_rate);
    take_fields(set_, kSection, kKeys, p);
    show_fields(set_, kSection, kKeys, p);
    check(p, named);
    return p;
  }

 private:
  void check(const Params& p, DcqcnSet named) {
    if (p.ack_bytes > std::int64_t{p.max_outstanding} * r_.mtu) {
      later("rocev2.max_outstanding", "rocev2.ack_bytes")
          .fail(fmt::format(
              "max_outstanding is {} and ack_bytes {}. a sender that may send no more "
              "would wait for an ACK that is not owed yet: ack_bytes = \"{} MTU\" or "
              "less would work",
              p.max_outstanding, workload::format_size(p.ack_bytes), p.max_outstanding));
    }
    // Nobody reads the rest otherwise, and what nobody reads stops no run.
    if (scheme_ == nullptr) return;
    if (p.dcqcn.g.den > 1'000'000) set_["rocev2.g"].fail_value(set_["rocev2.g"].key->needs);
    if (named == DcqcnSet::off && p.dcqcn.variant != DcqcnVariant::off) {
      later("rocev2.variant", "rocev2.dcqcn")
          .fail(fmt::format("variant is {}, but dcqcn is \"off\", which has no constants for it. "
                            "name a set, such as dcqcn = \"paper2015\"",
                            set_["rocev2.variant"].literal.found()));
    }
    if (p.dcqcn.shared_alpha > ps(0)) {  // [D118]
      if (p.dcqcn.shared_alpha < out_.base_rtt)
        set_["rocev2.shared_alpha_us"].fail_value(set_["rocev2.shared_alpha_us"].key->needs);
      if (places_in_any_order(scheme_))
        set_["rocev2.shared_alpha_us"].fail(
            "roce-ar has an alpha for each flow. leave shared_alpha_us out, or set scheme = "
            "\"rocev2\"");
      if (set_.given("pfc.enabled") && !set_.flag("pfc.enabled"))
        later("rocev2.shared_alpha_us", "pfc.enabled")
            .fail(
                "one alpha of all flows is for lossless switches, which run in one process. leave "
                "shared_alpha_us out, or set pfc.enabled = true");
    }
    const auto checked =
        places_in_any_order(scheme_) ? p.validated(core::kArWindow) : p.validated();  // [AR.window]
    if (!checked) fail(checked.error());
  }

  /// What the core refuses is reported at the key it is about.
  [[noreturn]] void fail(const core::ParamError& error) {
    std::string field = error.field;
    if (field.starts_with("dcqcn_")) field.erase(0, 6);
    if (const Setting* setting = given_setting(set_, kSection, field))
      setting->fail_value(fmt::format("it must be {}", error.remedy));
    throw sim::Failed{
        {r_.file, 0,
         fmt::format("{} would be {}. it must be {}", field, error.value, error.remedy)}};
  }

  const Scheme* scheme_;  ///< none, where another transport runs
};

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  const Params params = RoceResolver(resolution, scheme).resolve();
  if (places_in_any_order(scheme)) return sim::make_transport<sim::ArProtocol>(params);
  if (scheme != nullptr && params.dcqcn.shared_alpha > ps(0))
    return sim::make_transport<sim::SharedRoceProtocol>(params);
  return sim::make_transport<sim::RoceProtocol>(params);
}

/// A connection of several queue pairs is told from one of a single one.
constexpr Role kRoles[] = {{"rocev2-4qp", Colour::amber}};
constexpr std::string_view kLabelled[] = {"rocev2.qps_per_conn"};
Label label(const Scheme& scheme, const SettingOf& setting) {
  const std::string qps = setting("rocev2.qps_per_conn");
  if (qps.empty() || qps == "1" || places_in_any_order(&scheme))
    return {std::string(scheme.label), std::string(scheme.role)};
  return {fmt::format("{}, {} QPs", scheme.label, qps), qps == "4" ? "rocev2-4qp" : "other"};
}

}  // namespace

extern const Descriptor descriptor_of_rocev2;
const Descriptor descriptor_of_rocev2{
    .name = "rocev2",
    .rank = 10,
    .schemes = kSchemes,
    .switches = {.ecn = kSection, .lossless = true},
    .section = kSection,
    .help =
        "The baseline: RoCEv2 with go-back-N and DCQCN. Read when the scheme is rocev2 or roce-ar; "
        "with another scheme these keys may be there, without effect, so that one file serves a "
        "comparison.",
    .keys = kKeys,
    .resolve = resolve,
    .counters = kCounters,
    .counted = "rate control",
    .label = label,
    .roles = kRoles,
    .labelled = kLabelled,
};

}  // namespace strack::transports
